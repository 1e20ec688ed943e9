package main

const (
	aboutBare = `The 123 tests of http-tests/cache-tests that concern a private cache of one file. Each request is a decision here, and the
server sees whether robots.txt is fetched for it. Profile ` + "`rfc9309`" + ` runs without its limits: a lifetime may be as short as a
second, which is the least that a profile permits, and it is a second if the server declares none.`

	aboutShipped = `The tests above that agree, now with the limits of profile ` + "`rfc9309`" + `: a copy is used for a minute at least, and for a day if
the server declares nothing.`

	aboutFields = `The dictionaries of httpwg/structured-field-tests, read as Content-Usage by package usage. A test of that package
(` + "`TestStructuredFields`" + `) also runs the library for structured fields on these dictionaries and on the suite's %d items and
%d lists; all agree.`

	aboutColly = `The tests of colly for robots.txt, run by colly itself with Polite as its transport.`

	aboutScrapyParsers = `The tests that every parser of Scrapy must pass: decisions, Crawl-delay and bytes that are not UTF-8.`

	aboutScrapy = `The tests of Scrapy's middleware for robots.txt.`

	aboutNutch = `The tests of Nutch's parser: three crawlers, six URLs and Crawl-delay.`

	aboutStormCrawler = `The tests of StormCrawler for statuses, redirects and X-Robots-Tag.`

	aboutCommons = `The tests of crawler-commons for failed fetches, Crawl-delay, byte order marks, misspelled records, groups and other records.`

	aboutFiles = `Real files that Protego tests its parser with. They have no expected decisions: each must be read in every dialect without a
panic. They are also the seeds of a fuzz test.`
)

// bareReasons are the reasons for differences that are not due to the limits of a
// profile.
var bareReasons = []reason{
	{"deviation 12", "Of two values the more careful one counts, not the first.",
		"freshness-max-age-two-* age-parse-prefix age-parse-prefix-twoline"},
	{"RFC 9111, section 4.2.1", "A max-age that is no integer makes an answer stale, as the section encourages.",
		"freshness-max-age-decimal-* freshness-max-age-a100 freshness-max-age-100a"},
	{"RFC 9111, section 4.2.3", "The age of an answer is its Age. The section lets a cache use it alone, and an origin with a slow clock then costs no requests.",
		"freshness-max-age-date"},
	{"RFC 9111, section 5.1", "An Age that is no integer is ignored, as the section asks.",
		"age-parse-parameter age-parse-numeric-parameter"},
	{"RFC 9111, section 5.2.3", "The directive stale-while-revalidate is an extension. Polite ignores it and fetches the file before the decision.",
		"stale-while-revalidate*"},
	{"RFC 9111, section 5.2.1", "The test reloads the page like a browser. A crawler does not reload, so its request has no directives. It does validate the copy.",
		"cc-resp-immutable-stale"},
	{"RFC 9111, section 5.4", "The section says that Pragma in an answer was never specified. Polite reads it like no-cache, as the sites that send it mean it.",
		"pragma-response-no-cache*"},
	{"RFC 9111, section 4.3.1", "An entity tag without quotation marks is invalid and is not sent back.",
		"conditional-etag-strong-generate-unquoted"},
	{"RFC 9111, section 4.3.4", "A 304 with another strong entity tag must not update the copy, so the file is fetched without a condition.",
		"304-etag-update-response-ETag"},
	{"deviation 14", "A copy with must-revalidate is used while the file is unreachable.",
		"stale-close-must-revalidate"},
	{"RFC 9309, section 2.4", "A copy with no-cache is used while the file is unreachable, which the section permits for every expired copy.",
		"stale-close-no-cache"},
	{"RFC 9309, section 2.3.1.3", "Without a file there is no copy to expire. That a file is unavailable is remembered for a time that Polite chooses, whatever the error page declares.",
		"status-4*-stale"},
}

