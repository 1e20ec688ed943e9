package records

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/policy"
)

// A fleet is a store with leases that several Caches share.
type fleet struct {
	*cache.Memory
	mu   sync.Mutex
	held map[string]bool
}

func (f *fleet) Lease(_ context.Context, key string, _ time.Duration) (func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held[key] {
		return nil, cache.ErrHeld
	}
	f.held[key] = true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.held, key)
	}, nil
}

// over returns a process with an empty memory over the store.
func over(t *testing.T, store cache.Store) *Cache {
	return New(Settings{
		MaxBytes: 1 << 20, Store: store, Profile: policy.RFC9309(), FetchTime: 30 * time.Second,
		Changed: func(string) {}, Failed: func(op, key string, err error) { t.Errorf("%s %s: %v", op, key, err) },
		Log: slog.New(slog.DiscardHandler),
	})
}

// missing is a fetch that has just found no file.
func missing(e *Entry) *policy.Record {
	a := policy.Attempt{Robots: e.authority + RobotsPath, Status: 404, Received: time.Now()}
	return e.Save(e.Learn(policy.RFC9309().Learn(e.Load(false), a), &a))
}

const site = "https://example.com"

// One of two processes fetches the file, and the other one waits for its record.
func TestOneOfAFleetFetches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fleet{Memory: cache.NewMemory(1 << 20), held: map[string]bool{}}
		first, second := over(t, store), over(t, store)
		mine := first.Entry(site)
		known, learnt, release := mine.Lease(false)
		if known != nil || learnt || release == nil {
			t.Fatalf("7/first: got %v, %v; want the lease", known, learnt)
		}
		time.AfterFunc(10*time.Second, func() { missing(mine); release() })
		began := time.Now()
		known, learnt, release = second.Entry(site).Lease(false)
		if took := time.Since(began); known.State(began).Status != 404 || !learnt || release != nil || took < 10*time.Second || took > 12*time.Second {
			t.Errorf("7/second: got %v, %v after %v; want the record of the first after 10s", known, learnt, took)
		}
		if rec := second.Get(site); rec != known || second.Hits() != 1 {
			t.Errorf("7/second: the memory has %v after %d hits, want that record after 1", rec, second.Hits())
		}
	})
}

// A record that is forgotten is neither in memory nor in the store, and what a fetch that was
// invalidated learns is kept in neither.
func TestForget(t *testing.T) {
	store := cache.NewMemory(1 << 20)
	c := over(t, store)
	missing(c.Entry(site))
	if c.Get(site) == nil || over(t, store).Entry(site).Load(false) == nil {
		t.Fatal("2.4/saved: got no record, want one in memory and in the store")
	}
	c.Evict(site)
	if err := c.Forget(t.Context(), site); err != nil || c.Entry(site).Load(false) != nil {
		t.Errorf("2.4/forgotten: got %v, %v; want no record", c.Entry(site).Load(false), err)
	}
	e := c.Entry(site)
	e.Invalidate()
	if missing(e); c.Entry(site).Load(false) != nil {
		t.Error("2.4/invalidated: got a record, want none")
	}
	if !e.Restart() || missing(e) == nil || c.Get(site) == nil {
		t.Error("2.4/restarted: got no record, want the one of the second fetch")
	}
}
