package usage

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rfc9309/polite/matcher"
)

// summary returns the preferences of a set as "label=value" words, in order.
func summary(s Set) string {
	var words []string
	for p := range s.All() {
		words = append(words, p.Label+"="+p.Value.String())
	}
	return strings.Join(words, " ")
}

// reasons returns why values were skipped.
func reasons(s Set) string {
	var all []string
	for _, k := range s.Skipped() {
		all = append(all, k.Reason)
	}
	return strings.Join(all, "; ")
}

// attachExample is the example of draft-ietf-aipref-attach, section 3.4.
const attachExample = `User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: train-ai=n
Content-Usage: /ai-ok/ train-ai=y

User-Agent: ExampleBot
Allow: /
Content-Usage: train-ai=y
`

// shop is a file in the form in which sites write Content-Usage and Content-Signal.
const shop = `License: https://shop.example/terms.xml
Content-Signal: search=no
User-agent: *
Content-Signal: search=yes, ai-train=no, use=reference
Content-Usage: train-ai=n, search=n
Content-Usage: /$ train-ai=y
Content-Usage: /blog train-ai=y
Content-Usage: /blog/*.xml$	search=y # feeds
Content-Usage: /blog/private/ Train-AI=n
Content-Usage: /a%7Eb train-ai=y
Content-Usage: /a~b train-ai=n
Content-Usage: /x*z train-ai=y
Content-Usage: /xyz search=n
Content-Usage: /silent/
`

// fileTests are files, targets and what the file says about their use.
var fileTests = []struct{ name, text, token, target, want string }{
	{"attach-3.4/another_path", attachExample, "OtherBot", "/test", "train-ai=denied"},
	{"attach-3.4/a_path_that_may_not_be_fetched", attachExample, "OtherBot", "/never/test", ""},
	{"attach-3.4/a_longer_path", attachExample, "OtherBot", "/ai-ok/test", "train-ai=allowed"},
	{"attach-3.4/a_group_of_its_own", attachExample, "ExampleBot", "/never/test", "train-ai=allowed"},
	{"attach-3.1/without_a_path", shop, "", "/about", "train-ai=denied search=denied search=allowed ai-train=denied use=unknown license=unknown"},
	{"attach-3.1/the_end_of_a_pattern", shop, "", "/", "train-ai=allowed search=allowed ai-train=denied use=unknown license=unknown"},
	{"attach-3.1/a_prefix", shop, "", "/blog/2026?q=1", "train-ai=allowed search=allowed ai-train=denied use=unknown license=unknown"},
	{"attach-3.1/the_longest_pattern", shop, "", "/blog/rss.xml", "search=allowed search=allowed ai-train=denied use=unknown license=unknown"},
	{"house/a_record_that_does_not_parse_is_absent", shop, "", "/blog/private/x", "train-ai=allowed search=allowed ai-train=denied use=unknown license=unknown"},
	{"attach-3.1/identical_paths_apply_separately", shop, "", "/a~b", "train-ai=allowed train-ai=denied search=allowed ai-train=denied use=unknown license=unknown"},
	{"attach-3.1/a_triplet_in_the_target", shop, "", "/a%7eb", "train-ai=allowed train-ai=denied search=allowed ai-train=denied use=unknown license=unknown"},
	{"house/equally_long_patterns_apply_together", shop, "", "/xyz", "train-ai=allowed search=denied search=allowed ai-train=denied use=unknown license=unknown"},
	{"attach-3.1/a_path_and_no_preference", shop, "", "/silent/x", "search=allowed ai-train=denied use=unknown license=unknown"},
	{"attach-3.2/tabs_and_spaces", "User-agent: *\n Content-Usage\t:\t/x\t  train-ai=n\t#c\n", "", "/x", "train-ai=denied"},
	{"attach-3.2/CR_ends_a_line", "User-agent: *\rContent-Usage: train-ai=n\rContent-Usage: /x search=y\r", "", "/y", "train-ai=denied"},
	{"attach-3.1/no_rules_but_preferences", "User-agent: *\nDisallow: /\nUser-agent: ExampleBot\nContent-Usage: train-ai=n\n", "ExampleBot", "/", "train-ai=denied"},
	{"9309-2.2.4/a_preference_ends_no_list_of_crawlers", "User-agent: a\nContent-Usage: train-ai=n\nUser-agent: b\nDisallow: /x\n", "b", "/", "train-ai=denied"},
	{"attach-3.1/groups_of_one_crawler_are_merged", "User-agent: a\nContent-Usage: train-ai=y\nAllow: /\nUser-agent: b\nAllow: /\nUser-agent: a\nContent-Usage: train-ai=n\n", "a", "/", "train-ai=allowed train-ai=denied"},
	{"attach-3.1/two_tokens", "User-agent: *\nContent-Usage: train-ai=y\nAllow: /\nUser-agent: b\nContent-Usage: train-ai=n\n", "a, b", "/", "train-ai=denied"},
	{"signals/the_first_group_only", "User-agent: a\nContent-Signal: search=no\nAllow: /\nUser-agent: *\nContent-Signal: search=yes\n", "b", "/", "search=allowed"},
	{"signals/also_where_nothing_may_be_fetched", "User-agent: *\nDisallow: /\nContent-Signal: search=no\n", "", "/", "search=denied"},
	{"rsl/a_license_in_a_group_is_listed_once", "User-agent: *\nLicense: https://a.example/1\n", "", "/", "license=unknown"},
	{"9309-2.2.2/robots.txt_matches_no_pattern", "User-agent: *\nContent-Usage: search=y\nContent-Usage: /r search=n\n", "", "/robots.txt", "search=allowed"},
	{"house/a_long_label_spoils_no_other", "User-agent: *\nContent-Usage: search=y\nContent-Usage: /x search=n, " + strings.Repeat("k", 257) + "=n\n", "", "/x", "search=denied"},
	{"house/nothing", "", "", "/", ""},
}

