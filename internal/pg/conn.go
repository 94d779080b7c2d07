package pg

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Sizes of the buffers between a server and us. The server sends 8 KiB at a time; a large read buffer takes what has piled up
// with one system call, and a large send buffer lets the server find its next rows waiting.
const (
	readBuffer = 256 << 10
	sendBuffer = 4 << 20
)

// Purpose is what a session is for; it decides the client encoding.
type Purpose int

// Purposes of a session.
const (
	ForCatalog Purpose = iota // names and definitions, in UTF8
	ForData                   // COPY, in the encoding of the rows
)

// Options of Connect.
type Options struct {
	Purpose  Purpose
	Encoding string // of the rows, with ForData; empty: the database's own
	Role     string // SET ROLE
	AppName  string
}

// Conn is one session. It is not safe for concurrent use.
type Conn struct {
	*pgx.Conn
	Version  int    // server_version_num
	Encoding string // server_encoding
	messages *messages
	lifted   bool // timeouts, by the startup packet: what the database prefers cannot be seen any more
}

// Connect opens a session with settings that make its output independent of what the database, the role or the
// environment prefer. When ctx ends during a later query, the server is asked to cancel it.
func Connect(ctx context.Context, dsn *DSN, o Options) (*Conn, error) {
	config := dsn.Config.Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, CancelRequestDelay: 0, DeadlineDelay: 5 * time.Second}
	}
	config.DialFunc = dial
	if config.RuntimeParams == nil {
		config.RuntimeParams = map[string]string{}
	}
	config.RuntimeParams["application_name"] = "pghaul"
	if o.AppName != "" {
		config.RuntimeParams["application_name"] = o.AppName
	}
	delete(config.RuntimeParams, "client_encoding")
	c, err := connect(ctx, config, o, dsn)
	if err != nil && c != nil && (ConnectionLost(err) || State(err) == StateQueryCanceled) && ctx.Err() == nil {
		// A timeout of the database is so short that nobody gets to lift it. The startup packet can, though poolers do not take that.
		config.RuntimeParams["options"] = strings.TrimSpace(config.RuntimeParams["options"] + c.noTimeouts())
		if c, err = connect(ctx, config, o, dsn); c != nil {
			c.lifted = true
		}
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// connect opens a session. One that could be opened and not prepared is closed, and given with the error.
func connect(ctx context.Context, config *pgx.ConnConfig, o Options, dsn *DSN) (*Conn, error) {
	var in *messages
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		in = newMessages(r, readBuffer)
		return pgproto3.NewFrontend(in, w)
	}
	raw, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, &ConnectError{Target: dsn.String(), User: config.User, Err: err}
	}
	c := &Conn{Conn: raw, messages: in}
	if err := c.prepare(ctx, o); err != nil {
		c.Close()
		return c, err
	}
	return c, nil
}

// noTimeouts are options that lift what the database or the role limits sessions to.
func (c *Conn) noTimeouts() string {
	options := " -c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0"
	if c.Version >= 140000 {
		options += " -c idle_session_timeout=0"
	}
	if c.Version >= 170000 {
		options += " -c transaction_timeout=0"
	}
	return options
}

func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := &net.Dialer{KeepAlive: time.Minute, Timeout: time.Minute}
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if s, ok := c.(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = s.SetWriteBuffer(sendBuffer) // a smaller buffer is slower, not wrong
	}
	return c, nil
}

func (c *Conn) prepare(ctx context.Context, o Options) error {
	c.Version = versionNum(c.PgConn().ParameterStatus("server_version"))
	c.Encoding = c.PgConn().ParameterStatus("server_encoding")
	if c.Version < 100000 {
		return fmt.Errorf("server version %s: pghaul needs PostgreSQL 10 or later", c.PgConn().ParameterStatus("server_version"))
	}
	if err := c.liftTimeout(ctx); err != nil {
		return fmt.Errorf("session settings: %w", err)
	}
	if _, err := c.PgConn().Exec(ctx, c.sessionSettings(o)).ReadAll(); err != nil {
		return fmt.Errorf("session settings: %w", err)
	}
	return nil
}

