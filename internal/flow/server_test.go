package flow_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"go.uber.org/goleak"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/flow"
	"github.com/bytehaul/pghaul/internal/netfault"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/internal/pipeline"
)

func TestMain(m *testing.M) { pgtest.Run(m) }

// waitLimit is how long a busy machine may take for what comes at once on an idle one.
const waitLimit = time.Minute

func connect(t *testing.T, dsn string) *pg.Conn {
	t.Helper()
	d, err := pg.ParseDSN(dsn, pg.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pg.Connect(context.Background(), d, pg.Options{Purpose: pg.ForData})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// proxied gives the connection string of a database behind a proxy.
func proxied(t *testing.T, dsn string, r netfault.Rule) (string, *netfault.Proxy) {
	t.Helper()
	d, err := pg.ParseDSN(dsn, pg.Flags{})
	if err != nil {
		t.Fatal(err)
	}
	c := pgtest.Cluster(t)
	p, err := netfault.New("unix", fmt.Sprintf("%s/.s.PGSQL.%d", c.SocketDir(), c.Port()), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return fmt.Sprintf("host=127.0.0.1 port=%d user=postgres sslmode=disable dbname=%s", p.Port(), d.Config.Database), p
}

// noLeak checks at the test's end that no goroutine of it is left. Call it before the connections are made.
func noLeak(t *testing.T) {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
}

// TestServerSource: the rows of a COPY are those that the server has, one that is longer than a block too.
func TestServerSource(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE t (a int, b text); INSERT INTO t SELECT g, repeat('x', g % 300) FROM generate_series(1, 20000) g; INSERT INTO t VALUES (0, repeat('long', 1000000)), (-1, NULL)`)
	noLeak(t)
	c := connect(t, dsn)
	pool := pipeline.NewPool(8, pipeline.BlockSize)
	sink, n := &whole{}, &count{}
	got, err := parse(t, pool, &flow.ServerSource{Conn: c, SQL: "COPY public.t TO STDOUT (FORMAT binary)"}, 2, sink, n)
	if err != nil || got.Rows != 20002 || n.rows != 20002 || sink.bytes != got.Length || sink.largest < 4_000_000 {
		t.Errorf("%+v, largest block %d, %v", got, sink.largest, err)
	}
	// The session is usable afterwards, and again.
	if got2, err := parse(t, pool, &flow.ServerSource{Conn: c, SQL: "COPY (SELECT * FROM public.t) TO STDOUT (FORMAT binary)"}, 2, &whole{}, n); err != nil || got2 != got {
		t.Errorf("COPY of a query: %+v, %v; want %+v", got2, err, got)
	}
	for sql, state := range map[string]string{"COPY public.nosuch TO STDOUT (FORMAT binary)": "42P01", "COPY (SELECT 1/(3-g) FROM generate_series(1, 5) g) TO STDOUT (FORMAT binary)": "22012", "nonsense": "42601"} {
		if _, err := parse(t, pool, &flow.ServerSource{Conn: c, SQL: sql}, 1, &whole{}, n); pg.State(err) != state {
			t.Errorf("%s: %v, want SQLSTATE %s", sql, err, state)
		}
	}
	// Text instead of binary is noticed before a row of it gets through.
	if _, err := parse(t, pool, &flow.ServerSource{Conn: c, SQL: "COPY public.t TO STDOUT"}, 2, &whole{}, n); err == nil || !strings.Contains(err.Error(), "signature") {
		t.Errorf("COPY as text: %v", err)
	}
}

// TestServerSourceLongRowAlone: a frame of the format holds one long row or several ordinary ones.
func TestServerSourceLongRowAlone(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE t (b text); INSERT INTO t SELECT repeat('x', CASE WHEN g % 3 = 0 THEN 20000000 ELSE 900000 END) FROM generate_series(1, 8) g`)
	c := connect(t, dsn)
	sink := &blocks{}
	err := pipeline.Run(context.Background(), pipeline.Lane{Source: &flow.ServerSource{Conn: c, SQL: "COPY public.t TO STDOUT (FORMAT binary)"}, Stages: []pipeline.Stage{&flow.Parse{Walker: format.NewWalker(1)}}, Sink: sink, Pool: pipeline.NewPool(8, pipeline.BlockSize)})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range sink.list {
		if b.raw > pipeline.BlockSize && b.rows != 1 {
			t.Errorf("a block of %d bytes holds %d rows", b.raw, b.rows)
		}
	}
	if len(sink.list) < 8 {
		t.Errorf("%d blocks", len(sink.list))
	}
}

type blocks struct{ list []struct{ raw, rows int } }

func (s *blocks) Run(_ context.Context, in *pipeline.In) error {
	for {
		b, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		s.list = append(s.list, struct{ raw, rows int }{b.Raw, b.Rows})
		b.Release()
	}
}

// fakeServer speaks enough of the protocol to send a COPY stream of the test's making.
func fakeServer(t *testing.T, copyData ...[]byte) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serveCopy(conn, copyData)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return fmt.Sprintf("host=127.0.0.1 port=%d user=u dbname=d sslmode=disable", l.Addr().(*net.TCPAddr).Port)
}

func serveCopy(conn net.Conn, copyData [][]byte) {
	b := pgproto3.NewBackend(conn, conn)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	for k, v := range map[string]string{"server_version": "15.1", "server_encoding": "UTF8", "client_encoding": "UTF8", "standard_conforming_strings": "on"} {
		b.Send(&pgproto3.ParameterStatus{Name: k, Value: v})
	}
	b.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{1, 2, 3, 4}})
	for {
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if b.Flush() != nil {
			return
		}
		m, err := b.Receive()
		q, ok := m.(*pgproto3.Query)
		if err != nil || !ok {
			return
		}
		if strings.HasPrefix(q.String, "COPY") {
			b.Send(&pgproto3.CopyOutResponse{OverallFormat: 1, ColumnFormatCodes: []uint16{1}})
			for _, d := range copyData {
				b.Send(&pgproto3.CopyData{Data: d})
			}
			b.Send(&pgproto3.CopyDone{})
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("COPY 1")})
			continue
		}
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SET")})
	}
}

