package web

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
)

// SitemapSite returns the site shop.example. It has an index of two sitemaps, one of them
// compressed, a page that redirects, and a sitemap that robots.txt disallows.
func SitemapSite() Site {
	return Site{
		Robots: Text("User-agent: *\nDisallow: /cart\nDisallow: /secret.xml\nCrawl-delay: 0.05\nSitemap: /index.xml\nSitemap: http://shop.example/secret.xml\n"),
		Moved:  "/old", Page: sitemapPage,
	}
}

func sitemapPage(rw http.ResponseWriter, req *http.Request) {
	list := func(to io.Writer, entries ...string) {
		fmt.Fprint(to, "<urlset>")
		for i := 0; i < len(entries); i += 2 {
			fmt.Fprintf(to, "<url><loc>%s</loc><lastmod>%s</lastmod></url>", entries[i], entries[i+1])
		}
		fmt.Fprint(to, "</urlset>")
	}
	const shop = "http://shop.example"
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
		page(rw, req)
	}
}
