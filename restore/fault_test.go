package restore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bytehaul/pghaul/internal/pgcluster"
	"github.com/bytehaul/pghaul/internal/pgcluster/pgtest"
	"github.com/bytehaul/pghaul/restore"
)

// commitMessage is the frontend message that ends a segment's transaction, and nothing else.
var commitMessage = []byte("Q\x00\x00\x00\x0bCOMMIT\x00")

// proxy stands between a restore and its server. It cuts the connection at the first COMMIT: on its way there, or with the answer on its way back.
type proxy struct {
	net.Listener
	to       string
	reaches  bool // the COMMIT reaches the server
	cut      atomic.Bool
	sessions sync.WaitGroup
}

func startProxy(t *testing.T, port int, reaches bool) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: fmt.Sprintf("127.0.0.1:%d", port), reaches: reaches}
	p.sessions.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.sessions.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.sessions.Wait()
	})
	return p
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	var silent atomic.Bool
	answered := make(chan struct{})
	p.sessions.Go(func() {
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			if silent.Load() {
				close(answered)
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	})
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if bytes.Equal(buf[:n], commitMessage) && p.cut.CompareAndSwap(false, true) {
			if p.reaches {
				silent.Store(true)
				if _, err := server.Write(buf[:n]); err == nil {
					<-answered
				}
			}
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// TestLostCommitWithoutJournal: when nothing can tell whether rows are in, the error says that, for a second load would double them.
func TestLostCommitWithoutJournal(t *testing.T) {
	cluster := pgtest.Own(t, pgcluster.Options{TCP: true})
	path := oneFile(t, pgtest.DB(t, singleFrom), "a.pgcopy.zst")
	for _, reaches := range []bool{true, false} {
		target := pgtest.DBIn(t, cluster, singleTable)
		p := startProxy(t, cluster.Port(), reaches)
		through := strings.Replace(target, fmt.Sprint(cluster.Port()), fmt.Sprint(p.Addr().(*net.TCPAddr).Port), 1)
		_, err := restore.Run(context.Background(), single(t, path, through, true))
		var failed *restore.Failed
		if !errors.As(err, &failed) || !failed.Unsure || !strings.Contains(failed.Left(), "can't be told") || !strings.Contains(failed.Hint(), "look into the table") {
			t.Errorf("%v", err)
		}
		want := "0"
		if reaches {
			want = "5000"
		}
		if got := pgtest.SQL(t, target, `SELECT count(*) FROM a`); got != want {
			t.Errorf("%s rows, want %s", got, want)
		}
	}
}

func TestLostCommit(t *testing.T) {
	cluster := pgtest.Own(t, pgcluster.Options{TCP: true})
	source := pgtest.DB(t, segmented)
	dir := takeDump(t, source, inSegments)
	for name, reaches := range map[string]bool{"answer lost": true, "never arrived": false} {
		t.Run(name, func(t *testing.T) {
			target := pgtest.DBIn(t, cluster)
			p := startProxy(t, cluster.Port(), reaches)
			through := strings.Replace(target, fmt.Sprint(cluster.Port()), fmt.Sprint(p.Addr().(*net.TCPAddr).Port), 1)
			if through == target {
				t.Fatalf("no port in %s", target)
			}
			o := options(t, dir, through)
			sum, err := restore.Run(context.Background(), o)
			if !p.cut.Load() {
				t.Fatal("the proxy has cut nothing")
			}
			if !reaches {
				var failed *restore.Failed
				if !errors.As(err, &failed) || failed.JournalSchema == "" {
					t.Fatalf("error %v", err)
				}
				o = options(t, dir, through)
				o.Resume = true
				sum = mustRestore(t, o)
			} else if err != nil {
				t.Fatalf("restore: %v", err)
			}
			for _, table := range []string{"a", "b", "c", "u"} {
				same(t, source, target, `SELECT count(*), sum(id) FROM `+table)
			}
			if sum.Proven != 4 {
				t.Errorf("%d tables proven", sum.Proven)
			}
		})
	}
}