func TestFile(t *testing.T) {
	for _, c := range fileTests {
		t.Run(c.name, func(t *testing.T) {
			got := OfFile(matcher.Parse([]byte(c.text), matcher.Dialect{}), c.token, c.target)
			if summary(got) != c.want {
				t.Errorf("file %q, token %q, target %s\ngot  %s\nwant %s", c.text, c.token, c.target, summary(got), c.want)
			}
		})
	}
}

// TestOutsideGroups lists the records that have no effect because they stand before the
// first User-agent line.
func TestOutsideGroups(t *testing.T) {
	for text, want := range map[string]string{
		"Content-Signal: a=yes\nContent-Usage: /b a=y\nLicense: https://a.test/\nUser-agent: *\nContent-Signal: a=no\n": `line 2 "Content-Usage: /b a=y": skipped, not in any group
line 1 "Content-Signal: a=yes": skipped, not in any group`,
		"Content-Signal: a=yes\nAllow: /\n":                         `line 1 "Content-Signal: a=yes": skipped, not in any group`,
		"User-agent: OtherBot\nContent-Signal: a=yes\n":             "",
		"User-agent: /\nContent-Signal: a=yes\nUser-agent: *\n":     "",
		"# User-agent: *\nContent-Signal: a=yes\n\nUser-agent: *\n": `line 2 "Content-Signal: a=yes": skipped, not in any group`,
	} {
		var got []string
		for _, k := range OfFile(matcher.Parse([]byte(text), matcher.Dialect{}), "ExampleBot", "/b").Skipped() {
			got = append(got, k.String())
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("file %q\ngot  %s\nwant %s", text, strings.Join(got, "\n"), want)
		}
	}
}

// TestSource checks that each preference has its line and its text.
func TestSource(t *testing.T) {
	got := OfFile(matcher.Parse([]byte(shop), matcher.Dialect{}), "", "/blog/rss.xml").String()
	const want = `"search": allowed, line 8 "Content-Usage: /blog/*.xml$?search=y"
"search": allowed, line 4 "Content-Signal: search=yes, ai-train=no, use=reference"
"ai-train": denied, line 4 "Content-Signal: search=yes, ai-train=no, use=reference"
"use": unknown, line 4 "Content-Signal: search=yes, ai-train=no, use=reference"
"license": unknown, line 1 "License: https://shop.example/terms.xml"
line 9 "Content-Usage: /blog/private/ Train-AI=n": skipped, not a dictionary (RFC 9651): invalid key format: character 0
line 2 "Content-Signal: search=no": skipped, not in any group`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	header := OfHeader(http.Header{"X-Robots-Tag": {"all", "googlebot: noindex", "noindex"}}, "Googlebot").String()
	const wantHeader = `"noindex": allowed, header "X-Robots-Tag: all"
"nofollow": allowed, header "X-Robots-Tag: all"
"noindex": denied, header "X-Robots-Tag: googlebot: noindex"
"noindex": denied, header "X-Robots-Tag: noindex"
"noindex": contradiction, denied counts`
	if header != wantHeader {
		t.Errorf("got\n%s\nwant\n%s", header, wantHeader)
	}
}

