package td

import (
	"fmt"
	"slices"
)

// The fields that only versions after 11 have.
var (
	KernelLast = regLate("KernelDMA.Last", Recorded, "set in the chain's last task, as EON").is(Chain)
	L2Src2Cfg  = regLate("L2.Src2Cfg", Named, "configuration of source 2: 0x500172 if it comes by DMA")
	PEBias32   = regLate("PE.BiasFP32", Recorded, "added to the elementwise result after Scale").is(FP32)
	PEScale32  = regLate("PE.ScaleFP32", Recorded, "factor of the elementwise result").is(FP32)

	// Cache are the words of the cache DMA that recorded tasks write.
	Cache = arrayLate("CacheDMA.Word", len(cacheWords), Named, "the same in every last task, but for the third: 0xe0 "+
		"beside the index of a task that is not the only one")

	// TagBar and TagOn are of source 1, source 2 and the result.
	TagBar = arrayLate("Address.TagBar", 3, Named, "buffer-access register whose entry has the tag of the system cache")
	TagOn  = arrayLate("Address.TagOn", 3, Recorded, "TagBar is valid")

	// DetectZeros and FewRows are of version 19 and later.
	DetectZeros = regLate("NE.DetectZeros", Named, "the engine looks for coefficients that are zero")
	FewRows     = regLate("NE.SmallSource", Named, "set for a product of at most eight rows")

	// DoubleRate is of version 24.
	DoubleRate   = regLate("TileDMASrc.SrcDoubleRate", Named, "set in one recorded task, with L2.SrcDoubleRate")
	L2DoubleRate = regLate("L2.SrcDoubleRate", Named, "as TileDMASrc.SrcDoubleRate")
	Winograd     = regLate("Common.Winograd", Named, "the convolution is by Winograd's method")
)

// cacheWords are the words of Cache: registers 0x5900, 0x5904, 0x5908, 0x5918, 0x5928 and 0x592c.
var cacheWords = [...]int{0, 1, 2, 6, 10, 11}

// cacheZero is the index of the word that is written with the first although it is zero.
const cacheZero = 3

// cacheMany is the index of the word that only chains of several tasks have.
const cacheMany = 2

func regLate(name string, k Known, doc string) Field {
	return add(Row{Name: name, Unit: 1, Known: k, Doc: doc})
}

func arrayLate(name string, n int, k Known, doc string) Field {
	first := regLate(name+"[0]", k, doc)
	for i := range n {
		if i > 0 {
			regLate(fmt.Sprintf("%s[%d]", name, i), k, doc)
		}
		table[first.At(i)].Array = Array{Name: name, Base: first, Index: i, Len: n}
	}
	return first
}

func codecName(version int) string { return fmt.Sprintf("ZinAneTd<%d>", version) }

