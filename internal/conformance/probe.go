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

// pageURL returns the URL of a path, which must be valid.
func pageURL(path string) *url.URL {
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
	return atTime(a, start)
}

// atTime returns the fetch as if it had been made at now.
func atTime(a policy.Attempt, now time.Time) policy.Attempt {
	a.Sent, a.Received = now, now
	return a
}

// fileWithHeader returns a fetch of a file with header lines, each as "Name: value".
func fileWithHeader(lines ...string) policy.Attempt {
	a := answer(200, "User-agent: *\nDisallow: /x\n")
	for _, l := range lines {
		name, value, _ := strings.Cut(l, ": ")
		a.Header.Add(name, value)
	}
	return a
}

// decisionFor returns the decision on a path for a file.
func decisionFor(p *policy.Profile, text, path string) policy.Decision {
	return p.Learn(nil, answer(200, text)).Decide(agent, pageURL(path), start)
}

// encode16 returns text in UTF-16 with its byte order mark.
func encode16(text string) string {
	b := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// yesOrNo makes a probe whose answer is yes or no.
func yesOrNo(what func(*policy.Profile) bool) probe {
	return func(p *policy.Profile) string {
		if what(p) {
			return "yes"
		}
		return "no"
	}
}

// disallows is the probe that the file disallows the path.
func disallows(text, path string) probe {
	return yesOrNo(func(p *policy.Profile) bool { return decisionFor(p, text, path).Verdict == policy.Disallow })
}

// allows is the probe that the file allows the path.
func allows(text, path string) probe {
	return yesOrNo(func(p *policy.Profile) bool { return decisionFor(p, text, path).Verdict == policy.Allow })
}

// equalPaths is the probe that two paths are equal, in a rule and in a URL.
func equalPaths(one, other string) probe {
	return yesOrNo(func(p *policy.Profile) bool { return pathsAreEqual(p, one, other) })
}

func pathsAreEqual(p *policy.Profile, one, other string) bool {
	return !decisionFor(p, "User-agent: *\nDisallow: "+one+"\n", other).Allowed() &&
		!decisionFor(p, "User-agent: *\nDisallow: "+other+"\n", one).Allowed()
}

// equalTriplets is the probe that each of the characters equals its triplet, in the path
// and in the query.
func equalTriplets(characters string) probe {
	return func(p *policy.Profile) string {
		var not []string
		for _, c := range []byte(characters) {
			triplet := fmt.Sprintf("%%%02X", c)
			for _, format := range []string{"/a%sb", "/a?b%sc"} {
				if !pathsAreEqual(p, fmt.Sprintf(format, string(c)), fmt.Sprintf(format, triplet)) {
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
		return p.Learn(nil, answer(status, "")).Decide(agent, pageURL("/x"), start).Verdict.String()
	}
}

// failUntil returns the record of an outage that lasts from begin to now. The file is
// fetched each time a fetch is due.
func failUntil(p *policy.Profile, status int, r *policy.Record, begin, now time.Time) *policy.Record {
	for t := begin; !t.After(now); t = r.NextTry() {
		r = p.Learn(r, atTime(answer(status, ""), t))
	}
	return r
}

// decisionAfterOutage returns the decision after an outage that has lasted for down.
func decisionAfterOutage(p *policy.Profile, status int, down time.Duration, old *policy.Record) string {
	now := start.Add(down)
	return failUntil(p, status, old, start, now).Decide(agent, pageURL("/x"), now).Verdict.String()
}

// decisionAfterDays is the probe for an outage of so many days without a cached copy.
// The outage lasts a day longer, so that the last fetch within these days was made.
func decisionAfterDays(status, days int) probe {
	return func(p *policy.Profile) string {
		return decisionAfterOutage(p, status, time.Duration(days+1)*24*time.Hour, nil)
	}
}

// twoFailuresApart is the probe for two server errors with a gap between them, in which
// nothing is fetched.
func twoFailuresApart(gap time.Duration) probe {
	return func(p *policy.Profile) string {
		r := p.Learn(nil, answer(503, ""))
		now := start.Add(gap)
		return p.Learn(r, atTime(answer(503, ""), now)).Decide(agent, pageURL("/x"), now).Verdict.String()
	}
}

// whenCopyIsUsed is the probe for the times in an outage at which an expired copy is
// used. They count from the first failure. The copy has these directives beside its lifetime.
func whenCopyIsUsed(status int, directives ...string) probe {
	return func(p *policy.Profile) string {
		r := p.Learn(nil, fileWithHeader("Cache-Control: "+strings.Join(append(directives, "max-age=3600"), ", ")))
		begin := start.Add(2 * time.Hour)
		r = failUntil(p, status, r, begin, begin)
		from, to := -1, -1
		for h := range 60 * 24 {
			now := begin.Add(time.Duration(h) * time.Hour)
			if !r.NextTry().After(now) {
				r = failUntil(p, status, r, r.NextTry(), now)
			}
			switch used := r.Decide(agent, pageURL("/x"), now).Stale; {
			case from < 0 && used:
				from = h
			case from >= 0 && to < 0 && !used:
				to = h
			}
		}
		return formatPeriod(from, to)
	}
}

// formatPeriod formats a period of time, given in hours.
func formatPeriod(from, to int) string {
	switch {
	case from < 0:
		return "no"
	case from == 0 && to < 0:
		return "yes"
	case to < 0:
		return "after " + formatHours(from)
	}
	return fmt.Sprintf("from %s to %s", formatHours(from), formatHours(to))
}

// formatHours formats a number of hours, in days if there are more than two days. It leaves
// out parts of a day, because fetches during an outage are six hours apart.
func formatHours(n int) string {
	if n >= 48 {
		return fmt.Sprintf("%d d", n/24)
	}
	return fmt.Sprintf("%d h", n)
}

// lifetime is the probe for how long a copy with header lines is used.
func lifetime(lines ...string) probe { return nextFetchAfter(fileWithHeader(lines...)) }

// lastsFor is the probe that a copy with header lines is used for the time want.
func lastsFor(want time.Duration, lines ...string) probe {
	return yesOrNo(func(p *policy.Profile) bool { return lifetimeOf(p, lines...) == want })
}

// lastsAtMostADay is the probe that a copy with header lines is used for a day at most.
func lastsAtMostADay(lines ...string) probe {
	return yesOrNo(func(p *policy.Profile) bool { return lifetimeOf(p, lines...) <= 24*time.Hour })
}

// expiresAtOnce is the probe that a copy with header lines is not used at all.
func expiresAtOnce(lines ...string) probe { return lastsFor(0, lines...) }

// sameLifetime is the probe that a header line has the same effect as other lines.
func sameLifetime(line string, others ...string) probe {
	return yesOrNo(func(p *policy.Profile) bool { return lifetimeOf(p, line) == lifetimeOf(p, others...) })
}

// lifetimeOf returns how long a copy with header lines is used.
func lifetimeOf(p *policy.Profile, lines ...string) time.Duration {
	return p.Learn(nil, fileWithHeader(lines...)).NextTry().Sub(start)
}

// nextFetchAfter is the probe for the time of the next fetch after an answer.
func nextFetchAfter(a policy.Attempt) probe {
	return func(p *policy.Profile) string {
		d := p.Learn(nil, a).NextTry().Sub(start)
		switch {
		case d < time.Minute:
			return fmt.Sprintf("%d s", int(d.Seconds()))
		case d < time.Hour:
			return fmt.Sprintf("%d min", int(d.Minutes()))
		}
		return formatHours(int(d.Hours()))
	}
}

// longestRetry is the probe for the longest time between two fetches in a part of an
// outage, from one time after the first failure to another. The times are random. The old
// answer is a file or nothing.
func longestRetry(from, to time.Duration, old ...policy.Attempt) probe {
	return func(p *policy.Profile) string {
		var r *policy.Record
		now := start
		for _, a := range old {
			r = p.Learn(r, a)
			now = r.NextTry()
		}
		begin := now
		r = p.Learn(r, atTime(answer(503, ""), now))
		var longest time.Duration
		for now.Before(begin.Add(to)) {
			now = r.NextTry()
			r = p.Learn(r, atTime(answer(503, ""), now))
			if now.After(begin.Add(from)) {
				longest = max(longest, r.NextTry().Sub(now))
			}
		}
		return formatHours(int(longest.Round(time.Hour).Hours()))
	}
}

// sendsBack is the probe that the next request sends back a header of the answer.
func sendsBack(name, line string) probe {
	return yesOrNo(func(p *policy.Profile) bool { return p.Learn(nil, fileWithHeader(line)).Validators().Get(name) != "" })
}

// renewedBy304 is the probe that a 304 renews the copy.
func renewedBy304(p *policy.Profile) string {
	return yesOrNo(func(p *policy.Profile) bool { return renewedFor(p, "") > 0 })(p)
}

// notRenewedBy304 is the probe that a 304 with a header line does not renew the copy.
func notRenewedBy304(line string) probe {
	return yesOrNo(func(p *policy.Profile) bool { return renewedFor(p, line) <= 0 })
}

// renewedFor returns for how long a 304 with a header line renews a copy, or 0 if it
// does not. The copy has an ETag and the header lines in copied.
func renewedFor(p *policy.Profile, line string, copied ...string) time.Duration {
	r := p.Learn(nil, fileWithHeader(append(copied, `ETag: "a"`)...))
	not := atTime(answer(304, ""), r.NextTry())
	if name, value, ok := strings.Cut(line, ": "); ok {
		not.Header.Set(name, value)
	}
	r = p.Learn(r, not)
	if d := r.Decide(agent, pageURL("/x"), not.Received); d.Access != policy.Successful {
		return 0
	}
	return r.NextTry().Sub(not.Received)
}

// accepts202WithRules is the probe that the rules of a 202 count.
func accepts202WithRules(p *policy.Profile) string {
	return yesOrNo(func(p *policy.Profile) bool {
		r := p.Learn(nil, answer(202, "User-agent: *\nDisallow: /x\n"))
		return !r.Allows(agent, pageURL("/x"), start) && r.Allows(agent, pageURL("/"), start)
	})(p)
}

// unavailableFor returns a server error with a Retry-After.
func unavailableFor(seconds string) policy.Attempt {
	a := answer(503, "")
	a.Header.Set("Retry-After", seconds)
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
		if decisionAfterRedirects(p, n).Clause == "2.3.1.2" {
			if n < 5 {
				return fmt.Sprint(n)
			}
			return fmt.Sprint("yes: ", n)
		}
	}
	return "yes: all"
}

// tooManyRedirects is the probe for the result of too many redirects.
func tooManyRedirects(p *policy.Profile) string {
	return decisionAfterRedirects(p, p.Hops).Access.String()
}

// decisionAfterRedirects returns the decision after stoppedAt(n).
func decisionAfterRedirects(p *policy.Profile, n int) policy.Decision {
	return p.Learn(nil, afterRedirects(n)).Decide(agent, pageURL("/x"), start)
}

// afterRedirects returns a fetch that followed n redirects and stopped at the next one.
func afterRedirects(n int) policy.Attempt {
	a := answer(302, "")
	for i := range n {
		a.Hops = append(a.Hops, policy.Hop{From: fmt.Sprint(origin, "/", i), To: fmt.Sprint(origin, "/", i+1), Status: 302})
	}
	a.Header.Set("Location", "/next")
	return a
}
