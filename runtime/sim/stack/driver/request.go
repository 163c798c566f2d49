package driver

import (
	"encoding/binary"
	"fmt"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
)

// ReplySize and RequestSize are the sizes of selector 2's structs in bytes
// (table 27.2).
const (
	RequestSize = 2376
	ReplySize   = 40
)

// maxPorts and maxEvents are the lengths of the arrays of a request, modelled: as many ports as a program has
// buffer-access registers, and as many events as a message can have.
const (
	maxPorts  = protocol.MaxProgramBars
	maxEvents = protocol.MaxSignalEvents
)

// IOCategory is the category of a request (table 27.6).
const IOCategory = 2

// QoSDefault is the quality-of-service class that table 27.6 shows with priority 5.
const (
	QoSDefault      = 21
	PriorityDefault = 5
)

// maxDoorbell bounds the doorbell index: the mask is 1 << index.
const maxDoorbell = 32

// programRequest is ANEProgramRequestArgs, the 2376 bytes.
type programRequest struct {
	token         uint64
	sequence      uint32
	procedure     uint32
	priority, qos uint32
	reserved      uint32
	category      uint32

	inputs, outputs, intermediates [maxPorts]uint32
	nInputs, nOutputs              uint32
	nIntermediates                 uint32
	nWaits, nSignals               uint32
	doorbell                       uint32
	timeout                        uint64 // virtual nanoseconds; 0 means that of the handshake
	stats                          uint32 // surface; 0 for none
	further                        uint32 // procedures of a chain after the first
	waits, signals                 [maxEvents]protocol.Event
}

const table276 = "table 27.6"

// Offsets of the request's fields.
const (
	reqToken         = 0x000
	reqSequence      = 0x008
	reqProcedure     = 0x00c
	reqPriority      = 0x010
	reqQoS           = 0x014
	reqReserved      = 0x018
	reqCategory      = 0x01c
	reqInputs        = 0x020
	reqOutputs       = reqInputs + 4*maxPorts
	reqIntermediates = reqOutputs + 4*maxPorts
	reqCounts        = reqIntermediates + 4*maxPorts
	reqDoorbell      = reqCounts + 20
	reqTimeout       = reqDoorbell + 4
	reqStats         = reqTimeout + 8
	reqFurther       = reqStats + 4
	reqWaits         = reqFurther + 4
	reqSignals       = reqWaits + maxEvents*protocol.EventSize
)

// requestStruct is the request's table. The pair at +0x010 was observed as (5, 21). Since 21 is the default
// quality-of-service class, the priority comes first.
var requestStruct = layout[programRequest]{name: "ANEProgramRequestArgs", use: "selector 2 of both clients",
	size: RequestSize, rows: []row[programRequest]{
		{off: reqToken, width: 8, name: "program / instance token", source: table276, at: func(r *programRequest) any {
			return &r.token
		}},
		{off: reqSequence, width: 4, name: "sequence number", source: "table 27.6; width modelled",
			at: func(r *programRequest) any {
				return &r.sequence
			}},
		{off: reqProcedure, width: 4, name: "procedure", source: modelled, at: func(r *programRequest) any {
			return &r.procedure
		}},
		{off: reqPriority, width: 4, name: "priority", source: "table 27.6, the pair's first",
			at: func(r *programRequest) any {
				return &r.priority
			}},
		{off: reqQoS, width: 4, name: "quality of service", source: "table 27.6, the pair's second",
			at: func(r *programRequest) any {
				return &r.qos
			}},
		{off: reqReserved, width: 4, name: "reserved", source: modelled, at: func(r *programRequest) any {
			return &r.reserved
		}},
		{off: reqCategory, width: 4, name: "io category", source: table276, at: func(r *programRequest) any {
			return &r.category
		}},
		{off: reqInputs, width: 4 * maxPorts, name: "surface identifiers, input",
			source: "table 27.6; that each part has 128 places is modelled", at: func(r *programRequest) any {
				return &r.inputs
			}},
		{off: reqOutputs, width: 4 * maxPorts, name: "surface identifiers, output",
			source: "table 27.6; place modelled", at: func(r *programRequest) any {
				return &r.outputs
			}},
		{off: reqIntermediates, width: 4 * maxPorts, name: "surface identifiers, intermediate",
			source: "table 27.6; place modelled", at: func(r *programRequest) any {
				return &r.intermediates
			}},
		{off: reqCounts, width: 4, name: "input surfaces", source: modelled, at: func(r *programRequest) any {
			return &r.nInputs
		}},
		{off: reqCounts + 4, width: 4, name: "output surfaces", source: modelled, at: func(r *programRequest) any {
			return &r.nOutputs
		}},
		{off: reqCounts + 8, width: 4, name: "intermediate surfaces", source: modelled,
			at: func(r *programRequest) any {
				return &r.nIntermediates
			}},
		{off: reqCounts + 12, width: 4, name: "wait events", source: modelled, at: func(r *programRequest) any {
			return &r.nWaits
		}},
		{off: reqCounts + 16, width: 4, name: "signal events", source: modelled, at: func(r *programRequest) any {
			return &r.nSignals
		}},
		{off: reqDoorbell, width: 4, name: "doorbell index", source: "chapter 27: below 32; place modelled",
			at: func(r *programRequest) any {
				return &r.doorbell
			}},
		{off: reqTimeout, width: 8, name: "timeout, nanoseconds", source: modelled, at: func(r *programRequest) any {
			return &r.timeout
		}},
		{off: reqStats, width: 4, name: "surface of the statistics buffer", source: modelled,
			at: func(r *programRequest) any {
				return &r.stats
			}},
		{off: reqFurther, width: 4, name: "further procedures", source: modelled, at: func(r *programRequest) any {
			return &r.further
		}},
		{off: reqWaits, width: maxEvents * protocol.EventSize, name: "wait events",
			source: "modelled; records of chapter 30", at: func(r *programRequest) any {
				return &r.waits
			}},
		{off: reqSignals, width: maxEvents * protocol.EventSize, name: "signal events",
			source: "modelled; records of chapter 30", at: func(r *programRequest) any {
				return &r.signals
			}},
	}}

