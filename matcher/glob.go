package matcher

import "strings"

// This file compares one pattern with a target: RFC 9309, section 2.2.3.

// matchStars reports whether the pattern p matches a beginning of t, or all of t
// if anchored is set.
//
// Invariant: the pieces of p between stars are placed from left to right, each
// at its earliest position after the one before. If any placing of the pieces
// exists, this one does, so nothing is ever tried again and the time is linear
// in t. Only the last piece of an anchored match is bound to the end.
func matchStars(p, t string, anchored bool) bool {
	star := strings.IndexByte(p, '*')
	if len(t) < star || t[:star] != p[:star] {
		return false
	}
	t, p = t[star:], strings.TrimLeft(p[star:], "*")
	for star = strings.IndexByte(p, '*'); star >= 0; star = strings.IndexByte(p, '*') {
		at := strings.Index(t, p[:star])
		if at < 0 {
			return false
		}
		t, p = t[at+star:], strings.TrimLeft(p[star:], "*")
	}
	if anchored {
		return strings.HasSuffix(t, p)
	}
	return strings.Contains(t, p)
}
