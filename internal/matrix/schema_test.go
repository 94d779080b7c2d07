package matrix_test

import (
	"fmt"
	"slices"
	"strings"
)

// column is a column with values, of a type that majors from since on have.
type column struct {
	name, typ string
	since     int
	values    []string // literals; a shorter list is filled up with NULLs
	norm      string   // what is compared, with %s for the column; "": its text
}

// compared is the expression that must give the same text on all majors.
func (c column) compared() string {
	if c.norm == "" {
		return c.name + "::text"
	}
	return "(" + strings.ReplaceAll(c.norm, "%s", c.name) + ")::text"
}

// exact compares floats by their bits: before 12 their text has more digits.
const exact = "encode(%s, 'hex')"

func send(f string) string { return fmt.Sprintf(exact, f+"(%s)") }

// plain are builtin types whose bytes mean the same everywhere.
var plain = []column{
	{"b", "bool", 10, []string{"t", "f"}, ""}, {"i2", "int2", 10, []string{"-32768", "32767"}, ""}, {"i4", "int4", 10, []string{"-2147483648", "1"}, ""},
	{"i8", "int8", 10, []string{"-9223372036854775808", "1"}, ""}, {"f4", "float4", 10, []string{"0.1", "NaN", "-0"}, send("float4send")}, {"f8", "float8", 10, []string{"0.1", "-Infinity", "1e300"}, send("float8send")},
	{"n", "numeric", 10, []string{"0.1", "NaN", "-12345678901234567890.00001", "0.000"}, ""}, {"n52", "numeric(5,2)", 10, []string{"-1.5", "999.99"}, ""}, {"txt", "text", 10, []string{"", "naïve 'quoted' \\N\t日本", `\.`}, ""},
	{"vc", "varchar(9)", 10, []string{"naïve", ""}, ""}, {"bp", "char(5)", 10, []string{"ab", "é"}, ""}, {"nm", "name", 10, []string{"a name", ""}, ""}, {"ch", `"char"`, 10, []string{"a", ""}, send("charsend")},
	{"ba", "bytea", 10, []string{`\x00ff5c`, `\x`}, ""}, {"d", "date", 10, []string{"0044-03-15 BC", "infinity", "2009-08-10"}, ""}, {"t", "time(3)", 10, []string{"24:00", "11:12:13.141"}, ""}, {"ttz", "timetz", 10, []string{"13:14:15.161718+05:30"}, ""},
	{"ts", "timestamp", 10, []string{"4713-01-01 BC", "infinity", "2009-08-10 11:12:13.141516"}, ""}, {"tstz", "timestamptz", 10, []string{"-infinity", "2009-08-10 11:12:13+02"}, send("timestamptz_send")}, {"iv", "interval", 10, []string{"-1 mon +2 days -00:00:00.000001", "178000000 years"}, ""},
	{"u", "uuid", 10, []string{"00112233-4455-6677-8899-aabbccddeeff"}, ""}, {"ip", "inet", 10, []string{"10.0.0.1/8", "::1"}, ""}, {"cd", "cidr", 10, []string{"10.0.0.0/8"}, ""}, {"mac", "macaddr", 10, []string{"08:00:2b:01:02:03"}, ""},
	{"mac8", "macaddr8", 10, []string{"08:00:2b:01:02:03:04:05"}, ""}, {"bi", "bit(3)", 10, []string{"101"}, ""}, {"vb", "varbit", 10, []string{"", "10110"}, ""}, {"p", "point", 10, []string{"(0.1,-2)"}, send("point_send")}, {"ln", "line", 10, []string{"{1,-1,0}"}, ""},
	{"ls", "lseg", 10, []string{"[(0,0),(1,2)]"}, ""}, {"bx", "box", 10, []string{"(2,3),(0,1)"}, ""}, {"pa", "path", 10, []string{"((0,0),(1,1))", "[(0,0)]"}, ""}, {"po", "polygon", 10, []string{"((0,0),(1,1),(2,0))"}, ""}, {"ci", "circle", 10, []string{"<(1,2),3>"}, ""},
	{"js", "json", 10, []string{`{"b": 1, "a":  [null, "é"]}`, "1"}, ""}, {"jb", "jsonb", 10, []string{`{"b": 1.50, "a": [null, "é"]}`, "[]"}, ""}, {"jp", "jsonpath", 12, []string{`$."a"[*]?(@ > 1)`, "strict $"}, ""}, {"x", "xml", 10, []string{"<a>é</a>", "only text"}, ""},
	{"tv", "tsvector", 10, []string{"'fat':2A 'rat':3,5", ""}, ""}, {"lsn", "pg_lsn", 10, []string{"16/B374D848"}, ""}, {"xi", "xid", 10, []string{"4294967295"}, ""}, {"x8", "xid8", 13, []string{"18446744073709551615"}, ""}, {"tid", "tid", 10, []string{"(4294967294,7)"}, ""},
	{"tsn", "txid_snapshot", 10, []string{"10:20:10,14"}, ""}, {"psn", "pg_snapshot", 13, []string{"10:20:10,14"}, ""}, {"o", "oid", 10, []string{"4294967295", "0"}, ""}, {"rc", "refcursor", 10, []string{"c"}, ""},
	{"r", "int4range", 10, []string{"[1,10)", "empty", "(,)"}, ""}, {"rn", "numrange", 10, []string{"[1.5,2.50]"}, ""}, {"rt", "tstzrange", 10, []string{`["2009-08-10 11:12:13+00",infinity)`}, ""}, {"mr", "int4multirange", 14, []string{"{[1,3),[5,7)}", "{}"}, ""},
	{"mrs", "nummultirange[]", 14, []string{"{\"{[1.5,2]}\",NULL}"}, ""}, {"ia", "int4[]", 10, []string{"{}", "{1,NULL}", "[-1:0][2:3]={{1,2},{3,4}}"}, ""}, {"ta", "text[]", 10, []string{`{"",NULL,"a \"b\" \\ é"}`}, ""}, {"na", "numeric[]", 10, []string{"{0.10,NaN}"}, ""},
	{"oa", "oid[]", 10, []string{"{1,4294967295}"}, ""}, {"iva", "interval[]", 10, []string{"{1 day,NULL}"}, ""}, {"ra", "int8range[]", 10, []string{`{"[1,2)",empty}`}, ""}, {"xa", "xml[]", 10, []string{"{<a/>}"}, ""},
}

