package fetcher_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/policy"
)

// paths returns the requests as "host/path", in order.
func paths(requests []httptest.Request) []string {
	var s []string
	for _, r := range requests {
		s = append(s, strings.TrimPrefix(strings.TrimPrefix(r.URL(), "http://"), "https://"))
	}
	return s
}

// TestPageRedirects follows pages from site to site under http.Client. Each hop is
// checked against the file of the authority that it leads to, and a refused hop is
// not requested.
func TestPageRedirects(t *testing.T) {
	to := func(url string) httptest.Step { return httptest.Redirect(302, url) }
	for _, tt := range []struct {
		name  string
		first httptest.Step // http://example.com/page
		want  error
		url   string   // of the refusal
		asked []string // requests
	}{
		{"to_an_allowed_page", to("http://b.test/open"), nil, "", []string{"example.com/robots.txt", "example.com/page", "b.test/robots.txt", "b.test/open"}},
		{"to_a_page_of_the_same_host", to("/other"), nil, "", []string{"example.com/robots.txt", "example.com/page", "example.com/other"}},
		{"to_a_page_the_other_host_forbids", to("http://b.test/closed"), fetcher.ErrDisallowed, "http://b.test/closed", []string{"example.com/robots.txt", "example.com/page", "b.test/robots.txt"}},
		{"to_a_page_this_host_forbids", to("/private"), fetcher.ErrDisallowed, private, []string{"example.com/robots.txt", "example.com/page"}},
		{"to_what_only_this_host_forbids", to("http://b.test/private"), nil, "", []string{"example.com/robots.txt", "example.com/page", "b.test/robots.txt", "b.test/private"}},
		{"to_a_host_that_is_down", to("http://down.test/"), fetcher.ErrDeferred, "http://down.test/", []string{"example.com/robots.txt", "example.com/page", "down.test/robots.txt"}},
		{"to_another_port", to("http://example.com:8080/private"), nil, "", []string{"example.com/robots.txt", "example.com/page", "example.com:8080/robots.txt", "example.com:8080/private"}},
		{"to_https", to("https://example.com/private"), nil, "", []string{"example.com/robots.txt", "example.com/page", "example.com/robots.txt", "example.com/private"}},
		{"to_a_host_in_capitals", to("http://EXAMPLE.com.:80/private"), fetcher.ErrDisallowed, "http://EXAMPLE.com.:80/private", []string{"example.com/robots.txt", "example.com/page"}},
		{"to_robots.txt", to("/robots.txt"), nil, "", []string{"example.com/robots.txt", "example.com/page", "example.com/robots.txt"}},
		{"three_times", to("http://b.test/1"), fetcher.ErrDisallowed, private, []string{"example.com/robots.txt", "example.com/page", "b.test/robots.txt", "b.test/1", "b.test/2"}},
	} {
		t.Run("2.3/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := sites(t)
				page := httptest.Text("page")
				web.Site(site).Path("/page", tt.first).Path("/other", page)
				web.Site("http://b.test").Robots(httptest.Text("User-agent: *\nDisallow: /closed\n")).
					Path("/open", page).Path("/private", page).Path("/1", to("/2")).Path("/2", to(private))
				web.Site("http://example.com:8080").Path("/private", page)
				web.Site("https://example.com").Path("/private", page)
				client := &http.Client{Transport: newTransport(t, &fetcher.Options{Base: web.Transport()})}
				resp, err := client.Get(site + "/page")
				if err == nil {
					resp.Body.Close()
				}
				var denied *fetcher.DeniedError
				if !errors.Is(err, tt.want) || errors.As(err, &denied) && denied.Decision.URL != tt.url {
					t.Errorf("got  %v\nwant %v of %s", err, tt.want, tt.url)
				}
				if got := paths(web.Requests()); !slices.Equal(got, tt.asked) {
					t.Errorf("got  %q\nwant %q", got, tt.asked)
				}
			})
		})
	}
}

// TestCookiesStayWithPages gives the client a cookie jar. Pages carry its cookies,
// robots.txt never does, and cookies that come with robots.txt are dropped.
func TestCookiesStayWithPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		s := web.Site(site).Robots(text.Header("Set-Cookie", "robots=1; Path=/").Header("Cache-Control", "no-store")).
			Path("/public", httptest.Text("page").Header("Set-Cookie", "page=1; Path=/"))
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Jar: jar, Transport: newTransport(t, &fetcher.Options{Base: web.Transport()})}
		for range 2 {
			resp, err := client.Get(public)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			time.Sleep(time.Hour)
		}
		var got []string
		for _, r := range s.Requests() {
			got = append(got, r.Target+" "+r.Header.Get("Cookie"))
		}
		if want := []string{"/robots.txt ", "/public ", "/robots.txt ", "/public page=1"}; !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

