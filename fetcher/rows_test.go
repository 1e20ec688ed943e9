package fetcher_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
)

var text = httptest.Text(rules)

// chain makes b.test redirect n times and then serve the rules.
func chain(n int) func(*httptest.Web, *httptest.Site) {
	return func(w *httptest.Web, _ *httptest.Site) {
		b := w.Site("http://b.test").Robots(httptest.Text("User-agent: *\nDisallow: /b\n"))
		for i := range n {
			b.Path(fmt.Sprint("/", i), httptest.Redirect([]int{302, 303, 307, 308, 301}[i%5], fmt.Sprint("/", i+1)))
		}
		b.Path(fmt.Sprint("/", n), text)
	}
}

// tableRows are answers and failures that reach the decision table by different ways.
var tableRows = []row{
	{name: "2.3.1.1/rules_are_followed_without_asking_again", robots: steps(text), asked: []question{
		{at: 0, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(day)},
		{at: time.Second, url: public, want: "allow 2.2.2", requests: 1},
		{at: day - 1, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(1)},
		{at: day, url: private, want: "disallow 2.2.2", requests: 2, next: exactly(day)},
	}},
	{name: "2.3.1.1/a_file_ends_the_outage", robots: steps(httptest.Status(503), text, httptest.Status(503)), asked: []question{
		{at: 0, url: private, want: "defer 2.3.1.4", requests: 1, next: backoff(time.Minute)},
		{at: time.Minute, url: public, want: "allow 2.2.2", requests: 2, next: exactly(day)},
		{at: 20 * day, url: public, want: "allow 2.4 stale", requests: 3, next: backoff(time.Minute)},
		// 30 days after the first outage began, but not the second.
		{at: 31 * day, url: public, want: "allow 2.4 stale", requests: 4, next: backoff(2 * time.Minute)},
	}},
	{name: "2.2.1/an_empty_file_allows", robots: steps(text, httptest.Text("")), asked: []question{
		{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
		{at: day, url: private, want: "allow 2.2.1", requests: 2, next: exactly(day)},
	}},
	{name: "2.5/an_endless_file_is_cut", robots: steps(httptest.Flood(rules)), asked: []question{
		{at: 0, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(day)},
	}},
	{name: "2.2.2/robots.txt_itself_is_always_allowed", robots: steps(httptest.Text("User-agent: *\nDisallow: /\n")), asked: []question{
		{at: 0, url: site + "/robots.txt", want: "allow 2.2.2", requests: 0, next: span{-1 << 63, 1<<63 - 1}},
		{at: 0, url: site + "/robots.txt?x", want: "disallow 2.2.2", requests: 1},
	}},

	// Redirects.
	{name: "2.3.1.2/five_redirects", robots: steps(httptest.Redirect(301, "http://b.test/0")), also: chain(4), asked: []question{
		{at: 0, url: private, want: "disallow 2.2.2", requests: 6, next: exactly(day)},
		{at: 0, url: public, want: "allow 2.2.2", requests: 6},
		// The rules of http://b.test/robots.txt differ from the rules that the
		// redirect led to.
		{at: 0, url: "http://b.test/private", want: "allow 2.2.2", requests: 7},
		{at: 0, url: "http://b.test/b", want: "disallow 2.2.2", requests: 7},
	}},
	{name: "2.3.1.2/six_redirects", robots: steps(httptest.Redirect(301, "http://b.test/0")), also: chain(5), asked: []question{
		{at: 0, url: private, want: "allow 2.3.1.2", requests: 6, next: exactly(time.Hour)},
		{at: time.Hour, url: private, want: "allow 2.3.1.2", requests: 12},
	}},
	{name: "2.3.1.2/a_loop_of_one", robots: steps(httptest.Redirect(301, "http://u:p@EXAMPLE.com.:80/robots.txt#x")), asked: []question{
		{at: 0, url: private, want: "allow 2.3.1.2", requests: 6, next: exactly(time.Hour)},
	}},
	{name: "2.3.1.2/https_of_the_same_host_is_another_place", robots: steps(httptest.Redirect(301, "https://example.com/robots.txt")), also: func(w *httptest.Web, _ *httptest.Site) {
		w.Site("https://example.com").Robots(text)
	}, asked: []question{{at: 0, url: private, want: "disallow 2.2.2", requests: 2}}},
	{name: "2.3.1.2/to_a_missing_file", robots: steps(httptest.Redirect(302, "/r")), asked: []question{
		{at: 0, url: private, want: "allow 2.3.1.3", requests: 2, next: exactly(day)},
	}},
	{name: "2.3.1.2/to_a_broken_server", robots: steps(httptest.Redirect(302, "/r")), also: func(_ *httptest.Web, s *httptest.Site) {
		s.Path("/r", httptest.Status(500))
	}, asked: []question{{at: 0, url: private, want: "defer 2.3.1.4", requests: 2, next: backoff(time.Minute)}}},
	{name: "2.3.1.4/a_redirect_refused", robots: steps(httptest.Redirect(302, "http://169.254.169.254/latest"), text, httptest.Redirect(302, "http://169.254.169.254/latest")), asked: []question{
		{at: 0, url: public, want: "defer 2.3.1.4", requests: 1, next: exactly(time.Hour)},
		{at: time.Hour, url: private, want: "disallow 2.2.2", requests: 2},
		{at: 2 * day, url: private, want: "disallow 2.4 stale", requests: 3, next: exactly(time.Hour)},
	}},
	{name: "2.3.1.4/no_usable_location", robots: steps(httptest.Redirect(302, "/a").Header("Location", "/b")), asked: []question{
		{at: 0, url: public, want: "defer 2.3.1.4", requests: 1, next: backoff(time.Minute)},
	}},

	// Errors.
	{name: "2.3.1.3/404_drops_the_copy", robots: steps(text, httptest.Status(404)), asked: []question{
		{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
		{at: time.Hour, url: private, want: "allow 2.3.1.3", requests: 2, next: exactly(day), do: refresh},
		{at: day, url: private, want: "allow 2.3.1.3", requests: 2},
		{at: day + time.Hour, url: private, want: "allow 2.3.1.3", requests: 3, next: exactly(day)},
	}},
	{name: "2.3.1.3/403_after_a_copy", robots: steps(text, httptest.Status(403)), asked: []question{
		{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
		// The copy governs until it expires, and robots.txt is fetched every hour.
		{at: 22*time.Hour + 30*time.Minute, url: private, want: "disallow 2.2.2", requests: 2, next: exactly(time.Hour), do: refresh},
		{at: 23*time.Hour + 30*time.Minute, url: private, want: "disallow 2.2.2", requests: 3, next: exactly(30 * time.Minute)},
		{at: day, url: private, want: "allow 2.3.1.3", requests: 4, next: exactly(time.Hour)},
	}},
	{name: "house/429_defers", robots: steps(httptest.Status(429).Header("Retry-After", "3600"), text), asked: []question{
		{at: 0, url: public, want: "defer house", requests: 1, next: exactly(time.Hour)},
		{at: time.Hour - 1, url: public, want: "defer house", requests: 1},
		{at: time.Hour, url: public, want: "allow 2.2.2", requests: 2},
	}},
	{name: "2.3.1.4/refused", also: func(_ *httptest.Web, s *httptest.Site) { s.Connect(httptest.Refused) }, asked: []question{
		{at: 0, url: public, want: "defer 2.3.1.4", requests: 0, next: backoff(time.Minute)},
	}},
	{name: "2.3.1.4/short_of_its_length", robots: steps(text, text.Cut(20)), asked: []question{
		{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
		{at: day, url: private, want: "disallow 2.4 stale", requests: 3, next: backoff(time.Minute)},
		{at: day, url: public, want: "allow 2.4 stale", requests: 3},
	}},
	{name: "2.3.1.4/too_late", robots: steps(text.After(31 * time.Second)), asked: []question{
		{at: 0, url: public, want: "defer 2.3.1.4", requests: 1, next: span{30 * time.Second, 100 * time.Second}},
	}},

	// Long outages: "a reasonably long period of time (for example, 30 days)".
	{name: "2.3.1.4/without_a_copy_30_days_of_500", robots: steps(httptest.Status(500)), asked: []question{
		{at: 0, url: public, want: "defer 2.3.1.4", requests: 1, next: backoff(time.Minute)},
		{at: 31 * day, url: public, want: "defer 2.3.1.4", requests: 2, next: backoff(2 * time.Minute)}, // two failures are no outage
		{at: 60*day - time.Hour, url: public, want: "defer 2.3.1.4", do: crawl},
		{at: 62 * day, url: public, want: "allow 2.3.1.4", do: crawl, next: span{0, time.Hour}},
	}},
	{name: "2.3.1.4/without_a_copy_30_days_without_an_answer", also: func(_ *httptest.Web, s *httptest.Site) { s.Connect(httptest.Refused) }, asked: []question{
		{at: 0, url: public, want: "defer 2.3.1.4", next: backoff(time.Minute)},
		{at: 40 * day, url: public, want: "defer 2.3.1.4", do: crawl, next: span{0, time.Hour + time.Second}},
	}},
	{name: "2.3.1.4/a_copy_is_used_for_30_days_and_longer", robots: steps(text, httptest.Status(500)), asked: []question{
		{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
		{at: day, url: private, want: "disallow 2.4 stale", requests: 2},
		{at: 33 * day, url: private, want: "disallow 2.3.1.4 stale", do: crawl, next: span{0, day}},
		{at: 90 * day, url: private, want: "disallow 2.3.1.4 stale", do: crawl, next: span{0, day}},
	}},

	// Caching.
	{name: "2.4/max_age_less_age", robots: steps(text.Header("Cache-Control", "max-age=3600").Header("Age", "600")), asked: []question{
		{at: 0, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(50 * time.Minute)},
		{at: 50*time.Minute - 1, url: private, want: "disallow 2.2.2", requests: 1},
		{at: 50 * time.Minute, url: private, want: "disallow 2.2.2", requests: 2},
	}},
	{name: "2.4/no_store", robots: steps(text.Header("Cache-Control", "no-store")), unstored: true, asked: []question{
		{at: 0, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(time.Minute)},
		{at: time.Minute, url: private, want: "disallow 2.2.2", requests: 2},
	}},
	{name: "2.4/304_renews_the_copy", robots: steps(text.ETag(`"a"`), text.ETag(`"a"`).Header("Cache-Control", "max-age=3600"), httptest.Status(500)), asked: []question{
		{at: 0, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(day)},
		{at: day, url: private, want: "disallow 2.2.2", requests: 2, next: exactly(time.Hour)},
		{at: day + time.Hour, url: private, want: "disallow 2.4 stale", requests: 3},
	}},
	{name: "2.4/304_of_a_date_renews_the_copy", robots: steps(text.LastModified(time.Unix(0, 0))), asked: []question{
		{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
		{at: day, url: private, want: "disallow 2.2.2", requests: 2, next: exactly(day)},
	}},
	{name: "2.4/304_of_another_file_is_fetched_again", robots: steps(text.ETag(`"a"`), httptest.Status(304).Header("ETag", `"b"`), httptest.Text("User-agent: *\nDisallow: /b\n")), asked: []question{
		{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
		{at: day, url: private, want: "allow 2.2.2", requests: 3, next: exactly(day)},
	}},
	{name: "2.4/412_for_ever", robots: steps(text.ETag(`"a"`), httptest.Status(412)), asked: []question{
		{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
		{at: day, url: private, want: "allow 2.3.1.3", requests: 3, next: exactly(time.Hour)},
	}},
}

// TestRows checks that a real answer becomes the attempt of its row in the decision
// table, and checks the decision, the next fetch and the state after a restart. The
// table itself is stated and tested in package policy, and the answers in internal/retrieve.
func TestRows(t *testing.T) {
	for _, r := range tableRows {
		t.Run(r.name, r.run)
	}
}
