package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

// tests has a file for each finding. A remark is written as line, check and, after a colon,
// a part of its text.
var tests = []struct {
	name, text string
	want       string // separated by " | "
}{
	{"2.2/nothing_to_say", "User-agent: *\nDisallow: /a\nAllow: /a/b\nSitemap: https://example.com/s.xml\n", ""},
	{"2.2.1/two_words", "User-agent: Google Bot\nDisallow: /\n", `1 user-agent: only the crawler "Google"`},
	{"2.2.1/several_on_a_line", "User-agent: ABot, BBot\nDisallow: /\n", `1 user-agent: "ABot"`},
	{"2.2.1/version", "User-agent: ABot/2.0\nDisallow: /\n", `1 ignored-ending: "ABot"`},
	{"2.2.1/star_and_more", "User-agent: * all\nDisallow: /\n", "1 user-agent: all crawlers | 2 closes-site"},
	{"2.2.1/rest_of_a_name", "User-agent: Google Bot\nDisallow: /a\n", `1 user-agent: the rest, " Bot", is ignored`},
	{"2.2.1/no_crawler", "User-agent: @\nDisallow: /\n", "1 no-crawler"},
	{"2.2.1/outside_any_group", "Disallow: /a\nCrawl-delay: 1\nUser-agent: *\nDisallow: /b\n", "1 no-group | 2 no-group"},
	{"2.2.2/no_slash", "User-agent: *\nDisallow: a\n", "2 never-matches"},
	{"2.2.2/full_url", "User-agent: *\nDisallow: https://example.com/a\n", "2 never-matches"},
	{"2.2.2/robots_txt_itself", "User-agent: *\nDisallow: /robots.txt$\n", "2 never-matches: always be read"},
	{"2.2.2/comment", "User-agent: *\nDisallow: /a#b\nDisallow: /b # c\n", `2 comment-in-rule: "/a"`},
	{"2.2.2/dot_segments", "User-agent: *\nDisallow: /a/../b\nDisallow: /c?d=/../e\n", "2 dot-segments"},
	{"2.2.2/comment_closes_the_site", "User-agent: *\nDisallow: /#*\n", `2 comment-in-rule: "/" | 2 closes-site`},
	{"2.2.2/several_paths", "User-agent: *\nDisallow: /a /b\nDisallow: /c,/d\nDisallow: /e Allow: /f\nDisallow: /g h\n", `2 several-paths: "/a /b" | 3 several-paths | 4 several-paths`},
	{"2.2.2/empty", "User-agent: *\nDisallow:\n", "2 empty-rule: allows everything"},
	{"2.2.2/empty_for_two_crawlers", "User-agent: A\nUser-agent: B\nDisallow: # none\nUser-agent: B\nDisallow: /b\n", "3 empty-rule: allows everything"},
	{"2.2.2/empty_beside_another_rule", "User-agent: *\nDisallow: /a\nDisallow:\n", "3 empty-rule: matches nothing"},
	{"2.2.2/same_rule_twice", "User-agent: *\nDisallow: /a\nDisallow: /b\nDisallow: /a\n", `4 duplicate: line 2`},
	{"2.2.2/same_rule_in_another_form", "User-agent: *\nDisallow: /%7Ea\nDisallow: /~a\n", `3 duplicate: line 2`},
	{"2.2.2/same_rule_in_two_groups_of_a_crawler", "User-agent: A\nDisallow: /a\nUser-agent: *\nDisallow: /b\nUser-agent: A\nDisallow: /a\n", "6 duplicate: line 2"},
	{"2.2.2/same_rule_for_two_crawlers", "User-agent: A\nDisallow: /a\nUser-agent: B\nDisallow: /a\n", ""},
	{"2.2.2/twice_for_one_crawler_only", "User-agent: A\nUser-agent: B\nDisallow: /a\nUser-agent: B\nDisallow: /a\nDisallow: /c\n", "5 duplicate: line 3"},
	{"2.2.2/allow_wins", "User-agent: *\nDisallow: /a\nAllow: /a\n", `2 never-decides: line 3 "Allow: /a"`},
	{"2.2.1/name_and_star", "User-agent: ABot*\nDisallow: /\n", `1 ignored-ending: "ABot"`},
	{"2.2.2/longer_rule_of_the_same_kind", "User-agent: *\nDisallow: /a\nDisallow: /*a*\n", "2 redundant: line 3"},
	{"2.2.2/star_at_the_end", "User-agent: *\nDisallow: /a\nAllow: /a*\n", "2 never-decides: line 3"},
	{"2.2.2/star_in_the_middle", "User-agent: *\nDisallow: /*b\nAllow: /**b\n", "2 never-decides: line 3"},
	{"2.2.2/end_of_the_target", "User-agent: *\nDisallow: /a$\nAllow: /*a$\n", "2 never-decides: line 3"},
	{"2.2.2/longer_rule_for_some_targets", "User-agent: *\nDisallow: /a\nAllow: /a/b\nAllow: /a$\nAllow: /*.b\nDisallow: /a?\n", ""},
	{"2.2.1/group_without_rules", "User-agent: *\nDisallow: /a\nDisallow: /b\nUser-agent: ABot/1\nCrawl-delay: 2\n", "4 ignored-ending | 4 open-group: ABot may fetch everything, although * has 2 rules | 5 extension"},
	{"2.2.1/group_with_a_lost_rule", "User-agent: *\nDisallow: /a\nUser-agent: ABot\nDisallow: b\n", "3 open-group | 4 never-matches"},
	{"2.2.1/group_with_an_empty_rule", "User-agent: *\nDisallow: /a\nUser-agent: A\nDisallow:\nUser-agent: B\nUser-agent: A\nCrawl-delay: 1\n", "4 empty-rule | 5 open-group: B obeys | 7 extension"},
	{"2.2.1/names_without_rules_between", "User-agent: A\nCrawl-delay: 1\nUser-agent: *\nDisallow: /a\n", "2 extension"},
	{"2.2.2/whole_site", "User-agent: *\nDisallow: /\nUser-agent: A\nDisallow: /\n", "2 closes-site: all crawlers that are not named"},
	{"2.2.2/part_of_the_site", "User-agent: *\nDisallow: /\nAllow: /a\n", ""},
	{"2.3.1.5/html", "\n<!DOCTYPE html>\n<html>\n<title>Not found</title>\n", "1 not-text: an HTML page"},
	{"2.3.1.5/html_around_a_file", "<html>\nUser-agent: *\nDisallow: /a\n", "1 no-record"},
	{"2.3.1.5/xml", "\n<?xml version=\"1.0\"?>\n<Error>\n<Code>NoSuchKey</Code>\n", "1 not-text: XML"},
	{"2.3.1.5/gzip", "\x1f\x8b\x08\x00\x00\nabc\n", "1 not-text: gzip"},
	{"2.3.1.5/binary", "\x89PNG\r\n\x1a\n\x00\x00\n", "1 not-text: binary"},
	{"2.2/utf_16", "\xff\xfeU\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*\x00\n\x00", "1 not-text: UTF-16"},
	{"2.2.1/all_may_fetch_everything", "User-agent: *\nAllow: /a\nUser-agent: A\nCrawl-delay: 1\n", "4 extension: Googlebot ignores it"},
	{"2.2.2/redundant", "User-agent: *\nDisallow: /a\nDisallow: /a/b\n", "3 redundant: line 2"},
	{"2.2.2/not_redundant", "User-agent: *\nDisallow: /a\nAllow: /a/\nDisallow: /a/b\nAllow: /*c\n", ""},
	{"2.2.2/star_may_come_between", "User-agent: *\nDisallow: /a\nAllow: /*x\nDisallow: /a/long\n", ""},
	{"2.2.4/delay_in_words", "User-agent: *\nDisallow: /a\nCrawl-delay: ten\nCrawl-delay: -1\nCrawl-delay:\n", "3 crawl-delay | 4 crawl-delay | 5 crawl-delay"},
	{"2.2.4/relative_sitemap", "Sitemap: /s.xml\nSitemap: example.com/s.xml\nSitemap:\n", "1 relative-sitemap | 2 relative-sitemap | 3 relative-sitemap: without"},
	{"2.2.4/foreign_sitemap", "Sitemap: https://maps.example/s.xml\nSitemap: https://www.example.com/s.xml\n", "1 foreign-sitemap: example.com"},
	{"2.2.4/misspelled", "User-agent: *\nDisalow: /a\n", "2 misspelled: did you mean Disallow?"},
	{"2.2.4/near_miss", "User-agent: *\nDisalou: /a\nUser-agemt: A\nDisallow: /b\n", "2 near-miss: did you mean Disallow? | 3 near-miss: did you mean User-agent?"},
	{"2.2.4/noindex", "User-agent: *\nNoindex: /a\nDisallow: /b\n", "2 unknown-record: X-Robots-Tag"},
	{"2.2.4/unknown_record", "User-agent: *\nHello: /a\nDisallow: /b\n", "2 unknown-record"},
	{"2.2.4/extension", "User-agent: *\nContent-Signal: search=yes\nDisallow: /b\n", "2 extension"},
	{"2.3.1.5/no_record", "nothing\n", "1 no-record: want a name"},
	{"2.3.1.5/no_colon", "User-agent: *\nDisallow /a\nDisalow=/b\n", `2 no-record: did you mean "Disallow: /a"? | 3 no-record: did you mean "Disallow: /b"?`},
	{"2.3.1.5/byte_order_mark", "User-agent: *\nDisallow: /a\n\uFEFFUser-agent: A\nDisallow: /b\nDisallow: /\uFEFFc\n", "3 byte-order-mark | 5 byte-order-mark"},
	{"2.3.1.5/byte_order_mark_at_the_beginning", "\uFEFFUser-agent: *\nDisallow: /a\n", ""},
	{"2.3.1.5/control_bytes", "User-agent: *\nDisallow: /a\x01\n", "2 never-matches"},
}

