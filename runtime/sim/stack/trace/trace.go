package trace

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Layer is a layer of the stack, from the caller down.
type Layer uint8

// The layers.
const (
	E5RT Layer = iota
	Broker
	Driver
	Loader
	Translation
	Protocol
	Firmware
	Engine

	NumLayers = iota
)

// layers has the names and descriptions of the layers.
var layers = [NumLayers]struct{ name, doc string }{
	{"e5rt", "the runtime that applications call"},
	{"broker", "the daemon that opens the device for them"},
	{"driver", "the kernel driver behind its user clients"},
	{"loader", "loading programs and building their firmware containers"},
	{"translation", "the address-translation unit"},
	{"protocol", "the command rings"},
	{"firmware", "the controller's firmware"},
	{"engine", "the tasks"},
}

// String returns the layer's name.
func (l Layer) String() string {
	if l >= NumLayers {
		return fmt.Sprintf("layer %d", uint8(l))
	}
	return layers[l].name
}

// Doc describes the layer in a phrase.
func (l Layer) Doc() string {
	if l >= NumLayers {
		return ""
	}
	return layers[l].doc
}

// Phase says whether an event is single, or opens or closes a span. Spans of one layer and client nest.
type Phase uint8

// The phases.
const (
	Instant Phase = iota
	Begin
	End
)

// Arg is a named value of an event. Value is a string, a bool, a time.Duration or an integer: a Log gives uint64, int64
// for those below 0.
type Arg struct {
	Key   string
	Value any
}

// Event is one step of a layer.
type Event struct {
	Seq     uint64 // from 1, assigned by the Tracer
	Layer   Layer
	Phase   Phase
	Name    string        // the chapters' name of the call, command or state
	At      time.Duration // virtual time
	Client  uint64        // the client it works for, or 0
	Request uint64        // number among the client's requests, or 0
	Args    []Arg
	Data    []byte // the bytes that crossed a boundary here, if any
	Err     string // why the step failed
}

// Clip returns the event with at most most bytes of Data and, if there were more, their number as the argument "bytes".
func (e Event) Clip(most int) Event {
	if n := len(e.Data); n > most {
		e.Data = e.Data[:most]
		e.Args = append(slices.Clip(e.Args), Arg{"bytes", n})
	}
	return e
}

// Tracer numbers events and passes them to a sink, one at a time. A nil Tracer is disabled.
type Tracer struct {
	mu   sync.Mutex
	seq  uint64
	sink func(Event)
}

// New returns a tracer. The sink must copy an event's Args and Data if it keeps
// them longer than the call.
func New(sink func(Event)) *Tracer { return &Tracer{sink: sink} }

// On reports whether tracing is enabled; callers check it before they build an event.
func (t *Tracer) On() bool { return t != nil }

// Emit passes an event to the sink.
func (t *Tracer) Emit(e Event) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq++
	e.Seq = t.seq
	t.sink(e)
}

// Recording collects events.
type Recording struct {
	Events []Event
	// MaxData bounds the bytes kept of an event's Data; 0 keeps all. If Data is truncated, the event's "bytes" argument
	// has the original length.
	MaxData int
}

// Tracer returns a tracer that appends to the recording. Read Events when the
// work is done.
func (r *Recording) Tracer() *Tracer { return New(r.add) }

func (r *Recording) add(e Event) {
	if e.Args = slices.Clone(e.Args); r.MaxData > 0 {
		e = e.Clip(r.MaxData)
	}
	e.Data = append([]byte(nil), e.Data...)
	r.Events = append(r.Events, e)
}
