package httptest

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// A Line is the outcome of one attempt to connect, see [Site.Connect].
type Line uint8

const (
	Open        Line = iota // connected
	Refused                 // ECONNREFUSED at once
	Unreachable             // EHOSTUNREACH at once
	Lost                    // no answer: the dialer waits until its context ends, or fails with ETIMEDOUT after 127 s as on Linux
	Silent                  // connected, but the server neither reads nor writes; TLS never begins
	HungUp                  // connected and closed at once
	Torn                    // connected and reset at once
	Plain                   // connected, but an https site speaks HTTP without TLS
)

// synTimeout is the time after which a dialer gives up. Linux repeats its first packet six times in this time.
const synTimeout = 127 * time.Second

// A Dial is one attempt to connect to one address.
type Dial struct {
	Time    time.Time
	Address string         // argument of the dialer: "host:port"
	Remote  netip.AddrPort // address of the attempt, zero if the name has none
	Conn    int            // number of the connection, counted from 1, or 0 if there is none
	Err     error
	Via     string // origin of the proxy that made the attempt, or "" for the client
}

// DialContext connects to "host:port" inside the web, whether host is a name or a literal address. It has the signature
// and the errors of [net.Dialer.DialContext]: addresses are tried one after another, and the first error is returned.
func (w *Web) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return w.dial(ctx, "", network, address)
}

func (w *Web) dial(ctx context.Context, via, network, address string) (net.Conn, error) {
	name, port, err := splitHostPort(network, address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	addrs, err := w.lookup(ctx, via, "ip"+network[len("tcp"):], name)
	if err != nil {
		w.record(Dial{Time: time.Now(), Address: address, Err: err, Via: via})
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	var first error
	for _, a := range addrs {
		d := Dial{Time: time.Now(), Address: address, Remote: netip.AddrPortFrom(a, port), Via: via}
		c, err := w.connect(ctx, name, d.Remote)
		if err == nil {
			d.Conn = c.id
			w.record(d)
			return c, nil
		}
		d.Err = &net.OpError{Op: "dial", Net: network, Addr: net.TCPAddrFromAddrPort(d.Remote), Err: err}
		w.record(d)
		if first == nil {
			first = d.Err
		}
	}
	return nil, first
}

func splitHostPort(network, address string) (string, uint16, error) {
	if !slices.Contains([]string{"tcp", "tcp4", "tcp6"}, network) {
		return "", 0, net.UnknownNetworkError(network)
	}
	name, digits, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return "", 0, &net.AddrError{Err: "invalid port", Addr: address}
	}
	return name, uint16(port), nil
}

func (w *Web) record(d Dial) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dials = append(w.dials, d)
}

// connect tries to connect to one address. The script of the site decides the outcome.
func (w *Web) connect(ctx context.Context, name string, to netip.AddrPort) (*conn, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	site, line := w.lineTo(canonicalHost(name), to)
	return w.connectTo(ctx, site, line, to)
}

// connectTo connects to a site with this outcome.
func (w *Web) connectTo(ctx context.Context, site *Site, line Line, to netip.AddrPort) (*conn, error) {
	switch line {
	case Refused:
		return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
	case Unreachable:
		return nil, os.NewSyscallError("connect", syscall.EHOSTUNREACH)
	case Lost:
		return nil, w.lost(ctx)
	}
	client, server := w.newPipe(site, to)
	switch line {
	case Silent:
		return client, nil
	case HungUp:
		server.Close()
		return client, nil
	case Torn:
		server.reset()
		return client, nil
	}
	return client, w.serveConn(ctx, server, site.scheme == "https" && line != Plain)
}

// lineTo returns the site at an address and the outcome of this attempt. If several origins share the address, the
// origin with the dialed name decides. For a literal address the first origin decides.
func (w *Web) lineTo(name string, to netip.AddrPort) (*Site, Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var at *Site
	line := Unreachable
	for _, s := range w.order {
		if !slices.Contains(s.host.home, to.Addr()) {
			continue
		}
		if s.port != to.Port() {
			line = min(line, Refused)
			continue
		}
		if at == nil || s.host == w.findLocked(name) {
			at = s
		}
	}
	if at == nil {
		return nil, line
	}
	return at, at.lineLocked()
}

// lineLocked returns the outcome of the next attempt to connect.
func (s *Site) lineLocked() Line {
	if s.down {
		return Refused
	}
	line, _ := s.lines.next()
	return line
}

// lost waits for an answer that never comes.
func (w *Web) lost(ctx context.Context) error {
	timer := time.NewTimer(synTimeout)
	defer timer.Stop()
	select {
	case <-timer.C:
		return os.NewSyscallError("connect", syscall.ETIMEDOUT)
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ctx.Done():
		return net.ErrClosed
	}
}

// newPipe makes a connection and keeps it until one end closes it or the web ends.
func (w *Web) newPipe(site *Site, to netip.AddrPort) (client, server *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastConn++
	l := &link{web: w, id: w.lastConn, gone: make(chan struct{})}
	from := netip.AddrPortFrom(w.crawler, uint16(32768+l.id%28000))
	client, server = pipe(l, net.TCPAddrFromAddrPort(from), net.TCPAddrFromAddrPort(to))
	l.onEnd = func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.open, client)
	}
	w.open[client] = openConn{server: server, site: site}
	return client, server
}

// An openConn is the far end of a connection and the site it was made to.
type openConn struct {
	server *conn
	site   *Site
}

// serveConn passes the server's end of a new connection to the server.
func (w *Web) serveConn(ctx context.Context, server *conn, secure bool) error {
	var c net.Conn = server
	if secure {
		c = tls.Server(server, w.tlsConfig())
	}
	select {
	case w.accept <- c:
		return nil
	case <-ctx.Done():
		server.reset()
		return ctx.Err()
	case <-w.ctx.Done():
		server.reset()
		return net.ErrClosed
	}
}

// A listener passes the connections of the whole web to its one server.
type listener struct{ w *Web }

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.w.accept:
		return c, nil
	case <-l.w.ctx.Done():
		return nil, io.EOF
	}
}

func (l listener) Close() error   { return nil }
func (l listener) Addr() net.Addr { return &net.TCPAddr{} }
