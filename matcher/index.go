package matcher

import (
	"slices"
	"strings"
	"unsafe"
)

// This file finds the rule that decides among many, in a time that hardly grows with
// their number: RFC 9309, section 2.2.2.
//
// A pattern is cut at its stars into a head, which begins the target, and pieces, each
// of which stands somewhere after the part before it. A rule without pieces is found by its
// literal: see dictionary. A rule with pieces can only match if the target has all of them.
// So it is filed under its rarest piece, and is a candidate only if the target has that piece
// and begins with the head.

// An index finds the rule that decides.
type index struct {
	rules      *rules
	few        int         // fewCandidates; tests set another number
	literals   dictionary  // the literals of the rules without pieces
	plain      []int32     // by number of the literal: number of the rule
	pieces     dictionary  // the different pieces of all rules
	spans      []span      // by number of the piece: where it is in the text of the rules
	firstFiled []int32     // by number of the piece: the first of the rules that are filed under it, or -1
	pieceOf    []int32     // the numbers of the pieces of each rule in filed, rule after rule
	filed      []filedRule // the rules with pieces
}

// A filedRule is a rule with pieces.
type filedRule struct {
	number   int32 // number of the rule
	head     int32 // length of its head
	from, to int32 // pieceOf[from:to] are the numbers of its pieces
	next     int32 // the next rule filed under the same piece, or -1
}

// newIndex returns an index of s. few is fewCandidates; tests give another number.
func newIndex(s *rules, few int) *index {
	x := &index{rules: s, few: few}
	var literals, pieces []span
	for i := range s.list {
		r := &s.list[i]
		rest, begin := s.literal(int32(i)), r.begin
		if !r.starred() {
			literals = append(literals, span{begin, begin + int32(len(rest)), int32(i)})
			continue
		}
		if pieces == nil {
			pieces = make([]span, 0, strings.Count(s.text[begin:], "*")) // each piece follows a star
		}
		part := until(rest, '*')
		filed := filedRule{number: int32(i), head: int32(len(part)), from: int32(len(pieces))}
		for len(part) < len(rest) {
			begin, rest = begin+int32(len(part))+1, rest[len(part)+1:]
			if part = until(rest, '*'); part != "" {
				pieces = append(pieces, span{begin, begin + int32(len(part)), int32(len(pieces))})
			}
		}
		filed.to = int32(len(pieces))
		x.filed = append(x.filed, filed)
	}
	x.filed = slices.Clone(x.filed) // without spare memory
	sortSpans(s.text, literals, make([]span, len(literals)), 0)
	x.plain = make([]int32, len(literals))
	for i, k := range literals {
		x.plain[i] = k.number
	}
	x.literals = newDictionary(len(literals), func(i int32) string { return s.literal(x.plain[i]) })
	if len(pieces) > 0 {
		x.addPieces(pieces)
		x.fileRules()
	}
	return x
}

// addPieces adds the pieces of the rules.
func (x *index) addPieces(list []span) {
	s := x.rules
	sortSpans(s.text, list, make([]span, len(list)), 0)
	x.pieceOf = make([]int32, len(list))
	different := list[:0]
	for _, k := range list {
		if n := len(different); n == 0 || k.in(s.text) != different[n-1].in(s.text) {
			different = append(different, k)
		}
		x.pieceOf[k.number] = int32(len(different) - 1)
	}
	x.spans = slices.Clone(different)
	x.pieces = newDictionary(len(x.spans), func(i int32) string { return x.spans[i].in(s.text) })
	x.pieces.setStarts()
	x.pieces.setJumps()
}

// fileRules files each rule with pieces under its rarest piece.
func (x *index) fileRules() {
	uses := make([]int32, len(x.spans)) // by number of the piece: how often it is in rules
	for _, p := range x.pieceOf {
		uses[p]++
	}
	x.firstFiled = slices.Repeat([]int32{-1}, len(uses))
	for i := range x.filed {
		r := &x.filed[i]
		rarest := x.pieceOf[r.from]
		for _, p := range x.pieceOf[r.from:r.to] {
			if uses[p] <= uses[rarest] {
				rarest = p
			}
		}
		r.next, x.firstFiled[rarest] = x.firstFiled[rarest], int32(i)
	}
}

// best is as rules.best.
func (x *index) best(t, q string) int32 {
	if t == q {
		return x.bestOf(t, -1, func(*rule) bool { return true })
	}
	best := x.bestOf(t, -1, func(r *rule) bool { return !r.query })
	return x.bestOf(q, best, func(r *rule) bool { return r.query })
}

// bestOf returns the number of the rule that decides on t, among the rule best and the rules
// for which sees returns true.
func (x *index) bestOf(t string, best int32, sees func(*rule) bool) int32 {
	for i := x.literals.longestPrefix(t); i >= 0; i = x.literals.prefix[i] {
		n := x.plain[i]
		r := &x.rules.list[n]
		if r.anchored() && len(x.literals.word(i)) < len(t) || !sees(r) {
			continue
		}
		if x.rules.outranks(n, best) {
			best = n
		}
	}
	if len(x.filed) == 0 {
		return best
	}
	return x.bestFiled(t, best, sees)
}

