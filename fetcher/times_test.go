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

// on is a date as a header field has it.
func on(t time.Time) string { return t.UTC().Format(http.TimeFormat) }

// nextTry asks http://example.com, which answers so, about the public page, and
// is how long after that its robots.txt is asked for again.
func nextTry(t *testing.T, answer httptest.Step) (next time.Duration, ruled string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(answer)
		tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
		d, err := tr.Check(t.Context(), must(public))
		if err != nil {
			t.Fatal(err)
		}
		next, ruled = time.Until(d.Expires), ruling(d)
		// What a Decision says is what happens: no request before, one then.
		for _, at := range []struct {
			wait time.Duration
			asks int64
		}{{next - 1, 1}, {1, 2}} {
			time.Sleep(at.wait)
			tr.Check(t.Context(), must(public))
			if got := tr.Stats().Retrievals; got != at.asks {
				t.Errorf("after %v: got %d retrievals, want %d", time.Since(midnight), got, at.asks)
			}
		}
	})
	return next, ruled
}

// TestLifetimes are the words by which a server may say how long its file holds
// (RFC 9309, section 2.4; RFC 9111, sections 4.2 and 5), and the words of servers
// that mean something else, or nothing.
func TestLifetimes(t *testing.T) {
	const floor, hour = time.Minute, time.Hour
	cc := func(lines ...string) http.Header { return http.Header{"Cache-Control": lines} }
	aged := func(age ...string) http.Header {
		return http.Header{"Cache-Control": {"max-age=7200"}, "Age": age}
	}
	dated := func(date, expires string) http.Header {
		return http.Header{"Date": {date}, "Expires": {expires}}
	}
	for _, tt := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"in_capitals", cc("MAX-AGE=3600"), hour},
		{"spaces_between", cc("  max-age=3600  ,  public  "), hour},
		{"leading_zeros", cc("max-age=0003600"), hour},
		{"a_second_over_the_floor", cc("max-age=61"), 61 * time.Second},
		{"the_floor_itself", cc("max-age=60"), floor},
		{"a_second_under_the_floor", cc("max-age=59"), floor},
		{"a_day_and_a_second", cc("max-age=86401"), day},
		{"2_to_the_31", cc("max-age=2147483648"), day},
		{"2_to_the_63", cc("max-age=9223372036854775808"), day},
		{"a_thousand_digits", cc("max-age=" + strings.Repeat("9", 1000)), day},
		{"the_shorter_of_two", cc("max-age=3600, max-age=7200"), hour},
		{"the_shorter_of_two_lines", cc("max-age=7200", "max-age=3600"), hour},
		{"an_unreadable_one_of_two", cc("max-age=3600, max-age=x"), floor},
		{"a_fraction", cc("max-age=3600.5"), floor},
		{"no_value", cc("max-age"), floor},
		{"an_empty_value", cc("max-age="), floor},
		{"hexadecimal", cc("max-age=0xe10"), floor},
		{"with_a_unit", cc("max-age=3600s"), floor},
		{"no_cache_for_a_field", cc(`no-cache="Set-Cookie", max-age=3600`), floor},
		{"no_store_among_others", cc("public, No-Store, max-age=3600"), floor},
		{"no_store_in_another_line", cc("max-age=3600", "no-store"), floor},
		{"private", cc("private, max-age=3600"), hour},
		{"immutable", cc("immutable, max-age=3600"), hour},
		{"must_understand_and_others_unknown", cc(`must-understand, x-y="z", max-age=3600`), hour},
		{"stale_while_revalidate", cc("max-age=3600, stale-while-revalidate=86400, stale-if-error=86400"), hour},
		{"a_quote_left_open", cc(`x="y, max-age=3600`), hour},
		{"a_field_of_30_KiB", cc(strings.Repeat("x, ", 10_000) + "max-age=3600"), hour},
		{"nothing", cc(""), day},
		{"unknown_words_alone", cc("x, y=1, =, ,"), day},

		{"age_of_nothing", aged("0"), 2 * hour},
		{"age_half", aged("3600"), hour},
		{"age_all_but_the_floor", aged("7140"), floor},
		{"age_over_all", aged("99999999999999999999"), floor},
		{"age_negative", aged("-3600"), 2 * hour},
		{"age_unreadable", aged("old"), 2 * hour},
		{"age_of_two_lines_is_the_larger", aged("10", "3600"), hour},
		{"age_of_a_list_is_the_larger", aged("3600, 10"), hour},
		{"age_without_a_lifetime", http.Header{"Age": {"82800"}}, hour},

		{"expires", http.Header{"Expires": {on(midnight.Add(hour))}}, hour},
		{"expires_now", http.Header{"Expires": {on(midnight)}}, floor},
		{"expires_in_a_thousand_years", http.Header{"Expires": {"Tue, 01 Jan 3000 00:00:00 GMT"}}, day},
		{"expires_in_1970", http.Header{"Expires": {"Thu, 01 Jan 1970 00:00:00 GMT"}}, floor},
		{"expires_minus_1", http.Header{"Expires": {"-1"}}, floor},
		{"expires_empty", http.Header{"Expires": {""}}, floor},
		{"expires_in_another_zone", http.Header{"Expires": {"Sat, 01 Jan 2000 01:00:00 CET"}}, floor},
		{"expires_as_rfc_850", http.Header{"Expires": {"Saturday, 01-Jan-00 01:00:00 GMT"}}, hour},
		{"expires_as_asctime", http.Header{"Expires": {"Sat Jan  1 01:00:00 2000"}}, hour},
		{"expires_the_earlier_of_two", http.Header{"Expires": {on(midnight.Add(2 * hour)), on(midnight.Add(hour))}}, hour},
		{"expires_the_unreadable_of_two", http.Header{"Expires": {on(midnight.Add(hour)), "0"}}, floor},
		{"expires_by_a_clock_that_is_slow", dated(on(midnight.Add(-48*hour)), on(midnight.Add(-47*hour))), hour},
		{"expires_by_a_clock_that_is_fast", dated(on(midnight.Add(48*hour)), on(midnight.Add(49*hour))), hour},
		{"expires_before_its_date", dated(on(midnight.Add(48*hour)), on(midnight.Add(47*hour))), floor},
		{"expires_by_an_unreadable_date", dated("today", on(midnight.Add(hour))), hour},
		{"expires_under_an_unreadable_max_age", http.Header{"Cache-Control": {"max-age=x"}, "Expires": {on(midnight.Add(hour))}}, floor},

		{"expires_without_a_date", http.Header{"Date": nil, "Expires": {on(midnight.Add(hour))}}, hour},

		{"date_alone_in_the_past", http.Header{"Date": {"Thu, 01 Jan 1970 00:00:00 GMT"}}, day},
		{"date_alone_in_the_future", http.Header{"Date": {"Tue, 01 Jan 3000 00:00:00 GMT"}}, day},
		{"last_modified_in_the_future", http.Header{"Last-Modified": {"Tue, 01 Jan 3000 00:00:00 GMT"}}, day},
		{"vary_on_what_is_sent", http.Header{"Vary": {"User-Agent, Accept-Encoding, Cookie"}}, day},
		{"vary_on_everything", http.Header{"Vary": {"Accept", "*"}}, floor},
		{"pragma_of_another_kind", http.Header{"Pragma": {"x"}}, day},
		{"pragma_in_capitals", http.Header{"Pragma": {"No-Cache"}}, floor},
		{"surrogate_control_is_not_ours", http.Header{"Surrogate-Control": {"max-age=60"}, "CDN-Cache-Control": {"no-store"}}, day},
		{"warnings", http.Header{"Warning": {`110 - "Response is Stale"`}}, day},
	} {
		t.Run("2.4/"+tt.name, func(t *testing.T) {
			answer := text
			for name, lines := range tt.header {
				if lines == nil {
					answer = answer.Without(name)
				}
				for _, line := range lines {
					answer = answer.Header(name, line)
				}
			}
			if got, _ := nextTry(t, answer); got != tt.want {
				t.Errorf("%v:\ngot  asked again after %v\nwant %v", tt.header, got, tt.want)
			}
		})
	}
}

