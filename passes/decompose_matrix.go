package passes

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// matrixDecompositions are the decompositions of products and quotients.
var matrixDecompositions = []Decomposition{
	{Name: "half-constants", Ops: ops{ir.OpMatMul, ir.OpLinear, ir.OpConv}, Doc: "the operation with constants in fp16",
		Covers: "fp16 operands with constants of another type whose numbers fp16 represents", apply: constantsInFP16},
	{Name: "matrices", Ops: ops{ir.OpMatMul}, Doc: "matmul of a vector as a matrix of one row or column",
		Covers: "operands of rank 1", apply: vectorProduct},
	{Name: "outputs-in-parts", Ops: ops{ir.OpLinear, ir.OpMatMul}, joins: true,
		Doc:    "the operation for parts of the outputs, which the CPU joins",
		Covers: "more outputs than a row of the engine has, and a constant weight with a row for each of them",
		apply:  outputsInParts},
	{Name: "rows-of-products", Ops: ops{ir.OpConv},
		Doc:    "matmul of the weight with the columns that the taps read, one for every row of the result",
		Covers: "a weight known only at run time, up to two spatial dimensions", apply: productOfRows},
	{Name: "added-bias", Ops: ops{ir.OpConv}, Doc: "conv, then add", Covers: "a bias known only at run time",
		apply: addedBias},
	{Name: "floor-of-powers", Ops: ops{ir.OpFloorDiv},
		Doc:    "mul by the sign and, below 1, by the reciprocal; floor; above 1 mul by the reciprocal, floor",
		Covers: "constant divisors that are powers of two from 2^-15 to 2^15, or their negatives",
		apply:  floorOfPowers},
	{Name: "two-factors", Ops: ops{ir.OpRealDiv},
		Doc:    "mul by the reciprocal of the divisor's fraction, after powers of two that enlarge x, before others",
		Covers: "constant divisors whose reciprocal fp16 does not represent to full precision", apply: twoFactors},
}

// constantsInFP16 converts constants of fp32 and integers, which operations of iOS 17 and later accept beside an fp16
// operand. Numbers that fp16 cannot represent are rounded only if they are fp32 and fp16 precision was requested.
func constantsInFP16(c *decomposer) {
	var args []ir.Arg
	converted := false
	for i, vs := range c.op.Args {
		p, number := c.op.Def.Params[i].Name, c.op.Def.Params[i].Types.Has(ir.FP16)
		for _, v := range vs {
			if d := v.Type.DType; number && v.IsConst() && (d == ir.FP32 || ir.Bytes(d) > 0) {
				fp16 := c.computed(v.Const.Float, v.Type.Shape, v)
				for k := range v.Type.Elems() {
					if v.Const.Float(k) != fp16.Const.Float(k) && (d != ir.FP32 || c.s.Precision != "fp16") {
						c.Fail("element %d of %s is %g, which fp16 does not hold", k, p, v.Const.Float(k))
					}
				}
				v, converted = fp16, true
			}
			args = append(args, arg(p, v))
		}
	}
	if !converted {
		c.Fail("no constant is fp32 or an integer")
	}
	c.become(c.Do(c.op.Def.Operation, args...))
}

// outputsInParts computes as few parts of the outputs as rows of the engine can be, of about equal size, each with its
// rows of the weight.
func outputsInParts(c *decomposer) {
	weight, bias := ir.ParamWeight, c.op.Arg(ir.ParamBias)
	if c.op.Is(ir.OpMatMul) {
		a, err := ir.MatMulAttrs(c.op)
		if weight = ir.ParamY; err != nil || a.VectorX || !a.TransposeY {
			c.Fail("the rows of y are not the outputs")
		}
	}
	w := c.op.Arg(weight)
	most := int64(c.s.Target.MaxWidth)
	if !w.IsConst() || w.Type.Rank() != 2 || w.Type.Shape[0] <= most {
		c.Fail("a weight with more rows than %d is not constant", most)
	}
	n := w.Type.Shape[0]
	parts := (n + most - 1) / most
	// A multiple of 64 divides among the cores, and among the lanes of each.
	step := ((n+parts-1)/parts + 63) / 64 * 64
	joined := []ir.Arg{arg(ir.ParamAxis, c.Int(-1)), arg(ir.ParamInterleave, c.Bool(false))}
	for lo := int64(0); lo < n; lo += step {
		hi := min(lo+step, n)
		var args []ir.Arg
		for i, vs := range c.op.Args {
			for _, v := range vs {
				if v == w || v == bias && v.Type.Elems() == n {
					v = c.rows(v, lo, hi)
				}
				args = append(args, arg(c.op.Def.Params[i].Name, v))
			}
		}
		joined = append(joined, arg(ir.ParamValues, c.Do(c.op.Def.Operation, args...)))
	}
	c.become(c.Do(ir.OpConcat, joined...))
}

