package matcher

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// This file finds the group to obey: RFC 9309, sections 2.1 and 2.2.1.

// agent takes a user-agent line. After rules it begins a group.
func (p *parser) agent(stored kind, value, line string, number int) {
	if p.inRules && (stored == other || !p.ready) {
		p.put(ended, "", 0) // otherwise the kinds of the items tell
	}
	if p.inRules && p.seen.full(len(p.out)) {
		p.seen.learn(view(p.out))
	}
	if p.inRules || !p.grouped {
		p.inRules, p.ready, p.grouped = false, false, true
		p.open, p.start = len(p.agents), len(p.out)
	}
	h := hashFold(p.dialect.token(value))
	p.agents = append(p.agents, uint64(h)<<32|uint64(len(p.out)))
	out := p.out
	if pos := len(out); pos == p.start {
		out = appendHead(out, stored, len(line))
	} else {
		out = binary.AppendUvarint(appendHead(out, stored|kindBack, len(line)), uint64(pos-p.start))
	}
	p.out = binary.AppendUvarint(append(out, line...), uint64(number))
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
	slices.Sort(p.agents)
	f := &File{dialect: p.dialect, size: uint32(len(p.out))}
	p.put(ended, "", 0)
	for _, a := range p.agents {
		p.out = binary.LittleEndian.AppendUint32(p.out, uint32(a))
	}
	f.text = string(p.out)
	return f
}

// agents returns the number of user-agent lines. They are sorted by the hash of
// the token, and those of one token stand in the order of the file.
func (f *File) agents() int { return (len(f.text) - int(f.size) - endSize) / 4 }

// endSize is the size of the item after the records.
const endSize = 3

// agent returns where in File.text the item of agent i begins.
func (f *File) agent(i int) int {
	t := f.text[int(f.size)+endSize+4*i:][:4]
	return int(t[0]) | int(t[1])<<8 | int(t[2])<<16 | int(t[3])<<24
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
	case d.wholeName:
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
	file    *File
	name    uint32 // where in File.text Agent stands
	nameEnd uint32
	first   int32  // the first agent that names the crawler, or File.agents()
	from    uint32 // where in File.text the first rule stands
	weight  int32  // see few
	merged  bool   // they stand in several groups
}

// Group returns the group that the crawler with the given product token, or
// several as in [File.Match], obeys. It is never nil: a Group without rules
// allows everything.
func (f *File) Group(token string) *Group {
	f = f.orEmpty()
	if g := f.known(token); g != nil {
		return g
	}
	g, r := f.obeyed(token)
	if g == nil {
		g = &Group{rules: r, token: token}
	}
	return g
}

// known returns the group for token if it was the first asked for.
func (f *File) known(token string) *Group {
	if g := f.first.Load(); g != nil && g.token == token {
		return g
	}
	return nil
}

// obeyed returns the group that token obeys if it is kept, and otherwise its
// rules.
func (f *File) obeyed(token string) (*Group, rules) {
	first := f.first.Load()
	i := int32(f.find(token))
	if first != nil && first.first == i {
		return first, rules{}
	}
	if list := f.kept.Load(); list != nil {
		if at, ok := findKept(*list, i); ok {
			return (*list)[at], rules{}
		}
	}
	r := f.rules(i)
	if first == nil || r.weight > few {
		return f.keep(&Group{rules: r, token: token}), rules{}
	}
	return nil, r
}

// keep keeps a group, or returns the one kept in its place.
func (f *File) keep(g *Group) *Group {
	if f.first.CompareAndSwap(nil, g) {
		return g
	}
	if first := f.first.Load(); first.first == g.first {
		return first
	}
	return f.insert(g)
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

// find returns the first agent that tokens obey, which are one or several
// separated by commas; or f.agents().
func (f *File) find(tokens string) int {
	for rest, more := tokens, true; more; {
		var token string
		token, rest, more = strings.Cut(rest, ",")
		token = strings.Trim(token, " \t")
		if token == "" && (tokens != "" || !f.dialect.lettersOnly) {
			continue
		}
		if i, ok := f.lookup(token); ok {
			return i
		}
	}
	if i, ok := f.lookup("*"); ok {
		return i
	}
	return f.agents()
}

// lookup finds the first agent named token.
func (f *File) lookup(token string) (int, bool) {
	h := hashFold(token)
	lo, hi := 0, f.agents()
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); hashFold(f.token(mid)) < h {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for ; lo < f.agents(); lo++ {
		name := f.token(lo)
		if equalFold(name, token) {
			return lo, true
		}
		if hashFold(name) != h {
			break
		}
	}
	return 0, false
}

// token returns what agent i names.
func (f *File) token(i int) string {
	e, _ := f.next(f.agent(i))
	return f.dialect.token(e.value)
}

// rules finds the rules of agent i and of all that name the same.
func (f *File) rules(i int32) rules {
	r := rules{file: f, first: i}
	if int(i) == f.agents() {
		return r
	}
	pos := f.agent(int(i))
	h := f.head(pos)
	e, _ := f.next(pos)
	r.name, r.nameEnd = uint32(h.end-len(e.value)), uint32(h.end)
	if f.dialect.isDefault(e.value) {
		r.nameEnd = r.name + 1
	}
	for i, from := r.begin(int(i), -1); i >= 0; i, from = r.begin(i+1, from) {
		at, weight := f.weigh(from)
		if weight > 0 && r.weight > 0 {
			r.merged = true
		} else if weight > 0 {
			r.from = uint32(at)
		}
		r.weight += int32(weight)
	}
	return r
}

// A literal weighs 1; rules of a weight up to few are tried one after another,
// beyond that an index is quicker.
const (
	few        = 32
	starWeight = 3 // of a rule with a star or an anchor, by what it costs to try
)

// weigh returns where in the group at pos the first rule stands, and the weight
// of the rules, as far as that matters.
func (f *File) weigh(pos int) (first, weight int) {
	for weight <= few {
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
		for i, from := r.begin(int(r.first), -1); i >= 0; i, from = r.begin(i+1, from) {
			inRules := false
			for pos := from; pos < int(r.file.size); {
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

// begin finds, from agent i on, one that names the same crawler as the first
// but in another group than last. It returns the agent and where in File.text
// its group begins; or -1, if that was all. To begin with, last is -1.
func (r *rules) begin(i, last int) (next, from int) {
	f := r.file
	if i == f.agents() {
		return -1, 0
	}
	name := f.token(int(r.first))
	if i > int(r.first) && (f.dialect.firstGroup || f.dialect.firstStar && name == "*") {
		return -1, 0
	}
	for ; i < f.agents(); i++ {
		if n := f.token(i); equalFold(n, name) {
			if from = f.groupOf(f.agent(i)); from != last {
				return i, from
			}
		} else if hashFold(n) != hashFold(name) {
			break
		}
	}
	return -1, 0
}

// Agent returns the user-agent value of the group, as written in the first line
// that names the crawler; "*" for the default group; "" if no group applies.
func (g *Group) Agent() string { return g.agent() }

func (r *rules) agent() string { return r.file.text[r.name:r.nameEnd] }

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
	f = f.orEmpty()
	return func(yield func(int, string) bool) {
		for e := range f.entries() {
			if e.kind == agent && !yield(e.line, e.value) {
				return
			}
		}
	}
}
