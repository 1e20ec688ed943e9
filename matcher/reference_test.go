package matcher

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// This file has a second matcher, slow and plain, to compare with. It is written
// from the texts of the dialects and shares only the record names with the package.

type refRule struct {
	line    int
	allow   bool
	pattern string
}

type refGroup struct {
	agents []string
	rules  []refRule
}

func (d Dialect) refSpace() string {
	if d.wideSpace {
		return " \t\v\f"
	}
	return " \t"
}

// refGroups reads the groups of a file.
func (d Dialect) refGroups(text string) (groups []refGroup) {
	switch {
	case d.halfBOM:
		for _, c := range []string{"\xEF", "\xBB", "\xBF"} {
			if !strings.HasPrefix(text, c) {
				break
			}
			text = text[1:]
		}
	default:
		text = strings.TrimPrefix(text, "\uFEFF")
	}
	open := false
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	for i, line := range strings.Split(text, "\n") {
		if d.blankEnds && strings.Trim(line, d.refSpace()) == "" {
			open = false
			continue
		}
		name, value, ok := d.refRecord(line)
		last := len(groups) - 1
		switch k, _ := d.kindOf(name); {
		case !ok:
		case k == agent:
			if !open || len(groups[last].rules) > 0 {
				groups = append(groups, refGroup{})
				last++
			}
			open = true
			groups[last].agents = append(groups[last].agents, value)
		case (k == allow || k == disallow) && open:
			groups[last].rules = append(groups[last].rules, refRule{i + 1, k == allow, value})
		}
	}
	return groups
}

func (d Dialect) refRecord(line string) (name, value string, ok bool) {
	if d.lineMax > 0 {
		line = line[:min(len(line), int(d.lineMax))]
	}
	if d.nulEnds {
		line, _, _ = strings.Cut(line, "\x00")
	}
	line, _, _ = strings.Cut(line, "#")
	line = strings.Trim(line, d.refSpace())
	name, value, ok = strings.Cut(line, ":")
	if f := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' }); !ok && d.twoWords && len(f) == 2 {
		name, value, ok = f[0], f[1], true
	}
	name, value = strings.Trim(name, d.refSpace()), strings.Trim(value, d.refSpace())
	return name, value, ok && name != ""
}

var refTokens = [...]*regexp.Regexp{
	regexp.MustCompile(`^[A-Za-z0-9_-]*`),
	regexp.MustCompile(`^[A-Za-z_-]*`),
}

// refNames reports whether a user-agent value names the token.
func (d Dialect) refNames(value, token string) bool {
	switch {
	case value == "*" || len(value) > 1 && value[0] == '*' && strings.Contains(d.refSpace(), value[1:2]):
		return token == "*"
	case token == "*":
		return false
	case d.wholeName:
		return value != "" && refLower(token) == refLower(value)
	case d.lettersOnly:
		return refLower(refTokens[1].FindString(value)) == refLower(token)
	}
	return token != "" && refLower(refTokens[0].FindString(value)) == refLower(token)
}

// refLower returns s with letters of ASCII in lower case.
func refLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// refFind returns the rules to obey, and whether there is a group.
func (d Dialect) refFind(groups []refGroup, token string) (rules []refRule, found bool) {
	for _, g := range groups {
		if d.blankEnds && len(g.rules) == 0 || found && (d.firstGroup || token == "*" && d.firstStar) {
			continue
		}
		for _, a := range g.agents {
			if d.refNames(a, token) {
				rules, found = append(rules, g.rules...), true
				break
			}
		}
	}
	return rules, found
}

// refMatch returns the rule that decides on a target, or one without a line that allows it.
func (d Dialect) refMatch(text, token, target string) refRule {
	groups := d.refGroups(text)
	list := token
	if !d.lettersOnly && !d.wholeName {
		list, _, _ = strings.Cut(token, "(")
	}
	var rules []refRule
	for _, one := range append(strings.Split(list, ","), "*") {
		var found bool
		if one = strings.Trim(one, " \t"); one == "" && token != "" {
			continue
		}
		if name := refTokens[0].FindString(one); name != "" && !d.lettersOnly && !d.wholeName {
			one = name
		}
		if rules, found = d.refFind(groups, one); found {
			break
		}
	}
	target = d.refTarget(target)
	if !d.noExempt && slices.Equal(d.refSymbols(target, false, false), d.refSymbols("/robots.txt", false, false)) {
		return refRule{allow: true}
	}
	best, size := refRule{allow: true}, -1
	for _, r := range rules {
		n := d.refLength(r, target)
		if d.inOrder && size < 0 && n >= 0 || !d.inOrder && (n > size || n == size && r.allow && !best.allow) {
			best, size = r, n
		}
	}
	return best
}

var refScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// refTarget returns path and query of a target.
func (d Dialect) refTarget(target string) string {
	target, _, _ = strings.Cut(target, "#")
	if d.nulEnds {
		target, _, _ = strings.Cut(target, "\x00")
	}
	end := "/?"
	if d.semicolon {
		end = "/?;"
	}
	if after := refScheme.ReplaceAllString(target, ""); after != target || d.hostFirst {
		target = strings.TrimLeftFunc(after, func(c rune) bool { return !strings.ContainsRune(end, c) })
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	return target
}

// refLength returns the length of the rule if it matches the target, or -1. A rule with a literal
// "?" matches in either view: as written, or with the queries folded. Its length is the same in both.
func (d Dialect) refLength(r refRule, target string) int {
	if r.pattern == "" || !d.controls && strings.ContainsFunc(r.pattern, func(c rune) bool { return c < ' ' && c != '\t' }) {
		return -1
	}
	if d.literal {
		p, t := d.refSymbols(r.pattern, false, false), d.refSymbols(target, false, false)
		if r.pattern[0] == '/' && len(p) <= len(t) && slices.Equal(p, t[:len(p)]) {
			return 1
		}
		return -1
	}
	if c := r.pattern[0]; c != '/' && c != '*' {
		return -1
	}
	size := len(d.refSymbols(r.pattern, true, true))
	for _, folded := range []bool{false, true} {
		p := d.refSymbols(r.pattern, true, folded)
		if folded && !slices.Contains(p, refSymbol{'?', false}) {
			break
		}
		if refMatches(p, d.refSymbols(target, false, folded)) {
			return size
		}
	}
	dir := strings.LastIndex(r.pattern, "/")
	if d.indexHTML && r.allow && dir >= 0 && strings.HasPrefix(r.pattern[dir:], "/index.htm") {
		p := append(d.refSymbols(r.pattern[:dir+1], true, false), refSymbol{'$', true})
		if refMatches(p, d.refSymbols(target, false, false)) {
			return len(p)
		}
	}
	return -1
}

// A refSymbol is what is compared: a byte, or a special byte of a pattern.
type refSymbol struct {
	c       byte
	special bool // "*" is any symbols, "$" the end
}

var refTriplet = regexp.MustCompile(`^%[0-9A-Fa-f]{2}`)

// refSymbols returns the symbols of a target or, if rule is set, of a pattern. If folded is set, "/"
// and "?" equal their triplets in the query.
func (d Dialect) refSymbols(s string, rule, folded bool) (symbols []refSymbol) {
	inQuery := false
	for s != "" {
		spelled, c := s[:1], s[0]
		if refTriplet.MatchString(s) {
			spelled = s[:3]
			fmt.Sscanf(s[1:3], "%X", &c)
		}
		if rule && (spelled == "*" || s == "$") {
			symbols, s = append(symbols, refSymbol{c, true}), s[1:]
			continue
		}
		switch d.refClass(spelled, c, rule, inQuery && folded) {
		case refAsByte:
			symbols = append(symbols, refSymbol{c, false})
			inQuery = inQuery || c == '?'
		case refAsTriplet:
			for _, c := range fmt.Appendf(nil, "%%%02X", c) {
				symbols = append(symbols, refSymbol{c, false})
			}
		case refAsWritten:
			for _, c := range []byte(spelled) {
				symbols = append(symbols, refSymbol{c, false})
			}
		}
		s = s[len(spelled):]
	}
	return symbols
}

// A refClass says what a byte or its triplet equals.
type refClass uint8

const (
	refAsByte    refClass = iota // both are the byte
	refAsTriplet                 // a triplet in upper case, of which a pattern may have a part
	refAsWritten                 // what is written
)

// refClass returns the class of the byte c, spelled as itself or as a triplet.
func (d Dialect) refClass(spelled string, c byte, rule, folded bool) refClass {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	isTriplet, is := len(spelled) == 3, func(set string) bool { return strings.IndexByte(set, c) >= 0 }
	switch {
	case d.form == googleForm && rule && (isTriplet || c >= 0x80):
		return refAsTriplet
	case d.form == googleForm:
		return refAsWritten
	case d.form == decodedForm && isTriplet && c == '/', d.form == decodedForm && c == '%':
		return refAsTriplet
	case d.form == decodedForm, is(unreserved + ":@!&'()+,;=[]"):
		return refAsByte
	case is("/?") && (!isTriplet || folded), is("#%") && !isTriplet:
		return refAsByte
	}
	return refAsTriplet
}

// refMatches reports whether a pattern matches a target. It tries every way to split
// the target.
func refMatches(p, t []refSymbol) bool {
	// at[i] is true if the part of p before the current symbol matches t[:i].
	at := make([]bool, len(t)+1)
	at[0] = true
	for _, s := range p {
		if s == (refSymbol{'$', true}) {
			return at[len(t)]
		}
		isStar := s == refSymbol{'*', true}
		for j := len(t); j >= 0 && !isStar; j-- {
			at[j] = j > 0 && at[j-1] && t[j-1] == s
		}
		for j := 1; j <= len(t) && isStar; j++ {
			at[j] = at[j] || at[j-1]
		}
	}
	return slices.Contains(at, true)
}

var dialects = []struct {
	name    string
	dialect Dialect
}{{"RFC9309", Dialect{}}, {"Google", Google()}, {"Draft2019", Draft2019()}, {"Koster1996", Koster1996()}}

// random makes small files and targets of which many match.
type random struct{ *rand.Rand }

func (r random) pick(list ...string) string { return list[r.IntN(len(list))] }

func (r random) path(extra ...string) string {
	var b strings.Builder
	b.WriteString(r.pick("/", "/", "/", "/", "/a", "*", "", "a"))
	parts := append([]string{"a", "b", "a", "/", "ab", "*", "?", "=", "%2F", "%2f", "%3F", "%3a", ":", "%41", "A", "%C3%A9", "é", "%2A", "%24", "%", "%4", "%zz", " ", "index.html", "%25", "@", "%40", "!", "%21", "%28", "(", "%5b", "[", "'", "%2b", "+", ";", "%3B", "~", "%7E", ".", "|", "\x01"}, extra...)
	for range r.IntN(7) {
		b.WriteString(r.pick(parts...))
	}
	return b.String()
}

func (r random) file() string {
	var b strings.Builder
	b.WriteString(r.pick("", "user-agent: bot\n", "user-agent: bot\r", "user-agent: *\r\n"))
	for range r.IntN(12) {
		switch r.IntN(9) {
		case 0, 1:
			b.WriteString(r.pick("User-agent:", "user-agent :", "useragent: ", "User-agents: ", "user-agent "))
			b.WriteString(r.pick("*", "bot", "Bot/1", "b", "* x", "**", "", "bot2", "other"))
		case 2:
			b.WriteString(r.pick("", " ", "# x", "Sitemap: x", "foo: bar", "junk", ":", "crawl-delay: 1", "\x00", "a b", "a b c", "disallow\x00:/"))
		default:
			b.WriteString(r.pick("disallow: ", "Disallow:", "allow:", "Allow: ", "disalow: ", "Disallow ", "allowed:"))
			b.WriteString(r.path("$", "#", "\x00", "**", "*$", "\v"))
		}
		b.WriteString(r.pick("\n", "\n", "\n", "\r\n", "\r", "\n\n"))
	}
	return b.String()
}

func (r random) target() string {
	return r.pick("", "", "", "/", "https://a", "https://a;@", "9://a", "a.b:") + r.path("$", "#", "\x00")
}

// TestReference compares with the reference on random files and targets, with
// and without an index.
func TestReference(t *testing.T) {
	for _, d := range dialects {
		t.Run("2.2.2/"+d.name, func(t *testing.T) {
			r := random{rand.New(rand.NewPCG(1, 2))}
			hits := 0
			for range 20000 {
				robots := r.file()
				var targets []string
				for range 4 {
					targets = append(targets, r.target())
				}
				hits += compare(t, d.dialect, robots, r.pick("bot", "bot", "bot", "other,bot", "none, bot2 ,,bot", "*", ""), targets...)
			}
			if t.Logf("%d of 80000 targets met a rule", hits); hits < 4000 {
				t.Error("too few to mean anything")
			}
		})
	}
}

// TestReferenceAlike is TestReference on patterns and targets of two letters, or of delimiters and
// their triplets, where pieces occur in each other and all over the target.
func TestReferenceAlike(t *testing.T) {
	files := 1000
	if testing.Short() {
		files = 300
	}
	r := random{rand.New(rand.NewPCG(3, 4))}
	text := func(n int, of ...string) string {
		var b strings.Builder
		for range 1 + r.IntN(n) {
			b.WriteString(r.pick(of...))
		}
		return b.String()
	}
	letters := []string{"a", "a", "a", "b", "b", "*", "?", "*", "*"}
	delimiters := []string{"a", "/", "%2F", "%3f", "?", "*", "*"}
	for range files {
		robots := "user-agent: bot\n"
		for range 1 + r.IntN(60) {
			of := letters[:5+r.IntN(5)]
			if r.IntN(2) == 0 {
				of = delimiters
			}
			robots += r.pick("allow: /", "disallow: /") + text(12, of...) + r.pick("", "", "$") + "\n"
		}
		var targets []string
		for range 3 {
			targets = append(targets, "/"+text(40, "a", "b")+r.pick("", "?%2F"+text(20, "a", "b")), "/"+text(12, delimiters[:5]...))
		}
		for _, d := range []Dialect{{}, Google()} {
			compare(t, d, robots, "bot", targets...)
		}
	}
}

// compare tries a file on targets in every way there is.
func compare(t *testing.T, d Dialect, robots, token string, targets ...string) (hits int) {
	t.Helper()
	f := Parse([]byte(robots), d)
	groups := []*Group{indexedGroup(f, token), f.Group(token)}
	for _, target := range targets {
		want := d.refMatch(robots, token, target)
		if want.line > 0 {
			hits++
		}
		for i, g := range groups {
			if m := g.Match(target); m.Allowed != want.allow || m.Rule.Line != want.line || m.Rule.Pattern != want.pattern {
				t.Fatalf("file %q token %q target %q\ngot %+v from group %d\nwant %+v", robots, token, target, m, i, want)
			}
		}
	}
	return hits
}

// indexedGroup returns the group of a token with an index, however few rules it has.
func indexedGroup(f *File, token string) *Group {
	g := f.choose(token)
	g.index.Store(newIndex(&g.rules))
	return g
}
