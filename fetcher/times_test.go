package fetcher_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
)

// The clock of every bubble begins at midnight of this day.
var midnight = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// on returns a date in the form of a header field.
func on(t time.Time) string { return t.UTC().Format(http.TimeFormat) }

// nextTry checks the public page of http://example.com, which gives this answer,
// and returns the time until the next fetch of robots.txt.
func nextTry(t *testing.T, answer httptest.Step) (next time.Duration, decided string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(answer)
		tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
		d, err := tr.Check(t.Context(), must(public))
		if err != nil {
			t.Fatal(err)
		}
		next, decided = time.Until(d.Expires), short(d)
		// There is no request before the time that the Decision names, and one at that
		// time.
		for _, at := range []struct {
			wait     time.Duration
			requests int64
		}{{next - 1, 1}, {1, 2}} {
			time.Sleep(at.wait)
			tr.Check(t.Context(), must(public))
			if got := tr.Stats().Retrievals; got != at.requests {
				t.Errorf("after %v: got %d retrievals, want %d", time.Since(midnight), got, at.requests)
			}
		}
	})
	return next, decided
}

// TestRetryAfter checks forms and sizes of Retry-After (RFC 9110, section 10.2.3)
// from a server that is down and from one that is busy, at the first failed fetch.
func TestRetryAfter(t *testing.T) {
	const least, most = 30 * time.Second, 61 * time.Second // what it is without one
	for _, tt := range []struct {
		name  string
		lines []string
		want  time.Duration // 0 means as if there were none
	}{
		{"none", nil, 0},
		{"an_hour", []string{"3600"}, time.Hour},
		{"a_day", []string{"86400"}, day},
		{"a_day_and_a_second", []string{"86401"}, day},
		{"100_years", []string{"3153600000"}, day},
		{"a_thousand_digits", []string{strings.Repeat("9", 1000)}, day},
		{"2_to_the_63_nanoseconds_and_more", []string{"9223372037"}, day},
		{"leading_zeros", []string{"0003600"}, time.Hour},
		{"spaces_around", []string{"  3600 "}, time.Hour},
		{"the_longer_of_two_lines", []string{"60", "3600"}, time.Hour},
		{"the_readable_of_two_lines", []string{"soon", "3600"}, time.Hour},
		{"a_date", []string{on(midnight.Add(time.Hour))}, time.Hour},
		{"a_date_as_rfc_850", []string{"Saturday, 01-Jan-00 01:00:00 GMT"}, time.Hour},
		{"a_date_as_asctime", []string{"Sat Jan  1 01:00:00 2000"}, time.Hour},
		{"a_date_in_a_thousand_years", []string{"Tue, 01 Jan 3000 00:00:00 GMT"}, day},
		{"a_date_in_the_past", []string{"Fri, 31 Dec 1999 23:00:00 GMT"}, 0},
		{"zero", []string{"0"}, 0},
		{"a_second", []string{"1"}, time.Second},
		{"negative", []string{"-3600"}, 0},
		{"a_fraction", []string{"3600.5"}, 0},
		{"with_a_unit", []string{"1h"}, 0},
		{"a_list", []string{"3600, 7200"}, 0},
		{"a_word", []string{"tomorrow"}, 0},
		{"empty", []string{""}, 0},
	} {
		for _, code := range []int{429, 500, 503, 599, 999} {
			t.Run(fmt.Sprintf("house/%d/%s", code, tt.name), func(t *testing.T) {
				answer := httptest.Status(code)
				for _, line := range tt.lines {
					answer = answer.Header("Retry-After", line)
				}
				got, decided := nextTry(t, answer)
				if tt.want != 0 && got != tt.want || tt.want == 0 && (got < least || got > most) || !strings.HasPrefix(decided, "defer") {
					t.Errorf("%d, Retry-After %q:\ngot  %s, next fetch after %v\nwant defer, next fetch after %v (0: %v to %v)",
						code, tt.lines, decided, got, tt.want, least, most)
				}
			})
		}
	}
}

// TestRetryAfterElsewhere checks answers whose Retry-After has no effect on the
// next fetch of robots.txt.
func TestRetryAfterElsewhere(t *testing.T) {
	for name, tt := range map[string]struct {
		answer httptest.Step
		want   time.Duration
	}{
		"2.3.1.1/200": {text, day}, "2.3.1.3/404": {httptest.Status(404), day}, "2.3.1.3/403": {httptest.Status(403), time.Hour},
		"2.3.1.2/loop": {httptest.Redirect(301, "/robots.txt"), time.Hour},
	} {
		for _, after := range []string{"1", "7200", "100000"} {
			t.Run(name+"/"+after, func(t *testing.T) {
				if got, _ := nextTry(t, tt.answer.Header("Retry-After", after)); got != tt.want {
					t.Errorf("Retry-After %s:\ngot  next fetch after %v\nwant %v", after, got, tt.want)
				}
			})
		}
	}
}

// TestRetryAfterDates checks that a date counts from the server's own Date.
func TestRetryAfterDates(t *testing.T) {
	for name, date := range map[string]time.Time{"slow": midnight.Add(-48 * time.Hour), "fast": midnight.Add(48 * time.Hour), "of_1970": time.Unix(0, 0)} {
		t.Run("house/a_clock_that_is_"+name, func(t *testing.T) {
			answer := httptest.Status(503).Header("Date", on(date)).Header("Retry-After", on(date.Add(2*time.Hour)))
			if got, _ := nextTry(t, answer); got != 2*time.Hour {
				t.Errorf("Date %v:\ngot  next fetch after %v\nwant 2h", date, got)
			}
		})
	}
}
