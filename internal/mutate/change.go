package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// operators are the replacements of each operator.
var operators = map[token.Token][]token.Token{
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.AND: {token.OR}, token.OR: {token.AND}, token.XOR: {token.AND}, token.SHL: {token.SHR}, token.SHR: {token.SHL}, token.AND_NOT: {token.AND},
	token.INC: {token.DEC}, token.DEC: {token.INC},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN}, token.MUL_ASSIGN: {token.QUO_ASSIGN},
	token.OR_ASSIGN: {token.AND_ASSIGN}, token.AND_ASSIGN: {token.OR_ASSIGN}, token.XOR_ASSIGN: {token.OR_ASSIGN},
	token.SHL_ASSIGN: {token.SHR_ASSIGN}, token.SHR_ASSIGN: {token.SHL_ASSIGN},
	token.BREAK: {token.CONTINUE}, token.CONTINUE: {token.BREAK},
}

// A change replaces a part of a file.
type change struct {
	file     string
	source   []byte // the whole file, unchanged
	from, to int    // the bytes that are replaced
	with     string
	at       token.Position
}

func (c change) position() string { return fmt.Sprintf("%s:%d:%d", c.file, c.at.Line, c.at.Column) }

func (c change) String() string {
	return fmt.Sprintf("%s: %s for %s", c.position(), c.with, c.source[c.from:c.to])
}

// line returns the changed line.
func (c change) line() string {
	begin := bytes.LastIndexByte(c.source[:c.from], '\n') + 1
	rest, _, _ := bytes.Cut(c.source[c.to:], []byte("\n"))
	return strings.TrimSpace(string(c.source[begin:c.from]) + c.with + string(rest))
}

// key returns what names the change in equivalent.txt: the file and the changed line.
func (c change) key() string {
	return filepath.Base(filepath.Dir(c.file)) + "/" + filepath.Base(c.file) + ": " + c.line()
}

//go:embed equivalent.txt
var equivalentText string

// readEquivalents returns the reason of each listed change, by its key. A line that begins with # is the reason of the
// lines up to the next one.
func readEquivalents(text string) map[string]string {
	reasons, reason := map[string]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if r, ok := strings.CutPrefix(line, "#"); ok {
			reason = strings.TrimSpace(r)
		} else if line != "" {
			reasons[line] = reason
		}
	}
	return reasons
}

// outdated returns the keys of a package that name none of its changes, in order.
func outdated(equivalents map[string]string, all []change, pkg string) []string {
	possible := map[string]bool{}
	for _, c := range all {
		possible[c.key()] = true
	}
	return slices.Sorted(func(yield func(string) bool) {
		for key := range equivalents {
			if strings.HasPrefix(key, pkg+"/") && !possible[key] && !yield(key) {
				return
			}
		}
	})
}

// apply returns the changed file.
func (c change) apply() []byte {
	return append(append(append([]byte{}, c.source[:c.from]...), c.with...), c.source[c.to:]...)
}

// changes returns all changes of a file, in the order of the syntax tree.
func changes(file string) ([]change, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := finder{set: set, base: change{file: file, source: source}}
	ast.Inspect(tree, f.visit)
	return f.found, nil
}

// A finder collects the changes of a file.
type finder struct {
	set   *token.FileSet
	base  change // its file and source
	found []change
}

// add adds the replacement of length bytes at a position.
func (f *finder) add(pos token.Pos, length int, with string) {
	c := f.base
	c.at = f.set.Position(pos)
	c.from, c.to, c.with = c.at.Offset, c.at.Offset+length, with
	f.found = append(f.found, c)
}

func (f *finder) operator(pos token.Pos, op token.Token) {
	for _, other := range operators[op] {
		f.add(pos, len(op.String()), other.String())
	}
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.BinaryExpr:
		f.operator(n.OpPos, n.Op)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.add(n.OpPos, 1, "")
		}
	case *ast.IncDecStmt:
		f.operator(n.TokPos, n.Tok)
	case *ast.AssignStmt:
		f.operator(n.TokPos, n.Tok)
	case *ast.BranchStmt:
		if n.Label == nil {
			f.operator(n.TokPos, n.Tok)
		}
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.BasicLit:
		f.literal(n)
	case *ast.Ident:
		if other, ok := map[string]string{"true": "false", "false": "true"}[n.Name]; ok {
			f.add(n.Pos(), len(n.Name), other)
		}
	}
	return true
}

// negate negates a condition that is no comparison, whose operator is replaced anyway.
func (f *finder) negate(cond ast.Expr) {
	switch cond.(type) {
	case *ast.Ident, *ast.CallExpr, *ast.SelectorExpr, *ast.IndexExpr:
		f.add(cond.Pos(), 0, "!")
	}
}

// literal replaces a number or a character by the next one.
func (f *finder) literal(l *ast.BasicLit) {
	length := len(l.Value)
	switch l.Kind {
	case token.INT:
		if v, err := strconv.ParseInt(l.Value, 0, 64); err == nil {
			f.add(l.Pos(), length, strconv.FormatInt(v+1, 10))
		}
	case token.CHAR:
		if v, _, _, err := strconv.UnquoteChar(l.Value[1:], '\''); err == nil {
			f.add(l.Pos(), length, strconv.QuoteRune(v+1))
		}
	}
}
