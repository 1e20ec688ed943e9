package fetcher_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// TestAs has two crawlers share the cache and nothing else: each is decided on by
// its own group.
func TestAs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(httptest.Text("User-agent: ExampleBot\nDisallow: /a\n\nUser-agent: ImageBot\nDisallow: /b\n"))
		tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
		images, err := tr.As("imagebot")
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			tr   *fetcher.Transport
			path string
			want string
		}{
			{tr, "/a", "disallow 2.2.2"}, {tr, "/b", "allow 2.2.2"}, {images, "/a", "allow 2.2.2"}, {images, "/b", "disallow 2.2.2"},
		} {
			d, err := tt.tr.Check(t.Context(), must(site+tt.path))
			if err != nil || short(d) != tt.want {
				t.Errorf("%s: got  %v, %v\nwant %s", tt.path, d, err, tt.want)
			}
		}
		if got := web.Requests(); len(got) != 1 {
			t.Errorf("got  %v\nwant one request for both", got)
		}
		if a, b := tr.Stats(), images.Stats(); a != b || a.Disallowed != 2 || a.Allowed != 2 {
			t.Errorf("got  stats %+v and %+v\nwant the same, 2 allowed and 2 disallowed", a, b)
		}
	})
	tr := newTransport(t, nil)
	for _, token := range []string{"", "*", "Image Bot", "ImageBot/1.0", "B\u00f6t", "bot.2"} {
		if _, err := tr.As(token); err == nil {
			t.Errorf("As(%q): got no error, want one (RFC 9309, section 2.2.1)", token)
		}
	}
}

// TestPeek checks that Peek decides without a request, and only by a record that is
// not due.
func TestPeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(text, httptest.Status(500))
		tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
		peek := func(when, url, want string) {
			t.Helper()
			got := "nothing"
			if d, ok := tr.Peek(must(url)); ok {
				got = short(d)
			}
			if got != want {
				t.Errorf("%s, %s:\ngot  %s\nwant %s", when, url, got, want)
			}
		}
		asked := 0
		check := func() {
			asked++
			tr.Check(t.Context(), must(private))
		}
		peek("cold", private, "nothing")
		peek("cold", site+"/robots.txt", "allow 2.2.2")
		peek("cold", "ftp://example.com/", "nothing")
		check()
		peek("warm", private, "disallow 2.2.2")
		peek("warm", public, "allow 2.2.2")
		peek("warm", "https://example.com/", "nothing")
		time.Sleep(day)
		peek("expired", private, "nothing")
		check()
		peek("down", private, "disallow 2.4 stale")
		time.Sleep(time.Minute)
		peek("down, and due", private, "nothing")
		if got := len(web.Requests()); got != asked {
			t.Errorf("got  %d requests\nwant %d, none of them by Peek", got, asked)
		}
	})
}

// TestRefresh fetches the file whatever is known, once for all callers, and keeps
// the result.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(text, httptest.Text("").After(time.Second), httptest.Status(500))
		tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
		tr.Check(t.Context(), must(private))
		var got tallied
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() { got.add(tr.Refresh(t.Context(), must(private))) })
		}
		callers.Wait()
		if got.by["allow 2.2.1"] != 100 || len(web.Requests()) != 2 {
			t.Errorf("got  %v after %d requests\nwant allow 2.2.1 for all after 2", got.by, len(web.Requests()))
		}
		// A refresh that fails leaves the copy in force.
		if d, err := tr.Refresh(t.Context(), must(private)); err != nil || short(d) != "allow 2.2.1" || d.Access != policy.Unreachable {
			t.Errorf("after a failure: got  %v, %v\nwant allow 2.2.1 by the copy, unreachable", d, err)
		}
		if _, err := tr.Refresh(t.Context(), must("ftp://example.com/")); !errors.Is(err, fetcher.ErrURL) {
			t.Errorf("ftp: got  %v\nwant %v", err, fetcher.ErrURL)
		}
	})
}

