package matcher

import "strings"

// This file finds the group to obey: RFC 9309, sections 2.1 and 2.2.1.

// A choice is what is known, while the records of a file are read once, of the
// group that a crawler obeys. Names are numbered in the order in which they are
// wanted: the tokens of the crawler, then "*".
type choice struct {
	dialect *Dialect
	tokens  []string
	best    int    // number of the name obeyed so far; noName if there is none
	agent   string // first user-agent value that has this name
	rules   int    // number of rules taken so far
	skip    int    // number of rules taken before the rules of the groups obeyed so far
	others  others // other records of the groups obeyed so far, then records of the group being read

	// The group being read.
	name    int    // the best of its names
	value   string // first user-agent value that has this name
	from    others // the other records before the group
	settled bool   // it is known whether the group is obeyed
	obeyed  bool   // it is, so far
}

// noName is the number of a name that is not wanted.
const noName = int(^uint(0) >> 1)

// choose finds the group that the crawler with the given tokens obeys.
func (f *File) choose(tokens string) *Group {
	var rulesBuf [64]rule // enough for most files
	c := choice{dialect: &f.dialect, tokens: f.dialect.tokens(tokens), best: noName, name: noName}
	rules := rulesBuf[:0]
	s := f.scan()
	for s.next() {
		if c.take(&s.record) {
			rules = append(rules, rule{})
			r := &rules[len(rules)-1]
			r.pattern, r.line, r.allow = s.value, int32(s.line), s.kind == allow
		}
	}
	c.endGroup()
	return c.group(rules[c.skip:])
}

// tokens returns the product tokens of a list separated by commas.
func (d *Dialect) tokens(list string) (tokens []string) {
	if list == "" && d.lettersOnly {
		return []string{""} // google/robotstxt compares even this
	}
	for t := range strings.SplitSeq(list, ",") {
		if t = strings.Trim(t, " \t"); t != "" {
			tokens = append(tokens, t)
		}
	}
	return tokens
}

// take takes the next record of the file. It reports whether the record is a rule
// that the crawler obeys, so far.
func (c *choice) take(r *record) bool {
	switch {
	case r.kind == agent:
		if r.begins {
			c.endGroup()
		}
		if n := c.number(r.value); n < c.name {
			c.name, c.value = n, r.value
		}
	case r.kind == blank:
		c.endGroup()
	case !r.grouped:
	case r.isRule():
		c.settle()
		if c.obeyed && c.dialect.canBegin(r.value) {
			c.rules++
			return true
		}
	case r.kind == other || r.kind == delay:
		c.others.add(r)
	}
	return false
}

// settle decides, when the names of a group are read, whether it is obeyed. A
// group with a better name takes the place of all groups before.
func (c *choice) settle() {
	if c.settled {
		return
	}
	c.settled = true
	onlyFirst := c.dialect.firstGroup || c.dialect.firstStar && c.dialect.isDefault(c.value)
	switch {
	case c.name < c.best:
		c.best, c.agent, c.obeyed = c.name, c.value, true
		c.skip = c.rules
		c.others, c.from = c.others.after(c.from), others{}
	case c.name == c.best && c.name != noName && !onlyFirst:
		c.obeyed = true
	}
}

// endGroup ends the group being read. Without a rule it is still a group, but not
// in the 1996 draft.
func (c *choice) endGroup() {
	if !c.dialect.blankEnds {
		c.settle()
	}
	if !c.obeyed {
		c.others = c.from
	}
	c.from, c.name = c.others, noName
	c.settled, c.obeyed = false, false
}

// number returns the number of the name that a user-agent value has.
func (c *choice) number(value string) int {
	name := c.dialect.token(value)
	for i, t := range c.tokens {
		if equalFold(name, t) {
			return i
		}
	}
	if name == "*" {
		return len(c.tokens)
	}
	return noName
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
	n := 0
	for n < len(value) && isTokenByte(value[n]) && !(d.lettersOnly && isDigit(value[n])) {
		n++
	}
	return value[:n]
}

// isDefault reports whether the value of a user-agent line names the default
// group: "*" alone, or followed by white space. "*bot*" is no such value; real
// files shut one crawler out that way.
func (d *Dialect) isDefault(value string) bool {
	return value != "" && value[0] == '*' && (len(value) == 1 || d.isSpace(value[1]))
}

// isTokenByte reports whether c can stand in a product token. House rule:
// digits can, since crawlers have them in their names.
func isTokenByte(c byte) bool {
	l := c | 0x20
	return 'a' <= l && l <= 'z' || isDigit(c) || c == '-' || c == '_'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
