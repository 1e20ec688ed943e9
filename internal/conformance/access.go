package conformance

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

func accessMethod() []requirement {
	return []requirement{
		notOurs("MUST", `The rules MUST be accessible in a file named "/robots.txt" (all lowercase) in the top-level path of the service.`, "for sites, not for crawlers"),
		notOurs("MUST", `The file MUST be UTF-8 encoded (as defined in [RFC3629]) and Internet Media Type "text/plain" (as defined in [RFC2046]).`,
			"for sites, not for crawlers; files of any media type are read"),
		says("", `"scheme:[//authority]/robots.txt"`, "`https://example.com:8443/a/b` is governed by `https://example.com:8443/robots.txt`",
			yesOrNo(func(p *policy.Profile) bool {
				return firstFetch(p, "https://example.com:8443/a/b") == "https://example.com:8443/robots.txt"
			}), "fetcher/2.3.1.2/https_of_the_same_host_is_another_place"),
		says("", "For example, in the context of HTTP or FTP, the URI is:", "`ftp://ftp.example.com/a` is governed by `ftp://ftp.example.com/robots.txt`",
			ftpGoverned, "fetcher/2.3/a_robots.txt_of_its_own", "docs/2.3/other_schemes_have_no_decision").but(10),
	}
}

// ftpGoverned is the probe that the robots.txt of ftp URLs is fetched by ftp.
func ftpGoverned(p *policy.Profile) string {
	const page, robots = "ftp://ftp.example.com/a", "ftp://ftp.example.com/robots.txt"
	switch {
	case firstFetch(p, page) == robots:
		return "yes"
	case firstFetch(p, page, "ftp") == robots:
		return "but only with `Options.Schemes`"
	}
	return "no"
}

// roundTrip is a function that is an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// firstFetch returns the first URL that a crawler fetches to decide about a page, or ""
// if it fetches nothing.
func firstFetch(p *policy.Profile, target string, schemes ...string) string {
	var first string
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		first = r.URL.String()
		return &http.Response{StatusCode: 404, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
	})
	t, err := fetcher.New(agent+"/1.0", &fetcher.Options{Profile: p, Base: base, Schemes: schemes})
	if err != nil {
		return ""
	}
	u, err := url.Parse(target)
	if err != nil {
		return ""
	}
	if _, err := t.Check(context.Background(), u); err != nil {
		return ""
	}
	return first
}

func successful() []requirement {
	const follow = "If the crawler successfully downloads the robots.txt file, the crawler MUST follow the parseable rules."
	return []requirement{
		says("MUST", follow, "the rules of a 200 count", disallows("User-agent: *\nDisallow: /x", "/x"),
			"policy/2.3.1.1/a_new_file_replaces_the_copy", "fetcher/2.3.1.1/rules_are_followed_without_asking_again"),
		says("MUST", follow, "the rules of every other 2xx count", every2xxIsFile, "policy/2.3.1.1/other_2xx_carry_a_file",
			"policy/house/204_is_an_empty_file", "policy/2.3.1.4/206_is_a_broken_body").but(7),
	}
}

// every2xxIsFile is the probe that the rules of every 2xx count.
func every2xxIsFile(p *policy.Profile) string {
	return statusesBut(200, 299, func(status int) bool {
		r := p.Learn(nil, answer(status, "User-agent: *\nDisallow: /x\n"))
		return !r.Allows(agent, pageURL("/x"), start) && r.Allows(agent, pageURL("/"), start)
	})
}

