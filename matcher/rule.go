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
	begin   int32 // where the pattern begins in the text of the rules; it ends where the next one begins
	line    int32 // number of the line, from 1
	allow   bool  // an allow line
	query   bool  // the pattern has a "?"
	starred bool  // the literal has a "*" that stands for any bytes
	ending  uint8 // what follows the literal in the pattern
}

// What follows the literal in a pattern. Stars there count in the length of the pattern
// and mean nothing.
const (
	noEnding uint8 = iota
	anchor         // a "$": the match ends at the end of the target
	stars
	anchorAndStars
)

// anchored reports whether the match ends at the end of the target.
func (r *rule) anchored() bool { return r.ending == anchor || r.ending == anchorAndStars }

// hasStars reports whether the pattern has a "*" that is no literal.
func (r *rule) hasStars() bool { return r.starred || r.ending >= stars }

// rules are the rules of a group.
type rules struct {
	text     string   // the patterns in normal form, one after another
	list     []rule   // in the order of the file, or sorted
	inOrder  bool     // the first rule that matches decides, not the longest
	sorted   bool     // list[:plain] is sorted by head
	shortest int32    // length of the shortest literal of list[:plain]
	plain    int32    // number of rules without stars, if sorted
	tries    [2]*trie // of the rules in list[plain:] without and with a query; nil for few rules
}

// pattern returns the pattern of a rule.
func (s *rules) pattern(i int) string {
	if i+1 < len(s.list) {
		return s.text[s.list[i].begin:s.list[i+1].begin]
	}
	return s.text[s.list[i].begin:]
}

// length returns the length of the pattern of a rule; -1 for the number -1, no rule.
func (s *rules) length(i int) int32 {
	if i < 0 {
		return -1
	}
	return int32(len(s.pattern(i)))
}

// literal returns the pattern of a rule without its ending.
func (s *rules) literal(i int) string {
	p := s.pattern(i)
	switch ending := s.list[i].ending; {
	case ending >= stars:
		p = strings.TrimRight(p, "*")
		if ending == anchorAndStars {
			p = p[:len(p)-1]
		}
	case ending == anchor:
		p = p[:len(p)-1]
	}
	return p
}

// outranks reports whether rule i decides if the rules i and j match: it has the
// longer pattern, "*" and "$" counted; or both are equally long and only i allows; or
// neither differs and i comes first in the file. With inOrder only the last counts.
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
		return matchStars(p, t, r.anchored())
	}
	return beginsWith(t, p) && !(r.anchored() && len(p) < len(t))
}

// beginsWith reports whether t begins with p. The last byte is compared first since
// many patterns begin alike.
func beginsWith(t, p string) bool {
	n := len(p) - 1
	return n < len(t) && (n < 0 || t[n] == p[n] && t[:n] == p[:n])
}

// The rules that are tried: rules with a query may see another target than the others,
// which fold returns.
const (
	allRules = iota
	rulesWithoutQuery
	rulesWithQuery
)

// best returns the number of the rule that decides on a target among the rules that
// which selects, or -1.
func (s *rules) best(t string, which int) int {
	if s.sorted {
		return s.bestSorted(t, which)
	}
	return s.tryAll(0, t, which, -1)
}

// tryAll tries the rules from number from on, and returns the number of the one that
// decides, of those that match and the rule best, which can be -1. Most rules that do
// not match are excluded by comparing one byte: real files take half the time.
func (s *rules) tryAll(from int, t string, which, best int) int {
	hasQuery, end := strings.Contains(t, "?"), len(s.text)
	for i := len(s.list) - 1; i >= from; i-- {
		r := &s.list[i]
		p := s.text[r.begin:end]
		end = int(r.begin)
		switch {
		case r.query && !hasQuery:
			continue
		case !r.starred && r.ending == noEnding:
			if !beginsWith(t, p) {
				continue
			}
		case r.ending == anchor && p[len(p)-2] != t[len(t)-1]:
			continue
		case len(p) > 1 && len(t) > 1 && p[1] != t[1] && p[0] != '*' && p[1] != '*' && p[1] != '$':
			continue
		}
		best = s.better(best, i, t, which)
	}
	return best
}

// better returns i if which selects rule i, and it matches t and outranks best.
// Otherwise it returns best.
func (s *rules) better(best, i int, t string, which int) int {
	if s.matches(i, t) && (which == allRules || s.list[i].query == (which == rulesWithQuery)) {
		return s.higher(int32(i), best)
	}
	return best
}

// higher returns the number of the rule that outranks the other. Either can be -1.
func (s *rules) higher(i int32, best int) int {
	if best < 0 || i >= 0 && s.outranks(int(i), best) {
		return int(i)
	}
	return best
}
