package yardstick

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the goldens")

// known is a report with numbers that nobody measured: those of 2009 and 2006 where there are some.
func known() *Report {
	r := &Report{Tool: "pghaul test", Scale: 1, Jobs: 2, Rounds: 3, Discards: "/dev/null", Client: Client{"linux", "amd64", 2},
		Server: Server{Name: "db:5432/shop", Version: "8.4", Settings: map[string]string{"fsync": "on", "wal_level": "replica"}}}
	annonces := Tabled{Name: "annonces", Rows: 413_000, Columns: 39, TableBytes: 340_000_000, RowBytes: 216_000_000}
	annonces.Scans = []Line{annonces.line(lineCount, 0.349, 0), annonces.line(lineText, 10.147, 0), annonces.line(lineBinary, 5.579, 10.147), annonces.line(lineNone, 2.149, 10.147)}
	annonces.stages([]string{stageRead, stageReceive, stageInsert, stageGuards, stageKey}, []float64{1.311, 4.516, 7.392, 8.181, 8.417})
	city := Tabled{Name: "citydata", Rows: 10_000_000, Columns: 2, TableBytes: 362_000_000, RowBytes: 140_000_000}
	city.Scans = []Line{city.line(lineCount, 0.5, 0), city.line(lineText, 4, 0), city.line(lineBinary, 4, 4)}
	city.stages([]string{stageRead, stageInsert, stageGuards, stageIndex}, []float64{0.1, 3, 2.9, 4}) // a server without COPY … WHERE
	r.Tables = []Tabled{annonces, city}
	r.Whole = []Job{{Name: jobDumpFloor, Seconds: 3.4, Floor: 1, MBs: 341, KRows: 7076, MDatums: 43}, {Name: jobDumpNone, Seconds: 4.7, Data: 4.5, Floor: 1.32, CPU: 1.9, Stored: 1 << 30, MBs: 258, KRows: 5347, MDatums: 32.5},
		{Name: "pg_dump -Fd -Z0", Peer: true, Seconds: 5.7, Floor: 1.68, CPU: 4.1, Stored: 1 << 30, MBs: 203, KRows: 4221, MDatums: 25.6},
		{Name: jobRestoreNone, Seconds: 5.6, Data: 5.3, Floor: 1.1, CPU: 2, WAL: 3 << 29, MBs: 219, KRows: 4540, MDatums: 27.6, Waits: map[string]float64{"CPU": 0.6, "LWLock/WALWrite": 0.35, "Client/ClientRead": 0.05}}}
	r.Batches = []Batch{{1, speed(1, 1/83.0, 1/5400.0), speed(1, 1/81.0, 1/5400.0)}, {1000, speed(1000, 1/5.4, 1/5.5), speed(1000, 0.05, 0.04)}, {10_000, speed(10_000, 1.8, 1.8), speed(10_000, 0.36, 0.36)}}
	r.Disk = Disk{Dir: "/backup", Bytes: 1 << 30, Direct: true, WriteMBs: 240, ReadMBs: 250, FsyncMillis: 8.33}
	r.Network = Network{RTTMicros: 210, ReceiveMBs: 117, SendMBs: 116}
	r.Notes = []string{"a note"}
	b := &bench{report: r, sums: sums{scan: 0.849, rowBytes: 356_000_000}}
	b.judge()
	return r
}

func TestLayout(t *testing.T) {
	r := known()
	for name, got := range map[string]string{"report.golden": r.Text(), "plot.golden": r.Plot(80)} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs; go test ./internal/yardstick -run TestLayout -update writes it. Got:\n%s", name, got)
		}
	}
}

func TestPlotIsAsWideAsTheTerminal(t *testing.T) {
	for _, width := range []int{1, 40, 80, 200} {
		for line := range strings.Lines(known().Plot(width)) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > max(width, plotLabel+plotValue+plotLeast+5) {
				t.Errorf("at a width of %d a line has %d columns: %q", width, n, line)
			}
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{7, 1, 100}, 7}} {
		if got := median(c.of); got != c.want {
			t.Errorf("median of %v: %g, want %g", c.of, got, c.want)
		}
	}
}

func TestStagesAddUp(t *testing.T) {
	table := &known().Tables[0]
	sum := 0.0
	for _, s := range table.Stages {
		sum += s.Delta
		if got, want := s.DatumMicros*float64(table.Columns), s.RowMicros; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %g µs of datums in a row of %g µs", s.Name, got, want)
		}
	}
	if math.Abs(sum-table.Total) > 1e-9 || table.Total != 8.417 {
		t.Errorf("the stages add up to %g, the total is %g", sum, table.Total)
	}
}

func TestSpeedWithoutWait(t *testing.T) {
	if s := speed(10, 0.5, 0.6); s.CommitMillis != 0 || s.CommitShare != 0 || s.RowsPerSec != 20 {
		t.Errorf("a commit that cost nothing: %+v", s)
	}
	if s := speed(10, 0.5, 0.1); s.CommitMillis != 400 || s.CommitShare != 0.8 {
		t.Errorf("a commit of 0.4 s: %+v", s)
	}
}

