package driver

// outputStructs are the structs that selectors return, by handler.
var outputStructs = map[string]*Struct{
	"ANE_DeviceOpen": &openOut.Struct, "ANE_ProgramSendRequest": &replyStruct.Struct,
	"ANE_ProgramPrepare": &prepareStruct.Struct, "ANE_GetStatus": &statusOut.Struct,
	"ANE_ProgramChainingPrepare": &chainingOut.Struct, "ANE_SessionHintRequest": &sessionHintOut.Struct,
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
)

// openInput and openOutput are ANEDeviceInfo (table 27.3), in and out: callback (function pointer or board id), context
// (of the receiver) and timeout are echoed.
type openInput struct {
	usage    byte   `at:"0x00" name:"usage type" src:"table 27.3"`
	callback uint64 `at:"0x08" name:"callback function pointer; board id" src:"table 27.3"`
	context  uint64 `at:"0x10" name:"receiver context pointer" src:"table 27.3"`
	timeout  uint64 `at:"0x18" name:"timeout" src:"table 27.3; width and unit (ms) modelled"`
}

var openIn = describe[openInput]("ANEDeviceInfo (input)", "selector 0", 104)

type openOutput struct {
	token      uint64 `at:"0x00" name:"program / session token" src:"table 27.3"`
	callback   uint64 `at:"0x08" name:"callback, echoed" src:"table 27.3"`
	context    uint64 `at:"0x10" name:"receiver context, echoed" src:"table 27.3"`
	timeout    uint64 `at:"0x18" name:"timeout, echoed" src:"table 27.3"`
	version    uint32 `at:"0x48" name:"ANE version" src:"table 27.3"`
	version2   uint32 `at:"0x4c" name:"second ANE version" src:"table 27.3: 32, 256 at +0x48; place modelled"`
	engines    uint32 `at:"0x50" name:"number of engines" src:"table 27.3"`
	cpuSubtype uint32 `at:"0x60" name:"CPU subtype" src:"table 27.3"`
}

var openOut = describe[openOutput]("ANEDeviceInfo (output)", "selector 0", 104)

// createArgs has the addresses of a container, of its signature, and of the token that the kernel writes: the selector
// has no output (table 27.2).
type createArgs struct {
	addr      uint64 `at:"0x00" name:"container, address"`
	size      uint32 `at:"0x08" name:"container, bytes"`
	flags     uint16 `at:"0x0c" name:"representation" src:"modelled: 0 for a legacy, 1 for an RT resource"`
	stats     uint16 `at:"0x0e" name:"statsMask" src:"modelled place: counters to collect for each task"`
	result    uint64 `at:"0x10" name:"where the token goes, address"`
	signature uint64 `at:"0x18" name:"signature, address" src:"modelled: 64 bytes"`
}

var createIn = describe[createArgs]("ANEProgramCreateArgs", "selector 3", 32)

// Representations of a program at create.
const (
	LegacyResource = 0 // ANEProgramLegacyResource, the program image
	RTResource     = 1 // ANEProgramRTResource, a runtime op-graph variant
)

// prepareArgs is the input and output of prepare and the input of unprepare.
type prepareArgs struct {
	token        uint64 `at:"0x00" name:"program / instance token"`
	qos          uint32 `at:"0x08" name:"quality of service"`
	priority     uint32 `at:"0x0c" name:"execution priority"`
	flags        uint32 `at:"0x10" name:"flags"`
	depth        uint32 `at:"0x14" name:"queue depth"`
	programID    uint32 `at:"0x18" name:"out: program slot"`
	processID    uint32 `at:"0x1c" name:"out: process"`
	intermediate uint32 `at:"0x20" name:"out: intermediate-buffer handle"`
	procedures   uint32 `at:"0x24" name:"out: procedures"`
	resident     uint64 `at:"0x28" name:"out: bytes resident"`
	boot         uint32 `at:"0x30" name:"out: boot of the firmware"`
	_            uint32 `at:"0x34" name:"reserved"`
}

// Flags of prepareArgs, modelled: the per-instance residency and power arguments.
const (
	FlagPowerSaving = 1 << iota
	FlagAggressive
	FlagKeepWired
	knownFlags = FlagPowerSaving | FlagAggressive | FlagKeepWired
)

var prepareStruct = describe[prepareArgs]("ANEProgramPrepareArgs", "selector 4 both ways, selector 5", 56)

// destroyArgs is the input of destroy.
type destroyArgs struct {
	token uint64 `at:"0x00" name:"program / instance token"`
	_     uint64 `at:"0x08" name:"reserved"`
}

var destroyIn = describe[destroyArgs]("ANEProgramDestroyArgs", "selector 6", 16)

// Status is the output of selector 7.
type Status struct {
	Power       uint32 `at:"0x00" name:"powered"`           // 1 when the device is powered
	Ready       uint32 `at:"0x04" name:"channel ready"`     // 1 when the channel is ready
	Restarts    uint32 `at:"0x08" name:"restart count"`     // of the firmware
	Programs    uint32 `at:"0x0c" name:"programs resident"` // resident, of all clients
	Clients     uint32 `at:"0x10" name:"clients open"`      // open
	Pending     uint32 `at:"0x14" name:"actions pending"`   // actions at the command gate
	Boot        uint32 `at:"0x18" name:"boots"`             // boots of the firmware
	BootFailure uint32 `at:"0x1c" name:"boot failures"`     // second wakes that never came
}

var statusOut = describe[Status]("ANEStatus", "selector 7", 32)

