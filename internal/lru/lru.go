// Package lru implements a map from keys to values that is bounded in bytes. When it is full it removes the
// entries that were used least recently. The fetcher's memory and cache.Memory use it.
//
// # Techniques
//
// The map is sharded by a keyed hash, so that no choice of keys can crowd one shard. A shard is a hash table
// with open addressing, linear probing and deletion by backward shift (Knuth, volume 3, section 6.4,
// algorithm R). Its slots are in one slice and form a doubly linked list by slot number, in order of use.
// Numbers instead of pointers make an entry half as large and leave the garbage collector little to scan.
//
// The order is least recently used with lazy promotion, as in memcached: a hit moves its entry to the front
// only if the entry is older than the newest 1/64 of the map. So most hits take only a read lock, and the order
// is exact up to 1/64 of the map. All shards share one bound: the shards compare the stamps of their last
// entries, and the oldest entry of the whole map goes. Values may share content by hash consing; see [Part].
//
// # What is counted
//
// The bound covers all memory that the map retains: the cost of each key and value as the caller of Put states
// it, the slots and the index of the map, used or not, and each [Part] once. Bytes returns this sum. It exceeds
// the bound only during a Put.
//
// The map keeps the string that is put as a key. If the value contains the bytes of its key, that string
// should be a slice of them, so that they are stored once.
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
	// A map with a smaller bound has one shard, because the free slots of 64 shards would use up the bound.
	shardBytes = 64 << 10
	// A hit does not move an entry that is among the newest 1/2^freshBits of the map.
	freshBits = 6
)

// Cache is a bounded map of string keys to values of type V, which may share parts of type S.
// Its methods may be called from any number of goroutines. The zero Cache is not usable; see [New].
type Cache[V, S any] struct {
	max   int64
	seed  maphash.Seed
	shift uint // a hash shifted right by this is the number of its shard
	parts parts[S]

	evicting sync.Mutex // locked before the mutex of any shard

	// Every Put changes the next fields. The padding keeps them off the cache line that every Get reads.
	_      [64]byte
	bytes  atomic.Int64
	length atomic.Int64
	clock  atomic.Uint32 // advances by two with each Put; see now
	_      [64]byte
	shards []shard[V, S]
}

// New returns an empty map that keeps at most max bytes. If max is zero or less it keeps nothing.
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

// Get returns the value of key and counts as a use. It allocates nothing.
func (c *Cache[V, S]) Get(key string) (value V, ok bool) {
	hash, s := c.home(key)
	s.mu.RLock()
	id, ok := s.find(hash, key)
	if !ok {
		s.mu.RUnlock()
		return value, false
	}
	e, now := &s.entries[id], c.now()
	value, old := e.value, now-e.stamp > c.freshAge(s)
	s.mu.RUnlock()
	if old {
		s.promote(hash, key, now)
	}
	return value, true
}

// GetBytes is Get for a key in a slice. It neither keeps nor changes the slice.
func (c *Cache[V, S]) GetBytes(key []byte) (V, bool) {
	// Get keeps no key, so the caller may write to the slice afterwards. A conversion would allocate.
	return c.Get(unsafe.String(unsafe.SliceData(key), len(key)))
}

// now returns the stamp of a hit. It is later than the stamp of the last Put and earlier than the stamp of the
// next Put. Only Put advances the clock, so that readers share its cache line.
func (c *Cache[V, S]) now() uint32 { return c.clock.Load() + 1 }

// freshAge returns the age up to which an entry of s is among the newest, in ticks of the clock. It uses the
// length of this shard in place of the mean of all shards, so that no shared counter is read.
func (c *Cache[V, S]) freshAge(s *shard[V, S]) uint32 {
	return uint32(2 * (uint64(s.used) * uint64(len(c.shards)) >> freshBits))
}

// Put keeps value under key, replaces any earlier key and value, and counts as a use. The key is not copied.
// Cost is the number of bytes that the key and the value retain without the part. The part may be nil. Put
// always takes over the caller's hold on the part. An entry larger than the bound is not kept, and the earlier
// value of the key is removed. Put returns the value that it replaced, or the zero V.
func (c *Cache[V, S]) Put(key string, value V, cost int64, part *Part[S]) (replaced V) {
	if !c.fits(cost, part) {
		c.Delete(key)
		c.Drop(part)
		return replaced
	}
	c.charge(part)
	hash, s := c.home(key)
	s.mu.Lock()
	size, used := s.size, s.used
	id, ok := s.find(hash, key)
	if !ok {
		id = s.insert(hash, key)
	}
	replaced = s.entries[id].value
	old := s.set(id, key, value, uint32(cost), part, c.clock.Add(2))
	added, entries := s.size-size, s.used-used
	s.mu.Unlock()

	c.length.Add(int64(entries))
	c.bytes.Add(added)
	c.Drop(old)
	c.evict()
	return replaced
}

// fits reports whether an entry can be kept in an empty map.
func (c *Cache[V, S]) fits(cost int64, part *Part[S]) bool {
	if cost < 0 || cost > math.MaxUint32 {
		return false
	}
	if part != nil {
		cost += part.cost
	}
	return cost+slotCost[V, S]() <= c.max
}

// Delete removes the value of key and reports whether there was one.
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

// All iterates over the entries in no particular order and does not count as a use. Each shard is copied at one
// moment. The body of the loop may call every method of the Cache.
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

// Bytes returns the number of bytes that count towards the bound.
func (c *Cache[V, S]) Bytes() int64 { return c.bytes.Load() }

// home returns the low bits of the hash of a key, and the shard that the high bits select.
func (c *Cache[V, S]) home(key string) (uint32, *shard[V, S]) {
	h := maphash.String(c.seed, key)
	return uint32(h), &c.shards[h>>c.shift]
}

// evict removes the oldest entries until the bound holds. One goroutine evicts at a time, because two would
// both make room for the same bytes.
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
		if s.tail == none { // the last entry was deleted in the meantime
			s.mu.Unlock()
			continue
		}
		freed, part := s.remove(s.tail)
		s.mu.Unlock()
		c.bytes.Add(-freed)
		c.length.Add(-1)
		c.Drop(part)
	}
}

// oldest returns the shard whose last entry was used least recently, or nil if the map is empty.
func (c *Cache[V, S]) oldest() *shard[V, S] {
	var found *shard[V, S]
	oldest, now := uint32(0), c.now()
	for i := range c.shards {
		s := &c.shards[i]
		last := s.last.Load()
		// The clock wraps around. An age does not, unless an entry lies unused for two billion Puts.
		if age := now - uint32(last); last != 0 && (found == nil || age > oldest) {
			found, oldest = s, age
		}
	}
	return found
}
