package progress

import (
	"testing"
	"time"

	"github.com/bytehaul/pghaul/internal/pipeline"
)

// stage makes a meter from percentages of 100 s per lane.
func stage(name string, lanes int, busy, starved, blocked, server int) StageSnapshot {
	part := func(p int) time.Duration { return time.Duration(p*lanes) * time.Second }
	return StageSnapshot{name, pipeline.MeterSnapshot{
		Busy: part(busy), Starved: part(starved), Blocked: part(blocked), Server: part(server), Peak: lanes,
	}}
}

func TestVerdicts(t *testing.T) {
	shares := func(server string, list ...WaitShare) []ServerWaits { return []ServerWaits{{server, list}} }
	two := CPUs{Client: 2, Source: 2, Target: 2}
	for _, c := range []struct {
		name     string
		stages   []StageSnapshot
		waits    []ServerWaits
		cpus     CPUs
		bound    string
		sentence string
	}{
		{
			"the target server",
			[]StageSnapshot{stage("read", 2, 18, 0, 82, 0), stage("parse", 2, 11, 10, 79, 0), stage("convert", 2, 4, 15, 81, 0), stage("insert", 2, 5, 3, 0, 92)},
			shares(Target, WaitShare{"CPU", 0.61}, WaitShare{"LWLock/WALWrite", 0.20}, WaitShare{"IO/DataFileExtend", 0.09}), two,
			"insert", "insert-bound: the server spent 61 % on CPU and 20 % on WALWrite; more jobs will not help on 2 cores",
		},
		{
			"the target server, with cores to spare",
			[]StageSnapshot{stage("read", 2, 10, 0, 90, 0), stage("insert", 2, 5, 3, 0, 92)},
			shares(Target, WaitShare{"CPU", 0.9}), CPUs{Target: 16},
			"insert", "insert-bound: the server spent 90 % on CPU; more jobs may help: 2 on 16 cores",
		},
		{
			"the target server, number of cores unknown",
			[]StageSnapshot{stage("read", 2, 10, 0, 90, 0), stage("insert", 2, 5, 3, 0, 92)},
			shares(Target, WaitShare{"CPU", 0.9}), CPUs{Client: 2},
			"insert", "insert-bound: the server spent 90 % on CPU",
		},
		{
			"the target server waits for a lock",
			[]StageSnapshot{stage("read", 2, 10, 0, 90, 0), stage("insert", 2, 5, 3, 0, 92)},
			shares(Target, WaitShare{"Lock/extend", 0.8}, WaitShare{"Client/ClientRead", 0.2}), two,
			"insert", "insert-bound: the server spent 80 % on extend",
		},
		{
			"the source server, no wait events",
			[]StageSnapshot{stage("read", 2, 6, 0, 2, 92), stage("parse", 2, 10, 90, 0, 0), stage("convert", 2, 5, 95, 0, 0), stage("write", 2, 8, 92, 0, 0)},
			nil, two,
			"read", "read-bound: waiting for the source server",
		},
		{
			"the source server; the target's waits are another's",
			[]StageSnapshot{stage("read", 1, 6, 0, 2, 92), stage("insert", 1, 8, 80, 0, 12)},
			append(shares(Target, WaitShare{"CPU", 0.9}), ServerWaits{Source, []WaitShare{{"IO/DataFileRead", 0.7}}}), two,
			"read", "source-bound: waiting for the source server, which spent 70 % on DataFileRead",
		},
		{
			"the target of two servers",
			[]StageSnapshot{stage("read", 2, 6, 0, 92, 2), stage("insert", 2, 4, 2, 0, 94)},
			append(shares(Source, WaitShare{"Client/ClientWrite", 0.9}), ServerWaits{Target, []WaitShare{{"LWLock/WALWrite", 0.6}}}), two,
			"insert", "target-bound: the target server spent 60 % on WALWrite",
		},
		{
			"compression",
			[]StageSnapshot{stage("read", 2, 10, 0, 85, 5), stage("parse", 2, 10, 2, 88, 0), stage("convert", 2, 97, 1, 2, 0), stage("write", 2, 5, 95, 0, 0)},
			nil, two,
			"convert", "convert-bound: its own work takes 97 % of its time; more jobs will not help on 2 cores",
		},
		{
			"compression, with cores to spare",
			[]StageSnapshot{stage("read", 2, 10, 0, 85, 5), stage("convert", 2, 97, 1, 2, 0), stage("write", 2, 5, 95, 0, 0)},
			nil, CPUs{Client: 8},
			"convert", "convert-bound: its own work takes 97 % of its time; more jobs may help: 2 on 8 cores",
		},
		{
			"the disk that is written to",
			[]StageSnapshot{stage("read", 1, 10, 0, 85, 5), stage("convert", 1, 10, 5, 85, 0), stage("write", 1, 95, 5, 0, 0)},
			nil, CPUs{Client: 8},
			"write", "write-bound: files and its own work take 95 % of its time",
		},
		{
			"two near 1: the one that its neighbours wait on",
			[]StageSnapshot{stage("read", 1, 85, 0, 15, 0), stage("parse", 1, 5, 5, 90, 0), stage("convert", 1, 84, 10, 6, 0), stage("write", 1, 5, 95, 0, 0)},
			nil, CPUs{},
			"convert", "convert-bound: its own work takes 84 % of its time",
		},
		{
			"not near 1, but its neighbours wait",
			[]StageSnapshot{stage("read", 1, 30, 0, 70, 0), stage("convert", 1, 65, 20, 15, 0), stage("write", 1, 30, 70, 0, 0)},
			nil, CPUs{},
			"convert", "convert-bound: its own work takes 65 % of its time",
		},
		{
			"balanced",
			[]StageSnapshot{stage("read", 1, 50, 0, 50, 0), stage("convert", 1, 50, 30, 20, 0), stage("write", 1, 45, 50, 0, 5)},
			nil, CPUs{},
			"", "no stage is the limit: read 50 %, convert 50 %, write 50 %",
		},
		{"nothing has run", []StageSnapshot{{Name: "read"}, {Name: "write"}}, nil, two, "", ""},
		{"no stages", nil, nil, two, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Judge(c.stages, c.waits, c.cpus)
			if got.Bottleneck != c.bound || got.Sentence != c.sentence {
				t.Errorf("got  %q: %s\nwant %q: %s", got.Bottleneck, got.Sentence, c.bound, c.sentence)
			}
		})
	}
}

func TestTooEarlyForAVerdict(t *testing.T) {
	early := []StageSnapshot{{"read", pipeline.MeterSnapshot{Busy: 100 * time.Millisecond}}}
	if v := Judge(early, nil, CPUs{}); v != (Verdict{}) {
		t.Errorf("%+v", v)
	}
}
