package prove

import (
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// affine is a value as a constant factor and addend for each channel of another value, or of its product with a
// constant.
type affine struct {
	base    *ir.Value
	product *ir.Op    // the product with a constant that reads base; nil if there is none
	weights []float64 // of the product, by output
	dim     int       // of the channels
	scale   []float64
	shift   []float64
	size    []float64 // sum of the magnitudes that the shift is the sum of
	steps   int       // roundings, each of half a unit in the last place of fp16
}

// affineOf follows a value back through operations with a constant for each channel along dim.
func affineOf(v *ir.Value, dim, channels int) *affine {
	a := &affine{base: v, dim: dim, scale: make([]float64, channels), shift: make([]float64, channels),
		size: make([]float64, channels)}
	for i := range a.scale {
		a.scale[i] = 1
	}
	for a.base.Def != nil && a.step(a.base.Def) {
	}
	return a
}

// through replaces the base, which is m x + c, by x. nil stands for ones or zeros.
func (a *affine) through(x *ir.Value, m, c []float64) {
	for i := range a.scale {
		if c != nil {
			d := a.scale[i] * c[i]
			a.shift[i] += d
			a.size[i] += math.Abs(d)
		}
		if m != nil {
			a.scale[i] *= m[i]
		}
	}
	a.base = x
	a.steps++
}

// step follows one operation, and reports whether there may be another before it.
func (a *affine) step(op *ir.Op) bool {
	x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	switch {
	case op.Is(ir.OpConv, ir.OpLinear, ir.OpMatMul):
		a.multiplied(op)
		return false
	case op.Is(ir.OpBatchNorm):
		return a.normalised(op)
	case !op.Is(ir.OpMul, ir.OpAdd, ir.OpSub, ir.OpRealDiv):
		return false
	case x.IsConst() && op.Is(ir.OpMul, ir.OpAdd):
		x, y = y, x
	}
	c := a.channel(y)
	if c == nil || x.IsConst() || !x.Type.Equal(op.Results[0].Type) {
		return false
	}
	for i := range c {
		if op.Is(ir.OpRealDiv) {
			c[i] = 1 / c[i]
		} else if op.Is(ir.OpSub) {
			c[i] = -c[i]
		}
	}
	if op.Is(ir.OpMul, ir.OpRealDiv) {
		a.through(x, c, nil)
	} else {
		a.through(x, nil, c)
	}
	return true
}

// channel returns the number of each channel in a constant that varies along no other dimension, or nil.
func (a *affine) channel(v *ir.Value) []float64 {
	if v.IsConst() && v.Type.DType.IsFloat() && v.Type.Elems() == 1 {
		return slices.Repeat(v.Const.Floats(), len(a.scale))
	}
	after := a.base.Type.Rank() - 1 - a.dim // dimensions after the channels
	at := v.Type.Rank() - 1 - after
	if at < 0 || int(v.Type.Shape[at]) != len(a.scale) || !v.Type.DType.IsFloat() {
		return nil
	}
	return a.list(v, 0)
}

// list returns a constant with a number for each channel, nil for others; absent stands for each of none.
func (a *affine) list(v *ir.Value, absent float64) []float64 {
	switch {
	case v == nil:
		return slices.Repeat([]float64{absent}, len(a.scale))
	case !v.IsConst() || int(v.Type.Elems()) != len(a.scale):
		return nil
	}
	return v.Const.Floats()
}

// normalised follows a batch norm with known statistics: (x - mean) gamma / sqrt(variance + epsilon) + beta.
func (a *affine) normalised(op *ir.Op) bool {
	mean, variance := a.list(op.Arg(ir.ParamMean), 0), a.list(op.Arg(ir.ParamVariance), 1)
	gamma, beta := a.list(op.Arg(ir.ParamGamma), 1), a.list(op.Arg(ir.ParamBeta), 0)
	eps, ok := ir.ArgFloat(op, ir.ParamEpsilon)
	if a.dim != 1 || !ok || mean == nil || variance == nil || gamma == nil || beta == nil {
		return false
	}
	factor, addend := make([]float64, len(mean)), make([]float64, len(mean))
	for i := range factor {
		factor[i] = gamma[i] / math.Sqrt(variance[i]+eps)
		addend[i] = beta[i] - mean[i]*factor[i]
		// The addend is a difference.
		a.size[i] += math.Abs(a.scale[i]) * (math.Abs(beta[i]) + math.Abs(mean[i]*factor[i]))
	}
	a.through(op.Arg(ir.ParamX), factor, addend)
	a.steps += 2
	return true
}

// multiplied ends with a product with a constant.
func (a *affine) multiplied(op *ir.Op) {
	name, out := ir.ParamWeight, 1
	if !op.Is(ir.OpConv) {
		out = a.base.Type.Rank() - 1
	}
	if op.Is(ir.OpMatMul) {
		name = ir.ParamY
	}
	w, bias := op.Arg(name), a.list(op.Arg(ir.ParamBias), 0)
	if !w.IsConst() || bias == nil || a.dim != out || op.Is(ir.OpMatMul) && w.Type.Rank() != 2 {
		return
	}
	rows := len(a.scale)
	ws := w.Const.Floats()
	if transposed, _ := ir.ArgBool(op, ir.ParamTransposeY); op.Is(ir.OpMatMul) && !transposed {
		t := make([]float64, len(ws))
		for i := range ws {
			t[i%rows*(len(ws)/rows)+i/rows] = ws[i]
		}
		ws = t
	}
	a.through(op.Arg(ir.ParamX), nil, bias)
	a.product, a.weights = op, ws
}

// maxAlike bounds the operations between a value and the affine functions that it depends on.
const maxAlike = 4

// alike reports that two values are the same but for the rounding of constants: affine functions of the same value, or
// the same operation on such.
func (s *source) alike(v, w *ir.Value, depth int) (why string, ok bool) {
	if v.Name == w.Name && s.agrees(v.Name) {
		return "", true
	}
	if why, ok := s.affine(v, w); ok {
		return why, true
	}
	a, b := v.Def, w.Def
	if depth == maxAlike || a == nil || b == nil || a.Def != b.Def || len(a.Blocks) > 0 || a.Results[0] != v ||
		b.Results[0] != w || a.Def.Effect != ir.Pure {
		return "", false
	}
	for i, args := range a.Args {
		if len(args) != len(b.Args[i]) {
			return "", false
		}
		for k, x := range args {
			y := b.Args[i][k]
			if x.IsConst() || y.IsConst() {
				if !x.IsConst() || !y.IsConst() || !sameConst(x.Const, y.Const) {
					return "", false
				}
				continue
			}
			how, ok := s.alike(x, y, depth+1)
			if !ok {
				return "", false
			}
			why = max(why, how)
		}
	}
	return why, true
}

// affine reports that a value is the same affine function of the same value in both programs: the factors and addends
// of each are computed in float64 from its constants, and differ by no more than the constants are rounded.
func (s *source) affine(v, w *ir.Value) (string, bool) {
	// Values of different shapes may be the same numbers, but their channels are not.
	if w.Def == nil || !v.Type.DType.IsFloat() || !v.Type.Static() || !slices.Equal(v.Type.Shape, w.Type.Shape) {
		return "", false
	}
	for dim := range v.Type.Rank() {
		n := int(v.Type.Shape[dim])
		a, b := affineOf(v, dim, n), affineOf(w, dim, n)
		if steps := a.steps + b.steps; steps > 0 && a.base.Name == b.base.Name && s.agrees(a.base.Name) &&
			sameProduct(a.product, b.product) && a.near(b, steps) {
			return fmt.Sprintf("the constants are those of the source within %d roundings to fp16", steps), true
		}
	}
	return "", false
}

// sameProduct reports whether two products treat their operand and the weights in the same way.
func sameProduct(a, b *ir.Op) bool {
	if a == nil || b == nil || !a.Is(ir.OpConv) || !b.Is(ir.OpConv) {
		flat := func(op *ir.Op) bool {
			transposed := false
			if op != nil && op.Is(ir.OpMatMul) {
				transposed, _ = ir.ArgBool(op, ir.ParamTransposeX)
			}
			return op != nil && op.Is(ir.OpLinear, ir.OpMatMul) && !transposed
		}
		return a == nil && b == nil || flat(a) && flat(b)
	}
	p, err := ir.ConvAttrs(a)
	q, other := ir.ConvAttrs(b)
	return err == nil && other == nil && p.Groups == q.Groups && slices.Equal(p.Strides, q.Strides) &&
		slices.Equal(p.Dilations, q.Dilations) && slices.Equal(p.PadBefore, q.PadBefore) &&
		slices.Equal(p.Out, q.Out) && slices.Equal(p.Kernel, q.Kernel)
}

// Half a unit in the last place of fp16: of a normal number, and of the smallest.
const (
	halfUnit  = 0x1p-11
	halfLeast = 0x1p-25
)

// near reports whether all factors and addends agree within the given number of roundings.
func (a *affine) near(b *affine, steps int) bool {
	n := len(a.scale)
	if len(a.weights) != len(b.weights) {
		return false
	}
	within := func(x, y, size, least float64) bool {
		return math.Abs(x-y) <= float64(steps)*(halfUnit*size+least)
	}
	for i := range n {
		// What is below the normal numbers is rounded absolutely, before the factors that follow.
		least := halfLeast * max(1, math.Abs(a.scale[i]), math.Abs(b.scale[i]))
		if !within(a.shift[i], b.shift[i], max(a.size[i], b.size[i]), least) {
			return false
		}
		if a.weights == nil {
			if !within(a.scale[i], b.scale[i], math.Abs(a.scale[i]), least) {
				return false
			}
			continue
		}
		for k := i * len(a.weights) / n; k < (i+1)*len(a.weights)/n; k++ {
			if x := a.weights[k] * a.scale[i]; !within(x, b.weights[k]*b.scale[i], math.Abs(x), least) {
				return false
			}
		}
	}
	return true
}
