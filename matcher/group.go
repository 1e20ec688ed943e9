package matcher

import (
	"cmp"
	"iter"
	"slices"
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
			p.open, p.start = len(p.agents), p.last
		}
		h := hashFold(p.dialect.token(value))
		p.agents = append(p.agents, name{h, uint32(p.last), uint32(p.start)})
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
		p.agents = p.agents[:p.open]
	}
}

// finish packs what was read.
func (p *parser) finish() *File {
	if p.dialect.blankEnds {
		p.drop()
	}
	return &File{dialect: p.dialect, text: string(p.out), agents: p.sorted()}
}

// sorted returns the agents by hash, those of one hash in the order of the file.
func (p *parser) sorted() []name {
	agents := make([]name, len(p.agents))
	if p.dialect.within {
		copy(agents, p.agents)
		return agents
	}
	var some [16]uint64
	keys := some[:0]
	for i, n := range p.agents {
		keys = append(keys, uint64(n.hash)<<32|uint64(i))
	}
	slices.Sort(keys)
	for i, k := range keys {
		agents[i] = p.agents[uint32(k)]
	}
	return agents
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
	agent string        // see Agent
	own   string        // normalised patterns that differ from what is written
	first int32         // the first agent of the file that names it, or len(File.agents)
	asked atomic.Uint32 // times a group of many rules was asked without index
	plan  atomic.Pointer[plan]
}

// Group returns the group that the crawler with the given product token obeys.
// It is never nil: a Group without rules allows everything.
func (f *File) Group(token string) *Group {
	if a := f.first.Load(); a != nil && a.token == token {
		return a.group
	}
	g := f.group(int32(f.find(token)))
	if f.first.Load() == nil {
		f.first.CompareAndSwap(nil, &asked{token, g})
	}
	return g
}

// group returns the group that begins with agent i, which is made once.
func (f *File) group(i int32) *Group {
	for {
		old := f.groups.Load()
		var list []*Group
		if old != nil {
			list = *old
		}
		at, ok := slices.BinarySearchFunc(list, i, func(g *Group, i int32) int { return cmp.Compare(g.first, i) })
		if ok {
			return list[at]
		}
		g := f.compile(i)
		more := make([]*Group, 0, len(list)+1)
		more = append(append(append(more, list[:at]...), g), list[at:]...)
		if f.groups.CompareAndSwap(old, &more) {
			return g
		}
	}
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
	for i := range f.agents {
		n := f.token(i)
		switch {
		case n == "*":
			star = min(star, i)
		case n != "" && containsFold(token, n):
			return i
		}
	}
	return star
}

// containsFold reports whether s contains part, letters without case.
func containsFold(s, part string) bool {
	for ; len(s) >= len(part); s = s[1:] {
		if equalFold(s[:len(part)], part) {
			return true
		}
	}
	return false
}

// compile merges the groups of agent i and of all that name the same.
func (f *File) compile(i int32) *Group {
	g := &Group{file: f, first: i}
	if int(i) < len(f.agents) {
		e, _ := f.next(int(f.agents[i].off))
		if g.agent = e.value; f.dialect.isDefault(e.value) {
			g.agent = "*"
		}
	}
	n := 0
	for range g.ruleLines() {
		n++
	}
	b := ruleBuilder{file: f, rules: make([]rule, 0, n)}
	for e := range g.ruleLines() {
		b.add(e)
	}
	g.own = string(b.own)
	g.plan.Store(b.plan())
	return g
}

// records yields the records of the groups of g in the order of the file. A
// group ends before a user-agent line that follows rules; no other record ends
// it.
func (g *Group) records() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for from := range g.begins() {
			inRules := false
			for pos := from; pos < len(g.file.text); {
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

// ruleLines yields the allow and disallow records among the records.
func (g *Group) ruleLines() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for e := range g.records() {
			if (e.kind == allow || e.kind == disallow) && !yield(e) {
				return
			}
		}
	}
}

// begins yields where in File.text the groups of g begin.
func (g *Group) begins() iter.Seq[int] {
	return func(yield func(int) bool) {
		f, last := g.file, -1
		if int(g.first) == len(f.agents) {
			return
		}
		token := f.token(int(g.first))
		for _, n := range f.agents[g.first:] {
			if n.hash != f.agents[g.first].hash {
				return
			}
			e, _ := f.next(int(n.off))
			if int(n.group) == last || !equalFold(f.dialect.token(e.value), token) {
				continue
			}
			if last = int(n.group); !yield(last) || f.dialect.within || f.dialect.firstStar && token == "*" {
				return
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
		for e := range g.ruleLines() {
			if !g.file.dialect.idle(e.value) && !yield(Rule{e.line, e.kind == allow, e.value}) {
				return
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
