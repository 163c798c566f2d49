package hazard

import "github.com/zinc-compiler/zinc/lower/td"

// The axes outside a row, and the one inside it.
const (
	axG = iota
	axD
	axC
	axH
	axW
)

// stream names the registers of one tensor of a task, in DRAM and in L2.
type stream struct {
	name           string
	enable         td.Field
	bar, barEn     td.Field
	base, l2       td.Field
	dram, onchip   [4]td.Field // strides of group, depth, channel and row
	inter, pixel   td.Field
	pixels         bool
	format, memory td.Field // element type in L2, in DRAM
	bcast          td.Field
	swap           td.Field
}

var (
	source1 = stream{
		name: "source 1", enable: td.SrcEn, bar: td.RBase0, barEn: td.RBE0, base: td.SrcBase, l2: td.L2Src,
		dram:   [4]td.Field{td.SrcGroup, td.SrcDepth, td.SrcPlane, td.SrcRow},
		onchip: [4]td.Field{td.L2SrcGroup, td.L2SrcDepth, td.L2SrcCh, td.L2SrcRow},
		inter:  td.SrcInterleave, pixel: td.PixelOffset, pixels: true, format: td.InFmt, memory: td.SrcMemFmt,
		bcast: td.Bcast1W, swap: td.Swap1,
	}
	source2 = stream{
		name: "source 2", enable: td.Source2DMA, bar: td.RBase1, barEn: td.RBE1, base: td.Src2Base, l2: td.L2Src2,
		dram:   [4]td.Field{td.Src2Group, td.Src2Depth, td.Src2Plane, td.Src2Row},
		onchip: [4]td.Field{td.L2Src2Group, td.L2Src2Depth, td.L2Src2Ch, td.L2Src2Row},
		inter:  td.Src2Interleave, pixel: td.PixelOffset.At(1), pixels: true, format: td.In2Fmt, memory: td.Src2MemFmt,
		bcast: td.Bcast2W, swap: td.Swap2,
	}
	result = stream{
		name: "result", enable: td.DstEn, bar: td.WBase, barEn: td.WBE, base: td.DstBase, l2: td.L2Res,
		dram:   [4]td.Field{td.DstGroup, td.DstDepth, td.DstPlane, td.DstRow},
		onchip: [4]td.Field{td.L2ResGroup, td.L2ResDepth, td.L2ResCh, td.L2ResRow},
		inter:  td.DstInterleave, format: td.OutFmt, memory: td.DstMemFmt,
	}
)

// access is the bytes that one tensor of a task takes.
type access struct {
	*stream
	grid
	dma   bool // in DRAM
	dim   [5]int64
	base  td.Field // register of the first byte
	first int64
	task  *td.Task
}

// grid is rows of row bytes, count of them and stride apart along the four axes
// outside a row.
type grid struct {
	count  [4]int64
	stride [4]int64
	row    int64
}

// sameLayout reports whether rows are as long and as far apart. The stride of an axis
// that has one turn places nothing.
func (g *grid) sameLayout(o *grid) bool {
	for i := range g.count {
		if g.count[i] > 1 && o.count[i] > 1 && g.stride[i] != o.stride[i] {
			return false
		}
	}
	return g.row == o.row
}

// fp16Code is the element code of two bytes; the others known take one.
const fp16Code = 2

func width(t *td.Task, f td.Field) int64 {
	if t.Get(f) == fp16Code {
		return 2
	}
	return 1
}

// place works out the access of a stream whose tensor has the extents dim, in
// DRAM or in L2.
func (s *stream) place(t *td.Task, dim [5]int64, swap, dram bool) access {
	a := access{stream: s, dma: dram, dim: dim, base: s.l2, task: t}
	positions, columns := dim[axC], dim[axW]
	if swap {
		positions, columns = columns, positions
	}
	size, inter, strides := width(t, s.format), int64(1), s.onchip
	if dram {
		a.base, size, strides = s.base, width(t, s.memory), s.dram
		inter = max(1, int64(t.Get(s.inter)))
	}
	a.first = int64(t.Get(a.base))
	if dram && s.pixels {
		a.first += int64(t.Get(s.pixel)) * inter * size
	}
	a.count = [4]int64{dim[axG], dim[axD], (positions-1)/inter + 1, dim[axH]}
	for i, f := range strides {
		a.stride[i] = int64(t.Get(f))
	}
	a.row = (columns-1)*inter*size + min(positions, inter)*size
	return a
}

