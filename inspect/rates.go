package inspect

import (
	"net/http"
	"time"

	"github.com/rfc9309/polite/policy"
)

// A span is a stretch of the past that is counted in buckets of one width.
type span struct {
	Name    string
	Width   time.Duration
	Buckets int
}

// spans are the stretches there are; the first is shown unless another is asked
// for.
var spans = [...]span{
	{"hour", time.Minute, 60},
	{"day", 20 * time.Minute, 72},
	{"week", 2 * time.Hour, 84},
}

// counts is what happened in one bucket. A retrieval counts once, by what it led
// to.
type counts struct {
	Allowed     int64 `json:"allowed"`
	Disallowed  int64 `json:"disallowed"`
	Deferred    int64 `json:"deferred"`
	Retrieved   int64 `json:"retrieved"` // a new copy
	Renewed     int64 `json:"renewed"`   // a copy confirmed by 304
	Unavailable int64 `json:"unavailable"`
	Unreachable int64 `json:"unreachable"`
}

func (c *counts) ruled(v policy.Verdict) {
	switch v {
	case policy.Allow:
		c.Allowed++
	case policy.Defer:
		c.Deferred++
	default:
		c.Disallowed++
	}
}

func (c *counts) retrieved(status int, access policy.Access) {
	switch {
	case access == policy.Successful && status == http.StatusNotModified:
		c.Renewed++
	case access == policy.Successful:
		c.Retrieved++
	case access == policy.Unreachable:
		c.Unreachable++
	default:
		c.Unavailable++
	}
}

// A bucket is what happened from Start on for the width of its span.
type bucket struct {
	Start time.Time `json:"start"`
	counts
}

// rates counts what happens, by time, in a ring of buckets. A bucket belongs to
// the slot it was last used for; one of another slot counts as empty, so that
// nothing needs to be cleared while nothing happens, or when the clock is set.
type rates struct {
	width   int64
	buckets []slotted
}

type slotted struct {
	slot int64 // time since 1970 in widths
	counts
}

func newRates(s span) *rates { return &rates{int64(s.Width), make([]slotted, s.Buckets)} }

// at is where to count what happens now.
func (r *rates) at(now time.Time) *counts {
	slot := now.UnixNano() / r.width
	b := &r.buckets[uint64(slot)%uint64(len(r.buckets))]
	if b.slot != slot {
		*b = slotted{slot: slot}
	}
	return &b.counts
}

// series returns the buckets up to now, oldest first.
func (r *rates) series(now time.Time) []bucket {
	last := now.UnixNano() / r.width
	out := make([]bucket, 0, len(r.buckets))
	for slot := last - int64(len(r.buckets)) + 1; slot <= last; slot++ {
		b := bucket{Start: time.Unix(0, slot*r.width).UTC()}
		if have := &r.buckets[uint64(slot)%uint64(len(r.buckets))]; have.slot == slot {
			b.counts = have.counts
		}
		out = append(out, b)
	}
	return out
}
