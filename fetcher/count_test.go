package fetcher_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// A request has one decision, which is counted once and reported once, with and
// without hooks, and also if robots.txt allows the page but its turn comes too
// late.
func TestOneDecisionARequest(t *testing.T) {
	for _, c := range []struct {
		name     string
		audit    bool
		reported []string
		want     fetcher.Stats
	}{
		{"house/a_late_turn_counts_as_deferred", false, []string{"allow", "defer", "disallow"}, fetcher.Stats{Allowed: 1, Deferred: 1, Disallowed: 1}},
		{"house/in_audit_the_worse_counts", true, []string{"allow", "defer", "disallow"}, fetcher.Stats{Allowed: 1, Deferred: 1, Disallowed: 1}},
	} {
		for _, hooks := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					web := httptest.New(t)
					web.Site(site).Robots(text).Path("/*", httptest.Text("a page"))
					var reported []string
					o := &fetcher.Options{Base: web.Transport(), Audit: c.audit, Pace: &pace.Limits{Gap: time.Minute, MaxWait: time.Second}}
					if hooks {
						o.Trace = &fetcher.Trace{Decided: func(_ context.Context, d policy.Decision) { reported = append(reported, d.Verdict.String()) }}
					}
					tr := newTransport(t, o)
					if _, err := tr.Record(context.Background(), must(site)); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
					for _, page := range []string{public, public, private} {
						req, err := http.NewRequest("GET", page, nil)
						if err != nil {
							t.Fatal(err)
						}
						if resp, err := tr.RoundTrip(req); err == nil {
							resp.Body.Close()
						}
					}
					s := tr.Stats()
					got := fetcher.Stats{Allowed: s.Allowed, Deferred: s.Deferred, Disallowed: s.Disallowed}
					if got != c.want {
						t.Errorf("hooks %t, counted\ngot  %+v\nwant %+v", hooks, got, c.want)
					}
					if hooks && !slices.Equal(reported, c.reported) {
						t.Errorf("reported\ngot  %v\nwant %v", reported, c.reported)
					}
				})
			})
		}
	}
}

// A call whose wait for a turn ends with its context has a decision, too: a Defer, which says what
// it waited for.
func TestDecisionOfAWaitThatEnds(t *testing.T) {
	for _, call := range []string{"request", "admit"} {
		for _, hooks := range []bool{false, true} {
			t.Run("house/"+call, func(t *testing.T) {
				var reported []policy.Decision
				o := fetcher.Options{}
				if hooks {
					o.Trace = &fetcher.Trace{Decided: func(_ context.Context, d policy.Decision) { reported = append(reported, d) }}
				}
				inPace(t, pace.Limits{Gap: time.Minute}, o, func(p *paced) {
					p.web.Site(site).Robots(text).Path("/*", page)
					if _, err := p.tr.Record(p.t.Context(), must(site)); err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithCancel(p.t.Context())
					time.AfterFunc(time.Second, cancel)
					var err error
					if call == "admit" {
						_, _, err = p.tr.Admit(ctx, must(public))
					} else {
						_, err = p.get(ctx, public)
					}
					if n := p.tr.Stats().Deferred; !errors.Is(err, context.Canceled) || n != 1 {
						t.Errorf("hooks %t: got %v, %d deferred; want %v, 1", hooks, err, n, context.Canceled)
					}
					if hooks && (len(reported) != 1 || reported[0].Verdict != policy.Defer || reported[0].URL != public ||
						reported[0].Pacing != "no turn in time because of the gap between requests" || reported[0].RetryAt.Sub(p.start) != time.Minute) {
						t.Errorf("reported %v; want one Defer until a minute", reported)
					}
				})
			})
		}
	}
}
