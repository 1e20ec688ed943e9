// Nethttp is a complete crawler: it follows the links of the pages that you name, drops
// disallowed pages, and keeps deferred ones until their RetryAt, once.
//
//	go run ./nethttp https://example.com/
//
// It leaves out: a pool of workers (see workers), a store (see service), and failed pages.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"golang.org/x/net/html"

	"github.com/rfc9309/polite/fetcher"
)

const maxPages = 100 // a crawl without a bound ends only with the web

func main() {
	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", nil) // your crawler, and a page about it
	if err != nil {
		log.Fatal(err)
	}
	crawl(os.Stdout, &http.Client{Transport: t, Timeout: 3 * time.Minute}, os.Args[1:])
}

// visit is a page to fetch, the earliest time for it, and the number of tries so far.
type visit struct {
	url       string
	notBefore time.Time
	tries     int
}

// crawl visits the seeds and the pages that can be reached from them, each at most twice.
func crawl(out io.Writer, client *http.Client, seeds []string) {
	var frontier []visit
	seen := map[string]bool{}
	add := func(page string) {
		if !seen[page] && len(seen) < maxPages {
			seen[page], frontier = true, append(frontier, visit{url: page})
		}
	}
	for _, seed := range seeds {
		add(seed)
	}
	for ; len(frontier) > 0; frontier = frontier[1:] {
		v := frontier[0]
		time.Sleep(time.Until(v.notBefore))
		var denied *fetcher.DeniedError
		switch resp, err := client.Get(v.url); {
		case err == nil:
			fmt.Fprintln(out, "fetched", v.url)
			for _, link := range links(resp) {
				add(link)
			}
		case errors.As(err, &denied):
			fmt.Fprintln(out, denied.Decision) // names the rule, or the failure and the next try
			if errors.Is(err, fetcher.ErrDeferred) && v.tries == 0 {
				// After a redirect this is not the page that was asked for.
				frontier = append(frontier, visit{denied.Decision.URL, denied.Decision.RetryAt, 1})
			}
		default:
			fmt.Fprintln(out, "failed ", err)
		}
	}
}

// links reads and closes a page, and returns its links.
func links(resp *http.Response) (found []string) {
	defer resp.Body.Close()
	doc, err := html.Parse(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil
	}
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			if n.Data != "a" || a.Key != "href" {
				continue
			}
			if u, err := resp.Request.URL.Parse(a.Val); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
				u.Fragment = ""
				found = append(found, u.String())
			}
		}
	}
	return found
}
