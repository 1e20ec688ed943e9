package matcher

import (
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// This file keeps the other records of a group, and reads the crawl-delay: RFC
// 9309, section 2.2.4.

// others are the records of a group that are neither user-agent, allow nor
// disallow records. They are kept as text: a file can have 170,000 of them, and a
// list of structs takes twenty times the memory of the file.
type others struct {
	text  []byte  // of each record: name, colon, value and line feed
	lines []int32 // number of the line of each record
	timed bool    // one of the records may be a crawl-delay
}

// add appends a record.
func (o *others) add(r *record) {
	if o.lines == nil {
		o.text, o.lines = make([]byte, 0, 64), make([]int32, 0, 4)
	}
	o.text = append(append(append(append(o.text, r.name...), ':'), r.value...), '\n')
	o.lines = append(o.lines, int32(r.line))
	o.timed = o.timed || r.kind == delay
}

// after returns the records that were added after the records of from.
func (o *others) after(from others) others {
	return others{o.text[len(from.text):], o.lines[len(from.lines):], o.timed}
}

// clone returns a copy that takes no more memory than it needs.
func (o *others) clone() others {
	if len(o.lines) == 0 {
		return others{}
	}
	return others{append(make([]byte, 0, len(o.text)), o.text...), append(make([]int32, 0, len(o.lines)), o.lines...), o.timed}
}

// cutRecord returns name and value of the first record of a text, and the text
// after it.
func cutRecord(text string) (name, value, rest string) {
	name, rest, _ = strings.Cut(text, ":")
	value, rest, _ = strings.Cut(rest, "\n")
	return name, value, rest
}

// Other is as [File.Other] for the records that stand in the groups of the
// crawler. Sitemap records stand in no group (RFC 9309, section 2.2.4).
func (g *Group) Other(field string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		rest := view(g.others.text)
		for _, line := range g.others.lines {
			var name, value string
			name, value, rest = cutRecord(rest)
			if equalFold(name, field) && !yield(int(line), value) {
				return
			}
		}
	}
}

// readDelay reads the crawl-delay: the first that is a number of seconds.
func (g *Group) readDelay() {
	for rest := view(g.others.text); g.others.timed && !g.hasDelay && rest != ""; {
		var name, value string
		name, value, rest = cutRecord(rest)
		if k, _ := g.dialect.kindOf(name); k == delay {
			g.delay, g.hasDelay = seconds(value)
		}
	}
}

// CrawlDelay returns the first crawl-delay of the group that is a number of
// seconds, zero or more; ok is false if there is none. Values past the range
// of a Duration are its maximum.
func (g *Group) CrawlDelay() (d time.Duration, ok bool) { return g.delay, g.hasDelay }

// seconds reads a decimal number of seconds, zero or more.
func seconds(s string) (time.Duration, bool) {
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case s == "" || strings.ContainsAny(s, "xXpPiInN_"), err != nil && !math.IsInf(v, 1), !(v >= 0):
		return 0, false
	case v >= math.MaxInt64/float64(time.Second):
		return math.MaxInt64, true
	}
	return time.Duration(v * float64(time.Second)), true
}
