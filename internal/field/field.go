// Package field reads the header fields that decide what an answer is and how long it
// may be used. It reads them as a careful cache does (RFC 9111): servers send them in
// more than one way, and malformed.
package field

import (
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pquerna/cachecontrol/cacheobject"
)

// Canonical returns h if net/http spells all its field names so, and otherwise a copy with
// those names. Other stacks keep the lower case of HTTP/2.
func Canonical(h http.Header) http.Header {
	for name := range h {
		if name != http.CanonicalHeaderKey(name) {
			return respell(h)
		}
	}
	return h
}

// respell returns a copy of h with its field names as net/http spells them. Lines of several
// spellings are joined in the order of the spellings, so that the result depends on h alone.
func respell(h http.Header) http.Header {
	c := make(http.Header, len(h))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		key := http.CanonicalHeaderKey(name)
		c[key] = append(c[key], h[name]...)
	}
	return c
}

// Members returns the members of a field that is a comma-separated list, over all its
// lines, without the white space around them.
func Members(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, line := range lines {
			for part := range strings.SplitSeq(line, ",") {
				if !yield(strings.Trim(part, " \t")) {
					return
				}
			}
		}
	}
}

// Lists reports whether a comma-separated list has a word among its members, in any
// letter case.
func Lists(lines []string, word string) bool {
	for m := range Members(lines) {
		if strings.EqualFold(m, word) {
			return true
		}
	}
	return false
}

// Length returns the longest Content-Length, 0 without one that is a number. A body that
// is shorter than one of several lengths may have been cut.
func Length(h http.Header) int64 {
	var longest int64
	for m := range Members(h["Content-Length"]) {
		n, _ := strconv.ParseInt(m, 10, 64) // 0 if it is no number
		longest = max(longest, n)
	}
	return longest
}

// Age returns how long the answer has been in caches before it reached us: the largest
// value that can be read, 0 without one.
func Age(h http.Header) time.Duration {
	var longest time.Duration
	for m := range Members(h["Age"]) {
		longest = max(longest, maxAge("max-age="+m))
	}
	return longest
}

// Date reads a date as a cache does (RFC 9111, section 4.2): in any letter case, and
// only with the zone GMT, or in the form of C's asctime, which has no zone. It returns the
// zero time, which is long past, for any other line.
func Date(line string) time.Time {
	if line == "" {
		return time.Time{}
	}
	line = strings.ToUpper(strings.Trim(line, " \t"))
	_, rest, _ := strings.Cut(line, " ") // after the name of the day, which says nothing new
	for _, layout := range []string{http.TimeFormat, time.RFC850, time.ANSIC} {
		t, err := time.Parse(layout, line)
		if err != nil {
			continue
		}
		// time.Parse also reads several spaces and an hour of one digit.
		_, written, _ := strings.Cut(strings.ToUpper(t.Format(layout)), " ")
		if rest == written && (layout == time.ANSIC || strings.HasSuffix(line, " GMT")) {
			return t
		}
	}
	return time.Time{}
}

// ETag returns the entity tag, or "" if it is longer than most bytes or not well-formed
// enough to be sent back.
func ETag(h http.Header, most int) string {
	tag := h.Get("ETag")
	opaque := OpaqueTag(tag)
	last := len(opaque) - 1
	if len(tag) > most || last < 1 || opaque[0] != '"' || opaque[last] != '"' {
		return ""
	}
	if strings.ContainsFunc(opaque[1:last], func(c rune) bool { return c <= ' ' || c == '"' || c == 0x7f }) {
		return ""
	}
	return strings.Clone(tag)
}

// OpaqueTag returns an entity tag without the mark of a weak one. If-None-Match compares
// tags without it (RFC 9110, section 13.1.2).
func OpaqueTag(tag string) string { return strings.TrimPrefix(tag, "W/") }

// CacheControl has the directives that a private cache needs. We are one, so s-maxage
// is not among them.
type CacheControl struct {
	NoStore bool          // with or without arguments
	NoCache bool          // with or without arguments
	MaxAge  time.Duration // the shortest, 0 if one cannot be read; -1 without any
}

// ReadCacheControl returns the directives of an answer. Each is read alone, so that a bad
// one does not spoil the others.
func ReadCacheControl(h http.Header) CacheControl {
	c := CacheControl{MaxAge: -1}
	for _, line := range h["Cache-Control"] {
		for _, part := range directives(line) {
			part = strings.Trim(part, " \t")
			name, _, _ := strings.Cut(part, "=")
			switch strings.ToLower(strings.Trim(name, " \t")) {
			case "no-store":
				c.NoStore = true
			case "no-cache":
				c.NoCache = true
			case "max-age": // the shorter of two (RFC 9111, section 4.2.1)
				if d := maxAge(part); c.MaxAge < 0 || d < c.MaxAge {
					c.MaxAge = d
				}
			}
		}
	}
	return c
}

// directives returns the parts of a Cache-Control line: split at commas outside of
// quoted strings. A quote that is never closed hides nothing: every comma after it
// splits.
func directives(line string) (parts []string) {
	quoted, begin := false, 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			parts, begin = append(parts, line[begin:i]), i+1
		}
	}
	if quoted {
		return append(parts, strings.Split(line[begin:], ",")...)
	}
	return append(parts, line[begin:])
}

// maxAge is the value of one max-age directive, 0 if it cannot be read.
func maxAge(directive string) time.Duration {
	d, err := cacheobject.ParseResponseCacheControl(directive)
	if err != nil || d.MaxAge < 0 {
		return 0
	}
	return time.Duration(d.MaxAge) * time.Second
}