func redirects() []requirement {
	return []requirement{
		says("SHOULD", "The crawlers SHOULD follow at least five consecutive redirects, even across authorities (for example, hosts in the case of HTTP).",
			"how many redirects are followed", atLeastFive,
			"policy/2.3.1.2/rules_after_five_redirects", "fetcher/2.3.1.2/five_redirects", "fetcher/2.3.1.2/https_of_the_same_host_is_another_place"),
		says("SHOULD", "The crawlers SHOULD follow at least five consecutive redirects, even across authorities (for example, hosts in the case of HTTP).",
			"a redirect from a public address to a private one is followed", yesOrNo(func(p *policy.Profile) bool {
				return p.Learn(nil, refusedRedirect()).Decide(agent, pageURL("/x"), start).Verdict == policy.Allow
			}), "policy/2.3.1.4/a_redirect_that_is_refused", "fetcher/2.3.1.4/a_redirect_refused").but(6),
		says("MUST", "If a robots.txt file is reached within five consecutive redirects, the robots.txt file MUST be fetched, parsed, and its rules followed in the context of the initial authority.",
			"the rules found at another authority count for the first one", yesOrNo(func(p *policy.Profile) bool {
				a := answer(200, "User-agent: *\nDisallow: /x\n")
				a.Served = "https://cdn.example/r"
				return !p.Learn(nil, a).Allows(agent, pageURL("/x"), start)
			}), "fetcher/2.3.1.2/five_redirects", "fetcher/2.3.1.2/to_a_missing_file", "fetcher/2.3.1.2/to_a_broken_server"),
		says("MAY", "If there are more than five consecutive redirects, crawlers MAY assume that the robots.txt file is unavailable.",
			"what the file counts as", tooManyRedirects,
			"policy/2.3.1.2/a_sixth_redirect_of_each_kind", "fetcher/2.3.1.2/six_redirects"),
	}
}

func unavailable() []requirement {
	const may = "If a server status code indicates that the robots.txt file is unavailable to the crawler, then the crawler MAY access any resources on the server."
	return []requirement{
		says("", "For example, in the context of HTTP, such status codes are in the 400-499 range.", "each of 400 to 499 counts as unavailable",
			every4xxIsUnavailable, "policy/2.3.1.3/another_4xx_allows_for_an_hour", "policy/house/429_defers").but(5),
		says("MAY", may, "404", decision(404), "policy/2.3.1.3/404_allows", "policy/2.3.1.3/404_drops_the_copy"),
		says("MAY", may, "410", decision(410), "policy/2.3.1.3/404_drops_the_copy"),
		says("MAY", may, "401 and 403", decision(403),
			"policy/2.3.1.3/another_4xx_allows_for_an_hour", "policy/house/401_and_403_defer", "policy/house/401_and_403_close_the_site"),
		says("MAY", may, "400", decision(400), "policy/2.3.1.3/another_4xx_allows_for_an_hour"),
		says("MAY", may, "451", decision(451), "policy/2.3.1.3/another_4xx_allows_for_an_hour"),
	}
}

// every4xxIsUnavailable is the probe that every 4xx counts as unavailable.
func every4xxIsUnavailable(p *policy.Profile) string {
	return statusesBut(400, 499, func(status int) bool {
		return p.Learn(nil, answer(status, "")).Decide(agent, pageURL("/x"), start).Access == policy.Unavailable
	})
}

// statusesBut returns "yes" if every status between from and to counts. Otherwise it
// returns the statuses that do not count.
func statusesBut(from, to int, counts func(status int) bool) string {
	var not []string
	for status := from; status <= to; status++ {
		if !counts(status) {
			not = append(not, fmt.Sprint(status))
		}
	}
	switch {
	case len(not) == 0:
		return "yes"
	case len(not) > 12:
		return "but few"
	}
	return "but " + strings.Join(not, ", ")
}

