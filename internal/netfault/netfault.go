// Package netfault is a proxy that stands between a client and a PostgreSQL server and breaks the network for tests: it cuts a connection after so
// many bytes, stops forwarding while both sides stay connected, hands bytes on in small pieces, or late. What a client has sent decides which
// connections are meant, so that a test needs no luck with the order in which they come.
package netfault

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Rule is what happens to a connection. The zero value forwards everything as it comes.
type Rule struct {
	// Match arms the rule when the client sends this text ("COPY "); "": from the start. Until then the connection works as usual.
	Match string
	// Times bounds the connections that the rule hits; 0: all.
	Times int
	// After is how many bytes the server may still send to the client once the rule is armed.
	After int64
	// Then is what happens behind them.
	Then Fault
	// Piece is the most bytes that the client gets at a time; 0: as they come.
	Piece int
	// Delay is the pause before each write to the client.
	Delay time.Duration
}

// Fault is what happens to a connection that a rule hits.
type Fault int

// Faults.
const (
	None  Fault = iota
	Cut         // both sides are closed
	Reset       // both sides are closed, and the client sees a connection reset
	Stall       // nothing is forwarded from the server any more, as if the network were gone; Resume ends it
)

// Proxy forwards connections until Close. Its methods are safe for concurrent use.
type Proxy struct {
	network, address string // of the server
	listener         net.Listener
	wg               sync.WaitGroup

	mu      sync.Mutex
	rule    Rule
	hits    int
	conns   map[*link]bool
	closed  bool
	resume  chan struct{} // closed by Resume
	changed chan struct{} // closed, and made anew, when hits grows
}

// link is one client's connection and the one to the server that belongs to it.
type link struct {
	client, server net.Conn
	mu             sync.Mutex
	armed          *Rule
	resume         chan struct{}
	done           chan struct{}
	once           sync.Once
}

// New listens on a free port of 127.0.0.1 and forwards to a server, whose address is one for net.Dial ("unix", "/tmp/.s.PGSQL.5432").
func New(network, address string, rule Rule) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{network: network, address: address, listener: l, rule: rule, conns: map[*link]bool{}, resume: make(chan struct{}), changed: make(chan struct{})}
	p.wg.Go(p.accept)
	return p, nil
}

// Port is where clients connect to, on 127.0.0.1.
func (p *Proxy) Port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// SetRule changes the rule for connections that are not armed yet.
func (p *Proxy) SetRule(r Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule, p.hits = r, 0
}

// Hits is on how many connections the present rule has done its work.
func (p *Proxy) Hits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hits
}

// WaitHits waits until the rule has hit so many connections.
func (p *Proxy) WaitHits(ctx context.Context, n int) error {
	for {
		p.mu.Lock()
		enough, changed := p.hits >= n, p.changed
		p.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Resume lets stalled connections go on.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.resume)
	p.resume = make(chan struct{})
}

// CutAll closes all connections that there are.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.conns {
		l.close(false)
	}
}

// Close ends all connections, and returns when every goroutine is gone.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.CutAll()
	p.wg.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial(p.network, p.address)
		if err != nil {
			_ = client.Close() // what a client sees of a server that is not there
			continue
		}
		l := &link{client: client, server: server, done: make(chan struct{})}
		p.mu.Lock()
		if p.closed {
			l.close(false)
		}
		p.conns[l] = true
		p.mu.Unlock()
		if p.currentRule().Match == "" {
			p.arm(l)
		}
		p.wg.Go(func() { p.up(l) })
		p.wg.Go(func() { p.down(l) })
	}
}

func (p *Proxy) currentRule() Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rule
}

// arm puts the rule into force for a connection, if there are some left.
func (p *Proxy) arm(l *link) {
	p.mu.Lock()
	rule, left := p.rule, p.rule.Times == 0 || p.hits < p.rule.Times
	resume := p.resume
	if left {
		p.hits++
		close(p.changed)
		p.changed = make(chan struct{})
	}
	p.mu.Unlock()
	if left {
		l.mu.Lock()
		l.armed, l.resume = &rule, resume
		l.mu.Unlock()
	}
}

// up forwards what the client says, and listens for the rule's text, across reads too.
func (p *Proxy) up(l *link) {
	defer l.close(false)
	buf := make([]byte, 64<<10)
	var tail []byte
	for {
		n, err := l.client.Read(buf)
		if n > 0 {
			if match := p.currentRule().Match; match != "" && l.rule() == nil {
				seen := append(tail, buf[:n]...)
				if bytes.Contains(seen, []byte(match)) {
					p.arm(l)
				}
				tail = bytes.Clone(seen[max(0, len(seen)-len(match)+1):])
			}
			if _, werr := l.server.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// down forwards what the server says, as the rule lets it.
func (p *Proxy) down(l *link) {
	defer func() {
		l.close(false)
		p.mu.Lock()
		delete(p.conns, l)
		p.mu.Unlock()
	}()
	buf := make([]byte, 64<<10)
	sent := int64(0) // since the rule is armed
	for {
		n, err := l.server.Read(buf)
		for rest := buf[:n]; len(rest) > 0; {
			piece := rest
			rule := l.rule()
			if rule != nil {
				if rule.Then != None && sent >= rule.After {
					if !l.fault(rule.Then) {
						return
					}
					l.disarm()
					continue
				}
				if rule.Then != None {
					piece = piece[:min(int64(len(piece)), rule.After-sent)]
				}
				if rule.Piece > 0 {
					piece = piece[:min(len(piece), rule.Piece)]
				}
				if rule.Delay > 0 && !l.pause(rule.Delay) {
					return
				}
				sent += int64(len(piece))
			}
			if _, werr := l.client.Write(piece); werr != nil {
				return
			}
			rest = rest[len(piece):]
		}
		if err != nil {
			return
		}
	}
}

func (l *link) rule() *Rule {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.armed
}

// disarm leaves a rule in place that does nothing, so that it is not armed again.
func (l *link) disarm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = &Rule{}
}

// fault does what the rule says, and tells whether the connection goes on.
func (l *link) fault(f Fault) bool {
	if f != Stall {
		l.close(f == Reset)
		return false
	}
	select {
	case <-l.resume:
		return true
	case <-l.done:
		return false
	}
}

func (l *link) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.done:
		return false
	}
}

// close ends both sides, once.
func (l *link) close(reset bool) {
	l.once.Do(func() {
		if c, ok := l.client.(*net.TCPConn); ok && reset {
			_ = c.SetLinger(0) // at worst an ordinary close
		}
		_ = errors.Join(l.client.Close(), l.server.Close()) // the other side may have closed before
		close(l.done)
	})
}
