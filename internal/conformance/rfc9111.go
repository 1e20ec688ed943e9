package conformance

import (
	"net/http"
	"strings"
	"time"

	"github.com/rfc9309/polite/policy"
)

// rfc9111 returns the sentences of RFC 9111 that matter for one cached file.
func rfc9111() []section {
	return []section{
		{"4", "Constructing Responses from Caches", reuse()},
		{"4.2", "Freshness", freshness()},
		{"4.2.4", "Serving Stale Responses", stale()},
		{"4.3", "Validation", validation()},
		{"5", "Field Definitions", fields()},
	}
}

func reuse() []requirement {
	return []requirement{
		says("MUST NOT", `the stored response does not contain the no-cache directive (Section 5.2.2.4), unless it is successfully validated (Section 4.3)`,
			"with `no-cache` a copy is not used at all without a 304", expiresAtOnce("Cache-Control: no-cache"),
			"policy/2.4/no_cache").but(11),
		says("MUST NOT", `A stored response with a Vary header field value containing a member "*" always fails to match.`,
			"with `Vary: *` a copy is not used at all without a 304", expiresAtOnce("Vary: *"), "policy/2.4/vary_on_everything").but(11),
		says("MUST NOT", "MUST NOT use the response to satisfy any other request.", "with `no-store` a copy is not used at all",
			expiresAtOnce("Cache-Control: no-store"), "policy/2.4/no_store").but(11),
		says("MUST NOT", "the cache MUST NOT use that stored response without revalidation unless all the presented request header fields nominated by that Vary field value match",
			"with `Vary: User-Agent` a copy is not used by a crawler with another agent", expiresAtOnce("Vary: User-Agent"), "policy/2.4/vary_on_something").but(24),
	}
}

func freshness() []requirement {
	const two = "either the first occurrence should be used or the response should be considered stale."
	return []requirement{
		says("", "If the max-age response directive (Section 5.2.2.1) is present, use its value", "`max-age=3600`",
			lastsFor(time.Hour, "Cache-Control: max-age=3600"), "policy/2.4/max_age"),
		says("", "If the max-age response directive (Section 5.2.2.1) is present, use its value", "`max-age=60` of a 404", yesOrNo(func(p *policy.Profile) bool {
			return p.Learn(nil, shortLived(404)).NextTry().Sub(start) == time.Minute
		}), "policy/house/cache_headers_of_an_error_count_for_nothing").but(23),
		says("", "use its value minus the value of the Date response header field", "`Expires` three hours after `Date`, received at `Date`",
			lastsFor(3*time.Hour, "Expires: "+httpDate(3*time.Hour), "Date: "+httpDate(0)), "policy/2.4/expires"),
		says("", "use its value minus the value of the Date response header field", "`Expires` three hours after `Date`, received two hours after `Date`",
			lastsFor(3*time.Hour, "Expires: "+httpDate(time.Hour), "Date: "+httpDate(-2*time.Hour)), "policy/2.4/expires").but(12),
		says("SHOULD", "Although all date formats are specified to be case-sensitive, a cache recipient SHOULD match the field value case-insensitively.",
			"an `Expires` in lower case counts", lastsFor(time.Hour, "Expires: "+strings.ToLower(httpDate(time.Hour))), "policy/2.4/expires_in_lower_case"),
		says("SHOULD", `A cache recipient SHOULD consider a date with a zone abbreviation other than "GMT" to be invalid for calculating expiration.`,
			"an `Expires` in PST counts as `max-age=0`", sameLifetime("Expires: Friday, 31-Dec-60 23:59:59 PST", "Cache-Control: max-age=0"),
			"policy/2.4/expires_in_rfc_850_of_another_zone"),
		says("should", two, "of `max-age=7200` and `max-age=3600` the first counts",
			lastsFor(2*time.Hour, "Cache-Control: max-age=7200, max-age=3600"), "policy/2.4/two_max_ages_the_shorter").but(12),
		says("should", "If directives conflict (e.g., both max-age and no-cache are present), the most restrictive directive should be honored.",
			"`max-age=3600, no-cache` counts as `no-cache`", sameLifetime("Cache-Control: max-age=3600, no-cache", "Cache-Control: no-cache"), "policy/2.4/no_cache_wins"),
		says("should", "Caches are encouraged to consider responses that have invalid freshness information (e.g., a max-age directive with non-integer content) to be stale.",
			"`max-age=soon` counts as `max-age=0`", sameLifetime("Cache-Control: max-age=soon", "Cache-Control: max-age=0"), "policy/2.4/max_age_a_word"),
		says("MUST NOT", "A cache MUST NOT use heuristics to determine freshness when an explicit expiration time is present in the stored response.",
			"`Last-Modified` changes nothing", sameLifetime("Last-Modified: "+httpDate(-1000*time.Hour)), "policy/2.4/last_modified_is_no_hint"),
		says("", "The Age header field is used to convey an estimated age of the response message when obtained from a cache.",
			"`max-age=7200` with `Age: 3600` leaves an hour", lastsFor(time.Hour, "Cache-Control: max-age=7200", "Age: 3600"), "policy/2.4/age_is_spent"),
		says("", "response_is_fresh = (freshness_lifetime > current_age)", "an answer that its `Age` makes stale is not used",
			expiresAtOnce("Cache-Control: max-age=3600", "Age: 100000"), "policy/2.4/age_over_the_lifetime").but(11),
		says("MUST", "A cache MUST interpret this value relative to the time the request was initiated, not the time that the response was received.",
			"if an answer takes 30 s, its lifetime begins with the request", yesOrNo(func(p *policy.Profile) bool {
				a := answer(200, "User-agent: *\nDisallow: /x\n")
				a.Header.Set("Cache-Control", "max-age=3600")
				a.Sent = start.Add(-30 * time.Second)
				return !p.Learn(nil, a).NextTry().After(a.Sent.Add(time.Hour))
			}), "policy/2.4/the_exchange_is_spent"),
		says("MUST", "if any of its subsequent calculations overflows, the cache MUST consider the value to be 2147483648 (231) or the greatest positive integer it can conveniently represent.",
			"`max-age` of 30 digits counts as the longest lifetime", sameLifetime("Cache-Control: max-age=999999999999999999999999999999", "Cache-Control: max-age=2147483648"),
			"policy/2.4/max_age_over_int64"),
	}
}

