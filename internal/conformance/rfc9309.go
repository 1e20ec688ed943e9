package conformance

import (
	"fmt"
	"strings"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

// rfc9309 returns the sections of RFC 9309.
func rfc9309() []section {
	return []section{
		{"2.1", "Protocol Definition", definition()},
		{"2.2", "Formal Syntax", syntax()},
		{"2.2.1", "The User-Agent Line", userAgents()},
		{"2.2.2", `The "Allow" and "Disallow" Lines`, rules()},
		{"2.2.3", "Special Characters", special()},
		{"2.2.4", "Other Records", otherRecords()},
		{"2.3", "Access Method", accessMethod()},
		{"2.3.1.1", "Successful Access", successful()},
		{"2.3.1.2", "Redirects", redirects()},
		{"2.3.1.3", `"Unavailable" Status`, unavailable()},
		{"2.3.1.4", `"Unreachable" Status`, unreachable()},
		{"2.3.1.5", "Parsing Errors", parsing()},
		{"2.4", "Caching", caching()},
		{"2.5", "Limits", limits()},
		{"3", "Security Considerations", security()},
		{"5", "Examples", examples()},
	}
}

func definition() []requirement {
	return []requirement{
		says("", "One or more user-agent lines that are followed by one or more rules.",
			"a rule after two user-agent lines counts for both",
			disallows("User-agent: OtherBot\nUser-agent: ExampleBot\nDisallow: /x", "/x"),
			"vectors/2.1/group", "vectors/2.2.1/shared-group"),
		says("", "The group is terminated by a user-agent line or end of file.",
			"a rule after the next user-agent line does not count",
			allows("User-agent: ExampleBot\nDisallow: /a\nUser-agent: OtherBot\nDisallow: /x", "/x"),
			"vectors/2.1/group"),
		says("", "The last group may have no rules, which means it implicitly allows everything.",
			"a last group without rules allows what `*` does not",
			allows("User-agent: *\nDisallow: /\n\nUser-agent: ExampleBot\n", "/x"),
			"vectors/2.1/last-empty-group"),
		says("", "One or more user-agent lines that are followed by one or more rules.",
			"`Disallow: foo`, which is not a rule, does not end a list of user-agent lines",
			disallows("User-agent: ExampleBot\nDisallow: foo\nUser-agent: OtherBot\nDisallow: /x", "/x"),
			"docs/2.1/a_rule_without_effect_ends_a_list_of_agents").but(28),
	}
}

func syntax() []requirement {
	return []requirement{
		says("", "NL = %x0D / %x0A / %x0D.0A", "lines end at CR, LF or CRLF",
			disallows("User-agent: *\rDisallow: /a\r\nDisallow: /x\n", "/x"),
			"vectors/2.2/eol-lfcr", "vectors/2.2/eol-nofinal", "vectors/2.2/blank-lines"),
		says("", "WS = %x20 / %x09", "spaces and tabs around names and values mean nothing",
			disallows(" \tUser-agent \t: *\n Disallow\t:\t/x ", "/x"),
			"vectors/2.2/whitespace-leading", "vectors/2.2/whitespace-tabs", "vectors/2.2/whitespace-trailing"),
		says("", "empty-pattern = *WS", "an empty pattern matches nothing",
			allows("User-agent: *\nDisallow:\n", "/x"), "vectors/2.2/empty-pattern"),
		says("", `path-pattern = "/" *UTF8-char-noctl`, "a rule that does not begin with `/` matches nothing",
			allows("User-agent: *\nDisallow: *x\nDisallow: x\n", "/x"), "docs/2.2/a_rule_may_begin_with_a_star").but(3),
		says("", "UTF8-1-noctl = %x21 / %x22 / %x24-7F ; excluding control, space",
			"a rule with a control character in it matches nothing",
			controlsVoid, "docs/2.2/a_control_character_voids_a_rule", "docs/3/bytes_outside_the_grammar_are_encoded").but(9),
		says("", `rule = *WS ("allow" / "disallow") *WS ":"`, "a misspelled `disallow` is not a rule",
			allows("User-agent: *\nDissallow: /x\n", "/x"), "docs/2.2/misspelled_records_are_read").but(4),
	}
}

// controlsVoid is the probe that a rule with a control character in it matches nothing. A NUL
// may end a rule, whose first part then matches.
func controlsVoid(p *policy.Profile) string {
	var kept []string
	for c := range byte(' ') {
		if c == '\n' || c == '\r' || decisionFor(p, "User-agent: *\nDisallow: /x"+string(c)+"y\n", fmt.Sprintf("/x%%%02Xy", c)).Allowed() {
			continue
		}
		switch c {
		case 0:
			kept = append(kept, "NUL")
		case '\t':
			kept = append(kept, "a tab")
		default:
			return "no"
		}
	}
	if kept == nil {
		return "yes"
	}
	return "but " + strings.Join(kept, " and ")
}

func userAgents() []requirement {
	refused := func(token string) probe {
		return yesOrNo(func(p *policy.Profile) bool {
			_, err := fetcher.New(token+"/1.0", &fetcher.Options{Profile: p, Token: token})
			return err != nil
		})
	}
	return []requirement{
		says("MUST", `The product token MUST contain only uppercase and lowercase letters ("a-z" and "A-Z"), underscores ("_"), and hyphens ("-").`,
			"a product token of the crawler with a space or a slash in it is refused", refused("Example/Bot"),
			"fetcher/2.2.1/no_token_of_that_grammar"),
		says("MUST", `The product token MUST contain only uppercase and lowercase letters ("a-z" and "A-Z"), underscores ("_"), and hyphens ("-").`,
			"a product token of the crawler with a digit in it is refused", refused("Example2Bot"),
			"docs/2.2.1/a_token_may_have_digits", "fetcher/2.2.1/a_token_may_have_digits").but(2),
		says("SHOULD", "The product token SHOULD be a substring of the identification string that the crawler sends to the service. For example, in the case of HTTP [RFC9110], the product token SHOULD be a substring in the User-Agent header.",
			"a token that is not in the agent is refused", foreignToken,
			"fetcher/2.2.1/a_token_that_is_not_in_the_agent", "docs/2.2.1/as_takes_any_token").but(27),
		notOurs("SHOULD", "The identification string SHOULD describe the purpose of the crawler.", "the agent is the caller's choice"),
		says("MUST", "Crawlers MUST use case-insensitive matching to find the group that matches the product token and then obey the rules of the group.",
			"`eXAMPLEbOT` names ExampleBot",
			disallows("User-agent: eXAMPLEbOT\nDisallow: /x", "/x"), "vectors/2.2.1/case", "vectors/2.2.1/exact"),
		says("MUST", "If there is more than one group matching the user-agent, the matching groups' rules MUST be combined into one group",
			"the rules of two groups of one token count",
			disallows("User-agent: ExampleBot\nDisallow: /a\n\nUser-agent: ExampleBot\nDisallow: /x", "/x"), "vectors/2.2.1/merge"),
		says("MUST", `If no matching group exists, crawlers MUST obey the group with a user-agent line with the "*" value, if present.`,
			"a crawler without a group of its own obeys `*`",
			disallows("User-agent: *\nDisallow: /x\n\nUser-agent: OtherBot\nDisallow: /", "/x"), "vectors/2.2.1/star"),
		says("", `Two groups that don't explicitly`, "a crawler with a group of its own does not obey `*`",
			allows("User-agent: ExampleBot\nDisallow: /a\n\nUser-agent: *\nDisallow: /x", "/x"), "vectors/2.2.1/exact", "policy/2.2.2/a_rule"),
		says("", `If no group matches the product token and there is no group with a user-agent line with the "*" value, or no groups are present at all, no rules apply.`,
			"a file for another crawler allows all", allows("User-agent: OtherBot\nDisallow: /\n", "/x"),
			"vectors/2.2.1/no-group", "policy/2.2.1/an_empty_file_allows", "fetcher/2.2.1/an_empty_file_allows"),
	}
}

// foreignToken is the probe that a product token that is not in the agent is refused.
func foreignToken(p *policy.Profile) string {
	if _, err := fetcher.New("OtherBot/1.0", &fetcher.Options{Profile: p, Token: agent}); err == nil {
		return "no"
	}
	t, err := fetcher.New("OtherBot/1.0", &fetcher.Options{Profile: p})
	if err != nil {
		return err.Error()
	}
	if _, err := t.As(agent); err == nil {
		return "but not by `Transport.As`"
	}
	return "yes"
}

func rules() []requirement {
	return append(paths(), encoding()...)
}

// paths returns the requirements about which rule decides.
func paths() []requirement {
	return []requirement{
		says("MUST", `a crawler MUST match the paths in "allow" and "disallow" rules against the URI.`,
			"`/x` disallows `/x/y`", disallows("User-agent: *\nDisallow: /x", "/x/y"),
			"vectors/2.2.2/prefix", "vectors/2.2.2/query", "policy/2.2.2/a_rule"),
		says("SHOULD", "The matching SHOULD be case sensitive.", "`/X` does not match `/x`",
			allows("User-agent: *\nDisallow: /X", "/x"), "vectors/2.2.2/case"),
		says("MUST", "The matching MUST start with the first octet of the path.", "`/x` does not match `/a/x`",
			allows("User-agent: *\nDisallow: /x", "/a/x"), "vectors/2.2.2/prefix"),
		says("MUST", "The most specific match found MUST be used. The most specific match is the match that has the most octets.",
			"`Allow: /x/y` beats `Disallow: /x`", allows("User-agent: *\nDisallow: /x\nAllow: /x/y", "/x/y"),
			"vectors/2.2.2/longest", "vectors/2.2.3/longest-wild", "vectors/5.2/example"),
		says("MUST", "The most specific match found MUST be used. The most specific match is the match that has the most octets.",
			"`Disallow: *.gif$`, which matches 10 bytes of `/pub/a.gif`, beats `Allow: /pub/a`, which matches 6",
			disallows("User-agent: *\nAllow: /pub/a\nDisallow: *.gif$", "/pub/a.gif"), "docs/2.2.2/the_longest_rule_decides").but(21),
		says("SHOULD", `If an "allow" rule and a "disallow" rule are equivalent, then the "allow" rule SHOULD be used.`,
			"different rules of the same length are not equivalent", disallows("User-agent: *\nAllow: /*b\nDisallow: /ab", "/ab"), "docs/2.2.2/the_longest_rule_decides").but(21),
		says("MAY", "Duplicate rules in a group MAY be deduplicated.", "a rule that is written twice counts once",
			disallows("User-agent: *\nDisallow: /x\nDisallow: /x", "/x"), "vectors/2.2.2/duplicate"),
		says("SHOULD", `If an "allow" rule and a "disallow" rule are equivalent, then the "allow" rule SHOULD be used.`,
			"`Allow: /x` beats `Disallow: /x`", allows("User-agent: *\nDisallow: /x\nAllow: /x", "/x"), "vectors/2.2.2/tie"),
		says("", "If no match is found amongst the rules in a group for a matching user-agent or there are no rules in the group, the URI is allowed.",
			"without a match the URL is allowed", allows("User-agent: *\nDisallow: /a", "/x"), "vectors/2.2.2/no-match"),
		says("", "The /robots.txt URI is implicitly allowed.", "`Disallow: /` allows `/robots.txt`",
			allows("User-agent: *\nDisallow: /", "/robots.txt"), "vectors/2.2.2/robots-txt", "fetcher/2.2.2/robots.txt_itself_is_always_allowed"),
		says("SHOULD", `The crawler SHOULD ignore "disallow" and "allow" rules that are not in any group`,
			"a rule before the first user-agent line does not count",
			allows("Disallow: /x\nUser-agent: *\nDisallow: /a", "/x"), "vectors/2.2.2/outside-group"),
		says("MAY", "Implementors MAY bridge encoding mismatches if they detect that the robots.txt file is not UTF-8 encoded.",
			"UTF-16 with its byte order mark is read", yesOrNo(func(p *policy.Profile) bool {
				return !decisionFor(p, encode16("User-agent: *\nDisallow: /x\n"), "/x").Allowed()
			}), "internal/retrieve/2.3/utf-16_little_end_first", "internal/retrieve/2.3/utf-16_big_end_first"),
	}
}

// encoding returns the requirements about equal paths, and Figure 4 row by row.
func encoding() []requirement {
	const outside = "Octets in the URI and robots.txt paths outside the range of the ASCII coded character set, … MUST be percent-encoded as defined by [RFC3986] prior to comparison."
	const reserved = "Octets in the URI and robots.txt paths … in the reserved range defined by [RFC3986], MUST be percent-encoded as defined by [RFC3986] prior to comparison."
	const decoded = "If a percent-encoded ASCII octet is encountered in the URI, it MUST be unencoded prior to comparison, unless it is a reserved character in the URI as defined by [RFC3986] or the character is outside the unreserved character range."
	return []requirement{
		says("MUST", outside, "`/ツ` and `/%E3%83%84` are equal", equalPaths("/\u30C4", "/%E3%83%84"), "vectors/2.2.2/pct-nonascii"),
		says("MUST", outside, "`/ツ` and `/%e3%83%84` are equal", equalPaths("/\u30C4", "/%e3%83%84"), "docs/2.2.2/a_triplet_in_lower_case"),
		says("MUST", reserved, "`: @ ! & ' ( ) + , ; = [ ]` and their triplets are equal", equalTriplets(":@!&'()+,;=[]"), "vectors/2.2.2/pct-reserved"),
		says("MUST", reserved, "`/`, `?` and their triplets are equal", equalTriplets("/?"), "docs/2.2.2/delimiters_stay_apart").but(1),
		says("MUST", decoded, "`/bar` and `/%62%61%72` are equal", equalPaths("/bar", "/%62%61%72"),
			"vectors/2.2.2/pct-unreserved-uri", "vectors/2.2.2/pct-unreserved-rule"),
		says("", "Figure 4: Examples of matching percent-encoded URI components", "row 1: `/foo/bar?baz=quz` matches itself",
			equalPaths("/foo/bar?baz=quz", "/foo/bar?baz=quz"), "vectors/2.2.2/query"),
		says("", "https%3A%2F%2Ffoo.bar", "row 2: `?baz=https://foo.bar` and `?baz=https%3A%2F%2Ffoo.bar` are equal",
			equalPaths("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"), "vectors/2.2.2/pct-reserved"),
		says("", "/foo/bar/%E3%83%84", "rows 3 and 4: `/foo/bar/ツ` and `/foo/bar/%E3%83%84` are equal",
			equalPaths("/foo/bar/\u30C4", "/foo/bar/%E3%83%84"), "vectors/2.2.2/pct-nonascii"),
		says("", "/foo/bar/%62%61%7A", "row 5: `/foo/bar/%62%61%7A` and `/foo/bar/baz` are equal",
			equalPaths("/foo/bar/%62%61%7A", "/foo/bar/baz"), "vectors/2.2.2/pct-unreserved-rule"),
		says("", "The match evaluates positively if and only if the end of the path from the rule is reached before a difference in octets is encountered.",
			"`/xy` does not match `/x`", allows("User-agent: *\nDisallow: /xy", "/x"), "vectors/2.2.2/prefix"),
	}
}

func special() []requirement {
	return []requirement{
		says("MUST", "Crawlers MUST support the following special characters:", "`#` begins a comment",
			disallows("User-agent: * # all\nDisallow: /x # closed\n", "/x"), "vectors/2.2.3/hash", "vectors/2.2/comment", "vectors/2.2.3/figure5"),
		says("MUST", "Crawlers MUST support the following special characters:", "`$` is the end of the match",
			allows("User-agent: *\nDisallow: /x$", "/xy"), "vectors/2.2.3/dollar", "vectors/2.2.3/figure5"),
		says("MUST", "Crawlers MUST support the following special characters:", "`*` is any run of bytes",
			disallows("User-agent: *\nDisallow: /a*/x", "/ab/x"), "vectors/2.2.3/star", "vectors/2.2.3/figure5"),
		says("SHOULD", `If crawlers match special characters verbatim in the URI, crawlers SHOULD use "%" encoding.`,
			"`/x%2A%24` matches `/x*$` (Figure 6)", disallows("User-agent: *\nDisallow: /x%2A%24", "/x*$"), "vectors/2.2.3/figure6"),
	}
}

func otherRecords() []requirement {
	return []requirement{
		says("MAY", "Crawlers MAY interpret other records that are not part of the robots.txt protocol", "sitemaps can be listed",
			yesOrNo(func(p *policy.Profile) bool {
				return len(p.Learn(nil, answer(200, "Sitemap: https://example.com/s.xml\n")).File().Sitemaps()) == 1
			}), "vectors/2.2.4/sitemap"),
		says("MAY", "Crawlers MAY be lenient when interpreting other records.", "`Sitemap` may be written in capitals",
			yesOrNo(func(p *policy.Profile) bool {
				return len(p.Learn(nil, answer(200, "SITEMAP : https://example.com/s.xml\n")).File().Sitemaps()) == 1
			}), "vectors/2.2.4/sitemap"),
		says("MUST NOT", "Parsing of other records MUST NOT interfere with the parsing of explicitly defined records in Section 2.",
			"a rule after an unknown record counts", disallows("User-agent: *\nHost: example.com\nDisallow: /x", "/x"),
			"vectors/2.2.4/unknown", "vectors/2.2.4/before-rules"),
		says("MUST NOT", `a "Sitemaps" record MUST NOT terminate a group.`, "a sitemap between a user-agent line and a rule changes nothing",
			disallows("User-agent: *\nSitemap: https://example.com/s.xml\nDisallow: /x", "/x"),
			"vectors/2.2.4/sitemap", "vectors/2.2.4/between-agents"),
	}
}

func parsing() []requirement {
	const lines = "\x00<p>\nUser-agent *\n\nUser-agent: *\n:::\n\xFF\xFE\nDisallow: /x\n"
	return []requirement{
		says("MUST", "Crawlers MUST try to parse each line of the robots.txt file.", "a rule after lines that are no records counts",
			disallows(lines, "/x"), "vectors/2.3.1.5/errors", "vectors/2.3.1.5/html", "vectors/2.3.1.5/invalid-utf8"),
		says("MUST", "Crawlers MUST use the parseable rules.", "rules on an HTML page count",
			disallows("<html>\nUser-agent: *\nDisallow: /x\n</html>", "/x"), "vectors/2.3.1.5/html", "policy/2.3.1.5/a_page_with_rules_is_a_file"),
		says("MUST", "Crawlers MUST use the parseable rules.", "a rule after a user-agent line without a name counts for the group before it",
			disallows("User-agent: ExampleBot\nDisallow: /a\nUser-agent:\nDisallow: /x\n", "/x"), "docs/2.3.1.5/a_broken_user_agent_line_ends_a_group").but(20),
	}
}

func limits() []requirement {
	const filler = "#\n"
	const rule = "User-agent: *\nDisallow: /x\n"
	return []requirement{
		says("SHOULD", "Crawlers SHOULD impose a parsing limit to protect their systems", "a rule after 2 MiB does not count",
			allows(strings.Repeat(filler, 1<<20)+rule, "/x"),
			"policy/2.5/a_rule_after_the_limit", "fetcher/2.5/an_endless_file_is_cut", "internal/retrieve/2.5/a_gzip_bomb"),
		says("MUST", "The parsing limit MUST be at least 500 kibibytes", "a rule that ends with the byte number 512,000 counts",
			disallows(strings.Repeat(filler, (500<<10-len(rule)+1)/len(filler))+rule+filler, "/x"),
			"vectors/2.5/limit", "policy/2.5/a_rule_before_a_line_end_at_the_limit", "internal/retrieve/2.5/cut_before_a_line_end", "internal/retrieve/2.5/exactly_the_limit"),
		says("MUST", "The parsing limit MUST be at least 500 kibibytes", "if a rule goes on after byte number 512,000, its first part counts",
			disallows(strings.Repeat("#", 500<<10-len(rule))+"\n"+rule[:len(rule)-1]+"yyyy\n", "/xz"),
			"policy/2.5/half_a_rule_at_the_limit", "docs/2.5/half_a_rule_does_not_count").but(8),
	}
}

func security() []requirement {
	return []requirement{
		says("should", "Section 2.5 defines the lower limit of bytes that must be processed, which inherently also protects the parser from out-of-memory scenarios.",
			"a file of any size costs at most 4 MiB", yesOrNo(func(p *policy.Profile) bool {
				return p.Learn(nil, answer(200, "User-agent: *\n"+strings.Repeat("Disallow: /x\n", 1<<20))).Size() < 4<<20
			}), "internal/retrieve/2.5/a_gzip_bomb", "fetcher/2.5/an_endless_file_is_cut", "internal/retrieve/2.3.1.5/forty_thousand_groups"),
		says("should", "Out-of-bound characters should be rejected as invalid", "a rule with a control character is skipped",
			controlsVoid, "docs/2.2/a_control_character_voids_a_rule", "docs/3/bytes_outside_the_grammar_are_encoded").but(9),
		says("should", "Out-of-bound characters should be rejected as invalid", "a rule with a space or with a byte that is not UTF-8 is skipped",
			allows("User-agent: *\nDisallow: /x y\nDisallow: /\xFF\n", "/x%20y"), "docs/3/bytes_outside_the_grammar_are_encoded").but(9),
		says("should", "Implementors should treat the content of a robots.txt file as untrusted content", "control characters of a file are quoted in a decision",
			yesOrNo(func(p *policy.Profile) bool {
				return !strings.ContainsAny(decisionFor(p, "User-agent: *\nDisallow: /x\u009b\n", "/x%C2%9B").String(), "\x1b\u009b")
			}), "internal/retrieve/2.3.1.5/escapes_of_a_terminal"),
	}
}

// The files of section 5, word for word.
const (
	simple = `User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
`
	longest = `User-Agent: ExampleBot
Allow: /example/page/
Disallow: /example/page/disallowed.gif
`
)

func examples() []requirement {
	return []requirement{
		says("", "It allows access to the URLs with the /publications/ path prefix, and it restricts access to the URLs with the /example/ path prefix and to all URLs with a .gif suffix.",
			"5.1, a crawler without its own group", decides("AnyBot", "/publications/", "!/example/", "!/a.gif"), "vectors/5.1/example"),
		says("", "The crawler only has access to two URL path prefixes on the site -- /example/page.html and /example/allowed.gif.",
			"5.1, foobot", decides("foobot", "/example/page.html", "/example/allowed.gif", "!/", "!/publications/"), "vectors/5.1/example"),
		says("", "The crawlers are not allowed to access the URLs with the /example/page.html path prefix but otherwise have unrestricted access to the rest of the URLs on the site.",
			"5.1, barbot and bazbot", decides("barbot", "!/example/page.html", "/", "/a.gif"), "vectors/5.1/example"),
		says("", "An empty group at the end of the file. The crawler has unrestricted access to the URLs on the site.",
			"5.1, quxbot", decides("quxbot", "/example/page.html", "/a.gif"), "vectors/5.1/example"),
		says("MUST", "/example/page/disallowed.gif MUST be used for the URI example.com/example/page/disallow.gif.",
			"5.2, with the URL that the rule matches", disallows(longest, "/example/page/disallowed.gif"), "vectors/5.2/example"),
	}
}

// decides is the probe that the simple example disallows the paths with an exclamation
// mark, and allows the others.
func decides(token string, paths ...string) probe {
	return yesOrNo(func(p *policy.Profile) bool {
		rec := p.Learn(nil, answer(200, simple))
		for _, path := range paths {
			bare := strings.TrimPrefix(path, "!")
			if rec.Allows(token, pageURL(bare), start) != (bare == path) {
				return false
			}
		}
		return true
	})
}
