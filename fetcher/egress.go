package fetcher

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rfc9309/polite/pace"
)

// ways are the transports that requests for robots.txt go out by. Redirects are
// where a hostile site could send a crawler into its own network, so those from
// a public address go by a transport that looks at every address before it is
// dialled.
//
// With an *http.Transport as base, open and guarded are clones of it without
// keep-alive: no connection, and no goroutine of one, outlives its retrieval by
// more than a second.
// With any other RoundTripper both are the base itself.
type ways struct {
	open    http.RoundTripper
	guarded http.RoundTripper
	dials   bool // guarded looks at addresses when it dials
	proxy   func(*http.Request) (*url.URL, error)
	allow   func(netip.Addr) error
	own     bool // allow is the caller's rule and binds private sites too
	lookup  lookupFunc
	log     *slog.Logger
}

// lookupFunc resolves a name as net.Resolver.LookupNetIP does.
type lookupFunc = func(ctx context.Context, network, host string) ([]netip.Addr, error)

// newWays prepares the transports. standard says that base is Go's default, of
// which the dialer is known and may be replaced.
func newWays(base http.RoundTripper, standard bool, egress func(netip.Addr) error, log *slog.Logger) *ways {
	w := &ways{open: base, guarded: base, allow: publicOnly, log: log, lookup: net.DefaultResolver.LookupNetIP}
	if egress != nil {
		w.allow, w.own = egress, true
	}
	t, ok := base.(*http.Transport)
	if !ok {
		return w
	}
	open, guarded := t.Clone(), t.Clone()
	for _, c := range []*http.Transport{open, guarded} {
		c.DisableKeepAlives = true
		// An HTTP/2 connection that was dialled for a request that has ended
		// meanwhile has none to end with. Without this it stays.
		c.IdleConnTimeout = time.Second
		c.MaxResponseHeaderBytes = maxHeader
	}
	plain, secure := dialers(t)
	if plain == nil || standard {
		d := &net.Dialer{Timeout: 30 * time.Second, ControlContext: w.control}
		guarded.DialContext = d.DialContext
	} else {
		guarded.DialContext = w.checked(plain)
	}
	if secure != nil {
		guarded.DialTLSContext = w.checked(secure)
	}
	w.open, w.guarded, w.dials, w.proxy = open, guarded, true, t.Proxy
	return w
}

// dialers are the transport's own, nil where it has none. It also honours two
// fields of an earlier age, and so must we: a crawler that dials through a
// tunnel must not go round it.
func dialers(t *http.Transport) (plain, secure dialFunc) {
	plain, secure = t.DialContext, t.DialTLSContext
	//lint:ignore SA1019 honoured, not used
	if dial := t.Dial; plain == nil && dial != nil {
		plain = func(_ context.Context, network, addr string) (net.Conn, error) { return dial(network, addr) }
	}
	//lint:ignore SA1019 honoured, not used
	if dial := t.DialTLS; secure == nil && dial != nil {
		secure = func(_ context.Context, network, addr string) (net.Conn, error) { return dial(network, addr) }
	}
	return plain, secure
}

func (w *ways) closeIdle() {
	for _, rt := range []http.RoundTripper{w.open, w.guarded} {
		if t, ok := rt.(*http.Transport); ok {
			t.CloseIdleConnections()
		}
	}
}

// control refuses an address between resolution and connect.
func (w *ways) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &refusedError{address, err}
	}
	return w.look(ap.Addr())
}