// retrying returns a go-retryablehttp client with its default choice of what to
// retry, but without a log.
func retrying(rt http.RoundTripper) *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: rt}
	c.Logger = nil
	return c
}

// TestUnderRetryablehttp puts go-retryablehttp above the Transport. With the
// CheckRetry of the documentation a refusal is final. With AsResponse a Disallow is final, and
// the client waits at a Defer. Otherwise the client tries again, which sends nothing to the site.
func TestUnderRetryablehttp(t *testing.T) {
	final := func(ctx context.Context, resp *http.Response, err error) (bool, error) {
		if errors.Is(err, fetcher.ErrDisallowed) || errors.Is(err, fetcher.ErrDeferred) {
			return false, err
		}
		return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
	}
	for _, tt := range []struct {
		name  string
		check retryablehttp.CheckRetry
		as    bool // AsResponse
		url   string
		want  error
		asked int // of the Transport
	}{
		{"a_denial_is_final", final, false, private, fetcher.ErrDisallowed, 1},
		{"so_is_a_deferral", final, false, "http://down.test/", fetcher.ErrDeferred, 1},
		{"as_a_response", retryablehttp.DefaultRetryPolicy, true, private, nil, 1},
		{"a_deferral_as_a_response_waits", retryablehttp.DefaultRetryPolicy, true, "http://back.test/", nil, 2},
		{"untold_it_asks_five_times", retryablehttp.DefaultRetryPolicy, false, private, errAny, 5},
		{"pages_are_tried_again", final, false, site + "/flaky", nil, 3},
	} {
		t.Run("house/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := sites(t)
				web.Site("http://back.test").Robots(httptest.Status(503), text).Path("/", page)
				web.Site(site).Path("/flaky", httptest.Status(503), httptest.Status(502), httptest.Text("page"))
				asked := 0
				tr := newTransport(t, &fetcher.Options{Base: web.Transport(), AsResponse: tt.as, Trace: &fetcher.Trace{
					Decided: func(context.Context, policy.Decision) { asked++ },
				}})
				client := retrying(tr)
				client.CheckRetry = tt.check
				resp, err := client.Get(tt.url)
				if err == nil {
					resp.Body.Close()
				}
				if !isErr(err, tt.want) || asked != tt.asked {
					t.Errorf("got  %v, asked %d times\nwant %v, %d times", err, asked, tt.want, tt.asked)
				}
				if got := web.Site(site).Requests("/private"); len(got) > 0 {
					t.Errorf("the site got %v, want nothing", got)
				}
			})
		})
	}
}

// TestOverRetryablehttp puts go-retryablehttp below the Transport, configured as
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
				web := sites(t)
				web.Site(site).Robots(tt.robots...)
				web.Site("http://b.test").Path("/r", text)
				below := retrying(web.Transport())
				below.HTTPClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
				below.ErrorHandler = retryablehttp.PassthroughErrorHandler
				tr := newTransport(t, &fetcher.Options{Base: &retryablehttp.RoundTripper{Client: below}})
				tr.SetLookup(web.LookupNetIP)
				trial{want: tt.want}.hold(t, tr, site)
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestHTTP2 tests the same web over HTTP/2, where all tries share a connection.
func TestHTTP2(t *testing.T) {
	const secure = "https://example.com"
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
				tt.hold(t, newTransport(t, &fetcher.Options{Base: web.Transport()}), secure)
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

// TestHTTP2Pages requests many pages at once on one HTTP/2 connection.
func TestHTTP2Pages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secure = "https://example.com"
		web := httptest.New(t)
		s := web.Site(secure).HTTP2().Robots(text).Path("/page*", httptest.Text("page").After(time.Second))
		client := &http.Client{Transport: newTransport(t, &fetcher.Options{Base: web.Transport()})}
		done := make(chan error)
		for i := range 50 {
			go func() { // ends with the request
				resp, err := client.Get(fmt.Sprint(secure, "/page", i))
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				done <- err
			}()
		}
		for range 50 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if got := len(s.Requests("/robots.txt")); got != 1 || len(s.Requests()) != 51 {
			t.Errorf("got  %d requests for robots.txt, %d in all\nwant 1 and 51", got, len(s.Requests()))
		}
	})
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
				tr := newTransport(t, &fetcher.Options{Base: base})
				tr.SetLookup(web.LookupNetIP)
				trial{want: tt.want}.hold(t, tr, tt.origin)
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
