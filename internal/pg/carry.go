package pg

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bytehaul/pghaul/format"
)

// Casts name the ways a value goes through text. The keyword stands in the file; the SQL is only here.
const (
	CastText    = "text"    // the type's own text form
	CastNumeric = "numeric" // money, counted in units and not in the locale's fractions
	CastProc    = "regprocedure"
	CastOper    = "regoperator"
	CastClass   = "regclass"
)

// KnownCast tells whether a keyword names a cast; a file can hold anything.
func KnownCast(keyword string) bool {
	return slices.Contains([]string{CastText, CastNumeric, CastProc, CastOper, CastClass}, keyword)
}

// Carry is how the values of a column travel.
type Carry struct {
	Carried format.Carriage
	Cast    string // of text
	OIDs    bool   // binary: OIDs inside of the values are rewritten for the target
	Why     string // why it is not plain binary; or why not at all
	Refused bool   // no way at all: the type has no text input either
}

// textOnly are builtin types whose bytes mean something else on another server, or that are sent and never received.
var textOnly = map[format.Name]struct{ cast, why string }{
	"regproc": {CastProc, "is an OID of an object"}, "regoper": {CastOper, "is an OID of an object"}, "regclass": {CastClass, "is an OID of an object"},
	"regprocedure": {CastText, "is an OID of an object"}, "regoperator": {CastText, "is an OID of an object"}, "regtype": {CastText, "is an OID of an object"},
	"regrole": {CastText, "is an OID of an object"}, "regnamespace": {CastText, "is an OID of an object"}, "regcollation": {CastText, "is an OID of an object"},
	"regconfig": {CastText, "is an OID of an object"}, "regdictionary": {CastText, "is an OID of an object"}, "regdatabase": {CastText, "is an OID of an object"},
	"money":   {CastNumeric, "counts in units of the server's lc_monetary"},
	"tsquery": {CastText, "is sent but not received when empty"}, "int2vector": {CastText, "is sent but not received when empty"}, "oidvector": {CastText, "is sent but not received when empty"},
}

// noInput are types that give values out and take none in, in any form.
var noInput = []format.Name{"pg_node_tree", "pg_ndistinct", "pg_dependencies", "pg_mcv_list", "pg_brin_bloom_summary", "pg_brin_minmax_multi_summary",
	"gtsvector", "pg_ddl_command", "smgr"}

// keyTypes are the index key types of contrib extensions, by the extension that owns them: without text input too.
var keyTypes = map[format.Name][]string{"btree_gist": {"gbtreekey"}, "hstore": {"ghstore"}, "pg_trgm": {"gtrgm"}, "intarray": {"intbig_gkey"}, "ltree": {"ltree_gist"}}

// Carry decides how values of a type travel, from the catalog alone and through all levels: containers of a type without binary functions
// fail only when a value is met, which is too late.
func (t Types) Carry(oid uint32) Carry { return t.carry(oid, nil) }

func (t Types) carry(oid uint32, path []uint32) Carry {
	node := t[oid]
	if node == nil {
		return Carry{Refused: true, Why: fmt.Sprintf("type with OID %d is unknown", oid)}
	}
	if slices.Contains(path, oid) {
		return Carry{Carried: format.CarriedBinary} // a cycle: the type is being decided on already
	}
	path = append(path, oid)
	name := string(node.Schema) + "." + string(node.Name)
	if node.takesNothingIn() {
		return Carry{Refused: true, Why: "type " + name + " has no input, in binary or as text"}
	}
	if special, ok := textOnly[node.Name]; ok && node.Schema == "pg_catalog" {
		return Carry{Carried: format.CarriedText, Cast: special.cast, Why: "type " + name + " " + special.why}
	}
	own := Carry{Carried: format.CarriedBinary}
	if node.Recoded {
		own = Carry{Carried: format.CarriedText, Cast: CastText, Why: "type " + name + " gets a declaration of the encoding in binary"}
	}
	if !node.Send || !node.Receive {
		own = Carry{Carried: format.CarriedText, Cast: CastText, Why: "type " + name + " has no binary " + missingDirection(node)}
	}
	return t.container(node, own, path)
}

func missingDirection(node *Type) string {
	switch {
	case node.Send:
		return "input"
	case node.Receive:
		return "output"
	}
	return "input and output"
}

