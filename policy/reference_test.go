package policy_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/policy"
)

// A reference is a second implementation of the decision table, written from its text
// without regard to the code. It is slow and simple, and knows only the events of the
// histories. Learn and Decide must agree with it on every decision, its clause and the
// time of the next fetch.
type reference struct {
	profile        string
	asked          time.Time     // when the last fetch was learnt; zero if there was none
	spoken         time.Time     // when the last answer was learnt; zero if there was none
	copied         bool          // there is a copy
	ruled          bool          // the copy has rules, which disallow every page
	html           bool          // the copy is an HTML page
	declared       time.Duration // the lifetime that the server declared; -1 if none
	tag            string        // the entity tag of the copy
	dated          bool          // the copy has a Last-Modified date
	fetched, until time.Time     // the lifetime of the copy
	access         policy.Access
	clause         string
	down           time.Time     // the first failure of an outage; zero if there is none
	lasted         time.Duration // the observed length of the outage at the last fetch
	planned        time.Time     // the next fetch
	answered, held bool
	failures       int       // failed fetches of the outage, for the doubling
	early          int       // failed fetches of the outage after which a shorter Retry-After is obeyed
	first, last    time.Time // bounds of the time of the next fetch
}

// A meaning is a kind of attempt.
type meaning int

const (
	asBroken           meaning = iota // no answer, or an incomplete one
	asFailing                         // the answer of a server that fails
	asRefused                         // a redirect that must not be followed
	asPatience                        // an answer that asks for patience
	asBusy                            // a 429, which Google treats as a server error
	asNotNow                          // an answer that speaks of the request and not of the file
	asProxy                           // an answer of our own proxy
	asShut                            // too many redirects, in a careful profile
	asBeyond                          // too many redirects
	asGone                            // there is no file
	asPretended                       // a server error that stands for a 404
	asDenied                          // there is no file for us, for now
	asClosed                          // the site is closed
	asFile                            // a file
	asMaybe                           // a file if it has rules
	asNothing                         // an empty file
	asConfirmed                       // the copy is confirmed
	asRefusedCondition                // our condition is refused
)

// meanings are the meanings of statuses in most profiles, by the status or by its class.
var meanings = map[int]meaning{
	200: asFile, 202: asMaybe, 204: asNothing, 206: asBroken, 404: asGone, 407: asProxy, 408: asNotNow, 410: asGone, 421: asNotNow, 425: asNotNow, 429: asPatience,
	1: asFailing, 2: asFile, 3: asFailing, 4: asDenied, 5: asFailing, 6: asFailing, 7: asFailing, 8: asFailing, 9: asFailing,
}

// exceptions are the meanings that differ in one profile.
var exceptions = map[string]map[int]meaning{
	"strict":     {400: asPatience, 401: asPatience, 403: asPatience},
	"google":     {407: asDenied, 408: asDenied, 421: asDenied, 425: asDenied, 429: asBusy},
	"google2019": {407: asDenied, 408: asDenied, 421: asDenied, 425: asDenied, 429: asDenied},
	"koster1996": {401: asClosed, 403: asClosed, 404: asGone, 4: asPatience},
}

// own returns the meaning of a status in the profile. Numbers that are no status are broken.
func (r *reference) own(status int) meaning {
	if status < 100 || status > 999 {
		return asBroken
	}
	special := exceptions[r.profile]
	if m, ok := special[status]; ok {
		return m
	}
	if m, ok := special[status/100]; ok {
		return m
	}
	if m, ok := meanings[status]; ok {
		return m
	}
	return meanings[status/100]
}

// means returns the meaning of an attempt.
func (r *reference) means(a policy.Attempt) meaning {
	hops, careful := 5, r.profile == "strict" || r.profile == "koster1996"
	if r.profile == "koster1996" {
		hops = 10
	}
	m, redirect := r.own(a.Status), a.Status == 301 || a.Status == 302
	switch {
	case a.Err != nil && strings.Contains(a.Err.Error(), "egress"):
		return asRefused
	case a.Err != nil:
		return asBroken
	case r.pretended(a):
		return asPretended
	case redirect && (len(a.Hops) >= hops || a.Header.Get("Location") == "/robots.txt"):
		if careful {
			return asShut
		}
		return asBeyond
	case a.Status == 304 && r.validators():
		return asConfirmed
	case (a.Status == 400 || a.Status == 412) && r.validators():
		return asRefusedCondition
	case m == asMaybe && strings.Contains(string(a.Body), "Disallow"):
		return asFile
	case m == asMaybe:
		return asFailing
	}
	return m
}

