package lint

import (
	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/ir"
)

// Known are the ranges of a function's values that follow from the program: from operations with bounded results, as
// sigmoid and clip, and from ranges passed for inputs. It reads only small constants, so it takes time linear in the
// number of operations.
type Known struct{ a *analysis }

// Bounds of the constants that Known reads.
const (
	knownElems   = 1 << 12
	knownWeights = 1 << 16 // of a product whose operand has a known range
)

// KnownRanges judges a function whose operations need no places. Inputs without a range in inputs, and states, may have
// any value.
func KnownRanges(f *ir.Func, inputs map[string]Interval) *Known {
	ranges := map[string]Interval{}
	for _, p := range f.Body.Params {
		r, ok := inputs[p.Name]
		if !ok && (p.Type.Kind == ir.State || p.Type.DType != ir.UInt8) {
			r = interval.Span(-inf, inf)
		} else if !ok {
			r = interval.OfType(p.Type.DType)
		}
		ranges[p.Name] = r
	}
	of := newFunction(f)
	of.light = true
	a := of.prepare(ranges)
	a.summed = map[*ir.Value]bool{}
	a.body()
	return &Known{a}
}

// Range returns the range of a float value, and whether both ends are known.
func (k *Known) Range(v *ir.Value) (Interval, bool) {
	r := k.a.Range(v)
	return r, v.Type.DType.IsFloat() && !r.Empty() && r.Finite()
}

// Computed returns the range of an operation's result before it is rounded to its type, and whether it is known.
func (k *Known) Computed(v *ir.Value) (Interval, bool) {
	of, ok := k.a.ranges.Lookup(v)
	r := of.raw
	return r, ok && v.Type.DType.IsFloat() && !r.Empty() && r.Finite()
}

// bounding are the operations whose results are bounded whatever their operands are, without clip: of a product, that
// is a guard against overflow, whose bounds nothing reaches.
var bounding = []*ir.Operation{ir.OpSigmoid, ir.OpTanh, ir.OpRelu6, ir.OpSigmoidHard, ir.OpScaledTanh,
	ir.OpSoftmax, ir.OpErf, ir.OpSin, ir.OpCos, ir.OpSign, ir.OpAtan, ir.OpSoftsign}

// opaque reports whether the range of an operation's results would take weights to compute, or would not be attained:
// a normalisation reaches its bounds for no usual row, and a product of products for no input.
func (a *analysis) opaque(op *ir.Op) bool {
	switch op.Def.Class {
	case ir.Compressed, ir.Recurrent, ir.Control, ir.Listing:
		return true
	case ir.Normalization:
		return !op.Is(ir.OpSoftmax, ir.OpBatchNorm)
	case ir.Product:
		return !a.readable(op)
	}
	return false
}

// readable reports whether a product's computed operands have known ranges that no product gave them, and its constants
// are small. It reads these constants.
func (a *analysis) readable(op *ir.Op) bool {
	ok := true
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		ok = ok && (v.Const != nil || a.Range(v).Finite() && !a.summed[v])
	})
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		ok = ok && (v.Const == nil || v.Const.Assumed == nil && v.Const.Elems() <= knownWeights)
	})
	if ok {
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if v.Const != nil {
				a.consts[v.Const] = interval.OfConst(v.Const)
			}
		})
	}
	return ok
}

// learn keeps what is known of a result of an operation, whose range is r. A bound of half of what the type holds, or
// more, is the type's or a guard against overflow; it says nothing about the values.
func (a *analysis) learn(op *ir.Op, v *ir.Value, r Interval) Interval {
	if v.Type.DType.IsFloat() {
		of := interval.FiniteOf(v.Type.DType)
		if r.Lo <= of.Lo/2 {
			r.Lo = -inf
		}
		if r.Hi >= of.Hi/2 {
			r.Hi = inf
		}
	}
	sum := op.Def.Class == ir.Product
	op.Operands(func(_ *ir.Param, w *ir.Value) { sum = sum || a.summed[w] })
	if sum && !op.Is(bounding...) {
		a.summed[v] = true
	}
	return r
}
