package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/rfc9309/polite/internal/origin"
)

// This file applies the address rule to the redirects of a fetch.

// A Trip makes the requests of one fetch: the first, and one for each redirect.
// It is inside as long as every answer came from a special address: a private
// site may redirect within its network. Once an answer came from a public address,
// or from one that could not be seen, the rule binds all further requests.
type Trip struct {
	network *Network
	trusted *url.URL       // of the first request; nil if the rule binds that request
	bound   bool           // the next request is bound by the rule
	dialled bool           // the next request is bound, and its connection is checked when it is made
	inside  bool           // every answer so far came from a special address
	watch   *Watch         // of the last request
	relay   netip.AddrPort // special address that answered for a public host, and so is a relay
}

// Trip begins a fetch of a URL. With Options.Pages the error is a *RefusedError if the
// host is refused, as far as that is known without a connection.
func (n *Network) Trip(ctx context.Context, first *url.URL) (Trip, error) {
	if !n.strict {
		return Trip{network: n, inside: true, trusted: first}, nil
	}
	t := Trip{network: n, bound: true, dialled: n.dialsTo(first)}
	return t, n.checkHost(ctx, first, t.dialled, nil)
}

// RoundTrip makes the next request, whose context has the hooks of its Watch.
func (t *Trip) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.dialled {
		if t.network.mixed {
			req = req.WithContext(context.WithValue(req.Context(), boundKey{}, true))
		}
		return t.network.guarded.RoundTrip(req)
	}
	return t.network.base.RoundTrip(req)
}

// A Watch receives what net/http reports of the connections for one request, also from below a
// base that is not known. A connection to a proxy is ignored.
type Watch struct {
	network *Network
	ctx     context.Context
	target  *url.URL
	cancel  context.CancelCauseFunc
	guarded bool                           // each connection is checked when it is made
	bound   bool                           // the rule binds the request
	relay   netip.AddrPort                 // Trip.relay
	direct  atomic.Bool                    // the connection asked for last leads to the site itself
	peer    atomic.Pointer[netip.AddrPort] // end of the connection that was reported last; nil if none was
}

// Watch returns the Watch of the next request. If a connection to a refused address is reported, it
// calls cancel, which must end the context of the request, with a *RefusedError.
func (t *Trip) Watch(ctx context.Context, target *url.URL, cancel context.CancelCauseFunc) *Watch {
	t.watch = &Watch{
		network: t.network, ctx: ctx, target: target, cancel: cancel,
		guarded: t.dialled && !t.network.mixed, bound: t.bound, relay: t.relay,
	}
	return t.watch
}

// GetConn is for httptrace.ClientTrace.GetConn.
func (w *Watch) GetConn(to string) { w.direct.Store(!w.guarded && isSite(to, w.target)) }

// GotConn is for httptrace.ClientTrace.GotConn. A connection to a refused address is closed before
// the request is written to it; an HTTP/2 connection is left open, since others use it too, and the
// request is canceled. A base that makes a request twice may report a connection after the answer,
// while the trip goes on.
func (w *Watch) GotConn(info httptrace.GotConnInfo) {
	peer, ok := addrOf(info.Conn.RemoteAddr())
	if !ok || !w.direct.Load() {
		return
	}
	w.peer.Store(&peer)
	if !w.bound || peer == w.relay || isChecked(info.Conn) {
		return
	}
	if err := w.network.check(w.ctx, peer.Addr()); err != nil {
		w.cancel(err)
		if !IsHTTP2(info.Conn) {
			info.Conn.Close()
		}
	}
}

// Follow prepares the request that a redirect leads to. An error refuses it.
func (t *Trip) Follow(ctx context.Context, from, to *url.URL) error {
	t.dialled = t.network.dialsTo(to)
	if !t.network.always || !t.dialled { // otherwise the rule binds in any case, and no relay is asked for
		t.inside = t.inside && t.answeredInside(ctx, canonical(from.Hostname()))
	}
	t.bound = !t.inside || t.network.always
	t.dialled = t.dialled && t.bound
	if !t.bound {
		return nil
	}
	return t.network.checkHost(ctx, to, t.dialled, t.trusted)
}

// answeredInside reports whether the last answer, for a URL of host, came from a
// special address. If no connection was reported, that is known of literal addresses
// only. A reported connection may end at a relay in the crawler's own network, so no
// address of the host may be public. A name that this machine cannot resolve counts as
// public unless it is special-use. It does not make the address a relay: the site may
// be a private one whose name only the base resolves.
func (t *Trip) answeredInside(ctx context.Context, host string) bool {
	peer := t.watch.peer.Load()
	if peer == nil {
		addr, known := literal(host)
		return known && !public(addr)
	}
	if public(peer.Addr()) {
		return false
	}
	if t.network.dialsItself {
		return true // net/http has resolved the name to this address
	}
	addrs, err := t.network.resolve(ctx, lookupTime, "ip", host)
	if slices.ContainsFunc(addrs, public) {
		t.relay = *peer
		return false
	}
	return err == nil || specialUse(host)
}

// IsHTTP2 reports whether a connection carries the requests of others, too.
func IsHTTP2(c net.Conn) bool {
	secure, ok := c.(interface{ ConnectionState() tls.ConnectionState })
	return ok && secure.ConnectionState().NegotiatedProtocol == "h2"
}

// isSite reports whether to, the host and port of a connection, is what a URL names.
func isSite(to string, target *url.URL) bool {
	if port, ok := strings.CutPrefix(to, target.Host); ok && (port == "" || port == ":443" && target.Scheme == "https" || port == ":80" && target.Scheme == "http") {
		return true // as nearly all are written
	}
	host, port, _ := net.SplitHostPort(to)
	return net.JoinHostPort(canonical(host), port) == hostPort(target)
}

// hostPort returns the canonical host and the port that a URL names.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = strconv.FormatUint(origin.DefaultPort(u.Scheme), 10)
	}
	return net.JoinHostPort(canonical(u.Hostname()), port)
}

// addrOf returns the IP address and the port of a peer, if it has an IP address.
func addrOf(a net.Addr) (netip.AddrPort, bool) {
	if a == nil {
		return netip.AddrPort{}, false
	}
	ap, err := netip.ParseAddrPort(a.String())
	return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port()), err == nil
}
