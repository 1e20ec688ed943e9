package policy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/policy"
)

// nilFailure is a nil pointer in an error that is not nil.
var nilFailure *policy.Failure

// foreignAttempts are the rows of TestForeignAttempts.
var foreignAttempts = []struct {
	name  string
	known bool
	a     policy.Attempt
	want  string
	next  time.Duration // 0: not checked
}{
	// Fields that a stack leaves out.
	{"2.3.1.1/no_header", false, policy.Attempt{Status: 200, Body: []byte(bodies["rules"])}, "rules 2.2.2", days},
	{"2.2.1/no_body", false, policy.Attempt{Status: 200}, "allow 2.2.1", days},
	{"2.3.1.3/nothing_but_a_status", false, policy.Attempt{Status: 404}, "allow 2.3.1.3", days},
	{"2.3.1.4/nothing_at_all", false, policy.Attempt{}, "defer 2.3.1.4", time.Minute},
	{"2.3.1.4/a_body_without_a_status", false, policy.Attempt{Body: []byte(bodies["rules"])}, "defer 2.3.1.4", time.Minute},
	{"2.3.1.4/a_copy_and_then_nothing_at_all", true, policy.Attempt{}, "rules stale 2.4", time.Minute},
	{"2.3.1.1/hops_without_served", false, policy.Attempt{Status: 200, Body: []byte(bodies["rules"]), Hops: hops(2)}, "rules 2.2.2", days},
	{"2.3.1.1/served_without_hops", false, policy.Attempt{Status: 200, Body: []byte(bodies["rules"]), Served: "https://cdn.example/r"}, "rules 2.2.2", days},
	{"2.3.1.1/more_hops_than_we_follow", false, policy.Attempt{Status: 200, Body: []byte(bodies["rules"]), Hops: hops(8)}, "rules 2.2.2", days},

	// A stack that does not follow redirects, or stops before we would.
	{"2.3.1.4/a_redirect_nobody_followed", false, policy.Attempt{Status: 301, Header: http.Header{"Location": {"/r"}}}, "defer 2.3.1.4", time.Minute},
	{"2.3.1.4/a_redirect_without_header", false, policy.Attempt{Status: 301}, "defer 2.3.1.4", time.Minute},
	{"2.3.1.2/a_loop_seen_by_location_alone", false, policy.Attempt{Status: 302, Header: http.Header{"Location": {robots}}}, "allow 2.3.1.2", time.Hour},
	{"2.3.1.2/a_sixth_redirect_to_nowhere", false, policy.Attempt{Status: 302, Hops: hops(5)}, "allow 2.3.1.2", time.Hour},
	{"2.3.1.4/stopped_with_an_error", false, policy.Attempt{
		Status: 302, Header: http.Header{"Location": {"/hop6"}}, Hops: hops(5), Err: errors.New("stopped after 5 redirects"),
	}, "defer 2.3.1.4", time.Minute},

	// Names of header fields as HTTP/2 spells them.
	{"2.4/lower_case_cache_control", false, policy.Attempt{Status: 200, Body: []byte(bodies["rules"]), Header: http.Header{"cache-control": {"max-age=600"}}}, "rules 2.2.2", 10 * time.Minute},
	{"2.4/two_spellings_the_shorter", false, policy.Attempt{
		Status: 200, Body: []byte(bodies["rules"]), Header: http.Header{"cache-control": {"max-age=600"}, "CACHE-CONTROL": {"max-age=1200"}, "Cache-Control": {"max-age=900"}},
	}, "rules 2.2.2", 10 * time.Minute},
	{"2.3.1.2/lower_case_location", false, policy.Attempt{Status: 302, Header: http.Header{"location": {robots}}}, "allow 2.3.1.2", time.Hour},
	{"house/lower_case_retry_after", false, policy.Attempt{Status: 429, Header: http.Header{"retry-after": {"7200"}}}, "defer house", 2 * time.Hour},
	{"2.2.1/lower_case_content_type", false, policy.Attempt{Status: 200, Header: http.Header{"content-type": {"text/html"}}}, "allow 2.2.1", time.Hour},

	// Bodies.
	{"2.5/a_body_over_the_limit_that_nobody_cut", false, policy.Attempt{Status: 200, Body: append(lines(500<<10-20, "User-agent: *\n"), "Disallow: /private\nDisallow: /public\n"...)}, "rules 2.2.2", days},
	{"2.3.1.4/a_body_short_of_its_length", false, policy.Attempt{Status: 200, Body: []byte(bodies["rules"]), Header: http.Header{"Content-Length": {"1000"}}}, "defer 2.3.1.4", time.Minute},
	{"2.3.1.4/the_longest_of_several_lengths_counts", false, policy.Attempt{Status: 200, Body: []byte(bodies["rules"]), Header: http.Header{"Content-Length": {fmt.Sprint(len(bodies["rules"])), "500, 1000"}}}, "defer 2.3.1.4", time.Minute},
	{"2.3.1.4/no_body_but_a_length", false, policy.Attempt{Status: 200, Header: http.Header{"Content-Length": {"1"}}}, "defer 2.3.1.4", time.Minute},
	{"2.3.1.4/a_copy_and_then_a_short_body", true, policy.Attempt{Status: 200, Header: http.Header{"content-length": {"1"}}}, "rules stale 2.4", time.Minute},
	{"2.3.1.1/a_body_of_its_length", false, policy.Attempt{Status: 200, Body: []byte(bodies["rules"]), Header: http.Header{"Content-Length": {fmt.Sprint(len(bodies["rules"]))}}}, "rules 2.2.2", days},
	{"2.3.1.1/a_decoded_body_has_another_length", false, policy.Attempt{Status: 200, Body: []byte(bodies["rules"]), Header: http.Header{"Content-Length": {"1000"}, "Content-Encoding": {"gzip"}}}, "rules 2.2.2", days},
	{"2.3.1.1/a_length_that_is_none", false, policy.Attempt{Status: 200, Body: []byte(bodies["rules"]), Header: http.Header{"Content-Length": {"-1"}}}, "rules 2.2.2", days},
	{"2.5/a_body_that_was_cut_in_silence", false, policy.Attempt{Status: 200, Body: lines(500<<10, bodies["rules"]+" "), Header: http.Header{"Content-Length": {"1000000"}}}, "rules 2.2.2", days},
	{"2.5/a_cut_body_is_short", false, policy.Attempt{Status: 200, Body: []byte(bodies["rules"]), Cut: true, Header: http.Header{"Content-Length": {"1000000"}}}, "rules 2.2.2", days},
	{"house/204_has_no_length", false, policy.Attempt{Status: 204, Header: http.Header{"Content-Length": {"10"}}}, "allow 2.2.1", days},

	// Errors.
	{"2.3.1.4/a_plain_error", false, policy.Attempt{Err: io.ErrUnexpectedEOF}, "defer 2.3.1.4", time.Minute},
	{"2.3.1.4/an_error_beside_a_whole_file", false, policy.Attempt{Status: 200, Body: []byte(bodies["rules"]), Err: io.ErrUnexpectedEOF}, "defer 2.3.1.4", time.Minute},
	{"2.3.1.4/the_budget_ends", true, policy.Attempt{Err: fmt.Errorf("GET: %w", context.DeadlineExceeded)}, "rules stale 2.4", time.Minute},
	{"2.3.1.4/a_failure_without_a_cause", false, policy.Attempt{Err: &policy.Failure{Class: policy.TLS}}, "defer 2.3.1.4", time.Minute},
	{"2.3.1.4/a_failure_of_no_class", false, policy.Attempt{Err: &policy.Failure{Class: 200}}, "defer 2.3.1.4", time.Minute},
	{"2.3.1.4/a_nil_failure", false, policy.Attempt{Status: 200, Body: []byte(bodies["rules"]), Err: nilFailure}, "defer 2.3.1.4", time.Minute},
	{"2.3.1.4/a_nil_failure_in_a_chain", false, policy.Attempt{Err: fmt.Errorf("GET: %w", nilFailure)}, "defer 2.3.1.4", time.Minute},
	{"2.3.1.4/several_errors", false, policy.Attempt{Err: errors.Join(io.EOF, &policy.Failure{Class: policy.Egress})}, "defer 2.3.1.4", time.Hour},

	// Numbers that are out of range.
	{"2.3.1.4/a_status_of_any_size", false, policy.Attempt{Status: 1<<31 - 1}, "defer 2.3.1.4", time.Minute},
	{"2.3.1.4/a_negative_status", false, policy.Attempt{Status: -404}, "defer 2.3.1.4", time.Minute},
	{"2.3.1.4/99_is_no_status", false, policy.Attempt{Status: 99}, "defer 2.3.1.4", time.Minute},

	// A 304 to a request without validators.
	{"house/304_without_validators", true, policy.Attempt{Status: 304}, "rules stale 2.4", time.Minute},
}

