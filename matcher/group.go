package matcher

import (
	"iter"
	"slices"
	"sort"
	"strings"
	"sync"
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

// A builder collects the records of a group.
type builder struct {
	dialect   *Dialect
	rules     []rule
	patterns  []byte     // the patterns in normal form, one after another; becomes rules.text
	originals []original // becomes Group.originals
	written   []byte     // becomes Group.originalText
	others    []record   // the other records
}

// An original is a pattern as it is written in the file, which normalising has changed.
type original struct {
	line int32 // number of the line
	end  int32 // where the pattern ends in Group.originalText; it begins where the one before ends
}

// builders keeps the memory of builders for the next file. Their lists then need not grow: the
// first match in a file with 1,000 rules takes three quarters of the time.
var builders = sync.Pool{New: func() any { return new(builder) }}

// reset removes all records.
func (b *builder) reset(d *Dialect) {
	b.dialect, b.others = d, b.others[:0]
	b.removeRules()
}

// removeRules removes all rules.
func (b *builder) removeRules() {
	b.rules, b.patterns, b.originals, b.written = b.rules[:0], b.patterns[:0], b.originals[:0], b.written[:0]
}

// group returns the group of the records, which stand in text. agent is the first user-agent
// value that names the crawler.
func (b *builder) group(agent, text string) *Group {
	g := &Group{agent: "*", dialect: *b.dialect, originals: slices.Clone(b.originals), otherLines: make([]int32, len(b.others))}
	if !b.dialect.isDefault(agent) {
		g.agent = strings.Clone(agent)
	}
	all := append(b.patterns, b.written...) // and then the other records, to allocate once
	for i := range b.others {
		r := &b.others[i]
		all = append(append(all, text[r.from:r.to]...), '\n')
		g.otherLines[i] = r.line
		if r.kind == delay && !g.hasDelay {
			g.delay, g.hasDelay = parseSeconds(text[r.valueAt:r.to])
		}
	}
	patterns, written := len(b.patterns), len(b.written)
	b.patterns = all[:0]
	kept := string(all)
	g.rules = rules{kept[:patterns], slices.Clone(b.rules), b.dialect.inOrder}
	g.originalText, g.others = kept[patterns:patterns+written], kept[patterns+written:]
	return g
}

// addRule adds the rule that the scanner has read. With Dialect.indexHTML, a rule that allows an
// index page allows its folder, too.
func (b *builder) addRule(s *scanner) {
	p := s.value()
	b.addPattern(s, p)
	if b.dialect.indexHTML && s.kind == allow {
		slash := strings.LastIndexByte(p, '/')
		if slash >= 0 && strings.HasPrefix(p[slash:], "/index.htm") {
			b.addPattern(s, p[:slash+1]+"$")
		}
	}
}

// addPattern adds a rule with the given pattern, brought to normal form. The scanner has read
// the rule. A pattern with control bytes matches nothing and is left out.
func (b *builder) addPattern(s *scanner, pattern string) {
	body, anchored := strings.CutSuffix(pattern, "$")
	props := propertiesOf(body)
	if props&control != 0 && !b.dialect.loose {
		return
	}
	r := rule{begin: int32(len(b.patterns)), line: s.line, allow: s.kind == allow, query: props&question != 0}
	if props&altered == 0 {
		b.patterns = append(b.patterns, pattern...)
	} else {
		b.patterns = b.dialect.form.appendNormal(b.patterns, pattern, asPattern)
	}
	normal := view(b.patterns[r.begin:])
	if r.setPair(normal); (anchored || props&star != 0) && !b.dialect.literal {
		r.setShape(normal)
	}
	b.rules = append(b.rules, r)
	if value := s.value(); props&altered != 0 && normal != value || len(pattern) != len(value) {
		b.keepOriginal(s)
	}
}

// keepOriginal keeps the pattern of a rule as it is written, once.
func (b *builder) keepOriginal(s *scanner) {
	if n := len(b.originals); n == 0 || b.originals[n-1].line != s.line {
		b.written = append(b.written, s.value()...)
		b.originals = append(b.originals, original{s.line, int32(len(b.written))})
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
	if g.dialect.form == googleForm || propertiesOf(target)&(altered|star) == 0 {
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