// bestFiled is bestOf for the rules with pieces. Its candidates are the rules filed under the
// pieces that stand in t: the pieces found, and the pieces that those begin with.
func (x *index) bestFiled(t string, best int32, sees func(*rule) bool) int32 {
	var foundBuf [usualTarget]foundPiece // at most one for each byte of t
	found := x.pieces.appendFound(foundBuf[:0], t)
	if len(found) == 0 {
		return best
	}
	slices.SortFunc(found, func(a, b foundPiece) int { return int(a.piece - b.piece) })
	var candidatesBuf [fewCandidates]int32
	candidates := candidatesBuf[:0]
	last := int32(-1) // the piece found before
	for _, f := range found {
		// All pieces that sort between f.piece and a prefix of f.piece have that prefix, too. So if
		// the prefix does not sort after last, it is last or a prefix of last, and was tried.
		for i := f.piece; i > last; i = x.pieces.prefix[i] {
			candidates = x.appendFiled(candidates, i, t, best, sees)
		}
		last = f.piece
	}
	var p *places
	if len(candidates) > x.few {
		p = newPlaces(x, slices.Clone(found), len(t)) // the clone lets foundBuf stay on the stack
	}
	for _, c := range candidates {
		r := &x.filed[c]
		if x.rules.outranks(r.number, best) && x.matches(r, t, p) {
			best = r.number
		}
	}
	return best
}

// A foundPiece is the number of a piece, and a place in a target where it stands.
type foundPiece struct{ piece, place int32 }

// appendFound appends for each place in t the number of the longest piece that stands
// there, if there is one, and the place.
func (d *dictionary) appendFound(found []foundPiece, t string) []foundPiece {
	next := byte(0)
	for i := len(t) - 1; i >= 0; i-- {
		if d.mayBegin(t[i], next) {
			if p := d.longestPrefix(t[i:]); p >= 0 {
				found = append(found, foundPiece{p, int32(i)})
			}
		}
		next = t[i]
	}
	return found
}

// fewCandidates is the number of candidates up to which their pieces are searched for
// one by one, without allocating.
const fewCandidates = 64

// appendFiled appends the rules that are filed under a piece, outrank best, and have a
// head that t begins with, if sees returns true for them.
func (x *index) appendFiled(list []int32, piece int32, t string, best int32, sees func(*rule) bool) []int32 {
	for i := x.firstFiled[piece]; i >= 0; i = x.filed[i].next {
		r := &x.filed[i]
		head := x.rules.pattern(r.number)[:r.head]
		if x.rules.outranks(r.number, best) && strings.HasPrefix(t, head) && sees(&x.rules.list[r.number]) {
			list = append(list, i)
		}
	}
	return list
}

// matches reports whether a rule matches t, which begins with its head. p has the places of
// all pieces in t; if it is nil, they are searched for. The invariant of matchStars holds
// here, too.
func (x *index) matches(r *filedRule, t string, p *places) bool {
	if p == nil {
		return x.rules.matches(r.number, t)
	}
	pieces := x.pieceOf[r.from:r.to]
	for _, i := range slices.Backward(pieces) { // before any place is searched for: most rules lack a piece
		if !p.has(i) {
			return false
		}
	}
	at, end := int(r.head), len(t)
	if x.rules.list[r.number].anchored() {
		last := x.pieces.word(pieces[len(pieces)-1])
		if !strings.HasSuffix(t, last) {
			return false
		}
		pieces, end = pieces[:len(pieces)-1], end-len(last)
	}
	for _, i := range pieces {
		if at = p.next(i, at); at < 0 {
			return false
		}
		at += int(p.of[i].size)
	}
	return at <= end
}

// size returns the memory of the rules in bytes, with their index. x is nil if they have
// none yet, but many rules will get one.
func (s *rules) size(x *index) int {
	n := len(s.text) + bytesOf(s.list)
	switch {
	case x != nil:
		n += int(unsafe.Sizeof(*x)) + x.literals.size() + bytesOf(x.plain) + x.pieces.size()
		n += bytesOf(x.spans) + bytesOf(x.firstFiled) + bytesOf(x.pieceOf) + bytesOf(x.filed)
	case len(s.list) > fewRules:
		n += int(unsafe.Sizeof(*x))
		for i := range s.list {
			n += 8/keyEvery + 4 + 4  // key, prefix, plain or firstFiled
			if s.list[i].starred() { // most of them have one piece
				n += int(unsafe.Sizeof(filedRule{})+unsafe.Sizeof(span{})) + 4 + 4 // jumps and pieceOf, too
			}
		}
	}
	return n
}
