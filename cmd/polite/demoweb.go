package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// demoSite is one site of the demo and the paths that are checked there.
type demoSite struct {
	what     string // heading above the site's decisions
	base     string // scheme://host:port
	paths    []string
	listener net.Listener
	server   *http.Server // nil if no server listens
}

func (s *demoSite) urls() []*url.URL {
	var list []*url.URL
	for _, p := range s.paths {
		if u, err := url.Parse(s.base + p); err == nil {
			list = append(list, u)
		}
	}
	return list
}

// demoWeb is a set of real servers on loopback.
type demoWeb struct{ sites []*demoSite }

// demoRobots is the file of the site that works.
const demoRobots = `# A site that works
User-agent: *
Disallow: /me/
Allow: /me/cv
Disallow: *.pdf$

User-agent: OtherBot
Disallow: /

Sitemap: https://example.com/sitemap.xml
`

// startDemoWeb starts the sites. The first is the one that works.
func startDemoWeb() (*demoWeb, error) {
	w := &demoWeb{}
	for _, s := range []struct {
		what   string
		robots http.HandlerFunc // nil if no server listens
		paths  []string
	}{
		{"a site that works", answerText("text/plain", demoRobots),
			[]string{"/", "/me/", "/me/cv", "/a.pdf"}},
		{"a site that redirects to the robots.txt of the first site", func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, w.sites[0].base+"/robots.txt", http.StatusMovedPermanently)
		}, []string{"/", "/me/"}},
		{"a site without robots.txt: 404", http.NotFound, []string{"/me/"}},
		{"a site that is overloaded: 503, Retry-After: 120", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", "120")
			http.Error(rw, "later", http.StatusServiceUnavailable)
		}, []string{"/"}},
		{"a site that is down: no server listens at the port", nil, []string{"/"}},
		{"a site that answers an HTML page for everything", answerText("text/html", "<!doctype html><title>Hello</title>"), []string{"/me/"}},
		{"a site that is too slow: no answer in time", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, []string{"/"}},
		{"a site that breaks off in the middle of the file", answerTruncated, []string{"/me/"}},
		{"a site that redirects in a loop", func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "/robots.txt", http.StatusFound)
		}, []string{"/"}},
	} {
		site, err := newSite(s.robots)
		if err != nil {
			w.stop()
			return nil, err
		}
		site.what, site.paths = s.what, s.paths
		w.sites = append(w.sites, site)
	}
	for _, s := range w.sites {
		s.start()
	}
	return w, nil
}

// newSite takes a free port of loopback.
func newSite(robots http.HandlerFunc) (*demoSite, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting a site on loopback: %w", err)
	}
	site := &demoSite{base: "http://" + l.Addr().String(), listener: l}
	if robots != nil {
		mux := http.NewServeMux()
		mux.HandleFunc("/robots.txt", robots)
		mux.HandleFunc("/", answerText("text/plain", "Welcome, "+demoAgent[:10]+"."))
		site.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	}
	return site, nil
}

// start serves the site. A site without a server closes its port only here, after
// all sites have one, so that no other site gets the same port.
func (s *demoSite) start() {
	if s.server == nil {
		s.listener.Close()
		return
	}
	go s.server.Serve(s.listener) // stop ends it
}

func (w *demoWeb) stop() {
	for _, s := range w.sites {
		s.listener.Close()
		if s.server != nil {
			s.server.Close()
		}
	}
}

// answerText returns a handler that answers with a body.
func answerText(kind, body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", kind)
		io.WriteString(rw, body)
	}
}

// answerTruncated declares a longer file than it sends: the Disallow rule at the end
// is missing.
func answerTruncated(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", "text/plain")
	rw.Header().Set("Content-Length", "500")
	io.WriteString(rw, "User-agent: *\nAllow: /pri")
}
