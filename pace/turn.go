package pace

import (
	"net/http"
	"strconv"
	"time"
)

// A Turn is the right to one request at one authority. It is a value; its copies
// are the same turn. Its methods may be called from any goroutine. None of them blocks. On a
// turn that has ended, and on the zero Turn, they do nothing.
type Turn struct{ flight *flight }

// A flight is what is known of a turn. Pacer.mu guards the fields from answered on. The others do
// not change.
type flight struct {
	number  uint64   // of the request, by arrival
	host    *host    // the authority
	places  []*host  // host, and the scopes
	place   [1]*host // memory of places without scopes
	limits  *Limits  // of the authority
	started instant  // when the turn was given

	answered bool   // Answer has been called
	ended    bool   // Done has been called
	health   Health // outcome, for the breaker; Neutral until it is known
}

// lockFlight locks the Pacer and returns t's flight. If t has ended, lockFlight returns nil
// and locks nothing.
func (t Turn) lockFlight() (*Pacer, *flight) {
	f := t.flight
	if f == nil {
		return nil, nil
	}
	p := f.host.pacer
	p.mu.Lock()
	if f.ended {
		p.mu.Unlock()
		return nil, nil
	}
	return p, f
}

// startTurn gives out a turn of h. All turns begin here.
func (p *Pacer) startTurn(h *host, scopes []*host, delay time.Duration, number uint64, now instant) Turn {
	f := &flight{number: number, host: h, limits: h.limits, started: now}
	f.places = append(append(f.place[:0], h), scopes...)
	unshared := false
	for _, s := range f.places {
		s.starts.last, s.starts.lastNumber, s.starts.youngest = now, number, max(s.starts.youngest, number)
		s.starts.flying++
		if s.lease != nil {
			unshared = unshared || s.lease.phase != held
			p.noteStart(s, now)
		}
	}
	h.starts.delay = delay
	h.starts.unanswered++
	if h.breaker != nil && h.breaker.open {
		h.breaker.probe = f
	}
	p.stats.Turns++
	p.stats.InFlight++
	if unshared {
		p.stats.Unshared++
	}
	return Turn{f}
}

// Sent reports that the request has only now been written to its connection:
// the gap behind it counts from here and no longer from the start of the turn.
// Name resolution and a handshake can take longer than the gap itself, and the
// server would see the next request right behind. Calling it is optional, and
// best done from httptrace.ClientTrace.WroteRequest. It changes nothing once another turn has
// started.
func (t Turn) Sent() {
	p, f := t.lockFlight()
	if f == nil {
		return
	}
	defer p.mu.Unlock()
	now := p.now()
	for _, s := range f.places {
		if s.starts.lastNumber == f.number {
			s.starts.last = now
		}
	}
	if f.host.starts.lastNumber == f.number {
		p.reschedule(f.host)
	}
}

// Answer reports the head of the answer as soon as it has arrived: a status that shows
// overload, an error with a Retry-After, or a quota with nothing left pauses the authority from
// this moment on. Only the first Answer counts. A request without an answer has none: end its turn
// with Fail, or with Done, which neither sets nor lifts anything.
func (t Turn) Answer(status int, header http.Header) {
	if t.flight == nil {
		return
	}
	health := t.flight.limits.health(status)
	wait, quota := t.flight.limits.waits(status, health, header)
	p, f := t.lockFlight()
	if f == nil {
		return
	}
	defer p.mu.Unlock()
	if f.answered || f.health == Failing {
		return
	}
	f.answered, f.health = true, health
	h := f.host // without a look at the clock, which few answers need
	h.starts.unanswered--
	before := h.pause.until
	if health == Overloaded || wait > 0 {
		h.pause.begin(f.started, p.now(), wait, h.limits.Pause)
		p.stats.Pauses++
	}
	switch health {
	case Failing:
		h.fail(f, "status "+strconv.Itoa(status), p.now())
	case Healthy:
		h.pause.recover(f.started)
		h.breaker.answerBegan(f)
	}
	if quota > 0 {
		h.pause.restUntil(p.now()+quota, ReasonQuota)
	}
	if h.pause.until > before {
		p.tellFleet(h)
		p.reschedule(h)
	}
	h.wake()
}

// Done ends the turn: the request is no longer in flight. Call it when the body
// has been closed or read to its end. Further calls do nothing.
func (t Turn) Done() {
	if p, f := t.lockFlight(); f != nil {
		p.endTurn(f)
		p.mu.Unlock()
	}
}

// endTurn ends the turn of f. All turns end here.
func (p *Pacer) endTurn(f *flight) {
	h := f.host
	f.ended = true
	if f.health == Healthy {
		h.succeed(f)
	}
	if !f.answered {
		h.starts.unanswered--
	}
	if b := h.breaker; b != nil && b.probe == f {
		b.probe = nil
	}
	p.stats.InFlight--
	h.starts.flying--
	p.findRoom(h.line.first()) // so that it is queued at a full scope before that scope wakes its first waiter
	for _, s := range f.places {
		if s != h {
			s.starts.flying--
		}
		if p.opts.Shared != nil { // otherwise nobody asks
			s.starts.measure(p.now() - f.started)
		}
		s.wake()
		p.noteEnd(s)
	}
}
