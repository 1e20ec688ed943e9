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
	lines    []line        // the patterns that normalising has changed, and the other records
	written  string        // the texts of the lines, one after another
	delay    time.Duration // the crawl-delay
	hasDelay bool          // there is a crawl-delay
	rules    rules
	asked    atomic.Bool           // a target was matched with more than fewRules rules
	index    atomic.Pointer[index] // nil if the rules are tried one after another
}

// A builder collects the records of a group.
type builder struct {
	dialect  *Dialect
	rules    []rule
	patterns []byte // the patterns in normal form, one after another; becomes rules.text
	lines    []line // becomes Group.lines
	written  []byte // becomes Group.written
}

// A line is a line of the file of which a group keeps a part as it is written: the value of a
// rule, or the whole of another record.
type line struct {
	number int32 // number of the line, from 1
	begin  int32 // where the text begins in Group.written; it ends where the next one begins
	kind   kind
}

// readGroups returns the group made of the given groups of the file, the first of which has the
// user-agent value agent.
func (s scanner) readGroups(agent string, groups []groupText) *Group {
	rules, size := 0, 0
	for _, g := range groups {
		rules, size = rules+g.rules, size+g.end-g.begin
	}
	b := builder{dialect: s.dialect, rules: make([]rule, 0, rules), patterns: make([]byte, 0, size)}
	for _, g := range groups {
		part := scanner{dialect: s.dialect, file: s.file[:g.end], pos: g.begin, record: record{line: g.line}, lineFeed: -1, hasCR: s.hasCR}
		for name, value, ok := part.next(); ok; name, value, ok = part.next() {
			b.add(&part, name, value)
		}
	}
	return b.group(agent)
}

// add adds the current record.
func (b *builder) add(s *scanner, name, value string) {
	switch {
	case s.kind.isRule() && b.dialect.canMatch(value):
		b.addRule(s, value)
		if b.dialect.indexHTML {
			b.addFolder(s, value)
		}
	case s.kind == other || s.kind == delay:
		b.addLine(s, name, ":", value)
	}
}

// addLine keeps the text of the current record, at most once. The text is given in parts.
func (b *builder) addLine(s *scanner, parts ...string) {
	if n := len(b.lines); n > 0 && b.lines[n-1].number == s.line {
		return
	}
	b.lines = append(b.lines, line{s.line, int32(len(b.written)), s.kind})
	for _, p := range parts {
		b.written = append(b.written, p...)
	}
}

// group returns the group of the records. agent is the first user-agent value that names the
// crawler.
func (b *builder) group(agent string) *Group {
	g := &Group{agent: "*", dialect: *b.dialect, lines: slices.Clone(b.lines)} // without spare memory
	if !b.dialect.isDefault(agent) {
		g.agent = strings.Clone(agent)
	}
	if len(b.rules) < cap(b.rules)/2 { // many lines were no rules that can match
		b.rules = slices.Clone(b.rules)
	}
	n := len(b.patterns)
	b.patterns = append(b.patterns, b.written...) // to allocate once
	text := string(b.patterns)
	g.rules, g.written = rules{text[:n], b.rules, b.dialect.inOrder}, text[n:]
	for i := 0; i < len(g.lines) && !g.hasDelay; i++ {
		if g.lines[i].kind == delay {
			_, value, _ := b.dialect.split(g.text(i))
			g.delay, g.hasDelay = parseSeconds(value)
		}
	}
	return g
}

// addFolder is called after addRule: "Allow: /x/index.html" also allows "/x/".
func (b *builder) addFolder(s *scanner, value string) {
	slash := strings.LastIndexByte(value, '/')
	if s.kind == allow && slash >= 0 && strings.HasPrefix(value[slash:], "/index.htm") {
		b.addRule(s, value[:slash+1]+"$")
		b.addLine(s, value)
	}
}

// addRule adds the current rule with the given pattern. A pattern with control bytes matches nothing
// and is left out.
func (b *builder) addRule(s *scanner, pattern string) {
	props := propertiesOf(strings.TrimSuffix(pattern, "$"))
	if props&control != 0 && !b.dialect.controls {
		return
	}
	normal := b.addPattern(s, pattern, props, folded)
	if normal != pattern {
		b.addLine(s, pattern)
	}
	if props&(star|question) == star|question && b.dialect.form == rfcForm && losesTriplet(normal) {
		b.addPattern(s, pattern, props&^question, 0)
		b.rules[len(b.rules)-1].shape |= unfolded
	}
}

// losesTriplet reports whether a pattern with its query folded can match less than the pattern as
// written: a "*" may begin in the path of a target, and end before a %2F or %3F of its query, which
// is "/" or "?" in a folded target.
func losesTriplet(pattern string) bool {
	_, afterStar, _ := strings.Cut(pattern, "*")
	path, _, hasQuery := strings.Cut(afterStar, "?")
	return hasQuery && (strings.Contains(path, "%2F") || strings.Contains(path, "%3F"))
}

