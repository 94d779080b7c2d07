package screens

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/shelf"
	"github.com/bytehaul/pghaul/internal/workbench"
	"github.com/bytehaul/pghaul/restore"
	"github.com/bytehaul/pghaul/tui"
)

// Desk is what the home screen works with, of servers and disks that only pretend. Its fields are set before it is shown.
type Desk struct {
	Dumps    []shelf.Dump
	Jobs     []workbench.Job // the last one first
	Tables   []dump.Surveyed
	Password string // that the server wants; "": none
	Job      *Job   // that is started, whatever it is
}

// Home is the home screen at that desk.
func (d *Desk) Home() tui.Screen {
	state := &workbench.State{} // kept nowhere, so that noting in it cannot go wrong
	for i := len(d.Jobs) - 1; i >= 0; i-- {
		_ = state.Note(d.Jobs[i])
	}
	return tui.NewHome(tui.HomeOptions{Jobs: d.starting(), State: state, Dir: "/backup", Now: func() time.Time { return Start },
		Dumps: func() ([]shelf.Dump, error) { return d.Dumps, nil },
		Ask: tui.Sources{Places: places, Server: d.server, Tables: func(context.Context, *pg.DSN) ([]dump.Surveyed, error) { return d.Tables, nil },
			Manifest: func(string) (*format.Manifest, error) { return manifest(), nil }, Meta: func(string, string) (*format.Meta, error) { return meta(), nil }, Free: func(string) (int64, bool) { return 30 << 30, true }},
		Defaults: func(o *tui.JobOptions) { o.From.Jobs, o.To.Jobs = 4, 4 },
		Command: func(o tui.JobOptions) string {
			if o.Kind == "dump" {
				return "pghaul dump 'dbname=shop service=production' -f /backup/shop-2026-12-01 -j 4"
			}
			return "pghaul restore /backup/shop-2026-11-30 'dbname=shop service=standby' -j 4"
		}})
}

// ShopDesk is that of an operator who has worked for some days.
func ShopDesk() *Desk {
	day := func(n int) time.Time { return Start.AddDate(0, 0, -n) }
	d := &Desk{Tables: survey(),
		Dumps: []shelf.Dump{
			{Path: "/backup/shop-2026-11-30", State: shelf.Complete, Database: "shop", Tables: 22, Rows: 248_117_204, StoredBytes: 13 << 30, Time: day(0).Add(-14 * time.Hour)},
			{Path: "/backup/billing-2026-11-29", State: shelf.Unfinished, Database: "billing", Why: "no manifest.json: it did not finish, was cancelled, or is being made", StoredBytes: 412 << 20, Time: day(1)},
			{Path: "/backup/shop-2026-11-29", State: shelf.Complete, Database: "shop", Tables: 22, Rows: 247_902_118, StoredBytes: 13 << 30, Time: day(1).Add(-14 * time.Hour)},
			{Path: "/backup/shop-2026-11-28", State: shelf.Complete, Database: "shop", Tables: 22, Rows: 247_411_630, StoredBytes: 12 << 30, Time: day(2).Add(-14 * time.Hour)},
		},
		Jobs: []workbench.Job{
			{Kind: "verify", Source: "/backup/shop-2026-11-30", Ended: day(0).Add(-13 * time.Hour), Result: "248,117,204 rows, 37 GiB in 41.0 s", OK: true, Bytes: 37 << 30, Millis: 41_000},
			{Kind: "dump", Source: "db1:5432/shop", Target: "/backup/shop-2026-11-30", Ended: day(0).Add(-14 * time.Hour), Result: "248,117,204 rows, 37 GiB in 104.2 s", OK: true, Bytes: 37 << 30, Millis: 104_200},
			{Kind: "dump", Source: "db1:5432/billing", Target: "/backup/billing-2026-11-29", Ended: day(1), Result: "db1: server closed the connection unexpectedly (SQLSTATE 57P01)"},
			{Kind: "restore", Source: "/backup/shop-2026-11-28", Target: "db2:5432/shop_test", Ended: day(2), Result: "247,411,630 rows, 37 GiB in 182.4 s", OK: true, Bytes: 37 << 30, Millis: 182_400},
		}}
	return d
}

