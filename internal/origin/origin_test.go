package origin

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

var longName = strings.Repeat("a.", 127) + "a"

// keyTests are URLs and their keys, "" for a URL that has none.
var keyTests = []struct{ url, want string }{
	{"http://example.com/a", "http://example.com"},
	{"https://example.com/a", "https://example.com"},
	{"http://example.com", "http://example.com"},
	{"http://example.com?q", "http://example.com"},
	{"HTTP://EXAMPLE.com/a", "http://example.com"},
	{"http://user:secret@example.com/", "http://example.com"},
	{"http://example.com./", "http://example.com"},
	{"http://EXAMPLE.com.:80/", "http://example.com"},
	{"http://example.com:80/", "http://example.com"},
	{"http://example.com:/", "http://example.com"},
	{"http://example.com:0080/", "http://example.com"},
	{"https://example.com:443/", "https://example.com"},
	{"https://example.com:80/", "https://example.com:80"},
	{"http://example.com:443/", "http://example.com:443"},
	{"http://example.com:08080/", "http://example.com:8080"},
	{"http://example.com:65535/", "http://example.com:65535"},
	{"http://example.com:65536/", ""},
	{"http://example.com:0/", ""},
	{"http://example.com:99999999999999999999/", ""},

	{"http://bücher.example/", "http://xn--bcher-kva.example"},
	{"http://BÜCHER.example/", "http://xn--bcher-kva.example"},
	{"http://b%C3%BCcher.example/", "http://xn--bcher-kva.example"},
	{"http://bu\u0308cher.example/", "http://xn--bcher-kva.example"},
	{"http://xn--bcher-kva.example/", "http://xn--bcher-kva.example"},
	{"http://XN--BCHER-KVA.example/", "http://xn--bcher-kva.example"},
	{"http://straße.example/", "http://xn--strae-oqa.example"},
	{"http://ｅｘａｍｐｌｅ。com/", "http://example.com"},
	{"http://example\u3002com\u3002/", "http://example.com"},
	{"http://例え.テスト/", "http://xn--r8jz45g.xn--zckzah"},
	{"http://xn--a/", ""},
	{"http://a\u00adb.example/", "http://ab.example"},
	{"http://\u00ad/", ""},

	{"http://192.0.2.1/", "http://192.0.2.1"},
	{"http://192.0.2.1:8080/", "http://192.0.2.1:8080"},
	{"http://192.0.2.1./", "http://192.0.2.1"},
	{"http://192.0.2.01/", "http://192.0.2.01"}, // net/http does not treat it as an address either
	{"http://[2001:DB8::1]/", "http://[2001:db8::1]"},
	{"http://[2001:db8:0:0:0:0:0:1]:80/", "http://[2001:db8::1]"},
	{"http://[::ffff:192.0.2.1]/", "http://[::ffff:192.0.2.1]"},
	{"http://[::1]:8080/", "http://[::1]:8080"},
	{"http://[fe80::1%25eth0]/", ""},

	{"http://under_score.example/", "http://under_score.example"},
	{"http://-dash-.example/", "http://-dash-.example"},
	{"http://a--b.example/", "http://a--b.example"},
	{"http://localhost/", "http://localhost"},
	{"http://" + longName + "/", "http://" + longName},
	{"http://" + longName + "a.a/", ""},
	{"http://a..b/", ""},
	{"http://.a/", ""},
	{"http://a../", ""},
	{"http://%FF.example/", ""},
	{"http://" + strings.Repeat("\u00fc", 1_000_000) + ".example/", ""},
	{"http://./", ""},
	{"http:///a", ""},
	{"http://:80/", ""},
	{"http:opaque", ""},
	{"//example.com/", ""},
	{"/a", ""},
	{"", ""},
	{"file:///etc/passwd", ""},

	{"ftp://example.com/", "ftp://example.com"},
	{"FTP://user:secret@EXAMPLE.com.:21/a", "ftp://example.com"},
	{"ftp://example.com:2121/", "ftp://example.com:2121"},
	{"ftp://example.com:80/", "ftp://example.com:80"},
	{"http://example.com:21/", "http://example.com:21"},
	{"ftp://[2001:DB8::1]:21/", "ftp://[2001:db8::1]"},
	{"ftp://bücher.example/", "ftp://xn--bcher-kva.example"},
	{"ftp:///a", ""},
	{"httpx://example.com/", ""},
	{"gopher://example.com/", ""},
	{"mailto:a@example.com", ""},
}

// TestKey checks which URLs share a robots.txt (RFC 9309, section 2.3:
// "scheme:[//authority]/robots.txt"). The wanted key is "" for a URL that has none.
func TestKey(t *testing.T) {
	for _, tt := range keyTests {
		t.Run("2.3/"+tt.url[:min(len(tt.url), 60)], func(t *testing.T) {
			u, err := url.Parse(tt.url)
			if err != nil {
				t.Fatalf("%q cannot be parsed: %v", tt.url, err)
			}
			checkKey(t, u, tt.want)
		})
	}
}

