package restore

import (
	"slices"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgtools"
)

func TestAttachments(t *testing.T) {
	attach := func(sql string) pgtools.FailedEntry { return pgtools.FailedEntry{Desc: "INDEX ATTACH", Command: sql} }
	parts, roots := attachments([]pgtools.FailedEntry{
		attach("ALTER INDEX main.mid ATTACH PARTITION main.leaf;\n"), attach("ALTER INDEX main.root ATTACH PARTITION main.mid;"), attach(`ALTER INDEX main.root ATTACH PARTITION main."other leaf";`),
		attach(`ALTER INDEX main."A" ATTACH PARTITION main."B";`), attach(""), attach("ALTER TABLE x ATTACH PARTITION y;"),
		{Desc: "FK CONSTRAINT", Command: "ALTER INDEX no ATTACH PARTITION entry;"},
	})
	if want := []string{"main.root", `main."A"`}; !slices.Equal(roots, want) {
		t.Errorf("roots %q, want %q", roots, want)
	}
	if got, want := below("main.root", parts), []string{"main.root", "main.mid", "main.leaf", `main."other leaf"`}; !slices.Equal(got, want) {
		t.Errorf("below the root %q, want %q", got, want)
	}
	if got := below(`main."A"`, parts); len(got) != 2 || len(parts) != 3 {
		t.Errorf("below the other %q of %q", got, parts)
	}
}
