package fetcher_test

import (
	"context"
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
