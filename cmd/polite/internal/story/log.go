// Package story tells the whole story of a ruling: what the site was asked and
// said, what set the lifetime, the rules around the one that decided, and what
// other crawlers would be told.
package story

import (
	"net/http"
	"net/url"
	"sync"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

// keptRetrievals bounds the retrievals that a Log remembers.
const keptRetrievals = 1 << 10

// retrieval is what the site was asked and what it said.
type retrieval struct {
	hops   []fetcher.Hop
	header http.Header
}

// Log collects retrievals by the URL of robots.txt. One retrieval at a time is
// expected: what is told of one must not mix with another.
type Log struct {
	mu      sync.Mutex
	pending []fetcher.Hop
	by      map[string]*retrieval
}

// NewLog returns an empty Log.
func NewLog() *Log { return &Log{by: map[string]*retrieval{}} }

// Trace returns the hooks that collect.
func (l *Log) Trace() *fetcher.Trace {
	return &fetcher.Trace{
		Hop: func(h fetcher.Hop) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.pending = append(l.pending, h)
		},
		Fetched: func(a policy.Attempt, _ *policy.Record) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if len(l.by) >= keptRetrievals {
				clear(l.by)
			}
			r := l.by[a.Robots]
			if r == nil {
				r = &retrieval{}
				l.by[a.Robots] = r
			}
			r.hops, r.header = append(r.hops, l.pending...), a.Header
			l.pending = nil
		},
	}
}

// Tell tells the story of a ruling for a product token from the record of the
// site, which may be nil.
func (l *Log) Tell(d policy.Decision, rec *policy.Record, target *url.URL, token string) *Story {
	s := &Story{Requests: []Request{}, Header: []string{}, Rules: []Rule{}, Others: []Other{}}
	l.mu.Lock()
	r := l.by[d.Robots]
	l.mu.Unlock()
	if r != nil {
		s.retrieved(r)
	}
	if f := rec.File(); f != nil && d.Robots != "" {
		s.file = true
		s.group(d, f.Group(token))
		s.others(f, d.Match.Agent, target)
	}
	return s
}
