package httptest

import (
	"bufio"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Serve serves a site to the outside: it copies every connection that l accepts into the web, so all scripts and faults
// apply. A line that cannot connect, such as [Refused], resets the connection. A second site may be the https site of an
// http site: the first byte of a connection tells which one the client wants. Serve returns when l is closed; the
// connections end with the web.
func (w *Web) Serve(l net.Listener, sites ...*Site) {
	w.served.Store(true)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go w.bridge(c.(*net.TCPConn), sites) // ends when either end has closed its connection
	}
}

// bridge copies a connection from outside into the web.
func (w *Web) bridge(outside *net.TCPConn, sites []*Site) {
	defer outside.Close()
	in := bufio.NewReader(outside)
	site := sites[0]
	if len(sites) > 1 {
		first, err := in.Peek(1)
		if err != nil {
			return
		}
		const handshake = 22 // content type of the first TLS record (RFC 8446, section 5.1)
		wanted := func(s *Site) bool { return (s.scheme == "https") == (first[0] == handshake) }
		site = sites[max(slices.IndexFunc(sites, wanted), 0)]
	}
	w.mu.Lock()
	line, to := site.lineLocked(), netip.AddrPortFrom(site.host.home[0], site.port)
	w.mu.Unlock()
	dial := Dial{Time: time.Now(), Address: outside.LocalAddr().String(), Remote: to}
	inside, err := w.connectTo(w.ctx, site, line, to)
	if dial.Err = err; err == nil {
		dial.Conn = inside.id
	}
	w.record(dial)
	if err != nil {
		outside.SetLinger(0)
		return
	}
	sent := make(chan struct{})
	go func() { // ends when either end has closed its connection
		defer close(sent)
		if _, err := io.Copy(inside, in); err != nil {
			inside.reset()
			return
		}
		inside.CloseWrite()
	}()
	if _, err := io.Copy(outside, inside); err != nil {
		inside.reset()
		outside.SetLinger(0)
		return
	}
	outside.CloseWrite()
	select { // let the client read the answer before the connection is closed
	case <-sent:
	case <-time.After(lingering):
	}
}

// lingering is how long a connection from outside stays open after the web has closed it.
const lingering = 500 * time.Millisecond
