package fetcher_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/policy"
)

// TestProfileNumbers has the rows in which profiles differ by a number.
func TestProfileNumbers(t *testing.T) {
	for _, r := range []row{
		{name: "house/koster1996_follows_ten_redirects", profile: "koster1996", robots: steps(httptest.Redirect(301, "http://b.test/0")), also: chain(9), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 11, next: exactly(7 * day)},
		}},
		{name: "house/koster1996_and_no_eleventh", profile: "koster1996", robots: steps(httptest.Redirect(301, "http://b.test/0")), also: chain(10), asked: []question{
			{at: 0, url: private, want: "defer 2.3.1.2", requests: 11},
		}},
		{name: "house/koster1996_keeps_a_copy_for_a_week", profile: "koster1996", robots: steps(text), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(7 * day)},
			{at: 7*day - 1, url: private, want: "disallow 2.2.2", requests: 1},
			{at: 7 * day, url: private, want: "disallow 2.2.2", requests: 2},
		}},
		{name: "2.3.1.3/draft2019_keeps_a_copy_for_a_day_over_404", profile: "draft2019", robots: steps(text, httptest.Status(404)), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
			{at: time.Hour, url: private, want: "disallow 2.2.2", requests: 2, do: refresh},
			{at: day, url: private, want: "allow 2.3.1.3", requests: 3},
		}},
	} {
		t.Run(r.name, r.run)
	}
}

// TestProfileIsCopied changes a profile after New, which must change no Transport.
func TestProfileIsCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(httptest.Status(404))
		p := policy.RFC9309()
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Profile: p})
		clear(p.Status)
		p.Name = "changed"
		if d, err := tr.Check(t.Context(), must(private)); err != nil || !d.Allowed() || d.Profile != "rfc9309" {
			t.Errorf("a profile changed after New:\ngot  %v, %v\nwant allow by rfc9309", d, err)
		}
	})
}
