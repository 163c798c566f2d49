package td

import "fmt"

// Field identifies one bit-field of a task: a row of the field table.
type Field uint16

// Known says how far a field's meaning is established.
type Known uint8

// Grades of knowledge.
const (
	Named    Known = iota // name and place from public register maps; value seen in recorded programs
	Recorded              // meaning established by recorded programs
	Modelled              // meaning is zinc's own assumption; no recorded program shows it
	Unknown               // bits that nobody has explained; carried as they are
)

// String returns the grade as the documentation writes it.
func (k Known) String() string { return [...]string{"named", "recorded", "modelled", "unknown"}[k] }

// Row is one row of the field table.
type Row struct {
	Name string // Block.Field, indexed fields with [i]
	// the value is in this unit and stored divided by it: 64 for a DMA stride in bytes, 16 for an L2 address, else 1
	Unit  uint32
	Known Known
	Doc   string // what the value is, including the words of Kind and Values
	Kind  Kind
	// Values are those that a word describes, in the order of the Doc; empty if every number means itself.
	Values []Value
	Array  Array // of an element of an indexed field
	places [layouts]Place
}

// Place returns where a version of the descriptor has the field.
func (r *Row) Place(c *Codec) Place { return r.places[c.layout] }

// Home returns the row's place in the first version that has the field: 7, 11, or one after it.
func (r *Row) Home() Place {
	for _, c := range [...]*Codec{V7, V11, V8, V20, V24} {
		if p := r.Place(c); p.Block != nil {
			return p
		}
	}
	return Place{}
}

// Follows reports whether the row is the element after another in an indexed field.
func (r *Row) Follows(o *Row) bool {
	return r.Array.Len > 0 && r.Array.Base == o.Array.Base && r.Array.Index == o.Array.Index+1 && o.Array.Len > 0
}

// RunName names the elements of an indexed field from first to last: Block.Field[2..5].
func RunName(first, last *Row) string {
	if first.Name == last.Name {
		return first.Name
	}
	return fmt.Sprintf("%s[%d..%d]", first.Array.Name, first.Array.Index, last.Array.Index)
}

// Kind says what the value of a field is.
type Kind uint8

// Kinds of fields.
const (
	Unsigned Kind = iota // a number, a flag or one of Values
	FP16                 // the bits of a half-precision number
	FP32                 // the bits of a single-precision number
	Address              // a byte address or offset, which follows from the placement of data
	Size                 // bytes: a stride in L2 or a length
	Stride               // bytes: a stride in DRAM, which has a sign
	Chain                // the task's place in its chain, which ChainWriter sets
)

// String returns the kind as the documentation writes it.
func (k Kind) String() string {
	return [...]string{"unsigned", "fp16", "fp32", "address", "size", "stride", "chain"}[k]
}

// Array says which indexed field a field is an element of, and which element. It is zero for a field that is not
// indexed.
type Array struct {
	Name  string // Block.Field
	Base  Field  // element 0
	Index int
	Len   int
}

// Max returns the largest value that the field has in any version.
func (r *Row) Max() uint64 {
	most := uint64(0)
	for _, p := range r.places {
		most = max(most, uint64(p.mask()))
	}
	return most * uint64(r.Unit)
}

// Bounds returns the values that the field holds. A stride has a sign, so its bounds are those of a version's width: 26
// bits in all that are known.
func (r *Row) Bounds() (low, high int64) {
	if high = int64(r.Max()); r.Kind == Stride {
		high /= 2 * int64(r.Unit)
		low, high = -(high+1)*int64(r.Unit), high*int64(r.Unit)
	}
	return low, high
}

// Flag reports whether the field is one bit.
func (r *Row) Flag() bool { return r.Max() == 1 }

// Lanes is the number of kernel-DMA lanes.
const Lanes = 16

