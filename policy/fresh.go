package policy

import (
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/pquerna/cachecontrol/cacheobject"
)

// undeclared is the lifetime of a copy whose server has given none.
const undeclared time.Duration = -1

// lifetime is how long a copy is used before the next fetch (RFC 9309, section
// 2.4, with the words of RFC 9111): what its server has declared, at most Most,
// less the age of the answer and the time that its fetch took. It is at least
// Least, and at least Aged if the age alone makes the answer stale.
//
// We are a private cache, so s-maxage is not ours. There is no heuristic on
// Last-Modified: Default is the lifetime of an answer that declares none.
func (f Fresh) lifetime(declared, age, took time.Duration) time.Duration {
	ttl, least := declared, f.Least
	if declared == undeclared {
		ttl = f.Default
	}
	left := min(ttl, f.Most) - age
	if declared == undeclared || declared != 0 && left <= 0 {
		least = max(least, f.Aged)
	}
	if left <= took {
		return least
	}
	return max(left-took, least)
}

// declaredLifetime is the lifetime that an answer declares: 0 if it must be
// revalidated before each use, undeclared if it says nothing. Max-age overrides
// Expires (RFC 9111, section 5.3).
func declaredLifetime(a *Attempt) time.Duration {
	c := readCacheControl(a.Header)
	switch {
	case c.uncacheable || pragmaNoCache(a.Header) || varyAny(a.Header):
		return 0
	case c.aged:
		return c.maxAge
	}
	return expires(a)
}

// cacheControl is what we take from the Cache-Control lines.
type cacheControl struct {
	uncacheable bool // no-store or no-cache, with or without arguments
	noStore     bool
	aged        bool // there is a max-age
	maxAge      time.Duration
}

// readCacheControl reads each directive alone, so that a bad one does not spoil the
// others. A max-age that cannot be read is 0, and of two the shorter counts (RFC
// 9111, section 4.2.1).
func readCacheControl(h http.Header) cacheControl {
	c := cacheControl{maxAge: math.MaxInt64}
	for _, line := range h["Cache-Control"] {
		for _, part := range directives(line) {
			part = strings.Trim(part, " \t")
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

// expires is the lifetime that the Expires lines give, counted from the answer's
// own Date or from now: the shorter, since either clock may be wrong. Of two
// lines the earlier counts. A line that cannot be read, such as the frequent "0"
// or "-1", means the past (RFC 9111, section 5.3).
func expires(a *Attempt) time.Duration {
	lines := a.Header["Expires"]
	if len(lines) == 0 {
		return undeclared
	}
	from := a.at()
	if date, ok := httpDate(a.Header.Get("Date")); ok && date.After(from) {
		from = date
	}
	shortest := time.Duration(math.MaxInt64)
	for _, line := range lines {
		t, ok := httpDate(line)
		if !ok {
			return 0
		}
		shortest = min(shortest, max(t.Sub(from), 0))
	}
	return shortest
}

// httpDate reads a date as a cache does (RFC 9111, section 4.2): without case, and
// in no zone but GMT, which only the dates of C's asctime leave out.
func httpDate(line string) (time.Time, bool) {
	line = strings.ToUpper(strings.Trim(line, " \t"))
	t, err := http.ParseTime(line)
	return t, err == nil && (strings.HasSuffix(line, " GMT") || !strings.Contains(line, ","))
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
