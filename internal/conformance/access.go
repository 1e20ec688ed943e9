package conformance

import (
	"time"

	"github.com/rfc9309/polite/policy"
)

func successful() []requirement {
	return []requirement{
		{"MUST", "the rules of a file that was had are followed",
			closed("User-agent: *\nDisallow: /x", "/x"),
			proofs("policy/2.3.1.1/200", "policy/2.3.1.1/other_2xx_carry_a_file", "fetcher/2.3.1.1/rules_are_followed_without_asking_again")},
	}
}

func redirects() []requirement {
	return []requirement{
		{"SHOULD", "at least five redirects in a row are followed, across authorities too: how many",
			redirectsFollowed,
			proofs("policy/2.3.1.2/rules_after_five_redirects", "fetcher/2.3.1.2/five_redirects", "fetcher/2.3.1.2/https_of_the_same_host_is_another_place")},
		{"MUST", "rules reached by redirects govern the initial authority", does(func(p *policy.Profile) bool {
			a := answer(200, "User-agent: *\nDisallow: /x\n")
			a.Served = "https://cdn.example/r"
			return !p.Learn(nil, a).Allows(agent, page("/x"), start)
		}), proofs("fetcher/2.3.1.2/five_redirects", "fetcher/2.3.1.2/to_a_missing_file", "fetcher/2.3.1.2/to_a_broken_server")},
		{"MAY", "after more, the file is taken for",
			tooManyRedirects,
			proofs("policy/2.3.1.2/a_sixth_redirect_of_each_kind", "policy/2.3.1.2/a_loop", "fetcher/2.3.1.2/six_redirects", "fetcher/2.3.1.2/a_loop_of_two")},
	}
}

func unavailable() []requirement {
	return []requirement{
		{"MAY", "404 permits any access", ruling(404), proofs("policy/2.3.1.3/404_allows", "policy/2.3.1.3/404_drops_the_copy")},
		{"MAY", "410 permits any access", ruling(410), proofs("policy/2.3.1.3/410")},
		{"MAY", "401 and 403 permit any access", ruling(403),
			proofs("policy/2.3.1.3/another_4xx_allows_for_an_hour", "policy/house/401_and_403_defer", "policy/house/401_and_403_close_the_site")},
		{"MAY", "429 permits any access", ruling(429), proofs("policy/house/429_defers", "fetcher/house/429_defers")},
		{"MAY", "any other 4xx permits any access", ruling(400),
			proofs("policy/2.3.1.3/another_4xx_allows_for_an_hour", "policy/2.3.1.3/another_4xx_leaves_a_copy_its_time", "policy/2.3.1.3/every_4xx_is_full_allow")},
	}
}

func unreachable() []requirement {
	return []requirement{
		{"MUST", "a server error means complete disallow", ruling(503),
			proofs("policy/2.3.1.4/every_server_error", "policy/2.3.1.4/statuses_that_are_none")},
		{"MUST", "a network error means complete disallow", ruling(0),
			proofs("policy/2.3.1.4/a_silent_server_is_never_taken_for_an_open_one", "policy/2.3.1.4/a_broken_body_is_no_file")},
		{"MAY", "server errors for 30 days and no copy: what holds then", afterDays(503, 30),
			proofs("policy/2.3.1.4/without_a_copy_nothing_is_allowed_for_30_days", "fetcher/2.3.1.4/without_a_copy_30_days_of_500")},
		{"MAY", "network errors for 30 days and no copy: what holds then", afterDays(0, 30),
			proofs("policy/2.3.1.4/a_silent_server_is_never_taken_for_an_open_one", "policy/2.3.1.4/one_answer_in_the_outage_is_enough",
				"fetcher/2.3.1.4/without_a_copy_30_days_without_an_answer")},
		{"MAY", "a cached copy is used while server errors last", copyUsed(503),
			proofs("policy/2.4/a_copy_governs_while_unreachable", "policy/2.4/no_copy_past_its_time", "policy/house/twelve_hours_of_standstill",
				"fetcher/2.3.1.4/a_copy_is_used_for_30_days_and_longer")},
		{"MAY", "a cached copy is used while network errors last", copyUsed(0),
			proofs("policy/2.4/a_copy_governs_while_unreachable", "policy/2.3.1.4/the_copy_after_thirty_days")},
	}
}

func caching() []requirement {
	return []requirement{
		{"MAY", "a copy is used without asking: for how long", lifetime(""),
			proofs("policy/2.4/a_copy_governs_for_24_hours", "policy/2.4/a_copy_lives_for_seven_days")},
		{"MAY", "standard cache control is used: `max-age=3600`", lifetime("max-age=3600"),
			proofs("policy/2.4/max_age", "policy/2.4/age_is_spent", "policy/2.4/expires")},
		{"MAY", "standard cache control is used: `no-store`", lifetime("no-store"),
			proofs("policy/2.4/no_store", "policy/2.4/no_cache", "policy/2.4/vary_on_everything")},
		{"MAY", "an expired copy is confirmed by a 304", confirmed,
			proofs("policy/2.4/304_renews_the_copy", "policy/2.4/304_for_another_entity_confirms_nothing", "fetcher/2.4/304_renews_the_copy")},
		{"SHOULD NOT", "a copy is used for more than 24 hours: the most, by `max-age=31536000`", lifetime("max-age=31536000"),
			proofs("policy/2.4/max_age_of_a_year", "policy/2.4/or_until_expires")},
	}
}

// house lists what the RFC does not speak of.
func house() []requirement {
	return []requirement{
		{"", "202 with rules is a file", accepted, proofs("policy/house/202_with_rules_is_a_file", "fetcher/2.3.1.1/202_with_rules_is_a_file")},
		{"", "202 without rules", ruling(202), proofs("policy/house/202_without_rules_is_no_answer", "fetcher/2.3.1.4/202_without_rules_is_not")},
		{"", "204", ruling(204), proofs("policy/house/204_is_an_empty_file")},
		{"", "206", ruling(206), proofs("policy/2.3.1.4/206_is_a_broken_body")},
		{"", "304 that was not asked for", ruling(304), proofs("policy/house/304_unasked_is_no_answer", "policy/house/304_from_another_place_confirms_nothing")},
		{"", "a redirect without a usable Location", ruling(302), proofs("policy/2.3.1.4/a_redirect_to_nowhere")},
		{"", "429 for 30 days and no copy", afterDays(429, 30), proofs("policy/house/429_never_ends_in_allow")},
		{"", "an HTML page without a rule is asked for again after", again(answer(200, "<html>")), proofs("policy/2.2.1/a_page_allows_for_an_hour")},
		{"", "404 is asked for again after", again(answer(404, "")), proofs("policy/2.3.1.3/404_allows")},
		{"", "too many redirects are tried again after", again(stoppedAt(10)), proofs("policy/2.3.1.2/a_sixth_redirect")},
		{"", "a server error with `Retry-After: 999999999` is tried again after", again(patient()),
			proofs("policy/house/retry_after_is_believed_up_to_a_day", "policy/house/retry_after_that_cannot_be_read")},
		{"", "in an outage the tries are at most so far apart: first day", apart(20 * time.Hour),
			proofs("policy/house/tries_double_up_to_an_hour_in_the_first_day", "fetcher/house/tries_double_to_an_hour_and_after_a_day_to_six")},
		{"", "later", apart(20 * 24 * time.Hour), proofs("policy/house/tries_double_up_to_an_hour_in_the_first_day")},
		{"", "after 30 days", apart(40 * 24 * time.Hour), proofs("policy/house/tries_double_up_to_an_hour_in_the_first_day")},
	}
}
