package main

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

// TestRun checks that the own tests of both crawlers pass with Polite, and what changes at the
// sites.
func TestRun(t *testing.T) {
	if os.Getenv("POLITE_NIGHTLY") == "" {
		t.Skip("takes two minutes: POLITE_NIGHTLY is not set")
	}
	var out bytes.Buffer
	err := run(&out, []adopter{colly, fetchbot})
	if errors.Is(err, errNoModule) {
		t.Skip("the Go module proxy cannot be reached: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", out.String())
	for _, want := range []string{"| colly v2.3.0 | 1 | 2 | ", "| colly v2.3.0 with Polite | 0 | 0 | ", "| fetchbot v1.2.0 | 1 | 2 | ", "| fetchbot v1.2.0 with Polite | 0 | 0 | "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output:\n%s\nwant %q", out.String(), want)
		}
	}
}
