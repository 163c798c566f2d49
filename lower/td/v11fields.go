package td

import "fmt"

// The fields that version 11 has and version 7 has not. Version 10 has them in words that the chapter leaves free.
var (
	TaskWords = reg11("TaskWords", at11(HeaderV11, 0, 16, 11), at10(G5, 8, 0), Recorded, "words of the task").is(Chain)
	LiveOuts  = reg11("LiveOuts", at11(HeaderV11, 6, 0, 32), at10(G5, 7, 0), Recorded,
		"a bit for each 64 KiB of L2 that this task reads from or a later one reads; 0 in the last task")

	KernelMark = reg11("Mark", at11(KernelV11, 0, 9, 1), at10(G5, 8, 11), Named, "set with On")
	KernelTag  = reg11("Tag", at11(KernelV11, 0, 16, 16), at10(G5, 8, 16), Recorded,
		"index of the task, plus one, if it streams coefficients").is(Chain)
	KernelBase = reg11("Base", at11(KernelV11, 2, 6, 26), at10(G5, 9, 6), Recorded,
		"byte offset of the lanes' parts in the kernel buffer").in64(Address)
	KernelGroup = reg11("Group", at11(KernelV11, 4, 6, 26), at10(G6, 15, 6), Named,
		"bytes from the kernel of one group to the next, of a runtime kernel").in64(Size)
	KernelBlock = reg11("Block", at11(KernelV11, 5, 6, 26), at10(G6, 16, 6), Named,
		"bytes of the lanes' parts together, of a runtime kernel").in64(Size)
	CoeffDataSet = array11("CoeffDataSet", Lanes, at11(KernelV11, 6, 8, 8), at10(G3, 5, 8), Named,
		"14 for a runtime kernel")
	CoeffTag = array11("CoeffTag", Lanes, at11(KernelV11, 6, 16, 8), at10(G3, 5, 16), Recorded, "index of the task").
			is(Chain)
	StreamTag = array11("StreamTag", KernelStreams, at11(KernelV11, 54, 16, 8), at10(G6, 17, 16), Recorded,
		"index of the task, if it streams a lookup table").is(Chain)
	TableBase = reg11("TableBase", at11(KernelV11, 64, 6, 26), at10(G5, 10, 6), Recorded,
		"byte offset of the lookup table in the kernel buffer").in64(Address)

	SrcHint     = reg11("SrcHint", at11(TileSrcV11, 0, 4, 4), at10(G3, 21, 4), Named, "cache hint of source 1")
	SrcDataSet  = reg11("SrcDataSet", at11(TileSrcV11, 0, 8, 8), at10(G3, 21, 8), Named, "14 when source 1 is read")
	SrcTag      = reg11("SrcTag", at11(TileSrcV11, 0, 16, 8), at10(G3, 21, 16), Recorded, "index of the task").is(Chain)
	Src2Hint    = reg11("Src2Hint", at11(TileSrcV11, 1, 4, 4), at10(G3, 22, 4), Named, "cache hint of source 2")
	Src2DataSet = reg11("Src2DataSet", at11(TileSrcV11, 1, 8, 8), at10(G3, 22, 8), Named, "14 when source 2 is read")
	Src2Tag     = reg11("Src2Tag", at11(TileSrcV11, 1, 16, 8), at10(G3, 22, 16), Recorded, "index of the task").
			is(Chain)

	KernelApart = reg11("KernelApart", at11(NEV11, 0, 16, 1), at10(G3, 24, 0), Recorded,
		"a lookup table comes apart from the lanes, or coefficients from a buffer written at run time")

	DstDataSet = reg11("DstDataSet", at11(TileDstV11, 0, 8, 8), at10(G3, 23, 8), Named, "14 when the result is written")
	DstTag     = reg11("DstTag", at11(TileDstV11, 0, 16, 8), at10(G3, 23, 16), Recorded, "index of the task").is(Chain)
)

func at11(b *Block, word int, bit, width uint8) Place {
	return Place{Block: b, Word: word, Bit: bit, Width: width}
}

func at10(b *Block, word int, bit uint8) Place {
	return Place{Block: b, Word: word, Bit: bit, Source: assigned}
}

// reg11 adds a field of version 11 and its place in version 10.
func reg11(name string, p, v10 Place, k Known, doc string) Field {
	r := Row{Name: p.Block.Name + "." + name, Unit: 1, Known: k, Doc: doc}
	v10.Width = p.Width
	r.places[layoutV11], r.places[layoutV10] = p, v10
	return add(r)
}

// in64 sets the kind of the field, and that it counts 64 bytes.
func (f Field) in64(k Kind) Field {
	table[f].Unit = 64
	return f.is(k)
}

// array11 adds n fields of one name in consecutive words.
func array11(name string, n int, p, v10 Place, k Known, doc string) Field {
	var first Field
	for i := range n {
		f := reg11(fmt.Sprintf("%s[%d]", name, i), p, v10, k, doc)
		if i == 0 {
			first = f
		}
		table[f].Array = Array{Name: p.Block.Name + "." + name, Base: first, Index: i, Len: n}
		p.Word, v10.Word = p.Word+1, v10.Word+1
	}
	return first
}

