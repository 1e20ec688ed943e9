package httptest_test

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
)

// A fault is one step and its effect on a client that waits at most a minute.
type fault struct {
	name   string
	step   httptest.Step
	status int           // 0 if there is no answer
	body   string        // the part of the body that arrives
	err    error         // error of the answer or its body, compared with errors.Is
	text   string        // part of the error text, if net/http has no error value for it
	after  time.Duration // time until the client has everything
}

var faults = []fault{
	{name: "text", step: httptest.Text("abcdef"), status: 200, body: "abcdef"},
	{name: "after", step: httptest.Text("abcdef").After(time.Second), status: 200, body: "abcdef", after: time.Second},
	{name: "after_too_long", step: httptest.Text("abcdef").After(time.Hour), err: context.DeadlineExceeded, after: time.Minute},
	{name: "chunked", step: httptest.Text("abcdef").Chunked(), status: 200, body: "abcdef"},
	{name: "status_204", step: httptest.Status(204), status: 204},
	{name: "status_304", step: httptest.Text("no body").Status(304), status: 304},
	{name: "status_600", step: httptest.Status(600), status: 600},
	{name: "status_999", step: httptest.Text("abcdef").Status(999), status: 999, body: "abcdef"},
	{name: "redirect", step: httptest.Redirect(302, "/elsewhere"), status: 302},
	{name: "handler", step: httptest.Handler(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) }),
		status: 200, body: "example.com"},
	{name: "hang", step: httptest.Hang(), err: context.DeadlineExceeded, after: time.Minute},
	{name: "hang_after_header", step: httptest.Text("abcdef").HangAfter(0), status: 200, err: context.DeadlineExceeded, after: time.Minute},
	{name: "hang_in_body", step: httptest.Text("abcdef").HangAfter(3), status: 200, body: "abc", err: context.DeadlineExceeded, after: time.Minute},
	{name: "hang_after_body", step: httptest.Text("abcdef").Chunked().HangAfter(6), status: 200, body: "abcdef", err: context.DeadlineExceeded, after: time.Minute},
	{name: "drip", step: httptest.Text("abcdef").Drip(1, time.Second), status: 200, body: "abcdef", after: 5 * time.Second},
	{name: "drip_too_slow", step: httptest.Text("abcdef").Drip(1, 25*time.Second), status: 200, body: "abc", err: context.DeadlineExceeded, after: time.Minute},
	{name: "flood", step: httptest.Flood("ab"), status: 200, body: strings.Repeat("ab", 1<<19)},
	{name: "gzip", step: httptest.Text("abcdef").Gzip(), status: 200, body: "abcdef"},
	{name: "gzip_bomb", step: httptest.GzipBomb(1 << 40), status: 200, body: strings.Repeat("# bomb\n", 1<<20)[:1<<20]},
	{name: "gzip_bomb_small", step: httptest.GzipBomb(10), status: 200, body: "# bomb\n# b"},
	{name: "gzip_false", step: httptest.Text("abcdefghijkl").Header("Content-Encoding", "gzip"), status: 200, text: "gzip: invalid header"},
	{name: "encoding_unknown", step: httptest.Text("abcdef").Header("Content-Encoding", "br"), status: 200, body: "abcdef"},
	{name: "early_hints", step: httptest.Text("abcdef").Early(103, 20), status: 200, body: "abcdef"},
	{name: "header_flood", step: httptest.Text("abcdef").HeaderFlood(32 << 10), status: 200, body: "abcdef"},
	{name: "trailer", step: httptest.Text("abcdef").Trailer("X-After", "late"), status: 200, body: "abcdef"},
}

