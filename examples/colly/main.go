// Colly runs a Colly collector over Polite. Colly finds the links, and Polite decides
// which of them may be fetched, and when.
//
//	go run ./colly
//
// Colly has its own robots.txt client, which is off by default. Leave it off: Polite
// handles redirects, outages, caching and Crawl-delay. OnError gets its refusals with
// their reason.
//
// It leaves out: when a deferred page is visited again. Here it is printed at the end.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	local := web.Start(map[string]web.Site{
		"news.example": {
			Robots: web.Text("User-agent: *\nDisallow: /archive/*/print$\nCrawl-delay: 0.05\n"),
			Pages:  4,
			Links:  []string{"/archive/2026/print", "/archive/2026/printed", "http://busy.example/"},
		},
		"busy.example": {Robots: web.Status(503)},
	})
	defer local.Close()

	t, err := fetcher.New(agent, &fetcher.Options{
		Base: local.Transport(), // leave this out to visit the real web
		Pace: &pace.Limits{Gap: 10 * time.Millisecond, Parallel: 1},
	})
	if err != nil {
		return err
	}
	c := colly.NewCollector(colly.UserAgent(agent))
	c.IgnoreRobotsTxt = true // this is the default
	c.WithTransport(t)

	var deferred []fetcher.DeniedError
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { visit(e.Request, e.Attr("href"), out) })
	c.OnResponse(func(r *colly.Response) { fmt.Fprintln(out, "fetched", r.Request.URL) })
	c.OnError(func(r *colly.Response, err error) {
		var denied *fetcher.DeniedError
		switch {
		case errors.Is(err, fetcher.ErrDeferred) && errors.As(err, &denied):
			deferred = append(deferred, *denied)
		case errors.As(err, &denied):
			fmt.Fprintln(out, "dropped", denied.Decision)
		default:
			fmt.Fprintln(out, "failed ", r.Request.URL, err)
		}
	})
	if err := c.Visit("http://news.example/"); err != nil {
		return err
	}
	for _, d := range deferred {
		fmt.Fprintln(out, "later  ", d.Decision)
	}
	s := t.Stats()
	fmt.Fprintf(out, "%d allowed, %d disallowed, %d deferred; %d requests for robots.txt; waited %v for turns\n",
		s.Allowed, s.Disallowed, s.Deferred, s.Requests, s.Pace.Waited.Round(10*time.Millisecond))
	return nil
}

// visit follows a link. Visit returns the same error that OnError gets.
func visit(r *colly.Request, link string, out io.Writer) {
	err := r.Visit(link)
	var denied *fetcher.DeniedError
	if err != nil && !errors.As(err, &denied) {
		fmt.Fprintln(out, "not visited:", link, err)
	}
}
