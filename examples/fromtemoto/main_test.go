package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rfc9309/polite/examples/internal/web"
)

// TestRun checks what both crawlers do with each page, and why they differ.
func TestRun(t *testing.T) {
	local := web.Start(map[string]web.Site{
		"shop.example":  {Robots: web.Text("User-agent: *\nDisallow: /cart\nDisallow: /moved\nDisallow: /café\nCrawl-delay: 0.02\n"), Moved: "/old"},
		"named.example": {Robots: web.Text("User-agent: Example\nDisallow: /\n")},
		"busy.example":  {Robots: web.Status(429)},
		"down.example":  {Robots: web.Status(503)},
	})
	defer local.Close()
	for _, test := range []struct{ page, before, after, why string }{
		{"http://shop.example/cart", "dropped", "dropped", "no difference"},
		{"http://shop.example/old", "fetched", "dropped", "the redirect leads to a disallowed page, and each redirect is checked"},
		{"http://shop.example/caf%C3%A9", "fetched", "dropped", "the rule is \"/café\": rules and URLs are compared after percent-encoding"},
		{"http://named.example/", "dropped", "fetched", "the group is of Example, which is another crawler than ExampleBot"},
		{"http://busy.example/", "fetched", "later", "a 429 means \"not now\": it neither allows nor ends the host"},
		{"http://down.example/", "fetched", "later", "nothing may be fetched during a 503: FindGroup does not know, and TestAgent would drop the page for ever"},
		{"http://lost.test/", "failed", "later", "an outage of robots.txt is no failure of the page: it is kept"},
	} {
		var out bytes.Buffer
		if err := run(&out, local.Options(), []string{test.page}); err != nil {
			t.Fatal(err)
		}
		want := test.page + " before: " + test.before + " after: " + test.after
		if got := strings.Join(strings.Fields(out.String()), " "); got != want {
			t.Errorf("got  %s\nwant %s\nsince %s", got, want, test.why)
		}
	}
}
