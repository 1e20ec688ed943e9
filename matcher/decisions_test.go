package matcher_test

import (
	"fmt"
	"net/url"
	"slices"
	"testing"

	"github.com/rfc9309/polite/matcher"
)

// texts are the dialects that compare bytes as RFC 9309 says.
var texts = map[string]matcher.Dialect{"RFC9309": {}, "Draft2019": matcher.Draft2019()}

// TestReserved checks section 2.2.2, paragraph 3: a reserved byte that is no delimiter
// equals its triplet, in path and query, in rule and target.
func TestReserved(t *testing.T) {
	const one, apart = ":@!&'()+,;=[]", "/?#*$"
	spell := func(c byte) [2]string { return [2]string{string([]byte{c}), fmt.Sprintf("%%%02x", c)} }
	for name, d := range texts {
		for _, before := range []string{"/wiki/Special", "/x?q=1"} {
			for i := range len(one) {
				for _, rule := range spell(one[i]) {
					for _, target := range spell(one[i]) {
						check(t, d, fmt.Sprintf("2.2.2/one/%s/%s%s_%s", name, before, rule, target), before+rule, before+target+"Search", true)
					}
				}
			}
		}
		for i := range len(apart) {
			raw, triplet := spell(apart[i])[0], spell(apart[i])[1]
			if c := apart[i]; c == '/' || c == '?' {
				check(t, d, fmt.Sprintf("2.2.2/delimiter/%s/%s", name, raw), "/a"+raw+"b", "/a"+triplet+"b", false)
			}
			check(t, d, fmt.Sprintf("2.2.2/delimiter/%s/%s", name, triplet), "/a"+triplet+"b", "/a"+triplet+"b", true)
		}
	}
	for _, r := range []struct {
		name, pattern, target string
		matches               bool
	}{
		{"2.2.2/figure4/slash_in_query_of_rule", "/a?b=/c", "/a?b=%2Fc", true},
		{"2.2.2/figure4/slash_in_query_of_target", "/a?b=%2fc", "/a?b=/c", true},
		{"2.2.2/figure4/query_in_query", "/a?b=%3fc", "/a?b=?c", true},
		{"2.2.2/figure4/slash_seen_by_a_rule_without_query", "/a*/c", "/a?b=%2Fc", false},
		{"2.2.2/figure4/slash_before_query", "/a%2Fc?b", "/a/c?b", false},
		{"2.2.2/figure4/slash_after_a_star", "*=%2F*?", "/login?next=%2Fadmin?x", true},
		{"2.2.2/figure4/query_after_a_star", "*=%3F*?", "/login?next=%3fadmin?x", true},
		{"2.2.2/figure4/after_a_star_and_in_the_query", "*=%2F*?u=%2F", "/login?next=%2Fadmin?u=%2F", true},
		{"2.2.2/figure4/one_view_only", "*=%2F*?u=/", "/login?next=%2Fadmin?u=%2F", false},
		{"2.2.2/figure4/slash_after_a_star_of_rule", "*=%2F*?", "/login?next=/admin?x", false},
		{"2.2.2/figure4/slash_after_a_star_of_target", "*=/*?", "/login?next=%2Fadmin?x", true},
		{"2.2.2/longest_is_of_the_normal_form", "/a%3Ab", "/a:b", true},
	} {
		check(t, matcher.Dialect{}, r.name, r.pattern, r.target, r.matches)
	}
	check(t, matcher.Google(), "google/reserved_is_as_written", "/a:b", "/a%3Ab", false)
	check(t, matcher.Koster1996(), "1996/all_but_slash_is_decoded", "/a:b", "/a%3Ab", true)
}