// pretended reports whether a server error stands for a 404.
func (r *reference) pretended(a policy.Attempt) bool {
	if a.Probe == nil || r.copied || a.Served != "" && a.Served != robots || len(a.Hops) > 0 && a.Served == "" || !strings.HasPrefix(r.profile, "google") {
		return false
	}
	return a.Status/100 == 5 && a.Probe.Root/100 == 2 && a.Probe.Missing == a.Status
}

// validators reports whether the next request is conditional.
func (r *reference) validators() bool {
	return r.copied && (r.tag != "" || r.dated) && !strings.HasPrefix(r.profile, "google")
}

// lifetime returns the lifetime of a file that was received or confirmed with a header
// line. Without a declaration in the line the earlier one stays.
func (r *reference) lifetime(header string) time.Duration {
	usual, most, age := days, days, time.Duration(0)
	switch r.profile {
	case "koster1996":
		usual, most = 7*days, 365*days
	case "google", "google2019":
		most = 7 * days
	}
	switch header {
	case " + Cache-Control: no-store", " + Expires: 0":
		r.declared = 0
	case " + Cache-Control: max-age=3600":
		r.declared = time.Hour
	case " + Cache-Control: max-age=99999999999", " + Expires: Fri, 31 Dec 9999 23:59:59 GMT":
		r.declared = most
	case " + Age: 3600":
		age = time.Hour
	case " + Age: 99999999999":
		age = forever
	}
	life := max(usual-age, time.Hour) // undeclared
	switch {
	case r.declared == 0:
		life = time.Minute
	case r.declared > 0 && age >= r.declared:
		life = time.Hour
	case r.declared > 0:
		life = r.declared - age
	}
	if r.html {
		return min(life, time.Hour)
	}
	return life
}

// learn is Learn for an attempt with one header line. It is learnt just after the record
// before it, unless that is from the future. But a failed fetch that began before the last
// answer changes nothing.
func (r *reference) learn(a policy.Attempt, header string, now time.Time) {
	m := r.means(a)
	behind := !r.asked.Before(now) && !r.asked.After(now.Add(time.Minute))
	if behind && r.spoken.After(now.Add(time.Microsecond)) && r.failed(m) {
		return
	}
	future := r.copied && r.fetched.After(now.Add(time.Minute))
	if future {
		r.fetched, r.until = now, now
	}
	switch m {
	case asFile, asNothing:
		text := string(a.Body)
		if m == asNothing {
			text = ""
		}
		r.reached(policy.Successful, "")
		r.copied, r.ruled, r.html = true, strings.Contains(text, "Disallow"), strings.HasPrefix(text, "<")
		r.declared = -1
		r.tag, r.dated = a.Header.Get("Etag"), a.Header.Get("Last-Modified") != ""
		r.live(now, header)
	case asConfirmed:
		r.reached(policy.Successful, "")
		if tag := a.Header.Get("Etag"); tag != "" && r.tag != "" && tag != r.tag {
			r.tag, r.dated, r.until = "", false, time.Time{}
			r.next(now, -time.Minute, 0)
			break
		}
		if tag := a.Header.Get("Etag"); tag != "" {
			r.tag = tag
		}
		r.dated = r.dated || a.Header.Get("Last-Modified") != ""
		r.live(now, header)
	case asRefusedCondition:
		r.reached(policy.Successful, "")
		r.tag, r.dated = "", false
		r.next(now, -time.Minute, -time.Minute)
	case asGone, asPretended, asDenied, asClosed, asBeyond:
		r.without(m, now, future)
	default:
		lasted, down := r.lasted, !r.down.IsZero()
		if r.fails(m, r.own(a.Status), header, now); behind && down {
			r.lasted = max(r.lasted, lasted)
		}
	}
	learnt := now
	if behind {
		learnt = r.asked.Add(1)
	}
	if r.asked = learnt; !r.failed(m) {
		r.spoken = learnt
	} else if r.spoken.After(now) {
		r.spoken = now
	}
}

// failed reports whether an attempt begins an outage or continues it.
func (r *reference) failed(m meaning) bool {
	switch m {
	case asFile, asNothing, asConfirmed, asRefusedCondition, asGone, asPretended, asDenied, asClosed, asBeyond:
		return false
	}
	return true
}

// reached ends an outage.
func (r *reference) reached(access policy.Access, clause string) {
	r.access, r.clause, r.down, r.failures, r.answered, r.held = access, clause, time.Time{}, 0, false, false
}

// live starts the lifetime of the copy.
func (r *reference) live(now time.Time, header string) {
	life := r.lifetime(header)
	r.fetched, r.until = now, now.Add(life)
	r.next(now, life, life)
}

