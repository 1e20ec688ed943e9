package exam

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// faulty are crawlers with one fault each, by the case that must find it.
var faulty = []struct {
	fails string // the only cases that fail, separated by spaces
	faults
}{
	{"2.2.1/own_group", faults{read: replace(`(?i)^User-agent: examplebot($|/.*$)`, "User-agent: nobody")}},
	{"2.2.1/version_in_the_agent", faults{read: replace(`(?i)^User-agent: examplebot$`, "User-agent: nobody")}},
	{"2.2.1/case_of_the_token", faults{read: replace(`^User-agent: eXAMPLEbOT$`, "User-agent: nobody")}},
	{"2.2.1/groups_are_combined", faults{read: func(s string) string {
		const own = "User-agent: ExampleBot\n"
		before, after, found := strings.Cut(s, own)
		if !found {
			return s
		}
		return before + own + strings.ReplaceAll(after, own, "User-agent: nobody\n")
	}}},
	{"2.2.1/star", faults{read: replace(`^User-agent: \*$`, "User-agent: nobody")}},
	{"2.2.1/star_only_without_own_group", faults{read: replace(`^User-agent: \*$`, "User-agent: *\nUser-agent: ExampleBot")}},
	{"2.2.1/longer_name", faults{read: replace(`ExampleBot-news`, "ExampleBot")}},
	{"2.2.1/shorter_name", faults{read: replace(`^User-agent: Examp$`, "User-agent: ExampleBot")}},
	{"2.2.1/group_of_another", faults{read: func(s string) string {
		if strings.Contains(s, "User-agent") && !strings.Contains(s, "*") && !strings.Contains(strings.ToLower(s), "examplebot") {
			return "User-agent: *\nDisallow: /\n"
		}
		return s
	}}},
	{"2.1/several_user_agent_lines", faults{read: replace(`(?:^User-agent: .*\n)+(User-agent: .*\n)`, "$1")}},
	{"2.1/own_group_without_rules", faults{read: replace(`User-agent: ExampleBot\n\z`, "")}},
	{"2.2.4/sitemap_in_a_group", faults{read: replace(`^Sitemap: .*$`, "Disallow: /other\nUser-agent: nobody")}},
	{"2.2.4/unknown_record", faults{read: replace(`^Clean-param: .*$`, "Disallow: /other\nUser-agent: nobody")}},
	{"2.2/empty_pattern", faults{read: replace(`^Disallow:$`, "Disallow: /")}},
	{"2.2/line_ends_cr", faults{read: replace(`\r([^\n])`, "#$1")}},
	{"2.2/line_ends_crlf", faults{read: replace(`\r\n`, "%0D\n")}},
	{"2.2.2/prefix", faults{read: replace(`^Disallow: /private$`, "Disallow: /private$")}},
	{"2.2.2/first_byte", faults{read: func(s string) string {
		if strings.Contains(s, "Allow: ") {
			return s
		}
		return strings.ReplaceAll(s, "Disallow: /public", "Disallow: */public")
	}}},
	{"2.2.2/case_of_paths", faults{read: strings.ToLower, target: strings.ToLower}},
	{"2.2.2/longest_rule", faults{read: replace(`^Disallow: /a/private$`, "")}}, // the first rule that matches
	{"2.2.2/longest_rule", faults{read: replace(`^Allow: /b/public$`, "")}},
	{"2.2.2/ties_allow", faults{read: replace(`^Allow: /public$`, "")}},
	{"2.2.2/rule_outside_a_group", faults{read: replace(`\ADisallow`, "User-agent: ExampleBot\nDisallow")}},
	{"2.2.2/query", faults{target: func(s string) string { path, _, _ := strings.Cut(s, "?"); return path }}},
	{"2.2.2/encoded_in_the_rule", faults{read: replace(`%70`, "%2570")}},
	{"2.2.2/encoded_in_the_link", faults{target: replace(`%70`, "%2570")}},
	{"2.2.2/utf8_in_the_rule", faults{read: replace(`ツ`, "?")}},
	{"2.2.2/utf8_in_the_link", faults{target: replace(`ツ`, "?")}},
	{"2.2.2/robots_txt_itself", faults{read: replace(`(?s)^Disallow: /robots.txt$.*`, "")}},
	{"2.2.2/redirect_of_a_page", faults{blind: func(from, to *url.URL) bool { return from.Host == to.Host }}},
	{"2.2.2/redirect_of_a_page_to_another_host", faults{blind: func(from, to *url.URL) bool { return from.Host != to.Host }}},
	{"2.2.3/star", faults{read: replace(`/\*/`, "/%2A/")}},
	{"2.2.3/dollar", faults{read: replace(`\$$`, "%24")}},
	{"2.2.3/dollar", faults{read: replace(`\$$`, "")}},
	{"2.2.3/comment", faults{read: replace(` # `, "%20%23%20")}},
	{"2.2.3/literal_star", faults{read: replace(`%2A`, "*")}},
	{"2.2.3/literal_dollar", faults{read: replace(`%24$`, "$$")}},
	{"2.3/robots_before_pages", faults{pageFirst: true}},
	{"2.3/port", faults{key: func(u *url.URL) string { return u.Scheme + u.Hostname() }}},
	{"2.3/scheme", faults{key: func(u *url.URL) string { return u.Host }}},
	{"2.3.1.1/new_file", faults{keepsOld: true}},
	{"2.3.1.2/one_redirect", faults{redirect: func(*url.URL, *url.URL, int) bool { return false }}},
	{"2.3.1.2/five_redirects", faults{redirect: func(_, _ *url.URL, hops int) bool { return hops < 4 }}},
	{"2.3.1.2/loop", faults{redirect: func(*url.URL, *url.URL, int) bool { return true }}},
	{"2.3.1.2/another_host", faults{redirect: func(from, to *url.URL, hops int) bool { return from.Host == to.Host && hops < 5 }}},
	{"2.3.1.2/initial_context", faults{keepsForTarget: true}},
	{"2.3.1.4/500", faults{failed: func(status int, _ error) bool { return status == 500 }}},
	{"2.3.1.4/503", faults{failed: func(status int, _ error) bool { return status == 503 }}},
	{"2.3.1.4/no_connection 2.3.1.4/reset", faults{failed: func(_ int, err error) bool { return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) }}},
	{"2.3.1.4/no_answer", faults{failed: func(_ int, err error) bool { return isTimeout(err) }}},
	{"2.3.1.4/body_cut_short", faults{partial: true}},
	{"house/broken_encoding", faults{failed: func(_ int, err error) bool { return err != nil && strings.HasPrefix(err.Error(), "gzip: ") }}},
	{"2.3.1.5/byte_order_mark", faults{read: replace(`\A\x{FEFF}`, "?")}},
	{"2.3.1.5/lines_that_are_no_records", faults{read: replace(`(?s)^:::.*`, "")}},
	{"2.3.1.5/nul", faults{read: replace(`(?s)\x00.*`, "")}},
	{"2.3.1.5/rules_on_a_page", faults{read: replace(`(?s)\A<!doctype.*`, "")}},
	{"2.3.1.5/page_without_rules", faults{read: replace(`(?s)\A<!doctype.*Welcome.*`, "User-agent: *\nDisallow: /\n")}},
	{"2.5/499_kibibytes", faults{read: func(s string) string { return s[:min(len(s), 100<<10)] }}},
	{"2.5/eight_mebibytes", faults{read: func(s string) string {
		if len(s) > 1<<20 {
			return ""
		}
		return s
	}}},
	{"house/robots_once", faults{everyPage: true}},
	{"house/crawl_delay", faults{noDelay: true}},
	{"house/429_with_retry_after house/503_with_retry_after", faults{noPause: true}},
	{"house/parallel_requests", faults{parallel: 12}},
	{"house/failing_host", faults{noRest: true}},
	{"house/cookies", faults{jar: true}},
	{"house/conditional_requests", faults{unconditional: true}},
	{"house/agent_names_a_page", faults{agent: "ExampleBot/1.0"}},
	{"house/site_without_robots_txt", faults{missing: "User-agent: *\nDisallow: /\n"}},
}

