// Package lint finds what the owner of a site did not mean in a robots.txt: lines without
// effect, rules that never decide, and lines that crawlers read in different ways.
//
// It asks package matcher how a value is read, with a small file that has only this value.
// So each dialect has one reader.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rfc9309/polite/cmd/polite/internal/cases"
	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

// A Remark is what a check says about a line.
type Remark struct {
	Line     int      `json:"line"`
	Text     string   `json:"text"` // the line
	Remark   string   `json:"remark"`
	Level    Level    `json:"level"`
	Check    string   `json:"check"`              // name of the check
	Profiles []string `json:"profiles,omitempty"` // the profiles that it is about, if it is not about all

	about string // the profiles in words, "" if it is about all
}

// String returns the remark with the profiles that it is about.
func (r Remark) String() string {
	if r.about == "" {
		return r.Remark
	}
	return r.Remark + " (" + r.about + ")"
}

// Level says how bad a remark is, in the words of SARIF.
type Level string

const (
	Error   Level = "error"   // the line does not do what it seems to do
	Warning Level = "warning" // the line does nothing, or not the same for all crawlers
	Note    Level = "note"    // the line may be meant
)

// A check is a kind of remark.
type check struct {
	name  string
	level Level
	about string // what the check finds
}

// checks lists all checks.
var checks = []check{
	{"byte-order-mark", Error, "A byte order mark in the middle of a file is part of the line."},
	{"comment-in-rule", Error, "A # begins a comment, also in a rule."},
	{"crawl-delay", Error, "A Crawl-delay is a number of seconds in a group, once."},
	{"dot-segments", Error, "Clients remove dot segments from a URL before they ask for it."},
	{"near-miss", Error, "A misspelled name makes crawlers ignore the line."},
	{"never-matches", Error, "The rule can never match a URL."},
	{"no-crawler", Error, "The user-agent line names no crawler."},
	{"no-group", Error, "The record stands before the first user-agent line."},
	{"no-record", Error, "The line is no record."},
	{"not-text", Error, "The file is an HTML page, compressed or binary, or UTF-16."},
	{"past-limit", Error, "Crawlers do not read the end of a long file or line."},
	{"relative-sitemap", Error, "A sitemap is a full URL."},
	{"user-agent", Error, "The user-agent line names another crawler than it seems to name."},
	{"misspelled", Warning, "Not every crawler accepts a misspelling."},
	{"never-decides", Warning, "Another rule always decides in place of this rule."},
	{"open-group", Warning, "A crawler obeys its own group alone. A group without rules allows everything."},
	{"profiles-differ", Warning, "The profiles decide differently."},
	{"several-paths", Warning, "A rule has one path."},
	{"unknown-record", Warning, "The record is unknown."},
	{"closes-site", Note, "The group * closes the whole site."},
	{"duplicate", Note, "The group has the same rule twice."},
	{"empty-rule", Note, "A rule without a pattern matches nothing."},
	{"extension", Note, "The record is no part of RFC 9309. Some crawlers read it."},
	{"foreign-sitemap", Note, "The sitemap is on another site."},
	{"ignored-ending", Note, "A version or a * behind the name of a crawler is ignored."},
	{"koster1996", Note, "The draft of 1996 knows no * in a rule, and the first rule that matches decides."},
	{"not-checked", Note, "There are too many rules to check them all."},
	{"redundant", Note, "The group decides the same without the rule."},
}

// levels maps the name of a check to its level.
var levels = func() map[string]Level {
	all := map[string]Level{}
	for _, c := range checks {
		all[c.name] = c.level
	}
	return all
}()

// Options says what is checked.
type Options struct {
	Profiles []*policy.Profile // one or more readings of the file
	Site     string            // host of the site; "" checks no sitemap for its site
	Token    string            // checks only the groups that this crawler obeys; "" checks all
	Cut      bool              // the file is longer than the text
}

