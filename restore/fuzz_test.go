package restore

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// fuzzedManifest is one that a fuzzer starts from.
const fuzzedManifest = `{"format_version":1,"tool":"t","dump_id":"x","source":{"server":{"version_num":150000,"encoding":"UTF8"},"database":"d","owner":"o","settings":[{"name":"a.b","value":"c","role":"r"}],
"acl":[{"grantee":"g","privilege":"CONNECT","grantable":true}],"snapshot":{"lsn":"0/1","time":"2026-11-30T17:00:00Z"}},"options":{"jobs":"2"},
"schema":{"path":"schema.pgdump","stored_bytes":1,"xxh128":"00000000000000000000000000000000"},
"tables":[{"schema":"public","name":"a","kind":"partition","root":{"schema":"public","name":"r","kind":"partitioned table"},"via_root":true,
"columns":[{"name":"id","type":"integer","type_schema":"pg_catalog","type_name":"int4","oid":23,"typmod":-1,"carried":"binary"}],"rows":1,"bytes":12,"row_digest":"00000000000000010000000000000002",
"segments":[{"path":"data/1/1.pgcopy","stored_bytes":1,"xxh128":"00000000000000000000000000000000","rows":1,"raw_bytes":12,"row_digest":"00000000000000010000000000000002","ctid_range":{"from":0}}]},
{"schema":{"b64":"/w=="},"name":"B","kind":"table","columns":[],"rows":0,"bytes":2,"row_digest":"00000000000000000000000000000000",
"segments":[{"path":"data/2/1.pgcopy.zst","stored_bytes":1,"xxh128":"00000000000000000000000000000000","rows":0,"raw_bytes":2,"row_digest":"00000000000000000000000000000000"}]}],
"sequences":[{"schema":"public","name":"s","last_value":1,"is_called":true}],"large_objects":1,"matviews":[{"schema":"public","name":"v","populated":true}],"extensions":[{"name":"e","version":"1"}],
"roles":["r"],"left_out":[{"kind":"k","name":"n","why":"w"}],"warnings":["w"]}`

// bounded fails when f allocates out of proportion to its input.
func bounded(t *testing.T, input int, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if n, most := after.TotalAlloc-before.TotalAlloc, uint64(64<<20+2000*input); n > most {
		t.Fatalf("%d bytes allocated for %d bytes of input", n, input)
	}
}

