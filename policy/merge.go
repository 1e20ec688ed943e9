package policy

import (
	"bytes"
	"time"
)

// This file merges two records of one authority.

// Merge returns the record to use if there are two of one authority and one
// profile, for instance one in memory and one in a store. Either may be nil. The
// order of the two makes no difference.
//
// Of two answers the one that was learnt later is used. A failed fetch counts only
// if it began after the last answer was learnt, and then it has the copy of that
// answer. Two failed fetches are one outage: it began with the first, and has lasted
// for the longer of the two observations. A record from the future, which a clock
// that was set back leaves behind, loses against one that is not.
func (r *Record) Merge(other *Record, now time.Time) *Record {
	switch {
	case r.blank():
		return other
	case r == other || other.blank() || r.robots != other.robots || r.profile.Name != other.profile.Name:
		return r
	}
	at := nanos(now)
	switch future, otherFuture := r.fromFuture(at), other.fromFuture(at); {
	case future && !otherFuture:
		return other
	case otherFuture && !future:
		return r
	case r.newerThan(other):
		return r.mergeOlder(other)
	}
	return other.mergeOlder(r)
}

// newerThan orders two records by when they were learnt. Records of one moment
// are ordered too, so that Merge is commutative.
func (r *Record) newerThan(other *Record) bool {
	switch {
	case r.learnt != other.learnt:
		return r.learnt > other.learnt
	case r.lastFailure() != other.lastFailure():
		return r.lastFailure() > other.lastFailure()
	}
	a, _ := r.MarshalBinary()
	b, _ := other.MarshalBinary()
	return bytes.Compare(a, b) > 0
}

// lastFailure returns when the last fetch began if it failed, and 0 if it did not.
func (r *Record) lastFailure() int64 {
	if r.outage == nil {
		return 0
	}
	return r.outage.tried
}

// lastAnswer returns when the last answer was learnt, 0 if there was none.
func (r *Record) lastAnswer() int64 {
	if r.outage == nil {
		return r.learnt
	}
	return r.outage.reached
}

// mergeOlder merges r with old, which was learnt before r.
func (r *Record) mergeOlder(old *Record) *Record {
	if r.outage == nil {
		return r
	}
	if r.outage.tried < old.lastAnswer() {
		return old // the failed fetch began before an answer that old knows of
	}
	r = r.afterAnswer(old.lastAnswer(), old.copy)
	if old.outage == nil || old.outage.tried < r.outage.reached {
		return r // what old knows ended with an answer
	}
	return r.joinOutage(old.afterAnswer(r.outage.reached, r.copy))
}

// afterAnswer returns the failed record r corrected by a later answer, which was learnt at
// reached and left the copy c. If the outage of r began before that answer, the answer
// ended it: the fetch of r is the first of another outage.
func (r *Record) afterAnswer(reached int64, c *cachedCopy) *Record {
	if reached <= r.outage.reached {
		return r
	}
	o := *r.outage
	o.reached = reached
	if o.first < reached {
		o.first, o.lasted, o.fails, o.early, o.answered = r.learnt, 0, 1, 0, false
	}
	later := *r
	later.outage, later.copy = &o, c
	return &later
}

// joinOutage adds to r what old knows of the same outage.
func (r *Record) joinOutage(old *Record) *Record {
	o := *r.outage
	o.first = earlier(o.first, old.outage.first)
	o.lasted = max(o.lasted, old.outage.lasted)
	o.fails, o.early = max(o.fails, old.outage.fails), max(o.early, old.outage.early)
	o.answered = o.answered || old.outage.answered
	o.probed = max(o.probed, old.outage.probed)
	c := r.copy
	if old.copy != nil && (c == nil || old.copy.fetched > c.fetched) {
		c = old.copy
	}
	if o == *r.outage && c == r.copy {
		return r
	}
	joined := *r
	joined.outage, joined.copy = &o, c
	return &joined
}

// earlier returns the earlier of two moments; 0 is no moment.
func earlier(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
