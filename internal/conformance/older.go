package conformance

import (
	"time"

	"github.com/rfc9309/polite/policy"
)

// google returns the sentences of Google's documentation of 2026, in our words.
func google() []section {
	return []section{{"", "", []requirement{
		says("", "", "rules are compared as the parser at github.com/google/robotstxt compares them: `%62` in a rule is not decoded",
			allows("User-agent: *\nDisallow: /%62", "/b"), "vectors/2.2.2/pct-unreserved-rule"),
		says("", "", "a path may have UTF-8 or its triplets: `/ツ` and `/%e3%83%84` are equal", equalPaths("/\u30C4", "/%e3%83%84"),
			"docs/2.2.2/a_triplet_in_lower_case").but(26),
		says("", "", "at least five redirects are followed, and then the file counts as missing",
			yesOrNo(func(p *policy.Profile) bool {
				return atLeastFive(p) == "yes: 5" && tooManyRedirects(p) == "unavailable"
			}), "policy/2.3.1.2/a_sixth_redirect"),
		says("", "", "each 4xx but 429 counts as no file", func(p *policy.Profile) string {
			return statusesBut(400, 499, func(status int) bool {
				return status == 429 || p.Learn(nil, answer(status, "")).Decide(agent, pageURL("/x"), start).Verdict == policy.Allow
			})
		}, "policy/house/no_restriction_after_twelve_hours"),
		says("", "", "429 counts as a server error", decision(429), "policy/house/429_defers"),
		says("", "", "for the first 12 hours of server errors nothing is crawled, with a copy or without", yesOrNo(func(p *policy.Profile) bool {
			return decisionAfterOutage(p, 503, 11*time.Hour, nil) == "defer" && whenCopyIsUsed(503)(p)[:9] == "from 12 h"
		}), "policy/house/twelve_hours_of_standstill"),
		says("", "", "in that time nothing but robots.txt is requested", nothingElse, "fetcher/4.6/down").but(22),
		says("", "", "then the copy is used for 30 days", whenCopyIsUsed(503), "policy/house/twelve_hours_of_standstill"),
		says("", "", "without a copy there is no restriction after the 12 hours", decisionAfterDays(503, 1), "policy/house/no_restriction_after_twelve_hours"),
		says("", "", "after 30 days a site that answers has no file", decisionAfterDays(503, 31), "policy/house/no_restriction_after_twelve_hours"),
		says("", "", "after 30 days a site that does not answer is not crawled", decisionAfterDays(0, 31), "policy/house/no_restriction_after_twelve_hours"),
		says("", "", "a copy is used for 24 hours, and longer if max-age says so", lifetime("Cache-Control: max-age=172800"), "policy/2.4/max_age_of_a_day"),
		says("", "", "a server that answers 5xx for missing pages counts as one without a file", missingBehind5xx,
			"policy/house/5xx_in_place_of_a_404", "policy/house/a_server_that_is_down_is_no_404", "fetcher/4.6/500_for_what_is_not_there"),
		says("", "", "ftp is crawled", ftpGoverned, "fetcher/2.3/a_robots.txt_of_its_own", "docs/2.3/other_schemes_have_no_decision").but(10),
	}}}
}

