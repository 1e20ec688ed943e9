package matcher

import (
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// This file lists the records of a group that RFC 9309, section 2.2.4, calls other records, and
// reads the crawl-delay.

// Other is [File.Other] for the records in the groups of the
// crawler. Sitemap records are in no group (RFC 9309, section 2.2.4).
func (g *Group) Other(field string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for i, l := range g.lines {
			name, value, _ := g.dialect.split(g.text(i))
			if !l.kind.isRule() && equalFold(name, field) && !yield(int(l.number), value) {
				return
			}
		}
	}
}

// CrawlDelay returns the first crawl-delay of the group that is a number of
// seconds, zero or more; ok is false if there is none. Values past the range
// of a Duration are its maximum.
func (g *Group) CrawlDelay() (d time.Duration, ok bool) { return g.delay, g.hasDelay }

// parseSeconds reads a decimal number of seconds, zero or more. ParseFloat takes more than
// that: hexadecimal numbers, which have an "x", "Inf" and "NaN", and underscores.
func parseSeconds(s string) (time.Duration, bool) {
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case strings.ContainsAny(s, "xXnN_"), err != nil && !math.IsInf(v, 1), v < 0:
		return 0, false
	case v >= math.MaxInt64/float64(time.Second):
		return math.MaxInt64, true
	}
	return time.Duration(v * float64(time.Second)), true
}
