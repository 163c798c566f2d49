package coprocessor

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// The program-slot table of the engine object (chapter 30): 144 entries of
// stride 0x20 at engine + 0x9948, whose first byte says whether a program is in
// the slot.
const (
	ValidityOffset = 0x9948
	ValidityStride = 0x20
)

// programTable holds the program and process slots that calls are checked against.
type programTable struct {
	programs  *firmware.Programs
	validity  [firmware.NumPrograms * ValidityStride]byte
	slots     [firmware.NumPrograms]*program
	reserved  [firmware.NumPrograms]bool // requested but not loaded
	processes [firmware.NumProcesses]*process
	content   protocol.ContentType // of every procedure: no container names one (modelled)
}

// process runs a program for a user.
type process struct {
	program *program
	user    uint32
	ctx     *translation.Context
	caches  []callCache // one per procedure
	stats   firmware.StatsBuffer
}

// valid is the test of the argument validator: the byte at
// engine + programId * 0x20 + 0x9948.
func (t *programTable) valid(programID int32) bool {
	return programID >= 0 && programID < firmware.NumPrograms && t.validity[programID*ValidityStride] != 0
}

// Procedures implements protocol.Programs.
func (t *programTable) Procedures(programID int32) (uint32, bool) {
	if !t.valid(programID) {
		return 0, false
	}
	return uint32(len(t.slots[programID].procs)), true
}

// Running implements protocol.Programs.
func (t *programTable) Running(programID, processID int32) bool {
	return t.valid(programID) && t.programs.Running(int(programID), int(processID))
}

// Procedure implements protocol.Programs.
func (t *programTable) Procedure(programID int32, procedureID uint32) protocol.Procedure {
	if !t.valid(programID) || procedureID >= uint32(len(t.slots[programID].procs)) {
		return protocol.Procedure{}
	}
	p := &t.slots[programID].procs[procedureID]
	return protocol.Procedure{Content: t.content, IOBuffers: p.io}
}

// slot returns the program slot that a header names, or allocates one.
func (t *programTable) slot(id int32) (int, error) {
	if id == protocol.Unbound {
		n, err := t.programs.Load()
		return n, err
	}
	if !t.reserved[id] {
		return 0, refusef(StatusBusy, "program slot %d was not requested or already holds a program", id)
	}
	return int(id), nil
}

// taskBytes is what the firmware keeps of a task, in its heap (modelled).
const taskBytes = 64

// bytes is what a program takes of the firmware's heap.
func (p *program) bytes() (n uint64) {
	for i := range p.procs {
		n += taskBytes * uint64(len(p.procs[i].tasks))
	}
	return n
}

// loadProgram takes a firmware container into a slot: LOAD_AFPP and LOAD_PROGRAM (that both take the same container is
// modelled).
func (b *boot) loadProgram(d *protocol.Delivery, a *answer) (err error) {
	t := b.table
	mem, err := b.region(d, "LOAD_AFPP")
	if err != nil {
		return err
	}
	user := d.Header.ProcedureID
	ctx := b.d.user(user)
	if ctx == nil {
		return unknownUser(user)
	}
	p, err := prepare(mem, record(d).Values[0], b.d.cfg.Target)
	if err != nil {
		return &refusal{StatusProgram, err}
	}
	if err := b.spend(cost.Loading, cost.Coefficients(cost.Stream{Bytes: int64(len(mem))},
		b.d.cfg.Target)); err != nil {
		return err
	}
	p.user, p.ctx = user, ctx
	if err := b.kernel.Heap.Take(p.bytes()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			b.kernel.Heap.Release(p.bytes())
		}
	}()
	slot, err := t.slot(d.Header.ProgramID)
	if err != nil {
		return err
	}
	p.network, err = b.queues.Open()
	if err != nil {
		if !t.reserved[slot] {
			_ = t.programs.Unload(slot) // never fails: it was allocated above
		}
		return err
	}
	p.slot, p.task = slot, int(b.d.cfg.bootValue("network", uint64(p.network)))
	t.reserved[slot] = false
	t.slots[slot] = p
	t.validity[slot*ValidityStride] = 1
	for _, w := range p.warnings {
		b.printf("%s", w)
	}
	a.header.ProgramID = int32(slot)
	return nil
}

// program returns the program of a slot.
func (t *programTable) program(id int32) (*program, error) {
	if !t.valid(id) {
		return nil, refusef(StatusDropped, "program %d is not loaded", id)
	}
	return t.slots[id], nil
}

