package policy_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/rfc9309/polite/policy"
)

func TestFirstRulings(t *testing.T) {
	start := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		name   string
		status int
		body   string
		want   policy.Verdict
		clause string
	}{
		{"2.3.1.1/rules", 200, "User-agent: *\nDisallow: /private\n", policy.Disallow, "2.2.2"},
		{"2.2.1/no_group", 200, "", policy.Allow, "2.2.1"},
		{"2.3.1.3/404", 404, "", policy.Allow, "2.3.1.3"},
		{"2.3.1.4/503", 503, "", policy.Defer, "2.3.1.4"},
		{"house/429", 429, "", policy.Defer, "house"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := policy.RFC9309().Learn(nil, policy.Attempt{
				Robots: "https://example.com/robots.txt", Status: tt.status, Body: []byte(tt.body),
				Header: http.Header{}, Sent: start, Received: start,
			})
			u, _ := url.Parse("https://example.com/private")
			d := r.Decide("ExampleBot", u, start.Add(time.Second))
			if d.Verdict != tt.want || d.Clause != tt.clause {
				t.Errorf("status %d, body %q:\ngot  %v\nwant %v [%s]", tt.status, tt.body, d, tt.want, tt.clause)
			}
			if d.Allowed() != r.Allows("ExampleBot", u, start.Add(time.Second)) {
				t.Errorf("Allows differs from Decide: %v", d)
			}
			t.Log(d)
		})
	}
}
