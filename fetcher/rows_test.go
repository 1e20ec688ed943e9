package fetcher_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
)

// TestRows checks that a real answer becomes the attempt of its row in the decision
// table, and checks the decision, the next fetch and the state after a restart. The
// table itself is stated and tested in package policy.
func TestRows(t *testing.T) {
	for _, table := range [][]row{
		successRows(), redirectRows(), missingRows(), busyRows(), downRows(), failureRows(), patienceRows(), cachingRows(),
	} {
		for _, r := range table {
			t.Run(r.name, r.run)
		}
	}
}

var text = httptest.Text(rules)

// successRows are answers that carry a file (RFC 9309, section 2.3.1.1).
func successRows() []row {
	return []row{
		{name: "2.3.1.1/rules_are_followed_without_asking_again", robots: steps(text), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(day)},
			{at: time.Second, url: public, want: "allow 2.2.2", requests: 1},
			{at: day - 1, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(1)},
			{at: day, url: private, want: "disallow 2.2.2", requests: 2, next: exactly(day)},
		}},
		{name: "2.3.1.1/a_new_file_replaces_the_copy", robots: steps(text, httptest.Text("User-agent: *\nDisallow: /public\n")), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
			{at: day, url: private, want: "allow 2.2.2", requests: 2},
			{at: day, url: public, want: "disallow 2.2.2", requests: 2},
		}},
		{name: "2.3.1.1/a_file_ends_the_outage", robots: steps(httptest.Status(503), text, httptest.Status(503)), asked: []question{
			{at: 0, url: private, want: "defer 2.3.1.4", requests: 1, next: backoff(time.Minute)},
			{at: time.Minute, url: public, want: "allow 2.2.2", requests: 2, next: exactly(day)},
			{at: 20 * day, url: public, want: "allow 2.4 stale", requests: 3, next: backoff(time.Minute)},
			// 30 days after the first outage began, but not the second.
			{at: 31 * day, url: public, want: "allow 2.4 stale", requests: 4, next: backoff(2 * time.Minute)},
		}},
		{name: "2.3.1.1/every_other_2xx_is_a_file", robots: steps(text.Status(201), text.Status(203), text.Status(207), text.Status(226), text.Status(299)), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(day)},
			{at: 1 * day, url: private, want: "disallow 2.2.2", requests: 2, next: exactly(day)},
			{at: 2 * day, url: private, want: "disallow 2.2.2", requests: 3, next: exactly(day)},
			{at: 3 * day, url: private, want: "disallow 2.2.2", requests: 4, next: exactly(day)},
			{at: 4 * day, url: private, want: "disallow 2.2.2", requests: 5, next: exactly(day)},
		}},
		{name: "2.2.1/an_empty_file_allows", robots: steps(text, httptest.Text("")), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
			{at: day, url: private, want: "allow 2.2.1", requests: 2, next: exactly(day)},
		}},
		{name: "2.2.1/a_page_allows_and_is_asked_for_again_soon", robots: steps(httptest.Text("<html>Not found</html>").Header("Content-Type", "text/html")), asked: []question{
			{at: 0, url: private, want: "allow 2.2.1", requests: 1, next: exactly(time.Hour)},
			{at: time.Hour, url: private, want: "allow 2.2.1", requests: 2},
		}},
		{name: "2.2.1/a_page_called_text_is_a_page", robots: steps(httptest.Text("\n <!doctype html><p>Hello")), asked: []question{
			{at: 0, url: private, want: "allow 2.2.1", requests: 1, next: exactly(time.Hour)},
		}},
		{name: "2.3.1.1/rules_called_html_are_rules", robots: steps(text.Header("Content-Type", "text/html")), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(day)},
		}},
		{name: "2.3.1.1/204_that_declares_a_length_is_an_empty_file", robots: steps(httptest.Status(204).Length("99")), asked: []question{
			{at: 0, url: private, want: "allow 2.2.1", requests: 1, next: exactly(day)},
		}},
		{name: "2.3.1.1/204_is_an_empty_file", robots: steps(text, httptest.Status(204)), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
			{at: day, url: private, want: "allow 2.2.1", requests: 2, next: exactly(day)},
		}},
		{name: "2.3.1.1/202_with_rules_is_a_file", robots: steps(text.Status(202)), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(day)},
		}},
		{name: "2.3.1.4/202_without_rules_is_not", robots: steps(httptest.Text("later").Status(202), text, httptest.Text("").Status(202)), asked: []question{
			{at: 0, url: public, want: "defer 2.3.1.4", requests: 1, next: backoff(time.Minute)},
			{at: time.Minute, url: public, want: "allow 2.2.2", requests: 2},
			{at: 2 * day, url: public, want: "allow 2.4 stale", requests: 3},
		}},
		{name: "2.3.1.4/206_is_not_a_file", robots: steps(text.Status(206), text, text.Status(206)), asked: []question{
			{at: 0, url: public, want: "defer 2.3.1.4", requests: 1, next: backoff(time.Minute)},
			{at: time.Minute, url: private, want: "disallow 2.2.2", requests: 2},
			{at: 2 * day, url: private, want: "disallow 2.4 stale", requests: 3, next: backoff(time.Minute)},
		}},
		{name: "2.5/over_the_limit_the_first_512000_bytes_count", robots: steps(httptest.Text(rules + strings.Repeat("#\n", 256_000) + "Disallow: /public\n")), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(day)},
			{at: 0, url: public, want: "allow 2.2.2", requests: 1},
		}},
		{name: "2.5/an_endless_file_is_cut", robots: steps(httptest.Flood(rules)), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(day)},
		}},
		{name: "2.2.2/robots.txt_itself_is_always_allowed", robots: steps(httptest.Text("User-agent: *\nDisallow: /\n")), asked: []question{
			{at: 0, url: site + "/robots.txt", want: "allow 2.2.2", requests: 0, next: span{-1 << 63, 1<<63 - 1}},
			{at: 0, url: site + "/robots.txt?x", want: "disallow 2.2.2", requests: 1},
			{at: 0, url: site + "/", want: "disallow 2.2.2", requests: 1},
		}},
	}
}

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