// userTypes make the types of made. A stranger before them shifts the OIDs of the target.
func userTypes(version int) string {
	sql := `CREATE TYPE mood AS ENUM ('sad', 'ok', 'it''s "fine"', 'été'); CREATE DOMAIN positive AS int CHECK (VALUE > 0); CREATE DOMAIN moods AS mood[]; CREATE DOMAIN span AS interval;
CREATE TYPE pair AS (a int, gone int, b mood); ALTER TYPE pair DROP ATTRIBUTE gone; CREATE TYPE deep AS (p pair, q pair[], m moods, t text[], iv span); CREATE TYPE plainpair AS (a int, b text);
CREATE TYPE words AS RANGE (subtype = text, collation = "C"); CREATE TYPE moodr AS RANGE (subtype = mood); CREATE TYPE pairr AS RANGE (subtype = pair); CREATE TYPE bag AS (o oid, c regclass, m money); CREATE TYPE floatbag AS (m money, f float8, g float4);
CREATE EXTENSION hstore; CREATE EXTENSION citext; CREATE EXTENSION ltree; CREATE EXTENSION cube; CREATE EXTENSION isn; CREATE EXTENSION seg; CREATE EXTENSION intarray; CREATE EXTENSION lo;
CREATE FUNCTION twice(int) RETURNS int LANGUAGE sql AS 'SELECT 2 * $1'; CREATE FUNCTION twice(text) RETURNS text LANGUAGE sql AS 'SELECT $1 || $1'; CREATE TABLE "Odd name" (a int);
CREATE TEXT SEARCH CONFIGURATION ours (COPY = simple); CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, PROCEDURE = int4eq);`
	if version >= 11 {
		sql += `CREATE DOMAIN dpair AS pair CHECK ((VALUE).a IS NULL OR (VALUE).a <> 13);`
	}
	return sql
}

