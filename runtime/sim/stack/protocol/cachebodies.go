package protocol

import (
	"encoding/binary"
	"math"
)

// The bodies of the cache-request family begin with the opaque 64-bit
// cacheHandler. What follows is modelled from the chapter's gates.
var (
	installLayout = pack("", "chapter 30: cacheHandler, then the call", CopyContainerSize, f("cacheHandler", 8))
	triggerLayout = pack("", "chapter 30; order modelled", MaxInputBuffers*BufferSize,
		f("cacheHandler", 8), b("execTimestamp", 8, 1, math.MaxUint64,
			"execTimestamp > pCacheReq->lastTriggerExecTimestamp"),
		b("nbrOfInputBuffers", 4, 0, MaxInputBuffers, "nbrOfInputBuffers <= (16)"))
	recycleLayout = pack("", "chapter 30; order modelled", 0,
		f("cacheHandler", 8), b("outputBufferSetId", 4, 0, OutputBufferSets-1,
			"outputBufferSetId < nbrOfOutputBufferSets"),
		b("buffer.type", 4, uint64(OutputBuffer), uint64(OutputBuffer),
			"buffer.type == eCSneBufferDescriptorType_OutputBuffer"),
		b("buffer.barId", 4, 0, MaxWireBars-1, "barId < 32"),
		b("buffer.buffer", 8, 0, math.MaxUint32, "(buffer >> 32) == 0"), f("buffer.size", 8))
	invalidateLayout   = pack("", "chapter 30", 0, f("cacheHandler", 8))
	setActiveLayout    = pack("", "chapter 30; group's width modelled", 0, f("cacheHandler", 8), f("groupId", 4))
	forceDisableLayout = pack("", "chapter 30", 0, b("globalDisable", 4, 1, 1, "admitted only when set true"))
	premapLayout       = pack("", "chapter 30; order modelled", 0,
		b("nbrOfOperations", 4, 1, 1, "exactly one operation"), b("nbrOfBuffers", 4, 1, 1,
			"pPreMapOp->nbrOfBuffers == 1"),
		b("address", 8, 1, math.MaxUint32, "nonzero, high 32 bits zero"), b("bytes", 8, 1, math.MaxUint32, "nonzero"))
	inferenceLayout = pack("", "chapter 30; order modelled", CopyContainerSize+MaxInferenceBuffers*BufferSize,
		b("propertyBuffer", 8, 1, math.MaxUint32, "pre-mapped, nonzero, high 32 bits zero"),
		b("bufNbr", 4, 1, MaxInferenceBuffers, "bufNbr == 1 + numIoBuffers"),
		b("nbrOfSubPackets", 4, 1, MaxSubPackets, "1 to 32 sub-packets")) // modelled
)

// MaxInferenceBuffers is the maximum of bufNbr: the property buffer and one buffer per buffer-access register.
const MaxInferenceBuffers = 1 + MaxWireBars

// MaxSubPackets is the maximum number of procedures of an inference call (modelled: half of the pool of call events).
const MaxSubPackets = 32

// CacheCall is the body that installs a cache request. The firmware assigns the handler, so it is 0 in a request.
type CacheCall struct {
	Handler uint64
	Call    ProcedureCall
}

// Append appends the body's bytes.
func (c *CacheCall) Append(p []byte) []byte {
	return c.Call.Append(binary.LittleEndian.AppendUint64(p, c.Handler))
}

func decodeCacheCall(v *Variant, body []byte) (*CacheCall, error) {
	if err := installLayout.Check(body); err != nil {
		return nil, err
	}
	if h := installLayout.get(body, 0); h != 0 {
		return nil, bad(0, "cacheHandler", h, "0 in a request: the firmware returns the handler", "")
	}
	call, err := decodeCall(v, body[8:])
	if err != nil {
		return nil, of(err, "", 8)
	}
	return &CacheCall{Call: *call}, nil
}

// Trigger is the body that triggers a cache request.
type Trigger struct {
	Handler   uint64
	Timestamp uint64 // execTimestamp, greater than the request's last
	Inputs    []Buffer
}

// Append appends the body's bytes.
func (t *Trigger) Append(p []byte) []byte {
	le := binary.LittleEndian
	p = le.AppendUint32(le.AppendUint64(le.AppendUint64(p, t.Handler), t.Timestamp), uint32(len(t.Inputs)))
	return appendRecords(p, bufferRecord, t.Inputs)
}

