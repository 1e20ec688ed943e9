package policy_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/rfc9309/polite/policy"
)

// Allows gives no reasons, and allocates nothing.
func ExampleRecord_Allows() {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	rec := policy.RFC9309().Learn(nil, policy.Attempt{
		Robots: "https://example.com/robots.txt", Status: 200, Body: []byte("User-agent: *\nDisallow: /private\n"), Received: now,
	})
	for _, page := range []string{"/", "/private", "/robots.txt"} {
		target, _ := url.Parse("https://example.com" + page)
		fmt.Println(page, rec.Allows("ExampleBot", target, now))
	}
	// Output:
	// / true
	// /private false
	// /robots.txt true
}

// The verdict says what to do with a URL: drop a disallowed URL, and keep a deferred
// one for later.
func ExampleRecord_Decide() {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	page, _ := url.Parse("https://example.com/private")
	for _, answer := range []policy.Attempt{
		{Status: 200, Body: []byte("User-agent: *\nDisallow: /private\n")},
		{Status: 503, Header: http.Header{"Retry-After": {"600"}}},
	} {
		answer.Robots, answer.Received = "https://example.com/robots.txt", now
		d := policy.RFC9309().Learn(nil, answer).Decide("ExampleBot", page, now)
		switch d.Verdict {
		case policy.Allow:
			fmt.Println("fetch it")
		case policy.Disallow:
			fmt.Println("drop it:", d.Rule())
		case policy.Defer:
			fmt.Println("again in", d.RetryAt.Sub(now), "because of", d.Cause)
		}
	}
	// Output:
	// drop it: line 2 "Disallow: /private" in group "*"
	// again in 10m0s because of status 503 Service Unavailable
}

// A server may shorten the lifetime of a copy to a minute. No server may extend it
// beyond a day.
func ExampleRecord_Due() {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for _, header := range []string{"", "max-age=3600", "max-age=31536000", "no-store"} {
		rec := policy.RFC9309().Learn(nil, policy.Attempt{
			Robots: "https://example.com/robots.txt", Status: 200, Header: http.Header{"Cache-Control": {header}}, Received: now,
		})
		next := rec.NextTry()
		fmt.Printf("%q: %v, due %v and then %v\n", header, next.Sub(now), rec.Due(next.Add(-1)), rec.Due(next))
	}
	// Output:
	// "": 24h0m0s, due false and then true
	// "max-age=3600": 1h0m0s, due false and then true
	// "max-age=31536000": 24h0m0s, due false and then true
	// "no-store": 1m0s, due false and then true
}

// The times between the fetches of an outage double. Each is drawn from the upper
// half of its span.
func ExampleRecord_NextTry() {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	var rec *policy.Record
	for most := time.Minute; most <= 8*time.Minute; most *= 2 {
		rec = policy.RFC9309().Learn(rec, policy.Attempt{Robots: "https://example.com/robots.txt", Status: 503, Received: now})
		wait := rec.NextTry().Sub(now)
		fmt.Println(most, most/2 <= wait && wait <= most)
		now = rec.NextTry()
	}
	// Output:
	// 1m0s true
	// 2m0s true
	// 4m0s true
	// 8m0s true
}

// The next request is conditional if it goes to the URL that served the copy.
func ExampleRecord_Validators() {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	p := policy.RFC9309()
	const robots, moved = "https://example.com/robots.txt", "https://cdn.example/robots.txt"
	rec := p.Learn(nil, policy.Attempt{
		Robots: robots, Hops: []policy.Hop{{From: robots, To: moved, Status: 301}}, Status: 200,
		Header: http.Header{"Etag": {`"v1"`}}, Body: []byte("User-agent: *\nDisallow: /private\n"), Received: now,
	})
	fmt.Println("fetched at", rec.Robots())
	fmt.Println("served by", rec.ServedFrom(), rec.Validators())

	rec = p.Learn(rec, policy.Attempt{Robots: robots, Served: moved, Status: 304, Received: now.AddDate(0, 0, 1)})
	fmt.Println("confirmed until", rec.NextTry().Format(time.DateOnly))
	// Output:
	// fetched at https://example.com/robots.txt
	// served by https://cdn.example/robots.txt map[If-None-Match:["v1"]]
	// confirmed until 2026-05-03
}

// A file has more than rules.
func ExampleRecord_File() {
	rec := policy.RFC9309().Learn(nil, policy.Attempt{
		Robots: "https://example.com/robots.txt", Status: 200, Received: time.Now(),
		Body: []byte("User-agent: *\nCrawl-delay: 5\nDisallow: /private\nSitemap: https://example.com/sitemap.xml\n"),
	})
	fmt.Println(rec.File().Sitemaps())
	fmt.Println(rec.File().CrawlDelay("ExampleBot"))
	// Output:
	// [https://example.com/sitemap.xml]
	// 5s true
}