// strangers take OIDs before the types of a target are made.
const strangers = `DO $$ BEGIN FOR i IN 1..40 LOOP EXECUTE format('CREATE TYPE stranger%s AS ENUM (''a'')', i); END LOOP; END $$;`

// made are types with OIDs of others in their values, and others that users make.
var made = []column{
	{"m", "mood", 10, []string{"été", "it's \"fine\""}, ""}, {"ma", "mood[]", 10, []string{"{}", "{sad,NULL,été}", "[0:1]={ok,ok}", "{{ok},{sad}}"}, ""}, {"dm", "moods", 10, []string{"{ok}", "{}"}, ""}, {"dp", "positive", 10, []string{"7"}, ""},
	{"dpa", "positive[]", 11, []string{"{1,2}"}, ""}, {"pr", "pair", 10, []string{"(1,été)", "(,)"}, ""}, {"pra", "pair[]", 10, []string{`{"(1,ok)",NULL,"(,)"}`}, ""}, {"dpr", "dpair", 11, []string{"(1,ok)"}, ""}, {"dpra", "dpair[]", 11, []string{`{"(1,ok)"}`}, ""},
	{"dd", "deep", 10, []string{`("(1,ok)","{""(2,sad)"",NULL}",{été},"{a,""b c""}","1 day")`, "(,,,,)"}, ""}, {"dda", "deep[]", 10, []string{`{"(\"(1,ok)\",{},{},{},)"}`}, ""}, {"pp", "plainpair", 10, []string{`(1,"a ""b""")`}, ""}, {"ppa", "plainpair[]", 10, []string{`{"(1,x)"}`}, ""},
	{"w", "words", 10, []string{"[a,é)", "empty", "(,)"}, ""}, {"wa", "words[]", 10, []string{`{"[a,b)"}`}, ""}, {"mo", "moodr", 10, []string{"[sad,ok]", "empty"}, ""}, {"prr", "pairr", 10, []string{`["(1,sad)","(2,ok)")`}, ""}, {"prra", "pairr[]", 10, []string{`{"[\"(1,sad)\",)"}`}, ""},
	{"wm", "words_multirange", 14, []string{"{[a,b),[c,d)}", "{}"}, ""}, {"mm", "moodr_multirange", 14, []string{"{[sad,ok]}"}, ""}, {"pm", "pairr_multirange[]", 14, []string{`{"{[\"(1,sad)\",\"(2,ok)\")}"}`}, ""},
	{"h", "hstore", 10, []string{`"a"=>"é", "b"=>NULL`, ""}, ""}, {"ha", "hstore[]", 10, []string{`{"\"a\"=>\"1\"",NULL}`}, ""}, {"ct", "citext", 10, []string{"Naïve"}, ""}, {"cta", "citext[]", 10, []string{"{A,NULL}"}, ""}, {"lob", "lo", 10, []string{"4294967295"}, ""},
	{"isl", "information_schema.sql_identifier", 10, []string{"x"}, ""}, {"isa", "information_schema.cardinal_number[]", 11, []string{"{1}"}, ""},
}

