// Package flow holds the sources, stages and sinks that the jobs are put together from:
//
//	job      read           parse   convert    last
//	dump     ServerSource   Parse   Compress   FileSink
//	restore  FileSource     Parse   (none)     ServerSink
//	verify   FileSource     Parse   (none)     Discard
//	proof    ServerSource   Parse   (none)     Discard
//
// Blocks carry the bytes of COPY's binary format behind the header: rows, and the trailer after the last row. They are
// cut anywhere in front of Parse and hold whole rows behind it.
package flow
