package lint

import (
	"strings"

	"github.com/rfc9309/polite/cmd/polite/internal/compare"
	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/internal/token"
)

// This file checks what a group means for the crawlers that it names.

// checkGroups looks for a group * that closes the whole site, and for crawlers that may fetch
// everything because their own group has no rule. A group with an empty rule, such as
// "Disallow:", says so and is left alone. rules has the lines of the rules that can match
// something.
func (r *reading) checkGroups(rules map[int]bool) {
	others, closed, allows, whole := 0, false, false, 0
	for rule := range r.file.Group("*").Rules() {
		others++
		closed, allows = closed || !rule.Allow, allows || rule.Allow
		if rule.Pattern == "/" && !rule.Allow && whole == 0 {
			whole = rule.Line
		}
	}
	if whole > 0 && !allows {
		r.add(whole, "closes-site", "closes the whole site to all crawlers that are not named")
	}
	if !closed {
		return // the crawlers that are not named may fetch everything, too
	}
	open := r.ruleless()
	if len(open) == 0 {
		return
	}
	lines := r.firstLines(open, rules)
	for n := 1; n <= r.last; n++ {
		if name := lines[n]; name != "" {
			r.add(n, "open-group", "%s obeys this group alone, and it has no rule: %s may fetch everything, although * has %s",
				name, name, display.Count(others, "rule", "rules"))
		}
	}
}

// firstLines returns the crawlers in open by the first user-agent line that names them. It
// omits those that an empty rule is for.
func (r *reading) firstLines(open map[string]string, rules map[int]bool) map[int]string {
	agents, empty := r.agents(), r.emptyRules(rules)
	lines := map[string]int{}
	var current []string // the crawlers of the current group
	inRules := false
	for n := 1; n <= r.last; n++ {
		if value, ok := agents[n]; ok {
			if inRules {
				current, inRules = nil, false
			}
			name := strings.ToLower(token.Prefix(value))
			if current = append(current, name); lines[name] == 0 {
				lines[name] = n
			}
		}
		if isEmpty, ok := empty[n]; ok {
			if inRules = true; isEmpty {
				for _, name := range current {
					delete(open, name)
				}
				current = nil
			}
		}
	}
	first := map[int]string{}
	for key, name := range open {
		first[lines[key]] = name
	}
	return first
}

// ruleless returns the crawlers with a group of their own that has no rule, by their names in
// lower case.
func (r *reading) ruleless() map[string]string {
	all := map[string]string{}
	tokens, _ := compare.Tokens(r.file)
	for _, name := range tokens {
		g := r.file.Group(name)
		has := name == "*" || g.Agent() == "*"
		for range g.Rules() {
			has = true
			break
		}
		if !has {
			all[strings.ToLower(name)] = name
		}
	}
	return all
}

// agents returns the values of the user-agent lines.
func (r *reading) agents() map[int]string {
	all := map[int]string{}
	for n, value := range r.file.Agents() {
		all[n] = value
	}
	return all
}

// emptyRules returns the lines of all rules, and whether their patterns are empty. rules has
// the lines of the rules that can match something.
func (r *reading) emptyRules(rules map[int]bool) map[int]bool {
	all := map[int]bool{}
	for n := range rules {
		all[n] = false
	}
	for _, m := range r.remarks {
		if m.Check == "never-matches" || m.Check == "empty-rule" {
			all[m.Line] = m.Check == "empty-rule"
		}
	}
	return all
}
