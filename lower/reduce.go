package lower

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// reduction describes a MIL reduction on the engines.
type reduction struct {
	pool   td.Pool     // planar mode
	neural td.NeuralOp // operation over channels
	mean   bool        // divide by the count
	square bool        // square first
}

var reductions = map[*ir.Operation]reduction{
	ir.OpReduceSum:       {pool: td.PoolSum, neural: td.NESum},
	ir.OpReduceMean:      {pool: td.PoolSum, neural: td.NESum, mean: true},
	ir.OpReduceMax:       {pool: td.PoolMax, neural: td.NEMax},
	ir.OpReduceSumSquare: {pool: td.PoolSum, neural: td.NESum, square: true},
}

func acceptReduce(op *ir.Op, l *limits) error {
	if err := l.tensors(op); err != nil {
		return err
	}
	a, err := ir.ReduceAttrs(op)
	if err != nil {
		return err
	}
	if len(a.Axes) == 0 {
		return target.Refuse(target.RuleAxes, "axes", "none", "at least one", "no axis to reduce")
	}
	x := op.Arg(ir.ParamX).Type
	if slices.Contains(a.Axes, x.Rank()-1) {
		return l.rows(x, a.Axes)
	}
	for _, i := range a.Axes {
		if err := l.channels(x, i); err != nil {
			return err
		}
	}
	return nil
}

// rows checks the limit of a reduction whose axes include the last: everything that is reduced to one number, rows and
// their padding, is in L2 at once, beside a pair of numbers for a norm.
func (l *limits) rows(t ir.Type, axes []int) error {
	w, n := t.Shape[t.Rank()-1], int64(1)
	for _, a := range axes {
		n *= t.Shape[a]
	}
	if !slices.Contains(axes, t.Rank()-1) {
		w = t.Shape[slices.Max(axes)]
	}
	row := align(w*elemBytes, l.t.L2Granule) + maxRowPad(l.t)
	if rows, most := n/w, l.t.L2Bytes-2*l2Reserve-128; rows*row > most {
		return target.Refuse(target.RuleWorkingSet, "L2 bytes of the rows reduced together", rows*row, most,
			fmt.Sprintf("reduces %d rows of %d elements together, which take %d bytes of L2, the limit is %d", rows, w,
				rows*row, most))
	}
	return nil
}

// channels checks the limit of a reduction over an axis other than the last: all of it is in L2 at once, for the
// smallest number of columns of a task.
func (l *limits) channels(t ir.Type, axis int) error {
	if axis == t.Rank()-1 {
		return nil
	}
	w := t.Shape[t.Rank()-1]
	most := l.t.L2Bytes - l2Reserve - maxRowPad(l.t)
	if n := t.Shape[axis] * align(min(w*elemBytes, 64), l.t.L2Granule); n > most {
		return target.Refuse(target.RuleWorkingSet, fmt.Sprintf("L2 bytes of dimension %d", axis), n, most,
			fmt.Sprintf("reduces %d elements along dimension %d, which take %d bytes of L2, the limit is %d",
				t.Shape[axis], axis, n, most))
	}
	return nil
}

func lowerReduce(b *builder, op *ir.Op, x *view) error {
	a, err := ir.ReduceAttrs(op)
	if err != nil {
		return err
	}
	r := reductions[op.Def.Operation]
	if r.square {
		sq := b.temp(x.dims)
		b.pairwise(td.PEMultiply, x, x, sq)
		x = sq
	}
	out := b.temp(keptDims(x.dims, a.Axes))
	if b.columnForProduct(op.Results[0], out) != nil {
		out = b.resultOf(op.Results[0])
	}
	return b.reduce(x, out, a.Axes, r)
}

// keptDims returns the dimensions of a reduction's result with ones at the axes.
func keptDims(dims []int64, axes []int) []int64 {
	kept := append([]int64(nil), dims...)
	for _, a := range axes {
		kept[a] = 1
	}
	return kept
}