func places() []workbench.Place {
	return []workbench.Place{
		{Kind: workbench.FromEnvironment, Name: "PG* environment", Detail: "PGHOST=db1 PGUSER=shop"},
		{Kind: workbench.FromService, Name: "production", Detail: "host=db1 dbname=shop user=shop", DSN: "host=db1 user=shop dbname=shop"},
		{Kind: workbench.FromService, Name: "standby", Detail: "host=db1b dbname=shop user=shop", DSN: "host=db1b user=shop dbname=shop"},
		{Kind: workbench.FromRecent, Name: "postgres://shop@db2.example.com:5432/postgres", Detail: "last used 2026-11-28 17:00", DSN: "postgres://shop@db2.example.com:5432/postgres"},
	}
}

// server answers as PostgreSQL would, once the password is right.
func (d *Desk) server(_ context.Context, dsn *pg.DSN) (*workbench.Server, error) {
	if d.Password != "" && dsn.Config.Password != d.Password {
		return nil, errors.New(`db1:5432: password authentication failed for user "shop" (SQLSTATE 28P01)`)
	}
	return &workbench.Server{Version: "17.2", Encoding: "UTF8", Database: "shop", Role: pg.RoleInfo{Name: "shop", CreateDB: true, ReadAll: true},
		Databases: []pg.DatabaseInfo{{Name: "billing", Owner: "billing", Bytes: 2_100 << 20, Connect: true}, {Name: "postgres", Owner: "postgres", Bytes: 7_600 << 10, Connect: true},
			{Name: "shop", Owner: "shop", Bytes: 41 << 30, Connect: true}, {Name: "shop_test", Owner: "shop", Bytes: 212 << 20, Connect: true},
			{Name: "warehouse", Owner: "analytics", Bytes: -1}}}, nil
}

// survey is the shop's tables, with some that need a word.
func survey() []dump.Surveyed {
	var list []dump.Surveyed
	for _, schema := range []format.Name{"billing", "geo", "public", "stats"} {
		for _, t := range shopTables() {
			s, name, _ := cutName(t.Name)
			if s != schema {
				continue
			}
			one := dump.Surveyed{Schema: s, Name: name, Kind: "table", Rows: t.Rows, Bytes: t.Bytes, HasRows: true}
			switch name {
			case "sessions":
				one.Unlogged, one.Notes = true, []string{"unlogged: empty after a crash of the server"}
			case "attachments":
				one.Why, one.Hint = "column \"where_from\": type point_cloud has no binary form", "--carry-text public.attachments.where_from takes it as text, or leave the table out"
			case "customers":
				one.Notes = []string{"column note (citext) is carried as text"}
			}
			list = append(list, one)
		}
	}
	return append(list, dump.Surveyed{Schema: "stats", Name: "by_region", Kind: "materialized view", Rows: -1, Notes: []string{"only its definition is dumped"}})
}

func cutName(full string) (schema, name format.Name, ok bool) {
	for i := range full {
		if full[i] == '.' {
			return format.Name(full[:i]), format.Name(full[i+1:]), true
		}
	}
	return "", format.Name(full), false
}

// manifest is that of a dump of the shop.
func manifest() *format.Manifest {
	m := &format.Manifest{Started: "2026-11-30T03:00:00Z", Source: format.Source{Database: "shop", Server: format.Server{VersionNum: 150010, Encoding: "UTF8"}}}
	for _, s := range survey() {
		if !s.HasRows || s.Why != "" {
			continue
		}
		t := format.ManifestTable{Schema: s.Schema, Name: s.Name, Kind: s.Kind, Rows: s.Rows, Bytes: s.Bytes, Columns: columns()}
		n := s.Bytes>>30 + 1
		for i := range n {
			t.Segments = append(t.Segments, format.ManifestSegment{Rows: s.Rows / n, RawBytes: s.Bytes / n,
				StoredFile: format.StoredFile{Path: path.Join("data", string(s.Schema)+"."+string(s.Name), time.Time{}.AddDate(int(i), 0, 0).Format("2006")+".pgcopy.zst"), StoredBytes: s.Bytes / n / 3}})
		}
		m.Tables = append(m.Tables, t)
	}
	m.Sequences = []format.Sequence{{Schema: "public", Name: "orders_id_seq", LastValue: 24_018_601}, {Schema: "public", Name: "customers_id_seq", LastValue: 1_204_400}}
	m.LeftOut = []format.LeftOut{{Kind: "foreign table", Schema: "public", Name: "rates_at_bank", Why: "its rows are on another server"}}
	return m
}

