package exam

import (
	"time"

	"github.com/rfc9309/polite/internal/httptest"
)

// outageAnswers is how many fetches of robots.txt fail before the file is served. Some crawlers
// fetch again two or three times at once, and only then decide.
const outageAnswers = 3

// outages returns the cases about a robots.txt that cannot be fetched (section 2.3.1.4).
func outages() []*Case {
	outage := func(name, site string, step httptest.Step) *Case {
		return &Case{Name: name, Text: "If the robots.txt file is unreachable due to server or network errors", Site: site,
			build: outageOf(outageAnswers, step), judge: judgeOutage(outageAnswers)}
	}
	file := httptest.Text(outageFile)
	const silence = 6 * time.Second
	unread := outage("2.3.1.4/no_connection", "the first connection is reset before a request is read", file)
	unread.after, unread.judge = []string{"2.3/robots_before_pages"}, judgeConnection
	unread.build = func(s *stage) { s.main().Robots(file).Connect(httptest.Torn, httptest.Open) }
	silent := outage("2.3.1.4/no_answer", "the first two requests for robots.txt get no answer for six seconds, then the connection is closed", httptest.Close().After(silence))
	silent.build, silent.judge = outageOf(2, httptest.Close().After(silence)), judgeOutage(2)
	encoded := &Case{Name: "house/broken_encoding", Text: "A robots.txt whose Content-Encoding cannot be undone is unreachable.",
		Site:  "the first three answers for robots.txt have Content-Encoding: gzip, but are no gzip",
		build: outageOf(outageAnswers, httptest.Text("\x1f\x8b broken").Header("Content-Encoding", "gzip")), judge: judgeOutage(outageAnswers)}
	back := outage("house/comes_back", "robots.txt answers 503 once, with Retry-After: 2", httptest.Status(503).Header("Retry-After", "2"))
	back.Text = "A crawler comes back to a site whose robots.txt was unreachable for a while."
	back.build, back.judge = outageOf(1, httptest.Status(503).Header("Retry-After", "2")), judgeComesBack
	return []*Case{
		outage("2.3.1.4/500", "robots.txt answers 500 three times", httptest.Status(500)),
		outage("2.3.1.4/503", "robots.txt answers 503 three times", httptest.Status(503)),
		unread,
		outage("2.3.1.4/reset", "the connection is reset after each of the first three requests for robots.txt", httptest.Reset()),
		silent,
		outage("2.3.1.4/body_cut_short", "the first three answers for robots.txt end in the middle of the file", file.Cut(len(outageFile)/2)),
		encoded, back,
	}
}

// outageFile is the robots.txt that is served after an outage.
const outageFile = "User-agent: *\nDisallow: /other\n"

// outageOf makes the first n fetches of robots.txt fail.
func outageOf(n int, step httptest.Step) func(*stage) {
	return func(s *stage) {
		steps := append(ending(n, step)[:n], httptest.Text(outageFile))
		s.main().Robots(steps...)
	}
}

// judgeOutage asks that no page was requested between the first fetch of robots.txt and the
// first one that did not fail.
func judgeOutage(failures int) func(*view) Mark {
	return func(v *view) Mark {
		main := v.sites[0]
		if main.asked < 0 {
			return v.missing()
		}
		end := main.nthAsked(failures + 1)
		for i, r := range main.all {
			if i > main.asked && (end < 0 || i < end) && main.isPage(r) {
				return failed(r, "requested it, although robots.txt, first requested at %s, could not be fetched", clock(main.all[main.asked]))
			}
		}
		asked := main.all[main.asked]
		switch {
		case end >= 0:
			return passed(asked, "requested no page until robots.txt could be fetched")
		case v.cut:
			return notExercised("was ended before it could request a page")
		case !v.visitsOthers:
			return notExercised("requested pages at few other sites, either")
		}
		return passed(asked, "requested no page, and did not come back in this run")
	}
}

// judgeConnection asks that no page was requested after a connection that failed.
func judgeConnection(v *view) Mark {
	main := v.sites[0]
	if len(main.all) == 0 && main.connected && v.visitsOthers && !v.cut {
		return Mark{Verdict: Passed, Seen: "connected, requested no page, and did not come back in this run"}
	}
	m := judgeFirst("requested it, although the connection for robots.txt was reset")(v)
	if m.Verdict == NotExercised && main.asked >= 0 {
		return passed(main.all[main.asked], "requested robots.txt again before any page")
	}
	return m
}

// judgeComesBack asks whether the crawler came back. If it did not, nothing is known: a good
// crawler comes back after minutes.
func judgeComesBack(v *view) Mark {
	main := v.sites[0]
	again := main.nthAsked(2)
	if m := judgeOutage(1)(v); m.Verdict == Failed {
		return notExercised("requested a page during the outage")
	} else if again < 0 {
		return notExercised("did not come back in this run")
	}
	for _, r := range main.all[again:] {
		if main.isPage(r) {
			return passed(r, "came back and requested pages")
		}
	}
	return notExercised("requested robots.txt again, but no page")
}
