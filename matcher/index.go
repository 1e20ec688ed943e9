package matcher

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"unsafe"
)

// This file answers for groups of many rules in a time that hardly grows with
// their number: RFC 9309, section 2.2.2. See trie.go for how an index is built.
//
// A pattern is cut at its stars into a head, which begins the target, and pieces,
// each of which stands somewhere after the one before. The patterns form a trie
// whose edges are heads and pieces. Invariant: a node is entered once, at its
// earliest position, for whatever follows from there follows from any later
// position too. So a question enters the nodes whose heads begin the target, and
// then, depth first, the nodes that a piece leads to. Where the pieces stand
// in the target is looked up once for all nodes.

// indexes are the indexes of a group. Rules with a query see some targets
// otherwise than rules without, and match no target without one.
type indexes struct {
	plain, query *index // nil without rules of this sort
}

// An index finds the first of many rules that matches a target.
type index struct {
	heads  prefixes    // head i leads to nodes[i]
	pieces prefixes    // what stands after stars
	starts [256]uint64 // by the first byte of a piece: the second, modulo 64
	nodes  []node
}

// A node is what has been read of a pattern up to a star or its end. Rules are
// known by their numbers, the least of which decides.
type node struct {
	piece    int32 // number of the piece that leads here; not used after a head
	open     int32 // first rule that ends here, or noRule
	anchored int32 // first rule that ends here and at the end of the target, or noRule
	least    int32 // first rule that ends here or further down
	from, to int32 // nodes[from:to] follow after a star, by piece
}

const noRule = math.MaxInt32

// first returns the number of the first rule that matches, or -1. Rules with a
// query see the target folded. It fails, which ok tells, for a target so long
// and of so many pieces that the memory it needs is past reason.
func (x *indexes) first(t, folded string) (n int, ok bool) {
	best, ok := int32(noRule), true
	if x.plain != nil {
		best, ok = x.plain.first(t, best)
	}
	if ok && x.query != nil && strings.IndexByte(folded, '?') >= 0 {
		best, ok = x.query.first(folded, best)
	}
	if best == noRule {
		return -1, ok
	}
	return int(best), ok
}

// An entry is a node that a question has entered, and where in the target.
type entry struct{ node, at int32 }

// first returns the number of the first rule that matches t, or best if that
// is less.
func (x *index) first(t string, best int32) (n int32, ok bool) {
	var stackBuf [32]entry
	stack, from := stackBuf[:0], len(t)
	for i := x.heads.find(t); i >= 0; i = x.heads.up[i] {
		n, size := &x.nodes[i], len(x.heads.list[i])
		best = min(best, n.open)
		if size == len(t) {
			best = min(best, n.anchored)
		}
		if n.from < n.to && n.least < best {
			stack, from = append(stack, entry{i, int32(size)}), size
		}
	}
	if len(stack) == 0 {
		return best, true
	}
	var foundBuf [32]uint64
	found := x.search(foundBuf[:0], t, from)
	if len(found) == 0 {
		return best, true
	}
	var piecesBuf [32]int32
	var slotsBuf [256]int32
	var setsBuf [64]uint64
	p, ok := x.places(found, len(t), places{piecesBuf[:0], slotsBuf[:], setsBuf[:], 0})
	if !ok {
		return best, false
	}
	return x.walk(t, best, stack, &p), true
}

// search appends, for each position of t from from on, the longest piece that
// stands there, if there is one: its number, shifted, and the position. They are
// in the order of the pieces.
func (x *index) search(found []uint64, t string, from int) []uint64 {
	for i := from; i < len(t); i++ {
		second := byte(0)
		if i+1 < len(t) {
			second = t[i+1]
		}
		if x.starts[t[i]]>>(second%64)&1 == 0 {
			continue
		}
		if p := x.pieces.find(t[i:]); p >= 0 {
			found = append(found, uint64(p)<<32|uint64(i))
		}
	}
	slices.Sort(found)
	return found
}

