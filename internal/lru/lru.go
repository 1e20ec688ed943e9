// Package lru is a map from keys to values that is bounded in octets and, when full, forgets what was
// used least recently. It serves the memory of the fetcher and cache.Memory.
//
// # What is counted
//
// The bound holds for what the map really retains: the cost of each key and value as their owner states
// it, the slots and index of the map itself, used or not, and each [Part] once. Bytes returns that sum.
// It exceeds the bound only during a Put.
//
// The map keeps the string that is put as a key. Where the value has its key's octets somewhere, that
// string should be a slice of them: it is one object less for the collector, and they are paid for once.
//
// # Parts
//
// A value may hold a part in common with other values: a million hosts of one platform serve one file.
// A part is found by a hash of its content, is held once, is charged once while at least one entry
// holds it, and is given back with the last.
//
// # Order and locks
//
// Keys are spread over shards by a keyed hash, so that no choice of keys can crowd one shard. The bound is
// common to all shards: the entry that goes is the oldest of the whole map, in whichever shard it is.
// A hit takes a read lock alone if its entry is among the newest 1/64 of the map; else it moves the
// entry to the front of its shard under a short write lock. So the order is that of use, give or take
// 1/64 of the map, and readers of one busy key never queue. The caller's code is never run under a lock.
package lru

import (
	"hash/maphash"
	"iter"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	maxShards = 64
	// A map of less than shardBytes has one shard: sixty-four sets of free slots would eat its bound.
	shardBytes = 64 << 10
	// Entries within the newest 1<<-freshBits of the map are not moved by a hit.
	freshBits = 6
)

// Cache is a bounded map of string keys to values of type V, which may share parts of type S.
// Its methods may be called from any number of goroutines. The zero Cache is not usable; see [New].
type Cache[V, S any] struct {
	max   int64
	seed  maphash.Seed
	shift uint // a hash shifted right by this is its shard's number
	parts parts[S]

	evicting sync.Mutex // taken before the lock of any shard

	// What follows changes with every Put; the padding keeps it off the line that every Get reads.
	_      [64]byte
	bytes  atomic.Int64
	length atomic.Int64
	clock  atomic.Uint32 // two ticks a Put; see now
	_      [64]byte
	shards []shard[V, S]
}

// New returns an empty map that keeps at most max octets. If max is zero or less it keeps nothing.
func New[V, S any](max int64) *Cache[V, S] {
	n := 1
	if max > shardBytes {
		n = maxShards
	}
	c := &Cache[V, S]{
		max:    max,
		seed:   maphash.MakeSeed(),
		shift:  uint(64 - bits.TrailingZeros(uint(n))),
		shards: make([]shard[V, S], n),
	}
	for i := range c.shards {
		c.shards[i].clear()
	}
	return c
}

// Get returns the value under key and counts as a use of it. It allocates nothing.
func (c *Cache[V, S]) Get(key string) (V, bool) {
	hash, s := c.home(key)
	s.mu.RLock()
	id, ok := s.find(hash, key)
	if !ok {
		s.mu.RUnlock()
		var none V
		return none, false
	}
	e := &s.entries[id]
	value := e.value
	now := c.now()
	old := now-e.stamp > c.fresh(s)
	s.mu.RUnlock()
	if old {
		s.promote(hash, key, now)
	}
	return value, true
}

// GetBytes is Get with a key held in a slice, which is neither kept nor changed.
func (c *Cache[V, S]) GetBytes(key []byte) (V, bool) {
	// The string lives no longer than this call, and Get keeps no key: the caller may write to the
	// slice afterwards. A conversion would allocate, on the path of every warm ruling.
	return c.Get(unsafe.String(unsafe.SliceData(key), len(key)))
}

// now is the stamp of a hit: later than that of the last Put, earlier than that of the next. Entries
// are ordered by their stamps, and age is counted from now. Only a Put moves the clock, so that readers
// share its cache line.
func (c *Cache[V, S]) now() uint32 { return c.clock.Load() + 1 }

// fresh is the age up to which an entry of s counts as new, two ticks for each Put. It is taken from the
// shard's own length, which is near the mean, so that no counter shared by all is read.
func (c *Cache[V, S]) fresh(s *shard[V, S]) uint32 {
	return uint32(2 * (uint64(s.live) * uint64(len(c.shards)) >> freshBits))
}

