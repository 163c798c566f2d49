package lower

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

func acceptLayerNorm(op *ir.Op, l *limits) error {
	if err := l.tensors(op); err != nil {
		return err
	}
	for _, p := range []ir.ParamName{ir.ParamGamma, ir.ParamBeta} {
		// One number of another type passes as a scalar, but its bytes would be packed as they are.
		if v := op.Arg(p); v != nil && v.Type.DType != ir.FP16 {
			return target.Refuse(target.RuleFloatType, string(p), v.Type.DType, ir.FP16,
				fmt.Sprintf("%s is %s; the engine computes in fp16", p, v.Type.DType))
		}
	}
	axes, err := ir.LayerNormAxes(op)
	if err != nil {
		return err
	}
	if len(axes) == 0 || len(axes) > 3 {
		return target.Refuse(target.RuleAxes, "axes", len(axes), "1 to 3",
			fmt.Sprintf("normalises over %d axes; the engine supports 1 to 3", len(axes)))
	}
	for _, p := range []ir.ParamName{ir.ParamGamma, ir.ParamBeta} {
		if v := op.Arg(p); v != nil && !v.IsConst() {
			return unknownNow(p, string(p))
		}
	}
	return l.rows(op.Arg(ir.ParamX).Type, axes)
}

// lowerLayerNorm emits the recorded three steps: mean; reciprocal deviation in
// one pass over both operands; (x - mean) * rstd with the pair in L2. Scale and
// shift follow as products and sums with constants.
func lowerLayerNorm(b *builder, op *ir.Op, x *view) error {
	axes, err := ir.LayerNormAxes(op)
	if err != nil {
		return err
	}
	eps, ok := ir.ArgFloat(op, ir.ParamEpsilon)
	if !ok {
		return fmt.Errorf("epsilon is not known at compile time")
	}
	if w := x.buf.writer; w != nil && w.op.Is(ir.OpLayerNorm) {
		x.buf.keepScratch() // case chain_pair_ln_ln_d256_s64
	}
	dst := b.resultOf(op.Results[0])
	gamma, beta := op.Arg(ir.ParamGamma), op.Arg(ir.ParamBeta)
	to := dst
	if gamma != nil || beta != nil {
		to = b.temp(x.dims)
	}
	if err := emitFirst(b, &normalisation{x: x, dst: to, axes: axes, eps: eps}, normForms); err != nil {
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
		b.pairwise(td.PEMultiply, to, g, next)
		to = next
	}
	if beta != nil {
		s, err := b.alongAxes(beta, axes, len(x.dims))
		if err != nil {
			return err
		}
		b.pairwise(td.PEAdd, to, s, dst)
	}
	return nil
}

// alongAxes returns a constant whose dimensions are those at the axes of a
// tensor of the given rank.
func (b *builder) alongAxes(v *ir.Value, axes []int, rank int) (*view, error) {
	dims := slices.Repeat([]int64{1}, rank)
	for i, a := range axes {
		dims[a] = v.Type.Shape[i]
	}
	return b.constView(v.Const, dims)
}

// normalisation is a normalisation over axes that is to be emitted.
type normalisation struct {
	x, dst *view
	axes   []int
	eps    float64
}

// normForms are the forms of a normalisation. Axes that are not last (except for dimensions of 1) are moved there and
// back, which is recorded only for channels.
var normForms = []form[*normalisation]{
	{"rows of an image", normaliseImageFits, normaliseImage},
	{"channels of an image", normaliseChannelsFits, normaliseChannels},
	{"a column", normaliseColumnFits, normaliseColumn},
	{"the last axes", normaliseLastFits, normaliseLast},
	{"any axes", nil, normaliseMoved},
}

func normaliseLastFits(_ *builder, n *normalisation) error {
	for i := n.axes[0]; i < len(n.x.dims); i++ {
		if n.x.dims[i] != 1 && !slices.Contains(n.axes, i) {
			return noFit("a dimension that is kept follows the axes")
		}
	}
	return nil
}

func normaliseLast(b *builder, n *normalisation) error {
	return b.normalise(n.x, n.dst, n.axes[0], n.eps, false)
}