// TestServerSourceHeader: what no known server sends is refused, not moved.
func TestServerSourceHeader(t *testing.T) {
	row := appendRow(nil, []byte("abc"))
	head := func(flags, extension uint32) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte(format.Signature), flags), extension)
	}
	end := []byte{0xff, 0xff}
	for what, c := range map[string]struct {
		data [][]byte
		part string
	}{
		"as it is":           {[][]byte{append(head(0, 0), row...), end}, ""},
		"header alone":       {[][]byte{head(0, 0), row, end}, ""},
		"no rows":            {[][]byte{append(head(0, 0), end...)}, ""},
		"OIDs":               {[][]byte{append(head(1<<16, 0), row...), end}, "flags 0x10000"},
		"an extension":       {[][]byte{append(head(0, 4), 1, 2, 3, 4), row, end}, "extension of 4 bytes"},
		"other signature":    {[][]byte{append([]byte("PGCOPY\n\xff\n\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"), row...), end}, "signature"},
		"short":              {[][]byte{head(0, 0)[:10], row, end}, "signature"},
		"no trailer":         {[][]byte{append(head(0, 0), row...)}, "without a trailer"},
		"nothing at all":     {nil, "without a trailer"},
		"a row cut in two":   {[][]byte{append(head(0, 0), row[:4]...), row[4:], end}, ""},
		"other field count":  {[][]byte{append(head(0, 0), appendRow(nil, nil, nil)...), end}, "2 fields"},
		"more than one part": {[][]byte{append(head(0, 0), row...), end, row}, "after the trailer"},
	} {
		pool := pipeline.NewPool(4, 1024)
		_, err := parse(t, pool, &flow.ServerSource{Conn: connect(t, fakeServer(t, c.data...)), SQL: "COPY x"}, 1, &whole{}, &count{})
		if (err == nil) != (c.part == "") || err != nil && !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, want %q", what, err, c.part)
		}
	}
}

