package e5

// Attrs is the parameters of one operation: one type for each OpType. A type has the fields of its table in the same
// order; only the constants of a CPU segment are sections of their own.
type Attrs interface {
	// OpType is the operation that the attributes belong to.
	OpType() OpType
	// check returns what is wrong with the attributes for these operands, or "".
	check(in, out []*Operand) string
}

// CastAttrs converts one operand between the host's layout and the engine's;
// the operation's input has the one layout and its output the other.
type CastAttrs struct {
	SrcDType, DstDType StorageType
	// ComponentPack is the component pack of the engine side.
	ComponentPack int32
}

// AneInferenceAttrs runs one procedure of the hardware container. Inputs and
// outputs are surfaces whose ports are the procedure's.
type AneInferenceAttrs struct {
	ProcedureName string
	// AneHash is the SHA-256 of the container's bytes, as 64 lower-case hex digits.
	AneHash                  string
	ProgramSymbol            string
	IntermediateBufferHandle uint32
	CompilerOptions          string
}

// CpuInferenceAttrs runs a CPU segment.
type CpuInferenceAttrs struct {
	// Entry is the function of Program to run. Its parameters are in the order of the operation's inputs, its results
	// in the order of the outputs.
	Entry string
	// Program is the segment as intermediate-form text, which names Constants.
	Program   string
	Constants []Constant
}

// Constant is one constant of a CPU segment. Read returns Data as a slice of its buffer.
type Constant struct {
	Name string
	Data []byte
}

// EirInferenceAttrs runs a program in the E5 intermediate form.
type EirInferenceAttrs struct {
	ProgramName string
	Program     []byte
}

// BnnsCpuInferenceAttrs runs a function of a BNNS bundle.
type BnnsCpuInferenceAttrs struct{ FunctionName, BundlePath string }

// MlcCpuInferenceAttrs runs an MLCompute graph.
type MlcCpuInferenceAttrs struct {
	GraphName string
	Graph     []byte
}

// MpsGraphInferenceAttrs runs an MPSGraph package.
type MpsGraphInferenceAttrs struct{ PackagePath, EntryPoint string }

// E5MinimalCpuAttrs runs a built-in CPU kernel.
type E5MinimalCpuAttrs struct {
	KernelName string
	Parameters []byte
}

// QuantAttrs quantizes along Axis: q = round(x/scale) + zero point. One scale
// means per tensor.
type QuantAttrs struct {
	SrcDType, DstDType StorageType
	Axis               int32
	Scales             []float32
	ZeroPoints         []int32
}

// DequantAttrs is the inverse of QuantAttrs: x = (q - zero point) * scale.
type DequantAttrs struct {
	SrcDType, DstDType StorageType
	Axis               int32
	Scales             []float32
	ZeroPoints         []int32
}

// BarrierAttrs waits for events.
type BarrierAttrs struct{ Events []uint32 }

// JitCallAttrs calls a symbol of a library.
type JitCallAttrs struct{ Symbol, Library string }

func (*CastAttrs) OpType() OpType              { return Cast }
func (*AneInferenceAttrs) OpType() OpType      { return AneInference }
func (*EirInferenceAttrs) OpType() OpType      { return EirInference }
func (*CpuInferenceAttrs) OpType() OpType      { return CpuInference }
func (*BnnsCpuInferenceAttrs) OpType() OpType  { return BnnsCpuInference }
func (*MlcCpuInferenceAttrs) OpType() OpType   { return MlcCpuInference }
func (*MpsGraphInferenceAttrs) OpType() OpType { return MpsGraphInference }
func (*E5MinimalCpuAttrs) OpType() OpType      { return E5MinimalCpu }
func (*QuantAttrs) OpType() OpType             { return Quant }
func (*DequantAttrs) OpType() OpType           { return Dequant }
func (*BarrierAttrs) OpType() OpType           { return Barrier }
func (*JitCallAttrs) OpType() OpType           { return JitCall }
