//go:build unix

package fleettest

import (
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/rfc9309/polite/internal/redistest"
)

// A Proxy passes bytes to a server of Redis.
type Proxy struct {
	listener net.Listener
	gate     sync.RWMutex // locked while no byte passes
	delay    time.Duration
	jitter   time.Duration
}

// StartProxy starts a proxy through which each byte takes the delay and a random part of the
// jitter, on each way. It ends with the test.
func StartProxy(t redistest.T, s *redistest.Server, delay, jitter time.Duration) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { l.Close() })
	p := &Proxy{listener: l, delay: delay, jitter: jitter}
	go func() { // ends with the listener; what it starts ends with either side
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", s.Addr())
			if err != nil {
				near.Close()
				continue
			}
			go p.pass(far, near)
			go p.pass(near, far)
		}
	}()
	return p
}

// URL is the URL for redis.Open.
func (p *Proxy) URL() string { return "redis://" + p.listener.Addr().String() }

// Cut keeps connections open, but no byte passes until Heal. Those under way arrive then.
func (p *Proxy) Cut()  { p.gate.Lock() }
func (p *Proxy) Heal() { p.gate.Unlock() }

// pass copies one direction until either side closes.
func (p *Proxy) pass(to, from net.Conn) {
	type chunk struct {
		bytes []byte
		due   time.Time
	}
	chunks := make(chan chunk, 4096)
	go func() { // ends when from is closed
		defer close(chunks)
		for {
			b := make([]byte, 16<<10)
			n, err := from.Read(b)
			if err != nil {
				return
			}
			chunks <- chunk{b[:n], time.Now().Add(p.delay + rand.N(p.jitter+1))}
		}
	}()
	for c := range chunks {
		<-time.After(time.Until(c.due))
		p.gate.RLock()
		_, err := to.Write(c.bytes)
		p.gate.RUnlock()
		if err != nil {
			break
		}
	}
	to.Close()
	from.Close()
	for range chunks { // lets the goroutine above end
	}
}
