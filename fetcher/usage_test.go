package fetcher_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/usage"
)

// usageFile is a robots.txt that says something about use.
const usageFile = `License: https://example.com/terms.xml
User-agent: *
Disallow: /private
Content-Usage: train-ai=n
Content-Usage: /public train-ai=y

User-agent: OtherBot
Content-Signal: search=no
`

// TestUsage fetches pages and reads what their sites say about use.
func TestUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(httptest.Text(usageFile)).
			Path("/news", httptest.Text("a page")).
			Path("/public", httptest.Text("a page").Header("Content-Usage", "train-ai=n").Header("X-Robots-Tag", "examplebot: noindex")).
			Path("/moved", httptest.Redirect(302, "https://www.example.com/a?b"))
		web.Site("https://www.example.com").Robots(httptest.Text("User-agent: *\nContent-Usage: /a?b$ search=n\n")).
			Path("/a", httptest.Text("a page"))
		web.Site("https://missing.example").Robots(httptest.Status(404)).Path("/", httptest.Text("a page").Header("tdm-reservation", "1"))
		tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
		other, err := tr.As("OtherBot")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name, page string
			tr         *fetcher.Transport
			want       string
		}{
			{"attach-3/robots.txt_alone", site + "/news", tr, `"train-ai": denied, line 4 ; "license": unknown, line 1`},
			{"attach-2/and_the_header", public, tr, `"train-ai": allowed, line 5 ; "license": unknown, line 1 ; "train-ai": denied, header ; "noindex": denied, header ; "train-ai": contradiction, denied counts`},
			{"9309-2.2.1/the_group_of_another_token", public, other, `"search": denied, line 8 ; "license": unknown, line 1 ; "train-ai": denied, header`},
			{"9309-2.3/the_site_that_a_redirect_leads_to", site + "/moved", tr, `"search": denied, line 2`},
			{"9309-2.3.1.3/no_robots.txt", "https://missing.example/", tr, `"tdm-reservation": denied, header`},
		} {
			resp, err := (&http.Client{Transport: c.tr, Timeout: time.Minute}).Get(c.page)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			said := c.tr.Usage(resp).String()
			var got []string
			for line := range strings.SplitSeq(said, "\n") {
				line, _, _ = strings.Cut(line, ` "C`)
				line, _, _ = strings.Cut(line, ` "L`)
				line, _, _ = strings.Cut(line, ` "X`)
				line, _, _ = strings.Cut(line, ` "t`)
				got = append(got, line)
			}
			if got := strings.Join(got, " ; "); got != c.want {
				t.Errorf("%s: %s\ngot  %s\nwant %s", c.name, c.page, got, c.want)
			}
		}
	})
}

// TestUsageWithoutARecord reads the header alone if the memory has no robots.txt.
func TestUsageWithoutARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(httptest.Text(usageFile))
		tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
		header := http.Header{"Content-Usage": {"train-ai=y"}}
		for name, req := range map[string]*http.Request{
			"no request":     nil,
			"no http URL":    {URL: must("gopher://x/")},
			"never fetched":  {URL: must(site + "/news")},
			"another host":   {URL: must("http://127.0.0.1/"), Host: "nobody.example"},
			"the robots.txt": {URL: must(site + "/robots.txt")},
		} {
			got := tr.Usage(&http.Response{Header: header, Request: req})
			if v, why := got.Get("train-ai"); v != usage.Allowed || len(why) != 1 {
				t.Errorf("%s: got %v", name, got)
			}
		}
		if n := len(web.Requests()); n > 0 {
			t.Errorf("got %d requests, want none", n)
		}
		if _, err := tr.Record(context.Background(), must(site)); err != nil {
			t.Fatal(err)
		}
		req := &http.Request{URL: must("http://127.0.0.1/news"), Host: "example.com"}
		if v, _ := tr.Usage(&http.Response{Header: header, Request: req}).Get("train-ai"); v != usage.Denied {
			t.Errorf("a request with a Host of its own: got %v, want the preference of that host", v)
		}
	})
}

// TestUsageAfterAChange changes robots.txt between a page and Usage. The copy that governed
// the page counts where the answer has it. Elsewhere the result says that the file changed.
func TestUsageAfterAChange(t *testing.T) {
	const before, after = "User-agent: *\nContent-Usage: train-ai=n\n", "User-agent: *\nContent-Usage: train-ai=y\n"
	const changed = "\nrobots.txt: skipped, it changed at 2000-01-01T00:01:00Z; a page requested before was governed by another copy"
	for _, c := range []struct {
		name    string
		paced   bool
		timeout time.Duration // of the client, which wraps the body if it is set
		robots  []httptest.Step
		want    string
	}{
		{"paced", true, 0, []httptest.Step{httptest.Text(before), httptest.Text(after)}, `"train-ai": denied, line 2 "Content-Usage: train-ai=n"`},
		{"paced_then_gone", true, 0, []httptest.Step{httptest.Text(before), httptest.Status(404)}, `"train-ai": denied, line 2 "Content-Usage: train-ai=n"`},
		{"wrapped", true, time.Hour, []httptest.Step{httptest.Text(before), httptest.Text(after)}, `"train-ai": allowed, line 2 "Content-Usage: train-ai=y"` + changed},
		{"unpaced", false, 0, []httptest.Step{httptest.Text(before), httptest.Text(after)}, `"train-ai": allowed, line 2 "Content-Usage: train-ai=y"` + changed},
		{"unpaced_then_gone", false, 0, []httptest.Step{httptest.Text(before), httptest.Status(404)}, strings.TrimPrefix(changed, "\n")},
		{"unpaced_new", false, 0, []httptest.Step{httptest.Status(404), httptest.Text(after)}, `"train-ai": allowed, line 2 "Content-Usage: train-ai=y"` + changed},
		{"unpaced_without_a_change", false, 0, []httptest.Step{httptest.Text(before)}, `"train-ai": denied, line 2 "Content-Usage: train-ai=n"`},
	} {
		t.Run("8/"+c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(c.robots...).Path("/news", httptest.Text("a page"))
				o := &fetcher.Options{Base: web.Transport()}
				if c.paced {
					o.Pace = &pace.Limits{}
				}
				tr := newTransport(t, o)
				resp, err := (&http.Client{Transport: tr, Timeout: c.timeout}).Get(site + "/news")
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				time.Sleep(time.Minute)
				if _, err := tr.Refresh(t.Context(), must(site)); err != nil {
					t.Fatal(err)
				}
				if got := tr.Usage(resp).String(); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
				if got := tr.Usage(&http.Response{Request: resp.Request}).Skipped(); got != nil {
					t.Errorf("of a URL that was not requested: skipped %v, want nothing", got)
				}
			})
		})
	}
}
