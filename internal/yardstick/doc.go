// Package yardstick measures what a server, a connection and a disk can do at best, and how near dumps and restores come to it. It is what
// operators run on their own servers as "pghaul bench".
//
// [Run] makes the tables that were measured in the mailing-list threads about COPY (2005 to 2024) in a scratch database, and times
// in interleaved rounds, of which the first one does not count:
//
//	scans    count(*), the server's own COPY as text and binary, a dump of the table
//	stages   a restore taken apart: read and parse, receive, insert, triggers and constraints, the primary key
//	jobs     all tables with several connections: the servers' floor, dump, restore, migrate, and the peers that are installed
//	batches  INSERT and COPY by rows per commit, and how much of the time is the wait for the commit
//	disk     sequential writing and reading of the folder where a dump would go
//	network  a round trip, and COPY's throughput over the connection
//
// and says of each job what holds it back. Every number is the median of its rounds. MB are 10^6 bytes; a datum is one column of one row.
//
// Scratch databases and folders are gone when Run returns, also after an error or a cancel, or the error says what is left.
package yardstick