// redirectRows are redirects (section 2.3.1.2).
func redirectRows() []row {
	away := func(code int, to string) []httptest.Step { return steps(httptest.Redirect(code, to)) }
	rows := []row{
		{name: "2.3.1.2/five_redirects", robots: away(301, "http://b.test/0"), also: chain(4), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 6, next: exactly(day)},
			{at: 0, url: public, want: "allow 2.2.2", requests: 6},
			// The rules of http://b.test/robots.txt differ from the rules that the
			// redirect led to.
			{at: 0, url: "http://b.test/private", want: "allow 2.2.2", requests: 7},
			{at: 0, url: "http://b.test/b", want: "disallow 2.2.2", requests: 7},
		}},
		{name: "2.3.1.2/six_redirects", robots: away(301, "http://b.test/0"), also: chain(5), asked: []question{
			{at: 0, url: private, want: "allow 2.3.1.2", requests: 6, next: exactly(time.Hour)},
			{at: time.Hour - 1, url: private, want: "allow 2.3.1.2", requests: 6},
			{at: time.Hour, url: private, want: "allow 2.3.1.2", requests: 12},
		}},
		{name: "2.3.1.2/six_redirects_drop_the_copy", robots: steps(text, httptest.Redirect(301, "http://b.test/0")), also: chain(5), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
			{at: day, url: private, want: "allow 2.3.1.2", requests: 7, next: exactly(time.Hour)},
		}},
		{name: "2.3.1.2/a_loop_of_two", robots: away(302, "http://b.test/x"), also: func(w *httptest.Web, _ *httptest.Site) {
			w.Site("http://b.test").Path("/x", httptest.Redirect(302, site+"/robots.txt"))
		}, asked: []question{{at: 0, url: private, want: "allow 2.3.1.2", requests: 6, next: exactly(time.Hour)}}},
		{name: "2.3.1.2/https_of_the_same_host_is_another_place", robots: away(301, "https://example.com/robots.txt"), also: func(w *httptest.Web, _ *httptest.Site) {
			w.Site("https://example.com").Robots(text)
		}, asked: []question{{at: 0, url: private, want: "disallow 2.2.2", requests: 2}}},
		{name: "2.3.1.2/one_location_twice", robots: steps(httptest.Redirect(302, "/r").Header("Location", "/r")), also: func(_ *httptest.Web, s *httptest.Site) {
			s.Path("/r", text)
		}, asked: []question{{at: 0, url: private, want: "disallow 2.2.2", requests: 2}}},
		{name: "2.3.1.2/to_a_missing_file", robots: away(302, "/r"), asked: []question{
			{at: 0, url: private, want: "allow 2.3.1.3", requests: 2, next: exactly(day)},
		}},
		{name: "2.3.1.2/to_a_broken_server", robots: away(302, "/r"), also: func(_ *httptest.Web, s *httptest.Site) {
			s.Path("/r", httptest.Status(500))
		}, asked: []question{{at: 0, url: private, want: "defer 2.3.1.4", requests: 2, next: backoff(time.Minute)}}},
		{name: "2.3.1.4/a_redirect_refused", robots: steps(httptest.Redirect(302, "http://169.254.169.254/latest"), text, httptest.Redirect(302, "http://169.254.169.254/latest")), asked: []question{
			{at: 0, url: public, want: "defer 2.3.1.4", requests: 1, next: exactly(time.Hour)},
			{at: time.Hour, url: private, want: "disallow 2.2.2", requests: 2},
			{at: 2 * day, url: private, want: "disallow 2.4 stale", requests: 3, next: exactly(time.Hour)},
		}},
	}
	for _, loop := range []string{"/robots.txt", site + "/robots.txt", "HTTP://EXAMPLE.COM:80/robots.txt#x", "http://u:p@example.com./robots.txt"} {
		rows = append(rows, row{name: "2.3.1.2/a_loop_of_one", robots: away(301, loop), asked: []question{
			{at: 0, url: private, want: "allow 2.3.1.2", requests: 6, next: exactly(time.Hour)},
		}})
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		rows = append(rows, row{name: fmt.Sprint("2.3.1.2/", code), robots: away(code, "r"), also: func(_ *httptest.Web, s *httptest.Site) {
			s.Path("/r", text)
		}, asked: []question{{at: 0, url: private, want: "disallow 2.2.2", requests: 2, next: exactly(day)}}})
	}
	for name, answer := range map[string]httptest.Step{
		"none": httptest.Status(301), "empty": httptest.Redirect(302, ""), "no_url": httptest.Redirect(302, "http://[::1"),
		"no_host": httptest.Redirect(302, "http:///robots.txt"), "opaque": httptest.Redirect(302, "http:robots.txt"),
		"over_8_KiB": httptest.Redirect(302, "/"+strings.Repeat("r", 8<<10)), "two": httptest.Redirect(302, "/a").Header("Location", "/b"),
		"ftp": httptest.Redirect(302, "ftp://example.com/robots.txt"), "data": httptest.Redirect(302, "data:text/plain,x"),
		"no_name": httptest.Redirect(302, "http://a..b/"), "no_port": httptest.Redirect(302, "http://b.test:0/"),
		"300": httptest.Redirect(300, "/r"), "305": httptest.Redirect(305, "/r"), "306": httptest.Redirect(306, "/r"), "399": httptest.Redirect(399, "/r"),
		"304_unasked": httptest.Status(304),
	} {
		rows = append(rows, row{name: "2.3.1.4/no_usable_location/" + name, robots: steps(answer, text, answer), asked: []question{
			{at: 0, url: public, want: "defer 2.3.1.4", requests: 1, next: backoff(time.Minute)},
			{at: time.Minute, url: private, want: "disallow 2.2.2", requests: 2},
			{at: 2 * day, url: private, want: "disallow 2.4 stale", requests: 3, next: backoff(time.Minute)},
		}})
	}
	return rows
}

