package lint

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/origin"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/pace"
)

// This file checks one line at a time.

// skipped maps the reasons of package matcher to checks, and to remarks where the reason
// does not say what to do.
var skipped = map[string]struct{ check, remark string }{
	"not a record: no name before a colon":          {check: "no-record"},
	"unknown record":                                {check: "unknown-record"},
	"misspelling accepted":                          {check: "misspelled"},
	"past the limit: what follows here is not read": {check: "past-limit"},
	"user-agent line that names no crawler":         {check: "no-crawler"},
	"rule outside any group":                        {"no-group", "rule outside any group, so it is ignored; want a user-agent line before it"},
	"empty pattern":                                 {"empty-rule", "empty pattern, so the rule matches nothing"},
	"control bytes in the pattern":                  {check: "never-matches"},
	"rule that can never match: its pattern begins with neither / nor *": {check: "never-matches"},
}

// extensions are records that are no part of RFC 9309, in lower case.
var extensions = []string{
	"clean-param", "content-signal", "content-usage", "host", "license", "request-rate", "visit-time",
}

// mark is the byte order mark.
const mark = "\uFEFF"

// checkSkipped adds what package matcher says about lines without effect, and looks for
// byte order marks.
func (r *reading) checkSkipped() {
	for n, why := range r.file.Skipped() {
		switch known := skipped[why]; {
		case strings.Contains(r.lines[n], mark):
			// reported below
		case known.check == "no-record" || known.check == "unknown-record" || known.check == "misspelled":
			r.checkName(n, known.check)
		default:
			r.add(n, known.check, "%s", cmp.Or(known.remark, why))
		}
	}
	for n := 1; n <= r.last; n++ {
		if strings.Contains(r.lines[n], mark) {
			r.add(n, "byte-order-mark", "byte order mark in the middle of the file, where it is a part of the line; want none, or one at the beginning")
		}
	}
}

// checkName says what a line is that has no name or an unusual one. check is the check
// that the reason of package matcher belongs to.
func (r *reading) checkName(n int, check string) {
	line := strings.TrimSpace(r.lines[n])
	name, _, colon := strings.Cut(line, ":")
	name = strings.TrimSpace(name)
	meant := near(name)
	switch {
	case check == "misspelled" && meant != "" && colon:
		r.add(n, "misspelled", "misspelled: some crawlers ignore it; did you mean %s?", meant)
	case check == "misspelled":
		r.add(n, "misspelled", "misspelled record: some crawlers ignore it")
	case check == "no-record":
		i := max(strings.IndexAny(line, " \t=;,"), 0)
		if meant = near(line[:i]); meant != "" {
			r.add(n, "no-record", "not a record, so it is ignored; did you mean %s?", clean.Quote(meant+": "+strings.TrimLeft(line[i:], " \t=;,"), longText))
			return
		}
		r.add(n, "no-record", "not a record, so it is ignored; want a name, a colon and a value")
	case strings.EqualFold(name, "noindex"):
		r.add(n, "unknown-record", "nobody reads Noindex in a robots.txt; want the header \"X-Robots-Tag: noindex\" with the page, and no Disallow for it")
	case slices.Contains(extensions, strings.ToLower(name)):
		r.add(n, "extension", "not a record of RFC 9309: only some crawlers read it")
	case meant != "":
		r.add(n, "near-miss", "unknown record, so it is ignored; did you mean %s?", meant)
	default:
		r.add(n, "unknown-record", "unknown record, so it is ignored")
	}
}

// near returns the name of a record that differs from a name in at most two places, or "".
func near(name string) string {
	if len(name) < 4 || len(name) > 20 {
		return ""
	}
	for _, meant := range []string{"Disallow", "Allow", "User-agent", "Sitemap", "Crawl-delay"} {
		if edits(strings.ToLower(name), strings.ToLower(meant)) <= 2 {
			return meant
		}
	}
	return ""
}

// edits returns the Levenshtein distance of two words.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// longRest is the longest ignored part of a line that is shown, in bytes.
const longRest = 60

// checkAgents looks for user-agent lines that name another crawler than they seem to.
func (r *reading) checkAgents() {
	for n, value := range r.file.Agents() {
		if strings.HasPrefix(value, "*") && r.obeys(value, "*") {
			if value != "*" {
				r.add(n, "user-agent", "names all crawlers: the rest, %s, is ignored", clean.Quote(value[1:], longRest))
			}
			continue
		}
		named := r.named(value)
		switch rest := value[len(named):]; {
		case named == "" || rest == "":
			// it names no crawler, which package matcher says, or what it seems to name
		case rest[0] == '/' || rest == "*":
			r.add(n, "ignored-ending", "names the crawler %q: the rest, %s, is ignored", named, clean.Quote(rest, longRest))
		default:
			r.add(n, "user-agent", "names only the crawler %q: the rest, %s, is ignored; want one product token of letters, digits, - and _",
				named, clean.Quote(rest, longRest))
		}
	}
}

