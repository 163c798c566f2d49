package firmware

// The chapter names the states of a process slot; its events are modelled on what it says happens to one.

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