// missingRows are client errors (section 2.3.1.3).
func missingRows() []row {
	var rows []row
	for _, code := range []int{404, 410} {
		rows = append(rows, row{name: fmt.Sprintf("2.3.1.3/%d_drops_the_copy", code), robots: steps(text, httptest.Status(code)), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
			{at: time.Hour, url: private, want: "allow 2.3.1.3", requests: 2, next: exactly(day), do: refresh},
			{at: day, url: private, want: "allow 2.3.1.3", requests: 2},
			{at: day + time.Hour, url: private, want: "allow 2.3.1.3", requests: 3, next: exactly(day)},
		}})
	}
	for _, code := range []int{400, 403} {
		rows = append(rows, row{name: fmt.Sprint("2.3.1.3/", code), robots: steps(httptest.Status(code)), asked: []question{
			{at: 0, url: private, want: "allow 2.3.1.3", requests: 1, next: exactly(time.Hour)},
		}}, row{name: fmt.Sprintf("2.3.1.3/%d_after_a_copy", code), robots: steps(text, httptest.Status(code)), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
			// The copy governs until it expires, and robots.txt is fetched every hour.
			{at: 22*time.Hour + 30*time.Minute, url: private, want: "disallow 2.2.2", requests: 2, next: exactly(time.Hour), do: refresh},
			{at: 23*time.Hour + 30*time.Minute, url: private, want: "disallow 2.2.2", requests: 3, next: exactly(30 * time.Minute)},
			{at: day, url: private, want: "allow 2.3.1.3", requests: 4, next: exactly(time.Hour)},
		}})
	}
	return rows
}

