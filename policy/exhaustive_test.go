package policy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/policy"
)

// The events and spacings of TestEveryHistory. A spacing of 0 is the same moment,
// planned waits for the planned fetch, -29s is a clock of the fleet that is behind, and -2h
// sets the clock back.
var (
	kinds = []struct{ answer, header, body string }{
		{"200", ` + ETag: "a"`, "User-agent: *\nDisallow: /\n"},
		{"200", " + Cache-Control: max-age=3600", "User-agent: *\nDisallow: /\n"},
		{"200", "", "<html>"},
		{"202", "", ""},
		{"304", "", ""},
		{"304", ` + ETag: "b"`, ""},
		{"301 after 10", " + Location: /x", ""},
		{"302", "", ""},
		{"404", "", ""},
		{"403", "", ""},
		{"400", "", ""},
		{"408", "", ""},
		{"429", " + Retry-After: 7200", ""},
		{"503", "", ""},
		{"503", " + Retry-After: 5", ""},
		{"503 probe 200 503", "", ""},
		{"500 probe 301 500", "", ""},
		{"dns", "", ""},
		{"200 body", "", "User-agent: *\nDisallow: /\n"},
	}
	planned  = time.Duration(1)
	spacings = []time.Duration{0, planned, 13 * time.Hour, 31 * days, -29 * time.Second, -2 * time.Hour}
)

// TestEveryHistory plays every history of two events, and with POLITE_NIGHTLY of three, under
// every profile: 1,490,000 records. After each event it compares the decisions now, about the time of
// the next fetch and a month later with the reference, and checks all invariants.
func TestEveryHistory(t *testing.T) {
	depth := 2
	if os.Getenv("POLITE_NIGHTLY") != "" {
		depth = 3
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world{t: t, p: profile(t, name)}
			for _, k := range kinds {
				w.attempts = append(w.attempts, attempt(t, k.answer+k.header, start))
			}
			w.events(life{now: start, ref: reference{profile: name}}, depth)
		})
	}
}

// world has all histories under one profile.
type world struct {
	t        *testing.T
	p        *policy.Profile
	attempts []policy.Attempt // of kinds
}

// life is the beginning of one history.
type life struct {
	now    time.Time
	rec    *policy.Record
	ref    reference
	events []event
}

// event is one fetch in a history.
type event struct {
	kind    int
	at      time.Time
	planned time.Time // the next fetch as planned after this one
}

// events continues the history with each event, and after it with each spacing.
func (w *world) events(l life, depth int) {
	for kind := range kinds {
		if w.t.Failed() {
			return
		}
		next := w.event(l, kind)
		if depth == 1 {
			continue
		}
		for _, step := range spacings {
			later := next
			if later.now = next.now.Add(step); step == planned {
				later.now = next.rec.NextTry()
			}
			if step == planned && later.now.Before(next.now) { // due at once
				later.now = next.now
			}
			w.events(later, depth-1)
		}
	}
}

// event continues the history with one event, and checks the record.
func (w *world) event(l life, kind int) life {
	a := w.attempts[kind]
	a.Sent, a.Received, a.Body = l.now, l.now, []byte(kinds[kind].body)
	l.ref.learn(a, kinds[kind].header, l.now)
	old := l.rec
	l.rec = w.p.Learn(old, a)
	l.ref.planned = l.rec.NextTry()
	if l.rec != old { // otherwise the invariants hold as if there had been no event
		l.events = append(l.events[:len(l.events):len(l.events)], event{kind, l.now, l.rec.NextTry()})
	}
	if next := l.rec.NextTry(); next.Before(l.ref.first) || next.After(l.ref.last) {
		w.fail(l, l.now, "the next fetch is planned after %v; want %v to %v", next.Sub(l.now), l.ref.first.Sub(l.now), l.ref.last.Sub(l.now))
	}
	for _, now := range []time.Time{l.now.Add(time.Millisecond), l.rec.NextTry().Add(-time.Millisecond), l.rec.NextTry().Add(time.Millisecond), l.now.Add(31 * days)} {
		if now.After(l.now) {
			w.ask(l, now)
		}
	}
	return l
}

// ask compares the decision at a moment with the reference, and checks the invariants.
func (w *world) ask(l life, now time.Time) {
	d := l.rec.Decide("ExampleBot", private, now)
	if got, want := outcomeOf(d), l.ref.ask(now, l.rec.NextTry()); got != want {
		w.fail(l, now, "got  %s\nwant %s", got, want)
	}
	for _, rule := range invariants {
		if !rule.holds(w.p.Name, l, d, now) {
			w.fail(l, now, "%v\nbroken: %s", d, rule.sentence)
		}
	}
}

