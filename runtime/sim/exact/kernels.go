package exact

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/numerics/field"
)

// kernels compute operations; a kernel returns nil for a case that it does not know.
var kernels map[*ir.Operation]func(c *call) []Tensor

func init() {
	kernels = map[*ir.Operation]func(c *call) []Tensor{
		ir.OpAdd: binary(field.Add), ir.OpSub: difference, ir.OpMul: product,
		ir.OpRealDiv: divide, ir.OpMaximum: order, ir.OpMinimum: order,
		ir.OpSquare:     unary(square),
		ir.OpAbs:        unary((*call).abs),
		ir.OpRelu:       unary(func(c *call, x field.Elem) field.Elem { return c.Max(x, 0) }),
		ir.OpRelu6:      unary(func(c *call, x field.Elem) field.Elem { return c.Clip(x, 0, 6) }),
		ir.OpLogicalNot: unary(func(c *call, x field.Elem) field.Elem { return field.Sub(1, x) }),
		ir.OpSign: unary(func(c *call, x field.Elem) field.Elem {
			below, above := c.Signs(x)
			return field.Sub(above, below)
		}),
		ir.OpFloor: unary((*call).floor),
		ir.OpCeil: unary(func(c *call, x field.Elem) field.Elem {
			t := c.Trunc(x)
			_, above := c.Signs(field.Sub(x, t))
			return field.Add(t, above)
		}),
		ir.OpRound: unary((*call).round), ir.OpClip: with(clip, ir.ParamAlpha, ir.ParamBeta),
		ir.OpThreshold:    with(threshold, ir.ParamAlpha),
		ir.OpEqual:        compare(0, 1, 0),
		ir.OpNotEqual:     compare(1, 0, 1),
		ir.OpLess:         compare(1, 0, 0),
		ir.OpLessEqual:    compare(1, 1, 0),
		ir.OpGreater:      compare(0, 0, 1),
		ir.OpGreaterEqual: compare(0, 1, 1),
		ir.OpSelect:       choose, ir.OpCast: cast, ir.OpConv: conv, ir.OpLinear: linear, ir.OpMatMul: matmul,
		ir.OpReduceSum: reduce(sum), ir.OpReduceSumSquare: reduce(sumOf(square)), ir.OpReduceMean: reduce(mean),
		ir.OpReduceMax: reduce(greatest), ir.OpReduceMin: reduce(least),
		ir.OpSoftmax: softmax, ir.OpLayerNorm: layerNorm, ir.OpMaxPool: pool, ir.OpAvgPool: pool, ir.OpFill: fill,
		ir.OpFillLike: fill, ir.OpIdentity: identity,
		ir.OpReshape: identity, ir.OpReshapeLike: identity, ir.OpExpandDims: identity, ir.OpSqueeze: identity,
		ir.OpFlatten2D: identity,
		ir.OpTranspose: transpose, ir.OpToBytes: toBytes, ir.OpFromBytes: fromBytes,
		// Those that follow are of operations that only sources have: the placed program has them written with others.
		ir.OpLinearActivation: with(scaledAndShifted, ir.ParamAlpha, ir.ParamBeta),
		ir.OpClampedRelu:      with(clampedRelu, ir.ParamAlpha, ir.ParamBeta), ir.OpSoftsign: unary(softsign),
		ir.OpSoftplusParametric: parametric, ir.OpLogicalAnd: product, ir.OpLogicalOr: order,
		ir.OpLogicalXor:   compare(1, 0, 1),
		ir.OpReduceL1Norm: reduce(sumOf((*call).abs)), ir.OpReduceL2Norm: rootOfSquares,
		ir.OpReduceLogSum:    reduce(func(c *call, row []field.Elem) field.Elem { return c.log(field.Sum(row)) }),
		ir.OpReduceLogSumExp: reduce(logSumExp), ir.OpReduceArgmax: firstOfEqual, ir.OpReduceArgmin: firstOfEqual,
		ir.OpInstanceNorm: instanceNorm, ir.OpL2Norm: unitNorm, ir.OpLocalResponseNorm: responseNorm,
		ir.OpL2Pool: rootPool, ir.OpPow: power, ir.OpCumsum: cumsum, ir.OpEinsum: einsum, ir.OpOneHot: oneHot,
		ir.OpLSTM: lstm, ir.OpGRU: gru, ir.OpRNN: rnn, ir.OpQuantize: quantize, ir.OpDequantize: dequantize,
		ir.OpCond:                      choice,
		ir.OpScaledDotProductAttention: attention, ir.OpConvTranspose: convTranspose, ir.OpBandPart: bandPart,
		ir.OpUpsampleBilinear: resize, ir.OpResizeBilinear: resize, ir.OpResize: resize,
		ir.OpPrelu: prelu, ir.OpGather: gathered, ir.OpThresholdedRelu: with(thresholded, ir.ParamAlpha),
	}
}