// TestInvalidate checks that rules and outage are forgotten in memory and in the
// store, also during a fetch.
func TestInvalidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(text.ETag(`"1"`), httptest.Status(404).After(10*time.Second), text)
		store := cache.NewMemory(1 << 20)
		o := &fetcher.Options{Base: web.Transport(), Store: store}
		tr := newTransport(t, o)
		tr.Check(t.Context(), must(private))
		if err := tr.Invalidate(t.Context(), must(private)); err != nil {
			t.Fatal(err)
		}
		if d, ok := tr.Peek(must(private)); ok {
			t.Errorf("after Invalidate: got  %v in memory, want nothing", d)
		}
		if _, err := store.Get(t.Context(), siteKey); err == nil {
			t.Error("after Invalidate: the store has the record still")
		}
		var d policy.Decision
		var callers sync.WaitGroup
		callers.Go(func() { d, _ = tr.Check(t.Context(), must(private)) })
		time.Sleep(5 * time.Second)
		tr.Invalidate(t.Context(), must(private))
		callers.Wait()
		got := web.Requests()
		if short(d) != "disallow 2.2.2" || len(got) != 3 || got[1].Header.Get("If-None-Match") != "" {
			t.Errorf("invalidated while asking: got  %v after %v\nwant disallow 2.2.2 by the third request, no validators", d, got)
		}
	})
	for _, u := range []string{"ftp://example.com/", "http:///"} {
		if err := newTransport(t, nil).Invalidate(t.Context(), must(u)); !errors.Is(err, fetcher.ErrURL) {
			t.Errorf("%s: got  %v\nwant %v", u, err, fetcher.ErrURL)
		}
	}
}

// TestInvalidateDuringAFetch invalidates a site before its answer arrives. The answer governs no
// URL, not even while a hook gets it, and is not stored.
func TestInvalidateDuringAFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(opened.After(time.Second), text.After(time.Second))
		u := newUnion()
		began, saved := time.Now(), time.Duration(0)
		u.frozen = func() { saved = time.Since(began) }
		slow := &fetcher.Trace{Fetched: func(policy.Attempt, *policy.Record) { time.Sleep(time.Second) }}
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: u, Trace: slow})
		go tr.Check(context.Background(), must(private))
		time.Sleep(time.Second / 2)
		tr.Invalidate(t.Context(), must(private))
		time.Sleep(time.Second)
		d, known := tr.Peek(must(private))
		if known {
			t.Errorf("2.4/in_memory: got  %v\nwant nothing: the fetch began before Invalidate", d)
		}
		if d, err := tr.Check(t.Context(), must(private)); err != nil || short(d) != "disallow 2.2.2" {
			t.Errorf("2.4/check: got  %v, %v\nwant disallow 2.2.2 by the second answer", d, err)
		}
		if saved != 4*time.Second {
			t.Errorf("2.4/store: the first record was stored after %v, want 4s, after the second answer", saved)
		}
	})
}

// A Check while the store still has the record that Invalidate removes leaves no rules behind.
func TestInvalidateDuringACheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(text)
		store := &forgetting{Store: cache.NewMemory(1 << 20)}
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store})
		store.before = func() { tr.Check(t.Context(), must(private)) }
		tr.Check(t.Context(), must(private))
		tr.Invalidate(t.Context(), must(private))
		if d, ok := tr.Peek(must(private)); ok {
			t.Errorf("2.4/in_memory: got  %v\nwant nothing after Invalidate", d)
		}
	})
}

// A forgetting store calls before when it is about to delete a record.
type forgetting struct {
	cache.Store
	before func()
}

func (f *forgetting) Delete(ctx context.Context, key string) error {
	f.before()
	return f.Store.Delete(ctx, key)
}

