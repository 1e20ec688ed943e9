// Routing is a crawl by several processes in which each host belongs to one of them.
// No process shares its limits with the others, so it needs no server for them, however
// many hosts there are. A worker joins in the middle of the crawl, and another one is
// killed. Each time only the hosts that must move do so, and their new owner knows their
// robots.txt and keeps their gaps and pauses.
//
//	go run ./routing
//
// router.go finds the owner of a host and hands hosts over, worker.go fetches, store.go
// is the store of records that all of them read.
//
// # What is left out
//
// There is one router, which knows all members. Two routers that disagree would send one
// host to two workers, and then nobody keeps its gap: a large crawler takes the members
// from a service that all routers agree on.
//
// If limits are shared by several hosts, such as all hosts of one domain, route by what
// they share instead of by the host.
//
// A redirect to another host is fetched by the worker that owns the first one. If it is deferred,
// give Decision.URL to the owner of its host, as workers does with its schedule.
//
// When a worker is killed, the router does not know whether its last requests were sent.
// It waits for a gap and sends them again. The new owner of a host that rests after
// failures begins to count at zero: it starts no sooner, but it sees up to three further
// failures before it lets the host rest again.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/rfc9309/polite/examples/internal/web"
)

const (
	agent = "ExampleBot/0.1 (+https://example.com/bot)"
	sites = 30
	pages = 5 // of each site
	gap   = 200 * time.Millisecond
	pause = time.Second // each site asks for it with its second page
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run is the router, or a worker if ROUTING_ROUTER is set.
func run(out io.Writer) error {
	if router := os.Getenv("ROUTING_ROUTER"); router != "" {
		return work(out, router, os.Getenv("ROUTING_WEB"))
	}
	var hosts []string
	served, tired := map[string]web.Site{}, make([]tiredSite, sites)
	for i := range sites {
		host := fmt.Sprintf("site-%02d.example", i+1)
		hosts = append(hosts, host)
		served[host] = web.Site{Robots: web.Text("User-agent: *\nDisallow: /page/3\n"), Page: tired[i].page, Moved: "/page/4"}
	}
	local := web.Start(served)
	defer local.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel() // ends the workers
	r := newRouter(ctx, local.Addr())
	defer r.close()
	for _, name := range []string{"a", "b", "c"} {
		if err := r.join(name); err != nil {
			return err
		}
	}

	var crawl sync.WaitGroup
	for _, host := range hosts {
		crawl.Go(func() { r.crawl(host) })
	}
	// The first changes come while all hosts pause.
	for _, step := range []struct {
		answers int
		what    string
		do      func() error
	}{
		{2 * sites, "d joins", func() error { return r.join("d") }},
		{2 * sites, "b is killed", func() error { return r.kill("b") }},
	} {
		r.await(step.answers)
		before := r.owners(hosts)
		if err := step.do(); err != nil {
			return err
		}
		moved := 0
		for i, owner := range r.owners(hosts) {
			if owner != before[i] {
				moved++
			}
		}
		fmt.Fprintf(out, "%s: %d of %d hosts move\n", step.what, moved, sites)
	}
	crawl.Wait()
	report(out, hosts, local, tired, r)
	return ctx.Err()
}

// report prints what the sites saw. A request may be on its way for longer than the one
// after it, so half of a gap counts as a gap.
func report(out io.Writer, hosts []string, local *web.Web, tired []tiredSite, r *router) {
	twice, close, early := 0, 0, 0
	for i, host := range hosts {
		if len(local.Requests(host, "/robots.txt")) > 1 {
			twice++
		}
		all := local.Requests(host, "")
		for i := 1; i < len(all); i++ {
			if all[i].At.Sub(all[i-1].At) < gap/2 {
				close++
			}
		}
		early += tired[i].early
	}
	fmt.Fprintf(out, "pages fetched: %d of %d, disallowed: %d\n", r.fetched, sites*(pages-1), r.disallowed)
	fmt.Fprintf(out, "redirects followed: %d of %d\n", len(local.Requests("", "/moved/here")), sites)
	fmt.Fprintf(out, "sites whose robots.txt was fetched twice: %d\n", twice)
	fmt.Fprintf(out, "requests after less than the gap: %d, during a pause: %d\n", close, early)
}

// A tiredSite answers the second request for a page with a 429.
type tiredSite struct {
	mu    sync.Mutex
	n     int
	until time.Time
	early int // requests during the pause
}

func (s *tiredSite) page(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	if time.Now().Before(s.until) {
		s.early++
	}
	if s.n == 2 {
		s.until = time.Now().Add(pause)
		w.Header().Set("Retry-After", fmt.Sprint(int(pause.Seconds())))
		w.WriteHeader(http.StatusTooManyRequests)
	}
}
