package matcher

import (
	"cmp"
	"encoding/binary"
	"slices"
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

// rule is a pattern ready to be compared: the octets text[off:off+size], where
// text is Group.own if the own bit is set and File.text otherwise. In File.text
// the line follows; in Group.own the place of the pattern as written does.
type rule struct {
	off  uint32
	bits uint32 // size, shifted, and flags
}

const (
	ruleAllow = 1 << iota // an allow line
	ruleWhole             // ends in an anchor
	ruleQuery             // has a literal "?"
	ruleOwn               // stands in Group.own
	ruleStar              // has a star
	ruleShift = iota
)

func (r rule) size() int { return int(r.bits >> ruleShift) }

// ruleBuilder collects the rules of a group.
type ruleBuilder struct {
	file  *File
	rules []rule
	own   []byte
	tmp   []byte
}

// add adds one rule, unless it can never match.
func (b *ruleBuilder) add(e entry) {
	d := &b.file.dialect
	r := rule{off: uint32(e.off)}
	if e.kind == allow {
		r.bits = ruleAllow
	}
	flags, ok := clean(e.value)
	switch {
	case !ok:
		b.addUnclean(r, e)
	case !d.idle(e.value):
		b.push(r, flags, len(e.value))
	}
	if d.indexHTML && e.kind == allow {
		b.addIndex(e)
	}
}

// addUnclean adds a rule whose pattern has to be normalised.
func (b *ruleBuilder) addUnclean(r rule, e entry) {
	if b.file.dialect.idle(e.value) {
		return
	}
	var flags uint32
	b.tmp, flags = b.file.dialect.form.rule(b.tmp[:0], e.value)
	if string(b.tmp) != e.value {
		r.off = b.keep(e)
		flags |= ruleOwn
	}
	b.push(r, flags, len(b.tmp))
}

// addIndex adds the rule for a directory that the Google dialect takes an allow
// rule for its index page to be.
func (b *ruleBuilder) addIndex(e entry) {
	slash := strings.LastIndexByte(e.value, '/')
	if slash < 0 || !strings.HasPrefix(e.value[slash:], "/index.htm") {
		return
	}
	e2 := e
	e2.value = e.value[:slash+1] + "$"
	if b.file.dialect.idle(e2.value) {
		return
	}
	var flags uint32
	b.tmp, flags = b.file.dialect.form.rule(b.tmp[:0], e2.value)
	b.push(rule{b.keep(e), ruleAllow | ruleOwn}, flags, len(b.tmp))
}

// push adds r with more flags and the size of its normalised pattern.
func (b *ruleBuilder) push(r rule, flags uint32, size int) {
	if b.file.dialect.literal {
		flags &^= ruleWhole | ruleStar
	}
	if !b.file.dialect.form.folds() {
		flags &^= ruleQuery
	}
	r.bits |= flags | uint32(size)<<ruleShift
	b.rules = append(b.rules, r)
}

// keep stores apart the normalised pattern in b.tmp, of the rule e.
func (b *ruleBuilder) keep(e entry) uint32 {
	off := len(b.own)
	b.own = append(b.own, b.tmp...)
	b.own = binary.AppendUvarint(b.own, uint64(e.off))
	b.own = binary.AppendUvarint(b.own, uint64(len(e.value)))
	return uint32(off)
}

// plan returns how the rules are tried. Few rules are in the order in which
// they are tried: the longest first, of equal ones allow first, of those the
// first line.
func (b *ruleBuilder) plan() *plan {
	p := &plan{rules: b.rules}
	if len(p.rules) < cap(p.rules) {
		p.rules = slices.Clone(p.rules)
	}
	if b.file.dialect.inOrder {
		p.ordered = true
	} else if len(p.rules) <= few {
		slices.SortStableFunc(p.rules, func(x, y rule) int { return cmp.Compare(y.rank(), x.rank()) })
		p.ordered = true
	}
	return p
}

// rank orders rules by the octets of their patterns, then allow before
// disallow (RFC 9309, section 2.2.2, paragraph 2).
func (r rule) rank() uint32 { return r.bits>>ruleShift<<1 | r.bits&ruleAllow }

// outranks reports whether r is to be used rather than o, if both match. Of
// rules of one rank it is the one that stands first. The zero rule is none.
func (g *Group) outranks(r, o rule) bool {
	if r.rank() != o.rank() {
		return r.rank() > o.rank()
	}
	return g.written(r).Line < g.written(o).Line
}

// idle reports whether a rule with this pattern can never match: it is empty,
// or begins as no path does, or has an octet no path has.
func (d *Dialect) idle(pattern string) bool {
	if pattern == "" || pattern[0] != '/' && (d.literal || pattern[0] != '*') {
		return true
	}
	return !d.loose && hasControl(pattern)
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
// URL, whose scheme and authority are set aside. A fragment is cut off.
func (f *File) Match(token, target string) Match {
	return f.Group(token).Match(target)
}

// Match is as [File.Match], for the crawler the group was made for.
func (g *Group) Match(target string) Match {
	d := &g.file.dialect
	target = d.origin(target)
	if d.form == googleForm {
		return g.decide(target, false)
	}
	var buf [bufSize]byte
	t, folds := d.form.target(buf[:0], target, false)
	return g.decide(view(t), folds)
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
	start := 0
	if i := strings.Index(target, "://"); i >= 0 && !strings.ContainsAny(target[:i], "/?;") {
		start = i + 3
	}
	i := strings.IndexAny(target[start:], "/?;")
	if i < 0 {
		return "/"
	}
	if target = target[start+i:]; target[0] != '/' {
		return "/" + target
	}
	return target
}

// decide tries the rules on the normalised target t.
func (g *Group) decide(t string, folds bool) Match {
	m := Match{Allowed: true, Agent: g.agent}
	if !g.file.dialect.noExempt && t == "/robots.txt" {
		return m
	}
	var best rule
	if folds {
		best = g.bestFolded(t)
	} else {
		best = g.best(t, kinds{}, best)
	}
	if best.bits != 0 {
		m.Rule = g.written(best)
		m.Allowed = m.Rule.Allow
	}
	return m
}

// bestFolded returns the best rule for a target that rules with a query see
// otherwise than rules without.
func (g *Group) bestFolded(t string) rule {
	var buf [bufSize]byte
	best := g.best(t, kinds{mask: ruleQuery}, rule{})
	return g.best(view(fold(buf[:0], t)), kinds{ruleQuery, ruleQuery}, best)
}

// kinds selects rules by their flags.
type kinds struct{ mask, want uint32 }

func (k kinds) has(r rule) bool { return r.bits&k.mask == k.want }

// few is the number of rules up to which they are tried one after another.
const few = 32

// plan is how the rules of a group are tried: one after another, or by index.
type plan struct {
	rules   []rule
	ordered bool // the first rule that matches decides
	index   *index
}

// best returns the best rule of the given kinds for t, if it outranks best. A
// group of many rules gets its index when it is asked for the second time.
func (g *Group) best(t string, k kinds, best rule) rule {
	p := g.plan.Load()
	if p.index == nil && !p.ordered && g.asked.Add(1) == 2 {
		p = &plan{index: newIndex(g, p.rules)}
		g.plan.Store(p)
	}
	if p.index != nil {
		return p.index.match(t, k, best)
	}
	return g.scan(p, t, k, best)
}

// scan tries rules one after another.
func (g *Group) scan(p *plan, t string, k kinds, best rule) rule {
	for _, r := range p.rules {
		if !k.has(r) || best.bits != 0 && !g.outranks(r, best) || !g.matches(r, t) {
			continue
		}
		if best = r; p.ordered {
			break
		}
	}
	return best
}

// matches reports whether the pattern of r matches t.
func (g *Group) matches(r rule, t string) bool {
	p, whole := g.literal(r), r.bits&ruleWhole != 0
	if r.bits&ruleStar == 0 {
		return strings.HasPrefix(t, p) && (!whole || len(t) == len(p))
	}
	return matches(p, t, whole)
}

// literal returns the normalised pattern of r without its anchor.
func (g *Group) literal(r rule) string {
	p := g.pattern(r)
	if r.bits&ruleWhole != 0 {
		p = p[:len(p)-1]
	}
	return p
}

// pattern returns the normalised pattern of r.
func (g *Group) pattern(r rule) string {
	text := g.file.text
	if r.bits&ruleOwn != 0 {
		text = g.own
	}
	return text[r.off : int(r.off)+r.size()]
}

// written returns r as the file has it.
func (g *Group) written(r rule) Rule {
	off, size := int(r.off), r.size()
	if r.bits&ruleOwn != 0 {
		o, n := uvarint(g.own, off+size)
		s, _ := uvarint(g.own, off+size+n)
		off, size = int(o), int(s)
	}
	line, _ := uvarint(g.file.text, off+size)
	return Rule{int(line), r.bits&ruleAllow != 0, g.file.text[off : off+size]}
}
