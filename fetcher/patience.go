package fetcher

import (
	"context"
	"sync"
	"time"

	"github.com/rfc9309/polite/policy"
)

// This file lets callers wait until the robots.txt of a host can be fetched: Options.Patience.

// waitingRoom is where callers wait for the robots.txt of an authority, until a set time or
// until the memory gets a record. All callers of an authority share one timer.
type waitingRoom struct {
	mu    sync.Mutex
	waits map[string]*robotsWait // by authority
}

// A robotsWait is the wait of all callers of one authority.
type robotsWait struct {
	at      time.Time
	timer   *time.Timer   // ends the wait at at
	over    chan struct{} // closed at the end of the wait
	callers int
}

// wait waits until at, until wake is called, or until ctx ends. It returns at once if isOver
// returns true. If ctx has a deadline that is not after at, it does not wait and returns false.
func (r *waitingRoom) wait(ctx context.Context, authority string, at time.Time, isOver func() bool) bool {
	if deadline, ok := ctx.Deadline(); ok && !at.Before(deadline) {
		return false
	}
	w := r.enter(authority, at)
	defer r.leave(authority, w)
	if isOver() { // wake may have been called before the caller was here
		return true
	}
	select {
	case <-w.over:
	case <-ctx.Done():
	}
	return true
}

// enter adds a caller to the wait of an authority, which ends at at or earlier.
func (r *waitingRoom) enter(authority string, at time.Time) *robotsWait {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.waits[authority]
	switch {
	case w == nil:
		w = &robotsWait{at: at, over: make(chan struct{})}
		w.timer = time.AfterFunc(time.Until(at), func() { r.end(authority, w) })
		if r.waits == nil {
			r.waits = make(map[string]*robotsWait)
		}
		r.waits[authority] = w
	case at.Before(w.at):
		w.at = at
		w.timer.Reset(time.Until(at))
	}
	w.callers++
	return w
}

// leave takes a caller out of a wait. The last one stops the timer.
func (r *waitingRoom) leave(authority string, w *robotsWait) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.callers--; w.callers == 0 && r.waits[authority] == w {
		w.timer.Stop()
		delete(r.waits, authority)
	}
}

// end ends a wait that has not ended.
func (r *waitingRoom) end(authority string, w *robotsWait) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w != nil && r.waits[authority] == w {
		w.timer.Stop()
		delete(r.waits, authority)
		close(w.over)
	}
}

// wake ends the wait of an authority, if there is one: there is news of its robots.txt.
func (r *waitingRoom) wake(authority string) {
	r.mu.Lock()
	w := r.waits[authority]
	r.mu.Unlock()
	r.end(authority, w)
}

// waitForRobots waits until at, or until the memory has another record than v.rec. Then
// v.rec is the record in memory, nil if that is due or if ctx has ended: the next step of the
// visit then returns the error. It returns false if ctx has a deadline before at.
func (e *engine) waitForRobots(ctx context.Context, v *visit, at time.Time) bool {
	old := v.rec
	if !e.waiting.wait(ctx, v.key, at, func() bool {
		rec := e.records.Get(v.key)
		return rec != old && !rec.Due(time.Now())
	}) {
		return false
	}
	v.rec = nil
	if rec := e.records.Get(v.key); ctx.Err() == nil && !rec.Due(time.Now()) {
		v.rec = rec
	}
	return true
}

// waitForRecovery waits for the end of a Defer of robots.txt if Options.Patience permits, and
// reports whether it has waited. The caller decides again.
func (t *Transport) waitForRecovery(ctx context.Context, v *visit, d *policy.Decision) bool {
	began := time.Now()
	if d.Verdict != policy.Defer || !d.RetryAt.After(began) || d.RetryAt.After(v.patientUntil) || !t.engine.waitForRobots(ctx, v, d.RetryAt) {
		return false
	}
	t.engine.watch.waitedForRobots(v.key, time.Since(began))
	return true
}