// TestRetryAfter are the forms and sizes of Retry-After (RFC 9110, section
// 10.2.3) at a server that is down and at one that is busy. It makes a wait
// longer and never shorter, and nothing makes it longer than a day.
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
		{"a_second", []string{"1"}, 0},
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
				got, ruled := nextTry(t, answer)
				if tt.want != 0 && got != tt.want || tt.want == 0 && (got < least || got > most) || !strings.HasPrefix(ruled, "defer") {
					t.Errorf("%d, Retry-After %q:\ngot  %s, asked again after %v\nwant defer, asked again after %v (0: %v to %v)",
						code, tt.lines, ruled, got, tt.want, least, most)
				}
			})
		}
	}
}

// TestRetryAfterElsewhere are answers on which a Retry-After says nothing about
// robots.txt: the table has their times.
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
					t.Errorf("Retry-After %s:\ngot  asked again after %v\nwant %v", after, got, tt.want)
				}
			})
		}
	}
}

// TestRetryAfterDates count from the server's own Date: what counts is the span
// that it meant.
func TestRetryAfterDates(t *testing.T) {
	for name, date := range map[string]time.Time{"slow": midnight.Add(-48 * time.Hour), "fast": midnight.Add(48 * time.Hour), "of_1970": time.Unix(0, 0)} {
		t.Run("house/a_clock_that_is_"+name, func(t *testing.T) {
			answer := httptest.Status(503).Header("Date", on(date)).Header("Retry-After", on(date.Add(2*time.Hour)))
			if got, _ := nextTry(t, answer); got != 2*time.Hour {
				t.Errorf("Date %v:\ngot  asked again after %v\nwant 2h", date, got)
			}
		})
	}
}
