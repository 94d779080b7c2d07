package dump

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// newDumpID gives 128 random bits as hex digits.
func newDumpID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: see crypto/rand
	return hex.EncodeToString(b[:])
}

// takeSamples asks the source for the samples of every type that a column reaches: once, for all files. The session is one for data, so that
// their bytes are as the rows' bytes are.
func (p *plan) takeSamples(ctx context.Context, conn *pg.Conn) error {
	list := make([]format.Type, 0, len(p.types))
	for _, t := range p.types {
		list = append(list, t.Type)
	}
	samples, err := conn.Samples(ctx, list)
	if err != nil {
		return err
	}
	p.samples = make(map[uint32]format.Samples, len(samples))
	for _, s := range samples {
		p.samples[s.OID] = s
	}
	return nil
}

// header describes a segment's file.
func (p *plan) header(o *Options, dumpID string, s *segment) *format.Header {
	t := s.table
	oids := make([]uint32, len(t.columns))
	for i, c := range t.columns {
		oids[i] = c.OID
	}
	meta := format.Meta{
		Tool: o.Tool, DumpID: dumpID, Server: p.source.Server, Database: p.source.Database, Snapshot: p.source.Snapshot,
		Table:   format.Table{Schema: t.rel.Schema, Name: t.rel.Name, Kind: t.entry.Kind},
		Where:   t.entry.Where,
		Columns: t.columns,
		Types:   p.types.Reached(oids),
		Samples: []format.Samples{},
		Segment: format.SegmentRef{I: s.no, N: len(t.segments), CTIDRange: s.pages},
	}
	for _, node := range meta.Types {
		meta.Samples = append(meta.Samples, p.samples[node.OID])
	}
	h := &format.Header{Major: format.Major, Minor: format.Minor}
	h.SetMeta(meta)
	return h
}