// reducing is a reduction that is to be emitted.
type reducing struct {
	reduction
	x, dst *view
	out    *view   // dst with the dimensions of x and ones at the axes, nil if its rows would have to move
	kept   []int64 // these dimensions
	axes   []int
	over   []bool // axes, for each dimension
	factor float64
}

// reductionForms are the forms of a reduction.
var reductionForms = []form[*reducing]{
	{"one element", nil, copyElement},
	{"one row", rowsFit, reduceToRow},
	{"rows", rowsFit, reduceRows},
	{"transposed channels", nil, reduceTransposed},
	{"transposed rows", nil, reduceDown},
	{"channels", nil, reduceEachAxis},
}

// reduce writes the reduction of x over the axes to dst, whose dimensions are the dimensions of x with ones at the
// axes, or without them.
func (b *builder) reduce(x, dst *view, axes []int, r reduction) error {
	s := &reducing{reduction: r, x: x, dst: dst, axes: axes, kept: keptDims(x.dims, axes), factor: 1}
	s.over, s.out = make([]bool, len(x.dims)), dst.reshape(s.kept)
	for _, a := range axes {
		s.over[a] = true
	}
	if r.mean {
		s.factor = 1 / float64(s.count())
	}
	return emitFirst(b, s, reductionForms)
}

// count is the number of elements that are reduced to one.
func (r *reducing) count() int64 {
	n := int64(1)
	for _, a := range r.axes {
		n *= r.x.dims[a]
	}
	return n
}

// copyElement is a reduction of single elements (case reduce_probe_sum_ax1_1x1x1x512,
// case reduce_probe_max_ax1_1x1x1x512).
func copyElement(b *builder, r *reducing) error {
	if r.count() != 1 || r.out == nil {
		return noFit("several elements are reduced")
	}
	b.copyTo(r.x, r.out)
	return nil
}

// rowsFit fits if only dimensions of 1 follow the last axis. The maximum of a column of channels is a neural task, like
// the maximum of a softmax (case reduce_probe_max_ax1_1x64x1x1, case reduce_probe_max_ax1_1x1024x1x1).
func rowsFit(_ *builder, r *reducing) error {
	for _, n := range r.x.dims[r.axes[len(r.axes)-1]+1:] {
		if n != 1 {
			return noFit("a dimension that is kept follows the axes")
		}
	}
	if r.neural == td.NEMax && r.ofChannels() {
		return noFit("a maximum of channels")
	}
	return nil
}

// ofChannels reports whether the channels of images are reduced.
func (r *reducing) ofChannels() bool { return len(r.x.dims) == 4 && len(r.axes) == 1 && r.axes[0] == 1 }

// reduceEachAxis reduces one axis at a time on the neural engine; the factor goes with the last.
func reduceEachAxis(b *builder, r *reducing) error {
	x := r.x
	for i, a := range r.axes {
		d := append([]int64(nil), x.dims...)
		d[a] = 1
		y, f := b.temp(d), 1.0
		if i == len(r.axes)-1 {
			y, f = r.dst.reshape(d), r.factor
			if y == nil {
				y = b.temp(d)
				defer func(y *view) { b.moveTo(y, r.dst) }(y)
			}
		}
		if err := b.reduceChannels(x, y, a, r.reduction, f, nil); err != nil {
			return err
		}
		x = y
	}
	return nil
}

// reduceTransposed sums the channels of one image after a pass that transposes them to the row
// (case reduce_probe_sum_ax1_1x64x8x8); the rows of the image are groups of the sum.
func reduceTransposed(b *builder, r *reducing) error {
	if r.neural != td.NESum || !r.ofChannels() || r.out == nil {
		return noFit("not a sum of the channels of one image")
	}
	if err := b.canTransposeChannels(r.x); err != nil {
		return err
	}
	b.sumTransposed(folding(r.pool, r.factor), r.x, r.out)
	return nil
}

