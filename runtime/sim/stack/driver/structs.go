package driver

// Structs lists every struct of the two selector tables. The sizes are those of tables 27.2 and 27.4; fields that the
// chapter does not state are marked as modelled.
var Structs = []Struct{
	openIn.table(), openOut.table(), requestStruct.table(), replyStruct.table(), createIn.table(),
	prepareStruct.table(), destroyIn.table(), statusOut.table(), instanceIn.table(), chainingIn.table(),
	chainingOut.table(),
	debugIn.table(), outputSetIn.table(), inputsReadyIn.table(), memoryMapIn.table(), sessionHintIn.table(),
	sessionHintOut.table(), activeIn.table(),
}

// deviceInfo is ANEDeviceInfo (table 27.3).
type deviceInfo struct {
	usage             byte   // in
	token             uint64 // out
	callback          uint64 // in, echoed: function pointer or board id
	context           uint64 // in, echoed: receiver context
	timeout           uint64 // in, echoed: milliseconds
	version, version2 uint32 // out
	engines           uint32 // out
	cpuSubtype        uint32 // out
}

// Values of the handshake (table 27.3).
const (
	UsageStandard    = 1
	UsageUnsupported = 2
	// StatusUnsupported is the framework's code for usage 2.
	StatusUnsupported = 24
	BoardID           = 0x1111222233334444
	HandshakeTimeout  = 0x2710 // 10000; milliseconds is modelled
	ANEVersion        = 0x20
	ANEVersion2       = 256
	NumEngines        = 1
	CPUSubtype        = 4
)

const table273 = "table 27.3"

var openIn = layout[deviceInfo]{name: "ANEDeviceInfo (input)", use: "selector 0", size: 104, rows: []row[deviceInfo]{
	{off: 0x00, width: 1, name: "usage type", source: table273, at: func(i *deviceInfo) any { return &i.usage }},
	{off: 0x08, width: 8, name: "callback function pointer; board id", source: table273, at: func(i *deviceInfo) any {
		return &i.callback
	}},
	{off: 0x10, width: 8, name: "receiver context pointer", source: table273, at: func(i *deviceInfo) any {
		return &i.context
	}},
	{off: 0x18, width: 8, name: "timeout", source: "table 27.3; width and unit (ms) modelled",
		at: func(i *deviceInfo) any {
			return &i.timeout
		}},
}}

var openOut = layout[deviceInfo]{name: "ANEDeviceInfo (output)", use: "selector 0", size: 104, rows: []row[deviceInfo]{
	{off: 0x00, width: 8, name: "program / session token", source: table273, at: func(i *deviceInfo) any {
		return &i.token
	}},
	{off: 0x08, width: 8, name: "callback, echoed", source: table273, at: func(i *deviceInfo) any {
		return &i.callback
	}},
	{off: 0x10, width: 8, name: "receiver context, echoed", source: table273, at: func(i *deviceInfo) any {
		return &i.context
	}},
	{off: 0x18, width: 8, name: "timeout, echoed", source: table273, at: func(i *deviceInfo) any { return &i.timeout }},
	{off: 0x48, width: 4, name: "ANE version", source: table273, at: func(i *deviceInfo) any { return &i.version }},
	{off: 0x4c, width: 4, name: "ANE version, second value",
		source: "table 27.3 gives 32, 256 at +0x48; place of the second modelled", at: func(i *deviceInfo) any {
			return &i.version2
		}},
	{off: 0x50, width: 4, name: "number of engines", source: table273, at: func(i *deviceInfo) any {
		return &i.engines
	}},
	{off: 0x60, width: 4, name: "CPU subtype", source: table273, at: func(i *deviceInfo) any { return &i.cpuSubtype }},
}}

// createArgs has the addresses of a container and of the token that the kernel writes: the selector has no output
// (table 27.2).
type createArgs struct {
	addr, size, result uint64
	flags, qos         uint32
}

