package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestRun checks that a failed page is tried again and a refused page is not, in both
// orders. With Polite above the retries, a robots.txt that fails is fetched more often.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	below, above, ok := strings.Cut(out.String(), "Polite over go-retryablehttp\n")
	if !ok {
		t.Fatalf("output:\n%s\nwant two parts", out.String())
	}
	both := []string{
		"fetched http://shop.example/page/1 200 OK\n",
		`DISALLOW http://shop.example/cart: line 2 "Disallow: /cart"`,
		"DEFER http://busy.example/: http://busy.example/robots.txt is unreachable (status 503",
		"fetched http://shop.example/old 200 OK\n",
		"requests for shop.example/page/1: 2\n",
		"requests for shop.example/moved/here: 1\n",
		"requests for shop.example/cart: 0\n",
	}
	checkLines(t, below, append(both, "requests for busy.example/robots.txt: 1\n"))
	checkLines(t, above, append(both, "requests for busy.example/robots.txt: 3\n"))
}

func checkLines(t *testing.T, text string, lines []string) {
	t.Helper()
	for _, want := range lines {
		if !strings.Contains(text, want) {
			t.Errorf("output:\n%s\nwant a line with %q", text, want)
		}
	}
}
