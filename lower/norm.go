package lower

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

func acceptSoftmax(op *ir.Op, l *limits) error {
	if err := l.tensors(op); err != nil {
		return err
	}
	axis, err := ir.AxisAttr(op, ir.ParamAxis, op.Arg(ir.ParamX).Type.Rank())
	if err != nil {
		return err
	}
	return l.channels(op.Arg(ir.ParamX).Type, axis)
}

// lowerSoftmax emits the five recorded steps: maximum; (x - max) * log2 e; 2^t by table; reciprocal of the sum;
// product.
func lowerSoftmax(b *builder, op *ir.Op) error {
	axis, err := ir.AxisAttr(op, ir.ParamAxis, op.Arg(ir.ParamX).Type.Rank())
	if err != nil {
		return err
	}
	x, err := b.tensor(op.Arg(ir.ParamX))
	if err != nil {
		return err
	}
	e, err := b.epilogueOf(op)
	if err != nil {
		return err
	}
	dst := b.resultOf(e.out)
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
	if rows && b.loads(x, 2) && dst.pix == 0 {
		b.softmaxImage(e, exp, x, dst)
		return nil
	}
	if rows {
		if xm, dm := asRows(matrixOf(x)), asRows(matrixOf(dst)); xm != nil && dm != nil && b.rowsSideBySide(x) {
			b.softmaxRows(e, exp, rowsOf(x, xm), rowsOf(dst, dm))
			return nil
		}
	}
	if recip, err := weights.Activate("reciprocal"); err == nil && b.singleColumn(x, dst, axis) {
		b.useTable(op, recip)
		b.softmaxColumn(exp, recip, x, dst, axis)
		return nil
	}
	if x.dims[axis] == 1 && len(x.dims) == 4 && axis == 1 {
		return b.softmaxOfOne(op, exp, x, dst)
	}
	top, total := b.temp(kept), b.temp(kept)
	if rows {
		err = b.planarReduce(x, top, over, func() *draft { return folding(td.PoolMax, 1) })
	} else {
		err = b.reduceChannels(x, top, axis, reductions[ir.OpReduceMax], 1, nil)
	}
	if err != nil {
		return err
	}
	t, ex := b.temp(x.dims), b.temp(x.dims)
	b.pointwise(func(int64) *draft { return powerDifference() }, []*surf{x, top}, t)
	b.tableTask(exp, t, ex)
	if rows {
		err = b.planarReduce(ex, total, over, e.inverseSum)
	} else {
		// The reciprocal by table as the sum leaves (norm_softmax_a1_1x64x8x8).
		var recip *weights.Activation
		if recip, err = weights.Activate("reciprocal"); err != nil {
			return err
		}
		b.useTable(op, recip)
		err = b.reduceChannels(ex, total, axis, reductions[ir.OpReduceSum], 1, func(d *draft) {
			d.ne.category = 1
			b.fillTable(d, recip, 1)
		})
	}
	if err != nil {
		return err
	}
	if rows {
		if out := b.kernelsOf(e.out); out != nil {
			b.rowsAsKernels(total, ex, out)
			return nil
		}
	}
	b.pairwise(td.PEMultiply, total, ex, dst)
	return nil
}

// rowsAsKernels multiplies the rows of several matrices by a number each. Their rows become channels and the matrices
// rows, so that every matrix is written in the order of a kernel (chain_attn_s128_dh64_h4).
func (b *builder) rowsAsKernels(factors, x *surf, out *operand) {
	view := func(s *surf) *operand {
		n := len(s.dims)
		o := *out
		o.buf, o.off, o.inter = s.buf, s.off, 0
		o.stride = [4]int64{s.stride[n-3], s.stride[n-3], s.stride[n-2], s.stride[n-3]}
		return &o
	}
	by := view(factors)
	by.broadcastAlong(axW)
	// As many matrices at a time as fit in L2 beside their factors.
	row := out.ext[axC] * (align(out.ext[axW]*elemBytes, b.t.L2Granule) + 2*b.t.L2Granule)
	tile := (b.t.L2Bytes - l2Reserve) / row
	if tile >= out.ext[axH] {
		tile = 0
	}
	b.emit(elementwise(td.PEMultiply), by, view(x), out, tile)
}