// moves lists where whole words of version 7 are.
func (f *lateForm) moves() []move {
	first := 3 // word of L2 with the address of source 1
	if f.apart {
		first = 4
	}
	out := []move{
		{block: Kernel, from: 18, n: 16, step: 1, to: f.Kernel, at: 24},
		{block: Kernel, from: 34, n: 16, step: 1, to: f.Kernel, at: 40},
		{block: L2, from: 0, n: 2, step: 1, to: f.L2, at: 0},
		{block: L2, from: 2, n: 5, step: 1, to: f.L2, at: first},
		{block: L2, from: 7, n: 5, step: 1, to: f.L2, at: first + 5},
		{block: L2, from: 12, n: 6, step: 1, to: f.L2, at: f.result0},
		{block: PE, from: 0, n: 1, step: 1, to: f.PE, at: 0},
		{block: NE, from: 0, n: 1, step: 1, to: f.NE, at: 0},
		{block: NE, from: 1, n: 4, step: 1, to: f.NE, at: f.secondNE()},
	}
	source, source2, result := 6, 12, 4
	if f.tags {
		source, source2, result = 8, 14, 6
	} else {
		out = append(out, move{block: TileSrc, from: 14, n: 2, step: 1, to: f.Source, at: 26},
			move{block: TileDst, from: 6, n: 1, step: 1, to: f.Result, at: 14})
	}
	out = append(out, move{block: TileSrc, from: 3, n: 4, step: 1, to: f.Source, at: source},
		move{block: TileSrc, from: 8, n: 4, step: 1, to: f.Source, at: source2},
		move{block: TileDst, from: 2, n: 4, step: 1, to: f.Result, at: result})
	if !f.apart {
		return append(out, move{block: Common, from: 0, n: 7, step: 1, to: f.Common, at: 0},
			move{block: Common, from: 7, n: 9, step: 1, to: f.Common, at: 8})
	}
	return append(out,
		move{block: Common, from: 7, n: 2, step: 1, to: f.Common, at: 10},
		move{block: Common, from: 9, n: 1, step: 1, to: f.Common, at: 12},
		move{block: Common, from: 10, n: 1, step: 1, to: f.Common, at: 13},
		move{block: Common, from: 11, n: 1, step: 1, to: f.Common, at: 17},
		move{block: Common, from: 12, n: 1, step: 1, to: f.Common, at: 18},
		move{block: Common, from: 13, n: 1, step: 1, to: f.Common, at: 15},
		move{block: Common, from: 14, n: 2, step: 1, to: f.Common, at: 19})
}

// secondNE is the word of the neural engine that is the second in version 7.
func (f *lateForm) secondNE() int {
	if f.wider {
		return 2
	}
	return 1
}

// places lists the fields that leave their word of version 7, and those that it does not have.
func (f *lateForm) places() map[Field]Place {
	live, flags := f.header-2, f.header-1
	at := at11
	out := map[Field]Place{
		TID: at(f.Header, 0, 0, 16), TaskWords: at(f.Header, 0, 16, 11), ExeCycles: at(f.Header, 1, 0, 16),
		LogEvents: at(f.Header, 2, 0, 32), Exceptions: at(f.Header, 3, 0, 24), DebugLogEvents: at(f.Header, 4, 0, 24),
		DebugExcept: at(f.Header, 5, 0, 24), LiveOuts: at(f.Header, live, 0, 32),
		TSR: at(f.Header, flags, 0, 1), TDE: at(f.Header, flags, 1, 1), EON: at(f.Header, flags, 3, 1),
		ENE: at(f.Header, flags, 16, 3), DTID: at(f.Header, f.header, 0, 16),

		KBase0: at(f.Heads, headKernel, barBit, 5), KBE0: at(f.Heads, headKernel, addressBit, 1),
		RBase0: at(f.Heads, headSource1, barBit, 5), RBE0: at(f.Heads, headSource1, addressBit, 1),
		RBase1: at(f.Heads, headSource2, barBit, 5), RBE1: at(f.Heads, headSource2, addressBit, 1),
		WBase: at(f.Heads, headResult, barBit, 5), WBE: at(f.Heads, headResult, addressBit, 1),

		KernelOn: at(f.Kernel, 0, 6, 1), KernelSkip: at(f.Kernel, 0, 5, 1), KernelLast: at(f.Kernel, 0, 7, 1),
		KernelMark: at(f.Kernel, 0, 9, 1), KernelTag: at(f.Kernel, 0, 16, 16), KernelBase: at(f.Kernel, 4, 6, 26),

		Kw: at(f.Common, 8, 0, 6), Kh: at(f.Common, 8, 6, 6), OCGSize: at(f.Common, 7, 0, 3), KernelSurface: {},
		Source1: {}, Source2DMA: {},
		KernelApart: at(f.NE, 0, 16, 1), L2Src2Cfg: at(f.L2, 2, 0, 32),
		PEBias32: at(f.PE, 1, 0, 32), PEScale32: at(f.PE, 2, 0, 32),

		SrcEn: at(f.Source, 0, 0, 1), SrcHint: at(f.Source, 0, 4, 4), SrcDataSet: at(f.Source, 0, 8, 8),
		SrcTag: at(f.Source, 0, 16, 8),
		Src2En: at(f.Source, 1, 0, 1), Src2Hint: at(f.Source, 1, 4, 4), Src2DataSet: at(f.Source, 1, 8, 8),
		Src2Tag:  at(f.Source, 1, 16, 8),
		SrcReuse: at(f.Source, 2, 0, 4), SrcNoReuse: at(f.Source, 2, 4, 4),
		Src2Reuse: at(f.Source, 3, 0, 4), Src2NoReuse: at(f.Source, 3, 4, 4),

		DstEn: at(f.Result, 0, 0, 1), DstCacheHint: at(f.Result, 0, 4, 4), DstDataSet: at(f.Result, 0, 8, 8),
		DstTag: at(f.Result, 0, 16, 8), DstL2BfrMode: at(f.Result, 0, 24, 1), DstBypassEOW: at(f.Result, 0, 25, 1),
	}
	for i := range Lanes {
		out[CoeffEn.At(i)] = at(f.Kernel, 8+i, 0, 1)
		out[CoeffCrH.At(i)] = at(f.Kernel, 8+i, 2, 2)
		out[CoeffCacheHint.At(i)] = at(f.Kernel, 8+i, 4, 4)
		out[CoeffDataSet.At(i)] = at(f.Kernel, 8+i, 8, 8)
		out[CoeffTag.At(i)] = at(f.Kernel, 8+i, 16, 8)
	}
	out[StreamConfig.At(TableStream)] = at(f.Kernel, f.table, 0, 16)
	out[StreamTag.At(TableStream)] = at(f.Kernel, f.table, 16, 8)
	out[StreamSize.At(TableStream)] = at(f.Kernel, f.table+1, 6, 26)
	out[TableBase] = at(f.Kernel, f.table+2+f.table%2, 6, 26)
	for i, w := range cacheWords {
		out[Cache.At(i)] = at(f.Cache, w, 0, 32)
	}
	for i := range 3 {
		out[TagBar.At(i)] = at(f.Heads, headTag1+i, barBit, 5)
		out[TagOn.At(i)] = at(f.Heads, headTag1+i, addressBit, 1)
	}
	f.placeTags(out)
	if f.apart {
		f.placeApart(out)
	}
	return out
}

