package fetcher_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/policy"
)

// TestClockSetBack starts a crawler on a store whose writer had a clock that was
// ahead. A record from the future has expired (house rule), and an outage that
// begins there begins now.
func TestClockSetBack(t *testing.T) {
	answer := func(status int, body string) policy.Attempt {
		return policy.Attempt{Status: status, Body: []byte(body), Header: http.Header{}}
	}
	fails := policy.Attempt{Err: &policy.Failure{Class: policy.Connect}}
	busy := answer(429, "")
	busy.Header.Set("Retry-After", "86400")
	for _, tt := range []struct {
		name   string
		learnt []policy.Attempt // one after the other, a day apart
		robots httptest.Step
		want   []string // of the public page now, at 29 d 23 h, and at 31 d
	}{
		{"rules_are_asked_for_again", []policy.Attempt{answer(200, shut)}, text, []string{"allow 2.2.2", "allow 2.2.2", "allow 2.2.2"}},
		{"rules_govern_an_outage", []policy.Attempt{answer(200, shut)}, httptest.Status(503), []string{"disallow 2.4 stale", "disallow 2.4 stale", "disallow 2.3.1.4 stale"}},
		{"missing_is_asked_for_again", []policy.Attempt{answer(404, "")}, text, []string{"allow 2.2.2", "allow 2.2.2", "allow 2.2.2"}},
		{"missing_does_not_outlast_an_outage", []policy.Attempt{answer(404, "")}, httptest.Status(503), []string{"defer 2.3.1.4", "defer 2.3.1.4", "allow 2.3.1.4"}},
		{"an_outage_begins_now", []policy.Attempt{answer(503, "")}, httptest.Status(503), []string{"defer 2.3.1.4", "defer 2.3.1.4", "allow 2.3.1.4"}},
		{"a_long_outage_begins_now", []policy.Attempt{answer(503, ""), fails, fails}, httptest.Status(503), []string{"defer 2.3.1.4", "defer 2.3.1.4", "allow 2.3.1.4"}},
		{"without_a_server_it_never_allows", []policy.Attempt{fails, fails}, httptest.Reset(), []string{"defer 2.3.1.4", "defer 2.3.1.4", "defer 2.3.1.4"}},
		{"a_retry_after_is_not_waited_for", []policy.Attempt{busy}, text, []string{"allow 2.2.2", "allow 2.2.2", "allow 2.2.2"}},
	} {
		for _, ahead := range []time.Duration{2 * time.Hour, 40 * day, 100 * 365 * day} {
			t.Run(fmt.Sprint("2.4/", tt.name, "/", ahead), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					web := httptest.New(t)
					web.Site(site).Robots(tt.robots)
					store := cache.NewMemory(1 << 20)
					p := policy.RFC9309()
					var rec *policy.Record
					for i, a := range tt.learnt {
						a.Robots = site + "/robots.txt"
						a.Sent = time.Now().Add(ahead + time.Duration(i)*day)
						a.Received = a.Sent
						rec = p.Learn(rec, a)
					}
					data, err := rec.MarshalBinary()
					if err != nil {
						t.Fatal(err)
					}
					if err := store.Put(t.Context(), siteKey, data, 10000*day); err != nil {
						t.Fatal(err)
					}
					tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store})
					start := time.Now()
					for i, at := range []time.Duration{0, 30*day - time.Hour, 31 * day} {
						if i > 0 {
							crawlUntil(t, tr, public, start.Add(at))
						}
						time.Sleep(time.Until(start.Add(at)))
						requests := len(web.Requests())
						d, err := tr.Check(t.Context(), must(public))
						if err != nil || short(d) != tt.want[i] || i == 0 && len(web.Requests()) == requests {
							t.Errorf("after %v: got  %v, %v, %d requests\nwant %s, at first by a new request", at, d, err, len(web.Requests())-requests, tt.want[i])
						}
						if time.Until(d.Expires) > day {
							t.Errorf("after %v: next fetch only at %v", at, d.Expires)
						}
					}
				})
			})
		}
	}
}

// TestRefreshBehindAnotherClock refreshes within the difference of two clocks after another
// process has fetched the file: what Refresh fetches is in force, here and in the store.
func TestRefreshBehindAnotherClock(t *testing.T) {
	for _, tt := range []struct {
		name   string
		robots httptest.Step
		want   string
	}{
		{"a_file", text, "disallow 2.2.2"},
		{"no_file", httptest.Status(404), "allow 2.3.1.3"},
	} {
		t.Run("4.2/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(tt.robots)
				store := cache.NewMemory(1 << 20)
				rec := policy.RFC9309().Learn(nil, policy.Attempt{Robots: site + "/robots.txt", Status: 200, Received: time.Now().Add(50 * time.Second)})
				data, err := rec.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				if err := store.Put(t.Context(), siteKey, data, day); err != nil {
					t.Fatal(err)
				}
				for _, how := range []string{"refreshed", "loaded"} {
					tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store})
					ask := tr.Check
					if how == "refreshed" {
						ask = tr.Refresh
					}
					if d, err := ask(t.Context(), must(private)); err != nil || short(d) != tt.want {
						t.Errorf("%s: got  %v, %v\nwant %s", how, d, err, tt.want)
					}
				}
				if n := len(web.Requests()); n != 1 {
					t.Errorf("got  %d requests, want 1", n)
				}
			})
		})
	}
}

// TestRestarts kills a crawler after every fetch for forty days. The outage counts
// as one, and ends as it does for a crawler that never stopped.
func TestRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(httptest.Status(500))
		store := cache.NewMemory(1 << 20)
		start := time.Now()
		var allowed time.Duration
		asked := 0
		for age := time.Duration(0); age < 40*day; age = time.Since(start) {
			tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store})
			d, err := tr.Check(t.Context(), must(public))
			if err != nil {
				t.Fatal(err)
			}
			if d.Allowed() && allowed == 0 {
				allowed = age
			}
			if !d.DownSince.Equal(start) {
				t.Fatalf("after %v: got  down since %v, want since %v", age, d.DownSince, start)
			}
			if got := len(web.Requests()); got-asked > 1 {
				t.Fatalf("after %v: got  %d requests at one start, want 1 at most", age, got-asked)
			}
			asked = len(web.Requests())
			time.Sleep(time.Hour)
		}
		if allowed < 30*day || allowed > 30*day+6*time.Hour {
			t.Errorf("got  the first allow after %v\nwant it after 30 days", allowed)
		}
		// The time between fetches is an hour on the first day, then six hours, and an
		// hour after 30 days.
		if asked < 300 || asked > 24+29*8+10*24 {
			t.Errorf("got  %d requests in 40 days, want between 300 and %d", asked, 24+29*8+10*24)
		}
	})
}
