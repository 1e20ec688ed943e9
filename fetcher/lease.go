package fetcher

import (
	"context"
	"errors"
	"net/http"
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

// lease makes this process the only one of its fleet that fetches the file. It
// returns the record in force and, unless that is fresh because another process has
// just learnt it, the function that gives the lease back.
//
// A process waits for the record, not for the lease of the process that fetches it.
// A lease ends with its holder, and then one of those who wait takes it. The process
// fetches without a lease if the store fails, if two holders in a row have had all
// of their time, or if it seems to have lost its network.
func (s *storage) lease(f *flight, old *policy.Record, force bool) (release func(), known *policy.Record, fresh bool) {
	alone := func() {}
	if s.fleet == nil || s.witness.lost() {
		return alone, old, false
	}
	until := time.Now().Add(2 * (s.fetch + storeTime))
	for wait := leaseLook; ; wait = min(2*wait, leaseMost) {
		release, err := s.tryLease(f.key)
		if err != nil && !errors.Is(err, cache.ErrHeld) {
			s.failed("lease", f.key, err)
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

// reload returns the record in force after another look into the store. fresh reports
// whether another process has learnt it since old.
func (s *storage) reload(f *flight, old *policy.Record) (known *policy.Record, fresh bool) {
	if s.fleet == nil {
		return old, false
	}
	known = s.load(f, old)
	return known, !known.Due(time.Now()) && differs(old, known)
}

// differs reports whether known, which load has returned for old, is another record
// than old.
func differs(old, known *policy.Record) bool { return !known.NextTry().Equal(old.NextTry()) }

// tryLease takes the lease if it is free. While releases hang, it takes none.
func (s *storage) tryLease(key string) (release func(), err error) {
	if err := s.releases.Enter(time.Now()); err != nil {
		return nil, err
	}
	return inStore(context.Background(), s, &s.leases, func(ctx context.Context) (func(), error) {
		release, err := s.fleet.Lease(ctx, s.key(key), leaseTTL)
		if err == nil && release != nil && ctx.Err() != nil { // nobody waits for it any more
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
	// vouchTime is how long ago a process may have had its last answer from one web
	// server to be believed when it reports that another one does not answer.
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

// note notes whether a fetch had an HTTP answer.
func (w *witness) note(key string, answered bool, at time.Time) {
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

// witnessPage notes the answer to a page request, if there is a fleet.
func (s *storage) witnessPage(req *http.Request) {
	if s.fleet == nil {
		return
	}
	if key, err := Authority(addressed(req)); err == nil {
		s.witness.note(key, true, time.Now())
	}
}

// others reports whether an authority other than key has answered after since.
func (w *witness) others(key string, since time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.last
	if s.key == key {
		s = w.before
	}
	return s.at.After(since)
}

// lost reports whether this process seems to have lost its network.
func (w *witness) lost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.silent >= maxSilent
}

// credible reports whether a flight's record may go to the store. A process that has
// lost its network, or cannot sign, must not mark sites as down for its fleet. A store
// that belongs to this process alone gets every record.
func (s *storage) credible(f *flight) bool {
	return s.fleet == nil || !f.unsigned && (f.answered || s.witness.others(f.key, time.Now().Add(-vouchTime)))
}
