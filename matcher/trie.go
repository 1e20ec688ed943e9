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
// earliest position, for whatever follows from there follows from any later
// position too. A search enters the nodes whose heads begin the target, and then,
// depth first, the nodes that a piece leads to. Where the pieces stand in the
// target is looked up once for all nodes.

// A trie is made of the rules with stars of a sorted list.
type trie struct {
	heads  rules // sorted; each pattern is a head, and head i leads to nodes[i]
	nodes  []node
	pieces []string    // sorted
	up     []int32     // by piece: the longest other piece that it begins with, or -1
	jump   []int32     // by piece: one further up, or up: skew-binary jump pointers, Myers 1983
	starts [256]uint64 // by the first byte of a piece: a set of the second, modulo 64
}

// A node is what has been read of patterns up to a star or the end.
type node struct {
	piece    int32 // number of the piece that leads here; 0 after a head
	open     int32 // number of the best rule that ends here, or -1
	anchored int32 // number of the best rule that ends here and at the end of the target, or -1
	from, to int32 // nodes[from:to] follow after a star, sorted by piece; while the trie is built, the rules that lead through the node
}

// An entry is a node and a position: in the target where a search enters the node,
// or in the patterns that lead through the node.
type entry struct{ node, at int32 }

// newTrie returns a trie of the rules after the plain ones.
func newTrie(s *rules) *trie {
	x := new(trie)
	parts := strings.Count(s.text[s.list[s.plain].begin:], "*")
	x.nodes = make([]node, 0, len(s.list)-int(s.plain)+parts)
	var heads []byte
	for i := int(s.plain); i < len(s.list); {
		n := node{open: -1, anchored: -1, from: int32(i)}
		head := s.head(i)
		for ; i < len(s.list) && s.head(i) == head; i++ {
		}
		n.to = int32(i)
		x.nodes = append(x.nodes, n)
		x.heads.list = append(x.heads.list, rule{begin: int32(len(heads))})
		heads = append(heads, head...)
	}
	x.heads.text = string(heads)
	x.heads.list = slices.Clone(x.heads.list)
	x.heads.shortest = x.heads.shortestOf(len(x.heads.list))
	known := map[string]int32{}
	var stack []entry
	for i := range x.heads.list {
		stack = append(stack, entry{int32(i), int32(len(x.heads.pattern(i)))})
		for len(stack) > 0 {
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			x.fork(s, top, known)
			for c := x.nodes[top.node].to - 1; c >= x.nodes[top.node].from; c-- {
				stack = append(stack, entry{c, top.at + 1 + int32(len(x.pieces[x.nodes[c].piece]))})
			}
		}
	}
	x.nodes = slices.Clone(x.nodes)
	x.sortPieces()
	x.linkPieces()
	return x
}

// fork sets the rules that end at a node, and appends the nodes that follow it. The
// known pieces have numbers; others get the next ones.
func (x *trie) fork(s *rules, e entry, known map[string]int32) {
	n := x.nodes[e.node]
	i, to, at := int(n.from), int(n.to), int(e.at)
	for ; i < to && len(s.literal(i)) == at; i++ {
		end := &n.open
		if s.list[i].anchored {
			end = &n.anchored
		}
		if *end < 0 || s.outranks(i, int(*end)) {
			*end = int32(i)
		}
	}
	n.from = int32(len(x.nodes))
	for i < to {
		piece := until(s.literal(i)[at+1:], '*')
		number, ok := known[piece]
		if !ok {
			number = int32(len(x.pieces))
			known[piece], x.pieces = number, append(x.pieces, piece)
		}
		child := node{piece: number, open: -1, anchored: -1, from: int32(i)}
		for i++; i < to && until(s.literal(i)[at+1:], '*') == piece; i++ {
		}
		child.to = int32(i)
		x.nodes = append(x.nodes, child)
	}
	n.to = int32(len(x.nodes))
	x.nodes[e.node] = n
}

// sortPieces sorts the pieces, and numbers them in this order.
func (x *trie) sortPieces() {
	list := make([]numbered, len(x.pieces))
	for i, piece := range x.pieces {
		list[i] = numbered{piece, int32(i)}
	}
	sortTexts(list, make([]numbered, len(list)), 0, false)
	x.pieces = make([]string, len(list))
	number := make([]int32, len(list)) // by the number before
	for i, k := range list {
		x.pieces[i], number[k.number] = k.text, int32(i)
	}
	for i := range x.nodes[len(x.heads.list):] {
		n := &x.nodes[len(x.heads.list)+i]
		n.piece = number[n.piece]
	}
}

// linkPieces sets for each piece what it begins with, and how the pieces start.
func (x *trie) linkPieces() {
	x.up, x.jump = make([]int32, len(x.pieces)), make([]int32, len(x.pieces))
	depth := make([]int32, len(x.pieces)) // how many pieces are further up
	for i, piece := range x.pieces {
		if len(piece) == 1 {
			x.starts[piece[0]] = math.MaxUint64
		} else {
			x.starts[piece[0]] |= 1 << (piece[1] % 64)
		}
		j := int32(i - 1)
		for j >= 0 && !strings.HasPrefix(piece, x.pieces[j]) {
			j = x.up[j]
		}
		x.up[i], x.jump[i] = j, j
		if j < 0 {
			continue
		}
		depth[i] = depth[j] + 1
		// Two jumps of one length are followed by one over both.
		if k := x.jump[j]; k >= 0 && x.jump[k] >= 0 && depth[j]-depth[k] == depth[k]-depth[x.jump[k]] {
			x.jump[i] = x.jump[k]
		}
	}
}

