package policy

import (
	"iter"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/pquerna/cachecontrol/cacheobject"
)

// lifetime is how long the file of an answer is used before it is asked for
// again (RFC 9309, section 2.4, with the words of RFC 9111): what the server
// declared, at most Most, less the time the answer has spent in caches on its
// way, and never under Least.
//
// We are a private cache, so s-maxage is not ours. There is no heuristic on
// Last-Modified: the 24 hours of the RFC are the default.
func (f Fresh) lifetime(a *Attempt) time.Duration {
	ttl := f.Default
	if declared, ok := declared(a); ok {
		ttl = declared
	}
	ttl = min(ttl, f.Most)
	return max(ttl-age(a.Header), f.Least)
}

// declared is the lifetime the server gave, 0 if the answer must not be used
// without asking again. Max-age overrides Expires (RFC 9111, section 5.3).
func declared(a *Attempt) (time.Duration, bool) {
	c := readCacheControl(a.Header)
	expires, dated := expires(a)
	switch {
	case c.uncacheable || pragmaNoCache(a.Header) || varyAny(a.Header):
		return 0, true
	case c.aged:
		return c.maxAge, true
	}
	return expires, dated
}

// cacheControl is what we take from the Cache-Control lines.
type cacheControl struct {
	uncacheable bool // no-store or no-cache, with or without arguments
	noStore     bool
	aged        bool // there is a max-age
	maxAge      time.Duration
}

// readCacheControl reads every directive by itself, so that one bad part does
// not void the rest. A max-age that cannot be read is 0, and of two the shorter
// holds (RFC 9111, section 4.2.1 asks for stale in both cases).
func readCacheControl(h http.Header) cacheControl {
	c := cacheControl{maxAge: math.MaxInt64}
	for _, line := range h["Cache-Control"] {
		for part := range directives(line) {
			name, _, _ := strings.Cut(part, "=")
			switch strings.ToLower(strings.Trim(name, " \t")) {
			case "no-store":
				c.uncacheable, c.noStore = true, true
			case "no-cache":
				c.uncacheable = true
			case "max-age":
				c.aged = true
				c.maxAge = min(c.maxAge, maxAge(part))
			}
		}
	}
	return c
}

// maxAge is the value of one max-age directive, 0 if it cannot be read.
func maxAge(directive string) time.Duration {
	d, err := cacheobject.ParseResponseCacheControl(directive)
	if err != nil || d.MaxAge < 0 {
		return 0
	}
	return time.Duration(d.MaxAge) * time.Second
}

// directives yields the parts of a Cache-Control line: split at commas outside
// of quoted strings, white space trimmed. A quote that is never closed hides
// nothing: from there on every comma splits.
func directives(line string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for more := true; more; {
			i, closed := comma(line)
			if !closed {
				break
			}
			more = i < len(line)
			if !yield(strings.Trim(line[:i], " \t")) || !more {
				return
			}
			line = line[i+1:]
		}
		for part := range strings.SplitSeq(line, ",") {
			if !yield(strings.Trim(part, " \t")) {
				return
			}
		}
	}
}

// comma is the index of the first comma outside of quoted strings, or the
// length of the line. Closed is false if a quote is left open on the way.
func comma(line string) (i int, closed bool) {
	quoted := false
	for i = 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			return i, true
		}
	}
	return len(line), !quoted
}

// expires is the lifetime that the Expires lines give, counted from the answer's
// own Date. Of two lines the earlier holds; one that cannot be read, such as
// the frequent "0" or "-1", means the past (RFC 9111, section 5.3).
func expires(a *Attempt) (time.Duration, bool) {
	lines := a.Header["Expires"]
	if len(lines) == 0 {
		return 0, false
	}
	from := a.at()
	if date, err := http.ParseTime(a.Header.Get("Date")); err == nil {
		from = date
	}
	shortest := time.Duration(math.MaxInt64)
	for _, line := range lines {
		t, err := http.ParseTime(line)
		if err != nil {
			return 0, true
		}
		shortest = min(shortest, max(t.Sub(from), 0))
	}
	return shortest, true
}

// age is how long the answer has been in caches before it reached us; the
// largest value that can be read, 0 without one.
func age(h http.Header) time.Duration {
	var most time.Duration
	for _, line := range h["Age"] {
		for part := range strings.SplitSeq(line, ",") {
			most = max(most, maxAge("max-age="+strings.Trim(part, " \t")))
		}
	}
	return most
}

// noStore reports Cache-Control: no-store.
func noStore(h http.Header) bool { return readCacheControl(h).noStore }

// pragmaNoCache reports the HTTP/1.0 word for Cache-Control: no-cache.
func pragmaNoCache(h http.Header) bool { return lists(h["Pragma"], "no-cache") }

// varyAny reports a Vary that no request ever matches.
func varyAny(h http.Header) bool { return lists(h["Vary"], "*") }

// lists reports whether a comma-separated field has word among its members.
func lists(lines []string, word string) bool {
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.Trim(part, " \t"), word) {
				return true
			}
		}
	}
	return false
}
