package engine

import "github.com/zinc-compiler/zinc/lower/td"

// The axes of a tensor, outermost first.
const (
	axG = iota
	axD
	axC
	axH
	axW
)

// shape is the extent of each axis; each is at least one.
type shape [5]int

func (s shape) count() int64 {
	n := int64(1)
	for _, v := range s {
		n *= int64(v)
	}
	return n
}

// layout says where the elements of a tensor are in a buffer. It has the tensor's shape; with swap, element (c,
// h, w) is at channel position w and column c.
type layout struct {
	name    string
	base    int64 // bytes
	group   int64
	depth   int64
	plane   int64 // of one channel position, or of interleave of them
	row     int64
	inter   int64 // channel positions interleaved in a row, at least 1
	offset  int64 // elements before column 0
	isUint8 bool  // elements are uint8, not fp16
	swap    bool
	dim     shape
}

// Element types, the values of the format fields.
const (
	formatUint8 = 0
	formatFP16  = 2
)

// size returns the bytes of an element.
func (l *layout) size() int64 {
	if l.isUint8 {
		return 1
	}
	return 2
}

// stored returns the extents of channel positions and columns.
func (l *layout) stored() (positions, columns int) {
	if l.swap {
		return l.dim[axW], l.dim[axC]
	}
	return l.dim[axC], l.dim[axW]
}

// span returns the first byte and the number of bytes that the tensor spans.
func (l *layout) span() (first, n int64) {
	p, q := l.stored()
	last := int64(l.dim[axG]-1)*l.group + int64(l.dim[axD]-1)*l.depth + int64(l.dim[axH]-1)*l.row +
		int64(p-1)/l.inter*l.plane + int64(q-1)*l.inter*l.size() + (min(int64(p), l.inter)-1)*l.size()
	return l.base + l.offset*l.inter*l.size(), last + l.size()
}

// extent returns the same as span but refuses a tensor with many more elements than bytes: such an image reads the same
// bytes repeatedly, and nothing justifies its size. The bytes must fit a window or L2, so the number of elements is
// bounded too.
func (l *layout) extent() (first, n int64, err error) {
	first, n = l.span()
	limit := max(16*n, 1<<16)
	count := int64(1)
	for _, v := range l.dim {
		if count > limit/int64(v) {
			return 0, 0, badAt(l.name, first,
				"extents %v (group, depth, channel, row, column) are over %d elements in %d bytes", l.dim, limit, n)
		}
		count *= int64(v)
	}
	return first, n, nil
}

// axis is a loop over rows: their number, and the distance between them in bytes.
type axis struct {
	n, stride int64
}

// outer returns the loops around the columns, the shortest stride first.
func (l *layout) outer() [4]axis {
	p, _ := l.stored()
	axes := [4]axis{
		{int64(l.dim[axH]), l.row},
		{int64(p-1)/l.inter + 1, l.plane},
		{int64(l.dim[axD]), l.depth},
		{int64(l.dim[axG]), l.group},
	}
	for i := range axes {
		for j := i; j > 0 && axes[j].stride < axes[j-1].stride; j-- {
			axes[j], axes[j-1] = axes[j-1], axes[j]
		}
	}
	return axes
}

// disjoint reports whether no two elements share a byte, so that rows may be written in any order. It may return false
// for some tensors that are disjoint.
func (l *layout) disjoint() bool {
	_, cols := l.stored()
	span := int64(cols) * l.inter * l.size()
	for _, a := range l.outer() {
		if a.n == 1 {
			continue
		}
		if a.stride < span {
			return false
		}
		span += (a.n - 1) * a.stride
	}
	return true
}

// cover is a set of runs of bytes, each size long, that together contain every row of a tensor.
type cover struct {
	first, size int64
	apart       []axis // the loops between the runs
	reach       int64  // bytes from the first run to the end of the last
}

