package driver

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/wire"
)

// DispatchStride is the size of an IOExternalMethodDispatch2022 record in bytes
// (listing 27.4).
const DispatchStride = 40

// dispatchRecord is the record of listing 27.4. The flag of the debug work-processor group is in the first of the
// reserved bytes (modelled).
type dispatchRecord struct {
	function  uint64   `at:"0x00" name:"function" src:"listing 27.4"`
	scalarIn  uint32   `at:"0x08" name:"checkScalarInputCount" src:"listing 27.4"`
	structIn  uint32   `at:"0x0c" name:"checkStructureInputSize" src:"listing 27.4"`
	scalarOut uint32   `at:"0x10" name:"checkScalarOutputCount" src:"listing 27.4"`
	structOut uint32   `at:"0x14" name:"checkStructureOutputSize" src:"listing 27.4"`
	reserved  [16]byte `at:"0x18" name:"reserved" src:"listing 27.4"`
}

var dispatchLayout = wire.New[dispatchRecord](DispatchStride)

// Sizes is the exact size tuple of a selector.
type Sizes struct {
	ScalarIn, StructIn, ScalarOut, StructOut uint32 // counts and bytes
}

// Selector is a line of a selector table. The dispatch array is built from these lines.
type Selector struct {
	Handler string
	Sizes   Sizes
	Debug   bool // of the debug work-processor group
}

// ControlSelectors are the selectors of the control client (table 27.2).
var ControlSelectors = []Selector{
	{"ANE_DeviceOpen", Sizes{ScalarIn: 0, StructIn: 104, ScalarOut: 0, StructOut: 104}, false},
	{"ANE_DeviceClose", Sizes{ScalarIn: 0, StructIn: 0, ScalarOut: 0, StructOut: 0}, false},
	{"ANE_ProgramSendRequest", Sizes{ScalarIn: 1, StructIn: 2376, ScalarOut: 0, StructOut: 40}, false},
	{"ANE_ProgramCreate", Sizes{ScalarIn: 0, StructIn: 32, ScalarOut: 0, StructOut: 0}, false},
	{"ANE_ProgramPrepare", Sizes{ScalarIn: 0, StructIn: 56, ScalarOut: 0, StructOut: 56}, false},
	{"ANE_ProgramUnprepare", Sizes{ScalarIn: 0, StructIn: 56, ScalarOut: 0, StructOut: 0}, false},
	{"ANE_ProgramDestroy", Sizes{ScalarIn: 0, StructIn: 16, ScalarOut: 0, StructOut: 0}, false},
	{"ANE_GetStatus", Sizes{ScalarIn: 0, StructIn: 0, ScalarOut: 0, StructOut: 32}, false},
	{"ANE_ProgramCreateInstance", Sizes{ScalarIn: 0, StructIn: 32, ScalarOut: 0, StructOut: 0}, false},
	{"ANE_ProgramChainingPrepare", Sizes{ScalarIn: 0, StructIn: 16, ScalarOut: 0, StructOut: 24}, false},
	{"ANE_GetVersion", Sizes{ScalarIn: 0, StructIn: 0, ScalarOut: 1, StructOut: 0}, false},
	{"ANE_RegisterDebugWorkProcessor", Sizes{ScalarIn: 0, StructIn: 24, ScalarOut: 0, StructOut: 0}, true},
	{"ANE_UnregisterDebugWorkProcessor", Sizes{ScalarIn: 0, StructIn: 0, ScalarOut: 0, StructOut: 0}, true},
	{"ANE_GetDebugWorkProcessorItem", Sizes{ScalarIn: 2, StructIn: 0, ScalarOut: 0, StructOut: 0}, true},
	{"ANE_CompleteDebugWorkProcessorItem", Sizes{ScalarIn: 2, StructIn: 0, ScalarOut: 0, StructOut: 0}, true},
	{"ANE_ReleaseDebugWorkProcessorBuffers", Sizes{ScalarIn: 0, StructIn: 0, ScalarOut: 0, StructOut: 0}, true},
	{"ANE_LoadFirmware", Sizes{ScalarIn: 3, StructIn: 0, ScalarOut: 0, StructOut: 0}, false},
}

