package convert

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/format"
)

// OIDs of the test's types on the source; the target has each 1000 higher.
const (
	int4OID, textOID, intervalOID, numericOID, numrangeOID, int4ArrayOID = 23, 25, 1186, 1700, 3906, 1007

	enumOID       = 20000 + iota
	enumArrayOID  // enum[]
	pairOID       // (a int4, b enum, c enum[])
	pairArrayOID  // pair[]
	domainOID     // domain over enum[]
	rangeOID      // range over pair
	multirangeOID // of it
	deepOID       // (d domain, p pair[], m multirange, i interval)
	deepArrayOID
)

const shift = 1000

func types() map[uint32]format.Type {
	list := []format.Type{
		{OID: int4OID, Schema: "pg_catalog", Name: "int4", Kind: format.KindBase}, {OID: textOID, Schema: "pg_catalog", Name: "text", Kind: format.KindBase},
		{OID: intervalOID, Schema: "pg_catalog", Name: "interval", Kind: format.KindBase}, {OID: numericOID, Schema: "pg_catalog", Name: "numeric", Kind: format.KindBase},
		{OID: numrangeOID, Schema: "pg_catalog", Name: "numrange", Kind: format.KindRange, Element: numericOID},
		{OID: int4ArrayOID, Schema: "pg_catalog", Name: "_int4", Kind: format.KindArray, Element: int4OID},
		{OID: enumOID, Schema: "s", Name: "mood", Kind: format.KindEnum}, {OID: enumArrayOID, Schema: "s", Name: "_mood", Kind: format.KindArray, Element: enumOID},
		{OID: pairOID, Schema: "s", Name: "pair", Kind: format.KindComposite, Fields: []format.TypeField{{Name: "a", OID: int4OID}, {Name: "b", OID: enumOID}, {Name: "c", OID: enumArrayOID}}},
		{OID: pairArrayOID, Schema: "s", Name: "_pair", Kind: format.KindArray, Element: pairOID}, {OID: domainOID, Schema: "s", Name: "moods", Kind: format.KindDomain, Element: enumArrayOID},
		{OID: rangeOID, Schema: "s", Name: "span", Kind: format.KindRange, Element: pairOID}, {OID: multirangeOID, Schema: "s", Name: "spans", Kind: format.KindMultirange, Element: rangeOID},
		{OID: deepOID, Schema: "s", Name: "deep", Kind: format.KindComposite, Fields: []format.TypeField{{Name: "d", OID: domainOID}, {Name: "p", OID: pairArrayOID}, {Name: "m", OID: multirangeOID}, {Name: "i", OID: intervalOID}}},
		{OID: deepArrayOID, Schema: "s", Name: "_deep", Kind: format.KindArray, Element: deepOID},
	}
	graph := map[uint32]format.Type{}
	for _, t := range list {
		graph[t.OID] = t
	}
	return graph
}

func graph(version int) Graph {
	source := types()
	return Graph{Source: source, SourceVersion: 180000, TargetVersion: version, TargetOID: func(schema, name format.Name) (uint32, bool) {
		for oid, t := range source {
			if t.Schema == schema && t.Name == name {
				return oid + shift, true
			}
		}
		return 0, false
	}}
}

// generator makes random values of a type twice: with the source's OIDs and with the target's.
type generator struct {
	rng   *rand.Rand
	types map[uint32]format.Type
}

func sized(values [2][]byte) [2][]byte {
	for i, v := range values {
		values[i] = append(binary.BigEndian.AppendUint32(nil, uint32(len(v))), v...)
	}
	return values
}

func (g *generator) oid(oid uint32) [2][]byte {
	to := oid
	if oid >= firstUserOID {
		to += shift
	}
	return [2][]byte{binary.BigEndian.AppendUint32(nil, oid), binary.BigEndian.AppendUint32(nil, to)}
}

func join(parts ...[2][]byte) (all [2][]byte) {
	for _, p := range parts {
		all[0], all[1] = append(all[0], p[0]...), append(all[1], p[1]...)
	}
	return all
}

func same(p []byte) [2][]byte { return [2][]byte{p, p} }

// maybe is a value with its length, or a NULL.
func (g *generator) maybe(oid uint32, depth int) [2][]byte {
	if depth > 6 || g.rng.IntN(5) == 0 {
		return same([]byte{0xff, 0xff, 0xff, 0xff})
	}
	return sized(g.value(oid, depth+1))
}