// addPattern adds the current rule with the normal form of a pattern, and returns that form, which
// is valid until the next pattern is added. The pattern has the given properties.
func (b *builder) addPattern(s *scanner, pattern string, props uint8, query role) string {
	begin := len(b.patterns)
	if props&altered == 0 {
		b.patterns = append(b.patterns, pattern...)
	} else {
		b.patterns = b.dialect.form.appendNormal(b.patterns, pattern, asPattern|query)
		pattern = view(b.patterns[begin:])
	}
	b.rules = append(b.rules, rule{})
	r := &b.rules[len(b.rules)-1]
	r.begin, r.line, r.allow, r.query = int32(begin), s.line, s.kind == allow, props&question != 0
	r.pair = lastPair(pattern)
	if !b.dialect.literal && (props&star != 0 || strings.HasSuffix(pattern, "$")) {
		r.shape = shapeOf(pattern)
	}
	return pattern
}

// Agent returns the user-agent value of the group, as written in the first line
// that names the crawler; "*" for the default group; "" if no group applies.
func (g *Group) Agent() string { return g.agent }

// Rules returns the rules that can match something, in the order of the file.
func (g *Group) Rules() iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		last := int32(0) // a line with an index page makes two rules
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
	n := sort.Search(len(g.lines), func(n int) bool { return g.lines[n].number >= r.line })
	if n == len(g.lines) || g.lines[n].number != r.line {
		return Rule{int(r.line), r.allow, g.rules.pattern(i)}
	}
	return Rule{int(r.line), r.allow, g.text(n)}
}

// text returns the text of line i.
func (g *Group) text(i int) string {
	if i+1 < len(g.lines) {
		return g.written[g.lines[i].begin:g.lines[i+1].begin]
	}
	return g.written[g.lines[i].begin:]
}

// Match is [File.Match] for the crawler of the group.
func (g *Group) Match(target string) Match { return g.match(g.ruleFor(target)) }

// MatchPattern compares one pattern with a target, as a file with this rule alone would, and returns
// the length of the pattern, by which the rules of a file are compared. ok is false if the pattern
// does not match. Use a [Group] to match several patterns or targets.
func (d Dialect) MatchPattern(pattern, target string) (length int, ok bool) {
	b := builder{dialect: &d}
	b.add(&scanner{record: record{kind: allow, line: 1}}, "", pattern)
	g := b.group("*")
	i := g.ruleFor(target)
	if i < 0 {
		return 0, false
	}
	return g.rules.length(i), true
}

// match returns the verdict of rule i, or the verdict without a rule if i is -1.
func (g *Group) match(i int32) Match {
	if i < 0 {
		return Match{Allowed: true, Agent: g.agent}
	}
	r := g.asWritten(i)
	return Match{r.Allow, g.agent, r}
}

// ruleFor returns the number of the rule that decides on a target, -1 if none does.
func (g *Group) ruleFor(target string) int32 {
	if props := propertiesOf(target); props&(altered|star) == 0 && strings.HasPrefix(target, "/") {
		return g.decide(target, target)
	}
	target = g.dialect.originForm(target)
	// googleForm changes no target.
	if g.dialect.form == googleForm || propertiesOf(target)&(altered|star) == 0 {
		return g.decide(target, target)
	}
	var buf, queryBuf [usualTarget]byte
	t := view(g.dialect.form.appendNormal(buf[:0], target, 0))
	if !strings.Contains(t, "?") {
		return g.decide(t, t)
	}
	return g.decide(t, view(g.dialect.form.appendNormal(queryBuf[:0], target, folded)))
}

// usualTarget is the size of a target, in bytes, up to which no memory is
// allocated for it.
const usualTarget = 512

// view returns b as a string that must not outlive the next change of b.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// decide is ruleFor for a target in normal form. Rules with a query are compared with q.
func (g *Group) decide(t, q string) int32 {
	if len(g.rules.list) == 0 || !g.dialect.noExempt && t == "/robots.txt" {
		return -1
	}
	if x := g.readyIndex(len(t)); x != nil {
		return x.best(t, q)
	}
	return g.rules.best(t, q)
}

// A group of more than fewRules rules gets an index for its second match: to build the index
// takes as long as many matches. It gets the index for the first match if its number of rules times
// the length of the target exceeds manySteps, which is about 6 ms of comparing.
const (
	fewRules  = 64
	manySteps = 6 << 20
)

// readyIndex returns the index of the rules, for a match with a target of size bytes. It returns
// nil if there is no index yet.
func (g *Group) readyIndex(size int) *index {
	x, n := g.index.Load(), len(g.rules.list)
	if x != nil || n <= fewRules || !g.asked.Swap(true) && int64(n)*int64(size) <= manySteps {
		return x
	}
	g.index.CompareAndSwap(nil, newIndex(&g.rules))
	return g.index.Load()
}

// Size returns about how many bytes of memory g retains, with the index that a group
// of many rules gets at its second match.
func (g *Group) Size() int {
	n := int(unsafe.Sizeof(*g)) + len(g.agent) + bytesOf(g.lines) + len(g.written)
	return n + g.rules.size(g.index.Load())
}

// bytesOf returns the memory of a list.
func bytesOf[T any](list []T) int {
	var one T
	return cap(list) * int(unsafe.Sizeof(one))
}
