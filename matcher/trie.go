package matcher

import (
	"math"
	"math/bits"
	"slices"
	"strings"
)

// This file finds the rule that decides among many rules with stars: RFC 9309,
// section 2.2.3.
//
// A pattern is cut at its stars into a head, which begins the target, and pieces,
// each of which stands somewhere after the one before. The patterns form a trie
// whose edges are heads and pieces. Invariant: a node is entered once, at its
// earliest position, for whatever follows a later position follows the earliest one,
// too. A search enters the nodes whose heads begin the target, and then,
// depth first, the nodes that a piece leads to. Where the pieces stand in the
// target is looked up once for all nodes.

// A trie is made of rules with stars.
type trie struct {
	rules    *rules
	from, to int   // made of rules.list[from:to]
	heads    rules // sorted; each pattern is a head, and head i leads to nodes[i]
	nodes    []node
	pieces   []piece     // sorted
	starts   [256]uint16 // by the first byte of a piece: a set of the second, modulo 16
}

// A node is what has been read of patterns up to a star or the end.
type node struct {
	piece    int32 // number of the piece that leads here; 0 after a head
	open     int32 // number of the best rule that ends here, or -1
	anchored int32 // number of the best rule that ends here and at the end of the target, or -1
	longest  int32 // length of the longest pattern that ends here or in a node that follows
	from, to int32 // nodes[from:to] follow after a star, sorted by piece; while the trie is built, the rules that lead through the node
}

// A piece stands between stars, or after the last star, of one or more patterns.
type piece struct {
	begin, end int32 // where it stands in the text of the rules
	up         int32 // number of the longest other piece that it begins with, or -1
	jump       int32 // number of a piece further up, or up: skew-binary jump pointers, Myers 1983
}

// An entry is a node and a position: in the target where a search enters the node,
// or in the patterns that lead through the node.
type entry struct{ node, at int32 }

// pieceText returns the text of a piece.
func (x *trie) pieceText(i int32) string {
	p := &x.pieces[i]
	return x.rules.text[p.begin:p.end]
}

// newTrie returns a trie of the sorted rules list[from:to]. The nodes are in depth-first
// order, but all nodes that follow one node stand side by side: so the row "1,000 stars
// at random" takes half the time.
func newTrie(s *rules, from, to int) *trie {
	x := &trie{rules: s, from: from, to: to, heads: rules{shortest: math.MaxInt32}}
	literals := make([]string, to) // by number of the rule
	var heads []byte
	most, last := 0, ""
	for i := from; i < to; i++ {
		literals[i] = s.literal(i)
		most += strings.Count(literals[i], "*")
		head := until(literals[i], '*')
		if i == from || head != last {
			x.nodes = append(x.nodes, node{open: -1, anchored: -1, from: int32(i)})
			x.heads.list = append(x.heads.list, rule{begin: int32(len(heads))})
			x.heads.shortest = min(x.heads.shortest, int32(len(head)))
			heads, last = append(heads, head...), head
		}
		x.nodes[len(x.nodes)-1].to = int32(i + 1)
	}
	x.heads.text, x.heads.list = string(heads), slices.Clone(x.heads.list)
	x.nodes = slices.Grow(x.nodes, most)
	parts := make([]span, 0, most) // of all nodes after the heads
	var stack []entry
	for i := range x.heads.list {
		stack = append(stack, entry{int32(i), int32(len(x.heads.pattern(i)))})
		for len(stack) > 0 {
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			parts = x.fork(top, literals, parts)
			for n := x.nodes[top.node].to - 1; n >= x.nodes[top.node].from; n-- {
				k := parts[int(n)-len(x.heads.list)]
				stack = append(stack, entry{n, top.at + 1 + k.end - k.begin})
			}
		}
	}
	if len(x.nodes) < cap(x.nodes)*7/8 {
		x.nodes = slices.Clone(x.nodes)
	}
	x.addPieces(parts)
	x.setLongest()
	return x
}

// setLongest sets the length of the longest pattern of each node. A node stands before
// the nodes that follow it.
func (x *trie) setLongest() {
	for i := len(x.nodes) - 1; i >= 0; i-- {
		n := &x.nodes[i]
		n.longest = max(x.rules.length(int(n.open)), x.rules.length(int(n.anchored)))
		for c := n.from; c < n.to; c++ {
			n.longest = max(n.longest, x.nodes[c].longest)
		}
	}
}

