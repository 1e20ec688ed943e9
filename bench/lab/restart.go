package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rfc9309/polite/bench/internal/cputime"
	"github.com/rfc9309/polite/cache/disk"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

// This file measures in real time what a restart and an admission cost.

// A restart is the result.
type restart struct {
	hosts      int
	fetched    time.Duration // processor time of the first decision on all hosts
	opened     time.Duration // real time to open the store
	restored   time.Duration // processor time of the first decision on all hosts after the restart
	requests   int64         // for robots.txt after the restart
	size       int64         // of the file
	admissions []means
}

// A quickWeb answers at once.
type quickWeb struct {
	world    *world
	requests atomic.Int64
}

func (q *quickWeb) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path != "/robots.txt" {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
	}
	q.requests.Add(1)
	n, other := hostOf(req.URL.Host)
	s := q.world.site(n)
	resp, _, err := q.world.robots(&s, n, other, req, -1)
	return resp, err
}

// restarts decides on the first page of hosts that answer, closes the store, opens it
// again, and decides again.
func restarts(w *world, hosts int) (r restart, err error) {
	folder, err := os.MkdirTemp("", "lab")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "robots.db")
	web, pages := &quickWeb{world: w}, w.firstPages(hosts)
	r.hosts = len(pages)
	if r.fetched, err = r.run(web, path, pages, nil); err != nil {
		return r, err
	}
	before := web.requests.Load()
	r.admissions = ways()
	r.restored, err = r.run(web, path, pages, r.admissions)
	r.requests = web.requests.Load() - before
	if f, err := os.Stat(path); err == nil {
		r.size = f.Size()
	}
	return r, err
}

// run is the life of one process. It returns the processor time of the first decision on
// each page.
func (r *restart) run(web *quickWeb, path string, pages []page, admissions []means) (took time.Duration, err error) {
	start := time.Now()
	store, err := disk.Open(path, nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	r.opened = time.Since(start)
	profile := policy.RFC9309()
	profile.Fresh.Min = time.Hour // nothing expires while this runs
	crawler, err := fetcher.New(agent, &fetcher.Options{Base: web, Profile: profile, Store: store, MaxBytes: 1 << 40})
	if err != nil {
		return 0, err
	}
	began := cputime.Used()
	for _, p := range pages {
		if _, err := crawler.Check(context.Background(), p.url); err != nil {
			return 0, err
		}
	}
	took = cputime.Used() - began
	for i := range admissions {
		err = errors.Join(err, admissions[i].run(crawler, pages))
	}
	return took, err
}

// A page is the first page of a host.
type page struct {
	url  *url.URL
	free bool // it is allowed, and the host has no Crawl-delay
}

// firstPages returns a page of each of the first hosts that give a file, or an answer
// that there is none, without a redirect.
func (w *world) firstPages(hosts int) (list []page) {
	for n := range uint32(hosts) {
		s := w.site(n)
		if s.hops > 0 || s.fault != none && s.fault != gone {
			continue
		}
		f := w.files[s.file[0]]
		t := f.targets[max(slices.IndexFunc(f.targets, func(t target) bool { return t.allowed }), 0)]
		t.url.Host = nameOf(n)
		list = append(list, page{&t.url, s.fault == gone || t.allowed && f.plain.Delay <= 0})
	}
	return list
}

// rounds is how often each host is visited to measure admissions.
const rounds = 10

// A means is a way to get a decision and a turn.
type means struct {
	name  string // of the method
	visit func(crawler *fetcher.Transport, u *url.URL) (admitted bool)
	n     int
	took  time.Duration // processor time
	own   time.Duration // the part of it in the method itself
}

// ways are the two ways.
func ways() []means {
	return []means{
		{name: "Admit", visit: func(crawler *fetcher.Transport, u *url.URL) bool {
			a, _, _ := crawler.Admit(context.Background(), u)
			a.Answer(http.StatusOK, nil)
			a.Done()
			return a != nil
		}},
		{name: "RoundTrip", visit: func(crawler *fetcher.Transport, u *url.URL) bool {
			resp, err := crawler.RoundTrip(&http.Request{Method: http.MethodGet, URL: u, Header: crawlerHeader})
			if err == nil {
				resp.Body.Close()
			}
			return err == nil
		}},
	}
}

// crawlerHeader is the header of each page request.
var crawlerHeader = http.Header{"User-Agent": {agent}}

// run visits all hosts whose turn is free, a few times.
func (m *means) run(crawler *fetcher.Transport, list []page) error {
	spent, err := profiled(func() {
		for range rounds {
			time.Sleep(gap + gap/5)
			start := cputime.Used()
			for _, p := range list {
				if p.free && m.visit(crawler, p.url) {
					m.n++
				}
			}
			m.took += cputime.Used() - start
		}
	})
	if err == nil {
		m.own = timeIn(spent, "/fetcher.(*Transport)."+m.name)
	}
	return err
}

func (m means) String() string {
	return fmt.Sprintf("    %s: %d pages, of which each takes %s; with its end and the garbage collector %s\n",
		m.name, m.n, perSecond(m.own, m.n), each(m.took, m.n))
}

func (r restart) String() string {
	text := fmt.Sprintf(`restart with cache/disk, in real time, %d hosts that answer, of which each is visited once:
    processor time for a host: %v with a fetch before the restart, %v from the file after it
    opening the file of %d MiB: %v; robots.txt requests after the restart: %d (goal 0)
decisions with a turn, in real time, on these hosts, where no other request is in the way:
`, r.hosts, each(r.fetched, r.hosts), each(r.restored, r.hosts), r.size>>20, r.opened.Round(time.Microsecond), r.requests)
	for _, m := range r.admissions {
		text += m.String()
	}
	return text
}
