package lower

import (
	"math"

	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
)

// Buffer-access registers of a procedure.
const (
	BarConstants = td.BarConstants
	BarScratch   = td.BarScratch
)

// fp16Bits returns the bits of the fp16 number nearest to f, as a field of a task holds them.
func fp16Bits(f float64) int { return int(weights.ToFP16(f)) }

// cacheHint is how the tile DMA of a source uses the cache; it is an index of cacheHints.
type cacheHint uint8

const (
	hintOnce    cacheHint = iota // only this task fetches the buffer
	hintScratch                  // the buffer is scratch and is not read again
	hintAgain                    // a later task fetches the buffer too
	hintLast                     // an input that earlier tasks have fetched
	hintFirst                    // scratch that later tasks fetch too
	hintDone                     // scratch that earlier tasks have fetched
	hintNamed                    // the tensor is in L2, the task names its buffer
	hintOff                      // the tensor is in L2
)

// cacheHints are the fields of a source's DMA configuration (all recorded chains; the meaning of the numbers is
// unknown).
var cacheHints = [...]struct{ hint, reuse, noReuse, dependency int }{
	hintOnce:    {hint: 2, reuse: 8, noReuse: 3, dependency: 3},
	hintScratch: {hint: 0, reuse: 9, noReuse: 3, dependency: 5},
	hintAgain:   {hint: 2, reuse: 11, noReuse: 11, dependency: 3},
	hintLast:    {hint: 0, reuse: 11, noReuse: 3, dependency: 3},
	hintFirst:   {hint: 2, reuse: 11, noReuse: 11, dependency: 7},
	hintDone:    {hint: 0, reuse: 9, noReuse: 3, dependency: 1},
	hintNamed:   {hint: 2, reuse: 8, noReuse: 8, dependency: 4},
	hintOff:     {hint: 2, reuse: 8, noReuse: 8, dependency: 0},
}

// encoder sets the values of one draft. No other part of the package writes or reads values of tasks.
type encoder struct {
	*draft
	to    fields
	codec *td.Codec
	// kernels is the buffer-access register of coefficients and lookup tables.
	kernels int
}

// fields is what an encoder writes to.
type fields interface {
	Set(f td.Field, v int) *td.Task
}

// encode sets a task that is zero from a draft. The task's Err reports a value that does not fit its field.
func (c *schedule) encode(t *td.Task, d *draft) {
	(&encoder{draft: d, to: t, codec: c.codec, kernels: c.kernels}).encode()
	c.codec.Complete(t)
	if d.kernelStays {
		t.SetBool(td.KernelMark, false)
	}
}

// encode writes each field at most once, in the order of the field table. Fields that it does not write are zero.
func (e *encoder) encode() {
	e.header()
	e.kernelDMA()
	e.common()
	e.tileSources()
	e.l2Streams()
	e.planarEngine()
	e.neuralEngine()
	e.tileResult()
	e.set(td.LiveOuts, int(e.live))
	if k := e.kernel; k != nil && k.rows != nil && e.t.GroupsMatrices {
		e.size(td.KernelGroup, k.rows.group)
		e.size(td.KernelBlock, k.rows.step<<log2up(int64(e.cores)))
	}
}

func (e *encoder) set(f td.Field, v int) { e.to.Set(f, v) }

