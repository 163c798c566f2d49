package verify

import (
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// RelativeTable is the relative error up to which a lookup table counts as
// exact in the relative sense. The error of such a table (an exponential's) is
// a fraction of the value it gives, and its worst absolute error, met at the
// top of its range, says nothing about any other place.
const RelativeTable = 1.0 / 64

// tableError is the worst error of a lookup table: relative when that is small
// everywhere, else absolute.
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

// bounds returns the error bound of an operation on the engine, with the worst
// error of its lookup table: of the table made for its result, else the worst
// of the tables for operations of its kind.
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
		case numerics.Composite:
			// A quotient of table values, as in softmax: the error of each.
			b.Rel += 2 * e.rel
		}
		return b
	}
}
