package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/rowtext"
	"github.com/bytehaul/pghaul/internal/show"
)

// catFlags are cat's flags as given.
type catFlags struct {
	csv, jsonLines bool
	limit          int
	columns        []string
}

func (a *app) catCommand() *cobra.Command {
	k := &catFlags{limit: -1}
	c := &cobra.Command{
		Use:     "cat FILE",
		Short:   "write a file's rows as CSV or JSON lines, without a server",
		GroupID: groupLook,
		Long: "pghaul cat writes the rows of a data file as CSV (with a header line) or as JSON\n" +
			"lines, without a server. Values look as PostgreSQL prints them, times in UTC; those\n" +
			"of types that are not known are \\x and hex digits. In CSV, NULL is nothing and an\n" +
			"empty text is \"\". Rows before a damaged place are written, then the exit code is 3.",
		Args:        exactly(1, 1, "the FILE (\"-\": standard input)"),
		Annotations: map[string]string{usageLines: "cat [OPTION]... FILE|-", exitLines: "0,1,2,3"},
		Example: "  pghaul cat shop/data/0001.public.orders/0001.pgcopy.zst | head\n" +
			"  pghaul cat --json-lines --columns id,total orders.pgcopy | jq .total",
		RunE: func(c *cobra.Command, args []string) error {
			if err := exclusive(c, "csv", "json-lines"); err != nil {
				return err
			}
			return a.cat(k, args[0])
		},
	}
	groupOf(c, "Options", false, func(f flags) {
		f.boolean(&k.csv, "csv", "", "CSV with a header line (the default)")
		f.boolean(&k.jsonLines, "json-lines", "", "a JSON object a line")
		f.number(&k.limit, "limit", "", "N", "stop after N rows", 0, math.MaxInt)
		f.list(&k.columns, "columns", "", "NAME,...", "these columns only, in this order")
	})
	return c
}

func (a *app) cat(k *catFlags, path string) error {
	if err := checkInput(path); err != nil {
		return err
	}
	in := a.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return usagef("%s is a folder", path).hint("name one of its data files: \"find %s -name '*.pgcopy*'\" lists them", shellWord(path))
		}
		in = f
	}
	r, err := format.NewReader(in)
	if err != nil {
		return err
	}
	columns, hexEncoding := rowtext.Columns(&r.Header().Meta)
	chosen, err := choose(columns, k.columns)
	if err != nil {
		return err
	}
	a.warnOfHex(columns, chosen, hexEncoding, r.Header().Meta.Server.Encoding)
	w := &rowWriter{out: bufio.NewWriterSize(a.stdout, 64<<10), columns: columns, chosen: chosen, json: k.jsonLines, safe: isTerminal(a.stdout)}
	err = w.rows(r, k.limit)
	return errors.Join(err, w.out.Flush())
}

// warnOfHex says why values are not readable.
func (a *app) warnOfHex(columns []rowtext.Column, chosen []int, hexEncoding bool, encoding string) {
	if a.quiet {
		return
	}
	if hexEncoding {
		fmt.Fprintf(a.stderr, "pghaul: warning: encoding %s cannot be converted here: texts are written as \\x and hex digits\n", show.Text(encoding))
		return
	}
	for _, i := range chosen {
		if columns[i].Hex {
			fmt.Fprintf(a.stderr, "pghaul: warning: column %s: type not known here: written as \\x and hex digits\n", show.Text(columns[i].Name))
		}
	}
}

// choose finds columns by name: as it is, or in lower case as SQL folds it. Without names it is all of them.
func choose(columns []rowtext.Column, names []string) (chosen []int, err error) {
	if len(names) == 0 {
		for i := range columns {
			chosen = append(chosen, i)
		}
		return chosen, nil
	}
	for _, given := range names {
		for _, name := range splitNames(given) {
			at := indexOf(columns, name)
			if at < 0 {
				return nil, usagef("option --columns: there is no column %q", name).hint("the columns are %s", columnNames(columns))
			}
			chosen = append(chosen, at)
		}
	}
	return chosen, nil
}

func indexOf(columns []rowtext.Column, name string) int {
	for _, want := range []string{name, strings.ToLower(name)} {
		for i := range columns {
			if columns[i].Name == want {
				return i
			}
		}
	}
	return -1
}

func columnNames(columns []rowtext.Column) string {
	names := make([]string, len(columns))
	for i := range columns {
		names[i] = show.Text(columns[i].Name)
	}
	return show.Fit(strings.Join(names, ", "), 300)
}

// splitNames cuts a list at commas that do not stand in double quotes.
func splitNames(s string) (names []string) {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' && quoted && i+1 < len(s) && s[i+1] == '"':
			b.WriteByte('"')
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			names = append(names, b.String())
			b.Reset()
		default:
			b.WriteByte(c)
		}
	}
	return append(names, b.String())
}

// rowWriter writes rows as CSV or JSON lines.
type rowWriter struct {
	out     *bufio.Writer
	columns []rowtext.Column
	chosen  []int
	json    bool
	safe    bool // a terminal reads it: control characters are escaped
	line    []byte
	value   []byte
}

// rows writes up to limit rows, all when it is negative.
func (w *rowWriter) rows(r *format.Reader, limit int) error {
	if !w.json {
		if err := w.header(); err != nil {
			return err
		}
	}
	var fields [][]byte
	for n := 0; limit < 0 || n < limit; n++ {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		fields = row.AppendFields(fields[:0])
		if w.json {
			w.object(fields)
		} else {
			w.csv(fields)
		}
		line := w.line
		if w.json && w.safe {
			line = show.JSON(line)
		}
		if _, err := w.out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func (w *rowWriter) header() error {
	w.line = w.line[:0]
	for i, at := range w.chosen {
		if i > 0 {
			w.line = append(w.line, ',')
		}
		w.line = rowtext.AppendCSV(w.line, w.shown([]byte(w.columns[at].Name)), len(w.chosen) == 1)
	}
	_, err := w.out.Write(append(w.line, '\n'))
	return err
}

func (w *rowWriter) csv(fields [][]byte) {
	w.line = w.line[:0]
	for i, at := range w.chosen {
		if i > 0 {
			w.line = append(w.line, ',')
		}
		if fields[at] != nil {
			w.value = w.columns[at].AppendText(w.value[:0], fields[at])
			w.line = rowtext.AppendCSV(w.line, w.shown(w.value), len(w.chosen) == 1)
		}
	}
}

func (w *rowWriter) object(fields [][]byte) {
	w.line = append(w.line[:0], '{')
	for i, at := range w.chosen {
		if i > 0 {
			w.line = append(w.line, ',')
		}
		w.line = append(rowtext.AppendJSONString(w.line, []byte(w.columns[at].Name)), ':')
		if fields[at] == nil {
			w.line = append(w.line, "null"...)
		} else {
			w.line = w.columns[at].AppendJSON(w.line, fields[at])
		}
	}
	w.line = append(w.line, '}')
}

// shown escapes what a terminal that reads a value could take for a command, or for another order of its letters; but for line ends and tabs.
func (w *rowWriter) shown(value []byte) []byte {
	if !w.safe {
		return value
	}
	out := value[:0:0]
	for rest := value; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		switch {
		case r == '\n' || r == '\t' || unicode.IsPrint(r):
			out = append(out, rest[:n]...)
		case r <= 0xff:
			out = fmt.Appendf(out, `\x%02x`, r)
		default:
			out = append(out, show.Text(string(r))...)
		}
		rest = rest[n:]
	}
	return out
}
