package passes

import (
	"math"
	"math/bits"

	"github.com/zinc-compiler/zinc/ir"
)

// Products read subnormal operands as 0. A row of n probabilities loses those below 2^-14, which together may be
// n * 2^-14 of the row: 3 % of one of shortRow elements, and all of one of 2^14 that are nearly equal. Longer rows are
// multiplied by a power of two such that the lost elements add up to less than 2^-lostBits, and the product by its
// inverse. A larger factor would lose less, but a product is infinite from 2^15 on: values may be as large as
// 2^(15+lostBits)/n.
const (
	shortRow = 512
	lostBits = 7
)

// scaleProbabilities multiplies the long rows of a softmax before their product over the elements of each row, and
// divides the result.
func scaleProbabilities(s *State, r *rewriter, op *ir.Op) (*ir.Value, error) {
	a, err := ir.MatMulAttrs(op)
	if err != nil || !known(op.Results[0]) || op.Results[0].Type.DType != ir.FP16 {
		return nil, nil
	}
	p, n := ir.ParamX, probabilities(op.Arg(ir.ParamX))
	if n == 0 {
		p, n = ir.ParamY, probabilities(op.Arg(ir.ParamY))
	}
	if n <= shortRow || a.K != n {
		return nil, nil
	}
	if _, err := s.Accept(op); err != nil {
		return nil, nil // the CPU loses nothing
	}
	k := bits.Len64(uint64(n-1)) - lostBits
	times := func(x *ir.Value, exponent int) (*ir.Value, error) {
		by := s.constant(ir.ConstFloat(ir.FP16, math.Ldexp(1, exponent)), op.Pos)
		m, err := s.makeOp(op, ir.OpMul, arg(ir.ParamX, x), arg(ir.ParamY, by))
		if err != nil {
			return nil, err
		}
		r.keep(m)
		return m.Results[0], nil
	}
	scaled, err := times(op.Arg(p), k)
	if err != nil {
		return nil, err
	}
	var args []ir.Arg
	op.Operands(func(q *ir.Param, v *ir.Value) {
		if q.Name == p {
			v = scaled
		}
		args = append(args, arg(q.Name, v))
	})
	product, err := s.makeOp(op, ir.OpMatMul, args...)
	if err != nil {
		return nil, err
	}
	r.keep(product)
	return times(product.Results[0], -k)
}

// probabilities returns the length of the rows of a softmax whose result is v, also if it is written as exponentials
// divided by their sum, moved without a change of any element, or 0 if it is not.
func probabilities(v *ir.Value) int64 {
	for v != nil && v.Def != nil && known(v) {
		x := v.Def.Arg(ir.ParamX)
		switch v.Def.Def.Operation {
		case ir.OpSoftmax:
			axis, err := ir.AxisAttr(v.Def, ir.ParamAxis, x.Type.Rank())
			if err != nil {
				return 0
			}
			return v.Type.Shape[axis]
		case ir.OpRealDiv:
			return dividedBySum(x, v.Def.Arg(ir.ParamY))
		case ir.OpReshape, ir.OpExpandDims, ir.OpSqueeze, ir.OpTranspose, ir.OpIdentity:
			v = x
		default:
			return 0
		}
	}
	return 0
}

// dividedBySum returns the length of the rows of exponentials x whose sum is y, or 0 if it is not.
func dividedBySum(x, y *ir.Value) int64 {
	if x.Def == nil || y.Def == nil || !x.Def.Is(ir.OpExp, ir.OpExp2) || !y.Def.Is(ir.OpReduceSum) ||
		y.Def.Arg(ir.ParamX) != x || y.Type.Rank() != x.Type.Rank() || y.Type.Elems() == 0 {
		return 0
	}
	return x.Type.Elems() / y.Type.Elems()
}
