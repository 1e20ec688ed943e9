package conformance

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
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

// page returns the URL of a path. The paths are our own, so they parse.
func page(path string) *url.URL {
	u, err := url.Parse(origin + path)
	if err != nil {
		panic(err)
	}
	return u
}

// answer returns a fetch that ended at the start. Status 0 is a network error.
func answer(status int, body string) policy.Attempt {
	a := policy.Attempt{Robots: origin + "/robots.txt", Status: status, Header: http.Header{}, Body: []byte(body)}
	if status == 0 {
		a.Err = &policy.Failure{Class: policy.Connect}
	}
	return at(a, start)
}

// at returns the fetch as one of another time.
func at(a policy.Attempt, now time.Time) policy.Attempt {
	a.Sent, a.Received = now, now
	return a
}

// with returns a file with header lines, each as "Name: value".
func with(lines ...string) policy.Attempt {
	a := answer(200, "User-agent: *\nDisallow: /x\n")
	for _, l := range lines {
		name, value, _ := strings.Cut(l, ": ")
		a.Header.Add(name, value)
	}
	return a
}

// file returns the decision on a path under a file's rules.
func file(p *policy.Profile, text, path string) policy.Decision {
	return p.Learn(nil, answer(200, text)).Decide(agent, page(path), start)
}

