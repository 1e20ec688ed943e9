package matcher

import (
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// This file reads what is no rule: RFC 9309, section 2.2.4.

// entries yields the records of the file in order.
func (f *File) entries() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		if f == nil {
			return
		}
		for pos := 0; pos < int(f.size); {
			var e entry
			e, pos = f.next(pos)
			if e.line > 0 && !yield(e) {
				return
			}
		}
	}
}

// Sitemaps returns the values of the sitemap records, in the order of the
// file, whatever group they stand in.
func (f *File) Sitemaps() []string {
	var list []string
	for e := range f.entries() {
		if e.kind == sitemap && e.value != "" {
			list = append(list, e.value)
		}
	}
	return list
}

// Other returns line and value of each record with the given name, compared
// without case, that is neither a user-agent, allow nor disallow record. The
// value is as written, white space around it and a comment aside.
func (f *File) Other(field string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for e := range f.entries() {
			if equalFold(e.named(), field) && !e.ruling() && !yield(e.line, e.value) {
				return
			}
		}
	}
}

// Other is as [File.Other] for the records that stand in the groups of the
// crawler.
func (g *Group) Other(field string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for e := range g.records() {
			if equalFold(e.named(), field) && !e.ruling() && !yield(e.line, e.value) {
				return
			}
		}
	}
}

// named returns the name of the record as written, or its canonical spelling
// if it differs from that in case at most.
func (e *entry) named() string {
	if e.name == "" && int(e.kind) < len(proper) {
		return proper[e.kind]
	}
	return e.name
}

// ruling reports whether e is one of the three records of the protocol.
func (e *entry) ruling() bool {
	return e.kind == agent || e.kind == allow || e.kind == disallow
}

// CrawlDelay returns the first crawl-delay of the group that the crawler with
// the given token obeys. ok is false if there is none that is a number of
// seconds, zero or more. Values past the range of a Duration are its maximum.
func (f *File) CrawlDelay(token string) (d time.Duration, ok bool) {
	return f.Group(token).CrawlDelay()
}

// seconds reads a decimal number of seconds.
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
