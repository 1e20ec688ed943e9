// Package docs_test compares the pages of this folder with what the code prints.
package docs_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

var update = flag.Bool("update", false, "write the decisions on blocked.md anew")

const day = 24 * time.Hour

// start is the time at which every case begins.
var start = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

// A printedCase is a web and a URL, whose decision is printed.
type printedCase struct {
	name    string
	robots  []httptest.Step                         // answers of https://example.com/robots.txt
	web     func(w *httptest.Web, s *httptest.Site) // changes the web if it is not nil
	options fetcher.Options
	url     string        // after https://example.com
	later   time.Duration // the URL is first checked once an hour for this long
	request bool          // make a request and print its refusal, instead of a Check
}

var rules = httptest.Text("# Please be kind.\nUser-agent: *\nDisallow: /private\nAllow: /private/open\n")

func printedCases() []printedCase {
	profile := func(name string) fetcher.Options {
		p, _ := policy.ByName(name)
		return fetcher.Options{Profile: p}
	}
	steps := func(s ...httptest.Step) []httptest.Step { return s }
	line := func(l httptest.Line) func(*httptest.Web, *httptest.Site) {
		return func(_ *httptest.Web, s *httptest.Site) { s.Connect(l) }
	}
	ours := fetcher.Options{Override: func(*url.URL) (policy.Verdict, string, bool) {
		return policy.Disallow, "the webmaster wrote to us on 2026-04-30", true
	}}
	return []printedCase{
		{name: "a rule for all", robots: steps(rules), url: "/private/diary"},
		{name: "a rule for us", robots: steps(httptest.Text("User-agent: *\nDisallow:\n\nUser-agent: ExampleBot\nDisallow: /\n")), url: "/"},
		{name: "another file", robots: steps(httptest.Redirect(301, "https://www.example.com/robots.txt")), url: "/private",
			web: func(w *httptest.Web, _ *httptest.Site) { w.Site("https://www.example.com").Robots(rules) }},
		{name: "an old copy", robots: steps(rules, httptest.Status(503)), url: "/private", later: 3 * day},
		{name: "an operator", url: "/", options: ours},
		{name: "a private address", url: "/", options: fetcher.Options{PageEgress: true},
			web: func(_ *httptest.Web, s *httptest.Site) { s.At("10.0.0.7") }},
		{name: "closed in 1996", robots: steps(httptest.Status(403)), url: "/", options: profile("koster1996")},

		{name: "503", robots: steps(httptest.Status(503).Header("Retry-After", "7200")), url: "/"},
		{name: "429", robots: steps(httptest.Status(429)), url: "/"},
		{name: "999", robots: steps(httptest.Status(999)), url: "/"},
		{name: "dns", web: func(w *httptest.Web, _ *httptest.Site) { w.Names("example.com", httptest.NoSuchHost()) }, url: "/"},
		{name: "connect", web: line(httptest.Refused), url: "/"},
		{name: "tls", web: func(_ *httptest.Web, s *httptest.Site) { s.Cert(httptest.Expired) }, url: "/"},
		{name: "timeout", robots: steps(httptest.Hang()), url: "/"},
		{name: "body", robots: steps(rules.Cut(20)), url: "/"},
		{name: "encoding", robots: steps(rules.Header("Content-Encoding", "br")), url: "/"},
		{name: "protocol", robots: steps(httptest.Raw("ICY 200 OK\r\n\r\n")), url: "/"},
		{name: "egress", robots: steps(httptest.Redirect(302, "http://intranet.example.com/robots.txt")), url: "/",
			web: func(w *httptest.Web, _ *httptest.Site) {
				w.Site("http://intranet.example.com").At("10.0.0.7").Robots(rules)
			}},
		{name: "no location", robots: steps(httptest.Status(302)), url: "/"},
		{name: "202", robots: steps(httptest.Text("one moment").Status(202)), url: "/"},
		{name: "206", robots: steps(rules.Status(206)), url: "/"},
		{name: "thirty days", web: line(httptest.Refused), url: "/", later: 31 * day},
		{name: "gap", robots: steps(rules), url: "/", request: true,
			options: fetcher.Options{Pace: &pace.Limits{Gap: time.Minute, MaxWait: time.Second}}},
		{name: "crawl-delay", robots: steps(httptest.Text("User-agent: *\nCrawl-delay: 30\n")), url: "/", request: true,
			options: fetcher.Options{Pace: &pace.Limits{MaxWait: time.Second}}},
		{name: "strict 403", robots: steps(httptest.Status(403)), url: "/", options: profile("strict")},
		{name: "strict copy", robots: steps(rules, httptest.Status(503)), url: "/", options: profile("strict"), later: 2 * day},
		{name: "strict loop", robots: steps(httptest.Redirect(302, "/robots.txt")), url: "/", options: profile("strict")},

		{name: "no rule", robots: steps(rules), url: "/"},
		{name: "allow is longer", robots: steps(rules), url: "/private/open/1"},
		{name: "not our group", robots: steps(httptest.Text("User-agent: OtherBot\nDisallow: /\n")), url: "/"},
		{name: "404", robots: steps(httptest.Status(404)), url: "/private"},
		{name: "403", robots: steps(httptest.Status(403)), url: "/private"},
		{name: "html", robots: steps(httptest.Text("<!doctype html><title>Page not found</title>")), url: "/private"},
		{name: "loop", robots: steps(httptest.Redirect(302, "/robots.txt")), url: "/private"},
		{name: "thirty days of 503", robots: steps(httptest.Status(503)), url: "/", later: 31 * day},
		{name: "robots.txt", robots: steps(httptest.Status(503)), url: "/robots.txt"},
	}
}

