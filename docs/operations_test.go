package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	logged  = regexp.MustCompile(`\blog\.(?:Debug|Info|Warn|Error)\(("[^"]+")`)
	metric  = regexp.MustCompile(`\bpolite_[a-z_]+[a-z]\b`)
	defined = regexp.MustCompile(`"(polite_[a-z_]+)"`)
)

// TestLogMessages checks that operations.md has every message that can be logged.
func TestLogMessages(t *testing.T) {
	page := readPage(t, "operations.md")
	n := 0
	for _, text := range sources(t, "../fetcher/*.go") {
		for _, m := range logged.FindAllStringSubmatch(text, -1) {
			n++
			if want := strings.ReplaceAll(m[1], `"`, "`"); !strings.Contains(page, want) {
				t.Errorf("operations.md\ngot  no %s\nwant a row for it", want)
			}
		}
	}
	if n == 0 {
		t.Error("no message found in ../fetcher")
	}
}

// TestMetricNames checks that operations.md and contrib/prometheus have the same
// metrics.
func TestMetricNames(t *testing.T) {
	page := map[string]bool{}
	for _, name := range metric.FindAllString(readPage(t, "operations.md"), -1) {
		page[name] = true
	}
	code := map[string]bool{}
	for _, text := range sources(t, "../contrib/prometheus/prometheus.go") {
		for _, m := range defined.FindAllStringSubmatch(text, -1) {
			code[m[1]] = true
			if !page[m[1]] {
				t.Errorf("operations.md\ngot  no %s\nwant a row for it", m[1])
			}
		}
	}
	for name := range page {
		if !code[name] {
			t.Errorf("operations.md has %s, which the module does not", name)
		}
	}
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sources returns the texts of the files that match a pattern.
func sources(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	var texts []string
	for _, name := range names {
		texts = append(texts, readPage(t, name))
	}
	return texts
}
