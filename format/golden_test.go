package format

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the goldens anew")

// golden is a file of testdata: one property of the format, with every byte explained.
type golden struct {
	name  string
	about string
	make  func(t testing.TB) []byte
	rows  [][]string
}

func goldens() []golden {
	one := appendRow(nil, "\x00\x00\x00\x2a", "Ada")
	oneRow := [][]string{{"\x00\x00\x00\x2a", "Ada"}}
	file := func(h *Header, c Compression, blocks ...[]byte) func(testing.TB) []byte {
		return func(t testing.TB) []byte { return writeFile(t, h, c, blocks...) }
	}
	stream := func(c Compression, blocks ...[]byte) func(testing.TB) []byte {
		return func(t testing.TB) []byte { return writeStream(t, sampleHeader("id", "name"), c, blocks...) }
	}
	chunky := sampleHeader("id", "name")
	chunky.Extra = []Chunk{{Tag: [4]byte([]byte("note")), Payload: []byte("a later version may say more here")}}
	odd := sampleHeader("id", "na\xefve")
	odd.Meta.Table.Name = "caf\xe9"
	return []golden{
		{"empty-table", "A table without rows is a header and a trailer.", file(sampleHeader("id", "name"), Compression{}, trailer), nil},
		{"one-row", "One row of two columns.", file(sampleHeader("id", "name"), Compression{}, append(bytes.Clone(one), trailer...)), oneRow},
		{"null-and-empty", "NULL is not the empty string.", file(sampleHeader("a", "b"), Compression{}, append(appendRow(nil, null, ""), trailer...)), [][]string{{null, ""}}},
		{"zero-columns", "A table without columns still has rows.", file(sampleHeader(), Compression{}, append([]byte{0, 0, 0, 0, 0, 0}, trailer...)), [][]string{nil, nil, nil}},
		{"unknown-chunk", "A chunk whose tag starts with a lower-case letter is passed over by readers that do not know it.", file(chunky, Compression{}, append(bytes.Clone(one), trailer...)), oneRow},
		{"name-not-utf8", "A name that is not valid UTF-8 is base64 in META.", file(odd, Compression{}, append(bytes.Clone(one), trailer...)), oneRow},
		{"stream", "To a pipe the header goes first, with a DGST of all ones; nothing may follow the trailer.", stream(Compression{}, append(bytes.Clone(one), trailer...)), oneRow},
		{"zstd", "A compressed file: the header's frame, frames of whole rows, the seek table.", file(sampleHeader("id", "name"), Compression{1}, one, append(appendRow(nil, "\x00\x00\x00\x2b", "GraceGraceGraceGraceGraceGraceGraceGraceGraceGrace"), trailer...)), append(oneRow[:1:1], []string{"\x00\x00\x00\x2b", "GraceGraceGraceGraceGraceGraceGraceGraceGraceGrace"})},
		{"zstd-stream", "A compressed stream tells its totals between the rows and the seek table.", stream(Compression{1}, append(bytes.Clone(one), trailer...)), oneRow},
	}
}

// The bytes of rows frames are the encoder's choice: a new version of it may change them, and -update then is right. All else is the format.
func TestGoldens(t *testing.T) {
	for _, g := range goldens() {
		t.Run(g.name, func(t *testing.T) {
			path := filepath.Join("testdata", g.name+".hex")
			got := "# " + g.about + "\n" + annotate(g.make(t))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("%s (-update writes it anew)\n%s", path, d)
			}
			p := unannotate(t, string(want))
			rows, err := readAll(p)
			if err != nil || !cmp.Equal(rows, g.rows) {
				t.Errorf("%q, want %q: %v", rows, g.rows, err)
			}
		})
	}
}

// The example of the specification is a golden.
func TestSpecificationExample(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join("testdata", "one-row.hex"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "docs", "FORMAT.md")
	spec, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := bytes.Cut(spec, []byte("```text\n"))
	example := slices.Concat([]byte("```text\n"), golden, []byte("```\n"))
	if *update {
		if err := os.WriteFile(path, slices.Concat(head, example), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !found || !bytes.HasSuffix(spec, example) {
		t.Errorf("%s does not end with the golden one-row (-update puts it there)", path)
	}
}