// cover returns separate runs that together contain every row of the tensor. Rows that overlap are cut to the shortest
// stride. Loops whose rows are interleaved make one run that includes the bytes between them, so that all runs together
// are no longer than the reach.
func (l *layout) cover() cover {
	_, cols := l.stored()
	c := cover{first: l.base + l.offset*l.inter*l.size(), size: int64(cols) * l.inter * l.size()}
	axes := l.outer()
	for _, a := range axes {
		if a.n > 1 && a.stride > 0 {
			c.size = min(c.size, a.stride)
			break
		}
	}
	c.reach = c.size
	for _, a := range axes {
		switch {
		case a.n == 1 || a.stride == 0:
		case a.stride < c.reach || a.stride == c.reach && c.apart == nil:
			c.reach += (a.n - 1) * a.stride
			c.size, c.apart = c.reach, nil
		default:
			c.reach += (a.n - 1) * a.stride
			c.apart = append(c.apart, a)
		}
	}
	return c
}

// runs calls f for each run.
func (c *cover) runs(f func(at, n int64)) {
	var walk func(at int64, loops []axis)
	walk = func(at int64, loops []axis) {
		if len(loops) == 0 {
			f(at, c.size)
			return
		}
		for i := range loops[0].n {
			walk(at+i*loops[0].stride, loops[1:])
		}
	}
	walk(c.first, c.apart)
}

// place is the memory of a tensor or of a part of the coefficients: bytes, or the cells for them from a position on.
type place struct {
	buf   []byte
	cells *Cells
	from  int64
}

// tile is a layout bound to the bytes it covers: its place begins with the byte at first.
type tile struct {
	layout
	place
	first int64
}

// at returns the index in the place of the first column of a row.
func (t *tile) at(g, d, p, h int) int64 {
	return t.base + t.offset*t.inter*t.size() - t.first + int64(g)*t.group + int64(d)*t.depth +
		int64(p)/t.inter*t.plane + int64(h)*t.row + int64(p)%t.inter*t.size()
}

// rows calls f for each stored row, with the index of its first byte.
func (t *tile) rows(f func(g, d, p, h int, at int64)) {
	pos, _ := t.stored()
	for g := range t.dim[axG] {
		for d := range t.dim[axD] {
			for p := range pos {
				at := t.at(g, d, p, 0)
				for h := range t.dim[axH] {
					f(g, d, p, h, at+int64(h)*t.row)
				}
			}
		}
	}
}

// eachRow calls f for each stored row: k is the index of its first element in the order group, depth, channel, row,
// column, dk is the distance of the indices of its elements, cols is their number, and at is the first byte. Rows are
// divided among goroutines unless serial is set.
func (t *tile) eachRow(run *run, serial bool, f func(k, dk, cols int, at int64)) error {
	pos, cols := t.stored()
	n, least := t.dim[axG]*t.dim[axD]*pos, grain(t.dim[axH]*cols)
	if n <= least { // one piece, as of small images
		if err := run.ctx.Err(); err != nil {
			return err
		}
		t.rowsOf(0, n, f)
		return run.ctx.Err()
	}
	part := func(lo, hi int) { t.rowsOf(lo, hi, f) }
	if serial {
		return run.serial(n, least, part)
	}
	return run.each(n, least, part)
}

// rowsOf calls f, as eachRow does, for the rows of the channels of groups and depths numbered from lo to hi.
func (t *tile) rowsOf(lo, hi int, f func(k, dk, cols int, at int64)) {
	pos, cols := t.stored()
	D, C, H, W := t.dim[axD], t.dim[axC], t.dim[axH], t.dim[axW]
	for i := lo; i < hi; i++ {
		gd, p := i/pos, i%pos
		at := t.at(gd/D, gd%D, p, 0)
		for h := range H {
			k, dk := ((gd*C+p)*H+h)*W, 1
			if t.swap {
				k, dk = (gd*C*H+h)*W+p, H*W
			}
			f(k, dk, cols, at+int64(h)*t.row)
		}
	}
}

