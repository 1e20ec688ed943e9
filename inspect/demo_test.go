package inspect

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

// cannedBase is a base whose answers depend on the number in the site's name. It opens
// no connection.
type cannedBase struct{}

func (cannedBase) RoundTrip(r *http.Request) (*http.Response, error) {
	var n int
	if _, err := fmt.Sscanf(r.URL.Host, "site-%d.example.com", &n); err != nil {
		return nil, fmt.Errorf("no such site in this test: %.100q", r.URL)
	}
	w := httptest.NewRecorder()
	switch {
	case n%31 == 0:
		w.WriteHeader(http.StatusServiceUnavailable)
	case n%9 == 0:
		w.WriteHeader(http.StatusNotFound)
	default:
		fmt.Fprintf(w, "User-agent: *\nDisallow: /private/\nDisallow: /%d/\n", n%7)
	}
	return w.Result(), nil
}

// A demoSite is an authority in the memory of a crawler that has run for some days.
type demoSite struct {
	origin string
	age    time.Duration // age of the last answer
	status int
	body   string
	hops   []policy.Hop
	err    error
	was    string        // cached copy at the beginning of the outage
	down   time.Duration // length of the outage
}

const shopRobots = `# Rules of the shop
User-agent: *
Disallow: /cart
Disallow: /checkout/
Disallow: /*?sort=
Allow: /*?sort=newest$
Disallow: /account
Crawl-delay: 2
Dissalow: /internal/
Noindex: /search

User-agent: ExampleBot
User-agent: OtherBot
Disallow: /search
Allow: /search/help
Disallow: /private/
Disallow: admin/
Disallow:
Allow: /private/press/
Crawl-delay: 5

User-agent: GreedyBot
Disallow: /

Sitemap: https://shop.example.com/sitemap.xml
Sitemap: https://shop.example.com/sitemap-products.xml
this line is no record
`

var demoSites = []demoSite{
	{origin: "https://shop.example.com", age: 3 * time.Hour, status: 200, body: shopRobots,
		hops: []policy.Hop{{From: "https://shop.example.com/robots.txt", To: "https://www.shop.example.com/robots.txt", Status: 301}}},
	{origin: "https://news.example.org", age: 17 * time.Minute, status: 200, body: "User-agent: *\nDisallow: /archive/\nDisallow: /*.pdf$\n"},
	{origin: "https://blog.example.net", age: 11 * time.Hour, status: 404},
	{origin: "https://wiki.example.org", age: 23 * time.Hour, status: 200, body: "User-agent: *\nAllow: /w/load.php?\nDisallow: /w/\nDisallow: /trap/\n"},
	{origin: "https://api.example.com:8443", age: 40 * time.Minute, status: 403},
	{origin: "http://old.example.edu", age: 20 * time.Second, err: &policy.Failure{Class: policy.Connect, Err: fmt.Errorf("connection refused")}, was: "User-agent: *\nDisallow: /cgi-bin/\n", down: 6*24*time.Hour + 5*time.Hour},
	{origin: "https://forum.example.com", age: 25 * time.Second, status: 503, down: 4*time.Hour + 12*time.Minute},
	{origin: "https://images.example.com", age: 5 * time.Hour, status: 200, body: "User-agent: *\nDisallow: /\n"},
	{origin: "https://xn--bcher-kva.example", age: 8 * time.Hour, status: 200, body: "User-agent: *\nDisallow: /warenkorb\n"},
	{origin: "https://museum.example.org", age: 22 * time.Hour, status: 200, body: "User-agent: *\nDisallow: /tickets/\nContent-Signal: search=yes, ai-train=no\nContent-Usage: /maps/ train-ai=y\nContent-Usage: /maps/ train-ai=n\nContent-Usage: Search=y\n"},
	{origin: "https://maps.example.net", age: 12 * time.Second, err: &policy.Failure{Class: policy.DNS, Err: fmt.Errorf("no such host")}, down: 20 * time.Minute},
	{origin: "https://data.example.gov", age: 14 * time.Hour, status: 200, body: "User-agent: *\nDisallow: /staging/\nDisallow: /export?\n"},
}

