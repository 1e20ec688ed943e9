package matcher

import "strings"

// This file compares one pattern with a target: RFC 9309, section 2.2.3.

// matches reports whether the normalised pattern p matches a beginning of t,
// or all of t if whole is set.
//
// Invariant: the pieces of p between stars are placed from left to right, each
// at its earliest position after the one before. If any placing of the pieces
// exists, this one does, so nothing is ever tried again and the time is linear
// in t. Only the last piece of a whole match is bound to the end.
func matches(p, t string, whole bool) bool {
	n := 0
	for ; n < len(p) && p[n] != '*'; n++ { // mostly few
		if n == len(t) || t[n] != p[n] {
			return false
		}
	}
	if n == len(p) {
		return !whole || len(t) == len(p)
	}
	t, p = t[n:], p[n+1:]
	for {
		for p != "" && p[0] == '*' {
			p = p[1:]
		}
		star := strings.IndexByte(p, '*')
		if star < 0 {
			break
		}
		at := strings.Index(t, p[:star])
		if at < 0 {
			return false
		}
		t, p = t[at+star:], p[star+1:]
	}
	if whole {
		return strings.HasSuffix(t, p)
	}
	return strings.Contains(t, p)
}
