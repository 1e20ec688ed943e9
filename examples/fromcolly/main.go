// Fromcolly moves a collector from Colly's own robots.txt switch to Polite. The change is
// three lines: leave IgnoreRobotsTxt on, raise the timeout, and pass the Transport.
//
//	go run ./fromcolly https://example.com/          # with Polite
//	go run ./fromcolly -before https://example.com/  # with Colly's switch
//
// Colly's switch fetches robots.txt once for each host and collector, through no limit, and
// keeps it as long as the collector lives. It checks the links but no redirects, sees no
// outage, and knows no Crawl-delay. OnError gets one error for all refusals; from Polite it
// gets the decision.
//
// Pass the Transport last: SetRequestTimeout may come before it, and SetProxy must not come after
// it, since it replaces the Transport without a word. A proxy belongs into Options.Base.
// LimitRules may stay: the stricter of both counts.
//
// It leaves out: when a deferred page is visited again (see workers). Here it is printed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/rfc9309/polite/fetcher"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

// before returns a collector with Colly's own switch. A nil base is http.DefaultTransport.
func before(base http.RoundTripper) *colly.Collector {
	c := colly.NewCollector(colly.UserAgent(agent), colly.MaxDepth(2))
	if base != nil {
		c.WithTransport(base)
	}
	c.IgnoreRobotsTxt = false // this line goes
	return c
}

// after returns the same collector with Polite.
func after(o *fetcher.Options) (*colly.Collector, error) {
	t, err := fetcher.New(agent, o)
	if err != nil {
		return nil, err
	}
	c := colly.NewCollector(colly.UserAgent(agent), colly.MaxDepth(2))
	c.SetRequestTimeout(3 * time.Minute) // a request waits for its turn
	c.WithTransport(t)
	return c, nil
}

func main() {
	old := flag.Bool("before", false, "use Colly's own switch")
	flag.Parse()
	c, err := after(nil)
	if err != nil {
		log.Fatal(err)
	}
	if *old {
		c = before(nil)
	}
	for _, page := range flag.Args() {
		crawl(os.Stdout, c, page)
	}
}

// crawl follows the links from a page, and prints each refusal.
func crawl(out io.Writer, c *colly.Collector, seed string) {
	visit := func(err error) {
		var denied *fetcher.DeniedError
		switch {
		case errors.Is(err, colly.ErrRobotsTxtBlocked): // Colly says no more
			fmt.Fprintln(out, "refused:", err)
		case errors.Is(err, fetcher.ErrDeferred) && errors.As(err, &denied):
			fmt.Fprintln(out, "later:", denied.Decision) // visit Decision.URL at RetryAt
		case errors.As(err, &denied): // says the rule and the file
			fmt.Fprintln(out, "refused:", denied.Decision)
		case err != nil && !errors.Is(err, colly.ErrMaxDepth) && !errors.As(err, new(*colly.AlreadyVisitedError)):
			fmt.Fprintln(out, "failed:", err)
		}
	}
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { visit(e.Request.Visit(e.Attr("href"))) })
	c.OnResponse(func(r *colly.Response) { fmt.Fprintln(out, "fetched:", r.Request.URL) })
	visit(c.Visit(seed))
}
