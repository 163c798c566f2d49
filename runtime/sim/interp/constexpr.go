package interp

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpConstexprAffineDequantize:          affineDequantize,
	ir.OpConstexprCast:                      constexprCast,
	ir.OpConstexprLUTToDense:                lutToDense,
	ir.OpConstexprSparseToDense:             sparseToDense,
	ir.OpConstexprBlockwiseShiftScale:       blockwiseShiftScale,
	ir.OpConstexprLUTToSparse:               lutToSparse,
	ir.OpConstexprSparseBlockwiseShiftScale: sparseBlockwise,
	ir.OpQuantize:                           quantize,
	ir.OpDequantize:                         dequantize,
})

// perAxis returns one number for every position along axis: a scalar for all of them, or the element of a vector at
// that position. It returns nil if the argument is absent.
func (c *call) perAxis(name ir.ParamName, x Tensor) []float32 {
	t, ok := c.opt(name)
	if !ok {
		return nil
	}
	vs := c.floats(t)
	if c.err != nil || len(vs) == 1 {
		return vs
	}
	if _, given := c.opt(ir.ParamAxis); !given {
		c.fail("argument %s is %s and axis is missing", name, t.Type)
		return nil
	}
	a := c.axis(ir.ParamAxis, 0, x.Type.Rank())
	if c.err == nil && (t.Type.Rank() != 1 || int64(len(vs)) != x.Type.Shape[a]) {
		c.fail("argument %s has shape %s, axis %d has %d elements", name, ir.ShapeString(t.Type.Shape), a,
			x.Type.Shape[a])
	}
	return vs
}

// alongAxis returns a function for the position along axis of element i, or 0 for single numbers.
func alongAxis(x Tensor, vs []float32, axis int) func(i int) int {
	if len(vs) <= 1 {
		return func(int) int { return 0 }
	}
	inner, n := prod(x.Type.Shape[axis+1:]), len(vs)
	return func(i int) int { return i / inner % n }
}

// shiftScale computes scale*(x - zero) element by element, with the difference in fp32; the caller rounds the product
// to the type of scale.
func (c *call) shiftScale(x Tensor, xs, scale, zero []float32) []float32 {
	axis := 0
	if _, ok := c.opt(ir.ParamAxis); ok && x.Type.Rank() > 0 {
		axis = c.axis(ir.ParamAxis, 0, x.Type.Rank())
	}
	if c.err != nil || len(scale) == 0 {
		c.fail("argument scale is missing")
		return nil
	}
	at, zat := alongAxis(x, scale, axis), alongAxis(x, zero, axis)
	for i, v := range xs {
		if zero != nil {
			v -= zero[zat(i)]
		}
		xs[i] = scale[at(i)] * v
	}
	return xs
}

func affineDequantize(c *call) []Tensor {
	q := c.numeric(ir.ParamQuantizedData)
	scale, zero := c.perAxis(ir.ParamScale, q), c.perAxis(ir.ParamZeroPoint, q)
	return results(c.outFloats(0, q.Type.Shape, c.shiftScale(q, c.floats(q), scale, zero)))
}

func dequantize(c *call) []Tensor {
	q := c.numeric(ir.ParamInput)
	scale, zero := c.perAxis(ir.ParamScale, q), c.perAxis(ir.ParamZeroPoint, q)
	return results(c.outFloats(0, q.Type.Shape, c.shiftScale(q, c.floats(q), scale, zero)))
}

// quantize divides by scale (multiplying by 1/scale differs at ties), rounds half to even, adds the zero point and
// clamps the result to the type's range.
func quantize(c *call) []Tensor {
	x := c.numeric(ir.ParamInput)
	scale, zero := c.perAxis(ir.ParamScale, x), c.perAxis(ir.ParamZeroPoint, x)
	xs := c.floats(x)
	d := c.dtype(0)
	axis := 0
	if _, ok := c.opt(ir.ParamAxis); ok && x.Type.Rank() > 0 {
		axis = c.axis(ir.ParamAxis, 0, x.Type.Rank())
	}
	if c.err == nil && (len(scale) == 0 || d.IsFloat()) {
		return c.fail("needs a scale and a result of integers, which is declared %s", d)
	}
	if c.err != nil || !c.reserve(8*int64(len(xs))) {
		return nil
	}
	at, zat := alongAxis(x, scale, axis), alongAxis(x, zero, axis)
	out := make([]int64, len(xs))
	for i, v := range xs {
		q := unaries[ir.OpRound].f(float64(v / scale[at(i)]))
		if zero != nil {
			q += float64(zero[zat(i)])
		}
		out[i] = saturate(d, q)
	}
	return results(c.outInts(0, x.Type.Shape, out))
}

