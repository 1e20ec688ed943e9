package exam

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
)

// access returns the cases about fetching robots.txt (sections 2.3, 2.3.1.1 to 2.3.1.3 and 2.5).
func access() []*Case {
	const (
		where  = `"scheme:[//authority]/robots.txt"`
		match  = "2.2.2|a crawler MUST match the paths"
		five   = "If a robots.txt file is reached within five consecutive redirects"
		many   = "If there are more than five consecutive redirects"
		follow = "If the crawler successfully downloads the robots.txt file"
		may    = "If a server status code indicates that the robots.txt file is unavailable"
		limit  = "The parsing limit MUST be at least 500 kibibytes"
	)
	closed := forAll("Disallow: /private\n")
	return []*Case{
		{Name: "2.3/robots_before_pages", Text: match, Site: "robots.txt allows everything except /other", robots: forAll("Disallow: /other\n"), judge: judgeFirst("requested it before robots.txt")},
		{Name: "2.3/port", Text: where, Site: "two ports of one host: one disallows /private, the other one /secret", robots: closed,
			judge: judgeTwo, build: func(s *stage) { twoFiles(s, s.sameHost()) }},
		{Name: "2.3/scheme", Text: where, Site: "http and https of one host and port: http disallows /private, https disallows /secret", robots: closed,
			judge: judgeTwo, build: func(s *stage) { twoFiles(s, s.secure()) }},
		{Name: "2.3.1.1/new_file", Text: follow, Site: "robots.txt is fresh for one second; from the second answer on it disallows /private, which is linked from the last of four slow pages",
			after: []string{"house/robots_once"}, build: newFile, judge: judgeNewFile},
		{Name: "2.3.1.2/one_redirect", Text: five, Site: "robots.txt redirects once, and the file disallows /private", robots: closed, closed: []string{private}, build: redirects(1)},
		{Name: "2.3.1.2/five_redirects", Text: five, Site: "robots.txt redirects five times, and the file disallows /private", after: []string{"2.3.1.2/one_redirect"},
			robots: closed, closed: []string{private}, build: redirects(5)},
		{Name: "2.3.1.2/six_redirects", Text: many, Site: "robots.txt redirects six times, and the file disallows /private", robots: closed, build: redirects(6), judge: judgeChain},
		{Name: "2.3.1.2/loop", Text: many, Site: "robots.txt redirects to itself", judge: judgeChain,
			build: func(s *stage) { s.main().Robots(ending(maxAsked, httptest.Redirect(302, "/robots.txt"))...) }},
		{Name: "2.3.1.2/another_host", Text: five, Site: "robots.txt redirects to a file at another host, which disallows /private", after: []string{"2.3.1.2/one_redirect"},
			robots: closed, closed: []string{private}, build: func(s *stage) {
				other := s.newSite(false)
				other.Path("/rules.txt", s.file(closed)).Robots(httptest.Status(404))
				s.main().Robots(httptest.Redirect(302, other.base+"/rules.txt"))
			}},
		{Name: "2.3.1.2/initial_context", Text: five, Site: "robots.txt redirects to a file at another host, which disallows /private; the other host's own robots.txt disallows /secret",
			after: []string{"2.3.1.2/one_redirect", "2.3.1.2/another_host"}, robots: closed, judge: judgeTwo, build: func(s *stage) {
				other := s.newSite(true)
				twoFiles(s, other)
				other.Path("/rules.txt", s.file(closed))
				s.main().Robots(httptest.Redirect(302, other.base+"/rules.txt"))
			}},
		{Name: "2.3.1.3/401", Text: may, Site: "robots.txt answers 401", judge: judgeUnavailable, build: robotsAnswers(httptest.Status(401).Header("WWW-Authenticate", `Basic realm="exam"`))},
		{Name: "2.3.1.3/403", Text: may, Site: "robots.txt answers 403", judge: judgeUnavailable, build: robotsAnswers(httptest.Status(403))},
		{Name: "2.3.1.3/404", Text: may, Site: "robots.txt answers 404", judge: judgeUnavailable, build: robotsAnswers(httptest.Text("not found").Status(404))},
		{Name: "2.3.1.3/410", Text: may, Site: "robots.txt answers 410", judge: judgeUnavailable, build: robotsAnswers(httptest.Text("gone").Status(410))},
		{Name: "2.5/499_kibibytes", Text: limit, Site: "Disallow: /private comes after 499 KiB of comments",
			robots: strings.Repeat("# "+strings.Repeat("-", 61)+"\n", 499<<4) + closed, closed: []string{private}},
		{Name: "2.5/eight_mebibytes", Text: "2.3.1.1|" + follow, Site: "Disallow: /private comes first in a file of 8 MiB",
			robots: closed, closed: []string{private}, build: func(s *stage) { s.main().Robots(s.big(closed, 8<<20)) }},
	}
}

func robotsAnswers(steps ...httptest.Step) func(*stage) {
	return func(s *stage) { s.main().Robots(steps...) }
}

// maxAsked is how often robots.txt is asked for in a chain of redirects before the chain counts as
// endless. A crawler that asks at each of four URLs and follows 20 redirects stays below it.
const maxAsked = 100

// ending returns a script of n steps, after which the file is missing.
func ending(n int, step httptest.Step) []httptest.Step {
	steps := make([]httptest.Step, n)
	for i := range steps {
		steps[i] = step
	}
	return append(steps, httptest.Status(404))
}

