package passes

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// movementDecompositions are the decompositions of operations that copy, cut and join. None of them computes, so every
// element of the result equals one of x bit by bit.
var movementDecompositions = []Decomposition{
	{Name: "joined-copies", Ops: ops{ir.OpTile}, Doc: "concat of the copies, one dimension at a time",
		apply: joinedCopies},
	{Name: "reversed-parts", Ops: ops{ir.OpReverse},
		Doc:   "concat of slices in reverse order; of a long axis first the factors of its length",
		apply: reversedParts},
	{Name: "window", Ops: ops{ir.OpCrop}, Doc: "slice_by_size; of the last dimension, exchanged for another",
		apply: window},
	{Name: "reshape", Ops: ops{ir.OpReshapeLike, ir.OpFlatten2D}, Doc: "reshape",
		Also:  append(integers(), ir.Bool, ir.FP32), // tensors whose shapes matter
		apply: plainReshape},
	{Name: "replaced-part", Ops: ops{ir.OpSliceUpdate},
		Doc:    "concat of the update with the slices of x around it",
		Covers: "begin, end and stride known", apply: replacedPart},
	{Name: "steps", Ops: ops{ir.OpSliceByIndex},
		Doc: "slices, their last dimension exchanged for another where it has a stride, reverse where a stride is " +
			"negative",
		Covers: "begin, end and stride known", apply: stepsOfSlice},
	{Name: "margins", Ops: ops{ir.OpPad}, Doc: "concat of slices of x around x",
		Covers: "modes other than constant", apply: margins},
	{Name: "interleaved-stack", Ops: ops{ir.OpConcat},
		Doc:    "concat and reshape; along the last dimension, exchanged for another",
		Covers: "interleave", apply: interleavedStack},
	{Name: "stacked-windows", Ops: ops{ir.OpSlidingWindows}, Doc: "concat of slices", apply: stackedWindows},
	{Name: "bounded-band", Ops: ops{ir.OpBandPart},
		Doc:   "minimum and maximum with constants: infinite inside the band, 0 outside",
		apply: boundedBand},
}

func joinedCopies(c *decomposer) {
	y := c.op.Arg(ir.ParamX)
	reps, ok := ir.TileReps(c.op)
	if !ok {
		c.Fail("reps is computed")
	}
	for axis, n := range reps {
		y = c.repeated(y, axis, n)
	}
	c.become(y)
}

// repeated joins n copies of x, in several steps if there are many.
func (c *decomposer) repeated(x *ir.Value, axis int, n int64) *ir.Value {
	if n == 1 {
		return x
	}
	const most = 16
	of := func(x *ir.Value, n int64) []*ir.Value {
		return slices.Repeat([]*ir.Value{x}, int(n))
	}
	if n <= most {
		return c.Concat(axis, of(x, n)...)
	}
	// The largest part that leaves the smallest remainder.
	best := int64(most)
	for f := int64(most); f > most/2; f-- {
		if n%f < n%best {
			best = f
		}
	}
	part := c.Concat(axis, of(x, best)...)
	y := c.repeated(part, axis, n/best)
	if rest := n % best; rest > 0 {
		y = c.Concat(axis, y, c.Slice(part, axis, 0, rest*x.Type.Shape[axis]))
	}
	return y
}

func reversedParts(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	rank := x.Type.Rank()
	reverse := make([]bool, rank)
	if c.op.Arg(ir.ParamAxes) == nil {
		for i := range reverse {
			reverse[i] = true
		}
	} else if as, ok := ir.ArgInts(c.op, ir.ParamAxes); ok {
		for _, a := range as {
			reverse[(a+int64(rank))%int64(rank)] = true
		}
	} else {
		c.Fail("axes is computed")
	}
	y := x
	for axis, on := range reverse {
		switch {
		case !on || y == nil || y.Type.Shape[axis] == 1:
		case axis < rank-1:
			y = c.reversedInParts(y, axis)
		default:
			y = c.exchanged(y, c.reversedInParts)
		}
	}
	c.become(y)
}

