package restore

import (
	"fmt"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/convert"
	"github.com/bytehaul/pghaul/internal/pg"
)

// Verdict is what becomes of a column.
type Verdict string

// Verdicts, from the best to the worst. Refused ones keep the restore from beginning.
const (
	Same     Verdict = "same"     // the bytes go as they are, but for OIDs inside of them
	Converts Verdict = "converts" // on the client, value by value, without loss
	Staged   Verdict = "staged"   // carried as text, through a staging table
	Castable Verdict = "castable" // by a cast on the server; only with --allow-cast
	Filled   Verdict = "filled"   // the dump lacks it: the target's default
	Dropped  Verdict = "dropped"  // the target lacks it, and --drop-column says so
	NoFit    Verdict = "refused"
)

// fit is how a column of the files goes into its column on the target.
type fit struct {
	column   format.Column
	target   *pg.TargetColumn // nil when dropped, or lacking
	verdict  Verdict
	widen    convert.Widening
	cast     bool   // by the server, from a staging column of the dump's type
	stageOID uint32 // of that type on the target
	note     string // why, or why not
	hint     string
}

// staged tells that the column goes through a staging table.
func (f *fit) staged() bool { return f.verdict == Staged || f.cast }

// keepsType tells that the values stay of their type, be it with another modifier.
func (f *fit) keepsType() bool {
	return f.verdict == Same || f.verdict == Converts && f.column.TypeSchema == f.target.TypeSchema && f.column.TypeName == f.target.TypeName
}

// loosening are the options that widen what is accepted.
type loosening struct {
	allowCast bool
	drop      func(column format.Name) bool // --drop-column, of this table
}

// fitColumn decides what becomes of one column of the dump.
func fitColumn(c format.Column, target *pg.TargetColumn, l loosening) fit {
	f := fit{column: c, target: target}
	switch {
	case target == nil && l.drop(c.Name):
		f.verdict, f.note = Dropped, "its values stay behind"
	case target == nil:
		f.verdict, f.note, f.hint = NoFit, "no such column", "add the column to the target's table, or leave its values behind with --drop-column TABLE."+string(c.Name)
	case target.Generated != "":
		f.verdict, f.note, f.hint = NoFit, "a generated column, which takes no values", "make it an ordinary column for the time of the restore, or --drop-column"
	default:
		f.fitType(l)
	}
	return f
}

// fitType compares the types, which are known by schema and name.
func (f *fit) fitType(l loosening) {
	c, t := f.column, f.target.Column
	same := c.TypeSchema == t.TypeSchema && c.TypeName == t.TypeName
	loss := ""
	if same {
		loss = typmodLoss(c, t)
	}
	switch {
	case same && loss == "" && c.Carried == format.CarriedText:
		f.verdict, f.note = Staged, "carried as text"
	case same && c.Typmod == t.Typmod:
		f.verdict = Same
	case same && loss == "":
		f.verdict, f.note = Converts, "every value of "+c.Type+" is one of "+t.Type
	case !same && c.Carried == format.CarriedBinary && f.widens():
		f.verdict, f.note = Converts, "every value of "+c.Type+" is one of "+t.Type
	default:
		f.castable(l, loss)
	}
}

// castable is left for the server to decide: it may lose, so the operator must say so.
func (f *fit) castable(l loosening, loss string) {
	f.note = "type " + f.target.Type
	if loss != "" {
		f.note += ": " + loss
	}
	f.cast = true
	f.verdict = Castable
	if !l.allowCast {
		f.hint = "change the type of the target's column, or let the server cast the values with --allow-cast"
	}
}

// widens finds the conversions between builtin types that no value fails. Those that change bytes are in the convert package.
func (f *fit) widens() bool {
	c, t := f.column, f.target.Column
	if c.TypeSchema != "pg_catalog" || t.TypeSchema != "pg_catalog" {
		return false
	}
	switch [2]format.Name{c.TypeName, t.TypeName} {
	case [2]format.Name{"varchar", "text"}, [2]format.Name{"bpchar", "text"}, [2]format.Name{"name", "text"}, [2]format.Name{"text", "varchar"},
		[2]format.Name{"bpchar", "varchar"}, [2]format.Name{"name", "varchar"}:
		return t.Typmod < 0 // the same bytes
	}
	if t.TypeName == "numeric" && t.Typmod >= 0 && !numericHolds(t.Typmod, c.TypeName) {
		return false
	}
	f.widen = convert.WideningOf(c.TypeName, t.TypeName)
	return f.widen != convert.Keep
}

// numericHolds tells that a numeric with a modifier has a place for every digit of a whole number.
func numericHolds(typmod int32, whole format.Name) bool {
	digits := map[format.Name]int32{"int2": 5, "int4": 10, "int8": 19}[whole]
	scale := numericScale(typmod)
	return scale >= 0 && numericPrecision(typmod)-scale >= digits
}

