package lower

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/target"
)

func acceptMatmul(op *ir.Op, l *limits) error {
	if err := l.tensors(op, ir.ParamX, ir.ParamY, ir.ParamWeight, ir.ParamBias); err != nil {
		return err
	}
	for _, p := range []ir.ParamName{ir.ParamY, ir.ParamWeight} {
		if v := op.Arg(p); v != nil && v.Type.Rank() < 2 {
			return target.Refuse(target.RuleVector, "rank of "+string(p), v.Type.Rank(), "at least 2",
				fmt.Sprintf("%s has rank %d; the engine multiplies matrices", p, v.Type.Rank()))
		}
	}
	if x := op.Arg(ir.ParamX); x.Type.Rank() < 2 && op.Is(ir.OpMatMul) {
		return target.Refuse(target.RuleVector, "rank of x", 1, "at least 2",
			"x has rank 1; the engine multiplies matrices")
	}
	if bias := op.Arg(ir.ParamBias); bias != nil && !bias.IsConst() {
		return unknownNow(ir.ParamBias, "the bias")
	}
	if w := op.Arg(ir.ParamWeight); w != nil && !w.IsConst() {
		return unknownNow(ir.ParamWeight, "the weight")
	}
	x := op.Arg(ir.ParamX).Type.Shape
	k := x[len(x)-1]
	if tx, _ := ir.ArgBool(op, ir.ParamTransposeX); op.Is(ir.OpMatMul) && tx {
		k = x[len(x)-2]
	}
	if most := l.t.KernelBytes/elemBytes - 1; k > most {
		return target.Refuse(target.RuleKernelBytes, "elements summed over", k, most,
			fmt.Sprintf("the product sums over %d elements, kernel memory holds %d", k, most))
	}
	// A task reads 32 columns of all k at least, and to transpose a matrix 32 rows.
	if n := 32 * align(k*elemBytes, l.t.L2Granule); n > l.t.L2Bytes-l2Reserve {
		return target.Refuse(target.RuleWorkingSet, "L2 bytes of 32 columns", n, l.t.L2Bytes-l2Reserve,
			fmt.Sprintf("the product sums over %d elements, of which 32 columns take %d bytes of L2, the limit is %d",
				k, n, l.t.L2Bytes-l2Reserve))
	}
	if op.Is(ir.OpMatMul) && op.Arg(ir.ParamX).IsConst() && op.Arg(ir.ParamY).IsConst() {
		return target.Refuse(target.RuleConstants, "x and y", "constants", "at least one live",
			"both operands are constants")
	}
	return nil
}

// lowerLinear multiplies with a constant weight [N, K] and adds a bias.
func lowerLinear(b *builder, op *ir.Op) error {
	e, err := b.epilogueOf(op)
	if err != nil {
		return err
	}
	w := op.Arg(ir.ParamWeight)
	k := b.store(&weights.Kernel{
		Out: int(w.Type.Shape[0]), In: int(w.Type.Shape[1]), KH: 1, KW: 1, Groups: 1, W: w.Const.Data, Table: e.lut(),
	}, w.Const)
	if bias := op.Arg(ir.ParamBias); bias != nil {
		v := broadcastBias(constHalves(bias.Const), k.Out)
		x := op.Arg(ir.ParamX).Type
		saves, err := b.rowCuts(k, x.Elems()/x.Shape[x.Rank()-1])
		if err != nil {
			return err
		}
		if saves && uniform(v) {
			e.bias = weights.FromFP16(v[0])
		} else {
			k.Bias = v
		}
	}
	return b.product(op.Arg(ir.ParamX), k, &e)
}

