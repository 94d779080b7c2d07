package yardstick

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
)

// batchSizes are the numbers of rows per commit of 2006.
var batchSizes = []int{1, 5, 10, 50, 100, 1_000, 10_000, 100_000}

// Sizes up to smallestSweep are written at any scale, larger ones from the scale on at which sweepPerScale times it reaches them.
const (
	smallestSweep = 1_000
	sweepPerScale = 1_000_000
)

// batchTable has five columns, of which the first is a serial key.
const batchTable = "public.pghaul_bench_batch"

// batches measures INSERT and COPY by rows per commit, each with and without the wait for the commit. The sizes take turns, and so do the four kinds of batches of a size: a disk
// that is busy with something else for a while is nobody's fault.
func (b *bench) batches(ctx context.Context) error {
	if err := b.conn.Exec(ctx, "DROP TABLE IF EXISTS "+batchTable+"; CREATE TABLE "+batchTable+" (id serial PRIMARY KEY, a int4, b int4, c text, d timestamp)"); err != nil {
		return pg.Wrap(err, "table of the batches")
	}
	var sizes []*batchWriter
	for _, rows := range batchSizes {
		if rows <= smallestSweep || float64(rows) <= sweepPerScale*b.o.Scale {
			sizes = append(sizes, newBatchWriter(b.conn, rows))
		}
	}
	limit := 4 * b.o.StepTime / time.Duration(b.o.Rounds)
	for round := range b.o.Rounds {
		for _, w := range sizes {
			if err := w.round(ctx, limit); err != nil {
				return fmt.Errorf("batches of %d rows: %w", w.rows, err)
			}
			b.say("%d rows a commit: INSERT %.0f rows/s, COPY %.0f rows/s (round %d of %d)", w.rows, w.result().Insert.RowsPerSec, w.result().Copy.RowsPerSec, round+1, b.o.Rounds)
		}
	}
	for _, w := range sizes {
		b.report.Batches = append(b.report.Batches, w.result())
	}
	return b.conn.Exec(ctx, "RESET synchronous_commit; DROP TABLE "+batchTable)
}

// batchWriter writes one size of batches.
type batchWriter struct {
	conn    *pg.Conn
	rows    int
	insert  string
	data    []byte
	samples [2][2][]float64 // seconds of a batch by INSERT or COPY, with or without the wait
}

func newBatchWriter(c *pg.Conn, rows int) *batchWriter {
	return &batchWriter{conn: c, rows: rows, insert: insertSQL(rows), data: copyData(rows)}
}

func (w *batchWriter) byInsert(ctx context.Context) error { return w.conn.Exec(ctx, w.insert) }

func (w *batchWriter) byCopy(ctx context.Context) error {
	_, err := w.conn.PgConn().CopyFrom(ctx, bytes.NewReader(w.data), "COPY "+batchTable+" (a, b, c, d) FROM STDIN (FORMAT binary)")
	return err
}

// round writes batches of all four kinds in turn until the time is over, at least one of each, after one of each way that does not count.
func (w *batchWriter) round(ctx context.Context, limit time.Duration) error {
	ways := []func(context.Context) error{w.byInsert, w.byCopy}
	if err := w.conn.Exec(ctx, "TRUNCATE "+batchTable); err != nil {
		return err
	}
	for _, write := range ways {
		if err := write(ctx); err != nil {
			return err
		}
	}
	for start, first := time.Now(), true; first || time.Since(start) < limit; first = false {
		for wait, setting := range []string{"RESET synchronous_commit", "SET synchronous_commit = off"} {
			if err := w.conn.Exec(ctx, setting); err != nil {
				return err
			}
			for way, write := range ways {
				seconds, err := timed(func() error { return write(ctx) })
				if err != nil {
					return err
				}
				w.samples[way][wait] = append(w.samples[way][wait], seconds)
			}
		}
	}
	return nil
}

// result is of the samples so far.
func (w *batchWriter) result() Batch {
	of := func(way int) Speed { return speed(w.rows, median(w.samples[way][0]), median(w.samples[way][1])) }
	return Batch{Rows: w.rows, Insert: of(0), Copy: of(1)}
}

// speed makes numbers of the times of a batch with and without the wait for its commit.
func speed(rows int, waits, without float64) Speed {
	s := Speed{RowsPerSec: per(float64(rows), waits), RowsNoWait: per(float64(rows), without)}
	if wait := waits - without; wait > 0 {
		s.CommitMillis, s.CommitShare = wait*1e3, wait/waits
	}
	return s
}

// insertSQL is one INSERT of so many rows.
func insertSQL(rows int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO " + batchTable + " (a, b, c, d) VALUES ")
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "(%d,%d,'%s','2006-06-01 12:00:00')", i, i*7, batchText)
	}
	return b.String()
}

const batchText = "some performance numbers"

// copyData is the same rows in COPY's binary format.
func copyData(rows int) []byte {
	data := append([]byte(format.Signature), make([]byte, 8)...)
	for i := range rows {
		data = binary.BigEndian.AppendUint16(data, 4)
		data = appendField(data, binary.BigEndian.AppendUint32(nil, uint32(i)))
		data = appendField(data, binary.BigEndian.AppendUint32(nil, uint32(i*7)))
		data = appendField(data, []byte(batchText))
		data = appendField(data, binary.BigEndian.AppendUint64(nil, 202_478_400_000_000)) // microseconds from 2000 to 2006-06-01 12:00
	}
	return binary.BigEndian.AppendUint16(data, 0xffff)
}

func appendField(data, field []byte) []byte {
	data = binary.BigEndian.AppendUint32(data, uint32(len(field)))
	return append(data, field...)
}
