package lower

import (
	"slices"
	"sync"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
)

// dynamicMatMuls multiplies the matrices of two tensors, the last first. If every product reads another matrix of an
// operand, the matrices are transposed together, each matrix in a row of its own (case chain_attn_s128_dh64_h4; batches
// of 375 rows, public records).
func (b *builder) dynamicMatMuls(x, y, dst *view, tx, ty bool, e *epilogue) error {
	if tx && b.canBatchTranspose(x, dst) == nil {
		x, tx = b.batchTranspose(x), false
	}
	input := y.buf.space != scratch
	image, transpose := y, func() {}
	if ty && b.canBatchTranspose(y, dst) == nil {
		ty = false
		image = b.transposedPlace(y)
		// After the first kernel, as recorded.
		transpose = sync.OnceFunc(func() { b.batchTransposeTo(y, image) })
	}
	if m := b.asGroups(x, image, dst); m != nil && !tx && !ty {
		b.multiplyGroups(m, e, transpose)
		return nil
	}
	for i := leading(dst) - 1; i >= 0 && !b.full(); i-- {
		err := b.dynamicMatMul(x.matrix(dst, i), image.matrix(dst, i), dst.matrix(dst, i), tx, ty, input, e, transpose)
		if err != nil {
			return err
		}
	}
	return nil
}

// canBatchTranspose returns a noFit unless one task can transpose all matrices of s. There must be several, one for
// each matrix of the result.
func (b *builder) canBatchTranspose(s, dst *view) error {
	r := len(s.dims)
	if s.pix != 0 || s.inter > 1 {
		return noFit("rows do not begin at a line, or channels are interleaved")
	}
	n, all := int64(1), int64(1)
	for _, d := range s.dims[:r-2] {
		n *= d
	}
	for _, d := range dst.dims[:len(dst.dims)-2] {
		all *= d
	}
	rows, cols := s.dims[r-2], s.dims[r-1]
	row := rows * align(min(cols, b.t.WorkUnit)*elemBytes, b.t.L2Granule)
	switch {
	case n != all || n == 1:
		return noFit("products share a matrix, or there is only one")
	case n > int64(b.t.MaxHeight) || rows > int64(b.t.MaxChannels) || n*row > b.t.L2Bytes-l2Reserve:
		return noFit("the matrices are too large for one task")
	case s.reshape([]int64{n, rows, cols}) == nil:
		return noFit("the matrices are not evenly apart")
	}
	return nil
}

// transposedPlace returns a place for the matrices of s with rows and columns exchanged.
func (b *builder) transposedPlace(s *view) *view {
	r := len(s.dims)
	dims := append([]int64(nil), s.dims...)
	dims[r-2], dims[r-1] = dims[r-1], dims[r-2]
	img := b.temp(dims)
	img.buf.layout = stackOfMatrices
	// Rows of a work unit that has several are on banks half way between the banks of the first (case
	// chain_attn_s128_dh64_h4).
	ch := align(dims[r-1]*elemBytes, b.t.L2Granule)
	if dims[r-2] <= b.t.WorkUnit/2 && dims[r-2]*ch/b.t.L2Granule%b.t.L2Banks == 0 {
		img.buf.group = dims[r-2]
	}
	return img
}

// batchTransposeTo writes the matrices of s to img, which transposedPlace returned.
func (b *builder) batchTransposeTo(s, img *view) {
	r := len(s.dims)
	n := s.elems() / s.dims[r-2] / s.dims[r-1]
	x, y := s.reshape([]int64{n, s.dims[r-2], s.dims[r-1]}), img.reshape([]int64{n, s.dims[r-1], s.dims[r-2]})
	in := &operand{buf: x.buf, off: x.off, ext: [5]int64{1, 1, x.dims[1], n, x.dims[2]}}
	out := &operand{buf: y.buf, off: y.off, swap: true, ext: in.ext}
	in.stride = [4]int64{n * x.stride[0], n * x.stride[0], x.stride[1], x.stride[0]}
	out.stride = [4]int64{img.buf.size, img.buf.size, y.stride[1], y.stride[0]}
	// As many rows at a time as fit in L2 beside the result, all of it or the part of these rows.
	row := x.dims[1] * align(min(x.dims[2], b.t.WorkUnit)*elemBytes, b.t.L2Granule)
	tile := (b.t.L2Bytes - l2Reserve - img.buf.size) / row
	if img.buf.layout == stackOfKernels {
		tile = (b.t.L2Bytes - l2Reserve) / (row + transposedRow(b.t, out))
	}
	if tile >= n || tile < 1 {
		tile = 0
	}
	b.emit(copying(), in, nil, out, tile)
}

