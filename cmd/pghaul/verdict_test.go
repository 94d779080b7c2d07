package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bytehaul/pghaul/restore"
)

// A warning is not passed over in the last line.
func TestVerdictNamesWarnings(t *testing.T) {
	warning := restore.Finding{Severity: restore.SeverityWarning, Object: "role app", Target: "no such role"}
	for want, findings := range map[string][]restore.Finding{
		"nothing stands against it":                     nil,
		"nothing stops it, but see to 1 warning first":  {warning},
		"nothing stops it, but see to 2 warnings first": {warning, warning},
	} {
		if got := nothingAgainst(findings); got != want {
			t.Errorf("%d findings: %q, want %q", len(findings), got, want)
		}
		if said := planVerdict(&restore.PlanReport{Findings: findings}); !strings.HasSuffix(said, "a migrate would begin: "+want+"\n") {
			t.Errorf("the plan ends with %q", said)
		}
	}
}

// A hint that several problems share stands once, behind the last of them; damage is named by a path that other commands take.
func TestHintsStandOnce(t *testing.T) {
	var b bytes.Buffer
	printFindings(&b, []restore.Finding{{Object: "a", Target: "exists", Hint: "do x"}, {Object: "b", Target: "exists", Hint: "do x"}, {Object: "c", Target: "is gone", Hint: "do y"}})
	if want := "pghaul: a: exists\npghaul: b: exists\nhint: do x\npghaul: c: is gone\nhint: do y\n"; b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	printDamage(&b, "", &restore.VerifyReport{Path: "/b/d/", What: "dump"}, []restore.Damage{{File: "data/1", Offset: -1, Kind: "missing", Hint: "x"}, {File: "data/2", Offset: 7, Kind: "truncated", Hint: "x"}})
	if want := "pghaul: /b/d/data/1: missing\npghaul: /b/d/data/2: truncated at offset 7\nhint: x\n"; b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	printDamage(&b, "", &restore.VerifyReport{Path: "f", What: "file"}, []restore.Damage{{File: "f", Offset: -1, Kind: "missing"}})
	if want := "pghaul: f: missing\n"; b.String() != want {
		t.Errorf("printed %q, want %q", b.String(), want)
	}
}