// TestRecord reads what the file says besides rules.
func TestRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(httptest.Text("Sitemap: http://example.com/s.xml\nUser-agent: ExampleBot\nCrawl-delay: 7\n"))
		web.Site("http://down.test").Robots(httptest.Status(500))
		tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
		rec, err := tr.Record(t.Context(), must(public))
		if err != nil {
			t.Fatal(err)
		}
		delay, ok := rec.File().CrawlDelay("ExampleBot")
		if got := rec.File().Sitemaps(); !slices.Equal(got, []string{"http://example.com/s.xml"}) || delay != 7*time.Second || !ok {
			t.Errorf("got  sitemaps %v, delay %v, %v\nwant http://example.com/s.xml and 7s", got, delay, ok)
		}
		if rec, err := tr.Record(t.Context(), must("http://down.test/")); err != nil || rec == nil || rec.File() != nil {
			t.Errorf("down: got  %v, %v\nwant a record without a copy", rec, err)
		}
		if _, err := tr.Record(t.Context(), must("x:y")); !errors.Is(err, fetcher.ErrURL) {
			t.Errorf("x:y: got  %v\nwant %v", err, fetcher.ErrURL)
		}
	})
}

// The error of a caller whose context ends before it can join a fetch says what it would have
// waited for.
func TestWaitThatCannotBegin(t *testing.T) {
	tr := newTransport(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	want := "fetcher: waiting for robots.txt of http://example.com: context canceled"
	if _, err := tr.Check(ctx, must(public)); err == nil || err.Error() != want {
		t.Errorf("7/check: got  %v\nwant %s", err, want)
	}
}

// TestRecords lists what is in memory and calls the Transport from within the loop.
func TestRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
		var want []string
		for i := range 50 {
			origin := fmt.Sprintf("https://s%d.test", i)
			web.Site(origin).Robots(text)
			tr.Check(t.Context(), must(origin))
			want = append(want, origin)
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(maps.Collect(tr.Records()))); !slices.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		for origin, rec := range tr.Records() {
			if at := strings.ToUpper(origin) + "/page"; rec.Robots() != origin+"/robots.txt" || tr.Cached(must(at)) != rec {
				t.Errorf("%s: got the record of %s, and that of %s for %s", origin, rec.Robots(), tr.Cached(must(at)).Robots(), at)
			}
			if err := tr.Invalidate(t.Context(), must(origin)); err != nil {
				t.Fatal(err)
			}
			if rec = tr.Cached(must(origin)); rec != nil {
				t.Errorf("%s: got a record after Invalidate", origin)
			}
		}
		if s := tr.Stats(); s.Authorities != 0 {
			t.Errorf("after Invalidate of all: got %d, want 0", s.Authorities)
		}
	})
}

// TestStats checks that everything is counted once.
func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(text.ETag(`"1"`)).Path("/public", httptest.Text("page"))
		web.Site("http://down.test").Robots(httptest.Reset())
		web.Site("http://busy.test").Robots(httptest.Status(429))
		store := cache.NewMemory(1 << 20)
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store})
		client := &http.Client{Transport: tr}
		for _, u := range []string{private, public, public, "http://down.test/", "http://busy.test/"} {
			if resp, err := client.Get(u); err == nil {
				resp.Body.Close()
			}
		}
		time.Sleep(day)
		tr.Check(t.Context(), must(private))
		again := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store})
		again.Check(t.Context(), must(private))
		got := tr.Stats()
		want := fetcher.Stats{
			Allowed: 2, Disallowed: 2, Deferred: 2, Retrievals: 4, Requests: 5, Renewed: 1, Unreachable: 2,
			Authorities: 3, Bytes: got.Bytes, Pace: pace.Stats{Off: true},
		}
		if got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		if got := again.Stats(); got.StoreHits != 1 || got.Requests != 0 || got.Disallowed != 1 {
			t.Errorf("after a restart: got  %+v\nwant one hit of the store, one disallowed and no request", got)
		}
	})
}

// TestOverride checks that the operator decides, that the reason is in the
// decision, and that nothing is fetched.
func TestOverride(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(text)
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Override: func(u *url.URL) (policy.Verdict, string, bool) {
			switch u.Path {
			case "/private":
				return policy.Allow, "agreed with the webmaster", true
			case "/public":
				return policy.Disallow, "", true
			}
			return policy.Allow, "of no effect", false
		}})
		for _, tt := range []struct{ url, want, reason string }{
			{private, "allow house", "agreed with the webmaster"},
			{public, "disallow house", "no reason given"},
			{site + "/private/x", "disallow 2.2.2", ""},
		} {
			d, err := tr.Check(t.Context(), must(tt.url))
			peeked, _ := tr.Peek(must(tt.url))
			refreshed, _ := tr.Refresh(t.Context(), must(tt.url))
			for how, d := range map[string]policy.Decision{"Check": d, "Peek": peeked, "Refresh": refreshed} {
				if err != nil || short(d) != tt.want || d.Override != tt.reason || !strings.Contains(d.String(), tt.reason) {
					t.Errorf("%s of %s: got  %v, %v\nwant %s, %q", how, tt.url, d, err, tt.want, tt.reason)
				}
			}
		}
	})
}

