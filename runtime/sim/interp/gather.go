package interp

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpGather:           gather,
	ir.OpGatherAlongAxis:  gatherAlongAxis,
	ir.OpGatherND:         gatherND,
	ir.OpScatter:          scatter,
	ir.OpScatterAlongAxis: scatterAlongAxis,
	ir.OpScatterND:        scatterND,
})

// index returns i as a position in a dimension of n elements. Negative indices count from the end, with a warning from
// iOS 17 on, where that is undefined; indices past either end are clamped to it. With validate_indices set, an index
// outside [0, n) is an error.
func (c *call) index(i int64, n int, validate bool) int {
	if validate && (i < 0 || i >= int64(n)) {
		c.fail("index %d is outside [0, %d) and validate_indices is set", i, n)
		return 0
	}
	if i < 0 {
		if c.since() >= 17 {
			c.warn("index %d is negative, which is undefined from iOS 17 on; it is counted from the end", i)
		}
		i += int64(n)
	}
	return int(min(max(i, 0), int64(n-1)))
}

// indices returns the positions that an index tensor names in a dimension of n.
func (c *call) indices(t Tensor, n int) []int {
	vs := c.integers(t)
	validate := c.bool(ir.ParamValidateIndices, false)
	if c.err == nil && len(vs) > 0 && n == 0 {
		c.fail("indexes an empty dimension")
	}
	if !c.reserve(8 * int64(len(vs))) {
		return nil
	}
	out := make([]int, len(vs))
	for i, v := range vs {
		out[i] = c.index(v, n, validate)
	}
	return out
}

// gather picks slices of an axis; with batch_dims the leading dimensions of x
// and of indices go together.
func gather(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	ind := c.numeric(ir.ParamIndices)
	axis := c.axis(ir.ParamAxis, 0, x.Type.Rank())
	batch := c.int(ir.ParamBatchDims, 0)
	if c.err != nil {
		return nil
	}
	if batch < 0 {
		batch += int64(ind.Type.Rank())
	}
	b := int(batch)
	if batch < 0 || b > axis || b > ind.Type.Rank() || !slices.Equal(x.Type.Shape[:b], ind.Type.Shape[:b]) {
		return c.fail("batch_dims %d does not fit x of shape %s, indices of shape %s and axis %d", batch,
			ir.ShapeString(x.Type.Shape), ir.ShapeString(ind.Type.Shape), axis)
	}
	n := int(x.Type.Shape[axis])
	at := c.indices(ind, n)
	shape := slices.Concat(x.Type.Shape[:axis], ind.Type.Shape[b:], x.Type.Shape[axis+1:])
	out := Tensor{Type: ir.TensorOf(x.Type.DType, shape...), Data: c.bytes(x.Type.DType, shape)}
	if c.err != nil || len(out.Data) == 0 {
		return results(out)
	}
	batches, mid := prod(x.Type.Shape[:b]), prod(x.Type.Shape[b:axis])
	inner, per := prod(x.Type.Shape[axis+1:])*size, prod(ind.Type.Shape[b:])
	to := 0
	for k := range batches {
		for m := range mid {
			for i := range per {
				from := ((k*mid+m)*n + at[k*per+i]) * inner
				to += copy(out.Data[to:], x.Data[from:from+inner])
			}
		}
	}
	return results(out)
}

// along returns, for every element of an index tensor, the offset in data of
// the element that it names along the axis, the other coordinates being its
// own.
func (c *call) along(data, ind Tensor, axis int) []int {
	if c.err != nil {
		return nil
	}
	ok := ind.Type.Rank() == data.Type.Rank()
	for d := 0; ok && d < ind.Type.Rank(); d++ {
		ok = d == axis || ind.Type.Shape[d] <= data.Type.Shape[d]
	}
	if !ok {
		c.fail("indices of shape %s do not go with shape %s along axis %d", ir.ShapeString(ind.Type.Shape),
			ir.ShapeString(data.Type.Shape), axis)
		return nil
	}
	at := c.indices(ind, int(data.Type.Shape[axis]))
	if c.err != nil || len(at) == 0 {
		return at
	}
	st := strides(data.Type.Shape)
	step := st[axis]
	st[axis] = 0
	n, width := split(ind.Type.Shape)
	rows(ind.Type.Shape, 0, n, [][]int{st}, func(i int, off []int) {
		for k := range width {
			at[i+k] = at[i+k]*step + off[0] + k*st[len(st)-1]
		}
	})
	return at
}