// DirectPathSelectors are the selectors of the direct-path client (table 27.4).
var DirectPathSelectors = []Selector{
	{"ANE_DeviceOpen", Sizes{ScalarIn: 0, StructIn: 104, ScalarOut: 0, StructOut: 104}, false},
	{"ANE_DeviceClose", Sizes{ScalarIn: 0, StructIn: 0, ScalarOut: 0, StructOut: 0}, false},
	{"ANE_ProgramSendRequest", Sizes{ScalarIn: 1, StructIn: 2376, ScalarOut: 0, StructOut: 40}, false},
	{"ANE_ProgramOutputSetEnqueue", Sizes{ScalarIn: 0, StructIn: 40, ScalarOut: 0, StructOut: 0}, false},
	{"ANE_ProgramInputsReady", Sizes{ScalarIn: 0, StructIn: 3104, ScalarOut: 0, StructOut: 0}, false},
	{"ANE_MemoryMapRequest", Sizes{ScalarIn: 1, StructIn: 2080, ScalarOut: 1, StructOut: 0}, false},
	{"ANE_MemoryUnMapRequest", Sizes{ScalarIn: 0, StructIn: 2080, ScalarOut: 0, StructOut: 0}, false},
	{"ANE_SessionHintRequest", Sizes{ScalarIn: 0, StructIn: 16, ScalarOut: 0, StructOut: 24}, false},
	{"ANE_ProgramChainingSetActiveProcedure", Sizes{ScalarIn: 0, StructIn: 32, ScalarOut: 0, StructOut: 0}, false},
}

// HintsSelectors are the selectors of the hint-only client. The chapter names the method; its number and its sizes are
// modelled.
var HintsSelectors = []Selector{
	{"setClientHint", Sizes{ScalarIn: 2, StructIn: 0, ScalarOut: 0, StructOut: 0}, false},
}

// The selectors of table 27.2 and 27.4 by number.
const (
	SelDeviceOpen          = 0
	SelDeviceClose         = 1
	SelSendRequest         = 2
	SelProgramCreate       = 3
	SelProgramPrepare      = 4
	SelProgramUnprepare    = 5
	SelProgramDestroy      = 6
	SelGetStatus           = 7
	SelCreateInstance      = 8
	SelChainingPrepare     = 9
	SelGetVersion          = 10
	SelRegisterDebugWP     = 11
	SelUnregisterDebugWP   = 12
	SelGetDebugWPItem      = 13
	SelCompleteDebugWPItem = 14
	SelReleaseDebugWP      = 15
	SelLoadFirmware        = 16

	SelOutputSetEnqueue   = 3
	SelInputsReady        = 4
	SelMemoryMap          = 5
	SelMemoryUnMap        = 6
	SelSessionHint        = 7
	SelSetActiveProcedure = 8
)

// Handler pointers. The address and the authentication code are modelled: the kernel authenticates the pointer when it
// loads it; here the code is compared.
const (
	handlerBase   = 0x0000_7e07_0000
	handlerStride = 0x40
	pointerBits   = 47
)

// sign puts the authentication code into a pointer's high bits.
func sign(p uint64) uint64 { return p | authentication(p)<<pointerBits }

// authenticate removes the code; it returns false if the code is wrong.
func authenticate(p uint64) (uint64, bool) {
	raw := p & (1<<pointerBits - 1)
	return raw, p>>pointerBits == authentication(raw)
}

func authentication(p uint64) uint64 {
	return p * 0x9e37_79b9_7f4a_7c15 >> pointerBits
}

// handler is the function of a selector, and method the function of a selector whose input is a struct.
type (
	handler       func(c *client, a *IOExternalMethodArguments) Return
	method[T any] func(c *client, args *T, a *IOExternalMethodArguments) (Return, error)
)

