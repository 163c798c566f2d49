package explain

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// rowElements is the number of fp16 elements of the 64 bytes that the engine stores of a shorter row.
const rowElements = 32

// widenRows computes a pointwise operation on short rows as one on rows of at least 64 bytes.
func widenRows(e *edit) {
	old := e.op.Results
	if len(old) != 1 || !old[0].Type.Static() || old[0].Type.DType != ir.FP16 || len(e.op.Blocks) > 0 {
		e.not()
	}
	s := old[0].Type.Shape
	n := len(s)
	if n < 2 || s[n-1] >= rowElements {
		e.not()
	}
	w, at := int64(1), n
	for ; at > 0 && w*s[at-1] <= int64(e.t.MaxWidth); at-- {
		w *= s[at-1]
	}
	if w < rowElements || w <= s[n-1] {
		e.not()
	}
	wide := append(append([]int64{}, s[:at]...), w)
	var args []ir.Arg
	e.op.Operands(func(p *ir.Param, v *ir.Value) {
		switch {
		case p.Variadic:
			e.not()
		case v.IsConst() && (v.Type.Rank() == 0 || !v.Type.DType.IsFloat()):
		case v.IsConst() && v.Type.Elems() == 1:
			args = append(args, arg(p.Name, e.Num(v.Type.DType, v.Const.Float(0))))
		case v.Const == nil && equalShapes(v.Type, old[0].Type):
			args = append(args, arg(p.Name, e.Reshape(v, wide...)))
		default:
			e.not()
		}
	})
	e.become(e.Reshape(e.again(args...), s...))
}

func equalShapes(a, b ir.Type) bool {
	if a.Rank() != b.Rank() {
		return false
	}
	for i, d := range a.Shape {
		if d != b.Shape[i] {
			return false
		}
	}
	return true
}

// overChannels takes a softmax over the last dimension over the channels, with the positions in the last dimension.
func overChannels(e *edit) {
	x := e.op.Arg(ir.ParamX)
	axis, ok := ir.ArgInt(e.op, ir.ParamAxis)
	if rank := int64(x.Type.Rank()); !ok || rank != 4 || (axis+rank)%rank != 3 || !x.Type.Static() {
		e.not()
	}
	y := e.again(arg(ir.ParamX, e.Transpose(x, 0, 3, 1, 2)), arg(ir.ParamAxis, e.Int(1)))
	e.become(e.Transpose(y, 0, 2, 3, 1))
}

// upsampleByConv repeats each element by a transposed convolution of each channel with ones.
func upsampleByConv(e *edit) {
	x, y := e.op.Arg(ir.ParamX), e.op.Results[0]
	if x.Type.Rank() != 4 || !x.Type.Static() || !y.Type.Static() || x.Type.DType != ir.FP16 {
		e.not()
	}
	c, h, w := x.Type.Shape[1], y.Type.Shape[2]/x.Type.Shape[2], y.Type.Shape[3]/x.Type.Shape[3]
	if h*x.Type.Shape[2] != y.Type.Shape[2] || w*x.Type.Shape[3] != y.Type.Shape[3] || h*w < 2 || c*h*w > maxMatrix {
		e.not()
	}
	ones := slices.Repeat([]float64{1}, int(c*h*w))
	weight := e.floats("weight", ir.FP16, ones, c, 1, h, w)
	e.become(e.Do(ir.OpConvTranspose, arg(ir.ParamX, x), arg(ir.ParamWeight, weight),
		arg(ir.ParamStrides, e.Ints(h, w)), arg(ir.ParamPadType, e.Str("valid")), arg(ir.ParamPad, e.Ints(0, 0, 0, 0)),
		arg(ir.ParamDilations, e.Ints(1, 1)), arg(ir.ParamGroups, e.Int(c))))
}

// siluByParts writes silu as a product with a sigmoid.
func siluByParts(e *edit) {
	x := e.op.Arg(ir.ParamX)
	e.become(e.Do(ir.OpMul, arg(ir.ParamX, x), arg(ir.ParamY, e.Do(ir.OpSigmoid, arg(ir.ParamX, x)))))
}

// siluWhole writes a product of a value with its sigmoid as silu.
func siluWhole(e *edit) {
	for _, p := range [][2]ir.ParamName{{ir.ParamX, ir.ParamY}, {ir.ParamY, ir.ParamX}} {
		x := e.op.Arg(p[0])
		if s := e.sole(e.op.Arg(p[1]), ir.OpSigmoid); s != nil && s.Arg(ir.ParamX) == x {
			e.become(e.Do(ir.OpSilu, arg(ir.ParamX, x)))
			return
		}
	}
	e.not()
}

// tanhBySigmoid writes tanh as 2 sigmoid(2x) - 1.
func tanhBySigmoid(e *edit) {
	x := e.op.Arg(ir.ParamX)
	if x.Type.DType != ir.FP16 {
		e.not()
	}
	s := e.Do(ir.OpSigmoid, arg(ir.ParamX, e.scaled(x, 2)))
	e.become(e.Do(ir.OpSub, arg(ir.ParamX, e.scaled(s, 2)), arg(ir.ParamY, e.Num(ir.FP16, 1))))
}

// meanByPool takes a mean over all rows and columns by pooling.
func meanByPool(e *edit) {
	x := e.op.Arg(ir.ParamX)
	a, err := ir.ReduceAttrs(e.op)
	if err != nil || x.Type.Rank() != 4 || !x.Type.Static() || len(a.Axes) != 2 || a.Axes[0] != 2 || a.Axes[1] != 3 {
		e.not()
	}
	y := e.Do(ir.OpAvgPool, arg(ir.ParamX, x), arg(ir.ParamKernelSizes, e.Ints(x.Type.Shape[2:]...)),
		arg(ir.ParamStrides, e.Ints(1, 1)), arg(ir.ParamPadType, e.Str("valid")), arg(ir.ParamPad, e.Ints(0, 0, 0, 0)),
		arg(ir.ParamExcludePaddingFromAverage, e.Bool(false)), arg(ir.ParamCeilMode, e.Bool(false)))
	if y.Type.Rank() != e.op.Results[0].Type.Rank() {
		y = e.Reshape(y, e.op.Results[0].Type.Shape...)
	}
	e.become(y)
}

// sliceFirst computes a pointwise operation only on the part of it that is read.
func sliceFirst(e *edit) {
	x := e.op.Arg(ir.ParamX)
	if x.Def == nil || e.sole(x, x.Def.Def.Operation) == nil || x.Def.Def.Class != ir.Pointwise || castTo(x.Def) != 0 {
		e.not()
	}
	name, v := live(x.Def)
	if v == nil || !equalShapes(v.Type, x.Type) {
		e.not()
	}
	part := e.again(arg(ir.ParamX, v))
	outer := e.op
	e.op = x.Def
	y := e.again(arg(name, part))
	e.op = outer
	e.become(y)
}