// softmaxOfOne emits the softmax over one channel. The maximum and the sum are their sources: the difference reads x as
// both, and the reciprocal is taken of the power, each marked as one number for all channels
// (norm_softmax_a1_1x1x1x128).
func (b *builder) softmaxOfOne(op *ir.Op, exp *weights.Activation, x, dst *surf) error {
	recip, err := weights.Activate("reciprocal")
	if err != nil {
		return err
	}
	b.useTable(op, recip)
	t, ex, total := b.temp(x.dims), b.temp(x.dims), b.temp(x.dims)
	b.pointwiseAs(func(int64) *draft { return powerDifference() }, []*surf{x, x}, t, func(_, top *operand) {
		top.broadcast[axC] = true
	})
	b.tableTask(exp, t, ex)
	b.pointwise(func(int64) *draft {
		d := neural(td.NESum)
		d.ne.category = 1
		b.fillTable(d, recip, 1)
		return d
	}, []*surf{ex}, total)
	b.pointwiseAs(func(int64) *draft { return elementwise(td.PEMultiply) }, []*surf{total, ex}, dst,
		func(sum, _ *operand) { sum.broadcast[axC] = true })
	return nil
}

// inverseSum returns a reduction that computes the reciprocal of a sum, times the factor of the epilogue.
func (e *epilogue) inverseSum() *draft {
	d := folding(td.PoolSum, 1/e.scale)
	d.pe.end = td.PEReciprocal
	return d
}

// softmaxImage emits the softmax of the rows of an input with several rows: a copy loads it first, because the maximum
// reads its rows as channels, or as groups if the image has several channels, and the difference reads the image
// (env_chain_softmax_h1_s64, env_chain_softmax_h8_s64). Rows that a reduction reads in parts are not padded, so that
// the powers do not take the place of the differences (norm_softmax_a3_1x8x128x128, env_chain_softmax_h1_s128).
func (b *builder) softmaxImage(e epilogue, exp *weights.Activation, x, dst *surf) {
	img := b.loaded(x)
	d, ex := b.image(img.dims), b.image(img.dims)
	if partOfRow(img.w()) < img.w() {
		img.buf.image.parts, ex.buf.image.parts, d.buf.spacing = true, true, rowsApart
	} else {
		ex.buf.image.like = d.buf.image
	}
	top := b.reduceImageRows(folding(td.PoolMax, 1), img)
	b.emit(powerDifference(), imageOperand(img, 1), top, imageOperand(d, 1), 0)
	b.tableTask(exp, d, ex)
	total := b.reduceImageRows(e.inverseSum(), ex)
	b.emit(elementwise(td.PEMultiply), total, imageOperand(ex, 1), imageOperand(dst.withLeadingOnes(4), 1), 0)
}

// reduceImageRows reduces every row of an image and returns the result broadcast along the rows.
func (b *builder) reduceImageRows(by *draft, img *surf) *operand {
	c, h, w := img.dims[1], img.dims[2], img.dims[3]
	whole := c * img.stride[1]
	in := &operand{buf: img.buf, off: img.off, ext: [5]int64{h, 1, c, 1, w},
		stride: [4]int64{img.stride[2], whole, img.stride[1], whole}}
	if c == 1 {
		in.ext, in.stride = [5]int64{1, 1, h, 1, w}, [4]int64{whole, whole, img.stride[2], whole}
	}
	in.rows = 1
	if img.buf.image.parts {
		by.partRows = int(w / partOfRow(w))
	}
	y := b.temp([]int64{h, c, 1})
	y.buf.layout = numberPerRow
	all := h * y.stride[0]
	out := &operand{buf: y.buf, off: y.off, stride: [4]int64{y.stride[0], y.stride[0], y.stride[1], all}}
	broadcast := &operand{buf: y.buf, off: y.off, ext: [5]int64{1, 1, c, h, w},
		stride: [4]int64{all, y.stride[0], y.stride[1], y.stride[0]}}
	if c == 1 {
		out.stride = [4]int64{all, all, y.stride[0], all}
		broadcast.stride = [4]int64{all, all, all, y.stride[0]}
	}
	for first := int64(0); first < in.ext[axC]; first += maxRows {
		part, to, d := *in, *out, *by
		part.off += first * in.stride[axC]
		part.ext[axC] = min(in.ext[axC]-first, maxRows)
		to.off += first * out.stride[axC]
		b.emitReduce(&d, &part, nil, &to)
	}
	broadcast.broadcastAlong(axW)
	return broadcast
}

// maxRows is the most rows of a tensor, as channels, that a task reduces (norm_softmax_a3_1x1x256x256,
// chain_lnproj_d512_s256).
const maxRows = 192

// rowsSideBySide reports whether a tensor is rows along one axis alone, more than
// one of them, which a task can hold together as channels of a single row.
func (b *builder) rowsSideBySide(x *surf) bool {
	many := 0
	for _, d := range x.dims[:len(x.dims)-1] {
		if d > 1 {
			many++
		}
	}
	rows := x.elems() / x.w()
	return many == 1 && rows <= int64(b.t.MaxChannels) && rows <= int64(b.t.MaxWidth) && rows*align(x.w()*elemBytes,
		b.t.L2Granule) <= b.t.L2Bytes/4
}

