package grammar

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// Files returns the grammar of RFC 9309. The bytes that it likes make rules of which
// many match the same target.
func Files() *Grammar {
	g, err := Parse(RFC9309)
	if err != nil {
		panic(err) // the text is a constant
	}
	g.Likely = "aab/*$?%2Ff.:"
	return g
}

// A Question is a file, and a token and a target to match with it.
type Question struct {
	File          string
	Token, Target string
}

// Ask returns n questions about one random file. Their tokens and targets are made from
// the file's own, so that groups apply and rules match.
func (g *Grammar) Ask(r *rand.Rand, n int) []Question {
	file := string(g.Write("robotstxt", r))
	tokens, patterns := []string{"other"}, []string{"/"}
	for _, line := range strings.FieldsFunc(file, func(c rune) bool { return c == '\r' || c == '\n' }) {
		line, _, _ = strings.Cut(line, "#")
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.Trim(value, " \t"); {
		case strings.HasPrefix(strings.ToLower(strings.Trim(name, " \t")), "user"):
			tokens = append(tokens, value)
		case value != "":
			patterns = append(patterns, value)
		}
	}
	all := make([]Question, n)
	for i := range all {
		token := tokens[r.IntN(len(tokens))]
		if token == "*" {
			token = "other"
		}
		all[i] = Question{file, token, g.target(patterns[r.IntN(len(patterns))], r)}
	}
	return all
}

// target returns a target that the pattern matches, more often than not. It has no bytes
// that may not be in a URL.
func (g *Grammar) target(pattern string, r *rand.Rand) string {
	var b []byte
	for _, c := range []byte(strings.TrimSuffix(pattern, "$")) {
		switch {
		case c == '*':
			b = repeat{name("UTF8-1-noctl"), 0, -1}.write(g, b, r)
		case r.IntN(16) == 0: // left out
		case r.IntN(16) == 0:
			b = fmt.Appendf(b, "%%%02X", c)
		default:
			b = append(b, c)
		}
	}
	if r.IntN(4) == 0 {
		b = append(b, g.Write("path-pattern", r)...)
	}
	return "/" + escape(strings.TrimPrefix(string(b), "/"))
}

var triplet = regexp.MustCompile(`^%[0-9A-Fa-f]{2}`)

// escape returns s with triplets for the bytes that may not be in the path or the query
// of a URL.
func escape(s string) string {
	const inURL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?@!$&'()*+,;="
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(inURL, s[i]) >= 0 || triplet.MatchString(s[i:]) {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	return b.String()
}
