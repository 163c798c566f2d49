package chrometrace

import (
	"bufio"
	"encoding/json"
	"io"
)

// Phases of events.
const (
	Begin    = "B"
	End      = "E"
	Complete = "X" // has a duration
	Instant  = "i"
	metadata = "M"
)

// Event is one event. Times are microseconds.
type Event struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	Scope string         `json:"s,omitempty"` // of an instant
	TS    float64        `json:"ts"`
	Dur   float64        `json:"dur,omitempty"` // of a complete event
	PID   uint64         `json:"pid"`
	TID   int            `json:"tid"`
	Args  map[string]any `json:"args,omitempty"` // encoding/json sorts the keys
}

// Writer writes a trace event by event.
type Writer struct {
	b   *bufio.Writer
	sep string
	err error
}

// New returns a Writer and writes the start of the file. Other is the file's "otherData".
func New(w io.Writer, other any) *Writer {
	t := &Writer{b: bufio.NewWriter(w), sep: "\n"}
	t.b.WriteString(`{"displayTimeUnit":"ns","otherData":`)
	t.put(other)
	t.b.WriteString(`,"traceEvents":[`)
	return t
}

func (t *Writer) put(v any) {
	j, err := json.Marshal(v)
	if err != nil && t.err == nil {
		t.err = err
	}
	t.b.Write(j)
}

// Event writes an event.
func (t *Writer) Event(e Event) {
	t.b.WriteString(t.sep)
	t.sep = ",\n"
	t.put(e)
}

// Process names a process.
func (t *Writer) Process(pid uint64, name string) {
	t.Event(Event{Name: "process_name", Phase: metadata, PID: pid, Args: map[string]any{"name": name}})
}

// Thread names a thread of a process and places it among the others.
func (t *Writer) Thread(pid uint64, tid int, name string) {
	t.Event(Event{Name: "thread_name", Phase: metadata, PID: pid, TID: tid, Args: map[string]any{"name": name}})
	t.Event(Event{
		Name: "thread_sort_index", Phase: metadata, PID: pid, TID: tid,
		Args: map[string]any{"sort_index": tid},
	})
}

// Close ends the file and returns the first error.
func (t *Writer) Close() error {
	t.b.WriteString("\n]}\n")
	if err := t.b.Flush(); t.err == nil {
		t.err = err
	}
	return t.err
}
