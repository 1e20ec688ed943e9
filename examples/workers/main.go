// Workers is a pool of workers with a schedule of pages. Pages wait in the schedule until
// their time has come, so that no worker waits for a page.
//
//	go run ./workers https://example.com/ https://example.org/
//
// This needs pace.Limits.MaxWait. If the turn of a page is later, the page is refused at
// once with the time of its turn. The host goes back to the schedule until then, and the
// worker takes another host. So three workers keep six hosts busy, each at its own pace.
// A redirect that the client follows is not refused because of MaxWait: the worker waits
// for its turn. If the redirect leads to a host that must wait, the page that goes back is
// Decision.URL, and so the host that it was asked for is not held up.
//
// A site whose robots.txt has been unreachable for a while is given up with all its pages.
// Otherwise the program would end only when the last dead site has come back.
//
// It leaves out: a heap for many hosts, further tries of a page that fails, and a schedule
// that outlives the process.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"golang.org/x/net/html"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

const (
	agent    = "ExampleBot/0.1 (+https://example.com/bot)"
	workers  = 3
	maxPages = 1000
)

// giveUp is how long a site may be down before its pages are dropped: Polite has fetched its
// robots.txt five or six times by then.
const giveUp = 15 * time.Minute

func main() {
	s := &schedule{giveUp: giveUp, seen: map[string]bool{}}
	for _, page := range os.Args[1:] {
		s.add(page)
	}
	if err := s.crawl(os.Stdout, options()); err != nil {
		log.Fatal(err)
	}
}

// options returns the options of a crawler whose workers do not wait for their turns.
func options() *fetcher.Options {
	limits := pace.Default()
	limits.MaxWait = time.Millisecond
	return &fetcher.Options{Pace: limits}
}

// crawl visits all pages and prints what became of them.
func (s *schedule) crawl(out io.Writer, o *fetcher.Options) error {
	t, err := fetcher.New(agent, o)
	if err != nil {
		return err
	}
	start := time.Now()
	failed := s.run(&http.Client{Transport: t, Timeout: 3 * time.Minute}, workers)
	for _, h := range s.hosts {
		if h.dropped > 0 {
			fmt.Fprintf(out, "%s: given up, %d page dropped\n", h.name, h.dropped)
		}
	}
	fmt.Fprintf(out, "%d pages by %d workers in %v; %d times a page went back to wait for its turn\n",
		s.fetched, workers, time.Since(start).Round(10*time.Millisecond), s.deferred)
	return failed
}

// A schedule has the pages to visit, by host. One goroutine uses it.
type schedule struct {
	giveUp   time.Duration
	hosts    []*host
	seen     map[string]bool // pages that were added
	fetched  int
	deferred int
}

// A host has its waiting pages and the earliest time for the next one.
type host struct {
	name    string // scheme://host:port, as Polite writes it
	pages   []string
	at      time.Time
	busy    bool // a worker visits a page of this host
	dropped int  // pages that were dropped because the host is down; no page is added any more
}

// add schedules a page that was not seen before.
func (s *schedule) add(page string) {
	h := s.hostOf(page)
	if h == nil || s.seen[page] || len(s.seen) == maxPages {
		return
	}
	s.seen[page] = true
	if h.dropped > 0 {
		h.dropped++
		return
	}
	h.pages = append(h.pages, page)
}

// hostOf returns the host of a page, nil if the page is not a URL for a crawler.
func (s *schedule) hostOf(page string) *host {
	u, err := url.Parse(page)
	if err != nil {
		return nil
	}
	name, err := fetcher.Authority(u)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(s.hosts, func(h *host) bool { return h.name == name })
	if i < 0 {
		i, s.hosts = len(s.hosts), append(s.hosts, &host{name: name})
	}
	return s.hosts[i]
}

// next returns the host that is due first, nil if only pages of busy hosts wait.
func (s *schedule) next() (first *host) {
	for _, h := range s.hosts {
		if len(h.pages) > 0 && !h.busy && (first == nil || h.at.Before(first.at)) {
			first = h
		}
	}
	return first
}

// run gives each page to a worker when its host is due, until no page is left.
func (s *schedule) run(client *http.Client, workers int) (failed error) {
	results := make(chan result)
	for busy := 0; ; {
		h := s.next()
		if h == nil && busy == 0 {
			return failed
		}
		var due <-chan time.Time // stays nil, which is never due, without a free host or worker
		if h != nil && busy < workers {
			due = time.After(time.Until(h.at))
		}
		select {
		case <-due:
			busy++
			page := h.pages[0]
			h.pages, h.busy = h.pages[1:], true
			go func() { results <- work(client, h, page) }() // a worker, for this page
		case r := <-results:
			busy--
			failed = errors.Join(failed, s.done(r))
		}
	}
}

// A result is what a worker found at a page.
type result struct {
	host  *host
	page  string
	links []string
	err   error
}

// work visits a page.
func work(client *http.Client, h *host, page string) result {
	resp, err := client.Get(page)
	if err != nil {
		return result{h, page, nil, err}
	}
	return result{h, page, links(resp), nil}
}

// done takes the result of a page. A disallowed page is dropped.
func (s *schedule) done(r result) error {
	r.host.busy = false
	for _, l := range r.links {
		s.add(l)
	}
	var denied *fetcher.DeniedError
	switch {
	case r.err == nil:
		s.fetched++
	case errors.Is(r.err, fetcher.ErrDeferred) && errors.As(r.err, &denied):
		s.wait(denied.Decision)
	case !errors.Is(r.err, fetcher.ErrDisallowed):
		return r.err
	}
	return nil
}

// wait makes a deferred page the next page of its host, and the host wait until RetryAt. The
// page is the URL of the decision: if a redirect was deferred, the page that the worker asked
// for may be of another host, which need not wait.
func (s *schedule) wait(d policy.Decision) {
	h := s.hostOf(d.URL)
	s.seen[d.URL] = true
	h.pages = append([]string{d.URL}, h.pages...)
	h.at = d.RetryAt
	switch {
	case d.DownSince.IsZero(): // robots.txt is known, and the turn of the page is later
		s.deferred++
	case time.Since(d.DownSince) >= s.giveUp:
		h.dropped, h.pages = len(h.pages), nil
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
