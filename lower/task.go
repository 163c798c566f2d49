package lower

import (
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
)

// axes counts the five loops of a task, slow to fast.
const (
	axG, axD, axC, axH, axW = 0, 1, 2, 3, 4
)

// l2Place is where a tensor lies in L2: byte address and byte strides of the
// group, depth, channel and row loops.
type l2Place struct {
	base   int64
	stride [4]int64
}

// operand is one tensor of a task: extents of the five loops, and either a
// window of a buffer or a place in L2.
type operand struct {
	ext    [5]int64
	buf    *buffer // nil: in L2
	off    int64   // bytes in buf, a multiple of 64
	stride [4]int64
	pix    int64 // source only
	inter  int64 // channels interleaved in a row, 0 for one
	l2     l2Place
	swap   bool    // stored with channels and width exchanged
	spread [5]bool // axes along which the tensor has one index only
	rows   int64   // rows of a source that are on chip at once; 0 for those of the tile
	cols   int64   // columns of a neural source that are on chip at once; 0 for a work unit
}

// fixup is a task field that the planner completes: the buffer-access register
// and offset of one stream.
type fixup struct {
	task              int
	bar, enable, base td.Field

	buf *buffer
	off int64
}

// newTask returns a task with the words that every recorded task shares.
func newTask() *td.Task {
	t := td.New()
	t.Set(td.Word20, 0x2041).Set(td.Ox, 1).Set(td.Oy, 1).Set(td.MACWord20, 1)
	t.Set(td.Kw, 1).Set(td.Kh, 1).Set(td.Sx, 1).Set(td.Sy, 1)
	t.Set(td.InFmt, 2).Set(td.OutFmt, 2).Set(td.Source1, 1)
	t.Set(td.Word40, 0x100)
	t.Set(td.NumGroups, 1).Set(td.UnicastCin, 1)
	for i := range td.Lanes {
		t.Set(td.CoeffCacheHint.At(i), 2).Set(td.CoeffSize.At(i), 64)
	}
	for i := range 4 {
		t.Set(td.StreamConfig.At(i), 0x80).Set(td.StreamSize.At(i), 64)
	}
	t.Set(td.SrcCacheHint, 2).Set(td.SrcReuse, 8).Set(td.SrcNoReuse, 8).Set(td.SrcInterleave, 1)
	t.Set(td.Src2CacheHint, 2).Set(td.Src2Reuse, 8).Set(td.Src2NoReuse, 8)
	t.Set(td.DstCacheHint, 3).Set(td.DstInterleave, 1)
	return t
}

// planar returns a planar-engine task of the given type with identity scales.
func planar(typ int) *td.Task {
	t := newTask()
	t.Set(td.PlanarType, typ)
	t.Set(td.PEScale, 0x3c00).Set(td.PEPreScale, 0x3c00).Set(td.PEFinal, int(math.Float32bits(1)))
	t.Set(td.PalettizeBits, 8)
	return t
}

// neural returns a neural-engine task of the given operation.
func neural(op int) *td.Task {
	t := newTask()
	t.Set(td.TaskNID, 1)
	t.Set(td.KernelFmt, 2).Set(td.PalettizeBits, 8).Set(td.BinaryPoint, 14)
	t.Set(td.NEOp, op).Set(td.PostScale, 0x3c00)
	return t
}

// Operations of the neural engine (lower/td, NE.Op).
const (
	neMultiply = 0
	neSum      = 8
	neMax      = 11
	neCopy     = 12
)

// Types of planar work (lower/td, Common.PlanarType).
const (
	peOne       = 2
	peTwo       = 3
	pePair      = 4
	peReduce    = 5
	peReduceTwo = 6
	peAdd       = 0
	peMul       = 1
	peMax       = 2
	peMin       = 3
	poolSum     = 0
	poolAverage = 1
	poolMax     = 2
	poolMin     = 3
	peRecip     = 1
	peRsqrt     = 2
	paddingMax  = 2
	nonlinRelu  = 1
	nonlinTable = 2
)

// Buffer-access registers of a procedure; its ports follow from BarFirstPort on.
const (
	BarConstants = 1
	BarScratch   = 3
	BarFirstPort = 4
)

// half returns the bits of the fp16 nearest to f, as a field of a task takes them.
func half(f float64) int { return int(weights.ToHalf(f)) }

