// Package egress keeps a crawler's requests away from addresses that are not
// public. A hostile site can name any host in a redirect, and a name of its own
// can have any address: without a check, a crawler requests pages of the network
// that it runs in.
//
// A [Network] is the base of a crawler with the rule applied to it. [Network.Page]
// requests pages. A [Trip] makes the requests of one fetch of robots.txt with its
// redirects, which are bound by the rule once the trip has met a public address.
//
// The documentation of package fetcher says how an address is checked with each kind of base,
// and what remains unseen.
package egress

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// dialTime bounds the time to connect, shared out among the addresses of a name.
	dialTime = 30 * time.Second
	// lookupTime bounds the time to resolve a name that somebody else resolves, too.
	lookupTime = 2 * time.Second
)

// A RefusedError is the error of a request that would have led to a refused
// address or host.
type RefusedError struct {
	to  string
	why error
}

// Error names the address or the host, and the reason.
func (e *RefusedError) Error() string { return fmt.Sprintf("must not connect to %s: %v", e.to, e.why) }

// Unwrap returns the error of the rule.
func (e *RefusedError) Unwrap() error { return e.why }

// Options are the choices of a Network.
type Options struct {
	// Rule is the address rule. Its error refuses an address. It must not panic, and
	// must return when the context ends. Nil refuses addresses that are not public, but
	// without Pages only once a trip has met a public one.
	Rule func(context.Context, netip.Addr) error

	// Pages applies the rule to pages, and to the first request of every trip.
	Pages bool

	// Resolve says that a name which Lookup cannot resolve is not left to the dialer of
	// the base.
	Resolve bool

	// Owned says that nobody else uses the base, so that New may change it. An
	// *http.Transport with a plain dialer alone then also makes the requests that the rule
	// binds, and they share their connections with all others.
	Owned bool
}

// Network is the web as the base of a crawler reaches it, with the address rule.
// It is safe for concurrent use.
type Network struct {
	// Lookup resolves names as net.Resolver.LookupNetIP does. Only tests change it.
	Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

	rule        func(context.Context, netip.Addr) error
	always      bool                                  // the rule binds redirects within a private network, too
	strict      bool                                  // Options.Pages
	resolvesAll bool                                  // a name is never left to the dialer of the base
	dialsItself bool                                  // net/http dials, without a dialer of the base
	proxy       func(*http.Request) (*url.URL, error) // of the base; nil without one
	base        http.RoundTripper                     // makes the requests that the rule does not bind
	guarded     *http.Transport                       // makes the requests that the rule binds; nil if the base is no *http.Transport
	mixed       bool                                  // guarded is base, and has connections that no rule has checked
}

// New returns the network of a base.
func New(base http.RoundTripper, o Options) *Network {
	n := &Network{
		Lookup: net.DefaultResolver.LookupNetIP, rule: o.Rule, always: o.Rule != nil || o.Pages, strict: o.Pages,
		base: base,
	}
	if o.Rule == nil {
		n.rule = func(_ context.Context, addr netip.Addr) error { return publicOnly(addr) }
	}
	t, ok := base.(*http.Transport)
	if !ok {
		return n
	}
	dial := dialerOf(t)
	n.resolvesAll, n.proxy = o.Resolve || dial == nil, t.Proxy
	//lint:ignore SA1019 net/http honours it
	n.dialsItself = dial == nil && t.DialTLS == nil && t.DialTLSContext == nil
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	//lint:ignore SA1019 net/http honours it
	if o.Owned && !o.Pages && t.DialContext != nil && t.DialTLS == nil && t.DialTLSContext == nil {
		n.guarded, n.mixed = t, true
		t.DialContext = n.checkedIfBound(dial)
		if n.proxy != nil {
			t.Proxy = func(req *http.Request) (*url.URL, error) {
				if isBound(req.Context()) { // no proxy: see guard
					return nil, nil
				}
				return n.proxy(req)
			}
		}
		return n
	}
	n.guarded = n.guard(t, dial)
	return n
}

// boundKey is the key of a mark in the context of each request that the rule binds.
type boundKey struct{}

func isBound(ctx context.Context) bool { return ctx.Value(boundKey{}) != nil }

// A checkedConn is a connection to an address that the rule has permitted.
type checkedConn struct{ net.Conn }