// product multiplies the rows of x with a constant kernel. A result that only another such product reads keeps its
// form, one channel per column, and is not transposed between the two (recorded chains of products).
func (b *builder) product(x *ir.Value, k *weights.Kernel, e *epilogue) error {
	img := b.images[x]
	if img == nil {
		xs, err := b.tensor(x)
		if err != nil {
			return err
		}
		if b.readAsImage(x) && b.canLoad(xs, 2) == nil {
			img := b.loaded(xs)
			xs = img.reshape(xs.dims)
			b.vals[x] = xs
		}
		rows := asRows(matrixOf(xs))
		few := rows != nil && folds(b.t, rows.dims[0], rows.dims[1], int64(k.Out))
		read := b.feedsProduct(e.out) || b.feedsDynamic(e.out)
		if rows == nil || !few && !read || rows.dims[0] > int64(b.t.MaxWidth) {
			return b.rowsByConst(xs, b.resultOf(e.out), k, e)
		}
		if few {
			img = b.foldedTranspose(rows)
		} else {
			img = b.transposed(rows)
		}
	}
	if len(img.dims) == 3 {
		return b.foldedProduct(img, k, e)
	}
	if reader := b.transposedReader(e.out); reader != nil && b.oneTask(img, k) {
		return b.productAsKernel(reader, img, k, e)
	}
	if b.feedsProduct(e.out) || b.imageOfDynamic(e.out) {
		next := b.temp([]int64{int64(k.Out), img.dims[1]})
		b.images[e.out] = next
		return b.imageByConst(img, next, k, e, false)
	}
	dst := b.resultOf(e.out)
	rows := asRows(matrixOf(dst))
	if rows == nil {
		return fmt.Errorf("result of shape %v is not laid out as rows", dst.dims)
	}
	if b.oneTask(img, k) {
		if s := b.kernelOf(e.out); s != nil {
			rows = s
		}
	}
	return b.imageByConst(img, rows, k, e, true)
}

// oneTask reports whether one task multiplies all of an image with a constant kernel.
func (b *builder) oneTask(img *view, k *weights.Kernel) bool {
	slices, err := k.Cut(int(img.dims[1]), b.t.KernelStream)
	return err == nil && len(slices) == 1 && b.columnsAtOnce(img) == img.dims[1]
}

// readAsImage reports whether an elementwise operation that computes an output reads v after a product with a constant,
// which transposes v: the sum around a layer. A copy then loads v for both (case chain_pair_mm_add_d256_s64; not
// case chain_pair_add_ln_d256_s64, whose sum is not an output).
func (b *builder) readAsImage(v *ir.Value) bool {
	last := b.read[v].last
	if last == nil || last == b.op || b.read[v].n < 2 || last.Def.Class != ir.Pointwise {
		return false
	}
	sum := last.Results[0]
	return b.outs[sum] != nil && b.read[sum].n == 0
}

// feedsProduct reports whether v is read once, by a product with a constant that reads it as rows.
func (b *builder) feedsProduct(v *ir.Value) bool {
	op := b.read[v].last
	if op == nil || b.read[v].n != 1 || b.outs[v] != nil || op.Arg(ir.ParamX) != v || v.Type.Rank() < 2 {
		return false
	}
	return constProduct(op)
}

// columnForProduct keeps v, one row of numbers that only a product reads, as the column of single elements s, so that
// the product need not transpose it.
func (b *builder) columnForProduct(v *ir.Value, s *view) error {
	if !b.feedsProduct(v) {
		return noFit("not only a product reads the result")
	}
	n := v.Type.Elems()
	if v.Type.Shape[v.Type.Rank()-1] != n || n > int64(b.t.MaxChannels) {
		return noFit("the result is not one row, as long as a task has channels")
	}
	column := s.reshape([]int64{n, 1})
	if column == nil || column.pix != 0 {
		return noFit("the numbers are not a column")
	}
	b.images[v] = column
	return nil
}

// rowCuts reports whether a product with this number of rows needs another task for its kernel because of a row of
// biases. A uniform bias is then in the register for the accumulator's bias (linear of 375 rows with 1024 by 1024
// elements, three tasks instead of four; case chain_pair_mm_bias_d256_s64 keeps its row).
func (b *builder) rowCuts(k *weights.Kernel, rows int64) (bool, error) {
	biased := *k
	biased.Bias = make([]uint16, k.Out)
	with, err := biased.Cut(int(rows), b.t.KernelStream)
	if err != nil {
		return false, err
	}
	without, err := k.Cut(int(rows), b.t.KernelStream)
	return len(without) < len(with), err
}

// broadcastBias repeats a bias of one element.
func broadcastBias(bias []uint16, n int) []uint16 {
	if len(bias) == n {
		return bias
	}
	out := make([]uint16, n)
	for i := range out {
		out[i] = bias[0]
	}
	return out
}

// uniform reports whether all elements are the same.
func uniform(v []uint16) bool {
	return !slices.ContainsFunc(v, func(x uint16) bool { return x != v[0] })
}

// matrices iterates over the leading dimensions of a result, calling f with the matrices of the operands (broadcast if
// they have fewer) and the result.
func (b *builder) matrices(x, y, dst *view, f func(x, y, dst *view) error) error {
	for i := range leading(dst) {
		if b.full() {
			return nil
		}
		if err := f(x.matrix(dst, i), y.matrix(dst, i), dst.matrix(dst, i)); err != nil {
			return err
		}
	}
	return nil
}