func (c *call) abs(x field.Elem) field.Elem { return c.Abs(x) }

// floor is the part before the point, minus 1 if the rest is negative.
func (c *call) floor(x field.Elem) field.Elem {
	t := c.Trunc(x)
	below, _ := c.Signs(field.Sub(x, t))
	return field.Sub(t, below)
}

func square(_ *call, x field.Elem) field.Elem { return field.Mul(x, x) }

func toBytes(c *call) []Tensor {
	x, n := c.need(ir.ParamX), len(c.op.Results)
	parts := make([][]field.Elem, n)
	for _, v := range x.Elems {
		for k, b := range c.Bytes(v, n) {
			parts[k] = append(parts[k], b)
		}
	}
	out := make([]Tensor, n)
	for k := range out {
		out[k] = c.out(k, parts[k])
	}
	return out
}

func fromBytes(c *call) []Tensor {
	var parts []Tensor
	for _, v := range c.op.ArgList(ir.ParamValues) {
		parts = append(parts, c.Value(c.in, v))
	}
	out := make([]field.Elem, len(parts[0].Elems))
	bytes := make([]field.Elem, len(parts))
	for i := range out {
		for k := range parts {
			bytes[k] = parts[k].Elems[i]
		}
		out[i] = c.Join(bytes)
	}
	return []Tensor{c.out(0, out)}
}

func unary(f func(c *call, x field.Elem) field.Elem) func(c *call) []Tensor {
	return func(c *call) []Tensor {
		return c.pointwise(func(a []field.Elem) field.Elem { return f(c, a[0]) }, ir.ParamX)
	}
}

// binary computes arithmetic. Sums and products of integers do not wrap here. A scalar constant is taken as a register
// contains it, unless the other side computes with the number itself, as in memory.
func binary(f func(a, b field.Elem) field.Elem) func(c *call) []Tensor {
	return func(c *call) []Tensor {
		of := func(x, y Tensor) func() []Tensor {
			return func() []Tensor {
				return c.broadcast(func(a []field.Elem) field.Elem { return f(a[0], a[1]) }, x, y)
			}
		}
		x, y := c.scalar(ir.ParamX), c.scalar(ir.ParamY)
		return c.either(of(x, y), of(c.need(ir.ParamX), c.need(ir.ParamY)))
	}
}

// product multiplies; the product of a hard swish may read x itself.
func product(c *call) []Tensor {
	plain := func() []Tensor { return binary(c.Mul)(c) }
	x, f := c.hardSwish()
	if f == nil {
		return plain()
	}
	return c.either(plain, func() []Tensor {
		out := make([]field.Elem, len(x.Elems))
		for i, e := range x.Elems {
			out[i] = field.Mul(e, f(e))
		}
		return []Tensor{c.out(0, out)}
	})
}

func difference(c *call) []Tensor { return binary(c.Sub)(c) }

// scalar returns an operand, a scalar constant that programs round as the number that it was rounded from.
func (c *call) scalar(name ir.ParamName) Tensor {
	t := c.need(name)
	if v := c.op.Arg(name); v.IsConst() && v.Type.Elems() == 1 {
		t.Elems = []field.Elem{c.valuation.Scalar(v.Const.Float(0))}
	}
	return t
}

