// Package pg speaks to PostgreSQL: connection strings, sessions, catalog queries, quoting, COPY in both directions,
// samples of types, and the sampler of wait events. It is the only home of SQL text about catalogs.
//
// Two kinds of sessions exist. A catalog session speaks UTF8 (or SQL_ASCII where the server does), so that names arrive
// in one encoding. A data session speaks the database's own encoding, because a server that converts the bytes of a
// binary COPY does not adjust the lengths inside of them (hstore would be corrupt); statements sent on it must be
// encoded alike, which is why names for it are asked from the server by OID: see [Conn.SQLNames].
package pg
