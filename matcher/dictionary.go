package matcher

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// This file finds the longest word of a list that a text begins with. The words are the
// parts of patterns that the index finds rules by: RFC 9309, section 2.2.2.

// A dictionary is a sorted list of words. The number of a word is its index in the list; -1
// stands for no word. To go from a word to its prefix is to go up.
type dictionary struct {
	word   func(number int32) string // returns a word
	shared string                    // what all words begin with
	keys   []uint64                  // of the words 0, keyEvery, 2*keyEvery, ...: the key of what follows the shared bytes
	prefix []int32                   // by number of the word: number of the longest other word that it begins with, or -1
	jumps  []int32                   // by number of the word: number of a word further up, which skips some, or of its prefix

	// The first two bytes of the words: starts[c%64] is a set of the second bytes, modulo 16, of
	// the words that begin with c. A word of one byte begins with all of them.
	starts [64]uint16
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
	for len(list) > 24 {
		var ends [257]int32 // by the next byte plus one, or 0 at the end of a span: first a count, then where the spans end
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
		// Now ends says where the spans with each byte begin. The loop moves it to where they end.
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

// newDictionary returns the dictionary of n words. word returns a word by its number.
func newDictionary(n int, word func(number int32) string) dictionary {
	d := dictionary{word: word, keys: make([]uint64, 0, (n+keyEvery-1)/keyEvery), prefix: make([]int32, n)}
	if n > 0 {
		first := word(0)
		d.shared = first[:commonPrefix(first, word(int32(n-1)))]
	}
	for i := range d.prefix {
		w, up := word(int32(i)), int32(i-1)
		// The words are sorted, so the prefix is the word before, or further up from that.
		for up >= 0 && !strings.HasPrefix(w, word(up)) {
			up = d.prefix[up]
		}
		d.prefix[i] = up
		if i%keyEvery == 0 {
			d.keys = append(d.keys, key(w[len(d.shared):]))
		}
	}
	return d
}

// keyEvery is the distance between two words with a key. A key for each word would save a
// match 15 ns, and take 240 bytes for each authority of a million whose groups are all asked.
const keyEvery = 8

// key returns the first eight bytes of s as a number. Zeros stand for the bytes that a shorter
// text does not have. A text with a lower key than another sorts before it. To compare numbers
// first takes a match among 1,000 rules from 118 to 77 ns.
func key(s string) uint64 {
	var b [8]byte
	if len(s) >= len(b) {
		return binary.BigEndian.Uint64([]byte(s[:8]))
	}
	copy(b[:], s)
	return binary.BigEndian.Uint64(b[:])
}

// setStarts sets starts. No word may be empty.
func (d *dictionary) setStarts() {
	for i := range d.prefix {
		if w := d.word(int32(i)); len(w) == 1 {
			d.starts[w[0]%64] = math.MaxUint16
		} else {
			d.starts[w[0]%64] |= 1 << (w[1] % 16)
		}
	}
}

// mayBegin reports whether a word can begin with the bytes c and next, or be c alone. Nearly
// always mayBegin reports false. starts must be set.
func (d *dictionary) mayBegin(c, next byte) bool { return d.starts[c%64]>>(next%16)&1 != 0 }

// setJumps sets the pointers that skip words (skew-binary jump pointers, Myers 1983). The
// row "nested pieces nearly" of bench has a thousand words one above the other.
func (d *dictionary) setJumps() {
	d.jumps = make([]int32, len(d.prefix))
	depth := make([]int32, len(d.prefix)) // how many words are further up
	for i, up := range d.prefix {
		if d.jumps[i] = up; up < 0 {
			continue
		}
		depth[i] = depth[up] + 1
		// Two jumps of equal length in a row become one jump over both.
		if k := d.jumps[up]; k >= 0 && d.jumps[k] >= 0 && depth[up]-depth[k] == depth[k]-depth[d.jumps[k]] {
			d.jumps[i] = d.jumps[k]
		}
	}
}

// longestPrefix returns the number of the longest word that t begins with, or -1.
func (d *dictionary) longestPrefix(t string) int32 {
	if len(d.prefix) == 0 || !strings.HasPrefix(t, d.shared) {
		return -1
	}
	// Word i is the last one that does not sort after t. All that sorts between t and a word
	// that t begins with begins with that word, too. So the result is word i, or further up.
	i := d.countUpTo(t) - 1
	if i < 0 {
		return i
	}
	w := d.word(i)
	if strings.HasPrefix(t, w) {
		return i
	}
	same := commonPrefix(w, t)
	longer := func(i int32) bool { return i >= 0 && len(d.word(i)) > same }
	for longer(i) {
		if d.jumps != nil && longer(d.jumps[i]) {
			i = d.jumps[i]
		} else {
			i = d.prefix[i]
		}
	}
	return i
}

// countUpTo returns how many words do not sort after t, which begins with the shared bytes.
func (d *dictionary) countUpTo(t string) int32 {
	k := key(t[len(d.shared):])
	from, to := 0, len(d.keys)
	for from < to {
		mid := int(uint(from+to) / 2)
		if m := d.keys[mid]; m < k || m == k && d.word(int32(mid*keyEvery)) <= t {
			from = mid + 1
		} else {
			to = mid
		}
	}
	if from == 0 {
		return 0
	}
	// The words with keys before from do not sort after t. The one at from does.
	from, to = (from-1)*keyEvery+1, min(from*keyEvery, len(d.prefix))
	for from < to {
		if mid := int(uint(from+to) / 2); d.word(int32(mid)) <= t {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return int32(from)
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

// size returns the memory of the lists in bytes.
func (d *dictionary) size() int { return bytesOf(d.keys) + bytesOf(d.prefix) + bytesOf(d.jumps) }