func normaliseMoved(b *builder, n *normalisation) error {
	rank := len(n.x.dims)
	var perm []int
	for i := range rank {
		if !slices.Contains(n.axes, i) {
			perm = append(perm, i)
		}
	}
	kept := len(perm)
	perm = append(perm, n.axes...)
	dims, back := make([]int64, rank), make([]int, rank)
	for i, p := range perm {
		dims[i], back[p] = n.x.dims[p], i
	}
	in, out := n.x.permuteRows(perm), b.temp(dims)
	if in == nil {
		in = b.temp(dims)
		b.transposeTo(n.x, in, perm)
	}
	if err := b.normalise(in, out, kept, n.eps, false); err != nil {
		return err
	}
	if v := out.permuteRows(back); v != nil {
		b.copyTo(v, n.dst)
	} else {
		b.transposeTo(out, n.dst, back)
	}
	return nil
}

func normaliseImageFits(b *builder, n *normalisation) error {
	rank := len(n.x.dims)
	if len(n.axes) != 1 || n.axes[0] != rank-1 || rank < 3 || n.x.dims[rank-3] == 1 {
		return noFit("the axis is not the row of several channels")
	}
	if n.dst.pix != 0 {
		return noFit("the result does not begin at a row")
	}
	return b.canLoad(n.x, 2)
}

// normaliseImage normalises the rows of an input with several channels and rows: mean of each row, difference,
// reciprocal deviation of the differences, product (case norm_layer_norm_ax3_1x64x8x8).
func normaliseImage(b *builder, n *normalisation) error {
	img := b.loaded(n.x)
	share := 1 / float64(img.w())
	mean := b.reduceImageRows(folding(td.PoolSum, share), img)
	d := b.image(img.dims)
	difference := elementwise(td.PEAdd)
	difference.pe.neg2 = true
	b.emit(difference, imageOperand(img, 1), mean, imageOperand(d, 1), 0)
	dev := folding(td.PoolSum, share)
	dev.pe.end, dev.pe.epsilon, dev.pe.square = td.PERsqrt, n.eps, true
	factor := b.reduceImageRows(dev, d)
	b.emit(elementwise(td.PEMultiply), imageOperand(d, 1), factor, imageOperand(n.dst.withLeadingOnes(4), 1), 0)
	return nil
}

func normaliseChannelsFits(b *builder, n *normalisation) error {
	if len(n.axes) != 1 || n.axes[0] != 1 || len(n.x.dims) != 4 || n.x.dims[1] == 1 || n.x.dims[2] == 1 {
		return noFit("the axis is not the channels of an image")
	}
	if n.x.pix != 0 || n.dst.pix != 0 {
		return noFit("an image does not begin at a row")
	}
	return b.canTransposeChannels(n.x)
}

// normaliseChannels normalises the channels of an image with several rows as normaliseImage does its rows, with sums of
// transposed channels (case norm_layer_norm_ax1_1x64x8x8).
func normaliseChannels(b *builder, n *normalisation) error {
	share := 1 / float64(n.x.dims[1])
	number := func(d *draft, of *view) *operand {
		y := b.temp([]int64{1, 1, of.dims[2], of.dims[3]})
		b.sumTransposed(d, of, y)
		o := imageOperand(y, 1)
		o.ext[axC] = of.dims[1]
		o.broadcastAlong(axC)
		return o
	}
	mean := number(folding(td.PoolSum, share), n.x)
	d := b.image(n.x.dims)
	difference := elementwise(td.PEAdd)
	difference.pe.neg2 = true
	b.emit(difference, imageOperand(n.x, 1), mean, imageOperand(d, 1), 0)
	dev := folding(td.PoolSum, share)
	dev.pe.end, dev.pe.epsilon, dev.pe.square = td.PERsqrt, n.eps, true
	factor := number(dev, d)
	b.emit(elementwise(td.PEMultiply), imageOperand(d, 1), factor, imageOperand(n.dst, 1), 0)
	return nil
}