// leading returns the number of matrices in a tensor.
func leading(s *view) int64 {
	n := int64(1)
	for _, d := range s.dims[:len(s.dims)-2] {
		n *= d
	}
	return n
}

// matrix returns the matrix of an operand, which is broadcast if it has fewer, that belongs to matrix i of the result
// dst; nil of nil.
func (s *view) matrix(dst *view, i int64) *view {
	if s == nil {
		return nil
	}
	lead, r := len(dst.dims)-2, len(s.dims)-2
	m := &view{buf: s.buf, off: s.off, pix: s.pix, dims: s.dims[r:], stride: s.stride[r:]}
	for at := range lead {
		d := dst.dims[lead-1-at]
		index := i % d
		i /= d
		if at >= r || s.dims[r-1-at] == 1 {
			continue
		}
		m.whole = max(m.whole, d*s.stride[r-1-at])
		m.off += index * s.stride[r-1-at]
	}
	return m
}

// asRows views a tensor as one matrix of rows, or returns nil.
func asRows(s *view) *view {
	if len(s.dims) == 2 {
		return s
	}
	return s.reshape([]int64{s.elems() / s.w(), s.w()})
}

// rowsByConst multiplies the rows of x with a constant kernel.
func (b *builder) rowsByConst(x, dst *view, k *weights.Kernel, e *epilogue) error {
	if len(x.dims) == 1 {
		x, dst = x.withLeadingOnes(2), dst.withLeadingOnes(2)
	}
	if xr, dr := asRows(x), asRows(dst); xr != nil && dr != nil {
		return b.matrixByConst(xr, dr, k, e, false)
	}
	return b.matrices(x, nil, dst, func(x, _, dst *view) error { return b.matrixByConst(x, dst, k, e, false) })
}

// matrixByConst multiplies x [M, K], or [K, M] if x is transposed, with the kernel [N, K] into dst [M, N]: a 1x1
// convolution over K channels and M pixels. A separate pass transposes x, and the strides of the result transpose dst.
// As many rows are multiplied at a time as an image has columns.
func (b *builder) matrixByConst(x, dst *view, k *weights.Kernel, e *epilogue, transposed bool) error {
	if transposed {
		return b.imageByConst(x, dst, k, e, true)
	}
	m, most := x.dims[0], int64(b.t.MaxWidth)
	for first := int64(0); first < m && !b.full(); first += most {
		n := min(most, m-first)
		err := b.imageByConst(b.transposed(x.slice(0, first, n, 1)), dst.slice(0, first, n, 1), k, e, true)
		if err != nil {
			return err
		}
	}
	return nil
}

// transposeKey is a matrix that a transpose reads.
type transposeKey struct {
	buf             *buffer
	off             int64
	rows, cols, row int64
}

// keyOf returns the key of rows [M, K].
func keyOf(x *view) transposeKey {
	return transposeKey{buf: x.buf, off: x.off, rows: x.dims[0], cols: x.dims[1], row: x.stride[0]}
}

// transposed copies rows [M, K] to an image [K, M], once for all products that read them (case chain_branch_d256_s64).
func (b *builder) transposed(x *view) *view {
	key := keyOf(x)
	if img := b.transposes[key]; img != nil && x.pix == 0 {
		return img
	}
	img := b.transposedImage(x)
	// An input that is transposed keeps its place in scratch (recorded for every such product whose operand is an
	// input), and so does what another task has written as rows of one channel (case chain_pair_gelu_mm_d256_s64,
	// case chain_pair_softmax_mm_d256_s64), not as channels of one row (case chain_lnproj_d768_s64).
	w := x.buf.writer
	rows := w != nil && w.writesRows()
	img.buf.backed = x.buf.space == inPort || rows
	if rows && w.pe != nil {
		x.buf.keepApart()
	}
	b.swapCopy(x, img)
	if x.pix == 0 {
		b.transposes[key] = img
	}
	return img
}

// transposedImage returns a place for the image [B, A] of a matrix x [A, B], whose rows are the columns of x. It stays
// in L2 if it fits there beside the rows on their way in (products of 192 and of 224 rows with 4096 by 2048 elements,
// public records; 256 rows do not). If it cannot stay in L2, transposedInter channels are side by side (dynamic matmuls
// of 16 and 128 rows with 2048 by 2048 elements, public records).
func (b *builder) transposedImage(x *view) *view {
	img := b.temp([]int64{x.dims[1], x.dims[0]})
	img.buf.keepApart()
	row := transposedInter(b.t) * x.dims[0] * elemBytes
	if img.buf.size > b.t.L2Bytes/2 {
		all := x.dims[1] * (align(x.dims[0]*elemBytes, b.t.L2Granule) + b.t.L2Granule)
		in := x.dims[0] * align(min(x.dims[1], b.t.WorkUnit)*elemBytes, b.t.L2Granule)
		if all+in <= b.t.L2Bytes-l2Reserve {
			img.buf.layout = largeMatrix
		}
	}
	if img.buf.size > b.t.L2Bytes/2 && img.buf.layout != largeMatrix && x.dims[1]%transposedInter(b.t) == 0 &&
		row%64 == 0 {
		img.inter, img.stride[0] = transposedInter(b.t), row
	}
	return img
}

