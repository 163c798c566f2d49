package verify

import (
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// RelativeTable is the largest relative error for which the error of a lookup
// table is taken as relative. The error of such a table (that of exp, for
// example) is proportional to its result, so its worst absolute error, at the top
// of its range, would be far too large elsewhere.
const RelativeTable = 1.0 / 64

// tableError is the worst error of a lookup table: relative if that is at most RelativeTable, otherwise absolute. The
// other field is zero.
type tableError struct{ abs, rel float64 }

func errorOf(t compile.TableInfo) tableError {
	if t.Rel >= 0 && t.Rel <= RelativeTable {
		return tableError{rel: t.Rel}
	}
	return tableError{abs: t.Abs}
}

func (e tableError) worse(f tableError) tableError {
	return tableError{max(e.abs, f.abs), max(e.rel, f.rel)}
}

// bounds returns a function that returns the error bound of an operation on the
// engine. It includes the worst error of the lookup table of the operation's
// result, or, if that is unknown, of all tables of operations of its kind.
func bounds(r *compile.Report) func(op *ir.Op) numerics.Bound {
	byResult, byKind := map[string]tableError{}, map[string]tableError{}
	for _, t := range r.Tables {
		byResult[t.Name] = byResult[t.Name].worse(errorOf(t))
		byKind[t.Op] = byKind[t.Op].worse(errorOf(t))
	}
	return func(op *ir.Op) numerics.Bound {
		e := byKind[op.Def.Name]
		if len(op.Results) > 0 {
			if own, ok := byResult[op.Results[0].Name]; ok {
				e = own
			}
		}
		b := op.Def.Error.Bound(e.abs)
		switch op.Def.Error {
		case numerics.Table:
			b.Rel += e.rel
		case numerics.Elementwise: // an exact function elsewhere, a table on the engine: roots, logarithms
			b.Abs += e.abs
			b.Rel += e.rel
		case numerics.Composite:
			// A quotient of two table values, as in softmax, has the error of both.
			b.Rel += 2 * e.rel
		}
		return b
	}
}