func (r *reference) next(now time.Time, first, last time.Duration) {
	r.first, r.last = now.Add(first), now.Add(last)
}

// without is learn for an answer that says that there is no file.
func (r *reference) without(m meaning, now time.Time, future bool) {
	again, keep := time.Hour, time.Time{}
	r.reached(policy.Unavailable, "2.3.1.3")
	switch m {
	case asGone:
		again = days
	case asPretended:
		r.clause, again = "house", time.Hour
	case asClosed:
		r.access, r.clause, again = policy.Restricted, "house", days
	case asBeyond:
		r.clause = "2.3.1.2"
	}
	switch {
	case !r.copied || future || m == asClosed || m == asBeyond:
	case r.profile == "draft2019":
		if keep = r.fetched.Add(days); keep.Before(r.until) {
			keep = r.until
		}
	case m == asDenied && r.profile != "google2019":
		keep = r.until
	}
	if r.until = keep; keep.After(now) {
		again = min(again, keep.Sub(now))
	} else {
		r.copied, r.tag, r.dated, r.html = false, "", false, false
	}
	again = max(again, time.Minute)
	r.next(now, again, again)
}

// fails begins or continues an outage. The status tells about the server even if the
// body broke off.
func (r *reference) fails(m, status meaning, header string, now time.Time) {
	if r.down.IsZero() {
		r.down, r.failures, r.early, r.lasted = now, 0, 0, 0
	} else if !r.held {
		r.lasted += min(max(now.Sub(r.asked), 0), max(2*r.planned.Sub(r.asked), time.Hour))
	}
	if now.Before(r.down) {
		r.down = now
	}
	r.lasted = min(r.lasted, now.Sub(r.down))
	r.access, r.clause = policy.Unreachable, "2.3.1.4"
	switch m {
	case asPatience, asBusy, asNotNow, asProxy:
		r.clause = "house"
	case asShut:
		r.clause = "2.3.1.2"
	}
	r.held = status == asPatience
	for _, sign := range []meaning{asFailing, asBusy, asNotNow, asRefused, asShut} {
		r.answered = r.answered || m == sign || status == sign
	}
	step := time.Hour
	if now.Sub(r.down) >= days {
		step = 6 * time.Hour
	}
	step = min(step, time.Minute<<min(r.failures, 20))
	first, last := max(step/2, time.Minute), step
	switch {
	case r.lasted >= 30*days && r.copied && (r.profile == "rfc9309" || r.profile == "google2019" || r.profile == "draft2019"):
		first, last = days, days
	case r.lasted >= 30*days:
		first, last = time.Hour, time.Hour
	case m == asRefused || m == asShut:
		first, last = time.Hour, time.Hour
	}
	asked := map[string]time.Duration{
		" + Retry-After: 5": 5 * time.Second, " + Retry-After: 7200": 2 * time.Hour, " + Retry-After: 99999999999999999999": days,
	}[header]
	if asked > 0 && asked < first && r.failures+r.early < 3 {
		r.early++
		r.next(now, asked, asked)
		return
	}
	r.failures++
	r.next(now, max(first, asked), max(last, asked))
}

// rules returns the decision by the rules of the copy.
func (r *reference) rules(stale, clause string) string {
	switch {
	case r.ruled && clause == "":
		clause = "2.2.2"
	case clause == "":
		clause = "2.2.1"
	}
	if r.ruled {
		return "disallow" + stale + " " + clause
	}
	return "allow" + stale + " " + clause
}

// outcomeOf returns a decision as ask does.
func outcomeOf(d policy.Decision) string {
	if d.Stale {
		return d.Verdict.String() + " stale " + d.Clause
	}
	return d.Verdict.String() + " " + d.Clause
}

// ask returns the decision at a moment. The next fetch is due at next.
func (r *reference) ask(now, next time.Time) string {
	future := now.Before(r.asked.Add(-time.Minute))
	switch {
	case r.copied && now.Before(r.until) && !future:
		return r.rules("", "")
	case !r.down.IsZero():
		lasted := r.lasted
		if !r.held {
			lasted += max(min(now.Sub(r.asked), next.Sub(r.asked)), 0)
		}
		return r.outage(lasted)
	case !now.Before(next) || future:
		return "defer 2.4"
	case r.access == policy.Unavailable:
		return "allow " + r.clause
	}
	return "disallow " + r.clause
}

