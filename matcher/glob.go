package matcher

import "strings"

// This file compares one pattern with a target: RFC 9309, section 2.2.3.

// setPair sets pair of r for a pattern in normal form: the last two bytes that are no "*" and
// no "$".
func (r *rule) setPair(pattern string) {
	for i := len(pattern) - 1; i > 0 && r.pair == 0; i-- {
		if a, b := pattern[i-1], pattern[i]; a != '*' && b != '*' && b != '$' {
			r.pair = pairOf(a, b)
		}
	}
}

// setShape sets shape of r for a pattern in normal form.
func (r *rule) setShape(pattern string) {
	short, anchored := strings.CutSuffix(pattern, "$")
	literal := strings.TrimRight(short, "*")
	switch {
	case len(literal) < len(short):
		r.shape = endStars
	case anchored:
		r.shape = endAnchor
	}
	if contains(literal, '*') {
		r.shape |= innerStar
	}
}

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
