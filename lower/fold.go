package lower

import (
	"fmt"

	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// Products of few rows are folded to images of eight columns, which the engine processes as a whole: 64 rows with at
// least four times as many columns as terms (matmul_m64_k256_n1024_ty1, chain_ffn_d512_s64; not
// matmul_m64_k256_n512_ty1 or matmul_m64_k1024_n1024_ty1), 16 and 32 rows of long sums (every recorded product of them
// with 2048 terms and columns or more, such as env_mm_r2rb_m16_k2048_n2048_tx0_ty1). Numbers in between are modelled.

// folds reports whether a product of m rows of k elements with n columns works on an image of eight columns.
func folds(t *target.Table, m, k, n int64) bool {
	switch m {
	case t.SmallImage * t.SmallImage:
		return n >= foldedRatio*k && k <= foldedChannels && n <= foldedChannels
	case 2 * t.SmallImage, 4 * t.SmallImage:
		return min(k, n) >= foldedTerms && max(k, n) <= 2*foldedChannels
	}
	return false
}

// foldedImage returns a surface for an image of c channels of h rows and eight columns.
func (b *builder) foldedImage(c, h int64) *surf {
	img := b.temp([]int64{c, h, b.t.SmallImage})
	img.buf.image = [3]int64{c, h, b.t.SmallImage}
	return img
}

// foldedTranspose copies rows of k elements to an image of k channels: row 8h+c becomes pixel (h, c).
func (b *builder) foldedTranspose(x *surf) *surf {
	h := x.dims[0] / b.t.SmallImage
	img := b.foldedImage(x.dims[1], h)
	img.buf.named = x.buf.space == inPort
	all := x.dims[0] * x.stride[0]
	src := &operand{
		buf: x.buf, off: x.off, pix: x.pix,
		ext:    [5]int64{1, 1, b.t.SmallImage, h, x.dims[1]},
		stride: [4]int64{all, all, x.stride[0], b.t.SmallImage * x.stride[0]},
		cols:   max(b.t.WorkUnit>>transposeShift, 64/elemBytes),
	}
	if h < b.t.SmallImage {
		src.cols = b.t.WorkUnit >> log2up(h)
	}
	whole := img.dims[0] * img.stride[0]
	b.emit(copying(), src, nil, &operand{
		buf: img.buf, ext: src.ext, swap: true,
		stride: [4]int64{whole, whole, img.stride[0], img.stride[1]},
	}, 0)
	return img
}

// fewFolded reports whether the task is a product of rows folded to fewer than eight: it works in units of those rows,
// which are not padded (env_mm_r2rb_m16_k2048_n2048_tx0_ty1).
func (d *draft) fewFolded() bool {
	img := d.src[0].buf.image
	small := d.t.SmallImage
	return d.does(td.NEMultiply) && img[2] == small && img[1] > 1 && img[1] < small && d.window.alone()
}

// foldedProduct multiplies a folded image. A result that another product reads stays folded; else it is written as rows
// to scratch, from where a separate pass copies an output (recorded; not chain_block_d512_s64_proj1, where a sum reads
// the product).
func (b *builder) foldedProduct(img *surf, k *weights.Kernel, e *epilogue) error {
	stays := b.feedsProduct(e.out) && k.Out <= foldedChannels
	p, err := weights.PlanMatmul(k.Out)
	if stays { // chain_block_d512_s64_proj1
		p, err = weights.PlanDense(k.Out, img.dims[1] == b.t.SmallImage)
	}
	if err != nil {
		return err
	}
	d := e.multiply()
	b.stream(d, p, k, false, false)
	src := imageOperand(img.withLeadingOnes(4), 1)
	if stays {
		next := b.foldedImage(int64(k.Out), img.dims[1])
		b.images[e.out] = next
		b.emit(d, src, nil, imageOperand(next.withLeadingOnes(4), 1), 0)
		return nil
	}
	dst := b.resultOf(e.out)
	to := asRows(matrixOf(dst))
	if to == nil {
		return fmt.Errorf("result of shape %v is not laid out as rows", dst.dims)
	}
	rows := to
	if to.buf.space == scratch {
		to.buf.apart, to.buf.close = true, true
	} else {
		rows = b.temp([]int64{b.t.SmallImage * img.dims[1], int64(k.Out)})
	}
	all := rows.dims[0] * rows.stride[0]
	b.emit(d, src, nil, &operand{
		buf: rows.buf, off: rows.off, swap: true,
		ext:    [5]int64{1, 1, int64(k.Out), img.dims[1], b.t.SmallImage},
		stride: [4]int64{all, all, rows.stride[0], b.t.SmallImage * rows.stride[0]},
	}, 0)
	if rows != to {
		b.emit(copying(), b.matrixOperand(rows), nil, b.matrixOperand(to), 0)
	}
	return nil
}

// loads reports whether x is an input of several rows that a task can copy to L2 as an image, beside as many results of
// its size as make copies in all.
func (b *builder) loads(x *surf, copies int64) bool {
	n := len(x.dims)
	if n < 2 || n > 4 || n == 4 && x.dims[0] != 1 || x.buf.space != inPort || x.pix != 0 || !x.isCanonical() {
		return false
	}
	c, h, w := int64(1), x.dims[n-2], x.dims[n-1]
	if n > 2 {
		c = x.dims[n-3]
	}
	row := c*align(w*elemBytes, b.t.L2Granule) + maxRowPad(b.t)
	return h > 1 && h <= int64(b.t.MaxGroups) && h <= int64(b.t.MaxChannels) && c <= int64(b.t.MaxChannels) &&
		w <= int64(b.t.MaxWidth) && copies*h*(row+c*b.t.L2Granule) <= b.t.L2Bytes-2*l2Reserve
}

// loaded copies an input to scratch, as an image that later tasks may also read as rows.
func (b *builder) loaded(x *surf) *surf {
	x = x.withLeadingOnes(4)
	img := b.image(x.dims)
	img.buf.loaded = true
	b.emit(copying(), imageOperand(x, 1), nil, imageOperand(img, 1), 0)
	return img
}

// image returns a surface in scratch that is stored in L2 as an image.
func (b *builder) image(dims []int64) *surf {
	img := b.temp(dims)
	img.buf.shape = [3]int64{}
	img.buf.image = [3]int64{dims[1], dims[2], dims[3]}
	img.buf.rows = true
	return img
}

// patchBytes is the number of bytes of a row of a planar task's patch. Rows that would begin on one bank are that far
// apart (env_chain_softmax_h8_s64: eight granules for the maximum, two for the difference).
func (d *draft) patchBytes() int64 {
	if d.kind() == td.PlanarTwo && (d.src[0].broadcast[axW] || d.src[1].broadcast[axW]) {
		return elemBytes << squarePatch
	}
	return elemBytes << d.patch[0]
}

// imageView is how a task's loops run over an image in L2.
type imageView int

const (
	noImage        imageView = iota
	wholeImages              // channels and rows of the image
	rowsAsChannels           // the rows of a single channel
	rowsAsGroups             // the rows are groups of all channels' rows
	someChannels             // some channels, and rows of the image
)

// viewOf tells how a stream runs over its image.
func viewOf(o *operand) imageView {
	buf := o.buf
	c, plane := buf.image[0], buf.image[1]*buf.rowBytes
	single := o.ext[axH] == 1 || o.inParts()
	switch {
	case single && o.ext[axG] <= 1 && c == 1 && o.stride[axC] == buf.rowBytes && o.off%buf.rowBytes == 0:
		return rowsAsChannels
	case o.off != 0:
		if o.off%plane == 0 && o.ext[axG] <= 1 && o.stride[axH] == buf.rowBytes && o.stride[axC] == plane {
			return someChannels
		}
	case single && o.ext[axG] > 1 && c > 1 && o.stride[axG] == buf.rowBytes && o.stride[axC] == plane:
		return rowsAsGroups
	case o.stride[axH] == buf.rowBytes && o.stride[axC] == plane:
		return wholeImages
	}
	return noImage
}

// inParts reports whether the rows of the operand are the parts of one row of an image.
func (o *operand) inParts() bool { return o.buf.parts && o.stride[axH] < o.buf.rowBytes }

// imageFitsL2 is fitsL2 for an image: it is stored there as a source of the product that DMA loads, row after row of
// all channels.
func imageFitsL2(r *resident, t *target.Table) bool {
	buf := r.bufs[0]
	c, h := buf.image[0], buf.image[1]
	r.bare = align(buf.image[2]*elemBytes, t.L2Granule)
	whole := c * r.bare
	planar, transposed := false, false
	r.row = 0
	for _, u := range r.uses {
		if u.o == nil || viewOf(u.o) == noImage {
			return false
		}
		if buf.shape[0] > 0 && !u.d.wholeImage(u.role, c, h) {
			return false
		}
		// Rows are padded for the planar engine if it accesses them, those of a loaded image and of what is computed
		// from it for the first access.
		switch pad := rowPad(u.d, r.bare, whole, h); {
		case u.d.ne != nil && u.role != result && viewOf(u.o) == rowsAsChannels:
			transposed = true
		case u.d.pe != nil && !buf.rows:
			r.row = whole + pad
		case u.d.pe != nil && !planar:
			planar = true
			switch n := whole / t.L2Granule; {
			case u.o.inParts():
				pad = 0
			case n%t.L2Banks == 0:
				pad = max(pad, u.d.patchBytes())
			case buf.apart && n%2 == 0: // norm_softmax_a3_1x1x256x256, env_chain_softmax_h1_s128
				pad = max(pad, t.L2Granule)
			}
			r.row = whole + pad
		case u.role != result && (r.row == 0 || buf.rows && u.d.ne != nil && u.d.shift.max == transposeShift):
			// Units of eight rows need more (norm_softmax_a3_1x128x16x16; norm_softmax_a1_1x128x16x16, whose maximum is
			// broadcast over the channels, has units of 16).
			r.row = max(r.row, whole+pad)
		}
	}
	if transposed && r.row == 0 { // nothing else reads the image
		r.row = whole
	}
	// Rows that a transpose reads together are on different banks (chain_pair_mm_add_d256_s64).
	if transposed && r.row/t.L2Granule%2 == 0 {
		r.row += t.L2Granule
	}
	if buf.like != nil {
		r.row = buf.like.l2Row
	}
	buf.l2Row = r.row
	r.pack, r.size = r.row, align(r.row*h, t.L2Granule)
	return r.row > 0 && r.row < t.L2Bytes/(2*h)
}

// wholeImage reports whether the task reads or writes an unchanged image of c channels and h rows in a role.
func (d *draft) wholeImage(r role, c, h int64) bool {
	whole := d.kind() < td.PlanarPair && (d.pe != nil || d.ne.op == td.NEPass || r != result && (d.ne.op == td.NESum ||
		d.ne.op == td.NEMax))
	o, ext := d.stream(r), d.extents(r)
	swapped := o.swap && (r != result || d.ne != nil) // for a planar result the strides show it
	return whole && ext[axC] == c && ext[axH] == h && ext[axD] <= 1 && d.groups() <= 1 && !swapped &&
		o.pix == 0 && (r == result || o.inter <= 1) && !o.broadcast[axH] && !o.broadcast[axC] &&
		d.tile >= d.dst.ext[axH]
}