// Thousands of shops run on one platform and serve the same text. A crawler keeps it
// in memory only once.
func ExampleRecord_Share() {
	text := []byte("User-agent: *\nDisallow: /cart\n")
	learn := func(robots string) *policy.Record {
		return policy.RFC9309().Learn(nil, policy.Attempt{Robots: robots, Status: 200, Body: text, Received: time.Now()})
	}
	one, other := learn("https://shoes.example/robots.txt"), learn("https://hats.example/robots.txt")
	other = other.Share(one.Text())
	fmt.Println(other.Robots(), one.Text() == other.Text())
	// Output:
	// https://hats.example/robots.txt true
}

// A memory that is bounded in bytes adds up the sizes of records and texts.
func ExampleRecord_Size() {
	rec := policy.RFC9309().Learn(nil, policy.Attempt{Robots: "https://example.com/robots.txt", Status: 404, Received: time.Now()})
	fmt.Println(rec.Size()+rec.Text().Size("ExampleBot") < 300, rec.File() == nil)
	// Output:
	// true true
}

// The stored form of a record is opaque.
func ExampleRecord_MarshalBinary() {
	rec := policy.RFC9309().Learn(nil, policy.Attempt{Robots: "https://example.com/robots.txt", Status: 410, Received: time.Unix(1e9, 0)})
	data, err := rec.MarshalBinary()
	fmt.Println(len(data) < 200, err)

	var unknown *policy.Record
	_, err = unknown.MarshalBinary()
	fmt.Println(err)
	// Output:
	// true <nil>
	// policy: there is no record to store
}

// Rule answers a webmaster who asks why.
func ExampleDecision_Rule() {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	rec := policy.RFC9309().Learn(nil, policy.Attempt{
		Robots: "https://example.com/robots.txt", Status: 200, Received: now,
		Body: []byte("User-agent: ExampleBot\nDisallow: /shop\nAllow: /shop/offers\n"),
	})
	page, _ := url.Parse("https://example.com/shop/offers/today")
	fmt.Println(rec.Decide("ExampleBot", page, now).Rule())
	// Output:
	// line 3 "Allow: /shop/offers" in group "ExampleBot"
}

// Allowed is false for a deferred URL, too.
func ExampleDecision_Allowed() {
	var unknown *policy.Record
	page, _ := url.Parse("https://example.com/")
	d := unknown.Decide("ExampleBot", page, time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	fmt.Println(d.Verdict, d.Allowed())
	// Output:
	// defer false
}

// A Decision is a group of attributes in a log. Attributes that do not apply are left
// out.
func ExampleDecision_LogValue() {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	rec := policy.RFC9309().Learn(nil, policy.Attempt{Robots: "https://example.com/robots.txt", Status: 404, Received: now})
	page, _ := url.Parse("https://example.com/")
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	log.Info("decision", "robots", rec.Decide("ExampleBot", page, now))
	// Output:
	// level=INFO msg=decision robots.verdict=allow robots.url=https://example.com/ robots.clause=2.3.1.3 robots.access=unavailable robots.profile=rfc9309 robots.robots=https://example.com/robots.txt robots.status=404 robots.expires=2026-05-02T00:00:00.000Z robots.cause="status 404 Not Found"
}

// An HTTP stack that follows redirects itself asks for the next URL.
func ExampleAttempt_Location() {
	a := policy.Attempt{
		Robots: "https://example.com/robots.txt", Status: 301,
		Header: http.Header{"Location": {"//cdn.example/robots.txt#top"}},
	}
	for range 2 {
		to, err := a.Location()
		fmt.Println(to, err)
		a.Header.Set("Location", "ftp://example.com/robots.txt")
	}
	// Output:
	// https://cdn.example/robots.txt <nil>
	// <nil> a Location with scheme "ftp" and host "example.com"
}

// A Failure has a class, for the profile and for metrics.
func ExampleFailure() {
	cause := errors.New("lookup example.com: no such host")
	var err error = &policy.Failure{Class: policy.DNS, Err: cause}
	var f *policy.Failure
	if errors.As(err, &f) {
		fmt.Println(f.Class)
	}
	fmt.Println(errors.Is(err, cause))
	fmt.Println(err)
	// Output:
	// dns
	// true
	// dns: lookup example.com: no such host
}
