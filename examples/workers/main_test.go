package main

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every page is fetched once and no host is asked faster than it says.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	if want := "54 pages of 6 hosts by 3 workers in "; !strings.Contains(out.String(), want) {
		t.Errorf("output:\n%s\nwant %q", out.String(), want)
	}
	line := regexp.MustCompile(`site-(\d)\.example: 10 requests, 1 of them for robots.txt, at least (\d+)ms apart`)
	found := line.FindAllStringSubmatch(out.String(), -1)
	if len(found) != 6 {
		t.Fatalf("output:\n%s\ngot %d lines of hosts, want 6", out.String(), len(found))
	}
	for _, m := range found {
		site, _ := strconv.Atoi(m[1])
		apart, _ := strconv.Atoi(m[2])
		// What the server sees varies by how long a connection takes.
		if want := (site-1)*20 - 10; apart < want {
			t.Errorf("site-%d: requests %d ms apart, want at least %d ms", site, apart, want)
		}
	}
}
