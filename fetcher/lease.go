package fetcher

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
	// leaseLook is how long a process waits before it looks again for the record
	// that another process fetches. The wait doubles up to leaseMost.
	leaseLook = 50 * time.Millisecond
	leaseMost = time.Second
)

// lease makes this process the only one of its fleet that fetches the file, and returns the
// record in force. If release is nil, another process has just learnt that record, and
// nothing is left to do. Otherwise the caller fetches the file and then calls release.
//
// While another process has the lease, this one waits for the record. If the other process
// dies, its lease ends, and one of the processes that wait takes it. A process fetches
// without a lease if the store fails, if it has waited for as long as two fetches can take,
// or if it seems to have lost its network.
func (s *storage) lease(f *flight, old *policy.Record) (known *policy.Record, release func()) {
	alone := func() {}
	if _, silent := s.witness.evidence(f.key); s.fleet == nil || silent >= maxSilent {
		return old, alone
	}
	until := time.Now().Add(2 * (s.fetchTime + storeTime))
	for wait := leaseLook; ; wait = min(2*wait, leaseMost) {
		held, err := s.tryLease(f.key)
		if err != nil && !errors.Is(err, cache.ErrHeld) {
			s.watch.store("lease", f.key, err)
			return old, alone
		}
		// The lease may be free because its holder has just written the record.
		known = s.load(f, old)
		fresh := !known.Due(time.Now()) && (!f.force || differs(old, known))
		switch {
		case err == nil && !fresh:
			return known, func() { s.giveBack(held) }
		case fresh:
			if err == nil {
				s.giveBack(held)
			}
			s.watch.counts.storeHits.Add(1)
			return known, nil
		case time.Now().After(until):
			return known, alone
		}
		time.Sleep(wait)
	}
}

// differs reports whether known, which load has returned for old, is another record than
// old. Records are compared by the time of their next fetch.
func differs(old, known *policy.Record) bool { return !known.NextTry().Equal(old.NextTry()) }

// tryLease takes the lease if it is free. While releases hang, it takes none: it could not give
// the lease back.
func (s *storage) tryLease(key string) (release func(), err error) {
	if err := s.releases.Enter(time.Now()); err != nil {
		return nil, err
	}
	return inStore(context.Background(), s, &s.leases, func(ctx context.Context) (func(), error) {
		return s.fleet.Lease(ctx, s.key(key), leaseTTL)
	}, s.giveBack)
}

// giveBack gives a lease back, if there is one. The call is made even while other releases hang.
func (s *storage) giveBack(release func()) {
	if release == nil {
		return
	}
	bounded.InTime(context.Background(), s.watch.log, &s.releases, storeTime, func(context.Context) (none, error) { release(); return none{}, nil }, nil)
}

const (
	// vouchTime is how long an answer of one web server shows that this process has a
	// network. In that time its fleet believes it that another server does not answer.
	vouchTime = 5 * time.Minute
	// maxSilent is the number of fetches in a row without any answer after which the
	// process takes no more leases, so that no other process waits for it.
	maxSilent = 3
)

// A witness remembers which authorities answered last: evidence that the process has a
// network. It belongs to one storage.
type witness struct {
	mu     sync.Mutex
	key    string    // the authority that answered last
	at     time.Time // when it did
	others time.Time // when another authority than key answered last
	silent int       // fetches in a row without any answer
}

// noteFetch notes whether a fetch had an HTTP answer.
func (w *witness) noteFetch(key string, answered bool, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !answered {
		w.silent++
		return
	}
	if key != w.key {
		w.others = w.at
	}
	w.key, w.at, w.silent = key, at, 0
}

// evidence returns when an authority other than key answered last, and the number of fetches
// in a row without any answer.
func (w *witness) evidence(key string) (others time.Time, silent int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.key == key {
		return w.others, w.silent
	}
	return w.at, w.silent
}

// mayStore reports whether a flight's record may go to the store: not after Invalidate. A
// process that has lost its network, or cannot sign, must not mark sites as down for its
// fleet. A store that belongs to this process alone gets every other record.
func (s *storage) mayStore(f *flight) bool {
	others, _ := s.witness.evidence(f.key)
	switch {
	case f.invalidated.Load():
		return false
	case s.fleet == nil:
		return true
	}
	return !f.unsigned && (f.answered || time.Since(others) < vouchTime)
}