// besideKernels is the number of transposed matrices up to which their rows are side by side: as many as public records
// have. The hazard check refuses 33 matrices of 16 by 32 elements.
const besideKernels = 8

// batchTranspose returns s with its last two axes swapped, row i of every matrix adjacent, as kernels (products of
// eight transposed matrices of 749 and of 375 by 128 elements, public records).
func (b *builder) batchTranspose(s *view) *view {
	img := b.transposedPlace(s)
	if leading(img) > besideKernels {
		b.batchTransposeTo(s, img)
		return img
	}
	img.buf.layout = stackOfKernels
	r := len(img.dims)
	row := img.stride[r-2]
	img.stride[r-2] = row * leading(img)
	for i := r - 3; i >= 0; i-- {
		img.stride[i] = row
		row *= img.dims[i]
	}
	b.batchTransposeTo(s, img)
	return img
}

// dynamicMatMul multiplies two matrices that are known only at run time. y is the image (K channels, N pixels) and x
// the kernel. The kernel is read row by row if a core computes one output; otherwise it is first rewritten into scratch
// in the order in which the kernel DMA reads. input reports that y is an input or a constant, or was before it was
// transposed. It calls ready before it reads y.
func (b *builder) dynamicMatMul(x, y, dst *view, tx, ty, input bool, e *epilogue, ready func()) error {
	n := y.dims[1]
	if ty {
		n = y.dims[0]
	}
	if x.buf.space != scratch {
		defer b.categorise(len(b.drafts), n)
	}
	if tx {
		x = b.transposedRows(x, n)
	}
	m, k := x.dims[0], x.dims[1]
	if kernel := b.kernels[x.buf]; kernel.pieces > 0 {
		ready()
		if ty {
			s := b.transposedImage(y)
			b.swapCopy(y, s)
			y = s
		}
		b.multiplyPieces(kernel, kernel.pieces, m, y, dst, e)
		return nil
	}
	chunk := b.columnsInL2(k, n, b.t.WorkUnit)
	// Every piece reads y, which must be in L2 as a whole. An intermediate may not stay there, so that it is read in
	// few pieces only.
	if stays := k*align(n*elemBytes, b.t.L2Granule) <= b.t.L2Bytes/2; stays && b.kernels[x.buf].buf == nil {
		lanes := b.pieceLanes(m, k, n)
		equal := lanes > 1 && m%(b.t.Cores*lanes) == 0
		if equal || input && (lanes > 1 || !b.inOnePiece(m, k, n)) {
			b.productInPieces(x, y, dst, lanes, ty, e, ready)
			return nil
		}
	}
	for first := int64(0); first < m && !b.full(); {
		lanes, groups := b.dynamicLanes(m-first, k, chunk)
		rows := min(m-first, b.t.Cores*lanes*groups)
		var kr kernelRows
		if ready, ok := b.kernels[x.buf]; ok {
			kr = ready
			if kr.matrix > 0 {
				kr.off += x.off / kr.matrix * kr.size
			}
		} else if lanes == 1 {
			kr = b.directRows(x.slice(0, first, rows, 1))
		} else {
			kr = b.stageKernel(x.slice(0, first, rows, 1), lanes, groups)
		}
		ready()
		if ty { // after the kernel, as recorded
			s := b.transposedImage(y)
			b.swapCopy(y, s)
			y, ty = s, false
		}
		for col := int64(0); col < n; col += chunk {
			c := min(chunk, n-col)
			d := e.multiply()
			d.cores = int(min(rows, b.t.Cores))
			d.kernel = &kernelUse{rows: &kr, ocgSize: log2up(lanes)}
			b.emit(d, b.matrixOperand(y.slice(1, col, c, 1)), nil, b.matrixOperand(dst.slice(0, first, rows, 1).
				slice(1, col, c, 1)), 0)
		}
		first += rows
	}
	return nil
}

// categoryFull is the category of the neural tasks of a dynamic matmul that keeps the engine busy: at least one work
// unit of columns, eight outputs on each core and sums of fullSum elements (products of 256 rows with 128 by 256 and
// 256 by 128 elements have it; 256 by 64, and 128 rows with 64 by 128, do not; public records). A product whose kernel
// is a result of tasks before it has none (case chain_block_d512_s128_proj1, case chain_block_d512_s128_proj0).
const (
	categoryFull = 7
	fullSum      = 128
	fullLanes    = 3
)

