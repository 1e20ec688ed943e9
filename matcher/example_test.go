package matcher_test

import (
	"fmt"
	"net/url"

	"github.com/rfc9309/polite/matcher"
)

// The example of RFC 9309, section 5.1: the group of barbot has no rule for
// itself, and crawlers that have no group get the default one.
func Example() {
	f := matcher.Parse([]byte(`User-Agent: *
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
`), matcher.Dialect{})
	for _, token := range []string{"foobot", "bazbot", "quxbot", "otherbot"} {
		m := f.Match(token, "/example/page.html")
		fmt.Printf("%-8s %-5t line %2d, group %q\n", token, m.Allowed, m.Rule.Line, m.Agent)
	}
	// Output:
	// foobot   true  line  8, group "foobot"
	// bazbot   false line 13, group "bazbot"
	// quxbot   true  line  0, group "quxbot"
	// otherbot false line  3, group "*"
}

// The example of RFC 9309, section 5.2: the longest rule counts. (Its
// text asks about disallow.gif, which only the shorter one matches.)
func ExampleFile_Match() {
	f := matcher.Parse([]byte(`User-Agent: foobot
Allow: /example/page/
Disallow: /example/page/disallowed.gif
`), matcher.Dialect{})
	m := f.Match("foobot", "/example/page/disallow.gif")
	fmt.Println(m.Allowed, m.Rule.Pattern)
	m = f.Match("foobot", "/example/page/disallowed.gif")
	fmt.Println(m.Allowed, m.Rule.Pattern)
	// Output:
	// true /example/page/
	// false /example/page/disallowed.gif
}

// A dialect reads the same text in another way.
func ExampleParse() {
	text := []byte("user-agent: *\nallow: /\ndisallow: /private\n")
	for _, d := range []matcher.Dialect{{}, matcher.Koster1996()} {
		fmt.Println(matcher.Parse(text, d).Match("ExampleBot", "/private").Allowed)
	}
	// Output:
	// false
	// true
}

// A group is asked about many targets of one crawler.
func ExampleFile_Group() {
	f := matcher.Parse([]byte("User-agent: ExampleBot\nDisallow: /*?sort=\n"), matcher.Dialect{})
	g := f.Group("examplebot")
	fmt.Println(g.Agent())
	for _, target := range []string{"/list", "/list?sort=price", "/list?page=2"} {
		fmt.Println(target, g.Match(target).Allowed)
	}
	for r := range g.Rules() {
		fmt.Println(r.Line, r.Allow, r.Pattern)
	}
	// Output:
	// ExampleBot
	// /list true
	// /list?sort=price false
	// /list?page=2 true
	// 2 false /*?sort=
}

func ExampleFile_MatchURL() {
	f := matcher.Parse([]byte("User-agent: *\nDisallow: /caf%C3%A9\n"), matcher.Dialect{})
	u, err := url.Parse("https://example.com/café/menu")
	fmt.Println(f.MatchURL("ExampleBot", u).Allowed, err)
	// Output:
	// false <nil>
}

func ExampleFile_CrawlDelay() {
	f := matcher.Parse([]byte("User-agent: *\nCrawl-delay: 1.5\n"), matcher.Dialect{})
	fmt.Println(f.CrawlDelay("ExampleBot"))
	// Output:
	// 1.5s true
}

func ExampleFile_Sitemaps() {
	f := matcher.Parse([]byte("Sitemap: https://example.com/a.xml\nUser-agent: *\nSitemap: https://example.com/b.xml\n"), matcher.Dialect{})
	fmt.Println(f.Sitemaps())
	// Output:
	// [https://example.com/a.xml https://example.com/b.xml]
}

// Records that RFC 9309 does not know are there, as written (section 2.2.4).
func ExampleFile_Other() {
	f := matcher.Parse([]byte("User-agent: *\nHost: www.example.com\nContent-Signal: ai-train=no\n"), matcher.Dialect{})
	for line, value := range f.Other("content-signal") {
		fmt.Println(line, value)
	}
	// Output:
	// 3 ai-train=no
}

// What a webmaster meant and did not write.
func ExampleFile_Skipped() {
	f := matcher.Parse([]byte("Disallow: /tmp\nUser-agent: *\nDisallow: private\nDisalow: /drafts\nNoindex: /old\n"), matcher.Dialect{})
	for line, why := range f.Skipped() {
		fmt.Println(line, why)
	}
	// Output:
	// 1 rule outside any group
	// 3 rule that can never match: its pattern begins with neither / nor *
	// 4 misspelling accepted
	// 5 unknown record
}