// either returns a if first is set, else b.
func either[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// put writes a field whose values have names.
func put[T ~uint32](e *encoder, f td.Field, v T) { e.set(f, int(v)) }

// size writes a field of bytes or of elements.
func (e *encoder) size(f td.Field, v int64) { e.set(f, int(v)) }

func (e *encoder) flag(f td.Field, on bool) {
	v := 0
	if on {
		v = 1
	}
	e.set(f, v)
}

// dram writes where a tensor is in its buffer: offset, and the strides of the row, channel, depth and group loops.
func (e *encoder) dram(base, row, plane, depth, group td.Field, o *operand) {
	e.size(base, o.buf.off+o.off)
	e.size(row, o.stride[axH])
	e.size(plane, o.stride[axC])
	e.size(depth, o.stride[axD])
	e.size(group, o.stride[axG])
}

// formatOf returns the type of a tensor's elements.
func formatOf(o *operand) td.Format {
	if o.buf.narrow {
		return td.FmtUint8
	}
	return td.FmtFP16
}

// bar writes a buffer's buffer-access register and marks it valid.
func (e *encoder) bar(bar, enable td.Field, b *buffer) {
	at := b.bar
	if b.space == scratch {
		at = BarScratch
	}
	e.set(bar, at)
	e.flag(enable, true)
}

func (e *encoder) header() {
	e.size(td.ExeCycles, e.time)
	events, debug := e.events()
	e.set(td.LogEvents, events)
	e.set(td.DebugLogEvents, debug)
	e.flag(td.DisallowAbort, e.deps.planarNext)
	// A buffer that the task names counts as read or written although its DMA is off. A first source that waits for
	// nothing does not count, nor does one whose second source is in L2 (case less_bool_rr_1x64x1x1).
	in, out := e.src[0].where, e.dst.where
	from := in != inL2 && (!e.two || e.src[1].where == byDMA) && (in == named || e.deps.sourceConfig&aliasAll != 0)
	to := out != inL2 && (e.deps.nextWaits || !e.partial && !e.deps.noneWaits)
	e.flag(td.SPL, from)
	e.flag(td.TSR, to)
	e.flag(td.SPC, from && in != byDMA)
	e.flag(td.DPC, to && out != byDMA)
	e.flag(td.TSE, to)
	rows := (*kernelRows)(nil)
	if e.kernel != nil {
		rows = e.kernel.rows
	}
	e.flag(td.TDE, rows != nil && rows.buf.space == scratch)
	e.flag(td.SrcLoc, e.fetches())
	e.flag(td.DstLoc, out == byDMA)
	if in != inL2 {
		e.bar(td.RBase0, td.RBE0, e.src[0].buf)
	}
	if e.two && e.src[1].where != inL2 {
		e.bar(td.RBase1, td.RBE1, e.src[1].buf)
	}
	if out != inL2 {
		e.bar(td.WBase, td.WBE, e.dst.buf)
	}
	e.flag(td.TBE, out != byDMA || e.partial || e.dst.buf.space != outPort)
	if e.cores > 0 {
		// Recorded for all five counts; two cores by compiler 4.2.1 alone.
		e.set(td.ENE, 1+log2up(int64(e.cores)))
	}
	switch {
	case rows != nil:
		e.bar(td.KBase0, td.KBE0, rows.buf)
		if rows.buf.space == scratch {
			e.set(td.DTID, rows.buf.def)
		}
	case e.kernel != nil:
		e.set(td.KBase0, e.kernels)
		e.flag(td.KBE0, true)
	}
}

// events returns the event words, which follow from the task's place in the schedule. The upper part of the debug mask
// is empty for a pass that only copies. It lacks bit 13 for the tables of roots and of reciprocals (all recorded
// chains, case binary_real_div_1x64x8x8), but for a reciprocal that h13 exchanges (case binary_real_div_1x1024x1x1) and
// for the reciprocal of a sum that works on all of 64 pixels at a time on h14 (softmax over channels of 64x8x8 and
// 8x1x64; not of 32x4x4, 32x1x32 or 8x1x128).
func (d *draft) events() (log, debug int) {
	log, low := 0x400, 0x00
	switch {
	case d.first && d.last:
		log, low = 0x42a, 0x6a
	case d.first:
		log, low = 0x408, 0x68
	case d.last:
		log, low = 0x422, 0x6a
	}
	high := 0xfff800
	switch {
	case d.pe != nil:
	case d.copies():
		high = 0
	case d.does(td.NESum) && d.t.SmallRows && d.shift.small &&
		d.dst.ext[axH]*d.dst.ext[axW] == d.t.SmallImage*d.t.SmallImage:
	case d.ne.category == 1 || d.table != nil && d.lacksBit13():
		high = 0xffd800
	}
	return log, high | low
}

// lacksBit13 reports whether the table is of roots, of reciprocals, or of logarithms (case binary_pow_1x512x1x1).
func (d *draft) lacksBit13() bool {
	switch d.table.Table.Mode() {
	case weights.ModeSqrt, weights.ModeRsqrt, weights.ModeLog2:
		return true
	case weights.ModeReciprocal:
		return !d.dst.swap || !d.t.MarksSwapped
	}
	return false
}

// lane is what the kernel DMA of one core reads.
type lane struct {
	on         bool
	base, size int64
}

// lanes returns what the kernel DMA reads.
func (k *kernelUse) lanes(cores int) (ls [td.Lanes]lane) {
	for i := range ls {
		ls[i].size = td.IdleSize
		switch {
		case k == nil:
		case k.parts != nil:
			ls[i] = lane{k.parts.Live[i], int64(k.parts.Offset[i]), int64(k.parts.Size[i])}
		case i < cores:
			ls[i] = lane{true, k.rows.buf.off + k.rows.off + int64(i)*k.rows.step, k.rows.size}
		}
	}
	return ls
}

func (e *encoder) kernelDMA() {
	k := e.kernel
	e.flag(td.KernelOn, k != nil)
	e.flag(td.KernelSkip, k != nil && (k.skip || k.masks))
	lanes := k.lanes(e.cores)
	for i := range lanes {
		e.flag(td.CoeffEn.At(i), lanes[i].on)
	}
	for i := range lanes {
		e.set(td.CoeffCacheHint.At(i), td.CacheHint)
	}
	for i := range lanes {
		e.size(td.CoeffBase.At(i), either(lanes[i].on, lanes[i].base, 0))
	}
	for i := range lanes {
		e.size(td.CoeffSize.At(i), lanes[i].size)
	}
	for i := range 4 {
		e.set(td.StreamConfig.At(i), td.IdleStreamConfig)
	}
	for i := range 4 {
		e.set(td.StreamSize.At(i), td.IdleSize)
	}
}

func (e *encoder) common() {
	in, out, w := e.src[0].ext, e.dst.ext, e.window
	e.size(td.Win, in[axW])
	e.size(td.Hin, in[axH])
	e.size(td.Din, in[axD])
	put(e, td.InFmt, formatOf(&e.src[0]))
	if e.two {
		put(e, td.In2Fmt, td.FmtFP16)
	}
	put(e, td.OutFmt, formatOf(&e.dst))
	e.size(td.Cin, in[axC])
	e.size(td.Cout, out[axC])
	e.size(td.Wout, out[axW])
	e.size(td.Hout, out[axH])
	e.size(td.Dout, out[axD])
	e.size(td.Kw, w.kw)
	e.size(td.Kh, w.kh)
	lanes, size := e.passLanes(), 0
	if e.kernel != nil {
		size = e.kernel.ocgSize
	}
	e.set(td.OCGSize, max(lanes, size))
	e.size(td.Sx, w.sx)
	e.size(td.Sy, w.sy)
	e.size(td.Px, w.px)
	e.size(td.Py, w.py)
	e.size(td.Ox, w.ox)
	e.set(td.Oy, 1)
	e.set(td.Word20, td.Word20Value)
	e.size(td.NumGroups, in[axG])
	span := int64(1)
	if e.ne != nil {
		e.flag(td.UnicastEn, e.ne.unicast)
		span = max(e.ne.span, 1<<lanes)
	}
	e.size(td.UnicastCin, span)
	e.size(td.TileHeight, e.tile)
	e.set(td.PatchWidth, e.patch[0])
	e.set(td.PatchHeight, e.patch[1])
	for k, fields := range [2][4]td.Field{
		{td.Bcast1W, td.Bcast1H, td.Bcast1D, td.Bcast1C}, {td.Bcast2W, td.Bcast2H, td.Bcast2D, td.Bcast2C},
	} {
		for i, ax := range [...]int{axW, axH, axD, axC} {
			e.flag(fields[i], e.src[k].broadcast[ax])
		}
	}
	e.flag(td.Swap1, e.src[0].swap)
	e.flag(td.Swap2, e.src[1].swap)
	e.flag(td.SwapResult, e.pe != nil && e.dst.swap)
	e.flag(td.Source1, e.src[0].where == byDMA || !e.fetchesSecond())
	e.flag(td.Source2DMA, e.fetchesSecond())
	e.flag(td.SmallSource, e.shift.small)
	put(e, td.PlanarType, e.draft.kind())
	e.set(td.ShPref, e.shift.pref)
	e.set(td.ShMin, e.shift.min)
	e.set(td.ShMax, e.shift.max)
	e.set(td.ActiveNE, log2up(int64(e.cores)))
	e.flag(td.AccDoubleBuf, false)
	e.flag(td.SwapNE, e.ne != nil && e.dst.swap)
	e.flag(td.LaneGroups, lanes > 0 || size > 0 && e.kernel.rows != nil && e.t.LanesInPasses)
	e.flag(td.TaskNID, e.ne != nil)
	if e.ne != nil {
		e.set(td.DPECategory, e.ne.category)
	}
}

func (e *encoder) tileSources() {
	one, two := &e.src[0], &e.src[1]
	hint := cacheHints[e.hintOf(one)]
	e.flag(td.SrcEn, e.fetches())
	e.set(td.SrcCacheHint, hint.hint)
	e.set(td.SrcReuse, hint.reuse)
	e.set(td.SrcNoReuse, hint.noReuse)
	e.set(td.SrcDependency, hint.dependency)
	second := cacheHints[hintOff]
	if e.fetchesSecond() {
		second = cacheHints[e.hint2]
	}
	e.set(td.Src2CacheHint, second.hint)
	e.set(td.Src2Reuse, second.reuse)
	e.set(td.Src2NoReuse, second.noReuse)
	e.set(td.Src2Dependency, second.dependency)
	first, also := one.where != inL2, e.two && two.where != inL2 // the task names their buffers
	if first {
		e.dram(td.SrcBase, td.SrcRow, td.SrcPlane, td.SrcDepth, td.SrcGroup, one)
	}
	if also {
		e.dram(td.Src2Base, td.Src2Row, td.Src2Plane, td.Src2Depth, td.Src2Group, two)
	}
	if first && !one.buf.narrow || e.fetchesSecond() {
		e.set(td.SrcFmtMode, td.FmtModeDMA)
	}
	if first && !one.buf.narrow {
		e.set(td.SrcTruncate, td.TruncateDMA)
		put(e, td.SrcMemFmt, td.FmtFP16)
	}
	e.size(td.SrcInterleave, max(one.inter, 1))
	if also {
		e.set(td.Src2Truncate, td.TruncateDMA)
		put(e, td.Src2MemFmt, td.FmtFP16)
	}
	if two.inter > 1 {
		e.size(td.Src2Interleave, two.inter)
	}
	e.set(td.Word40, td.Word40Value)
	e.size(td.PixelOffset, either(first, one.pix, 0))
	e.size(td.PixelOffset.At(1), either(also, two.pix, 0))
}

// hintOf returns how the DMA of source 1 uses the cache.
func (d *draft) hintOf(o *operand) cacheHint {
	switch o.where {
	case named:
		return hintNamed
	case inL2:
		return hintOff
	}
	return d.hint
}

func (e *encoder) l2Streams() {
	if e.padMax {
		put(e, td.PaddingMode, td.PadMax)
	}
	e.flag(td.Input2ReLU, e.pe != nil && e.pe.clamp2)
	if e.src[0].where == byDMA {
		put(e, td.SrcType, either(e.keeps || e.rowAgain, td.SourceResident, td.SourceThrough))
	}
	e.set(td.SrcDependent, e.deps.overlap)
	e.set(td.SrcCfgRest, e.deps.sourceConfig)
	if e.codec.Has(td.L2Src2Cfg) {
		e.set(td.SrcCfgRest, e.deps.firstConfig)
		e.set(td.L2Src2Cfg, e.deps.secondConfig)
	}
	e.place(td.L2Src, td.L2SrcCh, td.L2SrcRow, td.L2SrcDepth, td.L2SrcGroup, e.src[0].l2)
	e.place(td.L2Src2, td.L2Src2Ch, td.L2Src2Row, td.L2Src2Depth, td.L2Src2Group, e.src[1].l2)
	if e.dst.where == byDMA {
		typ, mode := resultLeaves, resultDirect
		if e.gather {
			mode = 0
			if e.pe != nil && e.dst.swap {
				typ = resultTransposed
			}
		}
		e.set(td.ResType, typ)
		e.set(td.ResBfrMode, mode)
	}
	e.set(td.ResCfgRest, e.deps.resultConfig)
	e.place(td.L2Res, td.L2ResCh, td.L2ResRow, td.L2ResDepth, td.L2ResGroup, e.dst.l2)
}

// Values of ResType and ResBfrMode, and the cache hint of a result that a task reads again soon (recorded).
const (
	resultTransposed = 1
	resultLeaves     = 2
	resultDirect     = 2
	resultSoon       = 15
)

// place writes where a tensor is in L2.
func (e *encoder) place(at, ch, row, depth, group td.Field, p l2Place) {
	e.size(at, p.base)
	e.size(ch, p.stride[axC])
	e.size(row, p.stride[axH])
	e.size(depth, p.stride[axD])
	e.size(group, p.stride[axG])
}

func (e *encoder) planarEngine() {
	p := e.pe
	if p == nil {
		return
	}
	put(e, td.PoolMode, p.pool)
	put(e, td.PEOp, p.op)
	e.flag(td.PESquare, p.square)
	e.flag(td.PERelu, p.relu)
	put(e, td.PECond, p.cond)
	put(e, td.PENonlinear, p.end)
	e.flag(td.PENeg1, p.neg1)
	e.flag(td.PENeg2, p.neg2)
	e.flag(td.PETwo, e.two)
	e.set(td.PEBias, fp16Bits(p.bias))
	e.set(td.PEScale, fp16Bits(p.scale))
	e.set(td.PEEpsilon, fp16Bits(p.epsilon))
	e.set(td.PEPreScale, fp16Bits(1))
	e.set(td.PEFinal, int(math.Float32bits(p.final)))
}

func (e *encoder) neuralEngine() {
	n, k := e.ne, e.kernel
	if n == nil {
		n = &neuralWork{}
	}
	if k == nil {
		k = &kernelUse{}
	}
	// Both are 0 for a task that reads or writes bytes (case select_rrb_1x64x1x1 and public records of logical_not).
	floats := e.ne != nil && !e.src[0].buf.narrow && !e.dst.buf.narrow
	switch {
	case k.bytes, k.scaled:
		put(e, td.KernelFmt, td.KernelInt8)
	case floats:
		put(e, td.KernelFmt, td.KernelFP16)
	}
	indexBits := k.bits
	if k.masks {
		indexBits = 1
	}
	e.flag(td.PalettizedEn, indexBits > 0)
	e.set(td.PalettizeBits, either(indexBits > 0, indexBits, td.NoPaletteBits))
	e.flag(td.SparseFmt, k.skip || k.masks)
	e.flag(td.SparseBinary, k.masks)
	e.flag(td.PlanarNext, e.deps.planarNext)
	e.flag(td.PlanarBefore, e.deps.planarBefore)
	e.flag(td.KernelSurface, k.rows != nil)
	put(e, td.NEOp, n.op)
	e.flag(td.NEBias, k.bias)
	e.set(td.BinaryPoint, either(floats, td.BinaryPointValue, 0))
	e.flag(td.PostScaleMode, k.scaled)
	put(e, td.Nonlinear, n.act)
	e.flag(td.MACWord20, true)
	if e.codec.Has(td.Winograd) {
		e.flag(td.Winograd, n.winograd)
		double := e.doubleRate()
		e.flag(td.DoubleRate, double)
		e.flag(td.L2DoubleRate, double)
	}
	if e.does(td.NEMultiply) && e.codec.Has(td.DetectZeros) {
		few := e.fewAtOnce()
		e.flag(td.FewRows, few)
		e.flag(td.DetectZeros, e.t.FindsZeros && !few && (!k.skip || k.filled) && !k.masks) // none in a sparse kernel
	}
	e.set(td.AccBias, fp16Bits(n.bias))
	e.set(td.PostScale, fp16Bits(n.scale))
}

// doubleRate reports whether the source of a task comes at the double rate. Of two published tasks that fetch one does,
// which multiplies with a whole kernel and keeps nothing of its source (1x8 on h18g; 1x9 has neither).
func (d *draft) doubleRate() bool {
	return d.does(td.NEMultiply) && d.src[0].where == byDMA && !d.keeps && d.kernel != nil && !d.kernel.filled
}

func (e *encoder) tileResult() {
	o := &e.dst
	dma := o.where == byDMA
	e.flag(td.DstEn, dma)
	e.set(td.DstCacheHint, either(dma && o.buf.space == scratch, resultSoon, td.ResultCacheHint))
	// Case chain_attn_s64_dh64, case chain_attn_s256_dh64 and case chain_attn_s128_dh64_h4; not a kernel that a copy
	// writes.
	weights := dma && o.buf.space == scratch && o.inter > 1 && e.kind() == td.PlanarTwo && !e.fetches()
	e.flag(td.DstWord19, weights)
	e.flag(td.DstWord24, weights)
	e.flag(td.DstL2BfrMode, dma && !e.gather)
	if o.where != inL2 {
		e.dram(td.DstBase, td.DstRow, td.DstPlane, td.DstDepth, td.DstGroup, o)
		if !o.buf.narrow {
			e.set(td.DstFmtMode, td.FmtModeDMA)
			e.set(td.DstTruncate, td.TruncateDMA)
			put(e, td.DstMemFmt, td.FmtFP16)
		}
		e.flag(td.DstZeroLast, true)
		e.flag(td.DstZeroFirst, true)
	}
	e.size(td.DstInterleave, max(o.inter, 1))
}
