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
	agent    string        // first user-agent value that names the crawler
	dialect  Dialect       // dialect of the file
	rules    []rule        // rules that can match something, by rank
	written  []Rule        // rules whose pattern normalising changed, as written, by line
	delay    time.Duration // the crawl-delay
	hasDelay bool          // there is a crawl-delay
	indexes  atomic.Pointer[indexes]
	asked    atomic.Bool // a question has come

	// Other records, in the order of the file. They are kept as text: a file can have
	// 170,000 of them, and a list of structs takes twenty times the memory of the file.
	others     string  // each as it is written, with a line feed
	otherLines []int32 // number of the line of each record
}

// newGroup makes a group of the records that a crawler obeys. agent is the first
// user-agent value that names the crawler.
func (d *Dialect) newGroup(agent, text string, records []kept) *Group {
	if d.isDefault(agent) {
		agent = "*"
	}
	size, rules := len(agent), 0
	for i := range records {
		r := &records[i]
		size += r.to - r.from + 1
		if r.kind.isRule() {
			rules++
		}
	}
	b := groupBuilder{Group: &Group{dialect: *d}, text: make([]byte, 0, size)}
	b.agent = b.keep(agent)
	if rules < len(records) {
		b.addOthers(text, records, len(records)-rules)
	}
	b.addRules(text, records, rules)
	return b.Group
}

// groupBuilder fills a group.
type groupBuilder struct {
	*Group
	text []byte // memory for the strings of the group
	tmp  []byte // the pattern being normalised
}

// keep returns a copy of s in the memory of the group.
func (b *groupBuilder) keep(s string) string {
	if cap(b.text)-len(b.text) < len(s) {
		b.text = make([]byte, 0, max(len(s), cap(b.text)/2))
	}
	n := len(b.text)
	b.text = append(b.text, s...)
	return view(b.text[n:])
}

// addOthers adds the n records that are no rules.
func (b *groupBuilder) addOthers(text string, records []kept, n int) {
	b.otherLines = make([]int32, 0, n)
	start := len(b.text)
	for i := range records {
		r := &records[i]
		if r.kind.isRule() {
			continue
		}
		b.text = append(append(b.text, text[r.from:r.to]...), '\n')
		b.otherLines = append(b.otherLines, r.line)
		if r.kind == delay && !b.hasDelay {
			_, value, _ := b.dialect.split(text[r.from:r.to])
			b.delay, b.hasDelay = seconds(value)
		}
	}
	b.others = view(b.text[start:])
}

// addRules adds the n rules, without those that can match nothing.
func (b *groupBuilder) addRules(text string, records []kept, n int) {
	var buf [64]rule
	list := buf[:0]
	if n > len(buf) {
		list = make([]rule, 0, n)
	}
	for i := range records {
		r := &records[i]
		if !r.kind.isRule() {
			continue
		}
		written := Rule{int(r.line), r.kind == allow, text[r.from:r.to]}
		list = b.addRule(list, written, written.Pattern)
		if b.dialect.indexHTML && written.Allow {
			// A rule with an index page stands for its folder, too.
			slash := strings.LastIndexByte(written.Pattern, '/')
			if slash >= 0 && strings.HasPrefix(written.Pattern[slash:], "/index.htm") {
				list = b.addRule(list, written, written.Pattern[:slash+1]+"$")
			}
		}
	}
	b.rules = b.dialect.rank(list)
}

// addRule appends a rule with the given pattern, brought to normal form, if it can
// match something.
func (b *groupBuilder) addRule(list []rule, written Rule, pattern string) []rule {
	all := shared(strings.TrimSuffix(pattern, "$"))
	if all&notControl == 0 && !b.dialect.loose {
		return list
	}
	normal := pattern
	if all&inPattern == 0 {
		b.tmp, _ = b.dialect.form.appendNormal(b.tmp[:0], pattern, true)
		normal, all = view(b.tmp), shared(view(b.tmp))
	}
	if normal != written.Pattern {
		b.keepWritten(written)
	}
	r := rule{line: int32(written.Line), allow: written.Allow}
	b.dialect.setPattern(&r, b.keep(normal), all)
	return append(list, r)
}

// keepWritten keeps a rule as it is written.
func (b *groupBuilder) keepWritten(r Rule) {
	if n := len(b.written); n == 0 || b.written[n-1].Line != r.Line {
		r.Pattern = b.keep(r.Pattern)
		b.written = append(b.written, r)
	}
}

