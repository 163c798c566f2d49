package witness

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// lanes calls f with the elements of each row of v along one axis.
func lanes(shape []int64, axis int, f func(at func(i int) int, n int)) {
	n, inner, outer := int(shape[axis]), 1, 1
	for _, d := range shape[:axis] {
		outer *= int(d)
	}
	for _, d := range shape[axis+1:] {
		inner *= int(d)
	}
	for o := range outer {
		for k := range inner {
			f(func(i int) int { return (o*n+i)*inner + k }, n)
		}
	}
}

// softmaxBack is the derivative of softmax: an element gains what the others of its lane lose.
func softmaxBack(b *backward, op *ir.Op, dy []float64) {
	x := op.Arg(ir.ParamX)
	axis, err := ir.AxisAttr(op, ir.ParamAxis, x.Type.Rank())
	g, ys := b.of(x), b.vals.Floats(op.Results[0])
	if err != nil || len(g) != len(dy) || len(ys) != len(dy) {
		return
	}
	lanes(x.Type.Shape, axis, func(at func(i int) int, n int) {
		sum := 0.0
		for i := range n {
			sum += dy[at(i)] * ys[at(i)]
		}
		for i := range n {
			if k := at(i); dy[k] != 0 || sum != 0 {
				g[k] += ys[k] * (dy[k] - sum)
			}
		}
	})
}

// layerNormBack is the derivative of layer_norm over the last axis. Over other axes it takes an element to depend on
// its own input alone.
func layerNormBack(b *backward, op *ir.Op, dy []float64) {
	x := op.Arg(ir.ParamX)
	axes, err := ir.LayerNormAxes(op)
	g, xs, gamma := b.of(x), b.vals.Floats(x), b.vals.Floats(op.Arg(ir.ParamGamma))
	if err != nil || len(axes) != 1 || axes[0] != x.Type.Rank()-1 || len(g) != len(dy) || len(xs) != len(dy) {
		sameBack(b, op, dy)
		return
	}
	eps, ok := ir.ArgFloat(op, ir.ParamEpsilon)
	if !ok {
		eps = 1e-5
	}
	lanes(x.Type.Shape, axes[0], func(at func(i int) int, n int) {
		moves := false
		var mean, square, d, dz float64
		for i := range n {
			moves = moves || dy[at(i)] != 0
			mean += xs[at(i)] / float64(n)
		}
		if !moves {
			return
		}
		for i := range n {
			z := xs[at(i)] - mean
			square += z * z / float64(n)
		}
		sigma := math.Sqrt(square + eps)
		scale := func(i int) float64 {
			if i < len(gamma) {
				return gamma[i]
			}
			return 1
		}
		for i := range n {
			v := dy[at(i)] * scale(i)
			d += v / float64(n)
			dz += v * (xs[at(i)] - mean) / sigma / float64(n)
		}
		for i := range n {
			g[at(i)] += (dy[at(i)]*scale(i) - d - (xs[at(i)]-mean)/sigma*dz) / sigma
		}
	})
}
