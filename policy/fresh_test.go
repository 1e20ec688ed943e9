package policy_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/policy"
)

// manyDigits is a number that no integer type can hold.
var manyDigits = strings.Repeat("9", 400)

// lifetimes are the rows of TestLifetime.
var lifetimes = []struct {
	name, header string
	want         time.Duration
}{
	{"2.4/no_cache_header", "", days},
	{"2.4/last_modified_is_no_hint", "Last-Modified: Fri, 01 May 2020 00:00:00 GMT", days},

	{"2.4/max_age", "Cache-Control: max-age=3600", time.Hour},
	{"2.4/max_age_at_the_floor", "Cache-Control: max-age=60", time.Minute},
	{"2.4/max_age_over_the_floor", "Cache-Control: max-age=61", 61 * time.Second},
	{"2.4/max_age_under_the_floor", "Cache-Control: max-age=1", time.Minute},
	{"2.4/max_age_of_zero", "Cache-Control: max-age=0", time.Minute},
	{"2.4/max_age_of_a_day", "Cache-Control: max-age=86400", days},
	{"2.4/max_age_over_a_day", "Cache-Control: max-age=86401", days},
	{"2.4/max_age_of_a_year", "Cache-Control: max-age=31536000", days},
	{"2.4/max_age_over_int32", "Cache-Control: max-age=4294967296", days},
	{"2.4/max_age_over_int64", "Cache-Control: max-age=9223372036854775808", days},
	{"2.4/max_age_of_400_digits", "Cache-Control: max-age=" + manyDigits, days},
	{"2.4/max_age_with_leading_zeros", "Cache-Control: max-age=00003600", time.Hour},
	{"2.4/max_age_in_capitals", "Cache-Control: MAX-AGE=3600", time.Hour},
	{"2.4/max_age_in_quotes", `Cache-Control: max-age="3600"`, time.Hour},
	{"2.4/max_age_in_the_middle", "Cache-Control: public, max-age=3600, must-revalidate", time.Hour},
	{"2.4/max_age_without_space", "Cache-Control: public,max-age=3600,immutable", time.Hour},
	{"2.4/empty_parts", "Cache-Control: , ,max-age=3600,,", time.Hour},

	{"2.4/max_age_negative", "Cache-Control: max-age=-1", time.Minute},
	{"2.4/max_age_a_fraction", "Cache-Control: max-age=1.5", time.Minute},
	{"2.4/max_age_with_a_unit", "Cache-Control: max-age=3600s", time.Minute},
	{"2.4/max_age_a_word", "Cache-Control: max-age=forever", time.Minute},
	{"2.4/max_age_without_value", "Cache-Control: max-age", time.Minute},
	{"2.4/max_age_with_an_empty_value", "Cache-Control: max-age=", time.Minute},
	{"2.4/max_age_with_spaces", "Cache-Control: max-age = 3600", time.Minute},
	{"2.4/max_age_with_a_semicolon", "Cache-Control: max-age=3600; public", time.Minute},

	{"2.4/two_max_ages_the_shorter", "Cache-Control: max-age=3600, max-age=7200", time.Hour},
	{"2.4/two_max_ages_the_shorter_last", "Cache-Control: max-age=7200, max-age=3600", time.Hour},
	{"2.4/two_lines_of_max_age", "Cache-Control: max-age=7200\nCache-Control: max-age=3600", time.Hour},
	{"2.4/one_of_two_unreadable", "Cache-Control: max-age=7200, max-age=x", time.Minute},

	{"2.4/no_store", "Cache-Control: no-store", time.Minute},
	{"2.4/no_cache", "Cache-Control: no-cache", time.Minute},
	{"2.4/no_cache_wins", "Cache-Control: max-age=3600, no-cache", time.Minute},
	{"2.4/no_store_on_the_second_line", "Cache-Control: max-age=3600\nCache-Control: no-store", time.Minute},
	{"2.4/no_cache_with_fields", `Cache-Control: no-cache="Set-Cookie", max-age=3600`, time.Minute},
	{"2.4/no_cache_with_commas_in_quotes", `Cache-Control: no-cache="Set-Cookie, X", max-age=3600`, time.Minute},
	{"2.4/NO_STORE", "Cache-Control: NO-STORE", time.Minute},
	{"2.4/private_is_for_us", "Cache-Control: private, max-age=3600", time.Hour},
	{"2.4/private_with_fields", `Cache-Control: private="a, b", max-age=3600`, time.Hour},
	{"2.4/words_in_quotes_are_no_directives", `Cache-Control: x="no-store, max-age=1", max-age=3600`, time.Hour},
	{"2.4/escaped_quotes", `Cache-Control: x="a\", no-store", max-age=3600`, time.Hour},
	{"2.4/an_open_quote_hides_nothing", `Cache-Control: x="a, max-age=3600`, time.Hour},
	{"2.4/an_open_quote_hides_no_no_store", `Cache-Control: max-age=3600, x="a, no-store`, time.Minute},
	{"2.4/a_bad_part_voids_nothing", "Cache-Control: s-maxage=x, @@@, =, max-age=3600", time.Hour},
	{"2.4/a_bad_line_voids_nothing", "Cache-Control: \"\nCache-Control: max-age=3600", time.Hour},
	{"2.4/s_maxage_is_not_ours", "Cache-Control: s-maxage=60, max-age=3600", time.Hour},
	{"2.4/s_maxage_alone_says_nothing", "Cache-Control: s-maxage=3600", days},
	{"2.4/names_that_end_in_max_age", "Cache-Control: x-max-age=60, max-ages=60", days},
	{"2.4/must_revalidate_says_nothing", "Cache-Control: must-revalidate, proxy-revalidate", days},
	{"2.4/stale_while_revalidate_says_nothing", "Cache-Control: stale-while-revalidate=60, stale-if-error=60", days},

	{"2.4/pragma", "Pragma: no-cache", time.Minute},
	{"2.4/pragma_in_a_list", "Pragma: x, No-Cache", time.Minute},
	{"2.4/pragma_of_another_word", "Pragma: public", days},
	{"2.4/vary_on_everything", "Vary: *", time.Minute},
	{"2.4/vary_on_everything_in_a_list", "Vary: Accept, *", time.Minute},
	{"2.4/vary_on_something", "Vary: Accept-Encoding", days},

	{"2.4/expires", "Expires: Fri, 01 May 2026 01:00:00 GMT", time.Hour},
	{"2.4/expires_in_the_past", "Expires: Fri, 01 May 2020 01:00:00 GMT", time.Minute},
	{"2.4/expires_now", "Expires: Fri, 01 May 2026 00:00:00 GMT", time.Minute},
	{"2.4/expires_far_ahead", "Expires: Fri, 31 Dec 9999 23:59:59 GMT", days},
	{"2.4/expires_of_zero", "Expires: 0", time.Minute},
	{"2.4/expires_of_minus_one", "Expires: -1", time.Minute},
	{"2.4/expires_of_nothing", "Expires:", time.Minute},
	{"2.4/expires_never", "Expires: never", time.Minute},
	{"2.4/expires_in_rfc_850", "Expires: Friday, 01-May-26 01:00:00 GMT", time.Hour},
	{"2.4/expires_in_asctime", "Expires: Fri May  1 01:00:00 2026", time.Hour},
	{"2.4/expires_in_iso_8601", "Expires: 2026-05-01T01:00:00Z", time.Minute},
	{"2.4/expires_less_date_or_now_the_shorter", "Date: Thu, 30 Apr 2026 12:00:00 GMT\nExpires: Fri, 01 May 2026 01:00:00 GMT", time.Hour},
	{"2.4/expires_less_now_or_date_the_shorter", "Date: Fri, 01 May 2026 00:30:00 GMT\nExpires: Fri, 01 May 2026 01:00:00 GMT", 30 * time.Minute},
	{"2.4/expires_by_a_clock_that_is_years_behind", "Date: Fri, 01 May 2020 00:00:00 GMT\nExpires: Fri, 01 May 2020 01:00:00 GMT", time.Minute},
	{"2.4/expires_with_an_unreadable_date", "Date: today\nExpires: Fri, 01 May 2026 01:00:00 GMT", time.Hour},
	{"2.4/two_expires_the_earlier", "Expires: Fri, 01 May 2026 02:00:00 GMT\nExpires: Fri, 01 May 2026 01:00:00 GMT", time.Hour},
	{"2.4/one_of_two_expires_unreadable", "Expires: Fri, 01 May 2026 02:00:00 GMT\nExpires: 0", time.Minute},
	{"2.4/expires_in_another_zone", "Expires: Fri, 01 May 2026 01:00:00 CET", time.Minute},
	{"2.4/expires_in_lower_case", "Expires: fri, 01 may 2026 01:00:00 gmt", time.Hour},
	{"2.4/expires_in_capitals", "Expires: FRIDAY, 01-MAY-26 01:00:00 GMT", time.Hour},
	{"2.4/expires_in_rfc_850_of_another_zone", "Expires: Friday, 01-May-26 09:00:00 PST", time.Minute},
	{"2.4/expires_in_rfc_850_of_utc", "Expires: Friday, 01-May-26 01:00:00 UTC", time.Minute},
	{"2.4/expires_in_rfc_850_east_of_greenwich", "Expires: Friday, 01-May-26 09:00:00 GMT+3", time.Minute},
	{"2.4/expires_with_a_date_of_another_zone", "Date: Friday, 01-May-26 00:30:00 PST\nExpires: Fri, 01 May 2026 01:00:00 GMT", time.Hour},
	{"2.4/expires_by_a_clock_that_is_fast", "Date: Sun, 03 May 2026 00:00:00 GMT\nExpires: Sun, 03 May 2026 01:00:00 GMT", time.Hour},
	{"2.4/expires_before_its_date", "Date: Sun, 03 May 2026 00:00:00 GMT\nExpires: Sat, 02 May 2026 00:00:00 GMT", time.Minute},
	{"2.4/a_date_alone_says_nothing", "Date: Thu, 01 Jan 1970 00:00:00 GMT", days},
	{"2.4/surrogate_control_is_not_ours", "Surrogate-Control: max-age=60\nCDN-Cache-Control: no-store", days},
	{"2.4/max_age_before_expires", "Cache-Control: max-age=3600\nExpires: 0", time.Hour},
	{"2.4/max_age_before_a_later_expires", "Cache-Control: max-age=60\nExpires: Fri, 01 May 2026 01:00:00 GMT", time.Minute},
	{"2.4/expires_beside_other_directives", "Cache-Control: public\nExpires: Fri, 01 May 2026 01:00:00 GMT", time.Hour},

	{"2.4/age_is_spent", "Cache-Control: max-age=3600\nAge: 600", 50 * time.Minute},
	{"2.4/age_is_spent_from_the_most_of_a_day", "Cache-Control: max-age=31536000\nAge: 3600", 23 * time.Hour},
	{"2.4/age_is_spent_from_the_default", "Age: 3600", 23 * time.Hour},
	{"2.4/age_is_spent_from_expires", "Expires: Fri, 01 May 2026 01:00:00 GMT\nAge: 600", 50 * time.Minute},
	{"2.4/age_leaves_the_floor", "Cache-Control: max-age=3600\nAge: 3599", time.Minute},
	{"2.4/age_over_the_lifetime", "Cache-Control: max-age=3600\nAge: 3600", time.Hour},
	{"2.4/age_makes_it_long_stale", "Cache-Control: max-age=600\nAge: 100000", time.Hour},
	{"2.4/age_makes_it_stale_by_our_day", "Cache-Control: max-age=31536000\nAge: 100000", time.Hour},
	{"2.4/age_makes_it_stale_by_expires", "Expires: Fri, 01 May 2026 02:00:00 GMT\nAge: 7200", time.Hour},
	{"2.4/age_of_any_size", "Cache-Control: max-age=3600\nAge: " + manyDigits, time.Hour},
	{"2.4/age_leaves_no_store_alone", "Cache-Control: no-store, max-age=3600\nAge: 100000", time.Minute},
	{"2.4/age_leaves_max_age_of_zero_alone", "Cache-Control: max-age=0\nAge: 100000", time.Minute},
	{"2.4/age_leaves_a_past_expires_alone", "Expires: 0\nAge: 100000", time.Minute},
	{"2.4/age_of_an_answer_without_cache_header", "Age: 82800", time.Hour},
	{"2.4/age_of_a_day_without_cache_header", "Age: 86400", time.Hour},
	{"2.4/age_of_days_without_cache_header", "Age: 999999", time.Hour},
	{"2.4/age_negative", "Cache-Control: max-age=3600\nAge: -600", time.Hour},
	{"2.4/age_unreadable", "Cache-Control: max-age=3600\nAge: old", time.Hour},
	{"2.4/age_of_nothing", "Cache-Control: max-age=3600\nAge:", time.Hour},
	{"2.4/two_ages_the_greater", "Cache-Control: max-age=3600\nAge: 60\nAge: 600", 50 * time.Minute},
	{"2.4/two_ages_on_a_line", "Cache-Control: max-age=3600\nAge: 600, 60", 50 * time.Minute},
}