// headerTests are header fields, written "Name: value" in lines, and what they say.
var headerTests = []struct{ name, header, want, skipped string }{
	{"vocab-6/an_example", "Content-Usage: train-ai=y, search=n", "train-ai=allowed search=denied", ""},
	{"vocab-6.5.1/duplicates_of_other_types", `Content-Usage: train-ai=y, train-ai, search=n, search="n"`, "train-ai=unknown search=unknown", ""},
	{"vocab-6.5.2/parameters_of_the_last_value", "Content-Usage: train-ai;allow=n, train-ai=y", "train-ai=allowed", ""},
	{"vocab-6.5.2/parameters_alone", `Content-Usage: train-ai;has;parameters="?";x`, "train-ai=unknown", ""},
	{"vocab-6.5/upper_case_fails", "Content-Usage: Train-AI=n", "", "not a dictionary (RFC 9651): invalid key format: character 0"},
	{"vocab-6.5/another_word", "Content-Usage: train-ai=maybe, search=Y, x=(n), y=1", "train-ai=unknown search=unknown x=unknown y=unknown", ""},
	{"vocab-6.5/other_labels_are_kept", "Content-Usage: foundation-model-production=n", "foundation-model-production=denied", ""},
	{"9651-4.2/lines_are_one_value", "Content-Usage: train-ai=n\nContent-Usage: search=y, train-ai=y", "train-ai=allowed search=allowed", ""},
	{"9651-4.2/one_bad_line_spoils_all", "Content-Usage: train-ai=n\nContent-Usage: ,", "", "not a dictionary (RFC 9651): invalid key format: character 12"},
	{"9651-4.2/a_bad_field_spoils_no_other", "Content-Usage: =\nContent-Signal: search=no", "search=denied", "not a dictionary (RFC 9651): invalid key format: character 0"},
	{"9651-4.2/nothing", "Content-Usage: ", "", ""},
	{"attach-2/a_path_is_no_dictionary", "Content-Usage: /x train-ai=n", "", "not a dictionary (RFC 9651): invalid key format: character 0"},
	{"signals/a_header", "content-signal: ai-train=yes, search=no, ai-input=y", "ai-train=allowed search=denied ai-input=unknown", ""},
	{"repext-3.1.1/the_example", "Robots-Tag: *;nosnippet, ExampleBot;noindex", "nosnippet=denied noindex=denied", ""},
	{"repext-3.1.1/another_crawler", "Robots-Tag: *;nosnippet, OtherBot;noindex", "nosnippet=denied", ""},
	{"repext-3.1.1/a_string", `Robots-Tag: "examplebot";noindex, 1;nofollow, (a);x`, "noindex=denied", "a member is no product token"},
	{"repext-3.1.1/rules_with_values", "Robots-Tag: *;max-snippet=20;noindex=?0", "max-snippet=unknown noindex=unknown", ""},
	{"repext-3.1.1/no_list", "Robots-Tag: *;nosnippet, ", "", "not a list (RFC 9651): invalid list format: character 13"},
	{"google/all_crawlers", "X-Robots-Tag: noindex, NoFollow", "noindex=denied nofollow=denied", ""},
	{"google/none", "X-Robots-Tag: none", "none=denied noindex=denied nofollow=denied", ""},
	{"google/a_crawler_by_name", "X-Robots-Tag: examplebot: noindex, nofollow", "noindex=denied nofollow=denied", ""},
	{"google/another_crawler", "X-Robots-Tag: otherbot: noindex, nofollow", "", ""},
	{"google/two_crawlers_in_a_line", "X-Robots-Tag: otherbot: noindex, ExampleBot: nosnippet, *: noarchive", "nosnippet=denied noarchive=denied", ""},
	{"google/a_name_ends_with_its_line", "X-Robots-Tag: otherbot: noindex\nX-Robots-Tag: nofollow", "nofollow=denied", ""},
	{"google/values", "X-Robots-Tag: max-snippet: 20, max-image-preview:large", "max-snippet=unknown max-image-preview=unknown", ""},
	{"google/a_value_behind_a_name", "X-Robots-Tag: examplebot: max-snippet: 20", "max-snippet=unknown", ""},
	{"google/a_date", "X-Robots-Tag: unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", "unavailable_after=unknown noindex=denied", ""},
	{"google/a_date_with_a_comma", "X-Robots-Tag: unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, noindex", "unavailable_after=unknown noindex=denied", ""},
	{"google/a_rule_is_no_crawler", "X-Robots-Tag: noindex: 1, nofollow", "noindex=unknown nofollow=denied", ""},
	{"google/an_unknown_rule", "X-Robots-Tag: noml", "noml=unknown", ""},
	{"google/empty_parts", "X-Robots-Tag: ,noindex,, nofollow, ", "noindex=denied nofollow=denied", ""},
	{"google/a_number_is_no_date", "X-Robots-Tag: noindex, 2 days", "noindex=denied", "a part is no rule"},
	{"google/a_part_is_no_rule", "X-Robots-Tag: no index, , \x1b[2J: x, nofollow,", "nofollow=denied", "a part is no rule"},
	{"tdmrep/reserved", "tdm-reservation: 1\ntdm-policy: https://a.example/p.json", "tdm-reservation=denied tdm-policy=unknown", ""},
	{"tdmrep/not_reserved", "tdm-reservation: 0", "tdm-reservation=allowed", ""},
	{"tdmrep/no_number", "tdm-reservation: yes\ntdm-policy:", "", "neither 0 nor 1; empty"},
	{"rsl/a_link", `Link: </style.css>; rel=preload, <https://a.example/l,1.xml>; rel="license"; type="application/rsl+xml"`, "license=unknown", ""},
	{"rsl/a_link_among_relations", `Link: <a>; title="x, <b>; rel=license"; rel="next License"`, "license=unknown", ""},
	{"rsl/a_quote_in_a_title", `Link: <a>; title="\"; rel=license; "; rel=next`, "", ""},
	{"8288-3.3/only_the_first_relation", `Link: <a>; rel=next; rel=license`, "", ""},
	{"rsl/a_header", `License: https://a.example/l.xml`, "license=unknown", ""},
	{"house/other_fields", "Content-Type: text/html\nX-Content-Usage: train-ai=n", "", ""},
}

