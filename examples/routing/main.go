// Routing is a crawl by several processes in which each host belongs to one of them.
// No process shares its limits with the others, so it needs no server for them, however
// many hosts there are. If a worker joins or dies in the middle of the crawl, only the hosts
// that must move do so, and their new owner knows their robots.txt and keeps their gaps and
// pauses. The test lets a worker join and kills another.
//
//	go run ./routing -workers 3 https://example.com/ https://example.org/
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
	"flag"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"os/signal"
	"sync"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	// A worker is the same program, started with the address of the router.
	if router := os.Getenv("ROUTING_ROUTER"); router != "" {
		log.Fatal(work(os.Stdout, router, &fetcher.Options{Pace: pace.Default()}))
	}
	workers := flag.Int("workers", 3, "number of worker processes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop() // ends the workers
	r := newRouter(ctx)
	defer r.close()
	for i := range *workers {
		if err := r.join(fmt.Sprint("worker-", i+1)); err != nil {
			log.Fatal(err)
		}
	}
	if err := r.crawlAll(os.Stdout, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// crawlAll fetches pages, for each host one page after the other.
func (r *router) crawlAll(out io.Writer, pages []string) error {
	hosts := map[string][]string{}
	for _, page := range pages {
		u, err := url.Parse(page)
		if err != nil {
			return err
		}
		host, err := fetcher.Authority(u)
		if err != nil {
			return err
		}
		hosts[host] = append(hosts[host], page)
	}
	var crawl sync.WaitGroup
	for host, pages := range hosts {
		crawl.Go(func() { r.crawl(host, pages) })
	}
	crawl.Wait()
	fmt.Fprintf(out, "%d pages fetched, %d disallowed\n", r.fetched, r.disallowed)
	return r.ctx.Err()
}
