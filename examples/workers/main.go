// Workers is a pool of workers with a schedule of pages. Pages wait in the schedule until
// their time has come, so that no worker waits for a page.
//
//	go run ./workers
//
// This needs pace.Limits.MaxWait. If the turn of a page is later, the page is refused at
// once with the time of its turn. The host goes back to the schedule until then, and the
// worker takes another host. So three workers keep six hosts busy, each at its own pace.
// A redirect that the client follows is not refused because of MaxWait: the worker waits
// for its turn.
//
// It leaves out: further tries of a page that fails, and a schedule that outlives the process.
package main

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"sort"
	"sync"
	"time"

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
	const hosts, pages, workers = 6, 8, 3
	sites := map[string]web.Site{}
	s := newSchedule()
	for i := range hosts {
		name := fmt.Sprintf("site-%d.example", i+1)
		// The higher the number, the longer the Crawl-delay: 0, 20, 40 ... ms.
		robots := fmt.Sprintf("User-agent: *\nDisallow: /private\nCrawl-delay: %.2f\n", float64(i)*0.02)
		sites[name] = web.Site{Robots: web.Text(robots), Pages: pages, Links: []string{"/private", "/old"}, Moved: "/old"}
		s.add("http://" + name + "/")
	}
	local := web.Start(sites)
	defer local.Close()

	t, err := fetcher.New(agent, &fetcher.Options{
		Base: local.Transport(), // leave this out to visit the real web
		Pace: &pace.Limits{Gap: 10 * time.Millisecond, Parallel: 1, MaxWait: time.Millisecond},
	})
	if err != nil {
		return err
	}
	client := &http.Client{Transport: t, Timeout: 30 * time.Second}
	start := time.Now()
	var pool sync.WaitGroup
	for range workers {
		pool.Go(func() { work(s, client) }) // ends when the schedule is empty
	}
	pool.Wait()
	report(out, local, sites, s)
	fmt.Fprintf(out, "%d pages of %d hosts by %d workers in %v; %d times a page went back to wait for its turn\n",
		s.fetched, hosts, workers, time.Since(start).Round(10*time.Millisecond), s.deferred)
	return nil
}

// work visits pages of the schedule until it is empty.
func work(s *schedule, client *http.Client) {
	for {
		h, page, ok := s.next()
		if !ok {
			return
		}
		var links []string
		resp, err := client.Get(page)
		if err == nil {
			links = web.Links(resp)
		}
		for _, l := range links {
			s.add(l)
		}
		s.done(h, page, err)
	}
}

// schedule hands out pages, one page per host at a time. A worker has a page from the
// call of next to the call of done.
type schedule struct {
	mu       sync.Mutex
	changed  *sync.Cond
	hosts    map[string]*host
	queue    queue           // hosts that have pages and that no worker visits now
	seen     map[string]bool // pages that were added
	out      int             // number of pages that workers have now
	fetched  int
	deferred int
	failed   []error
}

func newSchedule() *schedule {
	s := &schedule{hosts: map[string]*host{}, seen: map[string]bool{}}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// add schedules a page that was not seen before.
func (s *schedule) add(page string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := url.Parse(page)
	if err != nil || s.seen[page] {
		return
	}
	s.seen[page] = true
	h := s.hosts[u.Host]
	if h == nil {
		h = &host{}
		s.hosts[u.Host] = h
	}
	h.pages = append(h.pages, page)
	if len(h.pages) == 1 && !h.out {
		s.put(h)
	}
}

// put queues a host and wakes the waiting workers. The caller holds s.mu.
func (s *schedule) put(h *host) {
	heap.Push(&s.queue, h)
	s.changed.Broadcast()
}

// next waits until a host is due and returns a page of it. It returns false when no page
// is left and no worker has a page that could add more.
func (s *schedule) next() (h *host, page string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case len(s.queue) == 0 && s.out == 0:
			return nil, "", false
		case len(s.queue) == 0:
			s.changed.Wait()
		case time.Until(s.queue[0].at) > 0:
			s.sleep(time.Until(s.queue[0].at))
		default:
			h = heap.Pop(&s.queue).(*host)
			page, h.pages, h.out = h.pages[0], h.pages[1:], true
			s.out++
			return h, page, true
		}
	}
}

// sleep waits for a change, but not longer than wait. The caller holds s.mu.
func (s *schedule) sleep(wait time.Duration) {
	alarm := time.AfterFunc(wait, func() {
		s.mu.Lock() // so that the broadcast does not come before the wait begins
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer alarm.Stop()
	s.changed.Wait()
}

// done takes the result of a page. A deferred page becomes the next page of its host, and
// the host waits until RetryAt. A disallowed page is dropped.
func (s *schedule) done(h *host, page string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var denied *fetcher.DeniedError
	switch {
	case err == nil:
		s.fetched++
	case errors.Is(err, fetcher.ErrDeferred) && errors.As(err, &denied):
		s.deferred++
		h.at = denied.Decision.RetryAt
		h.pages = append([]string{page}, h.pages...)
	case !errors.Is(err, fetcher.ErrDisallowed):
		s.failed = append(s.failed, err)
	}
	h.out = false
	s.out--
	if len(h.pages) > 0 {
		s.put(h)
	}
	s.changed.Broadcast()
}

// host is a host, its waiting pages, and the earliest time for the next page.
type host struct {
	at    time.Time
	pages []string
	out   bool // a worker has a page of this host
}

// queue is a heap of hosts, the earliest first.
type queue []*host

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*host)) }

func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

// report prints how many requests each server received, and the shortest time between
// two of them.
func report(out io.Writer, local *web.Web, sites map[string]web.Site, s *schedule) {
	names := make([]string, 0, len(sites))
	for name := range sites {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		seen := local.Requests(name, "")
		least := time.Hour
		for i := 1; i < len(seen); i++ {
			least = min(least, seen[i].At.Sub(seen[i-1].At))
		}
		fmt.Fprintf(out, "%s: %d requests, %d of them for robots.txt, at least %v apart\n",
			name, len(seen), len(local.Requests(name, "/robots.txt")), least.Round(time.Millisecond))
	}
	for _, err := range s.failed {
		fmt.Fprintln(out, "failed:", err)
	}
}
