package passes

import "github.com/zinc-compiler/zinc/ir"

const (
	largestFP16 = 65504   // the largest fp16 number
	maxFactor   = 1 << 15 // times largestFP16 this is under 2^31
)

// integersInFP16 rewrites a sum, difference or product of two int32 values that a cast reads as fp16. It becomes that
// operation in fp16 if both are integers that fp16 represents: either way rounds the exact result once. A product must
// have a constant operand, since the product of two fp16 numbers may exceed int32. What an infinity becomes in int32 is
// not defined; here it stays an infinity.
func (s *State) integersInFP16(r *rewriter, op *ir.Op) (*ir.Value, error) {
	mid := op.Arg(ir.ParamX).Def
	if !known(op.Results[0]) || op.Results[0].Type.DType != ir.FP16 || mid == nil ||
		!mid.Is(ir.OpAdd, ir.OpSub, ir.OpMul) || mid.Results[0].Type.DType != ir.Int32 {
		return nil, nil
	}
	x, y := mid.Arg(ir.ParamX), mid.Arg(ir.ParamY)
	most := int64(largestFP16)
	if mid.Is(ir.OpMul) {
		most = maxFactor
	}
	if x.IsConst() == y.IsConst() && (x.IsConst() || mid.Is(ir.OpMul)) {
		return nil, nil
	}
	a, b := s.integerAsFP16(x, most), s.integerAsFP16(y, most)
	if a == nil || b == nil {
		return nil, nil
	}
	s.absorb(mid.Results[0])
	n, err := s.makeOp(op, mid.Def.Operation, arg(ir.ParamX, a), arg(ir.ParamY, b))
	if err != nil {
		return nil, err
	}
	r.keep(n)
	return n.Results[0], nil
}

// integerAsFP16 returns an int32 value as the fp16 numbers that it was converted from, or a constant up to most as fp16
// numbers; nil if these are not the same numbers.
func (s *State) integerAsFP16(v *ir.Value, most int64) *ir.Value {
	switch op := v.Def; {
	case v.IsConst():
		k := &ir.Const{Type: v.Type.WithDType(ir.FP16)}
		for i := range v.Type.Elems() {
			n := v.Const.Int(i)
			if k.Data = ir.AppendElem(k.Data, ir.FP16, float64(n)); n < -most || n > most || k.Int(i) != n {
				return nil
			}
		}
		h := s.constant(k, v.Pos)
		s.derive(v, h)
		s.cameFrom(h, v)
		return h
	case op != nil && op.Is(ir.OpCast) && op.Arg(ir.ParamX).Type.DType == ir.FP16 && whole(op.Arg(ir.ParamX)):
		return op.Arg(ir.ParamX)
	}
	return nil
}

// whole reports whether the operations that compute fp16 values show that they are integers.
func whole(v *ir.Value) bool {
	for op := v.Def; op != nil; op = op.Arg(ir.ParamX).Def {
		switch {
		case op.Is(ir.OpFloor, ir.OpCeil, ir.OpRound, ir.OpSign):
			return true
		case op.Is(ir.OpCast):
			return !op.Arg(ir.ParamX).Type.DType.IsFloat()
		case !op.Is(ir.OpReshape, ir.OpExpandDims, ir.OpSqueeze, ir.OpTranspose, ir.OpRelu, ir.OpAbs, ir.OpSliceByIndex,
			ir.OpSliceBySize, ir.OpTile):
			return false
		}
	}
	return false
}