// TestServerSourceLost: a connection that ends in the middle, or is cancelled, leaves neither a goroutine nor a block behind.
func TestServerSourceLost(t *testing.T) {
	dsn := pgtest.DB(t)
	const sql = "COPY (SELECT g, repeat('x', 1000) FROM generate_series(1, 10000000) g) TO STDOUT (FORMAT binary)"
	for _, fault := range []netfault.Fault{netfault.Cut, netfault.Reset} {
		noLeak(t)
		addr, _ := proxied(t, dsn, netfault.Rule{Match: "COPY (", After: 5 << 20, Then: fault})
		c := connect(t, addr)
		_, err := parse(t, pipeline.NewPool(8, pipeline.BlockSize), &flow.ServerSource{Conn: c, SQL: sql}, 2, &whole{}, &count{})
		if !pg.ConnectionLost(err) {
			t.Errorf("fault %d: %v", fault, err)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	c := connect(t, dsn)
	pool := pipeline.NewPool(8, pipeline.BlockSize)
	err := pipeline.Run(ctx, pipeline.Lane{Source: &flow.ServerSource{Conn: c, SQL: sql}, Stages: []pipeline.Stage{&flow.Parse{Walker: format.NewWalker(2), Count: canceller{func() { cancel(cause) }}}}, Sink: flow.Discard{}, Pool: pool})
	if !errors.Is(err, cause) || pool.Stats().Outstanding != 0 {
		t.Errorf("cancelled: %v, %d blocks lost", err, pool.Stats().Outstanding)
	}
	other := connect(t, dsn)
	awaitIdle(t, other, c.PID())
}

type canceller struct{ cancel func() }

func (c canceller) Add(int64, int64) { c.cancel() }

// awaitIdle waits until a backend is gone, or has nothing to do.
func awaitIdle(t *testing.T, c *pg.Conn, pid uint32) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), waitLimit)
	defer stop()
	for busy := true; busy; {
		if err := c.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND state = 'active')", int32(pid)).Scan(&busy); err != nil {
			t.Fatalf("backend %d is still busy: %v", pid, err)
		}
	}
}

// TestServerSourceAllocations: moving rows costs memory per block, never per row.
func TestServerSourceAllocations(t *testing.T) {
	c := connect(t, pgtest.DB(t))
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	mallocs := func(rows int) uint64 {
		f, err := format.Create(root, fmt.Sprintf("%d.pgcopy.zst", rows), header(2), format.Compression{Level: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := f.Abort(); err != nil {
				t.Error(err)
			}
		}()
		compress, err := flow.NewCompress(1)
		if err != nil {
			t.Fatal(err)
		}
		w := format.NewWalker(2)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = pipeline.Run(context.Background(), pipeline.Lane{Source: &flow.ServerSource{Conn: c, SQL: fmt.Sprintf("COPY (SELECT g, 'row ' || g FROM generate_series(1, %d) g) TO STDOUT (FORMAT binary)", rows)},
			Stages: []pipeline.Stage{&flow.Parse{Walker: w, Count: &count{}}, compress}, Sink: &flow.FileSink{Writer: f}, Pool: pipeline.NewPool(8, pipeline.BlockSize)})
		runtime.ReadMemStats(&after)
		if err != nil || w.Totals().Rows != int64(rows) {
			t.Fatalf("%d rows: %+v, %v", rows, w.Totals(), err)
		}
		return after.Mallocs - before.Mallocs
	}
	mallocs(1000) // what is made once
	few, many := mallocs(100_000), mallocs(1_000_000)
	if few > 3000 || many > few+3000 {
		t.Errorf("%d allocations for 100,000 rows, %d for 1,000,000", few, many)
	}
}

// sinkLane loads a stream into a session's table.
func sinkLane(ctx context.Context, t *testing.T, c *pg.Conn, stream io.Reader) (int64, error) {
	t.Helper()
	pool := pipeline.NewPool(8, 64<<10)
	sink := &flow.ServerSink{Conn: c, SQL: "COPY public.t FROM STDIN (FORMAT binary)"}
	err := pipeline.Run(ctx, pipeline.Lane{Source: &pieces{stream: stream, next: func() int { return 50_000 }}, Stages: []pipeline.Stage{&flow.Parse{Walker: format.NewWalker(2)}}, Sink: sink, Pool: pool})
	if s := pool.Stats(); s.Outstanding != 0 {
		t.Errorf("%d blocks are lost", s.Outstanding)
	}
	return sink.Loaded, err
}

// intRows makes a stream of (int, text).
func intRows(n int, tail ...byte) []byte {
	var p []byte
	for i := range n {
		p = appendRow(p, binary.BigEndian.AppendUint32(nil, uint32(i)), []byte("text of a row"))
	}
	return append(append(p, tail...), 0xff, 0xff)
}

func TestServerSink(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE t (a int CHECK (a <> 77777), b text)`)
	noLeak(t)
	c := connect(t, dsn)
	if n, err := sinkLane(context.Background(), t, c, bytes.NewReader(intRows(50_000))); n != 50_000 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
	// The server's error, early and late, with rows still on their way.
	if n, err := sinkLane(context.Background(), t, c, bytes.NewReader(intRows(500_000))); pg.State(err) != "23514" || n != 0 {
		t.Errorf("refused by a constraint: %d rows, %v", n, err)
	}
	// Our own error while rows flow: the server takes none, and ours is what is told.
	if n, err := sinkLane(context.Background(), t, c, bytes.NewReader(intRows(70_000, 0, 9))); !errors.Is(err, format.ErrFieldCount) || n != 0 {
		t.Errorf("damaged: %d rows, %v", n, err)
	}
	if n, err := sinkLane(context.Background(), t, c, bytes.NewReader(intRows(70_000)[:100_001])); !errors.Is(err, format.ErrTruncated) || n != 0 {
		t.Errorf("cut off: %d rows, %v", n, err)
	}
	if n, err := sinkLane(context.Background(), t, c, bytes.NewReader(intRows(0))); n != 0 || err != nil {
		t.Errorf("no rows: %d, %v", n, err)
	}
	var n int64
	if err := c.QueryRow(context.Background(), "SELECT count(*) FROM public.t").Scan(&n); err != nil || n != 50_000 {
		t.Errorf("the table holds %d rows, %v", n, err)
	}
}

// TestServerSinkNotices: a trigger that talks for every row must not stop the stream.
func TestServerSinkNotices(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE t (a int, b text); CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING '%', repeat('noise ', 50); RETURN NEW; END $$; CREATE TRIGGER say BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION say()`)
	noLeak(t)
	ctx, stop := context.WithTimeout(context.Background(), waitLimit)
	defer stop()
	if n, err := sinkLane(ctx, t, connect(t, dsn), bytes.NewReader(intRows(40_000))); n != 40_000 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}

