package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
)

// TestCrawl checks the order of the pages, and that each URL is requested once: also on a
// host whose Crawl-delay is longer than MaxWait, where each turn is deferred first.
func TestCrawl(t *testing.T) {
	for name, maxWait := range map[string]time.Duration{"patient": 0, "max_wait": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			local := web.Start(map[string]web.Site{"shop.example": {Robots: web.Text(robots), Moved: "/old", Page: serve}})
			defer local.Close()
			o := local.Options()
			o.Pace.MaxWait = maxWait
			tr, err := fetcher.New("ExampleBot/0.1", o)
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

// The site has an index of two sitemaps, one of them compressed, a page that redirects, and a
// sitemap that robots.txt disallows.
const (
	shop   = "http://shop.example"
	robots = "User-agent: *\nDisallow: /cart\nDisallow: /secret.xml\nCrawl-delay: 0.05\nSitemap: /index.xml\nSitemap: " + shop + "/secret.xml\n"
)

func serve(rw http.ResponseWriter, req *http.Request) {
	switch req.URL.Path {
	case "/index.xml":
		fmt.Fprintf(rw, "<sitemapindex><sitemap><loc>%s/a.xml</loc></sitemap><sitemap><loc>%s/b.xml.gz</loc></sitemap></sitemapindex>", shop, shop)
	case "/a.xml":
		list(rw, shop+"/1", "2026-01-01", shop+"/cart/1", "2026-03-01", "http://other.example/", "2026-04-01")
	case "/b.xml.gz":
		z := gzip.NewWriter(rw)
		defer z.Close()
		list(z, shop+"/old", "2026-02-01", shop+"/1", "2026-01-01")
	default:
		fmt.Fprintf(rw, "<p>This is %s.</p>\n", req.URL.Path)
	}
}

// list writes a sitemap of pages and the times of their last change.
func list(to io.Writer, entries ...string) {
	fmt.Fprint(to, "<urlset>")
	for i := 0; i < len(entries); i += 2 {
		fmt.Fprintf(to, "<url><loc>%s</loc><lastmod>%s</lastmod></url>", entries[i], entries[i+1])
	}
	fmt.Fprint(to, "</urlset>")
}