// longestPiece returns the number of the longest piece that t begins with, or -1.
// Whatever sorts between such a piece and t begins with the piece; so it is up from
// the last piece that is not after t.
func (x *trie) longestPiece(t string) int32 {
	from, to := 0, len(x.pieces)
	for from < to {
		if mid := int(uint(from+to) / 2); x.pieces[mid] <= t {
			from = mid + 1
		} else {
			to = mid
		}
	}
	i := int32(from - 1)
	if i < 0 || strings.HasPrefix(t, x.pieces[i]) {
		return i
	}
	n := commonPrefix(x.pieces[i], t)
	for i >= 0 && len(x.pieces[i]) > n {
		if j := x.jump[i]; j >= 0 && len(x.pieces[j]) > n {
			i = j
		} else {
			i = x.up[i]
		}
	}
	return i
}

// find returns the number of the rule that decides on t, of the rules of the trie
// and the rule best.
func (x *trie) find(s *rules, t string, which, best int) int {
	var stackBuf [32]entry
	stack, from := stackBuf[:0], len(t)
	for i := x.heads.longestPrefix(t, len(x.heads.list)); i >= 0; {
		n := &x.nodes[i]
		from = len(x.heads.pattern(i))
		if n.open >= 0 && s.outranksIn(int(n.open), best, which) {
			best = int(n.open)
		}
		stack = append(stack, entry{int32(i), int32(from)})
		if from == 0 {
			break
		}
		i = x.heads.longestPrefix(t[:from-1], i)
	}
	if len(stack) == 0 {
		return best
	}
	var foundBuf [32]uint64
	found := x.search(foundBuf[:0], t, from)
	if len(found) == 0 {
		return best
	}
	var piecesBuf [32]int32
	var slotsBuf [256]int32
	var setsBuf [64]uint64
	p, ok := x.places(found, len(t), places{piecesBuf[:0], slotsBuf[:], setsBuf[:], 0})
	if !ok {
		for i := int(s.plain); i < len(s.list); i++ {
			best = s.better(best, i, t, which)
		}
		return best
	}
	return x.walk(s, t, which, best, stack, &p)
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
		if x.starts[t[i]]>>(second%64)&1 == 0 {
			continue
		}
		if p := x.longestPiece(t[i:]); p >= 0 {
			found = append(found, uint64(p)<<32|uint64(i))
		}
	}
	slices.Sort(found)
	return found
}

// walk enters all nodes that can be reached from the nodes on the stack, and
// returns the number of the rule that decides, of the rules found and best.
func (x *trie) walk(s *rules, t string, which, best int, stack []entry, p *places) int {
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n, at := &x.nodes[top.node], int(top.at)
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
			if child < 0 || slot < 0 {
				continue
			}
			next := p.next(slot, at)
			if next < 0 {
				continue
			}
			c := &children[child]
			size := len(x.pieces[c.piece])
			if c.open >= 0 && s.outranksIn(int(c.open), best, which) {
				best = int(c.open)
			}
			if c.anchored >= 0 && len(t)-size >= at && strings.HasSuffix(t, x.pieces[c.piece]) && s.outranksIn(int(c.anchored), best, which) {
				best = int(c.anchored)
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
	pieces []int32  // their numbers, in order; the number of one in this list is its slot
	slots  []int32  // by number of the piece: its slot plus one, or 0; nil if few of many pieces are found
	sets   []uint64 // by slot: a bit set of positions, in words words
	words  int
}

const slotsFew = 8

// setsMost bounds the memory for places, in words: 16 MiB. A target of 2 KiB never
// needs as much for the rules of a file of 500 KiB.
const setsMost = 1 << 21

// places makes the places of the pieces found in a target of n bytes. Where a
// piece stands, each piece that is a prefix of it stands there, too. It uses the
// lists of p, as far as they reach, and fails if it needs too much memory.
//
// The pieces are sorted, so the prefixes of the current piece form a stack: the
// last one on it is top, and parents leads down.
func (x *trie) places(found []uint64, n int, p places) (_ places, ok bool) {
	var parentsBuf [32]int32
	pieces := p.pieces
	parents, top := parentsBuf[:0], int32(-1)
	for i, f := range found {
		piece := int32(f >> 32)
		for top >= 0 && !strings.HasPrefix(x.pieces[piece], x.pieces[pieces[top]]) {
			top = parents[top]
		}
		size := len(pieces)
		for q := piece; q >= 0 && (top < 0 || q != pieces[top]); q = x.up[q] {
			pieces = append(pieces, q)
		}
		slices.Reverse(pieces[size:])
		for ; size < len(pieces); size++ {
			parents, top = append(parents, top), int32(size)
		}
		found[i] = uint64(top)<<32 | f&math.MaxUint32
	}
	p.pieces, p.words = pieces, (n+63)/64
	size := p.words * len(pieces)
	if size > setsMost {
		return p, false
	}
	if size > len(p.sets) {
		p.sets = make([]uint64, size)
	}
	for _, f := range found {
		at := f & math.MaxUint32
		p.sets[int(f>>32)*p.words+int(at/64)] |= 1 << (at % 64)
	}
	for slot := len(pieces) - 1; slot >= 0; slot-- {
		if parents[slot] >= 0 {
			for i, w := range p.set(slot) {
				p.sets[int(parents[slot])*p.words+i] |= w
			}
		}
	}
	if len(x.pieces) > len(p.slots) && len(pieces) <= slotsFew {
		p.slots = nil
		return p, true
	}
	if len(x.pieces) > len(p.slots) {
		p.slots = make([]int32, len(x.pieces))
	}
	for slot, piece := range pieces {
		p.slots[piece] = int32(slot + 1)
	}
	return p, true
}

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
