package format

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// annotator prints a file for people: every byte once, in order, with what it means. It shares no code with the reader, and trusts its input.
type annotator struct {
	p    []byte
	at   int
	text strings.Builder
}

// bytes prints the next n bytes in hex, 16 a line; the note, which may refer to them, stands beside the first line.
func (a *annotator) bytes(n int, form string, args ...any) []byte {
	b := a.p[a.at : a.at+n]
	note := fmt.Sprintf(form, args...)
	for i := 0; i < len(b) || i == 0 && n == 0; i += 16 {
		line := fmt.Sprintf("%06x  %-47s  %s", a.at+i, fmt.Sprintf("% x", b[i:min(i+16, len(b))]), note)
		a.text.WriteString(strings.TrimRight(line, " ") + "\n")
		note = ""
	}
	a.at += n
	return b
}

// string prints the next n bytes as quoted text, up to 100 a line.
func (a *annotator) string(n int) {
	for n > 0 {
		m := min(n, 100)
		for m < n && a.p[a.at+m]&0xc0 == 0x80 { // not within a character
			m--
		}
		quoted := string(a.p[a.at : a.at+m])
		if strconv.CanBackquote(quoted) {
			quoted = "`" + quoted + "`"
		} else {
			quoted = strconv.Quote(quoted)
		}
		fmt.Fprintf(&a.text, "%06x  %s\n", a.at, quoted)
		a.at += m
		n -= m
	}
}

func (a *annotator) title(form string, args ...any) {
	fmt.Fprintf(&a.text, "\n# "+form+"\n", args...)
}

func (a *annotator) be32() int { return int(binary.BigEndian.Uint32(a.p[a.at:])) }
func (a *annotator) le32() int { return int(binary.LittleEndian.Uint32(a.p[a.at:])) }

func (a *annotator) header() {
	a.title("COPY header")
	a.bytes(11, "signature")
	a.bytes(4, "flags")
	end := a.at + 4 + a.be32()
	a.bytes(4, "%d bytes of chunks", a.be32())
	for a.at < end {
		a.chunk()
	}
}

func (a *annotator) chunk() {
	tag := string(a.p[a.at : a.at+4])
	a.title("chunk %s", tag)
	a.bytes(4, "tag %s", tag)
	n := a.be32()
	a.bytes(4, "%d bytes", n)
	switch tag {
	case "HAUL":
		a.bytes(2, "major version")
		a.bytes(2, "minor version")
		a.bytes(4, "reserved")
	case "META":
		a.string(n)
	case "DGST":
		a.bytes(8, "rows: %d", int64(binary.BigEndian.Uint64(a.p[a.at:])))
		a.bytes(8, "bytes of rows and trailer: %d", int64(binary.BigEndian.Uint64(a.p[a.at:])))
		a.bytes(8, "row digest, low lane")
		a.bytes(8, "row digest, high lane")
		a.bytes(32, "reserved")
	case "stor":
		a.bytes(8, "stored bytes behind the header: %d", binary.BigEndian.Uint64(a.p[a.at:]))
		a.bytes(16, "their XXH3-128")
	default:
		a.string(n)
	}
	a.bytes(4, "CRC-32C")
}

func (a *annotator) rows() {
	for row := 1; a.at < len(a.p); row++ {
		count := int(int16(binary.BigEndian.Uint16(a.p[a.at:])))
		if count == -1 {
			a.title("end")
			a.bytes(2, "trailer")
			continue
		}
		a.title("row %d", row)
		a.bytes(2, "%d fields", count)
		for range count {
			n := int(int32(binary.BigEndian.Uint32(a.p[a.at:])))
			if n < 0 {
				a.bytes(4, "NULL")
				continue
			}
			a.bytes(4, "%d bytes", n)
			if n > 0 {
				a.bytes(n, "%q", a.p[a.at:a.at+n])
			}
		}
	}
}

// zstd prints a compressed file. decoded is what zstd -dc makes of it, printed behind it where the frames hide it.
func (a *annotator) zstd() {
	a.title("zstd frame of the header")
	a.bytes(4, "magic")
	a.bytes(1, "single segment, content size in 4 bytes")
	a.bytes(4, "%d bytes in it", a.le32())
	a.bytes(3, "last block, stored as it is")
	a.header()
	for a.at < len(a.p) {
		switch uint32(a.le32()) {
		case magicFrame:
			a.frame()
		case magicSummary:
			a.title("skippable frame: totals of the stream")
			a.bytes(4, "magic")
			a.bytes(4, "%d bytes", a.le32())
			a.chunk()
			a.chunk()
		default:
			a.seekTable()
		}
	}
}

// frame prints a frame of rows of at most 255 bytes in one block, which all goldens keep to.
func (a *annotator) frame() {
	a.title("zstd frame of rows")
	a.bytes(4, "magic")
	a.bytes(1, "single segment, checksum")
	a.bytes(1, "%d bytes in it", a.p[a.at])
	n := (int(a.p[a.at]) | int(a.p[a.at+1])<<8) >> 3
	kind := []string{"stored as it is", "one byte repeated", "compressed"}[a.p[a.at]>>1&3]
	a.bytes(3, "last block of %d bytes, %s", n, kind)
	a.bytes(n, "")
	a.bytes(4, "checksum")
}

func (a *annotator) seekTable() {
	a.title("skippable frame: seek table")
	a.bytes(4, "magic")
	n := (a.le32() - 9) / 8
	a.bytes(4, "%d bytes", a.le32())
	for i := range n {
		a.bytes(4, "frame %d: %d bytes stored", i, a.le32())
		a.bytes(4, "         %d bytes in it", a.le32())
	}
	a.bytes(4, "%d frames", a.le32())
	a.bytes(1, "no checksums")
	a.bytes(4, "magic of the seekable format")
}

// annotate returns the annotated form of a file.
func annotate(p []byte) string {
	a := &annotator{p: p}
	if binary.LittleEndian.Uint32(p) == magicFrame {
		a.zstd()
	} else {
		a.header()
		a.rows()
	}
	return a.text.String()
}

// unannotate returns the bytes that an annotated file stands for.
func unannotate(t *testing.T, text string) []byte {
	t.Helper()
	var p []byte
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		rest, ok := strings.CutPrefix(line, fmt.Sprintf("%06x  ", len(p)))
		if !ok {
			t.Fatalf("offset is not %06x: %s", len(p), line)
		}
		if rest[0] == '"' || rest[0] == '`' {
			s, err := strconv.Unquote(rest)
			if err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			p = append(p, s...)
			continue
		}
		b, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(rest[:min(len(rest), 47)]), " ", ""))
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		p = append(p, b...)
	}
	return p
}
