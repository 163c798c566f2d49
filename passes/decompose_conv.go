package passes

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// convolutionDecompositions are the decompositions of convolutions.
var convolutionDecompositions = []Decomposition{
	{Name: "phases", Ops: ops{ir.OpConvTranspose},
		Doc: "a conv for every remainder of a result's position divided by the stride, with the taps that reach it; " +
			"the results interleaved",
		Covers: "a constant weight", apply: phases},
	{Name: "depth-as-channels", Ops: ops{ir.OpConv},
		Doc: "a conv for every plane of the result, which has the planes of the operand that reach it as " +
			"channels; the results stacked",
		Covers: "three spatial dimensions and a constant weight", apply: depthAsChannels},
	{Name: "strides-as-channels", Ops: ops{ir.OpConv},
		Doc: "the elements of each stride as channels, and a conv without strides, whose kernel is that many times " +
			"smaller",
		Covers: "strides and a constant weight", apply: stridesAsChannels},
	{Name: "plane-by-plane", Ops: ops{ir.OpMaxPool, ir.OpAvgPool},
		Doc: "a pool of rows and columns, then one of planes", Covers: "three spatial dimensions",
		apply: planeByPlane},
	{Name: "padding-first", Ops: ops{ir.OpAvgPool},
		Doc:    "pad, then a pool that does not count elements outside the padding",
		Covers: "averages that count the padding, with ceil_mode", apply: paddingFirst},
	{Name: "reduction", Ops: ops{ir.OpMaxPool, ir.OpAvgPool}, Doc: "reduce_max or reduce_mean",
		Covers: "a window over all of the image", apply: wholeWindow},
}

// phase is what one axis of a transposed convolution computes for every stride-th element of its result, starting at
// element r: the sum over taps m of weight[tap-m*tapStep] times x[q-before+m*dilation].
type phase struct {
	taps, tap, tapStep int64
	dilation           int64
	before, after      int64 // padding
	size               int64 // elements of the convolution that are kept
}

// weight returns the tap of the transposed convolution that tap m of the phase is, or false if m is only filler.
func (p *phase) weight(m, kernel int64) (int64, bool) {
	t := p.tap - m*p.tapStep
	return t, 0 <= t && t < kernel
}

