// Fleet is a crawl by several processes that share one Redis server. Each robots.txt
// is fetched once for all of them. If one process sees an outage, all of them know
// of it.
//
//	go run ./fleet
//
// It starts the server on a free port of loopback, and then four processes of this
// program. When they have ended, it starts four more. These find all records in the
// store and fetch no robots.txt. One page redirects: its target waits for a turn that no
// other process has.
//
// It leaves out: a queue that the processes share, and deferred pages (see functions).
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/rfc9309/polite/cache/redis"
	"github.com/rfc9309/polite/examples/internal/localredis"
	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
)

const (
	agent   = "ExampleBot/0.1 (+https://example.com/bot)"
	members = 4 // processes of the fleet
	pages   = 8 // pages of each site
)

var hosts = []string{"shop.example", "news.example", "busy.example"}

func main() {
	err := run(os.Stdout)
	if errors.Is(err, exec.ErrNotFound) {
		fmt.Println("There is no redis-server on this machine; install it to see this example.")
		return
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run crawls as one process of the fleet if FLEET_MEMBER is set. Otherwise it starts
// the processes.
func run(out io.Writer) error {
	if os.Getenv("FLEET_MEMBER") != "" {
		return member(out, os.Getenv("FLEET_MEMBER"), os.Getenv("FLEET_REDIS"), os.Getenv("FLEET_WEB"))
	}
	server, address, err := localredis.Start()
	if err != nil {
		return err
	}
	defer server.Wait()
	defer server.Process.Kill()

	local := web.Start(map[string]web.Site{
		"shop.example": {Robots: web.Text("User-agent: *\nDisallow: /page/3\n"), Pages: pages, Moved: "/page/2"},
		// All processes need this file while one of them fetches it.
		"news.example": {Robots: web.Late(200*time.Millisecond, web.Text("User-agent: *\nDisallow:\n")), Pages: pages},
		"busy.example": {Robots: web.Status(503), Pages: pages},
	})
	defer local.Close()

	for _, generation := range []string{"first", "second"} {
		fmt.Fprintf(out, "the %s %d processes\n", generation, members)
		if err := launch(out, address, local.Addr()); err != nil {
			return err
		}
		for _, h := range hosts {
			fmt.Fprintf(out, "  %s: requests for robots.txt so far: %d, for pages: %d\n",
				h, len(local.Requests(h, "/robots.txt")), len(local.Requests(h, ""))-len(local.Requests(h, "/robots.txt")))
		}
	}
	return nil
}

// member crawls every fourth page of each site.
func member(out io.Writer, name, server, addr string) error {
	// Here the server and all processes share one machine, which may be busy. If the
	// server has its own machine, the default of 300 ms is enough.
	store, err := redis.Open("redis://"+server, &redis.Options{Timeout: 2 * time.Second})
	if err != nil {
		return err
	}
	defer store.Close()
	t, err := fetcher.New(agent, &fetcher.Options{
		Base:  web.Transport(addr), // leave this out to visit the real web
		Store: store,
	})
	if err != nil {
		return err
	}
	client := &http.Client{Transport: t, Timeout: 3 * time.Minute}
	var first int
	fmt.Sscan(name, &first)
	var fetched, dropped, later int
	for _, h := range hosts {
		for i := first; i <= pages; i += members {
			resp, err := client.Get(fmt.Sprintf("http://%s/page/%d", h, i))
			switch {
			case errors.Is(err, fetcher.ErrDisallowed):
				dropped++
			case errors.Is(err, fetcher.ErrDeferred):
				later++
			case err != nil:
				return err
			default:
				fetched++
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}
	}
	s := t.Stats()
	fmt.Fprintf(out, "  process %s: %d fetched, %d disallowed, %d deferred; robots.txt: %d fetched, %d read from the store\n",
		name, fetched, dropped, later, s.Retrievals, s.StoreHits)
	return nil
}

// launch runs all processes at the same time and prints their output.
func launch(out io.Writer, server, addr string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var processes sync.WaitGroup
	outputs, errs := make([][]byte, members), make([]error, members)
	for i := range members {
		c := exec.CommandContext(ctx, self)
		c.Env = append(os.Environ(), fmt.Sprint("FLEET_MEMBER=", i+1), "FLEET_REDIS="+server, "FLEET_WEB="+addr)
		processes.Go(func() { outputs[i], errs[i] = c.CombinedOutput() })
	}
	processes.Wait()
	out.Write(bytes.Join(outputs, nil))
	return errors.Join(errs...)
}
