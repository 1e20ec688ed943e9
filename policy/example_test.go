package policy_test

import (
	"encoding/json"
	"fmt"
	"log"
	"net/url"
	"time"

	"github.com/rfc9309/polite/policy"
)

// If robots.txt has never been fetched, nothing may be crawled for 30 days of failed
// fetches.
func ExampleProfile_Learn() {
	p := policy.RFC9309()
	page, _ := url.Parse("https://example.com/")
	began := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

	var rec *policy.Record
	for day := range 32 {
		for now := began.AddDate(0, 0, day); now.Before(began.AddDate(0, 0, day+1)); now = rec.NextTry() {
			rec = p.Learn(rec, policy.Attempt{Robots: "https://example.com/robots.txt", Status: 503, Received: now})
		}
		if day%10 == 1 {
			fmt.Println("day", day, rec.Decide("ExampleBot", page, rec.NextTry()).Verdict)
		}
	}
	// Output:
	// day 1 defer
	// day 11 defer
	// day 21 defer
	// day 31 allow
}

// The profiles decide differently on the same answers.
func ExampleStrict() {
	page, _ := url.Parse("https://example.com/private")
	monday := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	tuesday := monday.AddDate(0, 0, 1)
	for _, p := range []*policy.Profile{policy.RFC9309(), policy.Strict(), policy.Google()} {
		const robots = "https://example.com/robots.txt"
		rec := p.Learn(nil, policy.Attempt{Robots: robots, Status: 200, Body: []byte("User-agent: *\nDisallow: /admin\n"), Received: monday})
		for hours := range 14 {
			now := tuesday.Add(time.Duration(hours) * time.Hour)
			rec = p.Learn(rec, policy.Attempt{Robots: robots, Status: 500, Received: now})
			if d := rec.Decide("ExampleBot", page, now); hours == 1 || hours == 13 {
				fmt.Printf("%s, %d h into an outage: %s\n", p.Name, hours, d.Verdict)
			}
		}
	}
	// Output:
	// rfc9309, 1 h into an outage: allow
	// rfc9309, 13 h into an outage: allow
	// strict, 1 h into an outage: defer
	// strict, 13 h into an outage: defer
	// google, 1 h into an outage: defer
	// google, 13 h into an outage: allow
}

// String explains a decision in one line that may be mailed to a webmaster.
func ExampleDecision_String() {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	rec := policy.RFC9309().Learn(nil, policy.Attempt{
		Robots: "https://example.com/robots.txt", Status: 200, Body: []byte("User-agent: *\nDisallow: /private\n"), Received: now,
	})
	page, _ := url.Parse("https://example.com/private/diary")
	fmt.Println(rec.Decide("ExampleBot", page, now))
	// Output:
	// DISALLOW https://example.com/private/diary: line 2 "Disallow: /private" in group "*" of https://example.com/robots.txt [RFC 9309, section 2.2.2; profile rfc9309]; fetched 2026-05-01T00:00:00Z; next fetch 2026-05-02T00:00:00Z
}

// The JSON form has the fields of Decision in snake_case.
func ExampleDecision_MarshalJSON() {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	rec := policy.RFC9309().Learn(nil, policy.Attempt{Robots: "https://example.com/robots.txt", Status: 404, Received: now})
	page, _ := url.Parse("https://example.com/")
	text, _ := json.MarshalIndent(rec.Decide("ExampleBot", page, now), "", "  ")
	fmt.Println(string(text))
	// Output:
	// {
	//   "verdict": "allow",
	//   "url": "https://example.com/",
	//   "at": "2026-05-01T00:00:00Z",
	//   "clause": "2.3.1.3",
	//   "access": "unavailable",
	//   "match": {
	//     "allowed": false,
	//     "agent": "",
	//     "rule": {
	//       "line": 0,
	//       "allow": false,
	//       "pattern": ""
	//     }
	//   },
	//   "profile": "rfc9309",
	//   "robots": "https://example.com/robots.txt",
	//   "served": "https://example.com/robots.txt",
	//   "status": 404,
	//   "expires": "2026-05-02T00:00:00Z",
	//   "stale": false,
	//   "cause": "status 404 Not Found"
	// }
}

// A record can be stored as bytes and loaded by another process.
func ExampleProfile_Load() {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	p := policy.RFC9309()
	rec := p.Learn(nil, policy.Attempt{Robots: "https://example.com/robots.txt", Status: 404, Received: now})
	data, err := rec.MarshalBinary()
	if err != nil {
		log.Fatal(err)
	}
	rec, err = p.Load(data)
	fmt.Println(rec.Robots(), rec.NextTry().Sub(now), err)

	data[20] ^= 1
	_, err = p.Load(data)
	fmt.Println(err)
	// Output:
	// https://example.com/robots.txt 24h0m0s <nil>
	// policy: the stored record is damaged: its checksum does not fit
}

// A Profile is data. This crawler treats a name that does not resolve as a site
// without robots.txt.
func ExampleProfile() {
	p := policy.RFC9309()
	p.Name = "intranet"
	p.Failures = map[policy.Class]policy.Access{policy.DNS: policy.Unavailable}
	if err := p.Validate(); err != nil {
		log.Fatal(err)
	}
	now := time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC)
	page, _ := url.Parse("http://wiki.example/")
	rec := p.Learn(nil, policy.Attempt{
		Robots: "http://wiki.example/robots.txt", Err: &policy.Failure{Class: policy.DNS}, Received: now,
	})
	d := rec.Decide("ExampleBot", page, now)
	fmt.Println(d.Verdict, d.Clause)
	// Output:
	// allow house
}
