package fetcher

import (
	"net/http"
	"net/url"
	"time"

	"github.com/rfc9309/polite/internal/bounded"
	"github.com/rfc9309/polite/policy"
)

// This file keeps a robots.txt that another authority redirected to: RFC 9309, section 2.3.1.2.

// targetAttempt returns the authority whose own robots.txt was fetched because a single redirect
// led to it, and that fetch as if it had been made for that authority: the request would be the
// same. It reports false if a was no such fetch, or had no complete answer.
func (e *engine) targetAttempt(a *policy.Attempt, sent time.Time) (key string, target policy.Attempt, ok bool) {
	if len(a.Hops) != 1 || a.Err != nil || a.Status/100 != 2 && a.Status/100 != 4 {
		return "", target, false
	}
	u, err := url.Parse(a.Served)
	if err == nil {
		key, err = e.authority(u)
	}
	if err != nil || a.Served != key+robotsPath || a.Robots == a.Served {
		return "", target, false
	}
	return key, policy.Attempt{
		Robots: a.Served, Served: a.Served, Status: a.Status, Header: http.Header.Clone(a.Header), Body: a.Body, Cut: a.Cut,
		Sent: sent, Received: a.Received,
	}, true
}

// learnTarget makes the record of the authority that a redirect led to, with the key, the lifetime
// and the validators of that authority. It does nothing if that authority has a current record,
// or a flight. The caller is the flight of another authority, and has a complete answer.
//
// It does not wait in a circle: it waits for a flight only if that began after the look into
// inFlight, and so after the flight of the caller.
func (e *engine) learnTarget(key string, a policy.Attempt) {
	if _, busy := e.inFlight.Load(key); busy {
		return
	}
	e.flights.Do(key, func() (any, error) {
		f := &flight{key: key}
		f.hasTurn.Store(true) // whoever joins it waits for no turn
		e.inFlight.Store(key, f)
		defer e.inFlight.Delete(key)
		return f, bounded.Do(e.watch.log, func() error { e.keepTarget(f, a); return nil })
	})
}

// keepTarget learns from the attempt, remembers the record and saves it. It leaves f.rec nil if
// the authority was invalidated meanwhile.
func (e *engine) keepTarget(f *flight, a policy.Attempt) {
	old, _ := e.memory.records.Get(f.key)
	known := old
	if old.Due(a.Received) {
		known = e.storage.load(f, old)
	}
	if s := known.State(a.Received); !known.Due(a.Received) && s.Access != policy.Unreachable {
		f.rec = e.remember(f, known)
		return
	}
	rec := e.learn(f, known, &a)
	if merged := e.storage.save(f, rec); merged != rec {
		rec = e.remember(f, merged)
	}
	if !f.invalidated.Load() {
		f.rec = rec
	}
}
