package inspect

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rfc9309/polite/internal/clean"
)

func TestText(t *testing.T) {
	const h = time.Hour
	for _, row := range []struct{ name, got, want string }{
		{"ago_past", ago(time.Unix(0, 0), time.Unix(90, 0)), "1 min ago"},
		{"ago_future", ago(time.Unix(90, 0), time.Unix(0, 0)), "in 1 min"},
		{"ago_now", ago(time.Unix(0, 5e8), time.Unix(0, 0)), "now"},
		{"until_past", until(time.Unix(0, 0), time.Unix(5, 0)), "overdue 5 s"},
		{"until_future", until(time.Unix(90, 0), time.Unix(0, 0)), "in 1 min"},
		{"until_now", until(time.Unix(0, 5e8), time.Unix(0, 0)), "now"},
		{"clock_today", clock(time.Unix(86399, 0).UTC(), time.Unix(0, 0).UTC()), "23:59:59"},
		{"clock_yesterday", clock(time.Unix(86399, 0).UTC(), time.Unix(86400, 0).UTC()), "1 Jan 23:59"},
		{"days", duration(49*h + 59*time.Minute), "2 d 1 h"},
		{"whole_days", duration(24*h + time.Minute), "1 d"},
		{"hours", duration(3*h + 4*time.Minute + time.Second), "3 h 4 min"},
		{"minutes", duration(119 * time.Second), "1 min"},
		{"seconds", duration(1999 * time.Millisecond), "1 s"},
		{"milliseconds", duration(999 * time.Millisecond), "999 ms"},
		{"microseconds", duration(999 * time.Microsecond), "< 1 ms"},
		{"number_small", number(999), "999"},
		{"number_thousand", number(1000), "1\u202f000"},
		{"number_million", number(int64(-1234567)), "-1\u202f234\u202f567"},
		{"number_hundred_negative", number(-123), "-123"},
		{"size_octets", size(1023), "1023 B"},
		{"size_kibi", size(1024), "1 KiB"},
		{"size_carried", size(1000 * 1024), "0.977 MiB"},
		{"size_gibi", size(5 << 30), "5 GiB"},
		{"size_huge", size(1 << 62), "4.19e+06 TiB"},
		{"share_none", share(0, 5), "0 %"},
		{"share_of_nothing", share(0, 0), "0 %"},
		{"share_tiny", share(1, 100000), "< 0.1 %"},
		{"share_half", share(1, 2), "50 %"},
		{"share_all", share(7, 7), "100 %"},
		{"share_nearly_all", share(999, 1000), "99 %"},
		{"share_small", share(99, 1000), "9.9 %"},
	} {
		if row.got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, row.got, row.want)
		}
	}
}

// TestTextIsHarmless checks that text returns bounded, printable text for any bytes.
func TestTextIsHarmless(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "/", "é", "\u202e", "\U000e0001", "\xff", "\xe2\x82", "\x00", "\uFFFD", "\n", markup}
	for range 500 {
		var b strings.Builder
		for range dice.IntN(1500) {
			b.WriteString(pieces[dice.IntN(len(pieces)-dice.IntN(2))])
		}
		s := b.String()
		got := text(s)
		if len(got) > keptURL {
			t.Errorf("%.100q: got %d bytes", s, len(got))
		}
		if got != clean.Text(got, len(got)) || !utf8.ValidString(got) {
			t.Errorf("%.100q: got %.100q, which does not all print", s, got)
		}
	}
}

func TestChart(t *testing.T) {
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	series := []bucket{
		{start, counts{Allowed: 3, Disallowed: 1}}, {start.Add(time.Minute), counts{}}, {start.Add(2 * time.Minute), counts{Deferred: 5}},
	}
	c := draw("Decisions", verdictKinds, series)
	if got, want := c.Label, "Decisions: 3 allowed, 1 disallowed, 5 deferred"; got != want {
		t.Errorf("label: got %q, want %q", got, want)
	}
	if c.Top != "5" || c.Width != 30 || len(c.Bars) != 3 {
		t.Errorf("got top %s, width %d, %d bars; want 5, 30, 3", c.Top, c.Width, len(c.Bars))
	}
	want := []bar{
		{0, 10, "Sun 1 Nov 12:00 UTC: 3 allowed, 1 disallowed", []part{{"allow", 1, 40, 8, 60}, {"disallow", 1, 20, 8, 20}}},
		{10, 10, "Sun 1 Nov 12:01 UTC: nothing", nil},
		{20, 10, "Sun 1 Nov 12:02 UTC: 5 deferred", []part{{"defer", 21, 0, 8, 100}}},
	}
	for i := range want {
		if got := mustJSON(c.Bars[i]); got != mustJSON(want[i]) {
			t.Errorf("bar %d: got %s, want %s", i, got, mustJSON(want[i]))
		}
	}
	if got, want := strings.Join(c.Ticks, " "), "12:00 12:00 12:01 12:01 now"; got != want {
		t.Errorf("ticks: got %q, want %q", got, want)
	}
}

func TestRoundUp(t *testing.T) {
	for _, row := range [][2]int64{{0, 1}, {1, 1}, {2, 2}, {3, 5}, {6, 10}, {10, 10}, {11, 20}, {201, 500}, {1 << 62, 5e18}, {1<<63 - 1, 1<<63 - 1}} {
		if got := roundUp(row[0]); got != row[1] {
			t.Errorf("%d: got %d, want %d", row[0], got, row[1])
		}
	}
}
