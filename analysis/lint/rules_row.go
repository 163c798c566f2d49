package lint

import (
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// maxRowSteps bounds the statements between the softmax of a normalised row and its product.
const maxRowSteps = 8

const normalisedRowFlushed = "normalised-row-flushed"

// row is an operand of a product. Each of its rows is a softmax, one operation or written out, that later statements
// only moved, cast and multiplied.
type row struct {
	v *ir.Value
	// n is the length of the softmax, factor the product of the largest magnitudes it was multiplied by.
	n, factor float64
	by        []*ir.Op // the statements that normalise it
}

// lost is the share of the row that may be subnormal: elements below the least normal number add up to less than n of
// it.
func (r row) lost() float64 { return r.n * numerics.MinNormalFP16 / r.factor }

// flushed reports whether a product may lose so much of the row that its result deviates.
func (r row) flushed() bool { return r.lost() > witness.OwnShare }

// rowsOf returns the operands of a product that are rows over which it sums. mag returns the largest magnitude of a
// value.
func rowsOf(op *ir.Op, mag func(v *ir.Value) float64) (rows []row) {
	for _, name := range []ir.ParamName{ir.ParamX, ir.ParamY, ir.ParamWeight} {
		v := op.Arg(name)
		if v == nil || v.Const != nil {
			continue
		}
		if r := normalisedRow(v, mag, maxRowSteps); r.n > 0 && r.n == terms(op) && r.factor > 0 {
			r.v = v
			rows = append(rows, r)
		}
	}
	return rows
}

// normalisedRow returns v as a row, of length 0 if it is none.
func normalisedRow(v *ir.Value, mag func(v *ir.Value) float64, steps int) (r row) {
	if v = witness.Unreshaped(v); v == nil || v.Def == nil || steps == 0 {
		return r
	}
	op := v.Def
	q := quotientOfSum(op)
	switch {
	case op.Is(ir.OpSoftmax):
		if axis, err := ir.AxisAttr(op, ir.ParamAxis, v.Type.Rank()); err == nil {
			r = row{n: float64(v.Type.Shape[axis]), factor: 1, by: []*ir.Op{op}}
		}
	case q != nil:
		if n, ok := reduced(q.sum); ok {
			r = row{n: n, factor: 1, by: []*ir.Op{q.exp, q.sum, op}}
		}
	case op.Is(ir.OpCast) || onlyMoves(op):
		return normalisedRow(op.Arg(ir.ParamX), mag, steps-1)
	case op.Is(ir.OpMul):
		x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
		if r = normalisedRow(x, mag, steps-1); r.n <= 0 {
			r, y = normalisedRow(y, mag, steps-1), x
		}
		if r.n > 0 {
			r.factor *= mag(y)
		}
	}
	return r
}

// onlyMoves reports whether every element of an operation's results is one of its x, or padding.
func onlyMoves(op *ir.Op) bool {
	return op.Def.Class == ir.Movement && len(op.Def.Picks) == 1 && op.Def.Picks[0] == ir.ParamX
}

// terms is the number of elements of each row over which a product sums, for one tap of a convolution; 0 if unknown.
func terms(op *ir.Op) float64 {
	if op.Is(ir.OpMatMul) {
		if a, err := ir.MatMulAttrs(op); err == nil {
			return float64(a.K)
		}
		return 0
	}
	if w := op.Arg(ir.ParamWeight); w != nil && op.Is(ir.OpConv, ir.OpLinear) && w.Type.Rank() >= 2 {
		return float64(w.Type.Shape[1])
	}
	return 0
}

func checkNormalisedRow(s *site) *suspect {
	if !s.engine || !s.isFP16() {
		return nil
	}
	for _, r := range rowsOf(s.op, func(v *ir.Value) float64 { return s.a.Range(v).Mag() }) {
		if !r.flushed() {
			continue
		}
		p := s.suspect(r.v, s.a.Range(r.v), "6.10352e-05")
		p.Region = between(s.a, append(r.by, s.op)...)
		p.detail = fmt.Sprintf("rows of %.0f elements add up to at most %s", r.n, interval.Number(r.factor))
		k := powerOver(r.lost(), witness.OwnShare)
		p.instead = fmt.Sprintf("Divide by the sum after the product, or multiply the row by 2^%d before the product "+
			"and the product by 2^-%d.", k, k)
		p.Goals = []witness.Goal{witness.Near(r.v, numerics.MinNormalFP16/2)}
		p.Gap = func(seen func(v *ir.Value) Interval) float64 { return seen(r.v).Mag() / numerics.MinNormalFP16 }
		p.Need = append(p.Need, r.v)
		p.Reached = func(t witness.Trace) (float64, bool) { return subnormal(t.Floats(r.v)) }
		return p
	}
	return nil
}

// statement identifies a statement of the source in what the passes wrote for it.
type statement struct {
	pos  ir.Pos
	name string
}

// withoutScaled drops the findings about rows that the passes scale: they are found in the reference, which has the
// rows as they are written. placed is the function as it is lowered.
func withoutScaled(found []*suspect, placed *ir.Func) []*suspect {
	aboutRow := func(p *suspect) bool { return p.Kind == normalisedRowFlushed }
	if placed == nil || !slices.ContainsFunc(found, aboutRow) {
		return found
	}
	constant := func(v *ir.Value) float64 {
		if v.Const != nil {
			return interval.OfConst(v.Const).Mag()
		}
		return 1
	}
	kept := map[statement]bool{} // the statements whose rows keep their sum
	ir.Walk(placed, func(op *ir.Op) {
		if rows := rowsOf(op, constant); len(rows) > 0 {
			kept[statement{op.Pos, op.Name}] = !slices.ContainsFunc(rows, row.flushed)
		}
	})
	return slices.DeleteFunc(found, func(p *suspect) bool {
		return aboutRow(p) && kept[statement{p.Op.Pos, p.Op.Name}]
	})
}

// subnormal reports whether subnormal numbers are more of the sum of all than a result may deviate by, and the largest
// of them.
func subnormal(xs []float64) (largest float64, ok bool) {
	var small, whole float64
	for _, x := range xs {
		x = math.Abs(x)
		whole += x
		if x < numerics.MinNormalFP16 {
			small, largest = small+x, max(largest, x)
		}
	}
	return largest, small > whole*witness.OwnShare
}
