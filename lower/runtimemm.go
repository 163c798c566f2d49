package lower

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
)

// runtimeProduct multiplies two matrices that are known only at run time. y is the image (K channels, N pixels) and x
// the kernel. The kernel is read row by row if a core computes one output; otherwise it is first rewritten into scratch
// in the order in which the kernel DMA reads.
func (b *builder) runtimeProduct(x, y, dst *surf, tx, ty bool, e *epilogue) error {
	n := y.dims[1]
	if ty {
		n = y.dims[0]
	}
	defer b.categorise(len(b.drafts), n)
	if tx {
		x = b.turnedRows(x, n)
	}
	m, k := x.dims[0], x.dims[1]
	chunk := b.columnsInL2(k, n, workUnit)
	// Every piece reads y. An image of more columns than a work unit passes through L2 and would be fetched for each
	// piece.
	stays := ty || n <= workUnit || y.buf.space == scratch
	if lanes := b.pieceLanes(m, k, n); lanes > 1 && stays && n <= chunk && b.kernels[x.buf].buf == nil {
		b.productInPieces(x, y, dst, lanes, ty, e)
		return nil
	}
	for first := int64(0); first < m && !b.full(); {
		lanes, groups := b.runtimeLanes(m-first, k, chunk)
		rows := min(m-first, td.Lanes*lanes*groups)
		var kr kernelRows
		if ready, ok := b.kernels[x.buf]; ok {
			kr = ready
		} else if lanes == 1 {
			kr = b.directRows(x.slice(0, first, rows, 1))
		} else {
			kr = b.stageKernel(x.slice(0, first, rows, 1), lanes, groups)
		}
		if ty { // after the kernel, as recorded
			s := b.turnedImage(y)
			b.swapCopy(y, s)
			y, ty = s, false
		}
		for col := int64(0); col < n; col += chunk {
			c := min(chunk, n-col)
			d := e.multiply()
			d.cores = int(min(rows, td.Lanes))
			d.kernel = &kernelUse{rows: &kr, ocgSize: log2up(lanes)}
			b.emit(d, b.matrixOperand(y.slice(1, col, c, 1)), nil, b.matrixOperand(dst.slice(0, first, rows, 1).
				slice(1, col, c, 1)), 0)
		}
		first += rows
	}
	return nil
}

// categoryFull is the category of the neural tasks of a product at run time that keeps the engine busy: at least one
// work unit of columns, eight outputs on each core and sums of fullSum elements (products of 256 rows with 128 by 256
// and 256 by 128 elements have it; 256 by 64, and 128 rows with 64 by 128, do not; public records).
const (
	categoryFull = 7
	fullSum      = 128
	fullLanes    = 3
)