// The fields that version 7 has, each with its place there. Lane i of an indexed field is i fields after lane 0.
var (
	table = make([]Row, 0, numFields)

	// Header.
	TID            = header("TID", 0, 0, 16, "task index in its chain").is(Chain)
	NID            = header("NID", 0, 16, 8, "network index")
	LNID           = headerR("LNID", 0, 24, 1, "set on every task but the first of a chain").is(Chain)
	EON            = headerR("EON", 0, 25, 1, "last task of the chain").is(Chain)
	ExeCycles      = headerR("ExeCycles", 1, 0, 16, "estimated time in microseconds at 34.13 GB/s")
	NextSize       = headerR("NextSize", 1, 16, 9, "words of the next task, less one").is(Chain)
	LogEvents      = header("LogEvents", 2, 0, 24, "event mask")
	Exceptions     = header("Exceptions", 3, 0, 24, "exception mask, zero in every sample")
	DebugLogEvents = header("DebugLogEvents", 4, 0, 24, "event mask")
	DebugExcept    = header("DebugExceptions", 5, 0, 24, "exception mask, zero in every sample")
	DisallowAbort  = header("DisallowAbort", 6, 8, 1, "")
	TDSkip         = header("TDSkip", 6, 9, 1, "the task is skipped")
	KPC            = header("KPC", 6, 10, 1, "")
	SPL            = header("SPL", 6, 11, 1, "")
	TSR            = header("TSR", 6, 12, 1, "")
	SPC            = header("SPC", 6, 13, 1, "")
	DPC            = header("DPC", 6, 14, 1, "")
	TSE            = header("TSE", 6, 15, 1, "")
	NextPriority   = header("NextPriority", 6, 16, 6, "")
	TDE            = headerR("TDE", 6, 24, 1, "kernel comes from scratch")
	SrcLoc         = headerR("SrcLoc", 6, 28, 1, "source is read from DRAM by tile DMA")
	DstLoc         = headerR("DstLoc", 6, 29, 1, "result is written to DRAM by tile DMA")
	TQDis          = header("TQDis", 6, 31, 1, "")
	NextPointer    = headerR("NextPointer", 7, 0, 32,
		"byte offset of the next task in the task section, 0 in the last").is(Chain)
	RBase0 = headerR("RBase0", 8, 0, 5, "buffer-access register of source 1")
	RBE0   = headerR("RBE0", 8, 5, 1, "RBase0 is valid")
	RBase1 = headerR("RBase1", 8, 6, 5, "buffer-access register of source 2")
	RBE1   = headerR("RBE1", 8, 11, 1, "RBase1 is valid")
	WBase  = headerR("WBase", 8, 12, 5, "buffer-access register of the result")
	WBE    = headerR("WBE", 8, 17, 1, "WBase is valid")
	TBase  = header("TBase", 8, 18, 5, "")
	TBE    = headerR("TBE", 8, 23, 1, "the result is not a declared surface")
	ENE    = headerR("ENE", 8, 24, 4, "neural-engine enable mask, 1 + log2 of the cores").
		values(Value{V: 0, Word: "planar"})
	KBase0 = headerR("KBase0", 9, 0, 5, "buffer-access register of the kernel").
		values(Value{V: BarConstants, Word: "constants"}, Value{V: BarScratch, Word: "scratch"})
	KBE0   = headerR("KBE0", 9, 5, 1, "KBase0 is valid")
	KBase1 = header("KBase1", 9, 6, 5, "")
	KBE1   = header("KBE1", 9, 11, 1, "")
	KBase2 = header("KBase2", 9, 12, 5, "")
	KBE2   = header("KBE2", 9, 17, 1, "")
	KBase3 = header("KBase3", 9, 18, 5, "")
	KBE3   = header("KBE3", 9, 23, 1, "")
	DTID   = headerR("DTID", 10, 0, 16, "index of the task that computed a runtime kernel").is(Chain)

	// Kernel DMA.
	KernelOn       = reg(Kernel, "On", 0x00, 6, 1, 1, Recorded, "the task streams coefficients")
	KernelSkip     = reg(Kernel, "ZeroSkip", 0x00, 5, 1, 1, Recorded, "coefficient bodies are in zero-skipping form")
	CoeffEn        = lane(Kernel, "CoeffEn", 0x08, 0, 1, 1, Recorded, "lane i streams")
	CoeffCrH       = lane(Kernel, "CoeffCrH", 0x08, 4, 2, 1, Named, "")
	CoeffCacheHint = lane(Kernel, "CoeffCacheHint", 0x08, 6, 4, 1, Named, "2 in every sample")
	CoeffPrefetch  = lane(Kernel, "CoeffPrefetch", 0x08, 27, 1, 1, Named, "")
	CoeffBase      = lane(Kernel, "CoeffBase", 0x48, 6, 26, 64, Recorded,
		"byte offset of lane i's part in the kernel buffer").is(Address)
	CoeffSize = lane(Kernel, "CoeffSize", 0x88, 6, 26, 64, Recorded, "bytes of lane i's part; 64 for an idle lane").
			is(Size)
	StreamConfig = array(Kernel, "StreamConfig", 4, 0xc8, 0, 32, 1, Named,
		"bias, post-scale, palette, table stream: 0x80 when idle")
	StreamBase = array(Kernel, "StreamBase", 4, 0xd8, 6, 26, 64, Named, "").is(Address)
	StreamSize = array(Kernel, "StreamSize", 4, 0xe8, 6, 26, 64, Named, "64 when idle").is(Size)

	// Common.
	Win    = reg(Common, "Win", 0x00, 0, 15, 1, Recorded, "input width in elements")
	Hin    = reg(Common, "Hin", 0x00, 16, 15, 1, Recorded, "input height")
	Din    = reg(Common, "Din", 0x04, 0, 16, 1, Recorded, "input depth")
	InFmt  = reg(Common, "InFmt", 0x08, 0, 2, 1, Recorded, "source 1").values(formats()...)
	In2Fmt = reg(Common, "In2Fmt", 0x08, 2, 2, 1, Recorded, "source 2").
		values(append([]Value{{V: 0, Word: "uint8 or none"}}, formats()[1:]...)...)
	OutFmt  = reg(Common, "OutFmt", 0x08, 4, 2, 1, Recorded, "result").values(formats()...)
	Cin     = reg(Common, "Cin", 0x0c, 0, 17, 1, Recorded, "input channels, of one convolution group")
	Cout    = reg(Common, "Cout", 0x10, 0, 17, 1, Recorded, "output channels, of one convolution group")
	Wout    = reg(Common, "Wout", 0x14, 0, 15, 1, Recorded, "output width")
	Hout    = reg(Common, "Hout", 0x14, 16, 15, 1, Recorded, "output height")
	Dout    = reg(Common, "Dout", 0x18, 0, 16, 1, Recorded, "output depth")
	Kw      = reg(Common, "Kw", 0x1c, 0, 5, 1, Recorded, "kernel or window width")
	Kh      = reg(Common, "Kh", 0x1c, 5, 5, 1, Recorded, "kernel or window height")
	OCGSize = reg(Common, "OCGSize", 0x1c, 10, 3, 1, Recorded,
		"log2 of the outputs of one core in the first output group, rounded up")
	Sx        = reg(Common, "Sx", 0x1c, 13, 2, 1, Recorded, "stride along the width")
	Sy        = reg(Common, "Sy", 0x1c, 15, 2, 1, Recorded, "stride along the height")
	Px        = reg(Common, "Px", 0x1c, 17, 5, 1, Recorded, "padding before the first column")
	Py        = reg(Common, "Py", 0x1c, 22, 5, 1, Recorded, "padding before the first row")
	Ox        = reg(Common, "Ox", 0x1c, 28, 2, 1, Named, "output columns at a time")
	Oy        = reg(Common, "Oy", 0x1c, 30, 2, 1, Named, "output rows at a time")
	Word20    = reg(Common, "Word20", 0x20, 0, 32, 1, Named, "0x2041 in every sample")
	NumGroups = reg(Common, "NumGroups", 0x24, 0, 13, 1, Recorded,
		"convolution groups; for other work, repetitions along the group stride")
	UnicastEn = reg(Common, "UnicastEn", 0x24, 14, 1, 1, Recorded,
		"channelwise work: output channel c reads only input channel c")
	ElemMultMode = reg(Common, "ElemMultMode", 0x24, 15, 1, 1, Named, "")
	UnicastCin   = reg(Common, "UnicastCin", 0x24, 16, 16, 1, Recorded,
		"1, or the number of channels of a maximum over channels or of a core in a pass")
	TileHeight  = reg(Common, "TileHeight", 0x28, 0, 16, 1, Recorded, "output rows of one tile")
	PatchWidth  = reg(Common, "PatchWidth", 0x2c, 0, 4, 1, Recorded, "planar patch: log2 of its width")
	PatchHeight = reg(Common, "PatchHeight", 0x2c, 4, 4, 1, Recorded, "planar patch: log2 of its height")
	Bcast1W     = reg(Common, "Bcast1W", 0x30, 0, 1, 1, Recorded, "source 1 is broadcast along the width")
	Bcast1H     = reg(Common, "Bcast1H", 0x30, 1, 1, 1, Recorded, "source 1 is broadcast along the height")
	Bcast1D     = reg(Common, "Bcast1D", 0x30, 2, 1, 1, Modelled, "source 1 is broadcast along the depth")
	Bcast1C     = reg(Common, "Bcast1C", 0x30, 3, 1, 1, Recorded, "source 1 is broadcast along the channels")
	Bcast2W     = reg(Common, "Bcast2W", 0x30, 4, 1, 1, Recorded, "source 2 is broadcast along the width")
	Bcast2H     = reg(Common, "Bcast2H", 0x30, 5, 1, 1, Recorded, "source 2 is broadcast along the height")
	Bcast2D     = reg(Common, "Bcast2D", 0x30, 6, 1, 1, Modelled, "source 2 is broadcast along the depth")
	Bcast2C     = reg(Common, "Bcast2C", 0x30, 7, 1, 1, Recorded, "source 2 is broadcast along the channels")
	Swap1       = reg(Common, "Swap1", 0x30, 8, 1, 1, Recorded, "source 1 is stored with channels and width exchanged")
	Swap2       = reg(Common, "Swap2", 0x30, 9, 1, 1, Recorded, "source 2 is stored with channels and width exchanged")
	SwapResult  = reg(Common, "SwapResult", 0x30, 10, 1, 1, Recorded,
		"planar result is stored with channels and width exchanged")
	Source1 = reg(Common, "Source1", 0x34, 0, 1, 1, Recorded,
		"0 if source 1 is in L2 and source 2 comes by tile DMA")
	Source2DMA  = reg(Common, "Source2DMA", 0x34, 1, 1, 1, Recorded, "source 2 comes by tile DMA")
	SmallSource = reg(Common, "SmallSourceMode", 0x34, 2, 1, 1, Recorded,
		"set when a convolution's output is at most 8x8")
	PlanarType   = reg(Common, "PlanarType", 0x34, 4, 4, 1, Recorded, "planar work").values(planarWorks()...)
	ShPref       = reg(Common, "ShPref", 0x34, 8, 3, 1, Named, "")
	ShMin        = reg(Common, "ShMin", 0x34, 12, 3, 1, Named, "")
	ShMax        = reg(Common, "ShMax", 0x34, 16, 3, 1, Recorded, "largest s <= 4 with output width <= 128 >> s")
	ActiveNE     = reg(Common, "ActiveNE", 0x34, 19, 3, 1, Recorded, "log2 of the neural-engine cores in use")
	CtxSwitchIn  = reg(Common, "ContextSwitchIn", 0x34, 22, 1, 1, Named, "")
	CtxSwitchOut = reg(Common, "ContextSwitchOut", 0x34, 24, 1, 1, Named, "")
	AccDoubleBuf = reg(Common, "AccDoubleBufEn", 0x34, 26, 1, 1, Named, "")
	SwapNE       = reg(Common, "SwapNE", 0x34, 28, 1, 1, Recorded,
		"neural-engine result is stored with channels and width exchanged")
	LaneGroups = reg(Common, "LaneGroups", 0x34, 29, 1, 1, Named,
		"version 11: OCGSize is over 0 in a task without a constant kernel")
	TaskID      = reg(Common, "TaskID", 0x38, 0, 16, 1, Named, "")
	TaskQ       = reg(Common, "TaskQ", 0x38, 16, 4, 1, Named, "")
	TaskNID     = reg(Common, "TaskNID", 0x38, 20, 8, 1, Recorded, "1 for a neural-engine task, 0 for a planar one")
	DPECategory = reg(Common, "DPECategory", 0x3c, 0, 4, 1, Named, "")

	// Tile DMA source.
	SrcEn         = reg(TileSrc, "SrcEn", 0x00, 0, 1, 1, Recorded, "tile DMA reads sources from DRAM")
	SrcCrH        = reg(TileSrc, "SrcCrH", 0x00, 4, 2, 1, Named, "")
	SrcCacheHint  = reg(TileSrc, "SrcCacheHint", 0x00, 6, 2, 1, Named, "")
	SrcReuse      = reg(TileSrc, "SrcCacheHintReuse", 0x00, 8, 4, 1, Named, "")
	SrcNoReuse    = reg(TileSrc, "SrcCacheHintNoReuse", 0x00, 12, 4, 1, Named, "")
	SrcDependency = reg(TileSrc, "SrcDependencyMode", 0x00, 16, 4, 1, Named, "")
	Src2En        = reg(TileSrc, "Src2En", 0x04, 0, 1, 1, Named,
		"0 in every sample; Common.Source2DMA says that source 2 is read from DRAM")
	Src2CrH        = reg(TileSrc, "Src2CrH", 0x04, 4, 2, 1, Recorded, "")
	Src2CacheHint  = reg(TileSrc, "Src2CacheHint", 0x04, 6, 2, 1, Recorded, "2 in every sample")
	Src2Reuse      = reg(TileSrc, "Src2CacheHintReuse", 0x04, 8, 4, 1, Recorded, "8 in every sample")
	Src2NoReuse    = reg(TileSrc, "Src2CacheHintNoReuse", 0x04, 12, 4, 1, Recorded, "")
	Src2Dependency = reg(TileSrc, "Src2DependencyMode", 0x04, 16, 4, 1, Recorded, "")
	SrcBase        = reg(TileSrc, "SrcBase", 0x08, 6, 26, 64, Recorded, "byte offset of source 1 in its buffer").
			is(Address)
	SrcRow   = reg(TileSrc, "SrcRow", 0x0c, 6, 26, 64, Recorded, "row stride in bytes").is(Stride)
	SrcPlane = reg(TileSrc, "SrcPlane", 0x10, 6, 26, 64, Recorded, "channel stride in bytes").is(Stride)
	SrcDepth = reg(TileSrc, "SrcDepth", 0x14, 6, 26, 64, Recorded, "depth stride in bytes").is(Stride)
	SrcGroup = reg(TileSrc, "SrcGroup", 0x18, 6, 26, 64, Recorded, "group stride in bytes").is(Stride)
	Src2Base = reg(TileSrc, "Src2Base", 0x1c, 6, 26, 64, Recorded, "byte offset of source 2 in its buffer").
			is(Address)
	Src2Row        = reg(TileSrc, "Src2Row", 0x20, 6, 26, 64, Recorded, "row stride in bytes").is(Stride)
	Src2Plane      = reg(TileSrc, "Src2Plane", 0x24, 6, 26, 64, Recorded, "channel stride in bytes").is(Stride)
	Src2Depth      = reg(TileSrc, "Src2Depth", 0x28, 6, 26, 64, Recorded, "depth stride in bytes").is(Stride)
	Src2Group      = reg(TileSrc, "Src2Group", 0x2c, 6, 26, 64, Recorded, "group stride in bytes").is(Stride)
	SrcFmtMode     = reg(TileSrc, "SrcFmtMode", 0x38, 0, 2, 1, Named, "1 when source 1 is read")
	SrcTruncate    = reg(TileSrc, "SrcTruncate", 0x38, 4, 2, 1, Named, "3 when source 1 is read")
	SrcShift       = reg(TileSrc, "SrcShift", 0x38, 8, 1, 1, Named, "")
	SrcMemFmt      = reg(TileSrc, "SrcMemFmt", 0x38, 12, 2, 1, Recorded, "source 1 in DRAM").values(formats()...)
	SrcOffsetCh    = reg(TileSrc, "SrcOffsetCh", 0x38, 16, 3, 1, Named, "")
	SrcInterleave  = reg(TileSrc, "SrcInterleave", 0x38, 24, 4, 1, Recorded, "channels interleaved in a row")
	SrcCmpVec      = reg(TileSrc, "SrcCmpVec", 0x38, 28, 4, 1, Named, "")
	Src2FmtMode    = reg(TileSrc, "Src2FmtMode", 0x3c, 0, 2, 1, Named, "0 in every sample")
	Src2Truncate   = reg(TileSrc, "Src2Truncate", 0x3c, 4, 2, 1, Named, "3 when source 2 is read")
	Src2MemFmt     = reg(TileSrc, "Src2MemFmt", 0x3c, 12, 2, 1, Recorded, "source 2 in DRAM").values(formats()...)
	Src2Interleave = reg(TileSrc, "Src2Interleave", 0x3c, 24, 4, 1, Modelled,
		"channels interleaved in a row; 0 means 1")
	Word40      = reg(TileSrc, "Word40", 0x40, 0, 32, 1, Named, "0x100 in every sample")
	PixelOffset = array(TileSrc, "PixelOffset", 4, 0x50, 0, 16, 1, Modelled,
		"[0]: elements skipped at the start of each row of source 1, [1]: of source 2")

	// L2.
	InputReLU   = reg(L2, "InputReLU", 0x00, 0, 1, 1, Named, "source 1 is clamped at zero before use")
	PaddingMode = reg(L2, "PaddingMode", 0x00, 1, 2, 1, Recorded, "what is read outside the input").
			values(paddings()...)
	Input2ReLU = reg(L2, "Input2ReLU", 0x00, 4, 1, 1, Recorded, "source 2 is clamped at zero before use")
	SrcType    = reg(L2, "SrcType", 0x04, 0, 2, 1, Recorded,
		"source that comes by DMA").values(sourceTypes()...)
	SrcDependent = reg(L2, "SrcDependent", 0x04, 2, 2, 1, Named, "")
	SrcCfgRest   = reg(L2, "SrcCfg", 0x04, 4, 28, 1, Named,
		"alias and DMA format flags; values follow no published rule")
	L2Src       = reg(L2, "Src", 0x08, 4, 17, 16, Recorded, "L2 byte address of source 1").is(Address)
	L2SrcCh     = reg(L2, "SrcCh", 0x0c, 4, 17, 16, Recorded, "channel stride in bytes").is(Size)
	L2SrcRow    = reg(L2, "SrcRow", 0x10, 4, 17, 16, Recorded, "row stride in bytes").is(Size)
	L2SrcDepth  = reg(L2, "SrcDepth", 0x14, 4, 17, 16, Recorded, "depth stride in bytes").is(Size)
	L2SrcGroup  = reg(L2, "SrcGroup", 0x18, 4, 17, 16, Recorded, "group stride in bytes").is(Size)
	L2Src2      = reg(L2, "Src2", 0x1c, 4, 17, 16, Recorded, "L2 byte address of source 2").is(Address)
	L2Src2Ch    = reg(L2, "Src2Ch", 0x20, 4, 17, 16, Recorded, "channel stride in bytes").is(Size)
	L2Src2Row   = reg(L2, "Src2Row", 0x24, 4, 17, 16, Recorded, "row stride in bytes").is(Size)
	L2Src2Depth = reg(L2, "Src2Depth", 0x28, 4, 17, 16, Recorded, "depth stride in bytes").is(Size)
	L2Src2Group = reg(L2, "Src2Group", 0x2c, 4, 17, 16, Recorded, "group stride in bytes").is(Size)
	ResType     = reg(L2, "ResType", 0x30, 0, 2, 1, Named, "")
	ResBfrMode  = reg(L2, "ResBfrMode", 0x30, 2, 2, 1, Recorded, "2 when the result leaves by DMA")
	ResCfgRest  = reg(L2, "ResCfg", 0x30, 4, 28, 1, Named,
		"alias and DMA format flags; values follow no published rule")
	L2Res   = reg(L2, "Res", 0x34, 4, 17, 16, Recorded, "L2 byte address of the result").is(Address)
	L2ResCh = reg(L2, "ResCh", 0x38, 4, 17, 16, Recorded,
		"channel stride in bytes; 0 when the result leaves by DMA").is(Size)
	L2ResRow   = reg(L2, "ResRow", 0x3c, 4, 17, 16, Recorded, "row stride in bytes").is(Size)
	L2ResDepth = reg(L2, "ResDepth", 0x40, 4, 17, 16, Recorded, "depth stride in bytes").is(Size)
	L2ResGroup = reg(L2, "ResGroup", 0x44, 4, 17, 16, Recorded, "group stride in bytes").is(Size)

	// Planar engine.
	PoolMode = reg(PE, "PoolMode", 0x00, 0, 2, 1, Recorded,
		"reduction").values(pools()...)
	PEOp     = reg(PE, "Op", 0x00, 2, 2, 1, Recorded, "work of two sources").values(planarOps()...)
	PESquare = reg(PE, "Square", 0x00, 4, 1, 1, Recorded, "square before reducing")
	PERelu   = reg(PE, "ReluEn", 0x00, 5, 1, 1, Named, "clamp the result at zero")
	PECond   = reg(PE, "Cond", 0x00, 6, 3, 1, Recorded, "function of the result, after Scale and Bias").
			values(conditions()...)
	PENonlinear = reg(PE, "Nonlinear", 0x00, 12, 2, 1, Recorded,
		"function of the result of a reduction (PlanarType 5 and 6)").values(planarFunctions()...)
	PENeg1     = reg(PE, "Neg1", 0x00, 16, 1, 1, Recorded, "negate source 1")
	PENeg2     = reg(PE, "Neg2", 0x00, 18, 1, 1, Recorded, "negate source 2")
	PETwo      = reg(PE, "TwoSources", 0x00, 19, 1, 1, Recorded, "source 2 in use")
	PEBias     = reg(PE, "Bias", 0x04, 0, 16, 1, Recorded, "added to the elementwise result after Scale").is(FP16)
	PEScale    = reg(PE, "Scale", 0x04, 16, 16, 1, Recorded, "factor of the elementwise result").is(FP16)
	PEEpsilon  = reg(PE, "Epsilon", 0x08, 0, 16, 1, Recorded, "added after FinalScale and PreScale").is(FP16)
	PEPreScale = reg(PE, "PreScale", 0x08, 16, 16, 1, Named, "factor, 1.0 in every sample").is(FP16)
	PEFinal    = reg(PE, "FinalScale", 0x0c, 0, 32, 1, Recorded, "factor after the reduction, 1/n for a mean").is(FP32)

	// Neural engine.
	KernelFmt    = reg(NE, "KernelFmt", 0x00, 0, 2, 1, Recorded, "coefficients").values(kernelFormats()...)
	PalettizedEn = reg(NE, "PalettizedEn", 0x00, 2, 1, 1, Recorded,
		"parts begin with a codebook of fp16 values, padded to 64 bytes")
	PalettizeBits = reg(NE, "PalettizedBits", 0x00, 4, 4, 1, Named,
		"bits of a codebook index, in the order of fp16 coefficients (modelled); 8 without a codebook")
	SparseFmt    = reg(NE, "SparseFmt", 0x00, 8, 1, 1, Recorded, "zero-skipping body")
	SparseBinary = reg(NE, "SparseBinary", 0x00, 15, 1, 1, Recorded, "zero-skipping body of a kernel with one "+
		"value other than zero: only masks; a set bit means the first entry of the codebook")
	KernelReuse   = reg(NE, "GroupKernelReuse", 0x00, 10, 1, 1, Named, "")
	PlanarNext    = reg(NE, "PlanarNext", 0x00, 12, 1, 1, Recorded, "a planar task whose successor is planar")
	PlanarBefore  = reg(NE, "PlanarBefore", 0x00, 14, 1, 1, Recorded, "a planar task whose predecessor is planar")
	KernelSurface = reg(NE, "KernelFromSurface", 0x00, 16, 1, 1, Recorded,
		"coefficients come from a buffer written at run time")
	NEOp = reg(NE, "Op", 0x04, 0, 4, 1, Recorded,
		"work of the neural engine").values(neuralOps()...)
	NEBias = reg(NE, "KernelMode", 0x04, 4, 1, 1, Recorded,
		"coefficients begin with one bias for each output channel")
	BiasMode      = reg(NE, "BiasMode", 0x04, 5, 1, 1, Named, "")
	MatrixBias    = reg(NE, "MatrixBiasEn", 0x04, 7, 1, 1, Named, "")
	BinaryPoint   = reg(NE, "BinaryPoint", 0x04, 9, 4, 1, Named, "14 in current samples, 0 in the oldest copies")
	PostScaleMode = reg(NE, "PostScaleMode", 0x04, 14, 1, 1, Named,
		"coefficients are signed bytes, which begin with one scale for each output channel, before the biases "+
			"(modelled)")
	Nonlinear = reg(NE, "NonlinearMode", 0x04, 16, 2, 1, Recorded, "function of the result, after PostScale").
			values(nonlinearities()...)
	MACWord20     = reg(NE, "MACWord20", 0x04, 20, 1, 1, Named, "set in every sample")
	MatrixVecBias = reg(NE, "MatrixVectorBias", 0x08, 0, 16, 1, Named, "")
	AccBias       = reg(NE, "AccBias", 0x0c, 0, 16, 1, Recorded, "added to the accumulator").is(FP16)
	AccBiasShift  = reg(NE, "AccBiasShift", 0x0c, 16, 5, 1, Named, "")
	PostScale     = reg(NE, "PostScale", 0x10, 0, 16, 1, Recorded, "factor before the nonlinearity").is(FP16)
	PostShift     = reg(NE, "PostScaleRightShift", 0x10, 16, 5, 1, Named, "")

	// Tile DMA destination.
	DstEn        = reg(TileDst, "DstEn", 0x00, 0, 1, 1, Recorded, "result is written to DRAM")
	DstCrH       = reg(TileDst, "DstCrH", 0x00, 4, 2, 1, Named, "")
	DstCacheHint = reg(TileDst, "DstCacheHint", 0x00, 6, 4, 1, Named, "")
	DstWord19    = reg(TileDst, "DstWord19", 0x00, 19, 1, 1, Named, "set where weights of a softmax leave as a kernel")
	DstWord24    = reg(TileDst, "DstWord24", 0x00, 24, 1, 1, Named, "set with DstWord19")
	DstL2BfrMode = reg(TileDst, "L2BfrMode", 0x00, 26, 1, 1, Named, "")
	DstBypassEOW = reg(TileDst, "BypassEOW", 0x00, 27, 1, 1, Named, "")
	DstBase      = reg(TileDst, "DstBase", 0x04, 6, 26, 64, Recorded, "byte offset of the result in its buffer").
			is(Address)
	DstRow        = reg(TileDst, "DstRow", 0x08, 6, 26, 64, Recorded, "row stride in bytes").is(Stride)
	DstPlane      = reg(TileDst, "DstPlane", 0x0c, 6, 26, 64, Recorded, "channel stride in bytes").is(Stride)
	DstDepth      = reg(TileDst, "DstDepth", 0x10, 6, 26, 64, Recorded, "depth stride in bytes").is(Stride)
	DstGroup      = reg(TileDst, "DstGroup", 0x14, 6, 26, 64, Recorded, "group stride in bytes").is(Stride)
	DstFmtMode    = reg(TileDst, "DstFmtMode", 0x18, 0, 2, 1, Named, "1 when the result is written")
	DstTruncate   = reg(TileDst, "DstTruncate", 0x18, 4, 2, 1, Named, "3 when the result is written")
	DstShift      = reg(TileDst, "DstShift", 0x18, 8, 1, 1, Named, "")
	DstMemFmt     = reg(TileDst, "DstMemFmt", 0x18, 12, 2, 1, Recorded, "result in DRAM").values(formats()...)
	DstOffsetCh   = reg(TileDst, "DstOffsetCh", 0x18, 16, 3, 1, Named, "")
	DstZeroLast   = reg(TileDst, "DstZeroPadLast", 0x18, 20, 1, 1, Named, "")
	DstZeroFirst  = reg(TileDst, "DstZeroPadFirst", 0x18, 21, 1, 1, Named, "")
	DstInterleave = reg(TileDst, "DstInterleave", 0x18, 24, 4, 1, Recorded, "channels interleaved in a row")
	DstCmpVec     = reg(TileDst, "DstCmpVec", 0x18, 28, 4, 1, Named, "")
)