// written returns remarks in the form of the table.
func written(all []Remark) (list []string) {
	for _, r := range all {
		list = append(list, fmt.Sprintf("%d %s: %s", r.Line, r.Check, r))
	}
	return list
}

// matches reports whether remarks are those that the table wants.
func matches(got []string, want string) bool {
	var list []string
	if want != "" {
		list = strings.Split(want, " | ")
	}
	return slices.EqualFunc(got, list, func(g, w string) bool {
		head, part, _ := strings.Cut(w, ": ")
		return strings.HasPrefix(g, head+": ") && strings.Contains(g, part)
	})
}

func TestRun(t *testing.T) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := &Options{Profiles: []*policy.Profile{policy.RFC9309()}, Site: "example.com"}
			if got := written(Run([]byte(test.text), o)); !matches(got, test.want) {
				t.Errorf("%q\ngot  %q\nwant %s", test.text, got, test.want)
			}
		})
	}
}

// TestProfiles checks that remarks say which profiles they are about.
func TestProfiles(t *testing.T) {
	var all []*policy.Profile
	for _, name := range []string{"rfc9309", "strict", "google", "google2019", "draft2019", "koster1996"} {
		p, _ := policy.ByName(name)
		all = append(all, p)
	}
	for _, test := range []struct{ name, text, want string }{
		{"2.2.2/all_agree", "User-agent: *\nDisallow: /a\n", ""},
		{"2.2.2/stars", "User-agent: *\nDisallow: /*b\n", "2 koster1996: reads 1 line differently"},
		{"2.2.1/digits", "User-agent: MJ12bot\nDisallow: /\n", `1 user-agent: "MJ" | 2 profiles-differ: / for MJ12bot: allowed by google, google2019 only`},
		{"2.2.4/about_some", "User-agent: *\nDisalow: /a\n", "2 misspelled: Disallow? | 2 koster1996"},
	} {
		got := Run([]byte(test.text), &Options{Profiles: all})
		if !matches(written(got), test.want) {
			t.Errorf("%s: %q\ngot  %q\nwant %s", test.name, test.text, written(got), test.want)
		}
	}
}

