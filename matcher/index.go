package matcher

import (
	"strings"
	"sync"
)

// This file answers for groups of many rules in a time that hardly grows with
// their number. It decides as rules.scan does.
//
// A pattern is cut at its stars into a head, which begins the target, and
// pieces, each of which stands somewhere after the one before. What has been
// found of a pattern up to a star is a state; patterns that begin alike share
// states. Invariant: a state is entered once, at its earliest position, for
// whatever follows from there follows from any later position too.
//
// See walk.go for what is done with a target.

// index is a group of many rules, made ready.
type index struct {
	file   *File
	heads  list
	stars  []star // by place in heads; their order numbers the first states
	pieces list
	edges  []edge                  // by piece, those to rules that end the target last, then by state
	first  []uint32                // edges[first[2p]:first[2p+1]] hold for piece p anywhere, those up to first[2p+2] at the end only
	ends   []rule                  // rules with a star
	apart  []rule                  // rules with more stars than starsMost, best first
	begin  [pairHashes / 64]uint64 // by pairHash: a piece begins with the two octets
	after  []uint64                // by state: the lanes of the first octets of its pieces
	beyond []uint8                 // by state: rules beyond it, with a query or without
	steps  *steps                  // of many edges, or nil
	walks  sync.Pool               // of *walk
}

const (
	many      = 256 // parts, or edges, that are worth tables which fewer do without
	starsMost = 4   // of a rule with edges: one of more shares little with others
)

// star is a head that a star follows.
type star struct {
	at    int32 // its place in index.heads
	open  bool  // pieces follow the star
	grant rule  // the best rule that ends with the star, or a zero rule
}

// What lies beyond a state.
const (
	beyondQuery = 1 << iota // a rule with a query
	beyondPlain             // a rule without
)

// beyond returns what has to lie beyond a state that is of use; 0 for anything.
func (k kinds) beyond() uint8 {
	switch k {
	case kinds{ruleQuery, ruleQuery}:
		return beyondQuery
	case kinds{ruleQuery, 0}:
		return beyondPlain
	}
	return 0
}

// edge leads from a state over a piece to another state or, if to is
// negative, to the rule ends[^to].
type edge struct{ from, to int32 }

// steps are the edges that hold anywhere again: list[first[s]:first[s+1]] are
// those from state s, by piece.
type steps struct {
	list  []step
	first []int32
	rank  []int32 // by piece: how many steps lead all the way up
	end   []int32 // by piece: the first after it that does not begin with it
}

type step struct{ piece, to int32 }

// list is a sorted list of parts of patterns. Of equal ones, a head before a
// star stands last. All parts that are a prefix of some text t are found from
// the last one not after t by going up again and again: whatever sorts between
// a prefix of t and t begins with that prefix as well.
type list struct {
	parts []rule
	up    []int32                // the last part before that is a prefix of this one, or -1
	jump  []int32                // of many parts: one some steps up, so that few jumps lead anywhere
	depth int32                  // the first octet that may differ
	first [bucketCount + 1]int32 // by that octet: where its parts begin, those of the next end
}

// bucketSize is how many octets, neighbours, share a place in list.first.
const (
	bucketSize  = 4
	bucketCount = 256 / bucketSize
)

// find returns the last part that is a prefix of t, or -1.
func (l *list) find(f *File, t string) int32 {
	lo, hi := int32(0), l.first[0]
	if len(t) > int(l.depth) {
		b := t[l.depth] / bucketSize
		lo, hi = l.first[b], l.first[b+1]
	}
	for lo < hi {
		mid := int32(uint32(lo+hi) >> 1)
		if f.literal(l.parts[mid]) <= t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	i := lo - 1
	if i < 0 || strings.HasPrefix(t, f.literal(l.parts[i])) {
		return i
	}
	return l.climb(i, alike(t, f.literal(l.parts[i])))
}

// climb returns the first part, from i upwards, of n octets at most, or -1.
func (l *list) climb(i int32, n int) int32 {
	for i >= 0 && l.parts[i].octets() > n {
		if l.jump != nil && l.jump[i] >= 0 && l.parts[l.jump[i]].octets() > n {
			i = l.jump[i]
		} else {
			i = l.up[i]
		}
	}
	return i
}

// octets returns the size of the pattern of r without its anchor.
func (r rule) octets() int {
	if r.bits&ruleWhole != 0 {
		return r.size() - 1
	}
	return r.size()
}

// alike returns how many octets a and b begin with alike.
func alike(a, b string) int {
	n, most := 0, min(len(a), len(b))
	for n+8 <= most && word(a[n:]) == word(b[n:]) {
		n += 8
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

// state returns the state of the head heads.parts[i].
func (x *index) state(i int32) int32 {
	lo, hi := 0, len(x.stars)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if x.stars[mid].at < i {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return int32(lo)
}

// begins reports whether a piece may begin at t[i]: false is certain.
func (x *index) begins(t string, i int) bool {
	var second byte
	if i+1 < len(t) {
		second = t[i+1]
	}
	h := pairHash(t[i], second)
	return x.begin[h>>6]&(1<<(h&63)) != 0
}

// pairHash maps two octets to a number below pairHashes.
func pairHash(a, b byte) uint {
	return (uint(a)*67 + uint(b)*5) % pairHashes
}

const pairHashes = 4096

// holds reports whether piece at is p or up from it.
func (x *steps) holds(at, p int32) bool { return at <= p && p < x.end[at] }

// few reports whether there are at most n states and steps from them.
func (x *steps) few(states []int32, n int) bool {
	if 2*len(states) > n {
		return false // mostly there is a step from each
	}
	for _, s := range states {
		if n -= 1 + int(x.first[s+1]-x.first[s]); n < 0 {
			return false
		}
	}
	return true
}
