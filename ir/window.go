package ir

import "slices"

// Window is what convolutions and pools share, with defaults and padding resolved. Every slice has one element per
// spatial dimension.
type Window struct {
	Spatial   int     // spatial dimensions, 1 to 3
	Kernel    []int64 // taps
	Strides   []int64
	PadType   string // valid, same, same_lower or custom
	PadBefore []int64
	PadAfter  []int64 // for conv_transpose: elements cropped from the full result; negative adds zeros
	In, Out   []int64 // spatial extents, or Unknown
}

// Conv is the decoded arguments of conv and conv_transpose.
type Conv struct {
	Window
	Dilations  []int64
	Groups     int64
	Transposed bool
}

// Pool is the decoded arguments of a pooling operation. PadAfter is without the part that ceil_mode adds.
type Pool struct {
	Window
	CeilMode       bool
	ExcludePadding bool // avg_pool: padding does not count in the divisor
}

// WindowSame returns the padding that keeps ceil(n/stride) outputs: the total of
// (ceil(n/stride)-1)*stride + extent - n, at least 0, with the odd one after (before, if lower). An
// unknown n with stride 1 still has a known total.
func WindowSame(n, extent, stride int64, lower bool) (before, after int64, ok bool) {
	if n < 0 && stride != 1 {
		return 0, 0, false
	}
	total := extent - 1
	if n >= 0 {
		total = max(0, ((n+stride-1)/stride-1)*stride+extent-n)
	}
	before = total / 2
	if lower {
		before = total - before
	}
	return before, total - before, true
}

// WindowOutput returns the number of windows of the given extent, including dilation, over n padded elements:
// floor((n+before+after-extent)/stride)+1. With ceil the last window may extend past the end, unless it starts in the
// padding after. The result is Unknown if n is, and 0 if no window fits.
func WindowOutput(n, extent, stride, before, after int64, ceil bool) int64 {
	if n < 0 {
		return Unknown
	}
	room := n + before + after - extent
	if room < 0 {
		return 0
	}
	if !ceil {
		return room/stride + 1
	}
	out := (room+stride-1)/stride + 1
	if (out-1)*stride >= n+before {
		out--
	}
	return out
}

// spatialInts reads an argument with one positive integer per spatial dimension.
func spatialInts(op *Op, name ParamName, spatial int, def int64) ([]int64, error) {
	if op.Arg(name) == nil {
		return slices.Repeat([]int64{def}, spatial), nil
	}
	v, err := needInts(op, name)
	if err != nil {
		return nil, err
	}
	if len(v) != spatial {
		return nil, Rulef(name, "%s has %d elements, x has %d spatial dimensions", name, len(v), spatial)
	}
	for i, n := range v {
		if n < 1 || n > maxDim {
			return nil, Rulef(name, "%s[%d] is %d, must be at least 1", name, i, n)
		}
	}
	return v, nil
}

// padding resolves pad_type and pad against the input extents and the extents of the windows.
func (w *Window) padding(op *Op, extent []int64) (err error) {
	if w.PadType, err = needOneOf(op, ParamPadType, "valid", "same", "same_lower", "custom"); err != nil {
		return err
	}
	n := len(w.In)
	w.PadBefore, w.PadAfter = make([]int64, n), make([]int64, n)
	switch {
	case w.same():
		for i := range w.In {
			w.PadBefore[i], w.PadAfter[i], _ = WindowSame(w.In[i], extent[i], w.Strides[i], w.PadType == "same_lower")
		}
	case w.PadType == "custom":
		if op.Arg(ParamPad) == nil {
			return Rulef(ParamPad, "pad_type is custom, but pad is missing")
		}
		p, err := needInts(op, ParamPad)
		if err != nil {
			return err
		}
		if len(p) != 2*n {
			return Rulef(ParamPad, "pad has %d elements, must have two for each of %d spatial dimensions", len(p), n)
		}
		for i, v := range p {
			if v < 0 || v > maxDim {
				return Rulef(ParamPad, "pad[%d] is %d, must not be negative", i, v)
			}
			side := [2][]int64{w.PadBefore, w.PadAfter}[i%2]
			side[i/2] = v
		}
	}
	return nil
}

func (w *Window) same() bool { return w.PadType == "same" || w.PadType == "same_lower" }

// outputs resolves padding and the extents of the results for windows of the given extents; param is their argument.
func (w *Window) outputs(op *Op, extent []int64, ceil bool, param ParamName) error {
	if err := w.padding(op, extent); err != nil {
		return err
	}
	w.Out = make([]int64, w.Spatial)
	for i := range w.Out {
		if w.same() {
			w.Out[i] = ceilDiv(w.In[i], w.Strides[i])
			continue
		}
		w.Out[i] = WindowOutput(w.In[i], extent[i], w.Strides[i], w.PadBefore[i], w.PadAfter[i], ceil)
		if w.Out[i] == 0 {
			return Rulef(param, "the window covers %d elements of spatial dimension %d, but x has %d with %d of "+
				"padding", extent[i], i, w.In[i], w.PadBefore[i]+w.PadAfter[i]).and(ParamX)
		}
	}
	return nil
}

