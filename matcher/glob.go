package matcher

import (
	"bytes"
	"strings"
)

// This file compares one pattern with a target: RFC 9309, section 2.2.3.

// setShape sets starred and ending of r for a pattern in normal form that has a star, and
// rewrites the pattern: a star after a star or at the end, and a "$" after a star, change
// nothing of what matches. They become stars at the end, where they only count in the length
// of the pattern.
func (r *rule) setShape(pattern []byte) {
	literal, anchored := bytes.CutSuffix(pattern, []byte("$"))
	n := len(literal)
	for n > 0 && literal[n-1] == '*' {
		n--
	}
	anchored = anchored && n == len(literal)
	literal = literal[:n]
	if first := bytes.IndexByte(literal, '*'); first >= 0 {
		r.starred = true
		n = first + 1
		for _, c := range literal[n:] {
			if c != '*' || literal[n-1] != '*' {
				literal[n] = c
				n++
			}
		}
	}
	if r.ending = 0; anchored {
		r.ending, pattern[n] = endAnchor, '$'
		n++
	}
	for ; n < len(pattern); n++ {
		pattern[n] = '*'
		r.ending |= endStars
	}
}

// matchStars reports whether the literal p matches a beginning of t, or all of t
// if anchored is set. p has a star, none beside another and none at its end.
//
// Invariant: the pieces of p between stars are placed from left to right, each
// at its earliest position after the one before. If any placing of the pieces
// exists, this one does, so nothing is ever tried again and the time is linear
// in t. Only the last piece of an anchored match is bound to the end.
func matchStars(p, t string, anchored bool) bool {
	if anchored {
		last := strings.LastIndexByte(p, '*')
		if !strings.HasSuffix(t, p[last+1:]) {
			return false
		}
		p, t = p[:last], t[:len(t)-(len(p)-last-1)]
	}
	part := until(p, '*')
	if !strings.HasPrefix(t, part) {
		return false
	}
	for len(part) < len(p) {
		p, t = p[len(part)+1:], t[len(part):]
		part = until(p, '*')
		at := strings.Index(t, part)
		if at < 0 {
			return false
		}
		t = t[at:]
	}
	return true
}