// matrixRows is a tensor as a matrix of its rows, which become channels; step is the stride of their single row, 0 for
// the usual one.
type matrixRows struct {
	*surf
	step int64
}

// rowsOf returns the matrix m of s's rows. Where the rows lie along the channels of an image the image's one row is a
// row (norm_softmax_a3_1x8x1x64), else the row has all of them, with their axis and the channels exchanged.
func rowsOf(s, m *surf) matrixRows {
	if n := len(s.dims); n > 2 && s.dims[n-2] == 1 {
		return matrixRows{m, m.stride[0]}
	}
	return matrixRows{m, 0}
}

// operand is matrixOperand with the stride of the row.
func (r matrixRows) operand(b *builder) *operand {
	o := b.matrixOperand(r.surf)
	if r.step != 0 {
		o.stride[axH] = r.step
	}
	return o
}

// longLine is the most single numbers that a softmax has side by side in scratch (128 are, norm_softmax_a3_1x128x1x1;
// 256 are not, norm_softmax_a3_1x256x1x1, chain_attn_s256_dh64).
const longLine = 128

// softmaxRows emits the softmax of a matrix's rows, which are channels: the numbers to which rows are reduced are side
// by side in one row, exchanged with the channels, and broadcast along the width (chain_attn_s64_dh64). Rows of one
// element are also side by side in scratch (norm_softmax_a3_1x64x1x1), unless they are more than longLine: then only
// the differences are, and every other number keeps its channel (norm_softmax_a3_1x256x1x1 to a3_1x1024x1x1). A result
// that is the kernel of a product at run time is written in the kernel's order.
func (b *builder) softmaxRows(e epilogue, exp *weights.Activation, x, dst matrixRows) {
	n, w := x.dims[0], x.dims[1]
	line := func(s *surf) *operand {
		return &operand{buf: s.buf, off: s.off, swap: true, ext: [5]int64{1, 1, n, 1, w},
			stride: [4]int64{s.stride[0], s.stride[0], s.stride[0], s.stride[0]}}
	}
	column := func(s *surf) *operand { // of single elements
		return &operand{buf: s.buf, off: s.off, ext: [5]int64{1, 1, n, 1, 1},
			stride: [4]int64{n * s.stride[0], n * s.stride[0], s.stride[0], n * s.stride[0]}}
	}
	sums, sumDims := line, []int64{1, n}
	powers, steps := b.matrixOperand, n
	differences, dims, powerDims := powers, x.dims, x.dims
	if w == 1 {
		powers, differences, steps, dims, powerDims = line, line, 1, sumDims, sumDims
	}
	long := n > longLine
	if long {
		sums, sumDims = column, []int64{n, 1}
	}
	if long && w == 1 {
		powers, powerDims = column, []int64{n, 1}
	}
	broadcast := func(s *surf) *operand {
		o := sums(s)
		o.ext[axW] = w
		o.broadcastAlong(axW)
		return o
	}
	reduced := func(by *draft, src *operand) *surf {
		y := b.temp(sumDims)
		b.emitReduce(by, src, nil, sums(y))
		return y
	}
	top := reduced(folding(td.PoolMax, 1), x.operand(b))
	d, ex := b.temp(dims), b.temp(powerDims)
	d.buf.named = w == 1
	b.emit(powerDifference(), x.operand(b), broadcast(top), differences(d), 0)
	t := copying()
	b.fillTable(t, exp, steps)
	in, out := differences(d), powers(ex)
	if w == 1 { // along the row
		for _, o := range [2]*operand{in, out} {
			o.ext, o.swap = [5]int64{1, 1, 1, 1, n}, o == out && long
		}
	}
	b.emit(t, in, nil, out, 0)
	total := reduced(e.inverseSum(), powers(ex))
	out = dst.operand(b)
	k := b.kernelOf(e.out)
	if k == nil {
		k = b.kernelPieces(e.out)
	}
	if k != nil {
		out = b.matrixOperand(k)
	}
	b.emit(elementwise(td.PEMultiply), broadcast(total), powers(ex), out, 0)
}

// singleColumn reports whether all of x is along one axis other than the last, and fits a task both as channels and as
// a row.
func (b *builder) singleColumn(x, dst *surf, axis int) bool {
	c := x.dims[axis]
	return c > 1 && x.elems() == c && axis < len(x.dims)-1 && x.pix == 0 && dst.pix == 0 && c <= int64(b.t.MaxWidth) &&
		c <= int64(b.t.MaxChannels) && c*b.t.L2Granule <= b.t.L2Bytes/16
}

