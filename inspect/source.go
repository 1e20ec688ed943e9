package inspect

import (
	"strings"

	"github.com/rfc9309/polite/matcher"
)

// A line is a line of a robots.txt that is neither blank nor a comment.
type line struct {
	Number  int    `json:"line"`
	Text    string `json:"text"`
	Obeyed  bool   `json:"obeyed"`  // a rule of the group that the crawler obeys
	Decides bool   `json:"decides"` // the rule that decided what was asked
	Agent   bool   `json:"agent"`   // a user-agent line
	Remark  string `json:"remark,omitempty"`
}

// A source is a part of a robots.txt.
type source struct {
	Lines []line `json:"lines"`
	Rules int    `json:"rules"`          // of all groups, that can match something
	Next  int    `json:"next,omitempty"` // the first line that is not shown
}

// shownLines is how many records are shown at once.
const shownLines = 500

// read returns up to shownLines lines from the line first on, with the rules of g,
// which may be nil, marked. Blank lines and comments are left out.
func read(f *matcher.File, g *matcher.Group, first int) *source {
	s := &source{Rules: f.Rules()}
	for number, l := range f.Lines() {
		l = strings.TrimSpace(l)
		if number < first || l == "" || l[0] == '#' {
			continue
		}
		if len(s.Lines) == shownLines {
			s.Next = number
			break
		}
		s.Lines = append(s.Lines, line{Number: number, Text: text(l)})
	}
	s.mark(f, g)
	return s
}

// mark adds to the lines what the file says of them.
func (s *source) mark(f *matcher.File, g *matcher.Group) {
	at := make(map[int]*line, len(s.Lines))
	for i := range s.Lines {
		at[s.Lines[i].Number] = &s.Lines[i]
	}
	for n, value := range f.Agents() {
		if l := at[n]; l != nil {
			l.Agent = true
			l.Obeyed = g != nil && strings.EqualFold(value, g.Agent())
		}
	}
	if g != nil {
		for r := range g.Rules() {
			if l := at[r.Line]; l != nil {
				l.Obeyed = true
			}
		}
	}
	for n, why := range f.Skipped() {
		if l := at[n]; l != nil {
			l.Remark = why
		}
	}
}

// around shows a ruling in its place: it returns a few lines before and after the deciding one, with it marked.
func around(f *matcher.File, g *matcher.Group, decides int) []line {
	const before, after = 3, 3
	s := read(f, g, max(decides-before, 1))
	var out []line
	for _, l := range s.Lines {
		if l.Number > decides+after {
			break
		}
		l.Decides = l.Number == decides
		out = append(out, l)
	}
	return out
}

// group is the group of f with this user-agent value, which begins with the
// product token that the group is looked up by; nil if no group applies.
func group(f *matcher.File, agent string) *matcher.Group {
	if agent == "" {
		return nil
	}
	isLetter := func(c rune) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '-' || c == '_' }
	isDigit := func(c rune) bool { return '0' <= c && c <= '9' }
	// Where the token ends depends on the dialect: nowhere, before the first
	// octet that no token has, or before the first digit as well.
	words := strings.TrimLeftFunc(agent, func(c rune) bool { return isLetter(c) || isDigit(c) })
	letters := strings.TrimLeftFunc(agent, isLetter)
	for _, rest := range []string{"", words, letters} {
		if g := f.Group(agent[:len(agent)-len(rest)]); g.Agent() == agent {
			return g
		}
	}
	return nil
}