// emit completes a task from its operands and appends it. src2 may be nil. tile
// is the height of a tile, 0 for the whole.
func (b *builder) emit(t *td.Task, src1, src2, dst *operand, tile int64) {
	idx := len(b.tasks)
	if idx >= b.t.MaxTasks || b.trial && idx >= opTasks(b.t) {
		panic(tooManyTasks{})
	}
	t.Set(td.Win, int(src1.ext[axW])).Set(td.Hin, int(src1.ext[axH])).Set(td.Din, int(src1.ext[axD])).
		Set(td.Cin, int(src1.ext[axC]))
	t.Set(td.Wout, int(dst.ext[axW])).Set(td.Hout, int(dst.ext[axH])).Set(td.Dout, int(dst.ext[axD])).
		Set(td.Cout, int(dst.ext[axC]))
	t.Set(td.NumGroups, int(src1.ext[axG]))
	if tile == 0 {
		tile = max(dst.ext[axH], 1)
	}
	t.Set(td.TileHeight, int(tile))
	b.staged = append(b.staged, [2]int64{})
	if t.Get(td.PlanarType) == 0 {
		t.SetBool(td.SwapNE, dst.swap)
		units(t, dst.ext)
	}
	b.source1(t, src1, idx)
	if src2 != nil {
		t.SetBool(td.PETwo, true).Set(td.In2Fmt, 2)
		b.source2(t, src2, idx)
	}
	b.result(t, dst, idx)
	if t.Get(td.PlanarType) != 0 {
		patch(t, dst.ext)
	} else if t.Get(td.NEOp) != neMultiply {
		channelCores(t, dst)
	}
	if err := t.Err(); err != nil && b.err == nil {
		b.err = fmt.Errorf("task %d: %w", idx, err)
	}
	if b.trial {
		b.tasks = append(b.tasks, nil)
		return
	}
	b.tasks = append(b.tasks, t)
	b.infos = append(b.infos, TaskInfo{Op: b.op, Rule: b.rule, Kind: taskKind(t)})
}

func (b *builder) source1(t *td.Task, o *operand, idx int) {
	l2 := o.l2
	if o.buf != nil {
		t.Set(td.SrcInterleave, int(max(o.inter, 1)))
		l2 = b.stage(t, o, 0)
		t.SetBool(td.SrcEn, true).SetBool(td.SrcLoc, true).Set(td.SrcNoReuse, 3).Set(td.SrcDependency, 3)
		t.Set(td.SrcRow, int(o.stride[axH])).Set(td.SrcPlane, int(o.stride[axC])).Set(td.SrcDepth, int(o.stride[axD])).
			Set(td.SrcGroup, int(o.stride[axG]))
		t.Set(td.SrcFmtMode, 1).Set(td.SrcTruncate, 3).Set(td.SrcMemFmt, 2)
		t.Set(td.PixelOffset, int(o.pix))
		t.Set(td.SrcType, 2)
		b.touch(fixup{task: idx, bar: td.RBase0, enable: td.RBE0, base: td.SrcBase, buf: o.buf, off: o.off})
	}
	setL2(t, td.L2Src, td.L2SrcCh, td.L2SrcRow, td.L2SrcDepth, td.L2SrcGroup, l2)
	t.SetBool(td.Swap1, o.swap)
}

func (b *builder) source2(t *td.Task, o *operand, idx int) {
	l2 := o.l2
	if o.buf != nil {
		l2 = b.stage(t, o, 1)
		t.SetBool(td.Source2DMA, true).Set(td.Src2NoReuse, 3).Set(td.Src2Dependency, 3)
		t.Set(td.Src2Row, int(o.stride[axH])).Set(td.Src2Plane, int(o.stride[axC])).
			Set(td.Src2Depth, int(o.stride[axD])).Set(td.Src2Group, int(o.stride[axG]))
		t.Set(td.Src2Truncate, 3).Set(td.Src2MemFmt, 2).Set(td.PixelOffset.At(1), int(o.pix))
		if o.inter > 1 {
			t.Set(td.Src2Interleave, int(o.inter))
		}
		b.touch(fixup{task: idx, bar: td.RBase1, enable: td.RBE1, base: td.Src2Base, buf: o.buf, off: o.off})
	}
	setL2(t, td.L2Src2, td.L2Src2Ch, td.L2Src2Row, td.L2Src2Depth, td.L2Src2Group, l2)
	t.SetBool(td.Swap2, o.swap)
}

