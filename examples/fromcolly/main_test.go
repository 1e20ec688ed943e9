package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestRun checks what both collectors requested, so that the comment stays true.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	before, after, _ := strings.Cut(out.String(), "Polite\n")
	for _, want := range []struct{ in, text string }{
		{before, "requests: shop.example/robots.txt shop.example/ shop.example/old shop.example/moved/here shop.example/1 shop.example/2 " +
			"busy.example/robots.txt busy.example/ down.example/robots.txt down.example/\n"},
		{before, "Crawl-delay of 200 ms kept: false\n"},
		{after, "requests: shop.example/robots.txt shop.example/ shop.example/old shop.example/1 shop.example/2 busy.example/robots.txt down.example/robots.txt\n"},
		{after, "Crawl-delay of 200 ms kept: true\n"},
		{after, `refused: DISALLOW http://shop.example/moved/here: line 3 "Disallow: /moved"`},
		{after, "refused: DEFER http://down.example/: "},
	} {
		if !strings.Contains(want.in, want.text) {
			t.Errorf("output:\n%s\nwant %q in its part", out.String(), want.text)
		}
	}
}
