package td

import (
	"iter"
	"slices"
)

// Axis is an axis of a task's tensor, counted from the outermost.
type Axis int

// The axes. Elements of a row are next to each other; the other axes have strides.
const (
	AxisGroup Axis = iota
	AxisDepth
	AxisChannel
	AxisRow
	AxisColumn
	Axes = iota
)

// Extents are the extents of a tensor by axis, each at least 1.
type Extents [Axes]int64

// Strides are the fields of the strides of group, depth, channel and row, in bytes.
type Strides [AxisColumn]Field

// Stream is one of the three tensors of a task: the fields that say where it is and how it is laid out.
type Stream struct {
	Name          string
	Enable        Field // set: the tensor is in DRAM and tile DMA moves it; clear: it is in L2
	Bar, BarValid Field // buffer-access register of its buffer in DRAM
	Base          Field // byte offset in that buffer
	DRAM          Strides
	Interleave    Field // number of channel positions interleaved in a row; 0 means 1
	MemFormat     Field // element type in DRAM
	L2Base        Field
	L2            Strides
	Format        Field // element type in L2

	Result bool
	// Of a source only: the first of the flags that broadcast it along width, height, depth and channels; the exchange
	// of channels and width; and the number of elements that reading skips at the start of its rows in DRAM. SwapResult
	// and SwapNE exchange channels and width of a result.
	Bcast, Swap, Pixel Field
}

// Indices of Streams.
const (
	StreamSource1 = iota
	StreamSource2
	StreamResult
)

// Streams are the tensors of a task.
var Streams = [...]Stream{
	StreamSource1: {
		Name:       "source 1",
		Enable:     SrcEn,
		Bar:        RBase0,
		BarValid:   RBE0,
		Base:       SrcBase,
		DRAM:       Strides{SrcGroup, SrcDepth, SrcPlane, SrcRow},
		Interleave: SrcInterleave,
		MemFormat:  SrcMemFmt,
		L2Base:     L2Src,
		L2:         Strides{L2SrcGroup, L2SrcDepth, L2SrcCh, L2SrcRow},
		Format:     InFmt,
		Bcast:      Bcast1W,
		Swap:       Swap1,
		Pixel:      PixelOffset,
	},
	StreamSource2: {
		Name:       "source 2",
		Enable:     Source2DMA,
		Bar:        RBase1,
		BarValid:   RBE1,
		Base:       Src2Base,
		DRAM:       Strides{Src2Group, Src2Depth, Src2Plane, Src2Row},
		Interleave: Src2Interleave,
		MemFormat:  Src2MemFmt,
		L2Base:     L2Src2,
		L2:         Strides{L2Src2Group, L2Src2Depth, L2Src2Ch, L2Src2Row},
		Format:     In2Fmt,
		Bcast:      Bcast2W,
		Swap:       Swap2,
		Pixel:      PixelOffset.At(1),
	},
	StreamResult: {
		Name:       "result",
		Enable:     DstEn,
		Bar:        WBase,
		BarValid:   WBE,
		Base:       DstBase,
		DRAM:       Strides{DstGroup, DstDepth, DstPlane, DstRow},
		Interleave: DstInterleave,
		MemFormat:  DstMemFmt,
		L2Base:     L2Res,
		L2:         Strides{L2ResGroup, L2ResDepth, L2ResCh, L2ResRow},
		Format:     OutFmt,
		Result:     true,
	},
}

// Grid is Count rows of Row bytes, Stride bytes apart, along the axes outside a row: groups, depths, channel positions
// and rows.
type Grid struct {
	Count  [AxisColumn]int64
	Stride [AxisColumn]int64
	Row    int64 // from the first element to the end of the last
}

// Access is a tensor that a task reads or writes, with the bytes it takes in DRAM or in L2.
type Access struct {
	*Stream
	Grid
	InDRAM  bool
	Extents Extents // of the tensor as the task computes with it
	Swapped bool    // stored with channels and columns exchanged
	Columns int64   // elements of a stored row

	Inter     int64 // channel positions interleaved in a row
	Element   int64 // bytes
	First     int64 // first byte, from the beginning of the buffer or of L2
	FirstFrom Field // the field that First comes from
}

