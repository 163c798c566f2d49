package driver

// Structs lists every struct of the two selector tables. Sizes are those of
// tables 27.2 and 27.4; a field that the chapter does not state is marked
// modelled in its row.
var Structs = []Struct{
	openIn.table(), openOut.table(), requestStruct.table(), replyStruct.table(), createIn.table(),
	prepareStruct.table(), destroyIn.table(), statusOut.table(), instanceIn.table(), chainingIn.table(), chainingOut.table(),
	debugIn.table(), outputSetIn.table(), inputsReadyIn.table(), memoryMapIn.table(), sessionHintIn.table(), sessionHintOut.table(), activeIn.table(),
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

var openIn = layout[deviceInfo]{"ANEDeviceInfo (input)", "selector 0", 104, []row[deviceInfo]{
	{0x00, 1, "usage type", table273, func(i *deviceInfo) any { return &i.usage }},
	{0x08, 8, "callback function pointer; board id", table273, func(i *deviceInfo) any { return &i.callback }},
	{0x10, 8, "receiver context pointer", table273, func(i *deviceInfo) any { return &i.context }},
	{0x18, 8, "timeout", "table 27.3; width and unit (ms) modelled", func(i *deviceInfo) any { return &i.timeout }},
}}

var openOut = layout[deviceInfo]{"ANEDeviceInfo (output)", "selector 0", 104, []row[deviceInfo]{
	{0x00, 8, "program / session token", table273, func(i *deviceInfo) any { return &i.token }},
	{0x08, 8, "callback, echoed", table273, func(i *deviceInfo) any { return &i.callback }},
	{0x10, 8, "receiver context, echoed", table273, func(i *deviceInfo) any { return &i.context }},
	{0x18, 8, "timeout, echoed", table273, func(i *deviceInfo) any { return &i.timeout }},
	{0x48, 4, "ANE version", table273, func(i *deviceInfo) any { return &i.version }},
	{0x4c, 4, "ANE version, second value", "table 27.3 gives 32, 256 at +0x48; place of the second modelled", func(i *deviceInfo) any { return &i.version2 }},
	{0x50, 4, "number of engines", table273, func(i *deviceInfo) any { return &i.engines }},
	{0x60, 4, "CPU subtype", table273, func(i *deviceInfo) any { return &i.cpuSubtype }},
}}

// createArgs names a container, and where the kernel writes the token: the
// selector has no output of its own (table 27.2).
type createArgs struct {
	addr, size, result uint64
	flags, qos         uint32
}

var createIn = layout[createArgs]{"ANEProgramCreateArgs", "selector 3", 32, []row[createArgs]{
	{0x00, 8, "container, address", modelled, func(a *createArgs) any { return &a.addr }},
	{0x08, 8, "container, bytes", modelled, func(a *createArgs) any { return &a.size }},
	{0x10, 8, "where the token goes, address", modelled, func(a *createArgs) any { return &a.result }},
	{0x18, 4, "representation", "modelled: 0 ANEProgramLegacyResource, 1 ANEProgramRTResource", func(a *createArgs) any { return &a.flags }},
	{0x1c, 4, "quality of service", modelled, func(a *createArgs) any { return &a.qos }},
}}

// Representations of a program at create.
const (
	LegacyResource = 0 // ANEProgramLegacyResource, the program image
	RTResource     = 1 // ANEProgramRTResource, a runtime op-graph variant
)

// prepareArgs is in and out of prepare, and the input of unprepare.
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

var prepareStruct = layout[prepareArgs]{"ANEProgramPrepareArgs", "selector 4 both ways, selector 5", 56, []row[prepareArgs]{
	{0x00, 8, "program / instance token", modelled, func(a *prepareArgs) any { return &a.token }},
	{0x08, 4, "quality of service", modelled, func(a *prepareArgs) any { return &a.qos }},
	{0x0c, 4, "execution priority", modelled, func(a *prepareArgs) any { return &a.priority }},
	{0x10, 4, "flags", modelled, func(a *prepareArgs) any { return &a.flags }},
	{0x14, 4, "queue depth", modelled, func(a *prepareArgs) any { return &a.depth }},
	{0x18, 4, "out: program slot", modelled, func(a *prepareArgs) any { return &a.programID }},
	{0x1c, 4, "out: process", modelled, func(a *prepareArgs) any { return &a.processID }},
	{0x20, 4, "out: intermediate-buffer handle", modelled, func(a *prepareArgs) any { return &a.intermediate }},
	{0x24, 4, "out: procedures", modelled, func(a *prepareArgs) any { return &a.procedures }},
	{0x28, 8, "out: bytes resident", modelled, func(a *prepareArgs) any { return &a.resident }},
	{0x30, 4, "out: boot of the firmware", modelled, func(a *prepareArgs) any { return &a.boot }},
	{0x34, 4, "reserved", modelled, func(a *prepareArgs) any { return &a.reserved }},
}}

// destroyArgs is the input of destroy.
type destroyArgs struct{ token, reserved uint64 }

var destroyIn = layout[destroyArgs]{"ANEProgramDestroyArgs", "selector 6", 16, []row[destroyArgs]{
	{0x00, 8, "program / instance token", modelled, func(a *destroyArgs) any { return &a.token }},
	{0x08, 8, "reserved", modelled, func(a *destroyArgs) any { return &a.reserved }},
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

var statusOut = layout[Status]{"ANEStatus", "selector 7", 32, []row[Status]{
	{0x00, 4, "powered", modelled, func(s *Status) any { return &s.Power }},
	{0x04, 4, "channel ready", modelled, func(s *Status) any { return &s.Ready }},
	{0x08, 4, "restart count", modelled, func(s *Status) any { return &s.Restarts }},
	{0x0c, 4, "programs resident", modelled, func(s *Status) any { return &s.Programs }},
	{0x10, 4, "clients open", modelled, func(s *Status) any { return &s.Clients }},
	{0x14, 4, "actions pending", modelled, func(s *Status) any { return &s.Pending }},
	{0x18, 4, "boots", modelled, func(s *Status) any { return &s.Boot }},
	{0x1c, 4, "boot failures", modelled, func(s *Status) any { return &s.BootFailure }},
}}

// instanceArgs makes an instance of a program; like create it has no output.
type instanceArgs struct {
	token, result uint64
	qos, priority uint32
	flags, depth  uint32
}

var instanceIn = layout[instanceArgs]{"ANEProgramCreateInstanceArgs", "selector 8", 32, []row[instanceArgs]{
	{0x00, 8, "program token", modelled, func(a *instanceArgs) any { return &a.token }},
	{0x08, 8, "where the instance's token goes, address", modelled, func(a *instanceArgs) any { return &a.result }},
	{0x10, 4, "quality of service", modelled, func(a *instanceArgs) any { return &a.qos }},
	{0x14, 4, "execution priority", modelled, func(a *instanceArgs) any { return &a.priority }},
	{0x18, 4, "flags", modelled, func(a *instanceArgs) any { return &a.flags }},
	{0x1c, 4, "queue depth", modelled, func(a *instanceArgs) any { return &a.depth }},
}}

// chainingArgs and chainingReply are selector 9's.
type chainingArgs struct {
	token           uint64
	procedure, flag uint32
}

type chainingReply struct {
	chain           uint64
	inputs, outputs uint32
	timestamp       uint64
}

var chainingIn = layout[chainingArgs]{"ANEProgramChainingPrepareArgs (input)", "selector 9", 16, []row[chainingArgs]{
	{0x00, 8, "program / instance token", modelled, func(a *chainingArgs) any { return &a.token }},
	{0x08, 4, "procedure", modelled, func(a *chainingArgs) any { return &a.procedure }},
	{0x0c, 4, "reserved", modelled, func(a *chainingArgs) any { return &a.flag }},
}}

var chainingOut = layout[chainingReply]{"ANEProgramChainingPrepareArgs (output)", "selector 9", 24, []row[chainingReply]{
	{0x00, 8, "chain token", modelled, func(a *chainingReply) any { return &a.chain }},
	{0x08, 4, "inputs of the procedure", modelled, func(a *chainingReply) any { return &a.inputs }},
	{0x0c, 4, "outputs of the procedure", modelled, func(a *chainingReply) any { return &a.outputs }},
	{0x10, 8, "last execution timestamp", modelled, func(a *chainingReply) any { return &a.timestamp }},
}}

// debugArgs registers a debug work processor.
type debugArgs struct {
	addr, size    uint64
	depth, events uint32
}

var debugIn = layout[debugArgs]{"ANEDebugWorkProcessorArgs", "selector 11", 24, []row[debugArgs]{
	{0x00, 8, "buffer, address", modelled, func(a *debugArgs) any { return &a.addr }},
	{0x08, 8, "buffer, bytes", modelled, func(a *debugArgs) any { return &a.size }},
	{0x10, 4, "items that may wait", modelled, func(a *debugArgs) any { return &a.depth }},
	{0x14, 4, "event mask", modelled, func(a *debugArgs) any { return &a.events }},
}}

// outputSetArgs enqueues an output buffer set.
type outputSetArgs struct {
	chain          uint64
	procedure, set uint32
	surfaces       uint64 // address of count surface identifiers
	count, flags   uint32
	reserved       uint64
}

var outputSetIn = layout[outputSetArgs]{"ANEProgramOutputSetEnqueueArgs", "direct-path selector 3", 40, []row[outputSetArgs]{
	{0x00, 8, "chain token", modelled, func(a *outputSetArgs) any { return &a.chain }},
	{0x08, 4, "procedure", modelled, func(a *outputSetArgs) any { return &a.procedure }},
	{0x0c, 4, "output buffer set", modelled, func(a *outputSetArgs) any { return &a.set }},
	{0x10, 8, "surface identifiers, address", modelled, func(a *outputSetArgs) any { return &a.surfaces }},
	{0x18, 4, "surfaces", modelled, func(a *outputSetArgs) any { return &a.count }},
	{0x1c, 4, "flags", modelled, func(a *outputSetArgs) any { return &a.flags }},
	{0x20, 8, "reserved", modelled, func(a *outputSetArgs) any { return &a.reserved }},
}}

// readyBuffer is an input of inputsReadyArgs.
type readyBuffer struct {
	surface, port uint32
	offset, size  uint64
}

// inputsReadyArgs fires a chain: 32 bytes, then 128 buffers of 24.
type inputsReadyArgs struct {
	chain            uint64
	timestamp        uint64
	procedure, count uint32
	doorbell, flags  uint32
	buffers          [maxPorts]readyBuffer
}

var inputsReadyIn = layout[inputsReadyArgs]{"ANEProgramInputsReadyArgs", "direct-path selector 4", 3104, []row[inputsReadyArgs]{
	{0x000, 8, "chain token", modelled, func(a *inputsReadyArgs) any { return &a.chain }},
	{0x008, 8, "execution timestamp", modelled, func(a *inputsReadyArgs) any { return &a.timestamp }},
	{0x010, 4, "procedure", modelled, func(a *inputsReadyArgs) any { return &a.procedure }},
	{0x014, 4, "buffers", modelled, func(a *inputsReadyArgs) any { return &a.count }},
	{0x018, 4, "doorbell index", modelled, func(a *inputsReadyArgs) any { return &a.doorbell }},
	{0x01c, 4, "flags", modelled, func(a *inputsReadyArgs) any { return &a.flags }},
	{0x020, maxPorts * 24, "buffers: surface, port, offset, bytes", modelled, func(a *inputsReadyArgs) any { return &a.buffers }},
}}

// Range is a part of a task's address space.
type Range struct{ Addr, Size uint64 }

// maxRanges is how many ranges describe a host buffer.
const maxRanges = 128

// memoryMapArgs describes a host buffer: 32 bytes, then 128 ranges of 16.
type memoryMapArgs struct {
	token          uint64
	usage, count   uint32
	address        uint64 // of unmap: the device address
	flags, surface uint32
	ranges         [maxRanges]Range
}

var memoryMapIn = layout[memoryMapArgs]{"ANEMemoryMapRequestArgs", "direct-path selectors 5 and 6", 2080, []row[memoryMapArgs]{
	{0x000, 8, "program / instance token, 0 for the client's own space", modelled, func(a *memoryMapArgs) any { return &a.token }},
	{0x008, 4, "usage code", modelled, func(a *memoryMapArgs) any { return &a.usage }},
	{0x00c, 4, "ranges", modelled, func(a *memoryMapArgs) any { return &a.count }},
	{0x010, 8, "device address, of unmap", modelled, func(a *memoryMapArgs) any { return &a.address }},
	{0x018, 4, "flags", modelled, func(a *memoryMapArgs) any { return &a.flags }},
	{0x01c, 4, "surface, instead of ranges", modelled, func(a *memoryMapArgs) any { return &a.surface }},
	{0x020, maxRanges * 16, "ranges: address, bytes", modelled, func(a *memoryMapArgs) any { return &a.ranges }},
}}

// sessionHintArgs and sessionHintReply are direct-path selector 7's.
type sessionHintArgs struct {
	token       uint64
	hint, value uint32
}

type sessionHintReply struct {
	token           uint64
	hint, value     uint32
	previous, depth uint32
}

var sessionHintIn = layout[sessionHintArgs]{"ANESessionHintArgs (input)", "direct-path selector 7", 16, []row[sessionHintArgs]{
	{0x00, 8, "session token", modelled, func(a *sessionHintArgs) any { return &a.token }},
	{0x08, 4, "hint", modelled, func(a *sessionHintArgs) any { return &a.hint }},
	{0x0c, 4, "value", modelled, func(a *sessionHintArgs) any { return &a.value }},
}}

var sessionHintOut = layout[sessionHintReply]{"ANESessionHintArgs (output)", "direct-path selector 7", 24, []row[sessionHintReply]{
	{0x00, 8, "session token", modelled, func(a *sessionHintReply) any { return &a.token }},
	{0x08, 4, "hint", modelled, func(a *sessionHintReply) any { return &a.hint }},
	{0x0c, 4, "value in force", modelled, func(a *sessionHintReply) any { return &a.value }},
	{0x10, 4, "value before", modelled, func(a *sessionHintReply) any { return &a.previous }},
	{0x14, 4, "actions pending", modelled, func(a *sessionHintReply) any { return &a.depth }},
}}

// activeArgs selects the active member of a chaining group.
type activeArgs struct {
	chain            uint64
	procedure, group uint32
	reserved         uint64
	reserved2        uint64
}

var activeIn = layout[activeArgs]{"ANEProgramChainingSetActiveProcedureArgs", "direct-path selector 8", 32, []row[activeArgs]{
	{0x00, 8, "chain token", modelled, func(a *activeArgs) any { return &a.chain }},
	{0x08, 4, "procedure", modelled, func(a *activeArgs) any { return &a.procedure }},
	{0x0c, 4, "group", modelled, func(a *activeArgs) any { return &a.group }},
	{0x10, 8, "reserved", modelled, func(a *activeArgs) any { return &a.reserved }},
	{0x18, 8, "reserved", modelled, func(a *activeArgs) any { return &a.reserved2 }},
}}
