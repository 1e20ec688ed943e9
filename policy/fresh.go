package policy

import (
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/pquerna/cachecontrol/cacheobject"

	"github.com/rfc9309/polite/internal/field"
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
	h, c := a.Header, readCacheControl(a.Header)
	switch {
	case c.noStore || c.noCache || lists(h["Pragma"], "no-cache") || lists(h["Vary"], "*"):
		return 0
	case c.maxAge != undeclared:
		return c.maxAge
	}
	return expires(a)
}

// cacheControl is what we take from the Cache-Control lines.
type cacheControl struct {
	noStore, noCache bool          // with or without arguments
	maxAge           time.Duration // undeclared without one
}

// readCacheControl reads each directive alone, so that a bad one does not spoil the
// others. A max-age that cannot be read is 0, and of two the shorter counts (RFC
// 9111, section 4.2.1).
func readCacheControl(h http.Header) cacheControl {
	c := cacheControl{maxAge: undeclared}
	for _, line := range h["Cache-Control"] {
		for _, part := range directives(line) {
			part = strings.Trim(part, " \t")
			name, _, _ := strings.Cut(part, "=")
			switch strings.ToLower(strings.Trim(name, " \t")) {
			case "no-store":
				c.noStore = true
			case "no-cache":
				c.noCache = true
			case "max-age":
				if d := maxAge(part); c.maxAge == undeclared || d < c.maxAge {
					c.maxAge = d
				}
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
	if date := httpDate(a.Header.Get("Date")); date.After(from) {
		from = date
	}
	shortest := time.Duration(math.MaxInt64)
	for _, line := range lines {
		shortest = min(shortest, max(httpDate(line).Sub(from), 0))
	}
	return shortest
}

// httpDate reads a date as a cache does (RFC 9111, section 4.2): without case, and
// in no zone but GMT, which only the dates of C's asctime leave out. It is zero, and
// so long past, if the line is no such date.
func httpDate(line string) time.Time {
	line = strings.ToUpper(strings.Trim(line, " \t"))
	t, err := http.ParseTime(line)
	if err != nil || strings.Contains(line, ",") && !strings.HasSuffix(line, " GMT") {
		return time.Time{}
	}
	return t
}

// age is how long the answer has been in caches before it reached us; the
// largest value that can be read, 0 without one.
func age(h http.Header) time.Duration {
	var most time.Duration
	for m := range field.Members(h["Age"]) {
		most = max(most, maxAge("max-age="+m))
	}
	return most
}

// lists reports whether a comma-separated field has a word among its members.
func lists(lines []string, word string) bool {
	for m := range field.Members(lines) {
		if strings.EqualFold(m, word) {
			return true
		}
	}
	return false
}