func header(name string, word, bit, width uint8, doc string) Field {
	return reg(Header, name, 4*uint32(word), bit, width, 1, Named, doc)
}

func headerR(name string, word, bit, width uint8, doc string) Field {
	f := header(name, word, bit, width, doc)
	table[f].Known = Recorded
	return f
}

// is sets the kind of the field, or of all elements of an indexed field.
func (f Field) is(k Kind) Field {
	for i := range max(1, table[f].Array.Len) {
		table[f.At(i)].Kind = k
	}
	return f
}

// values names values of the field. Lists that several fields share are functions, since initializing variables would
// change the order of the table.
func (f Field) values(vs ...Value) Field {
	table[f].Values = vs
	return f
}

func reg(b *Block, name string, off uint32, bit, width uint8, unit uint32, k Known, doc string) Field {
	r := Row{Name: b.Name + "." + name, Unit: unit, Known: k, Doc: doc}
	r.places[layoutV7] = Place{Block: b, Word: int(off / 4), Bit: bit, Width: width}
	return add(r)
}

func lane(b *Block, name string, off uint32, bit, width uint8, unit uint32, k Known, doc string) Field {
	return array(b, name, Lanes, off, bit, width, unit, k, doc)
}

// array adds n fields of one name in consecutive registers and returns the first.
func array(b *Block, name string, n int, off uint32, bit, width uint8, unit uint32, k Known, doc string) Field {
	var first Field
	for i := range n {
		f := reg(b, fmt.Sprintf("%s[%d]", name, i), off+4*uint32(i), bit, width, unit, k, doc)
		if i == 0 {
			first = f
		}
		table[f].Array = Array{Name: b.Name + "." + name, Base: first, Index: i, Len: n}
	}
	return first
}

