package matcher

import (
	"slices"
	"strings"
)

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
	pattern  string // in normal form
	line     int32  // number of the line, from 1
	allow    bool   // an allow line
	anchored bool   // the pattern ends in a "$" that stands for the end of the target
	starred  bool   // the pattern has a "*" that stands for any bytes
	query    bool   // the pattern has a "?", and "/" and "?" are one with their triplets after it
}

// setPattern gives r a pattern in normal form, all bytes of which have the
// properties.
func (d *Dialect) setPattern(r *rule, pattern string, properties uint8) {
	r.pattern = pattern
	r.query = d.form == rfcForm && properties&notQuery == 0
	r.anchored = !d.literal && strings.HasSuffix(pattern, "$")
	r.starred = !d.literal && properties&notStar == 0
}

// matches reports whether the rule matches a target in normal form.
func (r *rule) matches(t string) bool {
	p := r.literal()
	if r.starred {
		return matchStars(p, t, r.anchored)
	}
	// The last byte is compared first since many patterns begin alike.
	return len(p) <= len(t) && t[len(p)-1] == p[len(p)-1] && t[:len(p)] == p && !(r.anchored && len(p) < len(t))
}

// literal returns the pattern without its anchor.
func (r *rule) literal() string {
	if r.anchored {
		return r.pattern[:len(r.pattern)-1]
	}
	return r.pattern
}

// weight is larger for a rule that goes first: the longer pattern, "*" and "$"
// counted, of equally long ones that of an allow rule.
func (r *rule) weight() int {
	if r.allow {
		return 2*len(r.pattern) + 1
	}
	return 2 * len(r.pattern)
}

// rank returns rules, which are in the order of the file, so that the first one
// that matches decides: by weight, and of one weight in the order of the file. In
// dialects that go by the order of the file, they stay in that order.
func (d *Dialect) rank(list []rule) []rule {
	most := 0
	for i := range list {
		most = max(most, list[i].weight())
	}
	if d.inOrder {
		return slices.Clone(list)
	}
	if most > 256+8*len(list) { // a few very long patterns
		slices.SortStableFunc(list, func(a, b rule) int { return b.weight() - a.weight() })
		return slices.Clone(list)
	}
	ranked := make([]rule, len(list))
	// Counting sort: place[most-w] is where the next rule of weight w goes.
	var buf [256]int32
	place := buf[:]
	if most+2 > len(place) {
		place = make([]int32, most+2)
	}
	for i := range list {
		place[most-list[i].weight()+1]++
	}
	for i := range most {
		place[i+1] += place[i]
	}
	for i := range list {
		at := &place[most-list[i].weight()]
		ranked[*at] = list[i]
		*at++
	}
	return ranked
}