func decodeTrigger(body []byte) (*Trigger, error) {
	l := triggerLayout
	if err := l.Check(body); err != nil {
		return nil, err
	}
	n := int(l.get(body, 2))
	if len(body) != l.Size+n*BufferSize {
		return nil, bad(l.Fields[2].Off, "nbrOfInputBuffers", n, "the buffers must fill the body",
			"make count and size agree")
	}
	t := &Trigger{Handler: l.get(body, 0), Timestamp: l.get(body, 1)}
	var err error
	t.Inputs, _, err = decodeBuffers(body, l.Size, n, InputBuffer, "inputBuffer")
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Inference is the body of an inference call: the pre-mapped property buffer, the program's buffers, and the procedure
// call that the firmware expands it to. The calls of further procedures are in the property buffer.
type Inference struct {
	PropertyBuffer uint64   // device address; the first of bufNbr buffers
	Buffers        []Buffer // bufNbr - 1 of them
	Packets        int      // procedures that are called one after another; 0 means 1
	Call           ProcedureCall
}

// Append appends the body's bytes.
func (c *Inference) Append(p []byte) []byte {
	le := binary.LittleEndian
	p = le.AppendUint32(le.AppendUint64(p, c.PropertyBuffer), uint32(1+len(c.Buffers)))
	p = le.AppendUint32(p, uint32(max(c.Packets, 1)))
	return c.Call.Append(appendRecords(p, bufferRecord, c.Buffers))
}

func decodeInference(v *Variant, body []byte) (*Inference, error) {
	l := inferenceLayout
	if err := l.Check(body); err != nil {
		return nil, err
	}
	n := int(l.get(body, 1)) - 1
	if rest := len(body) - l.Size; rest < n*BufferSize {
		return nil, bad(l.Fields[1].Off, "bufNbr", n+1, "the buffers must be inside the body",
			"make count and size agree")
	}
	c := &Inference{PropertyBuffer: l.get(body, 0), Packets: int(l.get(body, 2))}
	at := l.Size
	var err error
	if c.Buffers, at, err = decodeBuffers(body, at, n, 0, "buffer"); err != nil {
		return nil, err
	}
	call, err := decodeCall(v, body[at:])
	if err != nil {
		return nil, of(err, "", at)
	}
	c.Call = *call
	return c, nil
}

// Expand returns the procedure call of an inference's first sub-packet, CANE_SUB_PACKET_CMD_PROCEDURE_CALL, with the
// inference's buffers before the call's own.
func (c *Inference) Expand() ProcedureCall {
	call := c.Call
	call.Inputs, call.Outputs = nil, nil
	for _, bs := range [][]Buffer{c.Buffers, c.Call.Inputs, c.Call.Outputs} {
		call.add(bs)
	}
	call.OrderOffset = 0
	return call
}

// add adds buffers to a call's inputs or outputs.
func (c *ProcedureCall) add(bs []Buffer) {
	for _, b := range bs {
		if b.Type == OutputBuffer {
			c.Outputs = append(c.Outputs, b)
		} else {
			c.Inputs = append(c.Inputs, b)
		}
	}
}

// SubPacket is a further procedure of an inference call, as the property buffer has it: no source describes the
// buffer's contents (modelled).
type SubPacket struct {
	Procedure uint32
	Buffers   []Buffer // one for each port
}

// Of returns the sub-packet's call, which has the identifiers of the inference's.
func (s *SubPacket) Of(first *ProcedureCall) ProcedureCall {
	call := ProcedureCall{UserID: first.UserID, JobID: first.JobID}
	call.add(s.Buffers)
	return call
}

// SubPacketSize returns the bytes of a sub-packet in the property buffer.
func SubPacketSize(buffers int) int { return 8 + buffers*BufferSize }

// AppendSubPacket appends the bytes of a sub-packet.
func AppendSubPacket(p []byte, s *SubPacket) []byte {
	le := binary.LittleEndian
	p = le.AppendUint32(le.AppendUint32(p, s.Procedure), uint32(len(s.Buffers)))
	return appendRecords(p, bufferRecord, s.Buffers)
}

// DecodeSubPackets reads n sub-packets from a property buffer, which may be longer.
func DecodeSubPackets(p []byte, n int) ([]SubPacket, error) {
	out := make([]SubPacket, 0, n)
	at := 0
	for range n {
		if len(p)-at < SubPacketSize(0) {
			return nil, bad(at, "procedureId", len(p), "the sub-packets must be inside the property buffer", "")
		}
		le := binary.LittleEndian
		s := SubPacket{Procedure: le.Uint32(p[at:])}
		k := le.Uint32(p[at+4:])
		if k >= MaxInferenceBuffers || len(p)-at < SubPacketSize(int(k)) {
			return nil, bad(at+4, "nbrOfBuffers", k, "at most 32, inside the property buffer", "")
		}
		var err error
		if s.Buffers, at, err = decodeBuffers(p, at+8, int(k), 0, "buffer"); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}