// integer returns an element as the integer that it is in the range of small constants, below 2^15 in magnitude.
func integer(x field.Elem) (int64, bool) {
	if x < 1<<15 {
		return int64(x), true
	}
	return -int64(field.Neg(x)), x > field.P-1<<15
}

// small returns the elements as integers if all are small.
func small(t Tensor) ([]int64, bool) {
	out := make([]int64, len(t.Elems))
	for i, x := range t.Elems {
		n, ok := integer(x)
		if !ok {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

// divide multiplies by the reciprocal. The reciprocal of a constant may be computed beforehand, in fp16, and be in a
// register, where it may count as exact because the program divides by that number elsewhere, or in memory.
func divide(c *call) []Tensor {
	if !c.floats() {
		return nil
	}
	by := func(inverse func(i int, y field.Elem) field.Elem) func() []Tensor {
		return func() []Tensor {
			y := c.need(ir.ParamY)
			r := make([]field.Elem, len(y.Elems))
			for i := range r {
				r[i] = inverse(i, y.Elems[i])
			}
			return c.broadcast(func(a []field.Elem) field.Elem { return field.Mul(a[0], a[1]) }, c.scalar(ir.ParamX),
				Tensor{y.Type, r})
		}
	}
	exact := by(func(_ int, y field.Elem) field.Elem { return field.Inv(y) })
	y := c.op.Arg(ir.ParamY)
	if !y.IsConst() {
		return exact()
	}
	half := func(i int) float64 { return numerics.FP16(1 / y.Const.Float(int64(i))) }
	return c.either(by(func(i int, _ field.Elem) field.Elem { return c.valuation.Scalar(half(i)) }), exact,
		by(func(i int, _ field.Elem) field.Elem { return field.Number(half(i)) }))
}

func order(c *call) []Tensor {
	f := c.Max
	if c.op.Is(ir.OpMinimum) {
		f = c.Min
	}
	return c.pointwise(func(a []field.Elem) field.Elem { return f(a[0], a[1]) }, ir.ParamX, ir.ParamY)
}

// with returns an operation whose function depends on scalar constants, rounded to fp16.
func with(f func(c *call, n []float64) func(x field.Elem) field.Elem, names ...ir.ParamName) func(c *call) []Tensor {
	return func(c *call) []Tensor {
		var n []float64
		for _, name := range names {
			v, ok := ir.ArgFloat(c.op, name)
			if !ok {
				return nil
			}
			n = append(n, numerics.FP16(v))
		}
		g := f(c, n)
		return c.pointwise(func(x []field.Elem) field.Elem { return g(x[0]) }, ir.ParamX)
	}
}

func clip(c *call, n []float64) func(x field.Elem) field.Elem {
	low, high := field.Number(min(n[0], n[1])), field.Number(n[1])
	return func(x field.Elem) field.Elem { return c.Clip(x, low, high) }
}

func threshold(c *call, n []float64) func(x field.Elem) field.Elem {
	low := field.Number(n[0])
	return func(x field.Elem) field.Elem { return c.Max(x, low) }
}

// round returns the nearest integer, with halves rounded to even: the integer part plus the rounded fraction, where a
// half rounds up if the integer is odd.
func (c *call) round(x field.Elem) field.Elem {
	t := c.Trunc(x)
	h := field.Mul(t, field.Inv(2))
	odd := field.Sub(h, c.Trunc(h))
	f := field.Add(field.Sub(x, t), field.Mul(odd, field.Number(0x1p-10)))
	return field.Add(t, c.valuation.steps(c.Functions, f, []edge{
		{at: -0.5, value: 0, above: 0}, {at: 0.5, value: 0, above: 1},
	}, -1))
}

// compare returns an operation that is 1 or 0 for x below, equal to and above y. A comparison with a number is a step
// function, which is the same as that with a neighbouring number if nothing is between them.
func compare(below, at, above field.Elem) func(c *call) []Tensor {
	return func(c *call) []Tensor {
		x, y, low, high := c.op.Arg(ir.ParamX), c.op.Arg(ir.ParamY), below, above
		if x.IsConst() {
			x, y, low, high = y, x, above, below
		}
		if !x.IsConst() && y.IsConst() && y.Type.Elems() == 1 && y.Type.DType == ir.FP16 {
			n := y.Const.Float(0)
			if n != n {
				n = math.Inf(1) // as the engine reads it
			}
			f := c.valuation.comparison(n, low, at, high)
			t := c.Value(c.in, x)
			return c.broadcast(func(a []field.Elem) field.Elem {
				v := f(a[0])
				c.MarkBoolean(v)
				return v
			}, t, c.Value(c.in, y))
		}
		return c.pointwise(func(a []field.Elem) field.Elem {
			lo, hi := c.Signs(c.Sub(a[0], a[1]))
			y := at
			y = field.Add(y, field.Mul(field.Sub(below, at), lo))
			y = field.Add(y, field.Mul(field.Sub(above, at), hi))
			c.MarkBoolean(y)
			return y
		}, ir.ParamX, ir.ParamY)
	}
}

func choose(c *call) []Tensor {
	truth := c.op.Results[0].Type.DType == ir.Bool
	return c.pointwise(func(a []field.Elem) field.Elem {
		y := field.Add(field.Mul(a[0], a[1]), field.Mul(field.Sub(1, a[0]), a[2]))
		if truth {
			c.MarkBoolean(y)
		}
		return y
	}, ir.ParamCond, ir.ParamA, ir.ParamB)
}

// Conversion returns the conversion of elements between two types.
func Conversion(f *field.Functions, from, to ir.DType) func(x field.Elem) field.Elem {
	switch {
	case to == ir.Bool && from != ir.Bool:
		return func(x field.Elem) field.Elem {
			if f.IsBoolean(x) {
				return x
			}
			below, above := f.Signs(x)
			f.MarkBoolean(field.Add(below, above))
			return field.Add(below, above)
		}
	case to.IsFloat(), from == ir.Bool, from == to:
		return func(x field.Elem) field.Elem { return x }
	}
	kind := "convert to " + to.String()
	if !from.IsFloat() {
		kind = "convert from " + from.String() + " to " + to.String()
	}
	name := f.Name(kind)
	return func(x field.Elem) field.Elem {
		if _, ok := integer(x); ok {
			return x
		}
		if from.IsFloat() {
			x = f.Trunc(x)
		}
		if from.IsFloat() && to == ir.Int32 {
			return x
		}
		return f.Hash(name, x)
	}
}

func cast(c *call) []Tensor {
	x, out := c.op.Arg(ir.ParamX), c.op.Results[0].Type
	if c.Whole && x.Def != nil && x.Def.Is(ir.OpFloor, ir.OpCeil, ir.OpRound) && out.DType.IsInt() {
		return identity(c)
	}
	f := Conversion(c.Functions, x.Type.DType, out.DType)
	return c.pointwise(func(a []field.Elem) field.Elem { return f(a[0]) }, ir.ParamX)
}

func identity(c *call) []Tensor { return []Tensor{c.out(0, c.need(ir.ParamX).Elems)} }

func fill(c *call) []Tensor {
	f, ok := ir.ArgFloat(c.op, ir.ParamValue)
	if !ok {
		return nil
	}
	v := field.Number(f)
	if c.op.Results[0].Type.DType == ir.FP16 {
		v = field.Number(numerics.FP16(f))
	}
	out := slices.Repeat([]field.Elem{v}, int(c.op.Results[0].Type.Elems()))
	return []Tensor{c.out(0, out)}
}

// along returns a tensor whose rows of elements that differ only in their indices along axes are what f computes from
// the rows of x. k is the number of the row in row-major order.
func (e *Evaluator) along(x Tensor, axes []int, f func(k int, row []field.Elem)) []field.Elem {
	out := e.memory.Take(len(x.Elems))
	e.eachRow(x, axes, out, f)
	return out
}

// eachRow is along with the memory for the result. If it is nil, f must not change rows.
func (e *Evaluator) eachRow(x Tensor, axes []int, out []field.Elem, f func(k int, row []field.Elem)) {
	base, off := offsets(x.Type.Shape, axes, false), offsets(x.Type.Shape, axes, true)
	n := len(off)
	dense := n > 0 && off[n-1] == n-1
	parallel(len(base), n, func(lo, hi int) {
		row := e.memory.Take(n)
		defer e.memory.Give(row)
		for k := lo; k < hi; k++ {
			if n == 0 {
				f(k, nil)
				continue
			}
			from := x.Elems[base[k]:]
			switch {
			case dense && out == nil:
				f(k, from[:n])
			case dense:
				copy(out[base[k]:][:n], from)
				f(k, out[base[k]:][:n])
			default:
				for i, o := range off {
					row[i] = from[o]
				}
				f(k, row)
				for i, o := range off[:min(n, len(out))] {
					out[base[k]+o] = row[i]
				}
			}
		}
	})
}

// offsets lists the positions of the elements with all indices along axes and index 0 along the others, or the reverse.
func offsets(shape []int64, axes []int, inside bool) []int {
	out, stride := []int{0}, int(extent(shape, nil))
	for i, d := range shape {
		if stride /= max(1, int(d)); slices.Contains(axes, i) != inside {
			continue
		}
		next := make([]int, 0, len(out)*int(d))
		for _, at := range out {
			for k := range int(d) {
				next = append(next, at+k*stride)
			}
		}
		out = next
	}
	return out
}

// reduce returns a reduction of rows.
func reduce(f func(c *call, row []field.Elem) field.Elem) func(c *call) []Tensor {
	return func(c *call) []Tensor {
		a, err := ir.ReduceAttrs(c.op)
		if err != nil || !c.floats() {
			return nil
		}
		out := make([]field.Elem, c.op.Results[0].Type.Elems())
		c.eachRow(c.need(ir.ParamX), a.Axes, nil, func(k int, row []field.Elem) { out[k] = f(c, row) })
		return []Tensor{c.out(0, out)}
	}
}

func sum(_ *call, row []field.Elem) field.Elem { return field.Sum(row) }

func mean(_ *call, row []field.Elem) field.Elem {
	return field.Mul(field.Sum(row), field.Inv(field.Int(int64(len(row)))))
}

func greatest(c *call, row []field.Elem) field.Elem { return c.Unorder(c.Orders(row)) }

func least(c *call, row []field.Elem) field.Elem {
	return field.Neg(c.Unorder(sumOf(func(c *call, x field.Elem) field.Elem { return c.Order(field.Neg(x)) })(c, row)))
}

// sumOf returns the sum of a function of the elements of a row.
func sumOf(f func(c *call, x field.Elem) field.Elem) func(c *call, row []field.Elem) field.Elem {
	return func(c *call, row []field.Elem) field.Elem {
		sum := field.Elem(0)
		for _, x := range row {
			sum = field.Add(sum, f(c, x))
		}
		return sum
	}
}

// softmax computes a power of two of the difference from the greatest element, times the reciprocal of the sum.
func softmax(c *call) []Tensor {
	x := c.need(ir.ParamX)
	axis, err := ir.AxisAttr(c.op, ir.ParamAxis, x.Type.Rank())
	if err != nil {
		return nil
	}
	return []Tensor{c.out(0, c.shares(x, axis))}
}

// shares returns the softmax along an axis.
func (c *call) shares(x Tensor, axis int) []field.Elem {
	scale, power := []field.Elem{c.valuation.Scalar(log2E)}, c.Name("table exp2")
	return c.along(x, []int{axis}, func(_ int, row []field.Elem) {
		field.AddRow(row, []field.Elem{field.Neg(c.Unorder(c.Orders(row)))})
		field.MulRow(row, scale)
		c.HashRow(power, row)
		field.MulRow(row, []field.Elem{field.Inv(field.Sum(row))})
	})
}
