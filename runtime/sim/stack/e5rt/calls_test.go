package e5rt_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
)

// Every row of Calls is a function or method of the package whose comment names the
// call.
func TestCallsAreDocumented(t *testing.T) {
	docs := map[string]string{}
	for _, entry := range got[[]os.DirEntry](t)(os.ReadDir(".")) {
		if name := entry.Name(); !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := got[*ast.File](t)(parser.ParseFile(token.NewFileSet(), entry.Name(), nil, parser.ParseComments))
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
					name = star.X.(*ast.Ident).Name + "." + name
				}
			}
			docs[name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
		}
	}
	seen := map[string]bool{}
	for _, c := range e5rt.Calls {
		doc, ok := docs[c.Go]
		if !ok {
			t.Errorf("%s: there is no %s", c.Name, c.Go)
		}
		if strings.HasPrefix(c.Name, "e5rt_") && !strings.Contains(doc, c.Name) {
			t.Errorf("the comment of %s does not name %s: %q", c.Go, c.Name, doc)
		}
		if seen[c.Name] || seen[c.Go] {
			t.Errorf("%s is there twice", c.Name)
		}
		seen[c.Name], seen[c.Go] = true, true
	}
	// The fourteen calls of the chapter's listings.
	known := 0
	for _, c := range e5rt.Calls {
		if c.Known {
			known++
		}
	}
	if known != 14 {
		t.Errorf("%d calls are known, the listings have 14", known)
	}
}