// container adds what the parts of a type demand: one refused part refuses all, one part as text makes all text.
func (t Types) container(node *Type, own Carry, path []uint32) Carry {
	for _, part := range node.Parts() {
		c := t.carry(part, path)
		if c.Refused {
			return c
		}
		own.OIDs = own.OIDs || c.OIDs
		if c.Carried == format.CarriedText && own.Carried == format.CarriedBinary {
			own.Carried, own.Cast, own.Why = format.CarriedText, containerCast(node, c), c.Why
		}
		if node.holdsOIDOf(part) && own.Carried == format.CarriedBinary {
			own.OIDs = true
		}
	}
	if own.Carried == format.CarriedText {
		own.OIDs = false
	} else if own.OIDs {
		own.Why = fmt.Sprintf("type %s.%s holds OIDs of types", node.Schema, node.Name)
	}
	return own
}

// containerCast is the cast for a container of something carried as text: its own text form holds its parts' text forms, but arrays and domains of money
// cast like money.
func containerCast(node *Type, part Carry) string {
	if part.Cast == CastNumeric && (node.Kind == format.KindArray || node.Kind == format.KindDomain) {
		return CastNumeric
	}
	if node.Kind == format.KindDomain {
		return part.Cast
	}
	return CastText
}

// Parts are the types that a value of this type holds inside.
func (t *Type) Parts() []uint32 {
	if t.Kind == format.KindComposite {
		parts := make([]uint32, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = f.OID
		}
		return parts
	}
	if t.Element != 0 {
		return []uint32{t.Element}
	}
	return nil
}

// holdsOIDOf tells whether values of this type carry the part's type OID, one that differs between databases.
func (t *Type) holdsOIDOf(part uint32) bool {
	return part >= firstUserOID && (t.Kind == format.KindArray || t.Kind == format.KindComposite)
}

func (t *Type) takesNothingIn() bool {
	if t.Schema == "pg_catalog" && slices.Contains(noInput, t.Name) {
		return true
	}
	if t.Extension == nil {
		return false
	}
	return slices.ContainsFunc(keyTypes[t.Extension.Name], func(prefix string) bool { return strings.HasPrefix(string(t.Name), prefix) })
}

// Holds tells whether a type is or holds, on any level, the builtin type of that name.
func (t Types) Holds(oid uint32, builtin format.Name) bool {
	seen := map[uint32]bool{}
	var visit func(uint32) bool
	visit = func(oid uint32) bool {
		node := t[oid]
		if node == nil || seen[oid] {
			return false
		}
		seen[oid] = true
		return node.Schema == "pg_catalog" && node.Name == builtin || slices.ContainsFunc(node.Parts(), visit)
	}
	return visit(oid)
}

// OutSQL is the expression that gives a column as text. column is quoted already.
func OutSQL(column, cast string, array bool) string {
	switch cast {
	case CastNumeric:
		if array {
			return column + "::pg_catalog.numeric[]::pg_catalog.text"
		}
		return column + "::pg_catalog.numeric::pg_catalog.text"
	case CastProc:
		return column + "::pg_catalog.regprocedure::pg_catalog.text"
	case CastOper:
		return column + "::pg_catalog.regoperator::pg_catalog.text"
	}
	return column + "::pg_catalog.text"
}

// InSQL is the expression that makes a value of a type out of its text. column and typ are quoted already; array tells that money stands in an array.
func InSQL(column, cast, typ string, array bool) string {
	switch cast {
	case CastNumeric:
		if array {
			return column + "::pg_catalog.numeric[]::pg_catalog.money[]::" + typ
		}
		return column + "::pg_catalog.numeric::pg_catalog.money::" + typ
	case CastProc:
		return column + "::pg_catalog.regprocedure::pg_catalog.regproc::" + typ
	case CastOper:
		return column + "::pg_catalog.regoperator::pg_catalog.regoper::" + typ
	case CastClass:
		// text::regclass looks a name up, so that "-" and a bare number, which regclass itself prints, are no relations to it.
		return "CASE WHEN " + column + " = '-' THEN 0::pg_catalog.oid::pg_catalog.regclass WHEN " + column +
			" ~ '^[0-9]+$' THEN " + column + "::pg_catalog.int8::pg_catalog.oid::pg_catalog.regclass ELSE " + column + "::pg_catalog.regclass END::" + typ
	}
	return column + "::" + typ
}

