package conformance

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rfc9309/polite/internal/golden"
)

var update = flag.Bool("update", false, "write docs/conformance.md anew")

const root = "../.."

// TestPage holds docs/conformance.md against what the profiles answer today.
func TestPage(t *testing.T) {
	file := filepath.Join(root, "docs", "conformance.md")
	diff, err := golden.Diff(file, write(), *update)
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Errorf("%s is stale:\n%sIf the new answers are meant, run\n\tgo test ./internal/conformance -update", file, diff)
	}
}

// TestProofs: every requirement names what proves it, and all of it exists.
func TestProofs(t *testing.T) {
	all, err := find(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clauses() {
		for _, r := range c.requirements {
			if len(r.proofs) == 0 {
				t.Errorf("section %s, %q: nothing proves it", c.number, r.text)
			}
		}
		for _, p := range all.lacks(c) {
			t.Errorf("section %s names %s, which is neither a test nor a topic of the vectors: name another in internal/conformance", c.number, p)
		}
	}
}

// TestMusts: the default profile does what every MUST asks for.
func TestMusts(t *testing.T) {
	for _, c := range clauses() {
		for _, r := range c.requirements {
			if got := r.probe(profiles()[0]); strings.HasPrefix(r.level, "MUST") && got != "yes" && got != "defer" {
				t.Errorf("section %s, %s:\ngot  %s\nwant yes, or defer", c.number, r.text, got)
			}
		}
	}
}

// TestFind shows what counts as a proof.
func TestFind(t *testing.T) {
	all, err := find(fstest.MapFS{
		"policy/a_test.go":   {Data: []byte("package p\nvar _ = []string{\"2.4/one\", `house/three`}\n")},
		"policy/a.go":        {Data: []byte("package p\nvar _ = \"2.4/two\"\n")},
		"vectors/ours.jsonl": {Data: []byte(`{"id": "rfc/2.2/eol/001"}` + "\n" + `{"id": "google/2.2/typo/001"}` + "\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := clause{requirements: []requirement{{proofs: []string{
		"policy/2.4/one", "policy/2.4/two", "policy/house/three", "pace/house/three", "vectors/2.2/eol", "vectors/2.2/typo",
	}}}}
	got := strings.Join(all.lacks(c), " ")
	if want := "policy/2.4/two pace/house/three vectors/2.2/typo"; got != want {
		t.Errorf("missing proofs:\ngot  %s\nwant %s", got, want)
	}
}
