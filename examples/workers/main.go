// Workers is a pool of workers with a schedule of pages. Pages wait in the schedule until
// their time has come, so that no worker waits for a page.
//
//	go run ./workers
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
	"strings"
	"time"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// giveUp is how long a site may be down before its pages are dropped. Polite has fetched its
// robots.txt twice by then. On the real web 15 minutes are five or six fetches.
const giveUp = time.Second / 2

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	const hosts, pages, workers = 6, 8, 3
	sites, s := map[string]web.Site{}, &schedule{seen: map[string]bool{}}
	for i := range hosts {
		name := fmt.Sprintf("site-%d.example", i+1)
		// The higher the number, the longer the Crawl-delay: 0, 20, 40 ... ms.
		robots := fmt.Sprintf("User-agent: *\nDisallow: /private\nCrawl-delay: %.2f\n", float64(i)*0.02)
		sites[name] = web.Site{Robots: web.Text(robots), Pages: pages, Links: []string{"/private", "/old"}, Moved: "/old"}
		s.add("http://" + name + "/")
	}
	// One page of this site has moved to a site that is down.
	sites["moved.example"] = web.Site{Pages: 2, Links: []string{"/old"}, Moved: "/old", MovedTo: "http://dead.test/new"}
	s.add("http://moved.example/")
	local := web.Start(sites)
	defer local.Close()

	// Fetch the robots.txt of a site that is down again after a second. For the real web the
	// default of a minute is better.
	hasty := policy.RFC9309()
	hasty.Retry.Min = time.Second
	t, err := fetcher.New(agent, &fetcher.Options{
		Base:    local.Transport(), // leave this out to visit the real web
		Profile: hasty,
		Pace:    &pace.Limits{Gap: 10 * time.Millisecond, Parallel: 1, MaxWait: time.Millisecond},
	})
	if err != nil {
		return err
	}
	start := time.Now()
	if err := s.run(&http.Client{Transport: t, Timeout: 3 * time.Minute}, workers); err != nil {
		return err
	}
	for _, h := range s.hosts {
		if h.dropped > 0 {
			fmt.Fprintf(out, "%s: given up, %d page dropped\n", h.name, h.dropped)
			continue
		}
		name := strings.TrimPrefix(h.name, "http://")
		seen, least := local.Requests(name, ""), time.Hour
		for i := 1; i < len(seen); i++ {
			least = min(least, seen[i].At.Sub(seen[i-1].At))
		}
		fmt.Fprintf(out, "%s: %d requests, %d of them for robots.txt, at least %v apart\n",
			name, len(seen), len(local.Requests(name, "/robots.txt")), least.Round(time.Millisecond))
	}
	fmt.Fprintf(out, "%d pages by %d workers in %v; %d times a page went back to wait for its turn\n",
		s.fetched, workers, time.Since(start).Round(10*time.Millisecond), s.deferred)
	return nil
}

// A schedule has the pages to visit, by host. One goroutine uses it.
type schedule struct {
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
	if h == nil || s.seen[page] {
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
	return result{h, page, web.Links(resp), nil}
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
	case time.Since(d.DownSince) >= giveUp:
		h.dropped, h.pages = len(h.pages), nil
	}
}
