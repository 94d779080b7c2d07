package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/rowtext"
)

// FuzzInspectManifest: whatever a manifest holds, inspect shows it harmlessly, and as JSON that says the same.
func FuzzInspectManifest(f *testing.F) {
	m := &format.Manifest{FormatVersion: 1, DumpID: "x"}
	p, err := m.AppendJSON(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p)
	evilManifest(m)
	if p, err = m.AppendJSON(nil); err != nil {
		f.Fatal(err)
	}
	f.Add(p)
	f.Fuzz(func(t *testing.T, p []byte) {
		m, err := format.ParseManifest(p)
		if err != nil {
			harmlessError(t, err)
			return
		}
		d := factsOf("dir", m)
		harmless(t, "text", []byte(d.text()))
		shownAsJSON(t, d)
	})
}

// FuzzInspectMeta: so with META of a file, and cat finds a way to write its columns.
func FuzzInspectMeta(f *testing.F) {
	m := format.Meta{Columns: []format.Column{{Name: "a", OID: 1, Carried: format.CarriedBinary}, {Name: "b", OID: 2, Carried: format.CarriedText}},
		Types:   []format.Type{{OID: 1, Name: "t", Kind: format.KindArray, Element: 2}, {OID: 2, Name: "u", Kind: format.KindComposite, Fields: []format.TypeField{{Name: "x", OID: 3}}}, {OID: 3, Kind: format.KindEnum, Labels: []format.Name{"l"}}},
		Samples: []format.Samples{{OID: 1, Values: []format.Sample{{Literal: "l", Bytes: []byte{1}, Text: "x"}}}}}
	for _, change := range []func(*format.Meta){func(*format.Meta) {}, evilMeta} {
		change(&m)
		p, err := json.Marshal(&m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p, []byte{0, 0, 0, 1})
	}
	f.Fuzz(func(t *testing.T, meta, value []byte) {
		r, err := format.NewReader(bytes.NewReader(plainFile(meta, format.Totals{}, nil)))
		if err != nil {
			harmlessError(t, err)
			return
		}
		file := fileFacts{Name: "f", Meta: r.Header().Meta}
		harmless(t, "text", []byte(file.text()))
		shownAsJSON(t, file)
		columns, _ := rowtext.Columns(&file.Meta)
		w := &rowWriter{columns: columns, safe: true}
		for i := range columns {
			w.chosen = append(w.chosen, i)
		}
		fields := make([][]byte, len(columns))
		for i := range fields {
			fields[i] = value
		}
		w.object(fields)
		if !json.Valid(w.line) {
			t.Fatalf("no JSON: %q", w.line)
		}
	})
}

// harmlessError demands the same of an error as it is printed.
func harmlessError(t *testing.T, err error) {
	t.Helper()
	var b bytes.Buffer
	printError(&b, err)
	harmless(t, "error", b.Bytes())
}

// shownAsJSON demands that a document is harmless JSON.
func shownAsJSON(t *testing.T, v any) {
	t.Helper()
	var b bytes.Buffer
	if err := writeJSON(&b, v); err != nil {
		t.Fatal(err)
	}
	harmless(t, "JSON", b.Bytes())
	if !json.Valid(b.Bytes()) {
		t.Fatalf("no JSON: %q", b.Bytes())
	}
}
