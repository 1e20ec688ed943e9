package retrieve_test

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
)

// FuzzAnswer sends the fetcher any bytes. The fetch ends in time, the text of a
// decision by it can be printed, no goroutine is left, and only an answer that begins as HTTP does can
// allow access.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		whole("HTTP/1.1 200 OK"), whole("HTTP/1.0 200 OK"), rules, "", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: //[::1]:80\\x\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n" + whole("HTTP/1.1 200 OK"),
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nUser-\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzipped(rules), "HTTP/1.1 503 Busy\r\nRetry-After: 9\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: deflate, gzip\r\n\r\n" + gzipped(deflated(rules)),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		synctest.Test(t, func(t *testing.T) {
			web := httptest.New(t)
			web.Site(site).Robots(httptest.Raw(answer))
			began := time.Now()
			a := over(web.Transport()).get(t, site)
			if took := time.Since(began); took > 31*time.Second {
				t.Fatalf("answer %q:\ngot  a fetch of %v\nwant one of 30s", answer, took)
			}
			if got := decided(t, a, "/private"); got == "allow" && !strings.HasPrefix(answer, "HTTP/") {
				t.Errorf("answer %q:\ngot  %s by %v\nwant no access", answer, got, a.Status)
			}
			time.Sleep(time.Minute)
		})
	})
}

// FuzzLocation redirects from a public site to any Location. No address of the
// crawler's own network is requested, and nothing is allowed unless the redirects
// loop, because every other answer is an error.
func FuzzLocation(f *testing.F) {
	for _, seed := range []string{
		"/r", "//b.test/r", "http://127.0.0.1/", "http://[::1]:80/", "http://0x7f.1/", "http://2130706433/", "http://127.1/",
		"http://[::ffff:10.0.0.1]/", "http://localhost./", "https://user@[fe80::1%25eth0]:443/", "http://\uff11\uff12\uff17.0.0.1/", `\\10.0.0.1\`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, location string) {
		var asked []string
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.URL.Host)
			if len(asked) == 1 {
				return answerOf(r, 302, http.Header{"Location": {location}}, ""), nil
			}
			return answerOf(r, 500, http.Header{}, ""), nil
		})
		c := over(base)
		c.Attempts = 1
		c.network.Lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		a := c.get(t, site)
		if got := decided(t, a, "/private"); got == "allow" && a.Status != 302 || len(asked) > 2 {
			t.Fatalf("Location %q:\ngot  %s, %d, %v by way of %q\nwant no access, but for a loop, and no third request", location, got, a.Status, a.Err, asked)
		}
		for _, host := range asked {
			a, err := netip.ParseAddr(strings.Trim((&url.URL{Host: host}).Hostname(), "[]"))
			if a = a.Unmap(); err == nil && (!a.IsGlobalUnicast() || a.IsPrivate()) {
				t.Errorf("Location %q: %s got a request", location, host)
			}
		}
	})
}
