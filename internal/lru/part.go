package lru

import (
	"sync"
	"unsafe"
)

// An ID names a part by its content. It must be a digest that nobody can find two contents for, such as
// SHA-256 over the octets and all that their reading depends on: two parts of one ID are taken for one,
// and a host that could forge an ID would write the rules of another.
type ID [32]byte

// A Part is content that several values may hold in common. It is counted by its holders: the entries
// that were put with it, and each caller of [Cache.Share] or [Cache.Shared] until it hands its hold over
// to Put or gives it up with Drop.
type Part[S any] struct {
	value S
	id    ID
	cost  int64

	// Guarded by parts.mu.
	holds   int64
	charged bool // an entry has held it: it counts against the bound until it is forgotten
}

// Value returns the content.
func (p *Part[S]) Value() S { return p.value }

// parts is the table of all parts in use. It is not on the path of a Get.
type parts[S any] struct {
	mu   sync.Mutex
	byID map[ID]*Part[S]
}

// Shared returns the part of that name with a hold on it, nil if there is none. It spares the making of
// a content that is there already.
func (c *Cache[V, S]) Shared(id ID) *Part[S] {
	c.parts.mu.Lock()
	defer c.parts.mu.Unlock()
	p := c.parts.byID[id]
	if p != nil {
		p.holds++
	}
	return p
}

// Share returns the part of that name with a hold on it. If there is none it becomes value, which retains
// cost octets; if there is one, value is not needed and the caller goes on with the part's Value.
func (c *Cache[V, S]) Share(id ID, value S, cost int64) *Part[S] {
	c.parts.mu.Lock()
	defer c.parts.mu.Unlock()
	if p := c.parts.byID[id]; p != nil {
		p.holds++
		return p
	}
	p := &Part[S]{value: value, id: id, cost: max(cost, 0) + partCost[S](), holds: 1}
	if c.parts.byID == nil {
		c.parts.byID = make(map[ID]*Part[S])
	}
	c.parts.byID[id] = p
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
		delete(c.parts.byID, p.id)
		if p.charged {
			c.bytes.Add(-p.cost)
		}
	}
}

// partCost is what a part takes besides its content: itself and its place in the table, which is on
// average a little over half full.
func partCost[S any]() int64 {
	return int64(unsafe.Sizeof(Part[S]{})) + 2*(int64(unsafe.Sizeof(ID{}))+8)
}
