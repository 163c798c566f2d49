package walls

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/go/packages"

	"github.com/zinc-compiler/zinc/internal/testform"
)

// maxColumns is the width of a line of code, a tab counted as four.
const maxColumns = 120

// TestLinesStopAt120Columns reads every file of code that is not generated.
func TestLinesStopAt120Columns(t *testing.T) {
	root := filepath.Join("..", "..")
	out, err := exec.Command("git", "-C", root, "ls-files", "*.go", "*.js", "*.css", "Makefile", ".ci").Output()
	if err != nil {
		t.Skip("not a git checkout: the files of the repository are not known")
	}
	for _, name := range strings.Fields(string(out)) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		if isGenerated(text) {
			continue
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, 1<<20)
		for n := 1; lines.Scan(); n++ {
			columns := utf8.RuneCount(lines.Bytes()) + 3*bytes.Count(lines.Bytes(), []byte("\t"))
			if columns > maxColumns {
				t.Errorf("%s:%d: %d columns, want at most %d", name, n, columns, maxColumns)
			}
		}
	}
}

// TestDefaultTargetIsTheUsers checks that only the command line and the root package choose a default target: no other
// code than tests names one.
func TestDefaultTargetIsTheUsers(t *testing.T) {
	cmd := exec.Command("git", "grep", "-nE", `target\.H1[0-9]`, "--", "*.go", ":!*_test.go", ":!internal/test",
		":!cmd/zinc/cli", ":(exclude,glob)*.go")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if len(out) > 0 {
		t.Errorf("a target is named:\n%s", out)
	} else if cmd.ProcessState.ExitCode() != 1 { // of nothing found
		t.Skip("not a git checkout: ", err)
	}
}

func isGenerated(text []byte) bool {
	return bytes.Contains(text[:min(len(text), 200)], []byte("DO NOT EDIT"))
}

// inspect type-checks every package and calls visit for each node of its files that are not generated.
func inspect(t *testing.T, visit func(p *packages.Package, file string, n ast.Node)) {
	if !testform.Long() {
		t.Skip("type-checking every package takes ten seconds; make lint does it")
	}
	pkgs, err := load()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{} // files are both in a package and in its test variants
	for _, p := range pkgs {
		for _, e := range p.Errors {
			t.Fatal(e)
		}
		for _, f := range p.Syntax {
			name := p.Fset.Position(f.Pos()).Filename
			if seen[name] || ast.IsGenerated(f) {
				continue
			}
			seen[name] = true
			ast.Inspect(f, func(n ast.Node) bool {
				visit(p, name, n)
				return true
			})
		}
	}
}

var load = sync.OnceValues(func() ([]*packages.Package, error) {
	return packages.Load(&packages.Config{
		Mode:  packages.LoadAllSyntax&^packages.NeedDeps | packages.NeedExportFile,
		Dir:   filepath.Join("..", ".."),
		Tests: true,
	}, "./...")
})

// shortRow is the largest number of columns of a row of a table that may be without the names of its fields.
const shortRow = 4

// TestLiteralsAreKeyed looks for struct literals of more than three fields without the fields' names. A row of a table
// that takes one line may be without them if it is short or the table is a test's: the table declares its type.
func TestLiteralsAreKeyed(t *testing.T) {
	inspect(t, func(p *packages.Package, _ string, n ast.Node) {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || len(lit.Elts) <= 3 || !isStruct(p.TypesInfo.TypeOf(lit)) {
			return
		}
		begin, end := p.Fset.Position(lit.Lbrace), p.Fset.Position(lit.Rbrace)
		row := lit.Type == nil && begin.Line == end.Line
		if row && (len(lit.Elts) <= shortRow || strings.HasSuffix(begin.Filename, "_test.go")) {
			return
		}
		if _, keyed := lit.Elts[0].(*ast.KeyValueExpr); !keyed {
			t.Errorf("%v: the struct literal of %d fields is not keyed", p.Fset.Position(lit.Pos()), len(lit.Elts))
		}
	})
}

// TestParametersAreIdentifiers rejects string literals for parameter names outside tests, because the compiler checks
// only identifiers.
func TestParametersAreIdentifiers(t *testing.T) {
	inspect(t, func(p *packages.Package, file string, n ast.Node) {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Value == `""` || strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "params.go" {
			return
		}
		if named, ok := p.TypesInfo.TypeOf(lit).(*types.Named); ok && named.Obj().Name() == "ParamName" {
			t.Errorf("%v: the parameter %s is a literal, want its constant of ir/params.go",
				p.Fset.Position(lit.Pos()),
				lit.Value)
		}
	})
}

func isStruct(t types.Type) bool {
	if p, ok := t.Underlying().(*types.Pointer); ok { // elided &T in a list of pointers
		t = p.Elem()
	}
	_, ok := t.Underlying().(*types.Struct)
	return ok
}
