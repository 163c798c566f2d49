package cost

import "github.com/zinc-compiler/zinc/lower/td"

// The axes outside a row, and the one inside it.
const (
	axG = iota
	axD
	axC
	axH
	axW
)

// stream names the registers of one tensor of a task.
type stream struct {
	dma            td.Field // on when it comes from or goes to DRAM
	bar, base, l2  td.Field
	dram, onchip   [4]td.Field // strides of group, depth, channel and row
	inter          td.Field
	format, memory td.Field // element type in L2, in DRAM
}

var (
	source1 = stream{
		dma: td.SrcEn, bar: td.RBase0, base: td.SrcBase, l2: td.L2Src,
		dram:   [4]td.Field{td.SrcGroup, td.SrcDepth, td.SrcPlane, td.SrcRow},
		onchip: [4]td.Field{td.L2SrcGroup, td.L2SrcDepth, td.L2SrcCh, td.L2SrcRow},
		inter:  td.SrcInterleave, format: td.InFmt, memory: td.SrcMemFmt,
	}
	source2 = stream{
		dma: td.Source2DMA, bar: td.RBase1, base: td.Src2Base, l2: td.L2Src2,
		dram:   [4]td.Field{td.Src2Group, td.Src2Depth, td.Src2Plane, td.Src2Row},
		onchip: [4]td.Field{td.L2Src2Group, td.L2Src2Depth, td.L2Src2Ch, td.L2Src2Row},
		inter:  td.Src2Interleave, format: td.In2Fmt, memory: td.Src2MemFmt,
	}
	result = stream{
		dma: td.DstEn, bar: td.WBase, base: td.DstBase, l2: td.L2Res,
		dram:   [4]td.Field{td.DstGroup, td.DstDepth, td.DstPlane, td.DstRow},
		onchip: [4]td.Field{td.L2ResGroup, td.L2ResDepth, td.L2ResCh, td.L2ResRow},
		inter:  td.DstInterleave, format: td.OutFmt, memory: td.DstMemFmt,
	}
)

// access is one tensor of a task: its extents as stored.
type access struct {
	*stream
	t     *td.Task
	dma   bool
	count [4]int64 // group, depth, channel, row
	width int64
}

// Values of the fields that tell what a task does (docs/registers.md).
const (
	neMultiply = 0
	pePair     = 4
	peReduce   = 5
	fp16Code   = 2
	dramRow    = 64 // a row of DRAM takes whole units of so many bytes
)

func ext(t *td.Task, f td.Field) int64 { return max(1, int64(t.Get(f))) }

func size(t *td.Task, f td.Field) int64 {
	if t.Get(f) == fp16Code {
		return 2
	}
	return 1
}

func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }

// accesses returns the sources that a task reads and its result, last.
func accesses(t *td.Task) []access {
	in := [5]int64{ext(t, td.NumGroups), ext(t, td.Din), ext(t, td.Cin), ext(t, td.Hin), ext(t, td.Win)}
	out := outShape(t)
	kind := t.Get(td.PlanarType)
	place := func(s *stream, dim [5]int64, swap bool) access {
		if swap {
			dim[axC], dim[axW] = dim[axW], dim[axC]
		}
		return access{stream: s, t: t, dma: t.On(s.dma), count: [4]int64(dim[:4]), width: dim[axW]}
	}
	spread := func(first td.Field) [5]int64 {
		dim := in
		for i, axis := range [4]int{axW, axH, axD, axC} {
			if t.On(first.At(i)) {
				dim[axis] = 1
			}
		}
		return dim
	}
	as := []access{place(&source1, spread(td.Bcast1W), t.On(td.Swap1))}
	if kind != 0 && t.On(td.PETwo) {
		dim := spread(td.Bcast2W)
		if kind == pePair {
			dim[axH], dim[axW] = 2, 1
		}
		as = append(as, place(&source2, dim, t.On(td.Swap2)))
	}
	swap := t.On(td.SwapResult)
	if kind == 0 {
		swap = t.On(td.SwapNE)
	}
	return append(as, place(&result, out, swap))
}

// outShape returns the extents of a task's result.
func outShape(t *td.Task) [5]int64 {
	out := [5]int64{ext(t, td.NumGroups), ext(t, td.Dout), ext(t, td.Cout), ext(t, td.Hout), ext(t, td.Wout)}
	switch kind := t.Get(td.PlanarType); {
	case kind == 0 && t.Get(td.NEOp) == neMultiply && t.On(td.UnicastEn) && t.Get(td.Ox) > 1:
		out[axW] *= int64(t.Get(td.Ox)) // Wout counts groups of columns
	case kind >= peReduce && ext(t, td.Kw)*ext(t, td.Kh)*ext(t, td.Sx)*ext(t, td.Sy) == 1:
		out[axD], out[axH], out[axW] = 1, 1, 1 // the output registers repeat the input's extents
	}
	return out
}

// tileBytes is what tile DMA moves: whole rows, padded as they lie in DRAM. A
// stride of zero reads the same bytes again.
func (a *access) tileBytes() int64 {
	if !a.dma {
		return 0
	}
	inter := max(1, int64(a.t.Get(a.inter)))
	row := alignUp(a.width*inter*size(a.t, a.memory), dramRow)
	return product(row, a.count[axG], a.count[axD], a.count[axH], (a.count[axC]-1)/inter+1)
}

// l2Bytes is what passes through L2: once, or twice for what DMA brings or takes.
func (a *access) l2Bytes() int64 {
	n := product(a.width, size(a.t, a.format), a.count[axG], a.count[axD], a.count[axC], a.count[axH])
	if a.dma {
		n = product(n, 2)
	}
	return n
}

// l2End is the byte of L2 behind the last that the registers place the tensor
// at: of what DMA brings in parts, the rows of one tile.
func (a *access) l2End() int64 {
	end := int64(a.t.Get(a.l2)) + a.width*size(a.t, a.format)
	count := a.count
	if tall := int64(a.t.Get(td.TileHeight)); a.dma && tall > 0 && tall < ext(a.t, td.Hout) {
		count[axH] = min(count[axH], (tall-1)*ext(a.t, td.Sy)+ext(a.t, td.Kh))
	}
	for i, n := range count {
		end += (n - 1) * int64(a.t.Get(a.onchip[i]))
	}
	return end
}

// dramExtent is the stretch of its buffer that a tensor takes.
func (a *access) dramExtent() (from, to int64) {
	from = int64(a.t.Get(a.base))
	inter := max(1, int64(a.t.Get(a.inter)))
	to = from + a.width*inter*size(a.t, a.memory)
	for i, n := range a.count {
		if i == axC {
			n = (n-1)/inter + 1
		}
		to += (n - 1) * int64(a.t.Get(a.dram[i]))
	}
	return from, to
}
