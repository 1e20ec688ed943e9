package surface

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rfc9309/polite/internal/golden"
)

var update = flag.Bool("update", false, "rewrite docs/api.txt")

const root = "../.."

// TestSurface compares docs/api.txt with the sources.
func TestSurface(t *testing.T) {
	file := filepath.Join(root, "docs", "api.txt")
	names, err := listNames(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	diff, err := golden.Diff(file, writePage(names), *update)
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Errorf("the exported names differ from %s:\n%sIf this is intended, run\n\tgo test ./internal/surface -update", file, diff)
	}
}

// TestGroups checks that the group everyone is small and that each name of a group is
// exported.
func TestGroups(t *testing.T) {
	lines, err := listNames(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range lines {
		names = append(names, nameOf(l))
	}
	if len(everyone) > maxEveryone {
		t.Errorf("names in the group everyone\ngot  %d\nwant at most %d", len(everyone), maxEveryone)
	}
	for _, n := range slices.Concat(everyone, older) {
		if !slices.Contains(names, n) {
			t.Errorf("internal/surface puts %s in a group, which the module does not export", n)
		}
	}
}

// TestPage checks that each line is put into its group.
func TestPage(t *testing.T) {
	got := writePage([]string{
		"cache/disk: func Open(string) error",
		"fetcher: Options.Token string",
		"fetcher: method (*Transport) Check(string) error",
		"pace: method (Turn) Done()",
		"policy: const Restricted Access",
	})
	const want = `# What everyone meets (3)

cache/disk: func Open(string) error
fetcher: Options.Token string
fetcher: method (*Transport) Check(string) error

# What builders of their own stack, store or monitoring meet (1)

pace: method (Turn) Done()

# Older texts (1)

policy: const Restricted Access
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// listedCode is a source with all kinds of declarations.
const listedCode = `package p

import "io"

const A, b = 1, 2

type Kind uint8

const (
	One Kind = iota
	Two
	three
)

var Err = io.EOF

type T struct {
	io.Reader
	*inner
	Name, Word string
	secret     int
	Call       func(n int) error
}

type inner struct{ Shown int }

func (t *T) Get(key, other string, more ...int) (n int, err error) { return }
func (inner) Hidden()                                              {}
func (t *T) hidden()                                               {}
func F[K comparable](m map[K]T, f func(K) bool) <-chan T           { return nil }
func g()                                                           {}

type I interface {
	io.Closer
	Put(key string) error
}

type Alias = T
`

// listedNames are the lines for listedCode.
var listedNames = []string{
	"p: I embeds io.Closer",
	"p: I.Put(string) error",
	"p: T embeds io.Reader",
	"p: T.Call func(n int) error",
	"p: T.Name string",
	"p: T.Word string",
	"p: const A",
	"p: const One Kind",
	"p: const Two Kind",
	"p: func F(map[K]T, func(K) bool) <-chan T",
	"p: method (*T) Get(string, string, ...int) (int, error)",
	"p: type Alias T",
	"p: type I interface",
	"p: type Kind uint8",
	"p: type T struct",
	"p: var Err",
}

// TestList checks which names of a source are listed and which are left out.
func TestList(t *testing.T) {
	got, err := listNames(fstest.MapFS{
		"p/p.go":              {Data: []byte(listedCode)},
		"p/p_windows.go":      {Data: []byte("package p\nconst A = 1\n")},
		"p/p_test.go":         {Data: []byte("package p\nfunc OfTests() {}\n")},
		"p/internal/q/q.go":   {Data: []byte("package q\nfunc Internal() {}\n")},
		"cmd/x/main.go":       {Data: []byte("package main\nfunc Main() {}\n")},
		"examples/go.mod":     {Data: []byte("module examples\n")},
		"examples/e/e.go":     {Data: []byte("package e\nfunc Other() {}\n")},
		"p/testdata/src/x.go": {Data: []byte("package x\nfunc Data() {}\n")},
		".git/x.go":           {Data: []byte("not go")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, listedNames) {
		t.Errorf("%s\ngot  %s\nwant %s", listedCode, strings.Join(got, "\n     "), strings.Join(listedNames, "\n     "))
	}
}
