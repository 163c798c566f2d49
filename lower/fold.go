package lower

import (
	"fmt"

	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// Products of few rows are folded to images of eight columns, which the engine processes as a whole: 64 rows with at
// least four times as many columns as terms (case matmul_m64_k256_n1024_ty1, case chain_ffn_d512_s64; not
// case matmul_m64_k256_n512_ty1 or case matmul_m64_k1024_n1024_ty1), 16 and 32 rows of long sums (every recorded
// product of them with 2048 terms and columns or more, such as case env_mm_r2rb_m16_k2048_n2048_tx0_ty1). Numbers in
// between are modelled.

// folds reports whether a product of m rows of k elements with n columns works on an image of eight columns.
func folds(t *target.Table, m, k, n int64) bool {
	switch m {
	case t.SmallImage * t.SmallImage:
		return t.FoldsSmall && n >= foldedRatio*k && k <= foldedChannels && n <= foldedChannels
	case 2 * t.SmallImage, 4 * t.SmallImage:
		return min(k, n) >= foldedTerms && max(k, n) <= 2*foldedChannels
	}
	return false
}

// foldedImage returns a view for an image of c channels of h rows and eight columns.
func (b *builder) foldedImage(c, h int64) *view {
	img := b.temp([]int64{c, h, b.t.SmallImage})
	img.buf.image = &image{channels: c, rowCount: h, columns: b.t.SmallImage}
	return img
}

// foldedTranspose copies rows of k elements to an image of k channels: row 8h+c becomes pixel (h, c).
func (b *builder) foldedTranspose(x *view) *view {
	h := x.dims[0] / b.t.SmallImage
	img := b.foldedImage(x.dims[1], h)
	img.buf.backed = x.buf.space == inPort
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
// which are not padded (case env_mm_r2rb_m16_k2048_n2048_tx0_ty1).
func (d *draft) fewFolded() bool {
	img := d.src[0].buf.asImage()
	small := d.t.SmallImage
	return d.does(td.NEMultiply) && img != nil && img.columns == small && img.rowCount > 1 && img.rowCount < small &&
		d.window.alone()
}

// foldedProduct multiplies a folded image. A result that another product reads stays folded; else it is written as rows
// to scratch, from where a separate pass copies an output (recorded; not case chain_block_d512_s64_proj1, where a sum
// reads the product).
func (b *builder) foldedProduct(img *view, k *weights.Kernel, e *epilogue) error {
	stays := b.feedsProduct(e.out) && k.Out <= foldedChannels
	p, err := weights.PlanMatmul(k.Out)
	if stays { // case chain_block_d512_s64_proj1
		p, err = weights.PlanDense(k.Out, img.dims[1] == b.t.SmallImage)
	}
	if err != nil {
		return err
	}
	d := e.multiply()
	src := imageOperand(img.withLeadingOnes(4), 1)
	if stays {
		next := b.foldedImage(int64(k.Out), img.dims[1])
		b.images[e.out] = next
		b.emit(d, src, nil, imageOperand(next.withLeadingOnes(4), 1), 0)
		b.stream(d, p, k, k.Sparse)
		return nil
	}
	dst := b.resultOf(e.out)
	to := asRows(matrixOf(dst))
	if to == nil {
		return fmt.Errorf("result of shape %v is not laid out as rows", dst.dims)
	}
	rows := to
	if to.buf.space == scratch {
		to.buf.spacing = rowsRejoined
	} else {
		rows = b.temp([]int64{b.t.SmallImage * img.dims[1], int64(k.Out)})
	}
	all := rows.dims[0] * rows.stride[0]
	b.emit(d, src, nil, &operand{
		buf: rows.buf, off: rows.off, swap: true,
		ext:    [5]int64{1, 1, int64(k.Out), img.dims[1], b.t.SmallImage},
		stride: [4]int64{all, all, rows.stride[0], b.t.SmallImage * rows.stride[0]},
	}, 0)
	b.stream(d, p, k, k.Sparse)
	if rows != to {
		b.emit(copying(), b.matrixOperand(rows), nil, b.matrixOperand(to), 0)
	}
	return nil
}
