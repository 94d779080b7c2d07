package netfault_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bytehaul/pghaul/internal/netfault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that answers each byte by 1000 of the same.
func echo(t *testing.T) (network, address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 1)
				for {
					if _, err := io.ReadFull(c, b); err != nil {
						return
					}
					if _, err := c.Write(bytes.Repeat(b, 1000)); err != nil {
						return
					}
				}
			}()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "tcp", l.Addr().String()
}

func dial(t *testing.T, p *netfault.Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.Port()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

func proxy(t *testing.T, r netfault.Rule) *netfault.Proxy {
	t.Helper()
	network, address := echo(t)
	p, err := netfault.New(network, address, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// say sends and reads n bytes of answer; it gives how many came.
func say(c net.Conn, s string, n int) (int, error) {
	if _, err := io.WriteString(c, s); err != nil {
		return 0, err
	}
	return io.ReadFull(c, make([]byte, n))
}

func TestForward(t *testing.T) {
	p := proxy(t, netfault.Rule{})
	if n, err := say(dial(t, p), "ab", 2000); n != 2000 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	p = proxy(t, netfault.Rule{Piece: 7, Delay: time.Microsecond})
	c := dial(t, p)
	if n, err := say(c, "a", 1000); n != 1000 || err != nil {
		t.Errorf("in pieces: %d bytes, %v", n, err)
	}
}

func TestCut(t *testing.T) {
	for fault, want := range map[netfault.Fault]error{netfault.Cut: io.ErrUnexpectedEOF, netfault.Reset: syscall.ECONNRESET} {
		p := proxy(t, netfault.Rule{Match: "XY", Times: 1, After: 1500, Then: fault})
		other := dial(t, p)
		c := dial(t, p)
		if n, err := say(c, "aX", 2000); n != 2000 || err != nil {
			t.Fatalf("before the rule: %d, %v", n, err)
		}
		n, err := say(c, "Ybc", 4000) // the text is split over two writes
		if fault == netfault.Cut && n != 1500 || n > 1500 || !errors.Is(err, want) {
			t.Errorf("fault %d: %d bytes, %v", fault, n, err)
		}
		if n, err := say(other, "XYZ", 3000); n != 3000 || err != nil || p.Hits() != 1 {
			t.Errorf("a second connection is hit: %d, %v, %d hits", n, err, p.Hits())
		}
	}
}

func TestStall(t *testing.T) {
	p := proxy(t, netfault.Rule{Match: "X", After: 10, Then: netfault.Stall})
	c := dial(t, p)
	if n, err := say(c, "X", 10); n != 10 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.WaitHits(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("a stalled connection gives %d bytes, %v", n, err)
	}
	p.Resume()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, err := io.ReadFull(c, make([]byte, 990)); n != 990 || err != nil {
		t.Errorf("after Resume: %d, %v", n, err)
	}
	p.CutAll()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("cut, and still there")
	}
	cancel()
	if err := p.WaitHits(ctx, 99); err == nil {
		t.Error("WaitHits does not end with its context")
	}
}
