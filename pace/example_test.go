package pace_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"time"

	"github.com/rfc9309/polite/pace"
)

// A crawler with another HTTP stack asks for a turn before each request, reports the
// answer, and comes back later if the turn cannot come in time.
func Example() {
	p, err := pace.New(&pace.Limits{Gap: time.Second, Parallel: 1, MaxWait: time.Minute}, nil)
	if err != nil {
		panic(err)
	}
	visit := func(status int, header http.Header) {
		turn, err := p.Wait(context.Background(), "https://example.com", 0)
		if refused := (*pace.RefusedError)(nil); errors.As(err, &refused) {
			wait := time.Until(refused.RetryAt).Round(time.Minute)
			fmt.Printf("not now (%s), come back in %v\n", refused.Reason, wait)
			return
		}
		defer turn.Done()
		// The request goes out here.
		turn.Answer(status, header)
		fmt.Println("answered", status)
	}
	visit(429, http.Header{"Retry-After": {"600"}})
	visit(200, nil)
	// Output:
	// answered 429
	// not now (pause), come back in 10m0s
}

// A configuration without meaning is refused with the reason.
func ExampleNew() {
	_, err := pace.New(&pace.Limits{Gap: -time.Second}, nil)
	fmt.Println(err)
	// Output:
	// pace: Limits.Gap is -1s; want a positive duration, or 0 for none
}

// A Crawl-delay that is not obeyed in full is reported once. Obstacle shows its effect
// without taking a turn.
func ExampleOptions() {
	p, err := pace.New(&pace.Limits{Gap: time.Second, DelayCap: 30 * time.Minute}, &pace.Options{
		OnDelay: func(authority string, asked, obeyed time.Duration) {
			fmt.Printf("%s asks for %v between requests and gets %v\n", authority, asked, obeyed)
		},
	})
	if err != nil {
		panic(err)
	}
	const day = 24 * time.Hour // Crawl-delay: 86400
	turn, err := p.Wait(context.Background(), "https://example.com", day)
	if err != nil {
		panic(err)
	}
	turn.Done()
	next, _ := p.Obstacle("https://example.com", day)
	fmt.Printf("the next one in %v, because of %s\n", time.Until(next.RetryAt).Round(time.Minute), next.Reason)
	// Output:
	// https://example.com asks for 24h0m0s between requests and gets 30m0s
	// the next one in 30m0s, because of crawl_delay
}

// With Turn.Sent the gap counts from when the request was written, however long the
// connection took.
func ExampleTurn_Sent() {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	p, err := pace.New(&pace.Limits{Gap: time.Second}, nil)
	if err != nil {
		panic(err)
	}
	turn, err := p.Wait(context.Background(), server.URL, 0)
	if err != nil {
		panic(err)
	}
	defer turn.Done()
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { turn.Sent() },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		panic(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	turn.Answer(resp.StatusCode, resp.Header)
	fmt.Println(resp.StatusCode)
	// Output:
	// 404
}

// Retry-After stops all requests to this authority, and to no other.
func ExampleTurn_Answer() {
	p, err := pace.New(&pace.Limits{}, nil)
	if err != nil {
		panic(err)
	}
	turn, err := p.Wait(context.Background(), "https://example.com", 0)
	if err != nil {
		panic(err)
	}
	turn.Answer(http.StatusServiceUnavailable, http.Header{"Retry-After": {"120"}})
	turn.Done()
	for _, authority := range []string{"https://example.com", "https://example.net"} {
		if o, waits := p.Obstacle(authority, 0); waits {
			fmt.Printf("%s: %v %q\n", authority, time.Until(o.RetryAt).Round(time.Minute), o.Reason)
		} else {
			fmt.Printf("%s: free\n", authority)
		}
	}
	// Output:
	// https://example.com: 2m0s "pause"
	// https://example.net: free
}

// A crawl keeps to two requests a second for each registrable domain, whatever its hosts,
// and to 50 requests at once in all. One host has limits of its own.
func ExampleScope() {
	p, err := pace.New(pace.Default(), nil)
	if err != nil {
		panic(err)
	}
	scopes := func(authority, host string) []pace.Scope {
		s := []pace.Scope{ // the scope with the fewest requests first
			{Key: pace.Domain(host), Limits: pace.Limits{Gap: 500 * time.Millisecond}},
			{Key: "all", Limits: pace.Limits{Parallel: 50}},
		}
		if host == "slow.example.net" {
			s = append(s, pace.Scope{Key: authority, Limits: pace.Limits{Gap: 10 * time.Second, Parallel: 1}})
		}
		return s
	}
	for _, host := range []string{"www.example.com", "blog.example.com", "slow.example.net", "slow.example.net"} {
		authority := "https://" + host
		if o, waits := p.Obstacle(authority, 0, scopes(authority, host)...); waits {
			fmt.Printf("%s waits %v for %s\n", host, time.Until(o.RetryAt).Round(100*time.Millisecond), o.Why())
			continue
		}
		turn, err := p.Wait(context.Background(), authority, 0, scopes(authority, host)...)
		if err != nil {
			panic(err)
		}
		// The request goes out here.
		turn.Done()
		fmt.Println(host, "had its turn")
	}
	// Output:
	// www.example.com had its turn
	// blog.example.com waits 500ms for scope "example.com"
	// slow.example.net had its turn
	// slow.example.net waits 10s for gap
}

// Names that resolve to one address share its limits. The crawler remembers the addresses,
// since each call of Address is a look-up.
func ExampleAddress() {
	lookup := func(_ context.Context, _, host string) ([]netip.Addr, error) { // net.DefaultResolver.LookupNetIP
		fmt.Println("look up", host)
		return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
	}
	known := map[string]string{} // with several goroutines, and for days, a cache with an expiry
	scopes := func(host string) []pace.Scope {
		key, ok := known[host]
		if !ok {
			var err error
			if key, err = pace.Address(context.Background(), host, lookup); err != nil {
				return nil // the request will fail for the same reason
			}
			known[host] = key
		}
		return []pace.Scope{{Key: key, Limits: pace.Limits{Parallel: 2}}}
	}
	for _, host := range []string{"a.example", "b.example", "a.example"} {
		fmt.Println(host, scopes(host)[0].Key)
	}
	// Output:
	// look up a.example
	// a.example 192.0.2.1
	// look up b.example
	// b.example 192.0.2.1
	// a.example 192.0.2.1
}