func stale() []requirement {
	return []requirement{
		says("MUST NOT", "A cache MUST NOT generate a stale response if it is prohibited by an explicit in-protocol directive",
			"with `must-revalidate` a copy is not used while the file is unreachable, in 60 days", mustRevalidate, "policy/2.4/must_revalidate_says_nothing").but(14),
	}
}

// mustRevalidate is the probe that a copy with must-revalidate is not used in an outage.
func mustRevalidate(p *policy.Profile) string {
	switch used := whenCopyIsUsed(503, "must-revalidate")(p); used {
	case "no":
		return "yes"
	case "yes":
		return "no"
	default:
		return "but " + used
	}
}

func validation() []requirement {
	return []requirement{
		says("MUST", "MUST send the relevant entity tags (using If-Match, If-None-Match, or If-Range) if the entity tags were provided in the stored response(s) being validated.",
			"an ETag is sent back", sendsBack("If-None-Match", `ETag: "a"`), "policy/2.4/etag", "fetcher/2.4/both_are_sent"),
		says("MUST", "MUST send the relevant entity tags (using If-Match, If-None-Match, or If-Range) if the entity tags were provided in the stored response(s) being validated.",
			"an ETag of 2 KiB is sent back", sendsBack("If-None-Match", `ETag: "`+strings.Repeat("a", 2<<10)+`"`), "fetcher/2.4/over_1_KiB_is_not_kept").but(16),
		says("SHOULD", "SHOULD send the Last-Modified value (using If-Modified-Since) if the request is not for a subrange",
			"a Last-Modified is sent back", sendsBack("If-Modified-Since", "Last-Modified: "+httpDate(-time.Hour)), "policy/2.4/date", "fetcher/2.4/both_are_sent"),
		says("", "A 304 (Not Modified) response status code indicates that the stored response can be updated and reused", "a 304 renews the copy",
			renewedBy304, "policy/2.4/304_renews_the_copy"),
		says("MUST NOT", "If none of the initial set contains at least one of the same strong validators, then the cache MUST NOT use the new response to update any stored responses.",
			"a 304 with another ETag does not renew the copy", notRenewedBy304(`ETag: "b"`), "policy/2.4/304_for_another_entity_confirms_nothing",
			"policy/2.4/304_of_another_date_confirms_nothing"),
		says("MUST", "For each stored response identified, the cache MUST update its header fields with the header fields provided in the 304 (Not Modified) response",
			"`max-age=7200` of a 304 counts", yesOrNo(func(p *policy.Profile) bool { return renewedFor(p, "Cache-Control: max-age=7200") == 2*time.Hour }),
			"policy/2.4/304_renews_the_copy"),
		says("MUST", "For each stored response identified, the cache MUST update its header fields with the header fields provided in the 304 (Not Modified) response",
			"after a 304 without Cache-Control the stored `max-age=7200` counts", yesOrNo(func(p *policy.Profile) bool { return renewedFor(p, "", "Cache-Control: max-age=7200") == 2*time.Hour }),
			"policy/2.4/304_without_a_directive_keeps_the_lifetime"),
	}
}