// rows returns the rows from lo to hi of a constant, which are not copied.
func (c *decomposer) rows(v *ir.Value, lo, hi int64) *ir.Value {
	if v.Type.DType.Bits()%8 != 0 {
		return c.Fail("rows of %s do not begin at bytes", v.Type.DType)
	}
	shape := slices.Clone(v.Type.Shape)
	row := int64(len(v.Const.Data)) / shape[0]
	shape[0] = hi - lo
	k, err := ir.NewConst(v.Type.WithShape(shape...), v.Const.Data[lo*row:hi*row])
	if err != nil {
		c.Stop(err)
	}
	part := c.s.constant(k.PackedAs(v.Const), c.op.Pos)
	c.s.derive(v, part)
	c.s.cameFrom(part, v)
	return part
}

// vectorProduct multiplies a vector as a matrix of one row, or as a matrix of one column if it is the second operand.
func vectorProduct(c *decomposer) {
	x, y := c.op.Arg(ir.ParamX), c.op.Arg(ir.ParamY)
	if x.Type.Rank() > 1 && y.Type.Rank() > 1 {
		c.Fail("neither operand is a vector")
	}
	a, err := ir.MatMulAttrs(c.op)
	if err != nil {
		c.Fail("%v", err)
	}
	tx, ty := a.TransposeX, a.TransposeY
	if x.Type.Rank() == 1 {
		x, tx = c.shapedLike(x, 1, x.Type.Shape[0]), false
	}
	if y.Type.Rank() == 1 {
		y, ty = c.shapedLike(y, y.Type.Shape[0], 1), false
	}
	c.shaped(c.Do(ir.OpMatMul, arg(ir.ParamX, x), arg(ir.ParamY, y), arg(ir.ParamTransposeX, c.Bool(tx)),
		arg(ir.ParamTransposeY, c.Bool(ty))))
}

// shapedLike is like reshape, but needs no operation if v is a constant.
func (c *decomposer) shapedLike(v *ir.Value, shape ...int64) *ir.Value {
	if !v.IsConst() {
		return c.Reshape(v, shape...)
	}
	return c.computed(v.Const.Float, shape, v)
}

// productOfRows writes a convolution whose weight is an operand. The rows of the image become the first dimension, so
// that each is a matrix of channels by columns; what each tap reads adds further channels to it.
func productOfRows(c *decomposer) {
	x, w := c.op.Arg(ir.ParamX), c.op.Arg(ir.ParamWeight)
	a, err := ir.ConvAttrs(c.op)
	switch {
	case err != nil:
		c.Fail("%v", err)
	case w.IsConst():
		c.Fail("the weight is a constant")
	case a.Spatial > 2:
		c.Fail("it has %d spatial dimensions", a.Spatial)
	}
	batch, out := x.Type.Shape[0], w.Type.Shape[0]/a.Groups
	in := w.Type.Shape[1]
	kernel, strides, dilations := image(a.Kernel), image(a.Strides), image(a.Dilations)
	size, result := image(a.In), image(a.Out)
	var pad []int64
	for i := range a.Spatial {
		pad = append(pad, a.PadBefore[i], a.PadAfter[i])
		size[2-a.Spatial+i] += a.PadBefore[i] + a.PadAfter[i]
	}
	x = c.Pad(x, pad)
	v := c.Transpose(c.Reshape(x, batch, a.Groups*in, size[0], size[1]), 0, 2, 1, 3) // [N, H, C, W]
	taps := c.Reshape(w, a.Groups*out, in, kernel[0]*kernel[1])
	var groups []*ir.Value
	for g := range a.Groups {
		channels := c.Slice(v, 2, g*in, (g+1)*in)
		var read, weights []*ir.Value
		for ky := range kernel[0] {
			for kx := range kernel[1] {
				rows := c.every(channels, 1, run{ky * dilations[0], result[0], strides[0]})
				read = append(read, c.every(rows, 3, run{kx * dilations[1], result[1], strides[1]}))
				weights = append(weights, c.oneTap(taps, g*out, out, ky*kernel[1]+kx))
			}
		}
		groups = append(groups, c.MatMul(c.joined(1, weights), c.joined(2, read), false))
	}
	v = c.Transpose(c.joined(2, groups), 0, 2, 1, 3)
	if b := c.op.Arg(ir.ParamBias); b != nil {
		v = c.add(v, c.shapedLike(b, a.Groups*out, 1, 1))
	}
	c.shaped(v)
}

// image converts the extents of one or two axes to the extents of two.
func image(v []int64) []int64 {
	if len(v) == 1 {
		return []int64{1, v[0]}
	}
	return slices.Clone(v)
}

