package fetcher_test

import (
	"errors"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// TestErrorOfARefusal checks what a log shows of a refused request, and what a retry loop reads
// from it that knows the errors of package net alone.
func TestErrorOfARefusal(t *testing.T) {
	for _, tt := range []struct {
		name    string
		page    string
		options fetcher.Options
		want    string
		retry   bool
	}{
		{"disallow", private, fetcher.Options{},
			`Get "http://example.com/private": disallowed: robots.txt has line 2 "Disallow: /private" in group "*"`, false},
		{"redirect", "http://gone.test/from", fetcher.Options{}, // of a page to a disallowed one
			`Get "http://example.com/private": disallowed: robots.txt has line 2 "Disallow: /private" in group "*"`, false},
		{"override", public, fetcher.Options{Override: says(policy.Defer)},
			`Get "http://example.com/public": deferred: by order of the operator: the operator said so`, true},
		{"address", "http://10.0.0.1/", fetcher.Options{PageEgress: true},
			`Get "http://10.0.0.1/": disallowed: must not connect to 10.0.0.1: not a public address (10.0.0.0/8)`, false},
		{"unreachable", "http://down.test/", fetcher.Options{Profile: policy.Google2019()},
			`Get "http://down.test/": deferred until 2000-01-01T00:01:00Z: robots.txt is unreachable (status 503 Service Unavailable)`, true},
		{"no_turn", public, fetcher.Options{Pace: &pace.Limits{Gap: time.Hour, MaxWait: time.Minute}},
			`Get "http://example.com/public": deferred until 2000-01-01T01:00:00Z: no turn within MaxWait: the next one is in 1h0m0s, because of the gap between requests`, true},
	} {
		t.Run("4.7/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := sites(t)
				web.Site("http://down.test").Robots(httptest.Status(503).Header("Retry-After", "60"))
				web.Site("http://gone.test").Connect(httptest.Open).Path("/from", httptest.Redirect(302, private))
				tt.options.Base = web.Transport()
				_, err := (&http.Client{Transport: newTransport(t, &tt.options)}).Get(tt.page)
				if err == nil || err.Error() != tt.want {
					t.Errorf("got  %v\nwant %s", err, tt.want)
				}
				//lint:ignore SA1019 retry loops use it
				if e := net.Error(nil); !errors.As(err, &e) || e.Timeout() != tt.retry || e.Temporary() != tt.retry {
					t.Errorf("timeout and temporary of %v; want both %t", err, tt.retry)
				}
			})
		})
	}
}
