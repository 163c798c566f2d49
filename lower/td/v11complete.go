package td

// completeV11 drops what version 11 does not have, moves what it has elsewhere, and sets what it leaves out (twins of
// recorded cases of h13 and h14). The codec writes version 11 or a later one.
func completeV11(c *Codec, t *Task) {
	t.val[LogEvents] &^= eventV7
	t.val[DebugLogEvents] &^= debugEventV7
	planar := t.Planar() != NotPlanar
	t.setRaw(TSR, 1)
	t.setRaw(In2Fmt, uint32(FmtFP16)) // part of the default, which every recorded task has
	if planar {
		t.setRaw(OCGSize, c.defaultOf(OCGSize))
		c.reset(t, table[KernelFmt].Place(c).Block)
	} else {
		c.reset(t, table[PEOp].Place(c).Block)
	}
	completeKernelV11(t)
	first, second := Streams[StreamSource1].Moved(t), t.On(Source2DMA)
	placesV11(t, first)
	sourceV11(t, &sourcesV11[0], first)
	sourceV11(t, &sourcesV11[1], second)
	if second && !first {
		t.setRaw(SrcEn, 1)
		t.setRaw(SrcHint, CacheHint)
	}
	resultV11(t)
	for _, f := range gone {
		t.setRaw(f, 0)
	}
}

// Bits of the event masks that version 11 does not set.
const (
	eventV7      = 0x400
	debugEventV7 = 0x2
)

// gone are fields without a place in version 11, which tasks of version 7 set.
var gone = []Field{
	DisallowAbort, PlanarNext, KPC, SPL, SPC, DPC, TSE, SrcLoc, DstLoc, TBE, SrcCacheHint, Src2CacheHint, SrcDependency,
	Src2Dependency, Word40, KernelSurface, DstWord19, DstWord24,
}

// reset sets the fields of a block to its defaults.
func (c *Codec) reset(t *Task, b *Block) {
	for w := b.first; w < b.first+b.Words; w++ {
		c.setWord(t, w, c.defaults[w])
	}
}

// defaultOf returns the value of a field in a task that does not write its register.
func (c *Codec) defaultOf(f Field) uint32 {
	p := table[f].Place(c)
	return c.defaults[p.Block.first+p.Word] >> p.Bit & p.mask()
}

// completeKernelV11 sets the kernel DMA: the parts of lanes count from the first one's, and a lookup table that a task
// does not multiply with has a stream of its own.
func completeKernelV11(t *Task) {
	for i := range KernelStreams {
		t.setRaw(StreamConfig.At(i), IdleStreamV11)
	}
	if !t.On(KernelOn) {
		return
	}
	t.setRaw(KernelMark, 1)
	live := 0
	for live < Lanes-1 && !t.On(CoeffEn.At(live)) {
		live++
	}
	base := t.raw(CoeffBase.At(live))
	if t.UsesTable() && !t.Multiplies() {
		t.setRaw(KernelApart, 1)
		t.setRaw(StreamConfig.At(TableStream), IdleStreamV11|1)
		t.setRaw(StreamBase.At(TableStream), base)
		t.setRaw(StreamSize.At(TableStream), t.raw(CoeffSize.At(live)))
		t.setRaw(TableBase, base)
		for i := range Lanes {
			t.setRaw(CoeffEn.At(i), 0)
			t.setRaw(CoeffBase.At(i), 0)
			t.Set(CoeffSize.At(i), IdleSize)
		}
		return
	}
	t.setRaw(KernelBase, base)
	for i := range Lanes {
		if t.On(CoeffEn.At(i)) {
			t.setRaw(CoeffBase.At(i), t.raw(CoeffBase.At(i))-base)
		}
	}
	if t.On(KernelSurface) {
		t.setRaw(KernelApart, 1)
		for i := range Lanes {
			t.setRaw(CoeffCacheHint.At(i), hintScratchV11)
			t.setRaw(CoeffDataSet.At(i), dataSetV11)
		}
	}
}

// Values of tensors' DMA configurations in version 11.
const (
	dataSetV11     = 14
	hintScratchV11 = 4
)

// hintsV11 are the cache hints of a source in version 11, by the hints of version 7. The last two are inferred: no
// recorded program of version 11 reads scratch by tile DMA more than once.
var hintsV11 = []struct {
	v7  [4]uint32 // hint, reuse, no reuse, dependency
	v11 [3]uint32 // hint, reuse, no reuse
}{
	{[...]uint32{2, 8, 3, 3}, [...]uint32{2, 14, 12}},             // fetched once
	{[...]uint32{2, 11, 11, 3}, [...]uint32{14, 14, 14}},          // again later
	{[...]uint32{0, 11, 3, 3}, [...]uint32{12, 14, 12}},           // for the last time
	{[...]uint32{0, 9, 3, 5}, [...]uint32{hintScratchV11, 14, 4}}, // scratch
	{[...]uint32{2, 11, 11, 7}, [...]uint32{14, 14, 14}},          // scratch, again later
	{[...]uint32{0, 9, 3, 1}, [...]uint32{hintScratchV11, 14, 4}}, // scratch, for the last time
}