// busyRows are answers 429, after which the crawler waits: a house rule.
func busyRows() []row {
	return []row{
		{name: "house/429_defers", robots: steps(httptest.Status(429), text), asked: []question{
			{at: 0, url: public, want: "defer house", requests: 1, next: backoff(time.Minute)},
			{at: 29 * time.Second, url: public, want: "defer house", requests: 1},
			{at: time.Minute, url: public, want: "allow 2.2.2", requests: 2},
		}},
		{name: "house/retry_after_counts", robots: steps(httptest.Status(429).Header("Retry-After", "3600"), text), asked: []question{
			{at: 0, url: public, want: "defer house", requests: 1, next: exactly(time.Hour)},
			{at: time.Hour - 1, url: public, want: "defer house", requests: 1},
			{at: time.Hour, url: public, want: "allow 2.2.2", requests: 2},
		}},
	}
}

// downRows are answers that mean a server error (section 2.3.1.4).
func downRows() []row {
	var rows []row
	for _, code := range []int{101, 503, 999} {
		rows = append(rows, row{name: fmt.Sprint("2.3.1.4/", code), robots: steps(httptest.Status(code), text, httptest.Status(code)), asked: []question{
			{at: 0, url: public, want: "defer 2.3.1.4", requests: 1, next: backoff(time.Minute)},
			{at: time.Minute, url: private, want: "disallow 2.2.2", requests: 2},
			{at: day + time.Minute, url: private, want: "disallow 2.4 stale", requests: 3, next: backoff(time.Minute)},
			{at: day + time.Minute, url: public, want: "allow 2.4 stale", requests: 3},
		}})
	}
	// Other interim answers are no final ones: the connection ends without an
	// answer, which is worth a second try.
	for _, code := range []int{100, 102, 199} {
		rows = append(rows, row{name: fmt.Sprint("2.3.1.4/", code), robots: steps(httptest.Status(code)), asked: []question{
			{at: 0, url: public, want: "defer 2.3.1.4", requests: 2, next: span{30 * time.Second, 61 * time.Second}},
		}})
	}
	return rows
}

