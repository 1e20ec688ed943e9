package matcher

import (
	"iter"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"
)

// A Group is what one crawler has to obey: the rules of all groups that name
// it, merged, or of the default groups if none does (RFC 9309, section
// 2.2.1). It is immutable, safe for concurrent use, and holds no part of the text
// of its File.
type Group struct {
	agent        string        // first user-agent value that names the crawler
	dialect      Dialect       // dialect of the file
	originals    []original    // the patterns that normalising has changed, by line
	originalText string        // the originals, one after another
	delay        time.Duration // the crawl-delay
	hasDelay     bool          // there is a crawl-delay
	rules        rules
	asked        atomic.Bool           // Match has been called
	index        atomic.Pointer[index] // nil if the rules are tried one after another

	// Other records, in the order of the file. They are kept as text: a file can have
	// 170,000 of them, and a list of structs takes twenty times the memory of the file.
	others     string  // the records as they are written, each with a line feed
	otherLines []int32 // the line number of each record in others
}

// groupBuilder adds records to a group.
type groupBuilder struct {
	*Group
	text        string // where the records stand
	patterns    []byte // the patterns in normal form, one after another; becomes rules.text
	rest        int    // size of the patterns, as written, that are not yet added
	originalBuf []byte // becomes Group.originalText
	others      strings.Builder
}

// An original is a pattern as it is written in the file, which normalising has changed.
type original struct {
	line int32 // number of the line
	end  int32 // where the pattern ends in Group.originalText; it begins where the one before ends
}

// newGroup makes a group of the records that a crawler obeys, which stand in text.
// agent is the first user-agent value that names the crawler.
func (d *Dialect) newGroup(agent, text string, records []record) *Group {
	b := groupBuilder{Group: &Group{agent: "*", dialect: *d}, text: text}
	if !d.isDefault(agent) {
		b.agent = strings.Clone(agent)
	}
	rules, patterns, others := 0, 0, 0 // number of rules, bytes of patterns, bytes of other records
	for i := range records {
		if r := &records[i]; r.kind.isRule() {
			rules++
			patterns += int(r.to - r.valueAt)
		} else {
			others += int(r.to-r.from) + 1
		}
	}
	b.rules.list, b.patterns, b.rest = make([]rule, 0, rules), make([]byte, 0, patterns), patterns
	b.otherLines = make([]int32, 0, len(records)-rules)
	b.others.Grow(others)
	for i := range records {
		if r := &records[i]; r.kind.isRule() {
			b.addRule(r)
		} else {
			b.addOther(r)
		}
	}
	b.rules.text, b.rules.inOrder = view(b.patterns), d.inOrder
	if cap(b.patterns) > patterns { // it grew, and has room left
		b.rules.text = string(b.patterns)
	}
	b.Group.originalText, b.Group.others = string(b.originalBuf), b.others.String()
	return b.Group
}

// addOther adds a record that is no rule.
func (b *groupBuilder) addOther(r *record) {
	b.others.WriteString(b.text[r.from:r.to])
	b.others.WriteByte('\n')
	b.otherLines = append(b.otherLines, r.line)
	if r.kind == delay && !b.hasDelay {
		b.delay, b.hasDelay = parseSeconds(b.text[r.valueAt:r.to])
	}
}

// addRule adds a rule. With Dialect.indexHTML, a rule that allows an index page allows its
// folder, too.
func (b *groupBuilder) addRule(r *record) {
	p := b.text[r.valueAt:r.to]
	b.addPattern(r, p)
	if b.dialect.indexHTML && r.kind == allow {
		slash := strings.LastIndexByte(p, '/')
		if slash >= 0 && strings.HasPrefix(p[slash:], "/index.htm") {
			b.addPattern(r, p[:slash+1]+"$")
		}
	}
	b.rest -= len(p)
}

// addPattern adds a rule with the given pattern, brought to normal form. from is the record
// of the rule. A pattern with control bytes matches nothing and is left out.
func (b *groupBuilder) addPattern(from *record, pattern string) {
	literal, anchored := strings.CutSuffix(pattern, "$")
	props := propertiesOf(literal)
	if props&control != 0 && !b.dialect.loose {
		return
	}
	r := rule{begin: int32(len(b.patterns)), line: from.line, allow: from.kind == allow, query: props&question != 0}
	if props&altered == 0 {
		b.patterns = append(b.patterns, pattern...)
	} else {
		if props&foreign != 0 && cap(b.patterns)-len(b.patterns) < 3*len(pattern) {
			// The other patterns probably have such bytes, too. To make room for each of them
			// takes a fifth of the time of a file in Japanese.
			b.patterns = slices.Grow(b.patterns, 3*b.rest)
		}
		b.patterns = b.dialect.form.appendNormal(b.patterns, pattern, asPattern)
	}
	normal := b.patterns[r.begin:]
	if anchored && !b.dialect.literal {
		r.ending = endAnchor
	}
	if props&star != 0 && !b.dialect.literal {
		r.setShape(normal)
	}
	b.rules.list = append(b.rules.list, r)
	if written := b.text[from.valueAt:from.to]; props&(altered|star) != 0 && view(normal) != written || len(pattern) != len(written) {
		b.keepOriginal(from)
	}
}