// TestOptions checks a limit and a crawler.
func TestOptions(t *testing.T) {
	text := "User-agent: A\nDisallow: a\n\nUser-agent: B\nUser-agent: C/1\nDisallow: b\nCrawl-delay: x\nSitemap: /s\nUser-agent: *\nDisallow: c\n"
	for _, test := range []struct {
		name  string
		token string
		cut   bool
		want  string
	}{
		{"2.5/over_the_limit", "A", true, "2 never-matches | 8 relative-sitemap | 10 past-limit: 512000 bytes"},
		{"2.2.1/two_names", "b", false, "5 ignored-ending | 6 never-matches | 7 crawl-delay | 8 relative-sitemap"},
		{"2.2.1/no_name", "D", false, "8 relative-sitemap | 10 never-matches"},
	} {
		got := written(Run([]byte(text), &Options{Profiles: []*policy.Profile{policy.RFC9309()}, Token: test.token, Cut: test.cut}))
		if !matches(got, test.want) {
			t.Errorf("%s\ngot  %q\nwant %s", test.name, got, test.want)
		}
	}
}

// TestReasons checks that every reason of package matcher belongs to a check.
func TestReasons(t *testing.T) {
	text := "Disallow: /\nno record\nUser-agent: @\nDisallow:\nDisallow: /\x01\nDisallow: a\nDisalow: /\nx: y\nDisallow: /" + strings.Repeat("a", 20_000) + "\n"
	seen := map[string]bool{}
	for _, d := range []matcher.Dialect{{}, matcher.Google()} {
		for _, why := range matcher.Parse([]byte(text), d).Skipped() {
			if seen[why] = true; levels[skipped[why].check] == "" {
				t.Errorf("%q belongs to no check", why)
			}
		}
	}
	if len(seen) != len(skipped) {
		t.Errorf("got %d reasons of package matcher, want %d", len(seen), len(skipped))
	}
}