func (g *generator) value(oid uint32, depth int) [2][]byte {
	t := g.types[oid]
	switch t.Kind {
	case format.KindArray:
		dims := []int{}
		count := 0
		if g.rng.IntN(4) > 0 {
			dims, count = []int{1 + g.rng.IntN(3), 1 + g.rng.IntN(2)}, 1
		}
		head := binary.BigEndian.AppendUint32(nil, uint32(len(dims)))
		out := join(same(binary.BigEndian.AppendUint32(head, 1)), g.oid(t.Element))
		for _, d := range dims {
			count *= d
			out = join(out, same(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(d)), 1)))
		}
		for range count {
			out = join(out, g.maybe(t.Element, depth))
		}
		return out
	case format.KindComposite:
		out := same(binary.BigEndian.AppendUint32(nil, uint32(len(t.Fields))))
		for _, f := range t.Fields {
			out = join(out, g.oid(f.OID), g.maybe(f.OID, depth))
		}
		return out
	case format.KindDomain:
		return g.value(t.Element, depth)
	case format.KindRange:
		switch g.rng.IntN(4) {
		case 0:
			return same([]byte{rangeEmpty})
		case 1:
			return same([]byte{rangeLowerInf | rangeUpperInf})
		case 2:
			return join(same([]byte{rangeUpperInf | 2}), sized(g.value(t.Element, depth+1)))
		}
		return join(same([]byte{2}), sized(g.value(t.Element, depth+1)), sized(g.value(t.Element, depth+1)))
	case format.KindMultirange:
		n := g.rng.IntN(3)
		out := same(binary.BigEndian.AppendUint32(nil, uint32(n)))
		for range n {
			out = join(out, sized(g.value(t.Element, depth+1)))
		}
		return out
	}
	if oid == intervalOID {
		return same(make([]byte, 16))
	}
	return same([]byte(strings.Repeat("x", g.rng.IntN(6))))
}

func row(fields ...[2][]byte) [2][]byte {
	return join(same(binary.BigEndian.AppendUint16(nil, uint16(len(fields)))), join(fields...))
}

var trailer = same([]byte{0xff, 0xff})

func plan(t testing.TB, version int, oids ...uint32) *Plan {
	t.Helper()
	columns := make([]Column, len(oids))
	for i := range columns {
		columns[i].Name = format.Name(fmt.Sprintf("c%d", i+1))
	}
	p, err := NewPlan(columns, oids, graph(version))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var nested = []uint32{int4OID, enumArrayOID, pairOID, pairArrayOID, domainOID, rangeOID, multirangeOID, deepOID, deepArrayOID, textOID}

func TestRewriteReplacesEveryOIDAndNothingElse(t *testing.T) {
	p := plan(t, 150000, nested...)
	if p.Identity() || !p.InPlace() {
		t.Fatalf("identity %v, in place %v", p.Identity(), p.InPlace())
	}
	g := &generator{rng: rand.New(rand.NewPCG(1, 2)), types: types()}
	for range 3000 {
		rows := [2][]byte{}
		for range 3 {
			var fields [][2][]byte
			for _, oid := range nested {
				fields = append(fields, g.maybe(oid, 0))
			}
			rows = join(rows, row(fields...))
		}
		rows = join(rows, trailer)
		appended, err := p.Append(nil, bytes.Clone(rows[0]))
		if err != nil || !bytes.Equal(appended, rows[1]) {
			t.Fatalf("append: %v\n%x\n%x", err, appended, rows[1])
		}
		if err := p.Rewrite(rows[0]); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(rows[0], rows[1]) {
			t.Fatalf("rewritten\n%x\nexpected\n%x", rows[0], rows[1])
		}
	}
}

func TestPlainTypesNeedNoPlan(t *testing.T) {
	if p := plan(t, 170000, int4OID, textOID, enumOID, int4ArrayOID, intervalOID, numericOID, numrangeOID); !p.Identity() {
		t.Error("builtin types and an enum by label are work on 17, where the infinities are known")
	}
	if p := plan(t, 160000, intervalOID); p.Identity() {
		t.Error("an interval for 16 is not looked at")
	}
	if p := plan(t, 130000, numrangeOID); p.Identity() {
		t.Error("a range of numeric for 13 is not looked at")
	}
}

func TestInfinitiesAreRefusedWhereUnknown(t *testing.T) {
	most := func(months, days uint32, micros uint64) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, micros), days), months)
	}
	numeric := func(sign uint16) []byte { return []byte{0, 0, 0, 0, byte(sign >> 8), byte(sign), 0, 0x20} }
	for _, c := range []struct {
		name    string
		version int
		oid     uint32
		value   []byte
		refused bool
	}{
		{"interval infinity", 160000, intervalOID, most(math.MaxInt32, math.MaxInt32, math.MaxInt64), true},
		{"interval -infinity", 160000, intervalOID, most(1<<31, 1<<31, 1<<63), true},
		{"interval almost", 160000, intervalOID, most(math.MaxInt32, math.MaxInt32, math.MaxInt64-1), false},
		{"interval infinity for 17", 170000, intervalOID, most(math.MaxInt32, math.MaxInt32, math.MaxInt64), false},
		{"numeric Infinity", 130000, numericOID, numeric(0xd000), true},
		{"numeric -Infinity", 130000, numericOID, numeric(0xf000), true},
		{"numeric NaN", 130000, numericOID, numeric(0xc000), false},
		{"numeric Infinity for 14", 140000, numericOID, numeric(0xd000), false},
		{"in a range", 130000, numrangeOID, append([]byte{2 | rangeUpperInf}, sized(same(numeric(0xd000)))[0]...), true},
	} {
		rows := join(row(same([]byte{0xff, 0xff, 0xff, 0xff})), row(sized(same(c.value))))[0]
		err := plan(t, c.version, c.oid).Rewrite(rows)
		if got := errors.Is(err, ErrInfinity); got != c.refused {
			t.Errorf("%s: %v, refused should be %v", c.name, err, c.refused)
		}
		var at *Error
		if c.refused && (!errors.As(err, &at) || at.Row != 2 || at.Column != "c1") {
			t.Errorf("%s: %v does not name row 2, column c1", c.name, err)
		}
	}
}