func constexprCast(c *call) []Tensor {
	x := c.numeric(ir.ParamSourceVal)
	return results(c.outFloats(0, x.Type.Shape, c.floats(x)))
}

// shapeArg returns the shape that an iOS 16 form names.
func (c *call) shapeArg() []int64 {
	s, ok := c.ints(ir.ParamShape)
	if !ok {
		c.fail("argument shape is missing")
		return nil
	}
	if ir.TensorOf(ir.FP64, s...).Bytes() < 0 {
		c.fail("argument shape is %v", s)
	}
	return s
}

// lutToDense replaces indices by the entries of a table. The iOS 16 form has a shape and packed bytes, with the number
// of bits implied by the table's length; the iOS 18 form has typed indices and tables by block, whose entries may be
// vectors.
func lutToDense(c *call) []Tensor {
	ind, lut := c.numeric(ir.ParamIndices), c.numeric(ir.ParamLUT)
	if c.err != nil {
		return nil
	}
	if c.op.Def.ParamIndex(ir.ParamShape) < 0 {
		out, _ := c.lookup(ind, lut, nil)
		return results(out)
	}
	shape := c.shapeArg()
	types := map[int64]ir.DType{2: ir.UInt1, 4: ir.UInt2, 16: ir.UInt4, 64: ir.UInt6, 256: ir.UInt8}
	d, ok := types[lut.Type.Elems()]
	if c.err == nil && (!ok || lut.Type.Rank() != 1) {
		return c.fail("lut is %s, needs 2, 4, 16, 64 or 256 entries", lut.Type)
	}
	if c.err != nil {
		return nil
	}
	packed := Tensor{Type: ir.TensorOf(d, shape...), Data: ind.Data}
	if ind.Type.DType.Bits() != 8 || packed.Type.Bytes() != int64(len(ind.Data)) {
		return c.fail("indices is %s, %d elements of %s need %d bytes", ind.Type, packed.Type.Elems(), d,
			packed.Type.Bytes())
	}
	all := slices.Repeat([]int64{1}, len(shape)+2)
	all[len(shape)] = lut.Type.Elems()
	out, _ := c.lookup(packed, Tensor{Type: lut.Type.WithShape(all...), Data: lut.Data}, nil)
	return results(out)
}

