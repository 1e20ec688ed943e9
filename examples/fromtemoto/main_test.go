package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestRun checks what both crawlers do with each page, so that the reasons stay true.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"/cart dropped dropped", "/old fetched dropped", "/caf%C3%A9 fetched dropped", "named.example/ dropped fetched",
		"busy.example/ fetched later", "down.example/ fetched later", "lost.test/ failed later",
	} {
		line := strings.Split(out.String(), "\n")[i]
		words := strings.Fields(line)
		if got := strings.Join([]string{words[0], words[2], words[4]}, " "); !strings.HasSuffix(got, want) {
			t.Errorf("output:\n%s\ngot  %q\nwant %q", out.String(), got, want)
		}
	}
}
