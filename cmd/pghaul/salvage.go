package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/salvage"
	"github.com/bytehaul/pghaul/internal/show"
)

func (a *app) salvageCommand() *cobra.Command {
	var (
		o      salvage.Options
		asJSON bool
	)
	c := &cobra.Command{
		Use:     "salvage FILE [-o OUT]",
		Short:   "save what can be read of a damaged file",
		GroupID: groupLook,
		Long: "pghaul salvage reads what can be read of a damaged or unfinished data file and writes\n" +
			"the good rows as a valid file of its own, whose header says of what file it was made\n" +
			"and what is lost, by bytes and by rows. In a compressed file nothing but whole frames\n" +
			"with the right checksum is taken; in a plain one, rows are searched for behind a\n" +
			"damaged place. The damaged file stays as it is.",
		Args: exactly(1, 1, "the FILE"),
		Annotations: map[string]string{usageLines: "salvage [OPTION]... FILE [-o OUT]", exitLines: "0,1,2,3,4,130",
			notes: "Rows from a plain file may hold values that were damaged: such a file has one digest\n" +
				"for all its rows, and none for each. The report says when that is so. The new file is\n" +
				"loaded as any other is (zstd -dc OUT | psql -c '\\copy TABLE FROM STDIN BINARY'); it is\n" +
				"no part of the dump any more, whose manifest speaks of the undamaged file."},
		Example: "  pghaul salvage shop/data/0001.public.orders/0001.pgcopy.zst -o orders.pgcopy.zst\n" +
			"  pghaul salvage 0003.pgcopy.zst.part --header-from 0002.pgcopy.zst",
		RunE: func(c *cobra.Command, args []string) error {
			o.Path, o.Tool = args[0], tool()
			return a.salvage(c, o, asJSON)
		},
	}
	groupOf(c, "Options", false, func(f flags) {
		f.text(&o.Out, "output", "o", "OUT", "the file to write, .pgcopy or .pgcopy.zst\n(FILE with .salvaged before that)")
		f.text(&o.HeaderFrom, "header-from", "", "FILE", "a whole file of the same table, for when the header of\nthe damaged one can't be read")
		f.boolean(&asJSON, "json", "", "write one JSON document")
	})
	return c
}

func (a *app) salvage(c *cobra.Command, o salvage.Options, asJSON bool) error {
	if o.Path == "-" {
		return usagef("salvage: a damaged file is read twice, and standard input can't be").hint("write it to a file first")
	}
	for _, path := range []string{o.Path, o.HeaderFrom} {
		if isNamedPipe(path) {
			return usagef("%s is a named pipe, and no file", show.Text(path)).hint("write what comes through it to a file first")
		}
	}
	r, err := salvage.Run(c.Context(), o)
	if err != nil {
		return err
	}
	if asJSON {
		err = writeJSON(a.stdout, r)
	} else {
		_, err = io.WriteString(a.stdout, salvageText(r))
	}
	if err == nil && !r.Complete {
		err = errIncomplete
	}
	return err
}

// maxLostShown bounds the lost ranges that are named for people; the new file's header and --json have all.
const maxLostShown = 40

func salvageText(r *salvage.Result) string {
	var b strings.Builder
	s := r.Salvaged
	fmt.Fprintf(&b, "%s: %s\n", show.Text(r.Path), show.Table(r.Table.Schema, r.Table.Name))
	for _, n := range s.Notes {
		fmt.Fprintf(&b, "  %s\n", show.Line(n))
	}
	if len(s.Lost) > 0 {
		b.WriteString("lost:\n")
	}
	for i := range s.Lost {
		if i == maxLostShown {
			fmt.Fprintf(&b, "  … and %s more, see --json\n", show.Count(int64(len(s.Lost)-i+s.LostMore)))
			break
		}
		b.WriteString(lostText(&s.Lost[i]))
	}
	fmt.Fprintf(&b, "%s in %s: %s\n", show.Plural(r.Rows, "row", "rows"), show.Text(r.Out), salvageVerdict(r))
	return b.String()
}

func lostText(l *format.Lost) string {
	s := fmt.Sprintf("  at offset %d: ", l.Offset)
	if l.Bytes > 0 {
		s = fmt.Sprintf("  bytes %d to %d", l.Offset, l.Offset+l.Bytes-1)
		switch {
		case l.FirstRow > 0 && l.Rows != nil && *l.Rows == 1:
			s += fmt.Sprintf(", row %d", l.FirstRow)
		case l.FirstRow > 0 && l.Rows != nil && *l.Rows > 1:
			s += fmt.Sprintf(", rows %d to %d", l.FirstRow, l.FirstRow+*l.Rows-1)
		case l.FirstRow > 0:
			s += fmt.Sprintf(", from row %d on", l.FirstRow)
		}
		s += ": "
	}
	s += show.Line(l.Why)
	if l.Resumed != "" {
		s += "; the next row: " + show.Line(l.Resumed)
	}
	return s + "\n"
}

func salvageVerdict(r *salvage.Result) string {
	lost := ""
	if r.RowsBefore != nil && *r.RowsBefore >= r.Rows {
		lost = fmt.Sprintf(" of %s", show.Count(*r.RowsBefore))
	}
	switch {
	case r.Salvaged.Proven:
		return "all that there were, proven by their digest"
	case r.Complete && r.Salvaged.Checked:
		return "nothing is lost"
	case r.Complete:
		return "nothing is lost, as far as can be told; their values were not checked"
	case len(r.Salvaged.Lost) == 0 && r.RowsBefore == nil:
		return "whether these are all can't be told"
	case r.Salvaged.Checked:
		return "incomplete" + lost + "; each stood in a frame with a right checksum"
	}
	return "incomplete" + lost + "; their values could not be checked"
}

// salvagedText is what inspect says of a file that was made of a damaged one.
func salvagedText(s *format.Salvaged) string {
	switch n := len(s.Lost) + s.LostMore; {
	case s.Proven:
		return "from " + show.Text(s.From) + ", every row"
	case n == 0:
		return "from " + show.Text(s.From)
	default:
		return fmt.Sprintf("from %s, which lost rows in %s", show.Text(s.From), show.Plural(int64(n), "place", "places"))
	}
}
