package driver

import (
	"encoding/binary"
)

// IOExternalMethodArguments holds the arguments of a selector. DecodeArguments decodes it from the kernel's block of
// bytes (listing 27.2).
type IOExternalMethodArguments struct {
	AsyncWakePort   *WakePort // of an asynchronous call; nil otherwise
	AsyncReference  [ReferenceSize]byte
	ScalarInput     []uint64
	StructureInput  []byte
	ScalarOutput    []uint64 // filled by the call
	StructureOutput []byte   // filled by the call

	cause error
}

// ArgumentField is a line of ArgumentFields.
type ArgumentField struct {
	Off    int // bytes from the start of the block
	Width  int // bytes
	Name   string
	Source string
}

// ArgumentFields are the fields of the block that every selector reads. The offsets are from listing 27.2. The gaps
// imply the widths and that arrays are passed as pointers; IOKit's public header has the scalar count at +0x28 and a
// separate pointer for the reference, which the listing joins.
var ArgumentFields = []ArgumentField{
	{Off: 0x08, Width: 8, Name: "asyncWakePort",
		Source: "listing 27.2; modelled: the port's name in the task, 0 for none"},
	{Off: 0x10, Width: 8, Name: "scalarInput",
		Source: "listing 27.2; a pointer, of the 0x20-byte asyncReference before the scalars when a port is given"},
	{Off: 0x20, Width: 4, Name: "scalarInputCount", Source: "listing 27.2"},
	{Off: 0x30, Width: 8, Name: "structureInput", Source: "listing 27.2"},
	{Off: 0x38, Width: 4, Name: "structureInputSize", Source: "listing 27.2"},
	{Off: 0x48, Width: 8, Name: "scalarOutput", Source: "listing 27.2"},
	{Off: 0x50, Width: 4, Name: "scalarOutputCount", Source: "listing 27.2"},
	{Off: 0x58, Width: 8, Name: "structureOutput", Source: "listing 27.2"},
	{Off: 0x60, Width: 4, Name: "structureOutputSize", Source: "listing 27.2"},
}

// ArgumentsSize is the size of the block in bytes: its last field and padding.
const ArgumentsSize = 0x68

// Offsets of ArgumentFields, in its order.
const (
	argPort       = 0x08
	argScalarIn   = 0x10
	argScalarInN  = 0x20
	argStructIn   = 0x30
	argStructInN  = 0x38
	argScalarOut  = 0x48
	argScalarOutN = 0x50
	argStructOut  = 0x58
	argStructOutN = 0x60
)

// maxScalars is the maximum number of scalars of a call in each direction, and maxStructure the maximum size in bytes
// of a structure in the message (IOKit).
const (
	maxScalars   = 16
	maxStructure = 4096
)

// DecodeArguments reads a block of bytes of a task. Store writes the scalar outputs to the addresses in the block;
// structures are in place. A block of another size, a count above IOKit's limits, or a pointer to too few bytes is a
// bad argument.
func DecodeArguments(t *Task, block []byte) (a *IOExternalMethodArguments, store func(), r Return) {
	if len(block) != ArgumentsSize {
		return nil, nil, BadArgument
	}
	le := binary.LittleEndian
	a = &IOExternalMethodArguments{}
	nIn, nOut := le.Uint32(block[argScalarInN:]), le.Uint32(block[argScalarOutN:])
	if nIn > maxScalars || nOut > maxScalars {
		return nil, nil, BadArgument
	}
	get := func(ptr int, n uint64) []byte {
		if n == 0 || r != Success {
			return nil
		}
		b, ok := t.memory(le.Uint64(block[ptr:]), n)
		if !ok {
			r = BadArgument
		}
		return b
	}
	size := func(at int) uint64 {
		n := le.Uint32(block[at:])
		if n > maxStructure {
			r = BadArgument
		}
		return uint64(n)
	}
	ref := uint64(0)
	if name := le.Uint64(block[argPort:]); name != 0 {
		if a.AsyncWakePort = t.port(name); a.AsyncWakePort == nil {
			return nil, nil, BadArgument
		}
		ref = ReferenceSize
	}
	in := get(argScalarIn, ref+8*uint64(nIn))
	a.StructureInput = get(argStructIn, size(argStructInN))
	out := get(argScalarOut, 8*uint64(nOut))
	a.StructureOutput = get(argStructOut, size(argStructOutN))
	if r != Success {
		return nil, nil, r
	}
	copy(a.AsyncReference[:ref], in)
	for i := range nIn {
		a.ScalarInput = append(a.ScalarInput, le.Uint64(in[ref+8*uint64(i):]))
	}
	a.ScalarOutput = make([]uint64, nOut)
	return a, func() {
		for i, v := range a.ScalarOutput {
			le.PutUint64(out[8*i:], v)
		}
	}, Success
}

// BlockArguments are the arguments of a call with the kernel's block of bytes.
type BlockArguments struct {
	Scalars      []uint64
	Structure    []byte
	ScalarsOut   int // scalar outputs
	StructureOut int // bytes
}

// CallWithBlock calls a selector. The arguments are in the task's memory, and the client gets the block that points to
// them.
func (t *Task) CallWithBlock(c UserClient, selector uint32, a BlockArguments) Return {
	le := binary.LittleEndian
	block := make([]byte, ArgumentsSize)
	var in []byte
	for _, v := range a.Scalars {
		in = le.AppendUint64(in, v)
	}
	for _, x := range []struct {
		at, n, count int
		bytes        []byte
	}{
		{at: argScalarIn, n: argScalarInN, count: len(a.Scalars), bytes: in},
		{at: argStructIn, n: argStructInN, count: len(a.Structure), bytes: a.Structure},
		{at: argScalarOut, n: argScalarOutN, count: a.ScalarsOut, bytes: make([]byte, 8*a.ScalarsOut)},
		{at: argStructOut, n: argStructOutN, count: a.StructureOut, bytes: make([]byte, a.StructureOut)},
	} {
		if x.count > 0 {
			at := t.Map(x.bytes)
			defer t.Unmap(at)
			le.PutUint64(block[x.at:], at)
			le.PutUint32(block[x.n:], uint32(x.count))
		}
	}
	return c.ExternalMethodBytes(selector, block)
}

func (t *Task) port(name uint64) *WakePort {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if name < 1 || name > uint64(len(t.ports)) {
		return nil
	}
	return t.ports[name-1]
}