// parseHeader returns the header that a text of lines describes.
func parseHeader(text string) http.Header {
	h := http.Header{}
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ":")
		h[name] = append(h[name], strings.TrimPrefix(value, " "))
	}
	return h
}

func TestHeader(t *testing.T) {
	for _, c := range headerTests {
		t.Run(c.name, func(t *testing.T) {
			got := OfHeader(parseHeader(c.header), "ExampleBot-News, ExampleBot")
			if summary(got) != c.want || reasons(got) != c.skipped {
				t.Errorf("header %q\ngot  %s, skipped %q\nwant %s, skipped %q", c.header, summary(got), reasons(got), c.want, c.skipped)
			}
		})
	}
}

// TestCombine checks that the most restrictive preference counts (draft-ietf-aipref-vocab,
// section 7.1), and that all are kept.
func TestCombine(t *testing.T) {
	file := matcher.Parse([]byte("User-agent: *\nContent-Usage: train-ai=n, search=y, a=n, e=y\n"), matcher.Dialect{})
	inFile, inHeader := OfGroup(file.Group(""), "/"), OfHeader(parseHeader("Content-Usage: train-ai=y, search=y, b=x, c=n, c=y, e=?1"), "")
	got := Combine(inFile, Set{}, inHeader, inFile)
	for _, c := range []struct {
		label string
		want  Value
		count int
	}{
		{"train-ai", Denied, 2}, {"search", Allowed, 2}, {"a", Denied, 1}, {"b", Unknown, 1}, {"c", Allowed, 1}, {"d", Unknown, 0}, {"e", Allowed, 2},
	} {
		value, why := got.Get(c.label)
		if value != c.want || len(why) != c.count {
			t.Errorf("label %q\ngot  %v by %v\nwant %v by %d", c.label, value, why, c.want, c.count)
		}
	}
	if labels := got.Contradictions(); !slices.Equal(labels, []string{"train-ai"}) {
		t.Errorf("contradictions: got %q, want train-ai", labels)
	}
	if got := Combine(); got.String() != "" {
		t.Errorf("nothing combined: got %v", got)
	}
}