// outage returns the decision in an outage of an observed length.
func (r *reference) outage(lasted time.Duration) string {
	long, old, open := lasted >= 30*days, "", "" // clauses of an expired copy and of access without a copy; "": not permitted
	switch r.profile {
	case "rfc9309", "draft2019":
		old = "2.4"
		if long {
			old = "2.3.1.4"
		}
		if long && r.answered {
			open = "2.3.1.4"
		}
	case "google":
		switch {
		case long && r.answered:
			open = "2.3.1.4"
		case !long && lasted >= 12*time.Hour:
			old, open = "house", "house"
		}
	case "google2019":
		if long {
			old, open = "2.3.1.4", "2.3.1.4"
		}
	}
	switch {
	case old != "" && r.copied:
		return r.rules(" stale", old)
	case open != "" && !r.held:
		return "allow " + open
	}
	return "defer " + r.clause
}

// TestReference compares Learn with the reference on random histories. Each record is
// stored and loaded after every step.
func TestReference(t *testing.T) {
	n := 600
	if testing.Short() {
		n = 150
	}
	for seed := range n {
		for _, name := range names {
			if agree(t, name, rand.New(rand.NewPCG(uint64(seed), 2022)).IntN); t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

// agree compares Learn with the reference on one history. Draw chooses it: draw(n) is
// at least 0 and less than n.
func agree(t *testing.T, name string, draw func(n int) int) {
	p, r := profile(t, name), &reference{profile: name}
	texts := []string{"User-agent: *\nDisallow: /\n", "User-agent: *\nDisallow: /p\n", "", "<html>"}
	var rec *policy.Record
	var log strings.Builder
	now := start
	for steps := 1 + draw(12); steps > 0 && !t.Failed(); steps-- {
		event, header := events[draw(len(events))], headers[draw(len(headers))]
		a := attempt(t, event+header, now)
		a.Body = []byte(texts[draw(len(texts))])
		fmt.Fprintf(&log, "%v: %s%s %q\n", now.Sub(start), event, header, a.Body)
		r.learn(a, header, now)
		rec = reload(t, p, p.Learn(rec, a))
		for _, after := range append([]time.Duration{12*time.Hour - 2*time.Millisecond, 12*time.Hour + time.Millisecond, 30*days - time.Hour, 30*days + time.Hour}, delays...) {
			after += time.Millisecond // fetches of one moment are learnt a nanosecond apart
			got := outcomeOf(rec.Decide("ExampleBot", private, now.Add(after)))
			if want := r.ask(now.Add(after), rec.NextTry()); got != want {
				t.Errorf("%s, %v after\n%sgot  %s\nwant %s", name, after, &log, got, want)
			}
		}
		r.planned = rec.NextTry()
		if next := rec.NextTry(); next.Before(r.first) || next.After(r.last) {
			t.Errorf("%s, after\n%sgot  next try after %v\nwant %v to %v", name, &log, next.Sub(now), r.first.Sub(now), r.last.Sub(now))
		}
		if got := rec.Validators() != nil; got != r.validators() {
			t.Errorf("%s, after\n%sgot  validators %v\nwant %v", name, &log, rec.Validators(), r.validators())
		}
		next := rec.NextTry()
		if next.Before(now) { // due at once
			next = now
		}
		if now = now.Add(delays[draw(len(delays))]); draw(3) == 0 && next.After(now) {
			now = next
		}
	}
}

// TestEveryStatus compares the decision right after each status with the reference: without a copy, with a
// current one and with an expired one.
func TestEveryStatus(t *testing.T) {
	const header = " + Cache-Control: max-age=3600"
	for _, name := range names {
		p := profile(t, name)
		for status := 99; status <= 1000; status++ {
			for _, age := range []time.Duration{0, 30 * time.Minute, 2 * time.Hour} {
				r, now := &reference{profile: name}, start.Add(age)
				var rec *policy.Record
				if age > 0 {
					a := attempt(t, "200 shut"+header, start)
					r.learn(a, header, start)
					rec = p.Learn(nil, a)
					r.planned = rec.NextTry()
				}
				a := attempt(t, fmt.Sprint(status), now)
				r.learn(a, "", now)
				rec = p.Learn(rec, a)
				now = now.Add(time.Millisecond) // fetches of one moment are learnt a nanosecond apart
				got, want := outcomeOf(rec.Decide("ExampleBot", private, now)), r.ask(now, rec.NextTry())
				if next := rec.NextTry(); got != want || next.Before(r.first) || next.After(r.last) {
					t.Errorf("2.3.1/status %d, %s, a copy of %v:\ngot  %s, next try at %v\nwant %s, next try from %v to %v", status, name, age, got, next, want, r.first, r.last)
				}
			}
		}
	}
}
