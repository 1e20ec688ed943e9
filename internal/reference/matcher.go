// Package reference is a second matcher of robots.txt, slow and plain, for tests to compare with.
// It is written from RFC 9309, from docs/deviations.md and from the texts of the older dialects, and
// shares no code with package matcher. Type [Random] makes files and targets to compare on.
package reference

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// A Dialect is the name of a way to read robots.txt.
type Dialect string

// The dialects of package matcher.
const (
	RFC9309    Dialect = "RFC9309"
	Google     Dialect = "Google"
	Draft2019  Dialect = "Draft2019"
	Koster1996 Dialect = "Koster1996"
)

// A File is a robots.txt as a dialect reads it.
type File struct {
	dialect Dialect
	groups  []group
}

type group struct {
	agents []string
	rules  []Rule
	delay  time.Duration // -1 without one
}

// A Rule is an allow or disallow record.
type Rule struct {
	Line    int // 0 if no rule matches
	Allow   bool
	Pattern string // as written
}

// Rules are the rules that one crawler obeys, in the order of the file.
type Rules struct {
	Delay   time.Duration // the Crawl-delay; -1 without one
	dialect Dialect
	rules   []normalRule
}

// A normalRule is a rule with its pattern in normal form.
type normalRule struct {
	Rule
	form, folded, index string // folded is empty if the pattern has no "?", index if it names no index page
}

// records are the names of records, with the misspelled names that RFC 9309 accepts.
var records = map[string][]string{
	"user-agent": {"user agent", "useragent", "user_agent", "user-agents", "users-agent", "user-agnet", "user-agen", "uuser-agent",
		"usser-agent", "user - agent", "use-agent", "ser-agent"},
	"disallow": {"dissallow", "dissalow", "disalow", "diasllow", "disallaw", "diallow", "disllow", "dislow", "disalolow", "disalloww",
		"disallowi", "disalloe", "disallo", "disal1ow", "diasallow", "disaloow", "disallpw", "disallown", "disallop", "disalllow",
		"disaalow", "dosallow", "dis-allow", "dis allow", "disallowed"},
	"allow":       {"alow", "allowed", "alllow"},
	"crawl-delay": {"crawl delay", "crawl_delay", "crawldelay", "craw-delay", "clawl-delay"},
}

// googlePrefixes are the beginnings of the names of records in Google's dialect.
var googlePrefixes = map[string][]string{
	"user-agent": {"user-agent", "useragent", "user agent"}, "allow": {"allow"}, "crawl-delay": {"crawl-delay"},
	"disallow": {"disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"},
}

// kind returns the usual name of a record.
func (d Dialect) kind(name string) string {
	name = lower(name)
	for kind, misspelled := range records {
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if name == kind || d == Google && slices.ContainsFunc(googlePrefixes[kind], begins) ||
			(d == RFC9309 || d == Draft2019) && slices.Contains(misspelled, name) {
			return kind
		}
	}
	return ""
}

// lower returns s with letters of ASCII in lower case.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// decode removes a byte order mark and decodes UTF-16. Google's parser removes any part of the mark.
func (d Dialect) decode(text string) string {
	if d == Google {
		for _, c := range []string{"\xEF", "\xBB", "\xBF"} {
			if !strings.HasPrefix(text, c) {
				break
			}
			text = text[1:]
		}
		return text
	}
	if len(text) < 2 || text[0]^text[1] != 0xFE^0xFF || text[0] < 0xFE {
		return strings.TrimPrefix(text, "\uFEFF")
	}
	var units []uint16
	high := int(text[0] & 1) // FE FF has the high byte first
	for i := 2; i+1 < len(text); i += 2 {
		units = append(units, uint16(text[i+high])<<8|uint16(text[i+1-high]))
	}
	return string(utf16.Decode(units))
}