// categorise sets the category of the drafts from index from on, which multiply n columns.
func (b *builder) categorise(from int, n int64) {
	work := b.drafts[from:]
	if n < b.t.WorkUnit || !slices.ContainsFunc(work, func(d *draft) bool {
		return d.kernel != nil && d.kernel.ocgSize == fullLanes && d.src[0].ext[axC] >= fullSum
	}) {
		return
	}
	for _, d := range work {
		if d.ne != nil {
			d.ne.category = categoryFull
		}
	}
}

// inOnePiece reports whether one task multiplies with all rows.
func (b *builder) inOnePiece(rows, k, pixels int64) bool {
	lanes, groups := b.dynamicLanes(rows, k, pixels)
	if lanes == 1 {
		return rows <= b.t.Cores && rows&(rows-1) == 0
	}
	return rows == b.t.Cores*lanes*groups
}

// pieceLanes returns the number of outputs of one core if the rows make several pieces with that many on each core: as
// many as make equal pieces (96 rows are three times two on each of sixteen cores), else as many as divide the rows (48
// rows: two on each of eight cores, then of sixteen), else 1 (375 rows; public records).
func (b *builder) pieceLanes(rows, k, pixels int64) int64 {
	if rows*align(k*elemBytes, b.t.L2Granule) > b.t.L2Bytes-l2Reserve || rows > int64(b.t.MaxChannels) {
		return 1
	}
	for _, parts := range [2]int64{b.t.Cores, 1} {
		for lanes := int64(8); lanes > 1; lanes /= 2 {
			plane := lanes * k * elemBytes
			if rows < b.t.Cores*lanes || rows%(parts*lanes) != 0 || plane%64 != 0 || plane > b.kernelPart(pixels) {
				continue
			}
			if rows == b.t.Cores*lanes {
				return 1
			}
			return lanes
		}
	}
	return 1
}

// productInPieces multiplies y by one piece of the rows of x after the other, the last first: what sixteen cores leave
// on as many cores as are a power of two, the fewest first. Unless a core computes one output, a pass of the neural
// engine first writes all rows in the kernel's order (case rrmm_r2rr_m96_k64_n64_tx0_ty0).
func (b *builder) productInPieces(x, y, dst *view, lanes int64, ty bool, e *epilogue, ready func()) {
	m, k := x.dims[0], x.dims[1]
	kernel := b.directRows(x)
	if lanes > 1 {
		s := piecesSurface(m, k, lanes)
		kernel = kernelRows{buf: s.buf, step: s.stride[0], size: s.stride[0]}
		b.emit(copying(), b.matrixOperand(x), nil, b.matrixOperand(s), 0)
	}
	ready()
	if ty {
		s := b.transposedImage(y)
		b.swapCopy(y, s)
		y = s
	}
	b.multiplyPieces(kernel, lanes, m, y, dst, e)
}

// multiplyPieces multiplies y by m rows, which are at kernel, into dst, as productInPieces does.
func (b *builder) multiplyPieces(kernel kernelRows, lanes, m int64, y, dst *view, e *epilogue) {
	for first := m; first > 0 && !b.full(); {
		cores := int64(b.t.Cores)
		if rest := first / lanes % b.t.Cores; rest > 0 {
			cores = rest & -rest
		}
		first -= cores * lanes
		d := e.multiply()
		d.cores = int(cores)
		rows := kernel
		rows.off += first / lanes * kernel.step
		d.kernel = &kernelUse{rows: &rows, ocgSize: log2up(lanes)}
		in, out := b.matrixOperand(y), b.matrixOperand(dst)
		if in.ext[axW] > b.t.WorkUnit {
			in.cols = in.ext[axW] // all of it stays for the next piece
		}
		out.off, out.ext[axC] = out.off+first*dst.stride[0], cores*lanes
		b.emit(d, in, nil, out, 0)
	}
}

// piecesSurface returns a place in scratch for m rows of k elements, lanes of them side by side.
func piecesSurface(m, k, lanes int64) *view {
	step := lanes * k * elemBytes
	return &view{
		buf: &buffer{space: scratch, size: step * m / lanes, def: -1}, dims: []int64{m, k},
		stride: []int64{step, elemBytes}, inter: lanes,
	}
}

// kernelPart is the largest number of bytes of a core's part of a kernel that is known at run time.
func (b *builder) kernelPart(pixels int64) int64 {
	if pixels > int64(b.t.StreamPixels) {
		return b.t.KernelBytes
	}
	return b.t.KernelStream / b.t.Cores
}

