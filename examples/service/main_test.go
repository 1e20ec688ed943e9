package main

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/inspect"
)

// TestDemo checks that the second process visits what the first one left, and that both
// together fetch robots.txt once.
func TestDemo(t *testing.T) {
	var out bytes.Buffer
	if err := demo(&out); err != nil {
		t.Fatal(err)
	}
	first, second, _ := strings.Cut(out.String(), "process 2\n")
	for _, want := range []struct{ in, line string }{
		{first, "fetched http://shop.example/old "}, {first, `line 2 "Disallow: /cart"`}, {first, "end: 2 pages left; robots.txt: 1 fetched, 0 read from disk\n"},
		{second, "fetched http://shop.example/5 "}, {second, "end: 0 pages left; robots.txt: 0 fetched, 1 read from disk\n"}, {second, "1 request for robots.txt by both\n"},
	} {
		if !strings.Contains(want.in, want.line) {
			t.Errorf("output:\n%s\nwant %q in its part", out.String(), want.line)
		}
	}
}

// TestOperators reads the metrics and the page.
func TestOperators(t *testing.T) {
	tr, err := fetcher.New(agent, nil)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{"/metrics": `polite_decisions_total{verdict="defer"} 0`, "/debug/polite": "since start"} {
		w := httptest.NewRecorder()
		operators(tr, inspect.New(nil)).ServeHTTP(w, httptest.NewRequest("GET", at, nil))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: got %d %s, want %q", at, w.Code, w.Body, want)
		}
	}
}