func normaliseColumnFits(b *builder, n *normalisation) error {
	if err := normaliseLastFits(b, n); err != nil {
		return err
	}
	axis, c := n.axes[0], n.x.dims[n.axes[0]]
	if len(n.axes) != 1 || axis == len(n.x.dims)-1 || n.x.w() != 1 || !n.x.isCanonical() || !n.dst.isCanonical() {
		return noFit("the axis is not a column of single elements")
	}
	if rows := n.x.elems() / c; rows > int64(b.t.MaxHeight) || n.x.elems()*4*b.t.L2Granule > b.t.L2Bytes/2 ||
		c > int64(b.t.MaxWidth) {
		return noFit("the columns are too many to be transposed to rows")
	}
	return nil
}

// normaliseColumn normalises an axis that only dimensions of 1 follow: planar copies transpose it to the row and back
// (case norm_layer_norm_ax1_1x64x1x1).
func normaliseColumn(b *builder, n *normalisation) error {
	axis, c := n.axes[0], n.x.dims[n.axes[0]]
	rows := n.x.elems() / c
	line := b.temp([]int64{rows, 1, c})
	column := func(s *view) *operand {
		step := s.stride[axis]
		return &operand{buf: s.buf, off: s.off, ext: [5]int64{1, 1, c, rows, 1},
			stride: [4]int64{rows * c * step, rows * c * step, step, lineStep(rows, step, c)}}
	}
	along := func(s *view) *operand {
		return &operand{buf: s.buf, off: s.off, swap: true, ext: [5]int64{1, 1, c, rows, 1},
			stride: [4]int64{s.stride[0], s.stride[0], s.stride[0], s.stride[0]}}
	}
	b.emit(planar(td.PlanarOne), column(n.x), nil, along(line), 0)
	to := b.temp(line.dims)
	if err := b.normalise(line, to, 2, n.eps, true); err != nil {
		return err
	}
	b.emit(planar(td.PlanarOne), along(to), nil, column(n.dst), 0)
	return nil
}

// lineStep is the row stride of a column of c elements: the stride of one element if there is only one column.
func lineStep(n, stride, c int64) int64 {
	if n == 1 {
		return stride
	}
	return c * stride
}

// permuteRows returns the permuted view if the last dimension stays last.
func (s *view) permuteRows(perm []int) *view {
	if n := len(perm) - 1; perm[n] == n {
		return s.permute(perm)
	}
	return nil
}

