package restore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// inEncoding makes a database of an encoding.
func inEncoding(t *testing.T, name, encoding string) string {
	t.Helper()
	admin := pgtest.Cluster(t).DSN("postgres")
	pgtest.SQL(t, admin, `CREATE DATABASE `+name+` ENCODING '`+encoding+`' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`)
	t.Cleanup(func() { pgtest.SQL(t, admin, `DROP DATABASE `+name+` WITH (FORCE)`) })
	return pgtest.Cluster(t).DSN(name)
}

const named = `SET client_encoding = 'UTF8'; CREATE SCHEMA "façade"; CREATE TYPE "façade"."état" AS ENUM ('été', 'hiver'); CREATE TABLE "façade"."naïve" ("clé" int, "é" text, e "façade"."état");
INSERT INTO "façade"."naïve" SELECT g, 'ünï ' || g, 'été' FROM generate_series(1, 5000) g; CREATE SEQUENCE "façade"."sé"; SELECT nextval('"façade"."sé"');
CREATE INDEX "idé" ON "façade"."naïve" ("é"); CREATE TABLE "façade".h (k text) PARTITION BY HASH (k); CREATE TABLE "façade"."h0é" PARTITION OF "façade".h FOR VALUES WITH (MODULUS 1, REMAINDER 0); INSERT INTO "façade".h VALUES ('é');`

func TestEncodings(t *testing.T) {
	for name, encodings := range map[string][2]string{"latin1 to utf8": {"LATIN1", "UTF8"}, "utf8 to latin1": {"UTF8", "LATIN1"}, "latin1 to latin9": {"LATIN1", "LATIN9"}, "latin1 to ascii": {"LATIN1", "SQL_ASCII"}} {
		t.Run(name, func(t *testing.T) {
			source, target := inEncoding(t, "enc_source", encodings[0]), inEncoding(t, "enc_target", encodings[1])
			pgtest.SQL(t, source, named)
			o := options(t, takeDump(t, source, inSegments), target)
			if name == "latin1 to latin9" { // the server has no conversion between these two
				refusal(t, o, "preflight A", "LATIN1", "LATIN9")
				return
			}
			if name == "latin1 to ascii" { // the names are bytes of another encoding there
				refusal(t, o, "preflight B", "façade.naïve", "no such table", "--resume")
				return
			}
			sum := mustRestore(t, o)
			if len(sum.Gaps) > 0 || sum.Proven != 2 {
				t.Errorf("gaps %+v, %d proven", sum.Gaps, sum.Proven)
			}
			for _, query := range []string{`SELECT count(*), md5(string_agg(convert_to("é", 'UTF8'), ',' ORDER BY "clé")) FROM "façade"."naïve"`, `SELECT last_value, is_called FROM "façade"."sé"`,
				`SELECT tableoid::regclass, * FROM "façade".h`, `SELECT DISTINCT e FROM "façade"."naïve"`, `SELECT indexname FROM pg_indexes WHERE schemaname <> 'pg_catalog'`} {
				same(t, source, target, `SET client_encoding = 'UTF8'; `+query)
			}
		})
	}
	t.Run("utf8 to ascii", func(t *testing.T) {
		source, target := pgtest.DB(t, `CREATE TABLE a (t text); INSERT INTO a VALUES ('é')`), inEncoding(t, "enc_target", "SQL_ASCII")
		mustRestore(t, options(t, takeDump(t, source), target))
		same(t, source, target, `SELECT encode(textsend(t), 'hex') FROM a`)
	})
	t.Run("a character that the target lacks", func(t *testing.T) {
		source, target := pgtest.DB(t, `CREATE TABLE a (t text); INSERT INTO a VALUES ('plain'), ('日本')`), inEncoding(t, "enc_target", "LATIN1")
		o := options(t, takeDump(t, source), target)
		_, err := restore.Run(t.Context(), o)
		for _, part := range []string{"public.a", "row 2", "22P05"} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("error %v lacks %q", err, part)
			}
		}
	})
}

// spelt has something of everything that a name or a text of another encoding may be in.
const spelt = `CREATE SCHEMA "façade"; CREATE EXTENSION hstore; CREATE EXTENSION citext; CREATE EXTENSION seg SCHEMA "façade"; CREATE EXTENSION ltree;
CREATE TYPE "façade"."état" AS ENUM ('été', 'hiver', 'à'); CREATE DOMAIN "façade"."dömaine" AS text CHECK (VALUE <> 'ü'); CREATE TYPE "façade"."étendue" AS RANGE (subtype = text, collation = "C", multirange_type_name = "façade"."étendues");
CREATE TYPE "façade"."païre" AS ("clé" int, e "façade"."état", d "façade"."dömaine"); CREATE TYPE "façade"."prïx" AS ("clé" int, m money, s "façade"."état"); CREATE FUNCTION "façade"."fönction"(text) RETURNS text LANGUAGE sql AS 'SELECT $1';
CREATE TABLE "façade"."naïve" ("clé" int PRIMARY KEY, t text, vc varchar(4), bp char(4), nm name, ch "char", h hstore, ha hstore[], ct citext, cta citext[], e "façade"."état", ea "façade"."état"[], p "façade"."païre", pa "façade"."païre"[],
 r "façade"."étendue", mr "façade"."étendues", d "façade"."dömaine", da "façade"."dömaine"[], j json, jb jsonb, tv tsvector);
CREATE TABLE "façade"."par täxte" ("clé" int, x "façade"."prïx", xa "façade"."prïx"[], tq tsquery, sg "façade".seg, rc regclass, rt regtype, rp regproc, rn regnamespace, xm xml, ac aclitem, "gé" text GENERATED ALWAYS AS ('é' || "clé"::text) STORED);`

