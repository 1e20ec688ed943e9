package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMain runs a member of the fleet if the environment says so.
func TestMain(m *testing.M) {
	if os.Getenv("FLEET_MEMBER") == "" {
		os.Exit(m.Run())
	}
	if err := run(os.Stdout); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// TestRun checks that all processes together fetch each robots.txt once.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	err := run(&out)
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("POLITE_REQUIRE_REDIS") != "1" {
		t.Skip("no redis-server on this machine")
	}
	if err != nil {
		t.Fatalf("output:\n%s\n%v", out.String(), err)
	}
	first, second, _ := strings.Cut(out.String(), "the second 4 processes\n")
	for _, want := range []string{
		"shop.example: requests for robots.txt so far: 1, for pages: 8\n",
		"news.example: requests for robots.txt so far: 1, for pages: 8\n",
		"busy.example: requests for robots.txt so far: 1, for pages: 0\n",
		"process 3: 3 fetched, 1 disallowed, 2 deferred; ",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("output:\n%s\nwant a line with %q in the first part", out.String(), want)
		}
	}
	for _, want := range []string{
		"news.example: requests for robots.txt so far: 1, for pages: 16\n",
		"process 1: 4 fetched, 0 disallowed, 2 deferred; robots.txt: 0 fetched, 3 read from the store\n",
	} {
		if !strings.Contains(second, want) {
			t.Errorf("output:\n%s\nwant a line with %q in the second part", out.String(), want)
		}
	}
}