// dynamicLanes chooses, for rows of k elements that are still to do, the number of outputs of one core in a group (a
// power of two up to 8, which interleaving can store) and the number of groups in one task.
func (b *builder) dynamicLanes(rows, k, pixels int64) (lanes, groups int64) {
	most := b.kernelPart(pixels)
	for lanes = 8; lanes > 1; lanes /= 2 {
		plane := lanes * k * elemBytes
		// The least that stageKernel reads.
		staged := b.t.Cores * lanes * align(min(k, widePatch)*elemBytes, b.t.L2Granule)
		if rows < b.t.Cores*lanes || align(plane, 64) > most || staged > b.t.L2Bytes-l2Reserve {
			continue
		}
		if plane%64 != 0 { // groups would not follow each other
			return lanes, 1
		}
		return lanes, min(rows/(b.t.Cores*lanes), most/plane)
	}
	return 1, 1
}

// kernelOf returns the place of a value that is read once, as the kernel of a dynamic matmul, if one task can write all
// of it in the kernel's order; else nil.
func (b *builder) kernelOf(v *ir.Value) *view {
	op := b.read[v].last
	if op == nil || b.read[v].n != 1 || b.outs[v] != nil || !isDynamicMatMul(op) || op.Arg(ir.ParamX) != v ||
		b.transposesProduct(op) {
		return nil
	}
	a, err := ir.MatMulAttrs(op)
	y := tensorDims(op.Arg(ir.ParamY).Type)
	out := op.Results[0].Type
	if err != nil || a.TransposeX || len(y) < 2 || out.Elems() != out.Shape[out.Rank()-1]*out.Shape[out.Rank()-2] {
		return nil
	}
	x := b.vals[v]
	m, k, n := x.dims[len(x.dims)-2], x.w(), y[len(y)-1]
	if a.TransposeY {
		n = y[len(y)-2]
	}
	lanes, groups := b.dynamicLanes(m, k, b.columnsInL2(k, n, b.t.WorkUnit))
	if lanes == 1 || groups != 1 || m != b.t.Cores*lanes {
		return nil
	}
	s := b.kernelSurface(m, k, lanes)
	b.kernels[x.buf] = kernelRows{buf: s.buf, step: s.stride[0], size: s.stride[0]}
	return s
}

// kernelPieces is kernelOf for a value that the product splits into equal pieces (case chain_attn_s256_dh64).
func (b *builder) kernelPieces(v *ir.Value) *view {
	op := b.read[v].last
	if !b.feedsDynamic(v) || op.Arg(ir.ParamX) != v || b.transposesProduct(op) {
		return nil
	}
	a, err := ir.MatMulAttrs(op)
	y := tensorDims(op.Arg(ir.ParamY).Type)
	if err != nil || a.TransposeX || len(y) < 2 {
		return nil
	}
	x := b.vals[v]
	m, k, n := x.dims[len(x.dims)-2], x.w(), y[len(y)-1]
	if a.TransposeY {
		n = y[len(y)-2]
	}
	lanes := b.pieceLanes(m, k, n)
	if k*align(n*elemBytes, b.t.L2Granule) > b.t.L2Bytes/2 || lanes == 1 || m%(b.t.Cores*lanes) != 0 {
		return nil
	}
	s := piecesSurface(m, k, lanes)
	b.kernels[x.buf] = kernelRows{buf: s.buf, step: s.stride[0], size: s.stride[0], pieces: lanes}
	return s
}

// kernelsOf is kernelOf for a value of several matrices, one for each matrix of the product: the parts of one core are
// side by side. It returns the place as an operand of rows as channels and matrices as rows (case
// chain_attn_s128_dh64_h4).
func (b *builder) kernelsOf(v *ir.Value) *operand {
	op := b.read[v].last
	if op == nil || b.read[v].n != 1 || b.outs[v] != nil || !isDynamicMatMul(op) || op.Arg(ir.ParamX) != v {
		return nil
	}
	a, err := ir.MatMulAttrs(op)
	x, y := b.vals[v], tensorDims(op.Arg(ir.ParamY).Type)
	r := len(x.dims)
	if err != nil || a.TransposeX || r < 3 || len(y) < 2 {
		return nil
	}
	heads, m, k, n := x.dims[r-3], x.dims[r-2], x.w(), y[len(y)-1]
	if a.TransposeY {
		n = y[len(y)-2]
	}
	out := op.Results[0].Type
	lanes, groups := b.dynamicLanes(m, k, b.columnsInL2(k, n, b.t.WorkUnit))
	if heads == 1 || x.elems() != heads*m*k || out.Elems() != heads*m*n || lanes == 1 || groups != 1 ||
		m != b.t.Cores*lanes || lanes*k*elemBytes%64 != 0 || heads > int64(b.t.MaxHeight) || x.pix != 0 {
		return nil
	}
	part := lanes * k * elemBytes
	step := heads * part
	buf := &buffer{space: scratch, size: step * b.t.Cores, def: -1}
	b.kernels[x.buf] = kernelRows{buf: buf, step: step, size: part, matrix: x.stride[r-3]}
	return &operand{buf: buf, inter: lanes, ext: [5]int64{1, 1, m, heads, k},
		stride: [4]int64{buf.size, buf.size, step, part}}
}