const speltRows = `INSERT INTO "façade"."naïve" VALUES (1, 'ünï', 'éééé', 'é', 'nïm', 'x', '"clé"=>"ü", "é"=>NULL', ARRAY['é=>1'::hstore, NULL], 'Naïve', '{É,NULL}', 'été', '{à,NULL,été}', '(1,été,"ü, é")', '{"(2,à,é)",NULL}', '[à,é)', '{[à,é),[ö,)}', 'dö', '{é}', '{"é": "ü"}', '{"é": "ü"}', '''é'':1A'),
 (2, '', '', '', '', '', 'abc=>1, éa=>2', '{}', '', '{}', 'hiver', '{}', '(,,)', '{}', 'empty', '{}', '', '{}', '1', '1', ''), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO "façade"."par täxte" ("clé", x, xa, tq, sg, rc, rt, rp, rn, xm, ac) VALUES (1, '(1,$1.50,été)', '{"(1,,à)"}', '''é'' & !''ü''', '1 .. 2', '"façade"."naïve"', '"façade"."état"[]', '"façade"."fönction"', '"façade"', '<a b="é">ü</a>', '=r/postgres'),
 (2, '(,,)', '{}', '', '<3', '-', '-', '-', '-', '', NULL), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);`

// speltState shows it, in ASCII. The keys of a hstore are sorted by their bytes.
var speltState = []string{`SELECT "clé", encode(convert_to(ROW(t, vc, bp, nm, ch, ha, ct, cta, e, ea, p, pa, r, mr, d, da, j, jb, tv)::text, 'UTF8'), 'escape') FROM "façade"."naïve" ORDER BY 1`,
	`SELECT "clé", encode(convert_to(key || '=>' || coalesce(value, 'NULL'), 'UTF8'), 'escape') FROM "façade"."naïve", each(h) ORDER BY 1, 2`, `SELECT n."clé", encode(convert_to(n::text, 'UTF8'), 'escape') FROM "façade"."par täxte" n ORDER BY 1`,
	`SELECT encode(convert_to(string_agg(enumlabel, ',' ORDER BY enumsortorder), 'UTF8'), 'escape') FROM pg_enum`, `SELECT encode(convert_to(string_agg(attname, ',' ORDER BY attrelid::regclass::text COLLATE "C", attnum), 'UTF8'), 'escape') FROM pg_attribute WHERE attname ~ '[^ -~]'`}

func TestEncodingsOfEverything(t *testing.T) {
	kanji := strings.NewReplacer("é", "日", "ï", "本", "ü", "語", "ö", "林", "à", "字", "É", "書", "ä", "表", "ç", "列")
	for _, c := range []struct {
		source, target string
		whole          bool // with definitions
	}{{"UTF8", "UTF8", true}, {"LATIN1", "LATIN1", false}, {"LATIN1", "UTF8", true}, {"UTF8", "LATIN1", false}, {"EUC_JP", "UTF8", true}, {"UTF8", "EUC_JP", false}, {"WIN1252", "UTF8", false}} {
		t.Run(c.source+" to "+c.target, func(t *testing.T) {
			spell := func(s string) string { return "SET client_encoding = 'UTF8'; " + s }
			if c.source == "EUC_JP" || c.target == "EUC_JP" {
				spell = func(s string) string { return "SET client_encoding = 'UTF8'; " + kanji.Replace(s) }
			}
			source, target := inEncoding(t, "enc_source", c.source), inEncoding(t, "enc_target", c.target)
			pgtest.SQL(t, source, spell(spelt+speltRows))
			pgtest.SQL(t, target, strangers(20))
			if !c.whole {
				pgtest.SQL(t, target, spell(spelt))
			}
			o := options(t, takeDump(t, source, func(o *dump.Options) { o.DataOnly = !c.whole }), target)
			o.DataOnly = !c.whole
			sum := mustRestore(t, o)
			unproven := 0
			if c.source != c.target { // an array of hstore
				unproven = 1
			}
			if len(sum.Gaps) > 0 || len(sum.Unproven) != unproven || sum.Proven != 2-unproven || unproven > 0 && !strings.HasPrefix(sum.Unproven[0], "fa") {
				t.Errorf("gaps %+v, %d proven, not proven %q", sum.Gaps, sum.Proven, sum.Unproven)
			}
			for _, query := range speltState {
				same(t, source, target, spell(query))
			}
		})
	}
}

