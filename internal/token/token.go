// Package token says what a product token is: the name of a crawler (RFC 9309, section
// 2.2.1).
package token

// Prefix returns the product token that s begins with, or "".
func Prefix(s string) string {
	n := 0
	for n < len(s) && IsByte(s[n]) {
		n++
	}
	return s[:n]
}

// IsByte reports whether c can occur in a product token: it is a letter of ASCII, "-" or
// "_". House rule: it can also be a digit, since crawlers have them in their names.
func IsByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
