package e5

import (
	"fmt"
	"slices"
)

const (
	// FormatVersion is the only value of E5Program.format_version.
	FormatVersion = 4
	// ConstantAlign is the alignment of a constant's bytes in the file.
	ConstantAlign = 64
	// StateStride is the spacing, in bytes, of the aperture addresses of states:
	// the page of the engine's address translation.
	StateStride = 0x4000
	// MaxRank is the largest number of axes of an operand. MIL's limit is 5; the rest is for values that only a CPU
	// segment sees.
	MaxRank = 8
	// MaxBytes bounds the total memory in a run for the operands of one function, the surfaces of its procedures and
	// their scratch: a descriptor of a few kilobytes may name buffers of any size.
	MaxBytes = 8 << 30
)

// Program is a whole descriptor.
type Program struct {
	// Symbols are the names of operations, operands and sections. Write derives them if Symbols is nil (see
	// DeriveSymbols); Read never returns nil.
	Symbols []string
	// BuildInfo is written in this order.
	BuildInfo []KV
	Functions []Function
	Aliases   []Alias
	// Extra are sections of kinds that this package does not know, kept unchanged.
	Extra []Section
}

// KV is one entry of the build info.
type KV struct{ Key, Value string }

// The keys of the build info of real descriptors, as far as known.
const (
	KeyInputFilePath     = "input-file-path" // base name only
	KeyBuiltForProfiling = "built-for-profiling"
	KeyOnDevice          = "on-device-compilation"
	KeyTarget            = "target"
	KeyMIL               = "component-MIL" // version of the text's dialect
)

// Section is a section that is kept unchanged.
type Section struct {
	Name string
	Kind int32
	Data []byte
}

// Alias is another name of a symbol.
type Alias struct {
	Name        string
	SymbolIndex uint32 // index of Program.Symbols
	AddrOffset  uint32
}

// ShareStates names each state again after the surface from which a cast writes its next value: the two are one buffer
// from run to run. A name that two states would have belongs to the first. It derives the symbols.
func (p *Program) ShareStates() {
	p.Symbols = p.DeriveSymbols()
	named := map[string]bool{}
	for i := range p.Functions {
		f := &p.Functions[i]
		for _, b := range f.Blocks {
			for _, op := range b.Operations {
				if op.Type != Cast {
					continue
				}
				from, to := &f.Operands[op.Inputs[0]], &f.Operands[op.Outputs[0]]
				if port := from.Port.Name; to.Aperture == HostState && from.Aperture == Surface && !named[port] {
					named[port] = true
					state := slices.Index(p.Symbols, to.Name)
					p.Aliases = append(p.Aliases, Alias{Name: port, SymbolIndex: uint32(state)})
				}
			}
		}
	}
}

// Shares reports whether a name is an alias of a symbol, without an offset.
func (p *Program) Shares(name, symbol string) bool {
	return slices.ContainsFunc(p.Aliases, func(a Alias) bool {
		return a.Name == name && a.AddrOffset == 0 && p.symbol(a) == symbol
	})
}

// symbol returns the name of an alias's symbol, or "" if there is none.
func (p *Program) symbol(a Alias) string {
	if int64(a.SymbolIndex) < int64(len(p.Symbols)) {
		return p.Symbols[a.SymbolIndex]
	}
	return ""
}

// VariantMark separates the name of a function from the number of a configuration of its shapes, as in main@2. No
// identifier of MIL contains it.
const VariantMark = "@"

// Function is one entry point of a model.
type Function struct {
	Name string
	// AneHashPath is the path of the container in a content-addressed cache, relative to its root; empty if the files
	// of the pair are side by side.
	AneHashPath string
	Blocks      []Block
	// Operands are all values that an operation or the signature names.
	Operands []Operand
	// Inputs, Outputs and States are the signature, in the model's order: indices into Operands, whose apertures must
	// be HostInput, HostOutput and HostState.
	Inputs, Outputs, States []uint32
}

