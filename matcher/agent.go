package matcher

import (
	"math"
	"strings"

	"github.com/rfc9309/polite/internal/token"
)

// This file finds the group to obey: RFC 9309, sections 2.1 and 2.2.1.

// The names that a crawler looks for have ranks: 0 is its first token, and "*" comes after the
// last one. noRank is the rank of all other names.
const noRank = math.MaxInt

// A groupText is where a group of a file is.
type groupText struct {
	begin, end int   // file[begin:end]
	line       int32 // number of the line before it
	rules      int   // about how many rules it has; 0 only if it has none
}

// choose finds the group that the crawler with the given tokens obeys. It reads the file twice: first
// the user-agent lines, then the groups that the crawler obeys.
func (f *File) choose(tokens string) *Group {
	var tokensBuf [4]string
	var groupsBuf [4]groupText
	s := f.scan()
	agent, groups := s.find(f.dialect.appendTokens(tokensBuf[:0], tokens), groupsBuf[:0])
	return s.readGroups(agent, groups)
}

// find finds the groups that the crawler obeys, which are all groups of the name with the lowest rank.
// It appends them to obeyed, and returns the first user-agent value with that name.
func (s scanner) find(tokens []string, obeyed []groupText) (agentValue string, _ []groupText) {
	d, bestRank := s.dialect, noRank
	// The current group: the lowest rank of its names, and the first value with the name of that rank.
	var group groupText
	rank, value := noRank, ""
	endGroup := func(end int) {
		group.end = end
		onlyFirst := d.firstGroup || d.firstStar && d.isDefault(value)
		switch {
		case rank == noRank, rank > bestRank, rank == bestRank && onlyFirst:
		case group.rules == 0 && d.blankEnds: // a group without rules does not count in the 1996 draft
		case rank < bestRank:
			bestRank, agentValue, obeyed = rank, value, append(obeyed[:0], group)
		default:
			obeyed = append(obeyed, group)
		}
		rank = noRank
	}
	for _, v, ok := s.next(); ok; _, v, ok = s.next() {
		switch {
		case s.kind == agent:
			if s.begins {
				endGroup(s.start)
				group = groupText{begin: s.start, line: s.line - 1}
			}
			if n := d.rankOf(v, tokens); n < rank {
				rank, value = n, v
			}
		case s.kind == blank:
			endGroup(s.start)
		case s.grouped && s.kind.isRule():
			group.rules += 1 + s.skipRules()
		}
	}
	endGroup(len(s.file))
	return agentValue, obeyed
}

// appendTokens appends the product tokens of a list separated by commas. A dialect that reads only
// the token at the beginning of a user-agent line reads a whole User-Agent in the same way.
func (d *Dialect) appendTokens(tokens []string, list string) []string {
	if list == "" && d.lettersOnly {
		return append(tokens, "") // google/robotstxt also compares an empty token
	}
	prefix := !d.lettersOnly && !d.wholeName
	if prefix {
		list, _, _ = strings.Cut(list, "(") // a comment can have commas
	}
	var rfc Dialect // only blanks and tabs are white space
	for t := range strings.SplitSeq(list, ",") {
		t = rfc.trimLeft(rfc.trimRight(t))
		if name := token.Prefix(t); prefix && name != "" {
			t = name
		}
		if t != "" {
			tokens = append(tokens, t)
		}
	}
	return tokens
}

// rankOf returns the rank of the name in a user-agent value. It finds the end of the name last,
// since most values begin with none of the tokens.
func (d *Dialect) rankOf(value string, tokens []string) int {
	for i, t := range tokens {
		if len(t) <= len(value) && equalFold(value[:len(t)], t) && len(d.token(value)) == len(t) {
			return i
		}
	}
	if d.isDefault(value) {
		return len(tokens)
	}
	return noRank
}

// token returns what a user-agent line with this value names: "*", or the product token that
// the value begins with, or with Dialect.wholeName the whole value.
func (d *Dialect) token(value string) string {
	switch {
	case d.isDefault(value):
		return "*"
	case d.wholeName:
		return value
	}
	name := token.Prefix(value)
	if i := strings.IndexAny(name, "0123456789"); i >= 0 && d.lettersOnly {
		name = name[:i]
	}
	return name
}

// isDefault reports whether the value of a user-agent line names the default
// group: it is "*", or begins with "*" and white space. "*bot*" is neither: in real
// files it means one crawler.
func (d *Dialect) isDefault(value string) bool {
	return value != "" && value[0] == '*' && (len(value) == 1 || d.isSpace(value[1]))
}
