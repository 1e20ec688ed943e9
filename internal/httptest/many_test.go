package httptest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
)

// TestManySites requests a page twice from each of a thousand sites at the same time.
func TestManySites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sites = 1000
		web := httptest.New(t)
		for n := range sites {
			web.Site(fmt.Sprintf("http://host%d.example", n)).Robots(httptest.Text("").After(time.Second))
		}
		client, began := web.Client(), time.Now()
		var all sync.WaitGroup
		for n := range 2 * sites {
			all.Go(func() {
				if _, _, err := get(t, client, fmt.Sprintf("http://host%d.example/robots.txt", n/2)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := len(web.Requests()); got != 2*sites {
			t.Errorf("requests: got %d, want %d", got, 2*sites)
		}
		if got := time.Since(began); got != time.Second {
			t.Errorf("took: got %v, want %v", got, time.Second)
		}
		addrs := map[netip.AddrPort]bool{}
		for _, d := range web.Dials() {
			addrs[d.Remote] = true
			if a := d.Remote.Addr(); a.IsPrivate() || a.IsLoopback() || !a.IsGlobalUnicast() {
				t.Fatalf("%s is at %v, want a public address", d.Address, a)
			}
		}
		if len(addrs) != sites {
			t.Errorf("addresses: got %d, want %d", len(addrs), sites)
		}
	})
}

// TestNothingStays checks that the end of the web ends everything that a client has not finished: an idle connection, a
// body that is being read, a request in progress, and a dial that waits. synctest fails a test whose bubble still has a
// goroutine.
func TestNothingStays(t *testing.T) {
	for _, origin := range []string{"http://example.com", "https://example.com"} {
		for _, two := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				site := web.Site(origin).Path("/hang", httptest.Hang()).Path("/endless", httptest.Flood("x").Drip(1, time.Second)).Path("/", httptest.Text("x"))
				if two {
					site.HTTP2()
				}
				web.Site("http://lost.example").Connect(httptest.Lost)
				client := &http.Client{Transport: web.Transport().Clone()}
				get(t, client, origin+"/")
				go get(t, client, origin+"/endless")
				go client.Get(origin + "/hang")
				go client.Post(origin+"/hang", "text/plain", strings.NewReader(strings.Repeat("x", 1<<20)))
				go client.Get("http://lost.example/")
				synctest.Wait()
			})
		}
	}
}

// TestOutsideABubble checks that the web works without a bubble.
func TestOutsideABubble(t *testing.T) {
	web := httptest.New(t)
	web.Site("https://example.com").Path("/", httptest.Text("here"))
	if _, body, err := get(t, web.Client(), "https://example.com/"); body != "here" {
		t.Errorf("got %q, %v, want %q", body, err, "here")
	}
}

// A witness is a testing.TB that records the failures of a test.
type recordingTB struct {
	testing.TB
	mu     sync.Mutex
	failed []string
}

func (w *recordingTB) Errorf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = append(w.failed, fmt.Sprintf(format, args...))
}

func (w *recordingTB) Fatalf(format string, args ...any) {
	w.Errorf(format, args...)
	panic(w)
}

// TestMistakes checks that a mistake in a test's script fails that test with a reason.
func TestMistakes(t *testing.T) {
	for _, row := range []struct {
		name, says string
		do         func(*httptest.Web)
	}{
		{"scheme", `origin "ftp://a.example"`, func(w *httptest.Web) { w.Site("ftp://a.example") }},
		{"path_in_origin", `origin "http://a.example/"`, func(w *httptest.Web) { w.Site("http://a.example/") }},
		{"no_steps", `Path("/a") with 0 steps`, func(w *httptest.Web) { w.Site("http://a.example").Path("/a") }},
		{"relative_path", `Path("a")`, func(w *httptest.Web) { w.Site("http://a.example").Path("a", httptest.Hang()) }},
		{"panic", "a handler panics: oops", func(w *httptest.Web) {
			w.Site("http://a.example").Path("/", httptest.Handler(func(http.ResponseWriter, *http.Request) { panic("oops") }))
			w.Client().Get("http://a.example/")
		}},
		{"raw_over_http2", "breaks the framing of HTTP/1.1", func(w *httptest.Web) {
			w.Site("https://a.example").HTTP2().Path("/", httptest.Raw("HTTP/1.1 200 OK\r\n\r\n"))
			w.Client().Get("https://a.example/")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := &recordingTB{TB: t}
				func() {
					defer func() {
						if p := recover(); p != nil && p != seen {
							panic(p)
						}
					}()
					row.do(httptest.New(seen))
				}()
				synctest.Wait()
				if !slices.ContainsFunc(seen.failed, func(s string) bool { return strings.Contains(s, row.says) }) {
					t.Errorf("got %q, want one with %q", seen.failed, row.says)
				}
			})
		})
	}
}

// TestResolveFirst resolves a name, checks the addresses, and then dials one of them.
func TestResolveFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("https://inner.example").At("169.254.169.254", "fe80::1").Path("/", httptest.Text("here"))
		addrs, err := web.LookupNetIP(t.Context(), "ip", "inner.example")
		want := []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fe80::1")}
		if err != nil || !slices.Equal(addrs, want) {
			t.Fatalf("got %v, %v, want %v", addrs, err, want)
		}
		for _, a := range addrs {
			c, err := web.DialContext(t.Context(), "tcp", netip.AddrPortFrom(a, 443).String())
			if err != nil {
				t.Fatal(err)
			}
			if got := c.RemoteAddr().String(); got != netip.AddrPortFrom(a, 443).String() {
				t.Errorf("remote address: got %v, want %v", got, a)
			}
			c.Close()
		}
		if got := web.Lookups(); len(got) != 1 || got[0].Host != "inner.example" {
			t.Errorf("lookups: got %v, want one", got)
		}
	})
}

// TestSecondAddress checks that a dial tries the next address of a name.
func TestSecondAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://example.com").At("203.0.113.2").Path("/", httptest.Text("here"))
		web.Names("example.com", httptest.Addrs("203.0.113.1", "203.0.113.2"))
		res, err := web.Client().Get("http://example.com/")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if dials := web.Dials(); string(body) != "here" || len(dials) != 2 || dials[0].Err == nil || dials[1].Err != nil {
			t.Errorf("got %q by %+v, want %q by the second address", body, dials, "here")
		}
	})
}