// placeTags adds the places that depend on whether the tags of the system cache have words of their own.
func (f *lateForm) placeTags(out map[Field]Place) {
	out[SrcBase], out[Src2Base], out[DstBase] = at11(f.Source, 4, 6, 26), at11(f.Source, 10, 6, 26),
		at11(f.Result, 2, 6, 26)
	if !f.tags {
		return
	}
	out[SrcBase], out[Src2Base], out[DstBase] = at11(f.Source, 6, 6, 26), at11(f.Source, 12, 6, 26),
		at11(f.Result, 4, 6, 26)
	// The format of every recorded task, 0x3211, has the values of version 17 in another order.
	format := func(b *Block, word int, mode, interleave, memFormat, truncate Field) {
		out[mode], out[interleave] = at11(b, word, 0, 2), at11(b, word, 4, 4)
		for bit, x := range map[uint8]Field{8: memFormat, 12: truncate} {
			out[x] = Place{Block: b, Word: word, Bit: bit, Width: 2, Source: "inferred"}
		}
	}
	format(f.Source, 28, SrcFmtMode, SrcInterleave, SrcMemFmt, SrcTruncate)
	format(f.Source, 29, Src2FmtMode, Src2Interleave, Src2MemFmt, Src2Truncate)
	format(f.Result, 16, DstFmtMode, DstInterleave, DstMemFmt, DstTruncate)
	out[DstCmpVec] = at11(f.Result, 16, 28, 4)
}

// publicMap17 is the source of a place that no recorded program shows.
const publicMap17 = "public register map of h17"

