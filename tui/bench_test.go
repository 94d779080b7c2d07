package tui_test

import (
	"testing"
	"time"

	"github.com/bytehaul/pghaul/tui"
)

// A frame a tenth of a second is to cost next to nothing.
func BenchmarkFrame(b *testing.B) {
	s := restoring(tui.Options{}, 120, 36)
	s.Wait(72 * time.Second)
	s.Job.Pause()
	b.ReportAllocs()
	for b.Loop() {
		s.Wait(100 * time.Millisecond)
		if s.Program.View() == "" {
			b.Fatal("no frame")
		}
	}
}