// reversedInParts reverses an axis other than the last. Reversing an axis of a*b elements is reversing both of its
// factors, in a+b slices.
func (c *decomposer) reversedInParts(x *ir.Value, axis int) *ir.Value {
	n := x.Type.Shape[axis]
	switch f, _ := reverseFactor(n, map[int64][2]int64{}); {
	case f == n:
		return c.reversedSingly(x, axis)
	case f == 0: // the last element, then the others
		return c.Concat(axis, c.Slice(x, axis, n-1, n), c.reversedInParts(c.Slice(x, axis, 0, n-1), axis))
	default:
		return c.split(x, axis, f, n/f, func(y *ir.Value, axis int) *ir.Value {
			return c.reversedInParts(c.reversedInParts(y, axis), axis+1)
		})
	}
}

// pass is the weight, in slices, of writing the whole tensor once more.
const pass = 6

// reverseFactor returns the factor by which to reverse n elements and the weight of doing so: n for one slice per
// element, 0 for reversing one element separately from the rest.
func reverseFactor(n int64, known map[int64][2]int64) (factor, weight int64) {
	if k, ok := known[n]; ok {
		return k[0], k[1]
	}
	factor, weight = n, n+pass
	if n > maxJoined {
		_, w := reverseFactor(n-1, known)
		factor, weight = 0, w+2+pass
	}
	for f := int64(2); f*f <= n; f++ {
		if n%f == 0 {
			_, a := reverseFactor(f, known)
			_, b := reverseFactor(n/f, known)
			if a+b < weight {
				factor, weight = f, a+b
			}
		}
	}
	known[n] = [2]int64{factor, weight}
	return factor, weight
}

// reversedSingly joins single elements in reverse order.
func (c *decomposer) reversedSingly(x *ir.Value, axis int) *ir.Value {
	n := x.Type.Shape[axis]
	parts := make([]*ir.Value, n)
	for i := range n {
		parts[i] = c.Slice(x, axis, n-1-i, n-i)
	}
	return c.joined(axis, parts)
}

func window(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	h, ok1 := ir.ArgInts(c.op, ir.ParamCropHeight)
	w, ok2 := ir.ArgInts(c.op, ir.ParamCropWidth)
	if !ok1 || !ok2 || len(h) != 2 || len(w) != 2 {
		c.Fail("crop_height or crop_width is computed")
	}
	out := c.op.Results[0].Type.Shape
	y := c.cut(x, len(out)-2, h[0], out[len(out)-2])
	c.become(c.cut(y, len(out)-1, w[0], out[len(out)-1]))
}

// cut keeps n elements starting at lo.
func (c *decomposer) cut(x *ir.Value, axis int, lo, n int64) *ir.Value {
	if lo == 0 && n == x.Type.Shape[axis] {
		return x
	}
	return c.part(x, axis, lo, lo+n)
}

func plainReshape(c *decomposer) {
	c.become(c.Do(ir.OpReshape, arg(ir.ParamX, c.op.Arg(ir.ParamX)),
		arg(ir.ParamShape, c.Ints(c.op.Results[0].Type.Shape...))))
}

// static returns the attributes of a slice whose attributes are all known.
func (c *decomposer) static() ir.Slice {
	a, err := ir.SliceAttrs(c.op)
	if err != nil {
		c.Fail("%v", err)
	}
	for i, s := range a {
		if s.Begin < 0 || s.Len < 0 {
			c.Fail("begin or end of dimension %d is computed", i)
		}
	}
	return a
}

