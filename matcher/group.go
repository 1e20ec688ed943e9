package matcher

import (
	"cmp"
	"iter"
	"slices"
	"sync/atomic"
	"time"
)

// This file finds the group to obey: RFC 9309, sections 2.1 and 2.2.1.

// agent takes a user-agent line. After rules it begins a group.
func (p *parser) agent(stored kind, value, line string, number int) {
	if p.inRules && (stored == other || !p.ready) {
		p.put(ended, "", 0) // otherwise the kinds of the items tell
	}
	if p.inRules && p.seen.slots == nil && p.size >= seenFrom {
		p.seen = newSeen(view(p.out), p.size)
	}
	if p.inRules || !p.grouped {
		p.inRules, p.ready, p.grouped = false, false, true
		p.open, p.start = len(p.agents), len(p.out)
	}
	h := hashFold(p.dialect.token(value))
	p.agents = append(p.agents, name{h, uint32(len(p.out)), uint32(p.start)})
	p.put(stored, line, number)
}

// blank ends a record of the 1996 draft; without rules it is none.
func (p *parser) blank(line int) {
	if !p.grouped {
		return
	}
	p.put(ended, "", line)
	p.drop()
	p.grouped, p.inRules, p.ready = false, false, false
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
	rules
	token string        // it was first asked for with
	asked atomic.Uint32 // times a group of many rules was asked without index
	index atomic.Pointer[index]
}

// rules are the rules of a Group where they stand. They cost nothing to keep
// and little to find.
type rules struct {
	file   *File
	agent  string   // see Group.Agent
	first  int32    // the first agent of the file that names the crawler, or len(File.agents)
	weight uint32   // see few
	from   uint32   // where in File.text the rules of the first group begin
	more   []uint32 // and those of further groups
}

// Group returns the group that the crawler with the given product token obeys.
// It is never nil: a Group without rules allows everything.
func (f *File) Group(token string) *Group {
	g, r := f.obeyed(token)
	if g == nil {
		g = &Group{rules: r, token: token}
	}
	return g
}

// obeyed returns the group that token obeys if it is kept, and otherwise its
// rules.
func (f *File) obeyed(token string) (*Group, rules) {
	if g := f.first.Load(); g != nil && g.token == token {
		return g, rules{}
	}
	i := int32(f.find(token))
	if list := f.kept.Load(); list != nil {
		if at, ok := findKept(*list, i); ok {
			return (*list)[at], rules{}
		}
	}
	r := f.rules(i)
	if r.costly() || f.first.Load() == nil {
		return f.keep(&Group{rules: r, token: token}), rules{}
	}
	return nil, r
}

// keep keeps a group, or returns the one kept in its place.
func (f *File) keep(g *Group) *Group {
	if g.costly() {
		g = f.insert(g)
	}
	if f.first.Load() == nil {
		f.first.CompareAndSwap(nil, g)
	}
	return g
}

// insert puts a group into the list of those kept.
func (f *File) insert(g *Group) *Group {
	for {
		old := f.kept.Load()
		var list []*Group
		if old != nil {
			list = *old
		}
		at, ok := findKept(list, g.first)
		if ok {
			return list[at]
		}
		list = slices.Insert(slices.Clone(list), at, g)
		if f.kept.CompareAndSwap(old, &list) {
			return g
		}
	}
}

// findKept finds the group that begins with agent first.
func findKept(list []*Group, first int32) (int, bool) {
	return slices.BinarySearchFunc(list, first, func(g *Group, i int32) int { return cmp.Compare(g.first, i) })
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

// rules finds the rules of agent i and of all that name the same.
func (f *File) rules(i int32) rules {
	r := rules{file: f, first: i}
	if int(i) == len(f.agents) {
		return r
	}
	e, _ := f.next(int(f.agents[i].off))
	if r.agent = e.value; f.dialect.isDefault(e.value) {
		r.agent = "*"
	}
	for from := range r.begins() {
		if at, weight := f.weigh(from); weight > 0 {
			r.addGroup(at, weight)
		}
	}
	return r
}

// addGroup adds a group whose first rule stands at from.
func (r *rules) addGroup(from, weight int) {
	if r.weight == 0 {
		r.from = uint32(from)
	} else {
		r.more = append(r.more, uint32(from))
	}
	r.weight += uint32(weight)
}

// costly reports whether to find the rules, or to try them one after another,
// takes a time that should not be spent on each question.
func (r *rules) costly() bool { return r.weight > few || r.more != nil }

// few is the weight of rules up to which they are tried one after another. A
// rule with a star weighs as many as it costs.
const (
	few        = 32
	starWeight = 3
)

// weigh returns where in the group at pos the first rule stands, and the weight
// of the rules, as far as that matters.
func (f *File) weigh(pos int) (first, weight int) {
	for pos < len(f.text) && weight <= few {
		h := f.head(pos)
		switch {
		case h.kind&kindRule != 0:
			if weight == 0 {
				first = pos
			}
			if weight++; h.kind&kindSpecial != 0 {
				weight += starWeight - 1
			}
		case h.kind == ended, h.kind == agent && weight > 0:
			return first, weight
		}
		pos = f.after(h)
	}
	return first, weight
}

// records yields the records of the groups of r in the order of the file. A
// group ends before a user-agent line that follows rules; no other record ends
// it.
func (r *rules) records() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for from := range r.begins() {
			inRules := false
			for pos := from; pos < len(r.file.text); {
				var e entry
				e, pos = r.file.next(pos)
				if e.kind == ended || e.kind == agent && inRules {
					break
				}
				inRules = inRules || e.kind == allow || e.kind == disallow
				if e.line > 0 && !yield(e) {
					return
				}
			}
		}
	}
}

// begins yields where in File.text the groups of r begin.
func (r *rules) begins() iter.Seq[int] {
	return func(yield func(int) bool) {
		f, last := r.file, -1
		if int(r.first) == len(f.agents) {
			return
		}
		token := f.token(int(r.first))
		for _, n := range f.agents[r.first:] {
			if n.hash != f.agents[r.first].hash {
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
		for e := range g.records() {
			if (e.kind == allow || e.kind == disallow) && !g.file.dialect.idle(e.value) && !yield(Rule{e.line, e.kind == allow, e.value}) {
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
