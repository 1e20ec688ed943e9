package matcher

import (
	"math"
	"slices"
	"strings"

	"github.com/rfc9309/polite/internal/token"
)

// This file finds the group to obey: RFC 9309, sections 2.1 and 2.2.1.

// A choice finds the groups that a crawler obeys, while the records of a file are read once.
// The names that the crawler looks for have ranks: 0 is its first token, and "*" comes after
// the last one. The crawler obeys all groups of the name with the lowest rank.
type choice struct {
	dialect  *Dialect
	tokens   []string
	bestRank int    // rank of the name obeyed so far; noRank if there is none
	agent    string // first user-agent value with the name obeyed so far

	// The group being read.
	start   int    // where its records begin in the list
	rank    int    // lowest rank of a name of the group; noRank if there is none
	value   string // first user-agent value with the name of that rank
	hasRule bool   // it has a rule
}

// noRank is the rank of a name that the crawler does not look for.
const noRank = math.MaxInt

// choose finds the group that the crawler with the given tokens obeys.
func (f *File) choose(tokens string) *Group {
	var tokensBuf [4]string
	var buf [64]record // enough for most files
	list := buf[:0]    // the records of the groups obeyed so far, and then of the group being read
	c := choice{dialect: &f.dialect, tokens: f.dialect.appendTokens(tokensBuf[:0], tokens), bestRank: noRank, rank: noRank}
	s := f.scan()
	for s.next() {
		list = c.add(list, &s)
	}
	return f.dialect.newGroup(c.agent, s.text, c.endGroup(list))
}

// appendTokens appends the product tokens of a list separated by commas.
func (d *Dialect) appendTokens(tokens []string, list string) []string {
	if list == "" && d.lettersOnly {
		return append(tokens, "") // google/robotstxt compares an empty token, too
	}
	for t := range strings.SplitSeq(list, ",") {
		if t = strings.Trim(t, " \t"); t != "" {
			tokens = append(tokens, t)
		}
	}
	return tokens
}

// add adds the record that the scanner has read to the list, if the crawler may obey it. When
// a rule is read, all names of its group are known. An other record can come before a name, so
// add keeps it until endGroup decides.
func (c *choice) add(list []record, s *scanner) []record {
	switch {
	case s.kind == agent:
		if s.begins {
			list = c.endGroup(list)
		}
		if n := c.rankOf(s.value()); n < c.rank {
			c.rank, c.value = n, s.value()
		}
	case s.kind == blank:
		return c.endGroup(list)
	case !s.grouped:
	case s.kind.isRule():
		c.hasRule = true
		if c.rank <= c.bestRank && c.rank != noRank && c.dialect.canBegin(s.value()) {
			return appendRecord(list, s)
		}
	case s.kind == other || s.kind == delay:
		return appendRecord(list, s)
	}
	return list
}

// appendRecord appends the record of a scanner. If there is no room left, it makes room
// for as many records as the rest of the file has if it is like the part before, and an
// eighth more.
func appendRecord(list []record, s *scanner) []record {
	if n := len(list); n == cap(list) {
		more := n * ((len(s.text)-s.pos)/s.pos + 1)
		list = slices.Grow(list, more+more/8)
	}
	return append(list, s.record)
}

// endGroup ends the group being read. If the group is not obeyed, endGroup removes its records
// from the list. If its rank is lower than the rank of all groups before, it removes the
// records of those groups. A group without a rule counts, but not in the 1996 draft.
func (c *choice) endGroup(list []record) []record {
	onlyFirst := c.dialect.firstGroup || c.dialect.firstStar && c.dialect.isDefault(c.value)
	switch {
	case c.rank == noRank, c.rank > c.bestRank, c.rank == c.bestRank && onlyFirst, c.dialect.blankEnds && !c.hasRule:
		list = list[:c.start]
	case c.rank < c.bestRank:
		c.bestRank, c.agent = c.rank, c.value
		list = list[c.start:]
	}
	c.start, c.rank, c.hasRule = len(list), noRank, false
	return list
}

// rankOf returns the rank of the name in a user-agent value.
func (c *choice) rankOf(value string) int {
	for i, t := range c.tokens {
		if len(t) <= len(value) && equalFold(value[:len(t)], t) && len(c.dialect.token(value)) == len(t) {
			return i
		}
	}
	if c.dialect.isDefault(value) {
		return len(c.tokens)
	}
	return noRank
}

// token returns what a user-agent line with this value names: the product
// token it begins with, or "*".
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
// group: it is "*", or begins with "*" and white space. "*bot*" is no such value: in real
// files it means one crawler.
func (d *Dialect) isDefault(value string) bool {
	return value != "" && value[0] == '*' && (len(value) == 1 || d.isSpace(value[1]))
}

// isDigit reports whether c is a decimal digit.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
