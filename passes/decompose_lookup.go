package passes

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// lookupDecompositions are the decompositions of operations that select elements by a computed index. The index is an
// fp16 number, which is exact if an axis has up to maxIndexed elements. A comparison with 0, 1, 2 and so on results in
// a 1 at its place and zeros elsewhere. The hardware of the first generation has a gather only for batch 1, depth 1 and
// three indices (native-ops.tsv).
var lookupDecompositions = []Decomposition{
	{Name: "compared-places", Ops: ops{ir.OpGather, ir.OpGatherAlongAxis, ir.OpGatherND},
		Doc: "equal of the indices with all places, select, and reduce_sum; a large gather is a matmul, where an " +
			"infinity in x makes the results of its column NaN",
		Covers: "computed indices of axes of up to 2048 elements", Also: integers(), live: true, apply: comparedPlaces},
	{Name: "compared-window", Ops: ops{ir.OpSliceBySize},
		Doc: "equal of begin, begin + 1 and so on with all places, select, and reduce_sum, one dimension after " +
			"another",
		Covers: "a computed begin and constant sizes", Also: integers(), live: true, apply: comparedWindow},
	{Name: "compared-part", Ops: ops{ir.OpSliceUpdate},
		Doc:    "the update moved to its place as in compared-window, and select between it and x",
		Covers: "a computed begin of dimensions of up to 2048 elements", Also: integers(), live: true,
		apply: comparedPart},
}

// maxIndexed is the number up to which fp16 represents all integers.
const maxIndexed = 2048

// maxCompared limits the number of elements that are compared and selected; beyond it a gather is a product.
const maxCompared = 1 << 16

// iota returns a constant of 0, 1, 2 and so on along the only dimension of the shape that is not 1.
func (c *decomposer) iota(shape ...int64) *ir.Value {
	return c.filled("iota", func(i int64) float64 { return float64(i) }, shape...)
}

// counted converts integers to fp16: on the way to the engine, or from their bytes if the operation set has no cast of
// the type.
func (c *decomposer) counted(v *ir.Value) *ir.Value {
	switch {
	case v.Type.DType == ir.FP16:
		return v
	case ir.Lookup(ir.OpCast.Name, c.s.Func.Opset).Params[0].Types.Has(v.Type.DType):
		return c.Cast(v, ir.FP16)
	}
	parts := c.bytes(v)
	last := len(parts) - 1
	y := parts[last]
	if v.Type.DType.IsSigned() {
		y = c.signed(y)
	}
	for last > 0 {
		last--
		y = c.add(c.mul(y, c.num(256)), parts[last])
	}
	return y
}

// signed returns bytes as numbers from -128 to 127.
func (c *decomposer) signed(v *ir.Value) *ir.Value {
	if v.IsConst() {
		return c.computed(func(i int64) float64 { return float64(int8(uint8(v.Const.Float(i)))) }, v.Type.Shape, v)
	}
	low := c.Do(ir.OpLess, arg(ir.ParamX, v), arg(ir.ParamY, c.num(128)))
	return c.choose(low, v, c.sub(v, c.num(256)))
}

// fromEnd adds n to negative numbers, which count from the end; n broadcasts over v.
func (c *decomposer) fromEnd(v, n *ir.Value) *ir.Value {
	below := c.Do(ir.OpLess, arg(ir.ParamX, v), arg(ir.ParamY, c.num(0)))
	return c.choose(below, c.add(v, n), v)
}

// places returns indices as numbers from 0 to n-1.
func (c *decomposer) places(idx *ir.Value, n int64) *ir.Value {
	c.beyondIndexes("indices", n)
	v := c.counted(idx)
	if !idx.Type.DType.IsSigned() {
		return v
	}
	return c.fromEnd(v, c.num(float64(n)))
}

// beyondIndexes refuses computed places among more elements than fp16 numbers can count.
func (c *decomposer) beyondIndexes(what string, n int64) {
	if n > maxIndexed {
		c.Stop(target.Refuse(target.RuleRuntime, "places that "+what+" count", n, maxIndexed,
			fmt.Sprintf("the values of %s are known only at run time and count %d places; numbers of fp16 are exact "+
				"to %d", what, n, maxIndexed)))
	}
}

func (c *decomposer) equal(x, y *ir.Value) *ir.Value { return c.Binary(ir.OpEqual, x, y) }

