package protocol

import "math"

// Bodies without arrays. The structs' names, and the fields of property, prefetch and force-disable, are the chapter's;
// other fields, and all widths, are modelled on the chapters' description of the command, as their Source says. opaque
// marks commands that are known only by name: up to maxOpaque bytes pass through.

const maxOpaque = 256 // bytes, modelled

const modelled = "modelled"

var (
	empty  = pack("", "modelled: the header is sufficient", 0)
	opaque = pack("", "modelled: only the name is known", maxOpaque)

	resetBody    = pack("sCSneCmdReset", "struct named by chapter 30, contents modelled", maxOpaque)
	configGet    = pack("sCSneCmdConfigGet", "struct named by chapter 30, contents modelled", maxOpaque)
	powerControl = pack("sCSneCmdPowerSupplyControl", "struct named by chapter 30, contents modelled", maxOpaque)
	traceEnable  = pack("sCSneCmdTraceEnable", "struct named by chapter 30, contents modelled", 0,
		b("enable", 4, 0, 1, "0 or 1"))

	// IPC Writer regAddr 0x%lx regValue 0x%x
	propertyWrite = pack("", "chapter 30: { uintptr regAddr; uint32 regValue; }", 0,
		f("regAddr", 8), b("regValue", 4, 1, math.MaxUint32, "regValue != 0"))
	propertyRead = pack("", "chapter 30: { uintptr regAddr; uint32 regValue; }", 0,
		f("regAddr", 8), f("regValue", 4))

	// The doorbell is the register-and-bit pair of an endpoint descriptor
	// (chapter 29); a bit index is below 32 (chapter 27).
	endpointSet = pack("", "chapters 27, 29 and 30; order and slots modelled", 0,
		f("endPointId", 4), b("slots", 4, 1, MaxSlots, "1 to 4096 slots"), f("doorBellReg", 8),
		b("doorBellBit", 4, 0, 31, "doorbell index below 32"))
	endpointUnset = pack("", modelled, 0, f("endPointId", 4))

	enable         = pack("", modelled, 0, b("enable", 4, 0, 1, "0 or 1"))
	pmuBase        = pack("", modelled, 0, f("base", 8))
	defaultSetting = pack("", "chapter 29: the context-switch latency threshold; width modelled", 0,
		f("contextSwitchLatencyThreshold", 4))
	dsid    = pack("", modelled, 0, f("dsid", 4))
	device  = pack("", modelled, 0, f("deviceId", 4))
	version = pack("", modelled, 0, f("major", 4), f("minor", 4))
	region  = pack("", modelled, 0,
		b("address", 8, 1, math.MaxUint32, "nonzero, high 32 bits zero"), b("bytes", 8, 1, math.MaxUint32, "nonzero"))
	programRegion = region

	// Notifications.
	errorNote = pack("", "chapter 29: an opaque error index; width modelled", 0, f("error", 4))
	resetNote = pack("", "chapter 29: the task-queue range that a reset spans; widths modelled", 0,
		b("firstQueue", 4, 1, 255, "task queues are 1 to 255"), b("lastQueue", 4, 1, 255, "task queues are 1 to 255"))
	signpost        = pack("", modelled, 0, f("code", 4), f("value", 4), f("timestamp", 8))
	signpost64      = pack("", modelled, 0, f("code", 8), f("value", 8), f("timestamp", 8))
	signpostGroup   = pack("", modelled, MaxSignposts*16, b("count", 4, 1, MaxSignposts, "1 to 64 signposts"))
	signpost64Group = pack("", modelled, MaxSignposts*24, b("count", 4, 1, MaxSignposts, "1 to 64 signposts"))
	cpuLoad         = pack("", modelled, 0, b("percent", 4, 0, 100, "0 to 100"))
	programEvent    = pack("", modelled, 0, f("event", 4), f("status", 4), f("jobId", 4))
	userEvent       = pack("", modelled, 0, f("event", 4), f("value", 8))
	chainingEvent   = pack("", modelled, 0, f("cacheHandler", 8), f("outputBufferSetId", 4), f("execTimestamp", 8),
		f("status", 4))
	prefetchEvent = pack("", "chapter 30: Dsid (%d) Event (0x%x)", 0, f("dsid", 4), f("event", 4))
)

// MaxSignposts is the maximum number of signposts in a group, modelled.
const MaxSignposts = 64

// groupStride returns the size in bytes of one record after a group's count.
var groupStride = map[*Layout]int{signpostGroup: 16, signpost64Group: 24}

// checkRecord checks the rules between a record's fields.
func checkRecord(r *Record) error {
	if n, ok := groupStride[r.Layout]; ok && uint64(len(r.Tail)) != r.Values[0]*uint64(n) {
		return bad(0, "count", r.Values[0], "the signposts must fill the body", "")
	}
	if r.Layout == resetNote && r.Values[0] > r.Values[1] {
		return bad(0, "firstQueue", r.Values[0], "firstQueue <= lastQueue", "")
	}
	return nil
}

// StatsSizes are the four constants of the statistics-buffer size query, in
// bytes: header, one event, one debug event, one engine (listing 29.4).
var StatsSizes = [4]uint32{0x28, 0x14, 0x10, 0x20}

// StatsMinBytes is the minimum size of a statistics buffer: a header and one of each of the three records. The chapter
// says that the size covers the three records; that it also covers the header is modelled.
const StatsMinBytes = 0x28 + 0x14 + 0x10 + 0x20
