package firmware

// The three small machines beside the execution loop. The chapter names their
// states; the events are modelled on what it says happens to each object.

// ProcessState is the state of a process slot.
type ProcessState int

// The states of a process slot.
const (
	ProcessIdle ProcessState = iota
	ProcessRunning
	NumProcessStates = iota
)

// String names the state.
func (s ProcessState) String() string { return word([]string{"idle", "running"}, int(s)) }

// ProcessEvent moves a process slot.
type ProcessEvent int

// The events of a process slot.
const (
	ProcessStart ProcessEvent = iota
	ProcessStop
	NumProcessEvents = iota
)

// String names the event.
func (e ProcessEvent) String() string { return word([]string{"start", "stop"}, int(e)) }

// ProcessRules are the transitions of a process slot.
var ProcessRules = []Rule[ProcessState, ProcessEvent]{
	{From: ProcessIdle, On: ProcessStart, To: ProcessRunning, Modelled: true},
	{From: ProcessRunning, On: ProcessStop, To: ProcessIdle, Modelled: true},
}

// CacheState is the state of a cache request, a resident chain.
type CacheState int

// The states of a cache request.
const (
	CacheAvailable CacheState = iota
	CacheInUse
	CacheInvalidating
	NumCacheStates = iota
)

// String names the state.
func (s CacheState) String() string {
	return word([]string{"available", "in-use", "invalidating"}, int(s))
}

// CacheEvent moves a cache request.
type CacheEvent int

// The events of a cache request.
const (
	CacheInstall    CacheEvent = iota // the host installs a request
	CacheTrigger                      // the host fires it; dropped in any other state than in-use (chapter 30)
	CacheInvalidate                   // the host takes it down
	CacheReleased                     // its last execution is done
	NumCacheEvents  = iota
)

// String names the event.
func (e CacheEvent) String() string {
	return word([]string{"install", "trigger", "invalidate", "released"}, int(e))
}

// CacheRules are the transitions of a cache request: a resident chain goes
// through available, in-use and invalidating.
var CacheRules = []Rule[CacheState, CacheEvent]{
	{From: CacheAvailable, On: CacheInstall, To: CacheInUse, Modelled: false},
	{From: CacheInUse, On: CacheTrigger, To: CacheInUse, Modelled: false},
	{From: CacheInUse, On: CacheInvalidate, To: CacheInvalidating, Modelled: false},
	{From: CacheInvalidating, On: CacheReleased, To: CacheAvailable, Modelled: true},
}

// OutputSetState is the state of a chained output buffer.
type OutputSetState int

// The states of an output set.
const (
	OutputAvailable OutputSetState = iota
	OutputInExecution
	NumOutputSetStates = iota
)

// String names the state.
func (s OutputSetState) String() string {
	return word([]string{"available", "in-execution"}, int(s))
}

// OutputSetEvent moves an output set.
type OutputSetEvent int

// The events of an output set.
const (
	OutputExecute      OutputSetEvent = iota // an execution begins to write it
	OutputRecycle                            // the host gives the consumed buffer back
	NumOutputSetEvents = iota
)

// String names the event.
func (e OutputSetEvent) String() string { return word([]string{"execute", "recycle"}, int(e)) }

// OutputSetRules are the transitions of an output set.
var OutputSetRules = []Rule[OutputSetState, OutputSetEvent]{
	{From: OutputAvailable, On: OutputExecute, To: OutputInExecution, Modelled: false},
	{From: OutputInExecution, On: OutputRecycle, To: OutputAvailable, Modelled: true},
}
