package policy

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/retry"
)

// failure follows a retrieval without a complete answer.
func (s *step) failure(c Class) *Record {
	was := s.p.covers(s.a.Status)
	rule := StatusRule{Access: s.p.Failures[c], Clause: "2.3.1.4"}
	if was.Access == Unreachable { // what the status itself proves stands
		rule.Answers, rule.Hold = was.Answers, was.Hold
	}
	switch {
	case rule.Access != Unreachable:
		rule.Clause, rule.Again = "house", s.p.Retry.Beyond
	case c == Egress:
		rule.Again = s.p.Retry.Refused
	}
	return s.settle(rule, clean.Text(fmt.Sprint(s.a.Err), maxWords))
}

// unreachable begins or goes on with an outage (RFC 9309, section 2.3.1.4). The
// copy stays, so that a phase of the profile may use it, and so does the time of
// the first failure, from which the 30 days count.
func (s *step) unreachable(rule StatusRule, cause string) *Record {
	r := s.record(Unreachable)
	d := detail{served: s.elsewhere(), cause: cause, clause: rule.Clause, down: s.now}
	if s.a.at().IsZero() {
		d.down = latest // an attempt without a time must not count as one of long ago
	}
	s.keepCopy(r, &d)
	if s.old != nil && s.old.down() != 0 {
		d.down = min(s.old.down(), d.down)
		r.fails = s.old.fails
		r.flags |= s.old.flags & answered
	}
	if rule.Answers {
		r.flags |= answered
	}
	if rule.Hold {
		r.flags |= hold
	}
	r.next = after(s.now, s.pause(rule, r.fails, time.Duration(s.now-d.down)))
	r.fails = min(r.fails+1, 32)
	r.describe(d)
	return r
}

// down is the first failure of the present outage, 0 if there is none.
func (r *Record) down() int64 { return r.detail().down }

// pause is the time to the next try, after fails earlier failures in a row, in
// an outage that has lasted for down: what the phase says, or else the rule, or
// else a step that doubles; never before the server's Retry-After, and never
// within the floor.
func (s *step) pause(rule StatusRule, fails uint8, down time.Duration) time.Duration {
	pause := s.p.phase(down).Every
	switch {
	case pause != 0:
	case rule.Again != 0:
		pause = rule.Again
	default:
		pause = s.backoff(fails, down)
	}
	asked, _ := retry.After(s.a.Header, time.Unix(0, s.now), s.p.Retry.After)
	return max(pause, asked, s.p.Fresh.Least)
}

// backoff is a step that doubles with each failure, drawn from its upper half.
func (s *step) backoff(fails uint8, down time.Duration) time.Duration {
	most := s.p.Retry.Day
	if down >= day {
		most = s.p.Retry.Later
	}
	step := s.p.Retry.First
	for ; fails > 0 && step < most; fails-- {
		step = min(step, most/2) * 2 // no overflow, whatever the profile says
	}
	step = min(step, most)
	return step - time.Duration(s.draw()%uint64(step/2+1))
}

// draw is a number that differs between authorities and tries but is the same
// for the same arguments, which keeps Learn pure.
func (s *step) draw() uint64 {
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64([]byte(s.a.Robots), uint64(s.now)))
	return h.Sum64()
}
