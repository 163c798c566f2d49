package mil

import "slices"

// Equal reports whether a and b are the same program: the same tree with the
// same names, types, operations, arguments in the same order and atoms of the
// same spelling (strings of the same value). File names, positions, layout, comments and empty lists of attributes are
// ignored.
func Equal(a, b *Program) bool {
	return a.Version == b.Version && equalArgs(a.Attrs, b.Attrs) &&
		slices.EqualFunc(a.Funcs, b.Funcs, equalFunc)
}

func equalFunc(a, b *Func) bool {
	return a.Name == b.Name && a.Opset == b.Opset && equalParams(a.Params, b.Params) &&
		equalArgs(a.Attrs, b.Attrs) && equalBlock(a.Body, b.Body)
}

func equalBlock(a, b *Block) bool {
	return equalParams(a.Params, b.Params) &&
		slices.EqualFunc(a.Outputs, b.Outputs, func(x, y Ref) bool { return x.Name == y.Name }) &&
		slices.EqualFunc(a.Stmts, b.Stmts, EqualStmt)
}

// EqualStmt is Equal for statements.
func EqualStmt(a, b *Stmt) bool {
	return a.Op == b.Op && a.OpOpset == b.OpOpset && equalParams(a.Results, b.Results) &&
		equalArgs(a.Args, b.Args) && equalArgs(a.Attrs, b.Attrs) &&
		slices.EqualFunc(a.Blocks, b.Blocks, equalBlock)
}

func equalParams(a, b []Param) bool {
	return slices.EqualFunc(a, b, func(x, y Param) bool { return x.Name == y.Name && EqualType(x.Type, y.Type) })
}

func equalArgs(a, b []Arg) bool {
	return slices.EqualFunc(a, b, func(x, y Arg) bool { return x.Name == y.Name && EqualValue(x.Value, y.Value) })
}

// EqualType is Equal for types; two nil types are equal.
func EqualType(a, b *Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Elem == b.Elem && slices.EqualFunc(a.Args, b.Args, EqualType) &&
		slices.EqualFunc(a.Dims, b.Dims, func(x, y Dim) bool {
			return x.Kind == y.Kind && x.Size == y.Size && x.Name == y.Name
		})
}

// EqualValue is Equal for values.
func EqualValue(a, b Value) bool {
	switch x := a.(type) {
	case *Ref:
		y, ok := b.(*Ref)
		return ok && x.Name == y.Name
	case *Literal:
		y, ok := b.(*Literal)
		return ok && EqualType(x.Type, y.Type) && x.equalAtoms(y)
	case *BlobRef:
		y, ok := b.(*BlobRef)
		return ok && EqualType(x.Type, y.Type) && x.Path == y.Path && x.Offset == y.Offset &&
			EqualType(x.PathType, y.PathType) && EqualType(x.OffsetType, y.OffsetType)
	case *Tuple:
		y, ok := b.(*Tuple)
		return ok && EqualType(x.Type, y.Type) && slices.EqualFunc(x.Elems, y.Elems, EqualValue)
	case *List:
		y, ok := b.(*List)
		return ok && EqualType(x.Type, y.Type) && slices.EqualFunc(x.Elems, y.Elems, EqualValue)
	case *Dict:
		y, ok := b.(*Dict)
		return ok && EqualType(x.Type, y.Type) && slices.EqualFunc(x.Entries, y.Entries, func(e, f Entry) bool {
			return EqualValue(e.Key, f.Key) && EqualValue(e.Value, f.Value)
		})
	}
	return a == b
}

// equalAtoms compares shape and atoms.
func (l *Literal) equalAtoms(m *Literal) bool {
	if l.text == m.text {
		return true
	}
	if l.count != m.count || l.list != m.list || l.ragged != m.ragged || !slices.Equal(l.shape, m.shape) {
		return false
	}
	if l.ragged {
		// The shape does not show where the brackets are.
		return string(l.appendPayload(nil)) == string(m.appendPayload(nil))
	}
	a, b := atomCursor{l.text}, atomCursor{m.text}
	for {
		x, y := a.next(), b.next()
		if x != y {
			if x == "" || y == "" || x[0] != '"' || y[0] != '"' {
				return false
			}
			s, _ := unquote(x)
			t, _ := unquote(y)
			if s != t {
				return false
			}
		}
		if x == "" {
			return true
		}
	}
}
