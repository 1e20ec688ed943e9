package matcher

import "strings"

// This file orders the rules of a group and tries them: RFC 9309, section 2.2.2.

// A Match is the verdict of a file on one target.
type Match struct {
	Allowed bool   `json:"allowed"`
	Agent   string `json:"agent"` // user-agent value of the group obeyed, "*" for the default group, "" if no group applies
	Rule    Rule   `json:"rule"`  // the deciding rule; Rule.Line is 0 if none matched
}

// A Rule is an allow or disallow line of the file.
type Rule struct {
	Line    int    `json:"line"`    // number of the line, from 1
	Allow   bool   `json:"allow"`   // an allow line
	Pattern string `json:"pattern"` // as written
}

// A rule is ready to be compared with targets in normal form.
type rule struct {
	begin    int32 // where the pattern begins in the text of the rules; it ends where the next one begins
	line     int32 // number of the line, from 1
	allow    bool  // an allow line
	anchored bool  // the match ends at the end of the target
	starred  bool  // the literal has a "*" that stands for any bytes
	padded   bool  // the pattern ends in stars, which count in its length and mean nothing
}

// rules are the rules of a group.
type rules struct {
	text     string // the patterns in normal form, one after another
	list     []rule // in the order of the file, or sorted
	inOrder  bool   // the first rule that matches decides, not the longest
	sorted   bool   // list[:plain] is sorted by head
	shortest int32  // length of the shortest literal of list[:plain]
	plain    int32  // number of rules outside the trie, if sorted
	trie     *trie  // of list[plain:], or nil
}

// pattern returns the pattern of a rule.
func (s *rules) pattern(i int) string {
	if i+1 < len(s.list) {
		return s.text[s.list[i].begin:s.list[i+1].begin]
	}
	return s.text[s.list[i].begin:]
}

// literal returns the pattern of a rule without its anchor and the stars at its end.
func (s *rules) literal(i int) string {
	if r := &s.list[i]; r.anchored || r.padded {
		return s.trimmed(i)
	}
	return s.pattern(i)
}

// trimmed is literal for a pattern that has an anchor or stars at its end.
func (s *rules) trimmed(i int) string {
	p := s.pattern(i)
	if s.list[i].padded {
		p = strings.TrimRight(p, "*")
	}
	if s.list[i].anchored {
		p = p[:len(p)-1]
	}
	return p
}

// head returns what a rule's literal has before the first star.
func (s *rules) head(i int) string {
	if s.list[i].starred {
		return until(s.literal(i), '*')
	}
	return s.literal(i)
}

// outranks reports whether rule i decides if the rules i and j match: it has the
// longer pattern, "*" and "$" counted; or a pattern of that length and allows,
// which j does not; or is alike in both and comes first in the file.
func (s *rules) outranks(i, j int) bool {
	a, b := &s.list[i], &s.list[j]
	if m, n := len(s.pattern(i)), len(s.pattern(j)); m != n && !s.inOrder {
		return m > n
	}
	if a.allow != b.allow && !s.inOrder {
		return a.allow
	}
	return a.line < b.line
}

// matches reports whether a rule matches a target in normal form.
func (s *rules) matches(i int, t string) bool {
	p, r := s.literal(i), &s.list[i]
	if r.starred {
		return matchStars(p, t, r.anchored)
	}
	return beginsWith(t, p) && !(r.anchored && len(p) < len(t))
}

// beginsWith reports whether t begins with p. The last byte is compared first since
// many patterns begin alike.
func beginsWith(t, p string) bool {
	n := len(p) - 1
	return n < len(t) && (n < 0 || t[n] == p[n] && t[:n] == p[:n])
}

// A target can be one thing for rules with a query and another for the other rules.
const (
	allRules = iota
	rulesWithoutQuery
	rulesWithQuery
)

// hasQuery reports whether the pattern of a rule has a query.
func (s *rules) hasQuery(i int) bool { return strings.Contains(s.pattern(i), "?") }

// best returns the number of the rule that decides on a target, or -1.
func (s *rules) best(t string, which int) int {
	if s.sorted {
		return s.find(t, which)
	}
	best, end := -1, len(s.text)
	for i := len(s.list) - 1; i >= 0; i-- {
		r := &s.list[i]
		p := s.text[r.begin:end]
		end = int(r.begin)
		if r.starred || r.padded || r.anchored || beginsWith(t, p) {
			best = s.better(best, i, t, which)
		}
	}
	return best
}

// better returns i if that rule matches and decides, or else best.
func (s *rules) better(best, i int, t string, which int) int {
	if s.matches(i, t) && s.outranksIn(i, best, which) {
		return i
	}
	return best
}

// outranksIn reports whether rule i is one of which and outranks best, which can be
// -1.
func (s *rules) outranksIn(i, best, which int) bool {
	return (best < 0 || s.outranks(i, best)) && (which == allRules || s.hasQuery(i) == (which == rulesWithQuery))
}