var createIn = layout[createArgs]{name: "ANEProgramCreateArgs", use: "selector 3", size: 32, rows: []row[createArgs]{
	{off: 0x00, width: 8, name: "container, address", source: modelled, at: func(a *createArgs) any { return &a.addr }},
	{off: 0x08, width: 8, name: "container, bytes", source: modelled, at: func(a *createArgs) any { return &a.size }},
	{off: 0x10, width: 8, name: "where the token goes, address", source: modelled, at: func(a *createArgs) any {
		return &a.result
	}},
	{off: 0x18, width: 4, name: "representation",
		source: "modelled: 0 ANEProgramLegacyResource, 1 ANEProgramRTResource", at: func(a *createArgs) any {
			return &a.flags
		}},
	{off: 0x1c, width: 4, name: "quality of service", source: modelled, at: func(a *createArgs) any { return &a.qos }},
}}

// Representations of a program at create.
const (
	LegacyResource = 0 // ANEProgramLegacyResource, the program image
	RTResource     = 1 // ANEProgramRTResource, a runtime op-graph variant
)

// prepareArgs is the input and output of prepare and the input of unprepare.
type prepareArgs struct {
	token         uint64
	qos, priority uint32
	flags, depth  uint32
	// Outputs.
	programID, processID uint32
	intermediate         uint32
	procedures           uint32
	resident             uint64
	boot                 uint32
	reserved             uint32
}

// Flags of prepareArgs, modelled: the per-instance residency and power arguments.
const (
	FlagPowerSaving = 1 << iota
	FlagAggressive
	FlagKeepWired
	knownFlags = FlagPowerSaving | FlagAggressive | FlagKeepWired
)

var prepareStruct = layout[prepareArgs]{name: "ANEProgramPrepareArgs", use: "selector 4 both ways, selector 5",
	size: 56, rows: []row[prepareArgs]{
		{off: 0x00, width: 8, name: "program / instance token", source: modelled, at: func(a *prepareArgs) any {
			return &a.token
		}},
		{off: 0x08, width: 4, name: "quality of service", source: modelled, at: func(a *prepareArgs) any {
			return &a.qos
		}},
		{off: 0x0c, width: 4, name: "execution priority", source: modelled, at: func(a *prepareArgs) any {
			return &a.priority
		}},
		{off: 0x10, width: 4, name: "flags", source: modelled, at: func(a *prepareArgs) any { return &a.flags }},
		{off: 0x14, width: 4, name: "queue depth", source: modelled, at: func(a *prepareArgs) any { return &a.depth }},
		{off: 0x18, width: 4, name: "out: program slot", source: modelled, at: func(a *prepareArgs) any {
			return &a.programID
		}},
		{off: 0x1c, width: 4, name: "out: process", source: modelled, at: func(a *prepareArgs) any {
			return &a.processID
		}},
		{off: 0x20, width: 4, name: "out: intermediate-buffer handle", source: modelled, at: func(a *prepareArgs) any {
			return &a.intermediate
		}},
		{off: 0x24, width: 4, name: "out: procedures", source: modelled, at: func(a *prepareArgs) any {
			return &a.procedures
		}},
		{off: 0x28, width: 8, name: "out: bytes resident", source: modelled, at: func(a *prepareArgs) any {
			return &a.resident
		}},
		{off: 0x30, width: 4, name: "out: boot of the firmware", source: modelled, at: func(a *prepareArgs) any {
			return &a.boot
		}},
		{off: 0x34, width: 4, name: "reserved", source: modelled, at: func(a *prepareArgs) any { return &a.reserved }},
	}}

// destroyArgs is the input of destroy.
type destroyArgs struct{ token, reserved uint64 }

var destroyIn = layout[destroyArgs]{name: "ANEProgramDestroyArgs", use: "selector 6", size: 16,
	rows: []row[destroyArgs]{
		{off: 0x00, width: 8, name: "program / instance token", source: modelled, at: func(a *destroyArgs) any {
			return &a.token
		}},
		{off: 0x08, width: 8, name: "reserved", source: modelled, at: func(a *destroyArgs) any { return &a.reserved }},
	}}

// Status is the output of selector 7.
type Status struct {
	Power       uint32 // 1 when the device is powered
	Ready       uint32 // 1 when the channel is ready
	Restarts    uint32 // of the firmware
	Programs    uint32 // resident, of all clients
	Clients     uint32 // open
	Pending     uint32 // actions at the command gate
	Boot        uint32 // boots of the firmware
	BootFailure uint32 // second wakes that never came
}