func TestTheLargestIntervalIsRefusedWhereItIsInfinity(t *testing.T) {
	largest := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, math.MaxInt64), math.MaxInt32), math.MaxInt32)
	for _, c := range []struct {
		from, to int
		refused  bool
	}{{150000, 150000, false}, {160000, 170000, true}, {100000, 160000, false}, {170000, 180000, false}} {
		g := graph(c.to)
		g.SourceVersion = c.from
		p, err := NewPlan([]Column{{Name: "i"}}, []uint32{intervalOID}, g)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Rewrite(row(sized(same(largest)))[0]); errors.Is(err, ErrLargest) != c.refused {
			t.Errorf("from %d to %d: %v", c.from, c.to, err)
		}
	}
}

func TestWidening(t *testing.T) {
	be := binary.BigEndian
	columns := []Column{{Name: "a", Widen: Int2ToInt4}, {Name: "gone", Drop: true}, {Name: "b", Widen: Int2ToInt8}, {Name: "c", Widen: Int4ToInt8}, {Name: "d", Widen: Float4ToFloat8}, {Name: "e"}}
	p, err := NewPlan(columns, []uint32{21, textOID, 21, int4OID, 700, enumArrayOID}, graph(150000))
	if err != nil {
		t.Fatal(err)
	}
	g := &generator{rng: rand.New(rand.NewPCG(3, 4)), types: types()}
	for _, v := range []struct {
		i2 int16
		i4 int32
		f4 float32
	}{{0, 0, 0}, {1, 1, 1.5}, {-1, -1, -0.1}, {math.MinInt16, math.MinInt32, math.MaxFloat32}, {math.MaxInt16, math.MaxInt32, math.SmallestNonzeroFloat32}, {7, 7, float32(math.Inf(-1))}, {7, 7, float32(math.Copysign(0, -1))}} {
		last := sized(g.value(enumArrayOID, 0))
		i2, i4, f4 := sized(same(be.AppendUint16(nil, uint16(v.i2))))[0], sized(same(be.AppendUint32(nil, uint32(v.i4))))[0], sized(same(be.AppendUint32(nil, math.Float32bits(v.f4))))[0]
		from := row(same(i2), same([]byte{0, 0, 0, 1, 'x'}), same(i2), same(i4), same(f4), last)[0]
		want := row(sized(same(be.AppendUint32(nil, uint32(int32(v.i2))))), sized(same(be.AppendUint64(nil, uint64(int64(v.i2))))), sized(same(be.AppendUint64(nil, uint64(int64(v.i4))))),
			sized(same(be.AppendUint64(nil, math.Float64bits(float64(v.f4))))), last)[1]
		got, err := p.Append(nil, from)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%+v: %v\ngot  %x\nwant %x", v, err, got, want)
		}
	}
	short := row(same([]byte{0, 0, 0, 1, 9}), same([]byte{0, 0, 0, 0}), same([]byte{0xff, 0xff, 0xff, 0xff}), same([]byte{0xff, 0xff, 0xff, 0xff}), same([]byte{0xff, 0xff, 0xff, 0xff}), same([]byte{0xff, 0xff, 0xff, 0xff}))[0]
	if _, err := p.Append(nil, short); !errors.Is(err, ErrMalformed) {
		t.Errorf("an int2 of one byte: %v", err)
	}
}

