package main

import (
	"bytes"
	"strings"
	"testing"
)

// The crawl says of every page what became of it and why.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"fetched http://shop.example/page/3\n",
		`dropped DISALLOW http://shop.example/cart/1: line 2 "Disallow: /cart" in group "*"`,
		"later   DEFER http://busy.example/: http://busy.example/robots.txt is unreachable (status 503",
		"fetched http://busy.example/page/1\n",
		`dropped DISALLOW http://moved.example/drafts/1: line 2 "Disallow: /drafts" in group "ExampleBot" of http://moved.example/robots.txt (served by http://files.example/robots.txt)`,
		"kept    http://lost.test/ for the next crawl\n",
		"7 fetched, 2 dropped, 0 failed, 1 kept\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output:\n%s\nwant a line with %q", out.String(), want)
		}
	}
}