// canTransposeChannels reports whether sumTransposed can sum the channels of x.
func (b *builder) canTransposeChannels(x *view) error {
	if len(x.dims) != 4 || x.dims[0] != 1 {
		return noFit("not one image")
	}
	c, h, w := x.dims[1], x.dims[2], x.dims[3]
	line, pad := align(c*elemBytes, b.t.L2Granule), maxRowPad(b.t)
	if h > int64(b.t.MaxGroups) || c > int64(b.t.MaxWidth) || w > int64(b.t.MaxChannels) ||
		h*(w*line+pad) > b.t.L2Bytes/4 || h*(c*align(w*elemBytes, b.t.L2Granule)+pad) > b.t.L2Bytes/4 {
		return noFit("the transposed image is too large for L2 or a task")
	}
	return nil
}

// sumTransposed emits the sum d of the channels of one image.
func (b *builder) sumTransposed(d *draft, x, out *view) {
	c, h, w := x.dims[1], x.dims[2], x.dims[3]
	part := partOfRow(c)
	t := b.temp([]int64{h, w, c / part, part})
	switch {
	case h == 1: // a matrix (case reduce_probe_sum_ax1_1x64x1x64, case reduce_probe_sum_ax1_1x8x1x64)
		t.buf.keepScratch()
		t.buf.keepApart()
	case part == c:
		t.buf.group = w
	}
	step := either(h == 1, t.stride[1], t.stride[0])
	transposed := &operand{buf: t.buf, off: t.off, swap: true, ext: [5]int64{1, 1, c, h, w},
		stride: [4]int64{t.stride[0], t.stride[0], t.stride[1], step}}
	b.emit(copying(), imageOperand(x, 1), nil, transposed, 0)
	in := &operand{buf: t.buf, off: t.off, ext: [5]int64{h, 1, w, c / part, part},
		stride: [4]int64{t.stride[0], t.stride[0], t.stride[1], step}}
	if part < c {
		in.stride[axH] = t.stride[2]
	}
	// A result that stays has one row for depth and channels (case norm_layer_norm_ax1_1x64x8x8).
	each := either(out.buf.space == scratch, out.stride[2], out.stride[1])
	res := &operand{buf: out.buf, off: out.off, swap: true,
		stride: [4]int64{out.stride[2], each, each, out.stride[1]}}
	d.partRows = int(c / part)
	b.emitReduce(d, in, nil, res)
}

// partOfRow is the number of elements of a row of n that a reduction reads as one row: rows of 128, 256 and 512 are
// four (case reduce_probe_mean_ax3_1x1x1x512, case reduce_probe_max_ax3_1x1x1x512,
// case reduce_probe_sum_ax1_1x128x16x16; not case reduce_probe_sum_ax1_1x64x8x8; others are not recorded).
func partOfRow(n int64) int64 {
	switch n {
	case 128, 256, 512:
		return n / 4
	}
	return n
}

// transposePad is the padding of a row that a transpose to the row leaves in L2, which keeps rows on different banks:
// two granules if the row fills whole banks, one if it is another even number of granules (sums over channels of
// 1x32x4x4 and 1x64x8x8, sum and maximum over rows of 1x64x8x8). Rows of a few banks need none
// (case reduce_probe_mean_ax2_1x32x4x4).
func transposePad(t *target.Table, row int64) int64 {
	switch n := row / t.L2Granule; {
	case n <= bankStep:
		return 0
	case n%t.L2Banks == 0:
		return 2 * t.L2Granule
	case n%2 == 0:
		return t.L2Granule
	}
	return 0
}