// transposedRows exchanges rows and columns of x [K, M], which is to multiply n columns. If a task takes all rows, they
// are transposed into the kernel's order (64 rows of 128 and 128 rows of 2048 elements, public records).
func (b *builder) transposedRows(x *view, n int64) *view {
	k, m := x.dims[0], x.dims[1]
	lanes, groups := b.dynamicLanes(m, k, b.columnsInL2(k, n, b.t.WorkUnit))
	if lanes == 1 || groups != 1 || m != b.t.Cores*lanes {
		s := b.temp([]int64{m, k})
		b.swapCopy(x, s)
		return s
	}
	s := b.kernelSurface(m, k, lanes)
	b.kernels[s.buf] = kernelRows{buf: s.buf, step: s.stride[0], size: s.stride[0]}
	b.swapCopy(x, s)
	return s
}

// kernelSurface returns a place in scratch for m rows of k elements in the order in which the kernel DMA reads them:
// lanes rows side by side for each core.
func (b *builder) kernelSurface(m, k, lanes int64) *view {
	step := align(lanes*k*elemBytes, 64)
	return &view{
		buf: &buffer{space: scratch, size: step * b.t.Cores, def: -1}, dims: []int64{m, k},
		stride: []int64{step, elemBytes}, inter: lanes,
	}
}

// kernelRows describes where the parts of a runtime kernel are: core i's at off + i*step.
type kernelRows struct {
	buf             *buffer
	off, step, size int64
	pieces          int64 // rows of one core in each of several pieces, 0 for one piece
	matrix          int64 // of several kernels: bytes of the tensor from matrix to matrix, 0 for one
	group           int64 // of several kernels that one task reads: bytes from kernel to kernel
}

// directRows reads rows in place, one per core. The kernel DMA has no offset within 64 bytes, so rows that have one are
// copied first.
func (b *builder) directRows(x *view) kernelRows {
	if x.pix != 0 {
		c := b.temp(x.dims)
		b.copyTo(x, c)
		x = c
	}
	return kernelRows{buf: x.buf, off: x.off, step: x.stride[0], size: align(x.dims[1]*elemBytes, 64)}
}

// stageKernel copies rows into scratch so that each core's part holds, group after group, k rows of lanes elements.
// Where a task reads pieces, the parts of a group are side by side instead, and the groups one after the other.
func (b *builder) stageKernel(x *view, lanes, groups int64) kernelRows {
	k := x.dims[1]
	plane := lanes * k * elemBytes
	step, next := align(plane*groups, 64), align(plane, 64) // from one core's part, and from one group, to the next
	buf := &buffer{space: scratch, size: step * b.t.Cores, def: -1}
	if b.t.GroupsMatrices && groups > 1 {
		step, next = next, next*b.t.Cores
	}
	group := b.t.Cores * lanes
	// One task for each run of groups that fits in L2.
	run := max(1, (b.t.L2Bytes-l2Reserve)/(group*align(k*elemBytes, 16)))
	for g := int64(0); g < groups; g += run {
		n := min(run, groups-g)
		src := x.slice(0, g*group, n*group, 1)
		in := &operand{
			buf: src.buf, off: src.off, pix: src.pix,
			ext: [5]int64{n, 1, group, 1, k},
			stride: [4]int64{group * src.stride[0], group * src.stride[0], src.stride[0],
				singleRow(src, group*src.stride[0])},
		}
		out := &operand{
			buf: buf, off: g * next, inter: lanes,
			ext:    in.ext,
			stride: [4]int64{next, buf.size, step, next},
		}
		if n == 1 { // of all, as recorded
			out.stride[axG] = buf.size
			if src.buf.space != scratch {
				in.stride[axG] = max(in.stride[axG], src.whole)
				in.stride[axD] = in.stride[axG]
			}
		}
		b.emit(planar(td.PlanarOne), in, nil, out, 0)
	}
	return kernelRows{buf: buf, off: 0, step: step, size: step}
}
