package conformance

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/rfc9309/polite/internal/table"
)

// Proofs are the tests and the topics of test vectors of a module, as FOLDER/NAME.
type Proofs map[string]bool

// vectors is the folder of the test vectors.
const vectors = "vectors"

// Find collects the proofs of a module: the rows of the decision table, the topics of
// the vectors of class rfc, every test and fuzz target, and every string in a test
// source, because names of subtests are strings.
func Find(module fs.FS) (Proofs, error) {
	all := Proofs{}
	for _, r := range table.Rows() {
		all["policy/"+r.Name] = true
	}
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

// source adds the functions and the strings in a test source.
func (f Proofs) source(module fs.FS, name string) error {
	text, err := fs.ReadFile(module, name)
	if err != nil {
		return err
	}
	tree, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			f[path.Join(path.Dir(name), n.Name.Name)] = true
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				f[path.Join(path.Dir(name), s)] = true
			}
		}
		return true
	})
	return nil
}

// topics adds the topics in a file of vectors. The id of a vector is
// class/clause/topic/number.
func (f Proofs) topics(module fs.FS, name string) error {
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

// Lacks returns the names that are not proofs.
func (f Proofs) Lacks(names []string) []string {
	var missing []string
	for _, name := range names {
		if !f[name] {
			missing = append(missing, name)
		}
	}
	return missing
}
