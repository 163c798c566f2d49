package driver

import (
	"slices"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// A request of several procedures becomes one inference call on the control channel, which the firmware expands into a
// sub-packet for each procedure (chapter 30). The first procedure's buffers are in the message, the buffers of the
// others in the program's property buffer, which is mapped ahead (modelled).

// properties is the property buffer of a program with several procedures.
type properties struct {
	bytes []byte
	m     *translation.Mapping
	boot  uint32 // the bring-up in which the firmware knows it
}

// premap maps the property buffer of a program and announces it to the firmware.
func (h *hardware) premap(p *program) (Return, error) {
	boot := h.boot.Load()
	if len(p.procs) < 2 || p.property.boot == boot {
		return Success, nil
	}
	if p.property.m == nil {
		n := 0
		for i := range p.procs {
			n += protocol.SubPacketSize(len(p.procs[i].inputs) + len(p.procs[i].outputs))
		}
		p.property.bytes = make([]byte, n)
		m, err := p.space.ctx.Map(p.property.bytes, translation.Constants, "property buffer")
		if err != nil {
			return NoMemory, err
		}
		p.property.m = m
	}
	hd := protocol.Header{ProgramID: p.slot, ProcessID: protocol.Unbound, ProcedureID: p.space.user}
	if _, err := h.command(premapBuffer, hd, 1, 1, p.property.m.Addr(), uint64(len(p.property.bytes))); err != nil {
		return h.failed(err), err
	}
	p.property.boot = boot
	return Success, nil
}

// release gives the property buffer's room back.
func (p *properties) release() {
	if p.m != nil {
		p.m.Release()
	}
	*p = properties{}
}

// buildChain is build for a request of several procedures.
func (h *hardware) buildChain(k *call) (Return, error) {
	p, q := k.inst.p, &k.req
	in, out := 0, int(q.nInputs) // the next surfaces
	inputs, outputs := q.inputs[:q.nInputs], q.outputs[:q.nOutputs]
	first := protocol.Inference{
		PropertyBuffer: p.property.m.Addr(),
		Packets:        len(k.procs),
		Call:           protocol.ProcedureCall{UserID: p.space.user, JobID: h.nextJob()},
	}
	property := p.property.bytes[:0]
	for i := range k.procs {
		proc := &k.procs[i]
		x, err := k.mapPorts(proc.inputs, in, inputs[in:], outputs, protocol.InputBuffer, translation.Input)
		if err != nil {
			return NoMemory, err
		}
		in += len(x)
		y, err := k.mapPorts(proc.outputs, out, outputs[out-len(inputs):], inputs, protocol.OutputBuffer,
			translation.Output)
		if err != nil {
			return NoMemory, err
		}
		out += len(y)
		buffers := append(x, y...)
		if i == 0 {
			first.Buffers = buffers
			continue
		}
		s := protocol.SubPacket{Procedure: q.procedure + uint32(i), Buffers: buffers}
		property = protocol.AppendSubPacket(property, &s)
	}
	for n := range q.nIntermediates {
		at := out + int(n)
		if _, err := k.mapSurface(p, at, uint64(len(k.surfaces[at])), translation.Intermediate); err != nil {
			return NoMemory, err
		}
	}
	k.job = first.Call.JobID
	hd := protocol.Header{
		ProgramID:   p.slot,
		ProcessID:   k.inst.process,
		ProcedureID: q.procedure,
		Priority:    q.priority,
	}
	m, err := protocol.New(coprocessor.Numbering, &protocol.Rows[protocol.IDInferenceCall], hd, &first)
	if err != nil {
		return BadArgument, err
	}
	k.msg = append(k.msg[:0], m.Bytes()...)
	return Success, nil
}

// mapPorts maps the surfaces of a procedure's inputs or outputs, which are the request's from one on, with their
// identifiers, and returns their buffers. A surface that is also on the other side passes a value on, so it is mapped
// for reading and writing.
func (k *call) mapPorts(ports []loader.Port, from int, ids, other []uint32, typ protocol.BufferType,
	usage translation.Usage) ([]protocol.Buffer, error) {
	var out []protocol.Buffer
	for i := range ports {
		port, u := &ports[i], usage
		if slices.Contains(other, ids[i]) {
			u = translation.Intermediate
		}
		addr, err := k.mapSurface(k.inst.p, from+i, port.Size, u)
		if err != nil {
			return nil, err
		}
		out = append(out, bufferOf(typ, port, addr))
	}
	return out, nil
}

var premapBuffer = &protocol.Rows[protocol.IDPremap]
