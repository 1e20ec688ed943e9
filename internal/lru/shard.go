package lru

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// A shard is a hash table of its own: slots in one slice, linked in order of use by their numbers, and
// an open-addressed index of those numbers. Numbers instead of pointers make an entry half as large and
// leave the collector few words of it to look at.
//
// Invariants, whenever mu is free: each slot in use is in the index once; the slots in use are linked
// from head to tail in falling order of their stamps; oldest says what the tail is; size is the sum of
// what the slots, the index and the entries cost.
type shard[V, S any] struct {
	mu      sync.RWMutex
	index   []uint32 // 0, or tag<<24 | slot number + 1; its length is 0 or a power of two
	entries []entry[V, S]
	size    int64
	live    uint32 // slots in use
	free    uint32 // first of the unused slots, linked by next
	head    uint32 // used last
	tail    uint32 // used least recently

	// oldest is hasTail and the stamp of the tail, or 0: what evict compares without a lock.
	oldest atomic.Uint64
	_      [64]byte // so that two shards never share a cache line
}

// An entry is one slot.
type entry[V, S any] struct {
	key        string
	value      V
	part       *Part[S]
	cost       uint32
	hash       uint32
	prev, next uint32
	stamp      uint32
	used       bool
}

type pair[V any] struct {
	key   string
	value V
}

const (
	none     = ^uint32(0)
	idMask   = 1<<24 - 1 // a slot number and one fit below the tag
	maxSlots = idMask - 1
	hasTail  = 1 << 32
	// A shard with fewer slots than this is not worth shrinking.
	minSlots = 16
)

// slotCost is what one more entry takes at the least: its slot and its place in the index.
func slotCost[V, S any]() int64 { return int64(unsafe.Sizeof(entry[V, S]{})) + 4 }

// clear empties the shard and gives its tables back.
func (s *shard[V, S]) clear() {
	s.index, s.entries, s.size, s.live = nil, nil, 0, 0
	s.free, s.head, s.tail = none, none, none
	s.oldest.Store(0)
}

// find returns the slot of key.
func (s *shard[V, S]) find(hash uint32, key string) (uint32, bool) {
	if len(s.index) == 0 {
		return 0, false
	}
	mask := uint32(len(s.index) - 1)
	for i := hash & mask; s.index[i] != 0; i = (i + 1) & mask {
		// The tag spares the look at a slot, and so a cache miss, for 255 of 256 other keys.
		if s.index[i]>>24 != hash>>24 {
			continue
		}
		id := s.index[i]&idMask - 1
		if e := &s.entries[id]; e.hash == hash && e.key == key {
			return id, true
		}
	}
	return 0, false
}

// insert takes a slot for key, which has none, and leaves it without cost, value and place in the order.
// It reports false if no slot is left.
func (s *shard[V, S]) insert(hash uint32, key string) (uint32, bool) {
	id := s.free
	switch {
	case id != none:
		s.free = s.entries[id].next
	case len(s.entries) >= maxSlots:
		return 0, false
	default:
		if len(s.entries) == cap(s.entries) {
			s.resize(len(s.entries) + len(s.entries)/8 + 4)
		}
		id = uint32(len(s.entries))
		s.entries = s.entries[:id+1]
	}
	s.live++
	if int(s.live)*8 > len(s.index)*7 {
		s.reindex(max(8, len(s.index)*2))
	}
	s.entries[id] = entry[V, S]{key: key, hash: hash, prev: none, next: none, used: true}
	s.place(hash, id)
	return id, true
}

// set gives a slot its value and makes it the one used last. It returns the part held before.
//
// It takes the new key for the old one, which may be a slice of what the old value holds.
func (s *shard[V, S]) set(id uint32, key string, value V, cost uint32, part *Part[S], stamp uint32) *Part[S] {
	e := &s.entries[id]
	s.size += int64(cost) - int64(e.cost)
	old := e.part
	e.key, e.value, e.cost, e.part = key, value, cost, part
	s.unlink(id)
	s.pushFront(id, stamp)
	return old
}

// promote makes key the one used last, if it is still there.
func (s *shard[V, S]) promote(hash uint32, key string, stamp uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Another reader may have been faster, and a Put later than this use.
	if id, ok := s.find(hash, key); ok && id != s.head {
		s.unlink(id)
		s.pushFront(id, stamp)
	}
}

