package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
)

// TestRun checks what the sites received from the browser, and how fast.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
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
		`s  shop\.example/old\nshop\.example: 7 requests, 0 of them disallowed, in `,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("output:\n%s\nwant a line that matches %q", out.String(), want)
		}
	}
	// Six times a Crawl-delay of 0.4 seconds. A turn that does not end lasts 30 seconds.
	checkTime(t, out.String(), "shop.example: 7 requests", 2300*time.Millisecond, 25*time.Second)
	// Two gaps of 0.2 seconds, and a pause of one second that the first picture asks for.
	checkTime(t, out.String(), "cdn.example: 4 requests", 1300*time.Millisecond, 25*time.Second)
}

// checkTime checks how long the requests to a site took, from the first to the last.
func checkTime(t *testing.T, out, requests string, least, most time.Duration) {
	t.Helper()
	m := regexp.MustCompile(regexp.QuoteMeta(requests) + `, 0 of them disallowed, in (\S+) \(`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("output:\n%s\nwant %s", out, requests)
	}
	if took, err := time.ParseDuration(m[1]); err != nil || took < least || took > most {
		t.Errorf("output:\n%s\n%s: got %v, %v, want %v to %v", out, requests, took, err, least, most)
	}
}

// TestNoBrowser checks that the example says so if there is no browser.
func TestNoBrowser(t *testing.T) {
	t.Setenv("POLITE_CHROMIUM", "no-such-browser")
	var out bytes.Buffer
	err := run(&out)
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
