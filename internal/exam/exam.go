// Package exam tests any crawler from outside. It serves a site for each case, lets the
// crawler visit the sites, and judges by the requests that arrived.
//
// A case is data: a robots.txt, the paths that the crawler must not request, and the paths
// that it must be able to request. The few cases that need more have a function for their
// sites, or for the verdict. The sentences of RFC 9309 come from package conformance.
//
// The verdict of a case rests on requests that were made. A path that is disallowed and
// requested is a failure. A path that is not requested tells something only if the
// crawler requested the two pages that are linked before and after it. Otherwise the case
// was not exercised. So a crawler that requests nothing passes nothing.
package exam

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rfc9309/polite/internal/conformance"
)

// A Case is one question to the crawler.
type Case struct {
	Name  string `json:"name"`  // clause and name: "2.2.1/own_group"; the clause of a house rule is "house"
	Level string `json:"level"` // "MUST", "SHOULD", "MAY", "text" for a plain statement of the RFC, or "house"
	Site  string `json:"site"`  // what the site does
	Text  string `json:"text"`  // sentence of RFC 9309, or the house rule
	From  string `json:"-"`     // section of the sentence, "" for a house rule

	after  []string         // cases that must not have failed, because this one builds on them
	robots string           // text of robots.txt, see expand
	closed []string         // paths that the crawler must not request
	open   []string         // paths that the crawler must be able to request
	needs  []string         // further paths without whose request the case was not exercised
	build  func(*stage)     // adds to the sites
	judge  func(*view) Mark // judges in place of judgeRules
}

// Clause returns the part of the name before the slash.
func (c *Case) Clause() string {
	clause, _, _ := strings.Cut(c.Name, "/")
	return clause
}

// House is the clause of the cases about manners, which RFC 9309 does not ask for.
const House = "house"

// Cases returns all cases in the order of the report.
func Cases() []*Case {
	all := slices.Concat(groups(), rules(), access(), outages(), parsing(), manners())
	for _, c := range all {
		c.cite()
	}
	slices.SortStableFunc(all, func(a, b *Case) int { return strings.Compare(a.Clause(), b.Clause()) }) // house is last
	return all
}

// cite replaces the beginning of a sentence by the sentence. If the sentence is from
// another section than the name of the case, the section comes first: "2.2.2|a crawler MUST match".
func (c *Case) cite() {
	if c.Clause() == House {
		c.Level = House
		return
	}
	section, beginning, other := strings.Cut(c.Text, "|")
	if !other {
		section, beginning = c.Clause(), c.Text
	}
	level, quote := conformance.Sentence(section, beginning)
	if quote == "" {
		panic(fmt.Sprintf("exam: %s cites a sentence that section %s does not have: %q", c.Name, section, beginning))
	}
	if level == "" {
		level = "text"
	}
	c.Level, c.Text, c.From = level, quote, section
}

// Select returns the cases whose names match a pattern: a name, the beginning of a name up
// to a slash, or a pattern of path.Match. Cases that a selected case builds on are added, and an
// ordinary site, which shows whether a crawler that stays away from a site visits others.
func Select(all []*Case, patterns []string) ([]*Case, error) {
	if len(patterns) == 0 {
		return all, nil
	}
	wanted := map[string]bool{"2.3/robots_before_pages": true}
	for _, p := range patterns {
		found := false
		for _, c := range all {
			if ok, err := path.Match(p, c.Name); err != nil {
				return nil, fmt.Errorf("%q is not a pattern: %w", p, err)
			} else if ok || c.Clause() == p {
				found, wanted[c.Name] = true, true
				for _, name := range c.after {
					wanted[name] = true
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("no case is named %q", p)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c *Case) bool { return !wanted[c.Name] }), nil
}

// A Verdict says how a crawler did in a case.
type Verdict string

const (
	Passed       Verdict = "pass"
	Failed       Verdict = "FAIL"
	NotExercised Verdict = "not exercised"
)

// A Mark is a verdict and its reason.
type Mark struct {
	Verdict Verdict  `json:"verdict"`
	Seen    string   `json:"seen"`              // what the crawler did, in words
	Request *Request `json:"request,omitempty"` // the request that shows it
}

// A Result is what the crawler did in a case.
type Result struct {
	*Case
	Mark
}
