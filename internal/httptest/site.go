package httptest

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/origin"
)

// A Site is one origin and the script of its paths. Its methods return the site, so that calls can be chained. A method may
// be called again at any time, and the new setting replaces the old one.
type Site struct {
	web    *Web
	origin string // such as "https://example.com:8443"; a default port is left out
	scheme string
	host   *host
	port   uint16

	// The following fields are guarded by web.mu.
	paths map[string]*script[Step]
	lines script[Line]
	down  bool
	cert  Certificate
	http2 bool
	proxy *proxy
}

// Site returns the site of an origin, such as "https://example.com:8443". If there is none, it creates the site.
func (w *Web) Site(origin string) *Site {
	w.t.Helper()
	scheme, name, port, err := splitOrigin(origin)
	if err != nil {
		w.t.Fatalf("httptest: origin %q: %v", origin, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	key := joinOrigin(scheme, name, port)
	if s := w.sites[key]; s != nil {
		return s
	}
	h := w.hostLocked(name)
	if len(h.home) == 0 {
		h.home = []netip.Addr{w.addressLocked(name)}
	}
	s := &Site{web: w, origin: key, scheme: scheme, host: h, port: port, paths: map[string]*script[Step]{}}
	w.sites[key] = s
	w.order = append(w.order, s)
	return s
}

// addressLocked returns the address of a new host: its name if that is an address, otherwise the next public address.
func (w *Web) addressLocked(name string) netip.Addr {
	if a, err := netip.ParseAddr(name); err == nil {
		return a
	}
	w.lastHost = w.lastHost.Next()
	return w.lastHost
}

// splitOrigin splits an origin. The name is canonical, and IPv6 addresses have no brackets.
func splitOrigin(origin string) (scheme, name string, port uint16, err error) {
	u, err := url.Parse(origin)
	switch {
	case err != nil:
		return "", "", 0, err
	case u.Scheme != "http" && u.Scheme != "https":
		return "", "", 0, fmt.Errorf("scheme is neither http nor https")
	case u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "":
		return "", "", 0, fmt.Errorf("an origin is scheme://host[:port]")
	}
	n := uint64(80)
	if u.Scheme == "https" {
		n = 443
	}
	if u.Port() != "" {
		n, err = strconv.ParseUint(u.Port(), 10, 16)
	}
	return u.Scheme, canonicalHost(u.Hostname()), uint16(n), err
}

// joinOrigin is the inverse of splitOrigin.
func joinOrigin(scheme, name string, port uint16) string {
	if scheme == "http" && port == 80 || scheme == "https" && port == 443 {
		if strings.Contains(name, ":") {
			name = "[" + name + "]"
		}
		return scheme + "://" + name
	}
	return scheme + "://" + net.JoinHostPort(name, strconv.Itoa(int(port)))
}

// canonicalHost returns the canonical form of a host, IPv6 without brackets. A name that is not a valid host is returned
// as it is.
func canonicalHost(name string) string {
	host, err := origin.Host(strings.Trim(name, "[]"))
	if err != nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// Origin returns the site's origin: scheme, canonical host, and port unless it is the default port.
func (s *Site) Origin() string { return s.origin }

// Robots scripts the answers for "/robots.txt".
func (s *Site) Robots(steps ...Step) *Site {
	s.web.t.Helper()
	return s.Path("/robots.txt", steps...)
}

// Path scripts the answers for one path: each request takes the next step, and the last step repeats. The path is compared
// with the request target as sent, with its query if the path has one. A path that ends in "*" matches every target that
// begins with the rest of it. The longest match counts.
func (s *Site) Path(path string, steps ...Step) *Site {
	s.web.t.Helper()
	if len(steps) == 0 || !strings.HasPrefix(path, "/") {
		s.web.t.Fatalf("httptest: Path(%q) with %d steps: needs a path that begins with / and at least one step", path, len(steps))
	}
	s.web.mu.Lock()
	defer s.web.mu.Unlock()
	script := new(script[Step])
	script.set(steps)
	s.paths[path] = script
	return s
}

// At moves the host of the site, with all its origins, to these addresses.
func (s *Site) At(addrs ...string) *Site {
	home := Addrs(addrs...).addrs
	s.web.mu.Lock()
	defer s.web.mu.Unlock()
	s.host.home = home
	return s
}

// Connect scripts the outcomes of the attempts to connect: they are used in order and the last one repeats. If several
// origins share an address and port, the script of the origin with the dialed name counts.
func (s *Site) Connect(lines ...Line) *Site {
	s.web.mu.Lock()
	defer s.web.mu.Unlock()
	s.lines.set(lines)
	return s
}

// Down makes the site unreachable until [Site.Up]: its connections are reset, and new ones are refused. Down followed
// by Up is like a restart of the server.
func (s *Site) Down() *Site {
	for _, c := range s.takeDown() {
		c.reset()
	}
	return s
}

// takeDown marks the site and returns the server's ends of its connections.
func (s *Site) takeDown() (ends []*conn) {
	s.web.mu.Lock()
	defer s.web.mu.Unlock()
	s.down = true
	for _, c := range s.web.open {
		if c.site == s {
			ends = append(ends, c.server)
		}
	}
	return ends
}

// Up makes the site reachable again after [Site.Down].
func (s *Site) Up() *Site {
	s.web.mu.Lock()
	defer s.web.mu.Unlock()
	s.down = false
	return s
}

// HTTP2 makes an https site offer HTTP/2 as well as HTTP/1.1. With Go 1.25 it skips the test: the server of that version
// shares a pool of channels between tests, and a channel of one bubble must not be used in another.
func (s *Site) HTTP2() *Site {
	if strings.HasPrefix(runtime.Version(), "go1.25") {
		s.web.t.Skip("net/http serves HTTP/2 in one bubble only before Go 1.26")
	}
	s.web.mu.Lock()
	defer s.web.mu.Unlock()
	s.http2 = true
	return s
}

// Requests returns the requests to the site so far, in order. If there are targets, it returns only requests with one of
// these targets.
func (s *Site) Requests(targets ...string) []Request {
	return slices.DeleteFunc(s.web.Requests(), func(r Request) bool {
		return r.Origin != s.origin || len(targets) > 0 && !slices.Contains(targets, r.Target)
	})
}

// serve answers every request of the web.
func (w *Web) serve(rw http.ResponseWriter, r *http.Request) {
	w.busy.Add(1)
	defer w.busy.Done()
	defer w.report()
	arrived := w.newRequest(r)
	w.mu.Lock()
	answer := w.proxyLocked(&arrived)
	if answer == nil {
		answer = w.stepLocked(arrived).answer
	}
	w.requests = append(w.requests, arrived)
	w.mu.Unlock()
	answer(rw, r)
}

// report makes a panic in a handler of the test a failure of the test. The server would only log it.
func (w *Web) report() {
	if p := recover(); p != nil {
		if p != http.ErrAbortHandler {
			w.t.Errorf("httptest: a handler panics: %v\n%s", p, debug.Stack())
		}
		panic(http.ErrAbortHandler)
	}
}

// newRequest returns the Request that describes an HTTP request.
func (w *Web) newRequest(r *http.Request) Request {
	c := connOf(r)
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	origin := scheme + "://" + r.Host
	if w.served.Load() && !strings.Contains(r.Host, ":") {
		// Some clients leave the port out. A server that has a port of its own answers them.
		origin = fmt.Sprintf("%s:%d", origin, c.local.(*net.TCPAddr).Port)
	}
	if s, name, port, err := splitOrigin(origin); err == nil {
		origin = joinOrigin(s, name, port)
	}
	return Request{
		Time: time.Now(), Method: r.Method, Target: r.RequestURI, Origin: origin, Proto: r.Proto,
		Header: r.Header.Clone(), From: r.RemoteAddr, To: c.local.(*net.TCPAddr).AddrPort(), Conn: c.id,
	}
}

// stepLocked returns the step that answers a request.
func (w *Web) stepLocked(r Request) Step {
	scheme, name, port, err := splitOrigin(r.Origin)
	if err != nil {
		return Status(http.StatusBadRequest)
	}
	h := w.findLocked(name)
	if h == nil || !slices.Contains(h.home, r.To.Addr()) || port != r.To.Port() {
		return Status(http.StatusMisdirectedRequest)
	}
	s := w.sites[joinOrigin(scheme, h.name, port)]
	if s == nil {
		return Status(http.StatusMisdirectedRequest)
	}
	script := s.scriptLocked(r.Target)
	if script == nil {
		return Status(http.StatusNotFound)
	}
	step, _ := script.next()
	return step
}

// scriptLocked returns the script for a request target: the script of the target, of its path, or of the longest
// matching path that ends in "*".
func (s *Site) scriptLocked(target string) *script[Step] {
	if script := s.paths[target]; script != nil {
		return script
	}
	path, _, _ := strings.Cut(target, "?")
	if script := s.paths[path]; script != nil {
		return script
	}
	var best string
	for p := range s.paths {
		if above, ok := strings.CutSuffix(p, "*"); ok && strings.HasPrefix(target, above) && len(p) > len(best) {
			best = p
		}
	}
	return s.paths[best]
}

// connKey is the context key of the connection of a request.
type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

func connOf(r *http.Request) *conn { return r.Context().Value(connKey{}).(*conn) }