// check checks whether the pattern matches the target.
func check(t *testing.T, d matcher.Dialect, name, pattern, target string, want bool) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		f := matcher.Parse([]byte("user-agent: *\ndisallow: "+pattern+"\n"), d)
		if got := !f.Match("ExampleBot", target).Allowed; got != want {
			t.Errorf("pattern %q target %q\ngot match %v\nwant %v", pattern, target, got, want)
		}
		if u, err := url.Parse("http://example.com" + target); err == nil {
			if got := !f.MatchURL("ExampleBot", u).Allowed; got != want {
				t.Errorf("pattern %q url %q\ngot match %v\nwant %v", pattern, u, got, want)
			}
		}
	})
}

// TestEqualRules checks that a triplet is no more specific than the byte it
// stands for: the two rules are equally long, and the allow rule decides.
func TestEqualRules(t *testing.T) {
	f := matcher.Parse([]byte("user-agent: *\nallow: /a:b\ndisallow: /a%3Ab\n"), matcher.Dialect{})
	if m := f.Match("bot", "/a:b"); !m.Allowed {
		t.Errorf("got %+v\nwant allowed: both rules have four bytes", m)
	}
}

// TestEqualViews checks that a rule is as specific in one view of the query as in the other: both
// rules have ten bytes, since %2F in the query counts as one.
func TestEqualViews(t *testing.T) {
	f := matcher.Parse([]byte("user-agent: *\nallow: *n=%2F*?*b\ndisallow: *=%2F*?b=%2F\n"), matcher.Dialect{})
	if m := f.Match("bot", "/login?n=%2Fa?b=%2F"); !m.Allowed {
		t.Errorf("got %+v\nwant allowed: both rules have ten bytes", m)
	}
}

// TestNames1996 checks that names are compared whole, without case.
func TestNames1996(t *testing.T) {
	const robots = "user-agent: Example\ndisallow: /part\n\nuser-agent: exampleBOT\ndisallow: /whole\n\nuser-agent: *\ndisallow: /star\n"
	f := matcher.Parse([]byte(robots), matcher.Koster1996())
	for _, c := range []struct{ name, token, want string }{
		{"1996/3.2.1/whole", "ExampleBot", "exampleBOT"},
		{"1996/3.2.1/part", "example", "Example"},
		{"1996/3.2.1/longer", "ExampleBot2", "*"},
		{"1996/3.2.1/shorter", "Exam", "*"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := f.Group(c.token).Agent(); got != c.want {
				t.Errorf("token %q\ngot  %q\nwant %q", c.token, got, c.want)
			}
		})
	}
}

// TestSlashless checks that a target without a leading slash which is no absolute
// URL is a path, and never a host.
func TestSlashless(t *testing.T) {
	f := matcher.Parse([]byte("user-agent: *\ndisallow: /private\ndisallow: /example.com\ndisallow: /?q\ndisallow: /;p\ndisallow: /1:\n"), matcher.Dialect{})
	for _, c := range []struct {
		name, target string
		allowed      bool
	}{
		{"2.2.2/path", "private/x", false},
		{"2.2.2/looks_like_a_host", "example.com/x", false},
		{"2.2.2/looks_like_a_host_alone", "example.com", false},
		{"2.2.2/host_is_not_skipped", "www.example.org/private", true},
		{"2.2.2/absolute", "https://example.com/private", false},
		{"2.2.2/absolute_without_path", "https://example.com?q", false},
		{"2.2.2/absolute_without_path_with_semicolon", "https://example.com;p", true},
		{"2.2.2/absolute_with_semicolon_in_userinfo", "http://a;b@example.com/private", false},
		{"2.2.2/absolute_with_semicolon_in_host", "http://example.com;b/private", false},
		{"2.2.2/absolute_upper_case", "HTTP://example.com/private", false},
		{"2.2.2/no_scheme", "1://example.com/private", false},
		{"2.2.2/query", "?q=1", false},
		{"2.2.2/nothing", "", true},
		{"2.2.2/fragment", "#private", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if m := f.Match("bot", c.target); m.Allowed != c.allowed {
				t.Errorf("target %q\ngot %+v\nwant allowed %v", c.target, m, c.allowed)
			}
		})
	}
	for _, u := range []*url.URL{{Path: "private/x"}, {Scheme: "https", Host: "example.org", Path: "private"}, {Path: "example.com/x"}, {RawQuery: "q"}} {
		t.Run("2.2.2/url/"+u.String(), func(t *testing.T) {
			if m := f.MatchURL("bot", u); m.Allowed {
				t.Errorf("url %#v\ngot %+v\nwant disallowed", u, m)
			}
		})
	}
}

