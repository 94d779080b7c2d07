package yardstick

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/show"
)

const (
	wideRow     = 64 << 10 // bytes of a row that costs the server next to nothing to make
	trips       = 50       // round trips that are looked at, at least
	firstStream = 16 << 20 // bytes of the first stream; the next ones are as long as the time allows
	mostStream  = 4 << 30
)

// network measures the connection: a round trip, and how much COPY can move in each direction when its rows cost nothing.
func (b *bench) network(ctx context.Context) error {
	n := Network{Unix: strings.HasPrefix(b.scratch.tables.Config.Host, "/")}
	var err error
	if n.RTTMicros, err = b.roundTrip(ctx); err != nil {
		return err
	}
	if n.ReceiveMBs, err = b.throughput(ctx, b.receiveStream); err != nil {
		return fmt.Errorf("receiving: %w", err)
	}
	if b.conn.Version >= whereVersion {
		if err := b.conn.Exec(ctx, "CREATE TEMPORARY TABLE pghaul_bench_wide (t bytea)"); err != nil {
			return pg.Wrap(err, "temporary table")
		}
		if n.SendMBs, err = b.throughput(ctx, b.sendStream); err != nil {
			return fmt.Errorf("sending: %w", err)
		}
	}
	b.report.Network = n
	b.say("connection: a round trip takes %.0f µs; COPY receives %.0f MB/s%s", n.RTTMicros, n.ReceiveMBs, sends(n))
	return nil
}

// sends is the rate of sending, where it was measured.
func sends(n Network) string {
	if n.SendMBs <= 0 {
		return ""
	}
	return ", sends " + show.Rate(n.SendMBs*1e6)
}

// roundTrip gives the microseconds of an empty statement.
func (b *bench) roundTrip(ctx context.Context) (float64, error) {
	var samples []float64
	for start := time.Now(); len(samples) < trips || time.Since(start) < b.o.StepTime/2; {
		seconds, err := timed(func() error { return b.conn.Exec(ctx, "") })
		if err != nil {
			return 0, err
		}
		samples = append(samples, seconds*1e6)
	}
	return median(samples), nil
}

// throughput gives the MB/s of streams that are each about as long as a step may take.
func (b *bench) throughput(ctx context.Context, stream func(context.Context, int) error) (float64, error) {
	var samples []float64
	size := float64(firstStream)
	for round := range b.o.Rounds + 1 {
		rows := int(size) / wideRow
		seconds, err := timed(func() error { return stream(ctx, rows) })
		if err != nil {
			return 0, err
		}
		rate := per(float64(rows)*wideRow, seconds)
		if round > 0 { // the first one tells how long the others are to be
			samples = append(samples, rate/1e6)
		}
		size = min(max(rate*b.o.StepTime.Seconds(), wideRow), mostStream)
	}
	return median(samples), nil
}

func (b *bench) receiveStream(ctx context.Context, rows int) error {
	sql := fmt.Sprintf("COPY (SELECT w.t FROM (SELECT repeat('x', %d)::bytea AS t OFFSET 0) w, generate_series(1, %d)) TO STDOUT (FORMAT binary)", wideRow, rows)
	return b.conn.CopyOut(ctx, io.Discard, sql)
}

func (b *bench) sendStream(ctx context.Context, rows int) error {
	_, err := b.conn.PgConn().CopyFrom(ctx, &wideRows{left: rows}, "COPY pg_temp.pghaul_bench_wide FROM STDIN (FORMAT binary) WHERE false")
	return err
}

// wideRows is a COPY stream of so many equal rows, made of one buffer.
type wideRows struct {
	left    int
	row     []byte // header and row, then row, then the trailer
	rest    []byte
	started bool
}

// Read implements io.Reader.
func (w *wideRows) Read(p []byte) (int, error) {
	if len(w.rest) == 0 {
		switch {
		case !w.started:
			w.started = true
			w.row = appendField(binary.BigEndian.AppendUint16(nil, 1), make([]byte, wideRow))
			w.rest = append([]byte(format.Signature), make([]byte, 8)...)
		case w.left > 0:
			w.left--
			w.rest = w.row
		case w.left == 0:
			w.left = -1
			w.rest = []byte{0xff, 0xff}
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}
