package screens

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bytehaul/pghaul/internal/progress"
	"github.com/bytehaul/pghaul/tui"
)

// RestorePhases are those of a restore.
var RestorePhases = []string{"preflight", "plan", "database", "pre-data", "data", "proof", "sequences", "post-data", "views", "analyze"}

// shopTables are the tables of a shop, the largest first.
func shopTables() []*progress.TableSnapshot {
	var all []*progress.TableSnapshot
	for _, t := range []struct {
		name        string
		rows, bytes int64
		segments    int
	}{
		{"public.customers", 1_204_331, 118 << 20, 1}, {"public.products", 18_220, 2200 << 10, 1}, {"public.prices", 402_918, 31 << 20, 1},
		{"public.suppliers", 612, 84 << 10, 1}, {"public.stock", 2_118_406, 164 << 20, 2}, {"billing.invoices", 3_880_152, 402 << 20, 2},
		{"billing.payments", 3_702_118, 296 << 20, 2}, {"billing.currencies", 181, 9 << 10, 1}, {"geo.countries", 249, 22 << 10, 1}, {"geo.regions", 4_120, 318 << 10, 1},
		{"public.orders", 24_018_551, 6_800 << 20, 7}, {"public.order_items", 98_114_020, 9_100 << 20, 9},
		{"public.audit", 40_210_007, 6_350 << 20, 6}, {"public.events_2026_10", 20_118_220, 3_020 << 20, 3}, {"public.events_2026_11", 18_002_118, 2_710 << 20, 3},
		{"public.messages", 9_120_551, 2_400 << 20, 3}, {"public.attachments", 120_554, 1_900 << 20, 2}, {"public.sessions", 5_110_008, 720 << 20, 1},
		{"stats.daily", 730_110, 61 << 20, 1}, {"stats.hourly", 17_522_640, 1_310 << 20, 2}, {"public.carts", 812_118, 77 << 20, 1}, {"public.coupons", 10_212, 1 << 20, 1},
	} {
		all = append(all, &progress.TableSnapshot{TableInfo: progress.TableInfo{Name: t.name, Rows: t.rows, Bytes: t.bytes, RowsExact: true, BytesExact: true, Segments: t.segments, Columns: 9}})
	}
	return all
}

// wave is a throughput that swings about a mean.
func wave(mean float64) func(time.Duration) float64 {
	return func(at time.Duration) float64 {
		t := at.Seconds()
		return mean * min(0.35+t/20, 1) * (1 + 0.10*math.Sin(t/5) + 0.05*math.Sin(t/1.7))
	}
}

// Restore is a restore of a shop whose target holds it back.
func Restore() *Job {
	j := &Job{Name: "restore", Source: "shop-2026-11-30", Target: "db2:5432/shop", Exact: true, Width: 2, Tables: shopTables(), Rate: wave(224e6),
		CPUs: progress.CPUs{Client: 2, Source: 0, Target: 2},
		Lanes: []Stage{{"read", 0.18, 0, 0.02, 0.80}, {"parse", 0.11, 0, 0.10, 0.79}, {"convert", 0.04, 0, 0.15, 0.81},
			{"insert", 0.09, 0.88, 0.03, 0}},
		Waits: []progress.ServerWaits{{Server: progress.Target, Shares: []progress.WaitShare{{Event: "CPU", Share: 0.61}, {Event: "LWLock/WALWrite", Share: 0.20},
			{Event: "IO/DataFileExtend", Share: 0.09}, {Event: "IO/WALSync", Share: 0.04}}}},
		ProofOf: func(t *progress.TableSnapshot) (progress.Proof, string) { return progress.Proven, "" }}
	j.Begin()
	for i, name := range RestorePhases[:4] {
		j.StartPhase(name, i+1, len(RestorePhases))
		j.at += 300 * time.Millisecond
	}
	j.StartPhase("data", 5, len(RestorePhases))
	return j
}