// fork sets the rules that end at a node, and appends the nodes that follow it and
// the parts of literals that lead to them.
func (x *trie) fork(e entry, literals []string, parts []span) []span {
	s, n, at := x.rules, x.nodes[e.node], int(e.at)
	i, to := n.from, n.to
	for ; i < to && len(literals[i]) == at; i++ {
		end := &n.open
		if s.list[i].anchored() {
			end = &n.anchored
		}
		if *end < 0 || s.outranks(int(i), int(*end)) {
			*end = i
		}
	}
	n.from = int32(len(x.nodes))
	for i < to {
		part := until(literals[i][at+1:], '*')
		begin := s.list[i].begin + e.at + 1
		parts = append(parts, span{begin, begin + int32(len(part)), int32(len(x.nodes))})
		child := node{open: -1, anchored: -1, from: i}
		for i++; i < to && until(literals[i][at+1:], '*') == part; i++ {
		}
		child.to = i
		x.nodes = append(x.nodes, child)
	}
	n.to = int32(len(x.nodes))
	x.nodes[e.node] = n
	return parts
}

// addPieces sorts and numbers the parts that lead to nodes.
func (x *trie) addPieces(parts []span) {
	text := x.rules.text
	sortSpans(text, parts, make([]span, len(parts)), 0)
	for i, k := range parts {
		if i == 0 || parts[i-1].in(text) != k.in(text) {
			x.pieces = append(x.pieces, piece{begin: k.begin, end: k.end})
		}
		x.nodes[k.number].piece = int32(len(x.pieces) - 1)
	}
	x.pieces = slices.Clone(x.pieces)
	depth := make([]int32, len(x.pieces)) // how many pieces are further up
	for i := range x.pieces {
		p, part := &x.pieces[i], x.pieceText(int32(i))
		if len(part) == 1 {
			x.starts[part[0]] = math.MaxUint16
		} else {
			x.starts[part[0]] |= 1 << (part[1] % 16)
		}
		j := int32(i - 1)
		for j >= 0 && !strings.HasPrefix(part, x.pieceText(j)) {
			j = x.pieces[j].up
		}
		p.up, p.jump = j, j
		if j < 0 {
			continue
		}
		depth[i] = depth[j] + 1
		// Two jumps of equal length in a row become one jump over both.
		if k := x.pieces[j].jump; k >= 0 && x.pieces[k].jump >= 0 && depth[j]-depth[k] == depth[k]-depth[x.pieces[k].jump] {
			p.jump = x.pieces[k].jump
		}
	}
}

// longestPiece returns the number of the longest piece that t begins with, or -1.
// Whatever sorts between such a piece and t begins with that piece. So it is the last
// piece that does not sort after t, or one further up from there.
func (x *trie) longestPiece(t string) int32 {
	from, to := 0, len(x.pieces)
	for from < to {
		if mid := int(uint(from+to) / 2); x.pieceText(int32(mid)) <= t {
			from = mid + 1
		} else {
			to = mid
		}
	}
	i := int32(from - 1)
	if i < 0 {
		return -1
	}
	n := int32(commonPrefix(x.pieceText(i), t))
	longer := func(i int32) bool { return i >= 0 && x.pieces[i].end-x.pieces[i].begin > n }
	for longer(i) {
		if j := x.pieces[i].jump; longer(j) {
			i = j
		} else {
			i = x.pieces[i].up
		}
	}
	return i
}

// find returns the number of the rule that decides on t, of the rules of the trie
// and the rule best, which can be -1.
func (x *trie) find(t string, best int) int {
	var stackBuf [32]entry
	stack, from := stackBuf[:0], len(t)
	for i := x.heads.longestPrefix(t, len(x.heads.list)); i >= 0; {
		n := &x.nodes[i]
		from = len(x.heads.pattern(i))
		best = x.rules.higher(n.open, best)
		stack = append(stack, entry{int32(i), int32(from)})
		if from == 0 {
			break
		}
		i = x.heads.longestPrefix(t[:from-1], i)
	}
	var foundBuf [32]uint64
	found := x.search(foundBuf[:0], t, from)
	if len(found) == 0 {
		return best
	}
	var piecesBuf [32]int32
	var slotsBuf [256]int32
	var setsBuf [64]uint64
	p, ok := x.placesOf(found, places{piecesBuf[:0], slotsBuf[:], setsBuf[:], (len(t) + 63) / 64})
	if ok {
		return x.walk(t, best, stack, &p)
	}
	// The places would take too much memory: try every rule.
	for i := x.from; i < x.to; i++ {
		best = x.rules.better(best, i, t, allRules)
	}
	return best
}

// search appends, for each position of t from from on, the longest piece that
// stands there, if there is one: its number, shifted, and the position. They are
// in the order of the pieces.
func (x *trie) search(found []uint64, t string, from int) []uint64 {
	for i := from; i < len(t); i++ {
		second := byte(0)
		if i+1 < len(t) {
			second = t[i+1]
		}
		if x.starts[t[i]]>>(second%16)&1 == 0 {
			continue
		}
		if p := x.longestPiece(t[i:]); p >= 0 {
			found = append(found, uint64(p)<<32|uint64(i))
		}
	}
	slices.Sort(found)
	return found
}