// shippedReasons are the reasons for differences that are due to the limits.
var shippedReasons = []reason{
	{"deviation 11", "A copy is used for a minute, and for an hour if its Age makes it stale on arrival. The test expects a request within seconds.", "*"},
}

// robotsFiles are the files of cases.
var robotsFiles = []robotsFile{
	{"Scrapy, parsers", aboutScrapyParsers, "scrapy/interface.jsonl", []reason{
		{"RFC 9309, section 2.2.2", "The longest rule counts. The test is for parsers that take the first rule.",
			"scrapy/interface/test_order_based_precedence/1"},
		{"RFC 9309, section 2.2.1", "A product token has ASCII letters only, so Polite refuses this one.",
			"scrapy/interface/test_unicode_url_and_useragent/[48]"},
		{"RFC 9309, section 2.2", "The line begins with a byte that is not UTF-8, so it is an unknown record. Scrapy drops the byte.",
			"scrapy/interface/decode/non_utf8"},
	}},
	{"Scrapy, middleware", aboutScrapy, "scrapy/middleware.jsonl", []reason{
		{"RFC 9309, section 2.3.1.4", "An unreachable file means complete disallow. Scrapy fetches the page.",
			"scrapy/test_robotstxt_error scrapy/test_robotstxt_immediate_error scrapy/test_ignore_robotstxt_request"},
		{"RFC 9309, section 2.2.1", "The product token should be part of the User-Agent header. Polite refuses a header that names no crawler.",
			"scrapy/test_robotstxt_user_agent_setting"},
	}},
	{"Nutch", aboutNutch, "java/nutch.jsonl", []reason{
		{"RFC 9309, section 2.2.1", "The groups of one product token are merged. Of several tokens, Polite obeys the first that has a group, and Nutch merges the groups of all.",
			"nutch/testRobotsAgent/1[37]"},
	}},
	{"StormCrawler", aboutStormCrawler, "java/stormcrawler.jsonl", []reason{
		{"RFC 9309, section 2.3.1.2", "A redirect without a Location leads nowhere. It is no answer that the file is unavailable, so it counts as unreachable.",
			"stormcrawler/status/300 stormcrawler/status/399"},
		{"RFC 9309, section 2.3.1.1", "Any other 2xx is a successful fetch, so its rules count.",
			"stormcrawler/status/299"},
		{"RFC 9309, section 2.3.1.4", "An unreachable file means complete disallow, also with an invalid status.",
			"stormcrawler/status/777 stormcrawler/status/500-option"},
		{"RFC 9309, section 2.3.1.3", "After a 403 any page may be fetched. The test sets an option that forbids it; profile `strict` defers.",
			"stormcrawler/status/403-option"},
		{"RFC 9309, section 1", "The protocol is about access and has no X-Robots-Tag. As Google documents it, none means noindex and nofollow, and not nocache.",
			"stormcrawler/robotstag/19"},
	}},
	{"crawler-commons", aboutCommons, "java/crawler-commons.jsonl", []reason{
		{"deviation 5", "407 and 408 do not say that there is no file.", "cc/testStatusCodeCreation/1[01]"},
		{"RFC 9309, section 2.2.4", "Another record does not end a list of user-agent lines, so these crawlers share one group. Crawl-delay belongs to the group, and crawler-commons gives it to the crawlers named before it.",
			"cc/testCrawlDelay/2 cc/testBrokenKrugleRobotsTxtFile/2 cc/testSelectCrawlDelayGroup/[23] cc/testCrawlDelayGroupMerging/2"},
		{"RFC 9309, section 2.2.2", "A long Crawl-delay changes no rule. crawler-commons fetches nothing from a site that asks for more than five minutes.",
			"cc/testBigCrawlDelay/1"},
		{"deviation 4", "Polite accepts only common misspellings; these are rare.",
			"cc/testDirectiveTypos/[14]"},
		{"RFC 9309, section 2.2", "A record has a colon, so a line without one is skipped.",
			"cc/testDirectiveTypos/5 cc/testFormatErrors/[23]"},
	}},
}