// asText are types that travel as text everywhere.
var asText = []column{
	{"tq", "tsquery", 10, []string{"'fat' & ( 'rat' | 'cat' )", ""}, ""}, {"iv2", "int2vector", 10, []string{"1 -2", ""}, ""}, {"ov", "oidvector", 10, []string{"1 2", ""}, ""}, {"mny", "money", 10, []string{"$1,234.56", "-$0.01"}, ""}, {"mnya", "money[]", 10, []string{"{$1.00,NULL}"}, ""},
	{"rcl", "regclass", 10, []string{`"Odd name"`, "-", "99999999", "pg_class"}, ""}, {"rcla", "regclass[]", 10, []string{`{"\"Odd name\"",-}`}, ""}, {"rpc", "regproc", 10, []string{"int4in", "twice_is_none"}, ""}, {"rpd", "regprocedure", 10, []string{"twice(text)", "twice(integer)", "-"}, ""},
	{"rop", "regoper", 10, []string{"===", "0"}, ""}, {"rod", "regoperator", 10, []string{"===(int,int)", "0"}, ""}, {"rty", "regtype", 10, []string{"mood", "pair[]", "int", "-"}, ""}, {"rns", "regnamespace", 10, []string{"public", "-"}, ""}, {"rro", "regrole", 10, []string{"postgres"}, ""},
	{"rcf", "regconfig", 10, []string{"ours", "english", "swedish"}, ""}, {"rdi", "regdictionary", 10, []string{"english_stem"}, ""}, {"rco", "regcollation", 13, []string{`"C"`}, ""}, {"acl", "aclitem", 10, []string{"postgres=r/postgres", "=w/postgres"}, ""}, {"acla", "aclitem[]", 10, []string{"{postgres=r/postgres}"}, ""},
	{"bg", "bag", 10, []string{`(4294967295,"""Odd name""",$1.00)`, "(,,)"}, ""}, {"bga", "bag[]", 10, []string{`{"(1,pg_class,)"}`}, ""}, {"isb", "isbn13", 10, []string{"978-0-393-04002-9"}, ""}, {"sg", "seg", 10, []string{"1.5 .. 2.5", "<3"}, ""}, {"sga", "seg[]", 10, []string{"{1}"}, ""}, {"qi", "query_int", 10, []string{"1&(2|3)"}, ""},
}

// bySource are types that older majors carry as text, and later ones as bytes, by the first major that sends and receives them.
var bySource = map[int][]column{
	13: {{"lt", "ltree", 10, []string{"Top.Science", ""}, ""}, {"lta", "ltree[]", 10, []string{"{a.b,NULL}"}, ""}, {"lq", "lquery", 10, []string{"*.foo.*{1,2}"}, ""}, {"ltq", "ltxtquery", 10, []string{"Europe & Russia*@"}, ""}},
	14: {{"cu", "cube", 10, []string{"(1.5,2),(3,4)", "(0.1)"}, "cube_ll_coord(%s, 1)"}, {"cua", "cube[]", 10, []string{`{"(1)",NULL}`}, ""}},
}

// floats are types carried as text that hold floats, whose digits differ between servers up to 11 and later ones.
var floats = []column{
	{"fb", "floatbag", 10, []string{"($1.00,0.1,0.3)", "(,,)"}, "encode(float8send((%s).f) || float4send((%s).g), 'hex')"}, {"sf", "seg", 10, []string{"0.1 .. 0.7"}, ""},
}

// table makes a table of the columns that a version has, and its rows.
func table(name string, version int, columns []column) string {
	columns = there(version, columns)
	rows := 1
	defs := make([]string, len(columns))
	for i, c := range columns {
		defs[i] = c.name + " " + c.typ
		rows = max(rows, len(c.values)+1)
	}
	var sql strings.Builder
	fmt.Fprintf(&sql, "CREATE TABLE %s (id int, %s);\n", name, strings.Join(defs, ", "))
	for row := range rows {
		values := make([]string, len(columns))
		for i, c := range columns {
			values[i] = "NULL"
			if row < len(c.values) {
				values[i] = literal(c, c.values[row])
			}
		}
		fmt.Fprintf(&sql, "INSERT INTO %s VALUES (%d, %s);\n", name, row, strings.Join(values, ", "))
	}
	return sql.String()
}

func literal(c column, value string) string {
	if value == "twice_is_none" { // an overloaded function, which its name alone does not tell
		return "'twice(int)'::regprocedure::regproc"
	}
	return "'" + strings.ReplaceAll(value, "'", "''") + "'"
}

func there(version int, columns []column) []column {
	return slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return c.since > version })
}