// FuzzManifest lets a restore plan with whatever a manifest says, and verify look at its folder: what is accepted stays inside of the dump and adds up, and
// the queue hands every segment out once.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(fuzzedManifest))
	f.Add([]byte(`{"format_version":1,"dump_id":"x","tables":null}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, p []byte) {
		var m *format.Manifest
		var err error
		bounded(t, len(p), func() { m, err = format.ParseManifest(p) })
		if err != nil {
			return
		}
		files := map[string]bool{}
		for _, file := range m.Files() {
			if !filepath.IsLocal(file.Path) || strings.Contains(file.Path, `\`) || files[strings.ToLower(file.Path)] {
				t.Fatalf("file %q", file.Path)
			}
			files[strings.ToLower(file.Path)] = true
		}
		var plan *plan
		bounded(t, len(p), func() { plan, err = newPlan(&Options{}, m) })
		if err != nil {
			t.Fatal(err)
		}
		planned(t, plan, m)
		if err := os.WriteFile(filepath.Join(dir, format.ManifestName), p, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Verify(context.Background(), VerifyOptions{Path: dir, Jobs: 1})
		if err != nil || len(r.Findings) < 1+len(files) { // no file is there, nor are the checksums
			t.Fatalf("%d findings for %d missing files (%v)", len(r.Findings), len(files), err)
		}
	})
}

// planned holds a plan against its manifest.
func planned(t *testing.T, p *plan, m *format.Manifest) {
	t.Helper()
	var rows, want int64
	segments := 0
	for i := range m.Tables {
		want += m.Tables[i].Rows
	}
	q := newQueue(p.tables)
	for {
		table, i, ok := q.next(context.Background(), nil)
		if !ok {
			break
		}
		s := &table.entry.Segments[i]
		if s.Rows < 0 || table.into.Name == "" || strings.HasPrefix(string(table.into.Schema), "pg_") {
			t.Fatalf("%+v into %v", s, table.into)
		}
		rows += s.Rows
		segments++
		q.finish(table)
	}
	if segments != p.segments || rows != want {
		t.Fatalf("%d of %d segments, %d of %d rows", segments, p.segments, rows, want)
	}
}

// fuzzedMeta is META with types of all kinds.
const fuzzedMeta = `{"tool":"t","dump_id":"x","server":{"version_num":150000,"encoding":"UTF8","integer_datetimes":true},"database":"d","snapshot":{"lsn":"0/1","time":"t"},
"table":{"schema":"public","name":"a","kind":"table"},"columns":[{"name":"id","type":"integer","type_schema":"pg_catalog","type_name":"int4","oid":23,"typmod":-1,"carried":"binary"},
{"name":"e","type":"mood[]","type_schema":"public","type_name":"_mood","oid":20001,"typmod":-1,"carried":"binary","oids":true},
{"name":"c","type":"pair","type_schema":"public","type_name":"pair","oid":20002,"typmod":-1,"carried":"binary","oids":true},
{"name":"m","type":"money","type_schema":"pg_catalog","type_name":"money","oid":790,"typmod":-1,"carried":"text","cast":"numeric"},
{"name":"g","type":"integer","type_schema":"pg_catalog","type_name":"int4","oid":23,"typmod":-1,"generated":"stored","carried":"binary"},
{"name":"r","type":"mr","type_schema":"public","type_name":"mr","oid":20005,"typmod":-1,"carried":"binary"}],
"types":[{"oid":23,"schema":"pg_catalog","name":"int4","kind":"base"},{"oid":790,"schema":"pg_catalog","name":"money","kind":"base"},{"oid":20000,"schema":"public","name":"mood","kind":"enum","labels":["a",{"b64":"/w=="}]},
{"oid":20001,"schema":"public","name":"_mood","kind":"array","element":20000},{"oid":20002,"schema":"public","name":"pair","kind":"composite","fields":[{"name":"x","oid":20001},{"name":"y","oid":20003}]},
{"oid":20003,"schema":"public","name":"dom","kind":"domain","element":23,"extension":{"name":"ext","version":"1"}},{"oid":20004,"schema":"public","name":"rng","kind":"range","element":23},
{"oid":20005,"schema":"public","name":"mr","kind":"multirange","element":20004}],
"samples":[{"oid":23,"schema":"pg_catalog","name":"int4","values":[{"literal":"1","bytes":"AAAAAQ==","text":"1"}]},{"oid":20001,"schema":"public","name":"_mood","values":[{"literal":"{}","bytes":"AAAAAAAAAAAAAE4g","text":"{}"}]}],
"segment":{"i":1,"n":1}}`

// FuzzMeta lets a restore match a table, as a file's META describes it, with a target that is just so, without a server: what format accepts can be followed,
// samples included, in bounded memory.
func FuzzMeta(f *testing.F) {
	f.Add([]byte(fuzzedMeta))
	f.Add([]byte(`{"columns":[]}`))
	f.Fuzz(func(t *testing.T, p []byte) {
		h := &format.Header{Major: format.Major, TotalsKnown: true}
		if json.Unmarshal(p, &h.Meta) != nil {
			return
		}
		encoded, err := h.AppendBinary(nil)
		if err != nil {
			return
		}
		bounded(t, len(encoded), func() { err = h.UnmarshalBinary(encoded) })
		if err != nil {
			return
		}
		bounded(t, len(encoded), func() { matchItself(t, &h.Meta) })
	})
}

// matchItself matches a table with one of the same columns and types.
func matchItself(t *testing.T, m *format.Meta) {
	t.Helper()
	table := &loadTable{entry: &format.ManifestTable{Schema: m.Table.Schema, Name: m.Table.Name, Columns: m.Columns}, name: pg.Qualified{Schema: m.Table.Schema, Name: m.Table.Name}}
	table.into, table.columns, table.known = table.name, storedColumns(m.Columns), newKnown(m, &mapping{})
	source, there := table.sourceTypes(), newTargetTypes(table.sourceTypes())
	var target []pg.TargetColumn
	for _, c := range m.Columns {
		target = append(target, pg.TargetColumn{Column: c})
	}
	fits := fitTable(table.columns, target, source, loosening{drop: func(format.Name) bool { return false }})
	table.fits, table.filled = fits[:len(table.columns)], fits[len(table.columns):]
	if len(table.fits) != m.FieldCount() {
		t.Fatalf("%d columns fit, rows have %d fields", len(table.fits), m.FieldCount())
	}
	j := &job{m: &format.Manifest{Source: format.Source{Server: m.Server}}, leader: &pg.Conn{Version: 150000, Encoding: "UTF8"}}
	found := &findings{}
	matchTypes(found, table, source, there)
	for i := range table.fits {
		fitFinding(found, table.into.String(), &table.fits[i], false)
		_ = source.RangesOfTexts(table.columns[i].OID) // for the sake of its time
	}
	if err := j.planConversion(found, table, source, there); err != nil {
		t.Fatal(err)
	}
	for _, s := range (&plan{tables: []*loadTable{table}}).sampledTypes() {
		if len(s.columns) == 0 || len(s.columns) > shownColumns {
			t.Fatalf("type %v has columns %q", s.Type, s.columns)
		}
		if rewritten, err := s.rewritten(); err == nil && len(rewritten) > len(s.values) {
			t.Fatalf("%d samples became %d", len(s.values), len(rewritten))
		}
	}
}
