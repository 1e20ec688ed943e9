package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/rfc9309/polite/policy"
)

// window is how many URLs are between the reader and the printer at most: the
// bound of the memory of a list of any length. It is wide enough that a site
// that takes its time does not stop the others.
const window = 32 << 10

// longURL bounds a line of a list, in octets.
const longURL = 64 << 10

// list is where URLs come from: arguments, then lines of a reader.
type list struct {
	args []string
	r    io.Reader // nil for none
	size int64     // octets of the reader, 0 if unknown
}

// each yields the URLs in order, with the octets of the reader used up so far.
// err is not nil for a line over the bound. It returns the reader's error.
func (l *list) each(yield func(text string, at int64, err error) bool) error {
	for _, a := range l.args {
		if !yield(a, 0, nil) {
			return nil
		}
	}
	if l.r == nil {
		return nil
	}
	in := newLines(l.r, longURL)
	for {
		line, err := in.next()
		switch {
		case err == io.EOF:
			return nil
		case err == errLong:
			err = fmt.Errorf("line %d: %w: over %d octets", in.n, err, longURL)
			if !yield(fmt.Sprintf("(line %d)", in.n), in.read, err) {
				return nil
			}
			continue
		case err != nil:
			return fmt.Errorf("reading the list after line %d: %w", in.n, err)
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if !yield(string(line), in.read, nil) {
			return nil
		}
	}
}

// job is one URL on its way through a stream.
type job struct {
	n        int64 // place in the list, from 0
	at       int64 // octets of the list used up with it
	text     string
	target   *url.URL
	decision policy.Decision
	err      error
}

// lane is the line of URLs that wait for one site. At most one worker serves a
// lane, so that a slow site holds one worker and no more.
type lane struct {
	site string
	jobs []*job
}

// stream checks a list in parallel by site and prints in order. The reader
// takes a slot of the window for each URL, workers serve lanes, and the printer,
// which is the caller of run, frees the slots in order.
type stream struct {
	*checking
	list  *list
	start time.Time
	slots chan struct{}
	ready chan *lane // lanes that want a worker; never full, for a lane has a slot
	done  chan *job
	cut   bool // ctx ended before the list did

	mu    sync.Mutex
	lanes map[string]*lane
}

func newStream(k *checking, l *list) *stream {
	return &stream{
		checking: k, list: l, start: k.now(), lanes: map[string]*lane{},
		slots: make(chan struct{}, window), ready: make(chan *lane, window), done: make(chan *job, k.parallel),
	}
}

// ending is what the reader leaves behind.
type ending struct {
	total int64
	err   error
}

// run returns when all is printed or ctx has ended, with the error of reading
// the list. A reader blocked in standard input is left behind.
func (s *stream) run(ctx context.Context) error {
	work, stop := context.WithCancel(ctx)
	defer stop() // ends the reader and the workers
	end := make(chan ending, 1)
	go func() { end <- s.read(work) }()
	for range s.parallel {
		go s.work(work)
	}
	return s.printAll(ctx, end)
}

// read hands out the list.
func (s *stream) read(ctx context.Context) ending {
	var n int64
	err := s.list.each(func(text string, at int64, err error) bool {
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return false
		}
		j := &job{n: n, at: at, text: text, err: err}
		n++
		if err == nil {
			j.target, j.err = parse(text)
		}
		s.add(j)
		return true
	})
	return ending{n, err}
}

// add puts a job at the end of its site's lane.
func (s *stream) add(j *job) {
	site := ""
	if j.target != nil {
		site = j.target.Scheme + "://" + strings.ToLower(j.target.Host)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.lanes[site]
	if !ok {
		l = &lane{site: site}
		s.lanes[site] = l
		s.ready <- l
	}
	l.jobs = append(l.jobs, j)
}

// take removes what waits in a lane, and the lane itself if that is nothing.
func (s *stream) take(l *lane) []*job {
	s.mu.Lock()
	defer s.mu.Unlock()
	jobs := l.jobs
	l.jobs = nil
	if jobs == nil {
		delete(s.lanes, l.site)
	}
	return jobs
}

// work serves lanes until ctx ends.
func (s *stream) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-s.ready:
			for jobs := s.take(l); jobs != nil; jobs = s.take(l) {
				for _, j := range jobs {
					s.rule(ctx, j)
					select {
					case s.done <- j:
					case <-ctx.Done():
						return
					}
				}
			}
		}
	}
}

// printAll prints jobs in the order of the list as they come in. When ctx ends
// it prints those that are done, leaves out the others and returns.
func (s *stream) printAll(ctx context.Context, end chan ending) error {
	waiting := map[int64]*job{}
	var next int64
	total := ending{total: -1}
	bar := newProgress(s)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for next != total.total {
		select {
		case j := <-s.done:
			if ctx.Err() != nil && j.err != nil {
				continue // the end of ctx is why; the last case sees it next
			}
			waiting[j.n] = j
			for j, ok := waiting[next]; ok; j, ok = waiting[next] {
				delete(waiting, next)
				next++
				bar.clear()
				s.print(ctx, j)
				bar.at = j.at
				<-s.slots
			}
		case total = <-end:
		case now := <-tick.C:
			s.flush(bar)
			bar.draw(now)
		case <-ctx.Done():
			s.cut = true
			bar.clear()
			s.rest(waiting, next)
			return nil
		}
	}
	bar.clear()
	return total.err
}

// flush lets results be seen while the list goes on.
func (s *stream) flush(bar *progress) {
	if s.paper.Buffered() > 0 {
		bar.clear()
		s.paper.Flush()
	}
}

// rest prints what was done out of order when all ended early.
func (s *stream) rest(waiting map[int64]*job, next int64) {
	for ; len(waiting) > 0; next++ {
		if j, ok := waiting[next]; ok {
			delete(waiting, next)
			if j.err == nil {
				s.print(context.Background(), j)
			}
		}
	}
}

// summary tells what came of the list.
func (s *stream) summary() string {
	st := s.crawler.Stats()
	took := s.now().Sub(s.start)
	t := &s.tally
	return fmt.Sprintf("%s in %s: %s allowed, %s disallowed, %s deferred, %s without a ruling; %s for robots.txt, %s from the store",
		count(t.total(), "URL", "URLs"), span(took), thousands(t.allowed), thousands(t.disallowed), thousands(t.deferred),
		thousands(t.none), count(st.Requests, "request", "requests"), thousands(st.StoreHits))
}
