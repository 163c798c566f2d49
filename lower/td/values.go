package td

import "fmt"

// Value is a value of a field with the word that describes it.
type Value struct {
	V     uint32 // in the row's unit
	Word  string
	Known Known // Modelled if no recorded program shows this value; otherwise the row's grade applies
}

// String returns the word, followed by "(modelled)" if it is zinc's assumption.
func (v Value) String() string {
	if v.Known == Modelled {
		return fmt.Sprintf("%s (%s)", v.Word, v.Known)
	}
	return v.Word
}

// Format is the type of a tensor's elements: InFmt, In2Fmt, OutFmt and, in DRAM, SrcMemFmt, Src2MemFmt, DstMemFmt.
type Format uint32

// Element types of tensors.
const (
	FmtUint8 Format = 0
	FmtInt8  Format = 1
	FmtFP16  Format = 2
)

// Bytes returns the number of bytes of an element. An unknown format counts as one byte.
func (f Format) Bytes() int64 {
	if f == FmtFP16 {
		return 2
	}
	return 1
}

func formats() []Value {
	return []Value{{V: uint32(FmtUint8), Word: "uint8"}, {V: uint32(FmtInt8), Word: "int8"},
		{V: uint32(FmtFP16), Word: "fp16"}}
}

// KernelFormat is the type of coefficients: KernelFmt. Its numbers differ from Format's.
type KernelFormat uint32

// Types of coefficients.
const (
	KernelUint8 KernelFormat = 0
	KernelInt8  KernelFormat = 1
	KernelFP16  KernelFormat = 2
)

func kernelFormats() []Value {
	return []Value{{V: uint32(KernelUint8), Word: "uint8"}, {V: uint32(KernelInt8), Word: "int8"},
		{V: uint32(KernelFP16), Word: "fp16"}}
}

// NeuralOp is the work of a task on the neural engine: NEOp.
type NeuralOp uint32

// Work of the neural engine.
const (
	NEMultiply NeuralOp = 0
	NESum      NeuralOp = 8
	NEMax      NeuralOp = 11
	NEPass     NeuralOp = 12
)

func neuralOps() []Value {
	return []Value{
		{V: uint32(NEMultiply), Word: "multiply with the kernel"},
		{V: uint32(NESum), Word: "sum over channels"},
		{V: uint32(NEMax), Word: "maximum over channels"},
		{V: uint32(NEPass), Word: "pass through"},
	}
}

// Nonlinearity is what the neural engine applies to a result: Nonlinear.
type Nonlinearity uint32

// Nonlinearities of the neural engine.
const (
	NonlinNone  Nonlinearity = 0
	NonlinReLU  Nonlinearity = 1
	NonlinTable Nonlinearity = 2
)

func nonlinearities() []Value {
	return []Value{{V: uint32(NonlinNone), Word: "none"}, {V: uint32(NonlinReLU), Word: "clamp at zero"},
		{V: uint32(NonlinTable), Word: "lookup table"}}
}

// PlanarWork says whether a task belongs to the planar engine, and what it reads: PlanarType.
type PlanarWork uint32

// Types of planar work.
const (
	NotPlanar       PlanarWork = 0 // a task of the neural engine
	PlanarOne       PlanarWork = 2
	PlanarTwo       PlanarWork = 3
	PlanarPair      PlanarWork = 4
	PlanarReduce    PlanarWork = 5
	PlanarReduceTwo PlanarWork = 6
)

// Reduces reports whether the work ends in a reduction.
func (w PlanarWork) Reduces() bool { return w >= PlanarReduce }

func planarWorks() []Value {
	return []Value{
		{V: uint32(NotPlanar), Word: "none"},
		{V: uint32(PlanarOne), Word: "one source"},
		{V: uint32(PlanarTwo), Word: "two sources"},
		{V: uint32(PlanarPair), Word: "source and parameter pair"},
		{V: uint32(PlanarReduce), Word: "reduction"},
		{V: uint32(PlanarReduceTwo), Word: "reduction of two sources"},
	}
}

// PlanarOp is how the planar engine combines two sources: PEOp.
type PlanarOp uint32

// Planar operations of two sources.
const (
	PEAdd      PlanarOp = 0
	PEMultiply PlanarOp = 1
	PEMax      PlanarOp = 2
	PEMin      PlanarOp = 3
)

func planarOps() []Value {
	return []Value{
		{V: uint32(PEAdd), Word: "add"},
		{V: uint32(PEMultiply), Word: "multiply"},
		{V: uint32(PEMax), Word: "maximum"},
		{V: uint32(PEMin), Word: "minimum"},
	}
}

