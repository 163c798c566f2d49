package lower

import (
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

func acceptSoftmax(op *ir.Op, l *limits) error {
	if err := l.tensors(op); err != nil {
		return err
	}
	axis, err := ir.AxisAttr(op, "axis", op.Arg("x").Type.Rank())
	if err != nil {
		return err
	}
	return l.channels(op.Arg("x").Type, axis)
}

// lowerSoftmax emits the five recorded steps: maximum; (x - max) * log2 e; 2^t by
// table; reciprocal of the sum; product.
func lowerSoftmax(b *builder, op *ir.Op) error {
	axis, err := ir.AxisAttr(op, "axis", op.Arg("x").Type.Rank())
	if err != nil {
		return err
	}
	x, err := b.tensor(op.Arg("x"))
	if err != nil {
		return err
	}
	dst := b.resultOf(op.Results[0])
	exp, err := weights.Activate("exp2")
	if err != nil {
		return err
	}
	b.useTable(op, exp)
	kept := append([]int64(nil), x.dims...)
	kept[axis] = 1
	over := make([]bool, len(kept))
	over[axis] = true
	rows := axis == len(kept)-1

	top, total := b.temp(kept), b.temp(kept)
	if rows {
		err = b.planarReduce(x, top, over, func() *td.Task { return planar(peReduce).Set(td.PoolMode, poolMax) }, true)
	} else {
		err = b.reduceChannels(x, top, axis, reductions["reduce_max"], 1)
	}
	if err != nil {
		return err
	}
	t, ex := b.temp(x.dims), b.temp(x.dims)
	b.pointwise(func(int64) *td.Task {
		return planar(peTwo).SetBool(td.PENeg2, true).Set(td.PEScale, half(math.Log2E))
	}, []*surf{x, top}, t)
	b.tableTask(exp, t, ex)
	if rows {
		err = b.planarReduce(ex, total, over, func() *td.Task { return planar(peReduce).Set(td.PENonlinear, peRecip) }, false)
	} else {
		sum := b.temp(kept)
		if err = b.reduceChannels(ex, sum, axis, reductions["reduce_sum"], 1); err == nil {
			b.reciprocal(sum, total)
		}
	}
	if err != nil {
		return err
	}
	b.two(peMul, false, total, ex, dst)
	return nil
}

func acceptLayerNorm(op *ir.Op, l *limits) error {
	if err := l.tensors(op); err != nil {
		return err
	}
	axes, err := ir.LayerNormAxes(op)
	if err != nil {
		return err
	}
	if len(axes) == 0 || len(axes) > 3 {
		return refuse(target.RuleAxes, "axes", len(axes), "1 to 3", fmt.Sprintf("normalises over %d axes; the engine takes 1 to 3", len(axes)))
	}
	for _, p := range []string{"gamma", "beta"} {
		if v := op.Arg(p); v != nil && !v.IsConst() {
			return unknownNow(p, p)
		}
	}
	return l.rows(op.Arg("x").Type, axes)
}

// lowerLayerNorm emits the recorded three steps: mean; reciprocal deviation in
// one pass over both operands; (x - mean) * rstd with the pair in L2. Scale and
// shift follow as products and sums with constants.
func lowerLayerNorm(b *builder, op *ir.Op) error {
	axes, err := ir.LayerNormAxes(op)
	if err != nil {
		return err
	}
	x, err := b.tensor(op.Arg("x"))
	if err != nil {
		return err
	}
	eps, ok := ir.ArgFloat(op, "epsilon")
	if !ok {
		return fmt.Errorf("epsilon is not known at compile time")
	}
	dst := b.resultOf(op.Results[0])
	gamma, beta := op.Arg("gamma"), op.Arg("beta")
	to := dst
	if gamma != nil || beta != nil {
		to = b.temp(x.dims)
	}
	if err := b.normaliseAxes(x, to, axes, eps); err != nil {
		return err
	}
	if gamma != nil {
		g, err := b.alongAxes(gamma, axes, len(x.dims))
		if err != nil {
			return err
		}
		next := dst
		if beta != nil {
			next = b.temp(x.dims)
		}
		b.two(peMul, false, to, g, next)
		to = next
	}
	if beta != nil {
		s, err := b.alongAxes(beta, axes, len(x.dims))
		if err != nil {
			return err
		}
		b.two(peAdd, false, to, s, dst)
	}
	return nil
}

// alongAxes returns a constant whose dimensions are those at the axes of a
// tensor of the given rank.
func (b *builder) alongAxes(v *ir.Value, axes []int, rank int) (*surf, error) {
	dims := make([]int64, rank)
	for i := range dims {
		dims[i] = 1
	}
	for i, a := range axes {
		dims[a] = v.Type.Shape[i]
	}
	return b.constSurface(v.Const, dims)
}

// normaliseAxes normalises over any axes: those that are not last (but for
// ones) are moved there and back, as recorded for channels alone.
func (b *builder) normaliseAxes(x, dst *surf, axes []int, eps float64) error {
	rank := len(x.dims)
	over := make([]bool, rank)
	for _, a := range axes {
		over[a] = true
	}
	first, last := axes[0], true
	for i := first; i < rank; i++ {
		last = last && (over[i] || x.dims[i] == 1)
	}
	if last {
		return b.normalise(x, dst, first, eps)
	}
	var perm []int
	for i := range rank {
		if !over[i] {
			perm = append(perm, i)
		}
	}
	kept := len(perm)
	perm = append(perm, axes...)
	dims, back := make([]int64, rank), make([]int, rank)
	for i, p := range perm {
		dims[i], back[p] = x.dims[p], i
	}
	in, out := x.permuteRows(perm), b.temp(dims)
	if in == nil {
		in = b.temp(dims)
		b.transposeTo(x, in, perm)
	}
	if err := b.normalise(in, out, kept, eps); err != nil {
		return err
	}
	if v := out.permuteRows(back); v != nil {
		b.copyTo(v, dst)
	} else {
		b.transposeTo(out, dst, back)
	}
	return nil
}

// permuteRows returns the permuted view when the last dimension stays last.
func (s *surf) permuteRows(perm []int) *surf {
	if n := len(perm) - 1; perm[n] == n {
		return s.permute(perm)
	}
	return nil
}

// normalise writes (x - mean) / sqrt(variance + eps) over the dimensions from
// first on; the dimensions before it are channels of the tasks.
func (b *builder) normalise(x, dst *surf, first int, eps float64) error {
	xr, dr := normView(x, first), normView(dst, first)
	if xr == nil {
		c := b.temp(x.dims)
		b.copyTo(x, c)
		xr = normView(c, first)
	}
	if xr == nil || dr == nil {
		return fmt.Errorf("tensor %v is not laid out for a normalisation from dimension %d", x.dims, first)
	}
	per := xr.dims[1] * xr.dims[2] // depth and rows folded per channel
	row := per * align(xr.dims[3]*elemBytes, 16)
	const extra = 80 // bytes of L2 a channel takes for mean, deviation and padding
	chunk := min(xr.dims[0], (b.t.L2Bytes-8192-xr.dims[2]*48)/(row+extra))
	if chunk < 1 {
		return fmt.Errorf("one normalisation reads %d bytes, L2 holds %d", row, b.t.L2Bytes)
	}
	n := float32(1 / float64(per*xr.dims[3]))
	final := int(math.Float32bits(n))
	for c := int64(0); c < xr.dims[0]; c += chunk {
		k := min(chunk, xr.dims[0]-c)
		xs, ds := xr.slice(0, c, k, 1), dr.slice(0, c, k, 1)
		// Mean and reciprocal deviation of each channel: two rows of one element.
		pair := b.temp([]int64{2, k, 1})
		all := 2 * pair.stride[0]
		row := func(i int64) *operand {
			return &operand{buf: pair.buf, off: pair.off + i*pair.stride[0], ext: [5]int64{1, 1, k, 1, 1},
				stride: [4]int64{all, all, pair.stride[1], pair.stride[0]}}
		}
		in := func() *operand {
			o := &operand{buf: xs.buf, off: xs.off, pix: xs.pix,
				ext:    [5]int64{1, xs.dims[1], k, xs.dims[2], xs.dims[3]},
				stride: [4]int64{k * xs.stride[0], xs.stride[1], xs.stride[0], xs.stride[2]}}
			o.rows = o.ext[axH]
			return o
		}
		b.emitReduce(planar(peReduce).Set(td.PEFinal, final), in(), nil, row(0))
		// rsqrt(mean((x - mean)^2) + eps), the mean spread over the channel.
		x1 := in()
		mean := row(0)
		mean.ext, mean.spread = x1.ext, [5]bool{axD: true, axH: true, axW: true}
		b.emitReduce(planar(peReduceTwo).SetBool(td.PENeg1, true).SetBool(td.PESquare, true).Set(td.PENonlinear, peRsqrt).
			Set(td.PEFinal, final).Set(td.PEEpsilon, half(eps)).
			SetBool(td.Bcast1W, x1.ext[axW] > 1).SetBool(td.Bcast1H, x1.ext[axH] > 1).SetBool(td.Bcast1D, x1.ext[axD] > 1),
			mean, x1, row(1))
		out := &operand{buf: ds.buf, off: ds.off,
			ext:    [5]int64{1, ds.dims[1], k, ds.dims[2], ds.dims[3]},
			stride: [4]int64{k * ds.stride[0], ds.stride[1], ds.stride[0], ds.stride[2]}}
		t := planar(pePair).SetBool(td.PENeg2, true).SetBool(td.Bcast2D, xs.dims[1] > 1)
		both := row(0)
		both.ext[axH] = 2
		b.emit(t, in(), both, out, 0)
	}
	return nil
}

// normView views a tensor as channels (everything before dimension first),
// depth, rows and columns, or returns nil.
func normView(s *surf, first int) *surf {
	c := int64(1)
	for _, d := range s.dims[:first] {
		c *= d
	}
	tail := append([]int64(nil), s.dims[first:]...)
	for len(tail) < 3 {
		tail = append([]int64{1}, tail...)
	}
	return s.reshape(append([]int64{c}, tail...))
}
