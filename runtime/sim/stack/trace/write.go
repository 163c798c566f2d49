package trace

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// chromeEvent is one event of the Chrome trace format. Times are microseconds.
type chromeEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Ph    string         `json:"ph"`
	Scope string         `json:"s,omitempty"`
	TS    float64        `json:"ts"`
	PID   uint64         `json:"pid"`
	TID   int            `json:"tid"`
	Args  map[string]any `json:"args,omitempty"` // encoding/json sorts the keys
}

// WriteChrome writes events in the Chrome trace format: one process per client, one thread per layer. Other is the
// file's "otherData".
func WriteChrome(w io.Writer, events []Event, other any) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, `{"displayTimeUnit":"ns","otherData":`)
	o, err := json.Marshal(other)
	if err != nil {
		return err
	}
	b.Write(o)
	fmt.Fprint(b, `,"traceEvents":[`)
	sep := "\n"
	put := func(e chromeEvent) error {
		j, err := json.Marshal(e)
		if err != nil {
			return err
		}
		b.WriteString(sep)
		b.Write(j)
		sep = ",\n"
		return nil
	}
	named := map[uint64]bool{}
	for _, e := range events {
		if !named[e.Client] {
			named[e.Client] = true
			name := "device"
			if e.Client != 0 {
				name = fmt.Sprintf("client %d", e.Client)
			}
			if err := put(chromeEvent{
				Name: "process_name",
				Ph:   "M",
				PID:  e.Client,
				Args: map[string]any{"name": name},
			}); err != nil {
				return err
			}
			for l := range Layer(NumLayers) {
				if err := put(chromeEvent{
					Name: "thread_name",
					Ph:   "M",
					PID:  e.Client,
					TID:  int(l),
					Args: map[string]any{"name": l.String()},
				}); err != nil {
					return err
				}
				if err := put(chromeEvent{
					Name: "thread_sort_index",
					Ph:   "M",
					PID:  e.Client,
					TID:  int(l),
					Args: map[string]any{"sort_index": int(l)},
				}); err != nil {
					return err
				}
			}
		}
		c := chromeEvent{
			Name: e.Name,
			Cat:  e.Layer.String(),
			TS:   float64(e.At) / float64(time.Microsecond),
			PID:  e.Client,
			TID:  int(e.Layer),
		}
		switch e.Phase {
		case Begin:
			c.Ph = "B"
		case End:
			c.Ph = "E"
		default:
			c.Ph, c.Scope = "i", "t"
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
		if err := put(c); err != nil {
			return err
		}
	}
	fmt.Fprint(b, "\n]}\n")
	return b.Flush()
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
