package restore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/convert"
	"github.com/bytehaul/pghaul/internal/pg"
)

// sampled is a type with its known values, and the columns that use it.
type sampled struct {
	format.Type
	table   *loadTable     // the first that uses it
	text    *format.Column // carried as text: a column of it
	values  []format.Sample
	columns []string // the first few that use it
	more    int      // columns
}

// builtin tells that the type means the same before the first definition is restored.
func (s *sampled) builtin() bool { return s.text == nil && s.Schema == "pg_catalog" }

// sampledTypes collects the types of all files that carry samples, each once: those inside of columns that go as bytes, and those of columns that go
// as text.
func (p *plan) sampledTypes() []*sampled {
	type key struct {
		name pg.Qualified
		text bool
	}
	var list []*sampled
	known := map[key]*sampled{}
	for _, t := range p.tables {
		if t.known == nil {
			continue
		}
		graph, values := t.known.types, t.known.samples
		for i := range t.columns {
			c := &t.columns[i]
			if len(t.fits) == len(t.columns) && (t.fits[i].verdict == Converts || t.fits[i].verdict == Dropped) {
				continue // the type itself does not go there
			}
			nodes := []format.Type{{OID: c.OID, Schema: c.TypeSchema, Name: c.TypeName}}
			if c.Carried == format.CarriedBinary {
				nodes = graph.Reached([]uint32{c.OID})
			}
			for _, node := range nodes {
				if len(values[node.OID]) == 0 {
					continue
				}
				k := key{pg.Qualified{Schema: node.Schema, Name: node.Name}, c.Carried == format.CarriedText}
				s := known[k]
				if s == nil {
					s = &sampled{Type: node, table: t, values: values[node.OID]}
					if k.text {
						s.text = c
					}
					known[k] = s
					list = append(list, s)
				}
				if len(s.columns) < shownColumns {
					s.columns = append(s.columns, t.name.String()+"."+string(c.Name))
				} else {
					s.more++
				}
			}
		}
	}
	return list
}

// checkBuiltinSamples lets the target read the samples of the builtin types and compares what it makes of them.
func (j *job) checkBuiltinSamples(ctx context.Context, f *findings) error {
	return j.checkSamples(ctx, f, (*sampled).builtin)
}

// checkOtherSamples does so with the samples of all other types, which need the definitions, and of columns that go as text.
func (j *job) checkOtherSamples(ctx context.Context, f *findings) error {
	return j.checkSamples(ctx, f, func(s *sampled) bool { return !s.builtin() })
}

func (j *job) checkSamples(ctx context.Context, f *findings, which func(*sampled) bool) error {
	if !j.o.parts.rows {
		return nil
	}
	types := slices.DeleteFunc(j.plan.sampledTypes(), func(s *sampled) bool { return !which(s) })
	if len(types) == 0 {
		return nil
	}
	temp, err := j.leader.MayTemp(ctx)
	if err != nil {
		return err
	}
	if !temp {
		f.once("database "+j.o.DSN.Config.Database, "samples of types, to be read once", "the role may not make temporary tables", "GRANT TEMPORARY ON DATABASE")
		return nil
	}
	c, err := j.connectData(ctx)
	if j.noConversion(f, err) {
		return nil
	}
	if err != nil {
		return pg.Wrap(err, "session in the encoding of the rows, %s", j.m.Source.Server.Encoding)
	}
	defer closeConn(c)
	for _, t := range types {
		bad, err := j.checkType(ctx, c, t)
		if err != nil {
			return err
		}
		for _, b := range bad {
			if j.misread == nil {
				j.misread = map[misreading]string{}
			}
			said := b.Text
			if b.Err != nil {
				said = b.Err.Error()
			}
			j.misread[misreading{string(t.Schema) + "." + string(t.Name), b.Sample.Literal}] = said
			j.sampleFinding(f, t, b)
		}
	}
	return nil
}

// noConversion tells of a session that could not be had because the server can't convert the rows' encoding into the database's.
func (j *job) noConversion(f *findings, err error) bool {
	state := pg.State(err)
	if state != "0A000" && state != "22023" {
		return false
	}
	f.once("database "+j.o.DSN.Config.Database, "encoding "+j.m.Source.Server.Encoding, "encoding "+j.leader.Encoding+", and the server has no conversion between the two", "restore into a database of encoding UTF8, or of the source's")
	return true
}

// checkType lets the target read the samples of one type, in the form that rows have.
func (j *job) checkType(ctx context.Context, c *pg.Conn, t *sampled) ([]pg.SampleMismatch, error) {
	switch {
	case t.text != nil:
		oids, err := j.leader.TypeOIDs(ctx, []pg.Qualified{{Schema: t.Schema, Name: t.Name}})
		if err != nil || len(oids) == 0 { // a type that is missing has been found by its name
			return nil, err
		}
		name, err := c.TypeSQL(ctx, oids[0], -1)
		if err != nil {
			return nil, err
		}
		return c.CheckTextSamples(ctx, name, t.text.Cast, t.table.sourceTypes().IsArray(t.OID), t.values)
	case t.builtin():
		return c.CheckSamples(ctx, t.Type, t.values)
	}
	rewritten, err := t.rewritten()
	if err != nil {
		return nil, err
	}
	return c.CheckSamples(ctx, t.Type, rewritten)
}

// rewritten are the samples with the target's OIDs in them. Values that the target's version does not know are left out: the rows are looked at too.
func (s *sampled) rewritten() ([]format.Sample, error) {
	plan, err := convert.NewPlan([]convert.Column{{Name: s.Name}}, []uint32{s.OID}, s.table.graph)
	if err != nil {
		return nil, err
	}
	var list []format.Sample
	for _, v := range s.values {
		v.Bytes = bytes.Clone(v.Bytes)
		switch err := plan.RewriteValue(v.Bytes); {
		case errors.Is(err, convert.ErrInfinity), errors.Is(err, convert.ErrLargest):
			continue
		case err != nil:
			return nil, fmt.Errorf("sample of type %s: %w", pg.TypeName(s.Type), err)
		}
		list = append(list, v)
	}
	return list, nil
}

// shownColumns bounds the columns that one finding names.
const shownColumns = 5

func (j *job) sampleFinding(f *findings, t *sampled, b pg.SampleMismatch) {
	x := Finding{Severity: SeverityError, Object: "type " + pg.TypeName(t.Type), Dump: fmt.Sprintf("%q", b.Sample.Text)}
	more := ""
	if t.more > 0 {
		more = fmt.Sprintf(" and %d more", t.more)
	}
	x.Hint = "the type means something else on the target; it is used by " + strings.Join(t.columns, ", ") + more
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
