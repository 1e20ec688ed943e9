package matcher

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestLegacyVectors checks the vectors of the older texts.
func TestLegacyVectors(t *testing.T) {
	koster := []string{"whole-group-only", "decode-all", "first-match", "no-wildcards", "blank-line", "first-record", "first-star", "skip-no-colon"}
	draft := []string{"star-first", "first-star", "skip-no-colon"}
	for _, v := range vectors(t) {
		topic := strings.Split(v.ID, "/")[2]
		if v.Class == "legacy" && slices.Contains(koster, topic) {
			v.check(t, "Koster1996", Koster1996())
		}
		if v.Class == "legacy" && slices.Contains(draft, topic) {
			v.check(t, "Draft2019", Draft2019())
		}
	}
}

// TestGoogle checks what google/robotstxt does and RFC 9309 does not say.
func TestGoogle(t *testing.T) {
	for _, r := range []dialectTest{
		{"google/control_byte_is_data", "/a\x01b", "/a\x01b", true},
		{"google/robots_txt_has_no_exemption", "/robots.txt", "/robots.txt", true},
		{"google/target_begins_with_a_host", "/a", "example.com/a", true},
		{"google/host_alone", "/$", "example.com", true},
		{"google/target_begins_with_a_query", "/?q", "?q", true},
		{"google/target_begins_with_parameters", "/;p", "example.com;p", true},
		{"google/semicolon_ends_the_authority", "/;b@example.com/private", "http://a;b@example.com/private", true},
		{"google/slash_in_a_query", "/a?b=/", "/a?b=%2F", false},
		{"google/nul_ends_a_target", "/ab", "/a\x00b", false},
		{"google/nul_ends_a_pattern", "/a\x00b", "/a", true},
		{"google/triplet_in_a_pattern", "/a%c3", "/a%C3", true},
		{"google/triplet_in_a_target", "/a%c3", "/a%c3", false},
	} {
		r.check(t, Google())
	}
}

// TestIndexPage checks that google/robotstxt takes a rule that allows an index page for a rule
// that allows its folder, too. The rule is yielded once, as written.
func TestIndexPage(t *testing.T) {
	for _, c := range []struct{ name, rules, target, want string }{
		{"google/folder", "allow: /x/index.html", "/x/", "2 /x/index.html"},
		{"google/root", "allow: /index.html", "/", "2 /index.html"},
		{"google/page", "allow: /x/index.html", "/x/index.html?q", "2 /x/index.html"},
		{"google/short_name", "allow: /x/index.htm", "/x/", "2 /x/index.htm"},
		{"google/other_page", "allow: /x/index.php", "/x/", "3 /"},
		{"google/below_the_folder", "allow: /x/index.html", "/x/y", "3 /"},
		{"google/disallowed_page", "disallow: /x/index.html", "/x/", "3 /"},
		{"google/no_folder", "allow: *index.html", "/", "3 /"},
		{"google/not_the_last_part", "allow: /index.html/x", "/", "3 /"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Parse([]byte("user-agent: *\n"+c.rules+"\ndisallow: /"), Google())
			m, rules := f.Match("bot", c.target), slices.Collect(f.Group("bot").Rules())
			if got := fmt.Sprint(m.Rule.Line, " ", m.Rule.Pattern); got != c.want || len(rules) != 2 {
				t.Errorf("rules %q target %q\ngot  %s, rules %v\nwant %s, two rules", c.rules, c.target, got, rules, c.want)
			}
		})
	}
}

// A dialectTest is the expected result for one pattern and one target in a dialect.
type dialectTest struct {
	name    string // clause and claim
	pattern string
	target  string
	matches bool
}

func (r *dialectTest) check(t *testing.T, d Dialect) {
	t.Helper()
	t.Run(r.name, func(t *testing.T) {
		robots := "user-agent: *\ndisallow: " + r.pattern + "\n"
		if got := !Parse([]byte(robots), d).Match("ExampleBot", r.target).Allowed; got != r.matches {
			t.Errorf("pattern %q target %q\ngot match %v\nwant %v", r.pattern, r.target, got, r.matches)
		}
	})
}