// reduceDown reduces the rows of one image: they are transposed to the row, with the columns of the image as groups of
// the reduction, and the result is transposed back (case reduce_probe_max_ax2_1x64x8x8,
// case reduce_probe_sum_ax2_1x64x8x8).
func reduceDown(b *builder, r *reducing) error {
	x, out := r.x, r.out
	if len(x.dims) != 4 || len(r.axes) != 1 || r.axes[0] != 2 || x.dims[0] != 1 || x.pix != 0 || r.dst.pix != 0 ||
		out == nil {
		return noFit("not the rows of one image")
	}
	c, h, w := x.dims[1], x.dims[2], x.dims[3]
	line, pad := align(h*elemBytes, b.t.L2Granule), maxRowPad(b.t)
	if c == 1 || h == 1 || w == 1 || w > int64(b.t.MaxGroups) || h > int64(b.t.MaxWidth) ||
		h > int64(b.t.MaxChannels) || c > int64(b.t.MaxHeight) || c > int64(b.t.MaxChannels) ||
		c*(w*line+pad) > b.t.L2Bytes/4 || c*(h*align(w*elemBytes, b.t.L2Granule)+pad) > b.t.L2Bytes/4 ||
		c*w*b.t.L2Granule > b.t.L2Bytes/4 {
		return noFit("the transposed image is too large for L2 or a task, or a single row, column or channel")
	}
	t, y := b.temp([]int64{c, w, h}), b.temp([]int64{w, c, 1})
	t.buf.group, y.buf.layout = w, numberPerColumn
	whole := func(s *view) int64 { return s.dims[1] * s.stride[1] }
	b.emit(copying(), &operand{buf: x.buf, off: x.off, ext: [5]int64{1, 1, h, c, w},
		stride: [4]int64{whole(x), whole(x), x.stride[2], x.stride[1]}}, nil,
		&operand{buf: t.buf, off: t.off, swap: true, ext: [5]int64{1, 1, h, c, w},
			stride: [4]int64{t.stride[0], t.stride[0], t.stride[1], t.stride[0]}}, 0)
	b.emitReduce(folding(r.pool, r.factor), &operand{buf: t.buf, off: t.off, ext: [5]int64{w, 1, c, 1, h},
		stride: [4]int64{t.stride[1], t.stride[0], t.stride[0], t.stride[0]}}, nil,
		&operand{buf: y.buf, off: y.off, stride: [4]int64{y.stride[0], y.stride[0], y.stride[1], w * y.stride[0]}})
	b.emit(copying(), &operand{buf: y.buf, off: y.off, ext: [5]int64{1, 1, w, c, 1},
		stride: [4]int64{y.stride[0], y.stride[0], y.stride[0], y.stride[1]}}, nil,
		&operand{buf: out.buf, off: out.off, swap: true, ext: [5]int64{1, 1, w, c, 1},
			stride: [4]int64{whole(out), whole(out), out.stride[2], out.stride[1]}}, transposedRows)
	return nil
}

// reduceRows reduces the last axis longer than 1, and any others, on the planar engine.
func reduceRows(b *builder, r *reducing) error {
	x, out := r.x, r.out
	if out == nil {
		out = b.temp(r.kept)
		defer func() { b.moveTo(out, r.dst) }()
	}
	if _, fold := reductionLoops(x, out, r.over); len(fold) > maxFolds {
		// Axes that are not adjacent in memory are separate loops. In a copy at most two are left.
		c := b.temp(x.dims)
		b.copyTo(x, c)
		x = c
	}
	rows := int(x.w() / partOfRow(x.w()))
	return b.planarReduce(x, out, r.over, func() *draft {
		d := folding(r.pool, r.factor)
		d.partRows, d.readsAlone = rows, true
		return d
	})
}

