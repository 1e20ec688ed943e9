package policy_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/policy"
)

// A story has the answers of one authority over time and the decisions that must
// follow, as in internal/table/table.txt. Each line is a step:
//
//	WHEN: ANSWER -> OUTCOME; next SPAN
//	WHEN: ask    -> OUTCOME
//
// WHEN is the time since start, for instance "0", "12h" or "29d23h". After "to", as in
// "to 30d", the ANSWER comes at every planned fetch up to WHEN, and once more at WHEN.
// ANSWER is a status ("503"), the name of a failure class ("dns"), or both (a body that
// broke off), and more words in any order:
//
//	rules, others, html, ...  the body: a key of bodies
//	cut                       the body was longer than the limit
//	after N                   N redirects were followed before
//	from URL                  the URL that answered
//	probe ROOT MISSING        the statuses of a Probe
//	+ Field: value            a header line, to the next " + "
//
// OUTCOME is the decision at that moment, with the clause and "stale" for an expired
// copy: "rules" or "others" if the file of that name decides, or "allow", "defer" or
// "disallow" for all URLs. SPAN is the time to the next fetch: "24h", or "1m..2m" for
// bounds.
type story struct {
	name  string
	steps string
}

// bodies are the files of the stories. The file rules disallows only /private, and
// the file others only /public.
var bodies = map[string]string{
	"rules":      "User-agent: *\nDisallow: /private\n",
	"others":     "User-agent: *\nDisallow: /public\n",
	"empty":      "",
	"comment":    "# nothing to see\n",
	"ungrouped":  "Disallow: /private\n",
	"html":       "<!DOCTYPE html>\n<html><body>Not here</body></html>\n",
	"html_rules": "<pre>\nUser-agent: *\nDisallow: /private\n</pre>\n",
	"sitemap":    "Sitemap: https://example.com/sitemap.xml\n",
	"shut":       "User-agent: *\nDisallow: /\n",
	"gzip":       "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x0b\x2d\x4e",
	"nul":        "User-agent\x00: *",
	"png":        "\x89PNG\r\n\x1a\n",
	"utf16":      "\xff\xfe#\x00 \x00x\x00\n\x00",
}

const robots = "https://example.com/robots.txt"

// start is the beginning of every story.
var start = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

// play runs a story under a profile twice: with the record kept in memory, and
// with the record stored and loaded after each step.
func play(t *testing.T, p *policy.Profile, s story) {
	t.Helper()
	t.Run(s.name, func(t *testing.T) {
		for _, stored := range []bool{false, true} {
			c := &crawl{t: t, p: p, stored: stored}
			for line := range strings.Lines(s.steps) {
				if line = strings.TrimSpace(line); line != "" {
					c.step(line)
				}
			}
		}
	})
}

// crawl is the state of a story while it is played.
type crawl struct {
	t      testing.TB
	p      *policy.Profile
	rec    *policy.Record
	stored bool
}

func (c *crawl) step(line string) {
	c.t.Helper()
	does, wants, ok := strings.Cut(line, "->")
	when, what, timed := strings.Cut(does, ":")
	if !ok || !timed {
		c.t.Fatalf("a step without colon or arrow: %s", line)
	}
	when, planned := strings.CutPrefix(strings.TrimSpace(when), "to ")
	now := start.Add(span(c.t, when))
	what = strings.TrimSpace(what)
	if planned {
		c.rec = throughout(c.t, c.p, c.rec, what, now)
	}
	if what != "ask" {
		c.rec = learn(c.t, c.p, c.rec, attempt(c.t, what, now))
		if c.stored {
			c.rec = reload(c.t, c.p, c.rec)
		}
	}
	want, next, timed := strings.Cut(strings.TrimSpace(wants), "; next ")
	if got := outcome(c.t, c.rec, now); got != want {
		c.t.Errorf("%s, stored %v, at step %q:\ngot  %s\nwant %s", c.p.Name, c.stored, line, got, want)
	}
	if timed {
		c.next(line, now, next)
	}
}