// liftTimeout turns off a statement timeout of the database or the role, which can be so short that this very statement hits it now and then.
func (c *Conn) liftTimeout(ctx context.Context) (err error) {
	const tries = 50
	for range tries {
		if err = c.Exec(ctx, "SET statement_timeout = 0"); State(err) != StateQueryCanceled || ctx.Err() != nil {
			break
		}
	}
	return err
}

// sessionSettings are SET after connecting: an unknown setting in the startup packet is fatal, and poolers refuse most.
func (c *Conn) sessionSettings(o Options) string {
	encoding := "UTF8"
	switch {
	case o.Purpose == ForData && o.Encoding != "":
		encoding = o.Encoding
	case o.Purpose == ForData, c.Encoding == "SQL_ASCII":
		encoding = c.Encoding
	}
	set := []string{
		"client_encoding = " + QuoteLiteral(encoding), "client_min_messages = warning", "search_path = ''", "row_security = off",
		"synchronize_seqscans = off", "max_parallel_workers_per_gather = 0", "DateStyle = ISO", "IntervalStyle = postgres",
		"TimeZone = 'UTC'", "extra_float_digits = 3", "bytea_output = hex", "xmloption = content", "array_nulls = on", "transform_null_equals = off",
		"standard_conforming_strings = on", "quote_all_identifiers = off", "default_transaction_read_only = off",
		"default_transaction_isolation = 'read committed'", "default_transaction_deferrable = off",
		"statement_timeout = 0", "lock_timeout = 0", "idle_in_transaction_session_timeout = 0",
	}
	if c.Version >= 120000 { // a job that its operator has paused takes nothing for hours
		set = append(set, "tcp_user_timeout = 0")
	}
	if c.Version >= 140000 {
		set = append(set, "idle_session_timeout = 0")
	}
	if c.Version >= 170000 {
		set = append(set, "transaction_timeout = 0")
	}
	if o.Role != "" {
		set = append(set, "ROLE "+QuoteIdent(o.Role))
	}
	return "SET " + strings.Join(set, "; SET ")
}

// ObserveWaits lets begin and end be called around every read from the server, by the goroutine that uses the session, until it is called with
// nils. A read brings 8 to 256 KiB, so this is per block and not per row.
func (c *Conn) ObserveWaits(begin, end func()) { c.messages.begin, c.messages.end = begin, end }

// Exec runs statements that give no rows, through the simple protocol.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	_, err := c.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// ExecTag is Exec for one statement, and gives its command tag's row count.
func (c *Conn) ExecTag(ctx context.Context, sql string) (int64, error) {
	results, err := c.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return 0, err
	}
	return results[len(results)-1].CommandTag.RowsAffected(), nil
}

// PID is the process ID of the session's backend.
func (c *Conn) PID() uint32 { return c.PgConn().PID() }

// Close ends the session; a broken one at once, a good one with a goodbye that waits at most 5 seconds.
func (c *Conn) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = c.Conn.Close(ctx) // the socket is closed in any case
}

// versionNum makes 150018 of "15.18 (Debian 15.18-0+deb12u1)" and 180000 of "18beta1".
func versionNum(s string) int {
	number := s
	if i := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i >= 0 {
		number = s[:i]
	}
	major, rest, _ := strings.Cut(number, ".")
	minor, patch, three := strings.Cut(rest, ".")
	a, _ := strconv.Atoi(major)
	b, _ := strconv.Atoi(minor)
	if a < 10 && three { // 9.6.24
		p, _ := strconv.Atoi(patch)
		return a*10000 + b*100 + p
	}
	if a < 10 {
		return a*10000 + b*100
	}
	return a*10000 + b
}
