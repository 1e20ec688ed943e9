//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// ports and backoff match the text that differs from run to run: the sites use
// free ports, and the wait after a failure is random.
var (
	ports   = regexp.MustCompile(`127\.0\.0\.1:\d{5}`)
	backoff = regexp.MustCompile(`(?m)  (\d+ s|1 min)$`)
)

// runDemo runs the demo with a timeout that is long enough for a loaded machine.
func runDemo(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	c := &cli{in: strings.NewReader(""), out: &out, err: &errs, now: time.Now, demoTimeout: 5 * time.Second}
	if code := c.run(t.Context(), append([]string{"demo"}, args...)); code != 0 || errs.Len() > 0 {
		t.Errorf("exit %d, stderr %q; want 0 and nothing", code, &errs)
	}
	return backoff.ReplaceAllString(ports.ReplaceAllString(out.String(), "127.0.0.1:55555"), "  1 min")
}

// TestDemo compares the page that the demo prints with testdata/demo.page.
func TestDemo(t *testing.T) {
	t.Parallel()
	got := runDemo(t)
	const name = "testdata/demo.page"
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestDemoJSON checks the verdicts of the demo's JSON objects.
func TestDemoJSON(t *testing.T) {
	t.Parallel()
	var got []string
	for d := json.NewDecoder(strings.NewReader(runDemo(t, "--json"))); ; {
		var o struct{ Verdict, Robots, Profile string }
		err := d.Decode(&o)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if o.Robots != "http://127.0.0.1:55555/robots.txt" || o.Profile != "rfc9309" {
			t.Errorf("got %+v", o)
		}
		got = append(got, o.Verdict)
	}
	const want = "allow disallow allow disallow allow disallow allow defer defer allow defer defer allow"
	if got := strings.Join(got, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
