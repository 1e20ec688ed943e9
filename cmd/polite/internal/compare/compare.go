// Package compare says how two robots.txt files differ: the rules of each group, and the
// verdicts on targets.
package compare

import (
	"slices"
	"strings"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/token"
	"github.com/rfc9309/polite/matcher"
)

// A Change is what differs for one crawler.
type Change struct {
	Token   string `json:"token"`          // a product token, or * for crawlers that no group names
	Own     Own    `json:"own,omitempty"`  // whether the crawler's own group is new or gone
	Site    string `json:"site,omitempty"` // "closed" or "open" if that is new for the path /
	Removed []Rule `json:"removed,omitempty"`
	Added   []Rule `json:"added,omitempty"`
	Turned  []Turn `json:"turned,omitempty"`
	More    int    `json:"more,omitempty"` // rules and verdicts that also differ
}

// Own says whether a crawler has a group of its own in one of the files only.
type Own string

const (
	OwnNew  Own = "new"  // the old file has none
	OwnGone Own = "gone" // the new file has none
)

// A Rule is a rule of one of the files.
type Rule struct {
	Line int    `json:"line"`
	Rule string `json:"rule"` // "Disallow: /private"
}

// A Turn is a target whose verdict differs.
type Turn struct {
	Target  string `json:"target"`
	Allowed bool   `json:"allowed"`        // by the new file
	Rule    *Rule  `json:"rule,omitempty"` // of the new file, if one decides
}

const (
	maxTurned   = 100  // targets that a Change lists
	maxRules    = 1000 // rules of each file that a Change lists
	maxCrawlers = 200  // crawlers of each file that are compared
	maxTargets  = 2000 // targets that are made of the rules for a crawler
)

// Files compares two files for each crawler that one of them names, and for all others.
// With a token it compares for that crawler only. Without targets it tries those that the crawler's rules in the two files are made for, up
// to a bound. Skipped is how many crawlers are not compared, because a file names too many:
// the rules of a group count again for each crawler that it names.
func Files(old, now *matcher.File, token string, targets []string) (all []Change, skipped int) {
	names := []string{token}
	if token == "" {
		names, skipped = Tokens(old, now)
	}
	for _, name := range names {
		c := Change{Token: name}
		was, is := old.Group(name), now.Group(name)
		c.summarize(was, is)
		c.Removed = c.lacking(was, is)
		c.Added = c.lacking(is, was)
		try := targets
		if len(try) == 0 {
			try = Targets(was, is)
		}
		for _, target := range try {
			m := is.Match(target)
			switch {
			case m.Allowed == was.Match(target).Allowed:
			case len(c.Turned) >= maxTurned:
				c.More++
			default:
				c.Turned = append(c.Turned, turn(target, m))
			}
		}
		if len(c.Removed)+len(c.Added)+len(c.Turned) > 0 {
			all = append(all, c)
		}
	}
	return all, skipped
}

// summarize says what changes for the crawler on the whole.
func (c *Change) summarize(was, is *matcher.Group) {
	had, has := named(was), named(is)
	switch {
	case c.Token == "*":
	case has && !had:
		c.Own = OwnNew
	case had && !has:
		c.Own = OwnGone
	}
	switch allowed := is.Match("/").Allowed; {
	case allowed == was.Match("/").Allowed:
	case allowed:
		c.Site = "open"
	default:
		c.Site = "closed"
	}
}

// named reports whether a group is for named crawlers.
func named(g *matcher.Group) bool { return g.Agent() != "" && g.Agent() != "*" }

// Tokens returns the product tokens that a file names, each once, and * first. Skipped is
// how many more there are.
func Tokens(files ...*matcher.File) (all []string, skipped int) {
	all, seen := []string{"*"}, map[string]bool{"*": true}
	for _, f := range files {
		named := map[string]bool{}
		for _, agent := range f.Agents() {
			key := strings.ToLower(token.Prefix(agent))
			if named[key] {
				continue
			}
			if named[key] = true; len(named) > maxCrawlers {
				skipped++
				continue
			}
			// A group counts under the name by which it is looked up.
			name := token.Prefix(f.Group(token.Prefix(agent)).Agent())
			if key := strings.ToLower(name); key != "" && !seen[key] {
				seen[key] = true
				all = append(all, name)
			}
		}
	}
	return all, skipped
}

// lacking returns the rules of a group that another one does not have, up to maxRules, and
// counts the rest.
func (c *Change) lacking(g, other *matcher.Group) []Rule {
	type key struct {
		allow   bool
		pattern string
	}
	has := map[key]bool{}
	for r := range other.Rules() {
		has[key{r.Allow, r.Pattern}] = true
	}
	var all []Rule
	for r := range g.Rules() {
		if k := (key{r.Allow, r.Pattern}); !has[k] {
			has[k] = true // a rule that is repeated is listed once
			if len(all) < maxRules {
				all = append(all, Rule{r.Line, text(r)})
			} else {
				c.More++
			}
		}
	}
	return all
}

// text returns a rule as a line that may be shown.
func text(r matcher.Rule) string {
	kind := "Disallow: "
	if r.Allow {
		kind = "Allow: "
	}
	return clean.Text(kind+r.Pattern, longText)
}

// longText is the longest text that is shown, in bytes.
const longText = 600

func turn(target string, m matcher.Match) Turn {
	t := Turn{Target: display.URL(target, longText), Allowed: m.Allowed}
	if m.Rule.Line > 0 {
		t.Rule = &Rule{m.Rule.Line, text(m.Rule)}
	}
	return t
}

// Targets returns targets that the rules of some groups match, and one below each.
func Targets(groups ...*matcher.Group) []string {
	all := []string{"/"}
	for _, g := range groups {
		for r := range g.Rules() {
			p := strings.ReplaceAll(strings.TrimSuffix(r.Pattern, "$"), "*", "x")
			if !strings.HasPrefix(p, "/") {
				p = "/" + p
			}
			if len(all) < maxTargets {
				all = append(all, p, p+"x")
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
