// Package lru implements a map from keys to values that is bounded in bytes. When it is full it removes entries
// that were not used for long. The fetcher's memory and cache.Memory use it.
//
// # Techniques
//
// The map is sharded by a keyed hash, so that no choice of keys can crowd one shard. A shard is a hash table with
// chaining (Knuth, volume 3, section 6.4). Its slots are in one slice, and the chains link them by number. Numbers
// instead of pointers make an entry smaller and leave the garbage collector little to scan.
//
// The order is least recently used by sampling, as in Redis: each entry has a stamp of its last use, and the oldest
// of 64 entries is removed. On average it belongs to the oldest 1/64 of the whole map, so all shards share one bound.
// No list is kept in order, so a hit needs only a read lock. Values may share content by hash consing; see [Part].
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
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	maxShards = 64
	// A map with a smaller bound has one shard, because the unused slots of 64 shards would use up the bound.
	shardBytes = 64 << 10

	sampleSize  = 64 // entries that are compared to remove one
	shardSample = 16 // entries of a shard among them, at most
)

// Cache is a bounded map of string keys to values of type V, which may share parts of type S.
// Its methods may be called from any number of goroutines. The zero Cache is not usable; see [New].
type Cache[V, S any] struct {
	max    int64
	seed   maphash.Seed
	shift  uint // a hash shifted right by this is the number of its shard
	shards []shard[V, S]

	// Every Put changes the next fields. The padding keeps them off the cache line that every Get reads.
	_       [64]byte
	bytes   atomic.Int64
	clock   atomic.Uint32 // advances by two with each Put; see now
	partsMu sync.Mutex
	parts   map[uint64]*Part[S] // all parts in use, by hash
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
		parts:  map[uint64]*Part[S]{},
	}
	for i := range c.shards {
		c.shards[i].resize(0)
	}
	return c
}

// home returns the low half of the hash of a key, and the shard that the high bits select.
func (c *Cache[V, S]) home(key string) (uint32, *shard[V, S]) {
	h := maphash.String(c.seed, key)
	return uint32(h), &c.shards[h>>c.shift]
}

// now returns the stamp of a hit. It is later than the stamp of the last Put and earlier than the stamp of the
// next Put. Only Put advances the clock, so that readers share its cache line.
func (c *Cache[V, S]) now() uint32 { return c.clock.Load() + 1 }

// Get returns the value of key and counts as a use. It allocates nothing.
func (c *Cache[V, S]) Get(key string) (value V, ok bool) {
	hash, s := c.home(key)
	s.mu.RLock()
	e := s.find(hash, key)
	if e != nil {
		// Only a new stamp is written, so that readers of one key share its cache line.
		if now := c.now(); atomic.LoadUint32(&e.stamp) != now {
			atomic.StoreUint32(&e.stamp, now)
		}
		value = e.value
	}
	s.mu.RUnlock()
	return value, e != nil
}

// GetBytes is Get for a key in a slice. It neither keeps nor changes the slice.
func (c *Cache[V, S]) GetBytes(key []byte) (V, bool) {
	// Get keeps no key, so the caller may write to the slice afterwards. A conversion would allocate.
	return c.Get(unsafe.String(unsafe.SliceData(key), len(key)))
}

// Put keeps value under key, replaces any earlier key and value, and counts as a use. The key is not copied.
// Cost is the number of bytes that the key and the value retain without the part. The part may be nil. Put
// always takes over the caller's hold on the part. An entry larger than the bound is not kept, and the earlier
// value of the key is removed. Put returns the value that it replaced, or the zero V.
func (c *Cache[V, S]) Put(key string, value V, cost int64, part *Part[S]) (replaced V) {
	if !c.fits(cost, part) {
		c.Delete(key)
		c.drop(part)
		return replaced
	}
	c.charge(part)
	hash, s := c.home(key)
	s.mu.Lock()
	size, e := s.size, s.find(hash, key)
	if e == nil {
		e = s.insert(slot[V, S]{hash: hash})
	}
	replaced, old := e.value, e.part
	s.size += cost - int64(e.cost)
	// The key is replaced, too, because the old key may be a slice of the old value.
	e.key, e.value, e.part, e.cost, e.stamp = key, value, part, uint32(cost), c.clock.Add(2)
	c.bytes.Add(s.size - size)
	s.mu.Unlock()
	c.drop(old)
	c.evict()
	return replaced
}

// fits reports whether an entry can be kept when all others are removed.
func (c *Cache[V, S]) fits(cost int64, part *Part[S]) bool {
	if cost < 0 || cost > math.MaxUint32 {
		return false
	}
	if part != nil {
		cost += part.cost
	}
	return cost+(2+spareSlots)*slotCost[V, S]() <= c.max
}

// Delete removes the value of key and reports whether there was one.
func (c *Cache[V, S]) Delete(key string) bool {
	hash, s := c.home(key)
	s.mu.Lock()
	size := s.size
	part, ok := s.remove(hash, key)
	c.bytes.Add(s.size - size)
	s.mu.Unlock()
	c.drop(part)
	return ok
}

// evict removes the oldest entry of a sample, until the bound holds.
func (c *Cache[V, S]) evict() {
	for c.bytes.Load() > c.max {
		key, ok := c.oldest()
		if !ok {
			return
		}
		c.Delete(key)
	}
}

// oldest returns the key that was used least recently in a sample, which has neighbouring slots of a few shards.
func (c *Cache[V, S]) oldest() (key string, ok bool) {
	var oldest int32
	now, first, left := c.now(), rand.IntN(maxShards), sampleSize
	for i := 0; i < maxShards && left > 0; i++ {
		s := &c.shards[(first+i)%len(c.shards)]
		s.mu.RLock()
		n := len(s.slots)
		at := rand.IntN(n + 1) // n may be 0
		for range min(n, shardSample) {
			at = (at + 1) % n
			e := &s.slots[at]
			// The clock wraps around. An age does not, unless an entry lies unused for a billion Puts. The age of an
			// entry put meanwhile is negative.
			if age := int32(now - atomic.LoadUint32(&e.stamp)); !ok || age > oldest {
				key, oldest, ok = e.key, age, true
			}
		}
		s.mu.RUnlock()
		left -= min(n, shardSample)
	}
	return key, ok
}

// All iterates over the entries in no particular order and does not count as a use. Each shard is copied at one
// moment. The body of the loop may call every method of the Cache.
func (c *Cache[V, S]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		type pair struct {
			key   string
			value V
		}
		var seen []pair
		for i := range c.shards {
			s := &c.shards[i]
			seen = seen[:0]
			s.mu.RLock()
			for j := range s.slots {
				seen = append(seen, pair{s.slots[j].key, s.slots[j].value})
			}
			s.mu.RUnlock()
			for _, p := range seen {
				if !yield(p.key, p.value) {
					return
				}
			}
		}
	}
}

// Len returns the number of entries.
func (c *Cache[V, S]) Len() int {
	n := 0
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.RLock()
		n += len(s.slots)
		s.mu.RUnlock()
	}
	return n
}

// Bytes returns the number of bytes that count towards the bound.
func (c *Cache[V, S]) Bytes() int64 { return c.bytes.Load() }
