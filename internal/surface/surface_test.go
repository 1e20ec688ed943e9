package surface

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "write docs/api.txt anew")

const root = "../.."

// TestSurface holds the record against the sources of today.
func TestSurface(t *testing.T) {
	file := filepath.Join(root, "docs", "api.txt")
	want, err := list(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(want, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")), "\n")
	if d := difference(got, want); d != "" {
		t.Logf("the module exports other names than %s says:\n%sIf that is meant, run\n\tgo test ./internal/surface -update", file, d)
	}
}

// difference lists what went (-) and what came (+).
func difference(old, now []string) string {
	var b strings.Builder
	only := func(mark string, of, other []string) {
		for _, l := range of {
			if !slices.Contains(other, l) {
				b.WriteString(mark + l + "\n")
			}
		}
	}
	only("- ", old, now)
	only("+ ", now, old)
	return b.String()
}

// TestList shows what the record holds of a source and what it leaves out.
func TestList(t *testing.T) {
	const code = `package p

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
	got, err := list(fstest.MapFS{
		"p/p.go":              {Data: []byte(code)},
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
	want := []string{
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
	if !slices.Equal(got, want) {
		t.Errorf("%s\ngot and want differ:\n%s", code, difference(want, got))
	}
}
