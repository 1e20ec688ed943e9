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

// TestCrawl checks what both collectors requested of the same sites, so that the comment stays
// true.
func TestCrawl(t *testing.T) {
	for _, polite := range []bool{false, true} {
		local := web.Start(map[string]web.Site{
			"shop.example": {
				Robots: web.Text("User-agent: *\nDisallow: /cart\nDisallow: /moved\nCrawl-delay: 0.2\n"),
				Links:  []string{"/cart", "/old", "/1", "/2", "http://busy.example/", "http://down.example/"}, Moved: "/old",
			},
			"busy.example": {Robots: web.Status(429)},
			"down.example": {Robots: web.Status(503)},
		})
		defer local.Close()
		c, err := after(local.Options())
		if err != nil {
			t.Fatal(err)
		}
		want := "shop.example/robots.txt shop.example/ shop.example/old shop.example/1 shop.example/2 busy.example/robots.txt down.example/robots.txt"
		if !polite {
			c = before(local.Transport())
			want = "shop.example/robots.txt shop.example/ shop.example/old shop.example/moved/here shop.example/1 shop.example/2 " +
				"busy.example/robots.txt busy.example/ down.example/robots.txt down.example/"
		}
		var out bytes.Buffer
		crawl(&out, c, "http://shop.example/")
		var seen []string
		for _, r := range local.Requests("", "") {
			seen = append(seen, r.Host+r.Path)
		}
		if got := strings.Join(seen, " "); got != want {
			t.Errorf("with Polite %v: requests\ngot  %s\nwant %s", polite, got, want)
		}
		shop := local.Requests("shop.example", "")
		gap := time.Hour
		for i := 1; i < len(shop); i++ {
			gap = min(gap, shop[i].At.Sub(shop[i-1].At))
		}
		if kept := gap > 100*time.Millisecond; kept != polite {
			t.Errorf("with Polite %v: a gap of %v at a Crawl-delay of 200 ms", polite, gap)
		}
		for _, line := range []string{`refused: DISALLOW http://shop.example/moved/here: line 3 "Disallow: /moved"`, "later: DEFER http://down.example/: "} {
			if strings.Contains(out.String(), line) != polite {
				t.Errorf("with Polite %v: output:\n%s\nwant %q: %v", polite, out.String(), line, polite)
			}
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
	c, err := after(&fetcher.Options{Base: local.Transport(), Pace: &pace.Limits{Parallel: 1, MaxWait: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
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
		c, err := after(&fetcher.Options{Base: base})
		if err != nil {
			t.Fatal(err)
		}
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