// longToken is the longest product token that is looked for, in bytes.
const longToken = 100

// named returns the beginning of a user-agent value that is the name of a crawler. A comma
// is in no name.
func (r *reading) named(value string) string {
	name, _, _ := strings.Cut(value, ",")
	for n := 1; n <= min(len(name), longToken); n++ { // shortest first: the matcher ignores what follows a name
		if value[n-1] > ' ' && r.obeys(value, value[:n]) {
			return value[:n]
		}
	}
	return ""
}

// obeys reports whether a group with this user-agent value is for the crawler of a token.
func (r *reading) obeys(value, token string) bool {
	f := matcher.Parse([]byte("User-agent: "+value+"\nDisallow: /\n"), r.dialect)
	return !f.Match(token, "/").Allowed
}

// checkDelays looks for values that are no number, and for records outside any group.
func (r *reading) checkDelays() {
	first := r.last + 1
	for n := range r.file.Agents() {
		first = n
		break
	}
	for n, value := range r.file.Other("crawl-delay") {
		_, ok := matcher.Parse([]byte("User-agent: *\nCrawl-delay: "+value+"\nDisallow: /\n"), r.dialect).CrawlDelay("*")
		switch {
		case n < first:
			r.add(n, "no-group", "crawl-delay outside any group, so it is ignored; want a user-agent line before it")
		case !ok:
			r.add(n, "crawl-delay", "crawl-delay that is no number of seconds, so it is ignored")
		default:
			r.add(n, "extension", "not a record of RFC 9309: Googlebot ignores it, some other crawlers wait so long")
		}
	}
}

// checkSitemaps looks for sitemaps that are relative, or on another site.
func (r *reading) checkSitemaps() {
	for n, value := range r.file.Other("sitemap") {
		u, err := url.Parse(value)
		if err == nil {
			_, err = origin.Of(u)
		}
		switch {
		case value == "":
			r.add(n, "relative-sitemap", "sitemap without a URL")
		case err != nil:
			r.add(n, "relative-sitemap", "sitemap that is not a full URL; want one such as https://example.com/sitemap.xml")
		case r.Site != "" && pace.Domain(u.Host) != pace.Domain(r.Site):
			r.add(n, "foreign-sitemap", "sitemap of another site than %s: not all crawlers read it", r.Site)
		}
	}
}

// severalPaths finds a second path or rule in a pattern.
var severalPaths = regexp.MustCompile(`(?i)(,\s*/|\s(\*|/|(dis)?allow\s*:|https?://))`)

// checkPattern checks the line of a rule that can match something.
func (r *reading) checkPattern(rule matcher.Rule) {
	line := r.lines[rule.Line]
	if i := strings.IndexByte(line, '#'); i > 0 && line[i-1] != ' ' && line[i-1] != '\t' {
		r.add(rule.Line, "comment-in-rule", "# begins a comment, so the pattern is %q; want %%23 for a # in a path", rule.Pattern)
	}
	if severalPaths.MatchString(rule.Pattern) {
		r.add(rule.Line, "several-paths", "one pattern, %s: crawlers do not read several paths on one line", clean.Quote(rule.Pattern, longText))
	}
	path, _, _ := strings.Cut(rule.Pattern, "?")
	if strings.Contains(path, "/./") || strings.Contains(path, "/../") {
		r.add(rule.Line, "dot-segments", "clients remove /./ and /../ from a URL, so this matches nothing that they ask for")
	}
}

// keepObeyed drops the remarks about groups that the crawler of r.Token does not obey. A
// group begins at the first user-agent line after a rule. rules has the lines of the rules
// that can match something.
func (r *reading) keepObeyed(rules map[int]bool) {
	agents, empty := r.agents(), r.emptyRules(rules)
	own := r.file.Group(r.Token).Agent()
	keep := make([]bool, r.last+1)
	obeyed, begins := true, true
	for n := 1; n <= r.last; n++ {
		if value, ok := agents[n]; ok {
			mine := r.obeys(value, r.Token) && (value != "*" || own == "*")
			obeyed, begins = mine || obeyed && !begins, false
		}
		_, isRule := empty[n]
		begins = begins || isRule
		keep[n] = obeyed
	}
	r.remarks = slices.DeleteFunc(r.remarks, func(m Remark) bool { return !keep[m.Line] && !strings.HasSuffix(m.Check, "sitemap") })
}
