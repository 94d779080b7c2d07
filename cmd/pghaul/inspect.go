package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/hint"
	"github.com/bytehaul/pghaul/internal/show"
)

func (a *app) inspectCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "inspect FILE|DIR",
		Short:   "show what a file or a dump holds, without a server",
		GroupID: groupLook,
		Long: "pghaul inspect shows what is in a data file or a dump: server, database, tables,\n" +
			"columns, types, samples, segments and digests. It reads headers alone and needs\n" +
			"no server; whether the rows are undamaged is what \"pghaul verify\" finds out.",
		Args:        exactly(1, 1, "the FILE or DIR (\"-\": standard input)"),
		Annotations: map[string]string{usageLines: "inspect [OPTION]... FILE|DIR|-", exitLines: "0,1,2,3"},
		Example: "  pghaul inspect shop-2026-11-30\n" +
			"  pghaul inspect shop-2026-11-30/data/0001.public.orders/0001.pgcopy.zst\n" +
			"  pghaul inspect --json shop-2026-11-30 | jq '.manifest.tables[].name'",
		RunE: func(_ *cobra.Command, args []string) error {
			return a.inspect(args[0], asJSON)
		},
	}
	groupOf(c, "Options", false, func(f flags) {
		f.boolean(&asJSON, "json", "", "write one JSON document")
	})
	return c
}

func (a *app) inspect(path string, asJSON bool) error {
	if path == "-" {
		return a.inspectFile(a.stdin, nil, asJSON)
	}
	if err := checkInput(path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return a.inspectDump(path, asJSON)
	}
	return a.inspectFile(f, info, asJSON)
}

func (a *app) inspectFile(f *os.File, info os.FileInfo, asJSON bool) error {
	r, err := format.NewReader(f)
	if err != nil {
		return err
	}
	file := fileFacts{Name: "-", HeaderBytes: r.HeaderLen(), Zstd: r.Compressed(), Meta: r.Header().Meta}
	file.Format.Major, file.Format.Minor = r.Header().Major, r.Header().Minor
	if t, known := r.Totals(); known {
		file.Totals = &totals{Rows: t.Rows, Bytes: t.Length, RowDigest: t.Digest.String()}
	}
	if info != nil && info.Mode().IsRegular() {
		file.Name, file.StoredBytes = f.Name(), info.Size()
		if file.Zstd {
			if file.Frames, err = framesOf(f, info.Size()); err != nil {
				return err
			}
		}
	}
	if asJSON {
		return writeJSON(a.stdout, file)
	}
	_, err = io.WriteString(a.stdout, file.text())
	return err
}

func (a *app) inspectDump(path string, asJSON bool) error {
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer root.Close()
	m, err := format.ReadManifest(root)
	if errors.Is(err, format.ErrUnfinished) {
		return hint.With(atPath(path, err), "a dump that did not finish has no manifest.json: take it again")
	}
	if err != nil {
		return err
	}
	d := factsOf(path, m)
	if asJSON {
		return writeJSON(a.stdout, d)
	}
	_, err = io.WriteString(a.stdout, d.text())
	return err
}

// writeJSON writes one indented document, with nothing raw in it that a terminal could take for a command.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(show.JSON(b.Bytes()))
	return err
}

// pathError is an error about a file or folder.
type pathError struct {
	path string
	err  error
}

func atPath(path string, err error) error { return &pathError{path, err} }

func (e *pathError) Error() string { return e.path + ": " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }
