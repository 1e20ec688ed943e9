package policy_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/policy"
)

const (
	days    = 24 * time.Hour
	forever = 1 << 62
)

// The histories of TestReference and FuzzLearn are drawn from these events, headers and
// delays.
var (
	events = []string{
		"200", "200", "200 cut", "202", "204", "206", "200 body", "200 timeout", "304", "304", "301", "301 after 4", "301 after 5", "301 after 10",
		"302 egress", "404", "404", "404 body", "410", "401", "403", "400", "407", "408", "412", "429", "429", "500", "503", "503", "599", "600", "999", "101", "0", "-1",
		"dns", "connect", "tls", "timeout", "protocol", "other",
		"503 probe 200 503", "500 probe 302 500", "503 probe 200 500", "503 probe 503 503", "503 probe 200 0", "dns probe 200 0", "404 probe 200 404", "503 after 1 probe 200 503", "503 after 1 from https://example.com/robots.txt probe 200 503", "503 from https://cdn.example/r probe 200 503",
	}
	headers = []string{
		"", "", "", ` + ETag: "a"`, ` + ETag: "b"`, " + Last-Modified: Fri, 01 May 2020 00:00:00 GMT", " + Cache-Control: no-store",
		" + Cache-Control: max-age=3600", " + Cache-Control: max-age=99999999999", " + Expires: 0", " + Age: 99999999999", " + Age: 3600",
		" + Retry-After: 5", " + Retry-After: 7200", " + Retry-After: 99999999999999999999", " + Expires: Fri, 31 Dec 9999 23:59:59 GMT",
		" + Location: /x", " + Location: /robots.txt", " + Location: /x", " + Location: /x + Retry-After: soon",
	}
	delays = []time.Duration{
		0, time.Second, time.Minute, 10 * time.Minute, time.Hour, 12 * time.Hour, 23 * time.Hour, days, days + time.Second,
		29 * days, 30 * days, 31 * days, -29 * time.Second, -2 * time.Minute, -days,
	}
)

// FuzzLearn compares Learn with the reference on a history that the script chooses.
func FuzzLearn(f *testing.F) {
	for i := range names {
		f.Add(byte(i), []byte{3, 0, 0, 1, 7, 1, 25, 0, 0, 9, 1, 25, 0, 0, 10, 1})
		f.Add(byte(i), []byte{5, 25, 0, 0, 9, 1, 25, 0, 0, 10, 1, 22, 12, 0, 11, 0})
		f.Add(byte(i), []byte{9, 0, 3, 0, 7, 1, 8, 4, 0, 0, 1, 8, 3, 0, 13, 1, 33, 0, 0, 10, 0})
	}
	f.Fuzz(func(t *testing.T, profile byte, script []byte) {
		agree(t, names[int(profile)%len(names)], func(n int) int {
			if len(script) == 0 {
				return 0
			}
			b := script[0]
			script = script[1:]
			return int(b) % n
		})
	})
}

// FuzzLoad loads any data with a valid checksum. Load must not panic, and a record that
// loads can be used and stored.
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

// FuzzAttempt learns from any attempt, with and without a copy. Learn must not panic, must
// space the fetches, and may allow without a copy only after an answer that permits it.
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
			Hops: hops(int(followed)), Sent: time.Unix(sent, 0), Received: time.Unix(received, 0),
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
		if again := status == 304 && rec.Validators() == nil; wait > p.Fresh.Max || wait < p.Fresh.Min && !again {
			t.Errorf("%s: the next try is after %v; want one between %v and %v", show(a), wait, p.Fresh.Min, p.Fresh.Max)
		}
		if d.Allowed() && d.Fetched.IsZero() && (a.Err != nil || !redirects(status) && (status < 400 || status > 499)) {
			t.Errorf("%s permits access: %v", show(a), d)
		}
	})
}

// FuzzHeader learns from any header and any body. Learn must not panic, and must space
// the fetches.
func FuzzHeader(f *testing.F) {
	f.Add(200, "Cache-Control", "max-age=3600, x=\"a", []byte("User-agent: *\nDisallow: /\n"))
	f.Add(302, "Location", "https://[::1]/%zz", []byte(nil))
	f.Add(503, "Retry-After", "120", []byte(nil))
	f.Add(503, "Retry-After", "1", []byte(nil))
	f.Add(200, "Etag", "W/\"x\"", []byte("\xFF\xFEU\x00"))
	f.Fuzz(func(t *testing.T, status int, field, value string, body []byte) {
		p := policy.RFC9309()
		a := attempt(t, fmt.Sprint(status), start)
		a.Header[field] = []string{value, value}
		a.Body = body
		rec := reload(t, p, learn(t, p, nil, a))
		least := time.Minute
		if strings.EqualFold(field, "Retry-After") {
			least = time.Second
		}
		if wait := rec.NextTry().Sub(start); wait < least || wait > days {
			t.Errorf("status %d, %s: %q: the next try is after %v", status, field, value, wait)
		}
		d := decide(t, rec, private, start)
		if s := d.String(); len(s) > 2000 {
			t.Errorf("%d bytes of decision: %q", len(s), s)
		}
		if d.Allowed() && d.Access != policy.Successful && (status < 400 || status > 499 || status == 429) && !redirects(status) {
			t.Errorf("status %d: %v", status, d)
		}
	})
}