// structured returns the handler of a selector whose input is a struct and that needs the session of the client.
func structured[T any](in *layout[T], f method[T]) handler {
	return func(c *client, a *IOExternalMethodArguments) Return {
		if _, r := c.session(a); r != Success {
			return r
		}
		var args T
		if err := in.decode(a.StructureInput, &args); err != nil {
			return c.fail(a, BadArgument, err)
		}
		r, err := f(c, &args, a)
		return c.fail(a, r, err)
	}
}

// chaining is structured with the data-chaining gate.
func chaining[T any](in *layout[T], f method[T]) handler {
	return structured(in, func(c *client, args *T, a *IOExternalMethodArguments) (Return, error) {
		if r, err := c.gateChaining(); r != Success {
			return r, err
		}
		return f(c, args, a)
	})
}

// handlers are the functions that records point to, in the order of their
// addresses. Direct-path selectors 0 to 2 point to the control client's.
var handlers = []struct {
	name string
	call handler
}{
	{"ANE_DeviceOpen", (*client).deviceOpen},
	{"ANE_DeviceClose", (*client).deviceClose},
	{"ANE_ProgramSendRequest", (*client).programSendRequest},
	{"ANE_ProgramCreate", structured(&createIn, (*client).programCreate)},
	{"ANE_ProgramPrepare", structured(&prepareStruct, (*client).programPrepare)},
	{"ANE_ProgramUnprepare", structured(&prepareStruct, (*client).programUnprepare)},
	{"ANE_ProgramDestroy", structured(&destroyIn, (*client).programDestroy)},
	{"ANE_GetStatus", (*client).getStatus},
	{"ANE_ProgramCreateInstance", structured(&instanceIn, (*client).programCreateInstance)},
	{"ANE_ProgramChainingPrepare", chaining(&chainingIn, (*client).programChainingPrepare)},
	{"ANE_GetVersion", (*client).getVersion},
	{"ANE_RegisterDebugWorkProcessor", (*client).registerDebugWorkProcessor},
	{"ANE_UnregisterDebugWorkProcessor", (*client).unregisterDebugWorkProcessor},
	{"ANE_GetDebugWorkProcessorItem", (*client).getDebugWorkProcessorItem},
	{"ANE_CompleteDebugWorkProcessorItem", (*client).completeDebugWorkProcessorItem},
	{"ANE_ReleaseDebugWorkProcessorBuffers", (*client).releaseDebugWorkProcessorBuffers},
	{"ANE_LoadFirmware", (*client).loadFirmware},
	{"ANE_ProgramOutputSetEnqueue", chaining(&outputSetIn, (*client).programOutputSetEnqueue)},
	{"ANE_ProgramInputsReady", chaining(&inputsReadyIn, (*client).programInputsReady)},
	{"ANE_MemoryMapRequest", (*client).memoryMapRequest},
	{"ANE_MemoryUnMapRequest", (*client).memoryUnMapRequest},
	{"ANE_SessionHintRequest", structured(&sessionHintIn, (*client).sessionHintRequest)},
	{"ANE_ProgramChainingSetActiveProcedure", chaining(&activeIn, (*client).programChainingSetActiveProcedure)},
	{"setClientHint", (*client).setClientHint},
}

// EncodeDispatch builds the dispatch array of a selector table. A missing handler is a null pointer.
func EncodeDispatch(table []Selector) []byte {
	out := make([]byte, 0, DispatchStride*len(table))
	for _, s := range table {
		r := dispatchRecord{scalarIn: s.Sizes.ScalarIn, structIn: s.Sizes.StructIn, scalarOut: s.Sizes.ScalarOut,
			structOut: s.Sizes.StructOut}
		if i := slices.Index(handlerNames, s.Handler); i >= 0 {
			r.function = sign(handlerBase + uint64(i)*handlerStride)
		}
		if s.Debug {
			r.reserved[0] = 1
		}
		out = dispatchLayout.Append(out, &r)
	}
	return out
}

