package policy

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/retry"
)

// This file follows an outage: RFC 9309, section 2.3.1.4.

// outage is the state of an authority whose robots.txt cannot be fetched.
//
// The phases of a profile count by lasted, the observed length. Two failed
// fetches a month apart are no outage of a month: the time between two of them counts at
// most twice the planned time, or up to one hour if that is longer.
// Time after an answer that asks for patience does not count.
type outage struct {
	first    int64         // when the first failed fetch ended; 0 if the attempt had no time
	tried    int64         // when the last failed fetch began
	reached  int64         // when the last answer before the outage was learnt; 0 if there was none
	probed   int64         // when the last fetch with a Probe ended; 0 if there was none
	lasted   time.Duration // the observed length, up to the last failed fetch
	fails    uint8         // failed fetches in a row, without the early ones
	early    uint8         // failed fetches in a row whose short Retry-After is obeyed
	answered bool          // a server error was seen in this outage
	patience bool          // the last answer asks for patience
}

const (
	// maxFails ends the count of failed fetches in a row.
	maxFails = 32
	// maxEarly is how many fetches of an outage may obey a Retry-After that is shorter
	// than the planned time.
	maxEarly = 3
	// minRetryAfter is the shortest Retry-After that is obeyed.
	minRetryAfter = time.Second
)

// lastedAt returns the observed length of the outage at now. The time since the last
// fetch counts up to maxGap, and not at all if the last answer asks for patience.
func (r *Record) lastedAt(now, maxGap int64) time.Duration {
	if r.outage.patience {
		return r.outage.lasted
	}
	return time.Duration(addSpan(int64(r.outage.lasted), time.Duration(max(min(now-r.learnt, maxGap), 0))))
}

// failure returns the record after a fetch without a complete answer.
func (s *step) failure(c Class) *Record {
	was := s.p.statusRule(s.a.Status)
	rule := StatusRule{Access: s.p.Failures[c], Clause: "2.3.1.4"}
	if was.Access == Unreachable { // the status is known, though the answer broke off
		rule.Answers, rule.Patience = was.Answers, was.Patience
	}
	switch {
	case rule.Access != Unreachable:
		rule.Clause, rule.Interval = "house", s.p.Retry.AfterTooManyRedirects
	case c == Egress:
		rule.Interval = s.p.Retry.AfterRefusedRedirect
	case c == Sign:
		rule.Patience = true // nothing was sent, so the outage was not observed
	}
	return s.noFile(rule, clean.Text(fmt.Sprint(s.a.Err), maxWords))
}

// unreachable returns a record in an outage, which begins or goes on. The copy stays,
// so that a phase of the profile may use it.
func (s *step) unreachable(rule StatusRule, cause string) *Record {
	r := s.newRecord(answer{access: Unreachable, cause: cause, clause: rule.Clause})
	r.copy = s.keptCopy()
	r.outage = s.nextOutage()
	r.outage.patience = rule.Patience
	r.outage.answered = r.outage.answered || rule.Answers
	if s.a.Probe != nil {
		r.outage.probed = s.now
	}
	planned := s.plannedTime(rule, r)
	asked, _ := retry.After(s.a.Header, time.Unix(0, s.now), s.p.Retry.MaxRetryAfter)
	if asked > 0 && asked < planned && r.outage.fails+r.outage.early < maxEarly {
		planned = max(asked, minRetryAfter)
		r.outage.early++
	} else {
		planned = max(asked, planned)
		r.outage.fails = min(r.outage.fails+1, maxFails)
	}
	r.next = addSpan(s.now, planned)
	return r
}

// nextOutage returns the outage after one more failed fetch. Its caller adds what the answer
// says, and counts the fetch.
func (s *step) nextOutage() *outage {
	o := outage{}
	switch {
	case s.old == nil:
	case s.old.outage == nil:
		o.reached = s.old.learnt
	default:
		o = *s.old.outage
		planned := min(max(s.old.next-s.old.learnt, 0), math.MaxInt64/2)
		o.lasted = s.old.lastedAt(s.now, max(2*planned, int64(time.Hour)))
	}
	if !s.a.Received.IsZero() {
		o.first = earlier(o.first, s.now)
	}
	o.lasted = max(min(o.lasted, time.Duration(s.now-o.first)), 0) // a clock that was set back may have measured more
	o.tried = s.began
	o.reached = min(o.reached, s.began) // the last answer may be by a clock that was ahead
	return &o
}

// plannedTime returns the time to the next fetch, if the server does not ask for another: what
// the phase says, or else the rule, or else backoff.
func (s *step) plannedTime(rule StatusRule, r *Record) time.Duration {
	ph := s.p.phase(r.outage.lasted)
	every := ph.Interval
	if ph.UseCopy && r.copy != nil {
		every = ph.IntervalWithCopy
	}
	return cmp.Or(every, rule.Interval, s.backoff(r.outage))
}

// backoff returns a time that doubles with each failed fetch, drawn from its upper half, but
// at least Retry.Min. The draw is a hash of the URL and the time, which keeps Learn pure.
func (s *step) backoff(o *outage) time.Duration {
	longest := s.p.Retry.MaxFirstDay
	if s.now-o.first >= int64(day) {
		longest = s.p.Retry.MaxLater
	}
	wait := s.p.Retry.Min
	for fails := o.fails; fails > 0 && wait < longest; fails-- {
		wait = min(wait, longest/2) * 2 // no overflow, whatever the profile says
	}
	wait = min(wait, longest)
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64([]byte(s.a.Robots), uint64(s.now)))
	return max(wait-time.Duration(h.Sum64()%uint64(wait/2+1)), s.p.Retry.Min)
}