// look asks the rule about an address. A rule of the caller's may be asked on a
// goroutine of net/http's, where a panic would end the program.
func (w *ways) look(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	if err := <-run(w.log, func() error { return w.allow(addr) }); err != nil {
		return &refusedError{addr.String(), err}
	}
	return nil
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// checked guards a dialer that is not ours: a literal address is looked at
// before, the address that was reached before the first octet is sent.
func (w *ways) checked(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		if literal, err := netip.ParseAddr(host); err == nil {
			if err := w.look(literal); err != nil {
				return nil, err
			}
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if remote, ok := addrOf(conn.RemoteAddr()); ok {
			if err := w.look(remote); err != nil {
				conn.Close()
				return nil, err
			}
		}
		return conn, nil
	}
}

// refusedError is an address that a redirect must not lead to.
type refusedError struct {
	to  string
	why error
}

func (e *refusedError) Error() string { return fmt.Sprintf("redirect refused to %s: %v", e.to, e.why) }
func (e *refusedError) Unwrap() error { return e.why }

// path is the way of one retrieval: it learns from the first hop whether the
// site itself is private, and picks the transport of every further hop.
type path struct {
	*ways
	robots  string      // the file that is retrieved
	first   bool        // the next request is that of the initial authority
	private atomic.Bool // the initial authority is; an unknown base may tell so at any time
	turn    pace.Turn   // held for the next request; zero: wait for one
}

func (w *ways) start(robots string) *path { return &path{ways: w, robots: robots, first: true} }

// roundTrip makes one request.
func (p *path) roundTrip(req *http.Request) (*http.Response, error) {
	if !p.first {
		if p.free() || p.proxied(req) {
			return p.open.RoundTrip(req)
		}
		return p.guarded.RoundTrip(req)
	}
	if literal, err := netip.ParseAddr(strings.Trim(req.URL.Hostname(), "[]")); err == nil {
		p.private.Store(publicOnly(literal.Unmap()) != nil)
	} else if req.URL.Hostname() == "localhost" {
		p.private.Store(true)
	}
	if p.proxied(req) {
		return p.open.RoundTrip(req)
	}
	// A connection tells its peer also when the base is one we know nothing of.
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if addr, ok := addrOf(info.Conn.RemoteAddr()); ok {
			p.private.Store(publicOnly(addr) != nil)
		}
	}}
	return p.open.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
}

// free reports that redirects may lead anywhere: a private site may redirect
// within its network, unless the caller's own rule says otherwise.
func (p *path) free() bool { return p.private.Load() && !p.own }

func (p *path) proxied(req *http.Request) bool {
	if p.proxy == nil {
		return false
	}
	u, err := p.proxy(req)
	return u != nil || err != nil
}

// mayGo asks before a redirect is followed. Where our own dialer makes the
// connection that is only about a literal address; the rest is seen at dial
// time. Through a proxy or an unknown RoundTripper the name is resolved here,
// which is the best that can be done: the other side may resolve it differently.
func (p *path) mayGo(ctx context.Context, to *url.URL) error {
	p.first = false
	if p.free() {
		return nil
	}
	host := to.Hostname()
	if addr, err := netip.ParseAddr(host); err == nil {
		return p.look(addr)
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return p.look(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	if p.dials && !p.proxied(&http.Request{Method: http.MethodGet, URL: to, Header: http.Header{}}) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	addrs, err := p.lookup(ctx, "ip", host)
	if err != nil {
		return nil // whoever dials will see for himself
	}
	for _, a := range addrs {
		if err := p.look(a); err != nil {
			return err
		}
	}
	return nil
}

// addrOf is the IP address of a peer, if it has one.
func addrOf(a net.Addr) (netip.Addr, bool) {
	if a == nil {
		return netip.Addr{}, false
	}
	ap, err := netip.ParseAddrPort(a.String())
	return ap.Addr().Unmap().WithZone(""), err == nil
}

// special lists what is not a public unicast address, after IANA's registries of
// special-purpose addresses.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
	"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/9", "ff00::/8",
)

func prefixes(list ...string) []netip.Prefix {
	p := make([]netip.Prefix, len(list))
	for i, s := range list {
		p[i] = netip.MustParsePrefix(s)
	}
	return p
}

// publicOnly is the default rule: an error for a private, loopback, link-local,
// multicast or otherwise special address, also one inside a 6to4 or NAT64
// address.
func publicOnly(addr netip.Addr) error {
	addr = addr.Unmap()
	for _, p := range special {
		if p.Contains(addr) {
			return fmt.Errorf("not a public address (%s)", p)
		}
	}
	if !addr.Is6() {
		return nil
	}
	b := addr.As16()
	switch {
	case b[0] == 0x20 && b[1] == 0x02: // 2002::/16, 6to4
		return publicOnly(netip.AddrFrom4([4]byte(b[2:6])))
	case [12]byte(b[:12]) == nat64:
		return publicOnly(netip.AddrFrom4([4]byte(b[12:16])))
	}
	return nil
}

// nat64 is 64:ff9b::/96.
var nat64 = [12]byte{0x00, 0x64, 0xff, 0x9b}
