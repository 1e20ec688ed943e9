package pace

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/rfc9309/polite/internal/retry"
)

// A pause keeps every request from a host for some time, after an answer that asked for fewer
// requests, or while the breaker is open.
type pause struct {
	set   instant       // when the last pause after an answer was set
	until instant       // no start before this
	why   Reason        // what until is for
	level time.Duration // length that the next pause starts from; 0 without trouble
}

// begin begins a pause after an answer to a request that started at started. wait is the
// Retry-After, 0 if there is none. The pause is no longer than limit.
//
// Requests that were in flight when a pause began may bring the same answer. Only an answer to a
// later request doubles the pause again. The level never falls here and until never moves back, so
// no error answer makes a pause shorter.
func (p *pause) begin(started, now instant, wait, limit time.Duration) {
	switch {
	case wait > 0:
		p.level = max(p.level, wait)
		wait = p.level
	case p.level == 0 || started > p.set:
		p.level = min(max(2*p.level, firstPause), limit)
		fallthrough
	default:
		wait = min(p.level+rand.N(p.level/4+1), limit)
	}
	p.set = now
	p.restUntil(now+wait, ReasonPause)
}

// restUntil forbids starts before until.
func (p *pause) restUntil(until instant, why Reason) {
	if until > p.until {
		p.until, p.why = until, why
	}
}

// recover halves what the next pause starts from. A success of a request that
// was in flight when the pause began says nothing about the time since.
func (p *pause) recover(started instant) {
	if p.level == 0 || started <= p.set {
		return
	}
	p.level /= 2
	if p.level < firstPause {
		p.level = 0
	}
}

// waits returns the Retry-After of an answer that shows overload or any error, and how long a
// quota with nothing left lasts. Both are 0 if there is none.
func (l *Limits) waits(status int, health Health, header http.Header) (wait, quota time.Duration) {
	if l.Off {
		return 0, 0
	}
	found := false
	if health == Overloaded || status >= 400 {
		wait, found = retry.After(header, time.Now(), l.Pause)
	}
	if !found {
		quota, _ = retry.Quota(header, time.Now, l.Pause)
	}
	return wait, quota
}