func TestVerdictOfDump(t *testing.T) {
	base := func() (*Report, Job) {
		r := &Report{Jobs: 2, Client: Client{CPUs: 4}, Tables: make([]Tabled, 5), Disk: Disk{WriteMBs: 1000}, Network: Network{ReceiveMBs: 2000}}
		r.Whole = []Job{{Name: jobDumpFloor, Seconds: 3}}
		return r, Job{Name: jobDumpNone, Seconds: 4, CPU: 2, Stored: 1e9}
	}
	for want, change := range map[string]func(*Report, *Job, *float64){
		boundCPU:     func(*Report, *Job, *float64) {},
		boundScan:    func(_ *Report, _ *Job, scan *float64) { *scan = 5 },
		boundDisk:    func(r *Report, _ *Job, _ *float64) { r.Disk.WriteMBs = 100 },
		boundNetwork: func(r *Report, _ *Job, _ *float64) { r.Network.ReceiveMBs = 110 },
		boundClient:  func(_ *Report, j *Job, _ *float64) { j.CPU = 7 },
	} {
		r, j := base()
		scan := 1.0
		change(r, &j, &scan)
		if got := judgeDump(r, j, scan, 1e9); got.Bound != want {
			t.Errorf("%s, want %s: %s", got.Bound, want, got.Sentence)
		}
	}
}

func TestVerdictOfRestore(t *testing.T) {
	for _, c := range []struct {
		want  string
		waits map[string]float64
		cpu   float64 // of the client
		send  float64 // MB/s
	}{
		{boundCPU, map[string]float64{"CPU": 0.8, "LWLock/WALWrite": 0.2}, 1, 1000},
		{boundWAL, map[string]float64{"CPU": 0.4, "LWLock/WALInsert": 0.3, "IO/WALSync": 0.3}, 1, 1000},
		{boundDisk, map[string]float64{"CPU": 0.3, "IO/DataFileExtend": 0.7}, 1, 1000},
		{boundLock, map[string]float64{"CPU": 0.3, "Lock/extend": 0.7}, 1, 1000},
		{boundClient, map[string]float64{"CPU": 0.3, "Client/ClientRead": 0.7}, 7, 1000},
		{boundNetwork, map[string]float64{"CPU": 0.3, "Client/ClientRead": 0.7}, 1, 100},
		{boundCPU, nil, 1, 1000},
		{boundClient, nil, 7, 1000},
		{boundNetwork, nil, 1, 300},
	} {
		r := &Report{Jobs: 2, Client: Client{CPUs: 4}, Network: Network{SendMBs: c.send}}
		got := judgeRestore(r, Job{Name: jobRestoreNone, Seconds: 5, CPU: c.cpu, Waits: c.waits}, 1e9)
		if got.Bound != c.want {
			t.Errorf("waits %v: %s, want %s: %s", c.waits, got.Bound, c.want, got.Sentence)
		}
	}
}

func TestVerdictOfBatches(t *testing.T) {
	batches := func(wait, without float64) []Batch {
		return []Batch{{1, speed(1, wait, without), speed(1, wait, without)}, {1000, speed(1000, 0.1, 0.1), speed(1000, 0.05, 0.05)}}
	}
	for want, r := range map[string]*Report{
		boundWAL:     {Batches: batches(0.01, 0.001), Network: Network{RTTMicros: 50}},
		boundNetwork: {Batches: batches(0.01, 0.009), Network: Network{RTTMicros: 8000}},
		boundCPU:     {Batches: batches(0.01, 0.009), Network: Network{RTTMicros: 50}},
	} {
		if got := judgeBatches(r); got.Bound != want {
			t.Errorf("%s, want %s: %s", got.Bound, want, got.Sentence)
		}
	}
}

func TestTables(t *testing.T) {
	chosen, err := Choose([]string{"citydata", "annonces"})
	if err != nil || len(chosen) != 2 || chosen[0].Name != "annonces" {
		t.Errorf("chosen: %v (%v)", chosen, err)
	}
	if _, err := Choose([]string{"annonce"}); err == nil || !strings.Contains(err.Error(), "annonces") {
		t.Errorf("a name that is none: %v", err)
	}
	all := Tables()
	for i := range all {
		if rows := all[i].Rows(1e-12); rows != 1 {
			t.Errorf("%s has %d rows at the smallest scale", all[i].Name, rows)
		}
	}
	ints := all[1]
	if !strings.Contains(ints.keySQL("x", 1), "PRIMARY KEY") || !strings.Contains(ints.keySQL("x", 1.1), "CREATE INDEX") {
		t.Errorf("keys of %s: %s; %s", ints.Name, ints.keySQL("x", 1), ints.keySQL("x", 1.1))
	}
}