// reduceToRow reduces the rest of each channel to one element of a row: the kept axis, the channels of the task, is the
// row of its transposed result.
func reduceToRow(b *builder, r *reducing) error {
	x, dst := r.x, r.dst
	keep, fold := reductionLoops(x, x, r.over)
	if r.out != nil || dst.pix != 0 || dst.elems() != dst.w() || len(keep) != 1 || len(fold) > 2 {
		return noFit("the result is not one row along the axis that is kept")
	}
	for len(fold) < 2 {
		fold = append(fold, axisLoop{1, x.stride[0], 0})
	}
	c, rows, depth := keep[0], fold[0], fold[1]
	row := align(x.w()*elemBytes, b.t.L2Granule)*rows.n*depth.n + maxRowPad(b.t)*rows.n
	if c.n > int64(b.t.MaxChannels) || c.n > int64(b.t.MaxWidth) || c.n*row > b.t.L2Bytes/4 {
		return noFit("one task is not enough")
	}
	in := &operand{buf: x.buf, off: x.off, pix: x.pix, ext: [5]int64{1, depth.n, c.n, rows.n, x.w()},
		stride: [4]int64{c.n * c.xs, depth.xs, c.xs, rows.xs}}
	in.rows = in.ext[axH]
	line := rowBytes(dst.w())
	b.emitReduce(folding(r.pool, r.factor), in, nil, &operand{buf: dst.buf, off: dst.off, swap: true,
		stride: [4]int64{line, line, line, line}})
	return nil
}

// maxFolds is the number of loops over which a task reduces, besides the row: depth and rows.
const maxFolds = 2

// reductionLoops returns the loops of a reduction over all dimensions except for the last, those that are kept and
// those that are reduced, with adjacent ones merged.
func reductionLoops(x, out *view, over []bool) (keep, fold []axisLoop) {
	for i := range x.dims[:len(x.dims)-1] {
		switch l := (axisLoop{x.dims[i], x.stride[i], out.stride[i]}); {
		case x.dims[i] == 1:
		case over[i]:
			fold = append(fold, axisLoop{l.n, l.xs, 0})
		default:
			keep = append(keep, l)
		}
	}
	return joinLoops(keep, 2), joinLoops(fold, maxFolds)
}

// axisLoop is one loop of a reduction: its iterations and the byte strides of source and result.
type axisLoop struct{ n, xs, os int64 }

// joinLoops merges adjacent loops over which both tensors are contiguous, from the slowest, until at most most loops
// are left.
func joinLoops(ls []axisLoop, most int) []axisLoop {
	for i := 0; i+1 < len(ls) && len(ls) > most; {
		if a, b := ls[i], ls[i+1]; a.xs == b.xs*b.n && a.os == b.os*b.n {
			ls = append(append(append([]axisLoop(nil), ls[:i]...), axisLoop{a.n * b.n, b.xs, b.os}), ls[i+2:]...)
			continue
		}
		i++
	}
	return ls
}

