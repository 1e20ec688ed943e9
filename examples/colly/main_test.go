package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

// TestRun checks that Polite decides about the links that Colly finds, and that
// OnError gets the reasons.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"fetched http://news.example/page/4\n",
		"fetched http://news.example/archive/2026/printed\n",
		`dropped DISALLOW http://news.example/archive/2026/print: line 2 "Disallow: /archive/*/print$"`,
		"later   DEFER http://busy.example/: http://busy.example/robots.txt is unreachable (status 503",
		"6 allowed, 1 disallowed, 1 deferred; 2 requests for robots.txt",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output:\n%s\nwant a line with %q", out.String(), want)
		}
	}
}

// TestRedirect crawls a host whose Crawl-delay is longer than MaxWait. Each page is
// visited at the RetryAt of its refusal, and its redirect waits. Each URL is requested
// once.
func TestRedirect(t *testing.T) {
	local := web.Start(map[string]web.Site{
		"slow.example": {Robots: web.Text("User-agent: *\nCrawl-delay: 0.05\n"), Links: []string{"/old"}, Moved: "/old"},
	})
	defer local.Close()
	polite, err := fetcher.New(agent, &fetcher.Options{
		Base: local.Transport(), Pace: &pace.Limits{Parallel: 1, MaxWait: time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := colly.NewCollector(colly.UserAgent(agent))
	c.WithTransport(polite)
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
	c.OnError(func(r *colly.Response, err error) {
		var denied *fetcher.DeniedError
		if !errors.As(err, &denied) || len(local.Requests("slow.example", "")) > 10 {
			t.Errorf("%s: %v", r.Request.URL, err)
			return
		}
		time.Sleep(time.Until(denied.Decision.RetryAt))
		r.Request.Retry()
	})
	c.Visit("http://slow.example/")
	var got []string
	for _, r := range local.Requests("slow.example", "") {
		got = append(got, r.Path)
	}
	if want := []string{"/robots.txt", "/", "/old", "/moved/here"}; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestProxy checks what the guide says of Colly's SetProxy: it replaces Polite, so that a forbidden
// page is fetched. A proxy in the base of Polite leaves the page alone.
func TestProxy(t *testing.T) {
	for _, inBase := range []bool{false, true} {
		local := web.Start(map[string]web.Site{"news.example": {Robots: web.Text("User-agent: *\nDisallow: /private\n")}})
		defer local.Close()
		proxy := &url.URL{Scheme: "http", Host: local.Addr()}
		base := local.Transport()
		if inBase {
			base = &http.Transport{Proxy: http.ProxyURL(proxy)}
		}
		tr, err := fetcher.New(agent, &fetcher.Options{Base: base})
		if err != nil {
			t.Fatal(err)
		}
		c := colly.NewCollector(colly.UserAgent(agent))
		c.WithTransport(tr)
		if !inBase {
			if err := c.SetProxy(proxy.String()); err != nil {
				t.Fatal(err)
			}
		}
		err = c.Visit("http://news.example/private")
		if n := len(local.Requests("", "/private")); (n == 0) != inBase || errors.Is(err, fetcher.ErrDisallowed) != inBase {
			t.Errorf("proxy in the base %v: got %d requests for a forbidden page, and %v", inBase, n, err)
		}
	}
}
