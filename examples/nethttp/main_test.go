package main

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

// TestCrawl checks that the crawl prints a result and a reason for every page. The robots.txt
// of one site is unreachable at first, one site does not exist, and one redirects its robots.txt.
func TestCrawl(t *testing.T) {
	local := web.Start(map[string]web.Site{
		"shop.example": {
			Robots: web.Text("User-agent: *\nDisallow: /cart\nCrawl-delay: 0.05\n"),
			Pages:  3,
			Links:  []string{"/cart/1", "/old", "http://busy.example/", "http://moved.example/", "http://moved.example/new", "http://lost.test/"},
			Moved:  "/old",
		},
		"busy.example":  {Robots: web.Steps(web.Status(503), web.Text("User-agent: *\nDisallow:\n")), Pages: 1},
		"moved.example": {Robots: web.Redirect("http://files.example/robots.txt"), Links: []string{"/drafts/1"}, Moved: "/new", MovedTo: "http://lost.test/new"},
		"files.example": {Robots: web.Text("User-agent: ExampleBot\nDisallow: /drafts\n")},
	})
	defer local.Close()
	o := local.Options()
	o.Profile = policy.RFC9309()
	o.Profile.Retry.Min = time.Second // a minute is better for the web
	tr, err := fetcher.New("ExampleBot/0.1", o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	crawl(&out, &http.Client{Transport: tr}, []string{"http://shop.example/"})
	for want, times := range map[string]int{
		"fetched http":                         8,
		"fetched http://shop.example/old\n":    1,
		"fetched http://shop.example/page/3\n": 1,
		"fetched http://busy.example/page/1\n": 1,
		`DISALLOW http://shop.example/cart/1: line 2 "Disallow: /cart" in group "*"`:                                                                                  1,
		"DEFER http://busy.example/: http://busy.example/robots.txt is unreachable (status 503":                                                                       1,
		"DEFER http://lost.test/: http://lost.test/robots.txt is unreachable (dns: ":                                                                                  2,
		`line 2 "Disallow: /drafts" in group "ExampleBot" of http://moved.example/robots.txt (served by http://files.example/robots.txt) [RFC 9309, section 2.2.2; p`: 1,
		"DEFER http://lost.test/new: http://lost.test/robots.txt is unreachable (dns: ":                                                                               2,
	} {
		if got := strings.Count(out.String(), want); got != times {
			t.Errorf("output:\n%s\n%q: got %d times, want %d", out.String(), want, got, times)
		}
	}
	if n := len(local.Requests("moved.example", "/new")); n != 1 {
		t.Errorf("got %d requests for the page that redirects to a host that is down, want 1", n)
	}
}
