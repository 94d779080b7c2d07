package restore

import (
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

func TestMatchTypes(t *testing.T) {
	mood := func(oid uint32, labels ...format.Name) *pg.Type {
		return &pg.Type{Type: format.Type{OID: oid, Schema: "public", Name: "mood", Kind: format.KindEnum, Labels: labels}}
	}
	pair := func(oid, of uint32, first format.Name) *pg.Type {
		return &pg.Type{Type: format.Type{OID: oid, Schema: "public", Name: "pair", Kind: format.KindComposite, Fields: []format.TypeField{{Name: first, OID: of}}}}
	}
	cases := []struct {
		name   string
		target []*pg.Type
		want   string // part of the finding; "": none
	}{
		{"equal", []*pg.Type{mood(1, "sad", "ok"), pair(2, 1, "m")}, ""},
		{"another order and more", []*pg.Type{mood(1, "ok", "new", "sad"), pair(2, 1, "m")}, ""},
		{"label missing", []*pg.Type{mood(1, "ok"), pair(2, 1, "m")}, `"sad"`},
		{"another kind", []*pg.Type{{Type: format.Type{OID: 1, Schema: "public", Name: "mood", Kind: format.KindDomain}}, pair(2, 1, "m")}, "domain"},
		{"type missing", []*pg.Type{mood(1, "sad", "ok")}, "no such type"},
		{"field of another name", []*pg.Type{mood(1, "sad", "ok"), pair(2, 1, "x")}, `"x"`},
		{"field of another type", []*pg.Type{mood(1, "sad", "ok"), pair(2, 3, "m")}, "type 3"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			source := pg.Types{20000: mood(20000, "sad", "ok"), 20001: pair(20001, 20000, "m")}
			there := newTargetTypes(nil)
			for _, twin := range c.target {
				there.add(pg.Types{twin.OID: twin})
			}
			table := &loadTable{name: pg.Qualified{Schema: "public", Name: "t"}, fits: []fit{{column: format.Column{OID: 20001, Carried: format.CarriedBinary}, verdict: Same}}}
			f := &findings{}
			matchTypes(f, table, source, there)
			switch {
			case c.want == "" && len(f.list) > 0:
				t.Errorf("findings %+v", f.list)
			case c.want != "" && (len(f.list) != 1 || !strings.Contains(f.list[0].Dump+f.list[0].Target, c.want)):
				t.Errorf("findings %+v, want one about %s", f.list, c.want)
			}
		})
	}
}