// keepOriginal keeps the pattern of a rule as it is written, once.
func (b *groupBuilder) keepOriginal(r *record) {
	if n := len(b.originals); n == 0 || b.originals[n-1].line != r.line {
		if b.originalBuf == nil {
			b.originalBuf = make([]byte, 0, b.rest)
		}
		b.originalBuf = append(b.originalBuf, b.text[r.valueAt:r.to]...)
		b.originals = append(b.originals, original{r.line, int32(len(b.originalBuf))})
	}
}

// Agent returns the user-agent value of the group, as written in the first line
// that names the crawler; "*" for the default group; "" if no group applies.
func (g *Group) Agent() string { return g.agent }

// Rules returns the rules that can match something, in the order of the file.
func (g *Group) Rules() iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		last := int32(0)
		for i, r := range g.rules.list {
			if r.line != last && !yield(g.asWritten(int32(i))) {
				return
			}
			last = r.line
		}
	}
}

// asWritten returns rule i as it is written in the file.
func (g *Group) asWritten(i int32) Rule {
	r := &g.rules.list[i]
	n := sort.Search(len(g.originals), func(i int) bool { return g.originals[i].line >= r.line })
	if n == len(g.originals) || g.originals[n].line != r.line {
		return Rule{int(r.line), r.allow, g.rules.pattern(i)}
	}
	begin := int32(0)
	if n > 0 {
		begin = g.originals[n-1].end
	}
	return Rule{int(r.line), r.allow, g.originalText[begin:g.originals[n].end]}
}

// Match is as [File.Match], for the crawler the group was made for.
func (g *Group) Match(target string) Match {
	if props := propertiesOf(target); props&(altered|star) == 0 && strings.HasPrefix(target, "/") {
		if props&question == 0 {
			return g.decide(target, "")
		}
		return g.decide(target, target)
	}
	target = g.dialect.originForm(target)
	if g.dialect.form == googleForm || isNormalTarget(target) {
		return g.decide(target, target)
	}
	var buf, queryBuf [usualTarget]byte
	t := view(g.dialect.form.appendNormal(buf[:0], target, asTarget))
	if !strings.Contains(t, "?") {
		return g.decide(t, "")
	}
	return g.decide(t, view(g.dialect.form.appendNormal(queryBuf[:0], target, asQueryTarget)))
}

// usualTarget is the size of a target, in bytes, up to which no memory is
// allocated for it.
const usualTarget = 512

// view returns b as a string that must not outlive the next change of b.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// decide returns the verdict on a target in normal form. Rules with a query see it as q,
// which can be "" if the target has no query.
func (g *Group) decide(t, q string) Match {
	m := Match{Allowed: true, Agent: g.agent}
	if len(g.rules.list) == 0 || !g.dialect.noExempt && t == "/robots.txt" {
		return m
	}
	best := int32(-1)
	if x := g.readyIndex(); x != nil {
		best = x.best(t, q)
	} else {
		best = g.rules.best(t, q)
	}
	if best >= 0 {
		m.Rule = g.asWritten(best)
		m.Allowed = m.Rule.Allow
	}
	return m
}

// A group of more than fewRules rules gets an index for its second match: to build the index
// takes as long as many matches. A group of more than manyRules gets it for the first match,
// which would take longer without it if the rules have stars.
const (
	fewRules  = 64
	manyRules = 4000
)

// readyIndex returns the index of the rules, nil if there is none yet.
func (g *Group) readyIndex() *index {
	x := g.index.Load()
	if x != nil || len(g.rules.list) <= fewRules || !g.asked.Swap(true) && len(g.rules.list) <= manyRules {
		return x
	}
	g.index.CompareAndSwap(nil, newIndex(&g.rules, fewCandidates))
	return g.index.Load()
}

// Size returns about how many bytes of memory g retains, with the index that a group
// of many rules gets at its second match.
func (g *Group) Size() int {
	n := int(unsafe.Sizeof(*g)) + len(g.agent) + bytesOf(g.originals) + len(g.originalText) + len(g.others) + bytesOf(g.otherLines)
	return n + g.rules.size(g.index.Load())
}

// bytesOf returns the memory of a list.
func bytesOf[T any](list []T) int {
	var one T
	return cap(list) * int(unsafe.Sizeof(one))
}
