// Package flow holds the sources, stages and sinks that the jobs are put together from:
//
//	job      read           stages           last
//	dump     ServerSource   Parse Compress   FileSink
//	restore  FileSource     Parse Convert    ServerSink
//	migrate  ServerSource   Parse Convert    ServerSink
//	verify   FileSource     Parse            Discard
//	proof    ServerSource   Convert Parse    Discard
//
// Compress is missing in a dump without compression, Convert where no value changes.
//
// Blocks carry the bytes of COPY's binary format behind the header: rows, and the trailer after the last row. They are
// cut anywhere in front of Parse and hold whole rows behind it.
package flow