// Pool is what a planar reduction does: PoolMode.
type Pool uint32

// Planar reductions.
const (
	PoolSum     Pool = 0
	PoolAverage Pool = 1
	PoolMax     Pool = 2
	PoolMin     Pool = 3
)

func pools() []Value {
	return []Value{
		{V: uint32(PoolSum), Word: "sum"},
		{V: uint32(PoolAverage), Word: "average", Known: Modelled},
		{V: uint32(PoolMax), Word: "maximum"},
		{V: uint32(PoolMin), Word: "minimum", Known: Modelled},
	}
}

// Condition is what the planar engine does to an elementwise result: PECond.
type Condition uint32

// Conditions of the planar engine.
const (
	CondNone Condition = 0
	CondAbs  Condition = 1
)

func conditions() []Value {
	return []Value{{V: uint32(CondNone), Word: "none"}, {V: uint32(CondAbs), Word: "absolute value"}}
}

// PlanarFunction is the function applied at the end of a planar reduction: PENonlinear.
type PlanarFunction uint32

// Functions of the planar engine.
const (
	PENone       PlanarFunction = 0
	PEReciprocal PlanarFunction = 1
	PERsqrt      PlanarFunction = 2
)

func planarFunctions() []Value {
	return []Value{{V: uint32(PENone), Word: "none"}, {V: uint32(PEReciprocal), Word: "reciprocal"},
		{V: uint32(PERsqrt), Word: "reciprocal square root"}}
}

// Padding is the value that a window reads outside the input: PaddingMode.
type Padding uint32

// Paddings.
const (
	PadZero Padding = 0
	PadMax  Padding = 2 // ignored by a maximum
)

func paddings() []Value {
	return []Value{{V: uint32(PadZero), Word: "zero"}, {V: uint32(PadMax), Word: "the identity of a maximum"}}
}

// SourceType is how a source 1 that comes by DMA is stored in L2: SrcType.
type SourceType uint32

// Types of sources.
const (
	SourceResident SourceType = 1
	SourceThrough  SourceType = 2
)

func sourceTypes() []Value {
	return []Value{{V: uint32(SourceResident), Word: "stays in L2 for later tasks"},
		{V: uint32(SourceThrough), Word: "passes through"}}
}

// Buffer-access registers of a procedure. Its ports' registers begin at Codec.FirstPort.
const (
	BarText      = 0 // the tasks themselves
	BarConstants = 1
	BarScratch   = 3
)

// FP16One is 1.0 as the FP16 fields hold it.
const FP16One = 0x3c00

// Values of recorded tasks in fields that zinc does not vary, and in the fields of idle streams.
const (
	Word20Value      = 0x2041
	Word40Value      = 0x100
	CacheHint        = 2 // of lanes and of sources
	ResultCacheHint  = 3
	IdleSize         = 64
	IdleStreamConfig = 0x80
	FmtModeDMA       = 1 // SrcFmtMode and DstFmtMode of a tensor in DRAM
	TruncateDMA      = 3 // SrcTruncate, Src2Truncate and DstTruncate of a tensor in DRAM
	NoPaletteBits    = 8 // PalettizeBits without a codebook
	BinaryPointValue = 14
)

// Planar returns the task's type of planar work, NotPlanar for one of the neural engine.
func (t *Task) Planar() PlanarWork { return PlanarWork(t.raw(PlanarType)) }

// NeuralOp returns the work of a task of the neural engine.
func (t *Task) NeuralOp() NeuralOp { return NeuralOp(t.raw(NEOp)) }

// Multiplies reports whether the task multiplies with coefficients.
func (t *Task) Multiplies() bool { return t.Planar() == NotPlanar && t.NeuralOp() == NEMultiply }

// LiveKernel reports whether the coefficients that the task multiplies with come from a buffer that tasks or the host
// write. Versions without a place for KernelSurface set KernelApart for them.
func (t *Task) LiveKernel() bool { return t.Multiplies() && (t.On(KernelSurface) || t.On(KernelApart)) }

// UsesTable reports whether the task applies a lookup table.
func (t *Task) UsesTable() bool {
	return t.Planar() == NotPlanar && Nonlinearity(t.raw(Nonlinear)) == NonlinTable
}

// Format returns the element type in a format field.
func (t *Task) Format(f Field) Format { return Format(t.raw(f)) }
