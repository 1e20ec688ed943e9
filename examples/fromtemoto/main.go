// Fromtemoto moves a crawler from github.com/temoto/robotstxt to Polite. It has the code
// before and after, visits the same pages with both, and prints what became of each.
//
//	go run ./fromtemoto https://example.com/ https://example.org/
//
// What goes: fetching robots.txt, the map of parsed files, FindGroup, Test, and sleeping for
// CrawlDelay. What comes: one http.RoundTripper and two errors to handle. The pages that are
// fetched change as well: main_test.go has a page for each reason.
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

	"github.com/rfc9309/polite/fetcher"
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

func main() {
	if err := run(os.Stdout, nil, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// run visits each page with both crawlers. Nil options are enough for the web.
func run(out io.Writer, o *fetcher.Options, pages []string) error {
	t, err := fetcher.New(agent, o)
	if err != nil {
		return err
	}
	old := &before{&http.Client{Timeout: time.Minute}, map[string]*robotstxt.RobotsData{}}
	if o != nil {
		old.client.Transport = o.Base
	}
	polite := after{&http.Client{Transport: t, Timeout: 3 * time.Minute}}
	for _, page := range pages {
		fmt.Fprintf(out, "%-30s before: %-8s after: %s\n", page, old.visit(page), polite.visit(page))
	}
	return nil
}
