package matcher

import (
	"cmp"
	"slices"
	"strings"
)

// This file builds the index of a group.

// builder collects what an index is made of.
type builder struct {
	*index
	many    int     // parts, or edges, that are worth more tables
	states  int     // so far
	starred []rule  // rules with a star
	drafts  []draft // edges, with their pieces
	path    []draft // the edges of the pattern taken last
}

// draft is an edge with its piece.
type draft struct {
	edge
	piece rule
	whole bool // holds at the end of the target only
}

// newIndex returns the index of rules, which are of f, in lists without room to
// spare. It has tables that pay beyond a number of parts, or edges, mostly many.
func newIndex(f *File, rules []rule, many int) *index {
	b := builder{index: &index{file: f}, many: many}
	for _, r := range rules {
		if r.bits&ruleStar == 0 {
			b.heads.parts = append(b.heads.parts, r)
			continue
		}
		if manyStars(f.pattern(r)) {
			b.apart = append(b.apart, r)
			continue
		}
		head := r.part(0, strings.IndexByte(f.pattern(r), '*'))
		head.bits |= ruleStar
		b.heads.parts = append(b.heads.parts, head)
		b.starred = append(b.starred, r)
	}
	b.sortHeads()
	slices.SortFunc(b.starred, func(x, y rule) int { return strings.Compare(f.pattern(x), f.pattern(y)) })
	for _, r := range b.starred {
		b.add(r)
	}
	b.sortEdges()
	slices.SortFunc(b.apart, func(x, y rule) int {
		return cmp.Or(cmp.Compare(y.rank(), x.rank()), cmp.Compare(x.item, y.item))
	})
	b.stars, b.ends, b.apart = slices.Clone(b.stars), slices.Clone(b.ends), slices.Clone(b.apart)
	b.pieces.parts, b.first, b.beyond = slices.Clone(b.pieces.parts), slices.Clone(b.first), slices.Clone(b.beyond)
	return b.index
}

// manyStars reports whether a pattern has more stars than starsMost, those in a
// row counted once.
func manyStars(p string) bool {
	n := 0
	for i := 1; i < len(p) && n <= starsMost; i++ {
		if p[i-1] == '*' && p[i] != '*' {
			n++
		}
	}
	return n > starsMost
}

// part returns n octets of the pattern of r from octet i on.
func (r rule) part(i, n int) rule {
	return rule{off: r.off + uint32(i), bits: uint32(n) << ruleShift}
}

// sortHeads puts the heads into order, of equal ones a rule, a rule that ends
// the target, and one before a star; of rules that say the same, the best.
func (b *builder) sortHeads() {
	f, l := b.file, &b.heads
	order := func(x, y rule) int {
		const class = ruleWhole | ruleStar
		return cmp.Or(strings.Compare(f.literal(x), f.literal(y)), cmp.Compare(x.bits&class, y.bits&class))
	}
	slices.SortFunc(l.parts, func(x, y rule) int {
		c := order(x, y)
		if c == 0 && x.bits&ruleStar == 0 {
			c = compareBool(f.outranks(y, x), f.outranks(x, y))
		}
		return c
	})
	l.parts = slices.Clone(slices.CompactFunc(l.parts, func(x, y rule) bool { return order(x, y) == 0 }))
	l.link(f, 1) // a head begins with "/"
	if len(l.parts) > b.many {
		l.linkJumps()
	}
	for i, r := range l.parts {
		if r.bits&ruleStar != 0 {
			b.stars = append(b.stars, star{at: int32(i)})
		}
	}
	b.states = len(b.stars)
	b.beyond = make([]uint8, b.states)
}

// link fills the tables of the list. The octets of a part before depth are the
// same in all that have more.
func (l *list) link(f *File, depth int) {
	l.depth, l.up = int32(depth), make([]int32, len(l.parts))
	for i, r := range l.parts {
		if p := f.literal(r); len(p) > depth {
			l.first[p[depth]/bucketSize+1] = int32(i + 1)
		} else {
			l.first[0] = int32(i + 1)
		}
	}
	for b := range bucketCount {
		l.first[b+1] = max(l.first[b+1], l.first[b])
	}
	for i := range l.parts {
		j := int32(i - 1)
		for j >= 0 && !strings.HasPrefix(f.literal(l.parts[i]), f.literal(l.parts[j])) {
			j = l.up[j]
		}
		l.up[i] = j
	}
}

// linkJumps fills jump, and returns what may be steps.rank. A jump goes one step
// up, and on over the next two jumps if these are equally long; so any part up
// is a few jumps away.
func (l *list) linkJumps() (rank []int32) {
	rank, l.jump = make([]int32, len(l.parts)), make([]int32, len(l.parts))
	of := func(i int32) int32 {
		if i < 0 {
			return 0
		}
		return rank[i]
	}
	for i, j := range l.up {
		rank[i], l.jump[i] = of(j)+1, j
		if j < 0 {
			continue
		}
		if k := l.jump[j]; k >= 0 && of(j)-of(k) == of(k)-of(l.jump[k]) {
			l.jump[i] = l.jump[k]
		}
	}
	return rank
}

