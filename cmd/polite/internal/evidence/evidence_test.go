package evidence

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

var start = time.Date(2026, 5, 1, 10, 0, 0, 123456789, time.UTC)

const robots = "https://example.com/robots.txt"

// attempts are fetches of all kinds, one a day.
var attempts = []policy.Attempt{
	{Status: 200, Header: http.Header{"Cache-Control": {"max-age=60"}, "Etag": {`"1"`}}, Body: []byte("User-agent: *\nDisallow: /a\n")},
	{Status: 304, Header: http.Header{"Etag": {`"1"`}}},
	{Status: 200, Body: []byte("User-agent: *\nDisallow: /\xff\xfe\x00\n"), Cut: true},
	{Status: 200, Hops: []policy.Hop{{From: robots, To: "https://b.test/r", Status: 301, Header: http.Header{"Location": {"https://b.test/r"}}}}},
	{Status: 503, Header: http.Header{"Retry-After": {"120"}}},
	{Err: &policy.Failure{Class: policy.DNS, Err: errors.New("no such host\x1b[31m")}},
	{Err: &policy.Failure{Class: policy.Body}, Status: 200},
	{Err: errors.New("of no class")},
	{Status: 404},
	{Status: 429},
	{Status: 301, Header: http.Header{"Location": {"http://\xff\xfe\x9b:x"}}},
	{Status: 301, Header: http.Header{"Location": {"/\xfe", "/\xff"}}},
	{Err: &policy.Failure{Class: policy.DNS, Err: errors.New(strings.Repeat("\xff", 400))}},
}

// log returns a log of attempts.
func log(t *testing.T) string { return logOf(t, policy.RFC9309(), attempts) }

// logOf returns a log with a fetch a day, and a decision after each.
func logOf(t *testing.T, p *policy.Profile, attempts []policy.Attempt) string {
	var out bytes.Buffer
	l := NewLog(&out)
	l.Begin(Run{Profile: p.Name, Token: "ExampleBot"})
	trace := &fetcher.Trace{}
	l.Trace(trace)
	var rec *policy.Record
	for i, a := range attempts {
		a.Robots, a.Sent = robots, start.AddDate(0, 0, i)
		a.Received = a.Sent.Add(1234567 * time.Nanosecond)
		rec = p.Learn(rec, a)
		trace.Fetched(a, rec)
		for _, path := range []string{"/a", "/\xff", "/%C3%A9?q=<&>"} {
			l.Decided(rec.Decide("ExampleBot", &url.URL{Scheme: "https", Host: "example.com", Path: path}, a.Received.Add(30*time.Second)))
		}
	}
	var none *policy.Record
	own := none.Decide("ExampleBot", &url.URL{Scheme: "https", Host: "example.com", Path: "/robots.txt"}, time.Time{})
	own.Profile = p.Name
	l.Decided(own)
	l.Decided(policy.Decision{URL: "https://example.com/", Override: "ours"})
	if l.Err() != nil {
		t.Fatal(l.Err())
	}
	return out.String()
}

// TestReplay derives all decisions again.
func TestReplay(t *testing.T) {
	var r Replay
	if err := r.Run(strings.NewReader(log(t))); err != nil {
		t.Fatal(err)
	}
	if want := (Replay{Fetches: len(attempts), Decisions: 3*len(attempts) + 1, Others: 1}); r != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
}

// TestReplayOfAProbe derives the decisions again that rest on a Probe.
func TestReplayOfAProbe(t *testing.T) {
	text := logOf(t, policy.Google(), []policy.Attempt{{Status: 503, Probe: &policy.Probe{Root: 200, Missing: 503}}, {Status: 503, Probe: &policy.Probe{Root: 503}}})
	if err := new(Replay).Run(strings.NewReader(text)); err != nil || !strings.Contains(text, `"probe":{"root":200,"missing":503}`) {
		t.Errorf("9/probe: %v\n%s", err, text)
	}
}

// TestTampered finds the first decision that does not follow from a changed log.
func TestTampered(t *testing.T) {
	for _, test := range []struct{ name, from, to string }{
		{"a_rule", `Disallow: /a\n`, `Disallow: /b\n`},
		{"a_verdict", `"verdict":"disallow"`, `"verdict":"allow"`},
		{"a_status", `"status":503`, `"status":404`},
		{"a_time", `"received":"2026-05-01T10:00:00.124691356Z"`, `"received":"2026-05-01T09:00:00Z"`},
		{"a_header", "max-age=60", "max-age=6000"},
		{"a_digest", `"digest":"`, `"digest":"0`},
		{"another_site", `"url":"https://example.com/a"`, `"url":"https://other.test/a"`},
		{"an_allow_of_no_time", "{\"fetched\":", `{"decided":{"verdict":"allow","url":"https://example.com/a","clause":"2.2.1"}}` + "\n{\"fetched\":"},
	} {
		t.Run("9/"+test.name, func(t *testing.T) {
			text := log(t)
			changed := strings.Replace(text, test.from, test.to, 1)
			if changed == text {
				t.Fatalf("the log has no %s", test.from)
			}
			var differs *DifferenceError
			err := new(Replay).Run(strings.NewReader(changed))
			if !errors.As(err, &differs) {
				t.Errorf("got %v, want a difference", err)
			}
		})
	}
}

// TestDamaged reads files that are no logs.
func TestDamaged(t *testing.T) {
	text := log(t)
	_, headless, _ := strings.Cut(text, "\n")
	for name, damaged := range map[string]string{
		"empty": "", "headless": headless, "not_json": "User-agent: *\n", "another_object": "{}\n",
		"cut": text[:len(text)-5], "a_long_line": strings.Repeat(" ", longLine+1),
		"no_such_profile": `{"run": {"profile": "none"}}`,
		"two_runs":        text + text,
		"two_in_a_line":   strings.Replace(text, `{"run":`, `{"decided":{"verdict":"allow","url":"https://example.com/"},"run":`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			var differs *DifferenceError
			if err := new(Replay).Run(strings.NewReader(damaged)); err == nil || errors.As(err, &differs) {
				t.Errorf("got %v, want an error", err)
			}
		})
	}
}