// transposedInter is the number of channels that a transpose writes side by side to scratch, a granule.
func transposedInter(t *target.Table) int64 { return t.L2Granule / elemBytes }

// imageByConst multiplies an image [K, M] with the kernel [N, K] into dst, [M, N] if swap is set and [N, M] otherwise.
func (b *builder) imageByConst(img, dst *view, k *weights.Kernel, e *epilogue, swap bool) error {
	if swap && dst.buf.space == scratch {
		dst.buf.keepApart() // rows that are side by side (case chain_branch_d256_s64)
	}
	m := img.dims[1]
	chunk := b.columnsAtOnce(img)
	for first := int64(0); first < m; first += chunk {
		n := min(chunk, m-first)
		slices, err := k.Cut(int(n), b.t.KernelStream)
		if err != nil {
			return err
		}
		for _, s := range slices {
			p, err := weights.PlanMatmul(k.Out)
			switch {
			case len(slices) > 1:
				p, err = weights.PlanSlice(s)
			case b.t.SmallRows && !swap && n <= b.t.SmallImage*b.t.SmallImage: // chains of 64 rows on h14
				p, err = weights.PlanDense(k.Out, true)
			}
			if err != nil {
				return err
			}
			d := e.multiply()
			src := b.matrixOperand(img.slice(1, first, n, 1))
			var out *operand
			if swap {
				out = swappedOperand(dst.slice(0, first, n, 1).slice(1, int64(s.First), int64(s.Count), 1))
			} else {
				out = b.matrixOperand(dst.slice(0, int64(s.First), int64(s.Count), 1).slice(1, first, n, 1))
			}
			b.emit(d, src, nil, out, 0)
			b.stream(d, p, k, k.Sparse)
		}
	}
	return nil
}

// columnsAtOnce returns the number of columns of an image that one task multiplies with a constant kernel.
func (b *builder) columnsAtOnce(img *view) int64 {
	unit := int64(0)
	if img.buf.space == inPort || img.buf.size > b.t.L2Bytes/2 && img.buf.layout != largeMatrix {
		unit = b.t.WorkUnit / 2 // see narrowSource
	}
	return b.columnsInL2(img.dims[0], img.dims[1], unit)
}

// columnsInL2 returns the number of columns, of m, of k channels that a task may read: all, or a multiple of 32. Of an
// image that comes by DMA, unit columns are in L2 at a time; unit is 0 for one that stays in L2.
func (b *builder) columnsInL2(k, m, unit int64) int64 {
	budget := b.t.L2Bytes - l2Reserve
	if unit > 0 && k*align(min(m, unit)*elemBytes, b.t.L2Granule) <= budget {
		return m
	}
	for n := m; ; {
		if k*align(n*elemBytes, 16) <= budget || n <= 32 {
			return n
		}
		n = max(align(n/2, 32), 32)
	}
}

// matrixOperand reads [C, W]: rows as channels.
func (b *builder) matrixOperand(s *view) *operand {
	all := matrixBytes(s)
	o := &operand{
		buf: s.buf, off: s.off, pix: s.pix, inter: s.inter,
		ext:    [5]int64{1, 1, s.dims[0], 1, s.dims[1]},
		stride: [4]int64{all, all, s.stride[0], singleRow(s, all)},
	}
	if s.whole > all && (s.buf.space != scratch || s.buf.layout.stacked()) { // case chain_attn_s128_dh64_h4
		o.stride = [4]int64{s.whole, s.whole, s.stride[0], all}
	}
	return o
}

// swappedOperand writes a result of C channels and W columns as s = [W, C].
func swappedOperand(s *view) *operand {
	all := matrixBytes(s)
	return &operand{
		buf: s.buf, off: s.off, swap: true, inter: s.inter,
		ext:    [5]int64{1, 1, s.dims[1], 1, s.dims[0]},
		stride: [4]int64{all, all, s.stride[0], singleRow(s, all)},
	}
}

