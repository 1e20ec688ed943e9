// Package explain explains a decision in full: the requests for robots.txt and their
// answers, the header fields that set the lifetime, the rules around the deciding
// one, and the decisions for other crawlers.
package explain

import (
	"net/http"
	"net/url"
	"sync"

	"github.com/rfc9309/polite/cmd/polite/internal/lint"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
	"github.com/rfc9309/polite/usage"
)

// keptRetrievals is how many retrievals a Log keeps.
const keptRetrievals = 1 << 10

// retrieval is what is kept of fetching one robots.txt.
type retrieval struct {
	hops   []fetcher.Try
	header http.Header
}

// Log collects retrievals by the URL of robots.txt. Retrievals must not overlap,
// because the Try hook does not say which retrieval a request belongs to.
type Log struct {
	mu         sync.Mutex
	pending    []fetcher.Try         // hops of the retrieval that is in progress
	retrievals map[string]*retrieval // by the URL of robots.txt
}

// NewLog returns an empty Log.
func NewLog() *Log { return &Log{retrievals: map[string]*retrieval{}} }

// Trace returns the hooks that fill the Log.
func (l *Log) Trace() *fetcher.Trace {
	return &fetcher.Trace{
		Try: func(h fetcher.Try) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.pending = append(l.pending, h)
		},
		Fetched: func(a policy.Attempt, _ *policy.Record) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if len(l.retrievals) >= keptRetrievals {
				clear(l.retrievals)
			}
			r := l.retrievals[a.Robots]
			if r == nil {
				r = &retrieval{}
				l.retrievals[a.Robots] = r
			}
			r.hops, r.header = append(r.hops, l.pending...), a.Header
			l.pending = nil
		},
	}
}

// Explain explains a decision for a product token. rec is the site's record and may
// be nil.
func (l *Log) Explain(d policy.Decision, rec *policy.Record, target *url.URL, token string) *Explanation {
	e := &Explanation{Requests: []Request{}, Header: []string{}, Rules: []Rule{}, Others: []Other{}}
	l.mu.Lock()
	r := l.retrievals[d.Robots]
	l.mu.Unlock()
	if r != nil {
		e.addRetrieval(r)
	}
	if f := rec.File(); f != nil && d.Robots != "" {
		e.hasFile = true
		e.NotText = lint.NotText(f.Text())
		e.addGroup(d, f.Group(token))
		e.addOthers(f, d.Match.Agent, target)
		e.Usage = usage.OfFile(f, token, target.RequestURI())
	}
	return e
}