func (c *crawl) next(line string, now time.Time, want string) {
	c.t.Helper()
	from, to, ranged := strings.Cut(want, "..")
	if !ranged {
		to = from
	}
	got := c.rec.NextTry().Sub(now)
	if got < span(c.t, from) || got > span(c.t, to) {
		c.t.Errorf("%s, stored %v, at step %q:\ngot  next try after %v\nwant %s", c.p.Name, c.stored, line, got, want)
	}
}

// span parses a duration that may begin with days.
func span(t testing.TB, s string) time.Duration {
	t.Helper()
	s = strings.TrimSpace(s)
	var sum time.Duration
	if days, rest, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil {
			t.Fatalf("not a span: %q", s)
		}
		sum, s = time.Duration(n)*24*time.Hour, rest
	}
	if s == "" {
		return sum
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatalf("not a span: %q", s)
	}
	return sum + d
}

// attempt parses an ANSWER.
func attempt(t testing.TB, s string, now time.Time) policy.Attempt {
	t.Helper()
	parts := strings.Split(s, " + ")
	a := policy.Attempt{Robots: robots, Header: http.Header{}, Sent: now, Received: now}
	for _, line := range parts[1:] {
		field, value, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("not a header line: %q", line)
		}
		a.Header.Add(field, strings.TrimSpace(value))
	}
	words := strings.Fields(parts[0])
	for i := 0; i < len(words); i++ {
		switch w := words[i]; w {
		case "cut":
			a.Cut = true
		case "after":
			i++
			count, err := strconv.Atoi(words[i])
			if err != nil {
				t.Fatalf("not a number of redirects: %q", s)
			}
			a.Hops = hops(count)
		case "from":
			i++
			a.Served = words[i]
		case "probe":
			a.Probe = &policy.Probe{}
			if _, err := fmt.Sscan(words[i+1]+" "+words[i+2], &a.Probe.Root, &a.Probe.Missing); err != nil {
				t.Fatalf("not two statuses: %q", s)
			}
			i += 2
		default:
			addWord(t, &a, w)
		}
	}
	return a
}

// addWord parses one word of an ANSWER: a status, a body or a failure.
func addWord(t testing.TB, a *policy.Attempt, w string) {
	t.Helper()
	if body, ok := bodies[w]; ok {
		a.Body = []byte(body)
		return
	}
	if n, err := strconv.Atoi(w); err == nil {
		a.Status = n
		return
	}
	for c := policy.Other; c <= policy.Sign; c++ {
		if c.String() == w {
			a.Err = fmt.Errorf("retrieval: %w", &policy.Failure{Class: c, Err: errors.New("it broke")})
			return
		}
	}
	t.Fatalf("not an answer: %q", w)
}

// hops returns a chain of n redirects.
func hops(n int) (chain []policy.Hop) {
	from := robots
	for i := range n {
		to := fmt.Sprintf("https://example.com/hop%d", i+1)
		chain = append(chain, policy.Hop{From: from, To: to, Status: http.StatusFound})
		from = to
	}
	return chain
}

// throughout returns the record after the same answer to every planned fetch before
// until.
func throughout(t testing.TB, p *policy.Profile, rec *policy.Record, answer string, until time.Time) *policy.Record {
	t.Helper()
	for rec.NextTry().Before(until) {
		rec = p.Learn(rec, attempt(t, answer, rec.NextTry()))
	}
	return rec
}

// learn calls Learn and checks two promises: the same arguments give the same record,
// and the old record does not change.
func learn(t testing.TB, p *policy.Profile, old *policy.Record, a policy.Attempt) *policy.Record {
	t.Helper()
	before := stored(t, old)
	rec, again := p.Learn(old, a), p.Learn(old, a)
	if one, other := stored(t, rec), stored(t, again); !bytes.Equal(one, other) {
		t.Errorf("Learn(%v) twice:\ngot  %q\nthen %q", a, one, other)
	}
	if after := stored(t, old); !bytes.Equal(before, after) {
		t.Errorf("Learn(%v) changed the old record:\ngot  %q\nwant %q", a, after, before)
	}
	return rec
}