func fields() []requirement {
	return []requirement{
		says("SHOULD", "a cache encountering a message with a list-based Age field value SHOULD use the first member of the field value, discarding subsequent ones.",
			"the first value of `Age: 600, 1200` counts", lastsFor(50*time.Minute, "Cache-Control: max-age=3600", "Age: 600, 1200"), "policy/2.4/two_ages_the_greater").but(12),
		says("SHOULD", "a cache SHOULD ignore the field.", "an `Age` that is not a number is ignored",
			lastsFor(time.Hour, "Cache-Control: max-age=3600", "Age: old"), "policy/2.4/age_unreadable"),
		says("MUST NOT", `"MUST NOT store" in this context means that the cache MUST NOT intentionally store the information in non-volatile storage`,
			"a copy that came with `no-store` is not written to a store", yesOrNo(func(p *policy.Profile) bool {
				return p.Learn(nil, fileWithHeader("Cache-Control: no-store")).NoStore() && !p.Learn(nil, fileWithHeader()).NoStore()
			}), "policy/4.2/no_store", "policy/4.2/a_304_with_no_store"),
		says("MUST NOT", `"MUST NOT store" in this context means that the cache MUST NOT intentionally store the information in non-volatile storage`,
			"a 429, 5xx, 3xx, 202 or 206 that came with `no-store` is not written to a store", yesOrNo(func(p *policy.Profile) bool {
				for _, status := range []int{429, 503, 302, 202, 206} {
					a := answer(status, "")
					a.Header.Set("Cache-Control", "no-store")
					if r := p.Learn(nil, a); r.Decide(agent, pageURL("/x"), start).Verdict == policy.Defer && !r.NoStore() {
						return false
					}
				}
				return true
			}), "policy/4.2/a_failed_fetch_stores_nothing_of_the_answer").but(23),
		says("MUST", "MUST make a best-effort attempt to remove the information from volatile storage as promptly as possible after forwarding it",
			"a copy that came with `no-store` is removed from memory at once", expiresAtOnce("Cache-Control: no-store"), "policy/2.4/no_store").but(11),
		says("", "the response is intended for a single user", "`private` changes nothing: a crawler is one user", sameLifetime("Cache-Control: private"), "policy/2.4/private_is_for_us"),
		says("", "for a shared cache, the maximum age specified by this directive overrides", "`s-maxage` changes nothing: the cache is not shared with others",
			sameLifetime("Cache-Control: s-maxage=60"), "policy/2.4/s_maxage_is_not_ours"),
		says("MUST", `A cache recipient MUST interpret invalid date formats, especially the value "0", as representing a time in the past (i.e., "already expired").`,
			"`Expires: 0` counts as `max-age=0`", sameLifetime("Expires: 0", "Cache-Control: max-age=0"), "policy/2.4/expires_of_zero"),
		says("MUST", "a recipient MUST ignore the Expires header field.", "an `Expires` in the past is ignored if there is `max-age=3600`",
			lastsFor(time.Hour, "Cache-Control: max-age=3600", "Expires: 0"), "policy/2.4/max_age_before_expires"),
	}
}

// httpDate returns the time of the start plus after, in the format of headers.
func httpDate(after time.Duration) string { return start.Add(after).UTC().Format(http.TimeFormat) }