// TestHstoreInAnotherEncoding: a session of the files' encoding gets wrong bytes of a hstore, and the proof knows how to get the right ones.
func TestHstoreInAnotherEncoding(t *testing.T) {
	definitions := `CREATE EXTENSION hstore; CREATE EXTENSION citext; CREATE DOMAIN pairs AS hstore; CREATE TABLE a (id int, h hstore, c citext, p pairs);`
	rows := `INSERT INTO a VALUES (1, 'abc=>"ü \"x\" \\", éa=>NULL, é=>""', 'É', 'ü=>é'), (2, '', '', ''), (3, NULL, NULL, NULL), (4, 'a=>NULL', 'x', 'b=>a,aa=>b,"\\"=>"\""')`
	for _, c := range [][2]string{{"LATIN1", "UTF8"}, {"UTF8", "LATIN1"}} {
		t.Run(c[0]+" to "+c[1], func(t *testing.T) {
			source, target := inEncoding(t, "enc_source", c[0]), inEncoding(t, "enc_target", c[1])
			pgtest.SQL(t, source, `SET client_encoding = 'UTF8';`+definitions+rows)
			pgtest.SQL(t, target, definitions)
			o := options(t, takeDump(t, source), target)
			o.DataOnly = true
			if sum := mustRestore(t, o); sum.Proven != 1 {
				t.Errorf("not proven %q", sum.Unproven)
			}
			for _, column := range []string{"h", "p"} {
				same(t, source, target, `SET client_encoding = 'UTF8'; SELECT id, key, value FROM a, each(`+column+`) ORDER BY id, convert_to(key, 'UTF8')`)
			}
		})
	}
}

// TestMergedMultirange: where texts are sorted otherwise the server merges the parts of a multirange without a word. The restore warns, and the proof finds it.
func TestMergedMultirange(t *testing.T) {
	source, target := inEncoding(t, "enc_source", "EUC_JP"), inEncoding(t, "enc_target", "UTF8")
	definitions := `CREATE TYPE w AS RANGE (subtype = text, collation = "C", multirange_type_name = ws); CREATE TABLE a (v ws);`
	pgtest.SQL(t, source, `SET client_encoding = 'UTF8';`+definitions+`INSERT INTO a VALUES ('{[字,日),[文,)}')`)
	pgtest.SQL(t, target, definitions)
	o := options(t, takeDump(t, source), target)
	o.DataOnly = true
	_, err := restore.Run(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "table public.a: expected 1 rows with digest") {
		t.Errorf("error %v, want a failed proof", err)
	}
	if warnings := strings.Join(o.Tracker.Report().Warnings, "\n"); !strings.Contains(warnings, "ranges of texts") || !strings.Contains(warnings, "EUC_JP") {
		t.Errorf("warnings %q", warnings)
	}
}

// latin1 gives a text's bytes in LATIN1, which are no UTF-8.
func latin1(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		b = append(b, byte(r))
	}
	return string(b)
}

// TestBytesOfNoEncoding: in a database of SQL_ASCII names, labels and texts are bytes, whatever they spell.
func TestBytesOfNoEncoding(t *testing.T) {
	source := inEncoding(t, "enc_source", "SQL_ASCII")
	rows := strings.Replace(speltRows, `'<a b="é">ü</a>'`, `'<a/>'`, 1) // a parser of xml wants some encoding
	pgtest.SQL(t, source, latin1(spelt+rows))
	for _, whole := range []bool{true, false} {
		dir := takeDump(t, source, func(o *dump.Options) { o.DataOnly = !whole })
		if manifest, err := os.ReadFile(filepath.Join(dir, format.ManifestName)); err != nil || !strings.Contains(string(manifest), `"b64"`) || !utf8.Valid(manifest) {
			t.Errorf("the manifest (%v) does not spell names out of UTF-8 in base64", err)
		}
		target := inEncoding(t, fmt.Sprint("enc_target_", whole), "SQL_ASCII")
		pgtest.SQL(t, target, strangers(20))
		if !whole {
			pgtest.SQL(t, target, latin1(spelt))
		}
		o := options(t, dir, target)
		o.DataOnly = !whole
		sum := mustRestore(t, o)
		if len(sum.Gaps) > 0 || sum.Proven != 2 {
			t.Errorf("whole %t: gaps %+v, %d proven, not proven %q", whole, sum.Gaps, sum.Proven, sum.Unproven)
		}
		for _, query := range speltState {
			same(t, source, target, latin1(bytesOf(query)))
		}
	}
}

// bytesOf makes a query of speltState show the bytes that are there.
func bytesOf(query string) string {
	return strings.ReplaceAll(strings.ReplaceAll(query, "convert_to(", "textsend("), ", 'UTF8')", ")")
}
