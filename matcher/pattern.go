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
	for {
		for p != "" && p[0] == '*' {
			p = p[1:]
		}
		star := nextStar(p)
		if star < 0 {
			break
		}
		if at = pairs.find(t, at, p[:star]); at < 0 {
			return false
		}
		at, p = at+star, p[star:]
	}
	if whole {
		return strings.HasSuffix(t[at:], p)
	}
	return pairs.find(t, at, p) >= 0
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

// pairs has the positions of all pairs of octets in a target, in order, for a
// target in which many pieces are looked for: at[first[h]:first[h+1]] are those
// with pairHash h.
type pairs struct {
	first [pairHashes + 1]int32
	at    []int32
}

var sparePairs = sync.Pool{New: func() any { return new(pairs) }}

// read takes a target.
func (x *pairs) read(t string) {
	clear(x.first[:])
	if cap(x.at) < len(t) {
		x.at = make([]int32, len(t))
	}
	x.at = x.at[:max(0, len(t)-1)]
	for i := range x.at {
		x.first[pairHash(t[i], t[i+1])]++
	}
	n := int32(0)
	for h, count := range x.first[:] {
		n += count
		x.first[h] = n // where they end, and in the end where they begin
	}
	for i := len(x.at) - 1; i >= 0; i-- {
		h := pairHash(t[i], t[i+1])
		x.first[h]--
		x.at[x.first[h]] = int32(i)
	}
}

// find returns where piece p stands first in t, from octet i on, or -1.
func (x *pairs) find(t string, i int, p string) int {
	if x == nil || len(p) < 2 {
		n := 0
		if len(p) == 1 {
			n = strings.IndexByte(t[i:], p[0])
		} else {
			n = strings.Index(t[i:], p)
		}
		if n < 0 {
			return -1
		}
		return i + n
	}
	const near = 63
	list, off := x.rarest(p)
	if len(list) > near { // it stands all over the place
		if n := strings.Index(t[i:min(i+near, len(t))], p); n >= 0 {
			return i + n
		}
	}
	from := int32(i + off)
	if len(list) > 1 && list[0] < from {
		k, _ := slices.BinarySearch(list, from)
		list = list[k:]
	}
	for _, at := range list {
		if at < from {
			break // the only one
		}
		if n := int(at) - off; t[n] == p[0] && t[n+1] == p[1] && (len(p) == 2 || strings.HasPrefix(t[n:], p)) {
			return n
		}
	}
	return -1
}

// rarest returns where a pair of octets of p stands that stands in few places,
// and where it stands in p.
func (x *pairs) rarest(p string) (list []int32, off int) {
	const most = 8 // pairs that are looked at
	h := pairHash(p[0], p[1])
	list = x.at[x.first[h]:x.first[h+1]]
	for k := 1; k < most && k < len(p)-1 && len(list) > 1; k++ {
		h := pairHash(p[k], p[k+1])
		if l := x.at[x.first[h]:x.first[h+1]]; len(l) < len(list) {
			list, off = l, k
		}
	}
	return list, off
}
