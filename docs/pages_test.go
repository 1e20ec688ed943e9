package docs_test

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rfc9309/polite/internal/conformance"
)

var link = regexp.MustCompile(`\]\(([^)#:\s]*)(#[^)\s]*)?\)`)

// TestLinks checks that the files and headings exist that the pages link to.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../README.md", "../CHANGELOG.md", "../CONTRIBUTING.md", "../SECURITY.md", "../examples/README.md", "../contrib/README.md") {
		for _, m := range link.FindAllStringSubmatch(readPage(t, page), -1) {
			target, heading := filepath.Join(filepath.Dir(page), m[1]), strings.TrimPrefix(m[2], "#")
			if m[1] == "" {
				target = page
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if heading != "" && !headings(readPage(t, target))[heading] {
				t.Errorf("%s links to %s: no heading %q there", page, target, heading)
			}
		}
	}
}

// headings returns the anchors of a page's headings.
func headings(page string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(page) {
		if text := strings.TrimLeft(line, "#"); text != line && strings.HasPrefix(text, " ") {
			anchor := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(text)), "")
			found[strings.ReplaceAll(anchor, " ", "-")] = true
		}
	}
	return found
}

// TestReadme checks that the README is short, and that its program is formatted and compiles.
func TestReadme(t *testing.T) {
	text := readPage(t, "../README.md")
	if got := strings.Count(text, "\n"); got > 150 {
		t.Errorf("README.md\ngot  %d lines\nwant at most 150", got)
	}
	_, program, _ := strings.Cut(text, "```go\n")
	program, _, _ = strings.Cut(program, "```")
	neat, err := format.Source([]byte(program))
	if err != nil || string(neat) != program {
		t.Errorf("the README's program\n%s\ngot  %v\nwant it as gofmt writes it", program, err)
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the README's program is not compiled: ", err)
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", os.DevNull, file)
	build.Dir = ".."
	if got, err := build.CombinedOutput(); err != nil {
		t.Errorf("the README's program\n%s\ngot  %v\n%s", program, err, got)
	}
}

// TestDesign checks that design.md has each section above 4 that the name of a test row begins with.
func TestDesign(t *testing.T) {
	all, err := conformance.Find(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{"5.1": true, "5.2": true} // of RFC 9309: the examples
	for _, m := range regexp.MustCompile(`(?m)^##+ (\d[\d.]*?)\.? `).FindAllStringSubmatch(readPage(t, "design.md"), -1) {
		has[m[1]] = true
	}
	row := regexp.MustCompile(`/((?:[4-9]|10)(?:\.\d+)?)/[a-z]\w+$`)
	for name := range all {
		if m := row.FindStringSubmatch(name); m != nil && !has[m[1]] {
			t.Errorf("%s cites section %s, which design.md does not have", name, m[1])
		}
	}
}

// TestExamples checks that every example is named in examples/README.md and in the
// README.
func TestExamples(t *testing.T) {
	programs, err := filepath.Glob("../examples/*/main.go")
	if err != nil || len(programs) == 0 {
		t.Fatal(programs, err)
	}
	for _, page := range []string{"../README.md", "../examples/README.md"} {
		text := readPage(t, page)
		for _, p := range programs {
			if name := "`" + filepath.Base(filepath.Dir(p)) + "`"; !strings.Contains(text, name) {
				t.Errorf("%s\ngot  no %s\nwant a word on it", page, name)
			}
		}
	}
}
