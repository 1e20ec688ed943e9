package policy_test

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rfc9309/polite/policy"
)

// One answer of a new site leads to different decisions in the profiles.
func ExampleByName() {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	page, _ := url.Parse("https://example.com/")
	answers := []int{404, 410, 403, 429, 503}
	fmt.Println("profile", answers)
	for _, name := range []string{"rfc9309", "strict", "google", "google2019", "draft2019", "koster1996"} {
		p, _ := policy.ByName(name)
		fmt.Printf("%-10s", name)
		for _, status := range answers {
			rec := p.Learn(nil, policy.Attempt{Robots: "https://example.com/robots.txt", Status: status, Received: now})
			fmt.Printf(" %v", rec.Decide("ExampleBot", page, now).Verdict)
		}
		fmt.Println()
	}
	_, ok := policy.ByName("bing")
	fmt.Println(ok)
	// Output:
	// profile [404 410 403 429 503]
	// rfc9309    allow allow allow defer defer
	// strict     allow allow defer defer defer
	// google     allow allow allow defer defer
	// google2019 allow allow allow allow defer
	// draft2019  allow allow allow defer defer
	// koster1996 allow defer disallow defer defer
	// false
}

// The default profile has the numbers of the RFC.
func ExampleRFC9309() {
	p := policy.RFC9309()
	fmt.Println("bytes that are read:", p.Limit)
	fmt.Println("redirects that are followed:", p.Hops)
	fmt.Println("a copy is used for", p.Fresh.Max, "at most")
	// Output:
	// bytes that are read: 512000
	// redirects that are followed: 5
	// a copy is used for 24h0m0s at most
}

// In an outage Google fetches nothing for twelve hours and then uses the copy. After
// 30 days a site that answers has no restrictions.
func ExampleGoogle() {
	p := policy.Google()
	const robots = "https://example.com/robots.txt"
	page, _ := url.Parse("https://example.com/private")
	began := time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC)
	rec := p.Learn(nil, policy.Attempt{Robots: robots, Status: 200, Body: []byte("User-agent: *\nDisallow: /private\n"), Received: began.AddDate(0, 0, -1)})
	for hours := range 31 * 24 {
		now := began.Add(time.Duration(hours) * time.Hour)
		rec = p.Learn(rec, policy.Attempt{Robots: robots, Status: 503, Received: now})
		if d := rec.Decide("ExampleBot", page, now); hours == 0 || hours == 12 || hours == 30*24 {
			fmt.Println("after", hours, "hours:", d.Verdict, "stale", d.Stale)
		}
	}
	// Output:
	// after 0 hours: defer stale false
	// after 12 hours: disallow stale true
	// after 720 hours: allow stale false
}

// In 2019 Google treated a site with any 4xx as a site without robots.txt.
func ExampleGoogle2019() {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	page, _ := url.Parse("https://example.com/")
	for _, p := range []*policy.Profile{policy.Google2019(), policy.Google()} {
		rec := p.Learn(nil, policy.Attempt{Robots: "https://example.com/robots.txt", Status: http.StatusTooManyRequests, Received: now})
		fmt.Println(p.Name, rec.Allows("ExampleBot", page, now))
	}
	// Output:
	// google2019 true
	// google false
}

// The draft of 2019 keeps a copy in use after a 404.
func ExampleDraft2019() {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	page, _ := url.Parse("https://example.com/private")
	const robots = "https://example.com/robots.txt"
	for _, p := range []*policy.Profile{policy.RFC9309(), policy.Draft2019()} {
		rec := p.Learn(nil, policy.Attempt{Robots: robots, Status: 200, Body: []byte("User-agent: *\nDisallow: /private\n"), Received: now})
		rec = p.Learn(rec, policy.Attempt{Robots: robots, Status: 404, Received: now.Add(time.Hour)})
		fmt.Println(p.Name, rec.Decide("ExampleBot", page, now.Add(time.Hour)).Verdict)
	}
	// Output:
	// rfc9309 allow
	// draft2019 disallow
}

// The draft of 1996 closes a site that answers 401 or 403.
func ExampleKoster1996() {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	page, _ := url.Parse("https://example.com/")
	rec := policy.Koster1996().Learn(nil, policy.Attempt{Robots: "https://example.com/robots.txt", Status: http.StatusForbidden, Received: now})
	d := rec.Decide("ExampleBot", page, now)
	fmt.Println(d.Verdict, d.Access)
	// Output:
	// disallow restricted
}

// Check returns an error for a profile with numbers that make no sense.
func ExampleProfile_Validate() {
	p := policy.RFC9309()
	p.Limit = 64 << 10
	fmt.Println(p.Validate())
	// Output:
	// policy: Limit is 65536 bytes; RFC 9309, section 2.5, asks for at least 512000
}
