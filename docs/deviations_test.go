package docs_test

import (
	"errors"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/conformance"
	"github.com/rfc9309/polite/policy"
)

var testName = regexp.MustCompile("([a-z/]+)\\s+`([^`]+)`")

// TestDeviationsName checks that the numbers of the deviations ascend, and that each
// deviation names tests that exist.
func TestDeviationsName(t *testing.T) {
	all, err := conformance.Find(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(readPage(t, "deviations.md"), "\n## ")[1:]
	last := 0
	for _, part := range parts {
		title, _, _ := strings.Cut(part, "\n")
		number, _, _ := strings.Cut(title, ".")
		if n, err := strconv.Atoi(number); err != nil || n <= last {
			t.Errorf("%q\ngot  number %s\nwant one above %d", title, number, last)
		} else {
			last = n
		}
		_, tests, found := strings.Cut(part, "\nTests: ")
		var names []string
		for _, m := range testName.FindAllStringSubmatch(tests, -1) {
			names = append(names, m[1]+"/"+m[2])
		}
		if !found || len(names) == 0 {
			t.Errorf("%q names no test", title)
		}
		for _, name := range all.Lacks(names) {
			t.Errorf("%q names %s, which is no test", title, name)
		}
	}
}

// pageURL returns the URL of a path of https://example.com. The paths are our own,
// so they parse.
func pageURL(path string) *url.URL {
	u, err := url.Parse("https://example.com" + path)
	if err != nil {
		panic(err)
	}
	return u
}

// TestDeviations checks the cases in which docs/deviations.md says that a profile does
// not do what its text says.
func TestDeviations(t *testing.T) {
	const all = "rfc9309 strict google google2019 draft2019 koster1996"
	for _, tt := range []struct{ name, profiles, robots, path, want string }{
		{"2.2.2/delimiters_stay_apart", all, "User-agent: *\nDisallow: /a%2Fb\n", "/a/b", "allow"},
		{"2.2.2/delimiters_stay_apart", all, "User-agent: *\nDisallow: /a/b\n", "/a%2Fb", "allow"},
		{"2.2.1/a_token_may_have_digits", "rfc9309 strict draft2019 koster1996", "User-agent: MJ12bot\nDisallow: /x\n", "/x", "disallow"},
		{"2.2/a_rule_may_begin_with_a_star", "rfc9309 strict google google2019 draft2019", "User-agent: *\nDisallow: *x\n", "/x", "disallow"},
		{"2.2/a_rule_may_begin_with_a_star", all, "User-agent: *\nDisallow: x\n", "/x", "allow"},
		{"2.2/misspelled_records_are_read", "rfc9309 strict google google2019 draft2019", "Useragent: *\nDissallow: /x\n", "/x", "disallow"},
		{"2.2/a_control_character_voids_a_rule", "rfc9309 strict draft2019", "User-agent: *\nDisallow: /x\x01\n", "/x%01", "allow"},
		{"2.2.2/a_triplet_in_lower_case", "google google2019", "User-agent: *\nDisallow: /\u30C4\n", "/%e3%83%84", "allow"},
		{"2.2.2/a_triplet_in_lower_case", "google google2019", "User-agent: *\nDisallow: /%e3%83%84\n", "/%e3%83%84", "allow"},
		{"2.2.2/a_triplet_in_lower_case", "rfc9309 strict draft2019 koster1996", "User-agent: *\nDisallow: /\u30C4\n", "/%e3%83%84", "disallow"},
		{"2.1/a_rule_without_effect_ends_a_list_of_agents", all, "User-agent: ExampleBot\nDisallow: foo\nUser-agent: OtherBot\nDisallow: /x\n", "/x", "allow"},
		{"2.5/half_a_rule_does_not_count", all, fileUpToLimit("User-agent: *\nDisallow: /x", "yyy\n"), "/xz", "allow"},
		{"2.5/half_a_rule_does_not_count", all, fileUpToLimit("User-agent: *\nDisallow: /x\n", ""), "/xz", "disallow"},
		{"3/bytes_outside_the_grammar_are_encoded", "rfc9309 strict draft2019", "User-agent: *\nDisallow: /x y\n", "/x%20y", "disallow"},
		{"3/bytes_outside_the_grammar_are_encoded", "rfc9309 strict draft2019", "User-agent: *\nDisallow: /x\ty\n", "/x%09y", "disallow"},
		{"3/bytes_outside_the_grammar_are_encoded", "rfc9309 strict draft2019", "User-agent: *\nDisallow: /\xFF\n", "/%FF", "disallow"},
		{"2.2.1/the_first_default_group_alone", "draft2019 koster1996", "User-agent: *\nDisallow: /a\n\nUser-agent: *\nDisallow: /x\n", "/x", "allow"},
		{"2.2.1/names_are_compared_without_case", all, "User-agent: eXAMPLEbOT\nDisallow: /x\n", "/x", "disallow"},
		{"2.3.1.5/a_broken_user_agent_line_ends_a_group", all, "User-agent: ExampleBot\nDisallow: /a\nUser-agent:\nDisallow: /x\n", "/x", "allow"},
		{"2.3.1.5/a_broken_user_agent_line_ends_a_group", all, "User-agent: ExampleBot\nDisallow: /a\nUser-agent: (x)\nDisallow: /x\n", "/x", "allow"},
		{"2.2.2/the_longest_rule_decides", "rfc9309 strict google google2019 draft2019", "User-agent: *\nAllow: /pub/a\nDisallow: *.gif$\n", "/pub/a.gif", "allow"},
		{"2.2.2/the_longest_rule_decides", "rfc9309 strict google google2019 draft2019", "User-agent: *\nAllow: /pub\nDisallow: *.gif$\n", "/pub/a.gif", "disallow"},
		{"2.2.2/the_longest_rule_decides", "rfc9309 strict google google2019 draft2019", "User-agent: *\nAllow: /*b\nDisallow: /ab\n", "/ab", "allow"},
		{"2.2.2/the_longest_rule_decides", "rfc9309 strict google google2019 draft2019", "User-agent: *\nAllow: /a%2Fb\nDisallow: /*cdef\n", "/a%2Fbcdef", "allow"},
		{"2.2.2/the_longest_rule_decides", "rfc9309 strict google google2019 draft2019", "User-agent: *\nAllow: /a%2Fb\nDisallow: /*bcdef\n", "/a%2Fbcdef", "disallow"},
		{"2.2.3/a_dollar_needs_none_in_the_URL", "draft2019", "User-agent: *\nDisallow: /x$\n", "/x", "disallow"},
		{"3.2.1/names_are_compared_whole", "koster1996", "User-agent: Example\nDisallow: /x\n", "/x", "allow"},
		{"3.2.2/the_first_match_decides", "koster1996", "User-agent: *\nDisallow: /x\nAllow: /x/y\n", "/x/y", "disallow"},
		{"3.2.2/the_table", "koster1996", "User-agent: *\nDisallow: /a%2fb.html\n", "/a%2Fb.html", "disallow"},
		{"3.2.2/the_table", "koster1996", "User-agent: *\nDisallow: /%7ejoe/index.html\n", "/~joe/index.html", "disallow"},
		{"3.2.2/queries_are_compared", "koster1996", "User-agent: *\nDisallow: /x?y\n", "/x", "allow"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name := range strings.FieldsSeq(tt.profiles) {
				p, _ := policy.ByName(name)
				a := policy.Attempt{Robots: "https://example.com/robots.txt", Status: 200, Body: []byte(tt.robots), Sent: start, Received: start}
				if got := p.Learn(nil, a).Decide("MJ12bot, ExampleBot", pageURL(tt.path), start).Verdict.String(); got != tt.want {
					t.Errorf("%s: %.60q, %s\ngot  %s\nwant %s", name, tt.robots, tt.path, got, tt.want)
				}
			}
		})
	}
}

