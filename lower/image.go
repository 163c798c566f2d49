package lower

import (
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// image is the layout in L2 of a tensor [1, C, H, W]: rows are apart, and in each row one channel comes after the
// other.
type image struct {
	channels, rowCount, columns int64

	rows     bool   // tasks may also read it as rows
	parts    bool   // a reduction reads its rows in parts
	whole    bool   // every task must read or write all of it
	optional bool   // the buffer is stored as rows if the image does not fit
	chosen   bool   // it is tried, or fits: set by fitsL2
	like     *image // one whose place this one takes, with the same rows
	l2Row    int64  // bytes of L2 from row to row, set by fits
}

// imageOf returns the layout of an image with the last three dimensions of dims, of which there are four.
func imageOf(dims []int64) *image {
	return &image{channels: dims[1], rowCount: dims[2], columns: dims[3]}
}

// same reports whether two images have the same dimensions; nil is no image.
func (m *image) same(o *image) bool {
	return (m == nil) == (o == nil) &&
		(m == nil || m.channels == o.channels && m.rowCount == o.rowCount && m.columns == o.columns)
}

// asImage returns the image as which the buffer is stored in L2, or nil if it is stored as rows.
func (b *buffer) asImage() *image {
	if m := b.image; m != nil && (m.chosen || !m.optional) {
		return m
	}
	return nil
}

// asRows reports whether the buffer is an image that tasks may also read as rows.
func (b *buffer) asRows() bool { return b.image != nil && b.image.rows }

// canLoad returns a noFit unless x is an input of several rows that a task can copy to L2 as an image, beside as many
// results of its size as make copies in all.
func (b *builder) canLoad(x *view, copies int64) error {
	n := len(x.dims)
	switch {
	case n < 2 || n > 4 || n == 4 && x.dims[0] != 1:
		return noFit("x is not an image")
	case x.buf.space != inPort || x.pix != 0 || !x.isCanonical():
		return noFit("x is not an input")
	}
	c, h, w := int64(1), x.dims[n-2], x.dims[n-1]
	if n > 2 {
		c = x.dims[n-3]
	}
	row := c*align(w*elemBytes, b.t.L2Granule) + maxRowPad(b.t)
	switch {
	case h == 1:
		return noFit("x has a single row")
	case h > int64(b.t.MaxGroups) || max(c, h) > int64(b.t.MaxChannels) || w > int64(b.t.MaxWidth):
		return noFit("x is larger than an image of one task")
	case copies*h*(row+c*b.t.L2Granule) > b.t.L2Bytes-2*l2Reserve:
		return noFit("x and the results of its size do not fit in L2")
	}
	return nil
}

// loaded copies an input to scratch, as an image that later tasks may also read as rows.
func (b *builder) loaded(x *view) *view {
	x = x.withLeadingOnes(4)
	img := b.image(x.dims)
	b.emit(copying(), imageOperand(x, 1), nil, imageOperand(img, 1), 0)
	return img
}

// image returns a view in scratch that is stored in L2 as an image.
func (b *builder) image(dims []int64) *view {
	img := b.temp(dims)
	img.buf.image = imageOf(dims)
	img.buf.image.rows = true
	return img
}

// patchBytes is the number of bytes of a row of a planar task's patch. Rows that would begin on one bank are that far
// apart (case env_chain_softmax_h8_s64: eight granules for the maximum, two for the difference).
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

// viewOf returns how a stream runs over its image.
func viewOf(o *operand) imageView {
	buf := o.buf
	c, plane := buf.image.channels, buf.image.rowCount*buf.rowBytes
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
func (o *operand) inParts() bool {
	return o.buf.image != nil && o.buf.image.parts && o.stride[axH] < o.buf.rowBytes
}

// fits is fitsL2 for a resident that is the image: it is stored as a source of the product that DMA loads, row after
// row of all channels.
func (m *image) fits(r *resident, t *target.Table) bool {
	buf := r.bufs[0]
	c, h := m.channels, m.rowCount
	r.bare = align(m.columns*elemBytes, t.L2Granule)
	whole := c * r.bare
	planar, transposed := false, false
	r.row = 0
	for _, u := range r.uses {
		if u.o == nil || viewOf(u.o) == noImage {
			return false
		}
		if m.whole && !u.d.wholeImage(u.role, c, h) {
			return false
		}
		// Rows are padded for the planar engine if it accesses them, and the rows of a loaded image, and of what is
		// computed from it, for the first access.
		switch pad := rowPad(u.d, r.bare, whole, h); {
		case u.d.ne != nil && u.role != result && viewOf(u.o) == rowsAsChannels:
			transposed = true
		case u.d.pe != nil && !m.rows:
			r.row = whole + pad
		case u.d.pe != nil && !planar:
			planar = true
			switch n := whole / t.L2Granule; {
			case u.o.inParts():
				pad = 0
			case n%t.L2Banks == 0:
				pad = max(pad, u.d.patchBytes())
			case n%(t.L2Banks/2) == 0: // softmax of rows of 12x64x64 on h14
				pad = max(pad, t.L2Granule)
			case buf.spacing != 0 && n%2 == 0: // case norm_softmax_a3_1x1x256x256, case env_chain_softmax_h1_s128
				pad = max(pad, t.L2Granule)
			}
			r.row = whole + pad
		case u.role != result && (r.row == 0 || m.rows && u.d.ne != nil && u.d.shift.max == transposeShift &&
			(!u.d.dst.swap || u.d.transposesUnits())):
			// Units of eight rows need more (case norm_softmax_a3_1x128x16x16; case norm_softmax_a1_1x128x16x16, whose
			// maximum is broadcast over the channels, has units of 16).
			r.row = max(r.row, whole+pad)
		}
	}
	if transposed && r.row == 0 { // nothing else reads the image
		r.row = whole
	}
	// Rows that a transpose reads together are on different banks (case chain_pair_mm_add_d256_s64).
	if transposed && r.row/t.L2Granule%2 == 0 {
		r.row += t.L2Granule
	}
	if m.like != nil {
		r.row = m.like.l2Row
	}
	m.l2Row = r.row
	r.pack, r.size = r.row, align(r.row*h, t.L2Granule)
	return r.row > 0 && r.row < t.L2Bytes/(2*h)
}

// place places one tensor of a task in a resident that is the image.
func (m *image) place(r *resident, o *operand) {
	all := m.channels * r.bare
	if m.parts && m.channels == 1 {
		all = m.rowCount * r.pack
	}
	row := either(o.inParts(), o.stride[axH], all)
	switch viewOf(o) {
	case someChannels:
		first := o.off / o.stride[axC]
		o.l2 = l2Place{r.at + first*r.bare, [4]int64{axD: all, axC: r.bare, axH: r.pack}}
	case rowsAsGroups:
		o.l2 = l2Place{r.at, [4]int64{axG: r.pack, axD: all, axC: r.bare, axH: row}}
	case rowsAsChannels:
		o.l2 = l2Place{r.at + o.off/o.buf.rowBytes*r.pack, [4]int64{axD: all, axC: r.pack, axH: row}}
	default:
		o.l2 = l2Place{r.at, [4]int64{axD: all, axC: r.bare, axH: r.pack}}
	}
}

// wholeImage reports whether the task reads or writes an unchanged image of c channels and h rows in a role.
func (d *draft) wholeImage(r role, c, h int64) bool {
	// Convolutions too on h18g (chains of 1x8 and 1x9 taps), whose tasks may write some of the channels.
	conv := d.t.RoundsByMemory && d.does(td.NEMultiply) && d.ne.terms > 0
	whole := conv || d.kind() < td.PlanarPair && (d.pe != nil || d.ne.op == td.NEPass || r != result &&
		(d.ne.op == td.NESum || d.ne.op == td.NEMax))
	o, ext := d.stream(r), d.extents(r)
	swapped := o.swap && (r != result || d.ne != nil) // for a planar result the strides show it
	return whole && (ext[axC] == c || conv && r == result) && ext[axH] == h && ext[axD] <= 1 && d.groups() <= 1 &&
		!swapped && o.pix == 0 && (r == result || o.inter <= 1) && !o.broadcast[axH] && !o.broadcast[axC] &&
		d.tile >= d.dst.ext[axH]
}
