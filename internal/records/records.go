// Package records keeps what a crawler knows of authorities: a [policy.Record] of each, in memory
// and in a cache.Store behind it (RFC 9309, section 2.4).
//
// [Cache.Find] looks a URL up in memory. A fetch works on the [Entry] of one authority:
// [Entry.Load] returns the record in force, [Entry.Lease] also waits for another process that
// fetches the same file, and [Entry.Save] keeps what the fetch has taught. [Cache.Forget] forgets
// an authority.
//
// Of two records of an authority the one learnt later is in force; [policy.Record.Merge] has the
// rule. The store may be shared by a fleet, and may fail, hang or return anything: a call takes
// three seconds at most, a failure counts as a miss, is reported, and changes no decision.
package records

import (
	"context"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/internal/bounded"
	"github.com/rfc9309/polite/internal/lru"
	"github.com/rfc9309/polite/policy"
)

// Settings are the choices of a Cache.
type Settings struct {
	MaxBytes  int64           // bounds the memory
	Store     cache.Store     // nil keeps the records in memory alone
	Profile   *policy.Profile // of all records
	FetchTime time.Duration   // the longest time of a fetch

	// Changed is called when the memory has got or lost the record of an authority.
	Changed func(authority string)
	// Failed gets each failure of the store, and the operation: "get", "put", "delete",
	// "lease", or "load" for a value that is no record.
	Failed func(op, authority string, err error)

	Log *slog.Logger // gets panics of the store
}

// A Cache keeps records. It is safe for concurrent use.
type Cache struct {
	Settings
	fleet   cache.Leaser // the store if a fleet shares it, else nil
	answers lastAnswers
	hits    atomic.Int64

	// The memory. Authorities that serve one text share it.
	records *lru.Cache[*policy.Record, *policy.Text]
	changes *lru.Cache[time.Time, struct{}] // when the text of an authority last changed, for LastChange
	mu      sync.Mutex
	tokens  []string // given to Register; a list is replaced and never changed

	// A breaker for each kind of call of the store.
	reads, writes, leases, releases bounded.Breaker
}

// New returns a Cache whose memory is empty.
func New(s Settings) *Cache {
	fleet, _ := s.Store.(cache.Leaser)
	return &Cache{
		Settings: s, fleet: fleet,
		records: lru.New[*policy.Record, *policy.Text](s.MaxBytes), changes: lru.New[time.Time, struct{}](changesBytes),
		reads: newBreaker(), writes: newBreaker(), leases: newBreaker(), releases: newBreaker(),
	}
}

// RobotsPath follows the authority in the URL of its robots.txt.
const RobotsPath = "/robots.txt"

// Get returns the record of an authority in memory, nil if there is none.
func (c *Cache) Get(authority string) *policy.Record {
	rec, _ := c.records.Get(authority)
	return rec
}

// Evict removes an authority from memory.
func (c *Cache) Evict(authority string) {
	c.records.Delete(authority)
	c.Changed(authority)
}

// All iterates over the records in memory, by authority, in no order.
func (c *Cache) All() iter.Seq2[string, *policy.Record] { return c.records.All() }

// Len returns the number of records in memory.
func (c *Cache) Len() int { return c.records.Len() }

// Bytes returns the bytes of memory in use.
func (c *Cache) Bytes() int64 { return c.records.Bytes() }

// Hits returns how many records were taken from the store.
func (c *Cache) Hits() int64 { return c.hits.Load() }

// LastChange returns when the text of an authority was last replaced by another one, if that is
// among the last 1,800 changes or so. Otherwise it returns the zero time.
func (c *Cache) LastChange(authority string) time.Time {
	at, _ := c.changes.Get(authority)
	return at
}

// NoteAnswer notes that an authority has just answered: this process has a network.
func (c *Cache) NoteAnswer(authority string) {
	if c.fleet != nil {
		c.answers.note(authority, true, time.Now())
	}
}

// An Entry is the record of one authority during one fetch. It belongs to the goroutine of that
// fetch, but for Invalidate.
type Entry struct {
	cache       *Cache
	authority   string
	invalidated atomic.Bool
	answered    bool   // a web server answered
	unsigned    bool   // the last request could not be signed
	stored      []byte // the value in the store when it was last read; nil if there was none
}

// Entry returns a new Entry.
func (c *Cache) Entry(authority string) *Entry { return &Entry{cache: c, authority: authority} }

// Load returns the record in force, nil if nothing is known: the record in memory, and with force,
// or if that is due, the record in the store as well.
func (e *Entry) Load(force bool) *policy.Record {
	old := e.cache.Get(e.authority)
	if !force && !old.Due(time.Now()) {
		return old
	}
	return e.newer(old)
}

// newer returns the record in force as load does, and remembers it if it is current and another
// one than old.
func (e *Entry) newer(old *policy.Record) *policy.Record {
	known := e.load(old)
	if !differs(old, known) {
		return known
	}
	e.cache.hits.Add(1)
	if known.Due(time.Now()) {
		return known
	}
	return e.remember(known)
}

// differs reports whether known, which load has returned for old, is another record than old.
// Records are compared by the time of their next fetch.
func differs(old, known *policy.Record) bool { return !known.NextTry().Equal(old.NextTry()) }

// LearntSince returns the record that another process has learnt since a wait began in which the
// lease of this process may have ended, nil if there is none.
func (e *Entry) LearntSince(began time.Time, old *policy.Record) *policy.Record {
	if e.cache.fleet == nil || time.Since(began) < leaseTTL {
		return nil
	}
	if known := e.newer(old); !known.Due(time.Now()) && differs(old, known) {
		return known
	}
	return nil
}

// Learn keeps the record that a fetch has taught in memory, where it is in force at once. It
// returns that record, whose text may now be shared with other authorities.
func (e *Entry) Learn(rec *policy.Record, a *policy.Attempt) *policy.Record {
	answered := a.Status != 0 || len(a.Hops) > 0
	e.answered = e.answered || answered
	failure, failed := a.Err.(*policy.Failure)
	e.unsigned = failed && failure.Class == policy.Sign
	e.cache.answers.note(e.authority, answered, a.Received)
	return e.remember(rec)
}

// remember keeps a record in memory and returns it. The record of an authority that was invalidated
// meanwhile governs no further URL.
func (e *Entry) remember(rec *policy.Record) *policy.Record {
	rec = e.cache.remember(rec)
	if e.invalidated.Load() {
		e.cache.records.Delete(e.authority)
	}
	e.cache.Changed(e.authority)
	return rec
}

// Invalidate says that what this fetch knows of the authority, and what it learns, is to be
// forgotten. It may be called from any goroutine.
func (e *Entry) Invalidate() { e.invalidated.Store(true) }

// Invalidated reports whether the authority was invalidated.
func (e *Entry) Invalidated() bool { return e.invalidated.Load() }

// Restart reports whether the authority was invalidated. Then it forgets the record in the store,
// and the Entry can be used for a new fetch.
func (e *Entry) Restart() bool {
	if !e.invalidated.Swap(false) {
		return false
	}
	e.cache.Forget(context.Background(), e.authority) // reports a failure
	e.stored = nil
	return true
}
