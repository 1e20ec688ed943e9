package inspect

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

func TestRates(t *testing.T) {
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	five := span{"five", time.Minute, 5}
	rows := []struct {
		name string
		at   []time.Duration // time of each event since start
		now  time.Duration
		want []int64 // number of events in each bucket, oldest first
	}{
		{"nothing", nil, 0, []int64{0, 0, 0, 0, 0}},
		{"now", []time.Duration{0, 0}, 0, []int64{0, 0, 0, 0, 2}},
		{"bounds_of_a_bucket", []time.Duration{0, time.Minute - 1, time.Minute}, time.Minute, []int64{0, 0, 0, 2, 1}},
		{"moves_along", []time.Duration{0, time.Minute, 2 * time.Minute}, 4 * time.Minute, []int64{1, 1, 1, 0, 0}},
		{"falls_out", []time.Duration{0, time.Minute}, 5 * time.Minute, []int64{1, 0, 0, 0, 0}},
		{"all_fell_out", []time.Duration{0, time.Minute}, time.Hour, []int64{0, 0, 0, 0, 0}},
		{"a_bucket_is_used_again", []time.Duration{0, 0, 0, 5 * time.Minute}, 5 * time.Minute, []int64{0, 0, 0, 0, 1}},
		{"late_news", []time.Duration{3 * time.Minute, 2 * time.Minute}, 3 * time.Minute, []int64{0, 0, 0, 1, 1}},
		{"clock_set_back", []time.Duration{time.Hour, 0}, 0, []int64{0, 0, 0, 0, 1}},
		{"before_1970", []time.Duration{-60 * 365 * 24 * time.Hour}, -60 * 365 * 24 * time.Hour, []int64{0, 0, 0, 0, 1}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := newRates(five)
			for _, at := range row.at {
				r.at(start.Add(at)).countDecision(policy.Allow)
			}
			var got []int64
			for _, b := range r.series(start.Add(row.now)) {
				got = append(got, b.Allowed)
			}
			if !reflect.DeepEqual(got, row.want) {
				t.Errorf("%v seen at %v: got %v, want %v", row.at, row.now, got, row.want)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	var c counts
	for _, v := range []policy.Verdict{policy.Allow, policy.Disallow, policy.Defer, policy.Defer} {
		c.countDecision(v)
	}
	for _, r := range []struct {
		status int
		access policy.Access
	}{{200, policy.Successful}, {304, policy.Successful}, {404, policy.Unavailable}, {403, policy.Restricted}, {503, policy.Unreachable}, {304, policy.Unreachable}} {
		c.countRetrieval(r.status, r.access)
	}
	if want := (counts{1, 1, 2, 1, 1, 2, 2}); c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
}

func TestRing(t *testing.T) {
	for _, row := range []struct {
		size, added, most int
		want              []int
	}{
		{3, 0, 9, []int{}}, {3, 2, 9, []int{2, 1}}, {3, 3, 9, []int{3, 2, 1}}, {3, 8, 9, []int{8, 7, 6}}, {3, 8, 2, []int{8, 7}}, {0, 8, 9, []int{}}, {1, 8, 9, []int{8}},
	} {
		r := newRing[int](row.size)
		for i := range row.added {
			r.add(i + 1)
		}
		if got := r.newest(row.most); !reflect.DeepEqual(got, row.want) {
			t.Errorf("%d added to a ring of %d: got %v, want %v", row.added, row.size, got, row.want)
		}
	}
}

// TestTrace checks that the page's hooks record events and call the next hooks.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []string
		next := &fetcher.Trace{
			Decided: func(_ context.Context, d policy.Decision) { events = append(events, d.Verdict.String()) },
			Fetched: func(a policy.Attempt, _ *policy.Record) { events = append(events, fmt.Sprint(a.Status)) },
			Try:     func(h fetcher.Try) { events = append(events, "hop") },
		}
		page := New(&Options{Recent: 3})
		ft, err := fetcher.New(agent, &fetcher.Options{Base: cannedBase{}, Trace: page.Trace(next)})
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: ft}
		for _, u := range []string{"/", "/private/", "/a"} {
			if res, err := client.Get(siteOne + u); err == nil {
				res.Body.Close()
			}
		}
		checkURL(t, ft, "https://site-0031.example.com/")
		if got, want := strings.Join(events, " "), "hop 200 allow disallow allow hop 503 defer"; got != want {
			t.Errorf("hooks behind: got %q, want %q", got, want)
		}
		decisions, retrievals, hooked := page.history.recent(9)
		var got []string
		for _, r := range decisions {
			got = append(got, r.Decision.Verdict.String()+" "+r.Decision.URL)
		}
		for _, r := range retrievals {
			got = append(got, fmt.Sprint(r.Access, r.Status, " ", r.Robots))
		}
		want := []string{
			"defer https://site-0031.example.com/", "allow " + siteOne + "/a", "disallow " + siteOne + "/private/",
			"unreachable 503 https://site-0031.example.com/robots.txt", "successful 200 " + siteOne + "/robots.txt",
		}
		if !hooked || !reflect.DeepEqual(got, want) {
			t.Errorf("history: got %q, want %q", got, want)
		}
		c := page.history.series(0, time.Now())[59].counts
		if want := (counts{Allowed: 2, Disallowed: 1, Deferred: 1, Retrieved: 1, Unreachable: 1}); c != want {
			t.Errorf("rates: got %+v, want %+v", c, want)
		}
	})
}

// TestRecentNone checks that a page without a history still counts the rates.
func TestRecentNone(t *testing.T) {
	page, _ := demoPage(t, &Options{Recent: -1}, 1)
	decisions, retrievals, _ := page.history.recent(9)
	if len(decisions) > 0 || len(retrievals) > 0 {
		t.Errorf("got %d decisions and %d retrievals, want none", len(decisions), len(retrievals))
	}
}

// TestTogether shows all pages while the crawler runs, for the race detector.
func TestTogether(t *testing.T) {
	page, ft := demoPage(t, &Options{Actions: true}, 20)
	h := page.Handler(ft)
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			for n := range 4 {
				checkURL(t, ft, fmt.Sprintf("https://site-%d.example.com/%d", 100*i+n, n))
				for _, look := range browserPages {
					sendRequest(h, "GET", "/"+look.query, "")
				}
				sendRequest(h, "POST", "/", "act=forget&url="+siteOne)
			}
		})
	}
	wg.Wait()
	if got := ft.Stats().Authorities; got != 12+19+3*4 {
		t.Errorf("authorities: got %d, want %d", got, 12+19+3*4)
	}
}
