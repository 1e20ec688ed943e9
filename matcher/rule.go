package matcher

import (
	"slices"
	"strings"
)

// This file orders the rules of a group and tries them: RFC 9309, section 2.2.2.

// A Match is the verdict of a file on one target.
type Match struct {
	Allowed bool
	Agent   string // user-agent value of the group obeyed, "*" for the default group, "" if no group applies
	Rule    Rule   // the deciding rule; Rule.Line is 0 if none matched
}

// A Rule is an allow or disallow line of the file.
type Rule struct {
	Line    int    // number of the line, from 1
	Allow   bool   // an allow line
	Pattern string // as written
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
func (d *Dialect) setPattern(r *rule, pattern string, properties uint16) {
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

// rank returns rules, which are in the order of the file, so that the first one
// that matches decides: the longest, "*" and "$" counted, of equally long ones an
// allow rule, of equal ones the first in the file. In dialects that go by the
// order of the file, they stay in that order.
func (d *Dialect) rank(list []rule) []rule {
	var buf [64]uint64
	keys := buf[:0] // to be sorted in place of the rules, which takes half the time
	for i := range list {
		r, length := &list[i], uint32(0)
		if !d.inOrder {
			length = 2 * uint32(len(r.pattern))
		}
		if !d.inOrder && r.allow {
			length++
		}
		keys = append(keys, uint64(^length)<<32|uint64(i))
	}
	slices.Sort(keys)
	ranked := make([]rule, len(list))
	for i, k := range keys {
		ranked[i] = list[uint32(k)]
	}
	return ranked
}
