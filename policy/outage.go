package policy

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/rfc9309/polite/internal/retry"
)

// failure follows a retrieval without a complete answer.
func (s *step) failure(c Class) *Record {
	rule := s.p.covers(s.a.Status)
	rule.Access = s.p.Failures[c]
	rule.Again = s.p.Retry.Beyond
	rule.Clause = "2.3.1.4"
	if rule.Access != Unreachable {
		rule.Clause = "house"
	}
	if rule.Access == Unreachable && c == Egress {
		r := s.unreachable(rule, clean(s.a.Err.Error()))
		r.next = s.now + int64(max(s.p.Retry.Refused, s.p.Fresh.Least))
		return r
	}
	return s.settle(rule, clean(s.a.Err.Error()))
}

// unreachable begins or goes on with an outage (RFC 9309, section 2.3.1.4). The
// copy stays, so that a phase of the profile may use it, and so does the time of
// the first failure, from which the 30 days count.
func (s *step) unreachable(rule StatusRule, cause string) *Record {
	r := s.record(Unreachable)
	d := detail{served: s.elsewhere(), cause: cause, clause: rule.Clause, down: s.now}
	s.keepCopy(r, &d)
	if s.old != nil && s.old.down() != 0 {
		d.down = min(s.old.down(), s.now)
		r.fails, r.flags = s.old.fails, s.old.flags&answered
	}
	if rule.Answers {
		r.flags |= answered
	}
	if rule.Hold {
		r.flags |= hold
	}
	r.next = s.now + int64(s.pause(r.fails, time.Duration(s.now-d.down)))
	r.fails = min(r.fails+1, 32)
	r.describe(d)
	return r
}

// down is the first failure of the present outage, 0 if there is none.
func (r *Record) down() int64 { return r.detail().down }

// pause is the time to the next try, after fails earlier failures in a row, in
// an outage that has lasted for down: doubling, drawn from the upper half of
// the step, and never before the server's Retry-After.
func (s *step) pause(fails uint8, down time.Duration) time.Duration {
	t := s.p.Retry
	step := s.p.phase(down).Every
	if step == 0 {
		most := t.Day
		if down >= day {
			most = t.Later
		}
		step = most
		if fails < 20 { // 20 doublings of a second are 12 days
			step = min(t.First<<fails, most)
		}
		step -= time.Duration(s.draw() % uint64(step/2+1))
	}
	if after, ok := retry.After(s.a.Header, time.Unix(0, s.now), t.After); ok {
		step = max(step, after)
	}
	return step
}

// draw is a number that differs between authorities and tries but is the same
// for the same arguments, which keeps Learn pure.
func (s *step) draw() uint64 {
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64([]byte(s.a.Robots), uint64(s.now)))
	return h.Sum64()
}