// faultsHTTP1 have another effect over HTTP/2.
var faultsHTTP1 = []fault{
	{name: "reset", step: httptest.Reset(), err: syscall.ECONNRESET},
	{name: "reset_after_header", step: httptest.Text("abcdef").ResetAfter(0), status: 200, err: syscall.ECONNRESET},
	{name: "reset_in_body", step: httptest.Text("abcdef").ResetAfter(3), status: 200, body: "abc", err: syscall.ECONNRESET},
	{name: "close", step: httptest.Close(), err: io.EOF},
	{name: "cut", step: httptest.Text("abcdef").Cut(3), status: 200, body: "abc", err: io.ErrUnexpectedEOF},
	{name: "cut_chunked", step: httptest.Text("abcdef").Chunked().Cut(3), status: 200, body: "abc", err: io.ErrUnexpectedEOF},
	{name: "flood_cut", step: httptest.Flood("abc").Cut(5), status: 200, body: "abcab", err: io.ErrUnexpectedEOF},
	{name: "gzip_cut", step: httptest.Text(strings.Repeat("abcdef", 9)).Gzip().Cut(5), status: 200, err: io.ErrUnexpectedEOF},
	{name: "early_without_end", step: httptest.Text("").Early(103, -1), text: "exceeded"},
	{name: "early_100_without_end", step: httptest.Text("").Early(100, -1), text: "exceeded"},
	{name: "status_199_final", step: httptest.Status(199), err: io.ErrUnexpectedEOF},
	{name: "status_101", step: httptest.Status(101), status: 101},
	{name: "http10", step: httptest.Text("abcdef").HTTP10(), status: 200, body: "abcdef"},
	{name: "http10_cut", step: httptest.Text("abcdef").HTTP10().Cut(3), status: 200, body: "abc"},
	{name: "http10_reset", step: httptest.Text("abcdef").HTTP10().ResetAfter(3), status: 200, body: "abc", err: syscall.ECONNRESET},
	{name: "length_too_long", step: httptest.Text("abcdef").Length("7"), status: 200, body: "abcdef", err: io.ErrUnexpectedEOF},
	{name: "length_too_short", step: httptest.Text("abcdef").Length("5"), status: 200, body: "abcde"},
	{name: "length_bad", step: httptest.Text("abcdef").Length("six"), text: "bad Content-Length"},
	{name: "length_twice", step: httptest.Text("abcdef").Header("Content-Length", "6").Length("7"), text: "Content-Length"},
	{name: "broken_chunk", step: httptest.Text("abcdef").BrokenChunk(), status: 200, body: "abcdef", text: "invalid byte in chunk length"},
	{name: "endless_header", step: httptest.EndlessHeader(), text: "exceeded"},
	{name: "header_flood_too_big", step: httptest.Text("").HeaderFlood(11 << 20), text: "exceeded"},
	{name: "raw", step: httptest.Raw("HTTP/1.1 200 Whatever\r\ncontent-length: 3\r\n\r\nabc"), status: 200, body: "abc"},
	{name: "raw_garbage", step: httptest.Raw("220 mail.example ESMTP\r\n"), text: "malformed HTTP"},
	{name: "raw_nothing", step: httptest.Raw(""), err: io.EOF},
	{name: "raw_hang", step: httptest.Raw("HTTP/1.1 200").HangAfter(12), err: context.DeadlineExceeded, after: time.Minute},
	{name: "raw_reset", step: httptest.Raw("HTTP/1.1 200").ResetAfter(8), text: "malformed HTTP"},
	{name: "raw_drip", step: httptest.Raw("HTTP/1.1 204 \r\n\r\n").Drip(1, time.Second), status: 204, after: 16 * time.Second},
}

var faultsHTTP2 = []fault{
	{name: "reset", step: httptest.Reset(), err: syscall.ECONNRESET},
	{name: "reset_after_header", step: httptest.Text("abcdef").ResetAfter(0), status: 200, err: syscall.ECONNRESET},
	{name: "reset_in_body", step: httptest.Text("abcdef").ResetAfter(3), status: 200, body: "abc", err: syscall.ECONNRESET},
	{name: "close", step: httptest.Close(), text: "INTERNAL_ERROR"},
	{name: "cut", step: httptest.Text("abcdef").Cut(3), status: 200, body: "abc", text: "INTERNAL_ERROR"},
	{name: "early_without_end", step: httptest.Text("").Early(103, -1), text: "header list too large"},
	{name: "status_103_final", step: httptest.Status(103), text: "INTERNAL_ERROR"},
}