// Agent returns the user-agent value of the group, as written in the first line
// that names the crawler; "*" for the default group; "" if no group applies.
func (g *Group) Agent() string { return g.agent }

// Rules returns the rules that can match something, in the order of the file.
func (g *Group) Rules() iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		list := slices.Clone(g.rules)
		slices.SortFunc(list, func(a, b rule) int { return int(a.line) - int(b.line) })
		last := int32(0)
		for i := range list {
			if r := &list[i]; r.line != last && !yield(g.explain(r)) {
				return
			}
			last = list[i].line
		}
	}
}

// explain returns a rule as it is written.
func (g *Group) explain(r *rule) Rule {
	n := sort.Search(len(g.written), func(i int) bool { return g.written[i].Line >= int(r.line) })
	if n < len(g.written) && g.written[n].Line == int(r.line) {
		return g.written[n]
	}
	return Rule{int(r.line), r.allow, r.pattern}
}

// Match is as [File.Match], for the crawler the group was made for.
func (g *Group) Match(target string) Match {
	if strings.HasPrefix(target, "/") && isNormalTarget(target) {
		return g.decide(target, false)
	}
	target = g.dialect.origin(target)
	if g.dialect.form == googleForm || isNormalTarget(target) {
		return g.decide(target, false)
	}
	var buf [targetUsual]byte
	t, folds := g.dialect.form.appendNormal(buf[:0], target, false)
	return g.decide(view(t), folds)
}

// targetUsual is the size of a target, in bytes, up to which no memory is
// allocated for it.
const targetUsual = 512

// view returns b as a string that must not outlive the next change of b.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// decide returns the verdict on a target in normal form. folds says that rules
// with a query see the target otherwise.
func (g *Group) decide(t string, folds bool) Match {
	m := Match{Allowed: true, Agent: g.agent}
	if len(g.rules) == 0 || !g.dialect.noExempt && t == "/robots.txt" {
		return m
	}
	folded := t
	var buf [targetUsual]byte
	if folds {
		folded = view(fold(buf[:0], t))
	}
	if n := g.first(t, folded); n >= 0 {
		m.Rule = g.explain(&g.rules[n])
		m.Allowed = m.Rule.Allow
	}
	return m
}

// Rules are tried one after another, in order of rank, up to a number. Beyond it
// an index is quicker, but to make one takes as long as many questions; so
// it is made for the second question, or for the first if there are very many
// rules with stars, which take longest to try.
const (
	rulesFew  = 32
	starsMany = 4000
)

// first returns the number of the first rule that matches, or -1. Rules with a
// query see the target folded.
func (g *Group) first(t, folded string) int {
	if x := g.index(); x != nil {
		if n, ok := x.first(t, folded); ok {
			return n
		}
	}
	for i := range g.rules {
		r, target := &g.rules[i], t
		if r.query {
			target = folded
		}
		if r.matches(target) {
			return i
		}
	}
	return -1
}

// index returns the indexes of the rules, or nil if the rules are to be tried one
// after another.
func (g *Group) index() *indexes {
	x := g.indexes.Load()
	if x != nil || len(g.rules) <= rulesFew || !g.asked.Swap(true) && g.starred() <= starsMany {
		return x
	}
	g.indexes.CompareAndSwap(nil, newIndexes(g.rules))
	return g.indexes.Load()
}

// starred returns the number of rules with stars.
func (g *Group) starred() int {
	n := 0
	for i := range g.rules {
		if g.rules[i].starred {
			n++
		}
	}
	return n
}

// Size returns about how many bytes of memory g retains, with the index that a
// group of many rules gets at its second question.
func (g *Group) Size() int {
	n := int(unsafe.Sizeof(*g)) + len(g.agent) + bytesOf(g.rules) + bytesOf(g.written) + len(g.others) + bytesOf(g.otherLines)
	for i := range g.rules {
		n += len(g.rules[i].pattern)
	}
	for i := range g.written {
		n += len(g.written[i].Pattern)
	}
	if x := g.indexes.Load(); x != nil {
		n += x.size()
	} else if len(g.rules) > rulesFew {
		n += indexSize(g.rules)
	}
	return n
}

// bytesOf returns the memory of a list.
func bytesOf[T any](list []T) int {
	var one T
	return cap(list) * int(unsafe.Sizeof(one))
}
