package matcher

import "slices"

// seen finds patterns that stand in File.text already, for groups of one file
// often say the same. It is a hint: a slot knows the pattern that came last.
type seen struct {
	slots []uint32 // where in File.text a pattern begins, or 0
}

const (
	seenOctets = 8       // of text for a slot, or more slots are made
	seenLeast  = 4       // octets of a pattern from which it is worth to look
	seenMost   = 1 << 16 // slots
)

// learn makes s know the rules of text, with room for seven times as much
// again. It depends on nothing but the text, so that equal records make equal
// files.
func (s *seen) learn(text string) {
	n := 64
	for n < 8*len(text)/seenOctets && n < seenMost {
		n *= 2
	}
	s.slots = slices.Grow(s.slots[:0], n)[:n]
	clear(s.slots)
	f := File{text: text, size: uint32(len(text))}
	for pos := 0; pos < len(text); {
		h := f.head(pos)
		if h.kind&kindRule != 0 {
			*s.slot(text[h.off:h.end]) = uint32(h.off)
		}
		pos = f.after(h)
	}
}

// full reports whether there are too few slots for a text of size octets.
func (s *seen) full(size int) bool {
	return size/seenOctets >= len(s.slots) && len(s.slots) < seenMost
}

// find returns where in text the pattern stands, or 0 and the slot, if there is
// one, that is to say where it will stand.
func (s *seen) find(text, pattern string) (at int, slot *uint32) {
	if len(s.slots) == 0 || len(pattern) < seenLeast {
		return 0, nil
	}
	slot = s.slot(pattern)
	at = int(*slot)
	if at > 0 && at+len(pattern) <= len(text) && text[at:at+len(pattern)] == pattern {
		return at, nil
	}
	return 0, slot
}

// slot returns the place of a pattern.
func (s *seen) slot(pattern string) *uint32 {
	const prime = 0x9E3779B97F4A7C15
	h := uint64(len(pattern))
	for ; len(pattern) >= 8; pattern = pattern[8:] {
		h = (h ^ word(pattern)) * prime
		h ^= h >> 32
	}
	for i := range len(pattern) {
		h = (h ^ uint64(pattern[i])) * prime
	}
	h ^= h >> 32
	return &s.slots[h&uint64(len(s.slots)-1)]
}

// word returns the first eight octets of s as a number.
func word(s string) uint64 {
	_ = s[7] // one check for all
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
