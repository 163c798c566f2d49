package driver

import (
	"encoding/binary"
	"fmt"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// Chain describes a chain.
type Chain struct {
	Handle          Handle
	Procedure       uint32
	Inputs, Outputs int
}

// ChainingPrepare creates a chain of a procedure of a prepared program: control selector 9. The chain is triggered over
// the direct path of this task or of one with the same identity.
func (s *Services) ChainingPrepare(h Handle, procedure uint32) (Chain, error) {
	out, err := ask(s, controlClass, "ANE_ProgramChainingPrepare", SelChainingPrepare, &chainingIn,
		&chainingArgs{token: uint64(h), procedure: procedure}, &chainingOut)
	if err != nil {
		return Chain{}, err
	}
	return Chain{
		Handle:    Handle(out.chain),
		Procedure: procedure,
		Inputs:    int(out.inputs),
		Outputs:   int(out.outputs),
	}, nil
}

// OutputSetEnqueue enqueues the output buffer set of a chain's next execution, one surface per port: direct-path
// selector 3.
func (s *Services) OutputSetEnqueue(c Chain, surfaces []uint32) error {
	ids := make([]byte, 0, 4*len(surfaces))
	for _, id := range surfaces {
		ids = binary.LittleEndian.AppendUint32(ids, id)
	}
	at := s.task.Map(ids)
	defer s.task.Unmap(at)
	return send(s, directClass, "ANE_ProgramOutputSetEnqueue", SelOutputSetEnqueue, &outputSetIn, &outputSetArgs{
		chain:     uint64(c.Handle),
		procedure: c.Procedure,
		surfaces:  at,
		count:     uint32(len(surfaces)),
	})
}

// ReadyBuffer is an input of InputsReady: part of a surface, for a port.
type ReadyBuffer struct {
	Port    uint32 // index among the procedure's inputs
	Surface uint32
	Offset  uint64 // bytes
	Size    uint64 // bytes; the port's
}

// InputsReady triggers a chain and returns when it has run: direct-path selector 4. The first execution needs all
// inputs; later ones take missing inputs from the previous outputs. A timestamp of 0 means the next one.
func (s *Services) InputsReady(c Chain, inputs []ReadyBuffer, timestamp uint64) error {
	if len(inputs) > maxPorts {
		return &Error{
			Call:   "ANE_ProgramInputsReady",
			Return: BadArgument,
			Cause:  fmt.Errorf("got %d buffers, want at most %d", len(inputs), maxPorts),
		}
	}
	args := inputsReadyArgs{
		chain:     uint64(c.Handle),
		timestamp: timestamp,
		procedure: c.Procedure,
		count:     uint32(len(inputs)),
		doorbell:  coprocessor.BellLoop,
	}
	for i, b := range inputs {
		args.buffers[i] = readyBuffer{surface: b.Surface, port: b.Port, offset: b.Offset, size: b.Size}
	}
	return send(s, directClass, "ANE_ProgramInputsReady", SelInputsReady, &inputsReadyIn, &args)
}

// MemoryMap maps bytes of the task for the engine, in the address space of a
// program (h) or with h 0 in the client's own, and returns the device address:
// direct-path selector 5.
func (s *Services) MemoryMap(h Handle, ranges []Range, usage translation.Usage) (uint64, error) {
	if err := s.of(directClass, "ANE_MemoryMapRequest"); err != nil {
		return 0, err
	}
	if len(ranges) > maxRanges {
		return 0, &Error{
			Call:   "ANE_MemoryMapRequest",
			Return: BadArgument,
			Cause:  fmt.Errorf("got %d ranges, want at most %d", len(ranges), maxRanges),
		}
	}
	args := memoryMapArgs{token: uint64(h), usage: uint32(usage), count: uint32(len(ranges))}
	copy(args.ranges[:], ranges)
	a := IOExternalMethodArguments{
		ScalarInput:    []uint64{uint64(s.token)},
		StructureInput: make([]byte, memoryMapIn.size),
		ScalarOutput:   make([]uint64, 1),
	}
	memoryMapIn.encode(a.StructureInput, &args)
	err := s.method("ANE_MemoryMapRequest", SelMemoryMap, &a)
	return a.ScalarOutput[0], err
}

// MemoryUnmap ends a mapping of MemoryMap: direct-path selector 6.
func (s *Services) MemoryUnmap(h Handle, address uint64) error {
	return send(s, directClass, "ANE_MemoryUnMapRequest", SelMemoryUnMap, &memoryMapIn,
		&memoryMapArgs{token: uint64(h), address: address})
}

// SessionHint sets a hint of the session and returns the previous value: direct-path selector 7.
func (s *Services) SessionHint(hint, value uint32) (before uint32, err error) {
	out, err := ask(s, directClass, "ANE_SessionHintRequest", SelSessionHint, &sessionHintIn,
		&sessionHintArgs{uint64(s.token), hint, value}, &sessionHintOut)
	return out.previous, err
}

// SetActiveProcedure makes a chain the active one of a group that shares buffers; group 0 removes it from its group:
// direct-path selector 8.
func (s *Services) SetActiveProcedure(c Chain, group uint32) error {
	return send(s, directClass, "ANE_ProgramChainingSetActiveProcedure", SelSetActiveProcedure, &activeIn,
		&activeArgs{chain: uint64(c.Handle), procedure: c.Procedure, group: group})
}
