package field

import (
	"math"
	"net/http"
	"slices"
	"testing"
	"time"
)

// TestMembers checks how the lines of a list are split.
func TestMembers(t *testing.T) {
	for _, tt := range []struct{ lines, want []string }{
		{nil, nil},
		{[]string{""}, []string{""}},
		{[]string{" a ,\tb", "c"}, []string{"a", "b", "c"}},
		{[]string{"a b,,"}, []string{"a b", "", ""}},
	} {
		if got := slices.Collect(Members(tt.lines)); !slices.Equal(got, tt.want) {
			t.Errorf("Members(%q)\ngot  %q\nwant %q", tt.lines, got, tt.want)
		}
	}
}

// TestLength checks that the longest of several lengths counts.
func TestLength(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		want  int64
	}{
		{nil, 0},
		{[]string{"10"}, 10},
		{[]string{"10", "30, 20"}, 30},
		{[]string{"-1"}, 0},
		{[]string{"x, 5"}, 5},
		{[]string{"99999999999999999999"}, math.MaxInt64},
	} {
		if got := Length(http.Header{"Content-Length": tt.lines}); got != tt.want {
			t.Errorf("Length of %q\ngot  %d\nwant %d", tt.lines, got, tt.want)
		}
	}
}

// TestDate reads dates. One that is not in one of the three forms is long past (RFC 9111,
// section 5.3).
func TestDate(t *testing.T) {
	want := time.Date(2026, 5, 1, 7, 5, 9, 0, time.UTC)
	for _, test := range []struct {
		name, line string
		read       bool
	}{
		{"imf", "Fri, 01 May 2026 07:05:09 GMT", true},
		{"rfc850", "Friday, 01-May-26 07:05:09 GMT", true},
		{"asctime", "Fri May  1 07:05:09 2026", true},
		{"lower_case", " fri, 01 may 2026 07:05:09 gmt\t", true},
		{"another_day", "Mon, 01 May 2026 07:05:09 GMT", true},
		{"two_spaces", "Fri, 01  May 2026 07:05:09 GMT", false},
		{"one_digit_hour", "Fri, 01 May 2026 7:05:09 GMT", false},
		{"one_digit_day", "Fri, 1 May 2026 07:05:09 GMT", false},
		{"asctime_with_one_space", "Fri May 1 07:05:09 2026", false},
		{"another_zone", "Friday, 01-May-26 07:05:09 PST", false},
		{"an_offset", "Fri, 01 May 2026 07:05:09 +0000", false},
		{"a_fraction", "Fri, 01 May 2026 07:05:09.5 GMT", false},
		{"a_number", "0", false},
		{"nothing", "", false},
	} {
		t.Run("5.3/"+test.name, func(t *testing.T) {
			if got := Date(test.line); got.Equal(want) != test.read || !test.read && !got.IsZero() {
				t.Errorf("%q is %v; want it read: %t", test.line, got, test.read)
			}
		})
	}
}
