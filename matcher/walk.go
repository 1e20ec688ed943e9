package matcher

import "math/bits"

// This file puts a target to an index. The target is read from left to right.
// At each position the pieces that begin there are looked up once for all
// states, and each pair of a state and a piece is looked at once, or not at all
// where the edges from the state are fewer. So time depends on what the target
// contains, and hardly on the number of rules. The rules of many stars are tried
// one after another, with the places of all pairs of octets at hand.

// question is one target put to an index.
type question struct {
	*index
	t     string
	kinds kinds
	want  uint8 // kinds.beyond
	best  rule
	walk  *walk // nil until a state is entered
}

// walk is what has been found of patterns with stars. It is used again for
// other questions: what is not of the present epoch counts as zero.
type walk struct {
	epoch  uint32  // even
	states []state // those of the epoch are entered, those of the next are active
	seen   []mark  // by piece: states of its lane looked at, for it and for all pieces up from it
	due    []int32 // by position: a state entered there, plus one
	lanes  [lanes]lane
	used   uint64 // the lanes that have states
	from   int    // no state is entered before
}

// state is what a walk knows of a state.
type state struct {
	epoch uint32
	next  int32 // one entered at the same position, plus one
}

// lane has the active states of which a piece begins with an octet of one class.
type lane struct {
	states []int32 // in order of position
	last   int32   // the piece found last
	seen   int32   // how many states had been looked at then
}

// lanes is the number of classes of octets by which pieces begin.
const lanes = 64

type mark struct {
	epoch uint32
	n     int32
}

// match returns the best rule of the given kinds for t, if it outranks best.
func (x *index) match(t string, k kinds, best rule) rule {
	q := question{index: x, t: t, kinds: k, want: k.beyond(), best: best}
	var w *walk
	for i := x.heads.find(x.file, t); i >= 0; i = x.heads.up[i] {
		r := x.heads.parts[i]
		if r.bits&ruleStar == 0 {
			if r.bits&ruleWhole == 0 || r.octets() == len(t) {
				q.offer(r)
			}
			continue
		}
		state := x.state(i)
		s := &x.stars[state]
		if s.grant.bits != 0 {
			q.offer(s.grant)
		}
		if s.open && w == nil {
			w = x.newWalk(len(t))
			q.walk = w
		}
		if s.open {
			q.enter(state, r.size())
		}
	}
	if w != nil {
		q.run()
		x.walks.Put(w) // not q.walk, lest t be taken to live on
	}
	if len(x.apart) > 0 {
		return x.matchApart(t, k, q.best)
	}
	return q.best
}

// matchApart is match for the rules of many stars, tried one after another.
func (x *index) matchApart(t string, k kinds, best rule) rule {
	if !x.file.outranks(x.apart[0], best) {
		return best
	}
	var p *pairs
	if len(x.apart) > many && len(t) <= pairsMost {
		p = sparePairs.Get().(*pairs)
		p.read(t)
	}
	for _, r := range x.apart {
		if !x.file.outranks(r, best) {
			break
		}
		if k.has(r) && matches(x.file.literal(r), t, r.bits&ruleWhole != 0, p) {
			best = r
		}
	}
	if p != nil {
		sparePairs.Put(p)
	}
	return best
}

// offer notes a rule that matches.
func (q *question) offer(r rule) {
	if q.kinds.has(r) && q.file.outranks(r, q.best) {
		q.best = r
	}
}

// newWalk returns an empty walk over n octets.
func (x *index) newWalk(n int) *walk {
	w, _ := x.walks.Get().(*walk)
	if w == nil {
		w = &walk{states: make([]state, len(x.after)), seen: make([]mark, len(x.pieces.parts))}
	}
	if w.epoch += 2; w.epoch == 0 {
		clear(w.states)
		clear(w.seen)
		w.epoch = 2
	}
	if cap(w.due) < n {
		w.due = make([]int32, n)
	}
	w.due = w.due[:n]
	clear(w.due)
	for ; w.used != 0; w.used &= w.used - 1 {
		l := &w.lanes[bits.TrailingZeros64(w.used)]
		*l = lane{states: l.states[:0]}
	}
	w.from = n
	return w
}