func TestFaults(t *testing.T) {
	for _, kind := range []struct {
		name, origin string
		http2        bool
		rows         [][]fault
	}{
		{"http", "http://example.com", false, [][]fault{faults, faultsHTTP1}},
		{"https", "https://example.com", false, [][]fault{faults, faultsHTTP1}},
		{"http2", "https://example.com", true, [][]fault{faults, faultsHTTP2}},
	} {
		for _, rows := range kind.rows {
			for _, row := range rows {
				t.Run(kind.name+"/"+row.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						web := httptest.New(t)
						site := web.Site(kind.origin)
						if kind.http2 {
							site.HTTP2()
						}
						row.check(t, web, site)
					})
				})
			}
		}
	}
}

func (f fault) check(t *testing.T, web *httptest.Web, site *httptest.Site) {
	site.Path("/", f.step)
	client := web.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	began := time.Now()
	res, body, err := get(t, client, site.Origin()+"/")
	if statusOf(res) != f.status || body != f.body {
		t.Errorf("got %d %.60q, want %d %.60q", statusOf(res), body, f.status, f.body)
	}
	if wanted := f.err != nil || f.text != ""; wanted != (err != nil) || !errors.Is(err, f.err) && f.err != nil {
		t.Errorf("error: got %v, want %v%s", err, f.err, f.text)
	}
	if err != nil && !strings.Contains(err.Error(), f.text) {
		t.Errorf("error: got %v, want one with %q", err, f.text)
	}
	if after := time.Since(began); after.Truncate(time.Second) != f.after {
		t.Errorf("took: got %v, want %v", after, f.after)
	}
}

func TestHeaders(t *testing.T) {
	modified := time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		name string
		step httptest.Step
		key  string
		want []string
	}{
		{"default_type", httptest.Text(""), "Content-Type", []string{"text/plain; charset=utf-8"}},
		{"other_type", httptest.Text("").Header("Content-Type", "text/html"), "Content-Type", []string{"text/html"}},
		{"no_type", httptest.Text("a").Without("Content-Type"), "Content-Type", nil},
		{"no_date", httptest.Text("").Without("Date"), "Date", nil},
		{"two_lines", httptest.Status(200).Header("Cache-Control", "a").Header("cache-control", "b"), "Cache-Control", []string{"a", "b"}},
		{"two_locations", httptest.Redirect(301, "/a").Header("Location", "/b"), "Location", []string{"/a", "/b"}},
		{"raw_location", httptest.Redirect(301, "/\xff b"), "Location", []string{"/\xff b"}},
		{"no_location", httptest.Status(301), "Location", nil},
		{"retry_after", httptest.Status(503).Header("Retry-After", "99999999999999999999"), "Retry-After", []string{"99999999999999999999"}},
		{"retry_at", httptest.Status(503).DateHeader("Retry-After", time.Hour), "Retry-After", []string{"Sat, 01 Jan 2000 02:30:00 GMT"}},
		{"etag", httptest.Text("").ETag(`"a"`), "Etag", []string{`"a"`}},
		{"modified", httptest.Text("").LastModified(modified), "Last-Modified", []string{"Fri, 31 Dec 1999 00:00:00 GMT"}},
		{"age", httptest.Text("").SharedCache(time.Hour), "Age", []string{"1800"}},
		{"shared_cache", httptest.Text("").SharedCache(time.Hour), "Cache-Control", []string{"max-age=3600"}},
		{"gzip", httptest.Text("").Gzip(), "Content-Encoding", []string{"gzip"}},
		{"header_on_handler", httptest.Handler(func(http.ResponseWriter, *http.Request) {}).Header("X", "y"), "X", []string{"y"}},
		{"header_on_http10", httptest.Text("").HTTP10().DateHeader("Expires", 0), "Expires", []string{"Sat, 01 Jan 2000 01:30:00 GMT"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site("http://example.com").Path("/", row.step)
				time.Sleep(90 * time.Minute)
				transport := web.Transport()
				transport.DisableCompression = true
				req, _ := http.NewRequest("GET", "http://example.com/", nil)
				res, err := transport.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if got := res.Header.Values(row.key); !reflect.DeepEqual(got, row.want) {
					t.Errorf("%s: got %q, want %q", row.key, got, row.want)
				}
			})
		})
	}
}