// learn returns the record of the site at the time now, and its last attempt.
func (s demoSite) learn(now time.Time) (*policy.Record, policy.Attempt) {
	p := policy.RFC9309()
	robots := s.origin + "/robots.txt"
	var rec *policy.Record
	if s.was != "" {
		at := now.Add(-s.down - 20*time.Hour)
		rec = p.Learn(rec, policy.Attempt{Robots: robots, Status: 200, Header: http.Header{}, Body: []byte(s.was), Sent: at})
	}
	sent := now.Add(-s.age)
	a := policy.Attempt{
		Robots: robots, Hops: s.hops, Status: s.status, Header: http.Header{"Etag": {`"5f3c-61a"`}},
		Body: []byte(s.body), Err: s.err, Sent: sent.Add(-184 * time.Millisecond), Received: sent,
	}
	if s.down != 0 {
		first := a
		first.Sent, first.Received = now.Add(-s.down), now.Add(-s.down)
		rec = p.Learn(rec, first)
	}
	return p.Learn(rec, a), a
}

// demoPage returns a crawler that seems to have run for some days, and its page.
func demoPage(t *testing.T, o *Options, fillers int) (*Page, *fetcher.Transport) {
	t.Helper()
	now := time.Now()
	page, store := New(o), cache.NewMemory(1<<26)
	ft, err := fetcher.New(agent, &fetcher.Options{Base: cannedBase{}, Store: store, Trace: page.Trace(nil)})
	if err != nil {
		t.Fatal(err)
	}
	check := func(u string) {
		target, _ := url.Parse(u)
		if _, err := ft.Check(context.Background(), target); err != nil {
			t.Fatal(err)
		}
	}
	for i := range fillers {
		for _, path := range []string{"/", "/a", "/b/c", "/d", "/3/e", "/f", "/g", "/private/"} {
			check(fmt.Sprintf("https://site-%04d.example.com%s", i, path))
		}
	}
	page.history.addPastWeek(now)
	sites := slices.SortedFunc(slices.Values(demoSites), func(a, b demoSite) int { return cmp.Compare(b.age, a.age) })
	for _, s := range sites {
		rec, a := s.learn(now)
		raw, err := rec.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		store.Put(context.Background(), s.origin+" rfc9309", raw, time.Hour)
		a.Body = nil
		page.history.fetched(a, rec)
	}
	for _, u := range []string{
		"https://museum.example.org/", "https://maps.example.net/tiles/4/7", "https://data.example.gov/sets", "https://api.example.com:8443/v1", "https://xn--bcher-kva.example/",
		"https://news.example.org/archive/2019/", "https://shop.example.com/search?q=tea", "https://forum.example.com/t/1234",
		"https://blog.example.net/2026/11/polite", "https://images.example.com/cat.jpg", "http://old.example.edu/staff/",
		"https://shop.example.com/private/press/kit.pdf", "https://wiki.example.org/w/index.php?title=Robots",
	} {
		check(u)
	}
	return page, ft
}

// addPastWeek fills the rates with a week of crawling that had a quarter of an hour with
// many failures.
func (h *history) addPastWeek(now time.Time) {
	fresh := newHistory(cap(h.decisions.items))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.decisions, h.retrievals, h.rates = fresh.decisions, fresh.retrievals, fresh.rates
	for i := 7 * 24 * 60; i > 0; i-- {
		at := now.Add(-time.Duration(i) * time.Minute)
		wave := 120 + 40*math.Sin(float64(i)/17) + 16*math.Sin(float64(i)/3.1)
		bad := math.Max(0, 1-math.Abs(float64(i)-21)/7)
		for _, r := range h.rates {
			c := r.at(at)
			c.Allowed += int64(wave * (1 - bad/2))
			c.Disallowed += int64(wave / 7)
			c.Deferred += int64(2 + 60*bad)
			c.Retrieved += int64(wave / 30)
			c.Renewed += int64(wave / 40)
			c.Unavailable += int64(i % 3)
			c.Unreachable += int64(8 * bad)
		}
	}
}