func (c *decomposer) choose(cond, a, b *ir.Value) *ir.Value {
	return c.Do(ir.OpSelect, arg(ir.ParamCond, cond), arg(ir.ParamA, a), arg(ir.ParamB, b))
}

// marked returns the sum along an axis of the elements of x where cond is set; cond and x broadcast to one shape.
func (c *decomposer) marked(cond, x *ir.Value, axis int) *ir.Value {
	return c.reduce(ir.OpReduceSum, c.choose(cond, x, c.num(0)), []int{axis})
}

// indexed selects the elements of x [batch, lead, n, tail] at places [batch, m], into [batch, lead, m, tail].
func (c *decomposer) indexed(x, at *ir.Value, batch, lead, n, m, tail int64) *ir.Value {
	switch {
	case batch*lead*m*n*tail <= maxCompared && batch == 1:
		hit := c.equal(c.Reshape(at, 1, m, 1, 1), c.iota(1, 1, n, 1))
		return c.marked(hit, c.Reshape(x, lead, 1, n, tail), 2)
	case batch*lead*m*n*tail <= maxCompared:
		hit := c.equal(c.Reshape(at, batch, 1, m, 1, 1), c.iota(1, 1, 1, n, 1))
		return c.marked(hit, c.Reshape(x, batch, lead, 1, n, tail), 3)
	case batch*m*n > maxMade:
		return c.past("comparisons of an index with a place", batch*m*n, maxMade)
	}
	hot := c.Cast(c.equal(c.Reshape(at, batch, m, 1), c.iota(1, 1, n)), ir.FP16)
	if lead > 1 {
		x = c.Transpose(c.Reshape(x, batch, lead, n, tail), 0, 2, 1, 3)
	}
	if batch == 1 {
		y := c.MatMul(c.Reshape(hot, m, n), c.Reshape(x, n, lead*tail), false)
		return c.Transpose(c.Reshape(y, m, lead, tail), 1, 0, 2)
	}
	y := c.MatMul(hot, c.Reshape(x, batch, n, lead*tail), false)
	return c.Transpose(c.Reshape(y, batch, m, lead, tail), 0, 2, 1, 3)
}

func comparedPlaces(c *decomposer) {
	x, idx := c.op.Arg(ir.ParamX), c.op.Arg(ir.ParamIndices)
	if x.Type.DType != ir.FP16 || idx.IsConst() {
		c.Fail("indices are constant, or x is %s", x.Type.DType)
	}
	shape := x.Type.Shape
	if c.op.Is(ir.OpGatherND) {
		c.comparedCoordinates(x, idx)
		return
	}
	g, err := ir.GatherAttrs(c.op)
	if err != nil {
		c.Fail("%v", err)
	}
	n := shape[g.Axis]
	at := c.places(idx, n)
	if c.op.Is(ir.OpGather) {
		batch := volume(shape[:g.BatchDims])
		c.shaped(c.indexed(x, at, batch, volume(shape[g.BatchDims:g.Axis]), n, idx.Type.Elems()/batch,
			volume(shape[g.Axis+1:])))
		return
	}
	for axis, d := range idx.Type.Shape { // indices may omit the end of other dimensions
		if axis != g.Axis && d < shape[axis] {
			x = c.part(x, axis, 0, d)
		}
	}
	lead, m, tail := volume(idx.Type.Shape[:g.Axis]), idx.Type.Shape[g.Axis], volume(idx.Type.Shape[g.Axis+1:])
	if lead*m*n*tail > maxMade {
		c.past("comparisons of an index with a place", lead*m*n*tail, maxMade)
	}
	c.shaped(c.marked(c.equal(c.Reshape(at, lead, m, 1, tail), c.iota(1, 1, n, 1)), c.Reshape(x, lead, 1, n, tail), 2))
}

// comparedCoordinates is like comparedPlaces for gather_nd: coordinates times the strides of x are places.
func (c *decomposer) comparedCoordinates(x, idx *ir.Value) {
	batch := int64(0)
	if c.op.Def.ParamIndex(ir.ParamBatchDims) >= 0 {
		batch, _ = ir.ArgInt(c.op, ir.ParamBatchDims)
	}
	shape := x.Type.Shape
	k := idx.Type.Shape[idx.Type.Rank()-1]
	within := shape[batch : batch+k]
	n := volume(within)
	c.beyondIndexes("indices", n)
	lead := volume(shape[:batch])
	m := idx.Type.Elems() / k / lead
	at := c.Reshape(c.counted(idx), lead*m, k)
	if idx.Type.DType.IsSigned() {
		at = c.fromEnd(at, c.ofFP16(within))
	}
	strides := make([]int64, k)
	for i := range strides {
		strides[i] = volume(within[i+1:])
	}
	at = c.reduce(ir.OpReduceSum, c.mul(at, c.ofFP16(strides)), []int{1})
	c.shaped(c.indexed(x, at, lead, 1, n, m, volume(shape[batch+k:])))
}