// replace returns a misreading that replaces what a pattern matches.
func replace(pattern, with string) func(string) string {
	p := regexp.MustCompile("(?m)" + pattern)
	return func(s string) string { return p.ReplaceAllString(s, with) }
}

// waits reports whether the fault shows in cases that take time. A fault in reading robots.txt
// or a link does not.
func (f faults) waits() bool { return f.read == nil && f.target == nil }

// sit lets a crawler sit the exam, but for the cases that take time if its fault does not show there.
func sit(t *testing.T, f faults) *Report {
	t.Helper()
	o := Options{}
	if !f.waits() {
		o.Only = []string{"2.1", "2.2", "2.2.1", "2.2.2", "2.2.3", "2.2.4", "2.3", "2.3.1.2", "2.3.1.3", "2.3.1.5", "2.5"}
	}
	e, err := Open(o)
	if err != nil {
		t.Error(err)
		return &Report{}
	}
	defer e.Close()
	f.crawl(e.URLs())
	return e.Report("ended", false)
}

// named returns the names of the results with a verdict.
func (r *Report) named(v Verdict) []string {
	var names []string
	for _, res := range r.Results {
		if res.Verdict == v {
			names = append(names, res.Name)
		}
	}
	return names
}

func explain(t *testing.T, r *Report, v Verdict) {
	for _, res := range r.Results {
		if res.Verdict == v {
			t.Logf("%s: %s: %s: %v", v, res.Name, res.Seen, res.Request)
		}
	}
}

