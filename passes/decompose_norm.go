package passes

import (
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// normDecompositions are the decompositions of normalisations and of pooling with a norm.
var normDecompositions = []Decomposition{
	{Name: "merged-axes", Ops: ops{ir.OpLayerNorm}, Covers: "constant gamma and beta, axes that follow each other",
		Doc: "layer_norm over one dimension that is all of them, between reshapes", apply: mergedAxes},
	{Name: "layer-norm-of-planes", Ops: ops{ir.OpInstanceNorm},
		Doc: "layer_norm over the spatial axes, mul by gamma, add of beta", apply: normOfPlanes},
	{Name: "scaled-quotient", Ops: ops{ir.OpL2Norm},
		Doc: "the operand over its largest magnitude, times rsqrt of its reduce_sum_square", apply: scaledQuotient},
	{Name: "band-of-channels", Ops: ops{ir.OpLocalResponseNorm}, Covers: "k above 0",
		Doc: "square, conv with a band of ones over the channels, a power of the sum, mul", apply: bandOfChannels},
	{Name: "root-of-average", Ops: ops{ir.OpL2Pool}, Doc: "square, avg_pool, sqrt, times the root of the window's size",
		apply: rootOfAverage},
}

func mergedAxes(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	axes, err := ir.LayerNormAxes(c.op)
	slices.Sort(axes)
	if err != nil || len(axes) < 2 || axes[len(axes)-1]-axes[0] != len(axes)-1 {
		c.Fail("axes %v do not follow each other, or are one", axes)
	}
	first, last := axes[0], axes[len(axes)-1]
	shape := x.Type.Shape
	n := volume(shape[first : last+1])
	args := []ir.Arg{arg(ir.ParamX, c.Reshape(x, slices.Concat(shape[:first], []int64{n}, shape[last+1:])...)),
		arg(ir.ParamAxes, c.Ints(int64(first)))}
	for _, name := range []ir.ParamName{ir.ParamGamma, ir.ParamBeta} {
		if v := c.op.Arg(name); v != nil && v.IsConst() {
			args = append(args, arg(name, c.computed(v.Const.Float, []int64{n}, v)))
		}
	}
	if eps := c.op.Arg(ir.ParamEpsilon); eps != nil {
		args = append(args, arg(ir.ParamEpsilon, eps))
	}
	c.shaped(c.Do(ir.OpLayerNorm, args...))
}

func normOfPlanes(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	var axes []int64
	for i := 2; i < x.Type.Rank(); i++ {
		axes = append(axes, int64(i))
	}
	y := c.Do(ir.OpLayerNorm, arg(ir.ParamX, x), arg(ir.ParamAxes, c.Ints(axes...)),
		arg(ir.ParamEpsilon, c.op.Arg(ir.ParamEpsilon)))
	if c.op.Arg(ir.ParamGamma) != nil {
		y = c.mul(y, c.channels(ir.ParamGamma, x))
	}
	if c.op.Arg(ir.ParamBeta) != nil {
		y = c.add(y, c.channels(ir.ParamBeta, x))
	}
	c.become(y)
}

// scaledQuotient divides first by the largest magnitude, or by the root of epsilon if that is larger. Then no square is
// greater than 1, and neither is epsilon divided by the square of the divisor.
func scaledQuotient(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	eps := c.float(ir.ParamEpsilon)
	if eps < 0 {
		c.Fail("epsilon is %g", eps)
	}
	r := x.Type.Rank()
	axes := []int{r - 3, r - 2, r - 1}
	root := math.Sqrt(eps)
	most := c.max(c.reduce(ir.OpReduceMax, c.unary(ir.OpAbs, x), axes), c.num(math.Max(leastMagnitude, root)))
	y, shift := c.unitParts(x, most, axes)
	sum := c.reduce(ir.OpReduceSumSquare, y, axes)
	if eps > 0 {
		e := c.div(c.num(math.Ldexp(root, -shift)), most)
		sum = c.add(sum, c.mul(e, e))
	}
	c.become(c.mul(y, c.rsqrt(sum)))
}

// maxUnits is the largest sum of squares of numbers up to 1 that a decomposition computes in fp16.
const maxUnits = 1 << 15

// unitParts returns x divided by most, its largest magnitude. It is multiplied by 2 to the power of -shift if so many
// elements are summed over the axes that the sum of their squares would not be finite.
func (c *decomposer) unitParts(x, most *ir.Value, axes []int) (y *ir.Value, shift int) {
	y = c.div(x, most)
	n := int64(1)
	for _, a := range axes {
		n *= x.Type.Shape[a]
	}
	for ; n > maxUnits; n /= 4 {
		shift++
	}
	if shift > 0 {
		y = c.mul(y, c.num(math.Ldexp(1, -shift)))
	}
	return y, shift
}

// bandOfChannels multiplies x by the root of alpha/size before squaring it, so that the squares are the numbers that
// are added to k.
func bandOfChannels(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	size, _ := ir.ArgInt(c.op, ir.ParamSize)
	alpha, beta, k := c.float(ir.ParamAlpha), c.float(ir.ParamBeta), c.float(ir.ParamK)
	if !(k > 0) || !(alpha >= 0) || size < 1 {
		c.Fail("k is %g and alpha %g, want k above 0 and alpha from 0 on", k, alpha)
	}
	n, channels := x.Type.Shape[0], x.Type.Shape[1]
	image := []int64{n, channels, 1, x.Type.Elems() / (n * channels)}
	if x.Type.Rank() == 4 {
		image = x.Type.Shape
	}
	before, after := size/2, (size-1)/2
	// The numbers to square may be far below 1: their factor is in the band, in two halves of the exponent.
	factor := alpha / float64(size)
	root, err := math.Sqrt(factor), 1.0
	if factor > 0 {
		err = factor / math.Pow(roundedFP16(root), 2)
		root = roundedFP16(root)
	}
	u := c.mul(c.Reshape(x, image...), c.num(root))
	band := c.filled(fmt.Sprint("band of ", size, " ", err), func(i int64) float64 {
		if d := i%channels - i/channels; -before <= d && d <= after {
			return err
		}
		return 0
	}, channels, channels, 1, 1)
	addend := c.filled(fmt.Sprint("k ", k), func(int64) float64 { return k }, channels)
	sum := c.conv(c.mul(u, u), band, addend, []int64{1, 1}, nil, []int64{1, 1}, 1)
	var p *ir.Value
	switch beta {
	case 1:
		c.become(c.div(x, c.Reshape(sum, x.Type.Shape...)))
		return
	case 0.5:
		p = c.rsqrt(sum)
	case 0.75:
		r := c.rsqrt(sum)
		p = c.mul(r, c.unary(ir.OpSqrt, r))
	default:
		p = c.unary(ir.OpExp, c.mul(c.log(sum), c.num(-beta)))
	}
	c.become(c.mul(x, c.Reshape(p, x.Type.Shape...)))
}

// roundedFP16 returns a number rounded to fp16.
func roundedFP16(v float64) float64 { return ir.ConstFloat(ir.FP16, v).Float(0) }

// rootOfAverage averages the squares, because their sum may be larger than fp16 can represent.
func rootOfAverage(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	p, err := ir.PoolAttrs(c.op)
	if err != nil {
		c.Fail("%v", err)
	}
	n := int64(1)
	var pad []int64
	for i, k := range p.Kernel {
		n *= k
		// The padding that the last window needs, with ceil_mode or without.
		after := (p.Out[i]-1)*p.Strides[i] + k - p.In[i] - p.PadBefore[i]
		pad = append(pad, p.PadBefore[i], max(after, 0))
	}
	y := c.Do(ir.OpAvgPool, arg(ir.ParamX, c.mul(x, x)), arg(ir.ParamKernelSizes, c.Ints(p.Kernel...)),
		arg(ir.ParamStrides, c.Ints(p.Strides...)), arg(ir.ParamPadType, c.Str("custom")),
		arg(ir.ParamPad, c.Ints(pad...)), arg(ir.ParamExcludePaddingFromAverage, c.Bool(false)),
		arg(ir.ParamCeilMode, c.Bool(false)))
	c.become(c.mul(c.unary(ir.OpSqrt, y), c.num(math.Sqrt(float64(n)))))
}
