package restore

import (
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/format"
)

// Salvage is named where there are rows to salvage: not for a file that is gone, nor for one without rows.
func TestDamageHint(t *testing.T) {
	v := &verifier{report: &VerifyReport{}}
	data := "data/0001.public.a/0001.pgcopy"
	for _, c := range []struct {
		damage  Damage
		salvage bool
	}{
		{Damage{File: data, Kind: format.ErrChecksum.String()}, true},
		{Damage{File: data, Kind: kindMissing}, false},
		{Damage{File: format.SchemaName, Kind: format.ErrChecksum.String()}, false},
		{Damage{File: format.ManifestName, Kind: format.ErrChecksum.String()}, false},
		{Damage{File: format.ChecksumName, Kind: kindMismatch}, false},
	} {
		v.found(c.damage)
		got := v.report.Findings[len(v.report.Findings)-1].Hint
		if strings.Contains(got, "salvage") != c.salvage || !strings.Contains(got, "another copy") {
			t.Errorf("%s %s: hint %q", c.damage.File, c.damage.Kind, got)
		}
	}
}
