package display

import (
	"fmt"
	"strconv"
	"time"
)

// Span formats a duration in its two largest units: "23 h 57 min". One day is
// "24 h", as in RFC 9309, section 2.4.
func Span(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 10*time.Minute:
		return units(d, time.Minute, "min", time.Second, "s")
	}
	switch d = d.Round(time.Minute); {
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return units(d, time.Hour, "h", time.Minute, "min")
	}
	return units(d.Round(time.Hour), 24*time.Hour, "d", time.Hour, "h")
}

// units formats d in two units. The second is left out if it is zero.
func units(d, large time.Duration, l string, small time.Duration, s string) string {
	n, rest := d/large, d%large/small
	if rest == 0 {
		return fmt.Sprintf("%d %s", n, l)
	}
	return fmt.Sprintf("%d %s %d %s", n, l, rest, s)
}

// Ago formats a time in the past relative to now.
func Ago(t, now time.Time) string {
	if now.Sub(t) < time.Second {
		return "just now"
	}
	return Span(now.Sub(t)) + " ago"
}

// Count formats n with its noun, and with commas between thousands.
func Count[T int | int64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + many
}

// Thousands formats n, which must not be negative, with commas between thousands.
func Thousands[T int | int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