// remove frees a slot. It returns the octets freed and the part that the entry held.
func (s *shard[V, S]) remove(id uint32) (freed int64, part *Part[S]) {
	before := s.size
	e := &s.entries[id]
	s.unlink(id)
	s.displace(e.hash, id)
	part = e.part
	s.size -= int64(e.cost)
	*e = entry[V, S]{next: s.free} // drops what the collector would else keep
	s.free = id
	s.live--
	switch n := len(s.entries); {
	case s.live == 0:
		s.clear()
	case n >= minSlots && int(s.live) < n/2:
		s.shrink()
	}
	return before - s.size, part
}

// unlink takes a slot out of the order of use. A slot not yet in it is let be.
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

// pushFront makes a slot that is in no list the one used last.
func (s *shard[V, S]) pushFront(id, stamp uint32) {
	e := &s.entries[id]
	e.prev, e.next, e.stamp = none, s.head, stamp
	if s.head != none {
		s.entries[s.head].prev = id
	} else {
		s.tail = id
	}
	s.head = id
	if s.tail == id {
		s.publish()
	}
}

// publish tells evict what the tail is.
func (s *shard[V, S]) publish() {
	if s.tail == none {
		s.oldest.Store(0)
		return
	}
	s.oldest.Store(hasTail | uint64(s.entries[s.tail].stamp))
}

// last returns the stamp of the tail, false if there is none. It needs no lock.
func (s *shard[V, S]) last() (uint32, bool) {
	v := s.oldest.Load()
	return uint32(v), v != 0
}

// place puts a slot into the index, which has room.
func (s *shard[V, S]) place(hash, id uint32) {
	mask := uint32(len(s.index) - 1)
	i := hash & mask
	for s.index[i] != 0 {
		i = (i + 1) & mask
	}
	s.index[i] = hash&^idMask | (id + 1)
}

// displace takes a slot out of the index. The slots behind it move up into the gap as far as that does
// not put them before their home, so that a search may always stop at the first empty place.
func (s *shard[V, S]) displace(hash, id uint32) {
	mask := uint32(len(s.index) - 1)
	gap := hash & mask
	for s.index[gap]&idMask != id+1 {
		gap = (gap + 1) & mask
	}
	for i := (gap + 1) & mask; s.index[i] != 0; i = (i + 1) & mask {
		home := s.entries[s.index[i]&idMask-1].hash & mask
		if (i-home)&mask >= (i-gap)&mask {
			s.index[gap] = s.index[i]
			gap = i
		}
	}
	s.index[gap] = 0
}

// resize moves the slots into a slice of the given capacity.
func (s *shard[V, S]) resize(slots int) {
	grown := make([]entry[V, S], len(s.entries), slots)
	copy(grown, s.entries)
	s.size += int64(cap(grown)-cap(s.entries)) * int64(unsafe.Sizeof(entry[V, S]{}))
	s.entries = grown
}

// reindex makes the index anew with n places.
func (s *shard[V, S]) reindex(n int) {
	s.size += int64(n-len(s.index)) * 4
	s.index = make([]uint32, n)
	for id := range s.entries {
		if e := &s.entries[id]; e.used {
			s.place(e.hash, uint32(id))
		}
	}
}

// shrink gives back the slots that removed entries left behind: what is free is charged against the
// bound, and a map that once held many small entries would else have no room for large ones.
func (s *shard[V, S]) shrink() {
	old, head := s.entries, s.head
	slot := int64(unsafe.Sizeof(entry[V, S]{}))
	s.entries = make([]entry[V, S], 0, int(s.live)+int(s.live)/8+4)
	s.size += int64(cap(s.entries)-cap(old)) * slot

	// The slots keep their order and become neighbours.
	for id := head; id != none; id = old[id].next {
		e := old[id]
		n := uint32(len(s.entries))
		e.prev, e.next = n-1, n+1 // 0-1 is none
		s.entries = append(s.entries, e)
	}
	s.head, s.tail, s.free = none, none, none
	if n := len(s.entries); n > 0 {
		s.head, s.tail = 0, uint32(n-1)
		s.entries[n-1].next = none
	}
	places := len(s.index)
	for places > 8 && int(s.live)*8 < places*3 {
		places /= 2
	}
	s.reindex(places)
	s.publish()
}

// appendTo appends the shard's entries to a slice.
func (s *shard[V, S]) appendTo(to []pair[V]) []pair[V] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range s.entries {
		if e := &s.entries[i]; e.used {
			to = append(to, pair[V]{e.key, e.value})
		}
	}
	return to
}
