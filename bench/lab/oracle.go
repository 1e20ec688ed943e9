package main

import (
	"math"
	"time"

	"github.com/rfc9309/polite/policy"
)

// This file says what must come out: a second reading of the decision table and of the
// limits of package pace, written from README and the package comments. It knows only
// the answers that the world gives.

// A moment is a time since the start of the crawl.
type moment = time.Duration

const (
	day   = 24 * time.Hour
	never = moment(math.MinInt64 / 2)
)

// A host is what the crawl and the oracle know of a host. It has no pointers, since there
// are millions of hosts.
type host struct {
	// The cached copy and the last fetch.
	file    int32  // number of the file in force; -1 without one
	known   bool   // something was fetched
	down    bool   // the last fetch failed
	fails   uint8  // failed fetches in a row, without the early ones
	early   uint8  // failed fetches in a row whose short Retry-After counts
	failed  moment // the first of them
	next    moment // when the next fetch is due
	expires moment // when the copy expires

	visits  uint32 // visits so far
	visited uint8  // bit n: visited on day n
	fetched uint8  // bit n: its robots.txt was fetched on day n
}

// A name is one of the two names of a host.
type name struct {
	host  uint32
	other bool
}

// A queue is what the limits of a name depend on.
type queue struct {
	last     moment // start of the last request
	paused   moment // the last answer that asked for a pause
	until    moment // end of the pause
	opened   moment // the last time that the third request in a row, or a later one, failed
	delay    int32  // Crawl-delay of the last request, in milliseconds
	flying   int8   // requests in flight
	failures uint8  // failed requests in a row
}

// newQueue returns the queue of a name without requests.
func newQueue() *queue { return &queue{last: never, paused: never, until: never, opened: never} }

// lapsed reports whether the queue is as good as a new one.
func (q *queue) lapsed(now moment) bool {
	return q.flying == 0 && now-max(q.last, q.paused, q.until, q.opened) > recall
}

// What pace.Default, package pace and RFC 9309 promise.
const (
	gap      = 500 * time.Millisecond
	parallel = 2
	delayCap = time.Minute
	pauseMax = 15 * time.Minute
	restMin  = 10 * time.Second
	failMax  = 3
	memory   = 15 * time.Minute // for so long failures are remembered at least
	recall   = time.Hour        // no failure is remembered longer
	hopsMost = 5                // redirects that are followed
)

// start counts a request of which the Crawl-delay is delay. It returns what was wrong
// with its time, "" if nothing was.
func (q *queue) start(now, delay moment) (wrong string) {
	delay = min(max(delay, 0), delayCap)
	need := max(gap, delay, moment(q.delay)*time.Millisecond)
	if now-q.last >= memory {
		q.failures = 0
	}
	switch {
	case now-q.last < need:
		wrong = "gap"
	case q.flying >= parallel:
		wrong = "parallel"
	case now < q.until:
		wrong = "pause"
	case q.failures >= failMax && now < q.opened+restMin:
		wrong = "rest"
	}
	q.last, q.delay = now, int32(delay/time.Millisecond)
	q.flying++
	return wrong
}

// end counts the answer to a request that began at began.
func (q *queue) end(began, now moment, f fault) {
	q.flying--
	switch f {
	case none, gone, removed, looping:
		if began > q.opened {
			q.failures = 0
		}
	case overloaded, busy:
		q.paused, q.until = now, max(q.until, now+min(retryAfter[f], pauseMax))
	case denied, restricted:
	default:
		if began <= q.opened {
			return
		}
		if q.failures++; q.failures >= failMax {
			q.opened = now
		}
	}
}

// waits reports whether there may be a reason to refuse a request now.
func (q *queue) waits(now, delay moment) bool {
	need := max(gap, min(delay, delayCap), moment(q.delay)*time.Millisecond)
	return now-q.last < need || q.flying >= parallel || q.failures > 0 || now-q.opened <= recall || now-q.paused <= pauseMax
}

