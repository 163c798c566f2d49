package mutants

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"
)

// Site is a place of a mutation.
type Site struct {
	Package string // import path
	File    string // path from the root of the module
	Line    int
	Func    string // the function or the variable around the place
	Kind    Kind
	Text    string // the mutated expression or statement, on one line

	name  string // of the site's function in package active
	types string // type arguments of the call, with brackets
	from  int    // offsets in the file
	to    int
	op    int // offset of the operator that becomes a comma, or 0
	opLen int
	depth int    // in the syntax tree
	with  string // what replaces it, of Written
}

// String returns the place and the mutation.
func (s *Site) String() string {
	return fmt.Sprintf("%s:%d: %s: %s: %s", s.File, s.Line, s.Func, s.Kind, s.Text)
}

// Kind is what a mutation changes.
type Kind string

// Kinds.
const (
	Boundary  Kind = "boundary"  // < and <=, > and >=
	Condition Kind = "condition" // negated
	Operator  Kind = "operator"  // of arithmetic
	Constant  Kind = "constant"  // off by one
	Index     Kind = "index"     // off by one
	Statement Kind = "statement" // left out
	Written   Kind = "written"   // replaced by what LoadNamed's caller says
)

// operators are the functions of package active for operators of arithmetic.
var operators = map[token.Token]string{
	token.ADD: "Add", token.SUB: "Sub", token.MUL: "Mul", token.QUO: "Quo", token.REM: "Rem",
	token.AND: "And", token.OR: "Or", token.XOR: "Xor", token.AND_NOT: "AndNot", token.SHL: "Shl", token.SHR: "Shr",
}

// finder collects the sites of a file.
type finder struct {
	pkg   *packages.Package
	file  *ast.File
	path  string // from the root
	src   []byte
	names map[string]string // of imported packages, by path
	stack []ast.Node
	sites []*Site
}

// find returns the sites of a file in the order of the source.
func find(pkg *packages.Package, file *ast.File, root string, src []byte) ([]*Site, error) {
	path, err := filepath.Rel(root, pkg.Fset.Position(file.Pos()).Filename)
	if err != nil {
		return nil, err
	}
	f := &finder{pkg: pkg, file: file, path: filepath.ToSlash(path), src: src, names: map[string]string{}}
	for _, spec := range file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if imported := pkg.Imports[p]; imported != nil && imported.Types != nil {
			f.names[p] = imported.Types.Name()
		}
		if spec.Name != nil {
			f.names[p] = spec.Name.Name
		}
	}
	astutil.Apply(file, f.enter, func(*astutil.Cursor) bool {
		f.stack = f.stack[:len(f.stack)-1]
		return true
	})
	return f.sites, nil
}

// enter looks at a node and reports whether to look at what is in it.
func (f *finder) enter(c *astutil.Cursor) bool {
	n := c.Node()
	skip := n == nil || f.skipped(n) || c.Name() == "Key" && f.constantKey(c.Parent())
	// The function that leaves a node is not called for a node whose children are skipped.
	if skip {
		return false
	}
	f.stack = append(f.stack, n)
	if s, ok := n.(ast.Stmt); ok && c.Index() >= 0 && c.Name() != "Rhs" && c.Name() != "Lhs" {
		f.statement(s)
	}
	if e, ok := n.(ast.Expr); ok {
		if f.constant(e, c) {
			f.stack = f.stack[:len(f.stack)-1]
			return false
		}
		f.expression(e, c)
	}
	return true
}

// skipped reports whether nothing in a node is mutated: declarations of constants and types, and what only makes the
// text of an error.
func (f *finder) skipped(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.VAR
	case *ast.ArrayType, *ast.FuncType, *ast.InterfaceType, *ast.StructType, *ast.ImportSpec:
		return true
	case *ast.FuncDecl:
		return n.Type.TypeParams != nil || n.Name.Name == "String" || n.Name.Name == "Error"
	case *ast.CallExpr:
		switch fun := n.Fun.(type) {
		case *ast.Ident:
			return fun.Name == "panic"
		case *ast.SelectorExpr:
			if x, ok := fun.X.(*ast.Ident); ok {
				if p, ok := f.pkg.TypesInfo.Uses[x].(*types.PkgName); ok {
					path := p.Imported().Path()
					return path == "fmt" || path == "errors"
				}
			}
		}
	}
	return false
}

// constantKey reports whether the keys of a composite literal must be constants.
func (f *finder) constantKey(n ast.Node) bool {
	if len(f.stack) < 2 {
		return false
	}
	lit, ok := f.stack[len(f.stack)-2].(*ast.CompositeLit)
	if !ok {
		return false
	}
	_, isMap := f.pkg.TypesInfo.TypeOf(lit).Underlying().(*types.Map)
	return n != nil && !isMap
}

