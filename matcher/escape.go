package matcher

import "strings"

// This file normalises bytes before comparison: RFC 9309, section 2.2.2,
// paragraphs 3 and 4, Figure 4, and section 2.2.3, Figure 6.

// form is a normal form that patterns and targets are brought to.
type form uint8

const (
	// rfcForm: triplets upper-case, unreserved bytes and reserved ones that
	// delimit nothing decoded, bytes that cannot stand in a URI encoded. A
	// literal "*" or "$" is %2A or %24 on both sides.
	rfcForm form = iota
	// googleForm: in patterns, triplets upper-case and bytes outside ASCII
	// encoded; targets as they are.
	googleForm
	// decodedForm: every triplet decoded but %2F, and %25, so that a decoded "%"
	// starts no new triplet.
	decodedForm
)

// A byte has some of these properties.
const (
	decoded    = 1 << iota // its triplet is decoded: RFC 3986 has it unreserved, or reserved and no delimiter
	foreign                // it cannot stand in a URI
	special                // "*" or "$"
	inTarget               // a target in normal form, by every form, may have it
	inPattern              // a pattern in normal form, by every form, may have it
	notStar                // it is not "*"
	notQuery               // it is not "?"
	notControl             // it is no control byte but tab
)

// properties holds the properties of every byte: RFC 3986, sections 2.2 and 2.3.
var properties = func() (t [256]uint8) {
	for i := range t {
		switch c := byte(i); {
		case isTokenByte(c) || has(".~:@&=+,;!'()[]", c):
			t[i] = decoded
		case c <= ' ' || c >= 0x7F || has("\"<>\\^`{|}", c):
			t[i] = foreign
		case c == '*' || c == '$':
			t[i] = special
		}
		if t[i]&decoded != 0 || i == '/' || i == '?' {
			t[i] |= inTarget | inPattern
		}
		t[i] |= notStar | notQuery
		if i >= ' ' || i == '\t' {
			t[i] |= notControl
		}
	}
	t['*'] = t['*']&^notStar | inPattern
	t['?'] &^= notQuery
	return t
}()

// has reports whether set has the byte c.
func has(set string, c byte) bool { return strings.IndexByte(set, c) >= 0 }

// shared returns the properties that all bytes of s have.
func shared(s string) uint8 {
	all := ^uint8(0)
	for ; len(s) >= 4; s = s[4:] {
		all &= properties[s[0]] & properties[s[1]] & properties[s[2]] & properties[s[3]]
	}
	for i := range len(s) {
		all &= properties[s[i]]
	}
	return all
}

// isNormalTarget reports whether a target is in normal form, by every form, and
// has no fragment.
func isNormalTarget(t string) bool { return shared(t)&inTarget != 0 }

// triplet returns the byte that the triplet at s[i:] stands for.
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
	case isDigit(c):
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

func appendTriplet(dst []byte, c byte) []byte {
	const hexDigits = "0123456789ABCDEF"
	return append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
}

// oneInQuery reports whether c and its triplet are one in a query: Figure 4,
// row 2. These two delimit nothing there.
func oneInQuery(c byte) bool { return c == '/' || c == '?' }

// appendNormal appends the normal form of a pattern, or of a request target. In a
// pattern, "*", and "$" at the end, are no literals, and bytes that are one with
// their triplets in a query are decoded there. folds reports that the query of a
// target has such a triplet.
func (f form) appendNormal(dst []byte, s string, isPattern bool) (out []byte, folds bool) {
	inQuery := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if properties[c]&inTarget != 0 && c != '?' { // nearly every byte
			dst = append(dst, c)
			continue
		}
		v, ok := triplet(s, i)
		if ok {
			c, i = v, i+2
		}
		encode := false
		switch {
		case f == decodedForm:
			encode = c == '%' || ok && c == '/'
		case f == googleForm:
			encode = ok || c >= 0x80
		case ok:
			isOne := inQuery && oneInQuery(c)
			encode = properties[c]&decoded == 0 && !(isPattern && isOne)
			folds = folds || isOne
		case properties[c]&special != 0:
			encode = !isPattern || c == '$' && i+1 < len(s)
		default:
			encode = properties[c]&foreign != 0
		}
		if encode {
			dst = appendTriplet(dst, c)
		} else {
			dst = append(dst, c)
			inQuery = inQuery || c == '?'
		}
	}
	return dst, folds
}

// fold appends the normal form t of a target as rules with a query see it:
// bytes that are one with their triplets in a query stand for both.
func fold(dst []byte, t string) []byte {
	inQuery := false
	for i := 0; i < len(t); i++ {
		c := t[i]
		if inQuery {
			if v, ok := triplet(t, i); ok && oneInQuery(v) {
				c, i = v, i+2
			}
		}
		inQuery = inQuery || c == '?'
		dst = append(dst, c)
	}
	return dst
}
