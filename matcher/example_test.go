package matcher_test

import (
	"fmt"
	"maps"
	"net/url"

	"github.com/rfc9309/polite/matcher"
)

// The file of RFC 9309, section 5.1.
const simple = `User-Agent: *
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

// A Match says which rule decided.
func Example() {
	f := matcher.Parse([]byte("User-agent: *\nDisallow: /private/ # for us\nAllow: /private/press\n"), matcher.Dialect{})
	for _, target := range []string{"/private/report", "/private/press?year=2026", "/"} {
		m := f.Match("ExampleBot", target)
		fmt.Println(target, m.Allowed, m.Agent, m.Rule.Line, m.Rule.Pattern)
	}
	// Output:
	// /private/report false * 2 /private/
	// /private/press?year=2026 true * 3 /private/press
	// / true * 0
}

// RFC 9309, section 5.1: everything that its text says of its example.
func Example_simple() {
	f := matcher.Parse([]byte(simple), matcher.Dialect{})
	for _, q := range [][2]string{
		{"otherbot", "/publications/"}, {"otherbot", "/example/"}, {"otherbot", "/pictures/a.gif"},
		{"foobot", "/"}, {"foobot", "/example/page.html"}, {"foobot", "/example/allowed.gif"},
		{"barbot", "/example/page.html"}, {"bazbot", "/example/page.html"}, {"bazbot", "/example/"},
		{"quxbot", "/example/"},
	} {
		fmt.Println(q[0], q[1], f.Match(q[0], q[1]).Allowed)
	}
	// Output:
	// otherbot /publications/ true
	// otherbot /example/ false
	// otherbot /pictures/a.gif false
	// foobot / false
	// foobot /example/page.html true
	// foobot /example/allowed.gif true
	// barbot /example/page.html false
	// bazbot /example/page.html false
	// bazbot /example/ true
	// quxbot /example/ true
}

// RFC 9309, section 5.2. Its text names the target disallow.gif, but its rule
// says disallowed.gif. The rule matches only the target of that name.
func Example_longestMatch() {
	f := matcher.Parse([]byte("User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n"), matcher.Dialect{})
	for _, target := range []string{"/example/page/disallowed.gif", "/example/page/disallow.gif"} {
		m := f.Match("foobot", target)
		fmt.Println(target, m.Allowed, m.Rule.Pattern)
	}
	// Output:
	// /example/page/disallowed.gif false /example/page/disallowed.gif
	// /example/page/disallow.gif true /example/page/
}

// matches reports whether a pattern matches a target.
func matches(pattern, target string) bool {
	return !matcher.Parse([]byte("User-agent: *\nDisallow: "+pattern+"\n"), matcher.Dialect{}).Match("bot", target).Allowed
}

// The five rows of Figure 4 of RFC 9309, each column as a rule and as a target.
func Example_figure4() {
	for _, row := range [][3]string{
		{"/foo/bar?baz=quz", "/foo/bar?baz=quz", "/foo/bar?baz=quz"},
		{"/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"},
		{"/foo/bar/ツ", "/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"},
		{"/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"},
		{"/foo/bar/%62%61%7A", "/foo/bar/%62%61%7A", "/foo/bar/baz"},
	} {
		all := true
		for _, pattern := range row {
			for _, target := range row {
				all = all && matches(pattern, target)
			}
		}
		fmt.Println(row[0], all)
	}
	// Output:
	// /foo/bar?baz=quz true
	// /foo/bar?baz=https://foo.bar true
	// /foo/bar/ツ true
	// /foo/bar/%E3%83%84 true
	// /foo/bar/%62%61%7A true
}

// Figure 6 of RFC 9309, in both directions. Without its triplet, a star and a
// final dollar are special.
func Example_figure6() {
	fmt.Println(matches("/path/file-with-a-%2A.html", "/path/file-with-a-*.html"))
	fmt.Println(matches("/path/file-with-a-%2A.html", "/path/file-with-a-%2A.html"))
	fmt.Println(matches("/path/file-with-a-%2A.html", "/path/file-with-a-b.html"))
	fmt.Println(matches("/path/foo-%24", "/path/foo-$"))
	fmt.Println(matches("/path/foo-%24", "/path/foo-%24"))
	fmt.Println(matches("/path/foo-$", "/path/foo-$"))
	// Output:
	// true
	// true
	// false
	// true
	// true
	// false
}

// Lines that cannot be read are skipped. The other lines are obeyed.
func ExampleParse() {
	f := matcher.Parse([]byte("\x00\xFF<html>\r\rUSER-AGENT : *\rdisalow : /x"), matcher.Dialect{})
	fmt.Println(f.CountRules(), f.Match("ExampleBot", "/x/y").Allowed)
	// Output: 1 false
}

// A packed file is unpacked once for each token that has no group yet, but not for the first.
func ExampleParsePacked() {
	text := "User-agent: *\nDisallow: /private\n"
	f := matcher.ParsePacked([]byte(text), matcher.Dialect{}, "packed", func(packed string) string {
		fmt.Println("un" + packed)
		return text
	})
	for _, token := range []string{"FirstBot", "SecondBot", "SecondBot"} {
		fmt.Println(token, f.Match(token, "/private").Allowed)
	}
	// Output:
	// FirstBot false
	// unpacked
	// SecondBot false
	// SecondBot false
}

func ExampleFile_Match() {
	f := matcher.Parse([]byte(simple), matcher.Dialect{})
	fmt.Printf("%+v\n", f.Match("FooBot", "/example/page.html?print=1"))
	// Output: {Allowed:true Agent:foobot Rule:{Line:8 Allow:true Pattern:/example/page.html}}
}

func ExampleFile_MatchURL() {
	u, _ := url.Parse("https://example.com/pictures/caf%C3%A9.gif#top")
	f := matcher.Parse([]byte(simple), matcher.Dialect{})
	fmt.Println(f.MatchURL("ExampleBot", u).Rule.Pattern)
	// Output: *.gif$
}

func ExampleFile_Group() {
	g := matcher.Parse([]byte(simple), matcher.Dialect{}).Group("foobot")
	for r := range g.Rules() {
		fmt.Println(r.Line, r.Allow, r.Pattern)
	}
	// Output:
	// 7 false /
	// 8 true /example/page.html
	// 9 true /example/allowed.gif
}

func ExampleGroup_Match() {
	g := matcher.Parse([]byte(simple), matcher.Dialect{}).Group("bazbot")
	for _, target := range []string{"/example/page.html", "/example/", "/robots.txt"} {
		fmt.Println(target, g.Match(target).Allowed)
	}
	// Output:
	// /example/page.html false
	// /example/ true
	// /robots.txt true
}

func ExampleGroup_MatchURL() {
	g := matcher.Parse([]byte(simple), matcher.Dialect{}).Group("bazbot")
	u := &url.URL{Scheme: "https", Host: "example.com", Path: "/example/page.html"}
	fmt.Println(g.MatchURL(u).Allowed)
	// Output: false
}

func ExampleGroup_Rules() {
	g := matcher.Parse([]byte("User-agent: *\nDisallow:\nDisallow: images/\nDisallow: /a\n"), matcher.Dialect{}).Group("ExampleBot")
	for r := range g.Rules() {
		fmt.Println(r.Line, r.Pattern)
	}
	// Output: 4 /a
}

func ExampleGroup_Agent() {
	f := matcher.Parse([]byte("User-agent: FooBot/2.1\nUser-agent: *\nDisallow: /\n"), matcher.Dialect{})
	fmt.Println(f.Group("foobot").Agent(), f.Group("barbot").Agent())
	// Output: FooBot/2.1 *
}

func ExampleGroup_CrawlDelay() {
	g := matcher.Parse([]byte("User-agent: *\nCrawl-delay: 2.5\nDisallow: /a\n"), matcher.Dialect{}).Group("ExampleBot")
	fmt.Println(g.CrawlDelay())
	// Output: 2.5s true
}

func ExampleFile_CrawlDelay() {
	f := matcher.Parse([]byte("User-agent: slowbot\nCrawl-delay: 10\n"), matcher.Dialect{})
	fmt.Println(f.CrawlDelay("SlowBot"))
	fmt.Println(f.CrawlDelay("ExampleBot"))
	// Output:
	// 10s true
	// 0s false
}

func ExampleFile_Sitemaps() {
	f := matcher.Parse([]byte("Sitemap: https://example.com/a.xml\nUser-agent: *\nSite-map: https://example.com/b.xml\n"), matcher.Dialect{})
	fmt.Println(f.Sitemaps())
	// Output: [https://example.com/a.xml https://example.com/b.xml]
}

func ExampleFile_Other() {
	f := matcher.Parse([]byte("User-agent: *\nContent-Signal: search=yes, ai-train=no\nDisallow: /a\n"), matcher.Dialect{})
	for line, value := range f.Other("content-signal") {
		fmt.Println(line, value)
	}
	// Output: 2 search=yes, ai-train=no
}

func ExampleFile_Skipped() {
	f := matcher.Parse([]byte("Disallow: /early\nUser-agent: *\nDisalow: /a\nDisallow: b\nDisallow:\nnoindex: /c\nhello\n"), matcher.Dialect{})
	for line, why := range f.Skipped() {
		fmt.Println(line, why)
	}
	// Output:
	// 1 rule outside any group
	// 3 misspelling accepted
	// 4 rule that can never match: its pattern begins with neither / nor *
	// 5 empty pattern
	// 6 unknown record
	// 7 not a record: no name before a colon
}

func ExampleFile_Agents() {
	f := matcher.Parse([]byte(simple), matcher.Dialect{})
	for line, agent := range f.Agents() {
		fmt.Print(line, " ", agent, "; ")
	}
	// Output: 1 *; 6 foobot; 11 barbot; 12 bazbot; 15 quxbot;
}

func ExampleFile_CountRules() {
	fmt.Println(matcher.Parse([]byte(simple), matcher.Dialect{}).CountRules())
	fmt.Println(matcher.Parse([]byte("<html><title>Not found</title>"), matcher.Dialect{}).CountRules())
	// Output:
	// 7
	// 0
}

func ExampleFile_Text() {
	f := matcher.Parse([]byte("# Welcome!\nUser-agent: *\n"), matcher.Dialect{})
	fmt.Printf("%q\n", f.Text())
	// Output: "# Welcome!\nUser-agent: *\n"
}

func ExampleFile_Lines() {
	f := matcher.Parse([]byte("User-agent: *\r\nDisalow: /a"), matcher.Dialect{})
	why := maps.Collect(f.Skipped())
	for n, line := range f.Lines() {
		fmt.Printf("%d %s (%s)\n", n, line, why[n])
	}
	// Output:
	// 1 User-agent: * ()
	// 2 Disalow: /a (misspelling accepted)
}

func ExampleFile_Size() {
	f := matcher.Parse([]byte(simple), matcher.Dialect{})
	fmt.Println(f.Size() > len(simple))
	// Output: true
}

// google/robotstxt accepts a missing colon and does not decode triplets.
func ExampleGoogle() {
	for _, d := range []matcher.Dialect{{}, matcher.Google()} {
		f := matcher.Parse([]byte("User-agent: *\nDisallow /a\nDisallow: /%7Eb\n"), d)
		fmt.Println(f.Match("ExampleBot", "/a").Allowed, f.Match("ExampleBot", "/~b").Allowed)
	}
	// Output:
	// true false
	// false true
}

// In the draft of 2019, only the first default group counts.
func ExampleDraft2019() {
	for _, d := range []matcher.Dialect{{}, matcher.Draft2019()} {
		f := matcher.Parse([]byte("User-agent: *\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n"), d)
		fmt.Println(f.Match("ExampleBot", "/b").Allowed)
	}
	// Output:
	// false
	// true
}

// In the 1996 draft, the first rule that matches decides, and a star is a literal.
func ExampleKoster1996() {
	f := matcher.Parse([]byte("User-agent: examplebot\nAllow: /a\nDisallow: /a/b/c\nDisallow: /*\n"), matcher.Koster1996())
	m := f.Match("ExampleBot", "/a/b/c")
	fmt.Println(m.Allowed, m.Rule.Line, f.Match("ExampleBot", "/x").Allowed)
	// Output: true 2 true
}