// ConvAttrs decodes conv and conv_transpose. The weight's shape must be known.
func ConvAttrs(op *Op) (Conv, error) {
	c := Conv{Transposed: op.Is(OpConvTranspose)}
	if err := rankIn(op, ParamX, 3, 5); err != nil {
		return c, err
	}
	x, w := op.Arg(ParamX).Type, op.Arg(ParamWeight).Type
	if w.Rank() != x.Rank() {
		return c, Rulef(ParamWeight, "weight has rank %d, x has rank %d", w.Rank(), x.Rank()).and(ParamX)
	}
	if !w.Static() {
		return c, Rulef(ParamWeight, "weight is %s, its shape must be known", w)
	}
	for i, d := range w.Shape {
		if d < 1 {
			return c, Rulef(ParamWeight, "dimension %d of weight is %d", i, d)
		}
	}
	c.Spatial = x.Rank() - 2
	c.In, c.Kernel = x.Shape[2:], w.Shape[2:]
	var err error
	if c.Strides, err = spatialInts(op, ParamStrides, c.Spatial, 1); err != nil {
		return c, err
	}
	if c.Dilations, err = spatialInts(op, ParamDilations, c.Spatial, 1); err != nil {
		return c, err
	}
	if c.Groups, err = needInt(op, ParamGroups); err != nil {
		return c, err
	}
	if c.Groups < 1 {
		return c, Rulef(ParamGroups, "groups is %d, must be at least 1", c.Groups)
	}
	extent := make([]int64, c.Spatial)
	for i := range extent {
		if (c.Kernel[i] - 1) > maxDim/c.Dilations[i] {
			return c, Rulef(ParamDilations, "dilations[%d] is %d, too large for %d taps", i, c.Dilations[i],
				c.Kernel[i])
		}
		extent[i] = (c.Kernel[i]-1)*c.Dilations[i] + 1
	}
	if c.Transposed {
		return c, c.transposed(op, extent)
	}
	err = c.outputs(op, extent, false, ParamWeight)
	return c, err
}

func ceilDiv(n, d int64) int64 {
	if n < 0 {
		return Unknown
	}
	return (n + d - 1) / d
}

// transposed resolves padding and extents of conv_transpose: the full result
// has (n-1)*stride + extent elements, from which padding is cropped.
func (c *Conv) transposed(op *Op, extent []int64) (err error) {
	if err := c.padding(op, extent); err != nil {
		return err
	}
	var want []int64
	if op.Arg(ParamOutputShape) != nil {
		if want, err = needInts(op, ParamOutputShape); err != nil {
			return err
		}
		if len(want) != c.Spatial+2 {
			return Rulef(ParamOutputShape, "output_shape has %d elements, x has rank %d", len(want), c.Spatial+2)
		}
		want = want[2:]
	}
	c.Out = make([]int64, c.Spatial)
	for i, n := range c.In {
		if n == 0 {
			return Rulef(ParamX, "spatial dimension %d of x is empty", i)
		}
		same := c.same()
		if want == nil && n < 0 {
			c.Out[i] = Unknown
			if same {
				c.cut(i, extent[i]-c.Strides[i])
			}
			continue
		}
		full := (n-1)*c.Strides[i] + extent[i]
		switch {
		case want != nil:
			c.Out[i] = want[i]
		case same:
			c.Out[i] = n * c.Strides[i]
		default:
			c.Out[i] = full - c.PadBefore[i] - c.PadAfter[i]
		}
		if c.Out[i] < 1 {
			return Rulef(ParamPad, "spatial dimension %d of the result has %d elements", i, c.Out[i])
		}
		switch {
		case n < 0: // the extents resolve if the extents of x are known
		case same:
			c.cut(i, full-c.Out[i])
		default:
			c.PadAfter[i] = full - c.Out[i] - c.PadBefore[i]
		}
	}
	return nil
}

// cut splits the elements that same removes: the smaller half at the start (the larger for
// same_lower); a negative total adds zeros at the end.
func (c *Conv) cut(i int, total int64) {
	before := max(0, total) / 2
	if c.PadType == "same_lower" {
		before = max(0, total) - before
	}
	c.PadBefore[i], c.PadAfter[i] = before, total-before
}

// PoolAttrs decodes avg_pool, max_pool and l2_pool.
func PoolAttrs(op *Op) (Pool, error) {
	var p Pool
	if err := rankIn(op, ParamX, 3, 5); err != nil {
		return p, err
	}
	x := op.Arg(ParamX).Type
	p.Spatial, p.In = x.Rank()-2, x.Shape[2:]
	var err error
	if p.Kernel, err = spatialInts(op, ParamKernelSizes, p.Spatial, 1); err != nil {
		return p, err
	}
	if p.Strides, err = spatialInts(op, ParamStrides, p.Spatial, 1); err != nil {
		return p, err
	}
	if p.CeilMode, err = needBool(op, ParamCeilMode); err != nil {
		return p, err
	}
	if op.Def.ParamIndex(ParamExcludePaddingFromAverage) >= 0 {
		if p.ExcludePadding, err = needBool(op, ParamExcludePaddingFromAverage); err != nil {
			return p, err
		}
	}
	err = p.outputs(op, p.Kernel, p.CeilMode, ParamKernelSizes)
	return p, err
}
