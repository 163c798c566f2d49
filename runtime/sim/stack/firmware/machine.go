package firmware

import "fmt"

// Rule is one transition of a state machine.
type Rule[S, E comparable] struct {
	From S
	On   E
	To   S
	// Modelled marks a transition that the chapter does not state explicitly.
	Modelled bool
}

// TransitionError reports an event that the state does not accept.
type TransitionError struct {
	Machine, State, Event string
}

// Error names the machine, the state and the event.
func (e *TransitionError) Error() string {
	return fmt.Sprintf("firmware: %s machine in state %s does not accept event %s", e.Machine, e.State, e.Event)
}

// Machine is a table-driven state machine for one goroutine.
type Machine[S, E interface {
	comparable
	fmt.Stringer
}] struct {
	name  string
	state S
	rules []Rule[S, E]
}

// NewMachine returns a machine in its start state.
func NewMachine[S, E interface {
	comparable
	fmt.Stringer
}](name string, start S, rules []Rule[S, E]) *Machine[S, E] {
	return &Machine[S, E]{name, start, rules}
}

// State returns the state.
func (m *Machine[S, E]) State() S { return m.state }

// Fire delivers an event. An event that the state does not list returns a *TransitionError and does not change the
// state.
func (m *Machine[S, E]) Fire(e E) error {
	for _, r := range m.rules {
		if r.From == m.state && r.On == e {
			m.state = r.To
			return nil
		}
	}
	return &TransitionError{m.name, m.state.String(), e.String()}
}

// word returns the name of a number, or the number itself if it has none.
func word(list []string, i int) string {
	if i >= 0 && i < len(list) {
		return list[i]
	}
	return fmt.Sprint(i)
}

// TaskState is the scheduler's state of a task (table 29.1).
type TaskState int

// The five states.
const (
	Runnable  TaskState = iota // ready or running
	Suspended                  // by request
	Waiting                    // for its message queue
	SemWait                    // for a semaphore: room in a full queue, or an answer
	Blocked
	NumTaskStates = iota
)

var taskStates = []string{"RUNNABLE", "SUSPENDED", "WAITING", "SEMWAIT", "BLOCKED"}

// String returns the state as a task list prints it.
func (s TaskState) String() string { return word(taskStates, int(s)) }

// TaskEvent is an event that changes a task's state.
type TaskEvent int

// The events of a task.
const (
	TaskPosted  TaskEvent = iota // a message came
	TaskDrained                  // both queues are empty
	TaskFull                     // a send found its queue full
	TaskRoom                     // that queue has room, and the message was sent
	TaskSuspend
	TaskResume
	TaskBlock
	TaskUnblock
	TaskWait      // for the semaphore of an answer
	TaskSignal    // the answer came
	NumTaskEvents = iota
)

var taskEvents = []string{"posted", "drained", "full", "room", "suspend", "resume", "block", "unblock", "wait",
	"signal"}

// String names the event.
func (e TaskEvent) String() string { return word(taskEvents, int(e)) }

// TaskRules are the transitions between the states of table 29.1. The chapter lists only the states.
var TaskRules = []Rule[TaskState, TaskEvent]{
	{From: Waiting, On: TaskPosted, To: Runnable, Modelled: true},
	{From: Runnable, On: TaskDrained, To: Waiting, Modelled: true},
	{From: Runnable, On: TaskFull, To: SemWait, Modelled: true},
	{From: SemWait, On: TaskRoom, To: Runnable, Modelled: true},
	{From: Runnable, On: TaskSuspend, To: Suspended, Modelled: true},
	{From: Waiting, On: TaskSuspend, To: Suspended, Modelled: true},
	{From: Suspended, On: TaskResume, To: Runnable, Modelled: true},
	{From: Runnable, On: TaskBlock, To: Blocked, Modelled: true},
	{From: Waiting, On: TaskBlock, To: Blocked, Modelled: true},
	{From: Blocked, On: TaskUnblock, To: Runnable, Modelled: true},
	{From: Waiting, On: TaskWait, To: SemWait, Modelled: true},
	{From: SemWait, On: TaskSignal, To: Runnable, Modelled: true},
}