// stored returns the binary form of a record, nil for nil.
func stored(t testing.TB, r *policy.Record) []byte {
	t.Helper()
	if r == nil {
		return nil
	}
	data, err := r.MarshalBinary()
	if err != nil {
		t.Fatalf("MarshalBinary: %v", err)
	}
	return data
}

// reload stores a record and loads it under a new profile of the same name, as after a
// restart. It checks that the loaded record decides the same.
func reload(t testing.TB, p *policy.Profile, r *policy.Record) *policy.Record {
	t.Helper()
	fresh, ok := policy.ByName(p.Name)
	if !ok {
		fresh = p
	}
	data := stored(t, r)
	loaded, err := fresh.Load(data)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	if again := stored(t, loaded); !bytes.Equal(data, again) {
		t.Errorf("stored, loaded and stored:\ngot  %q\nwant %q", again, data)
	}
	for _, now := range []time.Time{r.NextTry().Add(-time.Second), r.NextTry().Add(31 * 24 * time.Hour)} {
		got, want := loaded.Decide("ExampleBot", private, now), r.Decide("ExampleBot", private, now)
		if got != want {
			t.Errorf("stored and loaded, asked at %v:\ngot  %+v\nwant %+v", now, got, want)
		}
	}
	return loaded
}

var (
	private = mustParse("https://example.com/private")
	public  = mustParse("https://example.com/public")
	itself  = mustParse(robots)
)

func mustParse(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// outcome returns the OUTCOME of the decisions on both pages.
func outcome(t testing.TB, r *policy.Record, now time.Time) string {
	t.Helper()
	a, b := decide(t, r, private, now), decide(t, r, public, now)
	word := a.Verdict.String()
	switch {
	case !a.Allowed() && b.Allowed():
		word = "rules"
	case a.Allowed() && !b.Allowed():
		word = "others"
	case a.Verdict != b.Verdict:
		t.Errorf("one record, two decisions:\n%v\n%v", a, b)
	}
	if a.Stale {
		word += " stale"
	}
	return word + " " + a.Clause
}

// decide calls Decide and checks the promises of every Decision.
func decide(t testing.TB, r *policy.Record, target *url.URL, now time.Time) policy.Decision {
	t.Helper()
	d := r.Decide("ExampleBot", target, now)
	if got := r.Allows("ExampleBot", target, now); got != d.Allowed() {
		t.Errorf("Allows(%v) = %v; want %v as in %v", target, got, d.Allowed(), d)
	}
	if !r.Allows("ExampleBot", itself, now) {
		t.Errorf("/robots.txt itself is not allowed at %v", now)
	}
	if d := r.Decide("ExampleBot", itself, now); !d.Allowed() || !d.Match.Allowed || d.Stale || !d.Fetched.IsZero() {
		t.Errorf("/robots.txt itself at %v is %v; want it allowed, and not by a copy", now, d)
	}
	if d.Allowed() != (d.Verdict == policy.Allow) || (d.Verdict == policy.Defer) == d.RetryAt.IsZero() {
		t.Errorf("RetryAt does not fit the verdict: %#v", d)
	}
	next := r.NextTry()
	if r.Due(now) && next.After(now) { // the clock was set back
		next = now
	}
	if !d.Expires.Equal(next) {
		t.Errorf("at %v Expires is %v; want %v", now, d.Expires, next)
	}
	if next.Before(now) {
		next = now
	}
	if d.Verdict == policy.Defer && !d.RetryAt.Equal(next) {
		t.Errorf("at %v RetryAt is %v; want %v", now, d.RetryAt, next)
	}
	if d.DownSince.After(now) || d.Fetched.After(now) {
		t.Errorf("at %v: down since %v, fetched %v; want no time in the future", now, d.DownSince, d.Fetched)
	}
	if !now.Before(r.NextTry()) && !r.Due(now) {
		t.Errorf("the record is not due at %v, want it due from %v on", now, r.NextTry())
	}
	return d
}
