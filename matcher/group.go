package matcher

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// This file finds the group to obey: RFC 9309, sections 2.1 and 2.2.1.

// group takes note of a record of kind k, the entry written last.
func (p *parser) group(k kind, value string) {
	switch k {
	case agent:
		if p.inRules || !p.grouped {
			p.inRules, p.grouped = false, true
			p.open, p.start = len(p.file.agents), p.last
		}
		h := hashFold(p.file.dialect.token(value))
		p.file.agents = append(p.file.agents, name{h, uint32(p.last), uint32(p.start)})
	case allow, disallow:
		p.inRules = p.grouped
	}
}

// blank ends a record of the 1996 draft; without rules it is none.
func (p *parser) blank(line int) {
	if !p.grouped {
		return
	}
	p.put(blank, "", line)
	p.drop()
	p.grouped, p.inRules = false, false
}

// drop forgets the agents of a group that has no rules.
func (p *parser) drop() {
	if p.grouped && !p.inRules {
		p.file.agents = p.file.agents[:p.open]
	}
}

// finish packs what was read.
func (p *parser) finish() *File {
	f := p.file
	if f.dialect.blankEnds {
		p.drop()
	}
	f.text = string(p.out)
	if !f.dialect.within {
		slices.SortStableFunc(f.agents, func(a, b name) int { return cmp.Compare(a.hash, b.hash) })
	}
	f.agents = slices.Clone(f.agents)
	f.groups = make([]atomic.Pointer[Group], len(f.agents)+1)
	return f
}

// isDefault reports whether the value of a user-agent line names the default
// group: "*" alone, or followed by white space. "*bot*" is no such value; real
// files shut one crawler out that way.
func (d *Dialect) isDefault(value string) bool {
	return value != "" && value[0] == '*' && (len(value) == 1 || d.isSpace(value[1]))
}

// token returns what a user-agent line with this value names: the product
// token it begins with, or "*".
func (d *Dialect) token(value string) string {
	switch {
	case d.isDefault(value):
		return "*"
	case d.within:
		return value
	}
	n := 0
	for n < len(value) && isTokenOctet(value[n]) && !(d.lettersOnly && isDigit(value[n])) {
		n++
	}
	return value[:n]
}

// isTokenOctet reports whether c can stand in a product token. House rule:
// digits can, since crawlers have them in their names.
func isTokenOctet(c byte) bool {
	l := c | 0x20
	return 'a' <= l && l <= 'z' || isDigit(c) || c == '-' || c == '_'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// hashFold returns the FNV-1a hash of s in lower case.
func hashFold(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(lower(s[i]))) * 16777619
	}
	return h
}

// A Group is what one crawler has to obey: the rules of all groups that name
// it, merged, or of the default groups if none does (RFC 9309, section
// 2.2.1). It is immutable and safe for concurrent use.
type Group struct {
	file  *File
	agent string
	own   string // normalised patterns that differ from what is written
	plan  atomic.Pointer[plan]
	asked atomic.Uint32 // times a group without plan for many rules was asked
	from  []uint32      // where in File.text the groups begin
}

// Group returns the group that the crawler with the given product token obeys.
// It is never nil: a Group without rules allows everything.
func (f *File) Group(token string) *Group {
	i := f.find(token)
	if g := f.groups[i].Load(); g != nil {
		return g
	}
	g := f.compile(i)
	if !f.groups[i].CompareAndSwap(nil, g) {
		return f.groups[i].Load()
	}
	return g
}

// find returns the index of the first agent that token obeys, or len(f.agents).
func (f *File) find(token string) int {
	if f.dialect.within {
		return f.findWithin(token)
	}
	if token != "" || f.dialect.lettersOnly {
		if i, ok := f.lookup(token); ok {
			return i
		}
	}
	if i, ok := f.lookup("*"); ok {
		return i
	}
	return len(f.agents)
}

// lookup finds the first agent named token.
func (f *File) lookup(token string) (int, bool) {
	h := hashFold(token)
	i, _ := slices.BinarySearchFunc(f.agents, h, func(n name, h uint32) int { return cmp.Compare(n.hash, h) })
	for ; i < len(f.agents) && f.agents[i].hash == h; i++ {
		if equalFold(f.token(i), token) {
			return i, true
		}
	}
	return 0, false
}

// token returns what agent i names.
func (f *File) token(i int) string {
	e, _ := f.next(int(f.agents[i].off))
	return f.dialect.token(e.value)
}

// findWithin finds the first agent whose name is contained in token.
func (f *File) findWithin(token string) int {
	star := len(f.agents)
	low := strings.ToLower(token)
	for i := range f.agents {
		n := f.token(i)
		switch {
		case n == "*":
			star = min(star, i)
		case n != "" && strings.Contains(low, strings.ToLower(n)):
			return i
		}
	}
	return star
}

// compile merges the groups of agent i and of all that name the same.
func (f *File) compile(i int) *Group {
	g := &Group{file: f}
	if i == len(f.agents) {
		g.plan.Store(&plan{ordered: true})
		return g
	}
	e, _ := f.next(int(f.agents[i].off))
	token, hash := f.dialect.token(e.value), f.agents[i].hash
	g.agent = e.value
	if token == "*" {
		g.agent = token
	}
	for ; i < len(f.agents) && f.agents[i].hash == hash; i++ {
		from := f.agents[i].group
		if len(g.from) > 0 && g.from[len(g.from)-1] == from || !equalFold(f.token(i), token) {
			continue
		}
		g.from = append(g.from, from)
		if f.dialect.within || f.dialect.firstStar && token == "*" {
			break
		}
	}
	b := ruleBuilder{file: f}
	for e := range g.records() {
		if e.kind == allow || e.kind == disallow {
			b.add(e)
		}
	}
	p := &plan{}
	p.rules, g.own = b.finish()
	p.ordered = f.dialect.inOrder || len(p.rules) <= few
	g.plan.Store(p)
	return g
}

// records yields the records of the groups of g in the order of the file. A
// group ends before a user-agent line that follows rules; no other record ends
// it.
func (g *Group) records() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for _, from := range g.from {
			inRules := false
			for pos := int(from); pos < len(g.file.text); {
				var e entry
				e, pos = g.file.next(pos)
				if e.kind == blank || e.kind == agent && inRules {
					break
				}
				inRules = inRules || e.kind == allow || e.kind == disallow
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Agent returns the user-agent value of the group, as written in the first line
// that names the crawler; "*" for the default group; "" if no group applies.
func (g *Group) Agent() string { return g.agent }

// Rules returns the rules that can match something, in the order of the file.
func (g *Group) Rules() iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		for e := range g.records() {
			if (e.kind == allow || e.kind == disallow) && !g.file.dialect.idle(e.value) {
				if !yield(Rule{e.line, e.kind == allow, e.value}) {
					return
				}
			}
		}
	}
}

// CrawlDelay returns the first crawl-delay of the group that is a number of
// seconds, zero or more; ok is false if there is none. Values past the range
// of a Duration are its maximum.
func (g *Group) CrawlDelay() (d time.Duration, ok bool) {
	for e := range g.records() {
		if e.kind == delay {
			if d, ok = seconds(e.value); ok {
				return d, true
			}
		}
	}
	return 0, false
}

// Agents returns line and value of every user-agent record, as written.
func (f *File) Agents() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for e := range f.entries() {
			if e.kind == agent && !yield(e.line, e.value) {
				return
			}
		}
	}
}