var statusOut = layout[Status]{name: "ANEStatus", use: "selector 7", size: 32, rows: []row[Status]{
	{off: 0x00, width: 4, name: "powered", source: modelled, at: func(s *Status) any { return &s.Power }},
	{off: 0x04, width: 4, name: "channel ready", source: modelled, at: func(s *Status) any { return &s.Ready }},
	{off: 0x08, width: 4, name: "restart count", source: modelled, at: func(s *Status) any { return &s.Restarts }},
	{off: 0x0c, width: 4, name: "programs resident", source: modelled, at: func(s *Status) any { return &s.Programs }},
	{off: 0x10, width: 4, name: "clients open", source: modelled, at: func(s *Status) any { return &s.Clients }},
	{off: 0x14, width: 4, name: "actions pending", source: modelled, at: func(s *Status) any { return &s.Pending }},
	{off: 0x18, width: 4, name: "boots", source: modelled, at: func(s *Status) any { return &s.Boot }},
	{off: 0x1c, width: 4, name: "boot failures", source: modelled, at: func(s *Status) any { return &s.BootFailure }},
}}

// instanceArgs is the input of the selector that creates an instance; like create, it has no output.
type instanceArgs struct {
	token, result uint64
	qos, priority uint32
	flags, depth  uint32
}

var instanceIn = layout[instanceArgs]{name: "ANEProgramCreateInstanceArgs", use: "selector 8", size: 32,
	rows: []row[instanceArgs]{
		{off: 0x00, width: 8, name: "program token", source: modelled, at: func(a *instanceArgs) any {
			return &a.token
		}},
		{off: 0x08, width: 8, name: "where the instance's token goes, address", source: modelled,
			at: func(a *instanceArgs) any {
				return &a.result
			}},
		{off: 0x10, width: 4, name: "quality of service", source: modelled, at: func(a *instanceArgs) any {
			return &a.qos
		}},
		{off: 0x14, width: 4, name: "execution priority", source: modelled, at: func(a *instanceArgs) any {
			return &a.priority
		}},
		{off: 0x18, width: 4, name: "flags", source: modelled, at: func(a *instanceArgs) any { return &a.flags }},
		{off: 0x1c, width: 4, name: "queue depth", source: modelled, at: func(a *instanceArgs) any { return &a.depth }},
	}}

// chainingArgs and chainingReply are the input and output of selector 9.
type chainingArgs struct {
	token           uint64
	procedure, flag uint32
}

type chainingReply struct {
	chain           uint64
	inputs, outputs uint32
	timestamp       uint64
}

var chainingIn = layout[chainingArgs]{name: "ANEProgramChainingPrepareArgs (input)", use: "selector 9", size: 16,
	rows: []row[chainingArgs]{
		{off: 0x00, width: 8, name: "program / instance token", source: modelled, at: func(a *chainingArgs) any {
			return &a.token
		}},
		{off: 0x08, width: 4, name: "procedure", source: modelled, at: func(a *chainingArgs) any {
			return &a.procedure
		}},
		{off: 0x0c, width: 4, name: "reserved", source: modelled, at: func(a *chainingArgs) any { return &a.flag }},
	}}

var chainingOut = layout[chainingReply]{name: "ANEProgramChainingPrepareArgs (output)", use: "selector 9", size: 24,
	rows: []row[chainingReply]{
		{off: 0x00, width: 8, name: "chain token", source: modelled, at: func(a *chainingReply) any {
			return &a.chain
		}},
		{off: 0x08, width: 4, name: "inputs of the procedure", source: modelled, at: func(a *chainingReply) any {
			return &a.inputs
		}},
		{off: 0x0c, width: 4, name: "outputs of the procedure", source: modelled, at: func(a *chainingReply) any {
			return &a.outputs
		}},
		{off: 0x10, width: 8, name: "last execution timestamp", source: modelled, at: func(a *chainingReply) any {
			return &a.timestamp
		}},
	}}

// debugArgs registers a debug work processor.
type debugArgs struct {
	addr, size    uint64
	depth, events uint32
}