// softmaxColumn emits the softmax of a tensor that is one column of channels: the neural engine computes the maximum
// and the reciprocal of the sum. The powers are computed along a row: the results of the difference and of the powers
// are transposed when they are stored (norm_softmax_a1_1x64x1x1).
func (b *builder) softmaxColumn(exp, recip *weights.Activation, x, dst *surf, axis int) {
	c := x.dims[axis]
	column := func(s *surf, step int64) *operand {
		return &operand{
			buf:    s.buf,
			off:    s.off,
			ext:    [5]int64{1, 1, c, 1, 1},
			stride: [4]int64{c * step, c * step, step, step},
		}
	}
	flat := func(s *surf) *operand { // a column in scratch is one row
		o := column(s, s.stride[0])
		o.stride[axH] = o.stride[axD]
		return o
	}
	single := func(s *surf) *operand {
		return &operand{
			buf:    s.buf,
			off:    s.off,
			ext:    [5]int64{1, 1, 1, 1, 1},
			stride: [4]int64{s.stride[0], s.stride[0], s.stride[0], s.stride[0]},
		}
	}
	broadcast := func(s *surf) *operand {
		o := single(s)
		o.ext[axC] = c
		o.broadcastAlong(axC)
		return o
	}
	top, total := b.temp([]int64{1, 1}), b.temp([]int64{1, 1})
	line, ex := b.temp([]int64{1, c}), b.temp([]int64{c, 1})
	line.buf.named = true
	row := [4]int64{line.stride[0], line.stride[0], line.stride[0], line.stride[0]}

	b.emit(overChannels(c), column(x, x.stride[axis]), nil, single(top), 0)
	b.emit(powerDifference(), column(x, x.stride[axis]), broadcast(top), &operand{
		buf:    line.buf,
		off:    line.off,
		swap:   true,
		ext:    [5]int64{1, 1, c, 1, 1},
		stride: row,
	}, 0)
	t := copying()
	b.fillTable(t, exp, 1)
	transposed := flat(ex)
	transposed.swap, transposed.ext = true, [5]int64{1, 1, 1, 1, c}
	b.emit(t, &operand{buf: line.buf, off: line.off, ext: transposed.ext, stride: row}, nil, transposed, 0)
	t = neural(td.NESum)
	t.ne.category = 1
	b.fillTable(t, recip, 1)
	b.emit(t, flat(ex), nil, single(total), 0)
	b.emit(elementwise(td.PEMultiply), broadcast(total), flat(ex),
		column(dst, dst.stride[axis]), 0)
}

