package conformance

import (
	"time"

	"github.com/rfc9309/polite/policy"
)

const aDay = 24 * time.Hour

// house returns the cases that no text describes.
func house() []section {
	return []section{{"", "", []requirement{
		says("", "", "202 with rules is a file", accepts202WithRules, "policy/house/202_with_rules_is_a_file"),
		says("", "", "202 without rules", decision(202), "policy/house/202_without_rules_is_no_answer"),
		says("", "", "204", decision(204), "policy/house/204_is_an_empty_file"),
		says("", "", "206", decision(206), "policy/2.3.1.4/206_is_a_broken_body"),
		says("", "", "304 to a request that was not conditional", decision(304), "policy/house/304_unasked_is_no_answer", "policy/house/304_from_another_place_confirms_nothing"),
		says("", "", "a redirect without a usable Location", decision(302), "policy/2.3.1.4/a_redirect_to_nowhere"),
		says("", "", "407, 408, 421 or 425", decision(425), "policy/house/not_now_is_not_no_file", "policy/house/407_comes_from_our_proxy"),
		says("", "", "429", decision(429), "policy/house/429_defers", "fetcher/house/429_defers"),
		says("", "", "429 for 30 days and no copy", decisionAfterDays(429, 30), "policy/house/429_never_ends_in_allow"),
		says("", "", "one 503, and a second one 30 days later", twoFailuresApart(30*24*time.Hour), "policy/2.3.1.4/two_failures_a_month_apart_are_no_outage", "policy/2.3.1.4/a_gap_counts_twice_its_plan_or_an_hour"),
		says("", "", "an HTML page without a rule: next fetch after", nextFetchAfter(answer(200, "<html>")), "policy/2.2.1/a_page_allows_for_an_hour"),
		says("", "", "`no-store`, `no-cache` or `max-age=0`: next fetch after", lifetime("Cache-Control: no-store"), "policy/2.4/no_store", "policy/2.4/no_cache"),
		says("", "", "404: next fetch after", nextFetchAfter(answer(404, "")), "policy/2.3.1.3/404_allows"),
		says("", "", "404 with `max-age=60`: next fetch after", nextFetchAfter(shortLived(404)), "policy/house/cache_headers_of_an_error_count_for_nothing"),
		says("", "", "403: next fetch after", nextFetchAfter(answer(403, "")), "policy/2.3.1.3/another_4xx_allows_for_an_hour"),
		says("", "", "too many redirects: next fetch after", nextFetchAfter(afterRedirects(10)), "policy/2.3.1.2/a_sixth_redirect"),
		says("", "", "a redirect that was refused: next fetch after", nextFetchAfter(refusedRedirect()), "policy/2.3.1.4/a_redirect_that_is_refused"),
		says("", "", "503 with `Retry-After: 999999999`: next fetch after", nextFetchAfter(unavailableFor("999999999")),
			"policy/house/retry_after_is_believed_up_to_a_day", "policy/house/retry_after_that_cannot_be_read"),
		says("", "", "the first 503, with `Retry-After: 5`: next fetch after", nextFetchAfter(unavailableFor("5")),
			"policy/house/a_short_retry_after_is_obeyed_three_times"),
		says("", "", "an outage, first day: longest time between fetches", longestRetry(0, 20*time.Hour),
			"policy/house/tries_double_up_to_an_hour_in_the_first_day"),
		says("", "", "an outage, from the second day to the 30th: longest time between fetches", longestRetry(2*aDay, 29*aDay),
			"policy/house/tries_double_up_to_an_hour_in_the_first_day"),
		says("", "", "an outage, after 30 days, without a copy: longest time between fetches", longestRetry(32*aDay, 60*aDay), "policy/2.3.1.4/without_a_copy_nothing_is_allowed_for_30_days"),
		says("", "", "an outage, after 30 days, with a copy: longest time between fetches", longestRetry(32*aDay, 60*aDay, answer(200, "User-agent: *\nDisallow: /x\n")),
			"policy/2.4/a_copy_governs_while_unreachable", "policy/2.3.1.4/the_copy_after_thirty_days"),
	}}}
}

// shortLived returns an answer with a lifetime of a minute.
func shortLived(status int) policy.Attempt {
	a := answer(status, "")
	a.Header.Set("Cache-Control", "max-age=60")
	return a
}