// An outcome is how a fetch of robots.txt ended.
type outcome struct {
	fault       fault
	redirects   int           // answers that redirected
	file        int           // number of the file that was sent or confirmed
	page        bool          // it is an HTML page
	lifetime    lifetime      // what the answer declared
	began, done moment        // of the whole fetch
	date        time.Duration // lifetime by Expires
	least       time.Duration // shortest lifetime of a copy, as the profile has it
}

// learn returns what must be known after a fetch. next is when the library fetches
// again; ok is false if that is not what the table says.
func (h host) learn(o outcome, next moment) (after host, ok bool) {
	copied := h.file >= 0
	after = h
	after.known, after.next, after.down = true, next, false
	switch o.fault {
	case none:
		after.file, after.expires = int32(o.file), o.done+o.ttl()
		return after, next == after.expires
	case looping:
		after.file = -1
		return after, next == o.done+max(time.Hour, o.least) && o.redirects == hopsMost+1
	case gone, removed:
		after.file = -1
		return after, next == o.done+max(day, o.least)
	case denied, restricted:
		if copied && o.done < h.expires {
			return after, next == max(min(h.expires, o.done+time.Hour), o.done+o.least)
		}
		after.file = -1
		return after, next == o.done+max(time.Hour, o.least)
	}
	if !h.down {
		after.fails, after.early, after.failed = 0, 0, o.done
	}
	most := time.Hour
	if o.done-after.failed >= day {
		most = 6 * time.Hour
	}
	step := min(time.Minute<<after.fails, most)
	after.down = true
	asked := retryAfter[o.fault]
	if asked > 0 && asked <= step/2 && after.fails+after.early < 3 {
		after.early++
		return after, next == o.done+asked
	}
	least := max(step/2, asked, o.least)
	after.fails = min(after.fails+1, 12)
	return after, next >= o.done+least && next <= o.done+max(step, least)
}

// ttl is how long a file is used.
func (o *outcome) ttl() time.Duration {
	l := o.lifetime
	ttl, least := day, o.least
	switch {
	case l.control == "no-cache":
		ttl = 0
	case l.control != "":
		ttl = maxAge[l.control]
	case l.expires > 0:
		ttl = o.date
	default:
		least = max(time.Hour, least)
	}
	ttl = max(min(ttl, day)-l.age-(o.done-o.began), least)
	if o.page {
		ttl = min(ttl, max(time.Hour, o.least))
	}
	return ttl
}

// maxAge are the lifetimes that the answers of the world declare.
var maxAge = map[string]time.Duration{
	"max-age=86400": day, "public, max-age=604800": 7 * day, "max-age=14400": 4 * time.Hour, "max-age=3600": time.Hour,
	"max-age=600": 10 * time.Minute, "max-age=300": 5 * time.Minute, "private, max-age=0": 0,
}

// due reports whether robots.txt must be fetched before a decision.
func (h *host) due(now moment) bool { return !h.known || now >= h.next }

// verdict is the decision on a target of a file.
func (h *host) verdict(files []*file, asked int, t *target) policy.Verdict {
	switch {
	case h.file < 0 && h.down:
		return policy.Defer
	case h.file < 0:
		return policy.Allow
	}
	allowed := t.allowed
	if int(h.file) != asked {
		allowed = files[h.file].plain.Match(t.text).Allow
	}
	if allowed {
		return policy.Allow
	}
	return policy.Disallow
}

// shows reports whether a decision has the times of the record.
func (h *host) shows(d *policy.Decision, began time.Time) bool {
	if !h.down {
		return d.Expires.Sub(began) == h.next && d.DownSince.IsZero()
	}
	return d.Expires.Sub(began) == h.next && d.DownSince.Sub(began) == h.failed
}

// delay is the Crawl-delay of the copy.
func (h *host) delay(files []*file) moment {
	if h.file < 0 {
		return 0
	}
	return max(files[h.file].plain.Delay, 0)
}
