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

// A rule describes a pattern in normal form, which is compared with targets in normal form.
type rule struct {
	begin   int32 // where the pattern begins in the text of the rules; it ends where the next one begins
	line    int32 // number of the line, from 1
	allow   bool  // an allow line
	query   bool  // the pattern has a "?"
	starred bool  // the literal has a "*" that stands for any bytes
	ending  uint8 // what follows the literal in the pattern: anchor, stars or both, in this order
}

// What follows the literal in a pattern.
const (
	endAnchor = 1 << iota // a "$": the match ends at the end of the target
	endStars              // stars that only count in the length of the pattern
)

// anchored reports whether a match of r ends at the end of the target.
func (r *rule) anchored() bool { return r.ending&endAnchor != 0 }

// rules are the rules of a group. The number of a rule is its index in the list; -1 stands
// for no rule.
type rules struct {
	text    string // the patterns in normal form, one after another
	list    []rule // in the order of the file
	inOrder bool   // the first rule that matches decides, not the longest
}

// pattern returns the pattern of rule i.
func (s *rules) pattern(i int32) string {
	if int(i)+1 < len(s.list) {
		return s.text[s.list[i].begin:s.list[i+1].begin]
	}
	return s.text[s.list[i].begin:]
}

// literal returns the pattern of rule i without its ending.
func (s *rules) literal(i int32) string {
	p, r := s.pattern(i), &s.list[i]
	if r.ending&endStars != 0 {
		p = strings.TrimRight(p, "*")
	}
	if r.anchored() {
		p = p[:len(p)-1]
	}
	return p
}

// outranks reports whether rule i decides if the rules i and j both match. The rule with the
// longer pattern decides, "*" and "$" counted. Of two equally long ones it is the one that
// allows, and if both do, or neither does, the first in the file. With inOrder the first in
// the file always decides.
func (s *rules) outranks(i, j int32) bool {
	if i < 0 || j < 0 {
		return i >= 0
	}
	a, b := &s.list[i], &s.list[j]
	if m, n := len(s.pattern(i)), len(s.pattern(j)); m != n && !s.inOrder {
		return m > n
	}
	if a.allow != b.allow && !s.inOrder {
		return a.allow
	}
	return a.line < b.line
}

// best returns the number of the rule that decides on the target t, or -1. Rules with a "?"
// are compared with q, which is the target in their normal form. It can be "" if the target
// has no query.
func (s *rules) best(t, q string) int32 {
	best, end := int32(-1), len(s.text)
	for i := int32(len(s.list)) - 1; i >= 0; i-- {
		r, see := &s.list[i], t
		if r.query {
			see = q
		}
		p := s.text[r.begin:end]
		end = int(r.begin)
		if r.mayMatch(p, see) && s.matches(i, see) && s.outranks(i, best) {
			best = i
		}
	}
	return best
}

// mayMatch compares one byte of the pattern p of r with t. It reports false for most targets
// that r does not match. If it reports true, r may match or not. Nearly all patterns begin with
// "/", and many with the same folder, so of a literal it is the last byte, and of another pattern
// the second one.
func (r *rule) mayMatch(p, t string) bool {
	switch last := len(p) - 1; {
	case !r.starred && r.ending == 0:
		return last < len(t) && p[last] == t[last]
	case last > 0 && p[0] != '*' && p[1] != '*' && p[1] != '$':
		return len(t) > 1 && p[1] == t[1]
	}
	return true
}

// matches reports whether rule i matches a target in normal form.
func (s *rules) matches(i int32, t string) bool {
	p, r := s.literal(i), &s.list[i]
	if r.starred {
		return matchStars(p, t, r.anchored())
	}
	return strings.HasPrefix(t, p) && (!r.anchored() || len(p) == len(t))
}
