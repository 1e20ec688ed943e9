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
