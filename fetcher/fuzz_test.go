package fetcher_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
)

// FuzzAnswer gives the fetcher whatever octets a server may send. There is a
// ruling within the budget, its words can be printed, nothing keeps running, and
// access is given only by what begins as HTTP does.
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
				t.Fatalf("answer %q:\ngot  %v after %v\nwant a ruling in 30s", answer, err, took)
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
