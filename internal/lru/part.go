package lru

import (
	"hash/maphash"
	"unsafe"
)

// A Part is content that several values share. It is kept as long as somebody holds it. An entry that was put
// with a part holds the part. A caller of [Cache.Share] holds the part, too, and passes its hold to Put.
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

// Share returns a part with value, and a hold on it for the caller. It is the part in use whose
// content is the same, if there is one, and otherwise a new one, whose content retains cost(value)
// bytes. Parts are found by a hash of content, which is the same for values that are the same. same
// compares a part's value with value, since two contents may have one hash.
func (c *Cache[V, S]) Share(content string, value S, same func(S) bool, cost func(S) int64) *Part[S] {
	hash := maphash.String(c.seed, content) // its key is random: no host can choose content with a given hash
	p := c.hold(hash, nil)
	if p == nil {
		p = c.hold(hash, &Part[S]{value: value, hash: hash, cost: max(cost(value), 0) + partCost[S]()})
	}
	if same(p.value) {
		return p
	}
	c.drop(p)
	return &Part[S]{value: value, hash: hash, cost: max(cost(value), 0) + partCost[S](), holds: 1}
}

// hold returns the part with a hash, and a hold on it. If there is none, unused becomes it, unless
// that is nil.
func (c *Cache[V, S]) hold(hash uint64, unused *Part[S]) *Part[S] {
	c.partsMu.Lock()
	defer c.partsMu.Unlock()
	p := c.parts[hash]
	if p == nil && unused != nil {
		p = unused
		c.parts[hash] = p
	}
	if p != nil {
		p.holds++
	}
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

// drop gives up one hold on a part, and removes the part with the last hold. It does nothing for nil.
func (c *Cache[V, S]) drop(p *Part[S]) {
	if p == nil {
		return
	}
	c.partsMu.Lock()
	defer c.partsMu.Unlock()
	if p.holds--; p.holds == 0 {
		if c.parts[p.hash] == p {
			delete(c.parts, p.hash)
		}
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