// TestSeveralTokens checks that of several tokens the first that has a group is
// obeyed, and "*" only if none has.
func TestSeveralTokens(t *testing.T) {
	const robots = "user-agent: googlebot\ndisallow: /news\ncrawl-delay: 2\n\nuser-agent: googlebot-image\ndisallow: /image\ncrawl-delay: 3\n\nuser-agent: *\ndisallow: /star\ncrawl-delay: 4\n"
	for name, d := range map[string]matcher.Dialect{"RFC9309": {}, "Google": matcher.Google(), "Draft2019": matcher.Draft2019(), "Koster1996": matcher.Koster1996()} {
		f := matcher.Parse([]byte(robots), d)
		for _, c := range []struct{ token, want, target string }{
			{"Googlebot-Image, Googlebot", "googlebot-image", "/image"},
			{"Googlebot-Video,Googlebot", "googlebot", "/news"},
			{"Googlebot-Video ,\tGooglebot-News", "*", "/star"},
			{"Googlebot, Googlebot-Image", "googlebot", "/news"},
			{", ,Googlebot,", "googlebot", "/news"},
			{"other, *, Googlebot", "*", "/star"},
			{",", "*", "/star"},
			{"", "*", "/star"},
		} {
			t.Run("2.2.1/"+name+"/"+c.token, func(t *testing.T) {
				if got := f.Group(c.token).Agent(); got != c.want {
					t.Errorf("got  %q\nwant %q", got, c.want)
				}
				if m := f.Match(c.token, c.target); m.Allowed || m.Agent != c.want {
					t.Errorf("target %s\ngot %+v\nwant disallowed by %q", c.target, m, c.want)
				}
				got, _ := f.CrawlDelay(c.token)
				want, _ := f.CrawlDelay(c.want)
				if got != want || got == 0 {
					t.Errorf("got a delay of %v\nwant %v", got, want)
				}
			})
		}
	}
}

// TestNilFile checks that a nil File is a file without a line.
func TestNilFile(t *testing.T) {
	var f *matcher.File
	if m := f.Match("bot", "/x"); m != (matcher.Match{Allowed: true}) {
		t.Errorf("Match: got %+v", m)
	}
	if m := f.MatchURL("bot", &url.URL{Path: "/x"}); m != (matcher.Match{Allowed: true}) {
		t.Errorf("MatchURL: got %+v", m)
	}
	g := f.Group("bot")
	if m := g.Match("/x"); m != (matcher.Match{Allowed: true}) || g.Agent() != "" {
		t.Errorf("Group: got %+v of %q", m, g.Agent())
	}
	if d, ok := f.CrawlDelay("bot"); d != 0 || ok {
		t.Errorf("CrawlDelay: got %v, %v", d, ok)
	}
	if s := f.Sitemaps(); s != nil {
		t.Errorf("Sitemaps: got %q", s)
	}
	for range f.Other("x") {
		t.Error("Other yields a record")
	}
	for range g.Other("x") {
		t.Error("Group.Other yields a record")
	}
	for range f.Skipped() {
		t.Error("Skipped yields a line")
	}
	for range f.Agents() {
		t.Error("Agents yields a line")
	}
	if n := f.CountRules(); n != 0 {
		t.Errorf("Rules: got %d", n)
	}
	if n := f.Size(); n != 0 {
		t.Errorf("Size: got %d", n)
	}
}