// TestForeignAttempts learns from attempts that other HTTP stacks than the fetcher may
// fill: fields are missing, spelt in another way, or contradict each other. The test
// fills in Robots and Received. Known means that there is an expired copy of rules.
func TestForeignAttempts(t *testing.T) {
	for _, tt := range foreignAttempts {
		t.Run(tt.name, func(t *testing.T) {
			p := policy.RFC9309()
			var rec *policy.Record
			now := start.Add(2 * days)
			if tt.known {
				rec = reload(t, p, learn(t, p, nil, attempt(t, "200 rules", start)))
			}
			tt.a.Robots, tt.a.Received = robots, now
			rec = reload(t, p, learn(t, p, rec, tt.a))
			if got := outcome(t, rec, now); got != tt.want {
				t.Errorf("%s\ngot  %s\nwant %s", show(tt.a), got, tt.want)
			}
			if got := rec.NextTry().Sub(now); got != tt.next {
				t.Errorf("%s\ngot  next try after %v\nwant %v", show(tt.a), got, tt.next)
			}
		})
	}
}

// show formats an attempt, with the length of its body.
func show(a policy.Attempt) string {
	return fmt.Sprintf("status %d, header %v, %d bytes, %d hops, error %v", a.Status, a.Header, len(a.Body), len(a.Hops), a.Err)
}