// fileUpToLimit returns a file whose rules end at the limit of 500 KiB, followed by rest.
func fileUpToLimit(rules, rest string) string {
	return strings.Repeat("#", 500<<10-len(rules)-1) + "\n" + rules + rest
}

func TestOtherSchemes(t *testing.T) {
	t.Run("2.3/other_schemes_have_no_decision", func(t *testing.T) {
		tr, err := fetcher.New("ExampleBot/0.1", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{"ftp://ftp.example.com/a", "gopher://example.com/a", "file:///etc/passwd"} {
			u, err := url.Parse(target)
			if err != nil {
				t.Fatal(err)
			}
			if d, err := tr.Check(t.Context(), u); !errors.Is(err, fetcher.ErrURL) {
				t.Errorf("%s\ngot  %v, %v\nwant %v", target, d, err, fetcher.ErrURL)
			}
		}
	})
}

func TestForeignToken(t *testing.T) {
	t.Run("2.2.1/as_takes_any_token", func(t *testing.T) {
		tr, err := fetcher.New("ExampleBot/0.1", nil)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := tr.As("OtherBot"); err != nil || other.Token() != "OtherBot" {
			t.Errorf("As(OtherBot)\ngot  %v, %v\nwant a Transport for OtherBot", other, err)
		}
	})
}
