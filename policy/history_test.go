package policy_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/rfc9309/polite/policy"
)

// A history is a random life of one authority: events, headers and the time
// between, drawn from lists that hold all that the profiles tell apart. The
// rules of the files close every page, so that allow always needs a reason, and
// a model of a few lines, below, keeps book of the reasons there are.
type history struct {
	t      testing.TB
	p      *policy.Profile
	rec    *policy.Record
	now    time.Time
	log    []string
	ledger ledger
}

// ledger is what the profile's own words permit, kept without looking at the
// record.
type ledger struct {
	witness bool          // the last answer permits access by itself: no file, or a file without rules
	last    time.Time     // when it was
	down    time.Time     // the first failure since an answer; zero if there is none
	lasted  time.Duration // the observed length of the outage when it was last fetched
	planned time.Time     // the next fetch
	held    bool          // the last answer asked for patience
	copied  bool          // a file with rules was had at some time
}

// reading is a profile in the terms of the ledger.
type reading struct {
	open      time.Duration // from then on an outage without a copy may allow; 0: never
	stale     time.Duration // from then on a copy past its time may be used
	staleEnd  time.Duration // until then; 0: not at all
	most      time.Duration // the longest lifetime
	busyAllow bool          // 429 permits access
	busyError bool          // 429 is a server error like any other
	shut      bool          // 4xx but 404 permits nothing
	careful   bool          // 401, 403 and too many redirects permit nothing
}

const (
	days    = 24 * time.Hour
	forever = 1 << 62
)

var readings = map[string]reading{
	"rfc9309":    {open: 30 * days, staleEnd: forever, most: days},
	"strict":     {most: days, careful: true},
	"google":     {open: 12 * time.Hour, stale: 12 * time.Hour, staleEnd: 30 * days, most: 7 * days, busyError: true},
	"google2019": {open: 30 * days, stale: 30 * days, staleEnd: forever, most: 7 * days, busyAllow: true},
	"draft2019":  {open: 30 * days, staleEnd: forever, most: days},
	"koster1996": {most: 365 * days, shut: true, careful: true},
}

var (
	events = []string{
		"200", "200", "200 cut", "202", "204", "206", "200 body", "200 timeout", "304", "304", "301", "301 after 4", "301 after 5", "301 after 10",
		"302 redirect_refused", "404", "404", "404 body", "410", "401", "403", "400", "407", "408", "412", "429", "429", "500", "503", "503", "599", "600", "999", "101", "0", "-1",
		"dns", "connect", "tls", "timeout", "protocol", "network",
	}
	headers = []string{
		"", "", "", ` + ETag: "a"`, ` + ETag: "b"`, " + Last-Modified: Fri, 01 May 2020 00:00:00 GMT", " + Cache-Control: no-store",
		" + Cache-Control: max-age=3600", " + Cache-Control: max-age=99999999999", " + Expires: 0", " + Age: 99999999999", " + Age: 3600",
		" + Retry-After: 7200", " + Retry-After: 99999999999999999999", " + Expires: Fri, 31 Dec 9999 23:59:59 GMT",
		" + Location: /x", " + Location: /robots.txt", " + Location: /x", " + Location: /x + Retry-After: soon",
	}
	files  = []string{"User-agent: *\nDisallow: /\n", "User-agent: *\nDisallow: /\n", "User-agent: *\nDisallow: /p\n", "", "<html>"}
	delays = []time.Duration{
		0, time.Second, time.Minute, 10 * time.Minute, time.Hour, 12 * time.Hour, 23 * time.Hour, days, days + time.Second,
		29 * days, 30 * days, 31 * days, -2 * time.Minute, -days,
	}
)

// FuzzLearn plays a history written in octets, four a step, and holds every
// promise to it after every step.
func FuzzLearn(f *testing.F) {
	for i := range names {
		f.Add(byte(i), []byte{0, 0, 0, 7, 25, 0, 0, 9, 25, 0, 0, 10, 25, 0, 0, 1})
		f.Add(byte(i), []byte{25, 0, 0, 9, 25, 0, 0, 10, 25, 0, 0, 1, 22, 12, 0, 11})
		f.Add(byte(i), []byte{0, 3, 0, 7, 8, 4, 0, 0, 8, 3, 0, 13, 33, 0, 0, 10})
	}
	f.Fuzz(func(t *testing.T, profile byte, script []byte) {
		live(t, names[int(profile)%len(names)], script)
	})
}