func add(r Row) Field {
	table = append(table, r)
	return Field(len(table) - 1)
}

// units and limits are Unit and Max of each row, and bounds its Bounds; filled by init.
var (
	units  [numFields]uint32
	limits [numFields]uint64
	bounds [numFields]struct{ low, high int64 }
)

// init completes the table that the declarations above have filled. Each step depends on those before it.
func init() {
	describe()
	V7.number()
	addUnknown()
	placeV10()
	placeV11()
	placeLate()
	placeLateV10()
	for _, c := range append([]*Codec{V7Full}, Codecs...) {
		c.lay()
	}
	V11.setDefaults(defaultsV11, alwaysV11)
	for _, f := range lateForms {
		f.codec.setDefaults(f.defaults())
	}
	if len(table) != numFields {
		panic(fmt.Sprintf("lower/td: the table has %d rows, a task holds %d values", len(table), numFields))
	}
	for f := range table {
		units[f], limits[f] = table[f].Unit, table[f].Max()
		bounds[f].low, bounds[f].high = table[f].Bounds()
	}
	indexNames()
}

// describe adds the words of kinds and values to the Docs.
func describe() {
	for i := range table {
		r := &table[i]
		if r.Kind == FP16 || r.Kind == FP32 {
			r.Doc = r.Kind.String() + " " + r.Doc
		}
		for k, v := range r.Values {
			sep := ", "
			if k == 0 {
				sep = ": "
			}
			r.Doc += sep + fmt.Sprint(v.V) + " " + v.String()
		}
	}
}

