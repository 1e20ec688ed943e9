// Fromcolly moves a collector from Colly's own robots.txt switch to Polite. The change is
// two lines: leave IgnoreRobotsTxt on, and pass the Transport. The program crawls the same
// sites with both and prints what each requested.
//
//	go run ./fromcolly
//
// Colly's switch fetches robots.txt once for each host and collector, through no limit, and
// keeps it as long as the collector lives. It checks the links but no redirects, sees no
// outage, and knows no Crawl-delay. OnError gets one error for all refusals; from Polite it
// gets the decision.
//
// It leaves out: deferred pages, which OnError should put back (see colly and workers), and
// LimitRules, which may stay: the stricter of both counts.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

// before returns a collector with Colly's own switch.
func before(base http.RoundTripper) (*colly.Collector, error) {
	c := colly.NewCollector(colly.UserAgent(agent))
	c.WithTransport(base)
	c.IgnoreRobotsTxt = false // this line goes
	return c, nil
}

// after returns the same collector with Polite.
func after(base http.RoundTripper) (*colly.Collector, error) {
	t, err := fetcher.New(agent, &fetcher.Options{
		Base: base, // leave this out to visit the real web
		Pace: &pace.Limits{Gap: 10 * time.Millisecond, Parallel: 1},
	})
	if err != nil {
		return nil, err
	}
	c := colly.NewCollector(colly.UserAgent(agent))
	c.WithTransport(t) // this line comes
	return c, nil
}

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	for _, way := range []struct {
		name      string
		collector func(http.RoundTripper) (*colly.Collector, error)
	}{{"Colly's switch", before}, {"Polite", after}} {
		local := web.Start(map[string]web.Site{
			"shop.example": {
				Robots: web.Text("User-agent: *\nDisallow: /cart\nDisallow: /moved\nCrawl-delay: 0.2\n"),
				Links:  []string{"/cart", "/old", "/1", "/2", "http://busy.example/", "http://down.example/"}, Moved: "/old",
			},
			"busy.example": {Robots: web.Status(429)},
			"down.example": {Robots: web.Status(503)},
		})
		c, err := way.collector(local.Transport())
		if err != nil {
			return err
		}
		fmt.Fprintln(out, way.name)
		crawl(out, c, "http://shop.example/")
		report(out, local)
		local.Close()
	}
	return nil
}

// crawl follows the links from a page, and prints each refusal.
func crawl(out io.Writer, c *colly.Collector, seed string) {
	visit := func(err error) {
		var denied *fetcher.DeniedError
		switch {
		case errors.Is(err, colly.ErrRobotsTxtBlocked): // Colly says no more
			fmt.Fprintln(out, "  refused:", err)
		case errors.As(err, &denied): // says the rule, the file and the time to try again
			fmt.Fprintln(out, "  refused:", denied.Decision)
		case err != nil:
			fmt.Fprintln(out, "  failed:", err)
		}
	}
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { visit(e.Request.Visit(e.Attr("href"))) })
	visit(c.Visit(seed))
}

// report prints the requests that the sites saw, and the shortest time between two requests
// to the shop.
func report(out io.Writer, local *web.Web) {
	var seen []string
	for _, r := range local.Requests("", "") {
		seen = append(seen, r.Host+r.Path)
	}
	shop := local.Requests("shop.example", "")
	gaps := []time.Duration{time.Hour}
	for i := 1; i < len(shop); i++ {
		gaps = append(gaps, shop[i].At.Sub(shop[i-1].At))
	}
	fmt.Fprintf(out, "  requests: %s\n  Crawl-delay of 200 ms kept: %v\n", strings.Join(seen, " "), slices.Min(gaps) > 100*time.Millisecond)
}