func gatherAlongAxis(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	ind := c.numeric(ir.ParamIndices)
	at := c.along(x, ind, c.axis(ir.ParamAxis, 0, x.Type.Rank()))
	out := Tensor{Type: ir.TensorOf(x.Type.DType, ind.Type.Shape...), Data: c.bytes(x.Type.DType, ind.Type.Shape)}
	if c.err != nil {
		return nil
	}
	for i, from := range at {
		copy(out.Data[i*size:(i+1)*size], x.Data[from*size:])
	}
	return results(out)
}

// ndOffsets returns the offset, in slices of the trailing dimensions, that
// every index vector (the last axis of ind) names in the dimensions of shape.
func (c *call) ndOffsets(ind Tensor, shape []int64) []int {
	k := len(shape)
	vs := c.integers(ind)
	validate := c.bool(ir.ParamValidateIndices, false)
	if c.err != nil || k == 0 || !c.reserve(8*int64(len(vs)/k)) {
		return nil
	}
	out := make([]int, len(vs)/k)
	for i := range out {
		for d, n := range shape {
			if n == 0 {
				c.fail("indexes an empty dimension")
				return nil
			}
			out[i] = out[i]*int(n) + c.index(vs[i*k+d], int(n), validate)
		}
	}
	return out
}

// gatherND picks slices named by index vectors, the last axis of indices.
func gatherND(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	ind := c.numeric(ir.ParamIndices)
	batch := c.int(ir.ParamBatchDims, 0)
	if c.err != nil {
		return nil
	}
	xs, is := x.Type.Shape, ind.Type.Shape
	b := int(batch)
	if batch < 0 || batch >= int64(len(is)) || b > len(xs) || !slices.Equal(xs[:b], is[:b]) {
		return c.fail("batch_dims %d does not fit x of shape %s and indices of shape %s", batch, ir.ShapeString(xs),
			ir.ShapeString(is))
	}
	k := int(is[len(is)-1])
	if k < 1 || k > len(xs)-b {
		return c.fail("indices of shape %s hold vectors of %d, x has shape %s", ir.ShapeString(is), k,
			ir.ShapeString(xs))
	}
	at := c.ndOffsets(ind, xs[b:b+k])
	shape := slices.Concat(is[:len(is)-1], xs[b+k:])
	out := Tensor{Type: ir.TensorOf(x.Type.DType, shape...), Data: c.bytes(x.Type.DType, shape)}
	if c.err != nil || len(out.Data) == 0 {
		return results(out)
	}
	inner := prod(xs[b+k:]) * size
	per, whole := prod(is[b:len(is)-1]), prod(xs[b:])*size
	for i, o := range at {
		from := i/per*whole + o*inner
		copy(out.Data[i*inner:(i+1)*inner], x.Data[from:])
	}
	return results(out)
}

// scatterModes say how an update changes an element.
var scatterModes = map[string]struct {
	f func(old, v float32) float32
	i func(old, v int64) int64
}{
	"add":    {func(a, b float32) float32 { return a + b }, func(a, b int64) int64 { return a + b }},
	"sub":    {func(a, b float32) float32 { return a - b }, func(a, b int64) int64 { return a - b }},
	"mul":    {func(a, b float32) float32 { return a * b }, func(a, b int64) int64 { return a * b }},
	"div":    {func(a, b float32) float32 { return a / b }, truncDiv},
	"max":    {maxFloat, func(a, b int64) int64 { return max(a, b) }},
	"min":    {minFloat, func(a, b int64) int64 { return min(a, b) }},
	"update": {func(_, b float32) float32 { return b }, func(_, b int64) int64 { return b }},
}

