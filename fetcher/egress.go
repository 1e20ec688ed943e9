package fetcher

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// ways are the transports that requests for robots.txt go out by. Redirects are
// where a hostile site could send a crawler into its own network, so hops after a
// public address go by a transport that checks every address before it connects.
//
// With an *http.Transport as base, open and guarded are clones of it without
// keep-alive: no connection, and no goroutine of one, outlives its retrieval by
// more than a second. With any other RoundTripper open is the base itself.
type ways struct {
	open    http.RoundTripper                     // checks nothing
	guarded http.RoundTripper                     // checks each address before it connects; nil with an unknown base
	base    http.RoundTripper                     // for pages, with keep-alive
	pages   http.RoundTripper                     // for pages under the rule: checks each address; nil with an unknown base
	strict  bool                                  // Options.PageEgress: the rule binds pages and first hops, too
	ours    bool                                  // connections are made by net.Dialer, so a peer's address is the site's
	proxy   func(*http.Request) (*url.URL, error) // of the base; nil without one
	allow   func(netip.Addr) error                // the address rule
	own     bool                                  // allow is the caller's rule and binds private sites too
	lookup  lookupFunc
	log     *slog.Logger
}

// lookupFunc resolves a name as net.Resolver.LookupNetIP does.
type lookupFunc = func(ctx context.Context, network, host string) ([]netip.Addr, error)

// newWays prepares the transports. A nil Options.Base is Go's default, whose
// dialer is known and may be replaced.
func newWays(base http.RoundTripper, o *Options, log *slog.Logger) *ways {
	w := &ways{open: base, base: base, strict: o.PageEgress, allow: publicOnly, log: log, lookup: net.DefaultResolver.LookupNetIP}
	if o.Egress != nil {
		w.allow, w.own = o.Egress, true
	}
	t, ok := base.(*http.Transport)
	if !ok {
		return w
	}
	w.ours, w.proxy = o.Base == nil || !dials(t), t.Proxy
	w.open, w.guarded = brief(t.Clone()), brief(w.guard(t))
	if w.strict {
		w.pages = w.guard(t)
	}
	return w
}

// guard returns a clone of the base that checks each address before it connects.
func (w *ways) guard(base *http.Transport) *http.Transport {
	t := base.Clone()
	// The clone has a dialer, with which net/http does without HTTP/2 unless told.
	t.ForceAttemptHTTP2 = base.TLSNextProto["h2"] != nil
	t.DialContext = (&net.Dialer{Timeout: dialTime, ControlContext: w.control}).DialContext
	if dial := dialer(base); dial != nil && !w.ours {
		t.DialContext = w.resolved(dial)
	}
	// A TLS dialer has to know the name to verify, and could be given nothing but
	// the address: net/http does TLS in its place.
	//lint:ignore SA1019 honoured by net/http
	t.DialTLS, t.DialTLSContext = nil, nil
	return t
}