// placeApart adds the places of the versions whose extents have words of their own. The element formats are in bits
// that a public register map has; every recorded program has fp16, the default.
func (f *lateForm) placeApart(out map[Field]Place) {
	for word, x := range [...]Field{Win, Hin, Cin, Din, Wout, Hout, Cout, Dout} {
		out[x] = at11(f.Common, 1+word, 0, 17)
	}
	for lane, x := range [...]Field{InFmt, In2Fmt, OutFmt} {
		out[x] = Place{Block: f.Common, Bit: uint8(3 * lane), Width: 2, Source: publicMap17}
	}
	out[NumGroups] = at11(f.Common, 9, 0, 13)
	out[Kw], out[Kh], out[OCGSize] = at11(f.Common, 10, 0, 6), at11(f.Common, 10, 6, 6), at11(f.Common, 16, 0, 3)
	out[BinaryPoint] = at11(f.NE, f.secondNE(), 8, 6)
	if f.wider {
		out[DoubleRate], out[L2DoubleRate] = at11(f.Source, 0, 31, 1), at11(f.L2, 1, 31, 1)
		out[SrcCfgRest], out[Winograd] = at11(f.L2, 1, 4, 27), at11(f.Common, 15, 27, 1)
	}
	if f.network > 0 {
		out[DetectZeros], out[FewRows] = at11(f.NE, 0, 28, 1), at11(f.NE, f.secondNE(), 27, 1)
		out[TaskNID] = at11(f.Common, 19, uint8(f.network), 8)
	}
}

// recordedV24 reports whether a published task of version 24 writes a word: those of four tasks, and the words of a
// chain's last task. The other words are placed as in version 20, with one more word of the neural engine.
func (f *lateForm) recordedV24(p Place) bool {
	in := func(first, last int) bool { return p.Word >= first && p.Word <= last }
	switch p.Block {
	case f.Kernel:
		return in(0, 0) || in(4, 5) || in(8, 23) || in(24, 39) || in(40, 55)
	case f.Common:
		return in(1, 3) || in(5, 7) || in(10, 10) || in(13, 13) || in(15, 16) || in(19, 19)
	case f.Source:
		return in(0, 0) || in(2, 2) || in(4, 4) || in(6, 9) || in(28, 28)
	case f.L2:
		return in(1, 2) || in(4, 8) || in(18, 21)
	case f.NE:
		return in(0, 0) || in(2, 2) || in(5, 5)
	case f.Result:
		return in(0, 0) || in(2, 2) || in(4, 7) || in(16, 16)
	case f.Heads:
		return !in(headSource2, headSource2) && !in(headTag2, headTag2)
	}
	return p.Block == f.Header
}

// placeLate assigns the rows their places in the versions after 11, and completes their codecs.
func placeLate() {
	for _, f := range lateForms {
		apart := f.places()
		known := map[word][]Place{}
		for _, p := range apart {
			known[wordOf(p)] = append(known[wordOf(p)], p)
		}
		placeRows(f.layout, apart, f.moves())
		for x := range table { // bits in which the version has a field
			if p := &table[x].places[f.layout]; table[x].Known == Unknown && p.Block != nil &&
				slices.ContainsFunc(known[wordOf(*p)], p.overlaps) {
				*p = Place{}
			}
		}
		for x := range table {
			if p := &table[x].places[f.layout]; f.wider && p.Block != nil && p.Source == "" && !f.recordedV24(*p) {
				p.Source = "as in version 20"
			}
		}
		f.codec.number()
		zero := f.Cache.first + cacheWords[cacheZero]
		f.codec.form = packed{Codec: f.codec, finish: f.complete, zero: zero, with: f.Cache.first + cacheWords[0]}
	}
}

// word is a word of a block.
type word struct {
	block *Block
	index int
}

func wordOf(p Place) word { return word{p.Block, p.Word} }

// overlaps reports whether two places have bits of the same numbers.
func (p Place) overlaps(q Place) bool {
	return int(q.Bit) < int(p.Bit+p.Width) && int(p.Bit) < int(q.Bit+q.Width)
}