// TestSARIF checks what the schema of SARIF 2.1.0 requires, and what code hosts require in
// addition: a relative path or a URL, and a line from 1.
func TestSARIF(t *testing.T) {
	for what, uri := range map[string]string{"robots.txt": "robots.txt", "-": "robots.txt", "a b/c:d": "a%20b/c:d", "a:b": "./a:b", "https://example.com/robots.txt": "https://example.com/robots.txt"} {
		var b bytes.Buffer
		remarks := Run([]byte("\x1b[2J\n<\u202e>\n"), &Options{Profiles: []*policy.Profile{policy.RFC9309()}, Cut: true})
		if err := WriteSARIF(&b, "1", what, remarks); err != nil {
			t.Fatal(err)
		}
		var log struct {
			Version string
			Runs    []struct {
				Tool struct {
					Driver struct {
						Name  string
						Rules []struct{ ID string }
					}
				}
				Results []struct {
					RuleID    string
					RuleIndex int
					Level     string
					Message   struct{ Text string }
					Locations []struct {
						PhysicalLocation struct {
							ArtifactLocation struct{ URI string }
							Region           struct{ StartLine int }
						}
					}
				}
			}
		}
		if err := json.Unmarshal(b.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		if log.Version != "2.1.0" || len(log.Runs) != 1 || log.Runs[0].Tool.Driver.Name == "" || len(log.Runs[0].Results) != len(remarks) {
			t.Fatalf("got %s", &b)
		}
		rules := log.Runs[0].Tool.Driver.Rules
		for _, r := range log.Runs[0].Results {
			at := r.Locations[0].PhysicalLocation
			known := slices.Contains([]string{"error", "warning", "note"}, r.Level)
			if rules[r.RuleIndex].ID != r.RuleID || !known || r.Message.Text == "" || at.ArtifactLocation.URI != uri || at.Region.StartLine < 1 {
				t.Errorf("%s\ngot  %+v\nwant the URI %s", what, r, uri)
			}
		}
	}
}