// planarReduce emits reduction tasks. Kept axes become channels (the slower) and
// groups, reduced ones rows (the slower) and depth, as in the recorded sums and
// means; kept axes in excess are unrolled.
func (b *builder) planarReduce(x, out *view, over []bool, make func() *draft) error {
	if len(x.dims) == 1 { // a vector is one row
		x, out, over = x.withLeadingOnes(2), out.withLeadingOnes(2), []bool{false, over[0]}
	}
	keep, fold := reductionLoops(x, out, over)
	if len(fold) > maxFolds {
		return fmt.Errorf("the reduction is over %d separate axes besides the row; a task folds %d",
			len(fold), maxFolds)
	}
	one := axisLoop{1, x.stride[0], out.stride[0]}
	for len(fold) < 2 {
		fold = append(fold, one)
	}
	rows, depth := fold[0], fold[1]
	if depth.n == 1 {
		rows, depth = b.divided(rows, depth)
	}
	budget := b.t.L2Bytes - l2Reserve - maxRowPad(b.t)*rows.n
	row := align(x.w()*elemBytes, b.t.L2Granule) * rows.n * depth.n
	if row > budget {
		return fmt.Errorf("one reduction reads %d bytes, L2 holds %d", row, budget)
	}
	emit := func(c, g axisLoop, xo, oo int64) {
		in := &operand{buf: x.buf, off: xo, pix: x.pix,
			ext:    [5]int64{g.n, depth.n, c.n, rows.n, x.w()},
			stride: [4]int64{g.xs, depth.xs, c.xs, rows.xs}}
		in.rows = in.ext[axH]
		res := &operand{buf: out.buf, off: oo,
			ext:    [5]int64{g.n, 1, c.n, 1, 1},
			stride: [4]int64{g.os, c.n * c.os, c.os, c.n * c.os}}
		switch i := len(x.dims) - 2; {
		case rows.n > 1: // reduced rows become one of the result
			res.stride[axH] = out.stride[i]
		case x.dims[i] == 1: // the single row of an image (case reduce_probe_mean_ax3_1x64x1x64)
			in.stride[axH], res.stride[axH] = x.stride[i], out.stride[i]
		}
		b.emitReduce(make(), in, nil, res)
	}
	var run func(keep []axisLoop, xo, oo int64)
	run = func(keep []axisLoop, xo, oo int64) {
		if b.full() {
			return
		}
		if len(keep) > 2 {
			l := keep[0]
			for i := range l.n {
				run(keep[1:], xo+i*l.xs, oo+i*l.os)
			}
			return
		}
		kept := append(append([]axisLoop(nil), keep...), one, one)[:2]
		c, g := kept[0], kept[1]
		if i := len(x.dims) - 2; len(keep) == 0 && !over[i] { // exchanged with the axis that is reduced
			c.xs = x.stride[i]
		}
		if c.n*g.n*row <= budget && c.n <= int64(b.t.MaxChannels) && g.n <= int64(b.t.MaxGroups) {
			emit(c, g, xo, oo)
			return
		}
		// Halve the slower loop that has more than one iteration.
		at := 0
		if c.n == 1 {
			at = 1
		}
		l := kept[at]
		for _, part := range [2][2]int64{{0, l.n / 2}, {l.n / 2, l.n - l.n/2}} {
			next := append([]axisLoop(nil), kept...)
			next[at].n = part[1]
			run(next, xo+part[0]*l.xs, oo+part[0]*l.os)
		}
	}
	run(keep, x.off, out.off)
	return nil
}

// divided divides rows that are more than a task's into rows and depth. Where no divisor is small enough the loop stays
// as it is, and the operation is refused.
func (b *builder) divided(rows, depth axisLoop) (slow, fast axisLoop) {
	most := int64(b.t.MaxHeight)
	for d := (rows.n + most - 1) / most; d > 1 && d <= most; d++ {
		if rows.n%d == 0 {
			return axisLoop{rows.n / d, rows.xs * d, rows.os}, axisLoop{d, rows.xs, rows.os}
		}
	}
	return rows, depth
}

// emitReduce emits a reduction. Recorded reductions have the input's extents in the output registers too.
func (b *builder) emitReduce(d *draft, src1, src2, dst *operand) {
	if n := int64(d.partRows); n > 1 && src1.ext[axH] == 1 && src1.pix == 0 && !src1.broadcast[axW] {
		src1.ext[axH], src1.ext[axW], src1.rows = n, src1.ext[axW]/n, n
		src1.stride[axH] = src1.ext[axW] * elemBytes
	}
	dst.ext = [5]int64{src1.ext[axG], src1.ext[axD], src1.ext[axC], src1.ext[axH], src1.ext[axW]}
	b.emit(d, src1, src2, dst, src1.ext[axH])
}