func TestPlanNeedsTheTargetsTypes(t *testing.T) {
	g := graph(150000)
	g.TargetOID = func(format.Name, format.Name) (uint32, bool) { return 0, false }
	if _, err := NewPlan([]Column{{Name: "c"}}, []uint32{enumArrayOID}, g); err == nil || !strings.Contains(err.Error(), "mood") {
		t.Errorf("a missing type: %v", err)
	}
	source := types()
	source[enumOID] = format.Type{OID: enumOID, Kind: format.KindArray, Element: enumOID}
	g.Source = source
	if _, err := NewPlan([]Column{{Name: "c"}}, []uint32{enumOID}, g); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Errorf("a cycle: %v", err)
	}
}

func TestRewriteAllocatesNothing(t *testing.T) {
	p := plan(t, 150000, nested...)
	g := &generator{rng: rand.New(rand.NewPCG(5, 6)), types: types()}
	var fields [][2][]byte
	for _, oid := range nested {
		fields = append(fields, sized(g.value(oid, 0)))
	}
	from := row(fields...)[0]
	work := make([]byte, len(from))
	if n := testing.AllocsPerRun(100, func() {
		copy(work, from)
		if err := p.Rewrite(work); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a row", n)
	}
}

// FuzzRewrite: whatever is accepted has the same length, and rewriting it back gives the input.
func FuzzRewrite(f *testing.F) {
	g := &generator{rng: rand.New(rand.NewPCG(7, 8)), types: types()}
	for range 50 {
		var fields [][2][]byte
		for _, oid := range nested {
			fields = append(fields, g.maybe(oid, 0))
		}
		f.Add(row(fields...)[0])
	}
	forth := plan(f, 150000, nested...)
	back := reverse(forth)
	f.Fuzz(func(t *testing.T, rows []byte) {
		work := bytes.Clone(rows)
		if forth.Rewrite(work) != nil {
			return
		}
		if err := back.Rewrite(work); err != nil {
			t.Fatalf("what was rewritten cannot be rewritten back: %v", err)
		}
		if !bytes.Equal(work, rows) {
			t.Fatalf("forth and back:\n%x\n%x", work, rows)
		}
	})
}

func reverse(p *Plan) *Plan {
	q := &Plan{columns: append([]Column(nil), p.columns...), live: p.live, touched: p.touched}
	for i := range q.columns {
		q.columns[i].inner = q.columns[i].inner.reversed()
	}
	return q
}

func (n *node) reversed() *node {
	if n == nil {
		return nil
	}
	r := &node{kind: n.kind, check: n.check, element: n.element.reversed(), from: n.to, to: n.from}
	for _, f := range n.fields {
		r.fields = append(r.fields, field{from: f.to, to: f.from, node: f.node.reversed()})
	}
	return r
}

func BenchmarkRewriteEnumArrays(b *testing.B) {
	p := plan(b, 150000, enumArrayOID)
	value := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 1, 0, 0, 0, 0}, enumOID)
	value = append(value, 0, 0, 0, 8, 0, 0, 0, 1)
	for range 8 {
		value = append(value, 0, 0, 0, 5, 'h', 'a', 'p', 'p', 'y')
	}
	var block []byte
	for len(block) < 1<<20 {
		block = append(block, row(sized(same(value)))[0]...)
	}
	back := reverse(p)
	b.SetBytes(int64(len(block)))
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Rewrite(block); err != nil {
			b.Fatal(err)
		}
		p, back = back, p
	}
}

// TestManyPathsFewTypes: 60 composites, each of two of the next, have 2^60 paths; the plan looks at each type once.
func TestManyPathsFewTypes(t *testing.T) {
	g := Graph{Source: map[uint32]format.Type{}, SourceVersion: 150000, TargetVersion: 150000, TargetOID: func(format.Name, format.Name) (uint32, bool) { return 99999, true }}
	const first, levels = 20000, 60
	for i := range uint32(levels) {
		g.Source[first+i] = format.Type{OID: first + i, Name: "t", Kind: format.KindComposite, Fields: []format.TypeField{{Name: "a", OID: first + i + 1}, {Name: "b", OID: first + i + 1}}}
	}
	g.Source[first+levels] = format.Type{OID: first + levels, Name: "e", Kind: format.KindEnum}
	p, err := NewPlan([]Column{{Name: "c"}}, []uint32{first}, g)
	if err != nil || p.Identity() {
		t.Errorf("%v", err)
	}
}