// TestLifetime checks how long a file is used that was received with a header. The
// answer is received at start, midnight of the first of May 2026.
func TestLifetime(t *testing.T) {
	for _, tt := range lifetimes {
		t.Run(tt.name, func(t *testing.T) {
			a := policy.Attempt{Robots: robots, Status: 200, Body: []byte(bodies["rules"]), Header: header(t, tt.header), Received: start}
			r := learn(t, policy.RFC9309(), nil, a)
			if got := r.NextTry().Sub(start); got != tt.want {
				t.Errorf("%s\ngot  %v\nwant %v", tt.header, got, tt.want)
			}
			if outcome(t, r, start.Add(tt.want-1)) != "rules 2.2.2" || outcome(t, r, start.Add(tt.want)) != "defer 2.4" {
				t.Errorf("%s\nthe copy does not end with its lifetime of %v", tt.header, tt.want)
			}
		})
	}
}

// TestExchange checks that the time of the fetch counts as age (RFC 9111, section
// 4.2.3), but does not shorten a minimum.
func TestExchange(t *testing.T) {
	const minute = time.Minute
	for _, tt := range []struct {
		name, header string
		took, want   time.Duration
	}{
		{"2.4/the_exchange_is_spent", "Cache-Control: max-age=3600", minute, 59 * minute},
		{"2.4/the_exchange_adds_to_the_age", "Cache-Control: max-age=3600\nAge: 600", minute, 49 * minute},
		{"2.4/the_exchange_is_spent_from_the_default", "", minute, 24*time.Hour - minute},
		{"2.4/the_exchange_leaves_the_floor", "Cache-Control: max-age=3600", 2 * time.Hour, minute},
		{"2.4/the_exchange_of_a_short_lifetime", "Cache-Control: max-age=30", minute, minute},
		{"2.4/the_exchange_leaves_the_hour_of_an_aged_answer", "Cache-Control: max-age=600\nAge: 100000", minute, time.Hour},
		{"2.4/the_exchange_leaves_the_hour_of_an_aged_default", "Age: 100000", minute, time.Hour},
		{"2.4/the_exchange_of_no_store", "Cache-Control: no-store", minute, minute},
		{"2.4/an_exchange_of_any_length", "Age: 99999999999", 1 << 62, time.Hour},
		{"2.4/an_exchange_that_ends_before_it_begins", "Cache-Control: max-age=3600", -minute, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := attempt(t, "200 rules", start)
			a.Header, a.Sent = header(t, tt.header), start.Add(-tt.took)
			if got := learn(t, policy.RFC9309(), nil, a).NextTry().Sub(start); got != tt.want {
				t.Errorf("%q after an exchange of %v:\ngot  %v\nwant %v", tt.header, tt.took, got, tt.want)
			}
		})
	}
}

