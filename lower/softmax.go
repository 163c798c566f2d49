package lower

import (
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
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

// softmax is a softmax along an axis that is to be emitted.
type softmax struct {
	op         *ir.Op
	e          epilogue
	exp, recip *weights.Activation
	x, dst     *view
	axis       int
}

// softmaxForms are the recorded forms of a softmax. Each has five steps: maximum; (x - max) * log2 e; 2^t by table;
// reciprocal of the sum; product.
var softmaxForms = []form[*softmax]{
	{"rows of an image", softmaxImageFits, softmaxImage},
	{"rows side by side", softmaxRowsFit, softmaxRows},
	{"one column", softmaxColumnFits, softmaxColumn},
	{"one channel", softmaxOfOneFits, softmaxOfOne},
	{"rows", softmaxAlongRows, softmaxByPlanar},
	{"channels", nil, softmaxByNeural},
}

func lowerSoftmax(b *builder, op *ir.Op, x *view) error {
	axis, err := ir.AxisAttr(op, ir.ParamAxis, op.Arg(ir.ParamX).Type.Rank())
	if err != nil {
		return err
	}
	s := &softmax{op: op, x: x, axis: axis}
	if s.e, err = b.epilogueOf(op); err != nil {
		return err
	}
	s.dst = b.resultOf(s.e.out)
	if s.exp, err = weights.Activate("exp2"); err != nil {
		return err
	}
	if s.recip, err = weights.Activate("reciprocal"); err != nil {
		return err
	}
	b.useTable(op, s.exp)
	return emitFirst(b, s, softmaxForms)
}

// softmaxAlongRows fits if the axis is the last.
func softmaxAlongRows(_ *builder, s *softmax) error {
	if s.axis != len(s.x.dims)-1 {
		return noFit("the axis is not the last")
	}
	return nil
}

// powers emits the difference of x and its maximum, and the powers of that.
func (s *softmax) powers(b *builder, top *view) *view {
	t, ex := b.temp(s.x.dims), b.temp(s.x.dims)
	b.pointwise(func(int64) *draft { return powerDifference() }, []*view{s.x, top}, t)
	b.tableTask(s.exp, t, ex)
	return ex
}

// softmaxByPlanar emits the softmax of rows, which the planar engine reduces.
func softmaxByPlanar(b *builder, s *softmax) error {
	kept, over := keptDims(s.x.dims, []int{s.axis}), make([]bool, len(s.x.dims))
	over[s.axis] = true
	top, total := b.temp(kept), b.temp(kept)
	if err := b.planarReduce(s.x, top, over, func() *draft { return folding(td.PoolMax, 1) }); err != nil {
		return err
	}
	ex := s.powers(b, top)
	if err := b.planarReduce(ex, total, over, s.e.inverseSum); err != nil {
		return err
	}
	if out := b.kernelsOf(s.e.out); out != nil {
		b.rowsAsKernels(total, ex, out)
		return nil
	}
	b.pairwise(td.PEMultiply, total, ex, s.dst)
	return nil
}

// softmaxByNeural emits the softmax of channels, which the neural engine reduces.
func softmaxByNeural(b *builder, s *softmax) error {
	kept := keptDims(s.x.dims, []int{s.axis})
	top, total := b.temp(kept), b.temp(kept)
	if err := b.reduceChannels(s.x, top, s.axis, reductions[ir.OpReduceMax], 1, nil); err != nil {
		return err
	}
	ex := s.powers(b, top)
	b.useTable(s.op, s.recip)
	err := b.reduceChannels(ex, total, s.axis, reductions[ir.OpReduceSum], 1, func(d *draft) { s.inverts(b, d) })
	if err != nil {
		return err
	}
	b.pairwise(td.PEMultiply, total, ex, s.dst)
	return nil
}

// inverts makes a sum of the neural engine its reciprocal, by table as the sum leaves (case norm_softmax_a1_1x64x8x8).
func (s *softmax) inverts(b *builder, d *draft) {
	d.ne.category = 1
	b.fillTable(d, s.recip, 1)
}

// reciprocalSum returns a sum of the neural engine that leaves as its reciprocal.
func (s *softmax) reciprocalSum(b *builder) *draft {
	d := neural(td.NESum)
	s.inverts(b, d)
	return d
}

// rowsAsKernels multiplies the rows of several matrices by a number each. Their rows become channels and the matrices
// rows, so that every matrix is written in the order of a kernel (case chain_attn_s128_dh64_h4).
func (b *builder) rowsAsKernels(factors, x *view, out *operand) {
	rows := func(s *view) *operand {
		n := len(s.dims)
		o := *out
		o.buf, o.off, o.inter = s.buf, s.off, 0
		o.stride = [4]int64{s.stride[n-3], s.stride[n-3], s.stride[n-2], s.stride[n-3]}
		return &o
	}
	by := rows(factors)
	by.broadcastAlong(axW)
	// As many matrices at a time as fit in L2 beside their factors.
	row := out.ext[axC] * (align(out.ext[axW]*elemBytes, b.t.L2Granule) + 2*b.t.L2Granule)
	tile := (b.t.L2Bytes - l2Reserve) / row
	if tile >= out.ext[axH] {
		tile = 0
	}
	b.emit(elementwise(td.PEMultiply), by, rows(x), out, tile)
}

func softmaxOfOneFits(_ *builder, s *softmax) error {
	if len(s.x.dims) != 4 || s.axis != 1 || s.x.dims[1] != 1 {
		return noFit("the axis is not the single channel of an image")
	}
	return nil
}

// softmaxOfOne emits the softmax over one channel. The maximum and the sum are their sources: the difference reads x as
// both, and the reciprocal is taken of the power, each marked as one number for all channels
// (case norm_softmax_a1_1x1x1x128).
func softmaxOfOne(b *builder, s *softmax) error {
	b.useTable(s.op, s.recip)
	t, ex, total := b.temp(s.x.dims), b.temp(s.x.dims), b.temp(s.x.dims)
	b.pointwiseAs(func(int64) *draft { return powerDifference() }, []*view{s.x, s.x}, t, func(_, top *operand) {
		top.broadcast[axC] = true
	})
	b.tableTask(s.exp, t, ex)
	b.pointwise(func(int64) *draft { return s.reciprocalSum(b) }, []*view{ex}, total)
	b.pointwiseAs(func(int64) *draft { return elementwise(td.PEMultiply) }, []*view{total, ex}, s.dst,
		func(sum, _ *operand) { sum.broadcast[axC] = true })
	return nil
}

// inverseSum returns a reduction that computes the reciprocal of a sum, times the factor of the epilogue.
func (e *epilogue) inverseSum() *draft {
	d := folding(td.PoolSum, 1/e.scale)
	d.pe.end = td.PEReciprocal
	return d
}

func softmaxImageFits(b *builder, s *softmax) error {
	if err := softmaxAlongRows(b, s); err != nil {
		return err
	}
	if s.dst.pix != 0 {
		return noFit("the result does not begin at a row")
	}
	return b.canLoad(s.x, 2)
}

// softmaxImage emits the softmax of the rows of an input with several rows: a copy loads it first, because the maximum
// reads its rows as channels, or as groups if the image has several channels, and the difference reads the image
// (case env_chain_softmax_h1_s64, case env_chain_softmax_h8_s64). Rows that a reduction reads in parts are not padded,
// so that the powers do not take the place of the differences (case norm_softmax_a3_1x8x128x128,
// case env_chain_softmax_h1_s128).
func softmaxImage(b *builder, s *softmax) error {
	img := b.loaded(s.x)
	d, ex := b.image(img.dims), b.image(img.dims)
	if partOfRow(img.w()) < img.w() {
		img.buf.image.parts, ex.buf.image.parts, d.buf.spacing = true, true, rowsApart
	} else {
		ex.buf.image.like = d.buf.image
	}
	top := b.reduceImageRows(folding(td.PoolMax, 1), img)
	b.emit(powerDifference(), imageOperand(img, 1), top, imageOperand(d, 1), 0)
	b.tableTask(s.exp, d, ex)
	total := b.reduceImageRows(s.e.inverseSum(), ex)
	b.emit(elementwise(td.PEMultiply), total, imageOperand(ex, 1), imageOperand(s.dst.withLeadingOnes(4), 1), 0)
	return nil
}

// reduceImageRows reduces every row of an image and returns the result broadcast along the rows.
func (b *builder) reduceImageRows(by *draft, img *view) *operand {
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

// maxRows is the most rows of a tensor, as channels, that a task reduces (case norm_softmax_a3_1x1x256x256,
// case chain_lnproj_d512_s256).
const maxRows = 192

// matrixRows is a tensor as a matrix of its rows, which become channels; step is the stride of their single row, 0 for
// the usual one.
type matrixRows struct {
	*view
	step int64
}

// rowsOf returns the matrix m of s's rows. Where the rows lie along the channels of an image the image's one row is a
// row (case norm_softmax_a3_1x8x1x64), else the row has all of them, with their axis and the channels exchanged.
func rowsOf(s, m *view) matrixRows {
	if n := len(s.dims); n > 2 && s.dims[n-2] == 1 {
		return matrixRows{m, m.stride[0]}
	}
	return matrixRows{m, 0}
}

// operand is matrixOperand with the stride of the row.
func (r matrixRows) operand(b *builder) *operand {
	o := b.matrixOperand(r.view)
	if r.step != 0 {
		o.stride[axH] = r.step
	}
	return o
}

// softmaxRowsFit fits if the tensors are rows along one axis alone, more than one of them, which a task can hold
// together as channels of a single row.
func softmaxRowsFit(b *builder, s *softmax) error {
	if err := softmaxAlongRows(b, s); err != nil {
		return err
	}
	if asRows(matrixOf(s.x)) == nil || asRows(matrixOf(s.dst)) == nil {
		return noFit("the rows are not those of one matrix")
	}
	many, rows, w := 0, s.x.elems()/s.x.w(), s.x.w()
	for _, d := range s.x.dims[:s.axis] {
		if d > 1 {
			many++
		}
	}
	if many != 1 || rows > int64(b.t.MaxChannels) || rows > int64(b.t.MaxWidth) ||
		rows*align(w*elemBytes, b.t.L2Granule) > b.t.L2Bytes/4 {
		return noFit("the rows are not along one axis, or too many for the channels of one row")
	}
	return nil
}

// maxSideBySide is the most single numbers that a softmax has side by side in scratch (128 are,
// case norm_softmax_a3_1x128x1x1; 256 are not, case norm_softmax_a3_1x256x1x1, case chain_attn_s256_dh64).
const maxSideBySide = 128

// softmaxRows emits the softmax of a matrix's rows, which are channels: the numbers to which rows are reduced are side
// by side in one row, exchanged with the channels, and broadcast along the width (case chain_attn_s64_dh64). Rows of
// one element are also side by side in scratch (case norm_softmax_a3_1x64x1x1), unless they are more than
// maxSideBySide: then only the differences are, and every other number keeps its channel
// (case norm_softmax_a3_1x256x1x1 to case norm_softmax_a3_1x1024x1x1). A result that is the kernel of a dynamic matmul
// is written in the kernel's order.
func softmaxRows(b *builder, s *softmax) error {
	x, dst := rowsOf(s.x, asRows(matrixOf(s.x))), rowsOf(s.dst, asRows(matrixOf(s.dst)))
	n, w := x.dims[0], x.dims[1]
	line := func(s *view) *operand {
		return &operand{buf: s.buf, off: s.off, swap: true, ext: [5]int64{1, 1, n, 1, w},
			stride: [4]int64{s.stride[0], s.stride[0], s.stride[0], s.stride[0]}}
	}
	column := func(s *view) *operand { // of single elements
		return &operand{buf: s.buf, off: s.off, ext: [5]int64{1, 1, n, 1, 1},
			stride: [4]int64{n * s.stride[0], n * s.stride[0], s.stride[0], n * s.stride[0]}}
	}
	sums, sumDims := line, []int64{1, n}
	powers, steps := b.matrixOperand, n
	differences, dims, powerDims := powers, x.dims, x.dims
	if w == 1 {
		powers, differences, steps, dims, powerDims = line, line, 1, sumDims, sumDims
	}
	long := n > maxSideBySide
	if long {
		sums, sumDims = column, []int64{n, 1}
	}
	if long && w == 1 {
		powers, powerDims = column, []int64{n, 1}
	}
	broadcast := func(s *view) *operand {
		o := sums(s)
		o.ext[axW] = w
		o.broadcastAlong(axW)
		return o
	}
	reduced := func(by *draft, src *operand) *view {
		y := b.temp(sumDims)
		b.emitReduce(by, src, nil, sums(y))
		return y
	}
	top := reduced(folding(td.PoolMax, 1), x.operand(b))
	d, ex := b.temp(dims), b.temp(powerDims)
	d.buf.backed = w == 1
	b.emit(powerDifference(), x.operand(b), broadcast(top), differences(d), 0)
	t := copying()
	b.fillTable(t, s.exp, steps)
	in, out := differences(d), powers(ex)
	if w == 1 { // along the row
		for _, o := range [2]*operand{in, out} {
			o.ext, o.swap = [5]int64{1, 1, 1, 1, n}, o == out && long
		}
	}
	b.emit(t, in, nil, out, 0)
	total := reduced(s.e.inverseSum(), powers(ex))
	out = dst.operand(b)
	k := b.kernelOf(s.e.out)
	if k == nil {
		k = b.kernelPieces(s.e.out)
	}
	if k != nil {
		out = b.matrixOperand(k)
	}
	b.emit(elementwise(td.PEMultiply), broadcast(total), powers(ex), out, 0)
	return nil
}

// softmaxColumnFits fits if all of x is along one axis other than the last, and a task can hold it both as channels and
// as a row.
func softmaxColumnFits(b *builder, s *softmax) error {
	c := s.x.dims[s.axis]
	if c == 1 || s.x.elems() != c || s.axis == len(s.x.dims)-1 || s.x.pix != 0 || s.dst.pix != 0 ||
		c > int64(b.t.MaxWidth) || c > int64(b.t.MaxChannels) || c*b.t.L2Granule > b.t.L2Bytes/16 {
		return noFit("x is not one column that fits in L2")
	}
	return nil
}

// softmaxColumn emits the softmax of a tensor that is one column of channels: the neural engine computes the maximum
// and the reciprocal of the sum. The powers are computed along a row: the results of the difference and of the powers
// are transposed when they are stored (case norm_softmax_a1_1x64x1x1).
func softmaxColumn(b *builder, s *softmax) error {
	b.useTable(s.op, s.recip)
	x, dst, axis, c := s.x, s.dst, s.axis, s.x.dims[s.axis]
	column := func(s *view, step int64) *operand {
		return &operand{
			buf:    s.buf,
			off:    s.off,
			ext:    [5]int64{1, 1, c, 1, 1},
			stride: [4]int64{c * step, c * step, step, step},
		}
	}
	flat := func(s *view) *operand { // a column in scratch is one row
		o := column(s, s.stride[0])
		o.stride[axH] = o.stride[axD]
		return o
	}
	single := func(s *view) *operand {
		return &operand{
			buf:    s.buf,
			off:    s.off,
			ext:    [5]int64{1, 1, 1, 1, 1},
			stride: [4]int64{s.stride[0], s.stride[0], s.stride[0], s.stride[0]},
		}
	}
	broadcast := func(s *view) *operand {
		o := single(s)
		o.ext[axC] = c
		o.broadcastAlong(axC)
		return o
	}
	top, total := b.temp([]int64{1, 1}), b.temp([]int64{1, 1})
	line, ex := b.temp([]int64{1, c}), b.temp([]int64{c, 1})
	if !b.t.OverlapsSwapped { // the powers overlap the differences otherwise
		line.buf.keepScratch()
	}
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
	b.fillTable(t, s.exp, 1)
	transposed := flat(ex)
	transposed.swap, transposed.ext = true, [5]int64{1, 1, 1, 1, c}
	b.emit(t, &operand{buf: line.buf, off: line.off, ext: transposed.ext, stride: row}, nil, transposed, 0)
	b.emit(s.reciprocalSum(b), flat(ex), nil, single(total), 0)
	b.emit(elementwise(td.PEMultiply), broadcast(total), flat(ex),
		column(dst, dst.stride[axis]), 0)
	return nil
}
