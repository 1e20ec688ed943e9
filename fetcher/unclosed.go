package fetcher

import (
	"context"
	"sync"
	"time"

	"github.com/rfc9309/polite/policy"
)

// This file gives turns back that a caller has forgotten. A turn ends with the body of the answer,
// and many programs do not close every body.

// unclosedBodies are the answers to paced pages whose bodies are open. A body that nobody reads
// for some time is forgotten: it gives its turn back, and the first one of a host is reported.
//
// One timer watches all of them, so a request costs no timer of its own: the list is swept when
// the next body could have been forgotten. The timer runs only while there is one.
type unclosedBodies struct {
	idle time.Duration // a body that nobody reads for so long is forgotten

	mu       sync.Mutex
	pages    []*page // in no order; each knows its index
	watched  bool    // the timer runs
	reported map[string]bool
}

const (
	// sweeps bounds how often the list is swept: so many times in unclosedBodies.idle.
	sweeps = 16

	// maxUnclosed bounds the authorities that are known to be reported. When there are more, all
	// of them are forgotten, so an authority may be reported again.
	maxUnclosed = 1000
)

// add watches the body of p from now on.
func (u *unclosedBodies) add(p *page) {
	u.mu.Lock()
	defer u.mu.Unlock()
	p.index = len(u.pages)
	u.pages = append(u.pages, p)
	if !u.watched {
		u.watched = true
		time.AfterFunc(u.idle, u.sweep)
	}
}

// remove ends the watch of a page, if there is one.
func (u *unclosedBodies) remove(p *page) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drop(p)
}

// drop is remove with the lock held.
func (u *unclosedBodies) drop(p *page) {
	if p.index >= len(u.pages) || u.pages[p.index] != p {
		return
	}
	last := len(u.pages) - 1
	u.pages[p.index], u.pages[last].index = u.pages[last], p.index
	u.pages[last] = nil
	u.pages = u.pages[:last]
}

// sweep ends the turns of the bodies that are forgotten, and begins the next wait.
func (u *unclosedBodies) sweep() {
	var forgotten []*page
	wait := u.idle
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := len(u.pages) - 1; i >= 0; i-- { // drop puts one in its place that has been looked at
		p := u.pages[i]
		if left := u.idle - p.unreadFor(); left > 0 {
			wait = min(wait, left)
			continue
		}
		u.drop(p)
		forgotten = append(forgotten, p)
	}
	if u.watched = len(u.pages) > 0; u.watched {
		time.AfterFunc(max(wait, u.idle/sweeps), u.sweep)
	}
	for _, p := range forgotten {
		go p.giveUp() // ends with the turn and the hook
	}
}

// isNew reports whether no body of an authority was reported before.
func (u *unclosedBodies) isNew(authority string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.reported[authority] {
		return false
	}
	if u.reported == nil || len(u.reported) >= maxUnclosed {
		u.reported = make(map[string]bool)
	}
	u.reported[authority] = true
	return true
}

// beingRead is the page.unread of a body in a Read.
const beingRead = -1

// unreadFor returns how long nobody has read the body of p, 0 while somebody does.
func (p *page) unreadFor() time.Duration {
	since := time.Duration(p.unread.Load())
	if since == beingRead {
		return 0
	}
	return time.Since(p.opened) - since
}

// open begins the time in which the body of p is open.
func (p *page) open() {
	p.opened = time.Now()
	if p.ctx.Done() != nil {
		p.stop = context.AfterFunc(p.ctx, p.contextEnded)
	}
	p.engine.unclosed.add(p)
}

// end ends the time in which the body of p is open, and the turn with it.
func (p *page) end() {
	p.engine.unclosed.remove(p)
	p.endTurn()
	p.free()
}

// endTurn ends the turn of p. A body that is still open may be read and closed later.
func (p *page) endTurn() {
	if p.stop != nil {
		p.stop()
	}
	p.turn.Done()
}

// contextEnded ends the turn of p with the context of its request. A body in a Read has failed
// then: once the turn has ended, it is too late to report what Read returns.
func (p *page) contextEnded() {
	if p.unread.Load() == beingRead && !p.closed.Load() {
		p.fail(&policy.Failure{Class: policy.Body, Err: p.ctx.Err()})
	}
	p.turn.Done()
}

// giveUp ends the turn of p, which was forgotten, and reports the body.
func (p *page) giveUp() {
	p.endTurn()
	target := targetOf(p.caller)
	if key, err := Authority(target); err == nil && p.engine.unclosed.isNew(key) {
		p.engine.watch.unclosed(target.Redacted(), p.opened)
	}
}
