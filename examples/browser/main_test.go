package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

// TestRun checks what the sites received from the browser, and how fast.
func TestRun(t *testing.T) {
	local := smallWeb()
	defer local.Close()
	limits := pace.Default()
	limits.Gap = 200 * time.Millisecond
	crawler, err := fetcher.New(agent, &fetcher.Options{Base: local.Transport(), Pace: limits})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	pages := []string{"http://shop.example/shoes", "http://shop.example/old", "http://shop.example/cart"}
	if err := run(&out, crawler, local.Addr(), pages); err != nil {
		t.Fatalf("output:\n%s\n%v", out.String(), err)
	}
	if strings.HasPrefix(out.String(), "No browser is installed") && os.Getenv("POLITE_CHROMIUM") == "" {
		t.Skip("no Chromium or Chrome on this machine")
	}
	for _, want := range []string{
		`s  Document  allow     2\.2\.2    http://shop\.example/shoes\n`,
		`s  Image     allow     2\.3\.1\.3  http://cdn\.example/3\.svg\n`,
		`s  Image     disallow  2\.2\.2    http://shop\.example/track/frame\.svg\n`,
		`s  Script    disallow  2\.2\.2    http://shop\.example/track/visit\.js\n`,
		`s  XHR       allow     2\.2\.2    http://shop\.example/api/stock\n`,
		`s  XHR       disallow  2\.2\.2    http://shop\.example/cart/items\n`,
		`s  Document  disallow  2\.2\.2    http://shop\.example/moved/here\n  no page: net::ERR_BLOCKED_BY_CLIENT\n`,
		`s  Document  disallow  2\.2\.2    http://shop\.example/cart\n  no page: net::ERR_BLOCKED_BY_CLIENT\n`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("output:\n%s\nwant a line that matches %q", out.String(), want)
		}
	}
	for _, want := range []struct {
		host     string
		requests int
		min      time.Duration
	}{
		{"shop.example", 7, 2300 * time.Millisecond}, // six times a Crawl-delay of 0.4 s
		{"cdn.example", 4, 1300 * time.Millisecond},  // two gaps, and a pause of 1 s that the first picture asks for
	} {
		// A turn that does not end lasts 30 seconds.
		n, disallowed, took := requests(local, want.host)
		if n != want.requests || disallowed > 0 || took < want.min || took > 25*time.Second {
			t.Errorf("output:\n%s\n%s: got %d requests, %d of them disallowed, in %v; want %d, 0, %v to 25 s",
				out.String(), want.host, n, disallowed, took, want.requests, want.min)
		}
	}
}

// TestNoBrowser checks that the example says so if there is no browser.
func TestNoBrowser(t *testing.T) {
	t.Setenv("POLITE_CHROMIUM", "no-such-browser")
	var out bytes.Buffer
	err := run(&out, nil, "", nil)
	if want := "No browser is installed: this example needs Chromium or Chrome.\n"; err != nil || out.String() != want {
		t.Errorf("got %q, %v, want %q", out.String(), err, want)
	}
}

// TestFailure checks which failed requests count as failures of their host.
func TestFailure(t *testing.T) {
	for _, test := range []struct {
		name string
		ev   network.EventLoadingFailed
		host bool
	}{
		{"connection reset", network.EventLoadingFailed{ErrorText: "net::ERR_CONNECTION_RESET"}, true},
		{"cancelled by the page", network.EventLoadingFailed{ErrorText: "net::ERR_ABORTED", Canceled: true}, false},
		{"blocked by CORS", network.EventLoadingFailed{ErrorText: "net::ERR_FAILED", CorsErrorStatus: &network.CorsErrorStatus{}}, false},
		{"blocked by a policy", network.EventLoadingFailed{BlockedReason: network.BlockedReasonCsp}, false},
		{"blocked as opaque", network.EventLoadingFailed{ErrorText: "net::ERR_BLOCKED_BY_ORB"}, false},
	} {
		if host := failure(&test.ev) != nil; host != test.host {
			t.Errorf("%s: got a failure of the host: %v, want %v", test.name, host, test.host)
		}
	}
}
