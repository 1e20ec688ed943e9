package display

import (
	"strings"

	"github.com/rfc9309/polite/internal/clean"
)

// URL returns a URL, or a text with URLs, as it may be shown: clean, without passwords and
// cut to most bytes.
func URL(s string, most int) string { return clean.Text(Mask(s), most) }

// Mask returns a text with each password in a URL replaced by xxxxx, as url.URL.Redacted
// does. The URLs may be malformed, and without a scheme.
func Mask(s string) string {
	if !strings.Contains(s, "@") {
		return s
	}
	words := strings.SplitAfter(s, " ")
	for i, word := range words {
		words[i] = maskWord(word)
	}
	return strings.Join(words, "")
}

// maskWord masks the password of a word that is a URL, perhaps in quotes or parentheses.
func maskWord(word string) string {
	begin := strings.Index(word, "://") + len("://")
	if begin < len("://") {
		begin = len(word) - len(strings.TrimLeft(word, `"'(+`))
	}
	user, rest, ok := strings.Cut(word[begin:], ":")
	if !ok || strings.ContainsAny(user, "/?#@[") || strings.EqualFold(user, "mailto") {
		return word
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority = rest[:i]
	}
	at := strings.LastIndex(authority, "@")
	if at < 0 && strings.Trim(authority, "0123456789") != "" {
		at = strings.LastIndex(rest, "@") // no port, so a password with a / that is not encoded
	}
	if at < 0 {
		return word
	}
	return word[:begin] + user + ":xxxxx" + rest[at:]
}
