package fetcher_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// herd is the number of callers that come at once. flock is the number where more
// callers would only take more time.
const herd, flock = 2000, 200

// tallied counts decisions and errors by their text. It is safe for concurrent use.
type tallied struct {
	mu sync.Mutex
	by map[string]int
}

func (c *tallied) add(d policy.Decision, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]int{}
	}
	if err != nil {
		c.by[err.Error()]++
		return
	}
	c.by[short(d)]++
}

// TestHerd sends two thousand callers to an authority of which nothing is known.
// Whatever the site answers, it gets one fetch, and every caller gets the decision.
func TestHerd(t *testing.T) {
	for _, tt := range []struct {
		name     string
		answer   httptest.Step
		requests int
		want     string
	}{
		{"rules", text.After(time.Second), 1, "disallow 2.2.2"},
		{"no_store", text.After(time.Second).Header("Cache-Control", "no-store"), 1, "disallow 2.2.2"},
		{"down", httptest.Status(503).After(time.Second), 1, "defer 2.3.1.4"},
		{"loop", httptest.Redirect(302, "/robots.txt").After(time.Second), 6, "allow 2.3.1.2"},
		{"hang", httptest.Hang(), 1, "defer 2.3.1.4"},
	} {
		t.Run("2.4/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(tt.answer)
				tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: cache.NewMemory(1 << 20)})
				size := flock
				if tt.name == "rules" {
					size = herd
				}
				var got tallied
				var callers sync.WaitGroup
				for range size {
					callers.Go(func() { got.add(tr.Check(t.Context(), must(private))) })
				}
				callers.Wait()
				if got.by[tt.want] != size || len(web.Requests()) != tt.requests {
					t.Errorf("got  %v, %d requests\nwant %d times %s, %d requests", got.by, len(web.Requests()), size, tt.want, tt.requests)
				}
			})
		})
	}
}

// TestHerdOfRequests is TestHerd for page requests of two crawlers that share a
// Transport, each with a group of its own.
func TestHerdOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		s := web.Site(site).Path("/page", httptest.Text("page")).Robots(
			httptest.Text("User-agent: ExampleBot\nAllow: /\n\nUser-agent: ImageBot\nDisallow: /\n").After(time.Second))
		tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
		images, err := tr.As("ImageBot")
		if err != nil {
			t.Fatal(err)
		}
		var pages, refused atomic.Int32
		var callers sync.WaitGroup
		for i := range flock {
			client := &http.Client{Transport: []http.RoundTripper{tr, images}[i%2]}
			callers.Go(func() {
				resp, err := client.Get(site + "/page")
				switch {
				case errors.Is(err, fetcher.ErrDisallowed):
					refused.Add(1)
				case err == nil:
					resp.Body.Close()
					pages.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		callers.Wait()
		robots := len(s.Requests("/robots.txt"))
		if pages.Load() != flock/2 || refused.Load() != flock/2 || robots != 1 {
			t.Errorf("got  %d pages, %d refusals, %d requests for robots.txt\nwant %d, %d, 1", pages.Load(), refused.Load(), robots, flock/2, flock/2)
		}
	})
}

// TestHerdAtExpiry sends many callers when a cached copy expires: with an answer,
// without one, and after an outage.
func TestHerdAtExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(text, text.After(time.Second), httptest.Status(500).After(time.Second), text.After(time.Second))
		tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
		for i, want := range []string{"disallow 2.2.2", "disallow 2.2.2", "disallow 2.4 stale", "disallow 2.2.2"} {
			var got tallied
			var callers sync.WaitGroup
			for range flock {
				callers.Go(func() { got.add(tr.Check(t.Context(), must(private))) })
			}
			callers.Wait()
			if got.by[want] != flock || len(web.Requests()) != i+1 {
				t.Errorf("day %d: got  %v, %d requests\nwant %s for all, %d requests", i, got.by, len(web.Requests()), want, i+1)
			}
			time.Sleep(day)
		}
	})
}

