package pg_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
)

// columnTypes gives the type of each column of the table t, and the graph of all of them.
func columnTypes(t *testing.T, c *pg.Conn) (byColumn map[string]uint32, types pg.Types) {
	t.Helper()
	rel := relationsByName(t, c)["public.t"]
	columns, err := c.Columns(context.Background(), []uint32{rel.OID})
	if err != nil {
		t.Fatal(err)
	}
	byColumn = map[string]uint32{}
	var oids []uint32
	for _, col := range columns[rel.OID] {
		byColumn[string(col.Name)] = col.OID
		oids = append(oids, col.OID)
	}
	if types, err = c.LoadTypes(context.Background(), oids); err != nil {
		t.Fatal(err)
	}
	return byColumn, types
}

func TestTypeGraph(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE EXTENSION hstore; CREATE TYPE mood AS ENUM ('sad', 'o''k', 'ÄÖ'); ALTER TYPE mood ADD VALUE 'first' BEFORE 'sad'; CREATE DOMAIN moods AS mood[] CHECK (cardinality(VALUE) < 9);
CREATE TYPE pair AS ("X y" int, gone int, m moods); ALTER TYPE pair DROP ATTRIBUTE gone; CREATE TYPE tr AS RANGE (subtype = text); CREATE TABLE t (a moods, b pair[], c tr_multirange, h hstore, p point);`)
	cols, types := columnTypes(t, connect(t, dsn, pg.Options{}))
	var show func(oid uint32) string
	show = func(oid uint32) string {
		n := types[oid]
		s := string(n.Kind) + " " + string(n.Schema) + "." + string(n.Name)
		if n.Extension != nil {
			s += " of " + string(n.Extension.Name) + " " + n.Extension.Version
		}
		for _, l := range n.Labels {
			s += " '" + string(l) + "'"
		}
		for _, f := range n.Fields {
			s += " " + string(f.Name) + "=(" + show(f.OID) + ")"
		}
		if n.Element != 0 {
			s += " <- " + show(n.Element)
		}
		return s
	}
	mood := "enum public.mood 'first' 'sad' 'o'k' 'ÄÖ'"
	for col, want := range map[string]string{
		"a": "domain public.moods <- array public._mood <- " + mood,
		"b": "array public._pair <- composite public.pair X y=(base pg_catalog.int4) m=(domain public.moods <- array public._mood <- " + mood + ")",
		"c": "multirange public.tr_multirange <- range public.tr <- base pg_catalog.text",
		"p": "base pg_catalog.point",
	} {
		if got := show(cols[col]); got != want {
			t.Errorf("%s: %s\nwant %s", col, got, want)
		}
	}
	if got := show(cols["h"]); !strings.HasPrefix(got, "base public.hstore of hstore 1.") {
		t.Errorf("h: %s", got)
	}
	var reached []string
	for _, n := range types.Reached([]uint32{cols["c"], cols["c"]}) {
		reached = append(reached, string(n.Name))
	}
	slices.Sort(reached)
	if want := []string{"text", "tr", "tr_multirange"}; !slices.Equal(reached, want) {
		t.Errorf("reached from c: %q, want %q", reached, want)
	}
	if _, err := connect(t, dsn, pg.Options{}).LoadTypes(context.Background(), []uint32{4294967295}); err == nil {
		t.Error("a type that is not there is found")
	}
}

// TestCarryUserTypes: how each column travels, told by the first letters of its name: as it is, o_ with OIDs inside, x_ as text, m_ by a cast of
// its own, n_ not at all.
func TestCarryUserTypes(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE EXTENSION hstore; CREATE EXTENSION citext; CREATE EXTENSION seg; CREATE EXTENSION isn; CREATE EXTENSION ltree; CREATE EXTENSION cube; CREATE EXTENSION lo; CREATE EXTENSION intarray; CREATE EXTENSION pg_trgm;
CREATE TYPE mood AS ENUM ('sad'); CREATE DOMAIN d_int AS int; CREATE DOMAIN d_d AS d_int; CREATE DOMAIN d_mood AS mood; CREATE DOMAIN d_arr AS int[]; CREATE DOMAIN d_moods AS mood[]; CREATE DOMAIN d_money AS money; CREATE DOMAIN d_seg AS seg;
CREATE TYPE c_plain AS (a int, b text[], c int4range); CREATE TYPE c_enum AS (a mood); CREATE TYPE c_deep AS (a c_plain); CREATE TYPE c_money AS (a int, m money); CREATE TYPE c_reg AS (a regclass[]); CREATE TYPE c_dom AS (a d_int); CREATE TYPE c_none AS ();
CREATE TYPE r_text AS RANGE (subtype = text); CREATE TYPE r_mood AS RANGE (subtype = mood); CREATE TYPE r_money AS RANGE (subtype = money); CREATE TYPE r_c AS RANGE (subtype = c_enum); CREATE TABLE rowtype (a int, b text);
CREATE TYPE sh; CREATE FUNCTION sh_in(cstring) RETURNS sh LANGUAGE internal IMMUTABLE STRICT AS 'int4in'; CREATE FUNCTION sh_out(sh) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out'; CREATE TYPE sh (INPUT = sh_in, OUTPUT = sh_out, LIKE = int4);
CREATE TABLE t (mood mood, d_int d_int, d_d d_d, d_mood d_mood, d_arr d_arr, c_plain c_plain, c_none c_none, r_text r_text, r_mood r_mood, mr_text r_text_multirange, rowtype rowtype, hstore hstore, citext citext, ltree ltree, cube cube, lo lo,
 is_sqlid information_schema.sql_identifier, is_card information_schema.cardinal_number, ints int[], ranges int4range[], mranges nummultirange[], o_moods mood[], o_citext citext[], o_dints d_int[], o_comps c_plain[], o_dmoods d_moods, m_dmoney d_money, x_dseg d_seg,
 o_cenum c_enum, o_cdeep c_deep, x_cmoney c_money, x_creg c_reg, o_cdom c_dom, x_rmoney r_money, o_rc r_c, o_rtexts r_text[], x_seg seg, x_segs seg[], x_isbn isbn, x_query query_int, x_sh sh, x_shs sh[], x_aclitems aclitem[], m_moneys money[], x_regs regclass[],
 o_rows rowtype[], o_sqlids information_schema.sql_identifier[], x_vecs int2vector[], n_key gtrgm, n_keys gtrgm[], d_d2 d_d)`)
	cols, types := columnTypes(t, connect(t, dsn, pg.Options{}))
	for col, oid := range cols {
		carry := types.Carry(oid)
		got := ""
		switch {
		case carry.Refused:
			got = "n"
		case carry.Carried == format.CarriedText && carry.Cast != pg.CastText:
			got = "m"
		case carry.Carried == format.CarriedText:
			got = "x"
		case carry.OIDs:
			got = "o"
		}
		want, _, ok := strings.Cut(col, "_")
		if !ok || len(want) != 1 || !strings.Contains("nmxo", want) {
			want = ""
		}
		if got != want || (carry.Why == "") != (got == "") {
			t.Errorf("%s: carried %q, want %q: %+v", col, got, want, carry)
		}
	}
	for col, part := range map[string]string{"o_cenum": "public.c_enum", "o_moods": "public._mood", "m_dmoney": "money", "x_segs": "public.seg", "x_seg": "public.seg", "n_key": "gtrgm"} {
		if carry := types.Carry(cols[col]); !strings.Contains(carry.Why, part) {
			t.Errorf("%s: %q does not name %s", col, carry.Why, part)
		}
	}
	if !types.Carry(1).Refused {
		t.Error("an unknown type is accepted")
	}
}

