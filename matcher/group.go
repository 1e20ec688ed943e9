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
	written  []Rule        // rules whose pattern normalising changed, as written, by line
	delay    time.Duration // the crawl-delay
	hasDelay bool          // there is a crawl-delay
	asked    atomic.Bool   // Match has been called
	rules    atomic.Pointer[rules]

	// Other records, in the order of the file. They are kept as text: a file can have
	// 170,000 of them, and a list of structs takes twenty times the memory of the file.
	others     string  // the records as they are written, each with a line feed
	otherLines []int32 // the line number of each record in others
}

// newGroup makes a group of the records that a crawler obeys, which stand in text.
// agent is the first user-agent value that names the crawler.
func (d *Dialect) newGroup(agent, text string, records []record) *Group {
	g := &Group{agent: "*", dialect: *d}
	if !d.isDefault(agent) {
		g.agent = strings.Clone(agent)
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
	if n := len(records) - rules; n > 0 {
		g.otherLines = make([]int32, 0, n)
		g.addOthers(text, records, others)
	}
	if rules > 0 {
		b := groupBuilder{Group: g, patterns: make([]byte, 0, patterns), list: make([]rule, 0, rules)}
		b.addRules(text, records)
	}
	return g
}

// addOthers adds the records that are no rules, of size bytes with line feeds.
func (g *Group) addOthers(text string, records []record, size int) {
	var b strings.Builder
	b.Grow(size)
	for i := range records {
		r := &records[i]
		if r.kind.isRule() {
			continue
		}
		b.WriteString(text[r.from:r.to])
		b.WriteByte('\n')
		g.otherLines = append(g.otherLines, r.line)
		if r.kind == delay && !g.hasDelay {
			g.delay, g.hasDelay = seconds(text[r.valueAt:r.to])
		}
	}
	g.others = b.String()
}

// groupBuilder adds rules to a group.
type groupBuilder struct {
	*Group
	patterns []byte // the patterns in normal form, one after another
	list     []rule // the rules
	tmp      []byte // the pattern being normalised
}

// addRules adds the rules, without those that can match nothing.
func (b *groupBuilder) addRules(text string, records []record) {
	for i := range records {
		r := &records[i]
		if !r.kind.isRule() {
			continue
		}
		written := Rule{int(r.line), r.kind == allow, text[r.valueAt:r.to]}
		b.addRule(written, written.Pattern)
		if b.dialect.indexHTML && written.Allow {
			// A rule with an index page stands for its folder, too.
			slash := strings.LastIndexByte(written.Pattern, '/')
			if slash >= 0 && strings.HasPrefix(written.Pattern[slash:], "/index.htm") {
				b.addRule(written, written.Pattern[:slash+1]+"$")
			}
		}
	}
	b.rules.Store(&rules{text: view(b.patterns), list: b.list, inOrder: b.dialect.inOrder})
}

// addRule adds a rule with the given pattern, brought to normal form, if it can
// match something.
func (b *groupBuilder) addRule(written Rule, pattern string) {
	all := commonProperties(strings.TrimSuffix(pattern, "$"))
	if all&notControl == 0 && !b.dialect.loose {
		return
	}
	normal := pattern
	if all&inPattern == 0 {
		b.tmp, _ = b.dialect.form.appendNormal(b.tmp[:0], pattern, true)
		normal, all = view(b.tmp), commonProperties(view(b.tmp))
	}
	r := rule{begin: int32(len(b.patterns)), line: int32(written.Line), allow: written.Allow}
	normal = b.dialect.setPattern(&r, normal, all)
	if normal != written.Pattern {
		b.keepWritten(written)
	}
	b.patterns, b.list = append(b.patterns, normal...), append(b.list, r)
}

// keepWritten keeps a rule as it is written, once.
func (b *groupBuilder) keepWritten(r Rule) {
	if n := len(b.written); n == 0 || b.written[n-1].Line != r.Line {
		r.Pattern = strings.Clone(r.Pattern)
		b.written = append(b.written, r)
	}
}

// Agent returns the user-agent value of the group, as written in the first line
// that names the crawler; "*" for the default group; "" if no group applies.
func (g *Group) Agent() string { return g.agent }

// Rules returns the rules that can match something, in the order of the file.
func (g *Group) Rules() iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		s := g.rules.Load()
		if s == nil {
			return
		}
		byLine := make([]int, len(s.list))
		for i := range byLine {
			byLine[i] = i
		}
		slices.SortFunc(byLine, func(i, j int) int { return int(s.list[i].line - s.list[j].line) })
		last := int32(0)
		for _, i := range byLine {
			if s.list[i].line != last && !yield(g.asWritten(s, i)) {
				return
			}
			last = s.list[i].line
		}
	}
}

// asWritten returns rule i as it is written in the file.
func (g *Group) asWritten(s *rules, i int) Rule {
	r := &s.list[i]
	n := sort.Search(len(g.written), func(i int) bool { return g.written[i].Line >= int(r.line) })
	if n < len(g.written) && g.written[n].Line == int(r.line) {
		return g.written[n]
	}
	return Rule{int(r.line), r.allow, s.pattern(i)}
}

// Match is as [File.Match], for the crawler the group was made for.
func (g *Group) Match(target string) Match {
	if strings.HasPrefix(target, "/") && isNormalTarget(target) {
		return g.decide(target, false)
	}
	target = g.dialect.originForm(target)
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
// with a query see another target, which fold returns.
func (g *Group) decide(t string, folds bool) Match {
	m := Match{Allowed: true, Agent: g.agent}
	s := g.readyRules()
	if s == nil || !g.dialect.noExempt && t == "/robots.txt" {
		return m
	}
	best := -1
	if folds {
		var buf [targetUsual]byte
		best = s.best(t, rulesWithoutQuery)
		if i := s.best(view(fold(buf[:0], t)), rulesWithQuery); i >= 0 && (best < 0 || s.outranks(i, best)) {
			best = i
		}
	} else {
		best = s.best(t, allRules)
	}
	if best >= 0 {
		m.Rule = g.asWritten(s, best)
		m.Allowed = m.Rule.Allow
	}
	return m
}

// readyRules returns the rules, nil if there are none. Many rules are sorted for the
// second match, or for the first if very many have stars.
func (g *Group) readyRules() *rules {
	s := g.rules.Load()
	if s == nil || s.sorted || len(s.list) <= rulesFew || !g.asked.Swap(true) && s.stars() <= starsMany {
		return s
	}
	g.rules.CompareAndSwap(s, s.index(starsFew))
	return g.rules.Load()
}

// Size returns about how many bytes of memory g retains, with the trie that a group
// of many rules with stars gets at its second match.
func (g *Group) Size() int {
	n := int(unsafe.Sizeof(*g)) + len(g.agent) + bytesOf(g.written) + len(g.others) + bytesOf(g.otherLines)
	for i := range g.written {
		n += len(g.written[i].Pattern)
	}
	if s := g.rules.Load(); s != nil {
		n += s.size()
	}
	return n
}

// bytesOf returns the memory of a list.
func bytesOf[T any](list []T) int {
	var one T
	return cap(list) * int(unsafe.Sizeof(one))
}