// TestGroupOther checks that a group yields the records that stand in it, of all
// groups that name the crawler.
func TestGroupOther(t *testing.T) {
	const robots = "Content-Usage: none=1\nuser-agent: a\nContent-Usage: ai=n\nuser-agent: b\ndisallow: /x\nContent-usage: /y ai=y\nsitemap: s\nuser-agent: *\nContent-Usage: star=1\nuser-agent: A\ncontent-usage: last=1\n"
	f := matcher.Parse([]byte(robots), matcher.Dialect{})
	for _, c := range []struct {
		token, field string
		want         []string
	}{
		{"a", "content-usage", []string{"3 ai=n", "6 /y ai=y", "9 star=1", "11 last=1"}},
		{"b", "Content-Usage", []string{"3 ai=n", "6 /y ai=y"}},
		{"other", "content-usage", []string{"9 star=1", "11 last=1"}},
		{"b", "sitemap", nil},
		{"b", "disallow", nil},
		{"b", "user-agent", nil},
	} {
		t.Run("2.2.4/"+c.token+"/"+c.field, func(t *testing.T) {
			var got []string
			for line, value := range f.Group(c.token).Other(c.field) {
				got = append(got, fmt.Sprint(line, " ", value))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestWholeUserAgent checks that a caller who gives the whole User-Agent in place of its token
// obeys the group of that token.
func TestWholeUserAgent(t *testing.T) {
	f := matcher.Parse([]byte("user-agent: ExampleBot\ndisallow: /\n\nuser-agent: *\ndisallow: /star\n"), matcher.Dialect{})
	for _, token := range []string{"ExampleBot/1.0", "ExampleBot/1.0 (+https://example.com/bot)", "ExampleBot (a, b)", "other, examplebot/2"} {
		t.Run("2.2.1/"+token, func(t *testing.T) {
			if m := f.Match(token, "/a"); m.Allowed || m.Agent != "ExampleBot" {
				t.Errorf("got %+v\nwant disallowed by ExampleBot", m)
			}
		})
	}
}

// TestCommentOfAUserAgent checks that the comments of a whole User-Agent name no crawler, also behind a comma.
func TestCommentOfAUserAgent(t *testing.T) {
	f := matcher.Parse([]byte("user-agent: like\nuser-agent: Otherbot\ndisallow: /\n"), matcher.Dialect{})
	for _, agent := range []string{"ExampleBot/1.0 (KHTML, like Gecko)", "ExampleBot/1.0 (+https://example.com/bot, Otherbot is obeyed)"} {
		t.Run("2.2.1/"+agent, func(t *testing.T) {
			if m := f.Match(agent, "/a"); !m.Allowed {
				t.Errorf("got %+v\nwant allowed", m)
			}
		})
	}
}

// TestMatchPattern checks the result and the length of a comparison.
func TestMatchPattern(t *testing.T) {
	for _, c := range []struct {
		name, pattern, target string
		length                int // -1: no match
	}{
		{"2.2.2/literal", "/a", "/ab", 2},
		{"2.2.2/no_match", "/b", "/ab", -1},
		{"2.2.2/normal_form", "/%41%2f", "/A%2F", 5},
		{"2.2.2/either_view", "*=%2F*?b=%2F", "/x?n=%2F?b=%2F", 10},
		{"2.2.3/stars", "/*b$", "/aab", 4},
		{"2.2.2/empty", "", "/a", -1},
		{"2.2.2/no_slash", "a", "/a", -1},
		{"2.2.2/robots_txt", "/", "/robots.txt", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, ok := matcher.Dialect{}.MatchPattern(c.pattern, c.target)
			if want := max(c.length, 0); n != want || ok != (c.length >= 0) {
				t.Errorf("pattern %q target %q\ngot  %d, %v\nwant %d", c.pattern, c.target, n, ok, c.length)
			}
		})
	}
}
