package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/temoto/robotstxt"

	"github.com/rfc9309/polite/cache/disk"
	"github.com/rfc9309/polite/cache/redis"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

// This file has the clients that are compared.

const agent = "ExampleBot/1.0 (+https://example.com/bot)"

// Names of clients.
const (
	bare        = "http.Client"
	temoto      = "temoto wrapper"
	gapped      = "temoto wrapper, gap"
	withColly   = "colly"
	polite      = "Polite"
	otherBase   = "Polite, other base"
	allIdle     = "Polite, MaxIdleConns 0"
	pageEgress  = "Polite, PageEgress"
	diskStore   = "Polite, disk"
	redisStore  = "Polite, Redis"
	politePaced = "Polite, paced"
)

// env is what a client is made from.
type env struct {
	base      http.RoundTripper // nil: http.DefaultTransport, which knows the server
	transport *http.Transport   // http.DefaultTransport
	redis     string            // URL of a Redis server
	folder    string            // an empty folder
}

// get fetches a page and reads it to its end.
type get func(url string) error

// clients make the clients, by name.
var clients = map[string]func(*env) (get, error){
	bare:      func(e *env) (get, error) { return over(e.base), nil },
	temoto:    func(e *env) (get, error) { return over(newWrapper(e.base, 0)), nil },
	withColly: func(e *env) (get, error) { return overColly(e.base), nil },
	gapped: func(e *env) (get, error) {
		e.transport.MaxIdleConns = 0
		return over(newWrapper(e.base, pace.Default().Gap)), nil
	},
	polite: func(e *env) (get, error) { return overPolite(e, fetcher.Options{}) },
	otherBase: func(e *env) (get, error) {
		return overPolite(e, fetcher.Options{Base: struct{ http.RoundTripper }{e.transport}})
	},
	politePaced: func(e *env) (get, error) { return overPolite(e, fetcher.Options{Pace: pace.Default()}) },
	allIdle: func(e *env) (get, error) {
		base := e.transport.Clone()
		base.MaxIdleConns = 0
		return overPolite(e, fetcher.Options{Base: base, Pace: pace.Default()})
	},
	pageEgress: func(e *env) (get, error) {
		return overPolite(e, fetcher.Options{PageEgress: true, Egress: func(netip.Addr) error { return nil }})
	},
	diskStore: func(e *env) (get, error) {
		s, err := disk.Open(filepath.Join(e.folder, "polite.db"), nil)
		if err != nil {
			return nil, err
		}
		return overPolite(e, fetcher.Options{Store: s})
	},
	redisStore: func(e *env) (get, error) {
		// The default delay is too short for a machine that also runs the server and the web.
		s, err := redis.Open(e.redis, &redis.Options{Timeout: 5 * time.Second, Prefix: fmt.Sprint("broad", os.Getpid())})
		if err != nil {
			return nil, err
		}
		return overPolite(e, fetcher.Options{Store: s})
	},
}

// over returns get with an http.Client.
func over(base http.RoundTripper) get {
	client := &http.Client{Transport: base, Timeout: time.Minute}
	return func(url string) error {
		req, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		req.Header.Set("User-Agent", agent)
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if _, err = io.Copy(io.Discard, resp.Body); err == nil && resp.StatusCode != http.StatusOK {
			err = errors.New(resp.Status)
		}
		return err
	}
}

// overPolite returns get through Polite, without pace unless o has one.
func overPolite(e *env, o fetcher.Options) (get, error) {
	if o.Base == nil {
		o.Base = e.base
	}
	if o.Pace == nil {
		o.Pace = pace.Unlimited()
	}
	o.MaxBytes = 1 << 30
	t, err := fetcher.New(agent, &o)
	return over(t), err
}

// overColly returns get with a collector that obeys robots.txt.
func overColly(base http.RoundTripper) get {
	c := colly.NewCollector(colly.UserAgent(agent), colly.AllowURLRevisit(), colly.StdlibContext(context.Background()))
	c.IgnoreRobotsTxt = false
	c.SetRequestTimeout(time.Minute)
	if base != nil {
		c.WithTransport(base)
	}
	return func(url string) error { return c.Visit(url) }
}

// A wrapper is what a careful programmer writes around a parser in an afternoon: each
// robots.txt is fetched once, over the same base, and each request and redirect obeys it.
type wrapper struct {
	base   http.RoundTripper
	robots *http.Client
	gap    time.Duration // least time between two requests of a host
	mu     sync.Mutex
	sites  map[string]*site // by scheme and host
}

// A site is one host of a wrapper.
type site struct {
	once  sync.Once
	rules *robotstxt.Group
	err   error

	mu   sync.Mutex
	next time.Time // earliest time of the next request
}

var errDisallowed = errors.New("disallowed by robots.txt")

func newWrapper(base http.RoundTripper, gap time.Duration) *wrapper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &wrapper{base: base, robots: &http.Client{Transport: base, Timeout: 30 * time.Second}, gap: gap, sites: map[string]*site{}}
}

func (w *wrapper) RoundTrip(req *http.Request) (*http.Response, error) {
	origin := req.URL.Scheme + "://" + req.URL.Host
	w.mu.Lock()
	s := w.sites[origin]
	if s == nil {
		s = new(site)
		w.sites[origin] = s
	}
	w.mu.Unlock()
	s.once.Do(func() { s.rules, s.err = w.fetch(s, origin) })
	if s.err != nil {
		return nil, s.err
	}
	if !s.rules.Test(req.URL.RequestURI()) {
		return nil, errDisallowed
	}
	s.wait(w.gap)
	return w.base.RoundTrip(req)
}

// fetch fetches and parses a robots.txt.
func (w *wrapper) fetch(s *site, origin string) (*robotstxt.Group, error) {
	req, err := http.NewRequest(http.MethodGet, origin+"/robots.txt", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", agent)
	s.wait(w.gap)
	resp, err := w.robots.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 500<<10))
	if err != nil {
		return nil, err
	}
	data, err := robotstxt.FromStatusAndBytes(resp.StatusCode, text)
	if err != nil {
		return nil, err
	}
	return data.FindGroup(agent), nil
}

// wait waits until the host may have its next request.
func (s *site) wait(gap time.Duration) {
	if gap == 0 {
		return
	}
	s.mu.Lock()
	now := time.Now()
	due := s.next
	if due.Before(now) {
		due = now
	}
	s.next = due.Add(gap)
	s.mu.Unlock()
	time.Sleep(time.Until(due))
}

// inMemory is a base without network.
type inMemory struct{}

func (inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	kind, text := content(req.URL.Host, req.URL.Path)
	return &http.Response{
		StatusCode: 200, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {kind}}, ContentLength: int64(len(text)),
		Body: io.NopCloser(bytes.NewReader([]byte(text))), Request: req,
	}, nil
}
