package driver

import (
	"encoding/binary"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/wire"
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

// ArgumentsSize is the size of the block in bytes: its last field and padding.
const ArgumentsSize = 0x68

// argumentBlock is the block that every selector reads. The offsets are from listing 27.2. The gaps imply the widths
// and that arrays are passed as pointers; IOKit's public header has the scalar count at +0x28 and a separate pointer
// for the reference, which the listing joins: the 0x20-byte asyncReference stands before the scalars when a port is
// given.
type argumentBlock struct {
	port       uint64 `at:"0x08" name:"asyncWakePort" src:"listing 27.2; modelled: the port's name, 0 for none"`
	scalarIn   uint64 `at:"0x10" name:"scalarInput" src:"listing 27.2; a pointer"`
	scalarInN  uint32 `at:"0x20" name:"scalarInputCount" src:"listing 27.2"`
	structIn   uint64 `at:"0x30" name:"structureInput" src:"listing 27.2"`
	structInN  uint32 `at:"0x38" name:"structureInputSize" src:"listing 27.2"`
	scalarOut  uint64 `at:"0x48" name:"scalarOutput" src:"listing 27.2"`
	scalarOutN uint32 `at:"0x50" name:"scalarOutputCount" src:"listing 27.2"`
	structOut  uint64 `at:"0x58" name:"structureOutput" src:"listing 27.2"`
	structOutN uint32 `at:"0x60" name:"structureOutputSize" src:"listing 27.2"`
}

var argumentLayout = wire.New[argumentBlock](ArgumentsSize)

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
	var f argumentBlock
	argumentLayout.Decode(block, &f)
	a = &IOExternalMethodArguments{}
	if f.scalarInN > maxScalars || f.scalarOutN > maxScalars {
		return nil, nil, BadArgument
	}
	get := func(ptr, n uint64) []byte {
		if n == 0 || r != Success {
			return nil
		}
		b, ok := t.memory(ptr, n)
		if !ok {
			r = BadArgument
		}
		return b
	}
	size := func(n uint32) uint64 {
		if n > maxStructure {
			r = BadArgument
		}
		return uint64(n)
	}
	ref := uint64(0)
	if f.port != 0 {
		if a.AsyncWakePort = t.port(f.port); a.AsyncWakePort == nil {
			return nil, nil, BadArgument
		}
		ref = ReferenceSize
	}
	in := get(f.scalarIn, ref+8*uint64(f.scalarInN))
	a.StructureInput = get(f.structIn, size(f.structInN))
	out := get(f.scalarOut, 8*uint64(f.scalarOutN))
	a.StructureOutput = get(f.structOut, size(f.structOutN))
	if r != Success {
		return nil, nil, r
	}
	copy(a.AsyncReference[:ref], in)
	le := binary.LittleEndian
	for i := range f.scalarInN {
		a.ScalarInput = append(a.ScalarInput, le.Uint64(in[ref+8*uint64(i):]))
	}
	a.ScalarOutput = make([]uint64, f.scalarOutN)
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
	var f argumentBlock
	var in []byte
	for _, v := range a.Scalars {
		in = binary.LittleEndian.AppendUint64(in, v)
	}
	for _, x := range []struct {
		at    *uint64
		n     *uint32
		count int
		bytes []byte
	}{
		{at: &f.scalarIn, n: &f.scalarInN, count: len(a.Scalars), bytes: in},
		{at: &f.structIn, n: &f.structInN, count: len(a.Structure), bytes: a.Structure},
		{at: &f.scalarOut, n: &f.scalarOutN, count: a.ScalarsOut, bytes: make([]byte, 8*a.ScalarsOut)},
		{at: &f.structOut, n: &f.structOutN, count: a.StructureOut, bytes: make([]byte, a.StructureOut)},
	} {
		if x.count > 0 {
			*x.at, *x.n = t.Map(x.bytes), uint32(x.count)
			defer t.Unmap(*x.at)
		}
	}
	return c.ExternalMethodBytes(selector, argumentLayout.Append(nil, &f))
}

func (t *Task) port(name uint64) *WakePort {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if name < 1 || name > uint64(len(t.ports)) {
		return nil
	}
	return t.ports[name-1]
}
