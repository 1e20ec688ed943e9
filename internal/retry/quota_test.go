package retry

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

var quotaTests = []struct {
	name   string
	fields string // "Name: value" lines
	most   time.Duration
	want   time.Duration // 0: no rest
}{
	{"no_field", "", day, 0},
	{"nothing_left", `RateLimit: "default";r=0;t=30`, day, 30 * time.Second},
	{"one_left", `RateLimit: "default";r=1;t=30`, day, 0},
	{"longest_of_several", "RateLimit: \"burst\";r=0;t=10, \"daily\";r=0;t=3600\nRateLimit: \"hourly\";r=0;t=60", day, time.Hour},
	{"only_those_with_nothing_left", `RateLimit: "burst";r=0;t=10, "daily";r=7;t=3600`, day, 10 * time.Second},
	{"without_a_reset", `RateLimit: "default";r=0`, day, 0},
	{"reset_of_zero", `RateLimit: "default";r=0;t=0`, day, 0},
	{"other_parameters", `RateLimit: "default";r=0;t=5;pk=:cHsdsRa894==:;acme`, day, 5 * time.Second},
	{"over_the_bound", `RateLimit: "default";r=0;t=100000`, 15 * time.Minute, 15 * time.Minute},
	{"largest_integer", `RateLimit: "default";r=0;t=999999999999999`, math.MaxInt64, math.MaxInt64},
	{"bound_of_zero", `RateLimit: "default";r=0;t=30`, 0, 0},
	{"negative_bound", `RateLimit: "default";r=0;t=30`, -time.Second, 0},

	{"malformed/no_list", `RateLimit: "default;r=0;t=30`, day, 0},
	{"malformed/no_string", `RateLimit: default;r=0;t=30`, day, 0},
	{"malformed/inner_list", `RateLimit: ("default");r=0;t=30`, day, 0},
	{"malformed/negative_rest", `RateLimit: "default";r=-1;t=30`, day, 0},
	{"malformed/negative_reset", `RateLimit: "default";r=0;t=-30`, day, 0},
	{"malformed/fraction", `RateLimit: "default";r=0;t=1.5`, day, 0},
	{"malformed/no_rest", `RateLimit: "default";t=30`, day, 0},
	{"malformed/too_many_digits", `RateLimit: "default";r=0;t=9999999999999999`, day, 0},
	{"malformed/one_of_several", `RateLimit: "default";r=0;t=30, "daily";r=x;t=60`, day, 0},
	{"malformed/empty", `RateLimit:`, day, 0},
	{"malformed/hides_the_older_fields", "RateLimit: x\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 30", day, 0},
	{"aged", "Age: 1\nRateLimit: \"default\";r=0;t=30", day, 0},
	{"aged/unreadable", "Age: x\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 30", day, 0},

	{"older/x", "X-RateLimit-Limit: 60\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 30", day, 30 * time.Second},
	{"older/without_x", "RateLimit-Remaining: 0\nRateLimit-Reset: 30", day, 30 * time.Second},
	{"older/some_left", "X-RateLimit-Remaining: 12\nX-RateLimit-Reset: 30", day, 0},
	{"older/no_reset", "X-RateLimit-Remaining: 0", day, 0},
	{"older/no_rest", "X-RateLimit-Reset: 30", day, 0},
	{"older/unix_time", "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1784102460", day, time.Minute},
	{"older/unix_time_passed", "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1784102399", day, 0},
	{"older/unix_time_by_the_servers_clock", "Date: Wed, 15 Jul 2026 09:00:00 GMT\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1784106030", day, 30 * time.Second},
	{"older/unix_time_in_milliseconds", "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1784102460000", time.Hour, time.Hour},
	{"older/a_thousand_digits", "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: " + strings.Repeat("9", 1000), day, day},
	{"older/zeros", "X-RateLimit-Remaining: 000\nX-RateLimit-Reset: 007", day, 7 * time.Second},
	{"older/negative", "X-RateLimit-Remaining: -1\nX-RateLimit-Reset: 30", day, 0},
	{"older/negative_reset", "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: -30", day, 0},
	{"older/two_lines", "X-RateLimit-Remaining: 0\nX-RateLimit-Remaining: 5\nX-RateLimit-Reset: 30", day, 0},
	{"older/list", "X-RateLimit-Remaining: 0, 5\nX-RateLimit-Reset: 30", day, 0},
	{"older/both", "RateLimit-Remaining: 0\nRateLimit-Reset: 10\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 30", day, 30 * time.Second},
}

func TestQuota(t *testing.T) {
	now := time.Date(2026, time.July, 15, 8, 0, 0, 0, time.UTC)
	for _, tt := range quotaTests {
		t.Run("6/"+tt.name, func(t *testing.T) {
			h := http.Header{}
			for line := range strings.SplitSeq(tt.fields, "\n") {
				if name, value, ok := strings.Cut(line, ":"); ok {
					h.Add(name, strings.TrimPrefix(value, " "))
				}
			}
			got, ok := Quota(h, func() time.Time { return now }, tt.most)
			if got != tt.want || ok != (tt.want > 0) {
				t.Errorf("Quota = %v, %t; want %v, %t", got, ok, tt.want, tt.want > 0)
			}
		})
	}
}

// A RateLimit field as long as net/http accepts costs no memory, and is ignored.
func TestQuotaOfALongField(t *testing.T) {
	quota := `"a";r=0;t=30,`
	for name, lines := range map[string][]string{
		"one_line":   {strings.Repeat(quota, 1<<20/len(quota)) + `"a";r=0;t=30`},
		"many_lines": slices.Repeat([]string{`"a";r=0;t=30`}, 1<<20/len(quota)),
	} {
		h := http.Header{"Ratelimit": lines}
		var got time.Duration
		allocs := testing.AllocsPerRun(1, func() { got, _ = Quota(h, time.Now, day) })
		if got != 0 || allocs > 10 {
			t.Errorf("6/%s: Quota = %v with %.0f allocations, want 0s with 10 at most", name, got, allocs)
		}
	}
}

// A RateLimit field of 8 KiB is read, in one line or in two.
func TestQuotaOfTheLongestField(t *testing.T) {
	spaced := func(n int) string { return fmt.Sprintf("%-*s", n, `"a";r=0;t=30`) }
	for name, lines := range map[string][]string{"one_line": {spaced(8192)}, "two_lines": {spaced(4096), spaced(4095)}} {
		if got, _ := Quota(http.Header{"Ratelimit": lines}, time.Now, day); got != 30*time.Second {
			t.Errorf("6/%s: Quota = %v, want 30s", name, got)
		}
	}
}

// No field makes Quota exceed its bound.
func FuzzQuota(f *testing.F) {
	f.Add(`"default";r=0;t=30`, "0", "30")
	f.Fuzz(func(t *testing.T, limit, remaining, reset string) {
		for _, h := range []http.Header{
			{"Ratelimit": {limit}},
			{"X-Ratelimit-Remaining": {remaining}, "X-Ratelimit-Reset": {reset}},
		} {
			if d, ok := Quota(h, func() time.Time { return clock }, time.Hour); d < 0 || d > time.Hour || ok != (d > 0) {
				t.Errorf("Quota(%q) = %v, %t", h, d, ok)
			}
		}
	})
}
