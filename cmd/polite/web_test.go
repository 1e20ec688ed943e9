package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
)

// simpleRobots is the robots.txt of a site that works.
const simpleRobots = `# Robots, be welcome.
User-agent: *
Allow: /public
Disallow: /private

Sitemap: https://example.com/sitemap.xml
Sitemap: https://example.com/news/map.xml
`

// hostileRobots is a robots.txt that tries to control a terminal: it has escape
// sequences, characters that change the direction of a line, and broken UTF-8.
const hostileRobots = "User-agent: *\n" +
	"Disallow: /\x1b[31mred\x1b]0;title\x07\n" +
	"Disallow: /\u202egnp.exe\u2066\n" +
	"\x1b[2J\x1b[HAllow: /\n" +
	"User-agent: \x1b[5mEvil\u009b31m\x9b31m\n" +
	"Disallow: /\xff\xfe\b\b\b\r" +
	"Sitemap: https://hostile.example/\x1b[2J\u202e.xml\n"

// usageRobots is a robots.txt that says something about the use of pages, not all of it
// well.
const usageRobots = "License: https://usage.example/license.xml\n" +
	"User-agent: *\nContent-Signal: search=yes, ai-train=no\nContent-Usage: train-ai=n\n" +
	"Content-Usage: /open/ train-ai=y\nContent-Usage: /open/ train-ai=n, \x1b[31mred=n\nContent-Usage: /open/ train-ai=n;why=\"\u202e\"\nContent-Usage: /open/ train-ai=n\n"

// manyLabels returns a robots.txt with more labels than --explain shows.
func manyLabels() string {
	var b strings.Builder
	b.WriteString("User-agent: *\nContent-Usage: x=y")
	for i := range 40 {
		fmt.Fprintf(&b, ", use%d=n", i)
	}
	return b.String() + "\n"
}

// manyRules returns a robots.txt with a long group and groups for other crawlers.
func manyRules() string {
	var b strings.Builder
	b.WriteString("User-agent: *\nCrawl-delay: 5\n")
	for i := range 40 {
		fmt.Fprintf(&b, "Disallow: /d%d/\n", i)
	}
	b.WriteString("\nUser-agent: GoodBot/2.0\nDisallow:\n\nUser-agent: BadBot\nUser-agent: WorseBot\nDisallow: /\n")
	return b.String()
}

// manyCrawlers returns a robots.txt that names more crawlers than --explain shows.
func manyCrawlers() string {
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, "User-agent: Bot%c\nDisallow: /x\n", 'A'+i)
	}
	b.WriteString("User-agent: *\n")
	for i := range 10 {
		fmt.Fprintf(&b, "Disallow: /x/%d\n", i)
	}
	return b.String()
}

// newWeb returns the web of the transcripts.
func newWeb(t *testing.T) *httptest.Web {
	web := httptest.New(t)
	robots := func(origin string, steps ...httptest.Step) *httptest.Site { return web.Site(origin).Robots(steps...) }
	robots("https://example.com", httptest.Text(simpleRobots)).
		Path("/public", httptest.Text("Welcome.\n")).
		Path("/moved", httptest.Redirect(302, "/private")).
		Path("/round", httptest.Redirect(302, "/round")).
		Path("/slow", httptest.Hang()).
		Path("/late", httptest.Redirect(302, "/slow")).
		Path("/gone", httptest.Text("Gone.\n").Status(410)).
		Path("/controls", httptest.Text("\x1b[2Jpage\x9b\u009b1m\n")).
		Path("/broken", httptest.Text(strings.Repeat("page ", 99)).Cut(100))
	robots("https://www.example.com", httptest.Redirect(301, "https://example.com/robots.txt").After(120*time.Millisecond))
	robots("https://many.example", httptest.Text(manyRules()).Header("Cache-Control", "max-age=7200").ETag(`"v1"`).After(45*time.Millisecond))
	robots("https://named.example", httptest.Text(manyCrawlers()))
	robots("https://usage.example", httptest.Text(usageRobots)).
		Path("/open/page", httptest.Text("Open.\n").Header("Content-Usage", "train-ai=y").Header("X-Robots-Tag", "polite: noindex, \u202ered").Header("Tdm-Reservation", "1"))
	robots("https://labels.example", httptest.Text(manyLabels()))
	robots("https://missing.example", httptest.Status(404))
	robots("https://busy.example", httptest.Status(503).Header("Retry-After", "120"))
	robots("https://late.example", httptest.Text("User-agent: *\nDisallow: /a\n").After(900*time.Millisecond))
	robots("https://failing.example", httptest.Text(simpleRobots), httptest.Status(500))
	robots("https://slow.example", httptest.Hang())
	robots("https://html.example", httptest.Text("<!doctype html>\n<title>Hello</title>\n").Header("Content-Type", "text/html"))
	robots("https://hostile.example", httptest.Text(hostileRobots))
	robots("https://long.example", httptest.Text("User-agent: *\nDisallow: /"+strings.Repeat("A", 500<<10)+"\nDisallow: /b\n"))
	robots("https://inward.example", httptest.Redirect(302, "https://inside.example/robots.txt"))
	robots("https://inside.example", httptest.Text(simpleRobots)).At("10.0.0.7")
	robots("https://relative.example", httptest.Text("Sitemap: /map.xml\nSitemap: relative.example/news map.xml\nSitemap:\nSitemap: \x1b[2J.xml\n"))
	robots("https://foreign.example", httptest.Text("User-agent: *\nDisallow: /x\nSitemap: https://other.example/map.xml\n"))
	robots("https://www.foreign.example", httptest.Redirect(301, "https://foreign.example/robots.txt"))
	robots("https://large.example", httptest.Text("User-agent: *\n"+strings.Repeat("# "+strings.Repeat("x", 1000)+"\n", 600)+"Disallow: /\n"))
	robots("http://localhost:8080", httptest.Text("User-agent: *\nDisallow: /x\n"))
	for _, name := range []string{"dead", "tired"} {
		robots("https://www."+name+".example", httptest.Redirect(301, "https://"+name+".example/robots.txt"))
		robots("https://old."+name+".example", httptest.Redirect(301, "https://"+name+".example/robots.txt"))
	}
	robots("https://tired.example", httptest.Status(429).Header("Retry-After", "900"), httptest.Text(simpleRobots))
	web.Site("https://dead.example").At("203.0.113.7").Connect(httptest.Refused)
	return web
}