// encode16 returns text in UTF-16 with its byte order mark.
func encode16(text string) string {
	b := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// does is a probe for yes or no.
func does(what func(*policy.Profile) bool) probe {
	return func(p *policy.Profile) string {
		if what(p) {
			return "yes"
		}
		return "no"
	}
}

// closed is the probe that the file disallows the path.
func closed(text, path string) probe {
	return does(func(p *policy.Profile) bool { return file(p, text, path).Verdict == policy.Disallow })
}

// open is the probe that the file allows the path.
func open(text, path string) probe {
	return does(func(p *policy.Profile) bool { return file(p, text, path).Verdict == policy.Allow })
}

// same is the probe that two paths are one, whichever is the rule.
func same(one, other string) probe {
	return does(func(p *policy.Profile) bool { return equal(p, one, other) })
}

func equal(p *policy.Profile, one, other string) bool {
	return !file(p, "User-agent: *\nDisallow: "+one+"\n", other).Allowed() &&
		!file(p, "User-agent: *\nDisallow: "+other+"\n", one).Allowed()
}

// eachSame is the probe that each of the characters and its triplet are one, in
// the path and in the query.
func eachSame(characters string) probe {
	return func(p *policy.Profile) string {
		var not []string
		for _, c := range []byte(characters) {
			triplet := fmt.Sprintf("%%%02X", c)
			for _, format := range []string{"/a%sb", "/a?b%sc"} {
				if !equal(p, fmt.Sprintf(format, string(c)), fmt.Sprintf(format, triplet)) {
					not = append(not, string(c))
					break
				}
			}
		}
		switch len(not) {
		case 0:
			return "yes"
		case len(characters):
			return "no"
		}
		return "but `" + strings.Join(not, " ") + "`"
	}
}

// decision is the probe of a first answer.
func decision(status int) probe {
	return func(p *policy.Profile) string {
		return p.Learn(nil, answer(status, "")).Decide(agent, page("/x"), start).Verdict.String()
	}
}

// fail returns the record of an outage that began at the start and has been
// fetched whenever it was due, until now.
func fail(p *policy.Profile, status int, r *policy.Record, begin, now time.Time) *policy.Record {
	for t := begin; !t.After(now); t = r.NextTry() {
		r = p.Learn(r, at(answer(status, ""), t))
	}
	return r
}

// outage is the decision after an outage that has lasted for down.
func outage(p *policy.Profile, status int, down time.Duration, old *policy.Record) string {
	now := start.Add(down)
	return fail(p, status, old, start, now).Decide(agent, page("/x"), now).Verdict.String()
}

// afterDays is the probe of an outage without a copy. A day more is waited, so
// that the fetch that ends the days has been made.
func afterDays(status, days int) probe {
	return func(p *policy.Profile) string {
		return outage(p, status, time.Duration(days+1)*24*time.Hour, nil)
	}
}

// apartBy is the probe of two server errors with nothing between them.
func apartBy(gap time.Duration) probe {
	return func(p *policy.Profile) string {
		r := p.Learn(nil, answer(503, ""))
		now := start.Add(gap)
		return p.Learn(r, at(answer(503, ""), now)).Decide(agent, page("/x"), now).Verdict.String()
	}
}

// copyUsed is the probe of an outage with a copy: when, from its first failure,
// the copy is used although it has expired.
func copyUsed(status int) probe {
	return func(p *policy.Profile) string {
		r := p.Learn(nil, with("Cache-Control: max-age=3600"))
		begin := start.Add(2 * time.Hour)
		r = fail(p, status, r, begin, begin)
		from, to := -1, -1
		for h := range 60 * 24 {
			now := begin.Add(time.Duration(h) * time.Hour)
			if !r.NextTry().After(now) {
				r = fail(p, status, r, r.NextTry(), now)
			}
			switch used := r.Decide(agent, page("/x"), now).Stale; {
			case from < 0 && used:
				from = h
			case from >= 0 && to < 0 && !used:
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

// hours writes a span in days if it is longer than two. Outages are counted in
// fetches six hours apart, so that a part of a day more is not shown.
func hours(n int) string {
	if n >= 48 {
		return fmt.Sprintf("%d d", n/24)
	}
	return fmt.Sprintf("%d h", n)
}

// lifetime is the probe of how long a copy with header lines is used.
func lifetime(lines ...string) probe { return again(with(lines...)) }

// lasts is the probe that a copy with header lines is used for so long.
func lasts(want time.Duration, lines ...string) probe {
	return does(func(p *policy.Profile) bool { return until(p, lines...) == want })
}

// notOver is the probe that a copy with header lines is used for a day.
func notOver(lines ...string) probe {
	return does(func(p *policy.Profile) bool { return until(p, lines...) <= 24*time.Hour })
}

// atOnce is the probe that a copy with header lines is not used at all.
func atOnce(lines ...string) probe { return lasts(0, lines...) }

// alike is the probe that a header line changes as much as the others.
func alike(line string, others ...string) probe {
	return does(func(p *policy.Profile) bool { return until(p, line) == until(p, others...) })
}

// until is how long a copy with header lines is used.
func until(p *policy.Profile, lines ...string) time.Duration {
	return p.Learn(nil, with(lines...)).NextTry().Sub(start)
}

// again is the probe of when the file is fetched next after an answer.
func again(a policy.Attempt) probe {
	return func(p *policy.Profile) string {
		d := p.Learn(nil, a).NextTry().Sub(start)
		if d < time.Hour {
			return fmt.Sprintf("%d min", int(d.Minutes()))
		}
		return hours(int(d.Hours()))
	}
}

// apart is the probe of how far apart the fetches are when an outage has lasted
// for down: the longest of many, since each is drawn.
func apart(down time.Duration) probe {
	return func(p *policy.Profile) string {
		r := p.Learn(nil, answer(503, ""))
		var longest time.Duration
		for now := start; now.Before(start.Add(down)); {
			now = r.NextTry()
			r = p.Learn(r, at(answer(503, ""), now))
			longest = max(longest, r.NextTry().Sub(now))
		}
		return hours(int(longest.Round(time.Hour).Hours()))
	}
}

// validators is the probe that a header of the answer comes back in a request.
func validators(name, line string) probe {
	return does(func(p *policy.Profile) bool { return p.Learn(nil, with(line)).Validators().Get(name) != "" })
}

// confirmed is the probe that a 304 renews the copy.
func confirmed(p *policy.Profile) string {
	return does(func(p *policy.Profile) bool { return renewed(p, "") > 0 })(p)
}

// refutes is the probe that a 304 with a header line does not renew the copy.
func refutes(line string) probe {
	return does(func(p *policy.Profile) bool { return renewed(p, line) <= 0 })
}

// renewed is for how long a 304 with a header line renews a copy that has an
// ETag and other lines, 0 if it does not.
func renewed(p *policy.Profile, line string, copied ...string) time.Duration {
	r := p.Learn(nil, with(append(copied, `ETag: "a"`)...))
	not := at(answer(304, ""), r.NextTry())
	if name, value, ok := strings.Cut(line, ": "); ok {
		not.Header.Set(name, value)
	}
	r = p.Learn(r, not)
	if d := r.Decide(agent, page("/x"), not.Received); d.Access != policy.Successful {
		return 0
	}
	return r.NextTry().Sub(not.Received)
}

// accepted is the probe of rules that came with 202.
func accepted(p *policy.Profile) string {
	return does(func(p *policy.Profile) bool {
		r := p.Learn(nil, answer(202, "User-agent: *\nDisallow: /x\n"))
		return !r.Allows(agent, page("/x"), start) && r.Allows(agent, page("/"), start)
	})(p)
}

// patient is a server error that asks for a long time.
func patient() policy.Attempt {
	a := answer(503, "")
	a.Header.Set("Retry-After", "999999999")
	return a
}

// refusedRedirect is a redirect that the rule on addresses refused.
func refusedRedirect() policy.Attempt {
	a := answer(302, "")
	a.Header.Set("Location", "http://10.0.0.1/robots.txt")
	a.Err = &policy.Failure{Class: policy.Egress}
	return a
}

// atLeastFive is the probe of how many redirects are followed before one more
// exhausts them.
func atLeastFive(p *policy.Profile) string {
	for n := range 100 {
		if stopped(p, n).Clause == "2.3.1.2" {
			if n < 5 {
				return fmt.Sprint(n)
			}
			return fmt.Sprint("yes: ", n)
		}
	}
	return "yes: all"
}

// tooManyRedirects is the probe of what they count as.
func tooManyRedirects(p *policy.Profile) string { return stopped(p, p.Hops).Access.String() }

// stopped is the decision after a fetch that stopped at a redirect with n behind
// it.
func stopped(p *policy.Profile, n int) policy.Decision {
	return p.Learn(nil, stoppedAt(n)).Decide(agent, page("/x"), start)
}

// stoppedAt is that fetch.
func stoppedAt(n int) policy.Attempt {
	a := answer(302, "")
	for i := range n {
		a.Hops = append(a.Hops, policy.Hop{From: fmt.Sprint(origin, "/", i), To: fmt.Sprint(origin, "/", i+1), Status: 302})
	}
	a.Header.Set("Location", "/next")
	return a
}
