package lower

import (
	"fmt"

	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
)

// Products on 64 rows whose kernel has more than one output group: the rows are folded to an image of 8x8, which the
// engine processes as a whole (matmul_m64_k256_n1024; products of 64 rows with 256 columns are not folded, and numbers
// in between are modelled).

// folds reports whether a product of m rows of k elements with n columns works on
// an 8x8 image.
func folds(m, k, n int64) bool {
	const outputs = td.Lanes * 16 // of one output group of a product
	return m == smallImage*smallImage && n > outputs && k <= foldedChannels && n <= foldedChannels
}

// foldedImage returns a surface for an image of c channels of 8x8.
func (b *builder) foldedImage(c int64) *surf {
	img := b.temp([]int64{c, smallImage, smallImage})
	img.buf.image = [3]int64{c, smallImage, smallImage}
	return img
}

// foldedTurn copies 64 rows of k elements to an image of k channels: row 8h+c
// becomes pixel (h, c).
func (b *builder) foldedTurn(x *surf) *surf {
	img := b.foldedImage(x.dims[1])
	img.buf.named = x.buf.space == inPort
	all := x.dims[0] * x.stride[0]
	src := &operand{
		buf: x.buf, off: x.off, pix: x.pix,
		ext:    [5]int64{1, 1, smallImage, smallImage, x.dims[1]},
		stride: [4]int64{all, all, x.stride[0], smallImage * x.stride[0]},
		cols:   max(workUnit>>turnShift, 64/elemBytes),
	}
	whole := img.dims[0] * img.stride[0]
	b.emit(copying(), src, nil, &operand{
		buf: img.buf, ext: src.ext, swap: true,
		stride: [4]int64{whole, whole, img.stride[0], img.stride[1]},
	}, 0)
	return img
}

// foldedProduct multiplies a folded image. A result that another product reads stays folded; else it is written as rows
// to scratch, from where a separate pass reads it (recorded).
func (b *builder) foldedProduct(img *surf, k *weights.Kernel, e *epilogue) error {
	p, err := weights.PlanMatmul(k.Out)
	if err != nil {
		return err
	}
	d := e.multiply()
	b.stream(d, p, k, false)
	src := imageOperand(img.withLeadingOnes(4), 1)
	if b.feedsProduct(e.out) && k.Out <= foldedChannels {
		next := b.foldedImage(int64(k.Out))
		b.images[e.out] = next
		b.emit(d, src, nil, imageOperand(next.withLeadingOnes(4), 1), 0)
		return nil
	}
	dst := b.resultOf(e.out)
	to := asRows(matrixOf(dst))
	if to == nil {
		return fmt.Errorf("result of shape %v is not laid out as rows", dst.dims)
	}
	rows := b.temp([]int64{smallImage * smallImage, int64(k.Out)})
	all := rows.dims[0] * rows.stride[0]
	b.emit(d, src, nil, &operand{
		buf: rows.buf, swap: true,
		ext:    [5]int64{1, 1, int64(k.Out), smallImage, smallImage},
		stride: [4]int64{all, all, rows.stride[0], smallImage * rows.stride[0]},
	}, 0)
	b.emit(copying(), b.matrixOperand(rows), nil, b.matrixOperand(to), 0)
	return nil
}

// imageFitsL2 is fitsL2 for an image: it is stored there as a source of the product that DMA loads, row after row of
// all channels.
func imageFitsL2(r *resident, l2Bytes int64) bool {
	buf := r.bufs[0]
	c, h := buf.image[0], buf.image[1]
	r.bare = align(buf.image[2]*elemBytes, granule)
	whole := c * r.bare
	r.row = 0
	for _, u := range r.uses {
		if u.o == nil || u.o.off != 0 || u.o.stride[axH] != buf.rowBytes || u.o.stride[axC] != h*buf.rowBytes {
			return false
		}
		if buf.shape[0] > 0 && !u.d.wholeImage(u.role, c, h) {
			return false
		}
		// Rows are padded for the planar engine if it accesses them.
		if u.d.pe != nil || u.role != result && r.row == 0 {
			r.row = whole + rowPad(u.d, r.bare, whole, h)
		}
	}
	r.pack, r.size = r.row, align(r.row*h, granule)
	return r.row > 0 && r.row < l2Bytes/(2*h)
}

// wholeImage reports whether the task reads or writes an unchanged image of c channels and h rows in a role.
func (d *draft) wholeImage(r role, c, h int64) bool {
	whole := d.kind() < td.PlanarPair && (d.pe != nil || d.ne.op == td.NEPass || r != result && (d.ne.op == td.NESum ||
		d.ne.op == td.NEMax))
	o, ext := d.stream(r), d.extents(r)
	swapped := o.swap && (r != result || d.ne != nil) // for a planar result the strides show it
	return whole && ext[axC] == c && ext[axH] == h && ext[axD] <= 1 && d.groups() <= 1 && !swapped &&
		o.pix == 0 && (r == result || o.inter <= 1) && !o.spread[axH] && !o.spread[axC] && d.tile >= d.dst.ext[axH]
}
