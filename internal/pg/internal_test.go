package pg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestVersionNum(t *testing.T) {
	for s, want := range map[string]int{
		"15.18 (Debian 15.18-0+deb12u1)": 150018, "18.4": 180004, "10.23": 100023, "18beta1": 180000, "17rc1": 170000, "19devel": 190000, "9.6.24": 90624, "9.6": 90600, "9.4.26beta": 90426,
		"16.1-foo": 160001, "": 0, "x": 0, "14.2.3": 140002, "8.3": 80300,
	} {
		if got := versionNum(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}

func TestSameFloats(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"(0.10000000000000001, 1)", "(0.1, 1)", true}, {"1e+300", "1.0000000000000001e+300", true}, {"(-0.1)", "(0.1)", false}, {"0.1", "0.2", false}, {"9007199254740993", "9007199254740992", false},
		{"(0.1,x)", "(0.1,y)", false}, {"0.1", "0.1 0.1", false}, {"", "", true}, {"1.5", "(1.5)", false}, {"1e999", "2e999", false},
	} {
		if got := sameFloats(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %t, want %t", c.a, c.b, got, c.want)
		}
	}
}

func TestConnectionLost(t *testing.T) {
	pgErr := func(code string) error { return &pgconn.PgError{Code: code} }
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{pgErr("57P01"), true}, {pgErr("57P02"), true}, {pgErr("57P03"), true}, {pgErr("08006"), true}, {pgErr("08P01"), true},
		{pgErr("57014"), false}, {pgErr("42P01"), false}, {pgErr("55P03"), false}, {pgErr("23505"), false}, {pgErr("53100"), false},
		{Wrap(pgErr("57P01"), "COPY"), true}, {fmt.Errorf("a: %w", Wrap(pgErr("57P01"), "COPY")), true},
		{errors.Join(errors.New("x"), Wrap(errors.New("conn closed"), "ping")), true}, {errors.New("table conn closed"), false},
		{io.ErrUnexpectedEOF, true}, {fmt.Errorf("x: %w", io.ErrUnexpectedEOF), true},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, true},
		{&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, true}, {net.ErrClosed, true},
		// our own side's troubles are no reason to ask the server again
		{&os.PathError{Op: "write", Path: "/dump/x", Err: syscall.EPIPE}, false}, {&os.PathError{Op: "write", Path: "/dump/x", Err: syscall.ENOSPC}, false},
		{fmt.Errorf("data/0001: %w", &os.PathError{Op: "write", Path: "broken pipe", Err: syscall.EIO}), false},
		{errors.New(`table "unexpected EOF": damaged`), false}, {context.Canceled, false}, {syscall.EPIPE, false},
	} {
		if got := ConnectionLost(c.err); got != c.want {
			t.Errorf("%#v (%v): %v, want %v", c.err, c.err, got, c.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	e := &pgconn.PgError{Severity: "ERROR", Code: "23505", Message: "duplicate\nkey", Detail: "Key (id)=(1)", Where: "COPY t, line 3", Hint: "none"}
	want := "ERROR: duplicate key (SQLSTATE 23505); DETAIL: Key (id)=(1); CONTEXT: COPY t, line 3; HINT: none"
	if got := Describe(e); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := Wrap(e, "load of %q", "t").Error(); got != `load of "t": `+want {
		t.Errorf("wrapped: %s", got)
	}
	if Wrap(nil, "x") != nil {
		t.Error("Wrap makes an error of none")
	}
	if State(Wrap(e, "x")) != "23505" || State(errors.New("x")) != "" || State(nil) != "" {
		t.Error("State")
	}
	if got := Describe(&pgconn.PgError{Message: "a\x1b[31mred\rb\tc\u0085d"}); strings.ContainsAny(got, "\x1b\r\n\u0085") {
		t.Errorf("control characters of the server's text get through: %q", got)
	}
}

func TestQuote(t *testing.T) {
	if got := QuoteName(`a"b`, "C d"); got != `"a""b"."C d"` {
		t.Error(got)
	}
	if got := QuoteLiteral(`it's \ x`); got != `'it''s \ x'` {
		t.Error(got)
	}
}

func TestParsePattern(t *testing.T) {
	for s, want := range map[string]Pattern{
		"orders":   {Name: "^(orders)$"},
		"Orders":   {Name: "^(orders)$"},
		`"Orders"`: {Name: "^(Orders)$"}, `"a.b".c*`: {Schema: `^(a\.b)$`, Name: "^(c.*)$"}, `a"B""c"d`: {Name: `^(aB"cd)$`}, "x?": {Name: "^(x.)$"}, `"x?"`: {Name: `^(x\?)$`},
		"a|b": {Name: "^(a|b)$"}, "a$": {Name: `^(a\$)$`}, "int[]": {Name: `^(int\[])$`}, "[ab]x": {Name: "^([ab]x)$"}, "Ä": {Name: "^(Ä)$"}, "*.*": {Schema: "^(.*)$", Name: "^(.*)$"},
	} {
		got, err := ParseTablePattern(s)
		want.Given = s
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "a.b.c", `"a`, `a"b`} {
		if p, err := ParseTablePattern(s); err == nil {
			t.Errorf("%q: %+v", s, p)
		}
	}
	if p, err := ParseSchemaPattern("a.b"); err == nil {
		t.Errorf("schema a.b: %+v", p)
	}
}
