package matcher

import (
	"strings"
)

// This file evaluates the rules of a group: RFC 9309, section 2.2.2.

// A Match is the verdict of a file on one target.
type Match struct {
	Allowed bool
	Agent   string // user-agent value of the group obeyed, "*" for the default group, "" if no group applies
	Rule    Rule   // the deciding rule; Rule.Line is 0 if none matched
}

// A Rule is an allow or disallow line of the file.
type Rule struct {
	Line    int    // number of the line, from 1
	Allow   bool   // an allow line
	Pattern string // as written
}

// rule is a pattern ready to be compared: the octets File.text[off:off+size].
type rule struct {
	off  uint32
	bits uint32 // size, shifted, and flags
	item uint32 // where in File.text its item begins
}

const (
	ruleAllow = 1 << iota // an allow line
	ruleWhole             // ends in an anchor
	ruleQuery             // has a literal "?"
	ruleStar              // has a star
	ruleShift = iota
)

func (r rule) size() int { return int(r.bits >> ruleShift) }

// all returns the rules, ready for an index.
func (r *rules) all() []rule {
	var list []rule
	f := r.file
	for i, from := r.begin(int(r.first), -1); i >= 0; i, from = r.begin(i+1, from) {
		pos, weight := f.weigh(from)
		for h := f.head(pos); weight > 0 && !h.ends(); h = f.head(pos) {
			if h.kind&kindRule != 0 {
				list = append(list, f.rule(h, pos))
			}
			pos = f.after(h)
		}
	}
	return list
}

// rule returns the rule of the item h at pos.
func (f *File) rule(h header, pos int) rule {
	p := f.text[h.off:h.end]
	flags := uint32(h.kind & kindAllow)
	if h.kind&kindSpecial != 0 && strings.IndexByte(p, '*') >= 0 {
		flags |= ruleStar
	}
	if h.kind&kindSpecial != 0 && p[len(p)-1] == '$' {
		flags |= ruleWhole
	}
	if f.dialect.form.folds() && strings.IndexByte(p, '?') >= 0 {
		flags |= ruleQuery
	}
	return rule{uint32(h.off), uint32(len(p))<<ruleShift | flags, uint32(pos)}
}

// rank orders rules by the octets of their patterns, then allow before
// disallow (RFC 9309, section 2.2.2, paragraph 2).
func (r rule) rank() uint32 { return r.bits>>ruleShift<<1 | r.bits&ruleAllow }

// outranks reports whether r is to be used rather than o, if both match. Of
// rules of one rank it is the one that stands first. The zero rule is none.
func (f *File) outranks(r, o rule) bool {
	if r.rank() != o.rank() {
		return r.rank() > o.rank()
	}
	return r.item < o.item
}

// idle reports whether a rule with this pattern can never match: it is empty,
// or begins as no path does, or has an octet no path has.
func (d *Dialect) idle(pattern string) bool {
	return d.neverBegins(pattern) || !d.loose && hasControl(pattern)
}

// neverBegins reports whether no path begins as the pattern does.
func (d *Dialect) neverBegins(pattern string) bool {
	return pattern == "" || pattern[0] != '/' && (d.literal || pattern[0] != '*')
}

func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' {
			return true
		}
	}
	return false
}

// Match rules on a request target: "/path?query" as it is sent, or an absolute
// URL, whose scheme and authority are set aside. A fragment is cut off. Any other
// target without a leading slash gets one.
//
// The token is a product token, or several separated by commas, the most specific
// first: the first that has a group is obeyed, and "*" if none has.
func (f *File) Match(token, target string) (m Match) {
	f = f.orEmpty()
	var own rules
	r, x := f.obeys(token, &own)
	r.say(&m, r.match(x, target))
	return m
}

// Match is as [File.Match], for the crawler the group was made for.
func (g *Group) Match(target string) (m Match) {
	g.say(&m, g.match(g.ready(), target))
	return m
}

// obeys returns the rules that token obeys, in own if they are of no group that
// is kept, and their index, if they have one.
func (f *File) obeys(token string, own *rules) (*rules, *index) {
	g := f.known(token)
	if g == nil {
		if g, *own = f.obeyed(token); g == nil {
			return own, nil
		}
	}
	return &g.rules, g.ready()
}

// say makes the verdict of the best rule, or of none.
func (r *rules) say(m *Match, best rule) {
	m.Allowed, m.Agent = true, r.agent()
	if best.bits != 0 {
		m.Rule = r.file.written(int(best.item))
		m.Allowed = m.Rule.Allow
	}
}

// tried reports whether the rules are tried one after another, however often.
func (r *rules) tried() bool {
	return r.weight <= few && !r.merged || r.file.dialect.inOrder
}

// ready returns the index of a group of many rules. It is made when the group
// is asked for the second time.
func (g *Group) ready() *index {
	if g.tried() {
		return nil
	}
	x := g.index.Load()
	if x == nil && g.asked.Add(1) == 2 {
		x = newIndex(g.file, g.all(), many)
		g.index.Store(x)
	}
	return x
}

// match returns the best rule for a target as it was given, or a zero rule.
func (r *rules) match(x *index, target string) rule {
	if strings.HasPrefix(target, "/") && isNormal(target) {
		return r.decide(x, target, false)
	}
	d := &r.file.dialect
	target = d.origin(target)
	if d.form == googleForm || isNormal(target) {
		return r.decide(x, target, false)
	}
	var buf [bufSize]byte
	t, folds := d.form.target(buf[:0], target, false)
	return r.decide(x, view(t), folds)
}

