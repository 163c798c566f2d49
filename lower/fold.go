package lower

import (
	"fmt"

	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
)

// Products on 64 rows whose kernel has more than one output group: the rows are
// folded to an image of 8x8, which the engine takes as a whole
// (matmul_m64_k256_n1024; products of 64 rows with 256 columns are not folded, and
// what lies between is modelled).

// folds reports whether a product of m rows of k elements with n columns works on
// an 8x8 image.
func folds(m, k, n int64) bool {
	const outputs = td.Lanes * 16 // of one output group of a product
	return m == smallImage*smallImage && n > outputs && k <= 4096 && n <= 4096
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
	b.emit(b.copyTask(), src, nil, &operand{
		buf: img.buf, ext: src.ext, swap: true,
		stride: [4]int64{whole, whole, img.stride[0], img.stride[1]},
	}, 0)
	return img
}

// foldedProduct multiplies a folded image. A result that another product reads
// stays folded; else it is written as rows to scratch, from where a pass of its
// own takes it on (recorded).
func (b *builder) foldedProduct(img *surf, k *weights.Kernel, e *epilogue) error {
	p, err := weights.PlanMatmul(k.Out)
	if err != nil {
		return err
	}
	t := neural(neMultiply)
	e.apply(t)
	b.stream(t, p, k, false)
	src := imageOperand(img.withLeadingOnes(4), 1)
	if b.feedsProduct(e.out) && k.Out <= 4096 {
		next := b.foldedImage(int64(k.Out))
		b.images[e.out] = next
		b.emit(t, src, nil, imageOperand(next.withLeadingOnes(4), 1), 0)
		return nil
	}
	dst := b.resultOf(e.out)
	to := asRows(matrixOf(dst))
	if to == nil {
		return fmt.Errorf("result of shape %v is not laid out as rows", dst.dims)
	}
	rows := b.temp([]int64{smallImage * smallImage, int64(k.Out)})
	all := rows.dims[0] * rows.stride[0]
	b.emit(t, src, nil, &operand{
		buf: rows.buf, swap: true,
		ext:    [5]int64{1, 1, int64(k.Out), smallImage, smallImage},
		stride: [4]int64{all, all, rows.stride[0], smallImage * rows.stride[0]},
	}, 0)
	b.emit(b.copyTask(), b.matrixOperand(rows), nil, b.matrixOperand(to), 0)
	return nil
}

// imageFitsL2 is fitsL2 of an image: it lies there as a source of the product that
// comes by DMA does, row after row of all channels.
func (b *builder) imageFitsL2(r *resident) bool {
	buf := r.bufs[0]
	c, h := buf.image[0], buf.image[1]
	r.bare = align(buf.image[2]*elemBytes, granule)
	whole := c * r.bare
	r.row = 0
	for _, f := range r.uses {
		s, ok := streams[f.bar]
		if !ok || f.off != 0 {
			return false
		}
		t := b.tasks[f.task]
		if int64(t.Get(s.row)) != buf.rowBytes || int64(t.Get(s.plane)) != h*buf.rowBytes {
			return false
		}
		if buf.shape[0] > 0 && !s.wholeImage(t, c, h) {
			return false
		}
		// Rows are padded for the planar engine where it takes part.
		if planar := t.Get(td.PlanarType) != 0; planar || s.source && r.row == 0 {
			r.row = whole + rowPad(t, !planar, r.bare, whole, h)
		}
	}
	r.pack, r.size = r.row, align(r.row*h, granule)
	return r.row > 0 && r.row < b.t.L2Bytes/(2*h)
}

// wholeImage reports whether a task takes or gives an image of c channels and h
// rows by a stream as it is.
func (s *stream) wholeImage(t *td.Task, c, h int64) bool {
	op := t.Get(td.NEOp)
	whole := t.Get(td.PlanarType) < pePair && (t.Get(td.PlanarType) != 0 || op == neCopy || s.source &&
		(op == neSum || op == neMax))
	return whole && int64(t.Get(s.extC)) == c && int64(t.Get(s.extH)) == h && t.Get(s.extD) <= 1 &&
		t.Get(td.NumGroups) <= 1 &&
		!t.On(s.swap) && (!s.source || t.Get(s.pix) == 0 && t.Get(s.inter) <= 1 && !t.On(s.spreadH) &&
		!t.On(s.spreadC)) &&
		t.Int(td.TileHeight) >= t.Int(td.Hout)
}

// imageToL2 is toL2 of an image.
func (b *builder) imageToL2(r *resident, f *fixup, again bool) {
	s, t := streams[f.bar], b.tasks[f.task]
	t.Set(s.l2, int(r.at)).Set(s.l2ch, int(r.bare)).Set(s.l2row, int(r.pack)).Set(s.l2d, int(f.buf.image[0]*r.bare)).
		Set(s.l2g, 0)
	s.leave(t, f.buf.named && !again)
}
