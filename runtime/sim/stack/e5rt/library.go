package e5rt

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/runtime/sim"
)

// ProgramLibrary is a compiled model.
type ProgramLibrary struct {
	rt      *Runtime
	id      uint64
	machine *sim.Machine
}

// NewProgramLibrary is e5rt_program_library_create: a library of a compiled model that has been opened. A container
// without a descriptor is refused.
func (rt *Runtime) NewProgramLibrary(m *sim.Machine) (*ProgramLibrary, error) {
	object := word("program library")
	if m.Pair().Alone() {
		return nil, rt.refuse(callLibraryCreate, object, ErrArgument, "the container has no descriptor",
			"open the container together with its descriptor")
	}
	l := rt.library(m)
	return l, rt.called(callLibraryCreate, l, nil)
}

func (rt *Runtime) library(m *sim.Machine) *ProgramLibrary {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return &ProgramLibrary{rt: rt, id: rt.id("library"), machine: m}
}

// String names the library.
func (l *ProgramLibrary) String() string { return fmt.Sprintf("program library %d", l.id) }

// Machine returns the compiled model. It describes the functions and their ports.
func (l *ProgramLibrary) Machine() *sim.Machine { return l.machine }

// FunctionNames is e5rt_program_library_get_function_names: every function, and every other configuration of its
// shapes.
func (l *ProgramLibrary) FunctionNames() []string {
	var names []string
	for _, f := range l.machine.Functions() {
		names = append(names, l.machine.Configurations(f)...)
	}
	return names
}

// RetainProgramFunction is e5rt_program_library_retain_program_function.
func (l *ProgramLibrary) RetainProgramFunction(name string) (*ProgramFunction, error) {
	names := l.FunctionNames()
	if !slices.Contains(names, name) {
		return nil, l.rt.refuse(callRetainFunction, l, ErrArgument, fmt.Sprintf("no function %q", name),
			"it has "+strings.Join(names, ", "))
	}
	l.rt.mu.Lock()
	f := &ProgramFunction{lib: l, id: l.rt.id("function"), name: name}
	l.rt.mu.Unlock()
	return f, l.rt.called(callRetainFunction, f, nil)
}

// ProgramFunction is one function of a library.
type ProgramFunction struct {
	lib  *ProgramLibrary
	id   uint64
	name string

	// Under the runtime's lock.
	state      functionState
	dispatcher sim.Dispatcher // nil: the engine's simulator, driven directly
	closer     io.Closer      // nil: nothing to close
	encoded    int            // operations encoded on a stream
}

type functionState uint8

const (
	retained functionState = iota
	loading
	loaded
	released
)

// String names the function.
func (f *ProgramFunction) String() string {
	return fmt.Sprintf("program function %d (%q)", f.id, f.name)
}

// Name returns the name of the function or of its configuration.
func (f *ProgramFunction) Name() string { return f.name }

// LoadForExecution is e5rt_program_function_load_for_execution: the container of the
// function becomes resident on the engine. It is called once.
func (f *ProgramFunction) LoadForExecution(ctx context.Context) error {
	rt := f.lib.rt
	rt.mu.Lock()
	state := f.state
	if state == retained {
		f.state = loading
	}
	rt.mu.Unlock()
	switch state {
	case released:
		return rt.refuse(callLoad, f, ErrOrder, "it has been released", "retain it from its library again")
	case loading, loaded:
		return rt.refuse(callLoad, f, ErrOrder, "it is already loaded", "load it once, before the loop")
	}
	var d sim.Dispatcher
	var c io.Closer
	err := error(nil)
	if rt.o.Engine != nil && len(f.lib.machine.Procedures(f.name)) > 0 {
		d, c, err = rt.o.Engine.Open(ctx, f.lib.machine.Pair().Container, f.lib.machine.Stateful(f.name))
	}
	rt.mu.Lock()
	f.state, f.dispatcher, f.closer = loaded, d, c
	if err != nil {
		f.state = retained
	}
	rt.mu.Unlock()
	if err != nil {
		return rt.refuse(callLoad, f, err, "", "")
	}
	return rt.called(callLoad, f, nil)
}

// Release is e5rt_program_function_release: the function is removed from the engine. None of its operations may be
// encoded.
func (f *ProgramFunction) Release() error {
	rt := f.lib.rt
	rt.mu.Lock()
	err := error(nil)
	switch {
	case f.state == released:
		err = refused(callFunctionRelease, f, ErrOrder, "it has been released", "release it once")
	case f.state == loading:
		err = refused(callFunctionRelease, f, ErrInFlight, "it is being loaded", "wait for "+callLoad)
	case f.encoded > 0:
		err = refused(callFunctionRelease, f, ErrInFlight, fmt.Sprintf("%d of its operations are encoded", f.encoded),
			"reset their streams with "+callReset)
	default:
		f.state = released
	}
	rt.mu.Unlock()
	if err != nil {
		return rt.called(callFunctionRelease, f, err)
	}
	if f.closer != nil {
		if err := f.closer.Close(); err != nil {
			return rt.refuse(callFunctionRelease, f, err, "", "")
		}
	}
	return rt.called(callFunctionRelease, f, nil)
}
