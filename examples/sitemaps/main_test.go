package main

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

// TestCrawl checks the order of the pages, and that each URL is requested once: also on a
// host whose Crawl-delay is longer than MaxWait, where each turn is deferred first.
func TestCrawl(t *testing.T) {
	for name, limits := range map[string]*pace.Limits{"patient": {}, "max_wait": {MaxWait: time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			local := web.Start(map[string]web.Site{"shop.example": web.SitemapSite()})
			defer local.Close()
			tr, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: local.Transport(), Pace: limits})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := crawl(t.Context(), &out, tr, &url.URL{Scheme: "http", Host: "shop.example", Path: "/"}); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range local.Requests("", "") {
				got = append(got, r.Path)
			}
			if want := []string{"/robots.txt", "/index.xml", "/a.xml", "/b.xml.gz", "/old", "/moved/here", "/1"}; !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			for _, want := range []string{
				`line 3 "Disallow: /secret.xml"`, `"http://shop.example/cart/1": disallowed: robots.txt has line 2 "Disallow: /cart"`,
				"fetched http://shop.example/old (28 bytes, changed 2026-02-01)\n",
			} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("output:\n%s\nwant %q", out.String(), want)
				}
			}
		})
	}
}