// normalise writes (x - mean) / sqrt(variance + eps) over the dimensions from first on; the dimensions before it are
// channels of the tasks. transposed reports that x is a column transposed to a row; the pair counts as exchanged then
// too (case norm_layer_norm_ax1_1x64x1x1; not case norm_layer_norm_ax3_1x1x1x64).
func (b *builder) normalise(x, dst *view, first int, eps float64, transposed bool) error {
	xr, dr := normView(x, first), normView(dst, first)
	if xr == nil {
		c := b.temp(x.dims)
		b.copyTo(x, c)
		xr = normView(c, first)
	}
	if xr == nil || dr == nil {
		return fmt.Errorf("tensor %v is not laid out for a normalisation from dimension %d", x.dims, first)
	}
	per := xr.dims[1] * xr.dims[2] // folded per channel, beside the row
	row := per * align(xr.dims[3]*elemBytes, 16)
	const extra = 80 // bytes of L2 per channel for mean, deviation and padding
	// Of four dimensions the first lead are not the tensor's own.
	lead := 4 - (len(x.dims) - first)
	single := len(x.dims) > 2 && x.dims[len(x.dims)-2] == 1
	chunk := min(xr.dims[0], int64(b.t.MaxWidth), (b.t.L2Bytes-2*l2Reserve-max(xr.dims[1], xr.dims[2])*48)/(row+extra))
	if chunk < 1 {
		return fmt.Errorf("one normalisation reads %d bytes, L2 holds %d", row, b.t.L2Bytes)
	}
	share := 1 / float64(per*xr.dims[3])
	for c := int64(0); c < xr.dims[0] && !b.full(); c += chunk {
		k := min(chunk, xr.dims[0]-c)
		xs, ds := xr.slice(0, c, k, 1), dr.slice(0, c, k, 1)
		// Mean and reciprocal deviation of each channel: two rows on different banks, stored exchanged if there are
		// several channels (case chain_base_layer_norm_d256_s64, case norm_layer_norm_ax2_3_1x32x4x4,
		// case norm_layer_norm_ax3_1x8x1x64).
		pair := b.temp([]int64{2, 1, k})
		pair.buf.layout = meanAndDeviation
		row := func(i int64) *operand {
			s := pair.stride[1]
			return &operand{
				buf:    pair.buf,
				off:    pair.off + i*pair.stride[0],
				swap:   k > 1,
				ext:    [5]int64{1, 1, k, 1, 1},
				stride: [4]int64{s, s, s, pair.stride[0]},
			}
		}
		// As in other reductions the slower of two folded axes becomes the rows. For axes that the tensor lacks, the
		// strides step over what is above it; the rows are the single row of an image if it has one.
		rows, depth := 1, 2
		if xs.dims[1] == 1 {
			rows, depth = 2, 1
		}
		strides := func(s *view) [4]int64 {
			all := k * s.stride[0]
			st := [4]int64{all, all, s.stride[0], all}
			if depth >= lead {
				st[axD] = s.stride[depth]
			}
			if rows >= lead || single {
				st[axH] = s.stride[rows]
			}
			return st
		}
		in := func() *operand {
			o := &operand{buf: xs.buf, off: xs.off, pix: xs.pix,
				ext: [5]int64{1, xs.dims[depth], k, xs.dims[rows], xs.dims[3]}, stride: strides(xs)}
			o.rows = o.ext[axH]
			return o
		}
		// A task takes maxRows rows, the last first for the means and the first first for the deviations.
		within := func(o *operand, first, step int64) *operand {
			o.off += first * step
			o.ext[axC] = min(k-first, maxRows)
			return o
		}
		for first := (k - 1) / maxRows * maxRows; first >= 0; first -= maxRows {
			b.emitReduce(folding(td.PoolSum, share), within(in(), first, xs.stride[0]), nil,
				within(row(0), first, elemBytes))
		}
		// rsqrt(mean((x - mean)^2) + eps), the mean broadcast over the channel.
		for first := int64(0); first < k; first += maxRows {
			x1 := within(in(), first, xs.stride[0])
			mean := within(row(0), first, elemBytes)
			mean.ext, mean.flat = x1.ext, [5]bool{axD: true, axH: true, axW: true}
			for _, ax := range [...]int{axD, axH, axW} {
				mean.broadcast[ax] = x1.ext[ax] > 1
			}
			dev := folding(td.PoolSum, share)
			dev.pe.kind, dev.pe.end, dev.pe.epsilon = td.PlanarReduceTwo, td.PERsqrt, eps
			dev.pe.neg1, dev.pe.square = true, true
			b.emitReduce(dev, mean, x1, within(row(1), first, elemBytes))
		}
		d := planar(td.PlanarPair)
		d.pe.neg2 = true
		both := row(0)
		both.ext[axH] = 2
		src := in()
		out := &operand{buf: ds.buf, off: ds.off, ext: src.ext, stride: strides(ds)}
		if k == 1 && xs.dims[1] > 1 && xs.dims[1] <= int64(b.t.MaxChannels) {
			// One pair for all: the tensor as the image that it is.
			both.broadcast[axC] = true
			src, out = imageOperand(xs, 1), imageOperand(ds, 1)
		} else {
			both.broadcast[axD] = src.ext[axD] > 1
			both.swap = k > 1 || transposed && src.ext[axW] > 1
			// One channel counts as broadcast if it is normalised too (case norm_layer_norm_ax1_2_3_1x1x1x64).
			both.broadcast[axC] = !both.swap && (k == 1 && lead <= 1 || b.t.PairsForOne)
		}
		b.emit(d, src, both, out, 0)
	}
	return nil
}

// normView views a tensor as channels (everything before dimension first),
// depth, rows and columns, or returns nil.
func normView(s *view, first int) *view {
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
