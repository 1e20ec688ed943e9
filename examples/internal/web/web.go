// Package web is the small web that the tests of the examples crawl. All sites share one port of
// loopback. [Web.Transport] connects any name that ends in ".example" to it, so that the
// examples print readable names. Other names do not resolve, and only loopback is dialled.
package web

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

// Site is one site.
type Site struct {
	Robots  http.HandlerFunc // answers /robots.txt; nil means 404
	Pages   int              // "/" links to /page/1 and so on
	Links   []string         // further links on "/"
	Moved   string           // path that redirects to MovedTo; "" for none
	MovedTo string           // "" means "/moved/here"
	Page    http.HandlerFunc // answers every other path; nil means a page without links
}

// Request is one request that a server received.
type Request struct {
	Host, Path, Agent string
	At                time.Time
}

// Web is a running web.
type Web struct {
	server *httptest.Server
	sites  map[string]Site

	mu  sync.Mutex
	log []Request
}

// Start serves the sites, by host name, until Close.
func Start(sites map[string]Site) *Web {
	w := &Web{sites: sites}
	w.server = httptest.NewServer(w)
	return w
}

// Close ends the web.
func (w *Web) Close() { w.server.Close() }

// Addr returns the loopback address that the web listens on.
func (w *Web) Addr() string { return w.server.Listener.Addr().String() }

// Transport returns a transport that connects only to this web.
func (w *Web) Transport() *http.Transport { return Transport(w.Addr()) }

// Transport returns the same transport for another process, which knows only the
// address.
func Transport(addr string) *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(to)
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(host, ".example") {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}}
}

// Options returns options for a crawl of this web, with a gap that is shorter than the default.
func (w *Web) Options() *fetcher.Options {
	limits := pace.Default()
	limits.Gap = 10 * time.Millisecond
	return &fetcher.Options{Base: w.Transport(), Egress: AnyAddress, Pace: limits}
}

// AnyAddress is Options.Egress for a crawl of this web, whose addresses are all loopback: the
// default would take a redirect of robots.txt from one site to another for an attack.
func AnyAddress(netip.Addr) error { return nil }

// Requests returns the requests to a host so far, in order. An empty host means all
// hosts, an empty path all paths.
func (w *Web) Requests(host, path string) []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []Request
	for _, r := range w.log {
		if (host == "" || r.Host == host) && (path == "" || r.Path == path) {
			found = append(found, r)
		}
	}
	return found
}

// ServeHTTP finds the site by its name.
func (w *Web) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	host, _, _ := strings.Cut(req.Host, ":")
	w.mu.Lock()
	w.log = append(w.log, Request{host, req.URL.Path, req.UserAgent(), time.Now()})
	w.mu.Unlock()
	site, ok := w.sites[host]
	switch {
	case !ok || req.Method == http.MethodConnect: // no tunnel for a client that takes the web for its proxy
		http.Error(rw, "no such site", http.StatusMisdirectedRequest)
	case req.URL.Path == "/robots.txt" && site.Robots != nil:
		site.Robots(rw, req)
	case req.URL.Path == "/robots.txt":
		http.NotFound(rw, req)
	case req.URL.Path == "/":
		front(rw, site)
	case site.Moved == req.URL.Path:
		http.Redirect(rw, req, cmp.Or(site.MovedTo, "/moved/here"), http.StatusFound)
	case site.Page != nil:
		site.Page(rw, req)
	default:
		page(rw, req)
	}
}

func front(rw http.ResponseWriter, site Site) {
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	for i := range site.Pages {
		fmt.Fprintf(rw, "<a href=\"/page/%d\">page %d</a>\n", i+1, i+1)
	}
	for _, l := range site.Links {
		fmt.Fprintf(rw, "<a href=%q>link</a>\n", l)
	}
}

func page(rw http.ResponseWriter, req *http.Request) {
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(rw, "<p>This is %s.</p>\n", req.URL.Path)
}

// Text answers with a robots.txt.
func Text(robots string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(rw, robots)
	}
}

// Status answers with a status and an empty body.
func Status(code int) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(code) }
}

// Redirect answers with a redirect.
func Redirect(to string) http.HandlerFunc {
	return func(rw http.ResponseWriter, req *http.Request) { http.Redirect(rw, req, to, http.StatusFound) }
}

// Late waits before it answers.
func Late(wait time.Duration, answer http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, req *http.Request) {
		time.Sleep(wait)
		answer(rw, req)
	}
}

// Steps answers each request with the next step. The last step repeats.
func Steps(steps ...http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	return func(rw http.ResponseWriter, req *http.Request) {
		mu.Lock()
		step := steps[0]
		if len(steps) > 1 {
			steps = steps[1:]
		}
		mu.Unlock()
		step(rw, req)
	}
}
