package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestRun checks the decisions that a crawler with its own HTTP code gets from policy.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`DISALLOW http://shop.example/cart/1: line 2 "Disallow: /cart" in group "*"`,
		`ALLOW http://shop.example/cart/help: line 3 "Allow: /cart/help"`,
		`DISALLOW http://moved.example/cart/2: line 2 "Disallow: /cart" in group "*" of http://moved.example/robots.txt (served by http://shop.example/robots.txt)`,
		"ALLOW http://round.example/: http://round.example/robots.txt counts as missing (redirects in a loop) [RFC 9309, section 2.3.1.2",
		"DEFER http://busy.example/: http://busy.example/robots.txt is unreachable (status 503",
		"ALLOW http://plain.example/: there is no robots.txt (status 404",
		"DEFER http://lost.test/: http://lost.test/robots.txt is unreachable (dns: ",
		"    fetched: 200 OK\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output:\n%s\nwant a line with %q", out.String(), want)
		}
	}
}