// origin returns the path and query of a target, at least "/".
func (d *Dialect) origin(target string) string {
	target = until(target, '#')
	if d.nulEnds {
		target = until(target, 0)
	}
	if strings.HasPrefix(target, "/") {
		return target
	}
	i := 0
	if scheme, _, ok := strings.Cut(target, "://"); ok && isScheme(scheme) {
		i = delimiter(target, len(scheme)+len("://"))
	} else if d.hostFirst {
		i = delimiter(target, 0)
	}
	if i == len(target) || target[i] != '/' {
		return "/" + target[i:]
	}
	return target[i:]
}

// isScheme reports whether s is the scheme of a URL: RFC 3986, section 3.1.
func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		if l := c | 0x20; !('a' <= l && l <= 'z' || i > 0 && (isDigit(c) || c == '+' || c == '-' || c == '.')) {
			return false
		}
	}
	return s != ""
}

// delimiter returns where the path can begin in s, from byte i on.
func delimiter(s string, i int) int {
	for i < len(s) && s[i] != '/' && s[i] != '?' && s[i] != ';' {
		i++
	}
	return i
}

// decide returns the best rule for the normalised target t, or a zero rule.
// folds says that rules with a query see the target otherwise.
func (r *rules) decide(x *index, t string, folds bool) rule {
	switch {
	case r.weight == 0 || !r.file.dialect.noExempt && t == "/robots.txt":
		return rule{}
	case folds:
		return r.bestFolded(x, t)
	case x != nil:
		return x.match(t, kinds{}, rule{})
	}
	return r.scan(t, "")
}

// bestFolded returns the best rule for a target that rules with a query see
// otherwise than rules without.
func (r *rules) bestFolded(x *index, t string) rule {
	var buf [bufSize]byte
	folded := view(fold(buf[:0], t))
	if x == nil {
		return r.scan(t, folded)
	}
	best := x.match(t, kinds{mask: ruleQuery}, rule{})
	return x.match(folded, kinds{ruleQuery, ruleQuery}, best)
}

// kinds selects rules by their flags.
type kinds struct{ mask, want uint32 }

func (k kinds) has(r rule) bool { return r.bits&k.mask == k.want }

// scan tries the rules one after another. Those with a literal "?" see folded,
// unless it is empty.
func (r *rules) scan(t, folded string) rule {
	f := r.file
	if !r.merged {
		return f.scan(int(r.from), t, folded, rule{})
	}
	var best rule
	for i, from := r.begin(int(r.first), -1); i >= 0; i, from = r.begin(i+1, from) {
		if pos, weight := f.weigh(from); weight > 0 {
			best = f.scan(pos, t, folded, best)
		}
		if best.bits != 0 && f.dialect.inOrder {
			break
		}
	}
	return best
}

// scan tries the rules of one group, the first of which stands at pos. It
// returns best if none outranks it.
func (f *File) scan(pos int, t, folded string, best rule) rule {
	for {
		if folded == "" {
			pos = f.pass(pos, t)
		}
		h := f.head(pos)
		if h.ends() {
			return best
		}
		if h.kind&kindRule != 0 && h.rank() > best.rank() && f.matches(h, t, folded) {
			best = rule{uint32(h.off), uint32(h.end-h.off)<<ruleShift | uint32(h.kind&kindAllow), uint32(pos)}
			if f.dialect.inOrder {
				return best
			}
		}
		pos = f.after(h)
	}
}

// pass returns the first item, from pos on, that is not in haste told to be a
// rule without effect on t: a short literal of which t lacks one of the last
// two octets.
func (f *File) pass(pos int, t string) int {
	text := f.text
	for {
		k, size := kind(text[pos]), int(text[pos+1])
		if k&^kindAllow != kindRule || size >= 0x80 {
			return pos
		}
		end := pos + 2 + size
		if size <= len(t) && text[end-1] == t[size-1] && (size == 1 || text[end-2] == t[size-2]) {
			return pos
		}
		for pos = end + 1; text[pos-1] >= 0x80; pos++ {
		}
	}
}

// rank is as rule.rank.
func (h header) rank() uint32 { return uint32(h.end-h.off)<<1 | uint32(h.kind&kindAllow) }

// matches reports whether the rule h matches a target, in the form that the
// rule sees.
func (f *File) matches(h header, t, folded string) bool {
	p := f.text[h.off:h.end]
	if folded != "" && strings.IndexByte(p, '?') >= 0 {
		t = folded
	}
	if h.kind&kindSpecial == 0 {
		return len(t) >= len(p) && t[len(p)-1] == p[len(p)-1] && t[:len(p)] == p
	}
	whole := p[len(p)-1] == '$'
	if whole {
		p = p[:len(p)-1]
	}
	return matches(p, t, whole, nil)
}

// literal returns the normalised pattern of r without its anchor.
func (f *File) literal(r rule) string {
	p := f.pattern(r)
	if r.bits&ruleWhole != 0 {
		p = p[:len(p)-1]
	}
	return p
}

// pattern returns the normalised pattern of r.
func (f *File) pattern(r rule) string {
	return f.text[r.off : int(r.off)+r.size()]
}

// written returns the rule of an item as the file has it.
func (f *File) written(item int) Rule {
	h := f.head(item)
	number, _ := uvarint(f.text, h.number)
	if h.kind&kindApart == 0 {
		return Rule{int(number), h.kind&kindAllow != 0, f.text[h.off:h.end]}
	}
	e, _ := f.next(item - int(number))
	return Rule{e.line, e.kind == allow, e.value}
}
