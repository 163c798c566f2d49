package witness

import (
	"context"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// backward propagates the derivative of one element of one value back to the function's inputs, with the values of a
// run in fp32 instead of fp16. For an affine function the signs of the derivative are the corner of the input ranges in
// which the element is largest; for others they are the next corner to try. Operations without a row propagate nothing.
type backward struct {
	ctx   context.Context
	opset string
	vals  Trace
	grads map[*ir.Value][]float64
	need  map[*ir.Value]bool // values that depend on an input
}

// back returns the derivative with respect to an operation's arguments.
type back func(b *backward, op *ir.Op, dy []float64)

// unit is the derivative of one element of a value with respect to that value.
func unit(v *ir.Value, at int) map[*ir.Value][]float64 {
	n := int(v.Type.Elems())
	if at < 0 || at >= n {
		return nil
	}
	g := make([]float64, n)
	g[at] = 1
	return map[*ir.Value][]float64{v: g}
}

// gradient propagates derivatives of a number with respect to values back to the parameters.
func gradient(ctx context.Context, f *ir.Func, vals Trace, from map[*ir.Value][]float64) map[*ir.Value][]float64 {
	b := &backward{ctx: ctx, opset: f.Opset, vals: vals, grads: map[*ir.Value][]float64{}, need: map[*ir.Value]bool{}}
	for _, p := range f.Body.Params {
		b.need[p] = true
	}
	for _, op := range f.Body.Ops {
		depends := false
		op.Operands(func(_ *ir.Param, v *ir.Value) { depends = depends || b.need[v] })
		for _, r := range op.Results {
			b.need[r] = depends
		}
	}
	for v, g := range from {
		b.grads[v] = slices.Clone(g)
	}
	for i := len(f.Body.Ops) - 1; i >= 0; i-- {
		op := f.Body.Ops[i]
		row := backs[op.Def.Operation]
		if row == nil {
			row = movedBack
		}
		moves := false
		for _, r := range op.Results {
			moves = moves || b.grads[r] != nil
		}
		if !moves || ctx.Err() != nil || !staticOp(op) {
			continue
		}
		if len(op.Results) == 1 {
			row(b, op, b.grads[op.Results[0]])
		} else {
			movedBack(b, op, nil)
		}
		for _, r := range op.Results {
			delete(b.grads, r)
		}
	}
	out := map[*ir.Value][]float64{}
	for _, p := range f.Body.Params {
		if g := b.grads[p]; g != nil {
			out[p] = g
		}
	}
	return out
}

// staticOp reports whether every tensor of an operation has a known shape, which the rows require.
func staticOp(op *ir.Op) bool {
	ok := true
	check := func(v *ir.Value) {
		ok = ok && (v.Type.Kind != ir.Tensor || v.Type.Static())
	}
	op.Operands(func(_ *ir.Param, v *ir.Value) { check(v) })
	for _, r := range op.Results {
		check(r)
	}
	return ok
}

// of returns the derivative of a value, to be added to; nil if it is not needed.
func (b *backward) of(v *ir.Value) []float64 {
	if v == nil || !b.need[v] || v.Type.Kind != ir.Tensor || !v.Type.DType.IsFloat() {
		return nil
	}
	g := b.grads[v]
	if g == nil {
		n := v.Type.Elems()
		if n < 0 {
			return nil
		}
		g = make([]float64, n)
		b.grads[v] = g
	}
	return g
}

var backs = func() map[*ir.Operation]back {
	m := map[*ir.Operation]back{
		ir.OpConv: convBack, ir.OpLinear: linearBack, ir.OpMatMul: matmulBack, ir.OpCast: func(b *backward, op *ir.Op,
			dy []float64) {
			passBack(b, op.Arg(ir.ParamX), dy)
		},
		ir.OpSelect: func(b *backward, op *ir.Op, dy []float64) {
			cond := b.vals.Floats(op.Arg(ir.ParamCond))
			ci, ok := BroadcastIndex(op.Arg(ir.ParamCond).Type.Shape, op.Results[0].Type.Shape)
			if !ok || len(cond) == 0 {
				return
			}
			for k, name := range []ir.ParamName{ir.ParamB, ir.ParamA} {
				g := b.of(op.Arg(name))
				ix, ok := BroadcastIndex(op.Arg(name).Type.Shape, op.Results[0].Type.Shape)
				if g == nil || !ok {
					continue
				}
				for i, d := range dy {
					if (cond[ci(i)] != 0) == (k == 1) {
						g[ix(i)] += d
					}
				}
			}
		},
		ir.OpBatchNorm: batchNormBack, ir.OpLayerNorm: layerNormBack, ir.OpInstanceNorm: sameBack,
		ir.OpSoftmax: softmaxBack,
		ir.OpGelu: func(b *backward, op *ir.Op, dy []float64) {
			if k := ir.CurveOf(op); k != nil {
				pointBack(b, op, dy, func(x float64, _ int) float64 {
					return slope(func(x float64) float64 { return k.F(x, nil) }, x)
				})
			}
		},
		ir.OpInverse: func(b *backward, op *ir.Op, dy []float64) {
			e, _ := ir.ArgFloat(op, ir.ParamEpsilon)
			pointBack(b, op, dy, func(x float64, _ int) float64 { return -1 / max((x+e)*(x+e), 1e-12) })
		},
		ir.OpMaxPool: poolBack, ir.OpAvgPool: poolBack,
	}
	for _, o := range ir.Operations {
		switch {
		case o.Curve != nil && o.Curve.Extrema != nil:
			m[o] = curveBack
		case o.Class == ir.Reduction:
			m[o] = reduceBack
		}
	}
	for n, d := range binarySlopes {
		m[n] = func(b *backward, op *ir.Op, dy []float64) { binaryBack(b, op, dy, d) }
	}
	return m
}()

// curveBack is the derivative of an operation's function in the registry.
func curveBack(b *backward, op *ir.Op, dy []float64) {
	k := op.Def.Curve
	if k.Shift {
		eps, _ := ir.ArgFloat(op, k.Params[0])
		f := func(x float64) float64 { return k.F(x, []float64{0}) }
		pointBack(b, op, dy, func(x float64, _ int) float64 { return slope(f, max(x+eps, 1e-6)) })
		return
	}
	lists := make([][]float64, len(k.Params))
	for i, p := range k.Params {
		if lists[i] = b.vals.Floats(op.Arg(p)); len(lists[i]) == 0 {
			return
		}
	}
	per, a := channelOf(op.Arg(ir.ParamX).Type.Shape), make([]float64, len(lists))
	pointBack(b, op, dy, func(x float64, i int) float64 {
		for j, l := range lists {
			a[j] = l[per(i)%len(l)]
		}
		return slope(func(x float64) float64 { return k.F(x, a) }, x)
	})
}

// slope is a derivative by differences.
func slope(f func(float64) float64, x float64) float64 {
	h := 1e-3 * max(1, math.Abs(x))
	d := (f(x+h) - f(x-h)) / (2 * h)
	if d != d || math.IsInf(d, 0) {
		return 0
	}
	return d
}

// channelOf returns the index along dimension 1 of each element.
func channelOf(shape []int64) func(i int) int {
	inner, ch := 1, 1
	if len(shape) > 1 {
		ch = int(shape[1])
		for _, d := range shape[2:] {
			inner *= int(d)
		}
	}
	return func(i int) int { return i / max(inner, 1) % max(ch, 1) }
}

func passBack(b *backward, v *ir.Value, dy []float64) {
	if g := b.of(v); len(g) == len(dy) {
		for i, d := range dy {
			g[i] += d
		}
	}
}

func sameBack(b *backward, op *ir.Op, dy []float64) { passBack(b, op.Arg(ir.ParamX), dy) }

func pointBack(b *backward, op *ir.Op, dy []float64, slope func(x float64, i int) float64) {
	g, xs := b.of(op.Arg(ir.ParamX)), b.vals.Floats(op.Arg(ir.ParamX))
	if len(g) != len(dy) || len(xs) != len(dy) {
		return
	}
	for i, d := range dy {
		if d != 0 {
			g[i] += d * slope(xs[i], i)
		}
	}
}

func batchNormBack(b *backward, op *ir.Op, dy []float64) {
	variance, gamma := b.vals.Floats(op.Arg(ir.ParamVariance)), b.vals.Floats(op.Arg(ir.ParamGamma))
	if len(variance) == 0 {
		return
	}
	per := channelOf(op.Arg(ir.ParamX).Type.Shape)
	pointBack(b, op, dy, func(_ float64, i int) float64 {
		k := per(i)
		s := 1 / math.Sqrt(max(variance[k%len(variance)], 1e-6))
		if len(gamma) > 0 {
			s *= gamma[k%len(gamma)]
		}
		return s
	})
}

// binarySlopes return the derivatives with respect to x and y.
var binarySlopes = map[*ir.Operation]func(x, y float64) (dx, dy float64){
	ir.OpAdd: func(_, _ float64) (float64, float64) { return 1, 1 },
	ir.OpSub: func(_, _ float64) (float64, float64) { return 1, -1 },
	ir.OpMul: func(x, y float64) (float64, float64) { return y, x },
	ir.OpRealDiv: func(x, y float64) (float64, float64) {
		if math.Abs(y) < 1e-6 {
			y = math.Copysign(1e-6, y)
		}
		return 1 / y, -x / (y * y)
	},
	ir.OpMaximum: func(x, y float64) (float64, float64) {
		if x >= y {
			return 1, 0
		}
		return 0, 1
	},
	ir.OpMinimum: func(x, y float64) (float64, float64) {
		if x <= y {
			return 1, 0
		}
		return 0, 1
	},
	ir.OpPow: func(x, y float64) (float64, float64) {
		return slope(func(x float64) float64 {
			return math.Pow(x, y)
		}, x), slope(func(y float64) float64 { return math.Pow(x, y) }, y)
	},
}

// BroadcastIndex returns the element of an operand that each element of the result reads.
func BroadcastIndex(from, to []int64) (func(i int) int, bool) {
	if len(from) > len(to) {
		return nil, false
	}
	lead := len(to) - len(from)
	stride := make([]int, len(to))
	n := 1
	for k := len(from) - 1; k >= 0; k-- {
		if from[k] != 1 {
			if from[k] != to[lead+k] {
				return nil, false
			}
			stride[lead+k] = n
		}
		n *= int(from[k])
	}
	return func(i int) int {
		at := 0
		for k := len(to) - 1; k >= 0; k-- {
			d := int(to[k])
			at += i % d * stride[k]
			i /= d
		}
		return at
	}, true
}

func binaryBack(b *backward, op *ir.Op, dy []float64, f func(x, y float64) (float64, float64)) {
	x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	xs, ys := b.vals.Floats(x), b.vals.Floats(y)
	shape := op.Results[0].Type.Shape
	xi, ok1 := BroadcastIndex(x.Type.Shape, shape)
	yi, ok2 := BroadcastIndex(y.Type.Shape, shape)
	if !ok1 || !ok2 || len(xs) == 0 || len(ys) == 0 {
		return
	}
	gx, gy := b.of(x), b.of(y)
	for i, d := range dy {
		if d == 0 {
			continue
		}
		dx, dv := f(xs[xi(i)], ys[yi(i)])
		if gx != nil {
			gx[xi(i)] += d * dx
		}
		if gy != nil {
			gy[yi(i)] += d * dv
		}
	}
}

// reduceBack is the derivative of a reduction. Each element gets the derivative of its group, times its own sign if
// magnitudes are summed, or times twice itself if squares are; the gradient of an extreme goes to its element.
func reduceBack(b *backward, op *ir.Op, dy []float64) {
	x := op.Arg(ir.ParamX)
	a, err := ir.ReduceAttrs(op)
	g, xs, ys := b.of(x), b.vals.Floats(x), b.vals.Floats(op.Results[0])
	if err != nil || g == nil || len(xs) != len(g) || len(ys) != len(dy) {
		return
	}
	kept := append([]int64(nil), x.Type.Shape...)
	for _, i := range a.Axes {
		kept[i] = 1
	}
	at, ok := BroadcastIndex(kept, x.Type.Shape)
	if !ok {
		return
	}
	n := float64(len(xs)) / float64(max(len(ys), 1))
	for i, v := range xs {
		j := at(i)
		if dy[j] == 0 {
			continue
		}
		w := 1.0
		switch op.Def.Operation {
		case ir.OpReduceMean:
			w = 1 / n
		case ir.OpReduceSumSquare, ir.OpReduceL2Norm:
			w = 2 * v
		case ir.OpReduceL1Norm:
			w = sign(v)
		case ir.OpReduceMax, ir.OpReduceMin:
			if v != ys[j] {
				w = 0
			}
		case ir.OpReduceLogSumExp:
			w = math.Exp(v - ys[j])
		case ir.OpReduceProd:
			w = sign(v) * sign(ys[j])
		}
		g[i] += dy[j] * w
	}
}

func sign(x float64) float64 { return ir.OpSign.Curve.F(x, nil) }

// mark is the fraction that distinguishes elements that are indices from constants.
const mark = 0.25

// movedBack is the derivative of an operation that only moves elements: it runs the operation on indices. Results that
// are not indices have no derivative.
func movedBack(b *backward, op *ir.Op, _ []float64) {
	if op.Def.Class != ir.Movement {
		return
	}
	n := *op
	n.Place = ir.Place{Unit: ir.CPU}
	f := &ir.Func{Name: "main", Opset: b.opset, Body: &ir.Block{Ops: []*ir.Op{&n}, Outputs: op.Results}}
	in := tensors{}
	type part struct {
		v     *ir.Value
		first int
	}
	var parts []part
	total := 0
	seen := map[*ir.Value]bool{}
	op.Operands(func(p *ir.Param, v *ir.Value) {
		if v.Const != nil || seen[v] {
			return
		}
		seen[v] = true
		f.Body.Params = append(f.Body.Params, v)
		x, ok := b.vals[v]
		if !ok {
			return
		}
		if v.Type.Kind == ir.Tensor && v.Type.DType == ir.FP32 && x.Type.Static() {
			vs := make([]float32, x.Elems())
			for i := range vs {
				vs[i] = float32(total+i+1) + mark
			}
			y, err := interp.FromFloats(ir.FP32, vs, x.Type.Shape...)
			if err != nil {
				return
			}
			parts = append(parts, part{v, total})
			total += len(vs)
			x = y
		}
		in[v.Name] = x
	})
	if total >= 1<<21 { // fp32 represents indices with their mark exactly up to there
		return
	}
	out, err := interp.Run(b.ctx, f, in, interp.Options{Workers: 1})
	if err != nil {
		return
	}
	for _, r := range op.Results {
		dy := b.grads[r]
		y, ok := out[r.Name]
		if dy == nil || !ok {
			continue
		}
		for i, v := range y.Floats32() {
			k := int(v-mark) - 1
			if dy[i] == 0 || float32(k+1)+mark != v || k < 0 || k >= total {
				continue
			}
			for _, p := range parts {
				if g := b.of(p.v); g != nil && k >= p.first && k < p.first+len(g) {
					g[k-p.first] += dy[i]
				}
			}
		}
	}
}