var debugIn = layout[debugArgs]{name: "ANEDebugWorkProcessorArgs", use: "selector 11", size: 24, rows: []row[debugArgs]{
	{off: 0x00, width: 8, name: "buffer, address", source: modelled, at: func(a *debugArgs) any { return &a.addr }},
	{off: 0x08, width: 8, name: "buffer, bytes", source: modelled, at: func(a *debugArgs) any { return &a.size }},
	{off: 0x10, width: 4, name: "items that may wait", source: modelled, at: func(a *debugArgs) any {
		return &a.depth
	}},
	{off: 0x14, width: 4, name: "event mask", source: modelled, at: func(a *debugArgs) any { return &a.events }},
}}

// outputSetArgs enqueues an output buffer set.
type outputSetArgs struct {
	chain          uint64
	procedure, set uint32
	surfaces       uint64 // address of count surface identifiers
	count, flags   uint32
	reserved       uint64
}

var outputSetIn = layout[outputSetArgs]{name: "ANEProgramOutputSetEnqueueArgs", use: "direct-path selector 3", size: 40,
	rows: []row[outputSetArgs]{
		{off: 0x00, width: 8, name: "chain token", source: modelled, at: func(a *outputSetArgs) any {
			return &a.chain
		}},
		{off: 0x08, width: 4, name: "procedure", source: modelled, at: func(a *outputSetArgs) any {
			return &a.procedure
		}},
		{off: 0x0c, width: 4, name: "output buffer set", source: modelled, at: func(a *outputSetArgs) any {
			return &a.set
		}},
		{off: 0x10, width: 8, name: "surface identifiers, address", source: modelled, at: func(a *outputSetArgs) any {
			return &a.surfaces
		}},
		{off: 0x18, width: 4, name: "surfaces", source: modelled, at: func(a *outputSetArgs) any { return &a.count }},
		{off: 0x1c, width: 4, name: "flags", source: modelled, at: func(a *outputSetArgs) any { return &a.flags }},
		{off: 0x20, width: 8, name: "reserved", source: modelled, at: func(a *outputSetArgs) any {
			return &a.reserved
		}},
	}}

// readyBuffer is an input of inputsReadyArgs.
type readyBuffer struct {
	surface, port uint32
	offset, size  uint64
}

// inputsReadyArgs triggers a chain: 32 bytes, then 128 buffers of 24 bytes.
type inputsReadyArgs struct {
	chain            uint64
	timestamp        uint64
	procedure, count uint32
	doorbell, flags  uint32
	buffers          [maxPorts]readyBuffer
}

var inputsReadyIn = layout[inputsReadyArgs]{name: "ANEProgramInputsReadyArgs", use: "direct-path selector 4",
	size: 3104, rows: []row[inputsReadyArgs]{
		{off: 0x000, width: 8, name: "chain token", source: modelled, at: func(a *inputsReadyArgs) any {
			return &a.chain
		}},
		{off: 0x008, width: 8, name: "execution timestamp", source: modelled, at: func(a *inputsReadyArgs) any {
			return &a.timestamp
		}},
		{off: 0x010, width: 4, name: "procedure", source: modelled, at: func(a *inputsReadyArgs) any {
			return &a.procedure
		}},
		{off: 0x014, width: 4, name: "buffers", source: modelled, at: func(a *inputsReadyArgs) any { return &a.count }},
		{off: 0x018, width: 4, name: "doorbell index", source: modelled, at: func(a *inputsReadyArgs) any {
			return &a.doorbell
		}},
		{off: 0x01c, width: 4, name: "flags", source: modelled, at: func(a *inputsReadyArgs) any { return &a.flags }},
		{off: 0x020, width: maxPorts * 24, name: "buffers: surface, port, offset, bytes", source: modelled,
			at: func(a *inputsReadyArgs) any {
				return &a.buffers
			}},
	}}

// Range is a part of a task's address space.
type Range struct{ Addr, Size uint64 }

// maxRanges is the maximum number of ranges of a host buffer.
const maxRanges = 128

// memoryMapArgs describes a host buffer: 32 bytes, then 128 ranges of 16 bytes.
type memoryMapArgs struct {
	token          uint64
	usage, count   uint32
	address        uint64 // of unmap: the device address
	flags, surface uint32
	ranges         [maxRanges]Range
}