// TestImmutable checks that a caller cannot change a Set.
func TestImmutable(t *testing.T) {
	s := OfHeader(parseHeader("Content-Usage: train-ai=n\nContent-Signal: ,"), "")
	_, why := s.Get("train-ai")
	why[0].Value, s.Skipped()[0].Reason = Allowed, ""
	if v, _ := s.Get("train-ai"); v != Denied || reasons(s) == "" {
		t.Errorf("after a change of the results: got %v", s)
	}
}

// TestBounds checks the limits that the package names.
func TestBounds(t *testing.T) {
	long := strings.Repeat("x", 70<<10)
	labels := func(n int, separator string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("k" + strconv.Itoa(i) + separator)
		}
		return strings.TrimSuffix(b.String(), separator)
	}
	for _, c := range []struct {
		name, header, skipped string
		count                 int
	}{
		{"9651-3.2/1024_members", "Content-Usage: " + labels(1024, ","), "", 1024},
		{"house/more_members", "Content-Usage: " + labels(1100, ","), "more than 1,024 values: the rest is not read", 1024},
		{"house/more_rules", "X-Robots-Tag: " + labels(1100, ","), "more than 1,024 values: the rest is not read", 1024},
		{"9651-3.2/a_label_of_64_bytes", "Content-Usage: " + strings.Repeat("k", 64) + "=n", "", 1},
		{"house/a_long_label", "Content-Usage: " + strings.Repeat("k", 257) + "=n, a=n", "a label is longer than 256 bytes", 1},
		{"house/a_long_dictionary", `Content-Usage: a=n, b="` + long + `"`, "longer than 64 KiB", 0},
		{"house/long_lines", "Content-Usage: a=n\nContent-Usage: b=\"" + long + `"`, "longer than 64 KiB", 0},
		{"house/long_terms", "License: https://a.example/" + long, "longer than 64 KiB", 0},
		{"repext-3.1.1/members_before_the_limit", `Robots-Tag: *;noindex, "a,b";nofollow, *;a="` + long + `", *;b`, "longer than 64 KiB: the rest is not read", 1},
		{"repext-3.1.1/8_KiB_are_read", `Robots-Tag: *;a="` + long[:8<<10] + `", *;noindex`, "", 2},
		{"house/a_long_list_of_rules", "X-Robots-Tag: noindex, " + long + ", nofollow", "longer than 64 KiB: the rest is not read", 1},
		{"house/a_long_list_of_links", "Link: <a>; rel=license, <" + long + ">; rel=license", "longer than 64 KiB: the rest is not read", 1},
		{"house/many_faults", strings.Repeat("tdm-reservation: x\ntdm-reservation: y\n", 99) + "A: ", strings.TrimSuffix(strings.Repeat("neither 0 nor 1; ", 64), "; "), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := OfHeader(parseHeader(c.header), "")
			if n := len(slices.Collect(got.All())); n != c.count || reasons(got) != c.skipped {
				t.Errorf("got  %d preferences, skipped %q\nwant %d, skipped %q", n, reasons(got), c.count, c.skipped)
			}
			for p := range got.All() {
				if len(p.Source.Text) > textMost {
					t.Errorf("got a text of %d bytes, want %d at most", len(p.Source.Text), textMost)
				}
			}
			if n, most := len(got.String()), 1700*(c.count+100); n > most {
				t.Errorf("got a text of %d bytes, want %d at most", n, most)
			}
		})
	}
}

