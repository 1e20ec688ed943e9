package fetcher_test

import (
	"errors"
	"net/url"
	"testing"
	"testing/synctest"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/policy"
)

// TestAuthority checks that all URLs that share a robots.txt have one name. The
// whole table is in package internal/origin.
func TestAuthority(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"https://user:secret@B\u00fccher.example.:443/a", "https://xn--bcher-kva.example"},
		{"http://[2001:DB8::0:1]:8080/", "http://[2001:db8::1]:8080"},
		{"FTP://user:secret@ftp.example.com:21/a", "ftp://ftp.example.com"},
		{"mailto:a@example.com", ""},
	} {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fetcher.Authority(u)
		if got != tt.want || (err != nil) != (tt.want == "") || err != nil && !errors.Is(err, fetcher.ErrURL) {
			t.Errorf("4.2: Authority(%q)\ngot  %q, %v\nwant %q", tt.url, got, err, tt.want)
		}
	}
}

// TestTargetsOfHandmadeURLs checks URLs that url.Parse does not make. What counts
// is the authority and the path that the server will see, whatever record of URL.Host is in memory.
func TestTargetsOfHandmadeURLs(t *testing.T) {
	for _, tt := range []struct {
		name string
		url  url.URL
		want policy.Verdict
		err  error
	}{
		{"a_path_without_a_slash", url.URL{Path: "private"}, policy.Disallow, nil},
		{"a_path_like_a_host", url.URL{Path: "b.test/private"}, policy.Allow, nil},
		{"an_opaque_path", url.URL{Opaque: "/pri%76ate", Path: "/robots.txt"}, policy.Disallow, nil},
		{"an_opaque_robots", url.URL{Opaque: "/robots.txt", Path: "/private"}, policy.Allow, nil},
		{"an_opaque_url", url.URL{Opaque: "//b.test/private"}, policy.Allow, nil},
		{"an_opaque_url_of_the_other_host", url.URL{Opaque: "//b.test/closed"}, policy.Disallow, nil},
		{"an_opaque_word", url.URL{Opaque: "private"}, 0, fetcher.ErrURL},
	} {
		t.Run("3.9/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(text)
				web.Site("http://b.test").Robots(httptest.Text("User-agent: *\nDisallow: /closed\n"))
				u := tt.url
				u.Scheme, u.Host = "http", "example.com"
				tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
				if _, err := tr.Check(t.Context(), &url.URL{Scheme: u.Scheme, Host: u.Host}); err != nil {
					t.Fatal(err)
				}
				d, err := tr.Check(t.Context(), &u)
				if d.Verdict != tt.want || !errors.Is(err, tt.err) {
					t.Errorf("%+v\ngot  %v, %v\nwant %v, %v", u, d, err, tt.want, tt.err)
				}
			})
		})
	}
}