// instanceArgs is the input of the selector that creates an instance; like create, it has no output.
type instanceArgs struct {
	token    uint64 `at:"0x00" name:"program token"`
	result   uint64 `at:"0x08" name:"where the instance's token goes, address"`
	qos      uint32 `at:"0x10" name:"quality of service"`
	priority uint32 `at:"0x14" name:"execution priority"`
	flags    uint32 `at:"0x18" name:"flags"`
	depth    uint32 `at:"0x1c" name:"queue depth"`
}

var instanceIn = describe[instanceArgs]("ANEProgramCreateInstanceArgs", "selector 8", 32)

// chainingArgs and chainingReply are the input and output of selector 9.
type chainingArgs struct {
	token     uint64 `at:"0x00" name:"program / instance token"`
	procedure uint32 `at:"0x08" name:"procedure"`
	_         uint32 `at:"0x0c" name:"reserved"`
}

type chainingReply struct {
	chain   uint64 `at:"0x00" name:"chain token"`
	inputs  uint32 `at:"0x08" name:"inputs of the procedure"`
	outputs uint32 `at:"0x0c" name:"outputs of the procedure"`
	_       uint64 `at:"0x10" name:"last execution timestamp"`
}

var chainingIn = describe[chainingArgs]("ANEProgramChainingPrepareArgs (input)", "selector 9", 16)

var chainingOut = describe[chainingReply]("ANEProgramChainingPrepareArgs (output)", "selector 9", 24)

// debugArgs registers a debug work processor.
type debugArgs struct {
	addr  uint64 `at:"0x00" name:"buffer, address"`
	size  uint64 `at:"0x08" name:"buffer, bytes"`
	depth uint32 `at:"0x10" name:"items that may wait"`
	_     uint32 `at:"0x14" name:"event mask"`
}

var debugIn = describe[debugArgs]("ANEDebugWorkProcessorArgs", "selector 11", 24)

// outputSetArgs enqueues an output buffer set.
type outputSetArgs struct {
	chain     uint64 `at:"0x00" name:"chain token"`
	procedure uint32 `at:"0x08" name:"procedure"`
	set       uint32 `at:"0x0c" name:"output buffer set"`
	surfaces  uint64 `at:"0x10" name:"surface identifiers, address"`
	count     uint32 `at:"0x18" name:"surfaces"`
	_         uint32 `at:"0x1c" name:"flags"`
	_         uint64 `at:"0x20" name:"reserved"`
}

var outputSetIn = describe[outputSetArgs]("ANEProgramOutputSetEnqueueArgs", "direct-path selector 3", 40)

// readyBuffer is an input of inputsReadyArgs.
type readyBuffer struct {
	surface, port uint32
	offset, size  uint64
}

// inputsReadyArgs triggers a chain: 32 bytes, then 128 buffers of 24 bytes.
type inputsReadyArgs struct {
	chain     uint64                `at:"0x000" name:"chain token"`
	timestamp uint64                `at:"0x008" name:"execution timestamp"`
	procedure uint32                `at:"0x010" name:"procedure"`
	count     uint32                `at:"0x014" name:"buffers"`
	doorbell  uint32                `at:"0x018" name:"doorbell index"`
	_         uint32                `at:"0x01c" name:"flags"`
	buffers   [maxPorts]readyBuffer `at:"0x020" name:"buffers: surface, port, offset, bytes"`
}

var inputsReadyIn = describe[inputsReadyArgs]("ANEProgramInputsReadyArgs", "direct-path selector 4", 3104)

// Range is a part of a task's address space.
type Range struct{ Addr, Size uint64 }

// maxRanges is the maximum number of ranges of a host buffer.
const maxRanges = 128

// memoryMapArgs describes a host buffer: 32 bytes, then 128 ranges of 16 bytes.
type memoryMapArgs struct {
	token   uint64           `at:"0x000" name:"program / instance token, 0 for the client's own space"`
	usage   uint32           `at:"0x008" name:"usage code"`
	count   uint32           `at:"0x00c" name:"ranges"`
	address uint64           `at:"0x010" name:"device address, of unmap"`
	_       uint32           `at:"0x018" name:"flags"`
	surface uint32           `at:"0x01c" name:"surface, instead of ranges"`
	ranges  [maxRanges]Range `at:"0x020" name:"ranges: address, bytes"`
}

var memoryMapIn = describe[memoryMapArgs]("ANEMemoryMapRequestArgs", "direct-path selectors 5 and 6", 2080)

// sessionHintArgs and sessionHintReply are the input and output of direct-path selector 7.
type sessionHintArgs struct {
	token uint64 `at:"0x00" name:"session token"`
	hint  uint32 `at:"0x08" name:"hint"`
	value uint32 `at:"0x0c" name:"value"`
}

type sessionHintReply struct {
	token    uint64 `at:"0x00" name:"session token"`
	hint     uint32 `at:"0x08" name:"hint"`
	value    uint32 `at:"0x0c" name:"value in force"`
	previous uint32 `at:"0x10" name:"value before"`
	depth    uint32 `at:"0x14" name:"actions pending"`
}

var sessionHintIn = describe[sessionHintArgs]("ANESessionHintArgs (input)", "direct-path selector 7", 16)

var sessionHintOut = describe[sessionHintReply]("ANESessionHintArgs (output)", "direct-path selector 7", 24)

// activeArgs selects the active member of a chaining group.
type activeArgs struct {
	chain     uint64 `at:"0x00" name:"chain token"`
	procedure uint32 `at:"0x08" name:"procedure"`
	group     uint32 `at:"0x0c" name:"group"`
	_         uint64 `at:"0x10" name:"reserved"`
	_         uint64 `at:"0x18" name:"reserved"`
}

var activeIn = describe[activeArgs]("ANEProgramChainingSetActiveProcedureArgs", "direct-path selector 8", 32)
