package conformance

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// found is what the module has to prove with, as a requirement cites it.
type found map[string]bool

// vectors is the folder of the test vectors.
const vectors = "vectors"

// find collects the proofs of the module: the topics of the vectors of class
// rfc, and every string in a test source, which is all that can be the name of
// a subtest.
func find(module fs.FS) (found, error) {
	all := found{}
	err := fs.WalkDir(module, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case strings.HasSuffix(name, "_test.go"):
			return all.source(module, name)
		case path.Dir(name) == vectors && strings.HasSuffix(name, ".jsonl"):
			return all.topics(module, name)
		}
		return nil
	})
	return all, err
}

// source enters the strings of a test source.
func (f found) source(module fs.FS, name string) error {
	text, err := fs.ReadFile(module, name)
	if err != nil {
		return err
	}
	tree, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				f[path.Join(path.Dir(name), s)] = true
			}
		}
		return true
	})
	return nil
}

// topics enters the topics of a file of vectors, whose ids are
// class/clause/topic/number.
func (f found) topics(module fs.FS, name string) error {
	text, err := fs.ReadFile(module, name)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		_, id, ok := strings.Cut(line, `"rfc/`)
		if id, _, closed := strings.Cut(id, `"`); ok && closed {
			f[vectors+"/"+path.Dir(id)] = true
		}
	}
	return nil
}

// lacks lists the proofs of a clause that there are not.
func (f found) lacks(c clause) []string {
	var missing []string
	for _, r := range c.requirements {
		for _, p := range r.proofs {
			if !f[p] {
				missing = append(missing, p)
			}
		}
	}
	return missing
}