func unreachable() []requirement {
	const complete = "If the robots.txt file is unreachable due to server or network errors, this means the robots.txt file is undefined and the crawler MUST assume complete disallow."
	const after = "If the robots.txt file is undefined for a reasonably long period of time (for example, 30 days), crawlers MAY assume that the robots.txt file is unavailable as defined in Section 2.3.1.3 or continue to use a cached copy."
	return []requirement{
		says("MUST", complete, "503", decision(503), "policy/2.3.1.4/every_server_error", "policy/2.3.1.4/statuses_that_are_none"),
		says("MUST", complete, "a connection that fails", decision(0),
			"policy/2.3.1.4/a_silent_server_is_never_taken_for_an_open_one", "policy/2.3.1.4/a_broken_body_is_no_file"),
		says("MUST", complete, "503: nothing but robots.txt is requested", nothingElse, "policy/2.3.1.4/no_probe_without_profile", "fetcher/2.3.1.4/profiles_without_a_probe"),
		says("", "For example, in the context of HTTP, server errors are identified by status codes in the 500-599 range.", "each of 500 to 599 counts as unreachable",
			every5xxIsUnreachable, "policy/2.3.1.4/every_server_error", "policy/house/5xx_in_place_of_a_404"),
		says("MAY", after, "503 for 30 days, no copy", decisionAfterDays(503, 30),
			"policy/2.3.1.4/without_a_copy_nothing_is_allowed_for_30_days", "fetcher/2.3.1.4/without_a_copy_30_days_of_500"),
		says("MAY", after, "no answer for 30 days, no copy", decisionAfterDays(0, 30),
			"policy/2.3.1.4/a_silent_server_is_never_taken_for_an_open_one", "policy/2.3.1.4/one_answer_in_the_outage_is_enough",
			"fetcher/2.3.1.4/without_a_copy_30_days_without_an_answer"),
		says("MAY", after, "503 for 40 days: the copy is used", whenCopyIsUsed(503),
			"policy/2.4/a_copy_governs_while_unreachable", "policy/2.4/no_copy_past_its_time", "policy/house/twelve_hours_of_standstill",
			"fetcher/2.3.1.4/a_copy_is_used_for_30_days_and_longer"),
		says("MAY", after, "no answer for 40 days: the copy is used", whenCopyIsUsed(0),
			"policy/2.4/a_copy_governs_while_unreachable", "policy/2.3.1.4/the_copy_after_thirty_days"),
	}
}

// every5xxIsUnreachable is the probe that every 5xx counts as unreachable, from every server.
func every5xxIsUnreachable(p *policy.Profile) string {
	if missingBehind5xx(p) == "yes" {
		return "but from a server that answers 5xx for missing pages"
	}
	return statusesBut(500, 599, func(status int) bool {
		return p.Learn(nil, answer(status, "")).Decide(agent, pageURL("/x"), start).Access == policy.Unreachable
	})
}

func caching() []requirement {
	const control = "Crawlers MAY use standard cache control as defined in [RFC9111]."
	const day = "Crawlers SHOULD NOT use the cached version for more than 24 hours, unless the robots.txt file is unreachable."
	return []requirement{
		says("MAY", "Crawlers MAY cache the fetched robots.txt file's contents.", "for how long, if the answer has no cache headers", lifetime(),
			"policy/2.4/a_copy_governs_for_24_hours", "policy/2.4/a_copy_lives_for_seven_days"),
		says("MAY", control, "`Cache-Control: max-age=3600`", lifetime("Cache-Control: max-age=3600"),
			"policy/2.4/max_age", "policy/2.4/age_is_spent", "policy/2.4/expires"),
		says("MAY", control, "an expired copy is confirmed by a 304", renewedBy304,
			"policy/2.4/304_renews_the_copy", "fetcher/2.4/304_renews_the_copy"),
		says("SHOULD NOT", day, "with `max-age=31536000` a copy is used for 24 hours", lastsAtMostADay("Cache-Control: max-age=31536000"),
			"policy/2.4/max_age_of_a_year", "policy/2.4/or_until_expires"),
		says("SHOULD NOT", day, "under 429 a copy is used for 24 hours", yesOrNo(func(p *policy.Profile) bool {
			r := p.Learn(nil, answer(200, "User-agent: *\nDisallow: /x\n"))
			busy := atTime(answer(429, ""), r.NextTry())
			d := p.Learn(r, busy).Decide(agent, pageURL("/x"), busy.Received)
			return !d.Stale
		}), "policy/house/429_leaves_the_copy").but(5),
	}
}