// checkedIfBound returns a dialer that is checked(dial) for a request that the rule binds, and
// dial for any other.
func (n *Network) checkedIfBound(dial dialFunc) dialFunc {
	check := n.checked(dial)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if !isBound(ctx) {
			return dial(ctx, network, addr)
		}
		conn, err := check(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return checkedConn{conn}, nil
	}
}

// isChecked reports whether a connection, or the connection below its TLS, is a checkedConn.
func isChecked(c net.Conn) bool {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	_, ok := c.(checkedConn)
	return ok
}

// IsTransport reports whether the base is an *http.Transport.
func (n *Network) IsTransport() bool { return n.guarded != nil }

// redirectIdle and redirectConns bound the idle connections of redirects, if pages go through
// the base: they serve further redirects to the same host, and no page.
const (
	redirectIdle  = 5 * time.Second
	redirectConns = 256
)

// guard returns a clone of the base that checks each address before it connects. All its
// connections are checked by the one rule, so that each may be used again. It uses no proxy:
// that is decided once for each request, because the Proxy function of a base may return
// another result for each call.
func (n *Network) guard(base *http.Transport, dial dialFunc) *http.Transport {
	t := base.Clone()
	t.Proxy = nil
	// With a dialer of its own, net/http does not use HTTP/2 unless this is set.
	t.ForceAttemptHTTP2 = base.TLSNextProto["h2"] != nil
	t.DialContext = n.checked(dial)
	//lint:ignore SA1019 net/http honours it
	t.DialTLS, t.DialTLSContext = nil, nil
	if !n.strict {
		t.IdleConnTimeout = atMost(redirectIdle, t.IdleConnTimeout)
		t.MaxIdleConns = atMost(redirectConns, t.MaxIdleConns)
	}
	return t
}

// atMost returns the lower of two bounds, of which set may be 0 for none.
func atMost[T time.Duration | int](bound, set T) T {
	if set == 0 {
		return bound
	}
	return min(bound, set)
}

// dialFunc is the type of http.Transport.DialContext.
type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// dialerOf returns the plain dialer of a transport, nil if it has none. The deprecated
// field counts: a crawler that dials through a tunnel must not go round it.
func dialerOf(t *http.Transport) dialFunc {
	//lint:ignore SA1019 net/http honours it
	old := t.Dial
	if t.DialContext != nil || old == nil {
		return t.DialContext
	}
	return func(_ context.Context, network, addr string) (net.Conn, error) { return old(network, addr) }
}

// CloseIdle closes the idle connections that the base does not know of.
func (n *Network) CloseIdle() {
	if n.IsTransport() {
		n.guarded.CloseIdleConnections()
	}
}

// checked returns a dialer that resolves names here, checks each address, and gives
// dial one literal address after the other. A name that cannot be resolved
// here is left to dial, without Options.Resolve, and the address of the connection is
// checked before anything is sent.
func (n *Network) checked(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		limit := lookupTime
		if n.resolvesAll {
			limit = dialTime
		}
		addrs, err := n.resolve(ctx, limit, network, host)
		switch {
		case err != nil && n.resolvesAll:
			return nil, err
		case err != nil:
			conn, err := dial(ctx, network, addr)
			return n.checkConn(ctx, conn, err)
		}
		var first error
		for _, a := range addrs {
			err := n.check(ctx, a)
			if err == nil {
				var conn net.Conn
				conn, err = dialFor(ctx, dialTime/time.Duration(len(addrs)), dial, network, net.JoinHostPort(a.String(), port))
				if err == nil {
					return conn, nil
				}
			}
			first = cmp.Or(first, err)
		}
		return nil, first
	}
}

// dialFor calls dial with a context that ends after limit, unless dial has
// returned by then: a connection may live as long as its context.
func dialFor(ctx context.Context, limit time.Duration, dial dialFunc, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer time.AfterFunc(limit, cancel).Stop()
	return dial(ctx, network, addr)
}