// NarrowSQL is the expression that gives the bytes of a number as those of a narrower type: int2, int4, int8 or float4. A value that the narrower type
// does not have is no bytes at all, which is unlike each of its values and unlike NULL; it is neither rounded nor an error. column is quoted already.
func NarrowSQL(column string, typ format.Name) string {
	within := map[format.Name]string{ // where the cast has no error; it may still round
		"int2": column + " BETWEEN -32768 AND 32767",
		"int4": column + " BETWEEN -2147483648 AND 2147483647",
		"int8": column + " BETWEEN -9223372036854775808 AND 9223372036854775807",
		"float4": column + " = ANY ('{0,NaN,Infinity,-Infinity}'::pg_catalog.float8[]) OR pg_catalog.abs(" + column +
			") BETWEEN 1.401298464324817e-45::pg_catalog.float8 AND 3.4028234663852886e38::pg_catalog.float8",
	}[typ]
	narrow := column + "::pg_catalog." + string(typ)
	return "CASE WHEN " + within + " THEN CASE WHEN " + narrow + " = " + column + " THEN pg_catalog." + string(typ) + "send(" + narrow + ") ELSE '' END WHEN " +
		column + " IS NOT NULL THEN '' END"
}

// HstoreSQL is the expression that gives an hstore's bytes as it would be sent in a database of that encoding: count, then keys by length and bytes, each with its
// value. hstore_send itself takes the lengths of the database's encoding, which are wrong when the session speaks another. column is quoted already.
func HstoreSQL(column, encoding string) string {
	enc := QuoteLiteral(encoding)
	return "CASE WHEN " + column + ` IS NOT NULL THEN (SELECT pg_catalog.int4send(pg_catalog.count(*)::pg_catalog.int4) || coalesce(pg_catalog.string_agg(
 pg_catalog.int4send(pg_catalog.octet_length(k)) || k || CASE WHEN v IS NULL THEN '\xffffffff'::pg_catalog.bytea ELSE pg_catalog.int4send(pg_catalog.octet_length(v)) || v END,
 ''::pg_catalog.bytea ORDER BY pg_catalog.octet_length(k), k), ''::pg_catalog.bytea)
 FROM (SELECT pg_catalog.convert_to(key, ` + enc + `), pg_catalog.convert_to(value, ` + enc + `) FROM pg_catalog.json_each_text(` + column + `::pg_catalog.json)) e(k, v)) END`
}

// IsHstore tells whether a type is hstore, through domains.
func (t Types) IsHstore(oid uint32) bool {
	for range maxSampleLevel {
		node := t[oid]
		if node == nil || node.Kind != format.KindDomain {
			return node != nil && node.Extension != nil && node.Extension.Name == "hstore" && node.Name == "hstore"
		}
		oid = node.Element
	}
	return false
}

// convertible are types of extensions whose binary form a session of another encoding gets right: single texts, or none at all.
var convertible = map[format.Name]bool{"citext": true, "ltree": true, "cube": true, "lo": true}

// LosesInConversion tells whether values of a type hold some of a base type whose bytes may be wrong in a session of another encoding than the database's.
func (t Types) LosesInConversion(oid uint32) bool {
	if t.IsHstore(oid) {
		return false // HstoreSQL helps
	}
	return slices.ContainsFunc(t.Reached([]uint32{oid}), func(node format.Type) bool {
		return node.Kind == format.KindBase && node.Schema != "pg_catalog" && (node.Extension == nil || !convertible[node.Extension.Name])
	})
}

// sortedTexts are the builtin types that are sorted by a collation.
var sortedTexts = []format.Name{"text", "varchar", "bpchar", "name", "citext"}

// RangesOfTexts tells whether values of a type are, or hold, ranges of texts: they depend on the order of texts in their database.
func (t Types) RangesOfTexts(oid uint32) bool {
	var bounds []uint32
	for _, node := range t.Reached([]uint32{oid}) {
		if node.Kind == format.KindRange {
			bounds = append(bounds, node.Element)
		}
	}
	return slices.ContainsFunc(t.Reached(bounds), func(sub format.Type) bool { return slices.Contains(sortedTexts, sub.Name) })
}
