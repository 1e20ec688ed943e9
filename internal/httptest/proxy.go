package httptest

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
)

// A proxy forwards requests into the same web, with its own transport and dialer.
type proxy struct {
	web     *Web
	origin  string
	forward *httputil.ReverseProxy
	script  script[Step] // answers to send instead of forwarding, guarded by web.mu
}

// Proxy makes the site an HTTP proxy as well, for absolute request targets and CONNECT. [Site.Requests] of the proxy has
// these requests, with the target as sent. [Dial.Via] and [Lookup.Via] name the proxy for the dials and lookups that it
// makes. If there are steps, the proxy answers with them and forwards nothing.
func (s *Site) Proxy(steps ...Step) *Site {
	p := &proxy{web: s.web, origin: s.origin, forward: &httputil.ReverseProxy{
		Rewrite:      func(*httputil.ProxyRequest) {}, // the target is the URL already
		Transport:    s.web.transport(s.origin),
		ErrorLog:     log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}}
	s.web.mu.Lock()
	defer s.web.mu.Unlock()
	p.script.set(steps)
	s.proxy = p
	return s
}

// proxyLocked returns the handler for a request to a proxy, or nil for any other request. It sets the origin of the
// request to the proxy, because the Host header names another server.
func (w *Web) proxyLocked(r *Request) http.HandlerFunc {
	if strings.HasPrefix(r.Target, "/") {
		return nil
	}
	scheme, _, _ := strings.Cut(r.Origin, ":")
	for _, s := range w.order {
		if s.proxy == nil || s.scheme != scheme || s.port != r.To.Port() || !slices.Contains(s.host.home, r.To.Addr()) {
			continue
		}
		r.Origin = s.origin
		if step, ok := s.proxy.script.next(); ok {
			return step.answer
		}
		return s.proxy.answer
	}
	return nil
}

func (p *proxy) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		p.tunnel(w, r)
		return
	}
	p.forward.ServeHTTP(w, r)
}

// tunnel carries bytes between the client and the server that the client names, until an end closes its connection.
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	far, err := p.web.dial(r.Context(), p.origin, "tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer far.Close()
	near, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { // ends when one of the connections ends, because then both are closed
		defer near.Close()
		defer far.Close()
		io.Copy(near, far)
	}()
	io.Copy(far, near)
}
