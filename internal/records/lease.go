package records

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/internal/bounded"
	"github.com/rfc9309/polite/policy"
)

// This file keeps the processes of a fleet from fetching the same file.

const (
	// leaseTTL is the longest time that a process which has died, or is cut
	// off, keeps the rest of its fleet from a site.
	leaseTTL = 3 * time.Second
	// minLook is how long a process waits before it looks again for the record
	// that another process fetches. The wait doubles up to maxLook.
	minLook = 50 * time.Millisecond
	maxLook = time.Second
)

// Lease returns the record in force, and makes this process the only one of its fleet that fetches
// the file: the caller fetches it and then calls release. If release is nil, nothing is left to
// do, since the record is not due; learnt says that another process has just learnt it. With
// force, only such a record is good enough.
//
// While another process has the lease, this one waits for the record. If the other process
// dies, its lease ends, and one of the processes that wait takes it. A process fetches
// without a lease if the store fails, if it has waited for as long as two fetches can take,
// or if it seems to have lost its network.
func (e *Entry) Lease(force bool) (known *policy.Record, learnt bool, release func()) {
	old := e.Load(force)
	if !force && !old.Due(time.Now()) {
		return old, false, nil
	}
	c, alone := e.cache, func() {}
	if _, silent := c.answers.seen(e.authority); c.fleet == nil || silent >= maxSilent {
		return old, false, alone
	}
	until := time.Now().Add(2 * (c.FetchTime + storeTime))
	for wait := minLook; ; wait = min(2*wait, maxLook) {
		held, err := c.tryLease(e.authority)
		if err != nil && !errors.Is(err, cache.ErrHeld) {
			c.Failed("lease", e.authority, err)
			return old, false, alone
		}
		// The lease may be free because its holder has just written the record.
		known = e.load(old)
		fresh := !known.Due(time.Now()) && (!force || differs(old, known))
		switch {
		case err == nil && !fresh:
			return known, false, func() { c.giveBack(held) }
		case fresh:
			c.giveBack(held)
			c.hits.Add(1)
			return e.remember(known), true, nil
		case time.Now().After(until):
			return known, false, alone
		}
		time.Sleep(wait)
	}
}

// tryLease takes the lease if it is free. While releases hang, it takes none: it could not give
// the lease back.
func (c *Cache) tryLease(key string) (release func(), err error) {
	if err := c.releases.Enter(time.Now()); err != nil {
		return nil, err
	}
	return inStore(context.Background(), c, &c.leases, func(ctx context.Context) (func(), error) {
		return c.fleet.Lease(ctx, c.key(key), leaseTTL)
	}, c.giveBack)
}

// giveBack gives a lease back, if there is one. The call is made even while other releases hang.
func (c *Cache) giveBack(release func()) {
	if release == nil {
		return
	}
	bounded.InTime(context.Background(), c.Log, &c.releases, storeTime, func(context.Context) (struct{}, error) { release(); return struct{}{}, nil }, nil)
}

const (
	// vouchTime is how long an answer of one web server shows that this process has a
	// network. In that time its fleet believes it that another server does not answer.
	vouchTime = 5 * time.Minute
	// maxSilent is the number of fetches in a row without any answer after which the
	// process takes no more leases, so that no other process waits for it.
	maxSilent = 3
)

// lastAnswers says which authorities answered last, which shows that the process has a network.
type lastAnswers struct {
	mu        sync.Mutex
	key       string    // the authority that answered last
	at        time.Time // when it did
	beforeKey time.Time // when another authority answered last
	silent    int       // fetches in a row without any answer
}

// note notes whether a request to an authority had an HTTP answer.
func (l *lastAnswers) note(key string, answered bool, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !answered {
		l.silent++
		return
	}
	if key != l.key {
		l.beforeKey = l.at
	}
	l.key, l.at, l.silent = key, at, 0
}

// seen returns when an authority other than except answered last, and the number of fetches
// in a row without any answer.
func (l *lastAnswers) seen(except string) (at time.Time, silent int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key == except {
		return l.beforeKey, l.silent
	}
	return l.at, l.silent
}

// mayStore reports whether the record may go to the store: not after Invalidate. A
// process that has lost its network, or cannot sign, must not mark sites as down for its
// fleet. A store that belongs to this process alone gets every other record.
func (e *Entry) mayStore() bool {
	network, _ := e.cache.answers.seen(e.authority)
	switch {
	case e.invalidated.Load():
		return false
	case e.cache.fleet == nil:
		return true
	}
	return !e.unsigned && (e.answered || time.Since(network) < vouchTime)
}
