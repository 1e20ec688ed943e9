package matcher

import (
	"math"
	"slices"
	"unsafe"
)

// This file finds the rule that decides among many, in a time that hardly grows
// with their number: RFC 9309, section 2.2.2. The rules are sorted by head, which
// is what a pattern has before its first star. Rules whose heads begin the target
// are found by binary search. If many rules have stars, these are found through a
// trie instead: see trie.go.

// Many rules are sorted for the second question, or, if very many of them have
// stars, for the first: to sort them takes as long as many questions.
const (
	rulesFew  = 64   // up to so many rules are tried one after another
	starsFew  = 32   // up to so many rules with stars are without a trie
	starsMany = 4000 // from so many on, the first question takes longer than to sort
)

// stars returns the number of rules with stars.
func (s *rules) stars() int {
	n := 0
	for i := range s.list {
		if s.list[i].starred || s.list[i].padded {
			n++
		}
	}
	return n
}

// index returns the same rules, sorted.
func (s *rules) index(starsFew int) *rules {
	n := s.stars()
	plain, starred := make([]numbered, 0, len(s.list)-n), make([]numbered, 0, n)
	for i := range s.list {
		k := numbered{s.literal(i), int32(i)}
		if s.list[i].starred || s.list[i].padded {
			starred = append(starred, k)
		} else {
			plain = append(plain, k)
		}
	}
	sortTexts(plain, make([]numbered, len(plain)), 0, false)
	sortTexts(starred, make([]numbered, len(starred)), 0, true)
	text := make([]byte, 0, len(s.text))
	x := &rules{list: make([]rule, 0, len(s.list)), inOrder: s.inOrder, sorted: true, plain: int32(len(plain))}
	for _, part := range [][]numbered{plain, starred} {
		for _, k := range part {
			r := s.list[k.number]
			r.begin = int32(len(text))
			text = append(text, s.pattern(int(k.number))...)
			x.list = append(x.list, r)
		}
	}
	x.text = view(text)
	x.shortest = x.shortestOf(len(plain))
	if n > starsFew {
		x.trie = newTrie(x)
	}
	return x
}

// shortestOf returns the length of the shortest literal of the first n rules.
func (s *rules) shortestOf(n int) int32 {
	size := math.MaxInt32
	for i := range n {
		size = min(size, len(s.literal(i)))
	}
	return int32(size)
}

// find is best for sorted rules.
func (s *rules) find(t string, which int) int {
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
	if s.trie != nil {
		return s.trie.find(s, t, which, best)
	}
	for i := int(s.plain); i < len(s.list); i++ {
		best = s.better(best, i, t, which)
	}
	return best
}

// longestPrefix returns the number of the longest literal that t begins with, of the
// first n rules, which are sorted; or -1. Of equal ones it is the last. What sorts
// between a prefix of t and t begins with that prefix. So where t parts from the rule
// before it, so do all prefixes of t that are left.
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

// A numbered text is sorted with others.
type numbered struct {
	text   string
	number int32
}

// sortTexts sorts a list by radix, the first byte first (MSD radix sort, McIlroy,
// Bostic and McIlroy 1993), in a time linear in the bytes of the texts. All texts
// begin with the same at bytes. A star sorts before any other byte if starFirst is
// set. spare is memory for as long a list.
func sortTexts(list, spare []numbered, at int, starFirst bool) {
	for len(list) > 24 {
		var ends [258]int
		for i := range list {
			ends[symbol(list[i].text, at, starFirst)]++
		}
		first := symbol(list[0].text, at, starFirst)
		if ends[first] == len(list) {
			if first == 0 {
				return
			}
			at++
			continue
		}
		sum := 0
		for c, n := range ends {
			ends[c], sum = sum, sum+n
		}
		copy(spare, list)
		for i := range list {
			c := symbol(spare[i].text, at, starFirst)
			list[ends[c]] = spare[i]
			ends[c]++
		}
		for c := 1; c < len(ends); c++ {
			if from, to := ends[c-1], ends[c]; to-from > 1 {
				sortTexts(list[from:to], spare[from:to], at+1, starFirst)
			}
		}
		return
	}
	slices.SortFunc(list, func(a, b numbered) int {
		n := at + commonPrefix(a.text[at:], b.text[at:])
		return symbol(a.text, n, starFirst) - symbol(b.text, n, starFirst)
	})
}

// symbol returns the number by which the byte of s at i sorts. It is 0 at the end
// of s.
func symbol(s string, i int, starFirst bool) int {
	switch {
	case i == len(s):
		return 0
	case starFirst && s[i] == '*':
		return 1
	}
	return int(s[i]) + 2
}

// size returns the memory of the rules in bytes, with the trie that they get.
func (s *rules) size() int {
	n := int(unsafe.Sizeof(*s)) + len(s.text) + bytesOf(s.list)
	if x := s.trie; x != nil {
		return n + int(unsafe.Sizeof(*x)) + len(x.heads.text) + bytesOf(x.heads.list) + bytesOf(x.nodes) + bytesOf(x.pieces) + bytesOf(x.up) + bytesOf(x.jump)
	}
	if stars := s.stars(); !s.sorted && stars > starsFew {
		n += int(unsafe.Sizeof(trie{})) + stars*int(unsafe.Sizeof(node{})+unsafe.Sizeof("")/2)
	}
	return n
}