// Accesses returns the tensors of a task, its sources first and its result last. A task that is skipped has none.
func Accesses(t *Task) []Access { return AppendAccesses(nil, t) }

// AppendAccesses appends what Accesses returns.
func AppendAccesses(as []Access, t *Task) []Access {
	if t.On(TDSkip) {
		return as
	}
	as = slices.Grow(as, len(Streams))
	for i := range Streams {
		s := &Streams[i]
		if s.used(t) {
			as = append(as, s.access(t, s.extents(t), s.swapped(t), s.Moved(t)))
		}
	}
	return as
}

// Moved reports whether tile DMA moves the tensor. The DMA of sources is on if either source needs it; a source 1 that
// is not in use stays in L2 (case select_rrb_1x64x1x1).
func (s *Stream) Moved(t *Task) bool {
	return t.On(s.Enable) && (s != &Streams[StreamSource1] || t.On(Source1) || !t.On(Source2DMA))
}

// used reports whether the task has the tensor. Only the planar engine has two sources.
func (s *Stream) used(t *Task) bool {
	return s != &Streams[StreamSource2] || t.Planar() != NotPlanar && t.On(PETwo)
}

func (s *Stream) swapped(t *Task) bool {
	switch {
	case !s.Result:
		return t.On(s.Swap)
	case t.Planar() == NotPlanar:
		return t.On(SwapNE)
	}
	return t.On(SwapResult)
}

func (s *Stream) extents(t *Task) Extents {
	if s.Result {
		return t.OutExtents()
	}
	ext := t.InExtents()
	for i, axis := range [...]Axis{AxisColumn, AxisRow, AxisDepth, AxisChannel} {
		if t.On(s.Bcast.At(i)) {
			ext[axis] = 1
		}
	}
	if s == &Streams[StreamSource2] && t.Planar() == PlanarPair {
		ext[AxisRow], ext[AxisColumn] = 2, 1 // a pair of parameters for each channel
	}
	return ext
}

// Extent returns the value of an extent; zero means 1.
func (t *Task) Extent(f Field) int64 { return max(1, int64(t.Get(f))) }

// Window reports whether the task looks at more than one element of the image at a time, or skips some of them.
func (t *Task) Window() bool {
	return t.Extent(Kw) > 1 || t.Extent(Kh) > 1 || t.Extent(Sx) > 1 || t.Extent(Sy) > 1
}

// InExtents returns the extents of the task's input.
func (t *Task) InExtents() Extents {
	return Extents{t.Extent(NumGroups), t.Extent(Din), t.Extent(Cin), t.Extent(Hin), t.Extent(Win)}
}

// OutExtents returns the extents of the task's result. They are the values of the output registers with two exceptions.
// A reduction without a window reduces each channel to one value, though the registers repeat the input's extents.
// Where a channelwise kernel, or two kernels without their zeros, compute Ox columns at a time, Wout counts groups of
// columns.
func (t *Task) OutExtents() Extents {
	out := Extents{t.Extent(NumGroups), t.Extent(Dout), t.Extent(Cout), t.Extent(Hout), t.Extent(Wout)}
	switch {
	case t.Multiplies() && (t.On(UnicastEn) || t.PairsOfKernels()):
		out[AxisColumn] *= t.Extent(Ox)
	case t.Planar().Reduces() && !t.Window():
		out[AxisDepth], out[AxisRow], out[AxisColumn] = 1, 1, 1
	}
	return out
}

// PairsOfKernels reports whether the task computes two columns of each output at a time with two kernels, which are
// stored without their zeros.
func (t *Task) PairsOfKernels() bool {
	return t.Multiplies() && t.Extent(Ox) == 2 && t.Extent(Sx) == 2 && t.On(SparseFmt)
}

