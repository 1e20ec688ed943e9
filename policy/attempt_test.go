package policy_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rfc9309/polite/policy"
)

// longURL is a URL of 8 KiB.
var longURL = "https://example.com/" + strings.Repeat("x", 8<<10-20)

// locations are the rows of TestLocation.
var locations = []struct {
	name   string
	status int
	lines  []string
	want   string
}{
	{"2.3.1.2/absolute", 301, []string{"https://cdn.example/r"}, "https://cdn.example/r"},
	{"2.3.1.2/another_scheme_of_the_web", 302, []string{"http://example.com/r"}, "http://example.com/r"},
	{"2.3.1.2/scheme_in_capitals", 302, []string{"HTTP://example.com/r"}, "http://example.com/r"},
	{"2.3.1.2/no_scheme", 303, []string{"//cdn.example/r"}, "https://cdn.example/r"},
	{"2.3.1.2/absolute_path", 307, []string{"/r?x=1"}, "https://example.com/r?x=1"},
	{"2.3.1.2/relative_path", 308, []string{"r"}, "https://example.com/a/r"},
	{"2.3.1.2/dot_segments", 308, []string{"../../r"}, "https://example.com/r"},
	{"2.3.1.2/query_alone", 302, []string{"?x"}, "https://example.com/a/b?x"},
	{"2.3.1.2/no_fragment", 302, []string{"/r#x"}, "https://example.com/r"},
	{"2.3.1.2/no_userinfo", 302, []string{"https://me:secret@example.com/r"}, "https://example.com/r"},
	{"2.3.1.2/the_same_twice", 302, []string{"/r", "/r"}, "https://example.com/r"},
	{"2.3.1.2/8_KiB", 302, []string{longURL}, longURL},
	{"2.3.1.2/bytes_over_ascii", 302, []string{"/ü"}, "https://example.com/%C3%BC"},

	{"2.3.1.4/over_8_KiB", 302, []string{longURL + "x"}, ""},
	{"2.3.1.4/two_that_differ", 302, []string{"/r", "/s"}, ""},
	{"2.3.1.4/two_of_which_one_is_empty", 302, []string{"/r", ""}, ""},
	{"2.3.1.4/none", 302, nil, ""},
	{"2.3.1.4/empty", 302, []string{""}, ""},
	{"2.3.1.4/control_characters", 302, []string{"/r\x00"}, ""},
	{"2.3.1.4/bad_port", 302, []string{"https://example.com:x/"}, ""},
	{"2.3.1.4/bad_triplet_in_the_host", 302, []string{"https://%zz/"}, ""},
	{"2.3.1.4/no_host", 302, []string{"https:///r"}, ""},
	{"2.3.1.4/opaque", 302, []string{"https:r"}, ""},
	{"2.3.1.4/ftp", 302, []string{"ftp://example.com/r"}, ""},
	{"2.3.1.4/file", 302, []string{"file:///etc/passwd"}, ""},
	{"2.3.1.4/gopher", 302, []string{"gopher://example.com/"}, ""},
	{"2.3.1.4/javascript", 302, []string{"javascript:alert(1)"}, ""},
	{"2.3.1.4/300", 300, []string{"/r"}, ""},
	{"2.3.1.4/304", 304, []string{"/r"}, ""},
	{"2.3.1.4/305", 305, []string{"/r"}, ""},
	{"2.3.1.4/306", 306, []string{"/r"}, ""},
	{"2.3.1.4/200", 200, []string{"/r"}, ""},
	{"2.3.1.4/201", 201, []string{"/r"}, ""},
}

// TestLocation checks where a redirect that https://example.com/a/b sent leads. An
// empty want means that its Location cannot be used.
func TestLocation(t *testing.T) {
	for _, tt := range locations {
		t.Run(tt.name, func(t *testing.T) {
			a := policy.Attempt{
				Robots: robots, Served: "https://example.com/a/b", Status: tt.status, Header: http.Header{"Location": tt.lines},
			}
			u, err := a.Location()
			got := ""
			if err == nil {
				got = u.String()
			}
			if got != tt.want {
				t.Errorf("%d with Location %.100q:\ngot  %.100q, %v\nwant %.100q", tt.status, tt.lines, got, err, tt.want)
			}
			if err != nil && (len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\x00\n")) {
				t.Errorf("the error has %d bytes: %q\nwant at most 400, without control characters", len(err.Error()), err)
			}
		})
	}
}

// TestRedirects checks which statuses redirect.
func TestRedirects(t *testing.T) {
	for status := range 1000 {
		want := redirects(status)
		a := policy.Attempt{Robots: robots, Status: status, Header: http.Header{"Location": {"/r"}}}
		if to, err := a.Location(); (err == nil) != want {
			t.Errorf("status %d with a Location:\ngot  %v, %v\nwant a URL: %v", status, to, err, want)
		}
	}
}

// redirects reports whether section 2.3.1.2 speaks of the status.
func redirects(status int) bool { return slices.Contains([]int{301, 302, 303, 307, 308}, status) }

