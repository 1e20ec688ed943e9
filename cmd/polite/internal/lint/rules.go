package lint

import (
	"fmt"
	"strings"

	"github.com/rfc9309/polite/cmd/polite/internal/compare"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/matcher"
)

// This file looks for rules that make no difference.
//
// A rule never decides if one other rule matches all that it matches and is stronger. To
// find that out, each * of its pattern is replaced by a byte that is in no pattern, and
// this byte is added at the end unless there is a $. If another rule decides on this target,
// then no part of its pattern needs that byte, so it also matches whatever else may stand
// there. It takes one match for each rule.

// maxRules is how many rules are checked, which takes up to two seconds. A rule counts once
// for each crawler that obeys it.
const maxRules = 50_000

// verdict is what was found out about a rule. A rule that several crawlers obey is useless
// only if it is useless for each.
type verdict struct {
	rule    matcher.Rule
	obeyed  int          // number of crawlers
	useless int          // number of crawlers for which it makes no difference
	check   string       // why, for the first of these crawlers
	other   matcher.Rule // the rule that makes it useless, if there is one
}

// remarks are the texts of the checks on rules. The arguments are the line and the text of
// the other rule.
var remarks = map[string]string{
	"redundant":     "changes nothing: line %d %s does the same for all that it matches",
	"duplicate":     "the same as line %d %s",
	"never-decides": "line %d %s decides on all that this rule matches",
}

// checkRules checks the rules of all groups and returns the lines of all rules.
func (r *reading) checkRules() map[int]bool {
	filler := r.filler()
	lines, found := map[int]bool{}, map[int]*verdict{}
	var order []*verdict
	tokens, skipped := compare.Tokens(r.file)
	n := 0
	for _, token := range tokens {
		if n > maxRules {
			break
		}
		g := r.file.Group(token)
		plain := r.newPlain(g)
		for rule := range g.Rules() {
			lines[rule.Line] = true
			v := found[rule.Line]
			if v == nil {
				v = &verdict{rule: rule}
				found[rule.Line] = v
				order = append(order, v)
			}
			n++
			v.obeyed++
			if n > maxRules || filler == "" {
				continue
			}
			if check, other := r.compareRule(g, plain, rule, filler); check != "" {
				v.useless++
				if v.check == "" {
					v.check, v.other = check, other
				}
			}
		}
	}
	for _, v := range order {
		switch {
		case v.useless == 0 || v.useless < v.obeyed:
		case v.check == "never-matches":
			r.add(v.rule.Line, v.check, "rule that can never decide: robots.txt itself may always be read")
		default:
			r.add(v.rule.Line, v.check, remarks[v.check], v.other.Line, clean.Quote(line(v.other), longText))
		}
		r.checkPattern(v.rule)
	}
	if skipped > 0 || n > maxRules || filler == "" {
		r.add(max(r.last, 1), "not-checked", "there are too many rules or crawlers: not every rule was compared with the others")
	}
	return lines
}

// filler returns a character that no line of the file contains, neither as it is nor as a
// triplet; "" if there is none.
func (r *reading) filler() string {
	text := r.file.Text()
	upper := strings.ToUpper(text)
	for _, c := range "~!'();@,+QZXJVKWYHGUPBFMLDCRSNIOATEqzxjvkwyhgupbfmldcrsnioate9876543210_" {
		if !strings.ContainsRune(text, c) && !strings.Contains(upper, fmt.Sprintf("%%%02X", c)) {
			return string(c)
		}
	}
	return ""
}

// ordered reports whether the first rule that matches decides, and * is a byte like others.
func (r *reading) ordered() bool { return r.dialect == matcher.Koster1996() }

