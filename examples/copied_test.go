package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCopied checks that each example builds in a module outside of this repository, without
// its tests and without the packages below internal, as it does for somebody who copies it.
func TestCopied(t *testing.T) {
	programs, err := filepath.Glob("*/main.go")
	if err != nil || len(programs) == 0 {
		t.Fatal(programs, err)
	}
	dir := t.TempDir()
	for _, program := range programs {
		files, err := filepath.Glob(filepath.Join(filepath.Dir(program), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				write(t, filepath.Join(dir, file), read(t, file))
			}
		}
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	module := strings.Replace(read(t, "go.mod"), "module github.com/rfc9309/polite/examples", "module crawler.test", 1)
	write(t, filepath.Join(dir, "go.mod"), strings.ReplaceAll(module, "=> ../", "=> "+filepath.ToSlash(root)+"/"))
	write(t, filepath.Join(dir, "go.sum"), read(t, "go.sum"))
	build := exec.Command("go", "vet", "./...") // go build would link, too
	build.Dir = dir
	build.Env = append(os.Environ(), "GOWORK=off")
	if text, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
