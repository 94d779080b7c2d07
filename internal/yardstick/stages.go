package yardstick

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pipeline"
)

// whereVersion is the first server_version_num whose COPY FROM has a WHERE.
const whereVersion = 120000

// Names of the stages of a load.
const (
	stageRead    = "read + parse"
	stageReceive = "receive"
	stageInsert  = "insert"
	stageGuards  = "triggers, constraints"
	stageKey     = "primary key"
	stageIndex   = "index"
)

// loadName is the table that the stages load into.
const loadName = "public.pghaul_bench_load"

// stages takes the restore of each table apart, on one connection: each measure does all that the one before does, and one thing more.
func (b *bench) stages(ctx context.Context) error {
	if b.conn.Version < whereVersion {
		b.note("the server is older than 12 and has no COPY … WHERE: what receiving takes is a part of insert")
	}
	for _, s := range b.subjects {
		if err := b.checkpoint(ctx); err != nil {
			return err
		}
		if err := b.stagesOf(ctx, s); err != nil {
			return err
		}
		if !b.o.Keep {
			if err := os.RemoveAll(s.dumped.dir); err != nil {
				return err
			}
		}
	}
	return b.conn.Exec(ctx, "DROP TABLE IF EXISTS "+loadName)
}

func (b *bench) stagesOf(ctx context.Context, s *subject) error {
	read := &measure{name: stageRead, run: func(ctx context.Context) (float64, error) {
		return timed(func() error { return b.send(ctx, s, func() pipeline.Sink { return flow.Discard{} }) })
	}}
	receive := &measure{name: stageReceive, run: func(ctx context.Context) (float64, error) { return b.load(ctx, s, false, " WHERE false", 0) }}
	insert := &measure{name: stageInsert, run: func(ctx context.Context) (float64, error) { return b.load(ctx, s, false, "", s.rows) }}
	guards := &measure{name: stageGuards, cold: true, run: func(ctx context.Context) (float64, error) { return b.load(ctx, s, true, "", s.rows) }}
	key := &measure{name: stageKey, cold: true, run: func(ctx context.Context) (float64, error) { // of the table that guards has loaded
		return timed(func() error { return b.conn.Exec(ctx, s.keySQL(loadName, b.o.Scale)) })
	}}
	if s.rows > s.unique {
		key.name = stageIndex
	}
	all := []*measure{read, receive, insert, guards, key}
	if b.conn.Version < whereVersion {
		all = []*measure{read, insert, guards, key}
	}
	if err := b.rounds(ctx, "restore of "+s.Name+" by stage", all); err != nil {
		return err
	}
	names, upTo := make([]string, len(all)), make([]float64, len(all))
	for i, m := range all {
		names[i], upTo[i] = m.name, m.median()
	}
	upTo[len(all)-1] += upTo[len(all)-2] // the key is measured alone
	s.report.stages(names, upTo)
	return nil
}

// load sends a table's rows into an empty table; the clock stops behind the commit. The table of the load before is gone before it starts.
func (b *bench) load(ctx context.Context, s *subject, guards bool, where string, stored int64) (seconds float64, err error) {
	sql := "DROP TABLE IF EXISTS " + loadName + "; " + s.emptySQL(loadName)
	if guards {
		sql += "; " + s.guardSQL(loadName)
	}
	if err := b.conn.Exec(ctx, sql); err != nil {
		return 0, pg.Wrap(err, "empty table")
	}
	var loaded int64
	seconds, err = timed(func() error {
		if err := b.conn.Exec(ctx, "BEGIN"); err != nil {
			return err
		}
		sinks := []*flow.ServerSink{}
		err := b.send(ctx, s, func() pipeline.Sink {
			sink := &flow.ServerSink{Conn: b.conn, SQL: "COPY " + loadName + " FROM STDIN (FORMAT binary)" + where}
			sinks = append(sinks, sink)
			return sink
		})
		if err != nil {
			return err
		}
		for _, sink := range sinks {
			loaded += sink.Loaded
		}
		return b.conn.Exec(ctx, "COMMIT")
	})
	if err == nil && loaded != stored {
		err = fmt.Errorf("the server took %d rows in place of %d", loaded, stored)
	}
	return seconds, err
}

// send moves all files of a dumped table through a lane, as a restore does, one after the other, each into a sink of its own.
func (b *bench) send(ctx context.Context, s *subject, sink func() pipeline.Sink) (err error) {
	root, err := os.OpenRoot(s.dumped.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, t := range s.dumped.manifest.Tables {
		for _, segment := range t.Segments {
			if err := b.sendFile(ctx, root, segment.Path, s.Columns, sink()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) sendFile(ctx context.Context, root *os.Root, path string, columns int, sink pipeline.Sink) (err error) {
	f, err := root.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	reader, err := format.NewReader(f)
	if err != nil {
		return err
	}
	walker := format.NewWalker(columns)
	lane := pipeline.Lane{Source: &flow.FileSource{Reader: reader}, Stages: []pipeline.Stage{&flow.Parse{Walker: walker}}, Sink: sink, Pool: b.pool}
	if err := pipeline.Run(ctx, lane); err != nil {
		return pg.Wrap(err, "file %q", path)
	}
	return reader.Finish(walker.Totals())
}
