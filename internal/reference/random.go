package reference

import (
	"math/rand/v2"
	"strings"
)

// Random makes small files and targets of which many match.
type Random struct{ *rand.Rand }

// NewRandom returns the files and targets of a seed.
func NewRandom(seed uint64) Random { return Random{rand.New(rand.NewPCG(seed, 9309))} }

// Pick returns one of a list.
func (r Random) Pick(list ...string) string { return list[r.IntN(len(list))] }

// Text returns n bytes of a set.
func (r Random) Text(n int, of string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = of[r.IntN(len(of))]
	}
	return string(b)
}

// Path returns a path or a pattern, of usual parts and the extra ones.
func (r Random) Path(extra ...string) string {
	var b strings.Builder
	b.WriteString(r.Pick("/", "/", "/", "/", "/a", "*", "", "a"))
	parts := append([]string{"a", "b", "a", "/", "ab", "*", "?", "=", "%2F", "%2f", "%3F", "%3a", ":", "%41", "A", "%C3%A9", "é", "%2A", "%24", "%", "%4", "%zz", " ", "index.html", "%25", "@", "%40", "!", "%21", "%28", "(", "%5b", "[", "'", "%2b", "+", ";", "%3B", "~", "%7E", ".", "|", "\x01"}, extra...)
	for range r.IntN(7) {
		b.WriteString(r.Pick(parts...))
	}
	return b.String()
}

// File returns a robots.txt of which many lines are odd.
func (r Random) File() string {
	var b strings.Builder
	b.WriteString(r.Pick("", "user-agent: bot\n", "user-agent: bot\r", "user-agent: *\r\n"))
	for range r.IntN(12) {
		switch r.IntN(9) {
		case 0, 1:
			b.WriteString(r.Pick("User-agent:", "user-agent :", "useragent: ", "User-agents: ", "user-agent "))
			b.WriteString(r.Pick("*", "bot", "Bot/1", "b", "* x", "**", "", "bot2", "other"))
		case 2:
			b.WriteString(r.Pick("", " ", "# x", "Sitemap: x", "foo: bar", "junk", ":", "crawl-delay: 1", "crawl-delay: .5", "crawl-delay: x", "\x00", "a b", "a b c", "disallow\x00:/"))
		default:
			b.WriteString(r.Pick("disallow: ", "Disallow:", "allow:", "Allow: ", "disalow: ", "Disallow ", "allowed:"))
			b.WriteString(r.Path("$", "#", "\x00", "**", "*$", "\v"))
		}
		b.WriteString(r.Pick("\n", "\n", "\n", "\r\n", "\r", "\n\n"))
	}
	return b.String()
}

// Token returns a token or a list of tokens, some of which File names.
func (r Random) Token() string {
	return r.Pick("bot", "bot", "bot", "other,bot", "none, bot2 ,,bot", "*", "")
}

// Target returns a target, in some cases with a scheme and a host.
func (r Random) Target() string {
	return r.Pick("", "", "", "/", "https://a", "https://a;@", "9://a", "a.b:") + r.Path("$", "#", "\x00")
}