func TestValidators(t *testing.T) {
	modified := time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		name, header, value string
		step                httptest.Step
		status              int
	}{
		{"same_tag", "If-None-Match", `"b", W/"a"`, httptest.Text("x").ETag(`"a"`), 304},
		{"any_tag", "If-None-Match", `*`, httptest.Text("x").ETag(`"a"`), 304},
		{"other_tag", "If-None-Match", `"b"`, httptest.Text("x").ETag(`"a"`), 200},
		{"tag_not_kept", "If-None-Match", `"a"`, httptest.Text("x").Header("ETag", `"a"`), 200},
		{"same_date", "If-Modified-Since", "Fri, 31 Dec 1999 00:00:00 GMT", httptest.Text("x").LastModified(modified), 304},
		{"earlier_date", "If-Modified-Since", "Thu, 30 Dec 1999 00:00:00 GMT", httptest.Text("x").LastModified(modified), 200},
		{"bad_date", "If-Modified-Since", "yesterday", httptest.Text("x").LastModified(modified), 200},
		{"no_validator", "Accept", "*/*", httptest.Text("x").ETag(`"a"`).LastModified(modified), 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site("http://example.com").Path("/", row.step)
				req, _ := http.NewRequest("GET", "http://example.com/", nil)
				req.Header.Set(row.header, row.value)
				res, err := web.Client().Do(req)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode != row.status {
					t.Errorf("%s: %s: got %d, want %d", row.header, row.value, res.StatusCode, row.status)
				}
				if got := web.Requests()[0].Header.Get(row.header); got != row.value {
					t.Errorf("arrived: got %q, want %q", got, row.value)
				}
			})
		})
	}
}

func TestCertificates(t *testing.T) {
	expired := func(err error) bool {
		var e x509.CertificateInvalidError
		return errors.As(err, &e) && e.Reason == x509.Expired
	}
	alert := func(err error) bool {
		var op *net.OpError
		return errors.As(err, &op) && op.Op == "remote error"
	}
	for _, row := range []struct {
		name  string
		cert  httptest.Certificate
		claim func(error) bool
	}{
		{"valid", httptest.Valid, func(err error) bool { return err == nil }},
		{"expired", httptest.Expired, expired},
		{"wrong_name", httptest.WrongName, func(err error) bool { return errors.As(err, new(x509.HostnameError)) }},
		{"unknown_issuer", httptest.UnknownIssuer, func(err error) bool { return errors.As(err, new(x509.UnknownAuthorityError)) }},
		{"none", httptest.NoCertificate, alert},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site("https://example.com").Path("/", httptest.Text("here")).Cert(row.cert)
				if _, _, err := get(t, web.Client(), "https://example.com/"); !row.claim(err) {
					t.Errorf("got %v, want another", err)
				}
			})
		})
	}
}

func TestPlainWhereTLSShouldBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("https://example.com").Connect(httptest.Plain)
		_, _, err := get(t, web.Client(), "https://example.com/")
		if !errors.Is(err, http.ErrSchemeMismatch) {
			t.Errorf("got %v, want %v", err, http.ErrSchemeMismatch)
		}
	})
}

// TestHTTP2 checks that the site chooses the protocol, and that a clone of the transport speaks it too.
func TestHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("https://two.example").HTTP2().Path("/", httptest.Text("2"))
		web.Site("https://one.example").Path("/", httptest.Text("1"))
		client := &http.Client{Transport: web.Transport().Clone()}
		for _, url := range []string{"https://two.example/", "https://two.example/", "https://one.example/"} {
			if _, _, err := get(t, client, url); err != nil {
				t.Errorf("%s: %v", url, err)
			}
		}
		var got []string
		for _, r := range web.Requests() {
			got = append(got, r.Proto)
		}
		if want := []string{"HTTP/2.0", "HTTP/2.0", "HTTP/1.1"}; !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if got := len(web.Dials()); got != 2 {
			t.Errorf("connections: got %d, want 2", got)
		}
	})
}

func TestTrailerArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://example.com").Path("/", httptest.Text("x").Trailer("X-After", "late"))
		res, _, err := get(t, web.Client(), "http://example.com/")
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Trailer.Get("X-After"); got != "late" {
			t.Errorf("got %q, want %q", got, "late")
		}
	})
}
