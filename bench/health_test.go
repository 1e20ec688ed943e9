package main

import (
	pq "container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

const (
	healthyHosts = 50
	pagesEach    = 600 // of a healthy host: five minutes at two a second
	failingPages = 1000
	workers      = 8
	latency      = 20 * time.Millisecond
	outage       = time.Hour
	failing      = "failing.example"
)

// A faultyWeb answers every page after latency. From its second request on, the failing
// host has a fault for an hour.
type faultyWeb struct {
	fault func(req *http.Request) (*http.Response, error)

	mu        sync.Mutex
	began     time.Time // first request to the failing host that failed
	sent      int       // such requests, in the hour
	recovered time.Time // first page of the failing host after the hour
	healthy   int       // pages of healthy hosts
	last      time.Time // the latest of them
}

func page(req *http.Request, status int) *http.Response {
	body := io.NopCloser(strings.NewReader("page"))
	return &http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: body, Request: req}
}

func (w *faultyWeb) RoundTrip(req *http.Request) (*http.Response, error) {
	if w.fails(req) {
		return w.fault(req)
	}
	time.Sleep(latency)
	if req.URL.Path == "/robots.txt" {
		return page(req, http.StatusNotFound), nil
	}
	return page(req, http.StatusOK), nil
}

// fails counts a request and reports whether it meets the fault.
func (w *faultyWeb) fails(req *http.Request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, robots := time.Now(), req.URL.Path == "/robots.txt"
	switch {
	case req.URL.Host != failing && !robots:
		w.healthy++
		w.last = now
	case req.URL.Host != failing, robots && w.began.IsZero():
	case w.began.IsZero():
		w.began, w.sent = now, 1
		return true
	case now.Sub(w.began) < outage:
		w.sent++
		return true
	case w.recovered.IsZero() && !robots:
		w.recovered = now
	}
	return false
}

// faults are what a request to a failing host may meet.
var faults = []struct {
	name string
	meet func(req *http.Request) (*http.Response, error)
}{
	{"status 500", func(req *http.Request) (*http.Response, error) {
		time.Sleep(latency)
		return page(req, http.StatusInternalServerError), nil
	}},
	{"timeout", func(req *http.Request) (*http.Response, error) {
		select {
		case <-req.Context().Done():
			return nil, req.Context().Err()
		case <-time.After(30 * time.Second):
			return nil, os.ErrDeadlineExceeded
		}
	}},
	{"reset", func(*http.Request) (*http.Response, error) {
		time.Sleep(latency)
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}},
	{"refused", func(*http.Request) (*http.Response, error) {
		time.Sleep(latency)
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}},
}

// pages are the URLs of a crawl, the hosts one after the other.
func pages(broken bool) (all []string) {
	for n := range max(pagesEach, failingPages) {
		if broken && n < failingPages {
			all = append(all, fmt.Sprintf("http://%s/%d", failing, n))
		}
		for host := range healthyHosts {
			if n < pagesEach {
				all = append(all, fmt.Sprintf("http://healthy%d.example/%d", host, n))
			}
		}
	}
	return all
}

// A frontier is a queue of URLs by the time at which they are due.
type frontier []visit

type visit struct {
	due time.Time
	n   int // in the order of the crawl
	url string
}

func (f frontier) Len() int { return len(f) }
func (f frontier) Less(i, j int) bool {
	return f[i].due.Before(f[j].due) || f[i].due.Equal(f[j].due) && f[i].n < f[j].n
}
func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *frontier) Push(v any)   { *f = append(*f, v.(visit)) }
func (f *frontier) Pop() any {
	old := *f
	v := old[len(old)-1]
	*f = old[:len(old)-1]
	return v
}

// A crawl is a crawler of ours: workers that put a deferred URL back until RetryAt, and
// with it all others of its host.
type crawl struct {
	client *http.Client
	mu     sync.Mutex
	queue  frontier
	until  map[string]time.Time // by host
	done   func() bool
}

// next returns the URL that is due first, ok false if there is none left.
func (c *crawl) next() (v visit, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > 0 {
		v = pq.Pop(&c.queue).(visit)
		u, _ := url.Parse(v.url)
		at := c.until[u.Host]
		if !at.After(v.due) {
			return v, true
		}
		v.due = at
		pq.Push(&c.queue, v)
	}
	return v, false
}

