package inspect

import (
	"net/http"
	"time"

	"github.com/rfc9309/polite/policy"
)

// A span is a period up to now that is divided into buckets of one width.
type span struct {
	Name    string
	Width   time.Duration
	Buckets int
}

// spans are the periods that the page can show. The first is the default.
var spans = [...]span{
	{"hour", time.Minute, 60},
	{"day", 20 * time.Minute, 72},
	{"week", 2 * time.Hour, 84},
}

// counts are the numbers of events in one bucket. A retrieval is counted once, by
// its result.
type counts struct {
	Allowed     int64 `json:"allowed"`
	Disallowed  int64 `json:"disallowed"`
	Deferred    int64 `json:"deferred"`
	Retrieved   int64 `json:"retrieved"` // retrievals that brought a new copy
	Renewed     int64 `json:"renewed"`   // copies confirmed by a 304
	Unavailable int64 `json:"unavailable"`
	Unreachable int64 `json:"unreachable"`
}

func (c *counts) countDecision(v policy.Verdict) {
	switch v {
	case policy.Allow:
		c.Allowed++
	case policy.Defer:
		c.Deferred++
	default:
		c.Disallowed++
	}
}

func (c *counts) countRetrieval(status int, access policy.Access) {
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

// A bucket has the counts of one period that begins at Start.
type bucket struct {
	Start time.Time `json:"start"`
	counts
}

// rates counts events by time in a ring of buckets. Time is divided into slots, and
// each bucket has the number of the slot for which it was last used. A bucket with
// another number counts as empty, so buckets need not be cleared when time passes or
// the clock is set.
type rates struct {
	width   int64
	buckets []slotted
}

type slotted struct {
	slot int64 // time since 1970 in widths
	counts
}

func newRates(s span) *rates { return &rates{int64(s.Width), make([]slotted, s.Buckets)} }

// at returns the counts of the current bucket.
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
