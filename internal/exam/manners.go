package exam

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/httptest"
)

// The numbers of the house rules. The bounds are far from the behaviour that is asked for, so that
// a slow machine fails nobody.
const (
	crawlDelay  = 2 * time.Second        // what robots.txt asks for
	retryAfter  = 4 * time.Second        // what a busy page asks for
	underWay    = 800 * time.Millisecond // requests that arrive so soon after the answer may have been under way
	wokeEarly   = 3 * time.Second        // requests that arrive later may have waited for the time
	holding     = 600 * time.Millisecond // how long a page takes
	maxParallel = 6
	failures    = 10 // in a row, after which a host should rest
	maxAsking   = 3  // requests for robots.txt in one run
)

// manners returns the house rules.
func manners() []*Case {
	return []*Case{
		{Name: "house/site_without_robots_txt", Text: "A site without a robots.txt is open to crawlers.", Site: "robots.txt answers 404", judge: judgeOpen, build: robotsAnswers(httptest.Status(404))},
		{Name: "house/robots_once", Text: "A crawler does not request robots.txt for each page.", Site: "a page with links to eight others",
			robots: forAll("Disallow: /other\n"), build: func(s *stage) { manyLinks(s, 8) }, judge: judgeOnce},
		{Name: "house/crawl_delay", Text: "A crawler obeys a Crawl-delay of a few seconds.", Site: "Crawl-delay: 2",
			robots: forAll("Crawl-delay: 2\nDisallow: /other\n"), open: []string{public}, judge: judgeDelay},
		{Name: "house/429_with_retry_after", Text: "A crawler leaves a host alone for the time that a 429 asks for.", Site: "the second page answers 429 with Retry-After: 4",
			robots: forAll("Disallow: /other\n"), build: busy(429), judge: judgeBusy},
		{Name: "house/503_with_retry_after", Text: "A crawler leaves a host alone for the time that a 503 asks for.", Site: "the second page answers 503 with Retry-After: 4",
			robots: forAll("Disallow: /other\n"), build: busy(503), judge: judgeBusy},
		{Name: "house/parallel_requests", Text: fmt.Sprintf("A crawler sends at most %d requests to a host at the same time.", maxParallel), Site: "a page with links to ten slow pages",
			robots: forAll("Disallow: /other\n"), build: func(s *stage) { s.main().Path("/*", links().After(holding)); manyLinks(s, 10) }, judge: judgeParallel},
		{Name: "house/cookies", Text: "A crawler requests robots.txt without cookies and credentials.", Site: "robots.txt sets a cookie and redirects",
			robots: forAll("Disallow: /other\n"), judge: judgeCookies, build: func(s *stage) {
				redirects(1)(s)
				s.main().Robots(httptest.Redirect(302, "/rules-1.txt").Header("Set-Cookie", "seen=1; Path=/"))
			}},
		{Name: "house/conditional_requests", Text: "A crawler that requests robots.txt again sends the validators of its copy.", Site: "robots.txt is fresh for one second and has an ETag, and the pages are slow",
			after: []string{"house/robots_once"}, judge: judgeConditional, build: func(s *stage) {
				s.main().Robots(httptest.Text("User-agent: *\nDisallow: /other\n").Header("Cache-Control", "max-age=1").ETag(`"one"`))
				slowChain(s.main())
			}},
		{Name: "house/sitemap", Text: "A crawler may find pages through the sitemaps that robots.txt names.", Site: "robots.txt names a sitemap",
			robots: forAll("Disallow: /other\n") + "\nSitemap: {origin}/map.xml\n", judge: judgeSitemap, build: func(s *stage) {
				s.main().Path("/map.xml", httptest.Text(`<?xml version="1.0" encoding="UTF-8"?>`+"\n"+
					`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>`+s.main().base+"/from-the-map</loc></url></urlset>\n").Header("Content-Type", "application/xml"))
			}},
		{Name: "house/agent_names_a_page", Text: "The User-Agent names a page or an address where webmasters learn about the crawler.", Site: "an ordinary site",
			robots: forAll("Disallow: /other\n"), judge: judgeAgent},
		// This is the last case, because a crawler of one goroutine waits here for minutes.
		{Name: "house/failing_host", Text: fmt.Sprintf("After %d failures in a row a crawler gives the host a rest.", failures), Site: "a page with links to 24 pages that answer 500",
			robots: forAll("Disallow: /other\n"), build: func(s *stage) { s.main().Path("/*", httptest.Status(500)); manyLinks(s, 24) }, judge: judgeFailing},
	}
}

// manyLinks makes the start page link to n pages and the last page.
func manyLinks(s *stage, n int) {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("/many-%d", i+1))
	}
	s.main().start(append(all, last)...)
}