// TestHerdThatLeaves lets half of the callers leave before the answer is there, in
// every possible way. The others do not notice, and the answer is kept even if all
// have left.
func TestHerdThatLeaves(t *testing.T) {
	for _, leave := range []int{1, 2} { // each first, or each second caller
		t.Run(fmt.Sprint("house/each_of_", leave), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(text.After(10 * time.Second))
				tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
				var got tallied
				var callers sync.WaitGroup
				for i := range herd {
					callers.Go(func() {
						ctx := t.Context()
						if i%leave == 0 {
							var cancel context.CancelFunc
							ctx, cancel = context.WithTimeout(ctx, time.Duration(i)*time.Millisecond)
							defer cancel()
						}
						got.add(tr.Check(ctx, must(private)))
					})
				}
				callers.Wait()
				stay, left := herd-herd/leave, 0
				for what, n := range got.by {
					if strings.HasSuffix(what, context.DeadlineExceeded.Error()) {
						left += n
					}
				}
				if got.by["disallow 2.2.2"] != stay || left != herd-stay {
					t.Errorf("got  %v\nwant %d decisions and %d that left", got.by, stay, herd-stay)
				}
				time.Sleep(time.Minute)
				if d, ok := tr.Peek(must(private)); !ok || len(web.Requests()) != 1 {
					t.Errorf("afterwards: got  %v, %v, %d requests\nwant the rules in memory after 1 request", d, ok, len(web.Requests()))
				}
			})
		})
	}
}

// TestEvictedInFlight fills the memory with other authorities while an expired copy
// is fetched again and the fetch fails. The copy that the flight began with is
// still used.
func TestEvictedInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(text, httptest.Status(500).After(10*time.Second))
		for i := range 50 {
			web.Site(fmt.Sprintf("http://other%d.test", i)).Robots(text)
		}
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), MaxBytes: 16 << 10, Attempts: 1})
		tr.Check(t.Context(), must(private))
		time.Sleep(day)
		var got policy.Decision
		var caller sync.WaitGroup
		caller.Go(func() { got, _ = tr.Check(t.Context(), must(private)) })
		time.Sleep(5 * time.Second)
		for i := range 50 {
			tr.Check(t.Context(), must(fmt.Sprintf("http://other%d.test/private", i)))
		}
		if _, ok := tr.Peek(must(private)); ok {
			t.Error("the expired copy is still in memory, want it evicted by others")
		}
		caller.Wait()
		if short(got) != "disallow 2.4 stale" {
			t.Errorf("got  %s, want disallow 2.4 stale", short(got))
		}
	})
}

// TestMemoryIsBounded has hostile authorities send many long files that all differ.
// The Transport and the runtime must both report no more memory than the bound.
func TestMemoryIsBounded(t *testing.T) {
	many := 6_000
	if testing.Short() {
		many = 2_000
	}
	// Each worker may add a record before another record is removed for it.
	const workers, bound = 8, 256 << 10
	const slack = workers * 8 << 10
	line := strings.Repeat("Disallow: /x*y$\nSitemap: http://example.com/"+strings.Repeat("s", 200)+"\n", 4)
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		body := "User-agent: *\nDisallow: /" + r.URL.Host + "\n" + line
		h := http.Header{"Etag": {`"` + r.URL.Host + `"`}, "Last-Modified": {"Fri, 01 Jan 1999 00:00:00 GMT"}}
		switch len(r.URL.Host) % 3 {
		case 0:
			return answerOf(r, 503, h, ""), nil
		case 1:
			return nil, errors.New(r.URL.Host + strings.Repeat("e", 5000))
		}
		return answerOf(r, 200, h, body), nil
	})
	tr := newTransport(t, &fetcher.Options{Base: base, MaxBytes: bound, Attempts: 1})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var callers sync.WaitGroup
	for w := range workers {
		callers.Go(func() {
			for i := w; i < many; i += workers {
				host := fmt.Sprintf("h%d%s.test", i, strings.Repeat("x", i%200))
				if len(host)%67 == 0 {
					host = "a." + host
				}
				tr.Check(t.Context(), &url.URL{Scheme: "http", Host: host, Path: "/"})
				if s := tr.Stats(); s.Bytes > bound+slack {
					t.Errorf("after %d authorities: got %d bytes, want at most %d", i, s.Bytes, bound+slack)
					return
				}
			}
		})
	}
	callers.Wait()
	runtime.GC()
	runtime.GC() // a sync.Pool keeps what it has over one collection
	runtime.ReadMemStats(&after)
	s := tr.Stats()
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20+2*bound {
		t.Errorf("the heap grew by %d bytes for %d authorities; want at most twice MaxBytes and some for the rest, %d", grown, s.Authorities, 1<<20+2*bound)
	}
	if s.Authorities < 50 || s.Bytes > bound || s.Retrievals < int64(many) {
		t.Errorf("got  %d authorities in %d bytes after %d retrievals\nwant at least 50 in %d after %d", s.Authorities, s.Bytes, s.Retrievals, bound, many)
	}
}

