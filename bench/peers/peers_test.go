package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rfc9309/polite/internal/golden"
)

var update = flag.Bool("update", false, "write docs/peers.md")

func folder(t testing.TB) string {
	folder := os.Getenv("POLITE_PEERS")
	if folder == "" {
		t.Skip("POLITE_PEERS does not name a folder with the tests of other projects")
	}
	return folder
}

// TestPeers runs the suites and compares the page with docs/peers.md.
func TestPeers(t *testing.T) {
	want := page(run(t, folder(t)))
	diff, err := golden.Diff("../../docs/peers.md", want, *update)
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Errorf("docs/peers.md is stale; go test ./peers -update writes it\n%s", diff)
	}
}

// TestExplain checks that every difference needs a reason, and every reason a difference
// and a clause.
func TestExplain(t *testing.T) {
	differs := []*result{{id: "same"}, {id: "parse/1", differs: []string{"got a, want b"}}}
	for _, tt := range []struct {
		name    string
		reason  reason
		problem string
	}{
		{"house/explained", reason{"RFC 9309, section 2.2", "because", "other parse/*"}, ""},
		{"house/deviation", reason{"deviation 12", "because", "parse/1"}, ""},
		{"house/unexplained", reason{"deviation 12", "because", "same parse"}, "parse/1 differs without a reason: got a, want b"},
		{"house/no_clause", reason{"RFC 9309", "because", "parse/1"}, "names no clause"},
		{"house/no_difference", reason{"deviation 12", "because", "same"}, "no case differs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := suite{cases: differs, reasons: []reason{tt.reason}}
			got := strings.Join(s.explain(), "; ")
			if !strings.Contains(got, tt.problem) || (got == "") != (tt.problem == "") {
				t.Errorf("got %q, want %q", got, tt.problem)
			}
		})
	}
}

// FuzzFiles reads files of any bytes, beginning with real ones.
func FuzzFiles(f *testing.F) {
	eachLine(f, filepath.Join(folder(f), realFiles), func(real realFile) { f.Add(real.B64, "ExampleBot", "/page?a=b") })
	f.Fuzz(func(t *testing.T, text []byte, token, target string) {
		if panicked := readFile(text, token, target); panicked != nil {
			t.Errorf("file %q, token %q, target %q: panic: %v", text, token, target, panicked)
		}
	})
}
