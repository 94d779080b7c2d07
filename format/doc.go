// Package format reads and writes pghaul's files: binary COPY files of PostgreSQL that say what they hold. docs/FORMAT.md is the specification.
//
//	[0, 19+L)   Header     signature, flags, L, chunks: HAUL META DGST stor   header.go, chunk.go, meta.go, metajson.go
//	rows        Walker     int16 field count, int32 length and bytes each     walker.go, row.go, digest.go
//	trailer                int16 -1
//
// In a compressed file these bytes are the content of zstd frames (frame.go): one for the header, some for rows, then a seek table.
//
// A [Writer] writes a file or a stream, an [Encoder] makes its frames, and a [File] is a Writer that has its name only when it is complete and on disk.
// A [Reader] reads either form and checks everything that can be checked without looking at rows; a Walker looks at rows. [Reader.Next] does both.
// A [Manifest] describes a folder of such files.
//
// What is wrong with a file is an [*Error] with a [Kind] and a place. Lengths, names and paths that come from a file are never trusted:
// nothing is allocated for a length before it was checked against a limit, and then only as bytes really come.
package format