// structures are tables of other kinds than ordinary ones, for a version.
func structures(version int) string {
	sql := `CREATE TABLE big (a int, b text); CREATE TABLE "drop" (gone int, a int, gone2 text, b mood[]); ALTER TABLE "drop" DROP COLUMN gone, DROP COLUMN gone2; CREATE TABLE nothing (); CREATE UNLOGGED TABLE scratch (a int);
CREATE TABLE ident (id bigint GENERATED ALWAYS AS IDENTITY, m money, b int GENERATED BY DEFAULT AS IDENTITY); CREATE TABLE parent (a int); CREATE TABLE child (b mood) INHERITS (parent); CREATE SEQUENCE seq AS smallint INCREMENT -1; CREATE SEQUENCE never;
CREATE TABLE parts (a int, k text) PARTITION BY RANGE (a); CREATE TABLE parts_1 (k text, gone int, a int); ALTER TABLE parts_1 DROP COLUMN gone; ALTER TABLE parts ATTACH PARTITION parts_1 FOR VALUES FROM (0) TO (100);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (100) TO (1000) PARTITION BY LIST (k); CREATE TABLE parts_2a PARTITION OF parts_2 FOR VALUES IN ('k1'); CREATE TABLE parts_2b PARTITION OF parts_2 FOR VALUES IN ('k0', 'k2');`
	if version >= 11 {
		sql += `CREATE TABLE hashed (k text, v int) PARTITION BY HASH (k); CREATE TABLE hashed_0 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0); CREATE TABLE hashed_1 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE byenum (m mood, v int) PARTITION BY HASH (m); CREATE TABLE byenum_0 PARTITION OF byenum FOR VALUES WITH (MODULUS 2, REMAINDER 0); CREATE TABLE byenum_1 PARTITION OF byenum FOR VALUES WITH (MODULUS 2, REMAINDER 1);`
	}
	if version >= 12 {
		sql += `CREATE TABLE generated (a int, twice int GENERATED ALWAYS AS (a * 2) STORED, c regtype, t text GENERATED ALWAYS AS ('x' || a::text) STORED);`
	}
	return sql
}

// structureRows fills them.
func structureRows(version int) string {
	sql := `INSERT INTO big SELECT g, repeat(md5(g::text), 3) FROM generate_series(1, 4000) g; INSERT INTO "drop" VALUES (1, '{ok}'); INSERT INTO nothing SELECT FROM generate_series(1, 3); INSERT INTO scratch VALUES (1);
INSERT INTO ident (m) VALUES ('1.50'), ('2'); INSERT INTO parent VALUES (1); INSERT INTO child VALUES (2, 'ok'); SELECT nextval('seq'), nextval('seq'); INSERT INTO parts SELECT g, 'k' || g % 3 FROM generate_series(0, 999) g;`
	if version >= 11 {
		sql += `INSERT INTO hashed SELECT 'k' || g, g FROM generate_series(1, 300) g; INSERT INTO byenum SELECT (enum_range(NULL::mood))[1 + g % 4], g FROM generate_series(1, 300) g;`
	}
	if version >= 12 {
		sql += `INSERT INTO generated (a, c) VALUES (21, 'mood'), (22, 'int');`
	}
	return sql
}

// structureQueries show them.
func structureQueries(version int) []string {
	list := []string{`SELECT count(*), md5(string_agg(b, ',' ORDER BY a)) FROM big`, `SELECT * FROM "drop"`, `SELECT count(*) FROM nothing`, `SELECT * FROM scratch`, `SELECT * FROM ident ORDER BY id`, `SELECT tableoid::regclass, a FROM parent ORDER BY a`, `SELECT * FROM child`,
		`SELECT tableoid::regclass, count(*), sum(a), min(k) FROM parts GROUP BY 1 ORDER BY sum(a)`, `SELECT last_value, is_called FROM seq`, `SELECT last_value, is_called FROM never`, `SELECT last_value, is_called FROM ident_id_seq`}
	if version >= 11 {
		list = append(list, `SELECT count(*), sum(v), md5(string_agg(k, ',' ORDER BY v)) FROM hashed`, `SELECT count(*), sum(v), md5(string_agg(m::text, ',' ORDER BY v)) FROM byenum`)
	}
	if version >= 12 {
		list = append(list, `SELECT * FROM generated ORDER BY a`)
	}
	return list
}
