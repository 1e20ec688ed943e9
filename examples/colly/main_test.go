package main

import (
	"bytes"
	"strings"
	"testing"
)

// What Colly finds, Polite rules on, and OnError is told why.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"fetched http://news.example/page/4\n",
		"fetched http://news.example/archive/2026/printed\n",
		`dropped DISALLOW http://news.example/archive/2026/print: line 2 "Disallow: /archive/*/print$"`,
		"later   DEFER http://busy.example/: http://busy.example/robots.txt is unreachable (status 503",
		"6 allowed, 1 disallowed, 1 deferred; 2 requests for robots.txt",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output:\n%s\nwant a line with %q", out.String(), want)
		}
	}
}