// failureRows are fetches that end without an answer (section 2.3.1.4).
func failureRows() []row {
	var rows []row
	type trouble struct {
		requests int // requests that arrive for one retrieval
		site     func(w *httptest.Web, s *httptest.Site)
	}
	line := func(l httptest.Line) trouble {
		return trouble{0, func(_ *httptest.Web, s *httptest.Site) { s.Connect(l) }}
	}
	name := func(n httptest.Name) trouble {
		return trouble{0, func(w *httptest.Web, _ *httptest.Site) { w.Names("example.com", n) }}
	}
	robots := func(requests int, answer httptest.Step) trouble {
		return trouble{requests, func(_ *httptest.Web, s *httptest.Site) { s.Robots(answer) }}
	}
	for what, f := range map[string]trouble{
		"no_such_host": name(httptest.NoSuchHost()), "servfail": name(httptest.ServFail()), "no_answer_of_dns": name(httptest.NoAnswer()),
		"refused": line(httptest.Refused), "unreachable": line(httptest.Unreachable), "lost": line(httptest.Lost),
		"silent": line(httptest.Silent), "hung_up": line(httptest.HungUp), "torn": line(httptest.Torn),
		// A try that fails at once is made twice, one that uses up the time is not.
		"hang": robots(1, httptest.Hang()), "reset": robots(2, httptest.Reset()), "close": robots(2, httptest.Close()),
		"too_late": robots(1, text.After(31*time.Second)),
		"not_http": robots(1, httptest.Raw("220 smtp.example.com ESMTP\r\n\r\n")), "no_status": robots(1, httptest.Raw("HTTP/1.1 abc\r\n\r\n")),
		"endless_header": robots(1, httptest.EndlessHeader()), "header_over_64_KiB": robots(1, text.HeaderFlood(65<<10)),
		"short_of_its_length": robots(2, text.Cut(20)), "reset_in_the_body": robots(2, text.ResetAfter(20)), "hang_in_the_body": robots(1, text.HangAfter(20)),
		"broken_chunk": robots(2, text.BrokenChunk()), "odd_length": robots(1, text.Length("twelve")), "negative_length": robots(1, text.Length("-1")),
		"unknown_coding": robots(1, text.Header("Content-Encoding", "br")), "false_gzip": robots(1, text.Header("Content-Encoding", "gzip")),
		"cut_gzip": robots(2, httptest.Text(rules).Gzip().Cut(12)), "too_slow": robots(1, text.Drip(1, time.Second)),
		"one_of_two_codings": robots(1, text.Gzip().Header("Content-Encoding", "zstd")),
	} {
		rows = append(rows, row{name: "2.3.1.4/" + what, also: f.site, asked: []question{
			{at: 0, url: public, want: "defer 2.3.1.4", requests: f.requests, next: span{30 * time.Second, 100 * time.Second}},
		}}, row{name: "2.4/" + what + "_after_a_copy", robots: steps(text), also: func(w *httptest.Web, s *httptest.Site) {
			go func() { // ends by itself
				time.Sleep(time.Hour)
				f.site(w, s)
			}()
		}, asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
			{at: day, url: private, want: "disallow 2.4 stale", requests: 1 + f.requests, next: span{30 * time.Second, 100 * time.Second}},
			{at: day, url: public, want: "allow 2.4 stale", requests: 1 + f.requests},
		}})
	}
	return rows
}

// patienceRows are long outages (section 2.3.1.4, "a reasonably long period of time
// (for example, 30 days)").
func patienceRows() []row {
	return []row{
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
		{name: "2.3.1.4/one_answer_in_30_days_is_a_server", robots: steps(httptest.Status(500)), also: func(_ *httptest.Web, s *httptest.Site) {
			s.Connect(httptest.Refused, httptest.Refused, httptest.Open, httptest.Refused)
		}, asked: []question{
			{at: 0, url: public, want: "defer 2.3.1.4", next: backoff(time.Minute)},
			{at: 32 * day, url: public, want: "allow 2.3.1.4", do: crawl},
		}},
		{name: "2.3.1.4/a_copy_is_used_for_30_days_and_longer", robots: steps(text, httptest.Status(500)), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
			{at: day, url: private, want: "disallow 2.4 stale", requests: 2},
			{at: 33 * day, url: private, want: "disallow 2.3.1.4 stale", do: crawl, next: span{0, day}},
			{at: 33 * day, url: public, want: "allow 2.3.1.4 stale", do: crawl},
			{at: 90 * day, url: private, want: "disallow 2.3.1.4 stale", do: crawl, next: span{0, day}},
		}},
	}
}

