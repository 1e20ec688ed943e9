package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const before = `package p

import "strings"

func f(a, b int, ok bool, s string) int {
	for i := 7; i < 9; i++ {
		if ok || !strings.HasPrefix(s, "x") {
			continue
		}
		if ok {
			a += int('a')
		}
	}
	return a << 0x0f
}
`

func TestChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.go")
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := changes(file)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range all {
		got = append(got, c.String()[len(file)+1:])
		if after := string(c.apply()); after == before || len(after) != len(before)+len(c.with)-(c.to-c.from) {
			t.Errorf("%s\ngot\n%s\nwant one part replaced", c, after)
		}
	}
	want := []string{
		"6:11: 8 for 7", "6:16: <= for <", "6:16: >= for <", "6:18: 10 for 9", "6:22: -- for ++", "7:9: && for ||", "7:12:  for !",
		"8:4: break for continue", "10:6: ! for ", "11:6: -= for +=", "11:13: 'b' for 'a'", "14:11: >> for <<", "14:14: 16 for 0x0f",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s\ngot  %q\nwant %q", before, got, want)
	}
}

// TestEquivalent checks that each listed change names a file and has a reason.
func TestEquivalent(t *testing.T) {
	for key, reason := range readEquivalents(equivalentText) {
		if file, line, ok := strings.Cut(key, ": "); reason == "" || !ok || line == "" || !strings.HasSuffix(file, ".go") {
			t.Errorf("%s\ngot reason %q\nwant FILE: LINE, with a reason", key, reason)
		}
	}
}

func TestReadEquivalents(t *testing.T) {
	got := readEquivalents("# one\na/b.go: x\n\n# two\na/b.go: y\na/c.go: z\n")
	want := map[string]string{"a/b.go: x": "one", "a/b.go: y": "two", "a/c.go: z": "two"}
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOutdated(t *testing.T) {
	source := []byte("if a < b {\n")
	all := []change{{file: "/m/p/x.go", source: source, from: 5, to: 6, with: "<="}}
	listed := map[string]string{"p/x.go: if a <= b {": "", "p/x.go: if a < b {": "", "p/y.go: if a <= b {": "", "q/x.go: if a <= b {": ""}
	got, want := outdated(listed, all, "p"), []string{"p/x.go: if a < b {", "p/y.go: if a <= b {"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\ngot  %q\nwant %q", listed, got, want)
	}
}

// TestOutcomes tests changes of a small package: one that no test notices, one that never ends and two that a test notices.
func TestOutcomes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module p\n\ngo 1.25\n",
		"p.go":      "package p\n\nfunc sum(a, b int) int {\n\tunseen := a * b\n\tfor i := 0; i < b; i++ {\n\t\ta++\n\t}\n\t_ = unseen\n\treturn a\n}\n",
		"p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif sum(2, 3) != 5 {\n\t\tt.Fail()\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	r := runner{pkg: ".", temp: t.TempDir(), skip: "^$"}
	if _, err := r.list(); err != nil {
		t.Fatal(err)
	}
	all, err := changes(filepath.Join(r.dir, "p.go"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]outcome{
		"4:14: / for *": survived, "5:22: -- for ++": endless, "6:4: -- for ++": noticed, "5:11: 1 for 0": noticed,
	}
	for _, c := range all {
		name := c.String()[len(c.file)+1:]
		expected, ok := want[name]
		if !ok {
			continue
		}
		delete(want, name)
		if r.timeout = time.Minute; expected == endless {
			r.timeout = time.Second
		}
		if got, err := r.test(t.Context(), c); got != expected || err != nil {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, expected)
		}
	}
	if len(want) > 0 {
		t.Errorf("no changes %v", want)
	}
}