// ofFP16 returns a constant vector of fp16 numbers.
func (c *decomposer) ofFP16(vs []int64) *ir.Value {
	return c.computed(func(i int64) float64 { return float64(vs[i]) }, []int64{int64(len(vs))})
}

// element returns one number of a vector.
func (c *decomposer) element(v *ir.Value, i int) *ir.Value { return c.part(v, 0, int64(i), int64(i)+1) }

func comparedWindow(c *decomposer) {
	x, begin := c.op.Arg(ir.ParamX), c.op.Arg(ir.ParamBegin)
	if x.Type.DType != ir.FP16 || begin.IsConst() {
		c.Fail("begin is constant, or x is %s", x.Type.DType)
	}
	first := c.counted(begin)
	y := x
	for axis, size := range c.op.Results[0].Type.Shape {
		if n := x.Type.Shape[axis]; size < n {
			y = c.window(y, axis, c.fromStart(begin, c.element(first, axis), n), size)
		}
	}
	c.become(y)
}

// fromStart is like fromEnd for a number of v that n limits.
func (c *decomposer) fromStart(v, at *ir.Value, n int64) *ir.Value {
	c.beyondIndexes("begin", n)
	if !v.Type.DType.IsSigned() {
		return at
	}
	return c.fromEnd(at, c.num(float64(n)))
}

// window selects size elements of an axis, starting at a computed place.
func (c *decomposer) window(x *ir.Value, axis int, first *ir.Value, size int64) *ir.Value {
	s := slices.Clone(x.Type.Shape)
	y := c.indexed(x, c.add(c.iota(size), first), 1, volume(s[:axis]), s[axis], size, volume(s[axis+1:]))
	s[axis] = size
	return c.Reshape(y, s...)
}

// comparedPart moves the update, and a tensor of ones that shows where it is.
func comparedPart(c *decomposer) {
	x, begin := c.op.Arg(ir.ParamX), c.op.Arg(ir.ParamBegin)
	u := c.op.Arg(ir.ParamUpdate)
	a, err := ir.SliceAttrs(c.op)
	if err != nil || x.Type.DType != ir.FP16 || begin.IsConst() || u.Type.Rank() != len(a) {
		c.Fail("begin is constant, x is %s, or update has another rank", x.Type.DType)
	}
	first := c.counted(begin)
	var inside *ir.Value // 1 where the update is, nil where that is everywhere
	for axis, n := range x.Type.Shape {
		size := u.Type.Shape[axis]
		if a[axis].Stride != 1 || c.masked(ir.ParamBeginMask, axis) || c.masked(ir.ParamSqueezeMask, axis) {
			c.Fail("stride or a mask of begin with a computed begin")
		}
		if size == n {
			continue
		}
		// Place p of x is place p - begin of the update.
		at := c.sub(c.iota(n), c.fromStart(begin, c.element(first, axis), n))
		s := slices.Clone(u.Type.Shape)
		u = c.indexed(u, at, 1, volume(s[:axis]), size, n, volume(s[axis+1:]))
		s[axis] = n
		u = c.Reshape(u, s...)
		one := c.filled("one", func(int64) float64 { return 1 }, 1, 1)
		within := c.marked(c.equal(c.Reshape(at, n, 1), c.iota(1, size)), one, 1)
		shape := slices.Repeat([]int64{1}, len(a))
		shape[axis] = n
		if within = c.Reshape(within, shape...); inside == nil {
			inside = within
		} else {
			inside = c.mul(inside, within)
		}
	}
	if inside == nil {
		c.become(u)
		return
	}
	c.become(c.choose(c.Cast(inside, ir.Bool), u, x))
}

// masked reports whether a mask excludes an argument along an axis.
func (c *decomposer) masked(name ir.ParamName, axis int) bool {
	m, ok := ir.ArgBools(c.op, name)
	return c.op.Arg(name) != nil && (!ok || m[axis])
}
