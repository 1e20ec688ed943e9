package matcher

import (
	"math"
	"slices"
	"strings"
)

// This file finds the longest word of a list that a text begins with. The words are the
// parts of patterns that the index finds rules by: RFC 9309, section 2.2.2.

// A dictionary is a sorted list of words, which are parts of a text. The number of a word is its index
// in the list; -1 stands for no word. The parents form a tree: the parent of a word is the
// longest other word that it begins with.
type dictionary struct {
	text   string
	words  []word
	parent []int32    // by number of the word: number of its parent, or -1
	starts [64]uint16 // a bitmap of the first two bytes of all words, modulo 64 and 16; a one-byte word sets all 16 bits
}

// A word is text[begin:end].
type word struct {
	begin, end int32
	value      int32 // what the index keeps for the word
}

// newDictionary returns the dictionary of a sorted list of words.
func newDictionary(text string, words []word) dictionary {
	d := dictionary{text: text, words: words, parent: make([]int32, len(words))}
	for i := range d.parent {
		w, parent := d.word(int32(i)), int32(i-1)
		// The words are sorted, so the parent is the word before, or an ancestor of that.
		for parent >= 0 && !strings.HasPrefix(w, d.word(parent)) {
			parent = d.parent[parent]
		}
		d.parent[i] = parent
	}
	return d
}

// sortWords sorts words of a text.
func sortWords(text string, words []word) {
	slices.SortFunc(words, func(a, b word) int { return strings.Compare(text[a.begin:a.end], text[b.begin:b.end]) })
}

// word returns the text of a word.
func (d *dictionary) word(number int32) string {
	w := &d.words[number]
	return d.text[w.begin:w.end]
}

// setStarts sets starts. No word may be empty.
func (d *dictionary) setStarts() {
	for i := range d.words {
		if w := d.word(int32(i)); len(w) == 1 {
			d.starts[w[0]%64] = math.MaxUint16
		} else {
			d.starts[w[0]%64] |= 1 << (w[1] % 16)
		}
	}
}

// mayBegin reports whether a word may begin with the bytes c and next, or be c alone. Nearly
// always mayBegin reports false. starts must be set.
func (d *dictionary) mayBegin(c, next byte) bool { return d.starts[c%64]>>(next%16)&1 != 0 }

// longestPrefix returns the number of the longest word that t begins with, or -1.
func (d *dictionary) longestPrefix(t string) int32 {
	// Word i is the last one that does not sort after t. Every word that sorts between a prefix
	// of t and t has that prefix. So the result is word i or an ancestor of it.
	i := d.countUpTo(t) - 1
	if i < 0 || strings.HasPrefix(t, d.word(i)) {
		return i
	}
	same := commonPrefix(d.word(i), t)
	if p := d.parent[i]; p < 0 || len(d.word(p)) <= same {
		return p
	}
	// Many ancestors can be longer. The first word after t[:same] begins with t[:same], as word i
	// does, and its parent is the longest word that t[:same] begins with.
	return d.parent[d.countUpTo(t[:same])]
}

// countUpTo returns how many words do not sort after t.
func (d *dictionary) countUpTo(t string) int32 {
	from, to := 0, len(d.words)
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
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// size returns the memory of the lists in bytes.
func (d *dictionary) size() int { return bytesOf(d.words) + bytesOf(d.parent) }
