package exact

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/numerics/field"
)

// log2E and ln2 are the factors that the engine applies before a power of two and after a logarithm.
var log2E, ln2 = numerics.FP16(math.Log2E), numerics.FP16(math.Ln2)

// rounded records the element of the number that f was rounded from. 1 is always itself: registers contain it where
// nothing is multiplied.
func (n *Valuation) rounded(f float64, e field.Elem) {
	if math.Abs(f) == 1 {
		return
	}
	if f < 0 {
		e = field.Neg(e)
	}
	n.exact[math.Abs(f)] = e
}

// share records that programs multiply by 1/n.
func (n *Valuation) share(count int64) {
	if count < 1 { // nothing, or a number that is known only at run time
		return
	}
	e := field.Inv(field.Int(count))
	f := 1 / float64(count)
	n.rounded(numerics.FP16(f), e)
	n.rounded(float64(float32(f)), e)
}

// Scalar returns the element for a number in a register.
func (n *Valuation) Scalar(f float64) field.Elem {
	e, ok := n.exact[math.Abs(f)]
	switch {
	case !ok:
		return field.Number(f)
	case f < 0:
		return field.Neg(e)
	}
	return e
}

// implied records the numbers that the operations of a function imply.
func (n *Valuation) implied(f *ir.Func) {
	var scales []float64
	exponential := false
	for _, op := range f.Body.Ops {
		switch {
		case op.Is(ir.OpReduceMean):
			if a, err := ir.ReduceAttrs(op); err == nil {
				n.share(extent(op.Arg(ir.ParamX).Type.Shape, a.Axes))
			}
		case op.Is(ir.OpLayerNorm):
			if axes, err := ir.LayerNormAxes(op); err == nil {
				n.share(extent(op.Arg(ir.ParamX).Type.Shape, axes))
			}
		case op.Is(ir.OpAvgPool):
			if p, err := ir.PoolAttrs(op); err == nil {
				n.share(extent(p.Kernel, nil))
			}
		case op.Is(ir.OpMul):
			for _, name := range []ir.ParamName{ir.ParamX, ir.ParamY} {
				if v := op.Arg(name); v.IsConst() && v.Type.Elems() == 1 && v.Type.DType.IsFloat() {
					scales = append(scales, v.Const.Float(0))
				}
			}
		case op.Is(ir.OpExp):
			exponential = true
		}
	}
	if exponential {
		for _, s := range scales {
			n.rounded(numerics.FP16(numerics.FP16(s)*log2E), field.Mul(n.Scalar(s), field.Number(log2E)))
		}
	}
}
