package fetcher_test

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
	"unicode"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
)

// FuzzAnswer sends the fetcher any bytes. There is a decision in time, its text can
// be printed, no goroutine is left, and only an answer that begins as HTTP does can
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
			tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
			began := time.Now()
			d, err := tr.Check(t.Context(), must(private))
			if took := time.Since(began); err != nil || took > 31*time.Second {
				t.Fatalf("answer %q:\ngot  %v after %v\nwant a decision in 30s", answer, err, took)
			}
			if d.Allowed() && !strings.HasPrefix(answer, "HTTP/") {
				t.Errorf("answer %q:\ngot  %v\nwant no access", answer, d)
			}
			if i := strings.IndexFunc(d.String(), func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
				t.Errorf("answer %q:\ngot  %q\nwant words that can be printed", answer, d.String())
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
		tr := newTransport(t, &fetcher.Options{Base: base, Attempts: 1})
		tr.SetLookup(func(_ context.Context, _, host string) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		})
		d, err := tr.Check(t.Context(), must(private))
		if err != nil || d.Allowed() && d.Clause != "2.3.1.2" || len(asked) > 2 {
			t.Fatalf("Location %q:\ngot  %v, %v, by way of %q\nwant no access, but for a loop, and no third request", location, d, err, asked)
		}
		for _, host := range asked {
			a, err := netip.ParseAddr(strings.Trim((&url.URL{Host: host}).Hostname(), "[]"))
			if a = a.Unmap(); err == nil && (!a.IsGlobalUnicast() || a.IsPrivate()) {
				t.Errorf("Location %q: %s got a request", location, host)
			}
		}
	})
}