func (b *boot) unloadProgram(d *protocol.Delivery, _ *answer) error {
	t := b.table
	p, err := t.program(d.Header.ProgramID)
	if err != nil {
		return err
	}
	if err := t.programs.Unload(p.slot); err != nil {
		return &refusal{StatusBusy, err}
	}
	t.validity[p.slot*ValidityStride] = 0
	t.slots[p.slot] = nil
	b.kernel.Heap.Release(p.bytes())
	slot := d.Header.ProgramID
	b.settings.premaps = slices.DeleteFunc(b.settings.premaps, func(m premap) bool { return m.program == slot })
	return b.queues.Close(p.network)
}

func (b *boot) requestProgramID(_ *protocol.Delivery, a *answer) error {
	slot, err := b.table.programs.Load()
	if err != nil {
		return err
	}
	b.table.reserved[slot] = true
	a.header.ProgramID, a.reply = int32(slot), []uint64{uint64(slot)}
	return nil
}

func (b *boot) returnProgramID(d *protocol.Delivery, _ *answer) error {
	id := d.Header.ProgramID
	if id < 0 || !b.table.reserved[id] {
		return refusef(StatusDropped, "program slot %d was not requested or already holds a program", id)
	}
	b.table.reserved[id] = false
	return b.table.programs.Unload(int(id))
}

// attach creates an idle process of a program for the user that the header names.
func (b *boot) attach(d *protocol.Delivery) (int, error) {
	p, err := b.table.program(d.Header.ProgramID)
	if err != nil {
		return 0, err
	}
	user := d.Header.ProcedureID
	ctx := b.d.user(user)
	if ctx == nil {
		return 0, unknownUser(user)
	}
	id, err := b.table.programs.Attach(p.slot)
	if err != nil {
		return 0, err
	}
	b.table.processes[id] = &process{program: p, user: user, ctx: ctx, caches: make([]callCache, len(p.procs))}
	return id, nil
}

// detach ends an idle process.
func (b *boot) detach(id int32) error {
	if err := b.table.programs.Detach(int(id)); err != nil {
		return &refusal{StatusBusy, err}
	}
	b.table.processes[id] = nil
	return nil
}

// process returns the process that a header names.
func (t *programTable) process(h protocol.Header) (*process, error) {
	if h.ProcessID < 0 || h.ProcessID >= firmware.NumProcesses || t.processes[h.ProcessID] == nil {
		return nil, refusef(StatusDropped, "process %d does not exist", h.ProcessID)
	}
	p := t.processes[h.ProcessID]
	if h.ProgramID != protocol.Unbound && int32(p.program.slot) != h.ProgramID {
		return nil, refusef(StatusDropped, "process %d belongs to program %d, not %d", h.ProcessID, p.program.slot,
			h.ProgramID)
	}
	return p, nil
}

// createProcess starts a new process, or one whose identifier was requested.
func (b *boot) createProcess(d *protocol.Delivery, a *answer) error {
	id := d.Header.ProcessID
	if id == protocol.Unbound {
		n, err := b.attach(d)
		if err != nil {
			return err
		}
		id = int32(n)
	} else if _, err := b.table.process(d.Header); err != nil {
		return err
	}
	if err := b.table.programs.Fire(int(id), firmware.ProcessStart); err != nil {
		return &refusal{StatusBusy, err}
	}
	a.header.ProcessID = id
	return nil
}

// terminateProcess stops a process and frees its slot. It also drops the process's calls that wait for events and its
// resident requests.
func (b *boot) terminateProcess(d *protocol.Delivery, _ *answer) error {
	if _, err := b.table.process(d.Header); err != nil {
		return err
	}
	b.abandon(d.Header.ProcessID)
	if err := b.table.programs.Fire(int(d.Header.ProcessID), firmware.ProcessStop); err != nil {
		return &refusal{StatusBusy, err}
	}
	return b.detach(d.Header.ProcessID)
}

func (b *boot) requestProcessID(d *protocol.Delivery, a *answer) error {
	id, err := b.attach(d)
	if err != nil {
		return err
	}
	a.header.ProcessID, a.reply = int32(id), []uint64{uint64(id)}
	return nil
}

func (b *boot) returnProcessID(d *protocol.Delivery, _ *answer) error {
	if _, err := b.table.process(d.Header); err != nil {
		return err
	}
	return b.detach(d.Header.ProcessID)
}

// The program interface's version (modelled).
const interfaceMajor, interfaceMinor = 1, 0

// versionCheck refuses another major version and warns about another minor version.
func (b *boot) versionCheck(d *protocol.Delivery, _ *answer) error {
	v := record(d).Values
	if v[0] != interfaceMajor {
		return refusef(StatusProgram, "program interface version is %d.%d, want %d.%d", v[0], v[1],
			interfaceMajor, interfaceMinor)
	}
	if v[1] != interfaceMinor {
		b.warn(fmt.Sprintf("program interface version %d.%d is read as %d.%d", v[0], v[1], interfaceMajor,
			interfaceMinor))
	}
	return nil
}