// TestKoster1996 checks the table in the 1996 draft, section 3.2.2, and more rows.
func TestKoster1996(t *testing.T) {
	for _, r := range []dialectTest{
		{"3.2.2/same", "/tmp", "/tmp", true},
		{"3.2.2/longer_name", "/tmp", "/tmp.html", true},
		{"3.2.2/below", "/tmp", "/tmp/a.html", true},
		{"3.2.2/directory_itself", "/tmp/", "/tmp", false},
		{"3.2.2/directory", "/tmp/", "/tmp/", true},
		{"3.2.2/below_directory", "/tmp/", "/tmp/a.html", true},
		{"3.2.2/3c_3c", "/a%3cd.html", "/a%3cd.html", true},
		{"3.2.2/3C_3c", "/a%3Cd.html", "/a%3cd.html", true},
		{"3.2.2/3c_3C", "/a%3cd.html", "/a%3Cd.html", true},
		{"3.2.2/2f_2f", "/a%2fb.html", "/a%2fb.html", true},
		{"3.2.2/2f_2F", "/a%2fb.html", "/a%2Fb.html", true},
		{"3.2.2/2f_slash", "/a%2fb.html", "/a/b.html", false},
		{"3.2.2/7e_tilde", "/%7ejoe/index.html", "/~joe/index.html", true},
		{"3.2.2/tilde_7E", "/~joe/index.html", "/%7Ejoe/index.html", true},
		{"3.2.2/star_is_a_byte", "/a*c", "/abc", false},
		{"3.2.2/star_matches_itself", "/a*c", "/a%2Ac", true},
		{"3.2.2/star_at_the_end_is_a_byte", "/a**", "/ab*", false},
		{"3.2.2/control_byte_is_data", "/a\x01b", "/a%01b", true},
		{"3.2.2/dollar_is_a_byte", "/a$", "/a", false},
		{"3.2.2/decoded_once", "/a%2Fb", "/a%252Fb", false},
		{"3.2.2/percent_itself", "/100%25", "/100%25", true},
		{"3.2.2/robots_txt_has_no_exemption", "/robots.txt", "/robots.txt", true},
	} {
		r.check(t, Koster1996())
	}
}

// TestGoogleNames checks which part of a user-agent line names a crawler: its letters,
// "-" and "_" up to the first other byte.
func TestGoogleNames(t *testing.T) {
	for _, tt := range []struct {
		name, agent, token string
		matches            bool
	}{
		{"google/whole", "ExampleBot", "ExampleBot", true},
		{"google/up_to_a_digit", "Example2Bot", "Example", true},
		{"google/not_past_a_digit", "Example2Bot", "Example2Bot", false},
		{"google/digit_first", "2Bot", "2Bot", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			robots := "user-agent: " + tt.agent + "\ndisallow: /\n"
			if got := !Parse([]byte(robots), Google()).Match(tt.token, "/a").Allowed; got != tt.matches {
				t.Errorf("user-agent %q token %q\ngot match %v\nwant %v", tt.agent, tt.token, got, tt.matches)
			}
		})
	}
}

// TestDraft2019 checks the table in draft-koster-rep-00, section 2.2.2, with each
// cell as a rule and as a target, and more rows.
func TestDraft2019(t *testing.T) {
	for _, r := range []dialectTest{
		{"2.2.2/row_1", "/foo/bar?baz=quz", "/foo/bar?baz=quz", true},
		{"2.2.2/row_2_rule_raw", "/foo/bar?baz=http://foo.bar", "/foo/bar?baz=http%3A%2F%2Ffoo.bar", true},
		{"2.2.2/row_2_target_raw", "/foo/bar?baz=http%3A%2F%2Ffoo.bar", "/foo/bar?baz=http://foo.bar", true},
		{"2.2.2/row_3_rule_raw", "/foo/bar/\u30C4", "/foo/bar/%E3%83%84", true},
		{"2.2.2/row_4_target_raw", "/foo/bar/%E3%83%84", "/foo/bar/\u30C4", true},
		{"2.2.2/row_5_target", "/foo/bar/baz", "/foo/bar/%62%61%7A", true},
		{"2.2.2/row_5_rule", "/foo/bar/%62%61%7A", "/foo/bar/baz", true},
		{"2.2.2/robots_txt_is_allowed", "/", "/robots.txt", false},
		{"2.2.3/star_verbatim", "/path/file-with-a-%2A.html", "/path/file-with-a-*.html", true},
		{"2.2.3/dollar_verbatim", "/path/foo-%24", "/path/foo-$", true},
		{"2.2.3/dollar_is_the_end", "/this/path/exactly$", "/this/path/exactly/not", false},
		{"2.2.3/star_is_any_bytes", "/this/*/exactly", "/this/path/exactly", true},
	} {
		r.check(t, Draft2019())
	}
}