func (w *world) fail(l life, now time.Time, format string, args ...any) {
	var b strings.Builder
	for _, e := range l.events {
		fmt.Fprintf(&b, "%v: %s%s %q\n", e.at.Sub(start), kinds[e.kind].answer, kinds[e.kind].header, kinds[e.kind].body)
	}
	w.t.Errorf("%s at %v after\n%s%s", w.p.Name, now.Sub(start), &b, fmt.Sprintf(format, args...))
}

// limits are the numbers that the invariants need of each profile.
var limits = map[string]struct {
	open time.Duration // length after which an outage without a copy may allow; 0: never
	most time.Duration // the longest lifetime
}{
	"rfc9309":    {30 * days, days},
	"strict":     {0, days},
	"google":     {12 * time.Hour, 7 * days},
	"google2019": {30 * days, 7 * days},
	"draft2019":  {30 * days, days},
	"koster1996": {0, 365 * days},
}

// invariants hold after every history.
var invariants = []struct {
	sentence string
	holds    func(profile string, l life, d policy.Decision, now time.Time) bool
}{
	{"allow-all in an outage needs failed fetches spread over its length", func(profile string, l life, d policy.Decision, now time.Time) bool {
		open := limits[profile].open
		return !d.Allowed() || !d.Fetched.IsZero() || d.Access != policy.Unreachable || open != 0 && l.spread(profile) >= open
	}},
	{"only a witness or an outage leads to allow without a copy", func(profile string, l life, d policy.Decision, now time.Time) bool {
		last := kinds[l.events[len(l.events)-1].kind].answer
		witness := last == "404" || last == "403" || last == "400" || last == "408" || last == "429" || last == "301 after 10" || last == "503 probe 200 503"
		return !d.Allowed() || !d.Fetched.IsZero() || d.Access == policy.Unreachable || witness
	}},
	{"a server error counts as no file only if / is found, another path has the same error, and no copy is known", func(profile string, l life, d policy.Decision, now time.Time) bool {
		last := kinds[l.events[len(l.events)-1].kind].answer
		return d.Access != policy.Unavailable || d.Status < 500 || strings.HasPrefix(profile, "google") && last == "503 probe 200 503" && d.Fetched.IsZero()
	}},
	{"a file that disallows everything never leads to allow", func(_ string, l life, d policy.Decision, now time.Time) bool {
		return !d.Allowed() || d.Fetched.IsZero() || !strings.Contains(l.lastFile(), "Disallow")
	}},
	{"a recovery is seen within a day, and within hours where no copy governs", func(profile string, l life, d policy.Decision, now time.Time) bool {
		wait := l.rec.NextTry().Sub(l.events[len(l.events)-1].at)
		if d.Access == policy.Unreachable && d.Fetched.IsZero() {
			return wait <= 6*time.Hour
		}
		return d.Access != policy.Unreachable || wait <= days
	}},
	{"the copy never goes back", func(_ string, l life, d policy.Decision, now time.Time) bool {
		if d.Fetched.IsZero() {
			return true
		}
		earliest := now // time of the last file or a later event, because the clock may have been set back
		for i := len(l.events) - 1; i >= 0; i-- {
			if l.events[i].at.Before(earliest) {
				earliest = l.events[i].at
			}
			if k := kinds[l.events[i].kind].answer; k == "200" {
				return !d.Fetched.Before(earliest)
			}
		}
		return false
	}},
	{"a copy that is not stale is younger than the longest lifetime", func(profile string, l life, d policy.Decision, now time.Time) bool {
		return d.Fetched.IsZero() || d.Stale || now.Sub(d.Fetched) < limits[profile].most
	}},
}

// spread returns an upper bound of the observed outage: the sum of the times between
// fetches, each up to twice its plan or an hour, and the planned time after the last.
func (l life) spread(profile string) (sum time.Duration) {
	for i, e := range l.events {
		if i == 0 {
			continue
		}
		before := l.events[i-1]
		sum += min(max(e.at.Sub(before.at), 0), max(2*before.planned.Sub(before.at), time.Hour))
	}
	last := l.events[len(l.events)-1]
	return sum + last.planned.Sub(last.at)
}

// lastFile returns the text of the last complete file.
func (l life) lastFile() string {
	for i := len(l.events) - 1; i >= 0; i-- {
		if k := kinds[l.events[i].kind]; k.answer == "200" {
			return k.body
		}
	}
	return ""
}
