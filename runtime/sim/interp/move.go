package interp

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpTranspose:       transpose,
	ir.OpConcat:          concat,
	ir.OpStack:           stack,
	ir.OpSplit:           splitKernel,
	ir.OpTile:            tile,
	ir.OpReverse:         reverse,
	ir.OpReverseSequence: reverseSequence,
	ir.OpPad:             pad,
	ir.OpBandPart:        bandPart,
	ir.OpSlidingWindows:  slidingWindows,
	ir.OpCrop:            crop,
})

// moved returns an argument as bits to be moved: read through the engine's
// port, of whole-byte elements.
func (c *call) moved(name ir.ParamName) (t Tensor, size int) {
	t = c.numeric(name)
	if c.err != nil {
		return t, 1
	}
	return c.movedTensor(name, t)
}

func (c *call) movedTensor(name ir.ParamName, t Tensor) (Tensor, int) {
	b := t.Type.DType.Bits()
	if t.Type.Kind != ir.Tensor || b < 8 {
		c.fail("argument %s is %s, whose elements are not whole bytes", name, t.Type)
		return t, 1
	}
	return c.port(t), b / 8
}

// gatherStrided makes a tensor of the given shape whose element at index i is
// the element of x at offset base + sum i[d]*st[d], in elements.
func (c *call) gatherStrided(x Tensor, size int, shape []int64, base int, st []int) Tensor {
	out := Tensor{Type: ir.TensorOf(x.Type.DType, shape...)}
	if len(shape) == 0 {
		out.Type.Shape = nil
	}
	out.Data = c.bytes(x.Type.DType, shape)
	if c.err != nil || len(out.Data) == 0 {
		return out
	}
	n, width := split(shape)
	step := 0
	if len(shape) > 0 {
		step = st[len(shape)-1]
	}
	c.parallel(n, 1+32768/width, func(lo, hi int) {
		rows(shape, lo, hi, [][]int{st}, func(at int, off []int) {
			copyRun(out.Data[at*size:(at+width)*size], x.Data, (base+off[0])*size, step*size, size)
		})
	})
	return out
}

// copyRun fills dst with elements of size bytes taken from src at byte offsets
// at, at+step, ...
func copyRun(dst, src []byte, at, step, size int) {
	switch {
	case step == size:
		copy(dst, src[at:])
	case size == 2:
		for i := 0; i < len(dst); i += 2 {
			dst[i], dst[i+1] = src[at], src[at+1]
			at += step
		}
	default:
		for i := 0; i < len(dst); i += size {
			copy(dst[i:i+size], src[at:at+size])
			at += step
		}
	}
}

func transpose(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	perm, ok := c.ints(ir.ParamPerm)
	if !ok {
		return c.fail("argument perm is missing")
	}
	rank := x.Type.Rank()
	if len(perm) != rank {
		return c.fail("argument perm is %v, x has shape %s", perm, ir.ShapeString(x.Type.Shape))
	}
	own := strides(x.Type.Shape)
	shape, st, seen := make([]int64, rank), make([]int, rank), make([]bool, rank)
	for i, p := range perm {
		a := c.wrapAxis(ir.ParamPerm, p, rank)
		if c.err != nil {
			return nil
		}
		if seen[a] {
			return c.fail("argument perm is %v: %d appears twice", perm, p)
		}
		seen[a], shape[i], st[i] = true, x.Type.Shape[a], own[a]
	}
	return results(c.gatherStrided(x, size, shape, 0, st))
}

// concat joins along an axis, or takes one slice of each operand in turn when
// interleave is set.
func concat(c *call) []Tensor {
	vs := c.tuple(ir.ParamValues)
	if len(vs) == 0 {
		return c.fail("argument values is empty")
	}
	for i := range vs { // a number counts as a vector of one
		if vs[i].Type.Kind == ir.Tensor && vs[i].Type.Rank() == 0 {
			vs[i].Type = vs[i].Type.WithShape(1)
		}
	}
	rank := vs[0].Type.Rank()
	axis := c.axis(ir.ParamAxis, 0, rank)
	interleave := c.bool(ir.ParamInterleave, false)
	if c.err != nil {
		return nil
	}
	shape := slices.Clone(vs[0].Type.Shape)
	size := 1
	for i := range vs {
		vs[i], size = c.movedTensor(ir.ParamValues, vs[i])
		s := vs[i].Type.Shape
		if c.err != nil {
			return nil
		}
		ok := vs[i].Type.DType == vs[0].Type.DType && len(s) == rank
		for d := 0; ok && d < rank; d++ {
			ok = d == axis && !interleave || s[d] == vs[0].Type.Shape[d]
		}
		if !ok {
			return c.fail("values[%d] is %s, values[0] is %s: they differ outside axis %d", i, vs[i].Type, vs[0].Type,
				axis)
		}
		if i > 0 {
			shape[axis] += s[axis]
		}
	}
	return results(c.join(vs, size, shape, axis, interleave))
}

