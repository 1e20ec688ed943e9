package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestRun checks that every kind of site has a line.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, 200); err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		if !strings.Contains(out.String(), "\n"+kind.name+" ") {
			t.Errorf("output:\n%s\nwant a line for %q", out.String(), kind.name)
		}
	}
}