// moves11 lists where whole words of version 7 are in version 11 (recorded; those of the header, the kernel streams and
// the pixel offsets from a public register map).
var moves11 = []move{
	{block: Kernel, from: 18, n: 16, step: 1, to: KernelV11, at: 22},
	{block: Kernel, from: 34, n: 16, step: 1, to: KernelV11, at: 38},
	{block: Kernel, from: 54, n: 4, step: 1, to: KernelV11, at: 58},
	{block: Kernel, from: 58, n: 4, step: 1, to: KernelV11, at: 66},

	{block: Common, from: 0, n: 7, step: 1, to: CommonV11, at: 0},
	{block: Common, from: 7, n: 9, step: 1, to: CommonV11, at: 8},

	{block: TileSrc, from: 3, n: 4, step: 1, to: TileSrcV11, at: 6},
	{block: TileSrc, from: 8, n: 4, step: 1, to: TileSrcV11, at: 12},
	{block: TileSrc, from: 14, n: 2, step: 1, to: TileSrcV11, at: 20},
	{block: TileSrc, from: 20, n: 4, step: 1, to: TileSrcV11, at: 26, source: publicMap},

	{block: L2, from: 0, n: 18, step: 1, to: L2V11, at: 0},
	{block: PE, from: 0, n: 4, step: 1, to: PEV11, at: 0},
	{block: NE, from: 0, n: 5, step: 1, to: NEV11, at: 0},

	{block: TileDst, from: 2, n: 4, step: 1, to: TileDstV11, at: 4},
	{block: TileDst, from: 6, n: 1, step: 1, to: TileDstV11, at: 8},
}

// publicMap is the source of a place that no recorded program shows.
const publicMap = "public register map of version 11"

// apart11 lists the fields that leave their word in version 11. It has no place for KernelSurface: a task that names a
// buffer other than the constants for its kernel has a runtime kernel.
var apart11 = map[Field]Place{
	TID:            at11(HeaderV11, 0, 0, 16),
	ExeCycles:      at11(HeaderV11, 1, 0, 16),
	LogEvents:      at11(HeaderV11, 2, 0, 24),
	Exceptions:     at11(HeaderV11, 3, 0, 24),
	DebugLogEvents: at11(HeaderV11, 4, 0, 24),
	DebugExcept:    at11(HeaderV11, 5, 0, 24),
	TSR:            at11(HeaderV11, 7, 0, 1),
	TDE:            at11(HeaderV11, 7, 1, 1),
	ENE:            at11(HeaderV11, 7, 16, 3),
	DTID:           at11(HeaderV11, 8, 0, 16),

	KBase0: at11(HeadsV11, headKernel, barBit, 5),
	KBE0:   at11(HeadsV11, headKernel, addressBit, 1),
	RBase0: at11(HeadsV11, headSource1, barBit, 5),
	RBE0:   at11(HeadsV11, headSource1, addressBit, 1),
	RBase1: at11(HeadsV11, headSource2, barBit, 5),
	RBE1:   at11(HeadsV11, headSource2, addressBit, 1),
	WBase:  at11(HeadsV11, headResult, barBit, 5),
	WBE:    at11(HeadsV11, headResult, addressBit, 1),

	KernelOn:   at11(KernelV11, 0, 6, 1),
	KernelSkip: at11(KernelV11, 0, 5, 1),
	EON:        at11(KernelV11, 0, 7, 1),

	Kw:            at11(CommonV11, 8, 0, 6),
	Kh:            at11(CommonV11, 8, 6, 6),
	OCGSize:       at11(CommonV11, 7, 0, 3),
	KernelSurface: {},

	SrcEn:          at11(TileSrcV11, 0, 0, 1),
	SrcCrH:         at11(TileSrcV11, 0, 2, 2),
	SrcDependency:  at11(TileSrcV11, 0, 28, 4),
	SrcReuse:       at11(TileSrcV11, 2, 0, 4),
	SrcNoReuse:     at11(TileSrcV11, 2, 4, 4),
	SrcBase:        at11(TileSrcV11, 4, 6, 26),
	Src2En:         at11(TileSrcV11, 1, 0, 1),
	Src2CrH:        at11(TileSrcV11, 1, 2, 2),
	Src2Dependency: at11(TileSrcV11, 1, 28, 4),
	Src2Reuse:      at11(TileSrcV11, 3, 0, 4),
	Src2NoReuse:    at11(TileSrcV11, 3, 4, 4),
	Src2Base:       at11(TileSrcV11, 10, 6, 26),

	DstEn:        at11(TileDstV11, 0, 0, 1),
	DstCrH:       at11(TileDstV11, 0, 2, 2),
	DstCacheHint: at11(TileDstV11, 0, 4, 4),
	DstL2BfrMode: at11(TileDstV11, 0, 24, 1),
	DstBypassEOW: at11(TileDstV11, 0, 25, 1),
	DstBase:      at11(TileDstV11, 2, 6, 26),
}

// placeV11 assigns the rows that version 7 has too their places in version 11.
func placeV11() {
	for i := range Lanes {
		apart11[CoeffEn.At(i)] = at11(KernelV11, 6+i, 0, 1)
		apart11[CoeffCrH.At(i)] = at11(KernelV11, 6+i, 2, 2)
		apart11[CoeffCacheHint.At(i)] = at11(KernelV11, 6+i, 4, 4)
	}
	for i := range KernelStreams {
		apart11[StreamConfig.At(i)] = at11(KernelV11, 54+i, 0, 16)
	}
	placeRows(layoutV11, apart11, moves11)
	V11.number()
	V11.form = packed{Codec: V11, fills: true, finish: func(t *Task) { completeV11(V11, t) }}
}