// stepsOfSlice starts with the steps that are views, so that less data is moved.
func stepsOfSlice(c *decomposer) {
	x, a := c.op.Arg(ir.ParamX), c.static()
	last := len(a) - 1
	begin, end, stride := make([]int64, len(a)), make([]int64, len(a)), make([]int64, len(a))
	plain := true
	for i, s := range a {
		first, step := s.Begin, s.Stride
		if step < 0 {
			first, step = s.Begin+(s.Len-1)*s.Stride, -step
		}
		begin[i], end[i], stride[i] = first, first+(s.Len-1)*step+1, step
		if i == last && s.Stride != 1 { // handled below
			begin[i], end[i], stride[i] = 0, x.Type.Shape[i], 1
		}
		plain = plain && begin[i] == 0 && end[i] == x.Type.Shape[i] && stride[i] == 1
	}
	y := x
	if !plain {
		y = c.Do(ir.OpSliceByIndex, arg(ir.ParamX, x), arg(ir.ParamBegin, c.Ints(begin...)),
			arg(ir.ParamEnd, c.Ints(end...)), arg(ir.ParamStride, c.Ints(stride...)))
	}
	for i, s := range a[:max(last, 0)] {
		if s.Stride < 0 {
			y = c.reversed(y, i)
		}
	}
	if last >= 0 && a[last].Stride != 1 {
		s := a[last]
		y = c.exchanged(y, func(y *ir.Value, axis int) *ir.Value {
			if s.Stride > 0 {
				return c.every(y, axis, run{s.Begin, s.Len, s.Stride})
			}
			return c.reversed(c.every(y, axis, run{s.Begin + (s.Len-1)*s.Stride, s.Len, -s.Stride}), axis)
		})
	}
	if last >= 1 && a[last].Squeeze { // [.., n, 1] as [.., 1, n], which is [.., n]
		y = c.Transpose(y, exchangeOf(last+1, last-1, last)...)
	}
	c.shaped(y)
}

// replacedPart writes the update into x.
func replacedPart(c *decomposer) {
	x, u, a := c.op.Arg(ir.ParamX), c.op.Arg(ir.ParamUpdate), c.static()
	shape := make([]int64, len(a))
	for i, s := range a {
		shape[i] = s.Len
	}
	if slices.Contains(shape, 0) {
		c.become(x)
		return
	}
	u = c.Reshape(u, shape...)
	for i := range a {
		if s := &a[i]; s.Stride < 0 {
			u = c.reversed(u, i)
			s.Begin, s.Stride = s.Begin+(s.Len-1)*s.Stride, -s.Stride
		}
		if a[i].Len == 1 {
			a[i].Stride = 1
		}
	}
	c.become(c.replaced(x, u, a, 0))
}

// replaced writes u to part a of x; axes before the given one are whole.
func (c *decomposer) replaced(x, u *ir.Value, a ir.Slice, axis int) *ir.Value {
	for axis < len(a) && a[axis].Begin == 0 && a[axis].Len == x.Type.Shape[axis] {
		axis++
	}
	if axis == len(a) {
		return u
	}
	s, n := a[axis], x.Type.Shape[axis]
	for i := axis + 1; i < len(a); i++ {
		if a[i].Len < x.Type.Shape[i] {
			u = c.replaced(c.every(x, axis, run{s.Begin, s.Len, s.Stride}), u, a, i)
			break
		}
	}
	if axis == len(a)-1 && s.Stride > 1 {
		y, at, back := c.exchange(x)
		v, _, _ := c.exchange(u) // it differs only in the last dimension
		return back(c.spliced(y, v, s, at))
	}
	if s.Stride > 1 {
		return c.spliced(x, u, s, axis)
	}
	var parts []*ir.Value
	if s.Begin > 0 {
		parts = append(parts, c.Slice(x, axis, 0, s.Begin))
	}
	parts = append(parts, u)
	if end := s.Begin + s.Len; end < n {
		parts = append(parts, c.part(x, axis, end, n))
	}
	return c.Concat(axis, parts...)
}

// spliced writes u to every stride-th place of an axis other than the last. Each period of x is the place and the rest,
// so the rest of all periods is joined with u along a separate dimension.
func (c *decomposer) spliced(x, u *ir.Value, s ir.SliceAxis, axis int) *ir.Value {
	n := x.Type.Shape[axis]
	whole := s.Len
	if s.Begin+whole*s.Stride > n {
		whole-- // the last period is cut short
	}
	end := s.Begin + whole*s.Stride
	var parts []*ir.Value
	if s.Begin > 0 {
		parts = append(parts, c.Slice(x, axis, 0, s.Begin))
	}
	if whole > 0 {
		middle := c.every(x, axis, run{s.Begin, whole * s.Stride, 1})
		some := c.every(u, axis, run{0, whole, 1})
		parts = append(parts, c.split(middle, axis, whole, s.Stride, func(y *ir.Value, axis int) *ir.Value {
			shape := slices.Clone(y.Type.Shape)
			shape[axis+1] = 1
			return c.Concat(axis+1, c.Reshape(some, shape...), c.Slice(y, axis+1, 1, s.Stride))
		}))
	}
	if whole < s.Len {
		parts = append(parts, c.every(u, axis, run{whole, 1, 1}))
		end++
	}
	if end < n {
		parts = append(parts, c.Slice(x, axis, end, n))
	}
	return c.Concat(axis, parts...)
}