// widensByKind adds the conversions that need the source's type graph: an enum's label and a citext are text already.
func (f *fit) widensByKind(node *pg.Type) bool {
	t := f.target.Column
	if node == nil || t.TypeSchema != "pg_catalog" || t.Typmod >= 0 || t.TypeName != "text" && t.TypeName != "varchar" {
		return false
	}
	return node.Kind == format.KindEnum || node.Extension != nil && node.Extension.Name == "citext" && node.Name == "citext"
}

// typmodLoss tells what the target's modifier would do to values of the dump's; "" when every value stays as it is.
func typmodLoss(c, t format.Column) string {
	if c.Typmod == t.Typmod || t.Typmod < 0 {
		return ""
	}
	if c.TypeSchema != "pg_catalog" {
		return "the modifiers differ"
	}
	switch c.TypeName {
	case "varchar", "varbit":
		if c.Typmod >= 0 && c.Typmod <= t.Typmod {
			return ""
		}
		return "longer values are refused"
	case "numeric":
		if c.Typmod >= 0 && numericScale(c.Typmod) == numericScale(t.Typmod) && c.Typmod <= t.Typmod {
			return ""
		}
		return "values are rounded, or refused"
	case "time", "timetz", "timestamp", "timestamptz":
		if c.Typmod >= 0 && c.Typmod <= t.Typmod || t.Typmod == maxTimePrecision {
			return ""
		}
		return "values are rounded"
	case "interval":
		return "values are rounded or cut"
	case "bpchar":
		return "values are padded, or refused"
	}
	return "the modifiers differ"
}

// maxTimePrecision is what a time type without a modifier has.
const maxTimePrecision = 6

// typmodHeader is VARHDRSZ, which typmods of varlena types have added; see numerictypmodin in src/backend/utils/adt/numeric.c.
const typmodHeader = 4

// numericScale is the scale of a numeric's modifier: its lower 11 bits, signed from 15 on; see numeric_typmod_scale in src/backend/utils/adt/numeric.c.
func numericScale(typmod int32) int32 { return ((typmod-typmodHeader)&0x7ff ^ 1024) - 1024 }

// numericPrecision is the number of decimal digits that a numeric's modifier allows, those behind the point included.
func numericPrecision(typmod int32) int32 { return (typmod - typmodHeader) >> 16 & 0xffff }

// fitTable decides on all columns of a table. Columns that the dump lacks are among the answers.
func fitTable(columns []format.Column, target []pg.TargetColumn, types pg.Types, l loosening) []fit {
	there := make(map[format.Name]*pg.TargetColumn, len(target))
	for i := range target {
		there[target[i].Name] = &target[i]
	}
	given := make(map[format.Name]bool, len(columns))
	fits := make([]fit, 0, len(columns))
	for _, c := range columns {
		given[c.Name] = true
		f := fitColumn(c, there[c.Name], l)
		if f.verdict == Castable && c.Carried == format.CarriedBinary && f.widensByKind(types[c.OID]) {
			f.verdict, f.cast, f.hint, f.note = Converts, false, "", "every value of "+c.Type+" is one of "+f.target.Type
		}
		fits = append(fits, f)
	}
	for i := range target {
		t := &target[i]
		if given[t.Name] || t.Generated != "" {
			continue
		}
		f := fit{target: t, verdict: Filled, note: "gets its default"}
		if t.Required && !t.Filled {
			f.verdict, f.note, f.hint = NoFit, "NOT NULL without a default, and the dump lacks it", "give the column a default for the time of the restore"
		}
		fits = append(fits, f)
	}
	return fits
}

// sameShape tells what differs between two types of the same name, as far as values are concerned; "" when nothing does. Names of parts are compared with
// their schemas, and parts that both sides have by the same name are compared by themselves.
func sameShape(a format.Type, in pg.Types, b *pg.Type, on pg.Types) string {
	name := func(types pg.Types, oid uint32) string {
		if t := types[oid]; t != nil {
			return pg.TypeName(t.Type)
		}
		return fmt.Sprintf("type %d", oid)
	}
	switch {
	case a.Kind != b.Kind:
		return fmt.Sprintf("is of kind %s, on the target %s", a.Kind, b.Kind)
	case len(a.Fields) != len(b.Fields):
		return fmt.Sprintf("has %d fields, on the target %d", len(a.Fields), len(b.Fields))
	case a.Schema == "information_schema": // the servers' own: sql_identifier is a name from 12 on, and was a varchar
	case a.Element != 0 && name(in, a.Element) != name(on, b.Element):
		return fmt.Sprintf("is made of %s, on the target of %s", name(in, a.Element), name(on, b.Element))
	}
	for i, f := range a.Fields {
		g := b.Fields[i]
		if f.Name != g.Name || name(in, f.OID) != name(on, g.OID) {
			return fmt.Sprintf("has field %d %q of type %s, on the target %q of type %s", i+1, string(f.Name), name(in, f.OID), string(g.Name), name(on, g.OID))
		}
	}
	return ""
}
