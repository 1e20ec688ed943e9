package httptest_test

import (
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/rfc9309/polite/internal/httptest"
)

func TestProxy(t *testing.T) {
	for _, row := range []struct{ name, proxy, url, asked string }{
		{"http", "http://proxy.example:3128", "http://example.com/", "GET http://example.com/"},
		{"https", "http://proxy.example:3128", "https://example.com/", "CONNECT example.com:443"},
		{"http_over_tls", "https://proxy.example", "http://example.com/", "GET http://example.com/"},
		{"https_over_tls", "https://proxy.example", "https://example.com/", "CONNECT example.com:443"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				proxy := web.Site(row.proxy).Proxy()
				u, _ := url.Parse(row.url)
				site := web.Site(u.Scheme+"://"+u.Host).Path("/", httptest.Text("here"))
				transport := web.Transport()
				transport.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(row.proxy) }
				res, body, err := get(t, &http.Client{Transport: transport}, row.url)
				if err != nil || res.StatusCode != 200 || body != "here" {
					t.Fatalf("%s: got %d %q, %v, want 200 %q", row.url, statusOf(res), body, err, "here")
				}
				if got := proxy.Requests(); len(got) != 1 || got[0].String() != row.asked {
					t.Errorf("the proxy is asked: got %v, want %v", got, row.asked)
				}
				if got := site.Requests("/"); len(got) != 1 || got[0].String() != "GET "+row.url {
					t.Errorf("the site is asked: got %v, want %v", got, "GET "+row.url)
				}
				var via []string
				for _, d := range web.Dials() {
					via = append(via, d.Via)
				}
				if want := []string{"", proxy.Origin()}; !reflect.DeepEqual(via, want) {
					t.Errorf("dialed by: got %q, want %q", via, want)
				}
			})
		})
	}
}

func TestProxyFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://proxy.example:3128").Proxy()
		transport := web.Transport()
		transport.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse("http://proxy.example:3128") }
		client := &http.Client{Transport: transport}
		if res, _, err := get(t, client, "http://gone.example/"); statusOf(res) != http.StatusBadGateway {
			t.Errorf("http: got %d, %v, want %d", statusOf(res), err, http.StatusBadGateway)
		}
		if _, _, err := get(t, client, "https://gone.example/"); err == nil {
			t.Errorf("https: got nil, want an error from CONNECT")
		}
		dials := web.Dials()
		if last := dials[len(dials)-1]; last.Err == nil || last.Via == "" {
			t.Errorf("last dial: got %+v, want a failure of the proxy", last)
		}
	})
}

func TestProxyRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://proxy.example:3128").Proxy(httptest.Status(407), httptest.Reset())
		transport := web.Transport()
		transport.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse("http://proxy.example:3128") }
		client := &http.Client{Transport: transport}
		if res, _, err := get(t, client, "http://example.com/"); statusOf(res) != 407 {
			t.Errorf("http: got %d, %v, want 407", statusOf(res), err)
		}
		if _, _, err := get(t, client, "https://example.com/"); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("https: got %v, want %v", err, syscall.ECONNRESET)
		}
	})
}

// TestNotAProxy checks that a site without a proxy answers an absolute target and forwards nothing.
func TestNotAProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://plain.example")
		web.Site("http://example.com").Connect(httptest.Refused)
		transport := web.Transport()
		transport.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse("http://plain.example") }
		res, _, err := get(t, &http.Client{Transport: transport}, "http://example.com/")
		if statusOf(res) != http.StatusMisdirectedRequest {
			t.Errorf("got %d, %v, want %d", statusOf(res), err, http.StatusMisdirectedRequest)
		}
		if _, err := web.DialContext(t.Context(), "tcp", "example.com:80"); err == nil {
			t.Errorf("got nil, want %v", syscall.ECONNREFUSED)
		}
	})
}