// busy makes the second page answer with a status and Retry-After. The next pages are slow, so
// that a crawler that does not wait sends requests for some seconds.
func busy(status int) func(*stage) {
	return func(s *stage) {
		slow := links().After(time.Second)
		s.main().Path("/*", httptest.Status(status).Header("Retry-After", fmt.Sprint(int(retryAfter.Seconds()))), slow, slow, links())
		manyLinks(s, 5)
	}
}

func judgeBusy(v *view) Mark {
	pages := v.sites[0].pages()
	told := slices.IndexFunc(pages, func(r Request) bool { return r.Target != "/" })
	if told < 0 {
		return notExercised("did not request a second page")
	}
	for _, r := range pages[told+1:] {
		if d := r.Time.Sub(pages[told].Time); d > underWay && d < wokeEarly {
			return failed(r, "requested it %s after the answer that asked for %s", ago(r, pages[told]), retryAfter)
		}
	}
	return passed(pages[told], "left the host alone after this request was answered")
}

func judgeOnce(v *view) Mark {
	main := v.sites[0]
	if n := main.nthAsked(maxAsking + 1); n >= 0 {
		return failed(main.all[n], "requested it for the %dth time", maxAsking+1)
	}
	return v.judgeSite(0, nil, nil, "/many-1", "/many-8")
}

// judgeDelay compares the time that three or four pages took with half of what Crawl-delay asks for.
func judgeDelay(v *view) Mark {
	pages := v.sites[0].pages()
	n := min(len(pages), 4) - 1
	if n < 2 {
		return notExercised("requested fewer than three pages")
	}
	last, asked := pages[n], time.Duration(n)*crawlDelay
	if last.Time.Sub(pages[0].Time) < asked/2 {
		return failed(last, "requested it %s after the first page; Crawl-delay asks for %v", ago(last, pages[0]), asked)
	}
	return passed(last, "requested it %s after the first page", ago(last, pages[0]))
}

func judgeParallel(v *view) Mark {
	pages := v.sites[0].pages()
	pages = slices.DeleteFunc(pages, func(r Request) bool { return r.Target == "/" })
	for i, r := range pages {
		open := 1
		for _, before := range pages[:i] {
			if r.Time.Sub(before.Time) < holding {
				open++
			}
		}
		if open > maxParallel {
			return failed(r, "requested it while %d other requests were not answered yet", open-1)
		}
	}
	return v.judgeSite(0, nil, nil, "/many-1", "/many-10")
}

func judgeFailing(v *view) Mark {
	const rest = 3 * time.Second
	pages := v.sites[0].pages()
	pages = slices.DeleteFunc(pages, func(r Request) bool { return r.Target == "/" })
	if n := failures + maxParallel; len(pages) > n {
		rested := false
		for i := failures; i <= n; i++ {
			rested = rested || pages[i].Time.Sub(pages[i-1].Time) >= rest
		}
		if !rested {
			return failed(pages[n], "requested it %s after the tenth failure, without a rest", ago(pages[n], pages[failures-1]))
		}
	}
	switch {
	case len(pages) == 0:
		return notExercised("did not request the failing pages")
	case len(pages) < failures && v.cut:
		return notExercised("was ended before ten requests had failed")
	}
	return passed(pages[len(pages)-1], "slowed down or gave up after %d failures", len(pages))
}

func judgeCookies(v *view) Mark {
	main := v.sites[0]
	for _, r := range main.all {
		for _, name := range []string{"Cookie", "Authorization"} {
			if main.isRobots(r) && r.header.Get(name) != "" {
				return failed(r, "requested it with a header field %s", name)
			}
		}
		if main.isRobots(r) && r.Target != "/robots.txt" {
			return passed(r, "requested it without cookies")
		}
	}
	return v.missing()
}

func judgeConditional(v *view) Mark {
	main := v.sites[0]
	again := main.nthAsked(2)
	if again < 0 {
		return notExercised("did not request robots.txt again")
	}
	if r := main.all[again]; r.header.Get("If-None-Match") == "" {
		return failed(r, "requested it again without If-None-Match")
	}
	return passed(main.all[again], "requested it again with If-None-Match")
}

func judgeSitemap(v *view) Mark {
	for _, r := range v.sites[0].all {
		if r.Target == "/map.xml" {
			return passed(r, "requested the sitemap")
		}
	}
	return notExercised("did not request the sitemap, which nobody asks of it")
}

func judgeAgent(v *view) Mark {
	if len(v.sites[0].all) == 0 {
		return v.missing()
	}
	r := v.sites[0].all[0]
	if strings.Contains(r.Agent, "://") || strings.Contains(r.Agent, "@") || strings.Contains(r.Agent, "www.") {
		return passed(r, "named a page or an address")
	}
	return failed(r, "sent the User-Agent %s, which names no page and no address", clean.Quote(r.Agent, longAgent))
}