// DispatchRecord is a decoded record.
type DispatchRecord struct {
	Function uint64 // with its authentication code
	Handler  int    // index of the function; -1 for an invalid pointer
	Sizes    Sizes
	Debug    bool
}

// DecodeDispatch reads the record of a selector from an array.
func DecodeDispatch(array []byte, selector uint32) (DispatchRecord, error) {
	if uint64(selector) >= uint64(len(array)/DispatchStride) {
		return DispatchRecord{}, fmt.Errorf("driver: selector %d: the array has records 0 to %d", selector,
			len(array)/DispatchStride-1)
	}
	var x dispatchRecord
	dispatchLayout.Decode(array[int(selector)*DispatchStride:], &x)
	r := DispatchRecord{
		Function: x.function,
		Handler:  -1,
		Sizes:    Sizes{ScalarIn: x.scalarIn, StructIn: x.structIn, ScalarOut: x.scalarOut, StructOut: x.structOut},
		Debug:    x.reserved[0] != 0,
	}
	if p, ok := authenticate(r.Function); ok && p >= handlerBase && (p-handlerBase)%handlerStride == 0 {
		if i := (p - handlerBase) / handlerStride; i < uint64(len(handlerNames)) {
			r.Handler = int(i)
		}
	}
	return r, nil
}

// handlerNames are the names of the handlers: the arrays are initialised before the handlers table, which refers to
// them.
var handlerNames = func() (names []string) {
	for _, s := range slices.Concat(ControlSelectors, DirectPathSelectors, HintsSelectors) {
		if !slices.Contains(names, s.Handler) {
			names = append(names, s.Handler)
		}
	}
	return names
}()

// The arrays, in read-only data: _sANEDriverClientMethods at 17 records and _sANEDriverDirectPathClientMethods at 9
// (listing 27.3), and the array of the hints.
var (
	sANEDriverClientMethods           = EncodeDispatch(ControlSelectors)
	sANEDriverDirectPathClientMethods = EncodeDispatch(DirectPathSelectors)
	sANEClientHintsMethods            = EncodeDispatch(HintsSelectors)
)

// ClientType is a line of ClientTypes.
type ClientType struct {
	Type     uint32
	Class    string
	Role     string
	Methods  []byte // dispatch array
	Count    uint32 // records that the class passes to the dispatcher
	Symbol   string // of the array
	NeedsKey bool   // the hard gate applies
}

// ClientTypes lists what ANEHWDevice::newUserClient vends (listing 27.1). The
// type numbers are modelled.
var ClientTypes = []ClientType{
	{Type: ControlClient, Class: "H11ANEInUserClient",
		Role: "control client: program lifecycle and the inference hot path", Methods: sANEDriverClientMethods,
		Count: 0x11, Symbol: "_sANEDriverClientMethods", NeedsKey: true},
	{Type: DirectPathClient, Class: "H11ANEInDirectPathClient", Role: "direct path: enqueue, memory-map, session-hint",
		Methods: sANEDriverDirectPathClientMethods, Count: 0x9, Symbol: "_sANEDriverDirectPathClientMethods",
		NeedsKey: true},
	{Type: HintsClient, Class: "ANEClientHints", Role: "scheduling-hint client (setClientHint)",
		Methods: sANEClientHintsMethods, Count: 1, Symbol: "_sANEClientHintsMethods", NeedsKey: false},
}

// HandlerName returns the name of a record's handler.
func HandlerName(i int) string {
	if i < 0 || i >= len(handlerNames) {
		return "none"
	}
	return handlerNames[i]
}

// checks compares a call with its record.
func (s Sizes) check(a *IOExternalMethodArguments) bool {
	return uint64(len(a.ScalarInput)) == uint64(s.ScalarIn) && uint64(len(a.StructureInput)) == uint64(s.StructIn) &&
		uint64(len(a.ScalarOutput)) == uint64(s.ScalarOut) && uint64(len(a.StructureOutput)) == uint64(s.StructOut)
}