// join copies operands of equal shape outside axis into one tensor.
func (c *call) join(vs []Tensor, size int, shape []int64, axis int, interleave bool) Tensor {
	out := Tensor{Type: ir.TensorOf(vs[0].Type.DType, shape...), Data: c.bytes(vs[0].Type.DType, shape)}
	if c.err != nil {
		return out
	}
	outer := prod(shape[:axis])
	inner := prod(shape[axis+1:]) * size
	at := 0
	for o := range outer {
		if interleave {
			n := int(vs[0].Type.Shape[axis])
			for i := range n {
				for _, v := range vs {
					at += copy(out.Data[at:], v.Data[(o*n+i)*inner:(o*n+i+1)*inner])
				}
			}
			continue
		}
		for _, v := range vs {
			n := int(v.Type.Shape[axis]) * inner
			at += copy(out.Data[at:], v.Data[o*n:(o+1)*n])
		}
	}
	return out
}

func stack(c *call) []Tensor {
	vs := c.tuple(ir.ParamValues)
	if len(vs) == 0 {
		return c.fail("argument values is empty")
	}
	axis := c.axis(ir.ParamAxis, 0, vs[0].Type.Rank()+1)
	size := 1
	for i := range vs {
		if c.err != nil {
			return nil
		}
		vs[i], size = c.movedTensor(ir.ParamValues, vs[i])
		if c.err == nil && !vs[i].Type.Equal(vs[0].Type) {
			return c.fail("values[%d] is %s, values[0] is %s: they must be alike", i, vs[i].Type, vs[0].Type)
		}
	}
	if c.err != nil {
		return nil
	}
	shape := slices.Insert(slices.Clone(vs[0].Type.Shape), axis, int64(len(vs)))
	parts := slices.Clone(vs)
	for i := range parts {
		parts[i].Type = parts[i].Type.WithShape(slices.Insert(slices.Clone(vs[i].Type.Shape), axis, 1)...)
	}
	return results(c.join(parts, size, shape, axis, false))
}

func splitKernel(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	axis := c.axis(ir.ParamAxis, 0, x.Type.Rank())
	sizes, given := c.ints(ir.ParamSplitSizes)
	n := c.int(ir.ParamNumSplits, int64(len(sizes)))
	if c.err != nil {
		return nil
	}
	whole := x.Type.Shape[axis]
	if !given {
		if n < 1 || n > 1<<16 || whole%n != 0 {
			return c.fail("argument num_splits is %d, axis %d of x has %d elements", n, axis, whole)
		}
		for range n {
			sizes = append(sizes, whole/n)
		}
	}
	var out []Tensor
	st := strides(x.Type.Shape)
	at := int64(0)
	for _, s := range sizes {
		if s < 0 || s > whole-at {
			return c.fail("argument split_sizes is %v, axis %d of x has %d elements", sizes, axis, whole)
		}
		shape := slices.Clone(x.Type.Shape)
		shape[axis] = s
		part := c.gatherStrided(x, size, shape, int(at)*st[axis], st)
		if axis == len(shape)-1 && at > 0 {
			c.widthCopy(part)
		}
		out = append(out, part)
		at += s
	}
	if at != whole {
		return c.fail("argument split_sizes is %v, axis %d of x has %d elements", sizes, axis, whole)
	}
	return out
}

func tile(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	reps := c.intsN(ir.ParamReps, x.Type.Rank(), 1)
	if c.err != nil {
		return nil
	}
	// Each dimension is read as two: the repetition, with stride 0, and itself.
	own := strides(x.Type.Shape)
	var shape, wide []int64
	var st []int
	for i, r := range reps {
		if r == 0 {
			r = 1 // PyTorch's expand of an extent that stays, as converters write it: -1 divided by the extent
		}
		if r < 1 || r >= maxDim || x.Type.Shape[i] > 0 && r > 1<<62/x.Type.Shape[i] {
			return c.fail("argument reps is %v: %d is out of range", reps, r)
		}
		shape = append(shape, r*x.Type.Shape[i])
		wide = append(wide, r, x.Type.Shape[i])
		st = append(st, 0, own[i])
	}
	out := c.gatherStrided(x, size, wide, 0, st)
	out.Type = ir.TensorOf(x.Type.DType, shape...)
	return results(out)
}