// TestAlmostStale checks that an answer that is fresh for a nanosecond is not aged: it lives
// for the floor, not for an hour.
func TestAlmostStale(t *testing.T) {
	a := attempt(t, "200 rules + Expires: Fri, 01 May 2026 00:00:00 GMT", start.Add(-1))
	if got := learn(t, policy.RFC9309(), nil, a).NextTry().Sub(a.Received); got != time.Minute {
		t.Errorf("the next fetch is after %v; want 1m", got)
	}
}

// header returns a header from lines of "Field: value".
func header(t *testing.T, lines string) http.Header {
	t.Helper()
	h := http.Header{}
	for line := range strings.Lines(lines) {
		field, value, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("not a header line: %q", line)
		}
		h.Add(field, strings.TrimSpace(value))
	}
	return h
}

// TestHostileCacheControl reads the longest header that a server can send, with content
// that is slow to parse. If the time were not linear, the test would not end.
func TestHostileCacheControl(t *testing.T) {
	for _, part := range []string{",", `"`, `",`, `,\"`, `\",`, `x="a,`, "max-age=1,", "no-cache=,"} {
		line := `"` + strings.Repeat(part, 64<<10/len(part))
		h := http.Header{"Cache-Control": {line}, "Age": {line}, "Pragma": {line}, "Vary": {line}, "Expires": {line}}
		r := policy.RFC9309().Learn(nil, policy.Attempt{Robots: robots, Status: 200, Header: h, Received: start})
		if got := r.NextTry().Sub(start); got != time.Minute {
			t.Errorf("64 KiB of %q, and Expires of the same: got %v; want 1m", part, got)
		}
	}
}

