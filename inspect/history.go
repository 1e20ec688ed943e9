package inspect

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/policy"
)

// history is what the hooks have seen, within fixed bounds whatever they see. The
// lock is held to note and to copy, never while a page is made: a slow reader keeps
// no ruling waiting.
type history struct {
	mu         sync.Mutex
	hooked     bool
	rulings    ring[ruling]
	retrievals ring[retrieval]
	rates      []*rates
}

// A ruling is a Decision and when it was made.
type ruling struct {
	Time     time.Time       `json:"time"`
	Decision policy.Decision `json:"decision"`
}

// A retrieval is what is kept of a policy.Attempt and of what it led to.
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

// What is kept of one text, in octets, and of one chain of redirects.
const (
	keptURL  = 1 << 10
	keptText = 300
	keptHops = 10
)

func newHistory(recent int) *history {
	h := &history{rulings: newRing[ruling](recent), retrievals: newRing[retrieval](recent)}
	for _, s := range spans {
		h.rates = append(h.rates, newRates(s))
	}
	return h
}

// hook notes that somebody is going to tell.
func (h *history) hook() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hooked = true
}

// decided notes a ruling.
func (h *history) decided(d policy.Decision, now time.Time) {
	keep := ruling{now, kept(d)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rulings.add(keep)
	for _, r := range h.rates {
		r.at(now).ruled(d.Verdict)
	}
}

// kept is a Decision that holds on to nothing larger than itself: the rule and
// the agent would keep the text of their whole file in memory.
func kept(d policy.Decision) policy.Decision {
	d.Match.Agent = strings.Clone(clean.Cut(d.Match.Agent, keptText))
	d.Match.Rule.Pattern = strings.Clone(clean.Cut(d.Match.Rule.Pattern, keptText))
	d.URL, d.Served, d.Robots = clean.Cut(d.URL, keptURL), clean.Cut(d.Served, keptURL), clean.Cut(d.Robots, keptURL)
	d.Cause, d.Override = clean.Cut(d.Cause, keptText), clean.Cut(d.Override, keptText)
	return d
}

// fetched notes a retrieval. What it came to is asked of the record, which knows how
// the profile takes the answer, as of the moment it came.
func (h *history) fetched(a policy.Attempt, rec *policy.Record) {
	now := a.Received
	d := condition(rec, now)
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
		r.at(now).retrieved(a.Status, d.Access)
	}
}

// recent returns the newest rulings and retrievals, newest first, at most most
// of each, and whether anybody tells.
func (h *history) recent(most int) (rulings []ruling, retrievals []retrieval, hooked bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rulings.newest(most), h.retrievals.newest(most), h.hooked
}

// of returns the retrievals kept of one robots.txt, newest first.
func (h *history) of(robots string) []retrieval {
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
	items []T // len is how many there are, cap how many there can be
	next  int // where the next one goes
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
