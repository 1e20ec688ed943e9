// Pagecache is a crawler that keeps pages in an HTTP cache (RFC 9111) above Polite. A page
// from the cache costs no request and no turn. A page that must be revalidated costs both,
// and is not revalidated when the rules of the site forbid it by then. A redirect costs two
// turns: its own and that of its target, unless the cache has the target.
//
//	go run ./pagecache
//
// It leaves out: a cache on disk, and a bound on its size.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/gregjones/httpcache"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	var closed atomic.Bool // the site has changed its rules
	local := web.Start(map[string]web.Site{"news.example": {
		Robots: func(w http.ResponseWriter, _ *http.Request) {
			if closed.Load() {
				io.WriteString(w, "User-agent: *\nDisallow: /\n")
			}
		},
		Page: page, Moved: "/old",
	}})
	defer local.Close()
	polite, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", &fetcher.Options{Base: local.Transport()})
	if err != nil {
		return err
	}
	// The cache is above Polite, so that only what the cache has not, and what it must
	// revalidate, comes to the rules and takes a turn.
	client := &http.Client{Transport: &httpcache.Transport{
		Transport: polite, Cache: httpcache.NewMemoryCache(), MarkCachedResponses: true,
	}}
	get := func(url string) {
		before := polite.Stats().Pace.Turns
		fmt.Fprintf(out, "%s: %s, %d turns\n", url, visit(client, url), polite.Stats().Pace.Turns-before)
	}

	const lasting, changing = "http://news.example/lasting", "http://news.example/changing"
	get(lasting)                   // robots.txt and the page
	get(lasting)                   // from the cache
	get(changing)                  // the page
	get(changing)                  // a revalidation
	get("http://news.example/old") // a redirect and its target
	closed.Store(true)
	request, err := http.NewRequest(http.MethodGet, changing, nil)
	if err != nil {
		return err
	}
	if _, err := polite.Refresh(request.Context(), request.URL); err != nil {
		return err
	}
	get(changing) // refused
	get(lasting)  // still from the cache: nothing is fetched
	return nil
}

// page may be kept for an hour at /lasting, and must be revalidated elsewhere.
func page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"1"`)
	w.Header().Set("Cache-Control", "no-cache")
	if r.URL.Path == "/lasting" {
		w.Header().Set("Cache-Control", "max-age=3600")
	}
	if r.Header.Get("If-None-Match") == `"1"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	io.WriteString(w, "news")
}

// visit reads a page to its end, which the cache needs to keep it, and says where it came
// from.
func visit(client *http.Client, url string) string {
	resp, err := client.Get(url)
	var denied *fetcher.DeniedError
	switch {
	case errors.As(err, &denied):
		return denied.Decision.Verdict.String() + " by " + denied.Decision.Rule()
	case err != nil:
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	if resp.Header.Get(httpcache.XFromCache) != "" {
		return fmt.Sprintf("%q from the cache", text)
	}
	return fmt.Sprintf("%q from the site", text)
}