// lines returns n bytes: the text and then short comments.
func lines(n int, text string) []byte {
	return []byte(text + strings.Repeat("#\n", (n-len(text))/2))
}

// TestTimesLeftOut checks that an attempt without times counts as long past: a fetch is
// due, and the attempt is not the beginning of an outage.
func TestTimesLeftOut(t *testing.T) {
	p := policy.RFC9309()
	for _, tt := range []struct{ name, event, want, later string }{
		{"2.4/a_file", "200 rules", "defer 2.4", "rules stale 2.4"},
		{"2.3.1.3/no_file", "404", "defer 2.4", "defer 2.3.1.4"},
		{"2.3.1.4/an_outage", "503", "defer 2.3.1.4", "defer 2.3.1.4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := attempt(t, tt.event, start)
			a.Sent, a.Received = time.Time{}, time.Time{}
			rec := reload(t, p, learn(t, p, nil, a))
			if !rec.Due(start) {
				t.Errorf("not due, next try at %v", rec.NextTry())
			}
			if got := outcome(t, rec, start); got != tt.want {
				t.Errorf("%s without a time:\ngot  %s\nwant %s", tt.event, got, tt.want)
			}
			if d := decide(t, rec, private, start); !d.DownSince.IsZero() {
				t.Errorf("%s without a time: down since %v; want no time", tt.event, d.DownSince)
			}
			rec = reload(t, p, learn(t, p, rec, attempt(t, "503", start)))
			if d := decide(t, rec, private, start); !d.DownSince.Equal(start) {
				t.Errorf("%s without a time, then 503: down since %v; want %v", tt.event, d.DownSince, start)
			}
			for _, now := range []time.Time{start, start.Add(29*days + 23*time.Hour)} {
				if got := outcome(t, rec, now); got != tt.later {
					t.Errorf("%s without a time, then 503, after %v:\ngot  %s\nwant %s", tt.event, now.Sub(start), got, tt.later)
				}
			}
		})
	}
	t.Run("2.3.1.4/an_outage_goes_on_without_a_time", func(t *testing.T) {
		rec := learn(t, p, learn(t, p, nil, attempt(t, "503", start)), attempt(t, "503", start.Add(time.Hour)))
		a := attempt(t, "503", start)
		a.Sent, a.Received = time.Time{}, time.Time{}
		if d := decide(t, reload(t, p, learn(t, p, rec, a)), private, start); !d.DownSince.Equal(start) {
			t.Errorf("503 twice, then 503 without a time: down since %v; want %v", d.DownSince, start)
		}
	})
	t.Run("2.4/sent_alone", func(t *testing.T) {
		a := attempt(t, "200 rules", start)
		a.Sent, a.Received = start, time.Time{}
		rec := reload(t, p, learn(t, p, nil, a))
		if got := rec.NextTry().Sub(start); got != days {
			t.Errorf("Sent alone: the next try is after %v; want %v", got, days)
		}
	})
	t.Run("2.4/received_alone", func(t *testing.T) {
		a := attempt(t, "200 rules", start)
		a.Sent = time.Time{}
		rec := reload(t, p, learn(t, p, nil, a))
		if got := rec.NextTry().Sub(start); got != days {
			t.Errorf("Received alone: the next try is after %v; want %v", got, days)
		}
	})
}

