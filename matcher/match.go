package matcher

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"unsafe"
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
	ruleShift = iota
)

func (r rule) size() int { return int(r.bits >> ruleShift) }

// builder collects the rules of a group.
type builder struct {
	file  *File
	rules []rule
	own   []byte
	tmp   []byte
}

// add adds one rule, unless it can never match.
func (b *builder) add(e entry) {
	d := &b.file.dialect
	if d.idle(e.value) {
		return
	}
	var hasQuery bool
	b.tmp, hasQuery = d.form.rule(b.tmp[:0], e.value)
	r := rule{off: uint32(e.off)}
	if hasQuery {
		r.bits |= ruleQuery
	}
	if e.kind == allow {
		r.bits |= ruleAllow
	}
	if string(b.tmp) != e.value {
		r.off = b.keep(string(b.tmp), e)
		r.bits |= ruleOwn
	}
	b.push(r, string(b.tmp))
	slash := strings.LastIndexByte(e.value, '/')
	if d.indexHTML && e.kind == allow && slash >= 0 && strings.HasPrefix(e.value[slash:], "/index.htm") {
		b.tmp, _ = d.form.rule(b.tmp[:0], e.value[:slash+1])
		b.tmp = append(b.tmp, '$')
		b.push(rule{b.keep(string(b.tmp), e), ruleAllow | ruleOwn}, string(b.tmp))
	}
}

// push adds r, whose normalised pattern is p.
func (b *builder) push(r rule, p string) {
	r.bits |= uint32(len(p)) << ruleShift
	if !b.file.dialect.literal && strings.HasSuffix(p, "$") {
		r.bits |= ruleWhole
	}
	b.rules = append(b.rules, r)
}

// keep stores the normalised pattern of e apart.
func (b *builder) keep(p string, e entry) uint32 {
	off := len(b.own)
	b.own = append(b.own, p...)
	b.own = binary.AppendUvarint(b.own, uint64(e.off))
	b.own = binary.AppendUvarint(b.own, uint64(len(e.value)))
	return uint32(off)
}

// finish returns the rules in the order in which they are tried: the longest
// first, of equal ones allow first, of those the first line.
func (b *builder) finish() ([]rule, string) {
	if !b.file.dialect.inOrder {
		slices.SortStableFunc(b.rules, func(x, y rule) int {
			if c := cmp.Compare(y.size(), x.size()); c != 0 {
				return c
			}
			return cmp.Compare(y.bits&ruleAllow, x.bits&ruleAllow)
		})
	}
	return slices.Clone(b.rules), string(b.own)
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
	var buf [512]byte
	t, folds := g.file.dialect.form.target(buf[:0], g.file.dialect.origin(target))
	return g.decide(unsafe.String(unsafe.SliceData(t), len(t)), folds)
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
	folded := t
	if folds {
		folded = string(fold(nil, t))
	}
	for _, r := range g.rules {
		p, u := g.pattern(r), t
		if r.bits&ruleQuery != 0 {
			u = folded
		}
		if g.match(r, p, u) {
			m.Rule = g.written(r)
			m.Allowed = m.Rule.Allow
			return m
		}
	}
	return m
}

func (g *Group) match(r rule, p, t string) bool {
	if g.file.dialect.literal {
		return strings.HasPrefix(t, p)
	}
	if r.bits&ruleWhole != 0 {
		return matches(p[:len(p)-1], t, true)
	}
	return matches(p, t, false)
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
