package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// encodeMeta returns the payload of META: compact JSON without a newline, empty lists as [].
func encodeMeta(m *Meta) ([]byte, error) {
	c := *m
	c.Columns, c.Types, c.Samples = notNil(c.Columns), notNil(c.Types), notNil(c.Samples)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&c); err != nil {
		return nil, fmt.Errorf("chunk %s: %w", tagMeta, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// decodeMeta reads the payload of META. Unknown keys are passed over: a minor version may add some.
func decodeMeta(p []byte, m *Meta) error {
	if err := checkJSON(p); err != nil {
		return err
	}
	// The columns apart, so that they are counted before they are made.
	type plain Meta
	shadow := struct {
		*plain
		Columns json.RawMessage `json:"columns"`
	}{plain: (*plain)(m)}
	if err := json.Unmarshal(p, &shadow); err != nil {
		return err
	}
	if n := countElements(shadow.Columns); n > MaxColumns {
		return &Error{Kind: ErrLimit, Err: fmt.Errorf("%d columns, more than %d", n, MaxColumns)}
	}
	if shadow.Columns == nil {
		return errors.New("no columns")
	}
	return json.Unmarshal(shadow.Columns, &m.Columns)
}

// checkJSON bounds what decoding a document can allocate: a list of empty values takes a hundred times the memory of its text,
// so commas and brackets outside strings may make up an eighth of a document. In what we write they are a twelfth at most.
func checkJSON(p []byte) error {
	if !utf8.Valid(p) {
		return errors.New("JSON is not UTF-8")
	}
	structure, quoted := 0, false
	for i := 0; i < len(p); i++ {
		switch b := p[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case !quoted && (b == ',' || b == '{' || b == '['):
			structure++
		}
	}
	if structure > 1<<16+len(p)/8 {
		return &Error{Kind: ErrLimit, Err: fmt.Errorf("JSON of %d bytes with %d values is not one of ours", len(p), structure)}
	}
	return nil
}

// countElements returns how many elements a JSON array has, as an upper bound: an empty one may count as one.
func countElements(p []byte) int {
	n, depth, quoted := 1, 0, false
	for i := 0; i < len(p); i++ {
		switch b := p[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '[' || b == '{':
			depth++
		case b == ']' || b == '}':
			depth--
		case b == ',' && depth == 1:
			n++
		}
	}
	return n
}