func (s *Stream) access(t *Task, ext Extents, swapped, dram bool) Access {
	a := Access{Stream: s, InDRAM: dram, Extents: ext, Swapped: swapped, Inter: 1}
	positions, columns := ext[AxisChannel], ext[AxisColumn]
	if swapped {
		positions, columns = columns, positions
	}
	a.Columns = columns
	if dram {
		a.FirstFrom, a.Element, a.Inter = s.Base, t.Format(s.MemFormat).Bytes(), t.Extent(s.Interleave)
	} else {
		a.FirstFrom, a.Element = s.L2Base, t.Format(s.Format).Bytes()
	}
	a.First = int64(t.Get(a.FirstFrom))
	if dram && !s.Result {
		a.First += int64(t.Get(s.Pixel)) * a.Inter * a.Element
	}
	a.Count = [AxisColumn]int64{ext[AxisGroup], ext[AxisDepth], (positions-1)/a.Inter + 1, ext[AxisRow]}
	for i := range a.Stride {
		a.Stride[i] = int64(t.Get(a.StrideField(Axis(i))))
	}
	a.Row = ((columns-1)*a.Inter + min(positions, a.Inter)) * a.Element
	return a
}

// StrideField returns the field of the stride of an axis outside the row.
func (a *Access) StrideField(x Axis) Field {
	if a.InDRAM {
		return a.DRAM[x]
	}
	return a.L2[x]
}

// Span returns the first byte and the one after the last.
func (a *Access) Span() (from, to int64) {
	to = a.First + a.Row
	for i, n := range a.Count {
		to += (n - 1) * a.Stride[i]
	}
	return a.First, to
}

// OnChip returns the place in L2 of a tensor of the task; for a tensor in DRAM that is where it passes through. A
// tensor whose strides are all zero has none.
func (a *Access) OnChip(t *Task) (Access, bool) {
	l := a.access(t, a.Extents, a.Swapped, false)
	return l, !a.InDRAM || l.Stride != [AxisColumn]int64{}
}

// Part is a range of bytes of the kernel buffer, starting at From, that a task reads for one coefficient lane or kernel
// stream. A lane of a runtime kernel reads a piece for each group and block, with pieces of other lanes between them.
type Part struct {
	Index      int
	Base, Size Field
	From, To   int64
	Bytes      int64 // of the pieces together
}

// KernelStreams is the number of streams of the kernel DMA in addition to its lanes: bias, post-scale, palette and
// lookup table.
const KernelStreams = 4

// TableStream is the stream of the lookup table.
const TableStream = 3

// LaneParts yields the parts of the coefficient lanes that are on.
func (t *Task) LaneParts() iter.Seq[Part] {
	return func(yield func(Part) bool) {
		if !t.On(KernelOn) {
			return
		}
		for i := range Lanes {
			if !t.On(CoeffEn.At(i)) {
				continue
			}
			p, base := t.part(i, CoeffBase, CoeffSize), int64(t.Get(KernelBase))
			p.From, p.To = p.From+base, p.To+base
			if t.Get(KernelBlock) > 0 && !t.pieces(&p) {
				continue
			}
			if !yield(p) {
				return
			}
		}
	}
}

// StreamParts yields the parts of the kernel streams that are on.
func (t *Task) StreamParts() iter.Seq[Part] {
	return func(yield func(Part) bool) {
		for i := range KernelStreams {
			if t.Get(StreamConfig.At(i))&1 == 1 && !yield(t.part(i, StreamBase, StreamSize)) {
				return
			}
		}
	}
}

func (t *Task) part(i int, base, size Field) Part {
	p := Part{Index: i, Base: base.At(i), Size: size.At(i), From: int64(t.Get(base.At(i)))}
	p.To = p.From + int64(t.Get(p.Size))
	p.Bytes = p.To - p.From
	return p
}

// pieces extends the part of a lane of a runtime kernel to the pieces of all groups and blocks, and reports whether the
// lane has outputs.
func (t *Task) pieces(p *Part) bool {
	lanes := int64(1) << t.Get(OCGSize)
	rest := t.Extent(Cout) - int64(p.Index)*lanes
	if rest <= 0 {
		return false
	}
	groups, blocks := t.Extent(NumGroups), (rest-1)/(lanes<<t.Get(ActiveNE))+1
	p.To += (groups-1)*int64(t.Get(KernelGroup)) + (blocks-1)*int64(t.Get(KernelBlock))
	p.Bytes *= groups * blocks
	return true
}