// Parse reads a file.
func Parse(d Dialect, text string) *File {
	f := &File{dialect: d}
	open := false
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(d.decode(text))
	for i, line := range strings.Split(text, "\n") {
		if d == Koster1996 && strings.Trim(line, d.space()) == "" {
			open = false
			continue
		}
		kind, value := d.record(line)
		last := len(f.groups) - 1
		switch {
		case kind == "user-agent":
			if !open || len(f.groups[last].rules) > 0 {
				f.groups = append(f.groups, group{delay: -1})
				last++
			}
			open = true
			f.groups[last].agents = append(f.groups[last].agents, value)
		case (kind == "allow" || kind == "disallow") && open:
			f.groups[last].rules = append(f.groups[last].rules, Rule{i + 1, kind == "allow", value})
		case kind == "crawl-delay" && open && f.groups[last].delay < 0:
			f.groups[last].delay = seconds(value)
		}
	}
	return f
}

func (d Dialect) space() string {
	if d == Google {
		return " \t\v\f"
	}
	return " \t"
}

// record returns the kind and the value of the record in a line.
func (d Dialect) record(line string) (kind, value string) {
	if d == Google {
		line = line[:min(len(line), 8*2083-1)]
		line, _, _ = strings.Cut(line, "\x00")
	}
	line, _, _ = strings.Cut(line, "#")
	line = strings.Trim(line, d.space())
	name, value, ok := strings.Cut(line, ":")
	if f := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' }); !ok && d == Google && len(f) == 2 {
		name, value, ok = f[0], f[1], true
	}
	if !ok {
		return "", ""
	}
	return d.kind(strings.Trim(name, d.space())), strings.Trim(value, d.space())
}

var number = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// seconds reads a Crawl-delay. It returns -1 if the value is no number of seconds.
func seconds(value string) time.Duration {
	v, _ := strconv.ParseFloat(value, 64)
	switch {
	case !number.MatchString(value) || v < 0:
		return -1
	case v >= math.MaxInt64/1e9:
		return math.MaxInt64
	}
	return time.Duration(v * 1e9)
}

// HasRule reports whether a group of the file has a rule that can match.
func (f *File) HasRule() bool {
	for _, g := range f.groups {
		if slices.ContainsFunc(g.rules, f.dialect.valid) {
			return true
		}
	}
	return false
}

var (
	productToken = regexp.MustCompile(`^[A-Za-z0-9_-]*`)
	googleToken  = regexp.MustCompile(`^[A-Za-z_-]*`)
)

// names reports whether a user-agent value names the token.
func (d Dialect) names(value, token string) bool {
	switch {
	case value == "*" || len(value) > 1 && value[0] == '*' && strings.Contains(d.space(), value[1:2]):
		return token == "*"
	case token == "*":
		return false
	case d == Koster1996:
		return value != "" && lower(token) == lower(value)
	case d == Google:
		return lower(googleToken.FindString(value)) == lower(token)
	}
	return token != "" && lower(productToken.FindString(value)) == lower(token)
}

// find returns the rules for one token, and whether there is a group for it.
func (f *File) find(token string) (all *Rules, found bool) {
	d := f.dialect
	all = &Rules{Delay: -1, dialect: d}
	for _, g := range f.groups {
		if d == Koster1996 && len(g.rules) == 0 || found && (d == Koster1996 || token == "*" && d == Draft2019) {
			continue
		}
		if !slices.ContainsFunc(g.agents, func(agent string) bool { return d.names(agent, token) }) {
			continue
		}
		found = true
		if all.Delay < 0 {
			all.Delay = g.delay
		}
		for _, r := range g.rules {
			if d.valid(r) {
				all.rules = append(all.rules, d.normal(r))
			}
		}
	}
	return all, found
}

// Group returns the rules to obey. The first token of the list that has a group decides, and without one "*".
func (f *File) Group(token string) *Rules {
	plain := f.dialect == RFC9309 || f.dialect == Draft2019
	list := token
	if plain {
		list, _, _ = strings.Cut(token, "(")
	}
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.Trim(one, " \t"); one == "" && token != "" {
			continue
		}
		if name := productToken.FindString(one); name != "" && plain {
			one = name
		}
		if rules, found := f.find(one); found {
			return rules
		}
	}
	rules, _ := f.find("*")
	return rules
}

// valid reports whether a rule can match.
func (d Dialect) valid(r Rule) bool {
	controls := strings.ContainsFunc(r.Pattern, func(c rune) bool { return c < ' ' && c != '\t' })
	return r.Pattern != "" && (d == Koster1996 || strings.IndexByte("/*", r.Pattern[0]) >= 0) && (d == Google || d == Koster1996 || !controls)
}