// TestLocationOfAnotherScheme checks that a redirect may lead to the scheme of the
// initial authority, also after a hop over another scheme.
func TestLocationOfAnotherScheme(t *testing.T) {
	a := policy.Attempt{
		Robots: "ftp://example.com/robots.txt", Status: 302, Header: http.Header{"Location": {"ftp://example.com/r"}},
		Hops: []policy.Hop{{From: "ftp://example.com/robots.txt", To: "http://example.com/r", Status: 301}},
	}
	if u, err := a.Location(); err != nil || u.String() != "ftp://example.com/r" {
		t.Errorf("back to ftp: got %v, %v", u, err)
	}
	a.Header.Set("Location", "s")
	if u, err := a.Location(); err != nil || u.String() != "http://example.com/s" {
		t.Errorf("relative to the last hop: got %v, %v", u, err)
	}
	a.Header.Set("Location", "gopher://example.com/r")
	if u, err := a.Location(); err == nil {
		t.Errorf("gopher: got %v; want an error", u)
	}
	a.Served = "https://exa mple.com/"
	if u, err := a.Location(); err == nil {
		t.Errorf("from no URL: got %v; want an error", u)
	}
}

// TestLoop checks whether a redirect is found to lead back to its own URL, which
// servers spell in many ways.
func TestLoop(t *testing.T) {
	for _, tt := range []struct {
		name, robots, location string
		loop                   bool
	}{
		{"2.3.1.2/itself", "http://example.com/robots.txt", "http://example.com/robots.txt", true},
		{"2.3.1.2/capitals", "http://example.com/robots.txt", "HTTP://EXAMPLE.com/robots.txt", true},
		{"2.3.1.2/port_of_http", "http://example.com/robots.txt", "http://example.com:80/robots.txt", true},
		{"2.3.1.2/port_of_https", "https://example.com:443/robots.txt", "https://example.com/robots.txt", true},
		{"2.3.1.2/empty_port", "http://example.com/robots.txt", "http://example.com:/robots.txt", true},
		{"2.3.1.2/fragment", "http://example.com/robots.txt", "/robots.txt#a", true},
		{"2.3.1.2/userinfo", "http://example.com/robots.txt", "http://a:b@example.com/robots.txt", true},
		{"2.3.1.2/no_path", "http://example.com", "http://example.com/", true},

		{"2.3.1.4/https", "http://example.com/robots.txt", "https://example.com/robots.txt", false},
		{"2.3.1.4/https_at_the_port_of_http", "http://example.com/robots.txt", "https://example.com:80/robots.txt", false},
		{"2.3.1.4/http_at_the_port_of_https", "http://example.com/robots.txt", "http://example.com:443/robots.txt", false},
		{"2.3.1.4/another_host", "http://example.com/robots.txt", "http://www.example.com/robots.txt", false},
		{"2.3.1.4/another_path", "http://example.com/robots.txt", "/Robots.txt", false},
		{"2.3.1.4/a_query", "http://example.com/robots.txt", "?", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := policy.Attempt{Robots: tt.robots, Status: 302, Header: http.Header{"Location": {tt.location}}, Received: start}
			d := policy.RFC9309().Learn(nil, a).Decide("ExampleBot", private, start)
			if got := d.Cause == "redirects in a loop"; got != tt.loop || d.Allowed() != tt.loop {
				t.Errorf("%s with Location %s:\ngot  loop %v, %v\nwant %v", tt.robots, tt.location, got, d, tt.loop)
			}
		})
	}
}

func TestFailure(t *testing.T) {
	cause := fmt.Errorf("%s\n\u202Eevil: %w", strings.Repeat("x", 1<<20), io.ErrUnexpectedEOF)
	f := &policy.Failure{Class: policy.Body, Err: cause}
	if !errors.Is(f, io.ErrUnexpectedEOF) {
		t.Errorf("the cause is lost")
	}
	if s := f.Error(); len(s) > 500 || !strings.HasPrefix(s, "body: x") || strings.Contains(s, "\n") {
		t.Errorf("Error() has %d bytes: %.100q", len(s), s)
	}
	if s := (&policy.Failure{Class: policy.DNS}).Error(); s != "dns" {
		t.Errorf("without a cause: got %q; want dns", s)
	}
	r := policy.RFC9309().Learn(nil, policy.Attempt{Robots: robots, Err: f, Received: start})
	if d := r.Decide("ExampleBot", private, start); len(d.Cause) > 200 || !strings.HasPrefix(d.Cause, "body: x") {
		t.Errorf("Cause has %d bytes: %.100q", len(d.Cause), d.Cause)
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{policy.Unreachable.String(), "unreachable"}, {policy.Successful.String(), "successful"},
		{policy.Unavailable.String(), "unavailable"}, {policy.Restricted.String(), "restricted"},
		{policy.Disallow.String(), "disallow"}, {policy.Defer.String(), "defer"}, {policy.Allow.String(), "allow"},
		{policy.Other.String(), "other"}, {policy.Egress.String(), "egress"}, {policy.Timeout.String(), "timeout"},
		{policy.Access(4).String(), "access(4)"}, {policy.Verdict(3).String(), "verdict(3)"}, {policy.Class(9).String(), "class(9)"}, {policy.Sign.String(), "sign"},
		{policy.Access(9).String(), "access(9)"}, {policy.Verdict(9).String(), "verdict(9)"}, {policy.Class(99).String(), "class(99)"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q; want %q", tt.got, tt.want)
		}
	}
}
