// Nethttp is a whole crawler on net/http: a frontier that drops what is
// disallowed and keeps what is deferred until its time.
//
//	go run ./nethttp
//
// It crawls a small web on loopback. One of its sites does not say for a while
// what it allows, one is not there at all, and one redirects its robots.txt.
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
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run crawls the small web.
func run(out io.Writer) error {
	local := web.Start(map[string]web.Site{
		"shop.example": {
			Robots: web.Text("User-agent: *\nDisallow: /cart\nCrawl-delay: 0.05\n"),
			Pages:  3,
			Links:  []string{"/cart/1", "http://busy.example/", "http://moved.example/", "http://lost.test/"},
		},
		"busy.example":  {Robots: web.Steps(web.Status(503), web.Text("User-agent: *\nDisallow:\n")), Pages: 1},
		"moved.example": {Robots: web.Redirect("http://files.example/robots.txt"), Links: []string{"/drafts/1"}},
		"files.example": {Robots: web.Text("User-agent: ExampleBot\nDisallow: /drafts\n")},
	})
	defer local.Close()

	// Ask a site that is down again after a second. The default is a minute,
	// which suits the real web.
	hasty := policy.RFC9309()
	hasty.Retry.First, hasty.Fresh.Least = time.Second, time.Second

	t, err := fetcher.New(agent, &fetcher.Options{
		Base:     local.Transport(), // leave this out to visit the real web
		Profile:  hasty,
		Pace:     &pace.Limits{Gap: 10 * time.Millisecond},
		Identify: true,
	})
	if err != nil {
		return err
	}
	client := &http.Client{Transport: t, Timeout: 30 * time.Second}
	crawl(out, client, time.Now().Add(2500*time.Millisecond), "http://shop.example/")
	return nil
}

// visit is an entry of the frontier: a page, and when it may be tried.
type visit struct {
	url       string
	notBefore time.Time
}

// crawl visits all that can be reached from the seed until the end.
func crawl(out io.Writer, client *http.Client, end time.Time, seed string) {
	frontier, seen := []visit{{url: seed}}, map[string]bool{seed: true}
	var fetched, dropped, failed, kept int
	for len(frontier) > 0 {
		v := frontier[0]
		frontier = frontier[1:]
		if v.notBefore.After(end) {
			kept++
			fmt.Fprintln(out, "kept   ", v.url, "for the next crawl")
			continue
		}
		time.Sleep(time.Until(v.notBefore))
		links, err := get(client, v.url)
		var denied *fetcher.DeniedError
		switch {
		case errors.Is(err, fetcher.ErrDisallowed) && errors.As(err, &denied):
			dropped++
			fmt.Fprintln(out, "dropped", denied.Decision)
		case errors.As(err, &denied): // deferred: back to the end of the line
			frontier = append(frontier, visit{v.url, denied.Decision.RetryAt})
			fmt.Fprintln(out, "later  ", denied.Decision)
		case err != nil:
			failed++
			fmt.Fprintln(out, "failed ", err)
		default:
			fetched++
			fmt.Fprintln(out, "fetched", v.url)
		}
		for _, l := range links {
			if !seen[l] {
				seen[l] = true
				frontier = append(frontier, visit{url: l})
			}
		}
	}
	fmt.Fprintf(out, "%d fetched, %d dropped, %d failed, %d kept\n", fetched, dropped, failed, kept)
}

// get fetches a page and returns what it links to.
func get(client *http.Client, page string) ([]string, error) {
	resp, err := client.Get(page)
	if err != nil {
		return nil, err
	}
	return web.Links(resp)
}
