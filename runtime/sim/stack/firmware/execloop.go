package firmware

import "fmt"

// ExecState is the state of the execution loop (table 29.8).
type ExecState int

// The states. The first four have these numbers in the framework; PAUSE is a transient state between secure phases.
const (
	ExecInit   ExecState = 0 // not armed
	ExecRun    ExecState = 1 // powered and owned, nothing in flight
	ExecExec   ExecState = 2 // work in flight
	ExecSecure ExecState = 3 // in flight, owned by the secure tenant
	ExecPause  ExecState = 4 // quiesced; modelled number

	NumExecStates = 5
)

var execStates = []string{"INIT", "RUN", "EXEC", "EXEC-SECURE", "PAUSE"}

// String names the state.
func (s ExecState) String() string { return word(execStates, int(s)) }

// ExecEvent is one of the four events that drive the execution loop.
type ExecEvent int

// The events.
const (
	EventDispatch ExecEvent = iota // a command was accepted
	EventDrain                     // toward idle: the last request finished
	EventEnterSecure
	EventExitSecure
	NumExecEvents = iota
)

var execEvents = []string{"dispatch", "drain", "enter-secure", "exit-secure"}

// String names the event.
func (e ExecEvent) String() string { return word(execEvents, int(e)) }

// ExecRule is a transition of the execution loop.
type ExecRule struct {
	Rule[ExecState, ExecEvent]
	Pauses bool // the engine is quiesced and the machine passes through PAUSE
}

// ExecRules are the transitions of table 29.8's machine. A state refuses the events it is not listed with; PAUSE
// refuses every event.
var ExecRules = []ExecRule{
	// arming is a move toward idle
	{Rule[ExecState, ExecEvent]{From: ExecInit, On: EventDrain, To: ExecRun, Modelled: true}, false},
	{Rule[ExecState, ExecEvent]{From: ExecRun, On: EventDispatch, To: ExecExec, Modelled: false}, false},
	// another request while one is in flight
	{Rule[ExecState, ExecEvent]{From: ExecExec, On: EventDispatch, To: ExecExec, Modelled: true}, false},
	{Rule[ExecState, ExecEvent]{From: ExecExec, On: EventDrain, To: ExecRun, Modelled: false}, false},
	{Rule[ExecState, ExecEvent]{From: ExecRun, On: EventEnterSecure, To: ExecSecure, Modelled: false}, true},
	{Rule[ExecState, ExecEvent]{From: ExecExec, On: EventEnterSecure, To: ExecSecure, Modelled: false}, true},
	{Rule[ExecState, ExecEvent]{From: ExecSecure, On: EventDispatch, To: ExecSecure, Modelled: true}, false},
	// the phase, not the work, ends the state
	{Rule[ExecState, ExecEvent]{From: ExecSecure, On: EventDrain, To: ExecSecure, Modelled: true}, false},
	{Rule[ExecState, ExecEvent]{From: ExecSecure, On: EventExitSecure, To: ExecRun, Modelled: false}, true},
}

// InvariantError reports a violated assertion of the firmware: a fault, not a refusal.
type InvariantError struct {
	State ExecState
	Event ExecEvent
}

// Error names the state and the event.
func (e *InvariantError) Error() string {
	return fmt.Sprintf("firmware: execution loop: event %s in state %s violates an invariant; the firmware faults",
		e.Event, e.State)
}

// ExecLoop is the control state machine of the execution loop.
type ExecLoop struct {
	state   ExecState
	quiesce func() error
	failed  *InvariantError
}

// NewExecLoop returns a loop in INIT. Quiesce disables the task queues and waits
// for them at a change of the secure phase; it may be nil.
func NewExecLoop(quiesce func() error) *ExecLoop { return &ExecLoop{quiesce: quiesce} }

// State returns the state.
func (l *ExecLoop) State() ExecState { return l.state }

// MayTouchHardware reports whether handlers may write registers or ring a doorbell.
func (l *ExecLoop) MayTouchHardware() bool { return l.state == ExecExec || l.state == ExecSecure }

// Post delivers an event. An event that the state refuses is a *TransitionError. An event in PAUSE is an
// *InvariantError, after which the loop refuses everything. If quiesce fails, the loop stays in PAUSE.
func (l *ExecLoop) Post(e ExecEvent) error {
	if l.failed != nil {
		return l.failed
	}
	if l.state == ExecPause {
		l.failed = &InvariantError{l.state, e}
		return l.failed
	}
	for _, r := range ExecRules {
		if r.From != l.state || r.On != e {
			continue
		}
		if r.Pauses {
			l.state = ExecPause
			if l.quiesce != nil {
				if err := l.quiesce(); err != nil {
					return fmt.Errorf("firmware: execution loop: the engine does not quiesce: %w", err)
				}
			}
			if l.failed != nil { // an event came while it was quiescing
				return l.failed
			}
		}
		l.state = r.To
		return nil
	}
	return &TransitionError{"execution loop", l.state.String(), e.String()}
}
