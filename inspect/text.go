package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/clean"
)

// text returns s cut to keptURL bytes, with characters that do not print as escapes.
func text(s string) string { return clean.Escape(s, keptURL) }

// causeBeside returns a cause as it is shown beside its status: without the status.
func causeBeside(status int, cause string) string {
	return strings.TrimSpace(strings.TrimPrefix(cause, fmt.Sprintf("status %d", status)))
}

// ago formats a time relative to now: "3 min ago".
func ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case d >= time.Second:
		return duration(d) + " ago"
	case d <= -time.Second:
		return "in " + duration(-d)
	}
	return "now"
}

// until formats the time of a next fetch: "in 3 min", or "overdue 5 s" if it has passed.
func until(t, now time.Time) string {
	if d := now.Sub(t); d >= time.Second {
		return "overdue " + duration(d)
	}
	return ago(t, now)
}

// clock formats a time, with the date if it is not today.
func clock(t, now time.Time) string {
	if t.Format(time.DateOnly) != now.Format(time.DateOnly) {
		return t.Format("2 Jan 15:04")
	}
	return t.Format(time.TimeOnly)
}

// duration formats a duration in at most two units.
func duration(d time.Duration) string {
	const day = 24 * time.Hour
	two := func(big time.Duration, bigName string, small time.Duration, smallName string) string {
		s := fmt.Sprintf("%d %s", d/big, bigName)
		if rest := d % big / small; rest > 0 {
			s += fmt.Sprintf(" %d %s", rest, smallName)
		}
		return s
	}
	switch {
	case d >= day:
		return two(day, "d", time.Hour, "h")
	case d >= time.Hour:
		return two(time.Hour, "h", time.Minute, "min")
	case d >= time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d >= time.Second:
		return fmt.Sprintf("%d s", d/time.Second)
	case d >= time.Millisecond:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	}
	return "< 1 ms"
}

// number formats a whole number with thin spaces between thousands.
func number(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// size formats a number of bytes.
func size(n int64) string {
	const unit = 1 << 10
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/unit, 0
	for ; f >= 1000 && i < 3; i++ {
		f /= unit
	}
	return fmt.Sprintf("%.3g %ciB", f, "KMGT"[i])
}

// share formats part/whole in per cent, rounded down.
func share(part, whole int64) string {
	switch {
	case whole == 0 || part == 0:
		return "0 %"
	case part*1000 < whole:
		return "< 0.1 %"
	case part*10 < whole:
		return fmt.Sprintf("%.1f %%", float64(part*1000/whole)/10)
	}
	return fmt.Sprintf("%d %%", part*100/whole)
}
