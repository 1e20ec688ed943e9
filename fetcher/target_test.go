package fetcher_test

import (
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
)

// TestTargetsOfRedirects redirects http://example.com/robots.txt. Where one redirect leads to the
// robots.txt of https://example.com, the answer is the answer of that authority, too.
func TestTargetsOfRedirects(t *testing.T) {
	to := func(location string) []httptest.Step { return steps(httptest.Redirect(301, location)) }
	serves := func(path string, s ...httptest.Step) func(*httptest.Web, *httptest.Site) {
		return func(w *httptest.Web, _ *httptest.Site) { w.Site(secure).Path(path, s...) }
	}
	const own, elsewhere = secure + "/robots.txt", secure + "/private"
	for _, r := range []row{
		{name: "4.2/a_file", robots: to(own), also: serves("/robots.txt", text), asked: []question{
			{0, private, "disallow 2.2.2", 2, exactly(day), check}, {0, elsewhere, "disallow 2.2.2", 2, exactly(day), check},
		}},
		{name: "4.2/no_file", robots: to(own), also: serves("/robots.txt", httptest.Status(404)), asked: []question{
			{0, private, "allow 2.3.1.3", 2, span{}, check}, {0, elsewhere, "allow 2.3.1.3", 2, span{}, check},
		}},
		{name: "4.2/its_own_lifetime_and_validators", robots: steps(httptest.Redirect(301, own), httptest.Status(404)),
			also: serves("/robots.txt", text.ETag(`"1"`).Header("Cache-Control", "max-age=3600")), asked: []question{
				{0, private, "disallow 2.2.2", 2, span{}, check}, {time.Hour, private, "allow 2.3.1.3", 3, span{}, check},
				{time.Hour, elsewhere, "disallow 2.2.2", 4, exactly(time.Hour), check},
			}},
		{name: "4.2/unreachable", robots: to(own), also: serves("/robots.txt", httptest.Status(503), text), asked: []question{
			{0, private, "defer 2.3.1.4", 2, span{}, check}, {0, elsewhere, "disallow 2.2.2", 3, span{}, check},
		}},
		{name: "4.2/another_path", robots: to(secure + "/r"), also: serves("/r", text), asked: []question{
			{0, private, "disallow 2.2.2", 2, span{}, check}, {0, elsewhere, "allow 2.3.1.3", 3, span{}, check},
		}},
		{name: "4.2/a_query", robots: to(own + "?from=http"), also: serves("/robots.txt", text), asked: []question{
			{0, private, "disallow 2.2.2", 2, span{}, check}, {0, elsewhere, "disallow 2.2.2", 3, span{}, check},
		}},
		{name: "4.2/two_redirects", robots: to(site + "/r"), also: func(w *httptest.Web, s *httptest.Site) {
			s.Path("/r", httptest.Redirect(301, own))
			w.Site(secure).Robots(text)
		}, asked: []question{
			{0, private, "disallow 2.2.2", 3, span{}, check}, {0, elsewhere, "disallow 2.2.2", 4, span{}, check},
		}},
		{name: "4.2/its_own_copy_is_current", robots: to(own), also: serves("/robots.txt", httptest.Status(404), text), asked: []question{
			{0, elsewhere, "allow 2.3.1.3", 1, span{}, check}, {0, private, "disallow 2.2.2", 3, span{}, check},
			{0, elsewhere, "allow 2.3.1.3", 3, span{}, check},
		}},
		{name: "4.2/its_own_outage_ends", robots: to(own), also: serves("/robots.txt", httptest.Status(503), text), asked: []question{
			{0, elsewhere, "defer 2.3.1.4", 1, span{}, check}, {0, private, "disallow 2.2.2", 3, span{}, check},
			{0, elsewhere, "disallow 2.2.2", 3, span{}, check},
		}},
	} {
		t.Run(r.name, r.run)
	}
}
