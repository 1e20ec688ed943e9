package conformance

import (
	"strings"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

func definition() []requirement {
	return []requirement{
		{"", "a group is one or more user-agent lines and the rules after them",
			closed("User-agent: OtherBot\nUser-agent: ExampleBot\nDisallow: /x", "/x"),
			proofs("vectors/2.1/group", "vectors/2.2.1/shared-group")},
		{"", "a last group without rules allows everything",
			open("User-agent: *\nDisallow: /\n\nUser-agent: ExampleBot\n", "/x"),
			proofs("vectors/2.1/last-empty-group")},
	}
}

func syntax() []requirement {
	return []requirement{
		{"", "lines end at CR, LF or CRLF",
			closed("User-agent: *\rDisallow: /a\r\nDisallow: /x\n", "/x"),
			proofs("vectors/2.2/eol-lfcr", "vectors/2.2/eol-nofinal", "vectors/2.2/blank-lines")},
		{"", "white space around names and values means nothing",
			closed(" \tUser-agent \t: *\n Disallow\t:\t/x ", "/x"),
			proofs("vectors/2.2/whitespace-leading", "vectors/2.2/whitespace-tabs", "vectors/2.2/whitespace-trailing")},
		{"", "an empty pattern matches nothing",
			open("User-agent: *\nDisallow:\n", "/x"),
			proofs("vectors/2.2/empty-pattern")},
	}
}

func userAgents() []requirement {
	return []requirement{
		{"MUST", "the crawler's own token has only letters, `_` and `-`", does(func(p *policy.Profile) bool {
			_, err := fetcher.New(agent+"/1.0", &fetcher.Options{Profile: p, Token: agent + "/1.0"})
			return err != nil
		}), proofs("fetcher/2.2.1/no_token_of_that_grammar", "fetcher/2.2.1/digits_are_no_part_of_a_token")},
		{"SHOULD", "the token is part of the identification string", does(func(p *policy.Profile) bool {
			_, err := fetcher.New("OtherBot/1.0", &fetcher.Options{Profile: p, Token: agent})
			return err != nil
		}), proofs("fetcher/2.2.1/a_token_that_is_not_in_the_agent")},
		{"MUST", "the token is matched without regard to case",
			closed("User-agent: eXAMPLEbOT\nDisallow: /x", "/x"),
			proofs("vectors/2.2.1/case", "vectors/2.2.1/exact")},
		{"MUST", "groups of the same token are one group",
			closed("User-agent: ExampleBot\nDisallow: /a\n\nUser-agent: ExampleBot\nDisallow: /x", "/x"),
			proofs("vectors/2.2.1/merge")},
		{"MUST", "without a group of its own a crawler obeys that of `*`",
			closed("User-agent: *\nDisallow: /x\n\nUser-agent: OtherBot\nDisallow: /", "/x"),
			proofs("vectors/2.2.1/star")},
		{"", "with a group of its own it does not",
			open("User-agent: ExampleBot\nDisallow: /a\n\nUser-agent: *\nDisallow: /x", "/x"),
			proofs("vectors/2.2.1/exact", "policy/2.2.2/a_rule")},
		{"", "without a group that applies no rules apply",
			open("User-agent: OtherBot\nDisallow: /\n", "/x"),
			proofs("vectors/2.2.1/no-group", "policy/2.2.1/an_empty_file_allows", "fetcher/2.2.1/an_empty_file_allows")},
	}
}

func rules() []requirement {
	return []requirement{
		{"MUST", "the paths of rules are matched against the URI",
			closed("User-agent: *\nDisallow: /x", "/x/y"),
			proofs("vectors/2.2.2/prefix", "vectors/2.2.2/query", "policy/2.2.2/a_rule")},
		{"SHOULD", "matching is case-sensitive",
			open("User-agent: *\nDisallow: /X", "/x"),
			proofs("vectors/2.2.2/case")},
		{"MUST", "it starts with the first octet of the path",
			open("User-agent: *\nDisallow: /x", "/a/x"),
			proofs("vectors/2.2.2/prefix")},
		{"MUST", "the match with the most octets is used",
			open("User-agent: *\nDisallow: /x\nAllow: /x/y", "/x/y"),
			proofs("vectors/2.2.2/longest", "vectors/2.2.3/longest-wild", "vectors/5.2/example")},
		{"SHOULD", "of equivalent rules allow is used",
			open("User-agent: *\nDisallow: /x\nAllow: /x", "/x"),
			proofs("vectors/2.2.2/tie")},
		{"", "without a match the URI is allowed",
			open("User-agent: *\nDisallow: /a", "/x"),
			proofs("vectors/2.2.2/no-match")},
		{"", "`/robots.txt` is allowed",
			open("User-agent: *\nDisallow: /", "/robots.txt"),
			proofs("vectors/2.2.2/robots-txt", "fetcher/2.2.2/robots.txt_itself_is_always_allowed")},
		{"MUST", "octets outside of ASCII are percent-encoded before the comparison",
			closed("User-agent: *\nDisallow: /\u30C4", "/%E3%83%84"),
			proofs("vectors/2.2.2/pct-nonascii")},
		{"MUST", "a byte of the reserved range that is no delimiter and its triplet are one",
			closed("User-agent: *\nDisallow: /a%3Ax", "/a:x"),
			proofs("vectors/2.2.2/pct-reserved")},
		{"MUST", "percent-encoded unreserved octets are decoded before it",
			closed("User-agent: *\nDisallow: /bar", "/%62%61%72"),
			proofs("vectors/2.2.2/pct-unreserved-uri", "vectors/2.2.2/pct-unreserved-rule")},
		{"SHOULD", "rules outside of any group are ignored",
			open("Disallow: /x\nUser-agent: *\nDisallow: /a", "/x"),
			proofs("vectors/2.2.2/outside-group")},
		{"MAY", "a file that is not UTF-8 is read (UTF-16 with its mark)", does(func(p *policy.Profile) bool {
			return !file(p, encode16("User-agent: *\nDisallow: /x\n"), "/x").Allowed()
		}), proofs("fetcher/2.3/utf-16_little_end_first", "fetcher/2.3/utf-16_big_end_first")},
	}
}

func special() []requirement {
	return []requirement{
		{"MUST", "`#` begins a comment",
			closed("User-agent: * # all\nDisallow: /x # closed\n", "/x"),
			proofs("vectors/2.2.3/hash", "vectors/2.2/comment", "vectors/2.2.3/figure5")},
		{"MUST", "`$` is the end of the match",
			open("User-agent: *\nDisallow: /x$", "/xy"),
			proofs("vectors/2.2.3/dollar", "vectors/2.2.3/figure5")},
		{"MUST", "`*` is any run of octets",
			closed("User-agent: *\nDisallow: /a*/x", "/ab/x"),
			proofs("vectors/2.2.3/star", "vectors/2.2.3/figure5")},
		{"SHOULD", "`%2A` and `%24` are the octets themselves",
			closed("User-agent: *\nDisallow: /x%2A%24", "/x*$"),
			proofs("vectors/2.2.3/figure6")},
	}
}

func otherRecords() []requirement {
	return []requirement{
		{"MAY", "sitemaps are read", does(func(p *policy.Profile) bool {
			return len(p.Learn(nil, answer(200, "Sitemap: https://example.com/s.xml\n")).File().Sitemaps()) == 1
		}), proofs("vectors/2.2.4/sitemap")},
		{"MAY", "common misspellings of records are accepted",
			closed("Useragent: *\nDissallow: /x", "/x"),
			proofs("vectors/2.2.4/unknown")},
		{"MUST NOT", "other records do not end a group",
			closed("User-agent: *\nSitemap: https://example.com/s.xml\nDisallow: /x", "/x"),
			proofs("vectors/2.2.4/sitemap", "vectors/2.2.4/between-agents", "vectors/2.2.4/before-rules")},
	}
}

func parsing() []requirement {
	return []requirement{
		{"MUST", "each line is tried and every rule that can be read is used",
			closed("\x00<p>\nUser-agent *\n\nUser-agent: *\n:::\n\xFF\xFE\nDisallow: /x\n", "/x"),
			proofs("vectors/2.3.1.5/errors", "vectors/2.3.1.5/html", "vectors/2.3.1.5/invalid-utf8", "policy/2.3.1.5/a_page_with_rules_is_a_file")},
	}
}

func limits() []requirement {
	const filler = "#\n"
	const rule = "User-agent: *\nDisallow: /x\n"
	return []requirement{
		{"MUST", "at least 500 KiB are read",
			closed(strings.Repeat(filler, (500<<10-len(rule))/len(filler))+rule, "/x"),
			proofs("vectors/2.5/limit", "policy/2.5/a_rule_at_the_limit", "fetcher/2.5/exactly_the_limit")},
		{"SHOULD", "there is a limit",
			open(strings.Repeat(filler, 1<<20)+rule, "/x"),
			proofs("policy/2.5/a_rule_after_the_limit", "fetcher/2.5/an_endless_file_is_cut", "fetcher/2.5/a_gzip_bomb")},
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
		{"", "5.1: the simple example reads as explained there", does(func(p *policy.Profile) bool {
			rec := p.Learn(nil, answer(200, simple))
			for _, q := range []struct {
				agent, path string
				allowed     bool
			}{
				{"AnyBot", "/a.gif", false}, {"AnyBot", "/example/", false}, {"AnyBot", "/publications/", true},
				{"foobot", "/", false}, {"foobot", "/example/page.html", true}, {"foobot", "/example/allowed.gif", true},
				{"barbot", "/example/page.html", false}, {"bazbot", "/example/page.html", false}, {"bazbot", "/", true},
				{"quxbot", "/example/page.html", true},
			} {
				if rec.Allows(q.agent, page(q.path), start) != q.allowed {
					return false
				}
			}
			return true
		}), proofs("vectors/5.1/example")},
		{"MUST", "5.2: of two rules that match, the longest is used",
			closed(longest, "/example/page/disallowed.gif"),
			proofs("vectors/5.2/example")},
	}
}
