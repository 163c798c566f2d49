package passes

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// convolutionCompositions are those of convolutions.
var convolutionCompositions = []Composition{
	{Name: "phases", Ops: ops{ir.OpConvTranspose},
		Doc: "a conv for every remainder of a result's place by the stride, with the taps that reach it; " +
			"the results interleaved",
		Covers: "a constant weight and one or two spatial dimensions", apply: phases},
}

// phase is what one axis of a transposed convolution gives at every stride-th element of
// its result, from element r on: the sum over taps m of weight[tap-m*tapStep] times
// x[q-before+m*dilation].
type phase struct {
	taps, tap, tapStep int64
	dilation           int64
	before, after      int64 // padding
	size               int64 // elements of the convolution that are kept
}

// weight returns the tap of the transposed convolution that tap m of the phase is, or
// false where m only fills up.
func (p *phase) weight(m, kernel int64) (int64, bool) {
	t := p.tap - m*p.tapStep
	return t, 0 <= t && t < kernel
}

// axisPhase returns the phase of an axis at element r of each stride. Element q*stride+r of
// the result is the sum of weight[t]*x[i] over all taps and elements with
// i*stride + t*dilation = q*stride + r + lead, lead being what is cut from the front.
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
	first := int64(0) // of x, that tap 0 reads for the first element
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

// phases writes a transposed convolution as convolutions without multiplications by the
// zeros that lie between the elements of the operand.
func phases(c *composer) {
	x, w := c.op.Arg(ir.ParamX), c.op.Arg(ir.ParamWeight)
	a, err := ir.ConvAttrs(c.op)
	switch {
	case err != nil:
		c.decline("%v", err)
		return
	case !w.IsConst():
		c.decline("the weight is known only at run time")
		return
	case a.Spatial > 2:
		c.decline("it has %d spatial dimensions; the engine convolves over 1 or 2", a.Spatial)
		return
	}
	c.become(c.axisPhases(&a, x, nil))
}

// axisPhases returns the result for the phases chosen so far, those of the first axes.
func (c *composer) axisPhases(a *ir.Conv, x *ir.Value, chosen []phase) *ir.Value {
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
	return c.interleave(axis+2, a.Out[axis], parts)
}

// phase is one convolution.
func (c *composer) phase(a *ir.Conv, x *ir.Value, axes []phase) *ir.Value {
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
	args := []arg{{ir.ParamX, x}, {ir.ParamWeight, taps}}
	if bias != nil {
		args = append(args, arg{ir.ParamBias, bias})
	}
	y := c.do(ir.OpConv, append(args, arg{ir.ParamStrides, c.ints(ones...)}, arg{ir.ParamPadType, c.str("custom")},
		arg{ir.ParamPad, c.ints(pad...)}, arg{ir.ParamDilations, c.ints(dilations...)},
		arg{ir.ParamGroups, c.int(a.Groups)})...)
	for d, p := range axes {
		if c.err == nil && y.Type.Shape[2+d] > p.size {
			y = c.slice(y, 2+d, 0, p.size)
		}
	}
	return y
}

// interleave joins values along an axis, one element of each in turn, n elements in all.
// A value may lack the last element. Rows are interleaved by placing them; elements of
// rows as rows of the transposed.
func (c *composer) interleave(axis int, n int64, vs []*ir.Value) *ir.Value {
	if c.err != nil || len(vs) == 1 {
		return vs[0]
	}
	rank := vs[0].Type.Rank()
	if axis == rank-1 {
		turned := make([]int64, rank)
		for i := range turned {
			turned[i] = int64(i)
		}
		turned[axis], turned[axis-1] = turned[axis-1], turned[axis]
		rows := make([]*ir.Value, len(vs))
		for i, v := range vs {
			if i > 0 && v == vs[i-1] {
				rows[i] = rows[i-1]
				continue
			}
			rows[i] = c.transpose(v, turned...)
		}
		if v := c.interleave(axis-1, n, rows); c.err == nil {
			return c.transpose(v, turned...)
		}
		return nil
	}
	each := vs[0].Type.Shape[axis]
	for i, v := range vs {
		if v.Type.Shape[axis] < each { // one of any value takes its place, and is cut off
			vs[i] = c.concat(axis, v, c.slice(v, axis, 0, 1))
		}
	}
	args := []arg{{ir.ParamAxis, c.int(int64(axis + 1))}}
	for _, v := range vs {
		args = append(args, arg{ir.ParamValues, v})
	}
	v := c.do(ir.OpStack, args...)
	if c.err != nil {
		return nil
	}
	shape := slices.Clone(vs[0].Type.Shape)
	shape[axis] = each * int64(len(vs))
	v = c.reshape(v, shape...)
	if c.err == nil && shape[axis] > n {
		v = c.slice(v, axis, 0, n)
	}
	return v
}
