package pg

import (
	"context"
	"encoding/binary"
	"io"
	"math"
)

// Of the frontend/backend protocol: a message is a type byte, and a length that counts itself and what follows.
const (
	typeCopyData  = 'd'
	messageHeader = 5
)

// CopyOut runs COPY … TO STDOUT and gives w what it sends: COPY's header with the first row, then a row for each Write, which must not keep the slice.
// When w returns an error, that is the error and the connection is closed; when ctx ends, the server is asked to cancel.
func (c *Conn) CopyOut(ctx context.Context, w io.Writer, sql string) error {
	c.messages.rows, c.messages.rowsErr = w, nil
	defer func() { c.messages.rows = nil }()
	_, err := c.PgConn().CopyTo(ctx, w, sql)
	if c.messages.rowsErr != nil {
		return c.messages.rowsErr
	}
	return err
}

// messages reads what a server sends. While rows is set it takes the CopyData messages out, of which COPY sends one for each row: the few instructions spent here on
// each of them are a fourth of what the general way through pgconn takes. All other messages pass as they came, and so does a CopyData message that is longer
// than the buffer; pgconn hands that to the same writer.
type messages struct {
	r       io.Reader
	buf     []byte
	current []byte    // of buf: what is left of the message that passes
	missing int       // bytes of that message which are yet to be read
	next    []byte    // of buf: behind it
	err     error     // of r, behind next; it stays, a timeout too: behind one of those that are used here pgconn closes the connection
	rows    io.Writer // nil: everything passes
	rowsErr error     // of rows; it ends the connection

	begin, end func() // called around each read, by whoever uses the session; nil: nobody looks
}

func newMessages(r io.Reader, size int) *messages {
	return &messages{r: r, buf: make([]byte, size)}
}

// Read implements [io.Reader]. It blocks only while there is no whole message to give, and no part of one that is longer than the buffer.
func (m *messages) Read(p []byte) (n int, err error) {
	if len(m.current) == 0 && m.missing == 0 {
		if err := m.pass(); err != nil {
			return 0, err
		}
	}
	if len(m.current) == 0 {
		n, err = m.read(p[:min(len(p), m.missing)])
		m.missing -= n
		return n, err
	}
	n = copy(p, m.current)
	m.current = m.current[n:]
	return n, nil
}

// pass reads until it knows which message passes next.
func (m *messages) pass() error {
	for {
		if m.rows != nil {
			if m.rowsErr = m.takeRows(); m.rowsErr != nil {
				return m.rowsErr
			}
		}
		n := messageLen(m.next)
		if n > 0 && n <= len(m.next) {
			m.current, m.next = m.next[:n], m.next[n:]
			return nil
		}
		if n > len(m.buf) {
			m.current, m.missing, m.next = m.next, n-len(m.next), nil
			return nil
		}
		if err := m.fill(); err != nil {
			return err
		}
	}
}

// takeRows gives the CopyData messages that are here to rows.
func (m *messages) takeRows() error {
	for {
		n := messageLen(m.next)
		if n == 0 || n > len(m.next) || m.next[0] != typeCopyData {
			return nil
		}
		if _, err := m.rows.Write(m.next[messageHeader:n]); err != nil {
			return err
		}
		m.next = m.next[n:]
	}
}

// fill reads once, behind what is there of the next message.
func (m *messages) fill() error {
	if m.err != nil {
		return m.err
	}
	kept := copy(m.buf, m.next)
	n, err := m.read(m.buf[kept:])
	m.next, m.err = m.buf[:kept+n], err
	return nil
}

// read reads from the server.
func (m *messages) read(p []byte) (int, error) {
	if m.begin == nil {
		return m.r.Read(p)
	}
	m.begin()
	defer m.end()
	return m.r.Read(p)
}

// messageLen returns how long the message is that starts p, its type byte included, or 0 while that is not known. Of a length that cannot be it
// makes one that fits no buffer, so that the message passes and pgconn gets to see it.
func messageLen(p []byte) int {
	if len(p) < messageHeader {
		return 0
	}
	n := int(int32(binary.BigEndian.Uint32(p[1:])))
	if n < messageHeader-1 || n == math.MaxInt32 {
		return math.MaxInt32
	}
	return 1 + n
}