// categorise sets the category of the drafts from index from on, which multiply n columns.
func (b *builder) categorise(from int, n int64) {
	work := b.drafts[from:]
	if n < workUnit || !slices.ContainsFunc(work, func(d *draft) bool {
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

// pieceLanes returns the number of outputs of one core if the rows make several pieces with that many on each core,
// else 1.
func (b *builder) pieceLanes(rows, k, pixels int64) int64 {
	if rows*align(k*elemBytes, granule) > b.t.L2Bytes-l2Reserve || rows > int64(b.t.MaxChannels) {
		return 1
	}
	for lanes := int64(8); lanes > 1; lanes /= 2 {
		if rows%(td.Lanes*lanes) != 0 {
			continue
		}
		if plane := lanes * k * elemBytes; plane%64 != 0 || plane > b.kernelPart(pixels) {
			continue
		}
		if rows == td.Lanes*lanes {
			return 1
		}
		return lanes
	}
	return 1
}

// productInPieces writes all rows of x in the kernel's order with a pass of the neural engine and multiplies y by one
// piece after the other, the last first (rrmm_r2rr_m96_k64_n64_tx0_ty0).
func (b *builder) productInPieces(x, y, dst *surf, lanes int64, ty bool, e *epilogue) {
	m, k := x.dims[0], x.dims[1]
	step := lanes * k * elemBytes
	all := step * m / lanes
	buf := &buffer{space: scratch, size: all, def: -1}
	b.emit(copying(), b.matrixOperand(x), nil, &operand{
		buf: buf, inter: lanes, ext: [5]int64{1, 1, m, 1, k}, stride: [4]int64{all, all, step, step},
	}, 0)
	if ty {
		s := b.turnedImage(y)
		b.swapCopy(y, s)
		y = s
	}
	rows := td.Lanes * lanes
	for first := m - rows; first >= 0 && !b.full(); first -= rows {
		d := e.multiply()
		d.cores = td.Lanes
		d.kernel = &kernelUse{
			rows:    &kernelRows{buf: buf, off: first / lanes * step, step: step, size: step},
			ocgSize: log2up(lanes),
		}
		out := b.matrixOperand(dst)
		out.off, out.ext[axC] = out.off+first*dst.stride[0], rows
		b.emit(d, b.matrixOperand(y), nil, out, 0)
	}
}

// kernelPart is the largest number of bytes of a core's part of a kernel that is known at run time.
func (b *builder) kernelPart(pixels int64) int64 {
	if pixels > int64(b.t.StreamPixels) {
		return b.t.KernelBytes
	}
	return b.t.KernelStream / td.Lanes
}

// runtimeLanes chooses, for rows of k elements that are still to do, the number of outputs of one core in a group (a
// power of two up to 8, which interleaving can store) and the number of groups in one task.
func (b *builder) runtimeLanes(rows, k, pixels int64) (lanes, groups int64) {
	most := b.kernelPart(pixels)
	for lanes = 8; lanes > 1; lanes /= 2 {
		plane := lanes * k * elemBytes
		if rows < td.Lanes*lanes || align(plane, 64) > most {
			continue
		}
		if plane%64 != 0 { // groups would not follow each other
			return lanes, 1
		}
		return lanes, min(rows/(td.Lanes*lanes), most/plane)
	}
	return 1, 1
}

// kernelOf returns the place of a value that is read once, as the kernel of a product at run time, if one task can
// write all of it in the kernel's order; else nil.
func (b *builder) kernelOf(v *ir.Value) *operand {
	op := b.read[v].last
	if op == nil || b.read[v].n != 1 || b.outs[v] != nil || !runtimeProduct(op) || op.Arg(ir.ParamX) != v {
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
	lanes, groups := b.runtimeLanes(m, k, b.columnsInL2(k, n, workUnit))
	if lanes == 1 || groups != 1 || m != td.Lanes*lanes {
		return nil
	}
	s := b.kernelSurface(m, k, lanes)
	b.kernels[x.buf] = kernelRows{buf: s.buf, step: s.stride[0], size: s.stride[0]}
	return b.matrixOperand(s)
}

// turnedRows exchanges rows and columns of x [K, M], which is to multiply n columns. If a task takes all rows, they are
// turned into the kernel's order (64 rows of 128 and 128 rows of 2048 elements, public records).
func (b *builder) turnedRows(x *surf, n int64) *surf {
	k, m := x.dims[0], x.dims[1]
	lanes, groups := b.runtimeLanes(m, k, b.columnsInL2(k, n, workUnit))
	if lanes == 1 || groups != 1 || m != td.Lanes*lanes {
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
func (b *builder) kernelSurface(m, k, lanes int64) *surf {
	step := align(lanes*k*elemBytes, 64)
	return &surf{
		buf: &buffer{space: scratch, size: step * td.Lanes, def: -1}, dims: []int64{m, k},
		stride: []int64{step, elemBytes}, inter: lanes,
	}
}

// kernelRows describes where the parts of a runtime kernel are: that of core i at off + i*step.
type kernelRows struct {
	buf             *buffer
	off, step, size int64
}

// directRows reads rows in place, one per core. The kernel DMA has no offset within 64 bytes, so rows that have one are
// copied first.
func (b *builder) directRows(x *surf) kernelRows {
	if x.pix != 0 {
		c := b.temp(x.dims)
		b.copyTo(x, c)
		x = c
	}
	return kernelRows{buf: x.buf, off: x.off, step: x.stride[0], size: align(x.dims[1]*elemBytes, 64)}
}

// stageKernel copies rows into scratch so that each core's part holds, group after group, k rows of lanes elements.
func (b *builder) stageKernel(x *surf, lanes, groups int64) kernelRows {
	k := x.dims[1]
	plane := lanes * k * elemBytes
	step := align(plane*groups, 64)
	buf := &buffer{space: scratch, size: step * td.Lanes, def: -1}
	group := td.Lanes * lanes
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
			buf: buf, off: g * align(plane, 64), inter: lanes,
			ext:    in.ext,
			stride: [4]int64{align(plane, 64), step * td.Lanes, step, align(plane, 64)},
		}
		if n == 1 {
			out.stride[axG] = step * td.Lanes // of all, as recorded
		}
		b.emit(planar(td.PlanarOne), in, nil, out, 0)
	}
	return kernelRows{buf: buf, off: 0, step: step, size: step}
}
