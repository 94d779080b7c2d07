package rowtext

import "bytes"

// AppendCSV appends a field of a CSV line as COPY … (FORMAT csv) writes it: in quotes where it must be, and where it is empty, so that it is
// told from NULL, which is nothing at all. only says that it is the only field of its line.
func AppendCSV(dst, field []byte, only bool) []byte {
	if len(field) > 0 && !bytes.ContainsAny(field, ",\"\r\n") && !(only && string(field) == `\.`) {
		return append(dst, field...)
	}
	dst = append(dst, '"')
	for _, b := range field {
		if b == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, b)
	}
	return append(dst, '"')
}

// AppendJSONString appends UTF-8 as a JSON string, with control characters escaped.
func AppendJSONString(dst, text []byte) []byte { return appendString(dst, text) }
