package matcher

import (
	"math"
	"slices"
	"strings"
)

// This file finds the longest word of a list that a text begins with. The words are the
// parts of patterns that the index finds rules by: RFC 9309, section 2.2.2.

// A dictionary is a sorted list of words. Each word knows the longest other word that it
// begins with, its prefix. To go from prefix to prefix is to go up.
type dictionary struct {
	word     func(i int32) string // returns word i
	prefixOf []int32              // by number of the word: number of its prefix, or -1
	jump     []int32              // by number of the word: number of a word further up, which skips some, or of its prefix

	starts []uint16 // by the first byte of a word, modulo 64: a set of the second bytes, modulo 16
}

// A span is a part of a text, to be sorted with others.
type span struct {
	begin, end int32 // text[begin:end]
	number     int32 // number of the rule or the piece that the part belongs to
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
		if c := next(list[0]); int(ends[c]) == len(list) { // all have the same next byte
			if c == 0 {
				return
			}
			size++
			continue
		}
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
	}
	slices.SortFunc(list, func(a, b span) int {
		return strings.Compare(text[a.begin+size:a.end], text[b.begin+size:b.end])
	})
}

// add adds word i, which is the next one in order.
func (d *dictionary) add(i int32) {
	w, up := d.word(i), i-1
	for up >= 0 && !strings.HasPrefix(w, d.word(up)) {
		up = d.prefixOf[up]
	}
	d.prefixOf = append(d.prefixOf, up)
	if d.starts == nil {
		d.starts = make([]uint16, 64)
	}
	switch len(w) {
	case 0:
		for c := range d.starts {
			d.starts[c] = math.MaxUint16
		}
	case 1:
		d.starts[w[0]%64] = math.MaxUint16
	default:
		d.starts[w[0]%64] |= 1 << (w[1] % 16)
	}
}

// mayStandAt reports whether a word can stand at t[i:], by two bytes. Nearly everywhere it
// reports false.
func (d *dictionary) mayStandAt(t string, i int) bool {
	second := byte(0)
	if i+1 < len(t) {
		second = t[i+1]
	}
	return len(d.starts) > 0 && d.starts[t[i]%64]>>(second%16)&1 != 0
}

// setJumps sets the pointers that skip words (skew-binary jump pointers, Myers 1983). The
// row "nested pieces nearly" of bench has a thousand words one above the other.
func (d *dictionary) setJumps() {
	d.jump = make([]int32, len(d.prefixOf))
	depth := make([]int32, len(d.prefixOf)) // how many words are further up
	for i, up := range d.prefixOf {
		if d.jump[i] = up; up < 0 {
			continue
		}
		depth[i] = depth[up] + 1
		// Two jumps of equal length in a row become one jump over both.
		if k := d.jump[up]; k >= 0 && d.jump[k] >= 0 && depth[up]-depth[k] == depth[k]-depth[d.jump[k]] {
			d.jump[i] = d.jump[k]
		}
	}
}

// longestPrefix returns the number of the longest word that t begins with, or -1.
func (d *dictionary) longestPrefix(t string) int32 {
	from, to := 0, len(d.prefixOf)
	for from < to {
		if mid := int(uint(from+to) / 2); d.word(int32(mid)) <= t {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return d.longestFrom(int32(from-1), t)
}

// longestFrom is longestPrefix without the search. i is the number of the last word that does
// not sort after t, or -1. All that sorts between t and a word that t begins with begins with
// that word, too. So the result is word i, or a word further up from it.
func (d *dictionary) longestFrom(i int32, t string) int32 {
	if i < 0 || strings.HasPrefix(t, d.word(i)) {
		return i
	}
	same := commonPrefix(d.word(i), t)
	longer := func(i int32) bool { return i >= 0 && len(d.word(i)) > same }
	for longer(i) {
		if d.jump != nil && longer(d.jump[i]) {
			i = d.jump[i]
		} else {
			i = d.prefixOf[i]
		}
	}
	return i
}

// commonPrefix returns how many bytes a and b begin with alike.
func commonPrefix(a, b string) int {
	n, most := 0, min(len(a), len(b))
	for n+32 <= most && a[n:n+32] == b[n:n+32] {
		n += 32
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}