func reverse(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	on := c.axesArg(ir.ParamAxes, x.Type.Rank())
	if c.err != nil {
		return nil
	}
	st := strides(x.Type.Shape)
	base := 0
	for i, o := range on {
		if o {
			base += (int(x.Type.Shape[i]) - 1) * st[i]
			st[i] = -st[i]
		}
	}
	return results(c.gatherStrided(x, size, x.Type.Shape, base, st))
}

// reverseSequence reverses the first lengths[b] elements along seq_axis of each
// slice b along batch_axis.
func reverseSequence(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	rank := x.Type.Rank()
	seq, batch := c.axis(ir.ParamSeqAxis, 0, rank), c.axis(ir.ParamBatchAxis, 0, rank)
	lengths, ok := c.ints(ir.ParamLengths)
	if !ok {
		return c.fail("argument lengths is missing")
	}
	if c.err != nil {
		return nil
	}
	shape := x.Type.Shape
	if int64(len(lengths)) != shape[batch] {
		return c.fail("argument lengths has %d elements, axis %d of x has %d", len(lengths), batch, shape[batch])
	}
	for _, l := range lengths {
		if l < 0 || l > shape[seq] {
			return c.fail("argument lengths is %v: %d is outside [0, %d]", lengths, l, shape[seq])
		}
	}
	out := Tensor{Type: x.Type, Data: c.bytes(x.Type.DType, shape)}
	if c.err != nil {
		return nil
	}
	st := strides(shape)
	for i := range x.Elems() {
		b, s := i/st[batch]%int(shape[batch]), i/st[seq]%int(shape[seq])
		from := i
		if l := int(lengths[b]); s < l {
			from += (l - 1 - 2*s) * st[seq]
		}
		copy(out.Data[i*size:(i+1)*size], x.Data[from*size:])
	}
	return results(out)
}

// pad adds elements before and after the last len(pad)/2 dimensions.
func pad(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	p, ok := c.ints(ir.ParamPad)
	if !ok {
		return c.fail("argument pad is missing")
	}
	mode := c.choice(ir.ParamMode, "constant", "constant", "reflect", "replicate", "symmetric")
	rank := x.Type.Rank()
	if c.err == nil && (len(p)%2 != 0 || len(p)/2 > rank) {
		return c.fail("argument pad has %d elements, x has shape %s", len(p), ir.ShapeString(x.Type.Shape))
	}
	if c.err != nil {
		return nil
	}
	first := rank - len(p)/2
	shape := slices.Clone(x.Type.Shape)
	index := make([][]int, rank) // index[d][i]: element of x that is at i, -1 for the constant
	for d := range shape {
		n := int(x.Type.Shape[d])
		before, after := int64(0), int64(0)
		if d >= first {
			before, after = p[2*(d-first)], p[2*(d-first)+1]
		}
		switch {
		case before < 0 || after < 0 || before >= maxDim || after >= maxDim:
			return c.fail("argument pad is %v: %d and %d of dimension %d are out of range", p, before, after, d)
		case mode == "reflect" && max(before, after) >= int64(n) && before+after > 0:
			return c.fail("argument pad is %v: reflect needs less than the %d elements of dimension %d", p, n, d)
		case mode != "constant" && n == 0 && before+after > 0:
			return c.fail("dimension %d of x is empty, mode is %s", d, mode)
		}
		shape[d] += before + after
		if !c.reserve(8 * shape[d]) {
			return nil
		}
		index[d] = make([]int, shape[d])
		for i := range index[d] {
			at := i - int(before)
			if at < 0 || at >= n {
				switch mode {
				case "constant":
					at = -1
				case "reflect":
					if at < 0 {
						at = -at
					} else {
						at = 2*(n-1) - at
					}
				case "symmetric": // x and its mirror image in turn
					for at < 0 || at >= n {
						if at < 0 {
							at = -1 - at
						} else {
							at = 2*n - 1 - at
						}
					}
				default:
					at = min(max(at, 0), n-1)
				}
			}
			index[d][i] = at
		}
	}
	val := c.element(ir.ParamConstantVal, x.Type.DType)
	out := Tensor{Type: ir.TensorOf(x.Type.DType, shape...), Data: c.bytes(x.Type.DType, shape)}
	if c.err != nil {
		return nil
	}
	pick(out.Data, x, size, shape, index, val)
	return results(out)
}

