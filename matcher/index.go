package matcher

import (
	"slices"
	"strings"
	"unsafe"
)

// This file finds the rule that decides among many, in a time that hardly grows with
// their number: RFC 9309, section 2.2.2.
//
// A pattern is cut at its stars into a head, which begins the target, and pieces, each of which
// occurs somewhere after the part before it. A rule without pieces is found by its literal: see
// dictionary. A rule with pieces matches only if the target has all of them. So it is filed under
// its rarest piece, and is a candidate only if the target has that piece and begins with the head.

// An index finds the rule that decides.
type index struct {
	rules    *rules
	literals dictionary  // the literals of the rules without pieces; the value is the number of the rule
	pieces   dictionary  // the different pieces of all rules; the value is the first rule filed under the piece, or -1
	pieceOf  []int32     // the numbers of the pieces of each rule in filed, rule after rule
	filed    []filedRule // the rules with pieces
}

// A filedRule is a rule with pieces.
type filedRule struct {
	number   int32 // number of the rule
	head     int32 // length of its head
	from, to int32 // pieceOf[from:to] are the numbers of its pieces
	next     int32 // the next rule filed under the same piece, or -1
}

// newIndex returns an index of s.
func newIndex(s *rules) *index {
	x := &index{rules: s}
	var literals, pieces []word
	for i := range s.list {
		r, literal := &s.list[i], s.literal(int32(i))
		if !r.starred() {
			literals = append(literals, word{r.begin, r.begin + int32(len(literal)), int32(i)})
			continue
		}
		head, rest, _ := strings.Cut(literal, "*")
		filed := filedRule{number: int32(i), head: int32(len(head)), from: int32(len(pieces))}
		begin := r.begin + filed.head + 1
		for piece := range strings.SplitSeq(rest, "*") {
			end := begin + int32(len(piece))
			if piece != "" {
				pieces = append(pieces, word{begin, end, int32(len(pieces))})
			}
			begin = end + 1
		}
		filed.to = int32(len(pieces))
		x.filed = append(x.filed, filed)
	}
	x.filed = slices.Clone(x.filed) // without spare memory
	sortWords(s.text, literals)
	x.literals = newDictionary(s.text, slices.Clone(literals))
	if len(pieces) > 0 {
		x.addPieces(pieces)
		x.fileRules()
	}
	return x
}

// addPieces adds the pieces of the rules. The value of each is its place in pieceOf.
func (x *index) addPieces(pieces []word) {
	text := x.rules.text
	sortWords(text, pieces)
	x.pieceOf = make([]int32, len(pieces))
	different := pieces[:0]
	for _, w := range pieces {
		n := len(different)
		if n == 0 || text[w.begin:w.end] != text[different[n-1].begin:different[n-1].end] {
			different = append(different, word{w.begin, w.end, -1})
			n++
		}
		x.pieceOf[w.value] = int32(n - 1)
	}
	x.pieces = newDictionary(text, slices.Clone(different))
	x.pieces.setStarts()
}

// fileRules files each rule with pieces under its rarest piece.
func (x *index) fileRules() {
	uses := make([]int32, len(x.pieces.words)) // by number of the piece: how often it is in rules
	for _, p := range x.pieceOf {
		uses[p]++
	}
	for i := range x.filed {
		r := &x.filed[i]
		rarest := x.pieceOf[r.from]
		for _, p := range x.pieceOf[r.from:r.to] {
			if uses[p] <= uses[rarest] {
				rarest = p
			}
		}
		w := &x.pieces.words[rarest]
		r.next, w.value = w.value, int32(i)
	}
}

// best is rules.best with the index.
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
	for i := x.literals.longestPrefix(t); i >= 0; i = x.literals.parent[i] {
		n := x.literals.words[i].value
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
	f := x.pieces.lastFound(t, len(t))
	if f.piece < 0 {
		return best
	}
	return x.bestFiled(t, f, best, sees)
}

// bestFiled is bestOf for the rules with pieces, the last of which in t is f. Its candidates are
// the rules filed under the pieces that occur in t, which are the longest piece at each place and
// its ancestors.
func (x *index) bestFiled(t string, f foundPiece, best int32, sees func(*rule) bool) int32 {
	var foundBuf [usualTarget]foundPiece // at most one for each byte of t
	found := foundBuf[:0]
	for ; f.piece >= 0; f = x.pieces.lastFound(t, int(f.place)) {
		found = append(found, f)
	}
	slices.SortFunc(found, func(a, b foundPiece) int { return int(a.piece - b.piece) })
	var candidatesBuf [fewCandidates]int32
	candidates := candidatesBuf[:0]
	last := int32(-1) // the piece found before
	for _, f := range found {
		// found is sorted: an ancestor at or before last is last or an ancestor of last, and its rules
		// are candidates already.
		for i := f.piece; i > last; i = x.pieces.parent[i] {
			candidates = x.appendFiled(candidates, i, t, best, sees)
		}
		last = f.piece
	}
	var p *places
	if len(candidates) > fewCandidates {
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

// A foundPiece is the number of a piece, and a place in a target where it occurs.
type foundPiece struct{ piece, place int32 }

// lastFound returns the last place in t before end where a word occurs, and the longest such word.
// The word is -1 if there is no such place.
func (d *dictionary) lastFound(t string, end int) foundPiece {
	next := byte(0)
	if end < len(t) {
		next = t[end]
	}
	for i := end - 1; i >= 0; i-- {
		if d.mayBegin(t[i], next) {
			if p := d.longestPrefix(t[i:]); p >= 0 {
				return foundPiece{p, int32(i)}
			}
		}
		next = t[i]
	}
	return foundPiece{-1, -1}
}

// fewCandidates is the number of candidates up to which their pieces are searched for
// one by one, without allocating.
const fewCandidates = 64

// appendFiled appends the rules that are filed under a piece, outrank best, and have a
// head that t begins with, if sees returns true for them.
func (x *index) appendFiled(list []int32, piece int32, t string, best int32, sees func(*rule) bool) []int32 {
	for i := x.pieces.words[piece].value; i >= 0; i = x.filed[i].next {
		r := &x.filed[i]
		head := x.rules.pattern(r.number)[:r.head]
		if x.rules.outranks(r.number, best) && strings.HasPrefix(t, head) && sees(&x.rules.list[r.number]) {
			list = append(list, i)
		}
	}
	return list
}

// matches reports whether a rule matches t, which begins with the head of the rule. p has the
// places of all pieces in t. If p is nil, matches searches t for the pieces. The invariant of
// matchStars holds here.
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
		n += int(unsafe.Sizeof(*x)) + x.literals.size() + x.pieces.size() + bytesOf(x.pieceOf) + bytesOf(x.filed)
	case len(s.list) > fewRules:
		n += int(unsafe.Sizeof(*x))
		for i := range s.list {
			n += int(unsafe.Sizeof(word{})) + 4 // parent
			if s.list[i].starred() {            // most of them have one piece
				n += int(unsafe.Sizeof(filedRule{})) + 4 // pieceOf
			}
		}
	}
	return n
}