// TestRandomHistories is the same on drawn scripts.
func TestRandomHistories(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 200
	}
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 9309))
		script := make([]byte, 4*(1+r.IntN(30)))
		for i := range script {
			script[i] = byte(r.Uint32())
		}
		for _, name := range names {
			if live(t, name, script); t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

func live(t testing.TB, name string, script []byte) {
	h := &history{t: t, p: profile(t, name), now: start}
	script = script[:min(len(script), 4*40)]
	for ; len(script) >= 4 && !t.Failed(); script = script[4:] {
		h.step(script[:4])
	}
}

// step is one event and, after a delay, the questions.
func (h *history) step(s []byte) {
	pick := func(n int, b byte) int { return int(b) % n }
	line := events[pick(len(events), s[0])] + headers[pick(len(headers), s[1])]
	a := attempt(h.t, line, h.now)
	a.Body = []byte(files[pick(len(files), s[2])])
	h.log = append(h.log, fmt.Sprintf("%v: %s %q", h.now.Sub(start), line, a.Body))
	old := h.rec
	h.rec = learn(h.t, h.p, old, a)
	h.note(old, &a)
	h.spacing(old, &a)
	h.stored()
	h.ask()
	h.now = h.now.Add(delays[pick(len(delays), s[3])])
	h.ask()
}

// fail reports a broken promise with the history that broke it.
func (h *history) fail(format string, args ...any) {
	h.t.Helper()
	h.t.Errorf("%s, %s\nafter:\n%s", h.p.Name, fmt.Sprintf(format, args...), h.log)
}

// note enters the attempt into the ledger.
func (h *history) note(old *policy.Record, a *policy.Attempt) {
	l, r := &h.ledger, readings[h.p.Name]
	rules := len(a.Body) > 10 && a.Status != 204
	confirmed := (a.Status == 304 || a.Status == 400 || a.Status == 412) && old.Validators() != nil
	if l.down.IsZero() {
		l.lasted = 0
	} else if !l.held {
		l.lasted += min(max(h.now.Sub(l.last), 0), max(2*l.planned.Sub(l.last), time.Hour))
	}
	l.planned = h.rec.NextTry()
	l.last, l.witness, l.held = h.now, false, a.Status == 429 && !r.busyAllow && !r.busyError
	switch {
	case a.Err != nil:
		l.fails(h.now)
	case a.Status >= 200 && a.Status < 300 && a.Status != 206 && (rules || a.Status != 202):
		l.down, l.witness, l.copied = time.Time{}, !rules, rules
	case confirmed:
		l.down = time.Time{}
	case permits(a, r, h.p.Hops):
		l.down, l.witness = time.Time{}, true
	case h.p.Name == "koster1996" && (a.Status == 401 || a.Status == 403):
		l.down = time.Time{}
	default:
		l.fails(h.now)
	}
}

func (l *ledger) fails(now time.Time) {
	if l.down.IsZero() || now.Before(l.down) {
		l.down = now
	}
}

// permits reports whether the answer by itself says that there is no file.
func permits(a *policy.Attempt, r reading, hops int) bool {
	switch s := a.Status; {
	case s == 404:
		return true
	case s == 429:
		return r.busyAllow
	case s == 407 || s == 408:
		return r.most == 7*days // Google's two texts
	case s >= 400 && s < 500:
		return !r.shut && (!r.careful || s != 400 && s != 401 && s != 403)
	case s == 301:
		return !r.careful && (len(a.Hops) >= hops || a.Header.Get("Location") == "/robots.txt")
	}
	return false
}

// spacing: the next try is never within the floor, but for a 304 that confirms
// nothing, and never further off than a lifetime.
func (h *history) spacing(old *policy.Record, a *policy.Attempt) {
	wait := h.rec.NextTry().Sub(h.now)
	again := (a.Status == 304 || a.Status == 400 || a.Status == 412) && old.Validators() != nil && h.rec.Validators() == nil
	if wait < h.p.Fresh.Least && !(again && wait == -h.p.Fresh.Least) {
		h.fail("the next try is after %v; want at least %v", wait, h.p.Fresh.Least)
	}
	if wait > readings[h.p.Name].most {
		h.fail("the next try is after %v; want at most %v", wait, readings[h.p.Name].most)
	}
	if size := h.rec.Size(); size > 3<<10 {
		h.fail("the record takes %d octets; want at most 3 KiB", size)
	}
}

// stored carries the record through a store, as any crawler may at any time.
func (h *history) stored() {
	before := stored(h.t, h.rec)
	h.rec = reload(h.t, h.p, h.rec)
	if after := stored(h.t, h.rec); !bytes.Equal(before, after) {
		h.fail("stored and loaded is another record")
	}
}

// ask holds the ruling against the ledger. A clock that differs by less than
// the floor is the same clock, for the copy and for the record, hence the minutes.
func (h *history) ask() {
	l, r := &h.ledger, readings[h.p.Name]
	d := decide(h.t, h.rec, private, h.now)
	down := min(l.lasted, max(l.last.Sub(l.down), 0))
	if !l.held {
		down += max(min(h.now.Sub(l.last), l.planned.Sub(l.last)), 0)
	}
	if !d.Fetched.IsZero() {
		age := h.now.Sub(d.Fetched)
		switch {
		case d.Stale && (l.down.IsZero() || down < r.stale || down >= r.staleEnd):
			h.fail("%v after it all a stale copy rules, in an outage of %v", h.now.Sub(start), down)
		case !d.Stale && (age >= r.most || age < -2*time.Minute):
			h.fail("a copy of age %v rules; the longest lifetime is %v", age, r.most)
		}
		if l.copied && d.Allowed() {
			h.fail("allowed against the rules of the copy: %v", d)
		}
		return
	}
	switch {
	case !d.Allowed():
	case l.witness && h.now.Sub(l.last) < r.most && h.now.Sub(l.last) >= -time.Minute:
	case r.open != 0 && !l.down.IsZero() && down >= r.open && !l.held:
	default:
		h.fail("allowed without a witness: %v", d)
	}
}

// FuzzLoad loads anything, with a checksum that fits: no panic, and what loads
// is a record that can be used and stored.
func FuzzLoad(f *testing.F) {
	for _, r := range samples(f, policy.RFC9309()) {
		data := stored(f, r)
		f.Add(data[:len(data)-16])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p := policy.RFC9309()
		r, err := p.Load(reseal(append(body, make([]byte, 16)...)))
		if (err == nil) != (r != nil) {
			t.Fatalf("Load(%q) = %v, %v", body, r, err)
		}
		if err != nil {
			return
		}
		for _, now := range []time.Time{start, start.AddDate(0, 0, 31)} {
			decide(t, r, private, now)
			_ = r.Decide("ExampleBot", private, now).String()
			reload(t, p, p.Learn(r, attempt(t, "503", now)))
		}
	})
}