// builtinTypes are the types of pg_catalog that a table can have.
func builtinTypes(t *testing.T, c *pg.Conn) (list []format.Type, types pg.Types) {
	t.Helper()
	rows, err := c.Query(context.Background(), `SELECT t.oid FROM pg_type t WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype IN ('b', 'r', 'm') AND t.typisdefined ORDER BY t.oid`)
	if err != nil {
		t.Fatal(err)
	}
	oids, err := pgx.CollectRows(rows, pgx.RowTo[uint32])
	if err != nil {
		t.Fatal(err)
	}
	if types, err = c.LoadTypes(context.Background(), oids); err != nil {
		t.Fatal(err)
	}
	for _, oid := range oids {
		list = append(list, types[oid].Type)
	}
	return list, types
}

func TestCarryBuiltin(t *testing.T) {
	list, types := builtinTypes(t, connect(t, pgtest.DB(t), pg.Options{}))
	want := map[string]string{}
	for _, name := range strings.Fields(`regprocedure regoperator regtype regrole regnamespace regcollation regconfig regdictionary tsquery int2vector oidvector aclitem`) {
		want[name], want["_"+name] = "text", "text"
	}
	for name, cast := range map[string]string{"regproc": "regprocedure", "regoper": "regoperator", "regclass": "regclass"} {
		want[name], want["_"+name] = cast, "text"
	}
	want["money"], want["_money"] = "numeric", "numeric"
	for _, name := range strings.Fields(`gtsvector pg_node_tree pg_ndistinct pg_dependencies pg_mcv_list pg_brin_bloom_summary pg_brin_minmax_multi_summary`) {
		want[name], want["_"+name] = "refused", "refused"
	}
	for _, n := range list {
		if n.Kind == format.KindArray && types[n.Element].Kind == format.KindComposite {
			continue // of catalogs' rows
		}
		carry := types.Carry(n.OID)
		got := carry.Cast
		if carry.Refused {
			got = "refused"
		}
		if got != want[string(n.Name)] || carry.OIDs {
			t.Errorf("%s: carried %q, want %q: %+v", n.Name, got, want[string(n.Name)], carry)
		}
	}
}

