package matcher

import (
	"slices"
	"strings"
	"sync"
)

// This file compares one pattern with a target: RFC 9309, section 2.2.3.

// matches reports whether the normalised pattern p matches a beginning of t,
// or all of t if whole is set. pairs, which may be nil, are those of t.
//
// Invariant: the pieces of p between stars are placed from left to right, each
// at its earliest position after the one before. If any placing of the pieces
// exists, this one does, so nothing is ever tried again and the time is linear
// in t. Only the last piece of a whole match is bound to the end.
func matches(p, t string, whole bool, pairs *pairs) bool {
	n := 0
	for ; n < len(p) && p[n] != '*'; n++ { // mostly few
		if n == len(t) || t[n] != p[n] {
			return false
		}
	}
	if n == len(p) {
		return !whole || len(t) == len(p)
	}
	at, p := n, p[n:]
	long := len(t) <= 4*len(p) // its pieces, if they stand in t at all, stand close together
	for {
		for p != "" && p[0] == '*' {
			p = p[1:]
		}
		star := nextStar(p)
		if star < 0 {
			break
		}
		if at = pairs.find(t, at, p[:star], long); at < 0 {
			return false
		}
		at, p = at+star, p[star:]
	}
	if whole {
		return strings.HasSuffix(t[at:], p)
	}
	return pairs.find(t, at, p, false) >= 0
}

// nextStar returns where the first star of p is, but not its first octet, or -1.
func nextStar(p string) int {
	switch {
	case len(p) > 1 && p[1] == '*':
		return 1
	case len(p) > 2 && p[2] == '*':
		return 2
	}
	return strings.IndexByte(p, '*')
}

// pairs says where each pair of octets stands in a target, for a target in which
// many pieces are looked for. A pair is known by its pairHash.
type pairs struct {
	blocks []block  // by position divided by blockSize
	next   []uint16 // by position: the next one of the same pair, or noPlace
}

// block has the first place of every pair that is not before the block.
type block [pairHashes]uint16

const (
	blockSize = 16
	pairsMost = 4096 // octets of a target, to bound the memory
	noPlace   = 1<<16 - 1
)

var sparePairs = sync.Pool{New: func() any { return new(pairs) }}

// read takes a target of pairsMost octets at most.
func (x *pairs) read(t string) {
	n := len(t)/blockSize + 1
	x.blocks = slices.Grow(x.blocks[:0], n)[:n]
	x.next = slices.Grow(x.next[:0], len(t))[:len(t)]
	last := &x.blocks[n-1]
	for h := range last {
		last[h] = noPlace
	}
	done := n - 1
	for i := len(t) - 2; i >= 0; i-- {
		b := i / blockSize
		if b < done {
			x.blocks[b] = x.blocks[done]
			done = b
		}
		place := &x.blocks[b][pairHash(t[i], t[i+1])]
		x.next[i], *place = *place, uint16(i)
	}
}

// place returns the first place of the pair h from octet i on, or noPlace.
func (x *pairs) place(h uint, i int) int {
	at := x.blocks[i/blockSize][h]
	for int(at) < i {
		at = x.next[at]
	}
	return int(at)
}

// find returns where piece p stands first in t, from octet i on, or -1. A piece
// that is near is looked for in the next octets first.
func (x *pairs) find(t string, i int, p string, isNear bool) int {
	switch {
	case len(p) == 1:
		return from(i, strings.IndexByte(t[i:], p[0]))
	case x == nil || p == "":
		return from(i, strings.Index(t[i:], p))
	}
	const near, most = 31, 8 // octets, and pairs that have to stand where p does
	if isNear {
		if n := strings.Index(t[i:min(i+near, len(t))], p); n >= 0 {
			return i + n
		}
	}
	for i+len(p) <= len(t) {
		first := i
		for k := range min(most, len(p)-1) {
			at := x.place(pairHash(p[k], p[k+1]), first+k)
			if at == noPlace {
				return -1
			}
			first = at - k
		}
		if first == i && t[i] == p[0] && t[i+1] == p[1] && (len(p) == 2 || strings.HasPrefix(t[i:], p)) {
			return i
		}
		i = max(first, i+1)
	}
	return -1
}

// from returns where n octets after i is; n may be -1, for nowhere.
func from(i, n int) int {
	if n < 0 {
		return -1
	}
	return i + n
}