// TestValidators checks the validators of the next request after an answer with a
// header.
func TestValidators(t *testing.T) {
	const date = "Fri, 01 May 2020 00:00:00 GMT"
	kib := strings.Repeat("x", 1022)
	for _, tt := range []struct{ name, header, match, since string }{
		{"2.4/none", "", "", ""},
		{"2.4/etag", `ETag: "a"`, `"a"`, ""},
		{"2.4/weak_etag", `ETag: W/"a"`, `W/"a"`, ""},
		{"2.4/empty_etag", `ETag: ""`, `""`, ""},
		{"2.4/etag_with_obs_text", "ETag: \"\xE4\"", "\"\xE4\"", ""},
		{"2.4/date", "Last-Modified: " + date, "", date},
		{"2.4/both", "ETag: \"a\"\nLast-Modified: " + date, `"a"`, date},
		{"2.4/etag_of_1_KiB", `ETag: "` + kib + `"`, `"` + kib + `"`, ""},
		{"2.4/etag_over_1_KiB", `ETag: "` + kib + `x"`, "", ""},
		{"2.4/etag_without_quotes", "ETag: abc", "", ""},
		{"2.4/etag_with_one_quote", `ETag: "`, "", ""},
		{"2.4/etag_with_a_quote_before", `ETag: "a`, "", ""},
		{"2.4/etag_with_a_quote_behind", `ETag: a"`, "", ""},
		{"2.4/etag_with_a_quote_inside", `ETag: "a"b"`, "", ""},
		{"2.4/etag_with_a_space", `ETag: "a b"`, "", ""},
		{"2.4/etag_with_a_control", "ETag: \"a\x01\"", "", ""},
		{"2.4/lower_case_weak", `ETag: w/"a"`, "", ""},
		{"2.4/date_in_lower_case", "Last-Modified: " + strings.ToLower(date), "", date},
		{"2.4/date_of_another_zone", "Last-Modified: Friday, 01-May-20 00:00:00 PST", "", ""},
		{"2.4/date_that_is_none", "Last-Modified: yesterday", "", ""},
		{"2.4/date_over_1_KiB", "Last-Modified: " + date + kib, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := policy.Attempt{Robots: robots, Status: 200, Body: []byte(bodies["rules"]), Header: header(t, tt.header), Received: start}
			for _, name := range names {
				p := profile(t, name)
				match, since := tt.match, tt.since
				if !p.Conditional {
					match, since = "", ""
				}
				r := reload(t, p, learn(t, p, nil, a))
				h := r.Validators()
				if h.Get("If-None-Match") != match || h.Get("If-Modified-Since") != since || (h == nil) != (match+since == "") {
					t.Errorf("%s, after %q:\ngot  %q\nwant %q and %q", name, tt.header, h, match, since)
				}
			}
		})
	}
}

