package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestRun checks that the page shows which sites are down and why a URL is not fetched.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  unreachable  503  http://busy.example/robots.txt ",
		"  successful   200  http://moved.example/robots.txt ",
		`DISALLOW http://shop.example/cart/1: line 2 "Disallow: /cart"`,
		"DEFER http://busy.example/page: http://busy.example/robots.txt is unreachable (status 503",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output:\n%s\nwant %q", out.String(), want)
		}
	}
}