// target returns a target that only a rule can match that matches all that a pattern matches.
func (r *reading) target(pattern, filler string) string {
	open := r.ordered() || !strings.HasSuffix(pattern, "$")
	if !r.ordered() {
		pattern = strings.ReplaceAll(strings.TrimSuffix(pattern, "$"), "*", filler)
	}
	if !strings.HasPrefix(pattern, "/") {
		pattern = "/" + pattern
	}
	if open {
		pattern += filler
	}
	var b strings.Builder
	for i := range len(pattern) {
		if c := pattern[i]; c <= ' ' || c >= 0x7F {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// compareRule returns the check that says why a rule makes no difference, and the rule that
// makes it useless. The check is "" if the rule makes a difference.
func (r *reading) compareRule(g *matcher.Group, plain *plainRules, rule matcher.Rule, filler string) (check string, other matcher.Rule) {
	target := r.target(rule.Pattern, filler)
	m := g.Match(target)
	switch winner := m.Rule; {
	case winner.Line == rule.Line:
		if other, ok := plain.cover(rule); ok {
			return "redundant", other
		}
	case winner.Line == 0 && target == "/robots.txt":
		return "never-matches", winner
	case winner.Line == 0 || !r.alone(rule, target):
		// the target is not one that the rule matches
	case winner.Allow == rule.Allow && r.alone(winner, target) && r.alone(rule, r.target(winner.Pattern, filler)):
		return "duplicate", winner
	case winner.Allow == rule.Allow:
		return "redundant", winner
	default:
		return "never-decides", winner
	}
	return "", matcher.Rule{}
}

// alone reports whether a rule matches a target if it is the only rule.
func (r *reading) alone(rule matcher.Rule, target string) bool {
	f := matcher.Parse([]byte("User-agent: *\n"+line(rule)+"\n"), r.dialect)
	return f.Match("*", target).Rule.Line > 0
}

// line returns a rule as it is written in a file.
func line(r matcher.Rule) string {
	if r.Allow {
		return "Allow: " + r.Pattern
	}
	return "Disallow: " + r.Pattern
}

// plainRules are the rules of a group whose patterns are plain paths.
type plainRules struct {
	by    map[string]matcher.Rule // by pattern, the stronger one
	ties  map[string]bool         // patterns that are allowed and disallowed
	heads []matcher.Rule          // rules with * or $, their patterns cut off there
}

// maxHeads is the largest number of rules with * or $ in a group whose redundant rules are
// looked for.
const maxHeads = 1000

// newPlain returns the plain rules of a group; nil if no redundant rules can be found.
func (r *reading) newPlain(g *matcher.Group) *plainRules {
	if r.ordered() {
		return nil
	}
	p := &plainRules{by: map[string]matcher.Rule{}, ties: map[string]bool{}}
	for rule := range g.Rules() {
		if i := strings.IndexAny(rule.Pattern, "*$%"); i >= 0 {
			rule.Pattern = rule.Pattern[:i]
			if p.heads = append(p.heads, rule); len(p.heads) > maxHeads {
				return nil
			}
			continue
		}
		have, ok := p.by[rule.Pattern]
		if ok && have.Allow != rule.Allow {
			p.ties[rule.Pattern] = true
		}
		if !ok || rule.Allow && !have.Allow {
			p.by[rule.Pattern] = rule
		}
	}
	return p
}

// cover returns the plain rule that decides the same as a plain rule wherever that one
// decides. A rule with * or $ that may decide otherwise in between is taken to do so.
func (p *plainRules) cover(rule matcher.Rule) (matcher.Rule, bool) {
	if p == nil || p.by[rule.Pattern].Line != rule.Line || p.ties[rule.Pattern] {
		return matcher.Rule{}, false
	}
	for _, h := range p.heads {
		if h.Allow != rule.Allow && (strings.HasPrefix(h.Pattern, rule.Pattern) || strings.HasPrefix(rule.Pattern, h.Pattern)) {
			return matcher.Rule{}, false
		}
	}
	for n := len(rule.Pattern) - 1; n > 0; n-- {
		if other, ok := p.by[rule.Pattern[:n]]; ok {
			return other, other.Allow == rule.Allow
		}
	}
	return matcher.Rule{}, false
}
