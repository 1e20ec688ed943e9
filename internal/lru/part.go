package lru

import (
	"hash/maphash"
	"unsafe"
)

// A Part is content that several values share. It is kept as long as somebody holds it. An entry that was put
// with a part holds the part. A caller of [Cache.Share] holds the part until the caller passes its hold to Put
// or gives it up with Drop.
type Part[S any] struct {
	value S
	hash  uint64
	cost  int64

	// Guarded by Cache.partsMu.
	holds   uint32
	charged bool // an entry has held the part, so it counts towards the bound
}

// Value returns the content.
func (p *Part[S]) Value() S { return p.value }

// Hash returns the hash by which parts are found. Its key is random, so no host can choose content with a
// given hash.
func (c *Cache[V, S]) Hash(content string) uint64 { return maphash.String(c.seed, content) }

// Find returns the part with that hash, and a hold on it, or nil if there is none.
func (c *Cache[V, S]) Find(hash uint64) *Part[S] {
	c.partsMu.Lock()
	defer c.partsMu.Unlock()
	p := c.parts[hash]
	if p != nil {
		p.holds++
	}
	return p
}

// Share is Find. If there is no part it makes one of value, which retains cost bytes.
//
// Two contents may have one hash. The caller must compare the Value of the part with its own value, and Drop
// a part that differs.
func (c *Cache[V, S]) Share(hash uint64, value S, cost int64) *Part[S] {
	c.partsMu.Lock()
	defer c.partsMu.Unlock()
	p := c.parts[hash]
	if p == nil {
		p = &Part[S]{value: value, hash: hash, cost: max(cost, 0) + partCost[S]()}
		c.parts[hash] = p
	}
	p.holds++
	return p
}

// charge adds a part that an entry is about to hold to the bytes of the map, once. It is not added earlier,
// because a part that is too large to be kept must not evict others.
func (c *Cache[V, S]) charge(p *Part[S]) {
	if p == nil {
		return
	}
	c.partsMu.Lock()
	defer c.partsMu.Unlock()
	if !p.charged {
		p.charged = true
		c.bytes.Add(p.cost)
	}
}

// Drop gives up one hold on a part, and removes the part with the last hold. It does nothing for nil.
func (c *Cache[V, S]) Drop(p *Part[S]) {
	if p == nil {
		return
	}
	c.partsMu.Lock()
	defer c.partsMu.Unlock()
	if p.holds--; p.holds == 0 {
		delete(c.parts, p.hash)
		if p.charged {
			c.bytes.Add(-p.cost)
		}
	}
}

// partCost returns the cost of a part besides its content: the Part itself, and its element of a map that is two
// thirds full.
func partCost[S any]() int64 {
	return int64(unsafe.Sizeof(Part[S]{})) + 17*3/2 // a hash, a pointer, and a control byte of the map
}
