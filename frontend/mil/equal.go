package mil

import "slices"

// EqualType reports whether a and b are the same type; two nil types are equal, and so are the two ways of writing the
// type of a scalar.
func EqualType(a, b *Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.IsScalar() && b.IsScalar() {
		return a.Elem == b.Elem
	}
	return a.Kind == b.Kind && a.Elem == b.Elem && slices.EqualFunc(a.Args, b.Args, EqualType) &&
		slices.EqualFunc(a.Dims, b.Dims, func(x, y Dim) bool {
			return x.Kind == y.Kind && x.Size == y.Size && x.Name == y.Name
		})
}

// EqualValue reports whether a and b are the same value: the same names and types, and atoms of the same spelling
// (strings of the same value).
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
