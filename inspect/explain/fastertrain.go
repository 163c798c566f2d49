package explain

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// padZeros pads with zeros what is padded with copies of its own elements.
func padZeros(e *edit) {
	if mode, ok := ir.ArgString(e.op, ir.ParamMode); !ok || mode == "constant" {
		e.not()
	}
	e.become(e.again(arg(ir.ParamMode, e.Str("constant")),
		arg(ir.ParamConstantVal, e.Num(e.op.Arg(ir.ParamX).Type.DType, 0))))
}

// leastLarge is the number of taps along a side from which a kernel counts as large.
const leastLarge = 7

// smallerKernels convolves with two kernels instead of a large one, k = a + b - 1 along each side. Their weights are
// placeholders: only the time is meant.
func smallerKernels(e *edit) {
	a, w := e.convolution()
	odd := func(n int64) bool { return n%2 == 1 }
	largest := slices.Max(a.Kernel)
	if a.Groups != 1 || largest < leastLarge || slices.ContainsFunc(a.Kernel, func(n int64) bool { return !odd(n) }) ||
		slices.ContainsFunc(a.Dilations, func(n int64) bool { return n != 1 }) || w.Type.DType != ir.FP16 {
		e.not()
	}
	out, in := w.Type.Shape[0], w.Type.Shape[1]
	first, second := []int64{in, in}, []int64{out, in}
	var none, ones []int64
	for _, k := range a.Kernel {
		first, second = append(first, (k+1)/2), append(second, (k+1)/2)
		none, ones = append(none, 0, 0), append(ones, 1)
	}
	x := e.Do(ir.OpConv, arg(ir.ParamX, e.padded(e.op.Arg(ir.ParamX), &a)), arg(ir.ParamWeight, e.placeholder(first)),
		arg(ir.ParamStrides, e.Ints(ones...)), arg(ir.ParamPadType, e.Str("valid")), arg(ir.ParamPad, e.Ints(none...)),
		arg(ir.ParamDilations, e.Ints(ones...)), arg(ir.ParamGroups, e.Int(1)))
	e.become(e.again(arg(ir.ParamX, x), arg(ir.ParamWeight, e.placeholder(second)),
		arg(ir.ParamPadType, e.Str("valid")), arg(ir.ParamPad, e.Ints(none...))))
}

// placeholder is a weight of small numbers, no two neighbours equal.
func (e *edit) placeholder(shape []int64) *ir.Value {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	if n > maxMatrix {
		return e.Fail("a weight of %d elements exceeds the %d that a rewrite creates", n, maxMatrix)
	}
	vs := make([]float64, n)
	for i := range vs {
		vs[i] = float64(i%13+1) / 64
	}
	return e.floats("weight", ir.FP16, vs, shape...)
}
