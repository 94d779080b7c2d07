package restore

import (
	"context"
	"fmt"

	"github.com/bytehaul/pghaul/internal/progress"
)

// named is one check of a preflight, as observers see it.
type named struct {
	name string
	run  func(context.Context, *findings) error
	fine func() string // what to say when nothing was found; nil: nothing
}

// checks runs them in order, each under its name, up to the first that cannot be made.
func (j *job) checks(ctx context.Context, f *findings, list ...named) error {
	for _, c := range list {
		end := j.o.Tracker.StartCheck(c.name)
		before := len(f.list)
		if err := c.run(ctx, f); err != nil {
			end(progress.CheckProblem, err.Error())
			return err
		}
		fine := ""
		if c.fine != nil {
			fine = c.fine()
		}
		state, text, details := summed(f.list[before:], fine)
		end(state, text, details...)
	}
	return nil
}

// summed makes a check's result of its findings.
func summed(list []Finding, fine string) (state progress.CheckState, text string, details []string) {
	state, text = progress.CheckOK, fine
	problems, warnings := 0, 0
	for i := range list {
		x := &list[i]
		word := "problem: "
		if x.Severity == SeverityWarning {
			warnings++
			word = "warning: "
		} else {
			problems++
		}
		line := word + x.Object + ": " + x.says()
		if x.Hint != "" {
			line += " (" + x.Hint + ")"
		}
		details = append(details, line)
	}
	switch {
	case problems == 1 && len(list) == 1, warnings == 1 && len(list) == 1:
		text = list[0].Object + ": " + list[0].says()
	case problems > 0:
		text = number(problems, "problem", "problems")
	case warnings > 0:
		text = number(warnings, "warning", "warnings")
	}
	switch {
	case problems > 0:
		state = progress.CheckProblem
	case warnings > 0:
		state = progress.CheckWarning
	}
	return state, text, details
}

// Words for checks that have found nothing.

func (j *job) fineServer() string {
	return fmt.Sprintf("PostgreSQL %d → %d, %s → %s, %s, %s", j.m.Source.Server.VersionNum/10000, j.leader.Version/10000, j.m.Source.Server.Encoding, j.leader.Encoding,
		number(len(j.m.Roles), "role", "roles"), number(len(j.m.Extensions), "extension", "extensions"))
}

func (j *job) fineFiles() string {
	if j.folder == nil {
		return "none: the rows come from a server"
	}
	return number(j.plan.segments, "data file", "data files") + ", whole and undamaged"
}

func (j *job) fineArchive() string {
	if j.archive == nil {
		return "not needed"
	}
	return number(len(j.archive.entries), "definition", "definitions")
}

func (j *job) fineTables() string { return number(len(j.plan.tables), "table", "tables") }

func (j *job) fineJournal() string {
	switch {
	case j.journal == nil:
		return "none is kept: an interrupted restore starts again"
	case j.resumed:
		return "of an interrupted restore, which goes on"
	}
	return "an interrupted restore can be resumed"
}

func (j *job) fineSamples() string {
	return fmt.Sprintf("%d types, read alike by both servers", len(j.plan.sampledTypes()))
}

func (j *job) fineExisting() string {
	if j.o.DataOnly {
		return j.fineTables() + ", as the dump needs them"
	}
	return "nothing is in the way"
}

// Comparison is how one table of the dump fits the target's, and what both servers make of the values of its types. It is the receiver's own.
type Comparison struct {
	DiffTable
	Samples []SampleReading // of the types of its columns
}

// SampleReading is a known value of a type, and what the target reads in its bytes.
type SampleReading struct {
	Type    string // schema-qualified, where it is no builtin one
	Literal string
	Source  string // what the source shows
	Target  string // what the target shows, or why it does not; as Source when they agree
	Same    bool
}

// compared tells how the tables fit, as far as that is known.
func (j *job) compared() {
	if j.o.Compared == nil {
		return
	}
	var list []Comparison
	for _, t := range j.plan.tables {
		c := Comparison{DiffTable: DiffTable{Schema: t.name.Schema, Name: t.name.Name, Rows: t.entry.Rows, Missing: t.target == nil}}
		if t.into != t.own {
			c.Into = t.into.String()
		}
		for _, fits := range [][]fit{t.fits, t.filled} {
			for i := range fits {
				d := fits[i].diff(j.o.AllowCast)
				c.Refused = c.Refused || d.Refused
				c.Columns = append(c.Columns, d)
			}
		}
		c.Samples = j.readingsOf(t)
		list = append(list, c)
	}
	j.o.Compared(list)
}

// shownSamples bounds the samples of one type that a comparison has.
const shownSamples = 5

// readingsOf are the samples of a table's own column types. Those that the target has not been asked about yet read as the source's.
func (j *job) readingsOf(t *loadTable) (out []SampleReading) {
	if t.known == nil {
		return nil
	}
	seen := map[uint32]bool{}
	for _, c := range t.columns {
		if seen[c.OID] {
			continue
		}
		seen[c.OID] = true
		for i, v := range t.known.samples[c.OID] {
			if i == shownSamples {
				break
			}
			r := SampleReading{Type: c.Type, Literal: v.Literal, Source: v.Text, Target: v.Text, Same: true}
			if other, found := j.misread[misreading{string(c.TypeSchema) + "." + string(c.TypeName), v.Literal}]; found {
				r.Target, r.Same = other, false
			}
			out = append(out, r)
		}
	}
	return out
}

// misreading names a sample that the target reads otherwise.
type misreading struct{ typ, literal string }

func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