// google2019 returns the sentences of Google's documentation of July 2019, in a
// translation.
func google2019() []section {
	return []section{
		{"", "Omgaan met HTTP-resultaatcodes", []requirement{
			says("", "Op http en https wordt het robots.txt-bestand opgehaald met een niet-voorwaardelijk HTTP-GET-verzoek.",
				"no request is conditional", yesOrNo(func(p *policy.Profile) bool { return p.Learn(nil, fileWithHeader(`ETag: "a"`)).Validators() == nil }),
				"fetcher/2.4/none_without_conditional"),
			says("", "HTTP-resultaatcodes die succes aangeven, resulteren in een “voorwaardelijk toestaan” van kruipen.",
				"the rules of every 2xx count", every2xxIsFile, "policy/2.3.1.1/other_2xx_carry_a_file").but(7),
			says("", "Google volgt ten minste vijf omleidingshops zoals gedefinieerd door RFC 1945 voor HTTP / 1.0 en stopt vervolgens en behandelt het als een 404",
				"five redirects are followed, and then the file counts as missing",
				yesOrNo(func(p *policy.Profile) bool {
					return atLeastFive(p) == "yes: 5" && tooManyRedirects(p) == "unavailable"
				}),
				"policy/2.3.1.2/a_sixth_redirect", "fetcher/2.3.1.2/six_redirects"),
			says("", "Alle 4xx-fouten worden op dezelfde manier behandeld en er wordt aangenomen dat er geen geldig robots.txt-bestand bestaat.",
				"each of 400 to 499 allows all", every4xxIsUnavailable, "policy/2.3.1.3/every_4xx_is_full_allow"),
			says("", "Serverfouten worden gezien als tijdelijke fouten die resulteren in een ‘volledig niet toestaan’ van crawlen.",
				"503", decision(503), "policy/2.3.1.4/every_server_error"),
			says("", "Serverfouten worden gezien als tijdelijke fouten die resulteren in een ‘volledig niet toestaan’ van crawlen.",
				"nothing but robots.txt is requested", nothingElse, "fetcher/4.6/down").but(22),
			says("", "Als de robots.txt is niet bereikbaar gedurende meer dan 30 dagen, wordt de laatste kopie van het robots.txt-bestand in de cache gebruikt.",
				"503 for 40 days: the copy is used", whenCopyIsUsed(503), "policy/2.3.1.4/the_copy_after_thirty_days"),
			says("", "Indien deze niet beschikbaar is, gaat Google ervan uit dat er geen crawlbeperkingen zijn.",
				"503 for 31 days, no copy", decisionAfterDays(503, 31), "policy/2.3.1.4/no_restriction_after_thirty_days"),
			says("", "als we kunnen vaststellen dat een site onjuist is geconfigureerd om 5xx te retourneren in plaats van een 404 voor ontbrekende pagina’s, behandelen we een 5xx-fout van die site als een 404.",
				"such a site is detected", missingBehind5xx, "policy/house/5xx_in_place_of_a_404", "fetcher/4.6/500_for_what_is_not_there"),
			says("", "Het verwerken van een robots.txt-bestand dat niet kan worden opgehaald vanwege DNS- of netwerkproblemen, … wordt behandeld als een serverfout.",
				"a connection that fails", decision(0), "policy/2.3.1.4/no_restriction_after_thirty_days"),
			says("", "robots.txt-inhoud wordt over het algemeen maximaal 24 uur in de cache opgeslagen", "for how long, if the answer has no cache headers",
				lifetime(), "policy/2.4/a_copy_governs_for_24_hours"),
			says("", "Google kan de levensduur van de cache verlengen of verkorten op basis van max-age Cache-Control HTTP-headers.",
				"`max-age=172800`", lifetime("Cache-Control: max-age=172800"), "policy/2.4/max_age_of_a_day"),
			says("", "Google accepteert en volgt robots.txt-bestanden voor FTP-sites.", "ftp is crawled", ftpGoverned, "fetcher/2.3/a_robots.txt_of_its_own", "docs/2.3/other_schemes_have_no_decision").but(10),
		}},
		google2019Format(),
	}
}