// matrixBytes is the number of bytes of a matrix.
func matrixBytes(s *view) int64 {
	inter := max(s.inter, 1)
	return (s.dims[0] + inter - 1) / inter * s.stride[0]
}

// singleRow is the row stride of a matrix that a task reads as channels of one row: the size of a declared surface, or
// of one row in scratch (recorded).
func singleRow(s *view, all int64) int64 {
	if s.buf.space == scratch {
		return s.stride[0]
	}
	return all
}

// swapCopy writes x [A, B] to dst [B, A] on the neural engine, as many rows at a time as fit L2.
func (b *builder) swapCopy(x, dst *view) {
	chunk := int64(32)
	row := align(min(x.dims[1], b.t.WorkUnit)*elemBytes, b.t.L2Granule)
	if n := (b.t.L2Bytes - l2Reserve) / row / 32 * 32; n > chunk {
		chunk = n
	}
	for first := int64(0); first < x.dims[0]; first += chunk {
		n := min(chunk, x.dims[0]-first)
		b.emit(copying(), b.matrixOperand(x.slice(0, first, n, 1)), nil, swappedOperand(dst.slice(1, first, n, 1)),
			0)
	}
}

func lowerMatmul(b *builder, op *ir.Op) error {
	a, err := ir.MatMulAttrs(op)
	if err != nil {
		return err
	}
	e, err := b.epilogueOf(op)
	if err != nil {
		return err
	}
	x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	switch {
	case y.IsConst() && constMatrix(y) && !a.TransposeX:
		return b.product(x, b.matrixKernel(y.Const, 0, !a.TransposeY, &e), &e)
	case y.IsConst() && constMatrix(y):
		xs, err := b.tensor(x)
		if err != nil {
			return err
		}
		dst := b.resultOf(e.out)
		return b.eachConst(y, dst, func(i int64, xm, dm *view) error {
			return b.matrixByConst(xm, dm, b.matrixKernel(y.Const, i, !a.TransposeY, &e), &e, a.TransposeX)
		}, xs)
	case x.IsConst():
		ys, err := b.tensor(y)
		if err != nil {
			return err
		}
		dst := b.resultOf(e.out)
		return b.eachConst(x, dst, func(i int64, ym, dm *view) error {
			if a.TransposeY {
				img := b.temp([]int64{ym.dims[1], ym.dims[0]})
				b.swapCopy(ym, img)
				ym = img
			}
			return b.imageByConst(ym, dm, b.matrixKernel(x.Const, i, a.TransposeX, &e), &e, false)
		}, ys)
	}
	if k, ok := b.pieces[y]; ok {
		return b.transposedProduct(k, &e)
	}
	xs, err := b.tensor(x)
	if err != nil {
		return err
	}
	if img := b.images[y]; img != nil {
		return b.dynamicMatMuls(xs, img, b.resultOf(e.out), a.TransposeX, false, &e)
	}
	ys, err := b.tensor(y)
	if err != nil {
		return err
	}
	return b.dynamicMatMuls(xs, ys, b.resultOf(e.out), a.TransposeX, a.TransposeY, &e)
}

func constMatrix(v *ir.Value) bool {
	return v.Type.Elems() == v.Type.Shape[v.Type.Rank()-1]*v.Type.Shape[v.Type.Rank()-2]
}

// eachConst calls f for every matrix of the result with the index of the
// constant's matrix that belongs to it.
func (b *builder) eachConst(c *ir.Value, dst *view, f func(i int64, live, dst *view) error, live *view) error {
	// The offsets of a view in place of the constant count its matrices.
	dims := c.Type.Shape
	st := make([]int64, len(dims))
	n := int64(1)
	for i := len(dims) - 3; i >= 0; i-- {
		st[i] = n
		n *= dims[i]
	}
	stand := &view{dims: dims, stride: st}
	return b.matrices(live, stand, dst, func(live, s, dst *view) error { return f(s.off, live, dst) })
}

// matrixKernel returns matrix i of a constant as a kernel [N, K]; stored reports that it is stored as [K, N].
func (b *builder) matrixKernel(c *ir.Const, i int64, stored bool, e *epilogue) *weights.Kernel {
	r := c.Type.Rank()
	rows, cols := c.Type.Shape[r-2], c.Type.Shape[r-1]
	w := c.Data[i*rows*cols*elemBytes:][:rows*cols*elemBytes]
	if stored {
		rows, cols = cols, rows
	}
	return b.store(&weights.Kernel{
		Out: int(rows), In: int(cols), KH: 1, KW: 1, Groups: 1, W: w, Transposed: stored, Table: e.lut(),
	}, c)
}
