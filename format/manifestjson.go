package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// ReadManifest reads and validates the manifest of the dump below root, a table at a time. Without one the error is [ErrUnfinished], for a bad one an
// [*Error]. Tables that are alike share their lists of columns, which must not be changed.
func ReadManifest(root *os.Root) (m *Manifest, err error) {
	f, err := openBounded(root, ManifestName, MaxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrUnfinished
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if m, err = readManifest(f); err != nil {
		return nil, &Error{File: ManifestName, Offset: -1, Kind: ErrManifest, Err: err}
	}
	return m, nil
}

// ParseManifest decodes and validates a manifest. Unknown keys are passed over: a later program may add some.
func ParseManifest(p []byte) (*Manifest, error) { return readManifest(bytes.NewReader(p)) }

// readManifest reads twice: what a document may make us allocate is known when all of it has been looked at.
func readManifest(r io.ReadSeeker) (*Manifest, error) {
	if err := checkJSONFrom(io.LimitReader(r, MaxManifest)); err != nil {
		return nil, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	m, err := decodeManifest(json.NewDecoder(io.LimitReader(r, MaxManifest)))
	if err != nil {
		return nil, err
	}
	return m, m.Validate()
}

// decodeManifest decodes a manifest, what may be long in it one by one.
func decodeManifest(d *json.Decoder) (*Manifest, error) {
	m, shared := new(Manifest), new(Shared)
	rest := []byte{'{'}
	if err := delim(d, '{'); err != nil {
		return nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch name, _ := key.(string); {
		case strings.EqualFold(name, "tables"):
			m.Tables, err = decodeList(d, shared.table)
		case strings.EqualFold(name, "sequences"):
			m.Sequences, err = decodeList(d, func(s *Sequence) { s.Schema = shared.Name(s.Schema) })
		default:
			rest, err = appendMember(rest, name, d)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := delim(d, '}'); err != nil {
		return nil, err
	}
	if t, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("behind the end: %v, %w", t, err)
	}
	return m, json.Unmarshal(append(rest, '}'), m)
}

// appendMember appends a member of an object, whose key has been read, to the beginning of another one.
func appendMember(p []byte, key string, d *json.Decoder) ([]byte, error) {
	var value json.RawMessage
	if err := d.Decode(&value); err != nil {
		return p, err
	}
	quoted, err := json.Marshal(key)
	if len(p) > 1 {
		p = append(p, ',')
	}
	p = append(append(p, quoted...), ':')
	return append(p, value...), err
}

// delim reads a bracket.
func delim(d *json.Decoder, want json.Delim) error {
	got, err := d.Token()
	if err != nil {
		return unexpectedEnd(err)
	}
	if got != want {
		return fmt.Errorf("%v where a %v belongs", got, want)
	}
	return nil
}

func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// decodeList reads a list; null is an empty one. Each element passes through each before the next one is read.
func decodeList[T any](d *json.Decoder, each func(*T)) ([]T, error) {
	start, err := d.Token()
	switch {
	case err != nil:
		return nil, unexpectedEnd(err)
	case start == nil:
		return nil, nil
	case start != json.Delim('['):
		return nil, fmt.Errorf("%v where a list belongs", start)
	}
	list := []T{}
	for d.More() {
		var x T
		if err := d.Decode(&x); err != nil {
			return nil, err
		}
		each(&x)
		list = append(list, x)
	}
	return list, delim(d, ']')
}

// AppendJSON appends the manifest as it is written: indented, for people, with empty lists as [] and a line for each column.
func (m *Manifest) AppendJSON(p []byte) ([]byte, error) {
	b := bytes.NewBuffer(p)
	if err := m.encode(b); err != nil {
		return p, err
	}
	return b.Bytes(), nil
}

// encode writes the manifest, a table at a time.
func (m *Manifest) encode(w io.Writer) error {
	c := *m
	c.Tables, c.Sequences, c.MatViews = []ManifestTable{}, notNil(c.Sequences), notNil(c.MatViews)
	c.Extensions, c.Roles, c.LeftOut, c.Warnings = notNil(c.Extensions), notNil(c.Roles), notNil(c.LeftOut), notNil(c.Warnings)
	c.Source.Settings, c.Source.ACL = notNil(c.Source.Settings), notNil(c.Source.ACL)
	if c.Options == nil {
		c.Options = map[string]string{}
	}
	var frame bytes.Buffer
	if err := encodeIndented(&frame, "", &c); err != nil {
		return err
	}
	// No string holds a newline in JSON, so this is the member of the outermost object.
	before, after, _ := bytes.Cut(frame.Bytes(), []byte("\n  \"tables\": []"))
	if _, err := fmt.Fprintf(w, "%s\n  \"tables\": [", before); err != nil {
		return err
	}
	var table bytes.Buffer
	for i := range m.Tables {
		table.Reset()
		table.WriteString([]string{"\n    ", ",\n    "}[min(i, 1)])
		if err := m.Tables[i].encode(&table); err != nil {
			return err
		}
		if _, err := w.Write(table.Bytes()); err != nil {
			return err
		}
	}
	end := "]"
	if len(m.Tables) > 0 {
		end = "\n  ]"
	}
	_, err := fmt.Fprintf(w, "%s%s", end, after)
	return err
}

// encodeIndented appends a value without the newline that ends it, unless it is the outermost one.
func encodeIndented(b *bytes.Buffer, prefix string, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("%s: %w", ManifestName, err)
	}
	if prefix != "" {
		b.Truncate(b.Len() - 1)
	}
	return nil
}

// encode appends a table, each column on a line of its own.
func (t *ManifestTable) encode(b *bytes.Buffer) error {
	c := *t
	c.Columns = nil
	var frame bytes.Buffer
	if err := encodeIndented(&frame, "    ", &c); err != nil {
		return err
	}
	before, after, _ := bytes.Cut(frame.Bytes(), []byte("\n      \"columns\": null"))
	b.Write(before)
	b.WriteString("\n      \"columns\": [")
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for i := range t.Columns {
		b.WriteString([]string{"\n        ", ",\n        "}[min(i, 1)])
		if err := enc.Encode(&t.Columns[i]); err != nil {
			return fmt.Errorf("%s: %w", ManifestName, err)
		}
		b.Truncate(b.Len() - 1)
	}
	if len(t.Columns) > 0 {
		b.WriteString("\n      ")
	}
	b.WriteByte(']')
	b.Write(after)
	return nil
}
