package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/policy"
)

// TestVisit checks the decisions that a crawler with its own HTTP code gets from policy.
func TestVisit(t *testing.T) {
	local := web.Start(map[string]web.Site{
		"shop.example":  {Robots: web.Text("User-agent: *\nDisallow: /cart\nAllow: /cart/help\n")},
		"moved.example": {Robots: web.Redirect("http://shop.example/robots.txt")},
		"round.example": {Robots: web.Redirect("http://round.example/robots.txt")},
		"busy.example":  {Robots: web.Status(503)},
		"plain.example": {},
	})
	defer local.Close()
	c := &crawler{profile: policy.RFC9309(), records: map[string]*policy.Record{}, dial: local.Transport().DialContext}
	var out bytes.Buffer
	for _, page := range []string{
		"http://shop.example/cart/1", "http://shop.example/cart/help", "http://moved.example/cart/2", "http://round.example/",
		"http://busy.example/", "http://plain.example/", "http://lost.test/", "https://plain.example/",
	} {
		if err := c.visit(&out, page); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		`DISALLOW http://shop.example/cart/1: line 2 "Disallow: /cart" in group "*"`,
		`ALLOW http://shop.example/cart/help: line 3 "Allow: /cart/help"`,
		`DISALLOW http://moved.example/cart/2: line 2 "Disallow: /cart" in group "*" of http://moved.example/robots.txt (served by http://shop.example/robots.txt)`,
		"ALLOW http://round.example/: http://round.example/robots.txt counts as missing (redirects in a loop) [RFC 9309, section 2.3.1.2",
		"DEFER http://busy.example/: http://busy.example/robots.txt is unreachable (status 503",
		"ALLOW http://plain.example/: there is no robots.txt (status 404",
		"DEFER http://lost.test/: http://lost.test/robots.txt is unreachable (dns: ",
		"DEFER https://plain.example/: https://plain.example/robots.txt is unreachable (tls: ",
		"    fetched: 200 OK\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output:\n%s\nwant a line with %q", out.String(), want)
		}
	}
}
