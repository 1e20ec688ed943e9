package matcher

import (
	"strings"

	"github.com/rfc9309/polite/internal/token"
)

// This file normalises bytes before comparison: RFC 9309, section 2.2.2,
// paragraphs 3 and 4, Figure 4, and section 2.2.3, Figure 6.

// A form is a normal form of patterns and targets.
type form uint8

const (
	// rfcForm: triplets are upper-case. Unreserved bytes are decoded, and so are reserved
	// bytes but for "/", "?", "#", "*" and "$". Bytes that may not occur in a URI are encoded,
	// and so are "*" and "$" as literals.
	rfcForm form = iota
	// googleForm: in patterns, triplets are upper-case and bytes outside ASCII are
	// encoded. Targets stay as they are.
	googleForm
	// decodedForm: every triplet is decoded except %2F, and %25, so that a decoded
	// "%" starts no new triplet.
	decodedForm
)

// A byte has some of these properties.
const (
	decoded      = 1 << iota // rfcForm decodes its triplet
	foreign                  // it may not occur in a URI
	control                  // it is a control byte and no tab
	star                     // it is "*"
	question                 // it is "?"
	altered                  // some normal form changes it in a pattern, or it is "#", which ends a target
	changedInURL             // some normal form changes it in a target, or net/url writes a triplet for it in a path
)

// properties holds the properties of every byte: RFC 3986, sections 2.2 and 2.3.
var properties = func() (t [256]uint8) {
	for i := range t {
		switch c := byte(i); {
		case token.IsByte(c) || contains(".~:@&=+,;!'()[]", c):
			t[i] = decoded
		case c <= ' ' || c >= 0x7F || contains("\"<>\\^`{|}", c):
			t[i] = foreign | altered
		case !contains("/*?", c): // "#", "$" and "%"
			t[i] = altered
		}
		if i < ' ' && i != '\t' {
			t[i] |= control
		}
	}
	t['*'], t['?'] = star, question
	for i := range t {
		if t[i]&(altered|star) != 0 || contains("?!'()[]", byte(i)) {
			t[i] |= changedInURL
		}
	}
	return t
}()

// contains reports whether set contains the byte c.
func contains(set string, c byte) bool { return strings.IndexByte(set, c) >= 0 }

// propertiesOf returns the properties that some byte of s has.
func propertiesOf(s string) (some uint8) {
	for i := range len(s) {
		some |= properties[s[i]]
	}
	return some
}

// triplet returns the byte that the triplet at s[i:] stands for, or "%" and false if
// there is only a "%".
func triplet(s string, i int) (byte, bool) {
	if i+2 >= len(s) {
		return '%', false
	}
	h, l := unhex[s[i+1]], unhex[s[i+2]]
	if h|l >= 16 {
		return '%', false
	}
	return h<<4 | l, true
}

const hexDigits = "0123456789ABCDEF"

// unhex has the value of every hex digit, and 255 for every other byte.
var unhex = func() (t [256]uint8) {
	for c := range t {
		v := strings.IndexByte(hexDigits, byte(c))
		if 'a' <= c && c <= 'f' {
			v = c - 'a' + 10
		}
		t[c] = uint8(v) // -1 becomes 255
	}
	return t
}()

// appendTriplet appends the triplet of c.
func appendTriplet(dst []byte, c byte) []byte {
	return append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
}

// A role says what appendNormal normalises a text as. The zero role is a target.
type role uint8

const (
	asPattern role = 1 << iota // "*" and a "$" at the end are no literals
	folded                     // %2F and %3F in the query are decoded (Figure 4, row 2)
)

// appendNormal appends the normal form of a text.
func (f form) appendNormal(dst []byte, s string, as role) []byte {
	inQuery := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		p := properties[c]
		switch {
		case p&(altered|star|question) == 0:
			dst = append(dst, c)
			continue
		case p&foreign != 0 && f == rfcForm:
			dst = appendTriplet(dst, c)
			continue
		}
		encode, ok := false, false
		if c == '%' {
			if c, ok = triplet(s, i); ok {
				i += 2
			}
		}
		switch {
		case f == decodedForm:
			encode = c == '%' || ok && c == '/'
		case f == googleForm:
			encode = ok || c >= 0x80
		case ok: // rfcForm, as below
			encode = properties[c]&decoded == 0 && !(inQuery && as&folded != 0 && (c == '/' || c == '?'))
		case c == '*' || c == '$':
			encode = as&asPattern == 0 || c == '$' && i+1 < len(s)
		}
		if encode {
			dst = appendTriplet(dst, c)
		} else {
			dst = append(dst, c)
			inQuery = inQuery || c == '?'
		}
	}
	return dst
}
