package pace

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/rfc9309/polite/internal/retry"
)

// A Turn is the right to one request at one authority. It is a value; its copies
// are the same turn. Its methods may be called from any goroutine. On a turn that
// has ended, and on the zero Turn, they do nothing.
type Turn struct {
	flight *flight
	number uint64  // of the flight, which may since be another turn's
	limits *Limits // of the authority when the turn was given
	traced bool    // see Traced
}

// Traced reports whether the request should be followed with net/http/httptrace, which
// costs a copy of the request. It is true if Sent can move the next start, since there is
// a gap or a fleet.
func (t Turn) Traced() bool { return t.traced }

// A flight is one turn, and then another one.
type flight struct {
	pacer *Pacer // never changes
	flightState
}

// A flightState is the state of a turn. Pacer.mu guards it.
type flightState struct {
	free     *flight // next in Pacer.free, once the flight has ended
	number   uint64  // of the turn; 0 once the flight has ended
	host     *host   // the authority
	places   []*host // host, and the scopes
	started  instant // when the turn was given
	sent     bool    // Sent has been called
	answered bool    // Answer has been called
	health   Health  // outcome, for the breaker; Neutral until it is known
	ticket   *ticket // its place in the fleet; nil without one

	reported chan struct{} // closed when the store has answered all reports; nil without one
}

// lockFlight locks the Pacer and returns t's flight. If t has ended, lockFlight returns nil
// and locks nothing.
func (t Turn) lockFlight() (*Pacer, *flight) {
	if t.flight == nil {
		return nil, nil
	}
	p := t.flight.pacer
	p.mu.Lock()
	if t.flight.number != t.number {
		p.mu.Unlock()
		return nil, nil
	}
	return p, t.flight
}

// Sent reports that the request has only now been written to its connection:
// the gap behind it counts from here and no longer from the start of the turn.
// Name resolution and a handshake can take longer than the gap itself, and the
// server would see the next request right behind. Calling it is optional, and
// best done from httptrace.ClientTrace.WroteRequest; it does not block. It
// changes nothing once another turn has started.
func (t Turn) Sent() {
	p, f := t.lockFlight()
	if f == nil {
		return
	}
	defer p.mu.Unlock()
	now := p.now()
	f.sent = true
	if f.ticket != nil {
		f.ticket.sent = now
		p.reportSent(f)
	}
	for _, s := range f.places {
		if s.lastNumber == f.number {
			s.last = now
		}
	}
	if f.host.lastNumber == f.number {
		p.reschedule(f.host)
	}
}

// Answer reports the head of the answer as soon as it has arrived: a status that shows
// overload, an error with a Retry-After, or a quota with nothing left pauses the authority from
// this moment on, and the time since the turn started is the answer time of Limits.Adapt. Only the first Answer counts. A
// request without an answer has none: report why with Fail, or end it with Done alone,
// which neither sets nor lifts anything. Answer does not wait for Options.Shared.
func (t Turn) Answer(status int, header http.Header) {
	if t.flight == nil {
		return
	}
	health := t.limits.health(status)
	wait, quota := t.limits.waits(status, health, header)
	p, f := t.lockFlight()
	if f == nil {
		return
	}
	defer p.mu.Unlock()
	if f.answered || f.health == Failing {
		return
	}
	f.answered, f.health = true, health
	f.host.unanswered--
	if !f.sent {
		p.reportSent(f)
	}
	p.average(f, health == Healthy)
	h := f.host
	level := h.level
	rest := h.learn(f, status, wait, quota)
	if rest > 0 || health == Failing {
		p.reschedule(h)
	}
	h.wake()
	f.reportAnswer(rest, level)
}

// learn updates h by the answer to a flight. It returns what remains of the pause or the rest
// that the answer asks for, 0 if it asks for none.
func (h *host) learn(f *flight, status int, wait, quota time.Duration) time.Duration {
	p := h.pacer
	pauses := f.health == Overloaded || wait > 0
	if pauses {
		h.pause(f.started, p.now(), wait)
		p.stats.Pauses++
	}
	switch f.health {
	case Failing:
		h.fail(f, "status "+strconv.Itoa(status), p.now())
	case Healthy:
		h.recover(f.started)
		if b := h.breaker; b != nil && b.probe == f {
			b.open, b.probe = false, nil
		}
	}
	if quota > 0 {
		h.restUntil(p.now()+quota, ReasonQuota)
	}
	if quota == 0 && !pauses {
		return 0
	}
	return h.until - p.now()
}

// waits returns the Retry-After of an answer that shows overload or any error, and how long a
// quota with nothing left lasts. Both are 0 if there is none.
func (l *Limits) waits(status int, health Health, header http.Header) (wait, quota time.Duration) {
	if l.Off {
		return 0, 0
	}
	told := false
	if health == Overloaded || status >= 400 {
		wait, told = retry.After(header, time.Now(), l.Pause)
	}
	if !told {
		quota, _ = retry.Quota(header, time.Now, l.Pause)
	}
	return wait, quota
}

// Done ends the turn: the request is no longer in flight. Call it when the body
// has been closed or read to its end, or when the request failed. With Options.Shared it
// waits for the store, for some seconds at most: the place is given back when Done returns.
// Further calls do nothing.
func (t Turn) Done() {
	p, f := t.lockFlight()
	if f == nil {
		return
	}
	if !f.answered {
		p.average(f, false)
	}
	if b := f.host.breaker; b != nil && f.health == Healthy && (b.troubled() || b.rest > 0) {
		f.host.succeed(f)
		f.report(Report{Health: Healthy, Level: -1})
	}
	reported := f.reported
	ticket := p.endTurn(f)
	p.mu.Unlock()
	if reported != nil { // no place is given back before that
		<-reported
	}
	if ticket != nil {
		p.releaseTicket(ticket)
	}
}

// pause begins a pause of h after an answer to a request that started at started. wait is the
// Retry-After, 0 if there is none.
//
// Requests that were already out when a pause began bring more such answers of
// the same moment; only an answer to a later request doubles the pause again. The
// level never falls here and until never moves back, so an error answer makes
// no pause shorter.
func (h *host) pause(started, now instant, wait time.Duration) {
	most := h.limits.Pause
	switch {
	case wait > 0:
		h.level = max(h.level, wait)
		wait = h.level
	case h.level == 0 || started > h.paused:
		h.level = min(max(2*h.level, firstPause), most)
		fallthrough
	default:
		wait = min(h.level+rand.N(h.level/4+1), most)
	}
	h.paused = now
	h.restUntil(now+wait, ReasonPause)
}

// restUntil forbids starts before until.
func (h *host) restUntil(until instant, why Reason) {
	if until > h.until {
		h.until, h.untilReason = until, why
	}
}

// recover halves what the next pause starts from. A success of a request that
// was already out when the pause began says nothing about the time since.
func (h *host) recover(started instant) {
	if h.level == 0 || started <= h.paused {
		return
	}
	h.level /= 2
	if h.level < firstPause {
		h.level = 0
	}
}

// average adds the answer time of a flight to the mean of its hosts, half and half with
// all before. An error is often quicker than a page, so it may only lengthen the mean.
// A request without an answer may only lengthen it, too.
func (p *Pacer) average(f *flight, well bool) {
	for _, h := range f.places {
		if h.limits.Adapt == 0 {
			continue
		}
		switch took := p.now() - f.started; {
		case h.mean == 0:
			h.mean = took
		case well || took > h.mean:
			h.mean += (took - h.mean) / 2
		}
		h.wake() // who waits there may start earlier
	}
}