// Block is a run of operations, submitted in order.
type Block struct {
	Name       string
	Operations []Operation
}

// Operation is one step of the chain.
type Operation struct {
	// Name is OpName(i, Type) for the i-th operation of the function.
	Name string
	Type OpType
	// Inputs and Outputs are indices into Function.Operands.
	Inputs, Outputs []uint32
	// Attrs has the type for Type; it is never nil.
	Attrs Attrs
}

// Operand is one value of a function: its layout and where its bytes are.
type Operand struct {
	Name     string
	Desc     TensorDescriptor
	Aperture Aperture
	Port     IOPort
}

// IOPort names the buffer that contains an operand.
type IOPort struct {
	// Name is the model's name for a host aperture, the container's port for a
	// surface, and free for an intermediate buffer.
	Name string
	// ByteSize is the size of the buffer, which contains the whole operand.
	ByteSize uint64
	// ApertureVA is the address in the engine's map, or 0.
	ApertureVA uint64
}

// TensorDescriptor is the layout of an operand; see e5.fbs for the address of
// an element. Dim and Stride run outermost first, Stride in bytes. The innermost
// stride of a type narrower than a byte is 0: its elements are packed, and the
// other strides count whole bytes.
type TensorDescriptor struct {
	Dim, Stride   []uint64
	Storage       StorageType
	ComponentPack int32 // channels side by side in one group; 0 and 1: planar
}

// Aperture says where the bytes of an operand are.
type Aperture uint8

const (
	HostInput    Aperture = iota // the caller fills it
	HostOutput                   // the caller reads it
	HostState                    // kept from call to call
	Surface                      // an engine surface
	Intermediate                 // between two operations
)

var apertureNames = [...]string{"host_input", "host_output", "host_state", "surface", "intermediate"}

func (a Aperture) String() string {
	if a.Valid() {
		return apertureNames[a]
	}
	return fmt.Sprintf("Aperture(%d)", uint8(a))
}

// Valid reports whether a is one of the five.
func (a Aperture) Valid() bool { return a <= Intermediate }

// OpType is the kind of an operation.
type OpType uint8

const (
	Cast OpType = iota
	AneInference
	EirInference
	CpuInference
	BnnsCpuInference
	MlcCpuInference
	MpsGraphInference
	E5MinimalCpu
	Quant
	Dequant
	Barrier
	JitCall
)

var opTypeNames = [...]string{"Cast", "AneInference", "EirInference", "CpuInference", "BnnsCpuInference",
	"MlcCpuInference", "MpsGraphInference", "E5MinimalCpu", "Quant", "Dequant", "Barrier", "JitCall"}

func (t OpType) String() string {
	if t.Valid() {
		return opTypeNames[t]
	}
	return fmt.Sprintf("OpType(%d)", uint8(t))
}

// Valid reports whether t is one of the twelve.
func (t OpType) Valid() bool { return t <= JitCall }

// OpName returns the name of the i-th operation of a function, "Op0_Cast".
func OpName(i int, t OpType) string { return fmt.Sprintf("Op%d_%s", i, t) }

// AddOperand appends o and returns its index.
func (f *Function) AddOperand(o Operand) uint32 {
	f.Operands = append(f.Operands, o)
	return uint32(len(f.Operands) - 1)
}

// AddOp appends an operation to the last block, creating the first one if there is none, and names it after its
// position in the function.
func (f *Function) AddOp(inputs, outputs []uint32, attrs Attrs) {
	if len(f.Blocks) == 0 {
		f.Blocks = append(f.Blocks, Block{Name: "block0"})
	}
	n := 0
	for i := range f.Blocks {
		n += len(f.Blocks[i].Operations)
	}
	t := attrs.OpType()
	b := &f.Blocks[len(f.Blocks)-1]
	b.Operations = append(b.Operations, Operation{
		Name:    OpName(n, t),
		Type:    t,
		Inputs:  inputs,
		Outputs: outputs,
		Attrs:   attrs,
	})
}