// walk enters all nodes that can be reached from those on the stack, and returns
// the number of the first rule that matches t, or best if that is less.
func (x *index) walk(t string, best int32, stack []entry, p *places) int32 {
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		at, n := int(top.at), &x.nodes[top.node]
		if n.least >= best {
			continue
		}
		children := x.nodes[n.from:n.to]
		byPiece := len(children) > 4*len(p.pieces)
		steps := len(children)
		if byPiece {
			steps = len(p.pieces)
		}
		for step := range steps {
			k, slot, ok := step, step, true
			if byPiece {
				k, ok = childOf(children, p.pieces[step])
			} else {
				slot, ok = p.slot(children[step].piece)
			}
			if !ok || children[k].least >= best {
				continue
			}
			next := p.next(slot, at)
			if next < 0 {
				continue
			}
			c, piece := &children[k], x.pieces.list[children[k].piece]
			best = min(best, c.open)
			if c.anchored < best && len(t)-len(piece) >= at && strings.HasSuffix(t, piece) {
				best = c.anchored
			}
			if c.from < c.to && c.least < best {
				stack = append(stack, entry{n.from + int32(k), int32(next + len(piece))})
			}
		}
	}
	return best
}

// childOf returns which of the nodes a piece leads to.
func childOf(nodes []node, piece int32) (int, bool) {
	return slices.BinarySearchFunc(nodes, piece, func(n node, p int32) int { return int(n.piece) - int(p) })
}

// places are where the pieces that are found in a target stand.
type places struct {
	pieces []int32  // their numbers, in order; the number of one in this list is its slot
	slots  []int32  // by piece: its slot plus one, or 0; nil if few of many pieces are found
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
func (x *index) places(found []uint64, n int, p places) (_ places, ok bool) {
	var parentsBuf [32]int32
	pieces := p.pieces
	parents, top := parentsBuf[:0], int32(-1)
	for i, f := range found {
		piece := int32(f >> 32)
		for top >= 0 && piece >= x.pieces.end[pieces[top]] {
			top = parents[top]
		}
		size := len(pieces)
		for q := piece; q >= 0 && (top < 0 || q != pieces[top]); q = x.pieces.up[q] {
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
	p.number(len(x.pieces.list))
	return p, true
}

// number fills the slots of an index with so many pieces.
func (p *places) number(pieces int) {
	if pieces > len(p.slots) && len(p.pieces) <= slotsFew {
		p.slots = nil
		return
	}
	if pieces > len(p.slots) {
		p.slots = make([]int32, pieces)
	}
	for slot, piece := range p.pieces {
		p.slots[piece] = int32(slot + 1)
	}
}

func (p *places) set(slot int) []uint64 { return p.sets[slot*p.words:][:p.words] }

// slot returns the slot of a piece, if it was found.
func (p *places) slot(piece int32) (int, bool) {
	if p.slots != nil {
		slot := int(p.slots[piece]) - 1
		return slot, slot >= 0
	}
	for slot, q := range p.pieces {
		if q == piece {
			return slot, true
		}
	}
	return 0, false
}

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

// indexSize returns about how many bytes the indexes of rules will take.
func indexSize(rules []rule) int {
	const part = int(unsafe.Sizeof(node{})+unsafe.Sizeof("")) + 3*4 // with its place in prefixes
	n := int(unsafe.Sizeof(indexes{}) + 2*unsafe.Sizeof(index{}))
	for i := range rules {
		n += part
		if rules[i].starred {
			n += part * strings.Count(rules[i].pattern, "*")
		}
	}
	return n
}

// size returns the memory of the indexes in bytes.
func (x *indexes) size() int {
	n := int(unsafe.Sizeof(*x))
	for _, x := range []*index{x.plain, x.query} {
		if x != nil {
			n += int(unsafe.Sizeof(*x)) + bytesOf(x.nodes) + x.heads.size() + x.pieces.size()
		}
	}
	return n
}