// element returns the bytes of one element of type d with the value of a
// scalar argument, zero where it is absent.
func (c *call) element(name ir.ParamName, d ir.DType) []byte {
	b := make([]byte, max(1, d.Bits()/8))
	k, ok := c.one(name)
	switch {
	case !ok:
	case k.Type.DType == ir.String:
		c.fail("argument %s is a string, not a number", name)
	case d.IsFloat():
		packFloats(b, d, []float32{float32(k.Float(0))})
	default:
		packInts(b, d, []int64{k.Int(0)})
	}
	return b
}

// pick fills dst, of the given shape, with the elements of x that index names
// dimension by dimension; -1 in any represents val.
func pick(dst []byte, x Tensor, size int, shape []int64, index [][]int, val []byte) {
	if len(dst) == 0 {
		return
	}
	st := strides(x.Type.Shape)
	rank := len(shape)
	pos := make([]int, rank)
	for at := 0; at < len(dst); at += size {
		from := 0
		for d := range rank {
			i := index[d][pos[d]]
			if i < 0 {
				from = -1
				break
			}
			from += i * st[d]
		}
		if from < 0 {
			copy(dst[at:at+size], val)
		} else {
			copy(dst[at:at+size], x.Data[from*size:])
		}
		for d := rank - 1; d >= 0; d-- {
			if pos[d]++; pos[d] < int(shape[d]) {
				break
			}
			pos[d] = 0
		}
	}
}

// bandPart keeps lower diagonals under and upper ones over the main diagonal of
// the last two dimensions; negative keeps all.
func bandPart(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	lower, upper := c.int(ir.ParamLower, -1), c.int(ir.ParamUpper, -1)
	if c.err == nil && x.Type.Rank() < 2 {
		return c.fail("x has shape %s, needs two dimensions", ir.ShapeString(x.Type.Shape))
	}
	if c.err != nil || !c.reserve(int64(len(x.Data))) {
		return nil
	}
	data := slices.Clone(x.Data)
	rows, cols := x.Type.Shape[x.Type.Rank()-2], x.Type.Shape[x.Type.Rank()-1]
	for i := range x.Elems() {
		r, k := int64(i)/cols%rows, int64(i)%cols
		if lower >= 0 && r-k > lower || upper >= 0 && k-r > upper {
			clear(data[i*size : (i+1)*size])
		}
	}
	return results(Tensor{Type: x.Type, Data: data})
}

// slidingWindows replaces an axis by two: the windows, and the place in one.
func slidingWindows(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	axis := c.axis(ir.ParamAxis, 0, x.Type.Rank())
	n, stride := c.int(ir.ParamSize, 0), c.int(ir.ParamStride, 1)
	if c.err != nil {
		return nil
	}
	whole := x.Type.Shape[axis]
	if n < 1 || n > whole || stride < 1 || stride >= maxDim {
		return c.fail("size %d and stride %d do not fit axis %d of %d elements", n, stride, axis, whole)
	}
	st := strides(x.Type.Shape)
	shape := slices.Insert(slices.Clone(x.Type.Shape), axis+1, n)
	shape[axis] = (whole-n)/stride + 1
	st = slices.Insert(st, axis, st[axis]*int(stride))
	return results(c.gatherStrided(x, size, shape, 0, st))
}

// crop removes borders of the last two dimensions.
func crop(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	h, w := c.intsN(ir.ParamCropHeight, 2, 0), c.intsN(ir.ParamCropWidth, 2, 0)
	rank := x.Type.Rank()
	if c.err == nil && rank < 2 {
		return c.fail("x has shape %s, needs two dimensions", ir.ShapeString(x.Type.Shape))
	}
	if c.err != nil {
		return nil
	}
	shape, st, base := slices.Clone(x.Type.Shape), strides(x.Type.Shape), 0
	for i, cut := range [][]int64{h, w} {
		d := rank - 2 + i
		if cut[0] < 0 || cut[1] < 0 || cut[0] > shape[d] || cut[1] > shape[d]-cut[0] {
			return c.fail("cannot crop %d and %d elements from dimension %d of %d", cut[0], cut[1], d, shape[d])
		}
		base += int(cut[0]) * st[d]
		shape[d] -= cut[0] + cut[1]
	}
	return results(c.gatherStrided(x, size, shape, base, st))
}