// columns are those of every table here.
func columns() []format.Column {
	return []format.Column{
		{Name: "id", Type: "bigint", OID: 20, NotNull: true, Carried: format.CarriedBinary},
		{Name: "customer_id", Type: "bigint", OID: 20, NotNull: true, Carried: format.CarriedBinary},
		{Name: "state", Type: "order_state", OID: 16401, NotNull: true, Carried: format.CarriedBinary},
		{Name: "total", Type: "numeric(12,2)", OID: 1700, Carried: format.CarriedBinary},
		{Name: "placed", Type: "timestamp with time zone", OID: 1184, Carried: format.CarriedBinary},
		{Name: "address", Type: "address", OID: 16420, Carried: format.CarriedBinary, OIDs: true},
		{Name: "note", Type: "citext", OID: 16440, Carried: format.CarriedText, Cast: "citext"},
		{Name: "search", Type: "tsvector", OID: 3614, Generated: "stored", Carried: format.CarriedBinary},
	}
}

// meta is what stands in the head of a data file.
func meta() *format.Meta {
	return &format.Meta{Columns: columns(),
		Types: []format.Type{{OID: 20, Schema: "pg_catalog", Name: "int8"}, {OID: 16401, Schema: "public", Name: "order_state"}, {OID: 1700, Schema: "pg_catalog", Name: "numeric"}, {OID: 1184, Schema: "pg_catalog", Name: "timestamptz"}},
		Samples: []format.Samples{
			{OID: 20, Values: []format.Sample{{Literal: "-9223372036854775808", Text: "-9223372036854775808"}, {Literal: "1", Text: "1"}}},
			{OID: 1700, Values: []format.Sample{{Literal: "1234.5678", Text: "1234.5678"}, {Literal: "NaN", Text: "NaN"}}},
			{OID: 1184, Values: []format.Sample{{Literal: "2000-01-01 00:00:00+00", Text: "2000-01-01 00:00:00+00"}}},
			{OID: 16401, Values: []format.Sample{{Literal: "shipped", Text: "shipped"}}},
		}}
}

// starting starts the desk's job whatever is asked for.
type starting struct{ job *Job }

func (d *Desk) starting() tui.Jobs {
	if d.Job == nil {
		return starting{Preflight()}
	}
	return starting{d.Job}
}

func (s starting) run() tui.RunOptions {
	o := RunOf(s.job, RestorePhases)
	o.View = struct {
		*Job
		comparing
	}{Job: s.job}
	return o
}

// Dump implements tui.Jobs, as do the methods that follow.
func (s starting) Dump(dump.Options) tui.RunOptions                           { return s.run() }
func (s starting) Verify(string) tui.RunOptions                               { return s.run() }
func (s starting) Restore(restore.Options) tui.RunOptions                     { return s.run() }
func (s starting) Migrate(dump.Options, restore.Options, bool) tui.RunOptions { return s.run() }

// comparing is how the shop's tables fit those at the target.
type comparing struct{}

// Comparisons implements tui.ComparisonView.
func (comparing) Comparisons() []restore.Comparison {
	return []restore.Comparison{
		{DiffTable: restore.DiffTable{Schema: "public", Name: "orders", Rows: 24_018_551, Refused: true, Columns: []restore.DiffColumn{
			{Name: "id", Verdict: restore.Same, Dump: "bigint", Target: "bigint"},
			{Name: "customer_id", Verdict: restore.Converts, Dump: "bigint", Target: "numeric", Why: "every value of bigint is one of numeric"},
			{Name: "state", Verdict: restore.Same, Dump: "order_state", Target: "order_state"},
			{Name: "total", Verdict: restore.NoFit, Refused: true, Dump: "numeric(12,2)", Target: "numeric(10,2)", Why: "values of the dump may be larger than the target's type"},
			{Name: "note", Verdict: restore.Staged, Dump: "citext", Target: "citext", Why: "carried as text, cast by the server"},
			{Name: "channel", Verdict: restore.Filled, Target: "text", Why: "the target's default: 'web'"}}},
			Samples: []restore.SampleReading{{Type: "bigint", Source: "-9223372036854775808", Target: "-9223372036854775808", Same: true}, {Type: "numeric", Source: "1234.5678", Target: "1234.5678", Same: true},
				{Type: "order_state", Source: "returned", Target: "invalid input value for enum", Same: false}}},
		{DiffTable: restore.DiffTable{Schema: "public", Name: "order_items", Rows: 98_114_020, Columns: []restore.DiffColumn{{Name: "order_id", Verdict: restore.Same, Dump: "bigint", Target: "bigint"}}}},
	}
}