func margins(c *decomposer) {
	y := c.op.Arg(ir.ParamX)
	mode, _ := ir.ArgString(c.op, ir.ParamMode)
	before, after, ok, err := ir.PadAmounts(c.op)
	if err != nil || !ok || mode == "constant" {
		c.Fail("mode %q with constant pad", mode)
	}
	for axis := range before {
		n := y.Type.Shape[axis]
		at := make([]int64, 0, before[axis]+n+after[axis])
		for i := -before[axis]; i < n+after[axis]; i++ {
			at = append(at, mirrored(mode, i, n))
		}
		y = c.taken(y, axis, at)
	}
	c.become(y)
}

// mirrored returns the place from which place i of n, which may be in the margin, is copied.
func mirrored(mode string, i, n int64) int64 {
	switch {
	case i >= 0 && i < n:
		return i
	case mode == "replicate":
		return min(max(i, 0), n-1)
	case mode == "symmetric": // the edge included
		i = (i%(2*n) + 2*n) % (2 * n)
		return min(i, 2*n-1-i)
	case n == 1:
		return 0
	}
	i = (i%(2*n-2) + 2*n - 2) % (2*n - 2)
	return min(i, 2*n-2-i)
}

func interleavedStack(c *decomposer) {
	vs := c.op.ArgList(ir.ParamValues)
	on, _ := ir.ArgBool(c.op, ir.ParamInterleave)
	out := c.op.Results[0].Type.Shape
	axis, err := ir.AxisAttr(c.op, ir.ParamAxis, len(out))
	if err != nil || !on || len(vs) == 0 || len(out) == 0 {
		c.Fail("interleaves %d operands", len(vs))
	}
	c.become(c.interleaved(axis, out[axis], vs))
}

// stackedWindows stacks whole windows or, for each place in a window, the elements of all windows there, whichever are
// fewer.
func stackedWindows(c *decomposer) {
	x, out := c.op.Arg(ir.ParamX), c.op.Results[0].Type.Shape
	axis, err := ir.AxisAttr(c.op, ir.ParamAxis, x.Type.Rank())
	stride, ok := ir.ArgInt(c.op, ir.ParamStride)
	if err != nil || !ok {
		c.Fail("axis or stride is computed")
	}
	n, size := out[axis], out[axis+1]
	var parts []*ir.Value
	at := axis
	if n <= size || axis == x.Type.Rank()-1 && n <= maxJoined {
		for i := range min(n, maxPieces+1) {
			parts = append(parts, c.part(x, axis, i*stride, i*stride+size))
		}
	} else {
		at = axis + 1
		for i := range min(size, maxPieces+1) {
			parts = append(parts, c.every(x, axis, run{i, n, stride}))
		}
	}
	if len(parts) > maxPieces {
		c.past("slices, one for each window or element of a window", min(n, size), maxPieces)
	}
	c.become(c.stacked(at, parts))
}

// boundedBand clamps the elements outside the band between 0 and 0. A product with 0 is not 0 for infinite elements.
func boundedBand(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	lower, ok := ir.ArgInt(c.op, ir.ParamLower)
	upper, ok2 := ir.ArgInt(c.op, ir.ParamUpper)
	if !ok || !ok2 {
		c.Fail("lower or upper is computed")
	}
	n := x.Type.Shape[x.Type.Rank()-2:]
	bound := func(sign int) *ir.Value {
		return c.computed(func(i int64) float64 {
			r, k := i/n[1], i%n[1]
			if (lower < 0 || r-k <= lower) && (upper < 0 || k-r <= upper) {
				return math.Inf(sign)
			}
			return 0
		}, n)
	}
	if n[0]*n[1] > maxMade {
		c.past("elements of a band", n[0]*n[1], maxMade)
	}
	c.become(c.max(c.min(x, bound(1)), bound(-1)))
}