// enter notes that state s is reached at octet pos.
func (q *question) enter(s int32, pos int) {
	w := q.walk
	if pos >= len(q.t) || w.states[s].epoch|1 == w.epoch|1 || q.want != 0 && q.beyond[s]&q.want == 0 {
		return
	}
	w.states[s] = state{w.epoch, w.due[pos]}
	w.due[pos] = s + 1
	w.from = min(w.from, pos)
}

// run reads the target.
func (q *question) run() {
	w, x, t := q.walk, q.index, q.t
	for i := w.from; i < len(t); i++ {
		for s := w.due[i]; s != 0; s = w.states[s-1].next {
			w.activate(s-1, x.after[s-1])
		}
		l := &w.lanes[t[i]%lanes]
		if len(l.states) == 0 || !x.begins(t, i) {
			continue
		}
		p := x.pieces.find(x.file, t[i:])
		if p < 0 {
			continue
		}
		if i+x.pieces.parts[p].size() == len(t) {
			q.follow(x.edges[x.first[2*p+1]:x.first[2*p+2]], l.states, len(t))
		}
		q.visit(p, l, i)
	}
}

// activate makes a state look for pieces in the lanes after it.
func (w *walk) activate(s int32, after uint64) {
	w.states[s].epoch = w.epoch + 1
	w.used |= after
	for ; after != 0; after &= after - 1 {
		l := &w.lanes[bits.TrailingZeros64(after)]
		l.states = append(l.states, s)
	}
}

// visit follows the edges of piece p, found at octet i, and of the pieces up
// from it, from the states of their lane that were not looked at before.
//
// Invariant: what was looked at for a piece was looked at for those up from it,
// since they are found wherever it is.
func (q *question) visit(p int32, l *lane, i int) {
	x, w, n := q.index, q.walk, int32(len(l.states))
	for at := p; at >= 0; at = x.pieces.up[at] {
		m := w.seen[at]
		if m.epoch != w.epoch {
			m.n = 0
		}
		if x.steps != nil && m.n < l.seen && x.steps.holds(at, l.last) {
			m.n = l.seen
		}
		w.seen[at] = mark{w.epoch, n}
		if m.n == n {
			break
		}
		fresh, edges := l.states[m.n:], x.edges[x.first[2*at]:x.first[2*at+1]]
		if x.steps != nil {
			cost := max(int(x.steps.rank[at]), min(len(edges), search*len(fresh))) // of going on up, piece by piece
			if x.steps.few(fresh, cost) {
				q.step(fresh, at, i)
				break
			}
		}
		q.follow(edges, fresh, i+x.pieces.parts[at].size())
	}
	l.last, l.seen = p, n
}

// step follows the edges from the states over piece at, found at octet i, and
// over the pieces up from it.
func (q *question) step(states []int32, at int32, i int) {
	for _, s := range states {
		for _, e := range q.steps.list[q.steps.first[s]:q.steps.first[s+1]] {
			if q.steps.holds(e.piece, at) {
				q.take(e.to, i+q.pieces.parts[e.piece].size())
			}
		}
	}
}

// search is how many edges are looked at in the time that it takes to find one.
const search = 16

// follow follows those of the edges, all of one piece, that come from one of
// the states. It may follow more, from states entered before.
func (q *question) follow(edges []edge, states []int32, end int) {
	w := q.walk
	if len(edges) <= search*len(states) {
		for _, e := range edges {
			if w.states[e.from].epoch == w.epoch+1 {
				q.take(e.to, end)
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
			q.take(edges[lo].to, end)
		}
	}
}

// take goes over an edge that leads to to.
func (q *question) take(to int32, end int) {
	if to < 0 {
		q.offer(q.ends[^to])
	} else {
		q.enter(to, end)
	}
}