// fields names the registers of one tensor stream.
type fields struct {
	name, nameInL2                  string
	en                              td.Field
	bar, barEn                      td.Field
	base, row, plane, depth, group  td.Field
	inter                           td.Field
	inDRAM, onChip                  td.Field // element types
	offset                          td.Field
	hasOffset                       bool
	l2, l2ch, l2row, l2depth, l2grp td.Field
}

var (
	source1 = fields{
		name: "source 1", nameInL2: "source 1 in L2", en: td.SrcEn, bar: td.RBase0, barEn: td.RBE0,
		base: td.SrcBase, row: td.SrcRow, plane: td.SrcPlane, depth: td.SrcDepth, group: td.SrcGroup,
		inter: td.SrcInterleave, inDRAM: td.SrcMemFmt, onChip: td.InFmt, offset: td.PixelOffset, hasOffset: true,
		l2: td.L2Src, l2ch: td.L2SrcCh, l2row: td.L2SrcRow, l2depth: td.L2SrcDepth, l2grp: td.L2SrcGroup,
	}
	source2 = fields{
		name: "source 2", nameInL2: "source 2 in L2", en: td.Source2DMA, bar: td.RBase1, barEn: td.RBE1,
		base: td.Src2Base, row: td.Src2Row, plane: td.Src2Plane, depth: td.Src2Depth, group: td.Src2Group,
		inter: td.Src2Interleave, inDRAM: td.Src2MemFmt, onChip: td.In2Fmt, offset: td.PixelOffset.At(1),
		hasOffset: true,
		l2:        td.L2Src2, l2ch: td.L2Src2Ch, l2row: td.L2Src2Row, l2depth: td.L2Src2Depth, l2grp: td.L2Src2Group,
	}
	result = fields{
		name: "result", nameInL2: "result in L2", en: td.DstEn, bar: td.WBase, barEn: td.WBE,
		base: td.DstBase, row: td.DstRow, plane: td.DstPlane, depth: td.DstDepth, group: td.DstGroup,
		inter: td.DstInterleave, inDRAM: td.DstMemFmt, onChip: td.OutFmt,
		l2: td.L2Res, l2ch: td.L2ResCh, l2row: td.L2ResRow, l2depth: td.L2ResDepth, l2grp: td.L2ResGroup,
	}
)

// moved reports whether tile DMA moves the stream. One flag enables the DMA of both sources: a source 1 that is not in
// use stays in L2 while source 2 is fetched.
func (f *fields) moved(t *td.Task) bool {
	return t.On(f.en) && (f.en != td.SrcEn || t.On(td.Source1) || !t.On(td.Source2DMA))
}

// dram returns the stream's layout in its DRAM buffer.
func (f *fields) dram(t *td.Task, dim shape, swap bool) layout {
	l := layout{
		name: f.name, isUint8: t.Get(f.inDRAM) == formatUint8, base: int64(t.Get(f.base)), row: int64(t.Get(f.row)),
		plane: int64(t.Get(f.plane)),
		depth: int64(t.Get(f.depth)), group: int64(t.Get(f.group)), inter: max(1, int64(t.Get(f.inter))), swap: swap,
		dim: dim,
	}
	if f.hasOffset {
		l.offset = int64(t.Get(f.offset))
	}
	return l
}

// onchip returns the stream's layout in L2.
func (f *fields) onchip(t *td.Task, dim shape, swap bool) layout {
	return layout{
		name: f.nameInL2, isUint8: t.Get(f.onChip) == formatUint8, base: int64(t.Get(f.l2)),
		row: int64(t.Get(f.l2row)), plane: int64(t.Get(f.l2ch)),
		depth: int64(t.Get(f.l2depth)), group: int64(t.Get(f.l2grp)), inter: 1, swap: swap, dim: dim,
	}
}