// scatterInto applies runs of inner updates to data at the given offsets (in
// elements), in order.
func (c *call) scatterInto(data, updates Tensor, at []int, inner int) []Tensor {
	mode := scatterModes[c.choice(ir.ParamMode, "add", "add", "sub", "mul", "div", "max", "min", "update")]
	if c.err == nil && updates.Type.DType != data.Type.DType {
		c.fail("updates are %s, data is %s", updates.Type, data.Type)
	}
	if c.err == nil && updates.Elems() != len(at)*inner {
		c.fail("updates of shape %s have %d elements, the indices name %d", ir.ShapeString(updates.Type.Shape),
			updates.Elems(), len(at)*inner)
	}
	if c.err != nil {
		return nil
	}
	if data.Type.DType.IsFloat() {
		ds, us := c.floats(data), c.floats(updates)
		if c.err != nil {
			return nil
		}
		scatterRuns(ds, us, at, inner, mode.f)
		return results(c.outFloats(0, data.Type.Shape, ds))
	}
	ds, us := c.integers(data), c.integers(updates)
	if c.err != nil {
		return nil
	}
	scatterRuns(ds, us, at, inner, mode.i)
	return results(c.outInts(0, data.Type.Shape, ds))
}

func scatterRuns[T any](ds, us []T, at []int, inner int, f func(old, v T) T) {
	for i, o := range at {
		for k := range inner {
			ds[o+k] = f(ds[o+k], us[i*inner+k])
		}
	}
}

// scatter applies updates to slices of an axis: updates have the shape of data
// with the axis replaced by the shape of indices.
func scatter(c *call) []Tensor {
	data, ind, updates := c.numeric(ir.ParamData), c.numeric(ir.ParamIndices), c.numeric(ir.ParamUpdates)
	axis := c.axis(ir.ParamAxis, 0, data.Type.Rank())
	if c.err != nil {
		return nil
	}
	shape := data.Type.Shape
	want := slices.Concat(shape[:axis], ind.Type.Shape, shape[axis+1:])
	if !slices.Equal(want, updates.Type.Shape) {
		return c.fail("updates have shape %s, need %s", ir.ShapeString(updates.Type.Shape), ir.ShapeString(want))
	}
	n, inner := int(shape[axis]), prod(shape[axis+1:])
	pos := c.indices(ind, n)
	outer := prod(shape[:axis])
	if !c.reserve(8 * int64(outer*len(pos))) {
		return nil
	}
	at := make([]int, 0, outer*len(pos))
	for o := range outer {
		for _, p := range pos {
			at = append(at, (o*n+p)*inner)
		}
	}
	return c.scatterInto(data, updates, at, inner)
}

func scatterAlongAxis(c *call) []Tensor {
	data, ind, updates := c.numeric(ir.ParamData), c.numeric(ir.ParamIndices), c.numeric(ir.ParamUpdates)
	at := c.along(data, ind, c.axis(ir.ParamAxis, 0, data.Type.Rank()))
	if c.err == nil && !slices.Equal(ind.Type.Shape, updates.Type.Shape) {
		return c.fail("updates have shape %s, indices %s", ir.ShapeString(updates.Type.Shape),
			ir.ShapeString(ind.Type.Shape))
	}
	return c.scatterInto(data, updates, at, 1)
}

func scatterND(c *call) []Tensor {
	data, ind, updates := c.numeric(ir.ParamData), c.numeric(ir.ParamIndices), c.numeric(ir.ParamUpdates)
	if c.err != nil {
		return nil
	}
	ds, is := data.Type.Shape, ind.Type.Shape
	if len(is) == 0 || is[len(is)-1] < 1 || is[len(is)-1] > int64(len(ds)) {
		return c.fail("indices of shape %s do not index data of shape %s", ir.ShapeString(is), ir.ShapeString(ds))
	}
	k := int(is[len(is)-1])
	want := slices.Concat(is[:len(is)-1], ds[k:])
	if !slices.Equal(want, updates.Type.Shape) {
		return c.fail("updates have shape %s, need %s", ir.ShapeString(updates.Type.Shape), ir.ShapeString(want))
	}
	inner := prod(ds[k:])
	at := c.ndOffsets(ind, ds[:k])
	for i := range at {
		at[i] *= inner
	}
	return c.scatterInto(data, updates, at, inner)
}