// TestKeyOfHandmadeURLs checks URLs that url.Parse would refuse.
func TestKeyOfHandmadeURLs(t *testing.T) {
	for _, tt := range []struct {
		url  *url.URL
		want string
	}{
		{nil, ""},
		{&url.URL{}, ""},
		{&url.URL{Scheme: "http", Host: "example.com", Opaque: "/a%2Fb"}, "http://example.com"},
		{&url.URL{Scheme: "http", Host: "example.com", Opaque: "//other.example/a"}, "http://other.example"},
		{&url.URL{Scheme: "http", Host: "example.com", Opaque: "//OTHER.example:80"}, "http://other.example"},
		{&url.URL{Scheme: "http", Host: "example.com", Opaque: "//"}, ""},
		{&url.URL{Scheme: "http", Host: "example.com", Opaque: "//a b/"}, ""},
		{&url.URL{Scheme: "http", Host: "example.com", Opaque: "other.example"}, ""},
		{&url.URL{Scheme: "http", Opaque: "//other.example/a"}, ""},
		{&url.URL{Scheme: "http", Host: "a b"}, ""},
		{&url.URL{Scheme: "http", Host: "example.com/x"}, ""},
		{&url.URL{Scheme: "http", Host: "example.com?"}, ""},
		{&url.URL{Scheme: "http", Host: "a@example.com"}, ""},
		{&url.URL{Scheme: "http", Host: "example.com:80:80"}, ""},
		{&url.URL{Scheme: "http", Host: "example.com:http"}, ""},
		{&url.URL{Scheme: "http", Host: "example.com:-80"}, ""},
		{&url.URL{Scheme: "http", Host: "example.com\r\nHost: b.test"}, ""},
		{&url.URL{Scheme: "http", Host: "example.com\x00.b.test"}, ""},
		{&url.URL{Scheme: "http", Host: "[::1"}, ""},
		{&url.URL{Scheme: "http", Host: "::1"}, ""},
		{&url.URL{Scheme: "http", Host: "[example.com]"}, "http://example.com"},
		{&url.URL{Scheme: "http", Host: "\xff.example"}, ""},
		{&url.URL{Scheme: "Https", Host: "EXAMPLE.COM:443"}, "https://example.com"},
	} {
		checkKey(t, tt.url, tt.want)
	}
}

// checkKey compares the key of a URL with want, and checks the promises of every key.
func checkKey(t *testing.T, u *url.URL, want string) {
	t.Helper()
	got, err := Of(u)
	if err != nil {
		got = ""
		if !errors.Is(err, errURL) {
			t.Errorf("%v: got error %v, want one that is errURL", u, err)
		}
	}
	if got != want {
		t.Errorf("%v:\ngot  %q (%v)\nwant %q", u, got, err, want)
	}
	if err == nil {
		checkPromises(t, u, got)
	}
}

// checkPromises checks that the key is its own key, that the robots.txt of the key
// is a URL that can be requested, and that the key has only plain characters.
func checkPromises(t *testing.T, u *url.URL, key string) {
	t.Helper()
	back, err := url.Parse(key + "/robots.txt")
	if err != nil {
		t.Fatalf("%v: the key %q is not a URL: %v", u, key, err)
	}
	if again, err := Of(back); again != key || err != nil {
		t.Errorf("%v: the key of key %q is %q, %v", u, key, again, err)
	}
	if back.Path != "/robots.txt" || back.User != nil || back.RawQuery != "" || back.Fragment != "" {
		t.Errorf("%v: the key %q leads to %v", u, key, back)
	}
	if _, err := http.NewRequest("GET", back.String(), nil); err != nil {
		t.Errorf("%v: the key %q cannot be requested: %v", u, key, err)
	}
	for i := range len(key) {
		if c := key[i]; c <= ' ' || c >= 0x7f || 'A' <= c && c <= 'Z' {
			t.Errorf("%v: the key %q has the byte %#02x", u, key, c)
		}
	}
}

// FuzzKey looks for a URL whose key breaks a promise, such as a key that leads to
// another host.
func FuzzKey(f *testing.F) {
	for _, s := range []string{"http", "https", "HTTP", "ftp"} {
		for _, h := range []string{
			"example.com", "EXAMPLE.com.:80", "b\u00fccher.example", "[::1]:443", "192.0.2.1", "a..b", "xn--a", "a b", "\u3002", "0..", "\xff", "[::1%25x]", "1.2.3", "a.b:80", "a.b:080", "a--b.c:8080", "-a", "a.-b.", "1.2.3.4:99999", "\u00df", "a\u200db", "`",
		} {
			f.Add(s, h)
		}
	}
	f.Fuzz(func(t *testing.T, scheme, host string) {
		u := &url.URL{Scheme: scheme, Host: host, Path: "/a"}
		key, err := Of(u)
		if err != nil {
			if !errors.Is(err, errURL) || len(err.Error()) > 2500 {
				t.Fatalf("%q, %q: error %q, want a short one that is errURL", scheme, host, err)
			}
			return
		}
		checkPromises(t, u, key)
		full, err := canonical(u)
		if full != key || err != nil {
			t.Errorf("%q, %q: Of returns %q, canonical %q, %v", scheme, host, key, full, err)
		}
	})
}