// lookup returns the entries that indices name, and how many elements each index became (the length of a vector). If
// mask is set, it says which indices count; the others become zeros.
func (c *call) lookup(ind, lut Tensor, mask []bool) (Tensor, int) {
	rank := ind.Type.Rank()
	lut, size := c.movedTensor(ir.ParamLUT, lut)
	if c.err == nil && lut.Type.Rank() != rank+2 {
		c.fail("lut has shape %s, indices %s: two more dimensions are needed", ir.ShapeString(lut.Type.Shape),
			ir.ShapeString(ind.Type.Shape))
	}
	if c.err != nil {
		return Tensor{}, 1
	}
	entries, vec := lut.Type.Shape[rank], lut.Type.Shape[rank+1]
	block := make([]int64, rank)
	for d := range rank {
		n := lut.Type.Shape[d]
		if n < 1 || ind.Type.Shape[d]%n != 0 {
			c.fail("lut has shape %s, which does not divide indices of shape %s", ir.ShapeString(lut.Type.Shape),
				ir.ShapeString(ind.Type.Shape))
			return Tensor{}, 1
		}
		block[d] = max(1, ind.Type.Shape[d]/n)
	}
	shape := slices.Clone(ind.Type.Shape)
	axis := 0
	if vec != 1 {
		if _, ok := c.opt(ir.ParamVectorAxis); !ok {
			c.fail("lut holds vectors of %d and vector_axis is missing", vec)
			return Tensor{}, 1
		}
		axis = c.axis(ir.ParamVectorAxis, 0, rank)
		if c.err != nil || vec < 1 || vec >= maxDim || shape[axis] > maxDim {
			c.fail("lut holds vectors of %d", vec)
			return Tensor{}, 1
		}
		shape[axis] *= vec
	}
	vs := c.integers(ind)
	out := Tensor{Type: ir.TensorOf(lut.Type.DType, shape...), Data: c.bytes(lut.Type.DType, shape)}
	if c.err != nil {
		return Tensor{}, 1
	}
	pos := make([]int64, rank)
	outSt, lutSt := strides(shape), strides(lut.Type.Shape)
	for i, v := range vs {
		if v < 0 || v >= entries {
			c.fail("index %d is outside the table of %d entries", v, entries)
			return Tensor{}, 1
		}
		from, to := int(v)*lutSt[rank], 0
		for d, p := range pos {
			from += int(p/block[d]) * lutSt[d]
			if d == axis {
				p *= vec
			}
			to += int(p) * outSt[d]
		}
		if mask == nil || mask[i] {
			for k := range int(vec) {
				at := to
				if vec != 1 {
					at += k * outSt[axis]
				}
				copy(out.Data[at*size:(at+1)*size], lut.Data[(from+k)*size:])
			}
		}
		for d := rank - 1; d >= 0; d-- {
			if pos[d]++; pos[d] < ind.Type.Shape[d] {
				break
			}
			pos[d] = 0
		}
	}
	return out, int(vec)
}

// scattered spreads the values of a sparse tensor over its mask, zeros between.
func (c *call) scattered(values, mask Tensor) (dense []float64, on []bool) {
	on = mask.Bools()
	if !c.reserve(8 * int64(len(on))) {
		return nil, nil
	}
	dense = make([]float64, len(on))
	k := values.Const()
	n := int64(0)
	for i, o := range on {
		if o {
			if n == k.Elems() {
				c.fail("the mask has more ones than the %d values", k.Elems())
				return nil, nil
			}
			dense[i] = k.Float(n)
			n++
		}
	}
	if n != k.Elems() {
		c.fail("the mask has %d ones for %d values", n, k.Elems())
	}
	return dense, on
}

// fromFloat64 makes a tensor of type d without an operation's declared result.
func (c *call) fromFloat64(d ir.DType, shape []int64, vals []float64) Tensor {
	b := c.bytes(d, shape)
	if c.err != nil {
		return Tensor{}
	}
	if d.IsFloat() {
		w := make([]float32, len(vals))
		for i, v := range vals {
			w[i] = float32(v)
		}
		packFloats(b, d, w)
	} else {
		w := make([]int64, len(vals))
		for i, v := range vals {
			w[i] = int64(v)
		}
		packInts(b, d, w)
	}
	return Tensor{Type: ir.TensorOf(d, shape...), Data: b}
}

func sparseToDense(c *call) []Tensor {
	values, mask := c.numeric(ir.ParamNonzeroData), c.numeric(ir.ParamMask)
	if c.err != nil {
		return nil
	}
	if c.op.Def.ParamIndex(ir.ParamShape) >= 0 {
		shape := c.shapeArg()
		bits := Tensor{Type: ir.TensorOf(ir.UInt1, shape...), Data: mask.Data}
		if c.err == nil && (mask.Type.DType.Bits() != 8 || bits.Type.Bytes() != int64(len(mask.Data))) {
			return c.fail("mask is %s, %d bits need %d bytes", mask.Type, bits.Type.Elems(), bits.Type.Bytes())
		}
		mask = bits
	}
	if c.err != nil {
		return nil
	}
	dense, _ := c.scattered(values, mask)
	return results(c.fromFloat64(values.Type.DType, mask.Type.Shape, dense))
}