// TestServerSinkCancel: a source that has nothing to give, a server that waits for a lock, a network that is gone: cancel ends each.
func TestServerSinkCancel(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE t (a int, b text)`)
	noLeak(t)
	cause := errors.New("enough")
	other := connect(t, dsn)

	ctx, cancel := context.WithCancelCause(context.Background())
	silent, say := io.Pipe()
	c := connect(t, dsn)
	go func() {
		_, _ = say.Write(intRows(10_000)[:50_000]) // the lane ends while it waits for more
		cancel(cause)
		_ = say.CloseWithError(io.ErrClosedPipe)
	}()
	if _, err := sinkLane(ctx, t, c, silent); !errors.Is(err, cause) {
		t.Errorf("a silent source: %v", err)
	}
	awaitIdle(t, other, c.PID())

	if err := other.Exec(context.Background(), "BEGIN; LOCK TABLE public.t IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancelCause(context.Background())
	c = connect(t, dsn)
	done := make(chan error, 1)
	go func() { _, err := sinkLane(ctx, t, c, bytes.NewReader(intRows(100_000))); done <- err }()
	for waiting := false; !waiting; {
		if err := other.QueryRow(context.Background(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock')", int32(c.PID())).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		if err := other.Exec(context.Background(), "SELECT pg_catalog.pg_stat_clear_snapshot()"); err != nil {
			t.Fatal(err)
		}
	}
	cancel(cause)
	if err := <-done; !errors.Is(err, cause) {
		t.Errorf("behind a lock: %v", err)
	}
	if err := other.Exec(context.Background(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	awaitIdle(t, other, c.PID())
}

// TestServerSinkLost: the connection goes while rows are being sent.
func TestServerSinkLost(t *testing.T) {
	dsn := pgtest.DB(t, `CREATE TABLE t (a int, b text)`)
	noLeak(t)
	addr, p := proxied(t, dsn, netfault.Rule{})
	c := connect(t, addr)
	r, w := io.Pipe()
	go func() {
		_, _ = w.Write(intRows(10_000)[:200_000]) // as above
		p.CutAll()
		_, err := io.Copy(w, zeroRows{})
		_ = w.CloseWithError(err)
	}()
	_, err := sinkLane(context.Background(), t, c, r)
	r.Close()
	if !pg.ConnectionLost(err) {
		t.Errorf("%v", err)
	}
}

// zeroRows goes on with rows without end: the first piece ended within one.
type zeroRows struct{}

func (zeroRows) Read(p []byte) (int, error) {
	all := intRows(10_000)
	at := 200_000 % 27
	return copy(p, all[at:min(len(all), at+27*1000)]), nil
}
