package coprocessor

import (
	"fmt"
	"strconv"
	"time"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

func itoa(n int) string { return strconv.Itoa(n) }

// emit sends an event with the device's time.
func (d *Device) emit(e trace.Event) {
	if t := d.cfg.Trace; t.On() {
		e.At = d.cfg.Clock.Now()
		t.Emit(e)
	}
}

func (b *boot) emit(e trace.Event) { b.d.emit(e) }
func (b *boot) now() time.Duration { return b.d.cfg.Clock.Now() }
func (b *boot) tracing() bool      { return b.d.cfg.Trace.On() || b.printing() }
func (b *boot) printing() bool     { return b.settings.printing && b.d.cfg.Terminal != nil }

// printf writes a line of the firmware's log.
func (b *boot) printf(format string, args ...any) {
	if b.printing() {
		b.d.cfg.Terminal(fmt.Sprintf(format, args...))
	}
}

// warn logs a fault that does not stop the firmware.
func (b *boot) warn(what string) {
	b.printf("warning: %s", what)
	b.emit(trace.Event{Layer: trace.Firmware, Name: "warning", Args: []trace.Arg{{Key: "what", Value: what}}})
}

func (b *boot) instant(name, key string, v uint64) {
	if b.d.cfg.Trace.On() {
		b.emit(trace.Event{Layer: trace.Firmware, Name: name, Args: []trace.Arg{{Key: key, Value: v}}})
	}
}

// span opens or closes a call's execution in the trace.
func (b *boot) span(p trace.Phase, j *job) {
	if !b.d.cfg.Trace.On() {
		return
	}
	e := trace.Event{
		Layer:   trace.Firmware,
		Phase:   p,
		Name:    "EXEC",
		Client:  uint64(j.key.UserID),
		Request: uint64(j.key.JobID),
	}
	if p == trace.Begin {
		e.Args = []trace.Arg{{Key: "procedure", Value: j.proc.name}, {Key: "priority", Value: uint64(j.key.Priority)},
			{Key: "network", Value: j.program.network}}
	} else if j.err != nil {
		e.Err = j.err.Error()
	}
	b.emit(e)
}

// traceMessage traces a message that the firmware took.
func (b *boot) traceMessage(d *protocol.Delivery) {
	if !b.tracing() {
		return
	}
	name := "unknown command"
	if d.Row != nil {
		name = "CSNE_CMD_" + d.Row.Name
		b.printf("%s", d.Row)
	}
	var job uint64
	if len(d.Calls) > 0 {
		job = uint64(d.Calls[0].JobID)
	}
	b.emit(trace.Event{Layer: trace.Protocol, Name: name, Client: b.clientOf(d.Header), Request: job, Data: d.Bytes,
		Args: []trace.Arg{
			{Key: "outcome", Value: d.Outcome.String()}, {Key: "programId", Value: int(d.Header.ProgramID)},
			{Key: "processId", Value: int(d.Header.ProcessID)},
			{Key: "procedureId", Value: uint64(d.Header.ProcedureID)},
			{Key: "priority", Value: uint64(d.Header.Priority)},
		}})
}

// clientOf returns the client of a header, or 0.
func (b *boot) clientOf(h protocol.Header) uint64 {
	if p, err := b.table.process(h); err == nil {
		return uint64(p.user)
	}
	return 0
}

// logCall logs a call that the loop accepts, by class (listing 29.2).
func (b *boot) logCall(d *protocol.Delivery, h protocol.Header, c *protocol.ProcedureCall) {
	class, line := "[PROC CALL]", ""
	switch {
	case d.Row.ID == protocol.IDCacheTrigger:
		class, line = "[CR TRIGGER]", fmt.Sprintf("cacheHandler 0x%x", d.Request.Handler)
	case len(c.Waits)+len(c.Signals) > 0:
		class = "[PROC CALL WITH EVENTS]"
	case len(c.Bars) > 0:
		class = "[PROC CALL WITH BARS]"
	}
	if line == "" {
		line = fmt.Sprintf("ProgId=%d ProcId=%d Proc=%d Pri=%d", h.ProgramID, h.ProcessID, h.ProcedureID, h.Priority)
	}
	b.printf("%s %s", class, line)
	b.printf("%s", c.Log(h.Priority))
	for i := range c.Bars {
		b.printf("%s", c.Bars[i].Log(i))
	}
	for i := range c.Waits {
		b.printf("%s", c.Waits[i].Log("waitEvent", i))
	}
	for i := range c.Signals {
		b.printf("%s", c.Signals[i].Log("signalEvent", i))
	}
	b.emit(trace.Event{
		Layer:   trace.Firmware,
		Name:    class,
		Client:  b.clientOf(h),
		Request: uint64(c.JobID),
		Args:    []trace.Arg{{Key: "line", Value: line}, {Key: "shape", Value: c.Log(h.Priority)}},
	})
}

// traceSubPacket traces a sub-packet that an inference call is expanded to.
func (b *boot) traceSubPacket(h protocol.Header, i, n int) {
	if b.d.cfg.Trace.On() {
		b.emit(trace.Event{
			Layer:  trace.Firmware,
			Name:   "CANE_SUB_PACKET_CMD_PROCEDURE_CALL",
			Client: b.clientOf(h),
			Args: []trace.Arg{{Key: "packet", Value: i + 1}, {Key: "of", Value: n},
				{Key: "procedureId", Value: uint64(h.ProcedureID)}},
		})
	}
}

// traceSubmit traces a submission to a hardware queue, with its register block.
func (b *boot) traceSubmit(s *firmware.Submission, j *job) {
	if !b.d.cfg.Trace.On() {
		return
	}
	data := make([]byte, 0, 4*len(s.Block))
	for _, w := range s.Block {
		data = append(data, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	b.emit(trace.Event{Layer: trace.Firmware, Name: "submit doorbell", Client: uint64(j.key.UserID),
		Request: uint64(j.key.JobID), Data: data, Args: []trace.Arg{
			{Key: "queue", Value: s.Queue}, {Key: "priority", Value: s.Priority}, {Key: "network", Value: s.Network},
			{Key: "tasks", Value: int(s.Count)},
		}})
}

// traceNote traces an outgoing notification.
func (b *boot) traceNote(row *protocol.Row, h protocol.Header, values []uint64, err error) {
	e := trace.Event{Layer: trace.Protocol, Name: "CSNE_CMD_" + row.Name, Client: b.clientOf(h)}
	for i, f := range row.Request.Fields {
		if i < len(values) {
			e.Args = append(e.Args, trace.Arg{Key: f.Name, Value: values[i]})
			if f.Name == "jobId" {
				e.Request = values[i]
			}
		}
	}
	if m, e2 := protocol.New(Numbering, row, h, &protocol.Record{Layout: row.Request, Values: values}); e2 == nil {
		e.Data = m.Bytes()
	}
	if err != nil {
		e.Err = err.Error()
	}
	b.emit(e)
}

// traceFailure traces a message that failed.
func (b *boot) traceFailure(s Status, err error) {
	if b.tracing() {
		b.printf("%s: %v", s, err)
		b.emit(trace.Event{
			Layer: trace.Firmware,
			Name:  s.String(),
			Err:   err.Error(),
			Args:  []trace.Arg{{Key: "disposition", Value: Statuses[min(s, NumStatuses-1)].Disposition.String()}},
		})
	}
}

// injectedNote traces a fault of the injector.
func (b *boot) injectedNote(f inject.Fault, where string) {
	if b.d.cfg.Trace.On() {
		b.emit(trace.Event{
			Layer: trace.Firmware,
			Name:  "injected " + f.Kind.String(),
			Args:  []trace.Arg{{Key: "where", Value: where}, {Key: "value", Value: f.Value}},
		})
	}
}

// engineTrace returns a function that traces and reports each task of the engine, or nil if nothing is to be informed.
func (d *Device) engineTrace() func(engine.Event) {
	if d.cfg.Trace == nil && d.cfg.Ran == nil {
		return nil
	}
	return func(e engine.Event) {
		if d.cfg.Ran != nil {
			d.cfg.Ran()
		}
		if !d.cfg.Trace.On() {
			return
		}
		i := (e.Off - d.proc.tasks[0].Off) / td.ImageSize
		x := trace.Event{
			Layer:   trace.Engine,
			Phase:   trace.Begin,
			Client:  uint64(d.runs.UserID),
			Request: uint64(d.runs.JobID),
			Name:    "task " + itoa(i) + " " + e.Kind,
			Args: []trace.Arg{
				{Key: "offset", Value: e.Off}, {Key: "source", Value: e.Source}, {Key: "kernel", Value: e.Kernel},
				{Key: "result", Value: e.Result}, {Key: "MACs", Value: e.MACs},
				{Key: "bound", Value: d.proc.kinds[i].String()},
			},
		}
		d.emit(x)
		_ = d.cfg.Clock.Spend(cost.Tasks, time.Duration(d.proc.times[i])) // fails only at the end of the clock's range
		d.worked(i)
		x.Phase, x.Args = trace.End, nil
		d.emit(x)
	}
}
