// Package pgtools finds and runs pg_dump and pg_restore of a fitting version, and
// understands what they say.
//
// The programs get no password in their arguments or environment, where every user
// of the machine could read it, but in a password file (0600, in a folder of its own)
// that is pinned to the host, port and user of the connection and removed when the
// program has ended. Variables of our own environment that would send them elsewhere
// are taken away, and they speak English (LC_ALL=C), since we read their messages.
//
// Ending the context interrupts a program (SIGINT: it cancels its query on the
// server) and kills it when it has not ended after a grace period.
package pgtools
