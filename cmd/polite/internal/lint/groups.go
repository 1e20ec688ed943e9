package lint

import (
	"strings"

	"github.com/rfc9309/polite/cmd/polite/internal/compare"
	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/internal/token"
)

// This file checks what a group means for the crawlers that it names.

// checkGroups looks for a group * that closes the whole site, for empty rules that open it, and
// for crawlers that may fetch everything because their own group has no rule. A group with an
// empty rule, such as "Disallow:", says so and is not reported as open. rules has the lines of
// the rules that can match something.
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
	lines := r.openGroups(r.ruleless(), rules)
	for n := 1; closed && n <= r.last; n++ { // otherwise the others may fetch everything, too
		if name := lines[n]; name != "" {
			r.add(n, "open-group", "%s obeys this group alone, and it has no rule: %s may fetch everything, although * has %s",
				name, name, display.Count(others, "rule", "rules"))
		}
	}
}

// openGroups says of the empty rules for crawlers in open, which have no other rule, that they
// allow everything. It returns the other crawlers in open, by the first user-agent line that
// names them.
func (r *reading) openGroups(open map[string]string, rules map[int]bool) map[int]string {
	agents, empty := r.agents(), r.emptyRules(rules)
	lines, declared, says := map[string]int{}, map[string]bool{"*": true}, map[int]bool{}
	var current []string // the crawlers of the current group
	inRules := false
	for n := 1; n <= r.last; n++ {
		if value, ok := agents[n]; ok {
			if inRules {
				current, inRules = nil, false
			}
			name := strings.ToLower(token.Prefix(value))
			if strings.HasPrefix(value, "*") {
				name = "*"
			}
			if current = append(current, name); lines[name] == 0 {
				lines[name] = n
			}
		}
		if isEmpty, ok := empty[n]; ok {
			if inRules = true; isEmpty {
				for _, name := range current {
					declared[name] = true
					says[n] = says[n] || open[name] != ""
				}
				current = nil
			}
		}
	}
	for i, m := range r.remarks {
		if m.Check == "empty-rule" && says[m.Line] {
			r.remarks[i].Remark = "allows everything: the group has no other rule"
		}
	}
	first := map[int]string{}
	for key, name := range open {
		if !declared[key] {
			first[lines[key]] = name
		}
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
		has := name != "*" && g.Agent() == "*"
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