// extent gives the first byte and the one past the last.
func (a *access) extent() (from, to int64) {
	to = a.first + a.row
	for i, n := range a.count {
		to += (n - 1) * a.stride[i]
	}
	return a.first, to
}

// furthest is the register that reaches out most.
func (a *access) furthest() td.Field {
	best, reach := a.base, a.first
	for i, n := range a.count {
		if r := (n - 1) * a.stride[i]; r > reach {
			best, reach = a.strideField(a.dma, i), r
		}
	}
	return best
}

func (a *access) strideField(dram bool, axis int) td.Field {
	if dram {
		return a.dram[axis]
	}
	return a.onchip[axis]
}

// aliased returns an axis whose parts certainly share bytes with their
// neighbours, and how many they are; 0 when there is none.
func (a *access) aliased() (n int64, axis int) {
	for i, n := range a.count {
		if n > 1 && a.stride[i] < a.row {
			return n, i
		}
	}
	return 0, 0
}

// runs is the number of rows that stand in different places.
func (a *access) runs() int64 {
	n := int64(1)
	for i, c := range a.count {
		if a.stride[i] != 0 {
			n *= c
			if n > granules {
				return n
			}
		}
	}
	return n
}

// each calls f for every row, or, of more rows than L2 has granules, once for
// the whole extent.
func (a *access) each(f func(from, to int64)) {
	if a.runs() > granules || a.runs()*(a.row/granule+1) > 4*granules {
		f(a.extent())
		return
	}
	n := a.count
	for i := range n {
		if a.stride[i] == 0 {
			n[i] = 1
		}
	}
	for g := range n[axG] {
		for d := range n[axD] {
			for p := range n[axC] {
				at := a.first + g*a.stride[axG] + d*a.stride[axD] + p*a.stride[axC]
				for h := range n[axH] {
					f(at+h*a.stride[axH], at+h*a.stride[axH]+a.row)
				}
			}
		}
	}
}

// accesses are the tensors of one task.
type accesses struct {
	sources []*access
	result  access
	same    bool // every result element takes in only the source elements at its own place
}

// ext is an extent; zero stands for one.
func ext(t *td.Task, f td.Field) int64 { return max(1, int64(t.Get(f))) }

// newAccesses works out the sources and the result of a task.
func newAccesses(t *td.Task) *accesses {
	in := [5]int64{ext(t, td.NumGroups), ext(t, td.Din), ext(t, td.Cin), ext(t, td.Hin), ext(t, td.Win)}
	out := [5]int64{ext(t, td.NumGroups), ext(t, td.Dout), ext(t, td.Cout), ext(t, td.Hout), ext(t, td.Wout)}
	window := ext(t, td.Kw) > 1 || ext(t, td.Kh) > 1 || ext(t, td.Sx) > 1 || ext(t, td.Sy) > 1
	kind := t.Get(td.PlanarType)
	swap := t.On(td.SwapResult)
	x := &accesses{same: true}
	switch {
	case kind == 0:
		swap = t.On(td.SwapNE)
		if t.Get(td.NEOp) == 0 && t.On(td.UnicastEn) && t.Get(td.Ox) > 1 {
			out[axW] *= int64(t.Get(td.Ox)) // Wout counts groups of columns
		}
		x.same = t.Get(td.NEOp) == 12 || t.Get(td.NEOp) == 0 && t.On(td.UnicastEn) && !window
	case kind >= 5:
		x.same = false
		if !window { // a reduction of all of a channel
			out[axD], out[axH], out[axW] = 1, 1, 1
		}
	}
	x.same = x.same && in == out
	add := func(s *stream, dim [5]int64) {
		for i, axis := range [4]int{axW, axH, axD, axC} {
			if t.On(s.bcast.At(i)) {
				dim[axis] = 1
			}
		}
		if s == &source2 && kind == 4 {
			dim[axH], dim[axW] = 2, 1 // a pair of parameters a channel
		}
		a := s.place(t, dim, t.On(s.swap), t.On(s.enable))
		x.sources = append(x.sources, &a)
	}
	add(&source1, in)
	if kind != 0 && t.On(td.PETwo) {
		add(&source2, in)
	}
	x.result = result.place(t, out, swap, t.On(td.DstEn))
	return x
}
