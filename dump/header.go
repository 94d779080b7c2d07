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
	refs, err := p.columnRefs(ctx, conn)
	if err != nil {
		return err
	}
	samples, err := conn.Samples(ctx, p.types, func(oid uint32) []pg.ColumnRef { return refs[oid] })
	if err != nil {
		return err
	}
	p.samples = make(map[uint32]format.Samples, len(samples))
	for _, s := range samples {
		p.samples[s.OID] = s
	}
	return nil
}

// columnsPerType bounds the columns that are searched for values of a type.
const columnsPerType = 5

// columnRefs names, for types that only their own values can show, a few columns that hold them.
func (p *plan) columnRefs(ctx context.Context, conn *pg.Conn) (map[uint32][]pg.ColumnRef, error) {
	refs := map[uint32][]pg.ColumnRef{}
	for _, t := range p.tables {
		for _, c := range t.columns {
			kind := p.types[c.OID].Kind
			if len(refs[c.OID]) >= columnsPerType || kind != format.KindDomain && (kind != format.KindBase || c.TypeSchema == "pg_catalog") {
				continue
			}
			table, column, err := conn.SQLNames(ctx, t.rel.OID, t.rel.Schema, t.rel.Name, []format.Name{c.Name}, conn.Encoding)
			if err != nil {
				return nil, err
			}
			refs[c.OID] = append(refs[c.OID], pg.ColumnRef{Table: table, Column: column[0]})
		}
	}
	return refs, nil
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
