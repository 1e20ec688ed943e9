package main

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/rfc9309/polite/fetcher"
)

// TestCrawl checks that the crawl prints a result and a reason for every page.
func TestCrawl(t *testing.T) {
	local, options := smallWeb()
	defer local.Close()
	tr, err := fetcher.New("ExampleBot/0.1", options)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	crawl(&out, &http.Client{Transport: tr}, "http://shop.example/")
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

// TestLength checks that the program has at most sixty lines, imports and comments
// included.
func TestLength(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(text, []byte("\n")); got > 60 {
		t.Errorf("main.go: got %d lines, want at most 60", got)
	}
}