// TestEqualPatterns checks that different patterns of one length count together.
func TestEqualPatterns(t *testing.T) {
	var text strings.Builder
	text.WriteString("User-agent: *\nContent-Usage: /aa search=y\n")
	for i := range 9 {
		for j := range i {
			pattern := []byte("/aaaaaaaaaa")
			pattern[1+i], pattern[1+j] = '*', '*'
			text.WriteString("Content-Usage: " + string(pattern) + " search=n\n")
		}
	}
	got := OfFile(matcher.Parse([]byte(text.String()), matcher.Dialect{}), "", "/aaaaaaaaaaaa")
	if value, why := got.Get("search"); value != Denied || len(why) != 36 {
		t.Errorf("got %v by %d records; want denied by 36 patterns", value, len(why))
	}
}

// TestManyRecords checks that 4,096 records are read, and no more.
func TestManyRecords(t *testing.T) {
	text := "User-agent: *\nContent-Usage: train-ai=n\n" + strings.Repeat("Content-Usage: /* search=n\n", 4095) + "Content-Usage: /a* search=y\n"
	got := OfFile(matcher.Parse([]byte(text), matcher.Dialect{}), "", "/a")
	value, why := got.Get("search")
	if value != Denied || len(why) != 1024 || reasons(got) != "more than 4,096 records: the rest is not read; more than 1,024 values: the rest is not read" {
		t.Errorf("got %v by %d records, skipped %q; want denied by 1024, and one skipped", value, len(why), reasons(got))
	}
}

// TestHostileText checks that text of a site is quoted in what is shown.
func TestHostileText(t *testing.T) {
	const bad = "\x1b[2J\u202e\xff\n\""
	s := OfHeader(http.Header{"License": {bad}, "X-Robots-Tag": {"noindex, " + bad}, "Link": {"<" + bad + ">; rel=license"}}, "")
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{s.String(), string(data)} {
		for _, c := range []string{"\x1b", "\u202e", "\xff", "\\u001b", "\\u202e", "\\ufffd"} {
			if strings.Contains(shown, c) {
				t.Errorf("got %q in\n%s", c, shown)
			}
		}
	}
	if got := strings.Count(s.String(), "\n"); got != 3 {
		t.Errorf("got %d line ends in\n%s\nwant 3", got, s)
	}
	if _, why := s.Get("license"); why[0].Source.Text != bad {
		t.Errorf("got %q, want the text as written", why[0].Source.Text)
	}
}

// TestJSON checks the JSON form.
func TestJSON(t *testing.T) {
	file := matcher.Parse([]byte("User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: train-ai=y\nContent-Usage: =\n"), matcher.Dialect{})
	got, err := json.Marshal(OfFile(file, "", "/"))
	const want = `{"preferences":[` +
		`{"label":"train-ai","value":"denied","source":{"kind":"Content-Usage","line":2,"text":"train-ai=n"}},` +
		`{"label":"train-ai","value":"allowed","source":{"kind":"Content-Usage","line":3,"text":"train-ai=y"}}],` +
		`"contradictions":["train-ai"],` +
		`"skipped":[{"source":{"kind":"Content-Usage","line":4,"text":"="},"reason":"not a dictionary (RFC 9651): invalid key format: character 0"}]}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	if empty, err := json.Marshal(Set{}); err != nil || string(empty) != `{"preferences":[],"contradictions":[],"skipped":[]}` {
		t.Errorf("the empty set: got %s, %v", empty, err)
	}
}

// TestLongest compares the patterns that decide with an independent choice: of those that
// match alone, the ones with the most bytes.
func TestLongest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func(letters string, most int) string {
		b := make([]byte, random.IntN(most))
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		return "/" + string(b)
	}
	for range 3000 {
		target := word("ab", 6)
		patterns := []string{""}
		for range random.IntN(12) {
			if p := word("ab*$", 5); !slices.Contains(patterns, p) {
				patterns = append(patterns, p)
			}
		}
		want := []string{""}
		for _, p := range patterns {
			f := matcher.Parse([]byte("User-agent: *\nAllow: "+p), matcher.Dialect{})
			switch matches := f.Match("*", target).Rule.Line > 0; {
			case !matches || len(p) < len(want[0]):
			case len(p) > len(want[0]):
				want = []string{p}
			default:
				want = append(want, p)
			}
		}
		got := longest(patterns, target)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("patterns %q, target %s\ngot  %q\nwant %q", patterns, target, got, want)
		}
	}
}
