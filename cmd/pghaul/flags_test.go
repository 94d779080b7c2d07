package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bytehaul/pghaul/dump"
	"github.com/bytehaul/pghaul/format"
	"github.com/bytehaul/pghaul/internal/pg"
	"github.com/bytehaul/pghaul/restore"
)

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{"0": 0, "65536": 65536, "64kB": 64 << 10, "4MB": 4 << 20, "256MB": 256 << 20, "1GB": 1 << 30, "2TB": 2 << 40, "8B": 8,
		"9223372036854775807": math.MaxInt64} {
		got, err := parseSize(in)
		if err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v; want %d", in, got, err, want)
		}
		if again, err := parseSize(formatSize(want)); err != nil || again != want {
			t.Errorf("formatSize(%d) = %q, which reads as %d, %v", want, formatSize(want), again, err)
		}
	}
	for _, in := range []string{"", "-1", "-1MB", "4 MiB", "4mb", "1.5GB", "MB", "9223372036854775807kB", "8388608TB"} {
		if got, err := parseSize(in); err == nil {
			t.Errorf("parseSize(%q) = %d", in, got)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{"0": 0, "500": 500 * time.Millisecond, "500ms": 500 * time.Millisecond, "10s": 10 * time.Second, "5min": 5 * time.Minute,
		"2h": 2 * time.Hour, "1d": 24 * time.Hour, "1m30s": 90 * time.Second} {
		if got, err := parseDuration(in); err != nil || got != want {
			t.Errorf("parseDuration(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "soon", "-1", "-5s", "1 s", "99999d", "d"} {
		if got, err := parseDuration(in); err == nil {
			t.Errorf("parseDuration(%q) = %v", in, got)
		}
	}
}

func TestParseWhere(t *testing.T) {
	got, err := parseWhere([]string{"orders:id > 7", `s."a:b": x::int = 1`})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"orders": "id > 7", `s."a:b"`: "x::int = 1"}, got); diff != "" {
		t.Error(diff)
	}
	for _, in := range [][]string{{"orders"}, {":x"}, {"orders:"}, {"orders: "}, {"a:b", "a:c"}, {`"a:b`}} {
		if got, err := parseWhere(in); err == nil {
			t.Errorf("parseWhere(%q) = %v", in, got)
		}
	}
}

func TestSplitNames(t *testing.T) {
	for in, want := range map[string][]string{"a": {"a"}, "a,b": {"a", "b"}, `"a,b",c`: {"a,b", "c"}, `"say ""x"""`: {`say "x"`}, "": {""}} {
		if diff := cmp.Diff(want, splitNames(in)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}

func TestExitCodes(t *testing.T) {
	interrupted, cancel := context.WithCancelCause(context.Background())
	cancel(errInterrupted{os.Interrupt})
	plain := context.Background()
	damaged := &format.Error{File: "x", Kind: format.ErrTruncated}
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
	}{
		{"done", plain, nil, 0},
		{"any error", plain, errors.New("boom"), 1},
		{"unreadable file", plain, &format.Error{Kind: format.ErrRead, Err: os.ErrPermission}, 1},
		{"cancelled by another", plain, context.Canceled, 1},
		{"usage", plain, usagef("no"), 2},
		{"password in the DSN", plain, fmt.Errorf("x: %w", pg.ErrPasswordInDSN), 2},
		{"dump refused", plain, fmt.Errorf("x: %w", &dump.Refused{}), 3},
		{"restore refused", plain, &restore.Refused{}, 3},
		{"found", plain, errFound, 3},
		{"damage", plain, fmt.Errorf("x: %w", damaged), 3},
		{"unfinished", plain, format.ErrUnfinished, 3},
		{"gaps", plain, errIncomplete, 4},
		{"part-way", plain, &restore.Failed{Err: errors.New("boom")}, 4},
		{"interrupted", interrupted, context.Canceled, 130},
		{"interrupted, and the job says so in its way", interrupted, &restore.Failed{Err: context.Canceled}, 130},
		{"done in spite of the interrupt", interrupted, nil, 0},
		{"reader gone", plain, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, 141},
	} {
		if got := new(app).exitCode(c.ctx, c.err); got != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, got, c.want)
		}
	}
}
