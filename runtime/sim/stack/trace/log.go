package trace

import "time"

// Log traces the steps of a layer. While tracing is off its methods do nothing, and no argument of theirs needs memory.
type Log struct {
	*Tracer
	Layer Layer
	Now   func() time.Duration
}

// In returns the log of another layer.
func (l Log) In(layer Layer) Log { return Log{l.Tracer, layer, l.Now} }

// Note traces a step that takes no time, for a request of a client, both 0 for none.
func (l Log) Note(name string, client, request uint64, values ...Value) {
	if l.On() {
		l.emit(Event{Name: name, Client: client, Request: request}, values)
	}
}

// Step begins a step. The same statement defers the call that ends it:
//
//	defer l.Step("ANE_Init", 0, 0).End(&err)
func (l Log) Step(name string, client, request uint64, values ...Value) Step {
	if !l.On() {
		return Step{}
	}
	l.emit(Event{Name: name, Client: client, Request: request, Phase: Begin}, values)
	return Step{log: l, name: name, client: client, request: request}
}

// Step is a step that is in the trace from its beginning to its end.
type Step struct {
	log             Log // without a Tracer while tracing is off
	name            string
	client, request uint64
}

// End ends the step, which failed if err has an error.
func (s Step) End(err *error, values ...Value) {
	if s.log.On() {
		s.log.emit(Event{Name: s.name, Client: s.client, Request: s.request, Phase: End}, append(values, Failure(*err)))
	}
}

func (l Log) emit(e Event, values []Value) {
	e.Layer, e.At = l.Layer, l.Now()
	for i := range values {
		values[i].add(&e)
	}
	l.Emit(e)
}

// Value is a part of an event: an argument, its data, or its error.
type Value struct {
	key    string
	kind   valueKind
	number uint64
	text   string
	data   []byte
	err    error
}

type valueKind uint8

const (
	unsigned valueKind = iota
	signed
	boolean
	text
	data
	failure
)

// Number returns an argument that is an integer.
func Number[T ~int | ~int64 | ~uint8 | ~uint32 | ~uint64 | ~int8 | ~int16 | ~int32 | ~uint16](key string, x T) Value {
	if x < 0 {
		return Value{key: key, kind: signed, number: uint64(x)}
	}
	return Value{key: key, number: uint64(x)}
}

// Bool returns an argument that is true or false.
func Bool(key string, x bool) Value {
	v := Value{key: key, kind: boolean}
	if x {
		v.number = 1
	}
	return v
}

// Text returns an argument that is a string.
func Text(key, s string) Value { return Value{key: key, kind: text, text: s} }

// Data returns the bytes that cross a boundary.
func Data(b []byte) Value { return Value{kind: data, data: b} }

// Failure returns why a step failed; nil if it did not.
func Failure(err error) Value { return Value{kind: failure, err: err} }

// add adds the value to an event.
func (v *Value) add(e *Event) {
	var x any
	switch v.kind {
	case data:
		e.Data = v.data
		return
	case failure:
		if v.err != nil {
			e.Err = v.err.Error()
		}
		return
	case signed:
		x = int64(v.number)
	case boolean:
		x = v.number == 1
	case text:
		x = v.text
	default:
		x = v.number
	}
	e.Args = append(e.Args, Arg{v.key, x})
}