func (c *crawl) putBack(v visit, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u, _ := url.Parse(v.url)
	v.due, c.until[u.Host] = at, at
	pq.Push(&c.queue, v)
}

func (c *crawl) work() {
	for !c.done() {
		v, ok := c.next()
		if !ok {
			return
		}
		time.Sleep(time.Until(v.due))
		resp, err := c.client.Get(v.url)
		var denied *fetcher.DeniedError
		switch {
		case err == nil:
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		case errors.As(err, &denied):
			c.putBack(v, denied.Decision.RetryAt)
		}
	}
}

// crawlPolitely crawls with Polite.
func crawlPolitely(t *testing.T, web *faultyWeb, urls []string) {
	limits := pace.Default()
	limits.MaxWait = time.Second
	tr, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", &fetcher.Options{Base: web, Pace: limits})
	if err != nil {
		t.Fatal(err)
	}
	c := &crawl{client: &http.Client{Transport: tr, Timeout: time.Minute}, until: map[string]time.Time{}}
	start := time.Now()
	c.done = func() bool {
		web.mu.Lock()
		defer web.mu.Unlock()
		return !web.recovered.IsZero()
	}
	for n, u := range urls {
		c.queue = append(c.queue, visit{start, n, u})
	}
	var all sync.WaitGroup
	for range workers {
		all.Go(c.work)
	}
	all.Wait()
}

// crawlPlainly crawls with a plain http.Client.
func crawlPlainly(_ *testing.T, web *faultyWeb, urls []string) {
	client := &http.Client{Transport: web, Timeout: time.Minute}
	todo := make(chan string, len(urls))
	for _, u := range urls {
		todo <- u
	}
	close(todo)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for u := range todo {
				if resp, err := client.Get(u); err == nil {
					resp.Body.Close()
				}
			}
		})
	}
	all.Wait()
}

// crawlWithColly crawls with Colly, eight requests at once.
func crawlWithColly(t *testing.T, web *faultyWeb, urls []string) {
	c := colly.NewCollector(colly.Async(true), colly.StdlibContext(context.Background()))
	c.WithTransport(web)
	c.SetRequestTimeout(time.Minute)
	if err := c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: workers}); err != nil {
		t.Fatal(err)
	}
	for _, u := range urls {
		c.Visit(u)
	}
	c.Wait()
}

// measure crawls and returns the web with its counts and how long the healthy hosts took.
func measure(t *testing.T, crawl func(*testing.T, *faultyWeb, []string), fault func(*http.Request) (*http.Response, error)) (web *faultyWeb, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		web = &faultyWeb{fault: fault}
		start := time.Now()
		crawl(t, web, pages(fault != nil))
		took = web.last.Sub(start)
	})
	return web, took
}

// TestHealth crawls fifty healthy hosts and one that fails for an hour.
func TestHealth(t *testing.T) {
	t.Logf("%-12s %-12s %8s %10s %14s", "crawler", "fault", "requests", "healthy", "in use after")
	for _, crawler := range []struct {
		name  string
		ours  bool
		crawl func(*testing.T, *faultyWeb, []string)
	}{{"polite", true, crawlPolitely}, {"http.Client", false, crawlPlainly}, {"colly", false, crawlWithColly}} {
		_, alone := measure(t, crawler.crawl, nil)
		for _, fault := range faults {
			web, took := measure(t, crawler.crawl, fault.meet)
			rate, recovery := 100*alone.Seconds()/took.Seconds(), "never"
			if !web.recovered.IsZero() {
				recovery = web.recovered.Sub(web.began.Add(outage)).Round(time.Second).String()
			}
			t.Logf("%-12s %-12s %8d %8.1f %% %14s", crawler.name, fault.name, web.sent, rate, recovery)
			if web.healthy != healthyHosts*pagesEach {
				t.Errorf("6/%s/%s: %d pages of healthy hosts, want %d", crawler.name, fault.name, web.healthy, healthyHosts*pagesEach)
			}
			if crawler.ours && (web.sent > 12 || rate < 95 || web.recovered.IsZero() || web.recovered.Sub(web.began.Add(outage)) > 16*time.Minute) {
				t.Errorf("6/%s: %d requests, healthy hosts at %.1f %%, in use after %s; want at most 12, 95 %% and one rest", fault.name, web.sent, rate, recovery)
			}
		}
	}
}
