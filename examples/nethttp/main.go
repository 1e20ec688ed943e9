// Nethttp is a complete crawler in sixty lines. It drops disallowed URLs and keeps deferred ones
// until their RetryAt, once. It leaves out: a pool of workers, a store, and failed pages.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
)

func main() {
	local, options := smallWeb() // for the real web, nil options are enough
	defer local.Close()
	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", options)
	if err != nil {
		log.Fatal(err)
	}
	crawl(os.Stdout, &http.Client{Transport: t, Timeout: 3 * time.Minute}, "http://shop.example/")
}

// visit is a page to fetch, the earliest time for it, and the number of tries so far.
type visit struct {
	url       string
	notBefore time.Time
	tries     int
}

// crawl visits all pages that can be reached from the seed, each at most twice.
func crawl(out io.Writer, client *http.Client, seed string) {
	frontier, seen := []visit{{url: seed}}, map[string]bool{seed: true}
	for ; len(frontier) > 0; frontier = frontier[1:] {
		v := frontier[0]
		time.Sleep(time.Until(v.notBefore))
		var denied *fetcher.DeniedError
		switch resp, err := client.Get(v.url); {
		case err == nil:
			fmt.Fprintln(out, "fetched", v.url)
			for _, link := range web.Links(resp) {
				if !seen[link] {
					seen[link] = true
					frontier = append(frontier, visit{url: link})
				}
			}
		case errors.As(err, &denied):
			fmt.Fprintln(out, denied.Decision) // names the rule, or the failure and the next try
			if errors.Is(err, fetcher.ErrDeferred) && v.tries == 0 {
				frontier = append(frontier, visit{denied.Decision.URL, denied.Decision.RetryAt, 1})
			}
		default:
			fmt.Fprintln(out, "failed ", err)
		}
	}
}
