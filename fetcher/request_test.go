package fetcher_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/policy"
)

// TestRequests checks the header of every request for robots.txt, on every hop.
func TestRequests(t *testing.T) {
	const plain = "Accept Accept-Encoding User-Agent"
	secret := httptest.Redirect(302, "http://user:secret@b.test/r").Header("Set-Cookie", "id=1; Path=/").ETag(`"of the redirect"`)
	for _, tt := range []struct {
		name   string
		robots []httptest.Step
		target string
		want   []string // URL: names of the fields
	}{
		{"4.1/first_request", steps(text), private, []string{site + "/robots.txt: " + plain}},
		{"4.1/userinfo_stays_behind", steps(text), "http://user:secret@example.com/private", []string{site + "/robots.txt: " + plain}},
		{"4.1/redirects_bring_nothing_along", steps(secret), private, []string{
			site + "/robots.txt: " + plain, "http://b.test/r: " + plain, "http://b.test/r2: " + plain,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(tt.robots...)
				web.Site("http://b.test").Path("/r", httptest.Redirect(307, "/r2").Header("Set-Cookie", "id=2")).Path("/r2", text)
				tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
				if _, err := tr.Check(t.Context(), must(tt.target)); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, r := range web.Requests() {
					got = append(got, r.URL()+": "+strings.Join(slices.Sorted(maps.Keys(r.Header)), " "))
					if ua := r.Header.Get("User-Agent"); r.Method != "GET" || ua != agent {
						t.Errorf("%s: method %s, agent %q; want GET, %q", r.URL(), r.Method, ua, agent)
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("%s:\ngot  %q\nwant %q", tt.target, got, tt.want)
				}
			})
		})
	}
}

// TestValidators checks which validators of an answer the next requests carry (RFC
// 9111, section 4.3.1).
func TestValidators(t *testing.T) {
	const date = "Fri, 01 Jan 1999 00:00:00 GMT"
	full := text.Header("ETag", `W/"a"`).Header("Last-Modified", date)
	for _, tt := range []struct {
		name    string
		profile string
		also    func(*httptest.Web, *httptest.Site)
		robots  []httptest.Step
		want    []string // target and validators of each request
	}{
		{"2.4/both_are_sent", "rfc9309", nil, steps(full), []string{"/robots.txt", `/robots.txt W/"a" ` + date, `/robots.txt W/"a" ` + date}},
		{"2.4/none_without_conditional", "google", nil, steps(full), []string{"/robots.txt", "/robots.txt", "/robots.txt"}},
		{"2.4/the_newest_count", "rfc9309", nil, steps(full, text.Header("ETag", `"b"`)), []string{"/robots.txt", `/robots.txt W/"a" ` + date, `/robots.txt "b"`}},
		{"2.4/over_1_KiB_is_not_kept", "rfc9309", nil, steps(text.Header("ETag", `"`+strings.Repeat("a", 1<<10)+`"`)), []string{"/robots.txt", "/robots.txt", "/robots.txt"}},
		{"2.4/an_error_has_none", "rfc9309", nil, steps(httptest.Status(404).Header("ETag", `"a"`)), []string{"/robots.txt", "/robots.txt", "/robots.txt"}},
		{"2.4/kept_through_an_outage", "rfc9309", nil, steps(full, httptest.Status(500).Header("ETag", `"500"`)), []string{
			"/robots.txt", `/robots.txt W/"a" ` + date, `/robots.txt W/"a" ` + date,
		}},
		{"2.4/of_the_url_they_belong_to", "rfc9309", func(_ *httptest.Web, s *httptest.Site) { s.Path("/r", full) },
			steps(httptest.Redirect(302, "/r").Header("ETag", `"redirect"`)), []string{
				"/robots.txt", "/r", "/robots.txt", `/r W/"a" ` + date, "/robots.txt", `/r W/"a" ` + date,
			}},
		{"2.4/not_sent_to_where_the_file_moved", "rfc9309", func(_ *httptest.Web, s *httptest.Site) { s.Path("/r", text) },
			steps(full, httptest.Redirect(302, "/r")), []string{
				"/robots.txt", `/robots.txt W/"a" ` + date, "/r", "/robots.txt", "/r",
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				s := web.Site(site).Robots(tt.robots...)
				if tt.also != nil {
					tt.also(web, s)
				}
				p, _ := policy.ByName(tt.profile)
				o := &fetcher.Options{Base: web.Transport(), Profile: p, Store: cache.NewMemory(1 << 20)}
				for range 3 {
					newTransport(t, o).Check(context.Background(), must(private))
					time.Sleep(25 * time.Hour)
				}
				var got []string
				for _, r := range web.Requests() {
					line := r.Target
					for _, v := range []string{r.Header.Get("If-None-Match"), r.Header.Get("If-Modified-Since")} {
						if v != "" {
							line += " " + v
						}
					}
					got = append(got, line)
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("got  %q\nwant %q", got, tt.want)
				}
			})
		})
	}
}
