// Fleet is one process of a crawl that shares a Redis server. Start as many as you like, each
// with its own pages. Each robots.txt is fetched once for all of them, the requests to a host
// keep the gap whichever process makes them, and if one process sees an outage, all know of it.
//
//	go run ./fleet -redis redis://localhost:6379 https://example.com/
//
// It leaves out: a queue that the processes share, and deferred pages (see workers).
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

	"github.com/rfc9309/polite/cache/redis"
	"github.com/rfc9309/polite/fetcher"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	server := flag.String("redis", "redis://localhost:6379", "the Redis server that all processes share")
	flag.Parse()
	if err := run(os.Stdout, *server, &redis.Options{}, &fetcher.Options{}, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// run visits pages as one process of the fleet.
func run(out io.Writer, server string, ro *redis.Options, o *fetcher.Options, pages []string) error {
	store, err := redis.Open(server, ro)
	if err != nil {
		return err
	}
	defer store.Close()
	o.Store = store
	t, err := fetcher.New(agent, o)
	if err != nil {
		return err
	}
	defer t.CloseIdleConnections() // also returns the leases of hosts, or the other processes wait for five seconds
	client := &http.Client{Transport: t, Timeout: 3 * time.Minute}
	var fetched, dropped, later, failed int
	for _, page := range pages {
		resp, err := client.Get(page)
		switch {
		case errors.Is(err, fetcher.ErrDisallowed):
			dropped++
		case errors.Is(err, fetcher.ErrDeferred):
			later++
		case err != nil:
			failed++
			log.Print(err)
		default:
			fetched++
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	s := t.Stats()
	fmt.Fprintf(out, "%d fetched, %d disallowed, %d deferred, %d failed; robots.txt: %d fetched, %d read from the store\n",
		fetched, dropped, later, failed, s.Retrievals, s.StoreHits)
	return nil
}