// redirects makes robots.txt redirect n times before the file.
func redirects(n int) func(*stage) {
	return func(s *stage) {
		from := "/robots.txt"
		for i := range n {
			to := fmt.Sprintf("/rules-%d.txt", i+1)
			s.main().Path(from, httptest.Redirect(302, to))
			s.main().robots = append(s.main().robots, to)
			from = to
		}
		s.main().Path(from, s.file(s.c.robots))
	}
}

// big returns a file that begins with text and goes on with comments.
func (s *stage) big(text string, size int) httptest.Step {
	return httptest.Handler(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, s.e.expand(text, r))
		line := strings.Repeat("# "+strings.Repeat("-", 61)+"\n", 64)
		for sent := 0; sent < size; sent += len(line) {
			if _, err := io.WriteString(w, line); err != nil {
				return
			}
		}
	})
}

// twoFiles makes other a site whose robots.txt disallows /secret. The start pages of both
// sites link to /private and /secret, and to each other.
func twoFiles(s *stage, other *site) {
	main := s.main()
	main.start(first, private, "/secret", other.base+"/", last)
	other.start(first, private, "/secret", main.base+"/", last)
	other.Robots(s.file(forAll("Disallow: /secret\n")))
}

// judgeTwo judges two sites, whose files disallow /private and /secret.
func judgeTwo(v *view) Mark {
	marks := [2]Mark{v.judgeSite(0, []string{private}, []string{"/secret"}), v.judgeSite(1, []string{"/secret"}, []string{private})}
	for _, verdict := range []Verdict{Failed, NotExercised} {
		for _, m := range marks {
			if m.Verdict == verdict {
				return m
			}
		}
	}
	return marks[1]
}

// pageRedirects adds a page that redirects to a disallowed page, and one that redirects to
// an allowed one.
func pageRedirects(otherHost bool) func(*stage) {
	return func(s *stage) {
		base := ""
		if otherHost {
			other := s.newSite(false)
			other.Robots(s.file(forAll("Disallow: /private\n")))
			base = other.base
		}
		s.main().Path("/moved", httptest.Redirect(302, base+private)).Path("/moved-too", httptest.Redirect(302, base+"/landed"))
		s.main().start(first, "/moved", "/moved-too", last)
	}
}

// judgeOtherHost judges a redirect of a page to a host that disallows the target.
func judgeOtherHost(v *view) Mark {
	other := v.sites[1]
	if r, ok := other.pageAt(private); ok {
		return failed(r, "requested it, although the robots.txt of that host disallows it")
	}
	landed, ok := other.pageAt("/landed")
	switch {
	case !ok:
		return notExercised("did not follow the redirect to the other host")
	case other.asked < 0:
		return failed(landed, "requested it without asking for the robots.txt of that host")
	}
	return v.judgeSite(0, nil, nil)
}

// judgeFirst asks whether robots.txt was requested before any page. why says what is wrong if
// it was not.
func judgeFirst(why string) func(*view) Mark {
	return func(v *view) Mark {
		main := v.sites[0]
		for _, r := range main.all {
			switch {
			case main.isRobots(r):
				return v.judgeSite(0, nil, nil)
			case main.isPage(r):
				return failed(r, "%s", why)
			}
		}
		return v.missing()
	}
}

// judgeUnavailable asks that a crawler may stay away or come in.
func judgeUnavailable(v *view) Mark {
	main := v.sites[0]
	switch pages := main.pages(); {
	case len(pages) > 0 && main.asked >= 0:
		return passed(pages[0], "requested pages, which the text permits")
	case main.asked >= 0:
		return passed(main.all[main.asked], "stayed away, which the text permits")
	}
	return v.missing()
}

// judgeChain asks that a chain of redirects is given up.
func judgeChain(v *view) Mark {
	main, asked := v.sites[0], 0
	for _, r := range main.all {
		if main.isRobots(r) {
			if asked++; asked == maxAsked {
				return failed(r, "requested it %d times without an end", asked)
			}
		}
	}
	switch pages := main.pages(); {
	case asked == 0:
		return v.missing()
	case len(pages) > 0:
		return passed(pages[0], "gave up or read the file, and requested pages, which the text permits")
	}
	return passed(main.all[main.asked], "gave up, and requested no page, which the text permits")
}

// newFile adds a chain of slow pages and a file that changes.
func newFile(s *stage) {
	fresh := func(text string) httptest.Step { return s.file(text).Header("Cache-Control", "max-age=1") }
	s.main().Robots(fresh(forAll("Disallow: /other\n")), fresh(forAll("Disallow: /private\n")))
	slowChain(s.main(), private)
}

// slowChain makes a site of four pages, each linked from the one before and slow. The last one
// links to more pages.
func slowChain(main *site, more ...string) {
	const slow = 700 * time.Millisecond
	main.start("/slow-1")
	main.link("/slow-2", "/slow-3", "/slow-4")
	main.link(append(more, last)...)
	for i := 1; i < 4; i++ {
		main.Path(fmt.Sprintf("/slow-%d", i), links(fmt.Sprintf("/slow-%d", i+1)).After(slow))
	}
	main.Path("/slow-4", links(append(more, last)...).After(slow))
}

// judgeNewFile asks that a file that was fetched again is obeyed.
func judgeNewFile(v *view) Mark {
	main := v.sites[0]
	again := main.nthAsked(2)
	if again < 0 {
		return notExercised("did not request robots.txt again")
	}
	for _, r := range main.all[again:] {
		if main.isPage(r) && same(r.Target, private) {
			return failed(r, "requested it, although it had requested the new robots.txt %s before", ago(r, main.all[again]))
		}
	}
	if r, ok := main.pageAt(last); ok {
		return passed(r, "requested robots.txt again and obeyed the new file")
	}
	return notExercised("did not reach the page that links to " + private)
}
