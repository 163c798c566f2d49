package coprocessor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zinc-compiler/zinc/internal/locked"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// The exception classes that the platform handler names (chapter 29).
const (
	nonMaskable      = "non-maskable interrupt"
	interruptClass   = "interrupt"
	fastInterrupt    = "fast interrupt"
	synchronousAbort = "synchronous abort"
)

// ExceptionClasses are the four classes of a dump.
var ExceptionClasses = [4]string{nonMaskable, interruptClass, fastInterrupt, synchronousAbort}

// DumpSections are the parts of a dump in their fixed order.
var DumpSections = []string{
	"exception class", "fault-address and exception-syndrome registers", "general-purpose registers",
	"cache-controller error registers", "restart count", "recent commands", "task", "context", "processor",
	"call stack",
}

// Section is one part of a dump.
type Section struct {
	Name string
	Text string
}

// CoreDump is the post-mortem of a fault, in its fixed order. The firmware
// blocks while the host drains it.
type CoreDump struct {
	Sections []Section
	next     int
}

// Next drains the next section.
func (c *CoreDump) Next() (Section, bool) {
	if c == nil || c.next >= len(c.Sections) {
		return Section{}, false
	}
	c.next++
	return c.Sections[c.next-1], true
}

// Dump returns the staged dump, or nil. It stays until a cold
// boot.
func (d *Device) Dump() *CoreDump { return locked.Get(&d.mu, &d.dump) }

// Fault reports why the firmware has stopped. It accepts nothing until the host has reset it.
type Fault struct {
	Class string // exception class
	Task  string // faulting task
	Err   error
}

// Error names class, task and cause.
func (f *Fault) Error() string {
	return fmt.Sprintf("coprocessor: firmware fault: %s in %s: %v; drain the dump and reset the device", f.Class,
		f.Task, f.Err)
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// ringDepth is how many commands a dump replays (modelled).
const ringDepth = 32

// commandRing keeps the recent commands.
type commandRing struct {
	entries [ringDepth]struct {
		at     time.Duration
		row    *protocol.Row
		header protocol.Header
		ran    protocol.Outcome
	}
	n int
}

func (r *commandRing) put(at time.Duration, d *protocol.Delivery) {
	e := &r.entries[r.n%ringDepth]
	e.at, e.row, e.header, e.ran = at, d.Row, d.Header, d.Outcome
	r.n++
}

// replay lists the commands, newest first.
func (r *commandRing) replay() string {
	var lines []string
	for i := r.n - 1; i >= 0 && i >= r.n-ringDepth; i-- {
		e := &r.entries[i%ringDepth]
		name := "unknown command"
		if e.row != nil {
			name = e.row.String()
		}
		lines = append(lines, fmt.Sprintf("%v %s prog %d process %d proc %d pri %d: %s", e.at, name, e.header.ProgramID,
			e.header.ProcessID, e.header.ProcedureID, e.header.Priority, e.ran))
	}
	return strings.Join(lines, "\n")
}

// injected raises the processor exception or the stop that an injector requests.
func (b *boot) injected(f inject.Fault, where string) {
	b.injectedNote(f, where)
	class := synchronousAbort
	if f.Kind == inject.Exception {
		class = ExceptionClasses[f.Value%uint64(len(ExceptionClasses))]
	}
	b.fail(class, fmt.Errorf("injected %s at %s", f.Kind, where))
}

// fail is the kernel's fault handler: it stages the dump and stops the firmware. Only the first fault counts.
func (b *boot) fail(class string, err error) {
	if b.died {
		return
	}
	b.died = true
	d := b.d
	f := &Fault{class, pumps[b.at].name, err}
	dump := b.stage(f)
	d.mu.Lock()
	if d.boot == b { // false if the host has reset it meanwhile
		d.fault, d.dump, d.phase, d.last = f, dump, phaseFault, f
		d.captured = RegisterValid | uint32(slices.Index(ExceptionClasses[:], class))<<8 | uint32(b.at)
		d.stats.Faults++
	}
	d.mu.Unlock()
	b.d.log.Note(class, 0, 0, trace.Text("task", f.Task), trace.Failure(err))
}

// Modelled values of registers for which there is no source.
const (
	dumpPC  = BootAddress + 0x4a42c // CAneEngineExeLoop::dispatch
	dumpESR = 0x25 << 26            // a data abort without a change of exception level
)

// stage writes the dump.
func (b *boot) stage(f *Fault) *CoreDump {
	var last protocol.Header
	if b.ring.n > 0 {
		last = b.ring.entries[(b.ring.n-1)%ringDepth].header
	}
	var regs [31]uint64
	for i, v := range []uint32{last.ID, last.Size, last.Priority, uint32(last.ProgramID), uint32(last.ProcessID),
		last.ProcedureID} {
		regs[i] = uint64(v)
	}
	regs[30] = dumpPC
	var gpr strings.Builder
	for i, v := range regs {
		fmt.Fprintf(&gpr, "x%d=0x%016x ", i, v)
	}
	fmt.Fprintf(&gpr, "pc=0x%016x", uint64(dumpPC))
	context := "task"
	if b.inInterrupt {
		context = "interrupt"
	}
	restarts := locked.Get(&b.d.mu, &b.d.restarts)
	var tasks []string
	for _, t := range b.kernel.TaskList() {
		tasks = append(tasks, t.Name+" "+t.State.String())
	}
	texts := []string{
		f.Class,
		fmt.Sprintf("FAR=0x%016x ESR=0x%08x", b.far, uint64(dumpESR)),
		gpr.String(),
		fmt.Sprintf("S3_3_C15_C8_0=0x%016x", b.d.fabric.value),
		itoa(restarts),
		b.ring.replay(),
		f.Task,
		context,
		"CHINOOK_CPU_IMPL_THID0",
		fmt.Sprintf("%s\nkernel message pump\nreset vector %#x\ntasks: %s\ncause: %v", f.Task, uint64(BootAddress),
			strings.Join(tasks, ", "), f.Err),
	}
	c := new(CoreDump)
	for i, t := range texts {
		c.Sections = append(c.Sections, Section{DumpSections[i], t})
	}
	return c
}