// blockIndex returns, for every element of a shape, the element of the smaller tensor that applies to its block.
func (c *call) blockIndex(shape, blocks []int64) []int {
	if len(shape) != len(blocks) {
		c.fail("scale has shape %s, data %s", ir.ShapeString(blocks), ir.ShapeString(shape))
		return nil
	}
	for d, n := range blocks {
		if n < 1 || shape[d]%n != 0 {
			c.fail("scale has shape %s, which does not divide data of shape %s", ir.ShapeString(blocks),
				ir.ShapeString(shape))
			return nil
		}
	}
	if !c.reserve(8 * int64(prod(shape))) {
		return nil
	}
	out := make([]int, prod(shape))
	own, st := strides(shape), strides(blocks)
	for i := range out {
		for d := range shape {
			out[i] += i / own[d] % int(shape[d]) / int(shape[d]/blocks[d]) * st[d]
		}
	}
	return out
}

// blockwise applies scale*(v - offset), both by block, to the elements that on
// selects (all where it is nil).
func (c *call) blockwise(vals []float32, shape []int64, on []bool) {
	scale := c.numeric(ir.ParamScale)
	sc := c.floats(scale)
	if c.err != nil {
		return
	}
	at := c.blockIndex(shape, scale.Type.Shape)
	off, has := c.opt(ir.ParamOffset)
	var os []float32
	if has {
		if os = c.floats(off); c.err == nil && len(os) != len(sc) {
			c.fail("offset is %s, scale is %s", off.Type, scale.Type)
		}
	}
	if c.err != nil {
		return
	}
	for i, v := range vals {
		if on != nil && !on[i] {
			continue
		}
		if has {
			v -= os[at[i]]
		}
		vals[i] = sc[at[i]] * v
	}
}

func blockwiseShiftScale(c *call) []Tensor {
	data := c.numeric(ir.ParamData)
	vals := c.floats(data)
	c.blockwise(vals, data.Type.Shape, nil)
	return results(c.outFloats(0, data.Type.Shape, vals))
}

// lutToSparse looks up the values of a sparse tensor; vectors widen the mask.
func lutToSparse(c *call) []Tensor {
	mask, values, lut := c.numeric(ir.ParamIndicesMask), c.numeric(ir.ParamIndicesNonzeroData), c.numeric(ir.ParamLUT)
	if c.err != nil {
		return nil
	}
	dense, on := c.scattered(values, mask)
	if c.err != nil {
		return nil
	}
	ind := make([]int64, len(dense))
	for i, v := range dense {
		ind[i] = int64(v)
	}
	packed, err := FromInts(ir.UInt8, ind, mask.Type.Shape...)
	if err != nil {
		return c.fail("%v", err)
	}
	out, vec := c.lookup(packed, lut, on)
	if c.err != nil {
		return nil
	}
	wide := mask
	if vec != 1 {
		a := c.axis(ir.ParamVectorAxis, 0, mask.Type.Rank())
		inner, n := prod(mask.Type.Shape[a+1:]), int(mask.Type.Shape[a])
		m := make([]int64, out.Elems())
		for i := range m {
			src := i/(n*vec*inner)*n*inner + i/inner%(n*vec)/vec*inner + i%inner
			if on[src] {
				m[i] = 1
			}
		}
		if wide, err = FromInts(ir.UInt1, m, out.Type.Shape...); err != nil {
			return c.fail("%v", err)
		}
	}
	size := out.Type.DType.Bits() / 8
	var data []byte
	for i, o := range wide.Bools() {
		if o {
			data = append(data, out.Data[i*size:(i+1)*size]...)
		}
	}
	return results(wide, Tensor{Type: ir.TensorOf(out.Type.DType, int64(len(data)/size)), Data: data})
}

func sparseBlockwise(c *call) []Tensor {
	mask, values := c.numeric(ir.ParamDataMask), c.numeric(ir.ParamNonzeroData)
	if c.err != nil {
		return nil
	}
	dense, on := c.scattered(values, mask)
	if c.err != nil {
		return nil
	}
	vals := c.buffer(len(dense))
	for i := range vals {
		vals[i] = float32(dense[i])
	}
	c.blockwise(vals, mask.Type.Shape, on)
	if c.err != nil {
		return nil
	}
	var out []float32
	for i, o := range on {
		if o {
			out = append(out, vals[i])
		}
	}
	return results(mask, c.outFloats(1, []int64{int64(len(out))}, out))
}