// google2019Format returns the sentences of its section on the format of the file.
func google2019Format() section {
	return section{"", "Bestandsformaat", []requirement{
		says("", "Een optionele Unicode BOM (bytevolgorde-markering) aan het begin van het robots.txt-bestand wordt genegeerd.",
			"a file with a byte order mark is read", disallows("\uFEFFUser-agent: *\nDisallow: /x\n", "/x"), "internal/retrieve/2.3/byte_order_mark"),
		says("", "Google ondersteunt de verwerking van <field> elementen met eenvoudige fouten of typefouten", "`useragent` and `dissallow` are read",
			disallows("Useragent: *\nDissallow: /x", "/x"), "vectors/2.2.4/unknown"),
		says("", "Google hanteert momenteel een maximale grootte van 500 kibibytes (KiB).", "a rule after it does not count",
			limits()[0].probe, "policy/2.5/a_rule_after_the_limit"),
		says("", "De crawler moet de juiste groep regels bepalen door de groep te zoeken met de meest specifieke user-agent die nog steeds overeenkomt.",
			"googlebot-news obeys its own group, not googlebot's", yesOrNo(func(p *policy.Profile) bool {
				r := p.Learn(nil, answer(200, "user-agent: googlebot\nDisallow: /\n\nuser-agent: googlebot-news\nDisallow: /a\n"))
				return r.Allows("googlebot-news", pageURL("/x"), start)
			}), "vectors/2.2.1/exact"),
		says("", "De user-agent is hoofdlettergevoelig.", "`EXAMPLEBOT` does not name ExampleBot",
			allows("User-agent: EXAMPLEBOT\nDisallow: /x", "/x"), "docs/2.2.1/names_are_compared_without_case").but(19),
		says("", "zowel googlebot/1.2 als googlebot* zijn gelijk aan googlebot", "`ExampleBot/1.2` and `ExampleBot*` name ExampleBot", yesOrNo(func(p *policy.Profile) bool {
			return !decisionFor(p, "User-agent: ExampleBot/1.2\nDisallow: /x", "/x").Allowed() && !decisionFor(p, "User-agent: ExampleBot*\nDisallow: /x", "/x").Allowed()
		}), "vectors/2.2.1/token-chars"),
		says("", "Afhandeling van <field> elementen met eenvoudige fouten of typefouten (bijvoorbeeld “useragent” in plaats van ” user-agent “) wordt niet ondersteund.",
			"`useragent` is not read", allows("Useragent: *\nDisallow: /x", "/x"), "docs/2.2/misspelled_records_are_read").but(4),
		says("", "De padwaarde moet beginnen met “/” om de root aan te duiden.", "a rule that begins with `*` matches nothing",
			allows("User-agent: *\nDisallow: *x\n", "/x"), "docs/2.2/a_rule_may_begin_with_a_star").but(3),
		says("", "Niet-7-bits ASCII-tekens in een pad kunnen worden opgenomen als UTF-8-tekens of als UTF-8-gecodeerde tekens met procent-escapecodes volgens RFC 3986.",
			"`/ツ` and `/%e3%83%84` are equal", equalPaths("/\u30C4", "/%e3%83%84"), "docs/2.2.2/a_triplet_in_lower_case").but(26),
		says("", "In het geval van conflicterende regels, inclusief regels met jokertekens, wordt de minst beperkende regel gebruikt.",
			"`Allow: /x` beats `Disallow: /x`", allows("User-agent: *\nDisallow: /x\nAllow: /x", "/x"), "vectors/2.2.2/tie"),
	}}
}