// TestValidatorsLive checks the validators and their URL after each event of a copy.
func TestValidatorsLive(t *testing.T) {
	p := policy.RFC9309()
	var rec *policy.Record
	const cdn = "https://cdn.example/r"
	for _, tt := range []struct {
		name, event, match, origin string
	}{
		{"2.4/from_another_place", "200 rules from " + cdn + ` + ETag: "a"`, `"a"`, cdn},
		{"2.4/kept_in_an_outage", "503", `"a"`, cdn},
		{"2.4/kept_over_a_304", "304 from " + cdn, `"a"`, cdn},
		{"2.4/kept_with_a_copy_that_a_4xx_leaves", "403", `"a"`, cdn},
		{"2.4/dropped_by_another_entity", "304 from " + cdn + ` + ETag: "b"`, "", cdn},
		{"2.4/replaced", `200 rules + ETag: "c"`, `"c"`, robots},
		{"2.4/dropped_with_the_copy", "404", "", robots},
	} {
		rec = reload(t, p, learn(t, p, rec, attempt(t, tt.event, start)))
		if got := rec.Validators().Get("If-None-Match"); got != tt.match || rec.ServedFrom() != tt.origin {
			t.Errorf("%s, after %q:\ngot  %q of %s\nwant %q of %s", tt.name, tt.event, got, rec.ServedFrom(), tt.match, tt.origin)
		}
	}
	for _, tt := range []struct{ name, event, match, since string }{
		{"2.4/an_etag_alone", `200 rules + ETag: "z"`, `"z"`, ""},
		{"2.4/a_304_with_another_kind_of_validator", "304 + Last-Modified: Sat, 02 May 2020 00:00:00 GMT", `"z"`, "Sat, 02 May 2020 00:00:00 GMT"},
		{"2.4/a_date_alone", "200 rules + Last-Modified: Fri, 01 May 2020 00:00:00 GMT", "", "Fri, 01 May 2020 00:00:00 GMT"},
		{"2.4/a_304_brings_an_etag", `304 + ETag: "a"`, `"a"`, "Fri, 01 May 2020 00:00:00 GMT"},
		{"2.4/a_304_brings_a_date", `304 + ETag: W/"a" + Last-Modified: Sat, 02 May 2020 00:00:00 GMT`, `W/"a"`, "Sat, 02 May 2020 00:00:00 GMT"},
		{"2.4/a_304_without_validators", "304", `W/"a"`, "Sat, 02 May 2020 00:00:00 GMT"},
		{"2.4/a_304_of_another_date", "304 + Last-Modified: Sun, 03 May 2020 00:00:00 GMT", "", ""},
	} {
		rec = reload(t, p, learn(t, p, rec, attempt(t, tt.event, start)))
		h := rec.Validators()
		if h.Get("If-None-Match") != tt.match || h.Get("If-Modified-Since") != tt.since {
			t.Errorf("%s, after %q:\ngot  %q\nwant %q and %q", tt.name, tt.event, h, tt.match, tt.since)
		}
	}
	rec = learn(t, p, nil, attempt(t, `200 rules + ETag: "a"`, start))
	rec.Validators().Set("If-None-Match", "changed")
	if got := rec.Validators().Get("If-None-Match"); got != `"a"` {
		t.Errorf("a caller changed the record's validators: got %q", got)
	}
}
