package main

import (
	"fmt"
	"log"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/matcher"
)

const robots = "User-agent: *\nCrawl-delay: 0.4\nDisallow: /cart\nDisallow: /favicon.ico\nDisallow: /moved\nDisallow: /track\n"

// smallWeb starts a shop and a host with its pictures. It is also the proxy of the browser:
// it serves these two sites, and answers 421 to everything else.
func smallWeb() *web.Web {
	shop := http.NewServeMux()
	shop.HandleFunc("/shoes", content("text/html", `<h1>Shoes</h1>
<img src="/img/1.svg"><img src="/img/2.svg"><img src="http://cdn.example/3.svg"><img src="http://cdn.example/4.svg">
<script src="/app.js"></script><script src="/track/visit.js"></script>
<iframe src="http://cdn.example/frame"></iframe>`))
	shop.HandleFunc("/app.js", content("text/javascript", `fetch("/api/stock"); fetch("/cart/items")`))
	shop.HandleFunc("/api/stock", content("application/json", `[]`))
	shop.HandleFunc("/img/", picture)
	cdn := http.NewServeMux()
	// The first answer asks for a pause of one second.
	cdn.HandleFunc("/", web.Steps(busy, picture))
	cdn.HandleFunc("/frame", content("text/html", `<img src="http://shop.example/track/frame.svg">`))
	return web.Start(map[string]web.Site{
		"shop.example": {Robots: web.Text(robots), Moved: "/old", Page: shop.ServeHTTP},
		"cdn.example":  {Page: cdn.ServeHTTP},
	})
}

func content(kind, text string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", kind)
		fmt.Fprint(rw, text)
	}
}

var picture = content("image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"/>`)

func busy(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Retry-After", "1")
	rw.WriteHeader(http.StatusTooManyRequests)
}

// report prints what the sites received, and what the browser requested from other hosts.
func report(out *log.Logger, local *web.Web) {
	out.Print("\nWhat the sites received:")
	file := matcher.Parse([]byte(robots), matcher.Dialect{})
	for _, site := range []struct {
		host  string
		least float64 // seconds between the first request and the last
		by    string  // what the sites and our limits ask for
	}{
		{"shop.example", 6 * 0.4, "Crawl-delay"},
		{"cdn.example", 0.2 + 1 + 0.2, "gap and Retry-After"},
	} {
		seen, disallowed := local.Requests(site.host, ""), 0
		for _, r := range seen {
			out.Printf("%7.2fs  %s%s", r.At.Sub(seen[0].At).Seconds(), r.Host, r.Path)
			if r.Host == "shop.example" && r.Path != "/robots.txt" && !file.Match("ExampleBot", r.Path).Allowed {
				disallowed++
			}
		}
		out.Printf("%s: %d requests, %d of them disallowed, in %.2fs (at least %.2fs by %s)", site.host, len(seen),
			disallowed, seen[len(seen)-1].At.Sub(seen[0].At).Seconds(), site.least, site.by)
	}
	out.Print("Other hosts that the browser asked for, and the proxy refused:")
	refused := map[string]int{}
	for _, r := range local.Requests("", "") {
		if !strings.HasSuffix(r.Host, ".example") {
			refused[r.Host]++
		}
	}
	for _, host := range slices.Sorted(maps.Keys(refused)) {
		out.Printf("%8d  %s", refused[host], host)
	}
	if len(refused) == 0 {
		out.Print("          none")
	}
}