// ends returns what may be steps.end.
func (l *list) ends() []int32 {
	end := make([]int32, len(l.parts))
	for i := len(l.parts) - 1; i >= 0; i-- {
		end[i] = max(end[i], int32(i+1))
		if j := l.up[i]; j >= 0 {
			end[j] = max(end[j], end[i])
		}
	}
	return end
}

// add takes apart a rule with a star. It is not before, in order, the one added
// last, so what both begin with stands in b.path.
func (b *builder) add(r rule) {
	p, whole := b.file.literal(r), r.bits&ruleWhole != 0
	if strings.HasSuffix(p, "*") {
		p, whole = strings.TrimRight(p, "*"), false
	}
	at := strings.IndexByte(b.file.pattern(r), '*')
	head := b.state(b.heads.find(b.file, b.file.pattern(r)[:at]))
	if at >= len(p) {
		if s := &b.stars[head]; b.file.outranks(r, s.grant) {
			s.grant = r
		}
		return
	}
	b.stars[head].open = true
	if len(b.path) > 0 && b.path[0].from != head {
		b.path = b.path[:0]
	}
	b.addPieces(r, p, at, draft{edge: edge{from: head}, whole: whole})
}

// addPieces adds the edges of rule r for what stands in p from the star at on.
func (b *builder) addPieces(r rule, p string, at int, d draft) {
	whole, kind := d.whole, uint8(beyondPlain)
	if r.bits&ruleQuery != 0 {
		kind = beyondQuery
	}
	for depth := 0; ; depth++ {
		b.beyond[d.from] |= kind
		for p[at] == '*' {
			at++
		}
		n := strings.IndexByte(p[at:], '*')
		if n < 0 {
			d.piece, d.to, d.whole = r.part(at, len(p)-at), ^int32(len(b.ends)), whole
			b.drafts = append(b.drafts, d)
			b.ends = append(b.ends, r)
			return
		}
		d.piece, d.whole = r.part(at, n), false
		if depth >= len(b.path) || b.file.pattern(b.path[depth].piece) != p[at:at+n] {
			d.to = int32(b.states)
			b.states++
			b.beyond = append(b.beyond, 0)
			b.path = append(b.path[:depth], d)
			b.drafts = append(b.drafts, d)
		}
		d.from = b.path[depth].to
		at += n
	}
}

// sortEdges puts the edges into order and lists the pieces.
func (b *builder) sortEdges() {
	f := b.file
	b.after, b.edges = make([]uint64, b.states), make([]edge, 0, len(b.drafts))
	slices.SortFunc(b.drafts, func(x, y draft) int {
		return cmp.Or(strings.Compare(f.pattern(x.piece), f.pattern(y.piece)),
			compareBool(x.whole, y.whole), cmp.Compare(x.from, y.from))
	})
	for i, d := range b.drafts {
		text := f.pattern(d.piece)
		if i == 0 || text != f.pattern(b.drafts[i-1].piece) {
			b.pieces.parts = append(b.pieces.parts, d.piece)
			b.first = append(b.first, uint32(i), uint32(i))
			b.mark(text)
		}
		if !d.whole {
			b.first[len(b.first)-1] = uint32(i + 1)
		}
		b.edges = append(b.edges, d.edge)
		b.after[d.from] |= 1 << (text[0] % lanes)
	}
	b.first = append(b.first, uint32(len(b.edges)))
	b.pieces.link(f, 0)
	if len(b.edges) > b.many {
		b.steps = &steps{rank: b.pieces.linkJumps(), end: b.pieces.ends()}
		b.listSteps()
	}
}

// listSteps fills the lists of steps. The edges are in the order of their pieces,
// and so are those of each state.
func (b *builder) listSteps() {
	first := make([]int32, b.states+2) // the second is where the first state's begin
	anywhere := func(yield func(int, edge) bool) {
		for p := range b.pieces.parts {
			for _, e := range b.edges[b.first[2*p]:b.first[2*p+1]] {
				if !yield(p, e) {
					return
				}
			}
		}
	}
	n := 0
	for _, e := range anywhere {
		first[e.from+2]++
		n++
	}
	for s := range b.states {
		first[s+2] += first[s+1]
	}
	b.steps.list = make([]step, n)
	for p, e := range anywhere {
		b.steps.list[first[e.from+1]] = step{int32(p), e.to}
		first[e.from+1]++
	}
	b.steps.first = first[:b.states+1]
}

// mark notes how a piece begins.
func (b *builder) mark(piece string) {
	if len(piece) > 1 {
		h := pairHash(piece[0], piece[1])
		b.begin[h>>6] |= 1 << (h & 63)
		return
	}
	for c := range 256 {
		h := pairHash(piece[0], byte(c))
		b.begin[h>>6] |= 1 << (h & 63)
	}
}

func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	}
	return 1
}
