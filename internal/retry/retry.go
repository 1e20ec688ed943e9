// Package retry parses the header fields that ask a client to wait: Retry-After and
// RateLimit.
//
// The pacer uses it for the pause of a host after an error. The decision table
// uses it for the next fetch of an unreachable robots.txt. Both read every odd form
// that a server can send in the same way.
package retry

import (
	"net/http"
	"strings"
	"time"
)

// After returns how long the answer with header h asks its client to wait, counted
// from now (RFC 9110, section 10.2.3). The result is at least 0 and at most most. It
// is false if no Retry-After line is valid.
//
// If a line has a date, the wait is the time from the answer's Date to that date, so
// that a wrong clock of the server does not matter. Without a valid Date it is the
// time from now. For a date in the past it is 0. A number of seconds may have any
// number of digits. If several lines differ, the longest wait counts, because that is
// safe for the server.
//
// A line with a sign, a fraction or a unit is not valid and is ignored.
func After(h http.Header, now time.Time, most time.Duration) (time.Duration, bool) {
	most = max(most, 0)
	var longest time.Duration
	found := false
	for _, line := range h["Retry-After"] {
		d, ok := parseAfter(strings.Trim(line, " \t"), h, now, most)
		if ok {
			longest, found = max(longest, d), true
		}
	}
	return longest, found
}

// parseAfter parses one trimmed line of Retry-After.
func parseAfter(line string, h http.Header, now time.Time, most time.Duration) (time.Duration, bool) {
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
	// Sub saturates, so dates that are millennia apart do not overflow.
	return min(max(at.Sub(now), 0), most), true
}

// seconds reads a line of digits and nothing else. The sum is at most most. It stops
// growing there, so a number of any length does not overflow, but all bytes are
// checked: "99999999999x" is not valid.
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
