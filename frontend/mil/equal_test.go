package mil

import "slices"

// equal reports whether a and b are the same program: equal trees with the same names, types, operations, arguments in
// the same order and atoms of the same spelling (strings of the same value). File names, positions, layout, comments
// and empty lists of attributes are ignored.
func equal(a, b *Program) bool {
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
		slices.EqualFunc(a.Stmts, b.Stmts, equalStmt)
}

func equalStmt(a, b *Stmt) bool {
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