func (b *builder) result(t *td.Task, o *operand, idx int) {
	if o.buf == nil {
		t.SetBool(td.TBE, true)
		setL2(t, td.L2Res, td.L2ResCh, td.L2ResRow, td.L2ResDepth, td.L2ResGroup, o.l2)
	} else {
		t.SetBool(td.DstEn, true).SetBool(td.DstLoc, true).Set(td.DstL2BfrMode, 1)
		t.Set(td.DstRow, int(o.stride[axH])).Set(td.DstPlane, int(o.stride[axC])).Set(td.DstDepth, int(o.stride[axD])).
			Set(td.DstGroup, int(o.stride[axG]))
		t.Set(td.DstFmtMode, 1).Set(td.DstTruncate, 3).Set(td.DstMemFmt, 2).Set(td.DstZeroFirst, 1).
			Set(td.DstZeroLast, 1)
		t.Set(td.DstInterleave, int(max(o.inter, 1)))
		t.Set(td.ResType, 2).Set(td.ResBfrMode, 2)
		b.touch(fixup{task: idx, bar: td.WBase, enable: td.WBE, base: td.DstBase, buf: o.buf, off: o.off})
		if !b.trial {
			b.stores = append(b.stores, stored{Store{
				Task:   idx,
				off:    o.off,
				stride: o.stride,
				inter:  max(o.inter, 1),
				swap:   o.swap,
			}, o.buf})
		}
	}
	if o.swap {
		if t.Get(td.PlanarType) != 0 {
			t.SetBool(td.SwapResult, true)
			if o.buf != nil {
				b.gathered(t)
			}
		} else {
			t.SetBool(td.SwapNE, true)
		}
	}
	b.l2use = append(b.l2use, b.l2reach)
	b.l2top, b.l2reach = 0, 0 // the next task starts over
}

// gathered marks a planar result that goes to DRAM with channels and width
// exchanged: it is put together in L2 (reduce_probe_sum_ax1_1x64x8x8; its row
// stride could follow the groups as well as the channels).
func (b *builder) gathered(t *td.Task) {
	t.Set(td.ResType, 1).Set(td.ResBfrMode, 0).Set(td.DstL2BfrMode, 0)
	t.Set(td.L2ResCh, granule).Set(td.L2ResRow, granule*t.Int(td.Cout)).Set(td.L2ResDepth, granule)
}

func setL2(t *td.Task, base, ch, row, depth, group td.Field, p l2Place) {
	t.Set(base, int(p.base)).Set(ch, int(p.stride[axC])).Set(row, int(p.stride[axH])).Set(depth, int(p.stride[axD])).
		Set(group, int(p.stride[axG]))
}

// touch records that a task's stream uses a buffer.
func (b *builder) touch(f fixup) {
	if f.buf.def < 0 {
		f.buf.def = f.task
	}
	f.buf.last = f.task
	if b.trial {
		return
	}
	b.fixups = append(b.fixups, f)
}

// stage gives a source that comes by DMA its place in L2, behind what the task
// keeps there already.
func (b *builder) stage(t *td.Task, o *operand, source int) l2Place {
	rows := o.rows
	if rows == 0 {
		rows = int64(t.Int(td.TileHeight))
	}
	ext := o.ext
	for i, s := range o.spread {
		if s {
			ext[i] = 1
		}
	}
	rows = min(rows, ext[axH])
	at := b.l2top
	if source == 1 {
		at = bankApart(0, at)
	}
	p, n := l2Layout(t, at, ext, rows, o.cols, o.swap)
	b.l2top = p.base + n
	b.staged[len(b.tasks)][source] = n
	// Every element of the tile may come to stand at its address.
	reach := p.base + p.stride[axG]*(ext[axG]-1) + p.stride[axD]*(ext[axD]-1) + p.stride[axC]*(ext[axC]-1) +
		p.stride[axH]*(rows-1) + ext[axW]*elemBytes
	if o.swap {
		reach = p.base + n*ext[axG]
	}
	b.l2reach = max(b.l2reach, align(reach, 64), b.l2top)
	if b.l2reach > b.t.L2Bytes && b.err == nil {
		b.err = fmt.Errorf("task %d: sources take %d bytes of L2, the limit is %d", len(b.tasks), b.l2reach,
			b.t.L2Bytes)
	}
	for i := range p.stride {
		if o.spread[i] {
			p.stride[i] = 0
		}
	}
	return p
}

func log2up(n int64) int {
	k := 0
	for int64(1)<<k < n {
		k++
	}
	return k
}

func taskKind(t *td.Task) string {
	if t.Get(td.PlanarType) != 0 {
		return "planar"
	}
	if t.Get(td.NEOp) == neMultiply {
		return "multiply"
	}
	return "neural"
}
