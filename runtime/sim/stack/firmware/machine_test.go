package firmware

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// every fires each event in each state and checks that the listed ones lead to the listed states and that all others
// are refused and change nothing.
func every[S, E interface {
	~int
	comparable
	fmt.Stringer
}](t *testing.T, rules []Rule[S, E], want []string, states, events int) {
	t.Helper()
	var listed []string
	for s := range S(states) {
		for e := range E(events) {
			m := NewMachine("test", s, rules)
			i := slices.IndexFunc(rules, func(r Rule[S, E]) bool { return r.From == s && r.On == e })
			err := m.Fire(e)
			var refused *TransitionError
			switch {
			case i >= 0 && (err != nil || m.State() != rules[i].To):
				t.Errorf("%v on %v: %v, %v", s, e, m.State(), err)
			case i < 0 && (!errors.As(err, &refused) || m.State() != s):
				t.Errorf("%v on %v is taken: %v, %v", s, e, m.State(), err)
			}
			if i >= 0 {
				listed = append(listed, fmt.Sprintf("%v %v %v", s, e, rules[i].To))
			}
		}
	}
	slices.Sort(listed)
	slices.Sort(want)
	if !slices.Equal(listed, want) || len(rules) != len(want) {
		t.Errorf("transitions:\n%q\nwant\n%q", listed, want)
	}
}

// TestTaskTransitions checks the five task states and the events that change them.
// Table 29.1.
func TestTaskTransitions(t *testing.T) {
	var names []string
	for s := range TaskState(NumTaskStates) {
		names = append(names, s.String())
	}
	if want := []string{"RUNNABLE", "SUSPENDED", "WAITING", "SEMWAIT", "BLOCKED"}; !slices.Equal(names, want) {
		t.Errorf("states %q", names)
	}
	every(t, TaskRules, []string{
		"WAITING posted RUNNABLE", "RUNNABLE drained WAITING", "RUNNABLE full SEMWAIT", "SEMWAIT room RUNNABLE",
		"RUNNABLE suspend SUSPENDED", "WAITING suspend SUSPENDED", "SUSPENDED resume RUNNABLE",
		"RUNNABLE block BLOCKED", "WAITING block BLOCKED", "BLOCKED unblock RUNNABLE",
		"WAITING wait SEMWAIT", "SEMWAIT signal RUNNABLE",
	}, NumTaskStates, NumTaskEvents)
}

// TestExecLoopTransitions checks every state with every event.
// Table 29.8.
func TestExecLoopTransitions(t *testing.T) {
	for s, want := range []string{"INIT", "RUN", "EXEC", "EXEC-SECURE", "PAUSE"} {
		if got := ExecState(s).String(); got != want {
			t.Errorf("state %d is %s", s, got)
		}
	}
	type to struct {
		state  ExecState
		paused bool
	}
	want := map[[2]int]to{
		{int(ExecInit), int(EventDrain)}:        {ExecRun, false},
		{int(ExecRun), int(EventDispatch)}:      {ExecExec, false},
		{int(ExecExec), int(EventDispatch)}:     {ExecExec, false},
		{int(ExecExec), int(EventDrain)}:        {ExecRun, false},
		{int(ExecRun), int(EventEnterSecure)}:   {ExecSecure, true},
		{int(ExecExec), int(EventEnterSecure)}:  {ExecSecure, true},
		{int(ExecSecure), int(EventDispatch)}:   {ExecSecure, false},
		{int(ExecSecure), int(EventDrain)}:      {ExecSecure, false},
		{int(ExecSecure), int(EventExitSecure)}: {ExecRun, true},
	}
	if len(ExecRules) != len(want) {
		t.Errorf("%d rules, want %d", len(ExecRules), len(want))
	}
	for s := range ExecState(NumExecStates) {
		for e := range ExecEvent(NumExecEvents) {
			paused := false
			var l *ExecLoop
			l = NewExecLoop(func() error { paused = l.State() == ExecPause; return nil })
			l.state = s
			err := l.Post(e)
			w, ok := want[[2]int{int(s), int(e)}]
			var refused *TransitionError
			var broken *InvariantError
			switch {
			case s == ExecPause:
				if !errors.As(err, &broken) || l.Post(EventDrain) != err {
					t.Errorf("PAUSE on %v: %v", e, err)
				}
			case ok && (err != nil || l.State() != w.state || paused != w.paused):
				t.Errorf("%v on %v: %v, paused %v, %v", s, e, l.State(), paused, err)
			case !ok && (!errors.As(err, &refused) || l.State() != s):
				t.Errorf("%v on %v is taken: %v, %v", s, e, l.State(), err)
			}
			if got, want := l.MayTouchHardware(), l.State() == 2 || l.State() == 3; got != want {
				t.Errorf("%v: hardware %v", l.State(), got)
			}
		}
	}
}

// TestEventDuringPauseFaultsTheLoop checks that an event while the engine quiesces faults the loop, and that a queue
// that does not quiesce leaves it in PAUSE.
// Table 29.8.
func TestEventDuringPauseFaultsTheLoop(t *testing.T) {
	var l *ExecLoop
	l = NewExecLoop(func() error { _ = l.Post(EventDispatch); return nil })
	l.state = ExecExec
	var broken *InvariantError
	if err := l.Post(EventEnterSecure); !errors.As(err, &broken) || broken.Event != EventDispatch {
		t.Errorf("%v", err)
	}
	stuck := errors.New("stuck")
	l = NewExecLoop(func() error { return stuck })
	l.state = ExecRun
	if err := l.Post(EventEnterSecure); !errors.Is(err, stuck) || l.State() != ExecPause {
		t.Errorf("%v, %v", l.State(), err)
	}
}

// TestProcessSlotStartsAndStops checks the transitions of a process slot.
func TestProcessSlotStartsAndStops(t *testing.T) {
	every(t, ProcessRules, []string{"idle start running", "running stop idle"}, NumProcessStates, NumProcessEvents)
}
