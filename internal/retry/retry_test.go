package retry

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
)

// An afterTest is one answer and the wait that it asks for. The current time is clock,
// the example date of RFC 9110.
type afterTest struct {
	name  string
	lines []string // Retry-After lines in order
	date  string   // Date of the answer, "" for none
	most  time.Duration
	want  time.Duration
	ok    bool
}

var clock = time.Date(1994, time.November, 6, 8, 49, 37, 0, time.UTC)

const day = 24 * time.Hour

var afterTests = []afterTest{
	{"no_line", nil, "", day, 0, false},
	{"seconds", []string{"120"}, "", day, 2 * time.Minute, true},
	{"zero", []string{"0"}, "", day, 0, true},
	{"leading_zeros", []string{"000000000000000000000000000007"}, "", day, 7 * time.Second, true},
	{"white_space_around", []string{" \t120 \t"}, "", day, 2 * time.Minute, true},
	{"at_the_bound", []string{"900"}, "", 15 * time.Minute, 15 * time.Minute, true},
	{"over_the_bound", []string{"901"}, "", 15 * time.Minute, 15 * time.Minute, true},
	{"bound_is_no_whole_second", []string{"3"}, "", 2500 * time.Millisecond, 2500 * time.Millisecond, true},
	{"int64_overflow_in_nanoseconds", []string{"9223372037"}, "", day, day, true},
	{"int64_overflow_in_seconds", []string{"9223372036854775808"}, "", day, day, true},
	{"a_thousand_digits", []string{strings.Repeat("9", 1000)}, "", day, day, true},
	{"greatest_bound", []string{strings.Repeat("9", 30)}, "", math.MaxInt64, math.MaxInt64, true},
	{"bound_of_zero", []string{"120"}, "", 0, 0, true},
	{"negative_bound", []string{"120"}, "", -time.Second, 0, true},

	{"imf_fixdate", []string{"Sun, 06 Nov 1994 08:51:37 GMT"}, "", day, 2 * time.Minute, true},
	{"rfc850_date", []string{"Sunday, 06-Nov-94 08:51:37 GMT"}, "", day, 2 * time.Minute, true},
	{"asctime_date", []string{"Sun Nov  6 08:51:37 1994"}, "", day, 2 * time.Minute, true},
	{"date_in_the_past", []string{"Sun, 06 Nov 1994 08:49:36 GMT"}, "", day, 0, true},
	{"date_over_the_bound", []string{"Sun, 06 Nov 9999 08:51:37 GMT"}, "", day, day, true},
	{"date_from_the_servers_own_clock", []string{"Sun, 06 Nov 2094 08:50:07 GMT"}, "Sat, 06 Nov 2094 08:49:37 GMT", day, 30 * time.Second, true},
	{"unreadable_date_header_is_ignored", []string{"Sun, 06 Nov 1994 08:50:07 GMT"}, "yesterday", day, 30 * time.Second, true},
	{"date_header_does_not_move_seconds", []string{"30"}, "Sat, 06 Nov 2094 08:49:37 GMT", day, 30 * time.Second, true},

	{"empty", []string{""}, "", day, 0, false},
	{"blank", []string{"  "}, "", day, 0, false},
	{"garbage", []string{"soon"}, "", day, 0, false},
	{"negative", []string{"-120"}, "", day, 0, false},
	{"plus_sign", []string{"+120"}, "", day, 0, false},
	{"fraction", []string{"1.5"}, "", day, 0, false},
	{"unit", []string{"120s"}, "", day, 0, false},
	{"long_then_garbage", []string{strings.Repeat("9", 40) + "x"}, "", day, 0, false},
	{"other_digits", []string{"١٢٠"}, "", day, 0, false},

	{"two_lines_the_longer", []string{"10", "120"}, "", day, 2 * time.Minute, true},
	{"two_lines_the_longer_first", []string{"120", "10"}, "", day, 2 * time.Minute, true},
	{"one_line_unread", []string{"soon", "10"}, "", day, 10 * time.Second, true},
	{"seconds_and_date", []string{"10", "Sun, 06 Nov 1994 08:51:37 GMT"}, "", day, 2 * time.Minute, true},
}

func TestAfter(t *testing.T) {
	for _, test := range afterTests {
		t.Run("house/"+test.name, func(t *testing.T) {
			h := http.Header{}
			for _, line := range test.lines {
				h.Add("Retry-After", line)
			}
			if test.date != "" {
				h.Set("Date", test.date)
			}
			got, ok := After(h, clock, test.most)
			if got != test.want || ok != test.ok {
				t.Errorf("After(%q, most %v) = %v, %v; want %v, %v", h, test.most, got, ok, test.want, test.ok)
			}
		})
	}
}

func TestAfterNilHeader(t *testing.T) {
	if got, ok := After(nil, clock, day); got != 0 || ok {
		t.Errorf("After(nil) = %v, %v; want 0s, false", got, ok)
	}
}

// FuzzAfter checks that the wait is at least 0 and at most the bound, and that it is 0
// if no line is valid.
func FuzzAfter(f *testing.F) {
	for _, test := range afterTests {
		f.Add(strings.Join(test.lines, "\n"), test.date, int64(test.most))
	}
	f.Fuzz(func(t *testing.T, lines, date string, most int64) {
		h := http.Header{"Retry-After": strings.Split(lines, "\n"), "Date": {date}}
		got, ok := After(h, clock, time.Duration(most))
		if got < 0 || got > max(time.Duration(most), 0) || !ok && got != 0 {
			t.Errorf("After(%q, most %v) = %v, %v; want a span in [0, most]", h, time.Duration(most), got, ok)
		}
	})
}
