package inspect

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/policy"
)

// history holds a bounded number of recent events. The lock is held only to add and
// to copy events, never while a page is written, so a slow reader delays no
// decision.
type history struct {
	mu         sync.Mutex
	hooked     bool // the hooks are installed
	decisions  ring[decisionEvent]
	retrievals ring[retrieval]
	rates      []*rates
}

// A decisionEvent is a Decision and the time when it was made.
type decisionEvent struct {
	Time     time.Time       `json:"time"`
	Decision policy.Decision `json:"decision"`
}

// A retrieval is what the history keeps of a policy.Attempt and its result.
type retrieval struct {
	Time    time.Time     `json:"time"`
	Robots  string        `json:"robots"`
	Served  string        `json:"served"`
	Hops    []hop         `json:"hops,omitempty"`
	Status  int           `json:"status"`
	Access  policy.Access `json:"access"`
	Seconds float64       `json:"seconds"`
	Cause   string        `json:"cause,omitempty"`
	Next    time.Time     `json:"next"`
}

// A hop is a redirect that was followed.
type hop struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Status int    `json:"status"`
}

const (
	keptURL  = 1 << 10 // longest URL that is kept, in bytes
	keptText = 300     // longest other text that is kept, in bytes
	keptHops = 10      // redirects that are kept of one retrieval
)

func newHistory(recent int) *history {
	h := &history{decisions: newRing[decisionEvent](recent), retrievals: newRing[retrieval](recent)}
	for _, s := range spans {
		h.rates = append(h.rates, newRates(s))
	}
	return h
}

// setHooked records that the hooks are installed.
func (h *history) setHooked() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hooked = true
}

// decided records a decision.
func (h *history) decided(d policy.Decision, now time.Time) {
	keep := decisionEvent{now, boundedCopy(d)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.decisions.add(keep)
	for _, r := range h.rates {
		r.at(now).countDecision(d.Verdict)
	}
}

// boundedCopy returns a Decision with texts of bounded length. The rule and the
// agent are copied, because they would keep the text of the whole file in memory.
func boundedCopy(d policy.Decision) policy.Decision {
	d.Match.Agent = strings.Clone(clean.Cut(d.Match.Agent, keptText))
	d.Match.Rule.Pattern = strings.Clone(clean.Cut(d.Match.Rule.Pattern, keptText))
	d.URL, d.Served, d.Robots = clean.Cut(d.URL, keptURL), clean.Cut(d.Served, keptURL), clean.Cut(d.Robots, keptURL)
	d.Cause, d.Override, d.Pacing = clean.Cut(d.Cause, keptText), clean.Cut(d.Override, keptText), clean.Cut(d.Pacing, keptText)
	return d
}

// fetched records a retrieval. The record knows what the profile made of the answer.
func (h *history) fetched(a policy.Attempt, rec *policy.Record) {
	now := a.Received
	d := rec.State(now)
	keep := retrieval{
		Time: now, Robots: clean.Cut(a.Robots, keptURL), Served: clean.Cut(d.Served, keptURL), Status: a.Status,
		Access: d.Access, Seconds: now.Sub(a.Sent).Seconds(), Next: rec.NextTry(),
	}
	if d.Access != policy.Successful {
		keep.Cause = clean.Cut(d.Cause, keptText)
	}
	for _, x := range a.Hops[:min(len(a.Hops), keptHops)] {
		keep.Hops = append(keep.Hops, hop{clean.Cut(x.From, keptURL), clean.Cut(x.To, keptURL), x.Status})
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.retrievals.add(keep)
	for _, r := range h.rates {
		r.at(now).countRetrieval(a.Status, d.Access)
	}
}

// recent returns at most most decisions and most retrievals, newest first, and
// whether the hooks are installed.
func (h *history) recent(most int) (decisions []decisionEvent, retrievals []retrieval, hooked bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.decisions.newest(most), h.retrievals.newest(most), h.hooked
}

// retrievalsOf returns the retrievals of one robots.txt, newest first.
func (h *history) retrievalsOf(robots string) []retrieval {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.retrievals.newest(len(h.retrievals.items))
	return slices.DeleteFunc(all, func(r retrieval) bool { return r.Robots != robots })
}

// series returns the buckets of a span, oldest first.
func (h *history) series(span int, now time.Time) []bucket {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rates[span].series(now)
}

// A ring holds the newest items of a stream.
type ring[T any] struct {
	items []T // its capacity is the size of the ring
	next  int // index of the next item
}

func newRing[T any](size int) ring[T] { return ring[T]{items: make([]T, 0, size)} }

func (r *ring[T]) add(item T) {
	switch {
	case cap(r.items) == 0:
		return
	case len(r.items) < cap(r.items):
		r.items = append(r.items, item)
	default:
		r.items[r.next] = item
	}
	r.next = (r.next + 1) % cap(r.items)
}

// newest returns a copy of at most most items, newest first.
func (r *ring[T]) newest(most int) []T {
	n := min(most, len(r.items))
	out := make([]T, 0, n)
	for i := range n {
		out = append(out, r.items[(r.next-1-i+len(r.items))%len(r.items)])
	}
	return out
}
