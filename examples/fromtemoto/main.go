// Fromtemoto moves a crawler from github.com/temoto/robotstxt to Polite. It has the code
// before and after, visits the same pages with both, and prints where they differ.
//
//	go run ./fromtemoto
//
// What goes: fetching robots.txt, the map of parsed files, FindGroup, Test, and sleeping for
// CrawlDelay. What comes: one http.RoundTripper and two errors to handle. The pages that are
// fetched change as well, and the program prints the reasons.
//
// It leaves out: Sitemaps (see sitemaps), and a crawler with its own HTTP code, which keeps
// that code and takes its decisions from package policy (see ownstack).
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/temoto/robotstxt"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

// before is a crawler with robotstxt, as many are written.
type before struct {
	client *http.Client
	files  map[string]*robotstxt.RobotsData // by host, kept as long as the process runs
}

func (b *before) visit(page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return "failed"
	}
	file, ok := b.files[u.Host]
	if !ok {
		resp, err := b.client.Get(u.Scheme + "://" + u.Host + "/robots.txt")
		if err != nil {
			return "failed"
		}
		defer resp.Body.Close()
		if file, err = robotstxt.FromResponse(resp); err != nil {
			return "failed"
		}
		b.files[u.Host] = file
	}
	group := file.FindGroup(agent)
	if !group.Test(u.RequestURI()) {
		return "dropped"
	}
	time.Sleep(group.CrawlDelay) // nobody waits for redirects and for requests of other goroutines
	resp, err := b.client.Get(page)
	if err != nil {
		return "failed"
	}
	return read(resp)
}

// after is the same crawler with Polite.
type after struct{ client *http.Client }

func (a after) visit(page string) string {
	resp, err := a.client.Get(page)
	switch {
	case errors.Is(err, fetcher.ErrDisallowed):
		return "dropped"
	case errors.Is(err, fetcher.ErrDeferred):
		return "later" // not before DeniedError.Decision.RetryAt; see nethttp
	case err != nil:
		return "failed"
	}
	return read(resp)
}

func read(resp *http.Response) string {
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return "fetched"
}

// pages are visited by both.
var pages = []struct{ url, why string }{
	{"http://shop.example/cart", "no difference"},
	{"http://shop.example/old", "the redirect leads to a disallowed page, and each redirect is checked"},
	{"http://shop.example/caf%C3%A9", "the rule is \"/café\": rules and URLs are compared after percent-encoding"},
	{"http://named.example/", "the group is of Example, which is another crawler than ExampleBot"},
	{"http://busy.example/", "a 429 means \"not now\": it neither allows nor ends the host"},
	{"http://down.example/", "nothing may be fetched during a 503: FindGroup does not know, and TestAgent would drop the page for ever"},
	{"http://lost.test/", "an outage of robots.txt is no failure of the page: it is kept"},
}

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	local := web.Start(map[string]web.Site{
		"shop.example":  {Robots: web.Text("User-agent: *\nDisallow: /cart\nDisallow: /moved\nDisallow: /café\nCrawl-delay: 0.02\n"), Moved: "/old"},
		"named.example": {Robots: web.Text("User-agent: Example\nDisallow: /\n")},
		"busy.example":  {Robots: web.Status(429)},
		"down.example":  {Robots: web.Status(503)},
	})
	defer local.Close()
	t, err := fetcher.New(agent, &fetcher.Options{
		Base: local.Transport(), // leave this out to visit the real web
		Pace: &pace.Limits{Gap: 10 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	old := &before{&http.Client{Transport: local.Transport()}, map[string]*robotstxt.RobotsData{}}
	polite := after{&http.Client{Transport: t, Timeout: 2 * time.Minute}}
	for _, p := range pages {
		fmt.Fprintf(out, "%-30s before: %-8s after: %-8s %s\n", p.url, old.visit(p.url), polite.visit(p.url), p.why)
	}
	return nil
}