// Dump is a dump that compression holds back, of tables whose sizes are estimates.
func Dump() *Job {
	j := &Job{Name: "dump", Source: "db1:5432/shop", Target: "/backup/shop-2026-11-30", Width: 4, Tables: shopTables(), Rate: wave(512e6), CPUs: progress.CPUs{Client: 8, Source: 8},
		Lanes: []Stage{{"read", 0.10, 0.22, 0, 0.68}, {"parse", 0.16, 0, 0.06, 0.78}, {"convert", 0.95, 0, 0.03, 0.02}, {"write", 0.12, 0, 0.88, 0}},
		Waits: []progress.ServerWaits{{Server: progress.Source, Shares: []progress.WaitShare{{Event: "Client/ClientWrite", Share: 0.71}, {Event: "CPU", Share: 0.22}, {Event: "IO/DataFileRead", Share: 0.07}}}}}
	for _, t := range j.Tables {
		t.RowsExact, t.BytesExact = false, false
	}
	j.Begin()
	j.StartPhase("data", 3, 4)
	return j
}

// Troubled is a restore in which things go wrong: errors, odd names, huge numbers.
func Troubled() *Job {
	j := Restore()
	j.Fails = map[string]error{"billing.invoices": errors.New("table billing.invoices, segment 1, row 418,220, column \"issued\": date out of range: \"20260-11-30\" (SQLSTATE 22008)\n" +
		"hint: verify --against names every such row before a restore"), "public.stock": errors.New("server closed the connection unexpectedly (SQLSTATE 57P01)")}
	j.Tables[2].Name = "public.\x1b]52;c;cm0gLXJm\a"
	j.Tables[10].Name = "a_schema_with_a_long_name.a_table_whose_name_is_as_long_as_PostgreSQL_lets_it_be_63_bytes"
	j.Tables[11].Name = "öffentlich.注文明細"
	j.Tables[12].Rows, j.Tables[12].Bytes = 912_118_402_551, 118<<40
	j.ProofOf = func(t *progress.TableSnapshot) (progress.Proof, string) {
		switch t.Name {
		case "billing.payments":
			return progress.Mismatch, "3,702,118 rows dumped, 3,702,117 found"
		case "geo.countries":
			return progress.NotProven, "text of type citext differs between the servers"
		}
		return progress.Proven, ""
	}
	j.Warn("role \x1b[31mreporting is missing: its rights were left out")
	return j
}

// Many is a dump of very many tables.
func Many(n int) *Job {
	j := Dump()
	var all []*progress.TableSnapshot
	for i := range n {
		all = append(all, &progress.TableSnapshot{TableInfo: progress.TableInfo{Name: fmt.Sprintf("tenant_%04d.table_%03d", i/20, i%20), Rows: int64(i * 17), Bytes: int64(i%97+1) << 18, Segments: 1}})
	}
	j.Tables, j.changes = all, nil
	return j.Begin()
}

// Details are those of an order's table.
func Details(t progress.TableSnapshot) tui.TableDetails {
	d := tui.TableDetails{Columns: []tui.ColumnDetails{
		{Name: "id", Type: "bigint", Carried: "binary", Sample: "9007199254740993"},
		{Name: "customer_id", Type: "bigint", Carried: "binary", Sample: "1204331"},
		{Name: "state", Type: "order_state", Carried: "binary", Sample: "'shipped'"},
		{Name: "total", Type: "numeric(12,2)", Carried: "binary", Sample: "1234.50"},
		{Name: "placed", Type: "timestamp with time zone", Carried: "binary", Sample: "2026-11-30 17:00:00+00"},
		{Name: "address", Type: "address", Carried: "OIDs rewritten", Sample: "(\"Main St 1\",Springfield)"},
		{Name: "note", Type: "citext", Carried: "text", Sample: "größer als \x1b[31m"},
	}}
	for i := range t.Segments {
		s := tui.SegmentDetails{N: i + 1, State: progress.Waiting, Where: fmt.Sprintf("data/0011.public.orders/%04d.pgcopy.zst", i+1)}
		switch {
		case i < t.SegmentsEnded:
			s.State, s.Rows, s.Bytes = progress.Done, t.Rows/int64(t.Segments), t.Bytes/int64(t.Segments)
		case i < t.SegmentsEnded+t.SegmentsRunning:
			s.State, s.Rows, s.Bytes = progress.Running, t.Rows/int64(3*t.Segments), t.Bytes/int64(3*t.Segments)
		}
		d.Segments = append(d.Segments, s)
	}
	return d
}
