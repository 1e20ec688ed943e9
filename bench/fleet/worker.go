package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rfc9309/polite/bench/internal/child"
	"github.com/rfc9309/polite/bench/internal/cputime"
	"github.com/rfc9309/polite/cache/redis"
	"github.com/rfc9309/polite/fetcher"
)

// This file is a process of a fleet.

// job is what a process does.
type job struct {
	Store   string        // URL of the Redis server; empty: none
	Web     string        // address of the web server
	Hosts   int           // number of hosts
	Time    time.Duration // how long it fetches pages
	Rate    float64       // most pages a second; 0: as many as it can
	Callers int           // requests that it makes at once
}

// ready is the first report of a process: it has the robots.txt of all hosts.
type ready struct{}

// report is what a process sends at its end.
type report struct {
	Pages   int           // fetched
	Failed  int           // pages that were not fetched
	Failure string        // why one of them was not
	Took    time.Duration // from the first page to the end of the last
	CPU     time.Duration // processor time in that span
	Fetches int64         // of robots.txt
	Unpaced uint64        // turns that Redis did not decide about
}

const agent = "ExampleBot/1.0 (+https://example.com/bot)"

// work does a job. When it has the robots.txt of all hosts it says so, and waits before it
// fetches pages.
func (j job) work() error {
	o := &fetcher.Options{Base: transport(j.Web)}
	if j.Store != "" {
		// The default of 300 ms is too short if the server, the web and all processes
		// share one busy machine.
		s, err := redis.Open(j.Store, &redis.Options{Timeout: 2 * time.Second})
		if err != nil {
			return err
		}
		defer s.Close()
		o.Store = s
	}
	t, err := fetcher.New(agent, o)
	if err != nil {
		return err
	}
	order := rand.Perm(j.Hosts)
	if err := fillMemory(t, order); err != nil {
		return err
	}
	if err := child.Report(ready{}); err != nil {
		return err
	}
	if err := child.Wait(); err != nil {
		return err
	}
	r := j.crawl(&http.Client{Transport: t}, order)
	stats := t.Stats()
	r.Fetches, r.Unpaced = stats.Retrievals, stats.Pace.Unshared
	return child.Report(r)
}

// fillMemory fetches the robots.txt of the hosts, 16 at a time.
func fillMemory(t *fetcher.Transport, hosts []int) error {
	var fetches errgroup.Group
	fetches.SetLimit(16)
	for _, h := range hosts {
		fetches.Go(func() error {
			u, err := url.Parse(pageOf(h))
			if err == nil {
				_, err = t.Record(context.Background(), u)
			}
			return err
		})
	}
	return fetches.Wait()
}

// crawl fetches a page of each host in order, again and again, until the time is over.
func (j job) crawl(client *http.Client, order []int) report {
	var next, pages, failed atomic.Int64
	var failure atomic.Value
	var wg sync.WaitGroup
	began, cpu := time.Now(), cputime.Used()
	for range j.Callers {
		wg.Go(func() {
			for {
				n := next.Add(1) - 1
				due := time.Since(began)
				if j.Rate > 0 {
					due = max(due, time.Duration(float64(n)/j.Rate*float64(time.Second)))
				}
				if due >= j.Time {
					return
				}
				time.Sleep(time.Until(began.Add(due)))
				if err := visit(client, pageOf(order[n%int64(len(order))])); err != nil {
					failed.Add(1)
					failure.Store(err.Error())
					continue
				}
				pages.Add(1)
			}
		})
	}
	wg.Wait()
	r := report{Pages: int(pages.Load()), Failed: int(failed.Load()), Took: time.Since(began), CPU: cputime.Used() - cpu}
	r.Failure, _ = failure.Load().(string)
	return r
}

// visit fetches a page.
func visit(client *http.Client, page string) error {
	resp, err := client.Get(page)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