// answerOf makes an answer without a server.
func answerOf(r *http.Request, status int, h http.Header, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: h, Body: httpBody(body), ContentLength: int64(len(body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
	}
}

func httpBody(s string) *closing { return &closing{Reader: strings.NewReader(s)} }

// TestPanics lets each hook, store and base panic, exit its goroutine or return
// what it must not. The decision is the careful one, other callers get theirs, and
// the next fetch works.
func TestPanics(t *testing.T) {
	bad := map[string]func(){
		"panic": func() { panic("hostile \x1b text") }, "nil_panic": func() { panic(nil) },
		"abort": func() { panic(http.ErrAbortHandler) }, "exit": runtime.Goexit,
	}
	type place struct {
		set  func(o *fetcher.Options, act func())
		want string // while it acts so
	}
	for where, p := range map[string]place{
		"base": {func(o *fetcher.Options, act func()) {
			next := o.Base
			o.Base = roundTripper(func(r *http.Request) (*http.Response, error) { act(); return next.RoundTrip(r) })
		}, "defer 2.3.1.4"},
		"body": {func(o *fetcher.Options, act func()) {
			next := o.Base
			o.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(r)
				if err == nil {
					resp.Body = &acting{resp.Body, act}
				}
				return resp, err
			})
		}, "defer 2.3.1.4"},
		"redirect": {func(o *fetcher.Options, act func()) {
			o.Redirect = func(_, _ *url.URL) error { act(); return nil }
		}, "defer 2.3.1.4"},
		"egress": {func(o *fetcher.Options, act func()) { o.Egress = func(netip.Addr) error { act(); return nil } }, "defer 2.3.1.4"},
		"hop": {func(o *fetcher.Options, act func()) {
			o.Trace = &fetcher.Trace{Try: func(fetcher.Try) { act() }}
		}, "disallow 2.2.2"},
		"fetched": {func(o *fetcher.Options, act func()) {
			o.Trace = &fetcher.Trace{Fetched: func(policy.Attempt, *policy.Record) { act() }}
		}, "disallow 2.2.2"},
		"waited": {func(o *fetcher.Options, act func()) {
			o.Trace = &fetcher.Trace{Waited: func(string, time.Duration, string) { act() }}
			o.Pace = &pace.Limits{Gap: time.Second}
		}, "disallow 2.2.2"},
		"store_get":     {func(o *fetcher.Options, act func()) { o.Store = &acts{"get", act} }, "disallow 2.2.2"},
		"store_put":     {func(o *fetcher.Options, act func()) { o.Store = &acts{"put", act} }, "disallow 2.2.2"},
		"store_lease":   {func(o *fetcher.Options, act func()) { o.Store = &acts{"lease", act} }, "disallow 2.2.2"},
		"store_release": {func(o *fetcher.Options, act func()) { o.Store = &acts{"release", act} }, "disallow 2.2.2"},
	} {
		for how, f := range bad {
			t.Run("house/"+where+"/"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					web := httptest.New(t)
					web.Site(site).Robots(httptest.Redirect(302, "http://b.test/r"))
					web.Site("http://b.test").Path("/r", text.Header("Cache-Control", "max-age=60"))
					o := &fetcher.Options{Base: web.Transport()}
					var once atomic.Bool // acts badly until it is set
					p.set(o, func() {
						if !once.Load() {
							f()
						}
					})
					tr := newTransport(t, o)
					tr.SetLookup(web.LookupNetIP)
					for _, want := range []string{p.want, "disallow 2.2.2"} {
						var got tallied
						var callers sync.WaitGroup
						for range 20 {
							callers.Go(func() { got.add(tr.Check(t.Context(), must(private))) })
						}
						callers.Wait()
						if got.by[want] != 20 {
							t.Errorf("got  %v\nwant 20 times %s", got.by, want)
						}
						once.Store(true)
						time.Sleep(2 * time.Hour)
					}
				})
			})
		}
	}
}

// acting is a body that calls a function when it is read.
type acting struct {
	rest interface {
		Read([]byte) (int, error)
		Close() error
	}
	act func()
}

func (a *acting) Read(p []byte) (int, error) { a.act(); return a.rest.Read(p) }
func (a *acting) Close() error               { return a.rest.Close() }

// acts is a store without memory that calls a function in one of its methods.
type acts struct {
	in  string
	act func()
}

func (s *acts) do(op string) {
	if s.in == op {
		s.act()
	}
}

func (s *acts) Get(context.Context, string) ([]byte, error) {
	s.do("get")
	return nil, errors.New("nothing is kept")
}

func (s *acts) Put(context.Context, string, []byte, time.Duration) error { s.do("put"); return nil }
func (s *acts) Delete(context.Context, string) error                     { s.do("delete"); return nil }

func (s *acts) Lease(context.Context, string, time.Duration) (func(), error) {
	s.do("lease")
	return func() { s.do("release") }, nil
}
