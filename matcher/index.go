package matcher

import (
	"math/bits"
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
// The target is read from left to right. At each position the pieces that
// begin there are looked up once for all states, and each pair of a state and
// a piece is looked at once. So time depends on what the target contains, and
// hardly on the number of rules.

// index is a group of many rules, made ready.
type index struct {
	file   *File
	heads  list
	stars  []star // by place in heads; their order numbers the first states
	states int
	pieces list
	edges  []edge     // by piece, those to rules that end the target last, then by state
	first  []uint32   // edges[first[2p]:first[2p+1]] hold for piece p anywhere, those up to first[2p+2] at the end only
	ends   []rule     // rules with a star
	begin  [64]uint64 // by pairHash: a piece begins with the two octets
	after  []uint64   // by state: the lanes of the first octets of its pieces
	spare  sync.Pool  // of *walk
}

// star is a head that a star follows.
type star struct {
	at    int32 // its place in index.heads
	open  bool  // pieces follow the star
	grant rule  // the best rule that ends with the star, or a zero rule
}

// edge leads from a state over a piece to another state or, if to is
// negative, to the rule ends[^to].
type edge struct{ from, to int32 }

// list is a sorted list of parts of patterns. Of equal ones, a head before a
// star stands last. All parts that are a prefix of some text t are found from
// the last one not after t by going up again and again: whatever sorts between
// a prefix of t and t begins with that prefix as well.
type list struct {
	parts []rule
	up    []int32                // the last part before that is a prefix of this one, or -1
	depth int                    // the first octet that may differ
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
	if len(t) > l.depth {
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
	for i >= 0 && !strings.HasPrefix(t, f.literal(l.parts[i])) {
		i = l.up[i]
	}
	return i
}

// question is one target put to an index.
type question struct {
	*index
	size  int // of the target
	kinds kinds
	best  rule
	walk  *walk // nil until a state is entered
}

// walk is what has been found of patterns with stars. It is used again for
// other questions: what is not of the present epoch counts as zero.
type walk struct {
	epoch  uint32
	states []mark         // 1 from the position on at which the state is entered
	seen   []mark         // by piece: states of its lane looked at
	next   []int32        // by state: one entered at the same position, plus one
	due    []int32        // by position: a state entered there, plus one
	active [lanes][]int32 // by lane: states entered that have pieces in it, in order of position
	used   uint64         // the lanes that have any
	from   int            // no state is entered before
}

// lanes is the number of classes of octets by which pieces begin.
const lanes = 64

type mark struct {
	epoch uint32
	n     int32
}

// match returns the best rule of the given kinds for t, if it outranks best.
func (x *index) match(t string, k kinds, best rule) rule {
	q := question{index: x, size: len(t), kinds: k, best: best}
	for i := x.heads.find(x.file, t); i >= 0; i = x.heads.up[i] {
		switch r := x.heads.parts[i]; {
		case r.bits&ruleStar != 0:
			q.star(i, r.size())
		case r.bits&ruleWhole == 0 || r.size()-1 == len(t):
			q.offer(r)
		}
	}
	if q.walk != nil {
		q.run(t)
		x.spare.Put(q.walk)
	}
	return q.best
}

// offer notes a rule that matches.
func (q *question) offer(r rule) {
	if q.kinds.has(r) && q.file.outranks(r, q.best) {
		q.best = r
	}
}

// star passes the head heads.parts[i], which ends at end.
func (q *question) star(i int32, end int) {
	state := q.state(i)
	s := &q.stars[state]
	if s.grant.bits != 0 {
		q.offer(s.grant)
	}
	if s.open {
		if q.walk == nil {
			q.walk = q.newWalk(q.size)
		}
		q.enter(state, end)
	}
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

// newWalk returns an empty walk over n octets.
func (x *index) newWalk(n int) *walk {
	w, _ := x.spare.Get().(*walk)
	if w == nil {
		w = &walk{
			states: make([]mark, x.states),
			next:   make([]int32, x.states),
			seen:   make([]mark, len(x.pieces.parts)),
		}
	}
	if w.epoch++; w.epoch == 0 {
		clear(w.states)
		clear(w.seen)
		w.epoch = 1
	}
	if cap(w.due) < n {
		w.due = make([]int32, n)
	}
	w.due = w.due[:n]
	clear(w.due)
	for ; w.used != 0; w.used &= w.used - 1 {
		lane := &w.active[bits.TrailingZeros64(w.used)]
		*lane = (*lane)[:0]
	}
	w.from = n
	return w
}

// enter notes that state s is reached at octet pos.
func (q *question) enter(s int32, pos int) {
	w := q.walk
	if pos >= q.size || w.states[s].epoch == w.epoch {
		return
	}
	w.states[s] = mark{w.epoch, 0}
	w.next[s], w.due[pos] = w.due[pos], s+1
	w.from = min(w.from, pos)
}

// run reads the target.
func (q *question) run(t string) {
	w, x := q.walk, q.index
	for i := w.from; i < len(t); i++ {
		for s := w.due[i]; s != 0; s = w.next[s-1] {
			w.activate(s-1, x.after[s-1])
		}
		lane := w.active[t[i]%lanes]
		if len(lane) == 0 || !x.begins(t, i) {
			continue
		}
		p := x.pieces.find(x.file, t[i:])
		if p >= 0 && i+x.pieces.parts[p].size() == len(t) {
			q.follow(x.edges[x.first[2*p+1]:x.first[2*p+2]], lane, len(t))
		}
		for p >= 0 && q.visit(p, lane, i+x.pieces.parts[p].size()) {
			p = x.pieces.up[p]
		}
	}
}

// activate makes a state look for its pieces.
func (w *walk) activate(s int32, after uint64) {
	w.states[s].n = 1
	w.used |= after
	for ; after != 0; after &= after - 1 {
		lane := &w.active[bits.TrailingZeros64(after)]
		*lane = append(*lane, s)
	}
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

// pairHash maps two octets to a bit of index.begin.
func pairHash(a, b byte) uint {
	return (uint(a)*67 + uint(b)*5) & 4095
}

// visit follows the edges of piece p, which ends at end, from the states of
// its lane that were entered since it was last found. It returns false if there
// are none: then there are none either for the pieces up from p, since they
// were visited whenever p was.
func (q *question) visit(p int32, lane []int32, end int) bool {
	m := &q.walk.seen[p]
	if m.epoch != q.walk.epoch {
		*m = mark{q.walk.epoch, 0}
	}
	if int(m.n) == len(lane) {
		return false
	}
	fresh := lane[m.n:]
	m.n = int32(len(lane))
	q.follow(q.edges[q.first[2*p]:q.first[2*p+1]], fresh, end)
	return true
}

// follow follows those of the edges, all of one piece, that come from one of
// the states. It may follow more, from states entered before.
func (q *question) follow(edges []edge, states []int32, end int) {
	w := q.walk
	if len(edges) <= len(states) {
		for _, e := range edges {
			if w.states[e.from] == (mark{w.epoch, 1}) {
				q.take(e, end)
			}
		}
		return
	}
	for _, s := range states {
		lo, hi := 0, len(edges)
		for lo < hi {
			mid := int(uint(lo+hi) >> 1)
			if edges[mid].from < s {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		for ; lo < len(edges) && edges[lo].from == s; lo++ {
			q.take(edges[lo], end)
		}
	}
}

func (q *question) take(e edge, end int) {
	if e.to < 0 {
		q.offer(q.ends[^e.to])
	} else {
		q.enter(e.to, end)
	}
}