// checkConn returns what a dialer has returned, unless that is a connection to a refused
// address: it closes that.
func (n *Network) checkConn(ctx context.Context, conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	if peer, ok := addrOf(conn.RemoteAddr()); ok {
		if err := n.check(ctx, peer.Addr()); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

// check applies the rule to an address. The error is a *RefusedError, or ctx's error.
func (n *Network) check(ctx context.Context, addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	err := n.rule(ctx, addr)
	if err != nil && ctx.Err() == nil {
		return &RefusedError{addr.String(), err}
	}
	return cmp.Or(ctx.Err(), err)
}

// resolve returns the addresses of a host as this machine sees them, at least one, after
// limit at most. IPv4 comes first: a dialer that is given one address cannot change over
// from an IPv6 that does not work.
func (n *Network) resolve(ctx context.Context, limit time.Duration, network, host string) ([]netip.Addr, error) {
	if addr, ok := literal(host); ok {
		return []netip.Addr{addr}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	addrs, err := n.Lookup(ctx, strings.Replace(network, "tcp", "ip", 1), host)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	addrs = slices.Clone(addrs)
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return a.Unmap().BitLen() - b.Unmap().BitLen() })
	return addrs, err
}

// dials reports whether the connection for a request is made by the base, an
// *http.Transport, and to the site: not to a proxy.
func (n *Network) dials(req *http.Request) bool {
	if !isWeb(req.URL) {
		return false
	}
	if n.proxy == nil {
		return n.IsTransport()
	}
	u, err := n.proxy(req)
	return u == nil && err == nil
}

// dialsTo is dials for a request of a trip.
func (n *Network) dialsTo(to *url.URL) bool {
	return n.dials(&http.Request{Method: http.MethodGet, URL: to, Header: http.Header{}})
}

// isWeb reports whether an *http.Transport makes the requests for a URL itself. For
// another scheme it has a RoundTripper that was registered with it, which its clones lack.
func isWeb(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" }

// checkHost checks the host of a URL that is about to be requested, as far as that can
// be done without a connection. If the base does not dial, the name is resolved here,
// although the other side may resolve it differently. A name of a local network that this
// machine cannot resolve is refused, unless it is the host of trusted, which may be nil.
func (n *Network) checkHost(ctx context.Context, to *url.URL, dialled bool, trusted *url.URL) error {
	host := canonical(to.Hostname())
	_, known := literal(host)
	if dialled && !known && (n.resolvesAll || !specialUse(host)) {
		return nil // its addresses are checked when they are connected to
	}
	addrs, err := n.resolve(ctx, lookupTime, "ip", host)
	if err != nil {
		if specialUse(host) && (trusted == nil || host != canonical(trusted.Hostname())) {
			return &RefusedError{host, errors.New("a name of a local network that this machine cannot resolve")}
		}
		return nil
	}
	for _, a := range addrs {
		if err := n.check(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// Page requests a page. With Options.Pages the error is a *RefusedError if its
// address is refused, and nothing is sent there.
func (n *Network) Page(req *http.Request) (*http.Response, error) {
	switch {
	case !n.strict:
		return n.base.RoundTrip(req)
	case n.dials(req):
		return n.guarded.RoundTrip(req)
	}
	if err := n.checkHost(req.Context(), req.URL, false, nil); err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	return n.watchedPage(req)
}

// watchedPage requests a page by way of a base whose connections are only reported.
func (n *Network) watchedPage(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	w := (&Trip{network: n, bound: true}).Watch(ctx, req.URL, cancel)
	sent := req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: w.GetConn, GotConn: w.GotConn}))
	resp, err := n.base.RoundTrip(sent)
	var refused *RefusedError
	if errors.As(context.Cause(ctx), &refused) {
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
		return nil, refused
	}
	if err != nil || resp == nil {
		cancel(nil)
		return resp, err
	}
	if resp.Request == sent {
		resp.Request = req
	}
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		// The body is a connection, which must keep its type. Its context ends with the context of req.
	case resp.Body == nil || resp.Body == http.NoBody:
		cancel(nil)
	default:
		resp.Body = &pageBody{resp.Body, cancel}
	}
	return resp, nil
}

// A pageBody ends the context of its request when it has been read to its end, and when
// it is closed.
type pageBody struct {
	io.ReadCloser
	end context.CancelCauseFunc
}

func (b *pageBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end(nil)
	}
	return n, err
}

func (b *pageBody) Close() error {
	defer b.end(nil)
	return b.ReadCloser.Close()
}
