package lru

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// A shard is a hash table with its own lock.
//
// Invariants while mu is not locked: the list from head to tail has each slot in use once, the last used first;
// the index has each slot in use once; last describes the tail; size is the sum of the costs of the slots, the
// index and the entries. The stamps of the list descend, except where a Put overtook the promotion of a hit.
type shard[V, S any] struct {
	mu      sync.RWMutex
	index   []uint32      // 0, or a slot number plus 1; the length is 0 or a power of two
	entries []entry[V, S] // the slots
	size    int64
	used    uint32 // number of slots in use
	free    uint32 // first unused slot; unused slots are linked by next
	head    uint32 // slot that was used last
	tail    uint32 // slot that was used least recently

	// last is hasTail plus the stamp of the tail, or 0 without one. evict compares it without a lock.
	last atomic.Uint64
	_    [64]byte // two shards never share a cache line
}

type entry[V, S any] struct {
	key        string
	value      V
	part       *Part[S]
	cost       uint32
	hash       uint32
	prev, next uint32
	stamp      uint32
}

type pair[V any] struct {
	key   string
	value V
}

const (
	none    = ^uint32(0)
	hasTail = 1 << 32
)

// slotCost is the smallest cost of one more entry: its slot and its element of the index.
func slotCost[V, S any]() int64 { return int64(unsafe.Sizeof(entry[V, S]{})) + 4 }

// clear empties the shard and frees its tables.
func (s *shard[V, S]) clear() {
	s.index, s.entries, s.size, s.used = nil, nil, 0, 0
	s.free, s.head, s.tail = none, none, none
	s.last.Store(0)
}

// find returns the slot of key.
func (s *shard[V, S]) find(hash uint32, key string) (uint32, bool) {
	if len(s.index) == 0 {
		return 0, false
	}
	mask := uint32(len(s.index) - 1)
	for i := hash & mask; s.index[i] != 0; i = (i + 1) & mask {
		id := s.index[i] - 1
		if e := &s.entries[id]; e.hash == hash && e.key == key {
			return id, true
		}
	}
	return 0, false
}

// insert takes a slot for a key that has none, and does not link the slot yet.
func (s *shard[V, S]) insert(hash uint32, key string) uint32 {
	if s.free == none && len(s.entries) == cap(s.entries) {
		s.resize(len(s.entries) + len(s.entries)/8 + 4)
	}
	id := s.free
	if id != none {
		s.free = s.entries[id].next
	} else {
		id = uint32(len(s.entries))
		s.entries = s.entries[:id+1]
	}
	s.used++
	s.entries[id] = entry[V, S]{key: key, hash: hash, prev: none, next: none}
	s.indexSlot(hash, id)
	return id
}

// set gives a slot its value and moves it to the front. It returns the part that the slot held before.
// The key replaces the old key, which may be a slice of the old value.
func (s *shard[V, S]) set(id uint32, key string, value V, cost uint32, part *Part[S], stamp uint32) *Part[S] {
	e := &s.entries[id]
	s.size += int64(cost) - int64(e.cost)
	old := e.part
	e.key, e.value, e.cost, e.part = key, value, cost, part
	s.unlink(id)
	s.pushFront(id, stamp)
	return old
}

// promote moves the slot of key to the front, if the key is still there.
func (s *shard[V, S]) promote(hash uint32, key string, stamp uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The slot is at the front already if another reader promoted it, or if a Put replaced its value.
	if id, ok := s.find(hash, key); ok && id != s.head {
		s.unlink(id)
		s.pushFront(id, stamp)
	}
}

// remove frees a slot. It returns the bytes freed and the part that the entry held.
func (s *shard[V, S]) remove(id uint32) (freed int64, part *Part[S]) {
	before, e := s.size, &s.entries[id]
	s.unlink(id)
	s.unindexSlot(e.hash, id)
	part = e.part
	s.size -= int64(e.cost)
	*e = entry[V, S]{next: s.free} // let the garbage collector free the key and the value
	s.free = id
	s.used--
	if s.used == 0 {
		s.clear()
	} else if int(s.used) < len(s.entries)/2 {
		s.resize(int(s.used) + int(s.used)/8 + 4)
	}
	return before - s.size, part
}

// unlink removes a slot from the list, if it is there.
func (s *shard[V, S]) unlink(id uint32) {
	e := &s.entries[id]
	switch {
	case e.prev != none:
		s.entries[e.prev].next = e.next
	case s.head == id:
		s.head = e.next
	default:
		return
	}
	if e.next != none {
		s.entries[e.next].prev = e.prev
	} else {
		s.tail = e.prev
		s.publish()
	}
	e.prev, e.next = none, none
}

// pushFront adds a slot at the front of the list.
func (s *shard[V, S]) pushFront(id, stamp uint32) {
	e := &s.entries[id]
	e.prev, e.next, e.stamp = none, s.head, stamp
	s.head = id
	if e.next != none {
		s.entries[e.next].prev = id
		return
	}
	s.tail = id
	s.publish()
}

// publish updates last, which evict reads without a lock.
func (s *shard[V, S]) publish() {
	if s.tail == none {
		s.last.Store(0)
		return
	}
	s.last.Store(hasTail | uint64(s.entries[s.tail].stamp))
}

// indexSlot adds a slot to the index, which has room.
func (s *shard[V, S]) indexSlot(hash, id uint32) {
	mask := uint32(len(s.index) - 1)
	i := hash & mask
	for s.index[i] != 0 {
		i = (i + 1) & mask
	}
	s.index[i] = id + 1
}

// unindexSlot removes a slot from the index. Later elements shift back into the gap, but not before the
// position of their hash, so that a search may stop at the first empty position.
func (s *shard[V, S]) unindexSlot(hash, id uint32) {
	mask := uint32(len(s.index) - 1)
	gap := hash & mask
	for s.index[gap] != id+1 {
		gap = (gap + 1) & mask
	}
	for i := (gap + 1) & mask; s.index[i] != 0; i = (i + 1) & mask {
		home := s.entries[s.index[i]-1].hash & mask
		if (i-home)&mask >= (i-gap)&mask {
			s.index[gap] = s.index[i]
			gap = i
		}
	}
	s.index[gap] = 0
}

// resize makes new tables for a number of slots, and copies the slots in use in the order of the list. Free
// slots count towards the bound: without resize, many small entries would leave no room for large ones.
func (s *shard[V, S]) resize(slots int) {
	places := 8
	for slots*6 > places*5 {
		places *= 2
	}
	old := s.entries
	s.size += int64(slots-cap(old))*int64(unsafe.Sizeof(entry[V, S]{})) + int64(places-len(s.index))*4
	s.entries, s.index = make([]entry[V, S], 0, slots), make([]uint32, places)
	for id := s.head; id != none; id = old[id].next {
		e, n := old[id], uint32(len(s.entries))
		e.prev, e.next = n-1, n+1 // 0-1 is none
		s.entries = append(s.entries, e)
		s.indexSlot(e.hash, n)
	}
	s.head, s.tail, s.free = none, none, none
	if n := len(s.entries); n > 0 {
		s.head, s.tail = 0, uint32(n-1)
		s.entries[n-1].next = none
	}
	s.publish()
}

// appendTo appends the entries of the shard to a slice.
func (s *shard[V, S]) appendTo(to []pair[V]) []pair[V] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for id := s.head; id != none; id = s.entries[id].next {
		to = append(to, pair[V]{s.entries[id].key, s.entries[id].value})
	}
	return to
}
