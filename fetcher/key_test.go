package fetcher_test

import (
	"errors"
	"net/url"
	"testing"

	"github.com/rfc9309/polite/fetcher"
)

// TestAuthority shows one name for all URLs that share a robots.txt. The whole
// table is that of package internal/origin.
func TestAuthority(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"https://user:secret@B\u00fccher.example.:443/a", "https://xn--bcher-kva.example"},
		{"http://[2001:DB8::0:1]:8080/", "http://[2001:db8::1]:8080"},
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