// walk enters all nodes that can be reached from the nodes on the stack, and returns the
// number of the rule that decides, of the rules found and best. It skips a node if the
// best rule so far is longer than all patterns of the node.
func (x *trie) walk(t string, best int, stack []entry, p *places) int {
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n, at := &x.nodes[top.node], int(top.at)
		if n.longest < x.rules.length(best) {
			continue
		}
		children := x.nodes[n.from:n.to]
		byPiece := p.slots == nil || len(children) > 4*len(p.pieces)
		steps := len(children)
		if byPiece {
			steps = len(p.pieces)
		}
		for i := range steps {
			child, slot := i, i
			if byPiece {
				child = childOf(children, p.pieces[i])
			} else {
				slot = int(p.slots[children[i].piece]) - 1
			}
			if child < 0 || slot < 0 || children[child].longest < x.rules.length(best) {
				continue
			}
			next := p.next(slot, at)
			if next < 0 {
				continue
			}
			c := &children[child]
			size := len(x.pieceText(c.piece))
			if c.open >= 0 {
				best = x.rules.higher(c.open, best)
			}
			if c.anchored >= 0 && len(t)-size >= at && strings.HasSuffix(t, x.pieceText(c.piece)) {
				best = x.rules.higher(c.anchored, best)
			}
			if c.from < c.to {
				stack = append(stack, entry{n.from + int32(child), int32(next + size)})
			}
		}
	}
	return best
}

// childOf returns which of the nodes a piece leads to, or -1.
func childOf(nodes []node, piece int32) int {
	i, ok := slices.BinarySearchFunc(nodes, piece, func(n node, p int32) int { return int(n.piece) - int(p) })
	if !ok {
		return -1
	}
	return i
}

// places are where the pieces that are found in a target stand.
type places struct {
	pieces []int32  // their numbers, sorted; the number of one in this list is its slot
	slots  []int32  // by number of the piece: its slot plus one, or 0; nil if few of many pieces are found
	sets   []uint64 // by slot: a bit set of positions, in words words
	words  int
}

// slotsFew is the number of pieces up to which places has no slots if the trie has more
// pieces than fit the memory of the caller.
const slotsFew = 8

// setsMost bounds the memory for places, in words: 16 MiB. A target of 2 KiB never
// needs as much for the rules of a file of 500 KiB.
const setsMost = 1 << 21

// placesOf returns the places of the pieces found, and of the pieces that they begin with.
// It uses the lists of p, as far as they reach. ok is false if it needs too much memory.
func (x *trie) placesOf(found []uint64, p places) (_ places, ok bool) {
	last := int32(-1)
	for _, f := range found {
		// Whatever sorts between a piece and its prefix begins with that prefix. So
		// a prefix that does not sort after the last piece was added with that piece.
		size, piece := len(p.pieces), int32(f>>32)
		for i := piece; i > last; i = x.pieces[i].up {
			p.pieces = append(p.pieces, i)
		}
		slices.Reverse(p.pieces[size:])
		last = piece
	}
	n := p.words * len(p.pieces)
	if n > setsMost {
		return p, false
	}
	if n > len(p.sets) {
		p.sets = make([]uint64, n)
	}
	slot := 0
	for _, f := range found {
		for p.pieces[slot] != int32(f>>32) {
			slot++
		}
		at := f & math.MaxUint32
		p.set(slot)[at/64] |= 1 << (at % 64)
	}
	for slot := len(p.pieces) - 1; slot > 0; slot-- {
		if up, ok := slices.BinarySearch(p.pieces[:slot], x.pieces[p.pieces[slot]].up); ok {
			set := p.set(up)
			for i, w := range p.set(slot) {
				set[i] |= w
			}
		}
	}
	if len(x.pieces) > len(p.slots) {
		p.slots = nil
		if len(p.pieces) <= slotsFew {
			return p, true
		}
		p.slots = make([]int32, len(x.pieces))
	}
	for slot, piece := range p.pieces {
		p.slots[piece] = int32(slot + 1)
	}
	return p, true
}

// set returns the positions of the piece in a slot.
func (p *places) set(slot int) []uint64 { return p.sets[slot*p.words:][:p.words] }

// next returns the first place of the piece in a slot that is not before from, or
// -1.
func (p *places) next(slot, from int) int {
	set, i := p.set(slot), from/64
	if i >= len(set) {
		return -1
	}
	for w := set[i] >> (from % 64) << (from % 64); ; w = set[i] {
		if w != 0 {
			return 64*i + bits.TrailingZeros64(w)
		}
		if i++; i == len(set) {
			return -1
		}
	}
}
