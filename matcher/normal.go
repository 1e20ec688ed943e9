package matcher

import "strings"

// This file normalises octets before comparison: RFC 9309, section 2.2.2,
// paragraphs 3 and 4, Figure 4, and section 2.2.3, Figure 6.

// form is a normal form that rules and targets are brought to.
type form uint8

const (
	// rfcForm: triplets upper-case, unreserved bytes and reserved ones that
	// delimit nothing decoded, bytes that cannot stand in a URI encoded. A
	// literal "*" or "$" is %2A or %24 on both sides.
	rfcForm form = iota
	// googleForm: in rules, triplets upper-case and octets outside ASCII
	// encoded; targets as they are.
	googleForm
	// decodedForm: every triplet decoded but %2F, and %25, so that a decoded "%"
	// starts no new triplet.
	decodedForm
)

// class says what normalising does with an octet.
type class uint8

const (
	plain   class = iota // "/" and "#": kept, and so is their triplet
	letter               // unreserved, or reserved and no delimiter: kept, and its triplet decoded
	special              // "*" or "$": a triplet in a target
	percent              // starts a triplet, if two hex digits follow
	query                // "?"
	foreign              // cannot stand in a URI: encoded
)

// classes holds the class of every octet, by RFC 3986, sections 2.2 and 2.3.
var classes = func() (t [256]class) {
	for c := range t {
		switch c := byte(c); {
		case isUnreserved(c) || strings.IndexByte(":@!&'()+,;=[]", c) >= 0:
			t[c] = letter
		case c <= ' ' || c >= 0x7F:
			t[c] = foreign
		}
	}
	for _, c := range []byte("\"<>\\^`{|}") {
		t[c] = foreign
	}
	t['*'], t['$'], t['%'], t['?'] = special, special, percent, query
	return t
}()

const hexDigits = "0123456789ABCDEF"

// triplet returns the octet that the triplet at s[i:] stands for.
func triplet(s string, i int) (byte, bool) {
	if i+2 >= len(s) || s[i] != '%' {
		return 0, false
	}
	h, l := unhex(s[i+1]), unhex(s[i+2])
	return h<<4 | l&15, h|l < 16
}

// unhex returns the value of a hex digit, or 255.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

func appendTriplet(dst []byte, c byte) []byte {
	return append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
}

// isUnreserved reports whether c is unreserved: RFC 3986, section 2.3.
func isUnreserved(c byte) bool { return isTokenOctet(c) || c == '.' || c == '~' }

// oneInQuery reports whether c and its triplet are one in a query: Figure 4,
// row 2. These two delimit nothing there.
func oneInQuery(c byte) bool { return c == '/' || c == '?' }

// marks says of every octet what it may be part of, as it stands.
var marks = func() (t [256]uint8) {
	for c := range t {
		if classes[c] <= letter || classes[c] == query {
			t[c] |= inTarget | inRule
		}
		if isUnreserved(byte(c)) || strings.IndexByte("/:@&=+,;", byte(c)) >= 0 {
			t[c] |= inPath | inRawPath
		}
		if strings.IndexByte("$!'()*[]", byte(c)) >= 0 {
			t[c] |= inRawPath
		}
		t[c] |= notStar
	}
	t['*'] = t['*']&^notStar | inRule
	t['#'] = 0 // it begins a comment, or a fragment
	return t
}()

const (
	inTarget  = 1 << iota // a target in normal form, by every form
	inRule                // a pattern in normal form, by every form
	inPath                // a path that net/url makes of a decoded one
	inRawPath             // a path that net/url takes as encoded
	notStar               // anything but "*"
)

// shared returns the marks that all octets of s have.
func shared(s string) uint8 {
	m := uint8(0xFF)
	for ; len(s) >= 4; s = s[4:] {
		m &= marks[s[0]] & marks[s[1]] & marks[s[2]] & marks[s[3]]
	}
	for i := range len(s) {
		m &= marks[s[i]]
	}
	return m
}

// isNormal reports whether a target is in normal form, by every form, and has no
// fragment.
func isNormal(t string) bool { return shared(t)&inTarget != 0 }

// survey reports whether an octet of a pattern is special, and whether it is in
// normal form, by every form.
func survey(p string) (special, clean bool) {
	if strings.HasSuffix(p, "$") {
		special, p = true, p[:len(p)-1]
	}
	m := shared(p)
	return special || m&notStar == 0, m&inRule != 0
}

// rule appends the normal form of a pattern. A "*", and a "$" at the end, stay
// what they are; any other "$" becomes a literal. What follows a literal "?" is
// a query.
func (f form) rule(dst []byte, p string) []byte {
	inQuery := false
	for i := 0; i < len(p); i++ {
		c := p[i]
		v, ok := triplet(p, i)
		switch {
		case f == decodedForm:
			dst, i = appendDecoded(dst, p, i)
			continue
		case ok && f == rfcForm && (classes[v] == letter || inQuery && oneInQuery(v)):
			dst = append(dst, v)
		case ok:
			dst = appendTriplet(dst, v)
		case f == googleForm && c >= 0x80, f == rfcForm && (classes[c] == foreign || c == '$' && i+1 < len(p)):
			dst = appendTriplet(dst, c)
		default:
			inQuery = inQuery || c == '?'
			dst = append(dst, c)
		}
		if ok {
			i += 2
		}
	}
	return dst
}

// appendDecoded appends the octet at p[i], a triplet decoded, in decodedForm,
// and returns the index of the last octet it read.
func appendDecoded(dst []byte, p string, i int) ([]byte, int) {
	c := p[i]
	v, ok := triplet(p, i)
	if ok {
		c, i = v, i+2
	}
	if c == '%' || ok && c == '/' {
		return appendTriplet(dst, c), i
	}
	return append(dst, c), i
}

// folds reports whether the form knows octets that are one with their triplets
// in a query.
func (f form) folds() bool { return f == rfcForm }

// target appends the normal form of a request target, or of its query alone.
// folds reports that the query has a triplet that is one with its octet in
// rules with a query.
func (f form) target(dst []byte, t string, inQuery bool) (out []byte, folds bool) {
	for i := 0; i < len(t); i++ {
		if f == decodedForm {
			dst, i = appendDecoded(dst, t, i)
			continue
		}
		n := i
		for n < len(t) && classes[t[n]] <= letter {
			n++
		}
		if dst = append(dst, t[i:n]...); n == len(t) {
			break
		}
		i = n
		v, ok := triplet(t, i)
		switch c := classes[t[i]]; {
		case ok && classes[v] == letter:
			dst = append(dst, v)
		case ok:
			folds = folds || inQuery && oneInQuery(v)
			dst = appendTriplet(dst, v)
		case c == foreign || c == special:
			dst = appendTriplet(dst, t[i])
		default:
			inQuery = inQuery || c == query
			dst = append(dst, t[i])
		}
		if ok {
			i += 2
		}
	}
	return dst, folds
}

// fold appends the normal form t of a target as rules with a query see it:
// octets that are one with their triplets in a query stand for both.
func fold(dst []byte, t string) []byte {
	inQuery := false
	for i := 0; i < len(t); i++ {
		c := t[i]
		if inQuery && c == '%' {
			if v, ok := triplet(t, i); ok && oneInQuery(v) {
				c, i = v, i+2
			}
		}
		inQuery = inQuery || c == '?'
		dst = append(dst, c)
	}
	return dst
}
