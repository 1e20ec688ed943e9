package matcher

import "strings"

// This file compares one pattern with a target: RFC 9309, section 2.2.3.

// setPattern sets the fields of r that describe its pattern, which is in normal form;
// properties are those that all its bytes have. It returns the pattern, with the bytes
// that mean nothing moved to the end as stars, where they only count in its length: a
// star after a star or at the end, and a "$" after a star.
func (d *Dialect) setPattern(r *rule, pattern string, properties uint8) string {
	r.query = strings.Contains(pattern, "?")
	if d.literal {
		return pattern
	}
	p, hasEnd := strings.CutSuffix(pattern, "$")
	anchored := hasEnd && !strings.HasSuffix(p, "*")
	if anchored {
		r.ending = anchor
	}
	if properties&notStar != 0 {
		return pattern
	}
	literal := strings.TrimRight(p, "*")
	r.starred = strings.Contains(literal, "*")
	if !strings.Contains(literal, "**") && (!hasEnd || anchored) {
		if len(literal) < len(p) {
			r.ending = stars
		}
		return pattern
	}
	r.ending = stars
	b := make([]byte, 0, len(pattern))
	for i := range len(literal) {
		if i == 0 || literal[i-1] != '*' || literal[i] != '*' {
			b = append(b, literal[i])
		}
	}
	if anchored {
		r.ending, b = anchorAndStars, append(b, '$')
	}
	for len(b) < len(pattern) {
		b = append(b, '*')
	}
	return view(b)
}

// matchStars reports whether the literal p matches a beginning of t, or all of t
// if anchored is set. p has a star, none beside another and none at its end.
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
	t, p = t[star:], p[star+1:]
	for star = strings.IndexByte(p, '*'); star >= 0; star = strings.IndexByte(p, '*') {
		at := strings.Index(t, p[:star])
		if at < 0 {
			return false
		}
		t, p = t[at+star:], p[star+1:]
	}
	if anchored {
		return strings.HasSuffix(t, p)
	}
	return strings.Contains(t, p)
}