// Put keeps value under key, in place of any value there, and counts as a use of it. Cost is the number
// of octets that the key and the value retain, the value's part (nil if it has none) not counted. Put takes
// over the caller's hold on the part, whatever it returns. The key is kept as it is, not copied, in place
// of an equal one from an earlier Put.
//
// It reports whether the entry is kept: one that is larger than the bound by itself is not, nor is the
// value that it was to replace.
func (c *Cache[V, S]) Put(key string, value V, cost int64, part *Part[S]) bool {
	if !c.fits(cost, part) {
		c.Delete(key)
		c.Drop(part)
		return false
	}
	c.charge(part)
	hash, s := c.home(key)
	s.mu.Lock()
	before, held := s.size, s.live
	id, ok := s.find(hash, key)
	if !ok {
		id, ok = s.insert(hash, key)
	}
	var old *Part[S]
	if ok {
		old = s.set(id, key, value, uint32(cost), part, c.clock.Add(2))
	}
	grown, more := s.size-before, s.live-held
	s.mu.Unlock()

	if !ok {
		old = part // no slot was left, so nothing holds it
	}
	c.length.Add(int64(more))
	c.bytes.Add(grown)
	c.Drop(old)
	c.evict()
	return ok
}

// fits reports whether an entry can be kept in a map that holds nothing else.
func (c *Cache[V, S]) fits(cost int64, part *Part[S]) bool {
	if cost < 0 || cost > math.MaxUint32 {
		return false
	}
	size := cost + slotCost[V, S]()
	if part != nil {
		size += part.cost
	}
	return size <= c.max
}

// Delete removes the value under key and reports whether there was one.
func (c *Cache[V, S]) Delete(key string) bool {
	hash, s := c.home(key)
	s.mu.Lock()
	id, ok := s.find(hash, key)
	if !ok {
		s.mu.Unlock()
		return false
	}
	freed, part := s.remove(id)
	s.mu.Unlock()
	c.bytes.Add(-freed)
	c.length.Add(-1)
	c.Drop(part)
	return true
}

// All iterates over the entries in no order; it is not a use of them. Each shard is seen as it was at
// one moment, and the loop's body runs without any lock: it may call every method of the Cache.
func (c *Cache[V, S]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		var seen []pair[V]
		for i := range c.shards {
			seen = c.shards[i].appendTo(seen[:0])
			for _, p := range seen {
				if !yield(p.key, p.value) {
					return
				}
			}
		}
	}
}

// Len returns the number of entries.
func (c *Cache[V, S]) Len() int { return int(c.length.Load()) }

// Bytes returns the octets that count against the bound.
func (c *Cache[V, S]) Bytes() int64 { return c.bytes.Load() }

// home returns the hash of a key, as entries keep it, and the shard that the key belongs to. The shard
// is chosen by the high bits, the place inside it by the low ones.
func (c *Cache[V, S]) home(key string) (uint32, *shard[V, S]) {
	h := maphash.String(c.seed, key)
	return uint32(h), &c.shards[h>>c.shift]
}

// evict removes the oldest entries until the bound holds. One goroutine does so at a time: two would
// each make room for the same bytes.
func (c *Cache[V, S]) evict() {
	if c.bytes.Load() <= c.max {
		return
	}
	c.evicting.Lock()
	defer c.evicting.Unlock()
	for c.bytes.Load() > c.max {
		s := c.oldest()
		if s == nil {
			return
		}
		s.mu.Lock()
		if s.tail == none {
			s.mu.Unlock()
			continue // its entry went since; the shard no longer offers one
		}
		freed, part := s.remove(s.tail)
		s.mu.Unlock()
		c.bytes.Add(-freed)
		c.length.Add(-1)
		c.Drop(part)
	}
}

// oldest returns the shard whose last entry was used before that of any other, nil if no shard has an
// entry that may go.
func (c *Cache[V, S]) oldest() *shard[V, S] {
	var found *shard[V, S]
	var oldest uint32
	now := c.now()
	for i := range c.shards {
		s := &c.shards[i]
		stamp, ok := s.last()
		if !ok {
			continue
		}
		// The clock wraps; an age does not, unless an entry lies unused for four billion Puts.
		if age := now - stamp; found == nil || age > oldest {
			found, oldest = s, age
		}
	}
	return found
}
