package driver

import (
	"fmt"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// FirstCommand is a line of FirstCommands.
type FirstCommand struct {
	Step    string // its name in chapter 29
	Command *protocol.Row
	Source  string // of the body's values
	values  func(h *hardware) ([]uint64, error)
	user    bool // the header names the driver's own address space
	// after processes the answer.
	after func(h *hardware, r *protocol.Record)
}

// pmuBase is the base of the performance-monitoring unit's aperture (chapter 29).
const pmuBase = 0x2_8e08_c000

// contextSwitchLatency is the threshold in the default setting, in microseconds, modelled.
const contextSwitchLatency = 1000

// hostDoorbell and hostDoorbellBit are the register-and-bit pair of the
// endpoint's descriptor, by which the firmware notifies the host (modelled).
const (
	hostDoorbell    = 0x2_0646_0000
	hostDoorbellBit = 3
)

// loopSlots is the depth of the execution loop's ring, modelled.
const loopSlots = 64

// FirstCommands are the commands of a bring-up in their order (chapter 29). The endpoint of the execution loop is bound
// last, which chapter 30 requires before the first call.
var FirstCommands = []FirstCommand{
	{Step: "print-enable", Command: protocol.ByName("PRINT_ENABLE"), Source: "modelled", values: fixed(1)},
	{Step: "start", Command: &protocol.Start, Source: "no body", values: fixed()},
	{Step: "performance-monitoring-unit base set", Command: protocol.ByName("SET_SNE_PMU_BASE"),
		Source: "chapter 29: 0x2_8e08_c000", values: fixed(pmuBase)},
	{Step: "host-to-engine time synchronization", Command: protocol.ByName("CH_PROPERTY_WRITE"),
		Source: "modelled: no identifier is named for it; the host's microseconds", values: func(h *hardware) ([]uint64,
			error) {
			return []uint64{coprocessor.PropHostTime, uint64(max(uint32(h.d.clock.Now().Microseconds()), 1))}, nil
		}},
	{Step: "channel-property write", Command: protocol.ByName("CH_PROPERTY_WRITE"),
		Source: "modelled: the flag that admits data files", values: fixed(coprocessor.PropTunables, 1)},
	{Step: "resource-information query", Command: protocol.ByName("RESOURCE_INFO_GET"), Source: "no body",
		values: fixed(), after: func(h *hardware, r *protocol.Record) {
			h.resources = resources{r.Value("engines"), r.Value("maxCacheRequest"), r.Value("maxProcedures")}
		}},
	{Step: "default-setting write", Command: protocol.ByName("ANE_DEFAULT_SETTING_SET"),
		Source: "chapter 29: the context-switch latency threshold; value modelled",
		values: fixed(contextSwitchLatency)},
	{Step: "memory-cache power-on", Command: protocol.ByName("POWER_DEVICE_ON"), Source: "modelled",
		values: fixed(coprocessor.DeviceMemoryCache)},
	{Step: "shared-event-information initialization", Command: protocol.ByName("INIT_SHARED_EVENT_INFO"),
		Source: "modelled: a page of the driver's", user: true, values: func(h *hardware) ([]uint64, error) {
			m, err := h.kernel.Map(h.events, translation.Intermediate, "shared events")
			if err != nil {
				return nil, err
			}
			if h.eventMap != nil { // already mapped: one pin is enough
				m.Release()
			}
			h.eventMap = m
			return []uint64{m.Addr(), uint64(len(h.events))}, nil
		}},
	{Step: "endpoint bind", Command: protocol.ByName("IPC_ENDPOINT_SET"),
		Source: "chapter 30; register and slots modelled", values: fixed(uint64(protocol.EndpointDataChaining),
			loopSlots, hostDoorbell, hostDoorbellBit)},
}

func fixed(v ...uint64) func(*hardware) ([]uint64, error) {
	return func(*hardware) ([]uint64, error) { return v, nil }
}

// firstCommands sends FirstCommands.
func (h *hardware) firstCommands() error {
	h.cop.Bind(kernelUser, h.kernel)
	for i := range FirstCommands {
		c := &FirstCommands[i]
		v, err := c.values(h)
		if err != nil {
			return fmt.Errorf("driver: bring-up, %s: %w", c.Step, err)
		}
		hd := unbound
		if c.user {
			hd.ProcedureID = kernelUser
		}
		if _, err := h.command(c.Command, hd, v...); err != nil {
			return fmt.Errorf("driver: bring-up, %s: %w", c.Step, err)
		}
		if c.after == nil {
			continue
		}
		r, ok := h.cop.TakeReply()
		if !ok || r.Record == nil {
			return fmt.Errorf("driver: bring-up, %s: no answer", c.Step)
		}
		c.after(h, r.Record)
	}
	return nil
}