// add adds a site for a call of a function of package active.
func (f *finder) add(kind Kind, name string, n ast.Node, ts ...types.Type) *Site {
	var args []string
	for _, t := range ts {
		a, ok := f.typeName(t)
		if !ok {
			return nil
		}
		args = append(args, a)
	}
	pos := f.pkg.Fset.Position(n.Pos())
	s := &Site{
		Package: f.pkg.PkgPath, File: f.path, Line: pos.Line, Func: f.function(), Kind: kind,
		name: name, from: pos.Offset, to: f.pkg.Fset.Position(n.End()).Offset, depth: len(f.stack),
	}
	if len(args) > 0 {
		s.types = "[" + strings.Join(args, ", ") + "]"
	}
	s.Text = strings.Join(strings.Fields(string(f.src[s.from:s.to])), " ")
	const most = 100
	if len(s.Text) > most {
		s.Text = strings.ToValidUTF8(s.Text[:most], "") + " ..."
	}
	if kind != Statement {
		s.Text = name + ": " + s.Text
	}
	f.sites = append(f.sites, s)
	return s
}

// function returns the name of the declaration around the current node.
func (f *finder) function() string {
	for _, n := range f.stack {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil && len(n.Recv.List) == 1 {
				return types.ExprString(n.Recv.List[0].Type) + "." + n.Name.Name
			}
			return n.Name.Name
		case *ast.ValueSpec:
			return n.Names[0].Name
		}
	}
	return ""
}

// typeName returns how the file can name a type; false if it cannot, or if the type is a type parameter.
func (f *finder) typeName(t types.Type) (string, bool) {
	ok := true
	t = types.Default(t) // constant shift counts are untyped
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return "", false
	case *types.Named:
		o := t.Obj()
		ok = o.Pkg() == f.pkg.Types && o.Parent() == o.Pkg().Scope() || o.Exported() && o.Pkg() != f.pkg.Types
	}
	name := types.TypeString(t, func(p *types.Package) string {
		if p == f.pkg.Types {
			return ""
		}
		n, imported := f.names[p.Path()]
		ok = ok && imported && n != "_" && n != "."
		return n
	})
	return name, ok
}

// statement adds the site of a statement that can be left out.
func (f *finder) statement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return
		}
	case *ast.IncDecStmt:
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok && f.skipped(call) {
			return
		}
	default:
		return
	}
	f.add(Statement, "Keep", s)
}

// constant adds the sites of a constant, and reports whether the expression is one.
func (f *finder) constant(e ast.Expr, c *astutil.Cursor) bool {
	tv, ok := f.pkg.TypesInfo.Types[e]
	if !ok || tv.Value == nil {
		return false
	}
	basic, ok := tv.Type.Underlying().(*types.Basic)
	if !ok {
		return true
	}
	if p, ok := c.Parent().(*ast.SelectorExpr); ok && p.X != e {
		return true
	}
	switch {
	case basic.Info()&types.IsInteger != 0:
		f.add(Constant, "Up", e, tv.Type)
		if n, exact := constant.Int64Val(constant.ToInt(tv.Value)); exact && n != 0 {
			f.add(Constant, "Down", e, tv.Type)
		}
	case basic.Info()&types.IsFloat != 0:
		f.add(Constant, "Up", e, tv.Type)
	case basic.Kind() == types.Bool:
		f.add(Condition, "Not", e)
	}
	return true
}

// expression adds the sites of an expression that is no constant.
func (f *finder) expression(e ast.Expr, c *astutil.Cursor) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		f.binary(e)
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			f.add(Condition, "Not", e)
		}
	case *ast.IndexExpr:
		f.index(e)
	}
	if p, ok := c.Parent().(*ast.IfStmt); ok && p.Cond == e && !negated(e) {
		f.add(Condition, "Not", e)
	}
}

// negated reports whether a condition has its own site for a negation, or parts that have.
func negated(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return true
	case *ast.UnaryExpr:
		return e.Op == token.NOT
	case *ast.ParenExpr:
		return negated(e.X)
	}
	return false
}

// index adds the site of an index into a slice or an array.
func (f *finder) index(e *ast.IndexExpr) {
	tv := f.pkg.TypesInfo.Types[e.Index]
	if tv.Value != nil || !tv.IsValue() {
		return
	}
	t := f.pkg.TypesInfo.TypeOf(e.X)
	if t == nil {
		return
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	switch t.Underlying().(type) {
	case *types.Slice, *types.Array:
		f.add(Index, "Up", e.Index, tv.Type)
	}
}

// binary adds the sites of an operation on two values.
func (f *finder) binary(e *ast.BinaryExpr) {
	x, y := f.pkg.TypesInfo.TypeOf(e.X), f.pkg.TypesInfo.TypeOf(e.Y)
	var s *Site
	switch e.Op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		f.add(Condition, "Not", e)
		name := map[token.Token]string{
			token.LSS: "Less", token.LEQ: "LessEqual", token.GTR: "Greater", token.GEQ: "GreaterEqual",
		}[e.Op]
		s = f.add(Boundary, name, e, x)
	case token.EQL, token.NEQ:
		f.add(Condition, "Not", e)
	case token.LAND, token.LOR:
		if !negated(e.X) {
			f.add(Condition, "Not", e.X)
		}
	case token.SHL, token.SHR:
		s = f.add(Operator, operators[e.Op], e, x, y)
	default:
		b, ok := x.Underlying().(*types.Basic)
		if ok && b.Info()&(types.IsInteger|types.IsFloat) != 0 {
			s = f.add(Operator, operators[e.Op], e, f.pkg.TypesInfo.TypeOf(e))
		}
	}
	if s != nil {
		s.op, s.opLen = f.pkg.Fset.Position(e.OpPos).Offset, len(e.Op.String())
	}
}
