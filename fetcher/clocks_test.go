package fetcher_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/policy"
)

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
