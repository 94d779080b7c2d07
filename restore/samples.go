package restore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// sampled is a type with its known values, and the columns that use it.
type sampled struct {
	format.Type
	values  []format.Sample
	columns []string
}

// sampledTypes collects the types of all files that carry samples, each once. own: those of users, else the builtin ones.
func (p *plan) sampledTypes(own bool) []*sampled {
	var list []*sampled
	byName := map[pg.Qualified]*sampled{}
	for _, t := range p.tables {
		graph := pg.Types{}
		for _, node := range t.types {
			graph[node.OID] = &pg.Type{Type: node}
		}
		for _, s := range t.samples {
			q := pg.Qualified{Schema: s.Schema, Name: s.Name}
			node := graph[s.OID]
			if node == nil || len(s.Values) == 0 || own == (s.Schema == "pg_catalog") {
				continue
			}
			known := byName[q]
			for _, c := range t.columns {
				if c.Carried == format.CarriedBinary && slices.ContainsFunc(graph.Reached([]uint32{c.OID}), func(n format.Type) bool { return n.OID == s.OID }) {
					if known == nil {
						known = &sampled{Type: node.Type, values: s.Values}
						byName[q] = known
						list = append(list, known)
					}
					known.columns = append(known.columns, t.name.String()+"."+string(c.Name))
				}
			}
		}
	}
	return list
}

// checkSamples lets the target read the samples of the builtin types and compares what it makes of them.
func (j *job) checkSamples(ctx context.Context, f *findings) error {
	return j.checkSamplesOf(ctx, f, false)
}

func (j *job) checkSamplesOf(ctx context.Context, f *findings, own bool) error {
	if j.o.SchemaOnly {
		return nil
	}
	types := j.plan.sampledTypes(own)
	if len(types) == 0 {
		return nil
	}
	c, err := j.connectData(ctx)
	if state := pg.State(err); state == "0A000" || state == "22023" {
		f.bad("database "+j.o.DSN.Config.Database, "encoding "+j.m.Source.Server.Encoding, "encoding "+j.leader.Encoding+", and the server has no conversion between the two", "restore into a database of encoding UTF8, or of the source's")
		return nil
	}
	if err != nil {
		return pg.Wrap(err, "session in the encoding of the rows, %s", j.m.Source.Server.Encoding)
	}
	defer closeConn(c)
	for _, t := range types {
		bad, err := c.CheckSamples(ctx, t.Type, t.values)
		if err != nil {
			return err
		}
		for _, b := range bad {
			j.sampleFinding(f, t, b)
		}
	}
	return nil
}

// shownColumns bounds the columns that one finding names.
const shownColumns = 5

func (j *job) sampleFinding(f *findings, t *sampled, b pg.SampleMismatch) {
	x := Finding{Severity: SeverityError, Object: "type " + pg.TypeName(t.Type), Dump: fmt.Sprintf("%q", b.Sample.Text)}
	columns := t.columns
	more := ""
	if len(columns) > shownColumns {
		columns, more = columns[:shownColumns], fmt.Sprintf(" and %d more", len(t.columns)-shownColumns)
	}
	x.Hint = "the type means something else on the target; it is used by " + strings.Join(columns, ", ") + more
	switch {
	case b.Err != nil:
		x.Target = b.Err.Error()
		if j.laterInfinity(t.Type, b.Sample) {
			x.Severity = SeverityWarning
		}
	case bytes.Equal(b.Bytes, b.Sample.Bytes) && j.leader.Version/10000 != j.m.Source.Server.VersionNum/10000:
		x.Severity, x.Target = SeverityWarning, fmt.Sprintf("shows it as %q", b.Text)
	default:
		x.Target = fmt.Sprintf("reads it as %q", b.Text)
		if j.laterInfinity(t.Type, b.Sample) {
			x.Severity = SeverityWarning
		}
	}
	f.add(x)
}

// laterInfinity tells of a value that the target's version has no form for: numeric's infinities came with 14, interval's with 17.
// The type itself means the same; a row that holds one will be refused.
func (j *job) laterInfinity(t format.Type, s format.Sample) bool {
	since := map[format.Name]int{"numeric": 140000, "interval": 170000}[t.Name]
	return t.Schema == "pg_catalog" && j.leader.Version < since && strings.Contains(strings.ToLower(s.Literal), "infinity")
}
