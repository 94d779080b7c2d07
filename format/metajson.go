package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// decodeMeta reads the payload of META. Unknown keys are passed over: a minor version may add some. What other files have alike comes from known, which may be nil.
func decodeMeta(p []byte, m *Meta, known *Metas) error {
	if err := checkJSON(p); err != nil {
		return err
	}
	type plain Meta
	shadow := struct {
		*plain
		Server  json.RawMessage `json:"server"`
		Columns json.RawMessage `json:"columns"`
		Types   json.RawMessage `json:"types"`
		Samples json.RawMessage `json:"samples"`
	}{plain: (*plain)(m)}
	if err := json.Unmarshal(p, &shadow); err != nil {
		return err
	}
	// The columns are counted before they are made.
	if n := countElements(shadow.Columns); n > MaxColumns {
		return &Error{Kind: ErrLimit, Err: fmt.Errorf("%d columns, more than %d", n, MaxColumns)}
	}
	if shadow.Columns == nil {
		return errors.New("no columns")
	}
	if known == nil {
		known = &Metas{}
	}
	err := errors.Join(known.servers.decode(shadow.Server, &m.Server), known.columns.decode(shadow.Columns, &m.Columns),
		known.types.decode(shadow.Types, &m.Types), known.samples.decode(shadow.Samples, &m.Samples))
	if err != nil {
		return err
	}
	return m.check()
}

// checkJSON bounds what decoding a document can allocate: a list of empty values takes a hundred times the memory of its text,
// so commas and brackets outside strings may make up an eighth of a document. In what we write they are a twelfth at most.
func checkJSON(p []byte) error { return checkJSONFrom(bytes.NewReader(p)) }

// checkJSONFrom is checkJSON of what r gives, a piece at a time.
func checkJSONFrom(r io.Reader) error {
	buf := make([]byte, 64<<10)
	length, structure, quoted, escaped := 0, 0, false, false
	for kept := 0; ; { // bytes at the start of buf, of a character that was cut
		n, err := r.Read(buf[kept:])
		for _, b := range buf[kept : kept+n] {
			switch {
			case escaped:
				escaped = false
			case quoted && b == '\\':
				escaped = true
			case b == '"':
				quoted = !quoted
			case b < ' ' && b != '\n' && b != '\r' && b != '\t': // a sparse file of zeros ends here
				return fmt.Errorf("byte %#02x has no place in JSON", b)
			case !quoted && (b == ',' || b == '{' || b == '['):
				structure++
			}
		}
		length += n
		piece := buf[:kept+n]
		whole := wholeRunes(piece)
		if err != nil {
			whole = len(piece) // the last one must be whole too
		}
		if !utf8.Valid(piece[:whole]) {
			return errors.New("JSON is not UTF-8")
		}
		kept = copy(buf, piece[whole:])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if structure > 1<<16+length/8 {
		return &Error{Kind: ErrLimit, Err: fmt.Errorf("JSON of %d bytes with %d values is not one of ours", length, structure)}
	}
	return nil
}

// wholeRunes gives the length of p without a character that is cut off at its end.
func wholeRunes(p []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if at := len(p) - i; utf8.RuneStart(p[at]) {
			if utf8.FullRune(p[at:]) {
				break
			}
			return at
		}
	}
	return len(p)
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