// TestZeroRecord checks that a nil or zero Record knows nothing.
func TestZeroRecord(t *testing.T) {
	p := policy.RFC9309()
	for _, r := range []*policy.Record{nil, {}} {
		if !r.Due(start) || !r.NextTry().IsZero() || r.Validators() != nil || r.File() != nil || r.Robots()+r.ServedFrom() != "" || r.Share(nil) != r {
			t.Errorf("%+v has content, want none", r)
		}
		if got := outcome(t, r, start); got != "defer 2.3" {
			t.Errorf("%+v\ngot  %s\nwant defer 2.3", r, got)
		}
		if data, err := r.MarshalBinary(); err == nil {
			t.Errorf("%+v is stored as %q", r, data)
		}
		if got := outcome(t, p.Learn(r, attempt(t, "404", start)), start); got != "allow 2.3.1.3" {
			t.Errorf("%+v, then 404:\ngot  %s\nwant allow 2.3.1.3", r, got)
		}
	}
}

// TestSpansOfAnySize checks that the longest spans in a profile do not overflow.
func TestSpansOfAnySize(t *testing.T) {
	const ever = time.Duration(1<<63 - 1)
	p := policy.RFC9309()
	p.Name = "patient"
	p.Fresh.Default, p.Fresh.Max, p.Retry.MaxRetryAfter, p.Retry.MaxFirstDay, p.Retry.MaxLater, p.Retry.AfterTooManyRedirects, p.Retry.AfterRefusedRedirect = ever, ever, ever, ever, ever, ever, ever
	for i := range p.Status {
		p.Status[i].Interval, p.Status[i].Keep = ever, ever
	}
	for i := range p.Outage {
		p.Outage[i].IntervalWithCopy, p.Outage[i].Interval = ever, ever
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, event := range []string{
		"200 rules", "200 rules + Expires: Fri, 31 Dec 9999 23:59:59 GMT", "404", "403", "503", "dns", "503 + Retry-After: 99999999999999999999",
		"301 after 5 + Location: /x", "302 egress",
	} {
		for _, known := range []bool{false, true} {
			var rec *policy.Record
			if known {
				rec = learn(t, p, nil, attempt(t, "200 rules", start))
			}
			rec = reload(t, p, learn(t, p, rec, attempt(t, event, start.Add(days))))
			if next := rec.NextTry(); next.Before(start.Add(100 * 365 * days)) {
				t.Errorf("%s, known %v: the next try is at %v; want one in a hundred years or later", event, known, next)
			}
		}
	}
}

// TestLongSteps checks that steps that double up to the longest span never become shorter.
func TestLongSteps(t *testing.T) {
	p := policy.Strict()
	p.Name, p.Retry.Min = "slow", 365*days
	p.Retry.MaxFirstDay, p.Retry.MaxLater = 1<<63-1, 1<<63-1
	var rec *policy.Record
	for fails := range 40 {
		rec = reload(t, p, learn(t, p, rec, attempt(t, "503", start.Add(time.Duration(fails)*time.Hour))))
		least := start.Add(365 * days << min(fails, 7) / 2)
		if next := rec.NextTry(); next.Before(least) {
			t.Errorf("2.3.1.4/after %d more failed fetches: the next try is at %v; want %v or later", fails, next, least)
		}
	}
}

// TestSteps checks the steps of 1000 hosts, for several values of Retry.Min. The first step
// is Retry.Min. Each later one is drawn from the upper half of the doubled time: over all
// hosts it is near either end, and never beyond.
func TestSteps(t *testing.T) {
	for _, first := range []time.Duration{time.Second, 10 * time.Second, time.Minute, 90 * time.Second} {
		p := policy.RFC9309()
		p.Retry.Min = first
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		for step := range 4 {
			shortest, longest := time.Duration(1<<62), time.Duration(0)
			for i := range 1000 {
				a := attempt(t, "503", start)
				a.Robots = fmt.Sprintf("https://host%d.example/robots.txt", i)
				rec := p.Learn(nil, a)
				for range step {
					a.Sent, a.Received = rec.NextTry(), rec.NextTry()
					rec = p.Learn(rec, a)
				}
				pause := rec.NextTry().Sub(a.Received)
				shortest, longest = min(shortest, pause), max(longest, pause)
			}
			low, high := first<<step/2, first<<step
			if step == 0 {
				low = first
			}
			if shortest < low || shortest > low*102/100 || longest > high || longest < high*98/100 {
				t.Errorf("2.3.1.4/Retry.Min %v, step %d:\ngot  %v to %v\nwant %v to %v", first, step, shortest, longest, low, high)
			}
		}
	}
}

// TestOutageOfAClockSetBack checks that a clock that was set back shortens the observed
// length of an outage: no outage is longer than the time since its first failed fetch.
func TestOutageOfAClockSetBack(t *testing.T) {
	p := policy.Google()
	var rec *policy.Record
	for now := start; now.Before(start.Add(12 * time.Hour)); now = now.Add(30 * time.Minute) {
		rec = learn(t, p, rec, attempt(t, "503", now))
	}
	back := start.Add(time.Hour)
	rec = reload(t, p, learn(t, p, rec, attempt(t, "503", back)))
	if got := outcome(t, rec, back.Add(40*time.Minute)); got != "defer 2.3.1.4" {
		t.Errorf("2.3.1.4/an outage of 100 minutes:\ngot  %s\nwant defer 2.3.1.4", got)
	}
}

// TestNoStatus checks that no table gives a number under 100 a meaning.
func TestNoStatus(t *testing.T) {
	p := policy.RFC9309()
	p.Name, p.Status = "open", []policy.StatusRule{{From: math.MinInt32, To: math.MaxInt32, Access: policy.Unavailable, Answers: true, Clause: "house", Interval: time.Hour}}
	for _, event := range []string{"0", "-1", "99"} {
		rec := learn(t, p, learn(t, p, nil, attempt(t, event, start)), attempt(t, event, start.Add(30*days)))
		if got := outcome(t, rec, start.Add(30*days)); got != "defer 2.3.1.4" {
			t.Errorf("status %s for 30 days:\ngot  %s\nwant defer 2.3.1.4", event, got)
		}
	}
}

// TestCauses checks Decision.Cause for answers without a file.
func TestCauses(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		a          policy.Attempt
	}{
		{"2.3.1.4/no_answer", "no answer", policy.Attempt{}},
		{"2.3.1.4/nil_failure", "a nil *policy.Failure", policy.Attempt{Err: nilFailure}},
		{"2.3.1.4/status_1", "status 1", policy.Attempt{Status: 1}},
		{"2.3.1.4/not_followed", "status 301, not followed", policy.Attempt{Status: 301, Header: http.Header{"Location": {"/r"}}}},
		{"2.3.1.4/no_location", "status 302: no Location", policy.Attempt{Status: 302}},
		{"2.3.1.4/bad_location", `status 307: a Location with scheme "ftp" and host "a"`, policy.Attempt{Status: 307, Header: http.Header{"Location": {"ftp://a/"}}}},
		{"2.3.1.4/short", "the body is 10 bytes short of its length", policy.Attempt{Status: 200, Header: http.Header{"Content-Length": {"10"}}}},
		{"2.3.1.4/unasked", "status 304 to a request without validators", policy.Attempt{Status: 304}},
		{"2.3.1.4/server_error", "status 503 Service Unavailable", policy.Attempt{Status: 503}},
		{"2.3.1.4/unknown", "status 999", policy.Attempt{Status: 999}},
		{"2.3.1.2/beyond", "more than 5 redirects", policy.Attempt{Status: 301, Hops: hops(5), Header: http.Header{"Location": {"/x"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.a.Robots, tt.a.Received = robots, start
			if got := decide(t, policy.RFC9309().Learn(nil, tt.a), private, start).Cause; got != tt.want {
				t.Errorf("%s\ngot  %s\nwant %s", show(tt.a), got, tt.want)
			}
		})
	}
}

// TestRobotsTxtItself checks that no rule decides on /robots.txt. With a query the URL
// is another page.
func TestRobotsTxtItself(t *testing.T) {
	for _, name := range names {
		p := profile(t, name)
		for _, event := range []string{"200 shut", "503"} {
			rec := learn(t, p, nil, attempt(t, event, start))
			d := decide(t, rec, itself, start)
			if d.Verdict != policy.Allow || d.Clause != "2.2.2" || d.Match.Rule.Line != 0 || !d.RetryAt.IsZero() || !strings.Contains(d.String(), "itself may always be read") {
				t.Errorf("%s after %s:\ngot  %v\nwant allow by 2.2.2 without a rule", name, event, d)
			}
			if d := decide(t, rec, mustParse(robots+"?"), start); d.Allowed() {
				t.Errorf("%s after %s, with a query:\ngot  %v\nwant no access", name, event, d)
			}
		}
	}
}

// TestPasswords checks that a decision never shows the password of a URL.
func TestPasswords(t *testing.T) {
	d := policy.RFC9309().Learn(nil, attempt(t, "404", start)).Decide("ExampleBot", mustParse("https://me:secret@example.com/"), start)
	text, err := d.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{d.URL, d.String(), d.LogValue().String(), string(text)} {
		if strings.Contains(s, "secret") {
			t.Errorf("%s\nwant the password masked", s)
		}
	}
}
