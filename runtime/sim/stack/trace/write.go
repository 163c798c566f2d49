package trace

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/zinc-compiler/zinc/internal/chrometrace"
)

// Chrome writes events in the Chrome trace format as they come: one process per client, one thread per layer.
type Chrome struct {
	out   *chrometrace.Writer
	named map[uint64]bool
}

// NewChrome begins a file. Other is its "otherData".
func NewChrome(w io.Writer, other any) *Chrome {
	return &Chrome{chrometrace.New(w, other), map[uint64]bool{}}
}

// Add writes an event.
func (c *Chrome) Add(e Event) {
	if !c.named[e.Client] {
		c.named[e.Client] = true
		name := "device"
		if e.Client != 0 {
			name = fmt.Sprintf("client %d", e.Client)
		}
		c.out.Process(e.Client, name)
		for l := range Layer(NumLayers) {
			c.out.Thread(e.Client, int(l), l.String())
		}
	}
	c.out.Event(chromeEvent(&e))
}

// Close ends the file and returns the first error of writing it.
func (c *Chrome) Close() error { return c.out.Close() }

// WriteChrome writes a file of events.
func WriteChrome(w io.Writer, events []Event, other any) error {
	c := NewChrome(w, other)
	for _, e := range events {
		c.Add(e)
	}
	return c.Close()
}

func chromeEvent(e *Event) chrometrace.Event {
	c := chrometrace.Event{
		Name: e.Name,
		Cat:  e.Layer.String(),
		TS:   float64(e.At) / float64(time.Microsecond),
		PID:  e.Client,
		TID:  int(e.Layer),
	}
	switch e.Phase {
	case Begin:
		c.Phase = chrometrace.Begin
	case End:
		c.Phase = chrometrace.End
	default:
		c.Phase, c.Scope = chrometrace.Instant, "t"
	}
	c.Args = map[string]any{"seq": e.Seq}
	if e.Request != 0 {
		c.Args["request"] = e.Request
	}
	for _, a := range e.Args {
		c.Args[a.Key] = value(a.Value)
	}
	if len(e.Data) > 0 {
		c.Args["data"] = hex.EncodeToString(e.Data)
	}
	if e.Err != "" {
		c.Args["error"] = e.Err
	}
	return c
}

// value returns an argument as both formats print it.
func value(v any) any {
	if d, ok := v.(time.Duration); ok {
		return d.String()
	}
	return v
}

// textBytes is the number of bytes of an event's data on a line of text.
const textBytes = 16

// WriteText writes events as text, one line per step, with spans indented by layer and, if bytes is set, the data below
// each line.
func WriteText(w io.Writer, events []Event, bytes bool) error {
	b := bufio.NewWriter(w)
	for _, e := range events {
		mark := " "
		switch e.Phase {
		case Begin:
			mark = ">"
		case End:
			mark = "<"
		}
		fmt.Fprintf(b, "%5d %10.1f us  %-11s %s%s %s", e.Seq, float64(e.At)/float64(time.Microsecond), e.Layer,
			strings.Repeat("  ", int(e.Layer)), mark, e.Name)
		for _, a := range e.Args {
			fmt.Fprintf(b, " %s=%v", a.Key, value(a.Value))
		}
		if e.Err != "" {
			fmt.Fprintf(b, ": %s", e.Err)
		}
		fmt.Fprintln(b)
		if !bytes {
			continue
		}
		for at := 0; at < len(e.Data); at += textBytes {
			line := e.Data[at:min(at+textBytes, len(e.Data))]
			fmt.Fprintf(b, "      %06x  % x\n", at, line)
		}
	}
	return b.Flush()
}
