package explain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// dims writes a shape: "1x3x224x224".
func dims(shape []int64) string {
	s := make([]string, len(shape))
	for i, d := range shape {
		s[i] = strconv.FormatInt(d, 10)
	}
	return strings.Join(s, "x")
}

// maxParts bounds the operations that a split makes.
const maxParts = 64

// parts cuts n into runs of at most most, none more than one longer than another.
func (e *edit) parts(n, most int64) (out [][2]int64) {
	if most <= 0 || (n+most-1)/most > maxParts {
		e.fail("%d in parts of %d are more than the %d that a rewrite makes", n, most, maxParts)
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
	if e.err != nil || len(vs) == 0 {
		return nil
	}
	sum := vs[0]
	for _, v := range vs[1:] {
		sum = e.do(ir.OpAdd, arg{ir.ParamX, sum}, arg{ir.ParamY, v})
	}
	return sum
}

// padded pads the spatial dimensions of a convolution's operand with zeros.
func (e *edit) padded(x *ir.Value, a *ir.Conv) *ir.Value {
	var pads []int64
	some := false
	for range x.Type.Rank() - a.Spatial {
		pads = append(pads, 0, 0)
	}
	for i := range a.Spatial {
		pads = append(pads, a.PadBefore[i], a.PadAfter[i])
		some = some || a.PadBefore[i] != 0 || a.PadAfter[i] != 0
	}
	if !some {
		return x
	}
	return e.do(ir.OpPad, arg{ir.ParamX, x}, arg{ir.ParamPad, e.ints(pads...)}, arg{ir.ParamMode, e.str("constant")},
		arg{ir.ParamConstantVal, e.num(x.Type.DType, 0)})
}

// convolution returns what a convolution's arguments say and its weight, when both
// are known.
func (e *edit) convolution() (ir.Conv, *ir.Const) {
	a, err := ir.ConvAttrs(e.op)
	w := known(e.op.Arg(ir.ParamWeight))
	if err != nil || w == nil || !e.op.Arg(ir.ParamX).Type.Static() || !e.op.Results[0].Type.Static() {
		e.not()
	}
	return a, w
}

// splitKernel convolves with parts of the kernel, each on the slice of x that its
// taps see, and adds the results.
func splitKernel(e *edit) {
	a, w := e.convolution()
	if e.err != nil {
		return
	}
	if a.Spatial < 1 || a.Spatial > 2 {
		e.not()
		return
	}
	most := []int64{int64(e.t.MaxKernelH), int64(e.t.MaxKernelW)}[2-a.Spatial:]
	axis := -1
	for i := range a.Spatial {
		if (a.Kernel[i]-1)*a.Dilations[i]+1 > most[i] {
			if axis >= 0 {
				e.fail("the kernel is too large along two axes")
				return
			}
			axis = i
		}
	}
	if axis < 0 {
		e.not()
		return
	}
	d := a.Dilations[axis]
	x := e.padded(e.op.Arg(ir.ParamX), &a)
	zero := make([]int64, 2*a.Spatial)
	var sums []*ir.Value
	for i, p := range e.parts(a.Kernel[axis], (most[axis]-1)/d+1) {
		if e.err != nil {
			return
		}
		begin := p[0] * d
		extent := (a.Out[axis]-1)*a.Strides[axis] + (p[1]-p[0]-1)*d + 1
		args := []arg{
			{ir.ParamX, e.slice(x, axis+2, begin, begin+extent)}, {ir.ParamWeight, e.cut("weight", w, axis+2, p[0],
				p[1])},
			{ir.ParamPadType, e.str("valid")}, {ir.ParamPad, e.ints(zero...)},
		}
		if i > 0 {
			args = append(args, arg{ir.ParamBias, nil})
		}
		sums = append(sums, e.again(args...))
	}
	e.become(e.total(sums))
}

// splitChannels convolves parts of the input channels and adds the results.
func splitChannels(e *edit) {
	a, w := e.convolution()
	if e.err != nil {
		return
	}
	taps := int64(1)
	for _, k := range w.Type.Shape[2:] {
		taps *= k
	}
	if a.Groups != 1 || taps <= 0 {
		e.not()
		return
	}
	var sums []*ir.Value
	for i, p := range e.parts(w.Type.Shape[1], e.t.KernelBytes/2/taps) {
		if e.err != nil {
			return
		}
		args := []arg{{ir.ParamX, e.slice(e.op.Arg(ir.ParamX), 1, p[0], p[1])},
			{ir.ParamWeight, e.cut("weight", w, 1, p[0], p[1])}}
		if i > 0 {
			args = append(args, arg{ir.ParamBias, nil})
		}
		sums = append(sums, e.again(args...))
	}
	e.become(e.total(sums))
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

// selectRows slices the rows at constant indices and joins them.
func selectRows(e *edit) {
	axis := e.gathered()
	x, idx := e.op.Arg(ir.ParamX), known(e.op.Arg(ir.ParamIndices))
	if e.err != nil || x.IsConst() || idx == nil || idx.Type.Rank() > 1 || idx.Elems() > maxParts || idx.Elems() == 0 {
		e.not()
		return
	}
	n := x.Type.Shape[axis]
	var rows []*ir.Value
	is := idx.Ints()
	for i := 0; i < len(is); {
		lo := is[i]
		if lo < 0 {
			lo += n
		}
		hi := lo + 1
		for i++; i < len(is) && is[i] == hi; i++ {
			hi++
		}
		if lo < 0 || hi > n {
			e.fail("index %d of %d rows", lo, n)
			return
		}
		rows = append(rows, e.slice(x, axis, lo, hi))
	}
	if e.err != nil {
		return
	}
	y := rows[0]
	if len(rows) > 1 {
		y = e.joined(rows, axis)
	}
	if idx.Type.Rank() == 0 {
		y = e.reshape(y, e.op.Results[0].Type.Shape...)
	}
	e.become(y)
}

// joined concatenates values along an axis.
func (e *edit) joined(vs []*ir.Value, axis int) *ir.Value {
	args := []arg{{ir.ParamAxis, e.int(int64(axis))}, {ir.ParamInterleave, e.bool(false)}}
	for _, v := range vs {
		args = append(args, arg{ir.ParamValues, v})
	}
	return e.do(ir.OpConcat, args...)
}

// oneHot multiplies one-hot indices with a constant table of rows.
func oneHot(e *edit) {
	axis := e.gathered()
	x, idx := e.op.Arg(ir.ParamX), e.op.Arg(ir.ParamIndices)
	table := known(x)
	if e.err != nil || table == nil || axis != 0 || x.Type.Rank() != 2 || !idx.Type.Static() ||
		x.Type.DType != ir.FP16 {
		e.not()
		return
	}
	n := idx.Type.Elems()
	if n <= 0 || x.Type.Shape[0] <= 0 || n > maxMatrix/x.Type.Shape[0] {
		e.fail("%d indices of %d rows are more than the %d elements that a rewrite makes one-hot", n, x.Type.Shape[0],
			maxMatrix)
		return
	}
	if idx.Type.DType != ir.Int32 {
		idx = e.do(ir.OpCast, arg{ir.ParamX, idx}, arg{ir.ParamDType, e.str("int32")})
	}
	hot := e.do(ir.OpOneHot, arg{ir.ParamIndices, idx}, arg{ir.ParamOneHotVectorSize, e.int(x.Type.Shape[0])},
		arg{ir.ParamAxis, e.int(-1)},
		arg{ir.ParamOnValue, e.num(ir.FP16, 1)}, arg{ir.ParamOffValue, e.num(ir.FP16, 0)})
	e.note = "holds for indices from 0 to the number of rows less one"
	e.product(hot, []int64{n, x.Type.Shape[0]}, x)
}

// product multiplies x, as a matrix of the given shape, with y.
func (e *edit) product(x *ir.Value, shape []int64, y *ir.Value) {
	if e.err != nil {
		return
	}
	if x.Type.Rank() != 2 || !slices.Equal(x.Type.Shape, shape) {
		x = e.reshape(x, shape...)
	}
	z := e.do(ir.OpMatMul, arg{ir.ParamX, x}, arg{ir.ParamY, y}, arg{ir.ParamTransposeX, e.bool(false)},
		arg{ir.ParamTransposeY, e.bool(false)})
	if want := e.op.Results[0].Type.Shape; z != nil && !slices.Equal(z.Type.Shape, want) {
		z = e.reshape(z, want...)
	}
	e.become(z)
}

// last returns the live operand of an operation over one axis, when that is the
// last, and its extent.
func (e *edit) last(axis ir.ParamName) (*ir.Value, int64) {
	x := e.op.Arg(ir.ParamX)
	if !x.Type.Static() || x.Type.Rank() == 0 || x.Type.DType != ir.FP16 {
		e.not()
		return nil, 0
	}
	if i, err := ir.AxisAttr(e.op, axis, x.Type.Rank()); err != nil || i != x.Type.Rank()-1 {
		e.not()
		return nil, 0
	}
	return x, x.Type.Shape[x.Type.Rank()-1]
}

// finite is what holds for products with zeros.
const finite = "holds where x is finite: a zero times an infinity is NaN"

// times multiplies the rows of x, of n elements each, with a constant of n by m.
func (e *edit) times(x *ir.Value, what string, n, m int64, f func(r, c int64) float64) {
	if e.err != nil || n <= 0 {
		e.not()
		return
	}
	rows := x.Type.Elems() / n
	e.product(x, []int64{rows, n}, e.matrix(what, ir.FP16, n, m, f))
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// permutation reverses the last axis.
func permutation(e *edit) {
	x := e.op.Arg(ir.ParamX)
	axes, ok := ir.ArgInts(e.op, ir.ParamAxes)
	rank := x.Type.Rank()
	if !ok || len(axes) != 1 || !x.Type.Static() || x.Type.DType != ir.FP16 || axes[0] != -1 &&
		axes[0] != int64(rank-1) {
		e.not()
		return
	}
	n := x.Type.Shape[rank-1]
	e.note = finite
	e.times(x, "permutation", n, n, func(r, c int64) float64 { return oneIf(r+c == n-1) })
}

// edges pads the last axis with what is at its edges: mirrored at the outermost
// element, or that element again.
func edges(e *edit) {
	x := e.op.Arg(ir.ParamX)
	before, after, ok, err := ir.PadAmounts(e.op)
	mode, _ := ir.ArgString(e.op, ir.ParamMode)
	last := x.Type.Rank() - 1
	if err != nil || !ok || mode != "reflect" && mode != "replicate" || !x.Type.Static() || x.Type.DType != ir.FP16 ||
		len(before) != last+1 || last < 0 {
		e.not()
		return
	}
	for i := range last {
		if before[i] != 0 || after[i] != 0 {
			e.fail("dimension %d is padded; the rewrite is for the last alone", i)
			return
		}
	}
	n, out := x.Type.Shape[last], e.op.Results[0].Type.Shape
	e.note = finite
	e.times(x, "edges", n, out[last], func(r, c int64) float64 {
		at := c - before[last]
		switch {
		case mode == "replicate":
			at = min(max(at, 0), n-1)
		case at < 0:
			at = -at
		case at >= n:
			at = 2*n - 2 - at
		}
		return oneIf(at == r)
	})
}

// bandMask keeps the band of the last two dimensions.
func bandMask(e *edit) {
	x := e.op.Arg(ir.ParamX)
	lower, ok := ir.ArgInt(e.op, ir.ParamLower)
	upper, ok2 := ir.ArgInt(e.op, ir.ParamUpper)
	if !ok || !ok2 || !x.Type.Static() || x.Type.Rank() < 2 || !x.Type.DType.IsFloat() {
		e.not()
		return
	}
	n := x.Type.Shape[x.Type.Rank()-2:]
	e.note = finite
	e.become(e.do(ir.OpMul, arg{ir.ParamX, x}, arg{ir.ParamY, e.matrix("mask", x.Type.DType, n[0], n[1],
		func(r, c int64) float64 {
			return oneIf((lower < 0 || r-c <= lower) && (upper < 0 || c-r <= upper))
		})}))
}

// joinCopies repeats x along each axis.
func joinCopies(e *edit) {
	reps := known(e.op.Arg(ir.ParamReps))
	y := e.op.Arg(ir.ParamX)
	if reps == nil || !y.Type.Static() || reps.Elems() != int64(y.Type.Rank()) {
		e.not()
		return
	}
	for axis, n := range reps.Ints() {
		if n < 1 || n > maxParts {
			e.fail("%d copies along dimension %d; a rewrite joins 1 to %d", n, axis, maxParts)
			return
		}
		if n == 1 || e.err != nil {
			continue
		}
		copies := make([]*ir.Value, n)
		for i := range copies {
			copies[i] = y
		}
		y = e.joined(copies, axis)
	}
	e.become(y)
}