// draft2019 returns the sentences of draft-koster-rep-00 that differ from RFC 9309.
func draft2019() []section {
	return []section{
		{"2.2.1", "The user-agent line", []requirement{
			says("MUST", "Crawlers MUST find the group that matches the product token exactly, and then obey the rules of the group.",
				"a group for Example does not apply to ExampleBot", allows("User-agent: Example\nDisallow: /x", "/x"), "vectors/2.2.1/exact"),
			says("MUST", `If no matching group exists, crawlers MUST obey the first group with a user-agent line with a "*" value, if present.`,
				"only the first of two `*` groups counts", allows("User-agent: *\nDisallow: /a\n\nUser-agent: *\nDisallow: /x", "/x"), "docs/2.2.1/the_first_default_group_alone"),
		}},
		{"2.2.2", "The Allow and Disallow lines", []requirement{
			says("MUST", "and those in the reserved range defined by RFC3986 [1], MUST be percent-encoded as defined by RFC3986 [1] prior to comparison.",
				"`: @ ! & ' ( ) + , ; = [ ]` and their triplets are equal", equalTriplets(":@!&'()+,;=[]"), "vectors/2.2.2/pct-reserved"),
			says("MUST", "and those in the reserved range defined by RFC3986 [1], MUST be percent-encoded as defined by RFC3986 [1] prior to comparison.",
				"`/`, `?` and their triplets are equal", equalTriplets("/?"), "docs/2.2.2/delimiters_stay_apart").but(1),
		}},
		{"2.2.3", "Special characters", []requirement{
			says("MUST", "A URI MUST end … with a $.", "`/x$` does not match `/x`", allows("User-agent: *\nDisallow: /x$", "/x"),
				"docs/2.2.3/a_dollar_needs_none_in_the_URL").but(25),
		}},
		{"2.3.1.3", "Unavailable status", []requirement{
			says("", "For example, in the context of HTTP, unavailable status codes are in the 400-499 range.", "each of 400 to 499 counts as unavailable",
				every4xxIsUnavailable, "policy/2.3.1.3/another_4xx_allows_for_an_hour", "policy/house/429_defers").but(5),
			says("MAY", "then crawlers MAY access any resources on the server or MAY use a cached version of a robots.txt file for up to 24 hours.",
				"with a fresh copy, 404", func(p *policy.Profile) string {
					r := p.Learn(nil, answer(200, "User-agent: *\nDisallow: /x\n"))
					gone := atTime(answer(404, ""), start.Add(time.Hour))
					return p.Learn(r, gone).Decide(agent, pageURL("/x"), gone.Received).Verdict.String()
				}, "policy/2.3.1.3/a_4xx_leaves_the_copy_for_24_hours", "fetcher/2.3.1.3/draft2019_keeps_a_copy_for_a_day_over_404"),
		}},
		{"2.3.1.4", "Unreachable status", []requirement{
			says("MUST", "For other undefined status codes, the crawler MUST assume the robots.txt is unreachable.", "600 to 999", func(p *policy.Profile) string {
				return statusesBut(600, 999, func(status int) bool {
					return p.Learn(nil, answer(status, "")).Decide(agent, pageURL("/x"), start).Access == policy.Unreachable
				})
			}, "policy/2.3.1.4/statuses_that_are_none"),
		}},
	}
}

// koster1996 returns the sentences of the draft of 1996.
func koster1996() []section {
	return []section{
		{"3.1", "Access method", []requirement{
			says("must", "the robot must read the content, parse it, and follow any instructions applicable to that robot.", "the rules of every 2xx count",
				every2xxIsFile, "policy/2.3.1.1/other_2xx_carry_a_file").but(7),
			says("", "the robot can assume no instructions are available, and that access to the site is unrestricted.", "404", decision(404), "policy/2.3.1.3/404_allows"),
			says("should", "On server response indicating access restrictions (HTTP Status Code 401 or 403) a robot should regard access to the site completely restricted.",
				"401 and 403 disallow all", yesOrNo(func(p *policy.Profile) bool {
					return decision(401)(p) == "disallow" && decision(403)(p) == "disallow"
				}), "policy/house/401_and_403_close_the_site"),
			says("should", "On the request attempt resulted in temporary failure a robot should defer visits to the site until such time as the resource can be retrieved.",
				"503, on the first day and after 40 days", yesOrNo(func(p *policy.Profile) bool {
					return decision(503)(p) == "defer" && decisionAfterDays(503, 40)(p) == "defer"
				}), "policy/2.4/no_copy_past_its_time"),
			says("should", "a robot should follow the redirects until a resource can be found.", "there is no limit", yesOrNo(func(p *policy.Profile) bool {
				return atLeastFive(p) == "yes: all"
			}), "policy/2.3.1.2/ten_redirects", "fetcher/house/koster1996_and_no_eleventh").but(15),
		}},
		{"3.2", "File Format Description", []requirement{
			says("", "The name comparisons are case-insensitive.", "`eXAMPLEbOT` names ExampleBot", disallows("User-agent: eXAMPLEbOT\nDisallow: /x", "/x"), "vectors/2.2.1/case"),
			says("", "The line either specifies a simple name for a robot", "a record for Example does not apply to ExampleBot", allows("User-agent: Example\nDisallow: /x", "/x"), "docs/3.2.1/names_are_compared_whole"),
			says("must", "a robot must attempt to match the paths in Allow and Disallow lines against the URL, in the order they occur in the record. The first match found is used.",
				"`Disallow: /x` before `Allow: /x/y` disallows `/x/y`", disallows("User-agent: *\nDisallow: /x\nAllow: /x/y", "/x/y"), "docs/3.2.2/the_first_match_decides"),
			says("", `If a %xx encoded octet is encountered it is unencoded prior to comparison, unless it is the "/" character, which has special meaning in a path.`,
				"the fifteen rows of the table", kosterTable, "docs/3.2.2/the_table"),
			says("", "The matching process compares every octet in the path portion of the URL and the path from the record.", "a query is not compared",
				allows("User-agent: *\nDisallow: /x?y", "/x?y"), "docs/3.2.2/queries_are_compared").but(18),
		}},
		{"3.4", "Expiration", []requirement{
			says("must", "if they do they must periodically verify the cached copy is fresh before using its contents.", "an expired copy is not used",
				yesOrNo(func(p *policy.Profile) bool { return whenCopyIsUsed(503)(p) == "no" }), "policy/2.4/no_copy_past_its_time"),
			says("should", "Specifically robots should take note of Expires header set by the origin server.", "`Expires` in ten days",
				lastsFor(10*24*time.Hour, "Expires: "+httpDate(10*24*time.Hour), "Date: "+httpDate(0)), "policy/2.4/or_until_expires"),
			says("should", "If no cache-control directives are present robots should default to an expiry of 7 days.", "without a cache header",
				lastsFor(7*24*time.Hour), "policy/2.4/a_copy_lives_for_seven_days"),
		}},
		{"4.2", "Interoperability", []requirement{
			says("should", "robots should be liberal in accepting files with different end-of-line conventions, specifically CR and LF in addition to CRLF.",
				"lines end at CR, LF or CRLF", disallows("User-agent: *\rDisallow: /a\r\nDisallow: /x\n", "/x"), "vectors/2.2/eol-lfcr"),
		}},
	}
}

