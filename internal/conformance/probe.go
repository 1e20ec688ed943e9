package conformance

import (
	"fmt"
	"net/http"
	"net/url"
	"time"
	"unicode/utf16"

	"github.com/rfc9309/polite/policy"
)

// The probes ask one authority at one time with one product token.
const (
	agent  = "ExampleBot"
	origin = "https://example.com"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// page is the URL of a path. The paths are our own, so they parse.
func page(path string) *url.URL {
	u, err := url.Parse(origin + path)
	if err != nil {
		panic(err)
	}
	return u
}

// answer is a retrieval that ended at the start. Status 0 is a network error.
func answer(status int, body string) policy.Attempt {
	a := policy.Attempt{Robots: origin + "/robots.txt", Status: status, Header: http.Header{}, Body: []byte(body), Received: start}
	if status == 0 {
		a.Err = &policy.Failure{Class: policy.Connect}
	}
	return a
}

// file is the ruling on a path under a file's rules.
func file(p *policy.Profile, text, path string) policy.Decision {
	return p.Learn(nil, answer(200, text)).Decide(agent, page(path), start)
}

// encode16 is text in UTF-16 with its byte order mark.
func encode16(text string) string {
	b := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// closed is the probe that the file closes the path.
func closed(text, path string) probe {
	return does(func(p *policy.Profile) bool { return file(p, text, path).Verdict == policy.Disallow })
}

// open is the probe that the file leaves the path open.
func open(text, path string) probe {
	return does(func(p *policy.Profile) bool { return file(p, text, path).Verdict == policy.Allow })
}

// does is a probe for yes or no.
func does(holds func(*policy.Profile) bool) probe {
	return func(p *policy.Profile) string {
		if holds(p) {
			return "yes"
		}
		return "no"
	}
}

// ruling is the probe of a first answer.
func ruling(status int) probe {
	return func(p *policy.Profile) string {
		return p.Learn(nil, answer(status, "")).Decide(agent, page("/x"), start).Verdict.String()
	}
}

// afterDays is the probe of an outage without a copy.
func afterDays(status, days int) probe {
	return func(p *policy.Profile) string {
		now := start.AddDate(0, 0, days)
		a := answer(status, "")
		r := p.Learn(nil, a)
		a.Received = now
		return p.Learn(r, a).Decide(agent, page("/x"), now).Verdict.String()
	}
}

// copyUsed is the probe of an outage with a copy: when, from its first failure,
// the copy governs past its lifetime.
func copyUsed(status int) probe {
	return func(p *policy.Profile) string {
		had := answer(200, "User-agent: *\nDisallow: /x\n")
		had.Header.Set("Cache-Control", "max-age=3600")
		fails := answer(status, "")
		fails.Received = start.Add(2 * time.Hour)
		r := p.Learn(p.Learn(nil, had), fails)
		used := func(hours int) bool {
			return r.Decide(agent, page("/x"), fails.Received.Add(time.Duration(hours)*time.Hour)).Stale
		}
		from, to := -1, -1
		for h := range 400 * 24 {
			switch {
			case from < 0 && used(h):
				from = h
			case from >= 0 && to < 0 && !used(h):
				to = h
			}
		}
		return spell(from, to)
	}
}

// spell says from when to when, in hours.
func spell(from, to int) string {
	switch {
	case from < 0:
		return "no"
	case from == 0 && to < 0:
		return "yes"
	case to < 0:
		return "after " + hours(from)
	}
	return fmt.Sprintf("from %s to %s", hours(from), hours(to))
}

// hours writes a span in days if it is some.
func hours(n int) string {
	if n >= 48 && n%24 == 0 {
		return fmt.Sprintf("%d d", n/24)
	}
	return fmt.Sprintf("%d h", n)
}

// lifetime is the probe of how long a copy is used.
func lifetime(cacheControl string) probe {
	a := answer(200, "User-agent: *\nDisallow: /x\n")
	if cacheControl != "" {
		a.Header.Set("Cache-Control", cacheControl)
	}
	return again(a)
}

// again is the probe of when the file is asked for again after an answer.
func again(a policy.Attempt) probe {
	return func(p *policy.Profile) string {
		d := p.Learn(nil, a).NextTry().Sub(start)
		if d < time.Hour {
			return fmt.Sprintf("%d min", int(d.Minutes()))
		}
		return hours(int(d.Hours()))
	}
}

// apart is the probe of how far apart the tries are when an outage has lasted
// for down: the longest of many, since each is drawn.
func apart(down time.Duration) probe {
	return func(p *policy.Profile) string {
		r := p.Learn(nil, answer(503, ""))
		var longest time.Duration
		for now := start; now.Before(start.Add(down)); {
			now = r.NextTry()
			a := answer(503, "")
			a.Received = now
			r = p.Learn(r, a)
			longest = max(longest, r.NextTry().Sub(now))
		}
		return hours(int(longest.Round(time.Hour).Hours()))
	}
}

// confirmed is the probe of a copy that is confirmed in time.
func confirmed(p *policy.Profile) string {
	return does(func(p *policy.Profile) bool {
		a := answer(200, "User-agent: *\nDisallow: /x\n")
		a.Header.Set("ETag", `"a"`)
		r := p.Learn(nil, a)
		not := answer(304, "")
		not.Received = r.NextTry()
		d := p.Learn(r, not).Decide(agent, page("/x"), not.Received)
		return d.Access == policy.Successful
	})(p)
}

// accepted is the probe of rules that came with 202.
func accepted(p *policy.Profile) string {
	return does(func(p *policy.Profile) bool {
		return !p.Learn(nil, answer(202, "User-agent: *\nDisallow: /x\n")).Allows(agent, page("/x"), start) &&
			p.Learn(nil, answer(202, "User-agent: *\nDisallow: /x\n")).Allows(agent, page("/"), start)
	})(p)
}

// patient is a server error that asks for a long time.
func patient() policy.Attempt {
	a := answer(503, "")
	a.Header.Set("Retry-After", "999999999")
	return a
}

// redirectsFollowed is the probe of how many redirects a retrieval may follow
// before one more exhausts them.
func redirectsFollowed(p *policy.Profile) string {
	for n := range 100 {
		if stopped(p, n).Clause == "2.3.1.2" {
			return fmt.Sprint(n)
		}
	}
	return "all"
}

// tooManyRedirects is the probe of what they are taken for.
func tooManyRedirects(p *policy.Profile) string { return stopped(p, p.Hops).Access.String() }

// stopped is the ruling after a retrieval that stopped at a redirect with n
// behind it.
func stopped(p *policy.Profile, n int) policy.Decision {
	return p.Learn(nil, stoppedAt(n)).Decide(agent, page("/x"), start)
}

// stoppedAt is that retrieval.
func stoppedAt(n int) policy.Attempt {
	a := answer(302, "")
	for i := range n {
		a.Hops = append(a.Hops, policy.Hop{From: fmt.Sprint(origin, "/", i), To: fmt.Sprint(origin, "/", i+1), Status: 302})
	}
	a.Header.Set("Location", "/next")
	return a
}
