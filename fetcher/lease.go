package fetcher

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/policy"
)

// This file keeps the processes of a fleet from fetching the same file.

const (
	// leaseTTL is the longest time that a process which has died, or is cut
	// off, keeps the rest of its fleet from a site.
	leaseTTL = 3 * time.Second
	// leaseLook is how long a process waits before it looks again for the record
	// that another process fetches. The wait doubles up to leaseMost.
	leaseLook = 50 * time.Millisecond
	leaseMost = time.Second
)

// lease makes this process the only one of its fleet that fetches the file, and returns the
// record in force. If fresh is true, another process has just learnt that record, and
// nothing is left to do. Otherwise the caller fetches the file and then calls release.
//
// While another process has the lease, this one waits for the record. If the other process
// dies, its lease ends, and one of the processes that wait takes it. A process fetches
// without a lease if the store fails, if it has waited for as long as two fetches can take,
// or if it seems to have lost its network.
func (s *storage) lease(f *flight, old *policy.Record, force bool) (release func(), known *policy.Record, fresh bool) {
	alone := func() {}
	if s.fleet == nil || s.witness.seemsOffline() {
		return alone, old, false
	}
	until := time.Now().Add(2 * (s.fetchTime + storeTime))
	for wait := leaseLook; ; wait = min(2*wait, leaseMost) {
		release, err := s.tryLease(f.key)
		if err != nil && !errors.Is(err, cache.ErrHeld) {
			s.reportFailure("lease", f.key, err)
			return alone, old, false
		}
		// The lease may be free because its holder has just written the record.
		known = s.load(f, old)
		if !known.Due(time.Now()) && (!force || differs(old, known)) {
			if err == nil {
				s.giveBack(release)
			}
			s.counts.storeHits.Add(1)
			return alone, known, true
		}
		if err == nil {
			return func() { s.giveBack(release) }, known, false
		}
		if time.Now().After(until) {
			return alone, known, false
		}
		time.Sleep(wait)
	}
}

// reload reads the store once more and returns the record in force. fresh reports whether
// another process has learnt it since old, and it is not due.
func (s *storage) reload(f *flight, old *policy.Record) (known *policy.Record, fresh bool) {
	if s.fleet == nil {
		return old, false
	}
	known = s.load(f, old)
	return known, !known.Due(time.Now()) && differs(old, known)
}

// differs reports whether known, which load has returned for old, is another record than
// old. Records are compared by the time of their next fetch.
func differs(old, known *policy.Record) bool { return !known.NextTry().Equal(old.NextTry()) }

// tryLease takes the lease if it is free. While releases hang, it takes none.
func (s *storage) tryLease(key string) (release func(), err error) {
	if err := s.releases.Enter(time.Now()); err != nil {
		return nil, err
	}
	return inStore(context.Background(), s, &s.leases, func(ctx context.Context) (func(), error) {
		release, err := s.fleet.Lease(ctx, s.key(key), leaseTTL)
		if err == nil && release != nil && ctx.Err() != nil { // the caller no longer waits
			release()
		}
		return release, err
	})
}

// giveBack gives a lease back. A panic of the store is caught.
func (s *storage) giveBack(release func()) {
	if release != nil {
		inTime(context.Background(), s, &s.releases, func(context.Context) (none, error) { release(); return none{}, nil })
	}
}

const (
	// vouchTime is how long an answer of one web server shows that this process has a
	// network. In that time its fleet believes it that another server does not answer.
	vouchTime = 5 * time.Minute
	// maxSilent is the number of fetches in a row without any answer after which the
	// process takes no more leases, so that no other process waits for it.
	maxSilent = 3
)

// A witness remembers which two authorities answered last: evidence that the
// process has a network.
type witness struct {
	mu           sync.Mutex
	last, before sighting
	silent       int // fetches in a row without any answer
}

// A sighting is an answer of an authority.
type sighting struct {
	key string // the authority
	at  time.Time
}

// noteFetch notes whether a fetch had an HTTP answer.
func (w *witness) noteFetch(key string, answered bool, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !answered {
		w.silent++
		return
	}
	if key != w.last.key {
		w.before = w.last
	}
	w.last, w.silent = sighting{key, at}, 0
}

// othersAnswered reports whether an authority other than key has answered after since.
func (w *witness) othersAnswered(key string, since time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.last
	if s.key == key {
		s = w.before
	}
	return s.at.After(since)
}

// seemsOffline reports whether this process seems to have lost its network.
func (w *witness) seemsOffline() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.silent >= maxSilent
}

// mayStore reports whether a flight's record may go to the store. A process that has
// lost its network, or cannot sign, must not mark sites as down for its fleet. A store
// that belongs to this process alone gets every record.
func (s *storage) mayStore(f *flight) bool {
	return s.fleet == nil || !f.unsigned && (f.answered || s.witness.othersAnswered(f.key, time.Now().Add(-vouchTime)))
}
