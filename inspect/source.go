package inspect

import (
	"strconv"
	"strings"

	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

// A line is a line of a robots.txt that is neither blank nor a comment.
type line struct {
	Number  int    `json:"line"`
	Text    string `json:"text"`
	Obeyed  bool   `json:"obeyed"`  // the line belongs to the group that the crawler obeys
	Decides bool   `json:"decides"` // the line is the deciding rule
	Agent   bool   `json:"agent"`   // the line is a user-agent line
	Remark  string `json:"remark,omitempty"`
}

// A source is a part of a robots.txt.
type source struct {
	Lines []line `json:"lines"`
	Rules int    `json:"rules"`          // number of rules in all groups
	Next  int    `json:"next,omitempty"` // first line that is not shown, 0 if none
}

// robotsPath is the path of every robots.txt.
const robotsPath = "/robots.txt"

// copyFile returns a copy of a file in memory, or nil for nil. The copy compiles groups of
// its own, so that a page about another crawler leaves the memory as it is.
func copyFile(f *matcher.File) *matcher.File {
	if f == nil {
		return nil
	}
	return matcher.Parse([]byte(f.Text()), f.Dialect())
}

// shownLines is how many lines are shown on one page.
const shownLines = 500

// readLines returns up to shownLines lines, beginning with the line first. It skips
// blank lines and comments, and marks the lines of g, which may be nil.
func readLines(f *matcher.File, g *matcher.Group, first int) *source {
	s := &source{Rules: f.CountRules()}
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
	s.annotate(f, g)
	return s
}

// annotate sets the marks and remarks of the lines.
func (s *source) annotate(f *matcher.File, g *matcher.Group) {
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

// explainedDecision is a Decision with a link to the line of robots.txt that decided.
type explainedDecision struct {
	Decision policy.Decision
	Line     string
}

// explained links a decision of the crawler as, "" for this one, to its line. The page
// shows shownLines lines, so the link to a later line names the line to begin with.
func explained(d policy.Decision, as string) explainedDecision {
	n := d.Match.Rule.Line
	first := 0
	if n > shownLines {
		first = n - 10
	}
	at := linesLink(strings.TrimSuffix(d.Robots, robotsPath), as, first)
	return explainedDecision{d, at + "#L" + strconv.Itoa(n)}
}

// linesAround returns the deciding line and a few lines before and after it.
func linesAround(f *matcher.File, g *matcher.Group, decides int) []line {
	const before, after = 3, 3
	s := readLines(f, g, max(decides-before, 1))
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

// groupByAgent returns the group of f with this user-agent value, or nil if no group
// applies.
func groupByAgent(f *matcher.File, agent string) *matcher.Group {
	if agent == "" {
		return nil
	}
	isLetter := func(c rune) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '-' || c == '_' }
	isDigit := func(c rune) bool { return '0' <= c && c <= '9' }
	// The dialect decides which part of the value is the product token: all of it,
	// the part before the first byte that a token cannot have, or the part before
	// the first digit.
	words := strings.TrimLeftFunc(agent, func(c rune) bool { return isLetter(c) || isDigit(c) })
	letters := strings.TrimLeftFunc(agent, isLetter)
	for _, rest := range []string{"", words, letters} {
		if g := f.Group(agent[:len(agent)-len(rest)]); g.Agent() == agent {
			return g
		}
	}
	return nil
}