// programReply is the 40-byte output of selector 2.
type programReply struct {
	sequence uint32
	result   uint32
	token    uint64
	status   uint32
}

var replyStruct = layout[programReply]{name: "ANEProgramRequestArgs (output)", use: "selector 2 of both clients",
	size: ReplySize, rows: []row[programReply]{
		{off: 0x00, width: 4, name: "sequence", source: "chapter 27: sequence and result at +0x00; widths modelled",
			at: func(r *programReply) any {
				return &r.sequence
			}},
		{off: 0x04, width: 4, name: "result", source: "chapter 27: sequence and result at +0x00; widths modelled",
			at: func(r *programReply) any {
				return &r.result
			}},
		{off: 0x08, width: 8, name: "token, echoed", source: "chapter 27", at: func(r *programReply) any {
			return &r.token
		}},
		{off: 0x20, width: 4, name: "status flag", source: "chapter 27", at: func(r *programReply) any {
			return &r.status
		}},
	}}

// decode reads the request's bytes, and only the counted part of its arrays, since this is the hot path. Errors name
// the offset.
func (r *programRequest) decode(b []byte) error {
	if len(b) != RequestSize {
		return fmt.Errorf("driver: ANEProgramRequestArgs has %d bytes, want %d", len(b), RequestSize)
	}
	le := binary.LittleEndian
	r.token = le.Uint64(b[reqToken:])
	r.sequence, r.procedure = le.Uint32(b[reqSequence:]), le.Uint32(b[reqProcedure:])
	r.priority, r.qos = le.Uint32(b[reqPriority:]), le.Uint32(b[reqQoS:])
	r.reserved, r.category = le.Uint32(b[reqReserved:]), le.Uint32(b[reqCategory:])
	counts := [...]struct {
		n     *uint32
		limit uint32
		name  string
	}{{&r.nInputs, maxPorts, "input surfaces"}, {&r.nOutputs, maxPorts, "output surfaces"},
		{&r.nIntermediates, maxPorts, "intermediate surfaces"}, {&r.nWaits, maxEvents, "wait events"},
		{&r.nSignals, maxEvents, "signal events"}}
	for i := range counts {
		c := &counts[i]
		if *c.n = le.Uint32(b[reqCounts+4*i:]); *c.n > c.limit {
			n := *c.n
			*c.n = 0
			return fmt.Errorf("driver: request, byte %#x, %s is %d, want at most %d", reqCounts+4*i, c.name, n, c.limit)
		}
	}
	r.doorbell, r.timeout = le.Uint32(b[reqDoorbell:]), le.Uint64(b[reqTimeout:])
	r.stats, r.further = le.Uint32(b[reqStats:]), le.Uint32(b[reqFurther:])
	switch {
	case r.category != IOCategory:
		return fmt.Errorf("driver: request, byte %#x, io category is %d, want %d", reqCategory, r.category,
			IOCategory)
	case r.priority >= protocol.Priorities:
		return fmt.Errorf("driver: request, byte %#x, priority is %d, want less than %d", reqPriority, r.priority,
			protocol.Priorities)
	case r.further >= protocol.MaxSubPackets:
		return fmt.Errorf("driver: request, byte %#x, further procedures are %d, want less than %d", reqFurther,
			r.further, protocol.MaxSubPackets)
	case r.doorbell >= maxDoorbell:
		return fmt.Errorf("driver: request, byte %#x, doorbell index is %d, want less than %d", reqDoorbell, r.doorbell,
			maxDoorbell)
	}
	for i := range r.inputs[:r.nInputs] {
		r.inputs[i] = le.Uint32(b[reqInputs+4*i:])
	}
	for i := range r.outputs[:r.nOutputs] {
		r.outputs[i] = le.Uint32(b[reqOutputs+4*i:])
	}
	for i := range r.intermediates[:r.nIntermediates] {
		r.intermediates[i] = le.Uint32(b[reqIntermediates+4*i:])
	}
	decodeEvents(r.waits[:r.nWaits], b[reqWaits:])
	decodeEvents(r.signals[:r.nSignals], b[reqSignals:])
	return nil
}

func decodeEvents(es []protocol.Event, b []byte) {
	le := binary.LittleEndian
	for i := range es {
		q := b[protocol.EventSize*i:]
		es[i] = protocol.Event{
			Type:       le.Uint32(q),
			TargetMask: le.Uint32(q[4:]),
			ID:         le.Uint64(q[8:]),
			Value:      le.Uint64(q[16:]),
		}
	}
}

// encode writes the reply.
func (r *programReply) encode(b []byte) {
	le := binary.LittleEndian
	clear(b[:ReplySize])
	le.PutUint32(b, r.sequence)
	le.PutUint32(b[4:], r.result)
	le.PutUint64(b[8:], r.token)
	le.PutUint32(b[0x20:], r.status)
}