// oneTap returns tap k of rows of weights [outputs, inputs, taps] as a matrix.
func (c *decomposer) oneTap(taps *ir.Value, first, n, k int64) *ir.Value {
	d := taps.Type.Shape
	if d[2] == 1 {
		return c.Reshape(c.Slice(taps, 0, first, first+n), n, d[1])
	}
	transposed := c.Transpose(taps, 0, 2, 1)
	return c.Reshape(c.Slice(c.Slice(transposed, 0, first, first+n), 1, k, k+1), n, d[1])
}

// addedBias adds a bias that is an operand, after the convolution.
func addedBias(c *decomposer) {
	b := c.op.Arg(ir.ParamBias)
	if b == nil || b.IsConst() || !c.op.Arg(ir.ParamWeight).IsConst() {
		c.Fail("want a bias that is known only at run time, and a constant weight")
	}
	var args []ir.Arg
	for i, vs := range c.op.Args {
		if p := c.op.Def.Params[i].Name; p != ir.ParamBias {
			for _, v := range vs {
				args = append(args, arg(p, v))
			}
		}
	}
	y := c.Do(ir.OpConv, args...)
	shape := []int64{b.Type.Elems()}
	for range y.Type.Rank() - 2 {
		shape = append(shape, 1)
	}
	c.become(c.add(y, c.Reshape(b, shape...)))
}

// twoFactors divides by a constant in two steps: by its fraction, whose reciprocal fp16 represents, and by a power of
// two.
func twoFactors(c *decomposer) {
	x, y := c.op.Arg(ir.ParamX), c.op.Arg(ir.ParamY)
	if !y.IsConst() || x.IsConst() {
		c.Fail("want a constant divisor")
	}
	for i := range y.Type.Elems() {
		if v := y.Const.Float(i); v == 0 || math.IsInf(v, 0) || v != v {
			c.Fail("the divisor %g has no reciprocal", v)
		}
	}
	// v = fraction * 2^exponent with a fraction of 1 to 2. The product with the fraction's reciprocal rounds, so it
	// comes where the number is nearest to the result: after the powers of two that enlarge x, but for one that the
	// factor has, and before those that make it smaller.
	const most = 15 // the largest power of two in fp16
	v := x
	times := func(of func(fraction float64, exponent int) float64) {
		at := func(i int64) float64 {
			f, e := math.Frexp(y.Const.Float(i))
			return of(2*f, e-1)
		}
		for i := range y.Type.Elems() {
			if at(i) != 1 {
				v = c.mul(v, c.computed(at, y.Type.Shape, y))
				return
			}
		}
	}
	enlarged := func(e int) int { return max(-e-1, 0) } // powers of two before the fraction
	times(func(_ float64, e int) float64 { return math.Ldexp(1, min(enlarged(e), most)) })
	times(func(_ float64, e int) float64 { return math.Ldexp(1, max(enlarged(e)-most, 0)) })
	times(func(f float64, e int) float64 {
		if e < 0 {
			return 2 / f
		}
		return 1 / f
	})
	times(func(_ float64, e int) float64 { return math.Ldexp(1, min(-e, 0)) })
	c.become(v)
}

// floorOfPowers divides by powers of two, whose reciprocals are exact. For a whole n, floor(x/n) is floor(floor(x)/n),
// and floor(x)/n loses no digit, while x/n does where it is subnormal. Other divisors are left to the CPU: the floor of
// a quotient that is rounded to fp16 may be another.
func floorOfPowers(c *decomposer) {
	x, y := c.op.Arg(ir.ParamX), c.op.Arg(ir.ParamY)
	if !y.IsConst() {
		c.Fail("the divisor is known only at run time; a rounded quotient may have another floor")
	}
	for i := range y.Type.Elems() {
		v := math.Abs(y.Const.Float(i))
		if f, e := math.Frexp(v); f != 0.5 || e-1 < -15 || e-1 > 15 {
			c.Fail("the divisor %g is not a power of two from 2^-15 to 2^15; a rounded quotient may have another "+
				"floor", y.Const.Float(i))
		}
	}
	before := func(v float64) float64 { return math.Copysign(max(1/math.Abs(v), 1), v) }
	after := func(v float64) float64 { return min(1/math.Abs(v), 1) }
	scaled := func(x *ir.Value, by func(v float64) float64) *ir.Value {
		at := func(i int64) float64 { return by(y.Const.Float(i)) }
		for i := range y.Type.Elems() {
			if at(i) != 1 {
				return c.mul(x, c.computed(at, y.Type.Shape, y))
			}
		}
		return x
	}
	v := c.unary(ir.OpFloor, scaled(x, before))
	if w := scaled(v, after); w != v {
		v = c.unary(ir.OpFloor, w)
	}
	c.become(v)
}
