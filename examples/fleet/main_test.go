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
		"shop.example was asked for its robots.txt 1 times so far, and for 7 pages\n",
		"news.example was asked for its robots.txt 1 times so far, and for 8 pages\n",
		"busy.example was asked for its robots.txt 1 times so far, and for 0 pages\n",
		"process 3: 3 fetched, 1 disallowed, 2 deferred; ",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("output:\n%s\nwant a line with %q in the first part", out.String(), want)
		}
	}
	for _, want := range []string{
		"news.example was asked for its robots.txt 1 times so far, and for 16 pages\n",
		"process 1: 4 fetched, 0 disallowed, 2 deferred; retrieved 0 robots.txt, was told 3 by the fleet\n",
	} {
		if !strings.Contains(second, want) {
			t.Errorf("output:\n%s\nwant a line with %q in the second part", out.String(), want)
		}
	}
}