// addUnknown adds rows for the bits of version 7 that no row covers, so that a decoded task has every bit.
func addUnknown() {
	covered := map[*Block][]uint32{}
	for _, b := range V7.Blocks {
		covered[b] = make([]uint32, b.Words)
	}
	for i := range table {
		if p := table[i].places[layoutV7]; p.Block != nil {
			covered[p.Block][p.Word] |= p.mask() << p.Bit
		}
	}
	for _, b := range V7.Blocks {
		for w, mask := range covered[b] {
			for bit := 0; bit < 32; bit++ {
				end := bit
				for end < 32 && mask>>end&1 == 0 {
					end++
				}
				if end > bit {
					reg(b, fmt.Sprintf("%#04x[%d:%d]", 4*w, end-1, bit), 4*uint32(w), uint8(bit), uint8(end-bit), 1,
						Unknown, "")
					bit = end
				}
			}
		}
	}
}

// Fields returns the whole table, the unexplained bits last. It must not be modified.
func Fields() []Row { return table[:len(table):len(table)] }

// Row returns the row of a field.
func (f Field) Row() *Row { return &table[f] }

// String returns the field's name.
func (f Field) String() string { return table[f].Name }

// At returns lane or element i of an indexed field.
func (f Field) At(i int) Field { return f + Field(i) }
