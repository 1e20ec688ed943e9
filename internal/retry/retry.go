// Package retry reads the Retry-After header field, once for the whole module.
//
// The pacer asks it how long to leave a host alone after a 429 or a 503, and
// the decision table asks it when an unreachable robots.txt may be asked for
// again. Both must agree on every odd form a server can send, so the reading
// lives here and nowhere else.
package retry

import (
	"net/http"
	"strings"
	"time"
)

// After reports how long the answer with header h asks its client to stay
// away, counted from now (RFC 9110, section 10.2.3). The result is false if no
// Retry-After line can be read; a true result lies between 0 and most.
//
// A date counts from the answer's own Date, so that a server whose clock is
// wrong still gets the span it meant; without a readable Date it counts from
// now. A date that has passed is 0. Seconds of any size are accepted, however
// many digits they have. Where several lines differ the longest span holds: of
// two readings, waiting is the one that cannot hurt the server.
//
// Signs, fractions and units are not in the grammar; a line with them is
// unread rather than guessed at.
func After(h http.Header, now time.Time, most time.Duration) (time.Duration, bool) {
	most = max(most, 0)
	var longest time.Duration
	found := false
	for _, line := range h["Retry-After"] {
		d, ok := span(strings.Trim(line, " \t"), h, now, most)
		if ok {
			longest, found = max(longest, d), true
		}
	}
	return longest, found
}

// span reads one line, already trimmed.
func span(line string, h http.Header, now time.Time, most time.Duration) (time.Duration, bool) {
	if d, ok := seconds(line, most); ok {
		return d, true
	}
	at, err := http.ParseTime(line)
	if err != nil {
		return 0, false
	}
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		now = sent
	}
	// Sub saturates, so dates millennia apart still compare the right way.
	return min(max(at.Sub(now), 0), most), true
}

// seconds reads 1*DIGIT. It stops adding up once the sum is past most, which
// is what keeps a number of any length from overflowing; the remaining octets
// are still checked, so that "99999999999x" stays unread.
func seconds(line string, most time.Duration) (time.Duration, bool) {
	limit := int64(most / time.Second)
	var n int64
	for i := range len(line) {
		c := line[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		// n is at most limit here, and limit is under 2^34, so n*10 fits.
		if n <= limit {
			n = n*10 + int64(c-'0')
		}
	}
	if n > limit {
		return most, line != ""
	}
	return time.Duration(n) * time.Second, line != ""
}
