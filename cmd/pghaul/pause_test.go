package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bytehaul/pghaul/internal/control"
	"github.com/bytehaul/pghaul/internal/progress"
)

// A pause of minutes costs something on a server: its operator is told once, unless the job went on before.
func TestLongPauseIsWarnedOf(t *testing.T) {
	for job, want := range map[string]string{"dump": "its snapshot is held", "restore": "its transactions stay open", "migrate": "the source's snapshot is held", "verify": ""} {
		synctest.Test(t, func(t *testing.T) {
			k := &task{tracker: progress.New(job, "read", "write")}
			j := &screenJob{Tracker: k.tracker, task: k, control: control.New(1), done: make(chan struct{})}
			warnings := func() (said []string) {
				events, _ := k.tracker.Events(0)
				for _, e := range events {
					if e.Kind == progress.Warning {
						said = append(said, e.Message)
					}
				}
				return said
			}
			j.Pause()
			time.Sleep(longPause - time.Second)
			j.Resume()
			time.Sleep(time.Hour)
			if said := warnings(); said != nil {
				t.Errorf("%s: %q of a short pause", job, said)
			}
			j.Pause()
			j.Pause()
			time.Sleep(time.Hour)
			said := warnings()
			if want == "" && said != nil || want != "" && (len(said) != 1 || !strings.Contains(said[0], want)) {
				t.Errorf("%s: %q", job, said)
			}
			j.Resume()
		})
	}
}
