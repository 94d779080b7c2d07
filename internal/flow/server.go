package flow

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/internal/pipeline"
)

// endOf makes the clean end of a stream out of io.EOF.
func endOf(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// ServerSource reads COPY … TO STDOUT (FORMAT binary). A cancel closes the connection, whose backend ends at once.
type ServerSource struct {
	Conn *pg.Conn
	SQL  string // the whole COPY statement, in the session's encoding
}

// Run implements [pipeline.Source].
func (s *ServerSource) Run(ctx context.Context, out *pipeline.Out) error {
	w := &rowWriter{out: out}
	s.Conn.ObserveWaits(out.ServerBegin, out.ServerEnd)
	defer s.Conn.ObserveWaits(nil, nil)
	if err := s.Conn.CopyOut(ctx, w, s.SQL); err != nil {
		w.abort()
		return err
	}
	return w.flush()
}

var errClosed = errors.New("the reader of the rows has been closed")

// copyHeader is what a server puts in front of the rows: signature, flags, length of an extension area that it never uses.
const copyHeader = len(format.Signature) + 8

// rowWriter collects the server's CopyData messages, one per row, into blocks. The first message starts with COPY's own header.
type rowWriter struct {
	out     *pipeline.Out
	block   *pipeline.Block
	started bool
}

func (w *rowWriter) Write(p []byte) (int, error) {
	n := len(p)
	if b := w.block; b != nil && n <= b.Room() { // which a row is nearly always
		b.Data = append(b.Data, p...)
		return n, nil
	}
	if !w.started {
		if len(p) < copyHeader || !bytes.HasPrefix(p, []byte(format.Signature)) {
			return 0, errors.New("the server's COPY stream does not start with the signature of the binary format")
		}
		if flags, extension := binary.BigEndian.Uint32(p[copyHeader-8:]), binary.BigEndian.Uint32(p[copyHeader-4:]); flags != 0 || extension != 0 {
			return 0, fmt.Errorf("the server's COPY header has flags %#x and an extension of %d bytes, which no known server sends", flags, extension)
		}
		w.started, p = true, p[copyHeader:]
	}
	if err := w.flush(); err != nil {
		return 0, err
	}
	b, err := w.out.Get()
	if err != nil {
		return 0, err
	}
	if len(p) > b.Room() { // a row larger than a block gets what it needs, and no more
		b.Data = make([]byte, 0, len(p))
	}
	w.block = b
	w.block.Data = append(w.block.Data, p...)
	if len(w.block.Data) > pipeline.BlockSize { // it stays alone: a frame of the format holds several rows, or one long one
		return n, w.flush()
	}
	return n, nil
}

func (w *rowWriter) flush() error {
	b := w.block
	w.block = nil
	if b == nil {
		return nil
	}
	return w.out.Send(b)
}

func (w *rowWriter) abort() {
	if w.block != nil {
		w.block.Release()
		w.block = nil
	}
}

// ServerSink sends the rows through COPY … FROM STDIN (FORMAT binary). The caller owns the transaction around it.
type ServerSink struct {
	Conn *pg.Conn
	SQL  string // the whole COPY statement, in the session's encoding

	Loaded int64 // rows by the server's command tag, after a clean end
}

// Run implements [pipeline.Sink].
func (s *ServerSink) Run(ctx context.Context, in *pipeline.In) error {
	r := &rowReader{in: in, rest: append([]byte(format.Signature), make([]byte, 8)...)}
	in.ServerBegin() // but for the waits in Next, all of COPY FROM is the server's time
	defer in.ServerEnd()
	tag, err := s.Conn.PgConn().CopyFrom(ctx, r, s.SQL)
	if cause := r.close(); cause != nil {
		return cause // the server's answer to our CopyFail is only its echo
	}
	if err != nil {
		return err
	}
	s.Loaded = tag.RowsAffected()
	return nil
}

// rowReader gives blocks as a stream, COPY's own header first. After a cancel or a lost connection pgconn.CopyFrom returns while its goroutine
// may still be in Read, so close and Read exclude each other, and a Read that comes late finds nothing.
type rowReader struct {
	in *pipeline.In

	mu     sync.Mutex
	block  *pipeline.Block
	rest   []byte
	err    error // of the lane: sticky
	closed bool
}

func (r *rowReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for n < len(p) {
		if len(r.rest) == 0 && !r.next() {
			break
		}
		k := copy(p[n:], r.rest)
		r.rest, n = r.rest[k:], n+k
	}
	if n > 0 {
		return n, nil
	}
	return 0, r.err
}

// next takes the next block. The lock is not held while it waits.
func (r *rowReader) next() bool {
	r.release()
	if r.closed {
		r.err = errClosed
	}
	if r.err != nil {
		return false
	}
	r.mu.Unlock()
	b, err := r.in.Next()
	r.mu.Lock()
	if err != nil {
		r.err = err
		return false
	}
	r.block, r.rest = b, b.Data
	if r.closed {
		r.release()
		r.err = errClosed
		return false
	}
	return true
}

// close ends the reader and gives its block back. It returns the lane's error, if that is what ended the stream.
func (r *rowReader) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.release()
	return endOf(r.err)
}

func (r *rowReader) release() {
	if b := r.block; b != nil {
		r.block, r.rest = nil, nil // first, so that nothing holds a huge buffer any more
		b.Release()
	}
}