// normal returns a rule with the normal forms of its pattern.
func (d Dialect) normal(r Rule) normalRule {
	n := normalRule{Rule: r, form: d.form(r.Pattern, d != Koster1996, false)}
	if folded := d.form(r.Pattern, d != Koster1996, true); strings.Contains(folded, "?") {
		n.folded = folded
	}
	if dir := strings.LastIndex(r.Pattern, "/"); d == Google && r.Allow && dir >= 0 && strings.HasPrefix(r.Pattern[dir:], "/index.htm") {
		n.index = d.form(r.Pattern[:dir+1], true, false) + "$"
	}
	return n
}

var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// path returns path and query of a target.
func (d Dialect) path(target string) string {
	target, _, _ = strings.Cut(target, "#")
	end := "/?"
	if d == Google {
		target, _, _ = strings.Cut(target, "\x00")
		end = "/?;"
	}
	if after := scheme.ReplaceAllString(target, ""); after != target || d == Google {
		target = strings.TrimLeftFunc(after, func(c rune) bool { return !strings.ContainsRune(end, c) })
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	return target
}

// Match returns the rule that decides on a target, or one without a line that allows it.
func (g *Rules) Match(target string) Rule {
	d := g.dialect
	target = d.path(target)
	form, folded := d.form(target, false, false), d.form(target, false, true)
	if form == "/robots.txt" && d != Google && d != Koster1996 {
		return Rule{Allow: true}
	}
	best, size := Rule{Allow: true}, -1
	for _, r := range g.rules {
		n := r.match(d, form, folded)
		if d == Koster1996 && size < 0 && n >= 0 || d != Koster1996 && (n > size || n == size && r.Allow && !best.Allow) {
			best, size = r.Rule, n
		}
	}
	return best
}

// match returns the length of the rule if it matches the target, or -1. A rule with a literal "?"
// matches in either view: as written, or with the queries folded. Its length is the same in both.
func (r *normalRule) match(d Dialect, form, folded string) int {
	switch {
	case d == Koster1996:
		if r.Pattern[0] == '/' && strings.HasPrefix(form, r.form) {
			return 1
		}
	case r.folded != "" && (matches(r.form, form) || matches(r.folded, folded)):
		return len(r.folded)
	case r.folded == "" && matches(r.form, form):
		return len(r.form)
	case r.index != "" && matches(r.index, form):
		return len(r.index)
	}
	return -1
}

// form returns the normal form of a pattern or of a target. With fold, "/" and "?" equal their triplets in a query.
func (d Dialect) form(s string, pattern, fold bool) string {
	var b strings.Builder
	query := false
	for i := 0; i < len(s); i++ {
		c, spelled := s[i], s[i:i+1]
		if spelled == "%" && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				c, spelled = byte(n), s[i:i+3]
				i += 2
			}
		}
		switch {
		case pattern && (spelled == "*" || spelled == "$" && i == len(s)-1):
			b.WriteByte(c)
		case d == Google && (!pattern || len(spelled) == 1 && c < 0x80):
			b.WriteString(spelled)
		case d != Google && d.equalsTriplet(spelled, c, fold && query):
			b.WriteByte(c)
			query = query || c == '?'
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// equalsTriplet reports whether a spelling is written as the byte: the byte equals its triplet, or it is a delimiter.
func (d Dialect) equalsTriplet(spelled string, c byte, folded bool) bool {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	in := func(set string) bool { return strings.IndexByte(set, c) >= 0 }
	if d == Koster1996 {
		return c != '%' && (len(spelled) == 1 || c != '/')
	}
	return in(unreserved+":@!&'()+,;=[]") || in("/?#%") && len(spelled) == 1 || in("/?") && folded
}

// matches reports whether a pattern matches a target from its first byte on. It goes back to the
// last star whenever it fails.
func matches(p, t string) bool {
	if end := strings.TrimSuffix(p, "$"); end != p {
		p = end
	} else {
		p += "*"
	}
	i, j, star, from := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, j
			i++
		case i < len(p) && p[i] == t[j]:
			i++
			j++
		case star < 0:
			return false
		default:
			from++
			i, j = star+1, from
		}
	}
	return strings.Trim(p[i:], "*") == ""
}
