package matcher

import "strings"

// This file compares one pattern with a target: RFC 9309, section 2.2.3.

// matchStars reports whether the literal p matches a beginning of t, or all of t
// if anchored is set. p has a star, but not at its end.
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
