package matcher

import (
	"math"
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
	bestRank int      // rank of the name obeyed so far; noRank if there is none
	agent    string   // first user-agent value with the name obeyed so far
	obeyed   *builder // the records of the groups obeyed so far, and of the group being read

	// The group being read.
	rank    int    // lowest rank of a name of the group; noRank if there is none
	value   string // first user-agent value with the name of that rank
	start   int    // where the lines of the group begin in obeyed.lines, until decide is called
	decided bool   // decide was called, so obeys is known
	obeys   bool   // the crawler obeys the group
}

// noRank is the rank of a name that the crawler does not look for.
const noRank = math.MaxInt

// choose finds the group that the crawler with the given tokens obeys.
func (f *File) choose(tokens string) *Group {
	var tokensBuf [4]string
	b := builders.Get().(*builder)
	defer builders.Put(b)
	b.reset(&f.dialect)
	c := choice{dialect: &f.dialect, tokens: f.dialect.appendTokens(tokensBuf[:0], tokens), bestRank: noRank, rank: noRank, obeyed: b}
	s := f.scan()
	for name, value, ok := s.next(); ok; name, value, ok = s.next() {
		c.add(&s, name, value)
	}
	c.endGroup()
	return c.obeyed.group(c.agent)
}

// appendTokens appends the product tokens of a list separated by commas. A dialect that reads only
// the token at the beginning of a user-agent line reads a whole User-Agent in the same way.
func (d *Dialect) appendTokens(tokens []string, list string) []string {
	if list == "" && d.lettersOnly {
		return append(tokens, "") // google/robotstxt compares an empty token, too
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

// add adds the record that the scanner has read, if the crawler obeys its group. When a rule
// is read, all names of its group are known. A record that is no rule can come before a name, so
// add keeps it until decide is called.
func (c *choice) add(s *scanner, name, value string) {
	switch {
	case s.kind == agent:
		if s.begins {
			c.endGroup()
		}
		if n := c.rankOf(value); n < c.rank {
			c.rank, c.value = n, value
		}
	case s.kind == blank:
		c.endGroup()
	case !s.grouped: // outside any group
	case s.kind.isRule():
		if !c.decided {
			c.decide(true)
			s.skipRules = !c.obeys
		}
		if c.obeys && c.dialect.canBegin(value) {
			c.obeyed.addRule(s, value)
			if c.dialect.indexHTML {
				c.obeyed.addFolder(s, value)
			}
		}
	case s.kind == other || s.kind == delay:
		if c.obeys || !c.decided {
			c.obeyed.addLine(s, name, ":", value)
		}
	}
}

// endGroup ends the group being read.
func (c *choice) endGroup() {
	if !c.decided {
		c.decide(false)
	}
	c.start, c.rank, c.decided, c.obeys = len(c.obeyed.lines), noRank, false, false
}

// decide decides whether the crawler obeys the group being read. If the rank of the group is
// lower than the rank of all groups before, decide removes the records of those groups. A group
// without a rule counts, but not in the 1996 draft.
func (c *choice) decide(hasRule bool) {
	b, onlyFirst := c.obeyed, c.dialect.firstGroup || c.dialect.firstStar && c.dialect.isDefault(c.value)
	c.decided = true
	switch {
	case c.rank == noRank, c.rank > c.bestRank, c.rank == c.bestRank && onlyFirst, c.dialect.blankEnds && !hasRule:
		b.cutLines(c.start)
		return
	case c.rank < c.bestRank:
		c.bestRank, c.agent = c.rank, c.value
		b.removeGroups(c.start)
	}
	c.obeys = true
}

// rankOf returns the rank of the name in a user-agent value. It finds the end of the name last,
// since most values begin with none of the tokens.
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
// group: it is "*", or begins with "*" and white space. "*bot*" is no such value: in real
// files it means one crawler.
func (d *Dialect) isDefault(value string) bool {
	return value != "" && value[0] == '*' && (len(value) == 1 || d.isSpace(value[1]))
}