// reduceChannels reduces axis a, which is not the last, on the neural engine:
// that axis becomes the channels. finish, if there is one, completes each task.
func (b *builder) reduceChannels(x, out *view, a int, r reduction, factor float64, finish func(d *draft)) error {
	last := len(x.dims) - 1
	var perm []int
	for i := range x.dims {
		if i != a && i != last {
			perm = append(perm, i)
		}
	}
	xs, os := x.clone(), out.clone()
	xs.dims, xs.stride = nil, nil
	os.dims, os.stride = nil, nil
	for _, i := range perm {
		xs.dims, xs.stride = append(xs.dims, x.dims[i]), append(xs.stride, x.stride[i])
		os.dims, os.stride = append(os.dims, out.dims[i]), append(os.stride, out.stride[i])
	}
	xs.dims, xs.stride = append(xs.dims, x.w()), append(xs.stride, elemBytes)
	os.dims, os.stride = append(os.dims, x.w()), append(os.stride, elemBytes)
	n, err := newNest(xs, os)
	if err != nil {
		return err
	}
	n.merge()
	free := (b.t.L2Bytes - l2Reserve - maxRowPad(b.t)) / x.dims[a]
	n.channelPieces(b, free, func(p *nest) {
		src, dst := p.operand(0), p.operand(1)
		// The last loop of the nest is the rows, those before it are depth and groups. The stride of an axis of one
		// iteration is the size of what is below it.
		g, d, h := int64(1), int64(1), int64(1)
		var st [2][4]int64
		for k, s := range [2]*view{x, out} {
			st[k] = [4]int64{axH: rowBytes(s.w()), axC: s.stride[a]}
		}
		loops := len(p.dims)
		if loops > 0 {
			h, st[0][axH], st[1][axH] = p.dims[loops-1], p.stride[0][loops-1], p.stride[1][loops-1]
		}
		channels := [2]int64{x.dims[a], 1}
		for k := range st {
			st[k][axD] = max(channels[k]*st[k][axC], h*st[k][axH])
		}
		if loops > 1 {
			d, st[0][axD], st[1][axD] = p.dims[loops-2], p.stride[0][loops-2], p.stride[1][loops-2]
		}
		for k := range st {
			st[k][axG] = max(d*st[k][axD], channels[k]*st[k][axC])
		}
		if loops > 2 {
			g, st[0][axG], st[1][axG] = p.dims[loops-3], p.stride[0][loops-3], p.stride[1][loops-3]
		}
		src.ext, src.stride = [5]int64{g, d, x.dims[a], h, p.w}, st[0]
		dst.ext, dst.stride = [5]int64{g, d, 1, h, p.w}, st[1]
		t := neural(r.neural)
		if r.neural == td.NEMax {
			t = overChannels(x.dims[a])
		}
		t.ne.scale = factor
		if finish != nil {
			finish(t)
		}
		row := x.dims[a]*d*g*align(p.w*elemBytes, b.t.L2Granule) + maxRowPad(b.t)
		tile := int64(0)
		if rows := (b.t.L2Bytes - l2Reserve) / row; rows < h {
			tile = max(rows, 1)
		}
		b.emit(t, src, nil, dst, tile)
	})
	return nil
}

// channelPieces walks a nest in pieces of at most three loops whose rows of
// all but the last loop fit the budget.
func (n *nest) channelPieces(b *builder, free int64, emit func(p *nest)) {
	if b.full() {
		return
	}
	if len(n.dims) <= 3 && n.rowBytes(b.t, 1)-maxRowPad(b.t) <= free &&
		(len(n.dims) == 0 || n.rows() <= int64(b.t.MaxHeight)) {
		emit(n)
		return
	}
	if len(n.dims) > 3 {
		for i := range n.dims[0] {
			p := n.window(0, i, 1)
			p.remove(0)
			p.channelPieces(b, free, emit)
		}
		return
	}
	for i, d := range n.dims {
		if d > 1 {
			n.window(i, 0, d/2).channelPieces(b, free, emit)
			n.window(i, d/2, d-d/2).channelPieces(b, free, emit)
			return
		}
	}
	if half := align(n.w/2, 64/elemBytes); 0 < half && half < n.w {
		n.columns(0, half).channelPieces(b, free, emit)
		n.columns(half, n.w-half).channelPieces(b, free, emit)
		return
	}
	b.fail("a row of %d elements with all its channels does not fit L2", n.w)
}