// TestCarryXML: outside of UTF8 binary xml would come back with a declaration that was not there.
func TestCarryXML(t *testing.T) {
	for encoding, want := range map[string]format.Carriage{"LATIN1": format.CarriedText, "SQL_ASCII": format.CarriedBinary, "UTF8": format.CarriedBinary} {
		dsn := encodedDB(t, "pg_xml_"+strings.ToLower(encoding), encoding)
		pgtest.SQL(t, dsn, `CREATE DOMAIN d AS xml; CREATE TYPE c AS (x xml); CREATE TABLE t (a xml, b xml[], c d, d c)`)
		cols, types := columnTypes(t, connect(t, dsn, pg.Options{}))
		for col, oid := range cols {
			if got := types.Carry(oid).Carried; got != want {
				t.Errorf("%s: column %s is carried as %s, want %s", encoding, col, got, want)
			}
		}
	}
}

// TestSamples: every builtin type that plain binary carries has samples, the server takes each literal, and gets the same value out of the bytes.
func TestSamples(t *testing.T) {
	for _, encoding := range []string{"UTF8", "LATIN1", "SQL_ASCII", "WIN1251", "EUC_JP"} {
		dsn := encodedDB(t, "pg_samples_"+strings.ToLower(encoding), encoding)
		pgtest.SQL(t, dsn, `SET client_encoding = 'UTF8'; CREATE TYPE "mo""od" AS ENUM ('', 'sad', 'it''s'); CREATE TABLE of_enum (v "mo""od");`)
		if encoding != "WIN1251" && encoding != "EUC_JP" {
			pgtest.SQL(t, dsn, `SET client_encoding = 'UTF8'; ALTER TYPE "mo""od" ADD VALUE 'größe'; ALTER TYPE "mo""od" RENAME TO "Größe"`)
		}
		c, catalog := connect(t, dsn, pg.Options{Purpose: pg.ForData}), connect(t, dsn, pg.Options{})
		list, types := builtinTypes(t, catalog)
		columnTypes := map[uint32]bool{}
		for _, n := range list {
			carry := types.Carry(n.OID)
			pseudo := n.Name == "_cstring" || n.Kind == format.KindArray && types[n.Element].Kind == format.KindComposite
			columnTypes[n.OID] = !pseudo && !carry.Refused && carry.Carried == format.CarriedBinary
		}
		maps.DeleteFunc(types, func(oid uint32, _ *pg.Type) bool { return !columnTypes[oid] })
		var enum uint32
		if err := catalog.QueryRow(context.Background(), `SELECT atttypid FROM pg_attribute WHERE attrelid = 'public.of_enum'::regclass AND attname = 'v'`).Scan(&enum); err != nil {
			t.Fatal(err)
		}
		enums, err := catalog.LoadTypes(context.Background(), []uint32{enum})
		if err != nil {
			t.Fatal(err)
		}
		types[enum] = enums[enum]
		samples, err := c.Samples(context.Background(), types, func(uint32) []pg.ColumnRef { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if len(samples) != len(types) {
			t.Fatalf("%d samples of %d types", len(samples), len(types))
		}
		for _, s := range samples {
			checkSamples(t, c, encoding, types[s.OID].Type, s)
		}
	}
}

func checkSamples(t *testing.T, c *pg.Conn, encoding string, n format.Type, s format.Samples) {
	t.Helper()
	name := fmt.Sprintf("%s: %s", encoding, n.Name)
	lacks := encoding == "WIN1251" // ï
	if s.Note != "" && !lacks || len(s.Values) == 0 {
		t.Errorf("%s: %d samples, note %q", name, len(s.Values), s.Note)
	}
	for _, v := range s.Values {
		if v.Bytes == nil || n.Name == "text" && v.Text != v.Literal {
			t.Errorf("%s: %q came back as %q, bytes %x", name, v.Literal, v.Text, v.Bytes)
		}
	}
	bad, err := c.CheckSamples(context.Background(), n, s.Values)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, b := range bad {
		t.Errorf("%s: %q is read back as %q %x, want %q %x (%v)", name, b.Sample.Literal, b.Text, b.Bytes, b.Sample.Text, b.Sample.Bytes, b.Err)
	}
	if len(s.Values) == 0 || encoding == "SQL_ASCII" { // there bytes alone are compared
		return
	}
	wrong := s.Values[0]
	wrong.Text += "x"
	if bad, err = c.CheckSamples(context.Background(), n, []format.Sample{wrong}); err != nil || len(bad) != 1 {
		t.Errorf("%s: a sample of another meaning passes: %v, %v", name, bad, err)
	}
}