// decide runs a case and returns its decision.
func (c printedCase) decide(t *testing.T) (d policy.Decision) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(start))
		web := httptest.New(t)
		site := web.Site("https://example.com")
		if len(c.robots) > 0 {
			site.Robots(c.robots...)
		}
		if c.web != nil {
			c.web(web, site)
		}
		c.options.Base = web.Transport()
		c.options.Pace = cmp.Or(c.options.Pace, pace.Unlimited())
		tr, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", &c.options)
		if err != nil {
			t.Fatal(err)
		}
		page := "https://example.com" + c.url
		for ; c.later > 0; c.later -= time.Hour { // an outage counts only while the file is fetched
			ask(t, tr, page)
			time.Sleep(time.Hour)
		}
		if !c.request {
			d = ask(t, tr, page)
			return
		}
		resp, err := (&http.Client{Transport: tr}).Get(page)
		if err == nil {
			resp.Body.Close()
			t.Fatal("the request was made")
		}
		var denied *fetcher.DeniedError
		if !errors.As(err, &denied) {
			t.Fatalf("got %v, want a refusal", err)
		}
		d = denied.Decision
	})
	return d
}

func ask(t *testing.T, tr *fetcher.Transport, page string) policy.Decision {
	t.Helper()
	u, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	d, err := tr.Check(context.Background(), u)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestBlocked compares the decisions on the page with those that the cases print, in
// order.
func TestBlocked(t *testing.T) {
	page := readPage(t, "blocked.md")
	shown := decision.FindAllString(page, -1)
	cases := printedCases()
	if len(shown) != len(cases) {
		t.Fatalf("blocked.md\ngot  %d decisions\nwant %d", len(shown), len(cases))
	}
	for i, c := range cases {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			got := c.decide(t).String()
			if *update {
				page = strings.Replace(page, shown[i], got, 1)
			} else if got != shown[i] {
				t.Errorf("blocked.md\ngot  %s\nwant %s\nIf the change is intended, run\n\tgo test ./docs -update", shown[i], got)
			}
		})
	}
	if *update {
		if err := os.WriteFile("blocked.md", []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var decision = regexp.MustCompile(`(?m)^(ALLOW|DISALLOW|DEFER) https?://.*$`)
