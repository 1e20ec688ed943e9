package policy_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

	"github.com/rfc9309/polite/policy"
)

// retrieve fetches robots.txt with an HTTP client and fills an Attempt with the result.
// It follows the redirects itself, because their number is limited.
func retrieve(stack *http.Client, p *policy.Profile, old *policy.Record, robots string) policy.Attempt {
	a := policy.Attempt{Robots: robots, Served: robots, Sent: time.Now()}
	for {
		a.Err = ask(stack, p, old, &a)
		to, err := a.Location()
		if a.Err != nil || err != nil || len(a.Hops) == p.Hops {
			a.Received = time.Now()
			return a
		}
		a.Hops = append(a.Hops, policy.Hop{From: a.Served, To: to.String(), Status: a.Status})
		a.Served = to.String()
	}
}

// ask makes one request, to a.Served. It overwrites the answer of the redirect before.
func ask(stack *http.Client, p *policy.Profile, old *policy.Record, a *policy.Attempt) error {
	a.Status, a.Header, a.Body = 0, nil, nil
	req, err := http.NewRequest(http.MethodGet, a.Served, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "ExampleBot/0.1 (+https://example.com/bot)")
	if a.Served == old.ServedFrom() {
		for field, lines := range old.Validators() {
			req.Header[field] = lines
		}
	}
	res, err := stack.Do(req)
	if err != nil {
		return err // better a *policy.Failure, if the class is known
	}
	defer res.Body.Close()
	a.Status, a.Header = res.StatusCode, res.Header
	a.Body, err = io.ReadAll(io.LimitReader(res.Body, int64(p.Limit)+1))
	a.Cut = len(a.Body) > p.Limit
	return err
}

// A crawler with its own HTTP stack fills an Attempt, and keeps one Record for each
// authority.
func Example() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/robots.txt" {
			http.Redirect(w, req, "/static/robots", http.StatusFound)
			return
		}
		fmt.Fprint(w, "User-agent: ExampleBot\nDisallow: /search\n")
	}))
	defer site.Close()
	stack := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

	p := policy.RFC9309()
	var rec *policy.Record
	for _, page := range []string{"/about", "/search?q=x"} {
		target, err := url.Parse(site.URL + page)
		if err != nil {
			log.Fatal(err)
		}
		if rec.Due(time.Now()) {
			rec = p.Learn(rec, retrieve(stack, p, rec, site.URL+"/robots.txt"))
		}
		d := rec.Decide("ExampleBot", target, time.Now())
		fmt.Printf("%s: %s by section %s, %q\n", page, d.Verdict, d.Clause, d.Match.Rule.Pattern)
	}
	// Output:
	// /about: allow by section 2.2.2, ""
	// /search?q=x: disallow by section 2.2.2, "/search"
}