// TestAudit checks that every decision is reported and no request is refused.
func TestAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := sites(t)
		web.Site(site).Path("/private", httptest.Text("secret"))
		web.Site("http://down.test").Path("/", httptest.Text("up"))
		var reported []string
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Audit: true, Pace: &pace.Limits{Gap: time.Hour, MaxWait: 2 * time.Hour},
			Trace: &fetcher.Trace{Decided: func(_ context.Context, d policy.Decision) { reported = append(reported, d.URL+" "+short(d)) }}})
		client := &http.Client{Transport: tr}
		for _, u := range []string{private, "http://down.test/", public} {
			resp, err := client.Get(u)
			if err != nil {
				t.Errorf("%s: got  %v\nwant the page", u, err)
				continue
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		want := []string{private + " disallow 2.2.2", "http://down.test/ defer 2.3.1.4", public + " allow 2.2.2"}
		if !slices.Equal(reported, want) {
			t.Errorf("got  %q\nwant %q", reported, want)
		}
		if d, _ := tr.Check(t.Context(), must(private)); short(d) != "disallow 2.2.2" {
			t.Errorf("Check: got  %v\nwant disallow 2.2.2", d)
		}
	})
}

// TestHooksMayCallBack calls the Transport from within every hook: for the same
// authority where its fetch is over, and otherwise for another one. A lock that is
// held, or a flight that waits for itself, would end the bubble in a deadlock.
func TestHooksMayCallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(httptest.Text("User-agent: *\nDisallow: /private\nCrawl-delay: 600\n")).Path("/public", httptest.Text("page"))
		web.Site("http://other.test").Robots(text)
		var tr *fetcher.Transport
		var mu sync.Mutex
		called := map[string]bool{}
		calls := func(hook, of, target string) {
			mu.Lock()
			again := called[hook] || !strings.HasPrefix(of, site)
			called[hook] = called[hook] || !again
			mu.Unlock()
			if again {
				return // it may have been called for its own calls
			}
			tr.Check(t.Context(), must(target))
			tr.Peek(must(target))
			tr.Record(t.Context(), must(target))
			tr.Refresh(t.Context(), must("http://other.test/"))
			tr.Invalidate(t.Context(), must("http://other.test/"))
			tr.Stats()
			tr.CloseIdleConnections()
			for range tr.Records() {
				tr.Stats()
			}
		}
		const other = "http://other.test/"
		tr = newTransport(t, &fetcher.Options{
			Base: web.Transport(), Store: badStore{}, Pace: &pace.Limits{Gap: time.Second, DelayCap: 2 * time.Second},
			Trace: &fetcher.Trace{
				Decided: func(_ context.Context, d policy.Decision) { calls("Decided", d.URL, private) },
				Try:     func(h fetcher.Try) { calls("Try", h.Robots, other) },
				Fetched: func(a policy.Attempt, _ *policy.Record) { calls("Fetched", a.Robots, private) },
				Store:   func(_, authority string, _ error) { calls("Store", authority, other) },
				Waited:  func(authority string, _ time.Duration, _ string) { calls("Waited", authority, other) },
				Delay:   func(authority string, _, _ time.Duration) { calls("Delay", authority, private) },
			},
		})
		client := &http.Client{Transport: tr}
		for range 3 {
			resp, err := client.Get(public)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		for _, hook := range []string{"Decided", "Try", "Fetched", "Store", "Waited", "Delay"} {
			if !called[hook] {
				t.Errorf("%s was never called; got %v", hook, called)
			}
		}
	})
}
