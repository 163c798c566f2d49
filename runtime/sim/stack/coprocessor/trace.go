package coprocessor

import (
	"fmt"
	"strconv"
	"strings"
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

func (b *boot) now() time.Duration { return b.d.cfg.Clock.Now() }
func (b *boot) tracing() bool      { return b.d.log.On() || b.printing() }
func (b *boot) printing() bool     { return b.settings.printing && b.d.cfg.Terminal != nil }

// printf writes a line of the firmware's log.
func (b *boot) printf(format string, args ...any) {
	if b.printing() {
		b.lines++
		b.d.cfg.Terminal(fmt.Sprintf(format, args...))
	}
}

// warn logs a fault that does not stop the firmware.
func (b *boot) warn(what string) {
	b.printf("warning: %s", what)
	b.d.log.Note("warning", 0, 0, trace.Text("what", what))
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
	b.d.log.In(trace.Protocol).Note(name, b.clientOf(d.Header), job, trace.Text("outcome", d.Outcome.String()),
		trace.Number("programId", d.Header.ProgramID), trace.Number("processId", d.Header.ProcessID),
		trace.Number("procedureId", d.Header.ProcedureID), trace.Number("priority", d.Header.Priority),
		trace.Data(d.Bytes))
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
	b.d.log.Note(class, b.clientOf(h), uint64(c.JobID), trace.Text("line", line),
		trace.Text("shape", c.Log(h.Priority)))
}

// traceSubPacket traces a sub-packet that an inference call is expanded to.
func (b *boot) traceSubPacket(h protocol.Header, i, n int) {
	if b.d.log.On() {
		b.d.log.Note("CANE_SUB_PACKET_CMD_PROCEDURE_CALL", b.clientOf(h), 0, trace.Number("packet", i+1),
			trace.Number("of", n), trace.Number("procedureId", h.ProcedureID))
	}
}

// sawFabric notes an access of the doorbell sequence.
func (d *Device) sawFabric(op string, v uint64) {
	switch {
	case op == opStore && d.fabric.masked:
		op = fmt.Sprintf("%s %#x with interrupts masked", op, v)
	case op != opMask && op != opUnmask:
		op = fmt.Sprintf("%s %#x", op, v)
	}
	d.accesses = append(d.accesses, op)
}

// traceExec begins the step of a call on the engine.
func (b *boot) traceExec(j *job) trace.Step {
	if !b.d.log.On() {
		return trace.Step{}
	}
	return b.d.log.Step("EXEC", uint64(j.key.UserID), uint64(j.key.JobID), trace.Text("procedure", j.proc.name),
		trace.Number("priority", j.key.Priority), trace.Text("class", protocol.ClassOf(j.key.Priority).String()),
		trace.Number("network", j.program.network), trace.Text("key", j.key.String()),
		trace.Number("credits", b.sched.Credits(int(j.key.Priority))))
}

// traceSubmit traces a submission to a hardware queue, with its register block and the registers that it writes, when
// the function that it returns is called. The block is one range of registers.
func (b *boot) traceSubmit(s *firmware.Submission, j *job) (done func()) {
	if !b.d.log.On() {
		return func() {}
	}
	var writes []string
	first := firmware.QueueAddress(s.Queue, firmware.RegBars)
	b.file.see = func(addr, v uint32) {
		if addr > first && addr < first+4*firmware.BlockWords {
			writes[len(writes)-1] = fmt.Sprintf("%#x..%#x", first, addr)
		} else {
			writes = append(writes, fmt.Sprintf("%#x=%#x", addr, v))
		}
	}
	return func() {
		b.file.see = nil
		data := make([]byte, 0, 4*len(s.Block))
		for _, w := range s.Block {
			data = append(data, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
		}
		b.d.log.Note("submit doorbell", uint64(j.key.UserID), uint64(j.key.JobID), trace.Number("queue", s.Queue),
			trace.Number("priority", s.Priority), trace.Number("network", s.Network), trace.Number("tasks", s.Count),
			trace.Text("registers", strings.Join(writes, " ")), trace.Data(data))
	}
}

// traceNote traces an outgoing notification.
func (b *boot) traceNote(row *protocol.Row, h protocol.Header, values []uint64, err error) {
	var job uint64
	args := []trace.Value{trace.Failure(err)}
	for i, f := range row.Request.Fields {
		if i < len(values) {
			args = append(args, trace.Number(f.Name, values[i]))
			if f.Name == "jobId" {
				job = values[i]
			}
		}
	}
	if m, err := protocol.New(Numbering, row, h, &protocol.Record{Layout: row.Request, Values: values}); err == nil {
		args = append(args, trace.Data(m.Bytes()))
	}
	b.d.log.In(trace.Protocol).Note("CSNE_CMD_"+row.Name, b.clientOf(h), job, args...)
}

// traceFailure traces a message that failed.
func (b *boot) traceFailure(s Status, err error) {
	if b.tracing() {
		b.printf("%s: %v", s, err)
		b.d.log.Note(s.String(), 0, 0,
			trace.Text("disposition", Statuses[min(s, NumStatuses-1)].Disposition.String()), trace.Failure(err))
	}
}

// injectedNote traces a fault of the injector.
func (b *boot) injectedNote(f inject.Fault, where string) {
	b.d.log.Note("injected "+f.Kind.String(), 0, 0, trace.Text("where", where), trace.Number("value", f.Value))
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
		if !d.log.On() {
			return
		}
		i := (e.Off - d.proc.tasks[0].Off) / td.ImageSize
		step := d.log.In(trace.Engine).Step("task "+itoa(i)+" "+e.Kind, uint64(d.runs.UserID), uint64(d.runs.JobID),
			trace.Number("offset", e.Off), trace.Number("source", e.Source), trace.Number("kernel", e.Kernel),
			trace.Number("result", e.Result), trace.Number("MACs", e.MACs),
			trace.Text("bound", d.proc.kinds[i].String()))
		_ = d.cfg.Clock.Spend(cost.Tasks, time.Duration(d.taskTime(i))) // fails only at the end of the clock's range
		d.worked(i)
		step.End(new(error))
	}
}