// sourceV11Fields are the fields of a source's DMA.
type sourceV11Fields struct {
	*Stream
	hint, reuse, noReuse, dependency, hint11, dataSet, mode, truncate Field
}

var sourcesV11 = [...]sourceV11Fields{
	{
		Stream: &Streams[StreamSource1],
		hint:   SrcCacheHint, reuse: SrcReuse, noReuse: SrcNoReuse, dependency: SrcDependency,
		hint11: SrcHint, dataSet: SrcDataSet, mode: SrcFmtMode, truncate: SrcTruncate,
	},
	{
		Stream: &Streams[StreamSource2],
		hint:   Src2CacheHint, reuse: Src2Reuse, noReuse: Src2NoReuse, dependency: Src2Dependency,
		hint11: Src2Hint, dataSet: Src2DataSet, mode: Src2FmtMode, truncate: Src2Truncate,
	},
}

// sourceV11 sets the DMA of a source, or clears it for a source that is in L2.
func sourceV11(t *Task, s *sourceV11Fields, moved bool) {
	if !moved {
		for _, f := range [...]Field{s.Bar, s.BarValid, s.Base, s.reuse, s.noReuse, s.mode, s.truncate, s.MemFormat,
			s.Interleave, s.Pixel} {
			t.setRaw(f, 0)
		}
		for _, f := range s.DRAM {
			t.setRaw(f, 0)
		}
		if s.Enable == SrcEn {
			t.setRaw(SrcEn, 0)
		}
		return
	}
	v7 := [...]uint32{t.raw(s.hint), t.raw(s.reuse), t.raw(s.noReuse), t.raw(s.dependency)}
	for _, h := range hintsV11 {
		if h.v7 == v7 {
			t.setRaw(s.hint11, h.v11[0])
			t.setRaw(s.reuse, h.v11[1])
			t.setRaw(s.noReuse, h.v11[2])
			break
		}
	}
	t.setRaw(s.dataSet, dataSetV11)
	if t.raw(s.mode) == 0 && s.Enable == SrcEn { // bytes (select on h14)
		t.setRaw(s.Interleave, 0)
	}
	if s.Enable == Source2DMA {
		t.setRaw(Src2FmtMode, FmtModeDMA)
		t.setRaw(Src2Interleave, max(t.raw(Src2Interleave), 1))
	}
	s.real(t, s.DRAM)
}

// real clears the strides of axes along which a tensor has one element.
func (s *Stream) real(t *Task, strides Strides) {
	ext := s.extents(t)
	if s.swapped(t) {
		ext[AxisChannel], ext[AxisColumn] = ext[AxisColumn], ext[AxisChannel]
	}
	for x, f := range strides {
		if ext[x] <= 1 {
			t.setRaw(f, 0)
		}
	}
}

// dmaFormatBit is the bit of SrcCfg and ResCfg that version 11 does not set for a tensor of the planar engine in L2.
const dmaFormatBit = 0x40 >> 4

// placesV11 sets the places in L2.
func placesV11(t *Task, first bool) {
	src1, src2, res := &Streams[StreamSource1], &Streams[StreamSource2], &Streams[StreamResult]
	if !first {
		src1.real(t, src1.L2)
		if t.raw(SrcType)&2 == 0 && !t.On(Source2DMA) {
			t.val[SrcCfgRest] &^= dmaFormatBit
		}
	}
	if !t.On(Source2DMA) {
		src2.real(t, src2.L2)
	}
	if t.raw(ResType) == 0 {
		res.real(t, res.L2)
	}
	if t.Planar() != NotPlanar && !t.On(DstEn) && t.raw(ResBfrMode)&2 == 0 {
		t.val[ResCfgRest] &^= dmaFormatBit
	}
}

// resultV11 sets the DMA of the result, or clears it for a result that stays in L2.
func resultV11(t *Task) {
	s := &Streams[StreamResult]
	if t.On(DstEn) {
		t.setRaw(DstDataSet, dataSetV11)
		s.real(t, s.DRAM)
		return
	}
	for _, f := range [...]Field{WBase, WBE, DstBase, DstCacheHint, DstFmtMode, DstTruncate, DstMemFmt, DstZeroLast,
		DstZeroFirst, DstInterleave} {
		t.setRaw(f, 0)
	}
	for _, f := range s.DRAM {
		t.setRaw(f, 0)
	}
}