// FuzzAttempt learns from what no server can send and any stack can fill in, on
// top of a copy or of nothing: no panic, tries that are spaced, and access
// without a copy only by an answer that permits it.
func FuzzAttempt(f *testing.F) {
	f.Add(byte(0), true, 503, robots, "", byte(0), false, byte(0), int64(0), int64(60))
	f.Add(byte(1), false, 302, "", "/r", byte(6), false, byte(0), int64(60), int64(0))
	f.Add(byte(2), true, 304, "%zz", "//[::1", byte(1), true, byte(9), int64(-1), int64(1)<<40)
	f.Add(byte(5), false, 200, "https://cdn.example/r", robots, byte(0), true, byte(3), int64(1)<<62, -int64(1)<<62)
	f.Fuzz(func(t *testing.T, name byte, known bool, status int, served, location string, followed byte, cut bool, class byte, sent, received int64) {
		p := profile(t, names[int(name)%len(names)])
		var old *policy.Record
		if known {
			old = learn(t, p, nil, attempt(t, `200 rules + ETag: "a"`, start))
		}
		a := policy.Attempt{
			Robots: robots, Served: served, Status: status, Header: http.Header{"location": {location}}, Cut: cut,
			Hops: hops(t, fmt.Sprint(followed)), Sent: time.Unix(sent, 0), Received: time.Unix(received, 0),
		}
		if class > 0 {
			a.Err = &policy.Failure{Class: policy.Class(class - 1)}
		}
		now := a.Received
		rec := reload(t, p, learn(t, p, old, a))
		if now.Year() < 1971 || now.Year() >= 2199 {
			rec.Decide("ExampleBot", private, now)
			return
		}
		d := decide(t, rec, private, now)
		wait := rec.NextTry().Sub(now)
		if again := status == 304 && rec.Validators() == nil; wait > p.Fresh.Most || wait < p.Fresh.Least && !again {
			t.Errorf("%s: the next try is after %v; want one between %v and %v", show(a), wait, p.Fresh.Least, p.Fresh.Most)
		}
		if d.Allowed() && d.Fetched.IsZero() && (a.Err != nil || !policy.Redirect(status) && (status < 400 || status > 499)) {
			t.Errorf("%s permits access: %v", show(a), d)
		}
	})
}

// FuzzHeader learns from any header and any body: no panic, and the spacing
// stays within its bounds.
func FuzzHeader(f *testing.F) {
	f.Add(200, "Cache-Control", "max-age=3600, x=\"a", []byte("User-agent: *\nDisallow: /\n"))
	f.Add(302, "Location", "https://[::1]/%zz", []byte(nil))
	f.Add(503, "Retry-After", "120", []byte(nil))
	f.Add(200, "Etag", "W/\"x\"", []byte("\xFF\xFEU\x00"))
	f.Fuzz(func(t *testing.T, status int, field, value string, body []byte) {
		p := policy.RFC9309()
		a := attempt(t, fmt.Sprint(status), start)
		a.Header[field] = []string{value, value}
		a.Body = body
		rec := reload(t, p, learn(t, p, nil, a))
		if wait := rec.NextTry().Sub(start); wait < time.Minute || wait > days {
			t.Errorf("status %d, %s: %q: the next try is after %v", status, field, value, wait)
		}
		d := decide(t, rec, private, start)
		if s := d.String(); len(s) > 2000 {
			t.Errorf("%d octets of ruling: %q", len(s), s)
		}
		if d.Allowed() && d.Access != policy.Successful && (status < 400 || status > 499 || status == 429) && !policy.Redirect(status) {
			t.Errorf("status %d: %v", status, d)
		}
	})
}
