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

// All probes use the same authority, start time and product token.
const (
	agent  = "ExampleBot"
	origin = "https://example.com"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// page returns the URL of a path, which must be valid.
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

// at returns the fetch with another time.
func at(a policy.Attempt, now time.Time) policy.Attempt {
	a.Sent, a.Received = now, now
	return a
}

// with returns a fetch of a file with header lines, each as "Name: value".
func with(lines ...string) policy.Attempt {
	a := answer(200, "User-agent: *\nDisallow: /x\n")
	for _, l := range lines {
		name, value, _ := strings.Cut(l, ": ")
		a.Header.Add(name, value)
	}
	return a
}

// file returns the decision on a path for a file.
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

// does makes a probe whose answer is yes or no.
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

// same is the probe that two paths are equal, in a rule and in a URL.
func same(one, other string) probe {
	return does(func(p *policy.Profile) bool { return equal(p, one, other) })
}

func equal(p *policy.Profile, one, other string) bool {
	return !file(p, "User-agent: *\nDisallow: "+one+"\n", other).Allowed() &&
		!file(p, "User-agent: *\nDisallow: "+other+"\n", one).Allowed()
}

// eachSame is the probe that each of the characters equals its triplet, in the path
// and in the query.
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

// decision is the probe for the decision after a first answer.
func decision(status int) probe {
	return func(p *policy.Profile) string {
		return p.Learn(nil, answer(status, "")).Decide(agent, page("/x"), start).Verdict.String()
	}
}

// fail returns the record of an outage that lasts from begin to now. The file was
// fetched whenever that was due.
func fail(p *policy.Profile, status int, r *policy.Record, begin, now time.Time) *policy.Record {
	for t := begin; !t.After(now); t = r.NextTry() {
		r = p.Learn(r, at(answer(status, ""), t))
	}
	return r
}

// outage returns the decision after an outage that has lasted for down.
func outage(p *policy.Profile, status int, down time.Duration, old *policy.Record) string {
	now := start.Add(down)
	return fail(p, status, old, start, now).Decide(agent, page("/x"), now).Verdict.String()
}

// afterDays is the probe for an outage without a cached copy. The outage lasts a day
// longer, so that the last fetch of the days has been made.
func afterDays(status, days int) probe {
	return func(p *policy.Profile) string {
		return outage(p, status, time.Duration(days+1)*24*time.Hour, nil)
	}
}

// apartBy is the probe for two server errors without a fetch between them.
func apartBy(gap time.Duration) probe {
	return func(p *policy.Profile) string {
		r := p.Learn(nil, answer(503, ""))
		now := start.Add(gap)
		return p.Learn(r, at(answer(503, ""), now)).Decide(agent, page("/x"), now).Verdict.String()
	}
}

// copyUsed is the probe for an outage with an expired copy: at which times after the
// first failure the copy is used.
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

// spell formats a period of time, given in hours.
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

// hours formats a number of hours, in days if there are more than two days. It leaves
// out parts of a day, because fetches during an outage are six hours apart.
func hours(n int) string {
	if n >= 48 {
		return fmt.Sprintf("%d d", n/24)
	}
	return fmt.Sprintf("%d h", n)
}

// lifetime is the probe for how long a copy with header lines is used.
func lifetime(lines ...string) probe { return again(with(lines...)) }

// lasts is the probe that a copy with header lines is used for the time want.
func lasts(want time.Duration, lines ...string) probe {
	return does(func(p *policy.Profile) bool { return until(p, lines...) == want })
}

// notOver is the probe that a copy with header lines is used for a day.
func notOver(lines ...string) probe {
	return does(func(p *policy.Profile) bool { return until(p, lines...) <= 24*time.Hour })
}

// atOnce is the probe that a copy with header lines is not used at all.
func atOnce(lines ...string) probe { return lasts(0, lines...) }

// alike is the probe that a header line has the same effect as other lines.
func alike(line string, others ...string) probe {
	return does(func(p *policy.Profile) bool { return until(p, line) == until(p, others...) })
}

// until returns how long a copy with header lines is used.
func until(p *policy.Profile, lines ...string) time.Duration {
	return p.Learn(nil, with(lines...)).NextTry().Sub(start)
}

// again is the probe for the time of the next fetch after an answer.
func again(a policy.Attempt) probe {
	return func(p *policy.Profile) string {
		d := p.Learn(nil, a).NextTry().Sub(start)
		if d < time.Hour {
			return fmt.Sprintf("%d min", int(d.Minutes()))
		}
		return hours(int(d.Hours()))
	}
}

// apart is the probe for the time between fetches when an outage has lasted for down.
// Each time is random, so it returns the longest of many.
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

// validators is the probe that the next request sends back a header of the answer.
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

// renewed returns for how long a 304 with a header line renews a copy that has an
// ETag and other lines, or 0 if it does not.
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

// accepted is the probe for a file with rules and status 202.
func accepted(p *policy.Profile) string {
	return does(func(p *policy.Profile) bool {
		r := p.Learn(nil, answer(202, "User-agent: *\nDisallow: /x\n"))
		return !r.Allows(agent, page("/x"), start) && r.Allows(agent, page("/"), start)
	})(p)
}

// patient returns a server error with a long Retry-After.
func patient() policy.Attempt {
	a := answer(503, "")
	a.Header.Set("Retry-After", "999999999")
	return a
}

// refusedRedirect returns a fetch whose redirect was refused because of its address.
func refusedRedirect() policy.Attempt {
	a := answer(302, "")
	a.Header.Set("Location", "http://10.0.0.1/robots.txt")
	a.Err = &policy.Failure{Class: policy.Egress}
	return a
}

// atLeastFive is the probe for how many redirects are followed.
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

// tooManyRedirects is the probe for the result of too many redirects.
func tooManyRedirects(p *policy.Profile) string { return stopped(p, p.Hops).Access.String() }

// stopped returns the decision after stoppedAt(n).
func stopped(p *policy.Profile, n int) policy.Decision {
	return p.Learn(nil, stoppedAt(n)).Decide(agent, page("/x"), start)
}

// stoppedAt returns a fetch that followed n redirects and stopped at the next one.
func stoppedAt(n int) policy.Attempt {
	a := answer(302, "")
	for i := range n {
		a.Hops = append(a.Hops, policy.Hop{From: fmt.Sprint(origin, "/", i), To: fmt.Sprint(origin, "/", i+1), Status: 302})
	}
	a.Header.Set("Location", "/next")
	return a
}