// missingBehind5xx is the probe that a server that answers 5xx for missing pages counts as
// one without a file.
func missingBehind5xx(p *policy.Profile) string {
	return yesOrNo(func(p *policy.Profile) bool {
		a := answer(500, "")
		if !p.WantsProbe(nil, a) {
			return false
		}
		a.Probe = &policy.Probe{Root: 200, Missing: 500}
		return p.Learn(nil, a).Allows(agent, pageURL("/x"), start)
	})(p)
}

// nothingElse is the probe that after a server error nothing but robots.txt is requested.
func nothingElse(p *policy.Profile) string {
	if p.WantsProbe(nil, answer(503, "")) {
		return "but `/` and one path that cannot exist, once a day, or each hour while the 5xx counts as a 404"
	}
	return "yes"
}

// kosterTable is the probe for the table of section 3.2.2.
func kosterTable(p *policy.Profile) string {
	for _, row := range []struct {
		record, path string
		matches      bool
	}{
		{"/tmp", "/tmp", true}, {"/tmp", "/tmp.html", true}, {"/tmp", "/tmp/a.html", true},
		{"/tmp/", "/tmp", false}, {"/tmp/", "/tmp/", true}, {"/tmp/", "/tmp/a.html", true},
		{"/a%3cd.html", "/a%3cd.html", true}, {"/a%3Cd.html", "/a%3cd.html", true},
		{"/a%3cd.html", "/a%3Cd.html", true}, {"/a%3cd.html", "/a%3cd.html", true},
		{"/a%2fb.html", "/a%2fb.html", true}, {"/a%2fb.html", "/a%2Fb.html", true}, {"/a%2fb.html", "/a/b.html", false},
		{"/%7ejoe/index.html", "/~joe/index.html", true}, {"/~joe/index.html", "/%7Ejoe/index.html", true},
	} {
		if decisionFor(p, "User-agent: *\nDisallow: "+row.record+"\n", row.path).Allowed() == row.matches {
			return "no"
		}
	}
	return "yes"
}