// axisPhase returns the phase of an axis at element r of each stride. Element q*stride+r of the result is the sum of
// weight[t]*x[i] over all taps and elements with i*stride + t*dilation = q*stride + r + lead, where lead is the number
// of elements cut from the front.
func axisPhase(a *ir.Conv, axis int, r int64) phase {
	stride, dilation, kernel := a.Strides[axis], a.Dilations[axis], a.Kernel[axis]
	at := r + a.PadBefore[axis]
	p := phase{taps: 1, tap: -1, tapStep: 1, dilation: 1, size: (a.Out[axis] - r + stride - 1) / stride}
	// The taps that reach the phase are tapStep apart, and read elements dilation apart.
	g := gcd(stride, dilation)
	p.tapStep, p.dilation = stride/g, dilation/g
	for t := min(kernel, p.tapStep) - 1; t >= 0; t-- {
		if mod(at-t*dilation, stride) == 0 {
			p.tap = t
		}
	}
	first := int64(0) // the element of x that tap 0 reads for the first element of the result
	if p.tap >= 0 {
		p.taps = (kernel-1-p.tap)/p.tapStep + 1
		p.tap += (p.taps - 1) * p.tapStep // the last tap reads the first element
		first = floorDiv(at-p.tap*dilation, stride)
	}
	for first > 0 { // a tap of zero in front, since no element is skipped
		first -= p.dilation
		p.tap += p.tapStep
		p.taps++
	}
	p.before = -first
	p.after = max(p.size-a.In[axis]-p.before+(p.taps-1)*p.dilation, 0)
	return p
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func mod(a, b int64) int64 { return (a%b + b) % b }

func floorDiv(a, b int64) int64 { return (a - mod(a, b)) / b }

// phases writes a transposed convolution as convolutions without multiplications by the zeros between the elements of
// the operand.
func phases(c *decomposer) {
	a, _ := c.convolution()
	c.become(c.axisPhases(&a, c.op.Arg(ir.ParamX), nil))
}

// convolution returns the attributes of a convolution and its constant weight.
func (c *decomposer) convolution() (ir.Conv, *ir.Const) {
	w := c.op.Arg(ir.ParamWeight)
	a, err := ir.ConvAttrs(c.op)
	switch {
	case err != nil:
		c.Fail("%v", err)
	case !w.IsConst():
		c.Fail("the weight is known only at run time")
	}
	return a, w.Const
}

// axisPhases returns the result for the phases chosen so far, which belong to the first axes.
func (c *decomposer) axisPhases(a *ir.Conv, x *ir.Value, chosen []phase) *ir.Value {
	axis := len(chosen)
	if axis == a.Spatial {
		return c.phase(a, x, chosen)
	}
	var parts []*ir.Value
	n := min(a.Strides[axis], a.Out[axis])
	for r := range n {
		p := axisPhase(a, axis, r)
		parts = append(parts, c.axisPhases(a, x, append(slices.Clone(chosen), p)))
	}
	return c.interleaved(axis+2, a.Out[axis], parts)
}

// phase writes one convolution.
func (c *decomposer) phase(a *ir.Conv, x *ir.Value, axes []phase) *ir.Value {
	w, bias := c.op.Arg(ir.ParamWeight), c.op.Arg(ir.ParamBias)
	perGroup := w.Type.Shape[1]
	in := w.Type.Shape[0] / a.Groups
	shape := []int64{perGroup * a.Groups, in}
	var pad, dilations, ones []int64
	for _, p := range axes {
		shape = append(shape, p.taps)
		pad, dilations, ones = append(pad, p.before, p.after), append(dilations, p.dilation), append(ones, 1)
	}
	from := w.Const
	taps := c.computed(func(i int64) float64 {
		at, scale := int64(0), int64(1)
		for d := len(axes) - 1; d >= 0; d-- {
			t, ok := axes[d].weight(i%shape[2+d], a.Kernel[d])
			if i /= shape[2+d]; !ok {
				return 0
			}
			at, scale = at+t*scale, scale*a.Kernel[d]
		}
		ci, co := i%in, i/in
		return from.Float(((co/perGroup*in+ci)*perGroup+co%perGroup)*scale + at)
	}, shape, w)
	y := c.conv(x, taps, bias, ones, pad, dilations, a.Groups)
	for d, p := range axes {
		if y.Type.Shape[2+d] > p.size {
			y = c.Slice(y, 2+d, 0, p.size)
		}
	}
	return y
}

// depthAsChannels writes a convolution over planes, rows and columns. The planes that one plane of the result reads
// become consecutive channels, so each plane is one convolution over rows and columns that sums in the engine; with
// groups, one for each group.
func depthAsChannels(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	a, w := c.convolution()
	bias := c.op.Arg(ir.ParamBias)
	switch {
	case a.Spatial != 3:
		c.Fail("it has %d spatial dimensions", a.Spatial)
	case bias != nil && !bias.IsConst():
		c.Fail("the bias is known only at run time")
	case x.Type.Shape[0]*a.Groups*a.Out[0] > maxPlanes:
		c.past("convolutions of planes", x.Type.Shape[0]*a.Groups*a.Out[0], maxPlanes)
	}
	in, depth := w.Type.Shape[1], a.In[0]
	out := w.Type.Shape[0] / a.Groups
	reach := (a.Kernel[0]-1)*a.Dilations[0] + 1 // planes from the first to the last that are read
	// taps are the weights of a group for the planes lo to hi of the reach.
	type window struct{ group, lo, hi int64 }
	made := map[window]*ir.Value{}
	taps := func(k window) *ir.Value {
		if v := made[k]; v != nil {
			return v
		}
		planes := k.hi - k.lo
		made[k] = c.computed(func(i int64) float64 {
			at := i % (a.Kernel[1] * a.Kernel[2])
			i /= a.Kernel[1] * a.Kernel[2]
			plane := k.lo + i%(planes*in)/in
			ci, co := i%in, i/(planes*in)
			if plane < 0 || plane >= reach || plane%a.Dilations[0] != 0 {
				return 0
			}
			row := ((k.group*out+co)*in+ci)*a.Kernel[0] + plane/a.Dilations[0]
			return w.Float(row*a.Kernel[1]*a.Kernel[2] + at)
		}, []int64{out, planes * in, a.Kernel[1], a.Kernel[2]}, c.op.Arg(ir.ParamWeight))
		return made[k]
	}
	pad := []int64{a.PadBefore[1], a.PadAfter[1], a.PadBefore[2], a.PadAfter[2]}
	groups := make([][]*ir.Value, x.Type.Shape[0]) // by image
	for g := range a.Groups {
		var part *ir.Value
		if bias != nil {
			part = c.computed(func(i int64) float64 { return bias.Const.Float(g*out + i) }, []int64{out}, bias)
		}
		for n := range groups {
			v := c.Slice(c.Slice(x, 0, int64(n), int64(n)+1), 1, g*in, (g+1)*in)
			v = c.Reshape(c.Transpose(v, 0, 2, 1, 3, 4), 1, depth*in, a.In[1], a.In[2])
			var planes []*ir.Value
			for z := range a.Out[0] {
				first := z*a.Strides[0] - a.PadBefore[0]
				lo, hi := max(first, 0), min(first+reach, depth)
				if lo >= hi { // only padding: one plane times zeros
					lo, hi = 0, 1
				}
				weight := taps(window{g, lo - first, hi - first})
				y := c.conv(c.Slice(v, 1, lo*in, hi*in), weight, part, a.Strides[1:], pad, a.Dilations[1:], 1)
				planes = append(planes, y)
			}
			groups[n] = append(groups[n], c.stacked(2, planes))
		}
	}
	images := make([]*ir.Value, len(groups))
	for n := range groups {
		images[n] = c.joined(1, groups[n])
	}
	c.become(c.joined(0, images))
}

// stridesAsChannels writes a convolution, such as one over patches of an image or frames of a signal, as one without
// strides: element i*stride + r of an axis becomes element i of a channel of its own, and tap t*stride + r of the
// kernel tap t of that channel.
func stridesAsChannels(c *decomposer) {
	a, w := c.convolution()
	x, bias := c.op.Arg(ir.ParamX), c.op.Arg(ir.ParamBias)
	if a.Spatial > 2 || !slices.ContainsFunc(a.Strides, func(n int64) bool { return n > 1 }) {
		c.Fail("it has %d spatial dimensions with strides of %d", a.Spatial, a.Strides)
	}
	n, in := x.Type.Shape[0], x.Type.Shape[1]
	pad, sizes := make([]int64, 2*a.Spatial), make([]int64, a.Spatial)
	factors, to := []int64{n, in}, []int{0, 1}
	taps, ones := make([]int64, a.Spatial), make([]int64, a.Spatial)
	all := int64(1) // strides multiplied
	for i, stride := range a.Strides {
		taps[i] = (a.Dilations[i]*(a.Kernel[i]-1) + stride) / stride
		sizes[i], ones[i] = a.Out[i]+taps[i]-1, 1
		pad[2*i] = a.PadBefore[i]
		pad[2*i+1] = max(sizes[i]*stride-a.In[i]-a.PadBefore[i], 0)
		factors, to = append(factors, sizes[i], stride), append(to, 3+2*i)
		most := c.s.Target
		if longest := int64(max(most.MaxKernelW, most.MaxKernelH)); taps[i] > longest {
			c.past("taps of a stride", taps[i], longest)
		}
		if stride > int64(most.MaxChannels)/in/all {
			c.past(fmt.Sprintf("channels for a stride of %d", stride), in*all, int64(most.MaxChannels)/stride)
		}
		all *= stride
	}
	for i := range a.Spatial {
		to = append(to, 2+2*i)
	}
	v := c.Pad(x, pad)
	for i, stride := range a.Strides {
		v = c.cut(v, 2+i, 0, sizes[i]*stride)
	}
	v = c.Reshape(c.arranged(v, factors, 2, to, 1), append([]int64{n, in * all}, sizes...)...)
	shape := append([]int64{w.Type.Shape[0], w.Type.Shape[1] * all}, taps...)
	weight := c.computed(func(i int64) float64 {
		var tap [2]int64 // of the new kernel, then of the old one
		for k := a.Spatial - 1; k >= 0; k-- {
			tap[k], i = i%taps[k], i/taps[k]
		}
		for k := a.Spatial - 1; k >= 0; k-- {
			tap[k], i = tap[k]*a.Strides[k]+i%a.Strides[k], i/a.Strides[k]
		}
		for k := range a.Spatial {
			if tap[k]%a.Dilations[k] != 0 || tap[k]/a.Dilations[k] >= a.Kernel[k] {
				return 0
			}
			i = i*a.Kernel[k] + tap[k]/a.Dilations[k]
		}
		return w.Float(i)
	}, shape, c.op.Arg(ir.ParamWeight))
	c.become(c.conv(v, weight, bias, ones, nil, ones, a.Groups))
}

// maxPlanes limits the number of convolutions that one over planes becomes.
const maxPlanes = 1024

// pool writes a pool like the operation's over the axes of the given windows, with the padding before and after each; a
// ceil_mode window may extend beyond the padding.
func (c *decomposer) pool(x *ir.Value, kernel, strides, pad []int64, exclude, ceil bool) *ir.Value {
	args := []ir.Arg{arg(ir.ParamX, x), arg(ir.ParamKernelSizes, c.Ints(kernel...)),
		arg(ir.ParamStrides, c.Ints(strides...)),
		arg(ir.ParamPadType, c.Str("custom")), arg(ir.ParamPad, c.Ints(pad...)), arg(ir.ParamCeilMode, c.Bool(ceil))}
	if c.op.Is(ir.OpAvgPool) {
		args = append(args, arg(ir.ParamExcludePaddingFromAverage, c.Bool(exclude)))
	}
	return c.Do(c.op.Def.Operation, args...)
}

// pooling returns the attributes of a pool.
func (c *decomposer) pooling() ir.Pool {
	a, err := ir.PoolAttrs(c.op)
	if err != nil {
		c.Fail("%v", err)
	}
	return a
}

// padding returns the padding of a pool in the form of an argument.
func padding(a *ir.Pool) (pad []int64) {
	for i := range a.Spatial {
		pad = append(pad, a.PadBefore[i], a.PadAfter[i])
	}
	return pad
}

// planeByPlane pools rows and columns of every plane, then planes. The maximum is the maximum of the planes' maxima,
// and the mean the mean of their means, since the counts multiply.
func planeByPlane(c *decomposer) {
	x, a := c.op.Arg(ir.ParamX), c.pooling()
	if a.Spatial != 3 {
		c.Fail("it has %d spatial dimensions", a.Spatial)
	}
	pad := padding(&a)
	n := x.Type.Shape[0] * x.Type.Shape[1]
	d, h, w := a.In[0], a.Out[1], a.Out[2]
	v := c.Reshape(x, 1, n*d, a.In[1], a.In[2])
	v = c.pool(v, a.Kernel[1:], a.Strides[1:], pad[2:], a.ExcludePadding, a.CeilMode)
	v = c.Transpose(c.Reshape(v, n, d, h, w), 0, 2, 1, 3)
	v = c.Reshape(v, 1, n*h, d, w)
	v = c.pool(v, []int64{a.Kernel[0], 1}, []int64{a.Strides[0], 1}, []int64{pad[0], pad[1], 0, 0}, a.ExcludePadding,
		a.CeilMode)
	v = c.Transpose(c.Reshape(v, n, h, a.Out[0], w), 0, 2, 1, 3)
	c.shaped(v)
}

// paddingFirst writes the padding that an average counts as zeros, so that only the parts of windows beyond it are left
// out.
func paddingFirst(c *decomposer) {
	x, a := c.op.Arg(ir.ParamX), c.pooling()
	if !a.CeilMode || a.ExcludePadding {
		c.Fail("the engine's pool takes it")
	}
	x = c.Pad(x, padding(&a))
	c.become(c.pool(x, a.Kernel, a.Strides, make([]int64, 2*a.Spatial), true, true))
}

// wholeWindow reduces an image to one element per channel.
func wholeWindow(c *decomposer) {
	a := c.pooling()
	var axes []int
	for i := range a.Spatial {
		if a.Kernel[i] != a.In[i] || a.Out[i] != 1 || a.PadBefore[i] != 0 || a.PadAfter[i] != 0 {
			c.Fail("its window is not the whole image")
		}
		axes = append(axes, 2+i)
	}
	o := ir.OpReduceMax
	if c.op.Is(ir.OpAvgPool) {
		o = ir.OpReduceMean
	}
	c.become(c.reduce(o, c.op.Arg(ir.ParamX), axes))
}
