package restore_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// propertySeeds are those of a plain test; PGHAUL_PROPERTY_SEEDS=N tests N others instead, and =N+M the M from N on. PGHAUL_PG_BINDIR names the server's
// major, from 11 on: those before 14 look at each OID inside of values.
const propertySeeds = 5

// TestAnyType: whatever types a database nests and whatever values they have, a restore into a database with other OIDs gives the same, proven.
func TestAnyType(t *testing.T) {
	first, count := uint64(1), uint64(propertySeeds)
	if given := os.Getenv("PGHAUL_PROPERTY_SEEDS"); given != "" {
		from, n, both := strings.Cut(given, "+")
		if !both {
			from, n = "1000", given
		}
		var err, err2 error
		first, err = strconv.ParseUint(from, 10, 32)
		count, err2 = strconv.ParseUint(n, 10, 32)
		if err != nil || err2 != nil || count == 0 {
			t.Fatalf("PGHAUL_PROPERTY_SEEDS=%q: neither a number nor two with a +", given)
		}
	}
	for seed := first; seed < first+count; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { anyType(t, rand.New(rand.NewPCG(seed, 4711))) })
	}
}

// strangers take OIDs, so that the types of a database made behind them have others.
func strangers(n int) string {
	return fmt.Sprintf(`DO $$ BEGIN FOR i IN 1..%d LOOP EXECUTE format('CREATE TYPE stranger%%s AS ENUM (''a'')', i); EXECUTE format('DROP TYPE stranger%%s', i); END LOOP; END $$;`, n)
}

func anyType(t *testing.T, r *rand.Rand) {
	g := newGenerator(r, pgtest.Version(t))
	g.types(12)
	tables := make([]*anyTable, 4)
	var rows strings.Builder
	for i := range tables {
		tables[i] = g.table(fmt.Sprintf(`"T%d é"`, i))
		rows.WriteString(tables[i].rows(r))
	}
	definitions := func(shuffle bool) string {
		sql := g.sql.String()
		for _, table := range tables {
			sql += table.create(r, shuffle)
		}
		return sql
	}
	source := pgtest.DB(t, definitions(false)+rows.String())
	segmentSize, level, whole := []int64{0, 16 << 10, 1 << 20}[r.IntN(3)], r.IntN(3), r.IntN(3) == 0
	dir := takeDump(t, source, func(o *dump.Options) {
		o.SegmentSize, o.Compression, o.DataOnly = segmentSize, format.Compression{Level: level}, !whole
	})
	setup := strangers(1 + r.IntN(50))
	if !whole {
		setup += definitions(true)
	}
	target := pgtest.DB(t, setup)
	o := options(t, dir, target)
	o.DataOnly = !whole
	sum := mustRestore(t, o)
	if sum.Proven != len(tables) || len(sum.Gaps) > 0 {
		t.Errorf("proven %d of %d, not proven %q, gaps %v", sum.Proven, len(tables), sum.Unproven, sum.Gaps)
	}
	for _, table := range tables {
		query := table.query()
		want, got := strings.Split(pgtest.SQL(t, source, query), "\x1e"), strings.Split(pgtest.SQL(t, target, query), "\x1e")
		if len(want) != len(got) {
			t.Errorf("table %s: %d values, want %d", table.name, len(got), len(want))
			continue
		}
		for i := range want {
			if want[i] != got[i] {
				t.Errorf("table %s: %q, want %q", table.name, got[i], want[i])
			}
		}
	}
	if t.Failed() {
		t.Logf("definitions:\n%s", definitions(false))
	}
}

// anyTable is a table with columns of random types.
type anyTable struct {
	name    string
	columns []*anyValueType
	count   int
}

func (a *anyTable) column(i int) string { return fmt.Sprintf(`"c%d ü"`, i) }

func (a *anyTable) create(r *rand.Rand, shuffle bool) string {
	defs := []string{"id int"}
	for i, c := range a.columns {
		defs = append(defs, a.column(i)+" "+c.name)
	}
	if shuffle {
		r.Shuffle(len(defs), func(i, j int) { defs[i], defs[j] = defs[j], defs[i] })
	}
	return "CREATE TABLE " + a.name + " (" + strings.Join(defs, ", ") + ");\n"
}

func (a *anyTable) rows(r *rand.Rand) string {
	var b strings.Builder
	for id := range a.count {
		names, values := []string{"id"}, []string{fmt.Sprint(id)}
		for i, c := range a.columns {
			if r.IntN(5) > 0 {
				names, values = append(names, a.column(i)), append(values, quote(c.value(r)))
			}
		}
		fmt.Fprintf(&b, "INSERT INTO %s (%s) VALUES (%s);\n", a.name, strings.Join(names, ", "), strings.Join(values, ", "))
	}
	return b.String()
}