// brief prepares a transport for robots.txt, of which a host is asked once a day.
func brief(t *http.Transport) *http.Transport {
	t.DisableKeepAlives = true
	// An HTTP/2 connection that was dialled for a request that has ended
	// meanwhile has none to end with. Without this it stays.
	t.IdleConnTimeout = time.Second
	t.MaxResponseHeaderBytes = maxHeader
	return t
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// dialer is the transport's own, nil if it has none. It also honours a field of
// an earlier age: a crawler that dials through a tunnel must not go round it.
func dialer(t *http.Transport) dialFunc {
	//lint:ignore SA1019 honoured, not used
	dial := t.Dial
	if t.DialContext != nil || dial == nil {
		return t.DialContext
	}
	return func(_ context.Context, network, addr string) (net.Conn, error) { return dial(network, addr) }
}

// dials reports whether a transport has a dialer of its own, of any kind.
func dials(t *http.Transport) bool {
	//lint:ignore SA1019 honoured, not used
	return t.DialContext != nil || t.Dial != nil || t.DialTLSContext != nil || t.DialTLS != nil
}

func (w *ways) closeIdle() {
	for _, rt := range []http.RoundTripper{w.open, w.guarded, w.pages} {
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
	return w.check(ap.Addr())
}

// dialTime bounds the time to connect, shared out among the addresses of a name.
const dialTime = 30 * time.Second

// resolved makes a dialer that is not ours connect to addresses that were
// checked: it is given one literal address after the other. A name that only the
// dialer can resolve is checked by the address of its connection, before anything
// is sent.
func (w *ways) resolved(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		addrs, err := w.resolve(ctx, network, host)
		if err != nil {
			return w.connected(dial(ctx, network, addr))
		}
		var failures []error
		for _, a := range addrs {
			err := w.check(a)
			if err == nil {
				var conn net.Conn
				conn, err = dialFor(ctx, dialTime/time.Duration(len(addrs)), dial, network, net.JoinHostPort(a.String(), port))
				if err == nil {
					return conn, nil
				}
			}
			failures = append(failures, err)
		}
		return nil, failures[0]
	}
}

// dialFor calls dial with a context that ends after limit, unless it has returned
// by then: a connection may live as long as its context.
func dialFor(ctx context.Context, limit time.Duration, dial dialFunc, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer time.AfterFunc(limit, cancel).Stop()
	return dial(ctx, network, addr)
}

// connected closes a connection to an address that is refused.
func (w *ways) connected(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	if remote, ok := addrOf(conn.RemoteAddr()); ok {
		if err := w.check(remote.Addr()); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

// lookupTime bounds the time to resolve one name.
const lookupTime = 2 * time.Second

// resolve returns the addresses of a host as this machine sees them, at least
// one. IPv4 comes first: a dialer that is given one address cannot change over
// from an IPv6 that does not work.
func (w *ways) resolve(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if addr, ok := literal(host); ok {
		return []netip.Addr{addr}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	addrs, err := w.lookup(ctx, strings.Replace(network, "tcp", "ip", 1), host)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	addrs = slices.Clone(addrs)
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return a.Unmap().BitLen() - b.Unmap().BitLen() })
	return addrs, err
}

// literal is the address that a host names without any resolution.
func literal(host string) (netip.Addr, bool) {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return addr, err == nil
}

// check applies the rule to an address. A rule of the caller's may be called on a
// goroutine of net/http's, where a panic would end the program.
func (w *ways) check(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	if err := <-run(w.log, func() error { return w.allow(addr) }); err != nil {
		return &refusedError{addr.String(), err}
	}
	return nil
}

// refusedError is an address that must not be connected to.
type refusedError struct {
	to  string
	why error
}

func (e *refusedError) Error() string { return fmt.Sprintf("must not connect to %s: %v", e.to, e.why) }
func (e *refusedError) Unwrap() error { return e.why }

// route is the way of one retrieval through the web. Once a hop of it has been
// answered from a public address, or from one that could not be seen, no later
// hop may lead to a special address.
type route struct {
	ways    *ways
	initial string                         // host of the initial authority, "" if it is bound by the rule, too
	guard   bool                           // the next hop must lead to a permitted address
	inside  bool                           // every hop so far was answered from a special address
	peer    atomic.Pointer[netip.AddrPort] // address that the last connection to a site was made to
	relay   netip.AddrPort                 // peer of the first hop
}

func newRoute(w *ways, initial *url.URL) *route {
	r := &route{ways: w, guard: w.strict, inside: true}
	if !w.strict {
		r.initial = initial.Hostname()
	}
	return r
}

// roundTrip makes one request. cancel ends its context.
func (r *route) roundTrip(req *http.Request, cancel context.CancelCauseFunc) (*http.Response, error) {
	if r.guard && r.ways.guarded != nil && !r.ways.proxied(req) {
		return r.ways.guarded.RoundTrip(req)
	}
	r.peer.Store(nil)
	trace := httptrace.WithClientTrace(req.Context(), r.watch(hostPort(req.URL), cancel))
	return r.ways.open.RoundTrip(req.WithContext(trace))
}

// watch is told by net/http of the connections for a request, also below a base
// that is not known. One to a proxy counts for nothing. One that is refused is
// closed before the request is written to it; by HTTP/2, where others use it too,
// the request is canceled.
func (r *route) watch(target string, cancel context.CancelCauseFunc) *httptrace.ClientTrace {
	var direct atomic.Bool
	return &httptrace.ClientTrace{
		GetConn: func(to string) { direct.Store(to == target) },
		GotConn: func(info httptrace.GotConnInfo) {
			addr, ok := addrOf(info.Conn.RemoteAddr())
			if !ok || !direct.Load() {
				return
			}
			r.peer.Store(&addr)
			if !r.guard || addr == r.relay {
				return
			}
			if err := r.ways.check(addr.Addr()); err != nil {
				cancel(err)
				if !shared(info.Conn) {
					info.Conn.Close()
				}
			}
		},
	}
}

// shared reports whether a connection carries the requests of others.
func shared(c net.Conn) bool {
	secure, ok := c.(interface{ ConnectionState() tls.ConnectionState })
	return ok && secure.ConnectionState().NegotiatedProtocol == "h2"
}

// proxied reports whether a request goes by a proxy of the base.
func (w *ways) proxied(req *http.Request) bool {
	if w.proxy == nil {
		return false
	}
	u, err := w.proxy(req)
	return u != nil || err != nil
}

// extend prepares the hop that a redirect leads to, or refuses it. A site may
// always redirect to itself by a local name.
func (r *route) extend(ctx context.Context, from, to *url.URL) error {
	r.arrived(ctx, from.Hostname())
	r.guard = !r.inside || r.ways.own || r.ways.strict
	if !r.guard {
		return nil
	}
	return r.ways.permits(ctx, to, r.initial)
}

// permits checks the host of a URL that is about to be requested, as far as that
// can be done without a connection. Where a guarded transport makes the connection
// it checks what a name resolves to. Through a proxy or an unknown base the name is
// resolved here; the other side may resolve it differently. A local name that this
// machine cannot resolve is refused, but for one that is trusted.
func (w *ways) permits(ctx context.Context, to *url.URL, trusted string) error {
	host := to.Hostname()
	_, known := literal(host)
	seen := w.guarded != nil && !w.proxied(&http.Request{Method: http.MethodGet, URL: to, Header: http.Header{}})
	if seen && !known && (w.ours || !specialUse(host)) {
		return nil
	}
	addrs, err := w.resolve(ctx, "ip", host)
	switch {
	case err == nil:
		return w.checkAll(addrs)
	case specialUse(host) && host != trusted:
		return &refusedError{host, errors.New("a name of a local network that this machine cannot resolve")}
	}
	return nil
}

// page requests a page, under Options.PageEgress only if its address is permitted.
func (w *ways) page(req *http.Request) (*http.Response, error) {
	switch {
	case !w.strict:
		return w.base.RoundTrip(req)
	case w.pages != nil && !w.proxied(req):
		return w.pages.RoundTrip(req)
	}
	if err := w.permits(req.Context(), req.URL, ""); err != nil {
		closeBody(req)
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	r := &route{ways: w, guard: true}
	sent := req.WithContext(httptrace.WithClientTrace(ctx, r.watch(hostPort(req.URL), cancel)))
	resp, err := w.base.RoundTrip(sent)
	var refused *refusedError
	if errors.As(context.Cause(ctx), &refused) {
		closeResponse(resp)
		return nil, refused
	}
	if err != nil || resp == nil || resp.Body == nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, err
	}
	if resp.Request == sent {
		resp.Request = req
	}
	resp.Body = &watchedBody{resp.Body, cancel}
	return resp, nil
}

// watchedBody ends the context of its request when it has been read to its end or
// is closed.
type watchedBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.cancel(nil)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

func (w *ways) checkAll(addrs []netip.Addr) error {
	for _, a := range addrs {
		if err := w.check(a); err != nil {
			return err
		}
	}
	return nil
}

// arrived notes whether the hop that ends at host was answered inside. A peer
// that is not known to be the site, with a dialer or a base that may go by a
// relay, counts only if this machine does not resolve the name to a public
// address. Without a peer only a literal address counts.
func (r *route) arrived(ctx context.Context, host string) {
	peer := r.peer.Load()
	if peer != nil && !r.relay.IsValid() {
		r.relay = *peer
	}
	_, known := literal(host)
	switch {
	case !r.inside:
	case peer == nil && !known, peer != nil && publicOnly(peer.Addr()) == nil:
		r.inside = false
	case peer == nil || !r.ways.ours:
		addrs, _ := r.ways.resolve(ctx, "ip", host)
		r.inside = !slices.ContainsFunc(addrs, func(a netip.Addr) bool { return publicOnly(a) == nil })
	}
}

// hostPort is the address that net/http connects to for a URL.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// addrOf is the IP address of a peer, if it has one.
func addrOf(a net.Addr) (netip.AddrPort, bool) {
	if a == nil {
		return netip.AddrPort{}, false
	}
	ap, err := netip.ParseAddrPort(a.String())
	return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port()), err == nil
}
