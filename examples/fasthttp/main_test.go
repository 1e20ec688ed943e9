package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestRun checks that the page is fetched, and that the rule holds for a link and for a redirect.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{"fetched / 200\n": 1, `line 2 "Disallow: /cart"`: 2, `"http://shop.example/cart/1": disallowed`: 1, "fetched": 1} {
		if got := strings.Count(out.String(), want); got != times {
			t.Errorf("output:\n%s\n%q: got %d times, want %d", out.String(), want, got, times)
		}
	}
}

// TestLength checks that the program stays short.
func TestLength(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(text, []byte("\n")); got > 90 {
		t.Errorf("main.go: got %d lines, want at most 90", got)
	}
}
