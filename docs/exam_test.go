package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/exam"
)

// TestReadmeProgram lets the program of the README sit the exam, if POLITE_QUIET is set. The
// program follows no links and waits for one page at a time, so it gets all pages.
func TestReadmeProgram(t *testing.T) {
	if os.Getenv("POLITE_QUIET") == "" {
		t.Skip("takes two minutes; POLITE_QUIET is not set")
	}
	_, rest, _ := strings.Cut(readPage(t, "../README.md"), "\n```go\n")
	program, _, _ := strings.Cut(rest, "\n```\n")
	folder := t.TempDir()
	source, binary := filepath.Join(folder, "main.go"), filepath.Join(folder, "crawler.exe")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	e, err := exam.Open(exam.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r, err := e.Run(t.Context(), exam.Run{Command: []string{binary, "{pages}"}, Limit: 5 * time.Minute, Quiet: 15 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range r.Results {
		switch {
		case res.Verdict == exam.Failed:
			t.Errorf("%s: %v: %s", res.Name, res.Request, res.Seen)
		case res.Verdict == exam.NotExercised && res.Clause() != exam.House && res.Name != "2.3.1.1/new_file":
			t.Errorf("%s was not exercised: %s", res.Name, res.Seen)
		}
	}
}
