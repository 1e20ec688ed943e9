package main

import (
	"fmt"
	"net/http"
	"time"

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

// requests returns the number of requests to a site, how many of them are disallowed, and the
// time from the first to the last.
func requests(local *web.Web, host string) (n, disallowed int, took time.Duration) {
	file, seen := matcher.Parse([]byte(robots), matcher.Dialect{}), local.Requests(host, "")
	for _, r := range seen {
		if host == "shop.example" && r.Path != "/robots.txt" && !file.Match("ExampleBot", r.Path).Allowed {
			disallowed++
		}
	}
	if len(seen) == 0 {
		return 0, 0, 0
	}
	return len(seen), disallowed, seen[len(seen)-1].At.Sub(seen[0].At)
}