// Run checks a text and returns the remarks in the order of the lines. If there are several
// profiles, a remark says which of them it is about, and remarks are added where they decide
// differently. A file that is no text gets one remark.
func Run(text []byte, o *Options) []Remark {
	if kind := NotText(string(text)); kind != "" {
		line := strings.TrimLeft(string(text[:min(len(text), 1<<10)]), mark)
		line, _, _ = strings.Cut(line, "\n")
		return []Remark{newRemark(1, line, "not-text", kind)}
	}
	type key struct {
		line          int
		check, remark string
	}
	var all []Remark
	found := map[key]int{}
	var files []*matcher.File
	for _, p := range o.Profiles {
		f := matcher.Parse(cases.Cut(text, p.Limit), p.Dialect)
		files = append(files, f)
		for _, r := range checkFile(f, p, o) {
			k := key{r.Line, r.Check, r.Remark}
			i, ok := found[k]
			if !ok {
				i = len(all)
				found[k] = i
				all = append(all, r)
			}
			if n := len(all[i].Profiles); n == 0 || all[i].Profiles[n-1] != p.Name {
				all[i].Profiles = append(all[i].Profiles, p.Name)
			}
		}
	}
	odd := &oddLines{on: len(o.Profiles) > 2, lines: map[int]bool{}}
	all = slices.DeleteFunc(all, func(r Remark) bool { return odd.add(r.Line, r.Profiles) })
	for i := range all {
		r := &all[i]
		if len(r.Profiles) == len(o.Profiles) || odd.add(r.Line, o.without(r.Profiles)) {
			r.Profiles = nil
			continue
		}
		r.about = o.words(r.Profiles)
		if r.Level == Error {
			r.Level = Warning
		}
	}
	all = append(all, splits(files, o, odd)...)
	all = append(all, odd.remark(files[0])...)
	slices.SortStableFunc(all, func(a, b Remark) int { return cmp.Compare(a.Line, b.Line) })
	return all
}

// oldest is the profile that differs most from the others.
const oldest = "koster1996"

// oddLines are lines that the oldest profile alone reads in another way than the others. They
// get one remark.
type oddLines struct {
	on    bool // there are more than two profiles
	lines map[int]bool
}

// add adds a line if the profiles that differ are the oldest alone, and reports whether it did.
func (l *oddLines) add(line int, differ []string) bool {
	if !l.on || len(differ) != 1 || differ[0] != oldest {
		return false
	}
	l.lines[line] = true
	return true
}

// remark returns one remark for all of the lines, if there are any.
func (l *oddLines) remark(f *matcher.File) []Remark {
	for n, line := range f.Lines() {
		if l.lines[n] {
			return []Remark{newRemark(n, line, oldest, fmt.Sprintf("from here on, %s reads %s differently: --profile %[1]s shows them", oldest,
				display.Count(len(l.lines), "line", "lines")))}
		}
	}
	return nil
}

// words returns the names of some profiles, or of those that are missing if these are fewer.
func (o *Options) words(names []string) string {
	if 2*len(names) <= len(o.Profiles) {
		return strings.Join(names, ", ")
	}
	return "all but " + strings.Join(o.without(names), ", ")
}

// without returns the names of the other profiles.
func (o *Options) without(names []string) (others []string) {
	for _, p := range o.Profiles {
		if !slices.Contains(names, p.Name) {
			others = append(others, p.Name)
		}
	}
	return others
}

// reading is a file while it is checked for one profile.
type reading struct {
	*Options
	file    *matcher.File
	dialect matcher.Dialect
	lines   map[int]string
	last    int // number of the last line
	remarks []Remark
}

func checkFile(f *matcher.File, p *policy.Profile, o *Options) []Remark {
	r := &reading{Options: o, file: f, dialect: p.Dialect, lines: map[int]string{}}
	for n, line := range f.Lines() {
		r.lines[n], r.last = line, n
	}
	r.checkSkipped()
	r.checkAgents()
	r.checkDelays()
	r.checkSitemaps()
	rules := r.checkRules()
	r.checkGroups(rules)
	if r.Token != "" {
		r.keepObeyed(rules)
	}
	if r.Cut && r.last > 0 {
		r.add(r.last, "past-limit", "the file is longer than %d bytes: crawlers may read nothing after this line", p.Limit)
	}
	return r.remarks
}

// longText is the longest text in a remark, in bytes.
const longText = 200

// add adds a remark, whose text is made clean.
func (r *reading) add(line int, check, format string, args ...any) {
	r.remarks = append(r.remarks, newRemark(line, r.lines[line], check, fmt.Sprintf(format, args...)))
}

func newRemark(line int, text, check, remark string) Remark {
	return Remark{Line: line, Text: clean.Text(text, 1<<10), Remark: clean.Text(remark, 600), Level: levels[check], Check: check}
}