// cachingRows show how long a copy is used (section 2.4).
func cachingRows() []row {
	var rows []row
	for name, c := range map[string]struct {
		answer httptest.Step
		life   time.Duration
	}{
		"no_word":                 {text, day},
		"max_age":                 {text.Header("Cache-Control", "public, max-age=3600"), time.Hour},
		"max_age_twice":           {text.Header("Cache-Control", "max-age=7200").Header("Cache-Control", "max-age=3600"), time.Hour},
		"max_age_less_age":        {text.Header("Cache-Control", "max-age=3600").Header("Age", "600"), 50 * time.Minute},
		"no_store":                {text.Header("Cache-Control", "no-store"), time.Minute},
		"expires":                 {text.DateHeader("Expires", time.Hour), time.Hour},
		"expires_by_its_own_date": {text.Header("Date", "Sat, 01 Jan 2000 00:00:00 GMT").Header("Expires", "Sat, 01 Jan 2000 02:00:00 GMT"), 2 * time.Hour},
	} {
		rows = append(rows, row{name: "2.4/lifetime/" + name, robots: steps(c.answer), unstored: name == "no_store", asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(c.life)},
			{at: c.life - 1, url: private, want: "disallow 2.2.2", requests: 1},
			{at: c.life, url: private, want: "disallow 2.2.2", requests: 2},
		}})
	}
	tagged := text.ETag(`"a"`)
	return append(rows,
		row{name: "2.4/304_renews_the_copy", robots: steps(tagged, tagged.Header("Cache-Control", "max-age=3600"), httptest.Status(500)), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1, next: exactly(day)},
			{at: day, url: private, want: "disallow 2.2.2", requests: 2, next: exactly(time.Hour)},
			{at: day + time.Hour, url: private, want: "disallow 2.4 stale", requests: 3},
		}},
		row{name: "2.4/304_of_a_date_renews_the_copy", robots: steps(text.LastModified(time.Unix(0, 0))), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
			{at: day, url: private, want: "disallow 2.2.2", requests: 2, next: exactly(day)},
		}},
		row{name: "2.4/304_of_another_file_is_fetched_again", robots: steps(tagged, httptest.Status(304).Header("ETag", `"b"`), httptest.Text("User-agent: *\nDisallow: /b\n")), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
			{at: day, url: private, want: "allow 2.2.2", requests: 3, next: exactly(day)},
		}},
		row{name: "2.4/400_to_validators_is_fetched_without_them", robots: steps(tagged, httptest.Status(400), httptest.Text("User-agent: *\nDisallow: /b\n")), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
			{at: day, url: private, want: "allow 2.2.2", requests: 3, next: exactly(day)},
		}},
		row{name: "2.4/412_for_ever", robots: steps(tagged, httptest.Status(412)), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
			{at: day, url: private, want: "allow 2.3.1.3", requests: 3, next: exactly(time.Hour)},
		}},
		row{name: "2.4/304_without_validators_is_no_answer", robots: steps(text, httptest.Status(304)), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
			{at: day, url: private, want: "disallow 2.4 stale", requests: 2, next: backoff(time.Minute)},
		}},
		row{name: "2.4/304_for_ever_to_another_file", robots: steps(tagged, httptest.Status(304).Header("ETag", `"b"`)), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", requests: 1},
			{at: day, url: private, want: "disallow 2.4 stale", requests: 3, next: backoff(time.Minute)},
		}},
	)
}
