package lru

import (
	"hash/maphash"
	"sync"
	"unsafe"
)

// A Part is content that several values may hold in common. It is counted by its holders: the entries
// that were put with it, and each caller of [Cache.Share] until it hands its hold over to Put or gives
// it up with Drop.
type Part[S any] struct {
	value S
	hash  uint64
	cost  int64

	// Guarded by parts.mu.
	holds   uint32
	charged bool // an entry has held it: it counts against the bound until it is forgotten
}

// Value returns the content.
func (p *Part[S]) Value() S { return p.value }

// parts is the table of all parts in use, by hash. It is not on the path of a Get.
type parts[S any] struct {
	mu     sync.Mutex
	byHash map[uint64]*Part[S]
}

// Hash is the hash that parts are found by, for the octets of a content and all that their reading
// depends on. It is another for each Cache, so that no host can choose a content for its hash.
func (c *Cache[V, S]) Hash(content []byte) uint64 { return maphash.Bytes(c.seed, content) }

// Share returns the part of that hash with a hold on it. If there is none it becomes value, which retains
// cost octets; if there is one, value is not needed and the caller goes on with the part's Value.
//
// Two contents may have one hash, if hardly ever: the caller compares what it gets with what it gave, and
// gives up a hold on what is not the same. Else one host's content would be taken for another's.
func (c *Cache[V, S]) Share(hash uint64, value S, cost int64) *Part[S] {
	c.parts.mu.Lock()
	defer c.parts.mu.Unlock()
	if p := c.parts.byHash[hash]; p != nil {
		p.holds++
		return p
	}
	p := &Part[S]{value: value, hash: hash, cost: max(cost, 0) + partCost[S](), holds: 1}
	if c.parts.byHash == nil {
		c.parts.byHash = make(map[uint64]*Part[S])
	}
	c.parts.byHash[hash] = p
	return p
}

// charge counts a part, which an entry is about to hold, against the bound. Before that it is the
// caller's own: one that turns out too large to be kept must not drive others out.
func (c *Cache[V, S]) charge(p *Part[S]) {
	if p == nil {
		return
	}
	c.parts.mu.Lock()
	defer c.parts.mu.Unlock()
	if !p.charged {
		p.charged = true
		c.bytes.Add(p.cost)
	}
}

// Drop gives up one hold on a part; with the last the part is forgotten. A nil part is let be.
func (c *Cache[V, S]) Drop(p *Part[S]) {
	if p == nil {
		return
	}
	c.parts.mu.Lock()
	defer c.parts.mu.Unlock()
	if p.holds--; p.holds == 0 {
		delete(c.parts.byHash, p.hash)
		if p.charged {
			c.bytes.Add(-p.cost)
		}
	}
}

// partCost is what a part takes besides its content: itself and its place in the table, which is on
// average two thirds full.
func partCost[S any]() int64 {
	const place = 17 // hash, pointer, and an octet of the map's own
	return int64(unsafe.Sizeof(Part[S]{})) + place*3/2
}
