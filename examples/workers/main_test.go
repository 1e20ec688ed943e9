package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestRun checks that every page and one redirect are fetched once, and that no host gets
// requests faster than its Crawl-delay permits.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	if want := "63 pages by 3 workers in "; !strings.Contains(out.String(), want) {
		t.Errorf("output:\n%s\nwant %q", out.String(), want)
	}
	for site := 1; site <= 6; site++ {
		if want := fmt.Sprintf("site-%d.example: 12 requests, 1 of them for robots.txt,", site); !strings.Contains(out.String(), want) {
			t.Errorf("output:\n%s\nwant %q", out.String(), want)
		}
	}
	// The page of moved.example is requested once, and its host does not wait for the host that
	// is down: robots.txt, three pages and the redirect. The crawl ends without that host.
	for _, want := range []string{"moved.example: 5 requests, 1 of them for robots.txt,", "http://dead.test: given up, 1 page dropped\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output:\n%s\nwant %q", out.String(), want)
		}
	}
	// The times at a server vary with the time of a connection. The whole crawl cannot
	// be faster than the slowest site permits.
	m := regexp.MustCompile(` in (\S+);`).FindStringSubmatch(out.String())
	if m == nil {
		t.Fatalf("output:\n%s\nwant how long it took", out.String())
	}
	if took, err := time.ParseDuration(m[1]); err != nil || took < 1100*time.Millisecond {
		t.Errorf("output:\n%s\ngot %v, %v; want at least 11 times the Crawl-delay of 100 ms", out.String(), took, err)
	}
}
