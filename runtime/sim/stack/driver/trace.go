package driver

import "github.com/zinc-compiler/zinc/runtime/sim/stack/trace"

// arg is an argument of a traced step: a number or a bool. Unlike a trace.Arg, it needs no memory while tracing is off.
type arg struct {
	key    string
	number uint64
	isBool bool
}

func uintArg(key string, x uint64) arg { return arg{key: key, number: x} }

func boolArg(key string, x bool) arg { return arg{key: key, number: uint64(word(x)), isBool: true} }

// step is a step of the driver that is in the trace from its beginning to its end.
type step struct {
	d               *Device // nil while tracing is off
	name            string
	client, request uint64
}

// step begins a step for a request of a client, both 0 for none. The same statement defers the call that ends it:
//
//	defer d.step("ANE_Init", 0, 0).end(&err)
func (d *Device) step(name string, client, request uint64, args ...arg) step {
	if !d.trace.On() {
		return step{}
	}
	d.emit(trace.Event{Phase: trace.Begin, Name: name, Client: client, Request: request, Args: values(args)})
	return step{d: d, name: name, client: client, request: request}
}

// end ends the step, which failed if err has an error.
func (s step) end(err *error) {
	if s.d == nil {
		return
	}
	e := trace.Event{Phase: trace.End, Name: s.name, Client: s.client, Request: s.request}
	if *err != nil {
		e.Err = (*err).Error()
	}
	s.d.emit(e)
}

// note traces a step that takes no time.
func (d *Device) note(name string, client, request uint64, args ...arg) {
	if d.trace.On() {
		d.emit(trace.Event{Name: name, Client: client, Request: request, Args: values(args)})
	}
}

func values(args []arg) (out []trace.Arg) {
	for _, a := range args {
		if a.isBool {
			out = append(out, trace.Arg{Key: a.key, Value: a.number == 1})
		} else {
			out = append(out, trace.Arg{Key: a.key, Value: a.number})
		}
	}
	return out
}