func (a *anyTable) query() string {
	list := []string{"id::text"}
	for i := range a.columns {
		list = append(list, fmt.Sprintf("coalesce(%s::text, '\\N')", a.column(i)))
	}
	return `SELECT string_agg(concat_ws(E'\x1f', ` + strings.Join(list, ", ") + `), E'\x1e' ORDER BY id) FROM ` + a.name
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// anyValueType is a type with a way to make values of it in their text form.
type anyValueType struct {
	name     string // as SQL has it
	ordered  bool   // has a default btree operator class, so that ranges over it are possible
	value    func(r *rand.Rand) string
	isDomain bool
}

// generator makes types out of those it has.
type generator struct {
	r           *rand.Rand
	pool        []*anyValueType
	sql         strings.Builder
	made        int
	multiranges bool // the server has them: from 14 on
}

func newGenerator(r *rand.Rand, version int) *generator {
	g := &generator{r: r, pool: builtin(), multiranges: version >= 140000}
	if g.multiranges {
		g.pool = append(g.pool, one("nummultirange", true, "{[1.5,2],(3,)}", "{}"), one("numeric", true, "Infinity", "-Infinity"))
	}
	g.sql.WriteString(`CREATE SCHEMA "Sché ma"; CREATE EXTENSION hstore; CREATE EXTENSION citext; CREATE EXTENSION ltree SCHEMA "Sché ma"; CREATE EXTENSION cube; CREATE EXTENSION isn; CREATE EXTENSION seg SCHEMA "Sché ma"; CREATE EXTENSION intarray;` + "\n")
	return g
}

// nasty are strings that some level of quoting may trip over.
var nasty = []string{"", " ", "NULL", "null", `"`, `\`, "'", "é", "日本", "a,b", "{x}", "(y)", "[z)", "\n\t", "%s", "$1", `a""b`, `\\"`, "empty", "-", "0"}

func word(r *rand.Rand) string { return nasty[r.IntN(len(nasty))] + nasty[r.IntN(len(nasty))] }

// one gives a type with a few fixed values.
func one(name string, ordered bool, values ...string) *anyValueType {
	return &anyValueType{name: name, ordered: ordered, value: func(r *rand.Rand) string { return values[r.IntN(len(values))] }}
}

func builtin() []*anyValueType {
	return []*anyValueType{
		one("bool", true, "t", "f"), one("int4", true, "-2147483648", "0", "7"), one("int8", true, "9223372036854775807", "-1"), one("float8", true, "0.1", "NaN", "-Infinity", "1e-300"), one("numeric", true, "0.10", "NaN", "-12345678901234567890.5"),
		{name: "text", ordered: true, value: word}, {name: "citext", ordered: true, value: word}, one("bytea", true, `\x`, `\x00ff5c22`), one("date", true, "infinity", "0044-03-15 BC"), one("timestamptz", true, "2009-08-10 11:12:13.141516+00", "-infinity"),
		one("interval", true, "1 year -2 days 00:00:01.5", "00:00:00"), one("uuid", true, "00112233-4455-6677-8899-aabbccddeeff"), one("inet", true, "10.0.0.1/8", "::1"), one("json", false, `{"a": [1, "é"]}`, "null"), one("jsonb", true, `{"a": "\"b\""}`, "1.50"),
		one("xml", false, "<a b=\"c\">é</a>", "x &amp; y", ""), one("point", false, "(1.5,-2)"), one("bit(3)", true, "101"), one("varbit", true, "", "1"), one("tsvector", true, "'a':1A 'b'", ""), one("tsquery", true, "'a' & !'b'", ""), one("money", true, "$1,234.56", "-$0.01"),
		one("regclass", false, "pg_class", "-", "99999999"), one("regtype", false, "integer", "-"), one("oid", true, "4294967295"), one("int4range", true, "[1,5)", "empty", "(,)"), one(`"char"`, true, "a", ""),
		one("hstore", true, `"a\"b"=>NULL, "é"=>"\\"`, ""), one(`"Sché ma".ltree`, true, "a.b", ""), one("cube", true, "(1, 2),(3, 4)", "(0.5)"), one(`"Sché ma".seg`, true, "1.5 .. 2", "<3"), one("isbn13", true, "978-0-393-04002-9"), one("query_int", false, "1&(2|!3)"), one("aclitem", false, "=r/postgres"),
	}
}

// pick takes a type of the pool, those made last more often.
func (g *generator) pick(ordered bool) *anyValueType {
	for {
		t := g.pool[g.r.IntN(len(g.pool))]
		if g.r.IntN(4) > 0 && g.made > 0 {
			t = g.pool[len(g.pool)-1-g.r.IntN(g.made)]
		}
		if t.ordered || !ordered {
			return t
		}
	}
}

func (g *generator) name() string {
	g.made++
	return fmt.Sprintf([]string{"ty%d", `"Ty ""%d"`, `"Sché ma"."tü%d"`, `"Sché ma".ty%d`}[g.r.IntN(4)], g.made)
}

// types makes n types, each of some that are there.
func (g *generator) types(n int) {
	for range n {
		switch g.r.IntN(6) {
		case 0:
			g.enum()
		case 1, 2:
			g.composite()
		case 3:
			g.domain()
		case 4:
			g.ranged()
		default:
			g.pool = append(g.pool, arrayOf(g.pick(false)))
			g.made++
		}
	}
}

func (g *generator) add(t *anyValueType, create string) {
	g.pool = append(g.pool, t)
	g.sql.WriteString(create + ";\n")
}

func (g *generator) enum() {
	labels := make([]string, 1+g.r.IntN(4))
	quoted := make([]string, len(labels))
	for i := range labels {
		labels[i] = fmt.Sprintf("%d%s", i, word(g.r))
		quoted[i] = quote(labels[i])
	}
	name := g.name()
	g.add(one(name, true, labels...), "CREATE TYPE "+name+" AS ENUM ("+strings.Join(quoted, ", ")+")")
}

func (g *generator) composite() {
	fields := make([]*anyValueType, 1+g.r.IntN(4))
	defs := make([]string, len(fields))
	ordered := true
	for i := range fields {
		fields[i] = g.pick(false)
		ordered = ordered && fields[i].ordered
		defs[i] = fmt.Sprintf(`"f%d ""ö" %s`, i, fields[i].name)
	}
	name := g.name()
	create := "CREATE TYPE " + name + " AS (" + strings.Join(defs, ", ") + ")"
	if g.r.IntN(3) == 0 { // with a dropped attribute
		create += "; ALTER TYPE " + name + " ADD ATTRIBUTE gone int; ALTER TYPE " + name + " DROP ATTRIBUTE gone"
	}
	g.add(&anyValueType{name: name, ordered: ordered, value: func(r *rand.Rand) string {
		parts := make([]string, len(fields))
		for i, f := range fields {
			if r.IntN(5) > 0 {
				parts[i] = `"` + strings.NewReplacer(`"`, `""`, `\`, `\\`).Replace(f.value(r)) + `"`
			}
		}
		return "(" + strings.Join(parts, ",") + ")"
	}}, create)
}

func (g *generator) domain() {
	base := g.pick(false)
	if g.r.IntN(3) == 0 {
		base = arrayOf(base)
	}
	name := g.name()
	check := ""
	if g.r.IntN(2) == 0 {
		check = " CHECK (length(VALUE::text) < 100000)"
	}
	g.add(&anyValueType{name: name, ordered: base.ordered, value: base.value, isDomain: true}, "CREATE DOMAIN "+name+" AS "+base.name+check)
}

// ranged makes a range type and its multirange.
func (g *generator) ranged() {
	sub := g.pick(true)
	name, multi := g.name(), g.name()
	value := func(r *rand.Rand) string {
		x := `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(sub.value(r)) + `"`
		return []string{"empty", "(,)", "[" + x + ",)", "(," + x + ")", "[" + x + "," + x + "]"}[r.IntN(5)]
	}
	if !g.multiranges {
		g.add(&anyValueType{name: name, ordered: true, value: value}, "CREATE TYPE "+name+" AS RANGE (subtype = "+sub.name+")")
		return
	}
	g.add(&anyValueType{name: name, ordered: true, value: value}, "CREATE TYPE "+name+" AS RANGE (subtype = "+sub.name+", multirange_type_name = "+multi+")")
	g.pool = append(g.pool, &anyValueType{name: multi, ordered: true, value: func(r *rand.Rand) string {
		if r.IntN(4) == 0 {
			return "{}"
		}
		return "{" + value(r) + "}"
	}})
}

// arrayOf gives the type of arrays; those of arrays are arrays of more dimensions, whatever the type says.
func arrayOf(of *anyValueType) *anyValueType {
	if strings.HasSuffix(of.name, "[]") && !of.isDomain {
		return of
	}
	element := func(r *rand.Rand) string {
		if r.IntN(5) == 0 {
			return "NULL"
		}
		return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(of.value(r)) + `"`
	}
	return &anyValueType{name: of.name + "[]", ordered: of.ordered, value: func(r *rand.Rand) string {
		switch r.IntN(5) {
		case 0:
			return "{}"
		case 1:
			return fmt.Sprintf("[%d:%d]={%s,%s}", -1, 0, element(r), element(r))
		case 2:
			return fmt.Sprintf("{{%s,%s},{%s,%s}}", element(r), element(r), element(r), element(r))
		}
		list := make([]string, 1+r.IntN(4))
		for i := range list {
			list[i] = element(r)
		}
		return "{" + strings.Join(list, ",") + "}"
	}}
}

func (g *generator) table(name string) *anyTable {
	a := &anyTable{name: name, count: []int{0, 1, 30, 200}[g.r.IntN(4)], columns: make([]*anyValueType, 1+g.r.IntN(6))}
	for i := range a.columns {
		a.columns[i] = g.pick(false)
		if g.r.IntN(4) == 0 {
			a.columns[i] = arrayOf(a.columns[i])
		}
	}
	return a
}