func acceptLayerNorm(op *ir.Op, l *limits) error {
	if err := l.tensors(op); err != nil {
		return err
	}
	for _, p := range []ir.ParamName{ir.ParamGamma, ir.ParamBeta} {
		// One number of another type passes as a scalar, but its bytes would be packed as they are.
		if v := op.Arg(p); v != nil && v.Type.DType != ir.FP16 {
			return refuse(target.RuleFloatType, string(p), v.Type.DType, ir.FP16,
				fmt.Sprintf("%s is %s; the engine computes in fp16", p, v.Type.DType))
		}
	}
	axes, err := ir.LayerNormAxes(op)
	if err != nil {
		return err
	}
	if len(axes) == 0 || len(axes) > 3 {
		return refuse(target.RuleAxes, "axes", len(axes), "1 to 3",
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
func lowerLayerNorm(b *builder, op *ir.Op) error {
	axes, err := ir.LayerNormAxes(op)
	if err != nil {
		return err
	}
	x, err := b.tensor(op.Arg(ir.ParamX))
	if err != nil {
		return err
	}
	eps, ok := ir.ArgFloat(op, ir.ParamEpsilon)
	if !ok {
		return fmt.Errorf("epsilon is not known at compile time")
	}
	dst := b.resultOf(op.Results[0])
	gamma, beta := op.Arg(ir.ParamGamma), op.Arg(ir.ParamBeta)
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

// normaliseAxes normalises over any axes: those that are not last (except for dimensions of 1) are moved there and
// back, which is recorded only for channels.
func (b *builder) normaliseAxes(x, dst *surf, axes []int, eps float64) error {
	rank := len(x.dims)
	over := make([]bool, rank)
	for _, a := range axes {
		over[a] = true
	}
	first, last := axes[0], true
	if len(axes) == 1 && first == rank-1 && rank > 2 && x.dims[rank-3] > 1 && b.loads(x, 2) && dst.pix == 0 {
		b.normaliseImage(x, dst, eps)
		return nil
	}
	for i := first; i < rank; i++ {
		last = last && (over[i] || x.dims[i] == 1)
	}
	if last && (over[rank-1] || x.w() != 1 || !x.isCanonical() || !dst.isCanonical() || len(axes) != 1) {
		return b.normalise(x, dst, first, eps, false)
	}
	if last {
		return b.normaliseColumn(x, dst, first, eps)
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
	if err := b.normalise(in, out, kept, eps, false); err != nil {
		return err
	}
	if v := out.permuteRows(back); v != nil {
		b.copyTo(v, dst)
	} else {
		b.transposeTo(out, dst, back)
	}
	return nil
}

// normaliseImage normalises the rows of an input with several channels and rows: mean of each row, difference,
// reciprocal deviation of the differences, product (norm_layer_norm_ax3_1x64x8x8).
func (b *builder) normaliseImage(x, dst *surf, eps float64) {
	img := b.loaded(x)
	share := 1 / float64(img.w())
	mean := b.reduceImageRows(folding(td.PoolSum, share), img)
	d := b.image(img.dims)
	difference := elementwise(td.PEAdd)
	difference.pe.neg2 = true
	b.emit(difference, imageOperand(img, 1), mean, imageOperand(d, 1), 0)
	dev := folding(td.PoolSum, share)
	dev.pe.end, dev.pe.epsilon, dev.pe.square = td.PERsqrt, eps, true
	factor := b.reduceImageRows(dev, d)
	b.emit(elementwise(td.PEMultiply), imageOperand(d, 1), factor, imageOperand(dst.withLeadingOnes(4), 1), 0)
}

// normaliseColumn normalises an axis that only dimensions of 1 follow: planar copies transpose it to the row and back
// (norm_layer_norm_ax1).
func (b *builder) normaliseColumn(x, dst *surf, axis int, eps float64) error {
	n := int64(1)
	for _, d := range x.dims[:axis] {
		n *= d
	}
	line := b.temp([]int64{n, 1, x.dims[axis]})
	column := func(s *surf) *operand {
		c := s.dims[axis]
		return &operand{buf: s.buf, off: s.off, ext: [5]int64{1, 1, c, n, 1},
			stride: [4]int64{n * c * s.stride[axis], n * c * s.stride[axis], s.stride[axis], lineStep(n, s.stride[axis],
				c)}}
	}
	if n > int64(b.t.MaxHeight) || n*x.dims[axis]*4*b.t.L2Granule > b.t.L2Bytes/2 ||
		x.dims[axis] > int64(b.t.MaxWidth) {
		return b.normalise(x, dst, axis, eps, false)
	}
	along := func(s *surf) *operand {
		return &operand{buf: s.buf, off: s.off, swap: true, ext: [5]int64{1, 1, x.dims[axis], n, 1},
			stride: [4]int64{s.stride[0], s.stride[0], s.stride[0], s.stride[0]}}
	}
	b.emit(planar(td.PlanarOne), column(x), nil, along(line), 0)
	to := b.temp(line.dims)
	if err := b.normalise(line, to, 2, eps, true); err != nil {
		return err
	}
	b.emit(planar(td.PlanarOne), along(to), nil, column(dst), 0)
	return nil
}

// lineStep is the row stride of a column of c elements: that of one element if there is only one column.
func lineStep(n, stride, c int64) int64 {
	if n == 1 {
		return stride
	}
	return c * stride
}

// permuteRows returns the permuted view if the last dimension stays last.
func (s *surf) permuteRows(perm []int) *surf {
	if n := len(perm) - 1; perm[n] == n {
		return s.permute(perm)
	}
	return nil
}

// normalise writes (x - mean) / sqrt(variance + eps) over the dimensions from first on; the dimensions before it are
// channels of the tasks. transposed reports that x is a column transposed to a row; the pair counts as exchanged then
// too (norm_layer_norm_ax1_1x64x1x1; not norm_layer_norm_ax3_1x1x1x64).
func (b *builder) normalise(x, dst *surf, first int, eps float64, transposed bool) error {
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
		// several channels (chain_base_layer_norm_d256_s64, norm_layer_norm_ax2_3_1x32x4x4,
		// norm_layer_norm_ax3_1x8x1x64).
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
		// strides are those of what is above it; the rows are the single row of an image if it has one.
		rows, depth := 1, 2
		if xs.dims[1] == 1 {
			rows, depth = 2, 1
		}
		strides := func(s *surf) [4]int64 {
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
		}
		b.emit(d, src, both, out, 0)
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
