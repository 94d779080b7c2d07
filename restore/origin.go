package restore

import (
	"context"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/flow"
)

// Origin is where definitions and rows come from: the folder of a dump, or a live server under one snapshot. Its methods may be called from several
// goroutines. Whoever made it closes it, after the restore.
type Origin interface {
	// Manifest describes what there is. An origin whose rows are counted only when they pass has empty digests in it; its rows and bytes are
	// estimates then (rows: -1 for none), and so are the stored bytes of its segments. The restore fills in what has passed.
	Manifest() *format.Manifest

	// Meta tells the types that a table's columns reach, and their samples.
	Meta(ctx context.Context, t *format.ManifestTable) (*format.Meta, error)

	// Segment opens a segment of a table, counted from 0. The caller closes it.
	Segment(ctx context.Context, t *format.ManifestTable, i int) (*flow.Segment, error)

	// Archive gives the path of pg_dump's archive of the definitions. It is there until the origin is closed.
	Archive(ctx context.Context) (string, error)

	// Alive asks whether rows can still be had under the origin's snapshot. Its error is final. When ctx ends meanwhile, the origin may be dead.
	Alive(ctx context.Context) error

	// Gone is closed when Alive has become an error; nil: that cannot be.
	Gone() <-chan struct{}

	// Release says that all rows have been copied, so that snapshot and locks may go. The definitions stay.
	Release()

	// Snapshot names the moment that the rows are of, unlike any other moment of the same origin; "" when there is only one.
	Snapshot() string
}

// counted tells that what a segment holds is known before it is read.
func counted(s *format.ManifestSegment) bool { return s.RowDigest != "" }
