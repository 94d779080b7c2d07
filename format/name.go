package format

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Name is an identifier as the server holds it, byte for byte. In JSON it is a string, or {"b64": "…"} where the bytes are not valid UTF-8.
type Name string

// MarshalJSON implements [json.Marshaler].
func (n Name) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(map[string]string{"b64": base64.StdEncoding.EncodeToString([]byte(n))})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Name) UnmarshalJSON(p []byte) error {
	var s string
	if json.Unmarshal(p, &s) == nil {
		*n = Name(s)
		return nil
	}
	var wrapped struct {
		B64 *string `json:"b64"`
	}
	if err := json.Unmarshal(p, &wrapped); err != nil || wrapped.B64 == nil {
		return fmt.Errorf("name is neither a string nor {\"b64\": …}: %.40q", p)
	}
	b, err := base64.StdEncoding.DecodeString(*wrapped.B64)
	if err != nil {
		return fmt.Errorf("name: %w", err)
	}
	*n = Name(b)
	return nil
}