// TestObedientCrawler checks that a crawler without faults passes everything that it exercises,
// and exercises all but the sitemap.
func TestObedientCrawler(t *testing.T) {
	t.Parallel()
	start := time.Now()
	r := sit(t, faults{})
	if bad := r.named(Failed); len(bad) > 0 {
		explain(t, r, Failed)
		t.Errorf("failed %v", bad)
	}
	if got := r.named(NotExercised); !slices.Equal(got, []string{"house/sitemap"}) {
		explain(t, r, NotExercised)
		t.Errorf("not exercised %v; want only the sitemap", got)
	}
	t.Logf("%d requests in %v", r.Requests, time.Since(start))
}

// TestPlaces lets the crawler sit a part of the exam at the ports of one host, and behind a
// proxy, where http and https have the same name and their usual ports.
func TestPlaces(t *testing.T) {
	for _, o := range []Options{{Listen: "127.0.0.1:0"}, {Proxy: "127.0.0.1:0"}} {
		o.Only = []string{"2.2.1", "2.2.2", "2.3", "2.3.1.2", "2.3.1.4/no_connection", "2.3.1.4/body_cut_short"}
		e, err := (*Exam)(nil), error(nil)
		for try := range 5 { // some ports may be taken; systems give out higher ones by themselves
			if o.Listen != "" {
				o.Listen = fmt.Sprintf("127.0.0.1:%d", 10000+try*1000+rand.IntN(900))
			}
			if e, err = Open(o); err == nil {
				break
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		faults{proxy: e.Proxy()}.crawl([]string{e.Seed()})
		if r := e.Report("ended", false); r.Failed() || len(r.named(NotExercised)) > 0 {
			explain(t, r, Failed)
			explain(t, r, NotExercised)
			t.Errorf("%+v: %s", o, r.Summary())
		}
		e.Close()
	}
	if _, err := Open(Options{Listen: ":8000"}); err == nil {
		t.Error("an address without a host: no error")
	}
}

// TestIdleCrawler checks that a crawler that requests nothing passes nothing.
func TestIdleCrawler(t *testing.T) {
	if got := sit(t, faults{idle: true}).named(NotExercised); len(got) != len(Cases()) {
		t.Errorf("got %d cases that were not exercised; want all %d", len(got), len(Cases()))
	}
}

// TestFaults checks that a crawler with one fault fails the case of its fault and no other.
// Where time is part of the fault, the crawlers need a machine that does nothing else.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	quiet := os.Getenv("POLITE_QUIET") != ""
	reports := make([]*Report, len(faulty))
	var all sync.WaitGroup
	places := make(chan bool, 8)
	for i, tt := range faulty {
		if tt.faults.waits() && !quiet {
			continue
		}
		all.Go(func() {
			places <- true
			defer func() { <-places }()
			reports[i] = sit(t, tt.faults)
		})
	}
	all.Wait()
	found := map[string]bool{}
	for i, tt := range faulty {
		t.Run(tt.fails, func(t *testing.T) {
			if reports[i] == nil {
				t.Skip("POLITE_QUIET is not set: the machine may be busy")
			}
			got := reports[i].named(Failed)
			if want := strings.Fields(tt.fails); !slices.Equal(got, want) {
				explain(t, reports[i], Failed)
				t.Errorf("failed\ngot  %v\nwant %v", got, want)
			}
			for _, name := range got {
				found[name] = true
			}
		})
	}
	if !quiet {
		return
	}
	for _, c := range Cases() {
		if mayFail := !strings.HasPrefix(c.Name, "2.3.1.3/") && !slices.Contains([]string{"2.3.1.2/six_redirects", "house/comes_back", "house/sitemap"}, c.Name); mayFail && !found[c.Name] {
			t.Errorf("no crawler failed %s", c.Name)
		}
	}
}