var memoryMapIn = layout[memoryMapArgs]{name: "ANEMemoryMapRequestArgs", use: "direct-path selectors 5 and 6",
	size: 2080, rows: []row[memoryMapArgs]{
		{off: 0x000, width: 8, name: "program / instance token, 0 for the client's own space", source: modelled,
			at: func(a *memoryMapArgs) any {
				return &a.token
			}},
		{off: 0x008, width: 4, name: "usage code", source: modelled, at: func(a *memoryMapArgs) any {
			return &a.usage
		}},
		{off: 0x00c, width: 4, name: "ranges", source: modelled, at: func(a *memoryMapArgs) any { return &a.count }},
		{off: 0x010, width: 8, name: "device address, of unmap", source: modelled, at: func(a *memoryMapArgs) any {
			return &a.address
		}},
		{off: 0x018, width: 4, name: "flags", source: modelled, at: func(a *memoryMapArgs) any { return &a.flags }},
		{off: 0x01c, width: 4, name: "surface, instead of ranges", source: modelled, at: func(a *memoryMapArgs) any {
			return &a.surface
		}},
		{off: 0x020, width: maxRanges * 16, name: "ranges: address, bytes", source: modelled,
			at: func(a *memoryMapArgs) any {
				return &a.ranges
			}},
	}}

// sessionHintArgs and sessionHintReply are the input and output of direct-path selector 7.
type sessionHintArgs struct {
	token       uint64
	hint, value uint32
}

type sessionHintReply struct {
	token           uint64
	hint, value     uint32
	previous, depth uint32
}

var sessionHintIn = layout[sessionHintArgs]{name: "ANESessionHintArgs (input)", use: "direct-path selector 7", size: 16,
	rows: []row[sessionHintArgs]{
		{off: 0x00, width: 8, name: "session token", source: modelled, at: func(a *sessionHintArgs) any {
			return &a.token
		}},
		{off: 0x08, width: 4, name: "hint", source: modelled, at: func(a *sessionHintArgs) any { return &a.hint }},
		{off: 0x0c, width: 4, name: "value", source: modelled, at: func(a *sessionHintArgs) any { return &a.value }},
	}}

var sessionHintOut = layout[sessionHintReply]{name: "ANESessionHintArgs (output)", use: "direct-path selector 7",
	size: 24, rows: []row[sessionHintReply]{
		{off: 0x00, width: 8, name: "session token", source: modelled, at: func(a *sessionHintReply) any {
			return &a.token
		}},
		{off: 0x08, width: 4, name: "hint", source: modelled, at: func(a *sessionHintReply) any { return &a.hint }},
		{off: 0x0c, width: 4, name: "value in force", source: modelled, at: func(a *sessionHintReply) any {
			return &a.value
		}},
		{off: 0x10, width: 4, name: "value before", source: modelled, at: func(a *sessionHintReply) any {
			return &a.previous
		}},
		{off: 0x14, width: 4, name: "actions pending", source: modelled, at: func(a *sessionHintReply) any {
			return &a.depth
		}},
	}}

// activeArgs selects the active member of a chaining group.
type activeArgs struct {
	chain            uint64
	procedure, group uint32
	reserved         uint64
	reserved2        uint64
}

var activeIn = layout[activeArgs]{name: "ANEProgramChainingSetActiveProcedureArgs", use: "direct-path selector 8",
	size: 32, rows: []row[activeArgs]{
		{off: 0x00, width: 8, name: "chain token", source: modelled, at: func(a *activeArgs) any { return &a.chain }},
		{off: 0x08, width: 4, name: "procedure", source: modelled, at: func(a *activeArgs) any { return &a.procedure }},
		{off: 0x0c, width: 4, name: "group", source: modelled, at: func(a *activeArgs) any { return &a.group }},
		{off: 0x10, width: 8, name: "reserved", source: modelled, at: func(a *activeArgs) any { return &a.reserved }},
		{off: 0x18, width: 8, name: "reserved", source: modelled, at: func(a *activeArgs) any { return &a.reserved2 }},
	}}
