package lint

import (
	"fmt"
	"strings"

	"github.com/rfc9309/polite/cmd/polite/internal/compare"
	"github.com/rfc9309/polite/matcher"
)

// This file finds what the profiles decide differently.

const (
	maxSplits = 1000    // remarks about targets that are decided differently
	maxTries  = 100_000 // targets that are tried
)

// split is a target on which the profiles do not agree.
type split struct {
	line    int      // the line that decides for the first profile that has one
	verdict string   // which profiles allow it and which disallow it
	fewer   []string // the profiles on the smaller side
	example string   // the target and the crawler
	more    int      // number of further crawlers and targets
}

// splits returns a remark for each line on which the profiles do not agree. Files has the
// file as each profile reads it. It tries the targets that the rules are made for.
func splits(files []*matcher.File, o *Options, odd *oddLines) []Remark {
	if len(files) < 2 {
		return nil
	}
	tokens, _ := compare.Tokens(files...)
	if o.Token != "" {
		tokens = []string{o.Token}
	}
	type key struct {
		line    int
		verdict string
	}
	found := map[key]*split{}
	var all []*split
	tries := 0
	for _, token := range tokens {
		groups := make([]*matcher.Group, len(files))
		for i, f := range files {
			groups[i] = f.Group(token)
		}
		for _, target := range compare.Targets(groups...) {
			if tries++; tries > maxTries || len(all) >= maxSplits {
				break
			}
			s, ok := decide(groups, target, o)
			if !ok || odd.add(s.line, s.fewer) {
				continue
			}
			k := key{s.line, s.verdict}
			if found[k] != nil {
				found[k].more++
				continue
			}
			s.example = target + " for " + token
			found[k] = &s
			all = append(all, &s)
		}
	}
	lines := map[int]string{}
	for n, line := range files[0].Lines() {
		lines[n] = line
	}
	remarks := make([]Remark, len(all))
	for i, s := range all {
		remarks[i] = newRemark(s.line, lines[s.line], "profiles-differ", s.String())
	}
	return remarks
}

// decide returns how the profiles decide on a target, and whether they disagree.
func decide(groups []*matcher.Group, target string, o *Options) (s split, differ bool) {
	var allow, forbid []string
	for i, g := range groups {
		m := g.Match(target)
		if s.line == 0 {
			s.line = m.Rule.Line
		}
		if m.Allowed {
			allow = append(allow, o.Profiles[i].Name)
		} else {
			forbid = append(forbid, o.Profiles[i].Name)
		}
	}
	if len(allow) <= len(forbid) {
		s.fewer, s.verdict = allow, "allowed by "+strings.Join(allow, ", ")+" only"
	} else {
		s.fewer, s.verdict = forbid, "disallowed by "+strings.Join(forbid, ", ")+" only"
	}
	return s, len(allow) > 0 && len(forbid) > 0
}

func (s *split) String() string {
	text := s.example + ": " + s.verdict
	if s.more > 0 {
		text += fmt.Sprintf("; and %d more like it", s.more)
	}
	return text
}
