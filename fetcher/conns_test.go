package fetcher_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
)

// conns returns how many connections the crawler made: to sites, or to its proxy.
func conns(w *httptest.Web) (n int) {
	for _, d := range w.Dials() {
		if d.Via == "" {
			n++
		}
	}
	return n
}

// TestConnectionsOfAHost counts the connections for a robots.txt and three pages of its host.
func TestConnectionsOfAHost(t *testing.T) {
	const proxy, egress, one = "proxy", "egress", "one"
	long := strings.Repeat("x", 100<<10)
	for _, tt := range []struct {
		name   string
		origin string
		way    string // of reaching the site
		robots httptest.Step
		want   int
	}{
		{"http", site, "", text, 1},
		{"https", secure, "", text, 1},
		{"http2", secure, "h2", text, 1},
		{"http_by_proxy", site, proxy, text, 1},
		{"https_by_proxy", secure, proxy, text, 1},
		{"page_egress", secure, egress, text, 1},
		{"one_connection_allowed", secure, one, text, 1},
		{"one_connection_allowed_and_closed", secure, one, text.Header("Connection", "close"), 2},
		{"chunked", site, "", text.Chunked(), 1},
		{"gzip", site, "", text.Gzip(), 1},
		{"gzip_chunked", site, "", text.Gzip().Chunked(), 1},
		{"404", site, "", httptest.Status(404), 1},
		{"404_with_a_body", site, "", httptest.Text(long[:20<<10]).Status(404), 1},
		{"404_with_a_chunked_body", site, "", httptest.Text(long[:20<<10]).Chunked().Status(404), 1},
		{"404_with_a_long_body", site, "", httptest.Text(long).Status(404), 2},
		{"404_with_a_long_chunked_body", site, "", httptest.Text(long).Chunked().Status(404), 2},
		{"404_with_a_long_body_by_http2", secure, "h2", httptest.Text(long).Status(404), 1},
		{"404_that_trickles", site, "", httptest.Text(long).Status(404).Chunked().Drip(1, time.Second), 2},
		{"over_the_limit", site, "", httptest.Flood(rules), 2},
		{"closed", site, "", text.Header("Connection", "close"), 2},
	} {
		t.Run("4.1/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				s := web.Site(tt.origin).Robots(tt.robots).Path("/*", page)
				base := web.Transport()
				switch tt.way {
				case "h2":
					s.HTTP2()
				case proxy:
					base = proxied(web)
				case one:
					base.MaxConnsPerHost, base.MaxIdleConnsPerHost = 1, 1
				}
				tr := newTransport(t, &fetcher.Options{Base: base, PageEgress: tt.way == egress})
				tr.SetLookup(web.LookupNetIP)
				began := time.Now()
				for range 3 {
					if err := requestPage(tr, tt.origin+"/page"); err != nil {
						t.Fatal(err)
					}
				}
				if n, r := conns(web), len(web.Requests()); n != tt.want || r < 4 {
					t.Errorf("got  %d connections for %d requests, want %d for 4", n, r, tt.want)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("the pages waited %v for the rest of robots.txt", took)
				}
				tr.CloseIdleConnections()
			})
		})
	}
}

// A server that restarts between robots.txt and the page resets the kept connection. The page
// is requested by another.
func TestConnectionLostBeforeThePage(t *testing.T) {
	for _, way := range []string{"http", "https", "h2", "egress"} {
		t.Run("4.1/"+way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				origin := map[bool]string{true: site, false: secure}[way == "http"]
				s := web.Site(origin).Robots(open).Path("/*", page)
				if way == "h2" {
					s.HTTP2()
				}
				tr := newTransport(t, &fetcher.Options{Base: web.Transport(), PageEgress: way == "egress"})
				tr.SetLookup(web.LookupNetIP)
				if _, err := tr.Check(t.Context(), must(origin+"/page")); err != nil {
					t.Fatal(err)
				}
				s.Down().Up()
				if way == "h2" {
					synctest.Wait() // net/http repeats nothing that it has begun to write
				}
				if err := requestPage(tr, origin+"/page"); err != nil || conns(web) != 2 {
					t.Errorf("got  %v after %d connections, want the page by the second", err, conns(web))
				}
				tr.CloseIdleConnections()
			})
		})
	}
}

// A server that says goodbye after robots.txt gets the page on another connection.
func TestGoawayBeforeThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(secure).HTTP2().Robots(text.Header("Connection", "close")).Path("/*", page)
		tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
		if err := requestPage(tr, secure+"/page"); err != nil || conns(web) < 2 { // net/http may dial once more
			t.Errorf("4.1/goaway: got %v after %d connections, want the page by another", err, conns(web))
		}
		tr.CloseIdleConnections()
	})
}

// defaultTo makes a transport of the web Go's default transport until the test ends.
func defaultTo(t *testing.T, web *httptest.Web) *http.Transport {
	old, base := http.DefaultTransport, web.Transport()
	t.Cleanup(func() { http.DefaultTransport = old })
	base.MaxIdleConns = 100
	http.DefaultTransport = base
	return base
}

// The base of our own keeps the connections of 300 hosts from turn to turn at the default pace,
// and none of a host that rests. Go's default transport stays as it is.
func TestOwnBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://*.test").Robots(open).Path("/page", page).Path("/rest", httptest.Status(503).Header("Retry-After", "60"))
		base := defaultTo(t, web)
		tr, err := fetcher.New(agent, nil)
		if err != nil {
			t.Fatal(err)
		}
		crawl := func(path string) {
			var hosts sync.WaitGroup
			for i := range 300 {
				hosts.Go(func() {
					if err := requestPage(tr, fmt.Sprintf("http://h%d.test/%s", i, path)); err != nil {
						t.Error(err)
					}
				})
			}
			hosts.Wait()
		}
		for range 4 {
			crawl("page")
		}
		if n := conns(web); n != 300 || base.MaxIdleConns != 100 || base.IdleConnTimeout != 90*time.Second {
			t.Errorf("4.1/own_base: got  %d connections for 300 hosts, default transport %d, %v", n, base.MaxIdleConns, base.IdleConnTimeout)
		}
		crawl("rest")
		time.Sleep(6 * time.Second)
		if n := web.Conns(); n != 0 {
			t.Errorf("4.1/rest: got  %d connections to hosts that rest, want none", n)
		}
	})
}

// A base that keeps too few connections is reported once.
func TestTooFewIdleConnections(t *testing.T) {
	for _, hosts := range []int{10, 30} {
		synctest.Test(t, func(t *testing.T) {
			web := httptest.New(t)
			web.Site("http://*.test").Robots(open).Path("/*", page)
			base := web.Transport()
			base.MaxIdleConns = 10
			var log bytes.Buffer
			tr := newTransport(t, &fetcher.Options{Base: base, Pace: pace.Default(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
			var all sync.WaitGroup
			for i := range hosts {
				all.Go(func() { requestPage(tr, fmt.Sprintf("http://h%d.test/page", i)) })
			}
			all.Wait()
			if got, want := strings.Count(log.String(), "max_idle_conns=10"), min(hosts/20, 1); got != want {
				t.Errorf("4.1/%d_hosts: reported %d times, want %d: %s", hosts, got, want, &log)
			}
		})
	}
}

// A fetch without a store and hooks takes three goroutines: one of the flight group, one that
// the flight group is protected from, and one for the base, which may block.
func TestGoroutinesOfAFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, during := runtime.NumGoroutine(), 0
		tr := newTransport(t, &fetcher.Options{Pace: pace.Default(), Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			during = max(during, runtime.NumGoroutine())
			return answerOf(r, 200, http.Header{}, rules), nil
		})})
		if _, err := tr.Check(t.Context(), must(private)); err != nil || during-before > 3 {
			t.Errorf("7/goroutines: got %v, %d goroutines, want 3", err, during-before)
		}
	})
}

// A site at http that redirects to https takes four requests. With a Base, the guarded request
// for the second robots.txt has a connection of its own, unless all requests are guarded.
func TestConnectionsOfASeed(t *testing.T) {
	for _, tt := range []struct {
		base   string
		egress bool
		want   int
	}{{"none", false, 2}, {"dial_context", false, 3}, {"dial_context", true, 2}} {
		synctest.Test(t, func(t *testing.T) {
			web := httptest.New(t)
			web.Site(site).Robots(httptest.Redirect(301, secure+"/robots.txt")).Path("/*", httptest.Redirect(301, secure+"/page"))
			web.Site(secure).Robots(open).Path("/*", page)
			tr := newTransport(t, &fetcher.Options{Base: bases[tt.base](t, web), PageEgress: tt.egress})
			tr.SetLookup(web.LookupNetIP)
			if err := requestPage(tr, site+"/page"); err != nil || conns(web) != tt.want || len(web.Requests()) != 4 {
				t.Errorf("4.1/seed/%v: got %v, %d connections for %v; want %d for four requests", tt, err, conns(web), web.Requests(), tt.want)
			}
			tr.CloseIdleConnections()
		})
	}
}
