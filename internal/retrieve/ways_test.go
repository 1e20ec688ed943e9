package retrieve_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/rfc9309/polite/internal/httptest"
)

// TestOverRetryablehttp puts go-retryablehttp below a fetch, configured as
// the documentation says. The decisions are the same, redirects are followed one by
// one, and a failure is retried by both.
func TestOverRetryablehttp(t *testing.T) {
	for _, tt := range []struct {
		name   string
		robots []httptest.Step
		want   string
	}{
		{"rules", steps(text), obeyed},
		{"redirect", steps(httptest.Redirect(302, "http://b.test/r")), obeyed},
		{"loop", steps(httptest.Redirect(302, "/robots.txt")), nothing},
		{"bad_location", steps(httptest.Redirect(302, "ftp://b.test/")), down},
		{"missing", steps(httptest.Status(404)), nothing},
		{"down", steps(httptest.Status(503)), down},
		{"up_at_the_fifth_try", steps(httptest.Status(503), httptest.Status(502), httptest.Reset(), httptest.Reset(), text), obeyed},
		{"busy", steps(httptest.Status(429).Header("Retry-After", "10000")), down},
		{"reset", steps(httptest.Reset()), down},
		{"hang", steps(httptest.Hang()), down},
	} {
		t.Run("2.3.1/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(tt.robots...)
				web.Site("http://b.test").Path("/r", text)
				below := retryablehttp.NewClient()
				below.Logger = nil
				below.HTTPClient = &http.Client{Transport: web.Transport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
				below.ErrorHandler = retryablehttp.PassthroughErrorHandler
				c := over(&retryablehttp.RoundTripper{Client: below})
				c.network.Lookup = web.LookupNetIP
				trial{want: tt.want}.hold(t, c, site)
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestHTTP2 tests the same web over HTTP/2, where all tries share a connection.
func TestHTTP2(t *testing.T) {
	for _, tt := range []trial{
		{name: "2.3.1.1/rules", answer: text, want: obeyed, requests: 1},
		{name: "2.3.1.1/gzip", answer: text.Gzip(), want: obeyed, requests: 1},
		{name: "2.3.1.1/slow_but_in_time", answer: text.Drip(4, time.Second), want: obeyed, requests: 1},
		{name: "2.3.1.1/hints", answer: text.Early(103, 3), want: obeyed, requests: 1},
		{name: "2.3.1.1/no_length", answer: text.Chunked(), want: obeyed, requests: 1},
		{name: "2.3.1.1/trailers", answer: text.Trailer("X-Checksum", "1"), want: obeyed, requests: 1},
		{name: "2.5/flood", answer: httptest.Flood(rules), want: obeyed, requests: 1},
		{name: "2.3.1.2/redirect", answer: httptest.Redirect(301, "http://b.test/r"), want: obeyed, requests: 2},
		{name: "2.3.1.2/loop", answer: httptest.Redirect(301, "/robots.txt"), want: nothing, requests: 6},
		{name: "2.3.1.3/missing", answer: httptest.Status(404), want: nothing, requests: 1},
		{name: "2.3.1.4/down", answer: httptest.Status(503), want: down, requests: 1},
		{name: "2.3.1.4/status_999", answer: httptest.Status(999), want: down, requests: 1},
		{name: "2.3.1.4/hang", answer: httptest.Hang(), want: down, requests: 1},
		{name: "2.3.1.4/reset", answer: httptest.Reset(), want: down, requests: 2},
		{name: "2.3.1.4/stream_ends_with_an_error", answer: httptest.Close(), want: down, requests: 2},
		{name: "2.3.1.4/stream_ends_in_the_body", answer: text.Cut(10), want: down, requests: 2},
		{name: "2.3.1.4/reset_in_the_body", answer: text.ResetAfter(10), want: down, requests: 2},
		{name: "2.3.1.4/hang_in_the_body", answer: text.HangAfter(10), want: down, requests: 1},
		{name: "2.3.1.4/too_slow", answer: text.Drip(1, time.Second), want: down, requests: 1},
		{name: "2.3.1.4/too_many_fields", answer: text.HeaderFlood(70 << 10), want: down, requests: 1},
		{name: "2.3.1.4/hints_without_end", answer: text.Early(103, -1), want: down, requests: 1},
		{name: "2.3.1.4/unknown_coding", answer: text.Header("Content-Encoding", "br"), want: down, requests: 1},
		{name: "2.3.1.4/cut_gzip", answer: text.Gzip().Cut(12), want: down, requests: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(secure).HTTP2().Robots(tt.answer)
				web.Site("http://b.test").Path("/r", text)
				tt.hold(t, over(web.Transport()), secure)
				got := web.Requests()
				if len(got) != tt.requests {
					t.Errorf("got  %d requests\nwant %d\n%v", len(got), tt.requests, got)
				}
				if len(got) > 0 && got[0].Proto != "HTTP/2.0" {
					t.Errorf("got  %s, want HTTP/2.0", got[0].Proto)
				}
			})
		})
	}
}

// TestProxy sends everything through a proxy: plain requests for http, a tunnel for
// https. A proxy that fails makes the site unreachable. An answer of the proxy
// itself counts as the site's, because nobody can tell them apart.
func TestProxy(t *testing.T) {
	for _, tt := range []struct {
		name   string
		origin string
		proxy  []httptest.Step // what it answers instead of forwarding
		site   httptest.Step
		want   string
	}{
		{"2.3.1.1/plain", site, nil, text, obeyed},
		{"2.3.1.1/tunnel", "https://example.com", nil, text, obeyed},
		{"2.3.1.3/plain_missing", site, nil, httptest.Status(404), nothing},
		{"2.3.1.2/plain_redirect", site, nil, httptest.Redirect(302, "https://example.com/r"), obeyed},
		{"2.3.1.2/tunnel_redirect", "https://example.com", nil, httptest.Redirect(302, "/r"), obeyed},
		{"2.3.1.4/plain_down", site, nil, httptest.Status(503), down},
		{"2.3.1.4/tunnel_hang", "https://example.com", nil, httptest.Hang(), down},
		{"2.3.1.4/plain_bad_gateway", site, []httptest.Step{httptest.Status(502)}, text, down},
		{"2.3.1.4/tunnel_bad_gateway", "https://example.com", []httptest.Step{httptest.Status(502)}, text, down},
		{"2.3.1.4/tunnel_refused", "https://example.com", []httptest.Step{httptest.Status(403)}, text, down},
		{"2.3.1.4/tunnel_unauthorised", "https://example.com", []httptest.Step{httptest.Status(407)}, text, down},
		{"2.3.1.4/tunnel_missing", "https://example.com", []httptest.Step{httptest.Status(404)}, text, down},
		{"2.3.1.4/tunnel_into_nothing", "https://example.com", []httptest.Step{httptest.Hang()}, text, down},
		{"2.3.1.4/tunnel_reset", "https://example.com", []httptest.Step{httptest.Reset()}, text, down},
		{"2.3.1.4/plain_hang", site, []httptest.Step{httptest.Hang()}, text, down},
		{"2.3.1.4/plain_reset", site, []httptest.Step{httptest.Reset()}, text, down},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(tt.origin).Robots(tt.site)
				web.Site("https://example.com").Path("/r", text)
				web.Site("http://proxy.test:3128").Proxy(tt.proxy...)
				base := web.Transport()
				base.Proxy = http.ProxyURL(must("http://proxy.test:3128"))
				c := over(base)
				c.network.Lookup = web.LookupNetIP
				trial{want: tt.want}.hold(t, c, tt.origin)
				for _, d := range web.Dials() {
					if d.Via == "" && d.Address != "proxy.test:3128" {
						t.Errorf("the client dialled %s, want the proxy alone", d.Address)
					}
				}
				time.Sleep(time.Minute)
			})
		})
	}
}
