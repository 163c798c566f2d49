package lower

import (
	"fmt"
	"strconv"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// copyTo copies a tensor to a view of the same dimensions.
func (b *builder) copyTo(x, dst *view) {
	b.pointwise(func(int64) *draft { return copying() }, []*view{x}, dst)
}

// moveTo writes the elements of x, in order, to dst of other dimensions.
func (b *builder) moveTo(x, dst *view) {
	if v := x.reshape(dst.dims); v != nil {
		b.copyTo(v, dst)
		return
	}
	if v := dst.reshape(x.dims); v != nil && v.pix == 0 {
		b.copyTo(x, v)
		return
	}
	if b.regroupTo(x, dst) == nil {
		return
	}
	// Copy through a column of single elements, each in a row of its own: every split of that column is a view.
	n := x.elems()
	column := b.temp([]int64{n, 1})
	broadcast := column.reshape(append(append([]int64(nil), x.dims...), 1))
	b.swapLast(insertOne(x), broadcast)
	gather := column.reshape(append(append([]int64(nil), dst.dims...), 1))
	b.swapLast(gather, insertOne(dst))
}

// insertOne views [.., W] as [.., 1, W].
func insertOne(s *view) *view {
	n := len(s.dims)
	v := *s
	lead := rowBytes(s.w())
	if n > 1 {
		lead = s.stride[n-2]
	}
	v.dims = append(append([]int64(nil), s.dims[:n-1]...), 1, s.w())
	v.stride = append(append([]int64(nil), s.stride[:n-1]...), lead, elemBytes)
	return &v
}

// swapLast writes x [.., A, B] to dst [.., B, A].
func (b *builder) swapLast(x, dst *view) {
	n := len(x.dims)
	perm := make([]int, n)
	for i := range perm {
		perm[i] = i
	}
	perm[n-1], perm[n-2] = n-2, n-1
	b.transposeTo(x, dst, perm)
}

// transposeTo writes x with its dimensions permuted to dst; perm moves the last
// dimension. Dimension perm[last] of x becomes the channels of a neural-engine
// pass that exchanges channels and width.
func (b *builder) transposeTo(x, dst *view, perm []int) {
	last := len(perm) - 1
	col := perm[last] // of x: becomes dst's rows' elements
	at := 0           // of dst: the position of x's last dimension
	type loop struct{ n, xs, ds int64 }
	var loops []loop
	for j, p := range perm[:last] {
		if p == last {
			at = j
			continue
		}
		if x.dims[p] == 1 {
			continue
		}
		l := loop{x.dims[p], x.stride[p], dst.stride[j]}
		if k := len(loops); k > 0 && loops[k-1].xs == l.xs*l.n && loops[k-1].ds == l.ds*l.n {
			loops[k-1] = loop{loops[k-1].n * l.n, l.xs, l.ds}
			continue
		}
		loops = append(loops, l)
	}
	budget := b.t.L2Bytes - l2Reserve
	row := align(min(x.w(), b.t.WorkUnit)*elemBytes, b.t.L2Granule) + maxRowPad(b.t)
	if dst.buf.space == outPort { // a row of the result beside it, where it is assembled
		row += x.w() * elemBytes
	}
	var run func(loops []loop, c0, c int64, xo, do int64)
	run = func(loops []loop, c0, c int64, xo, do int64) {
		if b.full() {
			return
		}
		n := int64(1)
		for _, l := range loops {
			n *= l.n
		}
		h := int64(1)
		if len(loops) > 0 {
			h = loops[len(loops)-1].n
		}
		perRow := n / h * c * row
		switch {
		case len(loops) > 3 || h > int64(b.t.MaxHeight):
			l := loops[0]
			if len(loops) > 3 || l.n == 1 {
				for i := range l.n {
					run(loops[1:], c0, c, xo+i*l.xs, do+i*l.ds)
				}
				return
			}
			run(append([]loop{{l.n / 2, l.xs, l.ds}}, loops[1:]...), c0, c, xo, do)
			run(append([]loop{{l.n - l.n/2, l.xs, l.ds}}, loops[1:]...), c0, c, xo+l.n/2*l.xs, do+l.n/2*l.ds)
			return
		case perRow > budget && c > 32:
			// Columns of the result start on multiples of 64 bytes.
			half := align(c/2, 32)
			if half >= c {
				half = 32
			}
			run(loops, c0, half, xo, do)
			run(loops, c0+half, c-half, xo+half*x.stride[col], do+half*elemBytes)
			return
		case perRow > budget && len(loops) > 1:
			l := loops[0]
			for i := range l.n {
				run(loops[1:], c0, c, xo+i*l.xs, do+i*l.ds)
			}
			return
		case perRow > budget:
			b.fail("a transposition of %d columns by %d rows does not fit L2", x.w(), c)
			return
		}
		full := [3]loop{{1, x.stride[col] * x.dims[col], dst.stride[at] * dst.dims[at]},
			{1, x.stride[col] * x.dims[col], dst.stride[at] * dst.dims[at]}, {1, x.stride[col], dst.stride[at]}}
		if len(loops) == 0 { // a single row is all of it (case encoder_transpose_r3_021)
			full[2] = full[1]
		}
		copy(full[3-len(loops):], loops)
		src := &operand{buf: x.buf, off: xo, pix: x.pix,
			ext:    [5]int64{full[0].n, full[1].n, c, full[2].n, x.w()},
			stride: [4]int64{full[0].xs, full[1].xs, x.stride[col], full[2].xs}}
		out := &operand{buf: dst.buf, off: do, swap: true, ext: src.ext,
			stride: [4]int64{full[0].ds, full[1].ds, dst.stride[at], full[2].ds}}
		tile := int64(0)
		if rows := budget / perRow; rows < full[2].n {
			tile = rows
		}
		b.emit(copying(), src, nil, out, tile)
	}
	run(loops, 0, x.dims[col], x.off, dst.off)
}

func acceptMove(op *ir.Op, l *limits) error { return l.tensors(op) }

// maxSingles is the number of elements that a change of rows may move one by one.
const maxSingles = 1 << 20

// acceptReshape refuses a change of rows for which too many elements would have to be moved one by one.
func acceptReshape(op *ir.Op, l *limits) error {
	if err := l.tensors(op); err != nil {
		return err
	}
	x, y := tensorDims(op.Arg(ir.ParamX).Type), tensorDims(op.Results[0].Type)
	st, size := canonicalStrides(x)
	if (&view{buf: &buffer{size: size}, dims: x, stride: st}).reshape(y) != nil {
		return nil
	}
	n := op.Arg(ir.ParamX).Type.Elems()
	if regroups(n, x[len(x)-1], y[len(y)-1], int64(l.t.MaxWidth)) {
		return nil
	}
	if n > maxSingles || n > int64(l.t.MaxChannels)*int64(l.t.MaxHeight) {
		return target.Refuse(target.RuleRows, "elements moved one by one", n, maxSingles,
			fmt.Sprintf("changes rows of %d elements into rows of %d and moves %d elements one by one, the limit is %d",
				x[len(x)-1], y[len(y)-1], n, maxSingles))
	}
	return nil
}

// lowerReshape changes the dimensions of the same elements.
func lowerReshape(b *builder, op *ir.Op, x *view) error {
	y := op.Results[0]
	dims := tensorDims(y.Type)
	if v := x.reshape(dims); v != nil {
		b.vals[y] = v
		return nil
	}
	if st, _ := canonicalStrides(x.dims); !x.isCanonical() && (&view{buf: x.buf, dims: x.dims, stride: st}).
		reshape(dims) != nil {
		c := b.temp(x.dims)
		b.copyTo(x, c)
		b.vals[y] = c.reshape(dims)
		return nil
	}
	if b.columnForProduct(y, x) != nil {
		b.moveTo(x, b.resultOf(y))
	}
	return nil
}

// lowerAlias makes the result a name of the operand.
func lowerAlias(b *builder, op *ir.Op, x *view) error {
	b.vals[op.Results[0]] = x
	return nil
}

func lowerTranspose(b *builder, op *ir.Op) error {
	perm, err := ir.Perm(op)
	if err != nil {
		return err
	}
	if b.transposeBytes(op, perm) {
		return nil
	}
	x, err := b.tensor(op.Arg(ir.ParamX))
	if err != nil {
		return err
	}
	if len(perm) == 0 || perm[len(perm)-1] == len(perm)-1 {
		b.vals[op.Results[0]] = x.permute(perm)
		return nil
	}
	// If the last dimension only changes places with dimensions of 1, nothing moves.
	if v := x.permuteOnes(perm); v != nil {
		b.vals[op.Results[0]] = v
		return nil
	}
	b.transposeTo(x, b.resultOf(op.Results[0]), perm)
	return nil
}

// permuteOnes returns the permuted view if the dimensions longer than 1 keep their order and a row stays a row.
func (s *view) permuteOnes(perm []int) *view {
	prev := -1
	dims := make([]int64, len(perm))
	for j, p := range perm {
		dims[j] = s.dims[p]
		if s.dims[p] == 1 {
			continue
		}
		if p < prev {
			return nil
		}
		prev = p
	}
	return s.reshape(dims)
}

func acceptConcat(op *ir.Op, l *limits) error {
	if on, ok := ir.ArgBool(op, ir.ParamInterleave); ok && on {
		return target.Refuse(target.RuleInterleave, "interleave", true, false, "interleaves its operands")
	}
	return l.tensors(op)
}

func lowerConcat(b *builder, op *ir.Op) error {
	axis, err := ir.AxisAttr(op, ir.ParamAxis, op.Results[0].Type.Rank())
	if err != nil {
		return err
	}
	return b.join(op, axis, func(s *view) *view { return s })
}

// lowerStack concatenates along a new axis.
func lowerStack(b *builder, op *ir.Op) error {
	rank := op.Results[0].Type.Rank()
	axis, err := ir.AxisAttr(op, ir.ParamAxis, rank)
	if err != nil {
		return err
	}
	if axis < rank-1 {
		return b.join(op, axis, func(s *view) *view {
			d := append([]int64(nil), s.dims[:axis]...)
			return s.reshape(append(append(d, 1), s.dims[axis:]...))
		})
	}
	dst := b.resultOf(op.Results[0])
	d := append([]int64(nil), dst.dims...)
	d[rank-1], d[rank-2] = d[rank-2], d[rank-1]
	t := b.temp(d)
	for i, v := range op.ArgList(ir.ParamValues) {
		x, err := b.tensor(v)
		if err != nil {
			return err
		}
		b.copyTo(insertOne(x), t.slice(rank-2, int64(i), 1, 1))
	}
	b.swapLast(t, dst)
	return nil
}

// join concatenates operands along an axis. Along the last one, they are concatenated transposed if one would not start
// at a multiple of 64 bytes.
func (b *builder) join(op *ir.Op, axis int, as func(*view) *view) error {
	dst := b.resultOf(op.Results[0])
	to, last := dst, len(dst.dims)-1
	if axis == last {
		at, even := int64(0), true
		for _, v := range op.ArgList(ir.ParamValues) {
			even = even && at*elemBytes%64 == 0
			d := tensorDims(v.Type)
			at += d[len(d)-1]
		}
		if !even {
			to = b.transposedTemp(dst)
			defer func() { b.swapLast(to, matrixOf(dst)) }()
		}
	}
	at := int64(0)
	for _, v := range op.ArgList(ir.ParamValues) {
		x, err := b.tensor(v)
		if err != nil {
			return err
		}
		if x = as(x); x == nil {
			return fmt.Errorf("operand %q of shape %v has no view for axis %d", v.Name, v.Type.Shape, axis)
		}
		n := x.dims[axis]
		if to == dst {
			b.copyTo(x, dst.slice(axis, at, n, 1))
		} else {
			b.swapLast(matrixOf(x), to.slice(len(to.dims)-2, at, n, 1))
		}
		at += n
	}
	return nil
}

// repeats returns the number of repetitions of each dimension by a tile, or why the tile rule refuses it: a repeated
// dimension must have one element, and a row stay a row.
func repeats(op *ir.Op) ([]int64, error) {
	reps, ok := ir.TileReps(op)
	if !ok {
		return nil, unknownNow(ir.ParamReps, "reps")
	}
	x := tensorDims(op.Arg(ir.ParamX).Type)
	for i, n := range reps {
		if n != 1 && (i == len(x)-1 || x[i] != 1) {
			return nil, target.Refuse(target.RuleAxes, fmt.Sprintf("repetition of dimension %d", i), n, 1,
				fmt.Sprintf("repeats dimension %d of %d elements; a task repeats only dimensions of one element, "+
					"except for the last",
					i, x[i]))
		}
	}
	return reps, nil
}

func acceptTile(op *ir.Op, l *limits) error {
	if err := l.tensors(op); err != nil {
		return err
	}
	_, err := repeats(op)
	return err
}

// repeatsRows reports whether a tile that the rule accepts repeats the rows of its operand.
func repeatsRows(op *ir.Op) bool {
	reps, err := repeats(op)
	return err == nil && len(reps) > 1 && reps[len(reps)-2] > 1
}

// lowerTile broadcasts the operand over the result (case tile_r_1x8x1x375_reps_113751 and
// case tile_r_1x1x375_reps_13751, each with the relu that follows).
func lowerTile(b *builder, op *ir.Op, x *view) error {
	e, err := b.epilogueOf(op)
	if err != nil {
		return err
	}
	dst := b.resultOf(e.out)
	again := repeatsRows(op)
	n, err := newNest(x, dst)
	if err != nil {
		return err
	}
	n.walk(b, 1, func(p *nest, tile int64) {
		d := planar(td.PlanarOne)
		d.pe.relu = e.relu
		src, out := p.operand(0), p.operand(1)
		if again && src.broadcast[axH] && out.ext[axG]*out.ext[axD] == 1 {
			d.rowAgain, tile = true, stripTile(b.t, out, 2)
		}
		b.emit(d, src, nil, out, tile)
	})
	return nil
}

// matrixOf raises the rank to two.
func matrixOf(s *view) *view { return s.withLeadingOnes(2) }

// transposedTemp returns a scratch tensor with the last two dimensions of dst
// exchanged.
func (b *builder) transposedTemp(dst *view) *view {
	d := append([]int64(nil), matrixOf(dst).dims...)
	n := len(d)
	d[n-1], d[n-2] = d[n-2], d[n-1]
	return b.temp(d)
}

func lowerSplit(b *builder, op *ir.Op, x *view) error {
	axis, err := ir.AxisAttr(op, ir.ParamAxis, op.Arg(ir.ParamX).Type.Rank())
	if err != nil {
		return err
	}
	at := int64(0)
	for _, y := range op.Results {
		n := y.Type.Shape[axis]
		b.vals[y] = x.slice(axis, at, n, 1)
		at += n
	}
	return nil
}

func acceptSlice(op *ir.Op, l *limits) error {
	if err := l.tensors(op); err != nil {
		return err
	}
	a, err := ir.SliceAttrs(op)
	if err != nil {
		return err
	}
	for i, ax := range a {
		if ax.Stride < 0 {
			return target.Refuse(target.RuleSlice, fmt.Sprintf("stride of dimension %d", i), ax.Stride, "at least 1",
				fmt.Sprintf("reads dimension %d backwards", i))
		}
		if ax.Stride > 1 && i == len(a)-1 {
			return target.Refuse(target.RuleSlice, "stride of the last dimension", ax.Stride, 1,
				fmt.Sprintf("reads every %dth element of a row", ax.Stride))
		}
		if ax.Squeeze && i == len(a)-1 {
			return target.Refuse(target.RuleSlice, "squeeze_mask of the last dimension", true, false,
				"removes the last dimension")
		}
	}
	return nil
}

func lowerSlice(b *builder, op *ir.Op, x *view) error {
	a, err := ir.SliceAttrs(op)
	if err != nil {
		return err
	}
	v := x.clone()
	for i, ax := range a {
		v = v.slice(i, ax.Begin, ax.Len, ax.Stride)
	}
	keep := &view{buf: v.buf, off: v.off, pix: v.pix}
	for i, ax := range a {
		if !ax.Squeeze {
			keep.dims, keep.stride = append(keep.dims, v.dims[i]), append(keep.stride, v.stride[i])
		}
	}
	b.vals[op.Results[0]] = keep
	return nil
}

func acceptPad(op *ir.Op, l *limits) error {
	if mode, _ := ir.ArgString(op, ir.ParamMode); mode != "constant" {
		return target.Refuse(target.RulePadMode, "mode", strconv.Quote(mode), `"constant"`,
			fmt.Sprintf("mode %q; the engine pads with a constant", mode))
	}
	if _, ok := ir.ArgFloat(op, ir.ParamConstantVal); !ok {
		return unknownNow(ir.ParamConstantVal, "constant_val")
	}
	if _, ok := ir.ArgInts(op, ir.ParamPad); !ok {
		return unknownNow(ir.ParamPad, "pad")
	}
	return l.tensors(op)
}

// lowerPad fills the result with the constant and copies the tensor into it.
func lowerPad(b *builder, op *ir.Op, x *view) error {
	pad, _ := ir.ArgInts(op, ir.ParamPad)
	c, _ := ir.ArgFloat(op, ir.ParamConstantVal)
	dst := b.resultOf(op.Results[0])
	n := len(dst.dims)
	before := make([]int64, n)
	for i := range len(pad) / 2 {
		before[n-len(pad)/2+i] = pad[2*i]
	}
	window := func(d *view) *view {
		for i := range n - 1 {
			d = d.slice(i, before[i], x.dims[i], 1)
		}
		return d
	}
	if before[n-1]*elemBytes%64 == 0 {
		b.fill(dst, c)
		b.copyTo(x, window(dst).slice(n-1, before[n-1], x.w(), 1))
		return nil
	}
	// Rows that would not start at a multiple of 64 bytes are padded transposed. If no other dimension is padded, that
	// writes all of the result.
	wx, wd := matrixOf(x), matrixOf(window(dst))
	if wd.elems() < dst.elems() {
		b.fill(dst, c)
	}
	t := b.transposedTemp(wd)
	b.fill(t, c)
	b.swapLast(wx, t.slice(len(t.dims)-2, before[n-1], x.w(), 1))
	b.swapLast(t, wd)
	return nil
}

// fill writes one number everywhere.
func (b *builder) fill(dst *view, v float64) {
	s := b.scalarSurface(v)
	n, err := newNest(s, dst)
	if err != nil {
		b.fail("%v", err)
		return
	}
	n.walk(b, 1, func(p *nest, tile int64) {
		b.emit(planar(td.PlanarOne), p.operand(0), nil, p.operand(1), tile)
	})
}
