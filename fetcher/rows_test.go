package fetcher_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/policy"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

// A rowTest is one row of the decision table over a scripted web: what the site
// at https://example.com answers, and what is asked of it and when.
type rowTest struct {
	name  string
	site  []httptest.Step
	also  func(w *httptest.Web) // other sites
	asked []question
}

// A question is asked after the previous one, later by after; got is the
// verdict and asks is how many requests for robots.txt the web has seen by then.
type question struct {
	after  time.Duration
	url    string
	want   policy.Verdict
	clause string
	asks   int
}

const (
	private = "https://example.com/private"
	public  = "https://example.com/public"
	rules   = "User-agent: *\nDisallow: /private\n"
)

func must(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

func TestRows(t *testing.T) {
	tests := []rowTest{
		{"2.3.1.1/rules_are_followed", []httptest.Step{httptest.Text(rules)}, nil, []question{
			{0, private, policy.Disallow, "2.2.2", 1},
			{time.Second, public, policy.Allow, "2.2.2", 1},
			{24*time.Hour - 2*time.Second, private, policy.Disallow, "2.2.2", 1},
			{2 * time.Second, private, policy.Disallow, "2.2.2", 2},
		}},
		{"2.3.1.2/five_redirects", []httptest.Step{httptest.Redirect(301, "https://b.test/1")}, func(w *httptest.Web) {
			b := w.Site("https://b.test")
			b.Path("/1", httptest.Redirect(302, "/2"))
			b.Path("/2", httptest.Redirect(303, "/3"))
			b.Path("/3", httptest.Redirect(307, "/4"))
			b.Path("/4", httptest.Redirect(308, "/5"))
			b.Path("/5", httptest.Text(rules))
		}, []question{{0, private, policy.Disallow, "2.2.2", 6}, {0, public, policy.Allow, "2.2.2", 6}}},
		{"2.3.1.2/six_redirects", []httptest.Step{httptest.Redirect(301, "https://b.test/1")}, func(w *httptest.Web) {
			b := w.Site("https://b.test")
			b.Path("/1", httptest.Redirect(302, "/2"))
			b.Path("/2", httptest.Redirect(303, "/3"))
			b.Path("/3", httptest.Redirect(307, "/4"))
			b.Path("/4", httptest.Redirect(308, "/5"))
			b.Path("/5", httptest.Redirect(308, "/6"))
			b.Path("/6", httptest.Text(rules))
		}, []question{{0, private, policy.Allow, "2.3.1.2", 6}, {59 * time.Minute, private, policy.Allow, "2.3.1.2", 6}}},
		{"2.3.1.3/missing", []httptest.Step{httptest.Status(404)}, nil, []question{{0, private, policy.Allow, "2.3.1.3", 1}}},
		{"2.3.1.4/503", []httptest.Step{httptest.Status(503), httptest.Text(rules)}, nil, []question{
			{0, public, policy.Defer, "2.3.1.4", 1},
			{20 * time.Second, public, policy.Defer, "2.3.1.4", 1},
			{time.Minute, public, policy.Allow, "2.2.2", 2},
		}},
		{"2.3.1.4/hang", []httptest.Step{httptest.Hang()}, nil, []question{{0, public, policy.Defer, "2.3.1.4", 1}}},
		{"2.3.1.4/reset_is_tried_again", []httptest.Step{httptest.Reset(), httptest.Text(rules)}, nil, []question{{0, public, policy.Allow, "2.2.2", 2}}},
		{"2.4/stale_copy", []httptest.Step{httptest.Text(rules), httptest.Status(503)}, nil, []question{
			{0, public, policy.Allow, "2.2.2", 1},
			{25 * time.Hour, public, policy.Allow, "2.4", 2},
			{0, private, policy.Disallow, "2.4", 2},
		}},
		{"2.4/revalidated", []httptest.Step{httptest.Text(rules).ETag(`"a"`)}, nil, []question{
			{0, private, policy.Disallow, "2.2.2", 1},
			{25 * time.Hour, private, policy.Disallow, "2.2.2", 2},
		}},
		{"egress/metadata", []httptest.Step{httptest.Redirect(302, "http://169.254.169.254/latest")}, nil, []question{{0, public, policy.Defer, "2.3.1.4", 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site("https://example.com").Robots(tt.site...)
				if tt.also != nil {
					tt.also(web)
				}
				tr, err := fetcher.New(agent, &fetcher.Options{Base: web.Transport()})
				if err != nil {
					t.Fatal(err)
				}
				for i, q := range tt.asked {
					time.Sleep(q.after)
					d, err := tr.Check(context.Background(), must(q.url))
					if err != nil || d.Verdict != q.want || d.Clause != q.clause || len(web.Requests()) != q.asks {
						t.Errorf("question %d, %s:\ngot  %v, error %v, %d requests\nwant %v [%s], %d requests",
							i, q.url, d, err, len(web.Requests()), q.want, q.clause, q.asks)
					}
				}
			})
		})
	}
}

func TestRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		site := web.Site("https://example.com")
		site.Robots(httptest.Text(rules))
		site.Path("/public", httptest.Text("hello"))
		tr, _ := fetcher.New(agent, &fetcher.Options{Base: web.Transport()})
		client := &http.Client{Transport: tr}
		resp, err := client.Get(public)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("GET %s: %v, %v", public, resp, err)
		}
		resp.Body.Close()
		_, err = client.Get(private)
		var denied *fetcher.DeniedError
		if !errors.As(err, &denied) || !errors.Is(err, fetcher.ErrDisallowed) || errors.Is(err, fetcher.ErrDeferred) {
			t.Fatalf("GET %s: got %v, want a DeniedError that is ErrDisallowed", private, err)
		}
	})
}
