package explain

import (
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// dims formats a shape: "1x3x224x224".
func dims(shape []int64) string {
	s := make([]string, len(shape))
	for i, d := range shape {
		s[i] = strconv.FormatInt(d, 10)
	}
	return strings.Join(s, "x")
}

// maxParts is the maximum number of operations that a split creates.
const maxParts = 64

// parts splits n into parts of at most the given size, whose sizes differ by at most 1.
func (e *edit) parts(n, most int64) (out [][2]int64) {
	if most <= 0 || (n+most-1)/most > maxParts {
		e.Fail("%d in parts of %d are more than the %d parts that a rewrite creates", n, most, maxParts)
		return nil
	}
	count := (n + most - 1) / most
	for i := range count {
		out = append(out, [2]int64{i * n / count, (i + 1) * n / count})
	}
	return out
}

// total adds values up.
func (e *edit) total(vs []*ir.Value) *ir.Value {
	if len(vs) == 0 {
		return e.Fail("there is nothing to add up")
	}
	sum := vs[0]
	for _, v := range vs[1:] {
		sum = e.Binary(ir.OpAdd, sum, v)
	}
	return sum
}

// padded pads the spatial dimensions of a convolution's operand with zeros.
func (e *edit) padded(x *ir.Value, a *ir.Conv) *ir.Value {
	var pads []int64
	for range x.Type.Rank() - a.Spatial {
		pads = append(pads, 0, 0)
	}
	for i := range a.Spatial {
		pads = append(pads, a.PadBefore[i], a.PadAfter[i])
	}
	return e.Pad(x, pads)
}

// convolution returns the statement's decoded arguments and its weight, if both are known.
func (e *edit) convolution() (ir.Conv, *ir.Const) { return e.convolutionOf(e.op) }

// convolutionOf returns a convolution's decoded arguments and its weight, if both are known.
func (e *edit) convolutionOf(op *ir.Op) (ir.Conv, *ir.Const) {
	a, err := ir.ConvAttrs(op)
	w := known(op.Arg(ir.ParamWeight))
	if err != nil || w == nil || !op.Arg(ir.ParamX).Type.Static() || !op.Results[0].Type.Static() {
		e.not()
	}
	return a, w
}

// splitKernel convolves each part of the kernel with the slice of x that its taps read, and adds the results.
func splitKernel(e *edit) {
	a, w := e.convolution()
	if a.Spatial < 1 || a.Spatial > 2 {
		e.not()
	}
	most := []int64{int64(e.t.MaxKernelH), int64(e.t.MaxKernelW)}[2-a.Spatial:]
	axis := -1
	for i := range a.Spatial {
		if (a.Kernel[i]-1)*a.Dilations[i]+1 > most[i] {
			if axis >= 0 {
				e.Fail("the kernel is too large along two axes")
				return
			}
			axis = i
		}
	}
	if axis < 0 {
		e.not()
	}
	d := a.Dilations[axis]
	x := e.padded(e.op.Arg(ir.ParamX), &a)
	zero := make([]int64, 2*a.Spatial)
	var sums []*ir.Value
	for i, p := range e.parts(a.Kernel[axis], (most[axis]-1)/d+1) {
		begin := p[0] * d
		extent := (a.Out[axis]-1)*a.Strides[axis] + (p[1]-p[0]-1)*d + 1
		args := []ir.Arg{
			arg(ir.ParamX, e.Slice(x, axis+2, begin, begin+extent)),
			arg(ir.ParamWeight, e.cut("weight", w, axis+2, p[0], p[1])),
			arg(ir.ParamPadType, e.Str("valid")), arg(ir.ParamPad, e.Ints(zero...)),
		}
		if i > 0 {
			args = append(args, arg(ir.ParamBias, nil))
		}
		sums = append(sums, e.again(args...))
	}
	e.become(e.total(sums))
}

// splitChannels convolves parts of the input channels and adds the results.
func splitChannels(e *edit) {
	a, w := e.convolution()
	taps := int64(1)
	for _, k := range w.Type.Shape[2:] {
		taps *= k
	}
	if a.Groups != 1 || taps <= 0 {
		e.not()
	}
	var sums []*ir.Value
	for i, p := range e.parts(w.Type.Shape[1], e.t.KernelBytes/2/taps) {
		args := []ir.Arg{arg(ir.ParamX, e.Slice(e.op.Arg(ir.ParamX), 1, p[0], p[1])),
			arg(ir.ParamWeight, e.cut("weight", w, 1, p[0], p[1]))}
		if i > 0 {
			args = append(args, arg(ir.ParamBias, nil))
		}
		sums = append(sums, e.again(args...))
	}
	e.become(e.total(sums))
}

// splitOutputs computes parts of the outputs, each with its part of the weight and the bias, and joins them. Passes do
// so by themselves where the weight has a row for each output and the result is a row.
func splitOutputs(e *edit) {
	weight, axis, result, most := ir.ParamWeight, 0, 1, int64(e.t.MaxChannels)
	if e.op.Is(ir.OpMatMul) {
		a, err := ir.MatMulAttrs(e.op)
		if err != nil || a.VectorX || a.VectorY || a.TransposeY {
			e.not()
		}
		weight, axis = ir.ParamY, e.op.Arg(ir.ParamY).Type.Rank()-1
		result, most = e.op.Results[0].Type.Rank()-1, int64(e.t.MaxWidth)
	} else if a, _ := e.convolution(); a.Groups != 1 {
		e.not()
	}
	w, bias := known(e.op.Arg(weight)), known(e.op.Arg(ir.ParamBias))
	if w == nil || !e.op.Results[0].Type.Static() || e.op.Results[0].Type.Shape[result] <= most {
		e.not()
	}
	n := e.op.Results[0].Type.Shape[result]
	var joined []*ir.Value
	for _, p := range e.parts(n, most) {
		args := []ir.Arg{arg(weight, e.cut(string(weight), w, axis, p[0], p[1]))}
		if bias != nil {
			args = append(args, arg(ir.ParamBias, e.cut("bias", bias, 0, p[0], p[1])))
		}
		joined = append(joined, e.again(args...))
	}
	e.become(e.Concat(result, joined...))
}

// gathered returns the axis of a gather without batch dimensions.
func (e *edit) gathered() int {
	g, err := ir.GatherAttrs(e.op)
	if err != nil || g.BatchDims != 0 || !e.op.Arg(ir.ParamX).Type.Static() {
		e.not()
		return 0
	}
	return g.Axis
}

// oneHot multiplies one-hot indices with a constant table of rows.
func oneHot(e *edit) {
	axis := e.gathered()
	x, idx := e.op.Arg(ir.ParamX), e.op.Arg(ir.ParamIndices)
	table := known(x)
	if table == nil || axis != 0 || x.Type.Rank() != 2 || !idx.Type.Static() ||
		x.Type.DType != ir.FP16 {
		e.not()
	}
	n := idx.Type.Elems()
	if n <= 0 || x.Type.Shape[0] <= 0 || n > maxMatrix/x.Type.Shape[0] {
		e.Fail("%d one-hot indices of %d rows exceed the %d elements that a rewrite creates", n, x.Type.Shape[0],
			maxMatrix)
		return
	}
	if idx.Type.DType != ir.Int32 {
		idx = e.Cast(idx, ir.Int32)
	}
	hot := e.Do(ir.OpOneHot, arg(ir.ParamIndices, idx), arg(ir.ParamOneHotVectorSize, e.Int(x.Type.Shape[0])),
		arg(ir.ParamAxis, e.Int(-1)),
		arg(ir.ParamOnValue, e.Num(ir.FP16, 1)), arg(ir.ParamOffValue, e.Num(ir.FP16, 0)))
	e.note = "is valid for indices from 0 to the number of rows minus 1"
	e.product(hot, []int64{n, x.Type.Shape[0]}, x)
}

// product multiplies x, as a matrix of the given shape, with y.
func (e *edit) product(x *ir.Value, shape []int64, y *ir.Value) {
	z := e.MatMul(e.Reshape(x, shape...), y, false)
	e.become(e.Reshape(z, e.op.Results[0].Type.Shape...))
}
