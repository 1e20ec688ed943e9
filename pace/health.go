package pace

import (
	"fmt"
	"net/http"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/status"
)

// Health is what an answer says of the host that gave it.
type Health uint8

const (
	Neutral    Health = iota // nothing
	Healthy                  // the host works: it serves pages, or knows that there is none
	Failing                  // the host is broken: after Limits.Failures in a row it rests
	Overloaded               // the host wants fewer requests: a pause begins
)

var healthNames = [...]string{"neutral", "healthy", "failing", "overloaded"}

// String returns the name of h in lower case.
func (h Health) String() string {
	if int(h) < len(healthNames) {
		return healthNames[h]
	}
	return fmt.Sprintf("health(%d)", uint8(h))
}

// health returns what the status of an answer says of the host: what Limits.Statuses says,
// or else the list of package status. A 403 is Neutral, since a guard may turn the crawler away.
func (l *Limits) health(code int) Health {
	if h, ok := l.Statuses[code]; ok || l.Off {
		return h
	}
	if 200 <= code && code <= 399 || code == http.StatusNotFound || code == http.StatusGone {
		return Healthy
	}
	switch status.Of(code) {
	case status.Fails:
		return Failing
	case status.Pauses:
		return Overloaded
	}
	return Neutral
}

// A breaker leaves a host alone that keeps failing. It has two states:
//
//	closed   requests may start. Each failure counts, and a success sets the count to 0.
//	open     the host rests. Then one request at a time may start, the probe, and
//	         all others wait for its answer.
//
// Limits.Failures in a row open it. A probe that fails begins the next rest, twice as
// long. A probe whose answer begins well closes the breaker, so that nobody waits for a
// long body. But the count stays until a request has succeeded to its end, so one failure
// opens the breaker again. A probe without an outcome leaves its place to the next request
// in line. Requests that began before the latest rest say nothing: what made them fail is what
// that rest is for.
type breaker struct {
	failures int           // number of failures in a row
	since    instant       // when the first of them was, or when this process learnt of them
	cause    string        // what the last failure was
	took     time.Duration // how long the last failed request took
	open     bool          // only a probe may start
	probe    *flight       // the probe under way; nil if there is none
	opened   instant       // when the latest rest began
	rest     time.Duration // length of the latest rest, halved by each success since
}

// fail counts a failed request of h.
func (h *host) fail(f *flight, cause string, now instant) {
	if h.breaker == nil {
		h.breaker = &breaker{opened: never}
	}
	b, l := h.breaker, h.limits
	if f.started <= b.opened {
		return
	}
	if b.failures == 0 {
		b.since = now
	}
	b.failures++
	b.cause, b.took = cause, now-f.started
	if b.open || b.failures >= l.Failures {
		b.rest = min(max(2*b.rest, l.Rest), l.RestMax)
		b.open, b.probe, b.opened = true, nil, now
		h.pause.restUntil(now+b.rest, ReasonBreaker)
		h.pacer.stats.Rests++
	}
}

// succeed counts a request of h that succeeded.
func (h *host) succeed(f *flight) {
	b := h.breaker
	if b == nil || f.started <= b.opened {
		return
	}
	b.failures, b.open, b.probe = 0, false, nil
	if b.rest /= 2; b.rest < h.limits.Rest {
		b.rest = 0
	}
}

// answerBegan notes that the answer to a flight began well. If it is the probe, the breaker closes.
func (b *breaker) answerBegan(f *flight) {
	if b != nil && b.probe == f {
		b.open, b.probe = false, nil
	}
}

// troubled reports whether the next failure may begin a rest.
func (b *breaker) troubled() bool { return b != nil && (b.open || b.failures > 0) }

// atLimit reports whether the requests without an answer are all that the breaker
// permits: one probe, or as many as may still fail before it opens.
func (b *breaker) atLimit(unanswered, failures int) bool {
	switch {
	case b == nil:
		return false
	case b.open:
		return b.probe != nil
	}
	return b.failures > 0 && unanswered >= max(failures-b.failures, 1)
}

// probing returns when the probe under way started, never if there is none.
func (b *breaker) probing() instant {
	if b == nil || !b.open || b.probe == nil {
		return never
	}
	return b.probe.started
}

// probeDue returns when the probe is expected to end: it takes as long as the failure before
// it. Without a probe the result is never.
func (b *breaker) probeDue() instant {
	if since := b.probing(); since > never {
		return since + b.took
	}
	return never
}

// trouble says what failed at a host with a breaker and when the next request tries, in
// words fit for a log.
func (h *host) trouble(now instant) string {
	b := h.breaker
	next := "fewer requests at once until one succeeds"
	switch since := b.probing(); {
	case since > never:
		next = "one request has been testing the host since " + clockTime(since-now)
	case b.open:
		next = "one request tries again at " + clockTime(h.pause.until-now)
	}
	noun := "requests"
	if b.failures == 1 {
		noun = "request"
	}
	return fmt.Sprintf("%d failed %s in a row, the last with %s; %s", b.failures, noun, b.cause, next)
}

// clockTime returns the time of day d from now.
func clockTime(d time.Duration) string { return time.Now().Add(d).UTC().Format("15:04:05Z") }

// Fail ends the turn and reports that the request got no answer, or no complete one, for a reason
// that lies with the host or with the way to it: a timeout, a refused connection. The text of err is
// part of [RefusedError.Trouble]. If the caller itself gave up, call Done alone. A nil error is Done.
func (t Turn) Fail(err error) {
	p, f := t.lockFlight()
	if f == nil {
		return
	}
	defer p.mu.Unlock()
	h, before := f.host, f.host.pause.until
	if err != nil && f.health != Failing && !h.limits.Off {
		f.health = Failing
		h.fail(f, "no complete answer ("+clean.Text(err.Error(), 100)+")", p.now())
	}
	p.endTurn(f)
	if h.pause.until > before {
		p.tellFleet(h)
	}
	p.reschedule(h)
}
