package driver

import (
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

type (
	surfaces = [maxPorts]uint32
	events   = [maxEvents]protocol.Event
)

// programRequest is ANEProgramRequestArgs, the 2376 bytes.
type programRequest struct {
	token          uint64   `at:"0x000" name:"program / instance token" src:"table 27.6"`
	sequence       uint32   `at:"0x008" name:"sequence number" src:"table 27.6; width modelled"`
	procedure      uint32   `at:"0x00c" name:"procedure"`
	priority       uint32   `at:"0x010" name:"priority" src:"table 27.6, the pair's first"`
	qos            uint32   `at:"0x014" name:"quality of service" src:"table 27.6, the pair's second"`
	_              uint32   `at:"0x018" name:"reserved"`
	category       uint32   `at:"0x01c" name:"io category" src:"table 27.6"`
	inputs         surfaces `at:"0x020" name:"surface identifiers, input" src:"table 27.6; 128 places are modelled"`
	outputs        surfaces `at:"0x220" name:"surface identifiers, output" src:"table 27.6; place modelled"`
	intermediates  surfaces `at:"0x420" name:"surface identifiers, intermediate" src:"table 27.6; place modelled"`
	nInputs        uint32   `at:"0x620" name:"input surfaces"`
	nOutputs       uint32   `at:"0x624" name:"output surfaces"`
	nIntermediates uint32   `at:"0x628" name:"intermediate surfaces"`
	nWaits         uint32   `at:"0x62c" name:"wait events"`
	nSignals       uint32   `at:"0x630" name:"signal events"`
	doorbell       uint32   `at:"0x634" name:"doorbell index" src:"chapter 27: below 32; place modelled"`
	timeout        uint64   `at:"0x638" name:"timeout, virtual nanoseconds; 0 for that of the handshake"`
	stats          uint32   `at:"0x640" name:"surface of the statistics buffer; 0 for none"`
	further        uint32   `at:"0x644" name:"further procedures, of a chain"`
	waits          events   `at:"0x648" name:"wait events" src:"modelled; records of chapter 30"`
	signals        events   `at:"0x7c8" name:"signal events" src:"modelled; records of chapter 30"`
}

// Offsets of the fields that errors name.
const (
	reqProcedure = 0x00c
	reqPriority  = 0x010
	reqCategory  = 0x01c
	reqCounts    = 0x620
	reqDoorbell  = 0x634
	reqFurther   = 0x644
)

// requestStruct is the request's table. The pair at +0x010 was observed as (5, 21). Since 21 is the default
// quality-of-service class, the priority comes first.
var requestStruct = describe[programRequest]("ANEProgramRequestArgs", "selector 2 of both clients", RequestSize)

// programReply is the 40-byte output of selector 2.
type programReply struct {
	sequence uint32 `at:"0x00" name:"sequence" src:"chapter 27; widths modelled"`
	result   uint32 `at:"0x04" name:"result" src:"chapter 27; widths modelled"`
	token    uint64 `at:"0x08" name:"token, echoed" src:"chapter 27"`
	status   uint32 `at:"0x20" name:"status flag" src:"chapter 27"`
}

var replyStruct = describe[programReply]("ANEProgramRequestArgs (output)", "selector 2 of both clients", ReplySize)

// decode reads the request's bytes and checks them. Errors name the offset.
func (r *programRequest) decode(b []byte) error {
	if err := requestStruct.decode(b, r); err != nil {
		return err
	}
	counts := [...]struct {
		n     *uint32
		limit uint32
		name  string
	}{{&r.nInputs, maxPorts, "input surfaces"}, {&r.nOutputs, maxPorts, "output surfaces"},
		{&r.nIntermediates, maxPorts, "intermediate surfaces"}, {&r.nWaits, maxEvents, "wait events"},
		{&r.nSignals, maxEvents, "signal events"}}
	for i := range counts {
		c := &counts[i]
		if n := *c.n; n > c.limit {
			*c.n = 0
			return fmt.Errorf("driver: request, byte %#x, %s is %d, want at most %d", reqCounts+4*i, c.name, n, c.limit)
		}
	}
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
	return nil
}

// encode writes the reply.
func (r *programReply) encode(b []byte) {
	clear(b[:ReplySize])
	replyStruct.encode(b, r)
}
