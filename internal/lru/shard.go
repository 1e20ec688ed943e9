package lru

import (
	"sync"
	"unsafe"
)

// A shard is a hash table with its own lock.
//
// Invariants while mu is not locked: each slot is in the chain of its hash once, and in no other; the index has
// one chain more than slots has room; size is the cost of all slots, used or not, and of the entries.
type shard[V, S any] struct {
	mu    sync.RWMutex
	index []uint32     // the first slot of each chain, as its number plus 1; 0 ends a chain
	slots []slot[V, S] // the entries, without holes
	size  int64
	_     [64]byte // two shards never share a cache line
}

type slot[V, S any] struct {
	key   string
	value V
	part  *Part[S]
	cost  uint32
	hash  uint32
	next  uint32 // the next slot of the chain, as in index
	stamp uint32 // when the entry was used last; see Cache.now
}

// spareSlots bounds the unused slots: a shard with n entries has at most 2*n+spareSlots slots.
const spareSlots = 4

// slotCost is the cost of one more slot, with its place in the index.
func slotCost[V, S any]() int64 { return int64(unsafe.Sizeof(slot[V, S]{})) + 4 }

// chain returns the place in the index of the chain of a hash.
func (s *shard[V, S]) chain(hash uint32) *uint32 {
	return &s.index[uint64(hash)*uint64(len(s.index))>>32]
}

// find returns the slot of a key, or nil.
func (s *shard[V, S]) find(hash uint32, key string) *slot[V, S] {
	for id := *s.chain(hash); id != 0; {
		e := &s.slots[id-1]
		if e.hash == hash && e.key == key {
			return e
		}
		id = e.next
	}
	return nil
}

// insert adds an entry for a key that has none, and returns its slot.
func (s *shard[V, S]) insert(e slot[V, S]) *slot[V, S] {
	n := len(s.slots)
	if n == cap(s.slots) {
		s.resize(n + n/8 + spareSlots)
	}
	first := s.chain(e.hash)
	e.next, *first = *first, uint32(n+1)
	s.slots = append(s.slots, e)
	return &s.slots[n]
}

// remove removes the entry of a key, if there is one, and returns its part. The last entry fills the hole.
func (s *shard[V, S]) remove(hash uint32, key string) (part *Part[S], ok bool) {
	e := s.find(hash, key)
	if e == nil {
		return nil, false
	}
	n := len(s.slots) - 1
	last, link := &s.slots[n], s.link(e)
	id := *link
	part, *link = e.part, e.next
	s.size -= int64(e.cost)
	if e != last {
		*s.link(last) = id
		*e = *last
	}
	*last = slot[V, S]{} // let the garbage collector free the key and the value
	s.slots = s.slots[:n]
	if n == 0 {
		s.resize(0)
	} else if 2*n+spareSlots < cap(s.slots) {
		s.resize(n + n/8 + spareSlots)
	}
	return part, true
}

// link returns the number that links a slot to its chain. It is in the index or in another slot.
func (s *shard[V, S]) link(e *slot[V, S]) *uint32 {
	link := s.chain(e.hash)
	for &s.slots[*link-1] != e {
		link = &s.slots[*link-1].next
	}
	return link
}

// resize makes new tables with n slots. Unused slots count towards the bound, so remove makes the tables smaller,
// too. Otherwise many small entries would leave no room for large ones. The entries are copied in the order of the
// chains, which is random, so that neighbours are not of one age. Cache.oldest needs that.
func (s *shard[V, S]) resize(n int) {
	s.size += int64(n-cap(s.slots)) * slotCost[V, S]()
	index, slots := s.index, s.slots
	s.index, s.slots = make([]uint32, n+1), make([]slot[V, S], 0, n)
	for _, id := range index {
		for id != 0 {
			e := slots[id-1]
			id = e.next
			s.insert(e)
		}
	}
}
