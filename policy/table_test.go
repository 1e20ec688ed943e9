package policy_test

import (
	"testing"

	"github.com/rfc9309/polite/policy"
)

// TestTable goes through the decision table of the default profile, row by row.
func TestTable(t *testing.T) {
	for _, s := range []story{
		// The file was had.
		{"2.3/nothing_is_known", `
			0: ask -> defer 2.3`},
		{"2.4/a_copy_governs_for_24_hours", `
			0:         200 rules -> rules 2.2.2; next 24h
			23h59m59s: ask       -> rules 2.2.2
			24h:       ask       -> defer 2.4`},
		{"2.3.1.1/a_new_file_replaces_the_copy", `
			0:  200 rules  -> rules 2.2.2; next 24h
			1h: 200 others -> others 2.2.2; next 24h`},
		{"2.3.1.1/other_2xx_carry_a_file", `
			0: 201 rules  -> rules 2.2.2; next 24h
			1s: 203 others -> others 2.2.2; next 24h
			2s: 205 rules  -> rules 2.2.2; next 24h
			3s: 226 others -> others 2.2.2; next 24h
			4s: 299 rules  -> rules 2.2.2; next 24h`},
		{"2.3.1.1/success_ends_an_outage", `
			0:   503       -> defer 2.3.1.4; next 1m
			29d: 200 rules -> rules 2.2.2; next 24h
			30d: 503       -> rules stale 2.4; next 1m
			59d: 503       -> rules stale 2.4`},
		{"2.2.1/an_empty_file_allows", `
			0: 200 empty     -> allow 2.2.1; next 24h
			0: 200 comment   -> allow 2.2.1; next 24h
			0: 200 sitemap   -> allow 2.2.1; next 24h
			0: 200 ungrouped -> allow 2.2.1; next 24h`},
		{"2.2.1/a_page_allows_for_an_hour", `
			0: 200 html                                          -> allow 2.2.1; next 1h
			0: 200 empty + Content-Type: text/html               -> allow 2.2.1; next 1h
			0: 200 empty + Content-Type: TEXT/HTML ;charset=x    -> allow 2.2.1; next 1h
			0: 200 empty + Content-Type: application/xhtml+xml   -> allow 2.2.1; next 1h
			0: 200 html + Cache-Control: max-age=600             -> allow 2.2.1; next 10m
			0: 200 html + Cache-Control: max-age=7200            -> allow 2.2.1; next 1h
			0: 200 html + Cache-Control: no-store                -> allow 2.2.1; next 1m`},
		{"2.2.1/a_page_that_is_confirmed_stays_a_page", `
			0:  200 html + ETag: "a" -> allow 2.2.1; next 1h
			1h: 304 + ETag: "a"      -> allow 2.2.1; next 1h`},
		{"2.2.1/binary_data_allows_for_an_hour", `
			0: 200 gzip                              -> allow 2.2.1; next 1h
			0: 200 nul                               -> allow 2.2.1; next 1h
			0: 200 png + Cache-Control: max-age=7200 -> allow 2.2.1; next 1h
			0: 200 png + Cache-Control: max-age=600  -> allow 2.2.1; next 10m
			0: 200 utf16                             -> allow 2.2.1; next 24h`},
		{"2.3.1.5/a_page_with_rules_is_a_file", `
			0: 200 html_rules + Content-Type: text/html -> rules 2.2.2; next 24h`},
		{"house/204_is_an_empty_file", `
			0: 204       -> allow 2.2.1; next 24h
			0: 204 rules -> allow 2.2.1; next 24h`},
		{"house/202_with_rules_is_a_file", `
			0: 202 rules -> rules 2.2.2; next 24h`},
		{"house/202_without_rules_is_no_answer", `
			0:   202 empty -> defer 2.3.1.4; next 1m
			1m:  202 html  -> defer 2.3.1.4; next 1m..2m
			to 31d: 202    -> allow 2.3.1.4; next 1h`},
		{"2.5/a_cut_file_ends_at_its_last_whole_line", `
			0: 200 rules cut -> rules 2.2.2; next 24h`},

		// A part is not the file.
		{"2.3.1.4/206_is_a_broken_body", `
			0:   206 rules -> defer 2.3.1.4; next 1m
			to 30d: 206 rules -> defer 2.3.1.4; next 1h`},
		{"2.3.1.4/a_broken_body_is_no_file", `
			0:   200 rules body -> defer 2.3.1.4; next 1m
			to 30d: 200 empty body -> defer 2.3.1.4; next 1h`},
		{"2.3.1.4/a_broken_body_leaves_the_copy", `
			0:   200 rules       -> rules 2.2.2; next 24h
			24h: 200 others body -> rules stale 2.4; next 1m`},
		{"2.3.1.4/a_broken_answer_of_404_is_no_404", `
			0: 404 body    -> defer 2.3.1.4; next 1m
			0: 404 timeout -> defer 2.3.1.4`},

		// Not modified.
		{"2.4/304_renews_the_copy", `
			0:   200 rules + ETag: "a"                            -> rules 2.2.2; next 24h
			24h: 304 + ETag: "a"                                  -> rules 2.2.2; next 24h
			47h: ask                                              -> rules 2.2.2
			48h: 304 + Cache-Control: max-age=600                 -> rules 2.2.2; next 10m
			49h: 304 + ETag: W/"a" + Cache-Control: no-cache      -> rules 2.2.2; next 1m`},
		{"2.4/304_without_a_directive_keeps_the_lifetime", `
			0:   200 rules + ETag: "a" + Cache-Control: max-age=600 -> rules 2.2.2; next 10m
			10m: 304                                                -> rules 2.2.2; next 10m
			20m: 503                                                -> rules stale 2.4
			21m: 304 + Age: 300                                     -> rules 2.2.2; next 5m
			26m: 304 + Cache-Control: max-age=1200                  -> rules 2.2.2; next 20m
			46m: 304 + ETag: W/"a"                                  -> rules 2.2.2; next 20m
			66m: 304 + Expires: Fri, 01 May 2026 02:06:00 GMT       -> rules 2.2.2; next 1h
			2h:  304 + Cache-Control: no-cache                      -> rules 2.2.2; next 1m
			3h:  304                                                -> rules 2.2.2; next 1m`},
		{"2.4/304_to_a_copy_without_a_directive", `
			0:   200 rules + ETag: "a" -> rules 2.2.2; next 24h
			24h: 304 + Age: 3600       -> rules 2.2.2; next 23h
			48h: 304                   -> rules 2.2.2; next 24h`},
		{"2.4/304_of_another_entity_ends_the_copy", `
			0:          200 rules + ETag: "a" -> rules 2.2.2; next 24h
			24h:        304 + ETag: "b"       -> defer 2.4; next -1m
			23h59m59s:  ask                   -> defer 2.4
			23h58m:     503                   -> rules stale 2.4`},
		{"2.4/304_to_a_date_renews_the_copy", `
			0:   200 rules + Last-Modified: Fri, 01 May 2026 00:00:00 GMT -> rules 2.2.2; next 24h
			24h: 304 + ETag: "new"                                        -> rules 2.2.2; next 24h`},
		{"2.4/304_ends_an_outage", `
			0:   200 rules + ETag: "a" -> rules 2.2.2
			24h: 503                   -> rules stale 2.4
			29d: 304                   -> rules 2.2.2; next 24h
			31d: 503                   -> rules stale 2.4; next 1m`},
		{"2.4/304_for_another_entity_confirms_nothing", `
			0:   200 rules + ETag: "a" -> rules 2.2.2; next 24h
			24h: 304 + ETag: "b"       -> defer 2.4; next -1m
			24h: 304 + ETag: "b"       -> rules stale 2.4; next 1m`},
		{"house/304_unasked_is_no_answer", `
			0:   304                   -> defer 2.3.1.4; next 1m
			1h:  200 rules             -> rules 2.2.2
			25h: 304                   -> rules stale 2.4; next 1m`},
		{"house/304_from_another_place_confirms_nothing", `
			0:   200 rules from https://cdn.example/r + ETag: "a" -> rules 2.2.2
			24h: 304                                              -> rules stale 2.4; next 1m
			25h: 304 from https://cdn.example/r                   -> rules 2.2.2; next 24h`},

		// Redirects.
		{"2.3.1.2/rules_after_five_redirects", `
			0: 200 rules after 5 from https://example.com/hop5 -> rules 2.2.2; next 24h`},
		{"2.3.1.2/a_sixth_redirect", `
			0: 301 after 5 + Location: /hop6 -> allow 2.3.1.2; next 1h
			1h: ask                          -> defer 2.4`},
		{"2.3.1.2/a_sixth_redirect_of_each_kind", `
			0: 302 after 5 + Location: /hop6 -> allow 2.3.1.2; next 1h
			0: 303 after 5 + Location: /hop6 -> allow 2.3.1.2; next 1h
			0: 307 after 5 + Location: /hop6 -> allow 2.3.1.2; next 1h
			0: 308 after 9 + Location: /hop6 -> allow 2.3.1.2; next 1h`},
		{"2.3.1.2/a_sixth_redirect_drops_the_copy", `
			0:  200 rules                     -> rules 2.2.2
			1h: 301 after 5 + Location: /hop6 -> allow 2.3.1.2; next 1h
			2h: 503                           -> defer 2.3.1.4`},
		{"2.3.1.2/a_loop", `
			0: 301 + Location: https://example.com/robots.txt               -> allow 2.3.1.2; next 1h
			0: 301 + Location: /robots.txt#again                            -> allow 2.3.1.2; next 1h
			0: 301 + Location: HTTPS://user:pw@EXAMPLE.com:443/robots.txt   -> allow 2.3.1.2; next 1h
			0: 302 after 3 + Location: /hop1                                -> allow 2.3.1.2; next 1h
			0: 302 after 3 from https://example.com/hop3 + Location: hop3   -> allow 2.3.1.2; next 1h`},
		{"2.3.1.4/a_redirect_that_stopped_early", `
			0: 301 after 4 + Location: /hop5 -> defer 2.3.1.4; next 1m`},
		{"2.3.1.4/a_redirect_to_nowhere", `
			0:   301                                                  -> defer 2.3.1.4; next 1m
			0:   302 + Location:                                      -> defer 2.3.1.4
			0:   302 + Location: https://                             -> defer 2.3.1.4
			0:   302 + Location: https:///robots.txt                  -> defer 2.3.1.4
			0:   302 + Location: http://[::1/robots.txt               -> defer 2.3.1.4
			0:   302 + Location: ftp://example.com/robots.txt         -> defer 2.3.1.4
			0:   302 + Location: javascript:alert(1)                  -> defer 2.3.1.4
			0:   302 + Location: data:text/plain,                     -> defer 2.3.1.4
			0:   302 + Location: /a + Location: /b                    -> defer 2.3.1.4
			to 31d: 302                                               -> allow 2.3.1.4; next 1h`},
		{"2.3.1.4/3xx_that_are_no_redirects", `
			0: 300 + Location: /hop1         -> defer 2.3.1.4; next 1m
			0: 305 + Location: /hop1         -> defer 2.3.1.4
			0: 306 after 5 + Location: /hop1 -> defer 2.3.1.4
			0: 399                           -> defer 2.3.1.4`},
		{"2.3.1.4/a_redirect_that_is_refused", `
			0:  302 redirect_refused + Location: http://169.254.169.254/ -> defer 2.3.1.4; next 1h
			1h: 200 rules                                                -> rules 2.2.2
			2d: 302 redirect_refused + Location: http://10.0.0.1/        -> rules stale 2.4; next 1h
			2d: 302 redirect_refused after 5 + Location: http://10.0.0.1/-> rules stale 2.4; next 1h`},

		// Client errors.
		{"2.3.1.3/404_allows", `
			0:         404       -> allow 2.3.1.3; next 24h
			23h59m59s: ask       -> allow 2.3.1.3
			24h:       ask       -> defer 2.4
			24h:       410       -> allow 2.3.1.3; next 24h`},
		{"2.3.1.3/404_drops_the_copy", `
			0:  200 rules -> rules 2.2.2
			1h: 404       -> allow 2.3.1.3; next 24h
			2h: 503       -> defer 2.3.1.4`},
		{"2.3.1.3/404_ends_an_outage", `
			0:   503 -> defer 2.3.1.4
			20d: 404 -> allow 2.3.1.3; next 24h
			21d: 503 -> defer 2.3.1.4; next 1m
			to 50d: 503 -> defer 2.3.1.4
			to 51d: 503 -> allow 2.3.1.4; next 1h`},
		{"2.3.1.3/another_4xx_allows_for_an_hour", `
			0:  403 -> allow 2.3.1.3; next 1h
			1h: ask -> defer 2.4
			1h: 401 -> allow 2.3.1.3; next 1h
			2h: 400 -> allow 2.3.1.3; next 1h
			3h: 451 -> allow 2.3.1.3; next 1h
			4h: 499 -> allow 2.3.1.3; next 1h`},
		{"2.3.1.3/another_4xx_leaves_a_copy_its_time", `
			0:      200 rules -> rules 2.2.2; next 24h
			1h:     403       -> rules 2.2.2; next 1h
			23h30m: 403       -> rules 2.2.2; next 30m
			24h:    ask       -> defer 2.4
			24h:    403       -> allow 2.3.1.3; next 1h`},
		{"2.3.1.3/another_4xx_in_the_last_minute_of_a_copy", `
			0:         200 rules -> rules 2.2.2; next 24h
			23h59m50s: 403       -> rules 2.2.2; next 1m
			24h:       ask       -> allow 2.3.1.3
			24h50s:    ask       -> defer 2.4`},
		{"2.3.1.3/another_4xx_drops_an_expired_copy", `
			0:   200 rules -> rules 2.2.2; next 24h
			24h: 403       -> allow 2.3.1.3; next 1h
			25h: 503       -> defer 2.3.1.4; next 1m`},
		{"house/400_to_our_condition_is_asked_again_without", `
			0:   200 rules + ETag: "a" -> rules 2.2.2; next 24h
			24h: 400                   -> defer 2.4; next -1m
			24h: 400                   -> allow 2.3.1.3; next 1h`},
		{"house/412_to_our_condition_is_asked_again_without", `
			0:   200 rules + ETag: "a" -> rules 2.2.2; next 24h
			24h: 412                   -> defer 2.4; next -1m
			24h: 200 others            -> others 2.2.2; next 24h
			48h: 412                   -> allow 2.3.1.3; next 1h`},
		{"house/412_leaves_a_copy_its_time", `
			0:  200 rules + ETag: "a" -> rules 2.2.2; next 24h
			1h: 412                   -> rules 2.2.2; next -1m
			1h: 403                   -> rules 2.2.2; next 1h`},
		{"house/412_and_then_an_outage", `
			0:   200 rules + ETag: "a" -> rules 2.2.2; next 24h
			24h: 412                   -> defer 2.4; next -1m
			24h: 503                   -> rules stale 2.4; next 1m`},
		{"house/not_now_is_not_no_file", `
			0:      408             -> defer house; next 1m
			1m:     421             -> defer house; next 1m..2m
			3m:     425             -> defer house; next 2m..4m
			7m:     200 rules       -> rules 2.2.2
			2d:     408             -> rules stale 2.4; next 1m
			3d:     404             -> allow 2.3.1.3
			4d:     408 + Retry-After: 7200 -> defer house; next 2h
			to 35d: 425             -> allow 2.3.1.4; next 1h`},
		{"house/407_comes_from_our_proxy", `
			0:      407 -> defer house; next 1m
			to 35d: 407 -> defer house; next 1h`},
		{"house/429_defers", `
			0:  429                     -> defer house; next 1m
			1m: 429 + Retry-After: 7200 -> defer house; next 2h`},
		{"house/429_never_ends_in_allow", `
			0:       503 -> defer 2.3.1.4
			to 31d:  503 -> allow 2.3.1.4; next 1h
			31d30m:  429 -> defer house; next 1h
			to 99d:  429 -> defer house; next 1h`},
		{"house/a_month_of_429_is_no_outage", `
			0:       429 -> defer house; next 1m
			to 40d:  429 -> defer house
			40d1h:   502 -> defer 2.3.1.4; next 3h..6h
			71d:     ask -> defer 2.3.1.4`},
		{"house/429_leaves_the_copy", `
			0:   200 rules -> rules 2.2.2; next 24h
			24h: 429       -> rules stale 2.4; next 1m
			to 99d: 429    -> rules stale 2.4; next 3h..6h`},

		// Unreachable.
		{"2.3.1.4/without_a_copy_nothing_is_allowed_for_30_days", `
			0:       503 -> defer 2.3.1.4; next 1m
			12h:     503 -> defer 2.3.1.4; next 1m..2m
			12h1m:   503 -> defer 2.3.1.4; next 2m..4m
			to 29d23h59m: 503 -> defer 2.3.1.4; next 3h..6h
			to 32d:   503 -> allow 2.3.1.4; next 1h
			to 60d:   503 -> allow 2.3.1.4; next 1h`},
		{"2.3.1.4/two_failures_a_month_apart_are_no_outage", `
			0:   503 -> defer 2.3.1.4; next 1m
			31d: ask -> defer 2.3.1.4
			31d: 503 -> defer 2.3.1.4; next 1m..2m
			99d: 503 -> defer 2.3.1.4; next 2m..4m`},
		{"2.3.1.4/a_gap_counts_twice_its_plan_or_an_hour", `
			0:       503 + Retry-After: 86400 -> defer 2.3.1.4; next 24h
			2d:      503 + Retry-After: 86400 -> defer 2.3.1.4; next 24h
			9d:      503 + Retry-After: 86400 -> defer 2.3.1.4; next 24h
			to 34d23h: 503 + Retry-After: 86400 -> defer 2.3.1.4; next 24h
			to 37d:  503                      -> allow 2.3.1.4; next 1h`},
		{"2.3.1.4/a_question_counts_to_the_next_fetch", `
			0:       503 + Retry-After: 86400 -> defer 2.3.1.4; next 24h
			to 29d:  503 + Retry-After: 86400 -> defer 2.3.1.4; next 24h
			29d23h59m59s: ask                 -> defer 2.3.1.4
			30d:     ask                      -> allow 2.3.1.4`},
		{"2.3.1.4/a_boot_clock_ends_no_outage", `
			-9999d: 503 -> defer 2.3.1.4; next 1m
			0:      503 -> defer 2.3.1.4
			1h:     503 -> defer 2.3.1.4
			31d:    ask -> defer 2.3.1.4`},
		{"2.3.1.4/a_silent_server_is_never_taken_for_an_open_one", `
			0:     dns     -> defer 2.3.1.4; next 1m
			1d:    connect -> defer 2.3.1.4
			2d:    tls     -> defer 2.3.1.4
			to 40d: timeout  -> defer 2.3.1.4; next 1h
			40d1h:  network  -> defer 2.3.1.4; next 1h
			to 99d: protocol -> defer 2.3.1.4; next 1h`},
		{"2.3.1.4/one_answer_in_the_outage_is_enough", `
			0:      dns -> defer 2.3.1.4
			to 9d:  dns -> defer 2.3.1.4
			to 10d: 500 -> defer 2.3.1.4
			to 31d: dns -> allow 2.3.1.4; next 1h`},
		{"2.3.1.4/an_answer_before_the_outage_is_not", `
			0:   500       -> defer 2.3.1.4
			1d:  200 rules -> rules 2.2.2
			2d:  404       -> allow 2.3.1.3
			3d:  dns       -> defer 2.3.1.4
			to 40d: dns    -> defer 2.3.1.4; next 1h`},
		{"2.3.1.4/every_server_error", `
			0: 500 -> defer 2.3.1.4; next 1m
			0: 501 -> defer 2.3.1.4
			0: 504 -> defer 2.3.1.4
			0: 511 -> defer 2.3.1.4
			0: 599 -> defer 2.3.1.4`},
		{"2.3.1.4/statuses_that_are_none", `
			0:   600  -> defer 2.3.1.4; next 1m
			0:   999  -> defer 2.3.1.4
			0:   1234 -> defer 2.3.1.4
			0:   101  -> defer 2.3.1.4
			0:   103  -> defer 2.3.1.4
			to 31d: 999 -> allow 2.3.1.4; next 1h`},
		{"2.3.1.4/no_status_is_no_answer", `
			0:   0  -> defer 2.3.1.4; next 1m
			1m: -7  -> defer 2.3.1.4
			to 31d: 0 -> defer 2.3.1.4; next 1h`},
		{"2.4/a_copy_governs_while_unreachable", `
			0:       200 rules -> rules 2.2.2; next 24h
			24h:     503       -> rules stale 2.4; next 1m
			25h:     dns       -> rules stale 2.4; next 1m..2m
			to 30d23h: 503     -> rules stale 2.4; next 3h..6h
			to 32d:    503     -> rules stale 2.3.1.4; next 24h
			to 999d:   dns     -> rules stale 2.3.1.4; next 24h`},
		{"2.4/a_fresh_copy_is_not_stale", `
			0:   200 rules -> rules 2.2.2; next 24h
			1h:  503       -> rules 2.2.2; next 1m
			24h: ask       -> rules stale 2.4`},

		// When to ask again.
		{"house/tries_double_up_to_an_hour_in_the_first_day", `
			0:   500 -> defer 2.3.1.4; next 1m
			1m:  500 -> defer 2.3.1.4; next 1m..2m
			3m:  500 -> defer 2.3.1.4; next 2m..4m
			7m:  500 -> defer 2.3.1.4; next 4m..8m
			15m: 500 -> defer 2.3.1.4; next 8m..16m
			31m: 500 -> defer 2.3.1.4; next 16m..32m
			1h:  500 -> defer 2.3.1.4; next 30m..1h
			2h:  500 -> defer 2.3.1.4; next 30m..1h
			23h: 500 -> defer 2.3.1.4; next 30m..1h
			24h: 500 -> defer 2.3.1.4; next 3h..6h
			28h: 500 -> defer 2.3.1.4; next 3h..6h
			36h: 500 -> defer 2.3.1.4; next 3h..6h
			to 31d: 500 -> allow 2.3.1.4; next 1h`},
		{"house/retry_after_is_believed_up_to_a_day", `
			0: 503 + Retry-After: 10                             -> defer 2.3.1.4; next 1m
			0: 503 + Retry-After: 7200                           -> defer 2.3.1.4; next 2h
			0: 503 + Retry-After: 86400                          -> defer 2.3.1.4; next 24h
			0: 503 + Retry-After: 86401                          -> defer 2.3.1.4; next 24h
			0: 503 + Retry-After: 99999999999999999999999999     -> defer 2.3.1.4; next 24h
			0: 302 + Retry-After: 7200                           -> defer 2.3.1.4; next 2h
			0: 503 + Retry-After: Fri, 01 May 2026 05:00:00 GMT  -> defer 2.3.1.4; next 5h
			0: 503 + Retry-After: Fri, 31 Dec 9999 23:59:59 GMT  -> defer 2.3.1.4; next 24h
			1h: 503 body + Retry-After: 7200                     -> defer 2.3.1.4; next 2h`},
		{"house/retry_after_that_cannot_be_read", `
			0: 503 + Retry-After: soon                           -> defer 2.3.1.4; next 1m
			0: 503 + Retry-After: -1                             -> defer 2.3.1.4; next 1m..2m
			0: 503 + Retry-After: 1.5                            -> defer 2.3.1.4; next 2m..4m
			0: 503 + Retry-After: Fri, 01 May 1970 05:00:00 GMT  -> defer 2.3.1.4; next 4m..8m`},
		{"house/cache_headers_of_an_error_count_for_nothing", `
			0: 404 + Cache-Control: max-age=60                   -> allow 2.3.1.3; next 24h
			0: 403 + Cache-Control: no-store                     -> allow 2.3.1.3; next 1h
			0: 503 + Cache-Control: max-age=31536000             -> defer 2.3.1.4; next 1m
			0: 404 + Expires: 0                                  -> allow 2.3.1.3; next 24h`},

		// The clock.
		{"2.4/a_record_from_the_future_is_expired", `
			10d: 200 rules -> rules 2.2.2; next 24h
			0:   ask       -> defer 2.4
			9d:  ask       -> defer 2.4`},
		{"house/clocks_that_differ_by_seconds_are_one", `
			1h:     200 rules -> rules 2.2.2; next 24h
			59m30s: ask       -> rules 2.2.2`},
		{"2.4/a_copy_from_the_future_has_no_time_left", `
			400d: 200 rules -> rules 2.2.2; next 24h
			0:    503       -> rules stale 2.4; next 1m
			1d:   503       -> rules stale 2.4
			400d: ask       -> rules stale 2.4`},
		{"2.3.1.3/a_copy_from_the_future_is_dropped_by_a_4xx", `
			400d: 200 rules -> rules 2.2.2; next 24h
			0:    403       -> allow 2.3.1.3; next 1h`},
		{"2.3.1.3/404_from_the_future_is_expired", `
			10d: 404 -> allow 2.3.1.3; next 24h
			9d:  ask -> defer 2.4`},
		{"2.3.1.4/an_outage_from_the_future_begins_now", `
			60d: 503    -> defer 2.3.1.4
			0:   503    -> defer 2.3.1.4
			to 29d: 503 -> defer 2.3.1.4
			to 31d: 503 -> allow 2.3.1.4`},
	} {
		play(t, policy.RFC9309(), s)
	}
}
