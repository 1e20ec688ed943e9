package matcher

import (
	"math"
	"slices"
	"strings"
	"unsafe"
)

// This file finds the rule that decides among many, in a time that hardly grows
// with their number: RFC 9309, section 2.2.2. The rules are sorted by head, which
// is what a pattern has before its first star. Rules whose heads begin the target
// are found by binary search. If many rules have stars, these are found through a
// trie instead: see trie.go.

// Many rules are sorted for the second match, or, if very many of them have stars, for
// the first: to sort them takes as long as many matches.
const (
	rulesFew  = 32   // up to so many rules are tried one after another
	starsFew  = 32   // up to so many rules with stars are without a trie
	starsMany = 4000 // with more, the first match takes longer than to sort
)

// stars returns the number of rules with stars.
func (s *rules) stars() int {
	n := 0
	for i := range s.list {
		if s.list[i].hasStars() {
			n++
		}
	}
	return n
}

// index returns the same rules, sorted. Rules with stars stand last. If there are more
// than few, they get tries: starsFew, but for tests.
func (s *rules) index(few int) *rules {
	x := &rules{inOrder: s.inOrder, sorted: true, shortest: math.MaxInt32}
	var plain, starred, query []span
	for i := range s.list {
		r := &s.list[i]
		k := span{r.begin, r.begin + int32(len(s.literal(i))), int32(i)}
		switch {
		case !r.hasStars():
			plain = append(plain, k)
			x.shortest = min(x.shortest, k.end-k.begin)
		case !r.query:
			starred = append(starred, k)
		default:
			query = append(query, k)
		}
	}
	x.plain = int32(len(plain))
	x.list = make([]rule, 0, len(s.list))
	text, order := make([]byte, 0, len(s.text)), s.text
	for i, list := range [][]span{plain, starred, query} {
		if i == 1 {
			order = zeroStars(s.text)
		}
		sortSpans(order, list, make([]span, len(list)), 0)
		for _, k := range list {
			r := s.list[k.number]
			r.begin = int32(len(text))
			x.list = append(x.list, r)
			text = append(text, s.pattern(int(k.number))...)
		}
	}
	x.text = view(text)
	if len(starred)+len(query) > few {
		x.tries[0] = newTrie(x, len(plain), len(plain)+len(starred))
		x.tries[1] = newTrie(x, len(plain)+len(starred), len(x.list))
	}
	return x
}

// zeroStars returns a text with zero bytes for stars, so that patterns with the same
// pieces up to a star sort together. No pattern with stars has another zero byte.
func zeroStars(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c == '*' {
			b[i] = 0
		}
	}
	return view(b)
}

// bestSorted does the work of best if the rules are sorted.
func (s *rules) bestSorted(t string, which int) int {
	best := -1
	// The first head that is found is the longest, so its rule is the longest.
	for i := s.longestPrefix(t, int(s.plain)); i >= 0; {
		head := s.literal(i)
		for ; i >= 0 && s.literal(i) == head; i-- {
			best = s.better(best, i, t, which)
		}
		if best >= 0 && !s.inOrder {
			break
		}
		i = s.longestPrefix(head[:len(head)-1], i+1)
	}
	if s.tries[0] == nil {
		return s.tryAll(int(s.plain), t, which, best)
	}
	if which != rulesWithQuery {
		best = s.tries[0].find(t, best)
	}
	if which != rulesWithoutQuery && strings.Contains(t, "?") {
		best = s.tries[1].find(t, best)
	}
	return best
}

// longestPrefix returns the number of the longest literal that t begins with, among the
// first n rules, which are sorted; -1 if there is none. Of equal literals it is the
// last. Whatever sorts between a prefix of t and t begins with that prefix. So every
// such literal is also a prefix of what t and the rule before it have in common.
func (s *rules) longestPrefix(t string, n int) int {
	for len(t) >= int(s.shortest) {
		from, to := 0, n
		for from < to {
			if mid := int(uint(from+to) / 2); s.literal(mid) <= t {
				from = mid + 1
			} else {
				to = mid
			}
		}
		n = from - 1
		if n < 0 {
			break
		}
		p := s.literal(n)
		size := commonPrefix(t, p)
		if size == len(p) {
			return n
		}
		t = t[:size]
	}
	return -1
}

// commonPrefix returns how many bytes a and b begin with alike.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// A span is a part of a text, to be sorted with others.
type span struct {
	begin, end int32 // text[begin:end]
	number     int32 // of what the part belongs to
}

// in returns the span in its text.
func (k span) in(text string) string { return text[k.begin:k.end] }

// sortSpans sorts spans of a text by radix, the first byte first (MSD radix sort,
// McIlroy, Bostic and McIlroy 1993), in a time linear in the text. All spans of the
// list begin with the same size bytes. spare is memory for as long a list.
func sortSpans(text string, list, spare []span, size int32) {
	for len(list) > 24 { // a few are sorted by comparing
		var ends [257]int32 // by the next byte plus one, or 0 at the end of a span
		next := func(k span) int {
			if k.begin+size == k.end {
				return 0
			}
			return int(text[k.begin+size]) + 1
		}
		for _, k := range list {
			ends[next(k)]++
		}
		if c := next(list[0]); int(ends[c]) < len(list) {
			sum := int32(0)
			for c, n := range ends {
				ends[c], sum = sum, sum+n
			}
			for _, k := range spare[:copy(spare, list)] {
				c := next(k)
				list[ends[c]] = k
				ends[c]++
			}
			for c := 1; c < len(ends); c++ {
				if from, to := ends[c-1], ends[c]; to-from > 1 {
					sortSpans(text, list[from:to], spare, size+1)
				}
			}
			return
		} else if c == 0 {
			return
		}
		size++
	}
	slices.SortFunc(list, func(a, b span) int {
		return strings.Compare(text[a.begin+size:a.end], text[b.begin+size:b.end])
	})
}

// size returns the memory of the rules in bytes, with the trie that they get.
func (s *rules) size() int {
	n := int(unsafe.Sizeof(*s)) + len(s.text) + bytesOf(s.list)
	for _, x := range s.tries {
		if x != nil {
			n += int(unsafe.Sizeof(*x)) + len(x.heads.text) + bytesOf(x.heads.list) + bytesOf(x.nodes) + bytesOf(x.pieces)
		}
	}
	if stars := s.stars(); !s.sorted && stars > starsFew {
		n += 2*int(unsafe.Sizeof(trie{})) + stars*int(unsafe.Sizeof(node{})+unsafe.Sizeof(piece{})/2)
	}
	return n
}
