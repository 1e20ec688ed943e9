// Package surface lists the exported names of the module in docs/api.txt, so that a
// review sees every change of them. The list has three groups: names that everyone
// meets, names that builders meet, and names for older texts. A new name belongs to
// the builders until groups.go lists it.
//
// To write the list, run
//
//	go test ./internal/surface -update
//
// Without the flag the test fails if the list differs from the sources.
package surface

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// listNames returns the lines of all public packages of the module, sorted.
func listNames(module fs.FS) ([]string, error) {
	var lines []string
	err := fs.WalkDir(module, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skipOrEnter(module, name)
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if f.Name.Name != "main" {
			s := source{pkg: path.Dir(name)}
			s.file(f)
			lines = append(lines, s.lines...)
		}
		return nil
	})
	slices.Sort(lines)
	// A name may be declared in several files, one for each operating system.
	return slices.Compact(lines), err
}

// skipOrEnter returns fs.SkipDir for folders whose packages cannot be imported from
// outside: internal packages, folders that the go command ignores, and other modules.
func skipOrEnter(module fs.FS, dir string) error {
	base := path.Base(dir)
	_, err := fs.Stat(module, path.Join(dir, "go.mod"))
	nested := err == nil && dir != "."
	if nested || base == "internal" || base == "testdata" || len(base) > 1 && (base[0] == '.' || base[0] == '_') {
		return fs.SkipDir
	}
	return nil
}

// source collects the lines for one file.
type source struct {
	pkg   string
	lines []string
}

// add adds a line for a name if the name is exported.
func (s *source) add(name, format string, args ...any) {
	if ast.IsExported(name) {
		s.lines = append(s.lines, s.pkg+": "+fmt.Sprintf(format, args...))
	}
}

func (s *source) file(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			s.function(d)
		case *ast.GenDecl:
			s.group(d)
		}
	}
}

// function adds a function, or a method of an exported type.
func (s *source) function(d *ast.FuncDecl) {
	if d.Recv == nil {
		s.add(d.Name.Name, "func %s%s", d.Name.Name, signature(d.Type))
		return
	}
	recv := types.ExprString(d.Recv.List[0].Type)
	if base, _, _ := strings.Cut(strings.TrimPrefix(recv, "*"), "["); ast.IsExported(base) {
		s.add(d.Name.Name, "method (%s) %s%s", recv, d.Name.Name, signature(d.Type))
	}
}

// group adds a declaration of constants, variables or types. A constant without
// type and value has the type of the constant before it.
func (s *source) group(d *ast.GenDecl) {
	var kind ast.Expr
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			s.kind(spec)
		case *ast.ValueSpec:
			if spec.Type != nil || spec.Values != nil {
				kind = spec.Type
			}
			for _, n := range spec.Names {
				s.add(n.Name, "%s", strings.TrimSpace(fmt.Sprintf("%s %s %s", d.Tok, n.Name, exprText(kind))))
			}
		}
	}
}

// kind adds a type and its exported fields or methods.
func (s *source) kind(t *ast.TypeSpec) {
	name := t.Name.Name
	members := &ast.FieldList{}
	switch k := t.Type.(type) {
	case *ast.StructType:
		s.add(name, "type %s struct", name)
		members = k.Fields
	case *ast.InterfaceType:
		s.add(name, "type %s interface", name)
		members = k.Methods
	default:
		s.add(name, "type %s %s", name, exprText(k))
	}
	if ast.IsExported(name) {
		s.members(name, members)
	}
}

// members adds the fields of a struct or the methods of an interface.
func (s *source) members(of string, list *ast.FieldList) {
	for _, f := range list.List {
		if len(f.Names) == 0 {
			embedded := exprText(f.Type)
			s.add(embedded[strings.LastIndexAny(embedded, "*.")+1:], "%s embeds %s", of, embedded)
		}
		for _, n := range f.Names {
			what := " " + exprText(f.Type)
			if m, ok := f.Type.(*ast.FuncType); ok && m.Func == token.NoPos {
				what = signature(m)
			}
			s.add(n.Name, "%s.%s%s", of, n.Name, what)
		}
	}
}

// signature returns a function's type without the word func and without the names
// of its parameters.
func signature(f *ast.FuncType) string {
	bare := *f
	bare.Params, bare.Results = unnamed(f.Params), unnamed(f.Results)
	return strings.TrimPrefix(types.ExprString(&bare), "func")
}

func unnamed(list *ast.FieldList) *ast.FieldList {
	if list == nil {
		return nil
	}
	bare := &ast.FieldList{}
	for _, f := range list.List {
		for range cmp.Or(len(f.Names), 1) {
			bare.List = append(bare.List, &ast.Field{Type: f.Type})
		}
	}
	return bare
}

// exprText returns an expression as text, or "" for nil.
func exprText(e ast.Expr) string {
	if e == nil {
		return ""
	}
	return types.ExprString(e)
}
