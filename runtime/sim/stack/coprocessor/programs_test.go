package coprocessor

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
	"github.com/zinc-compiler/zinc/target"
)

// Table 30.6.
func TestValidityFollowsProgramSlots(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, adder), 0)
	table := h.d.boot.table
	if len(table.validity) != 144*0x20 || ValidityOffset != 0x9948 {
		t.Fatalf("%d bytes of validity", len(table.validity))
	}
	for i, v := range table.validity {
		if v != 0 && i != int(x.program)*0x20 {
			t.Errorf("byte %#x is %d", i, v)
		}
	}
	for _, c := range []struct {
		program, process int32
		proc             uint32
		name             string
		want             Status
	}{
		{program: x.program, process: x.process, proc: 0, name: "PROGRAM_EVENT", want: StatusOK},
		{program: x.program, process: x.process, proc: 1, name: "CH_ERROR_NOTIFICATION", want: StatusMalformed},
		{program: 143, process: x.process, proc: 0, name: "CH_ERROR_NOTIFICATION", want: StatusDropped},
		{program: 144, process: x.process, proc: 0, name: "CH_ERROR_NOTIFICATION", want: StatusMalformed},
		{program: x.program, process: 287, proc: 0, name: "CH_ERROR_NOTIFICATION", want: StatusDropped},
		{program: x.program, process: 288, proc: 0, name: "CH_ERROR_NOTIFICATION", want: StatusMalformed},
		{program: -1, process: -1, proc: 0, name: "CH_ERROR_NOTIFICATION", want: StatusMalformed},
	} {
		m := protocol.LoopMessage{
			Header: protocol.LoopHeader{
				Wire:        0x204,
				ProgramID:   c.program,
				ProcessID:   c.process,
				ProcedureID: c.proc,
				Priority:    4,
			},
			Body: x.body(),
		}
		if n := h.raw(protocol.Loop, m.Bytes()); len(n) != 1 || n[0].name != c.name || n[0].status() != c.want {
			t.Errorf("%+v: %+v: %v", c, n, h.d.LastError())
		}
	}
	if s := h.d.Stats(); s.Dropped != 2 {
		t.Errorf("%d dropped", s.Dropped)
	}
	// The byte decides: if it is cleared without the table's knowledge, the call is dropped.
	table.validity[x.program*0x20] = 0
	if n := x.call(); n.status() != StatusDropped {
		t.Errorf("%+v", n)
	}
}

func TestFullSlotsRefusePrograms(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, adder), 0)
	addr, size := x.l.AFPP()
	hd := none()
	hd.ProcedureID = h.user
	for range firmware.NumPrograms - 1 {
		h.must("LOAD_AFPP", hd, addr, uint64(size))
	}
	if n := h.command("LOAD_AFPP", hd, addr, uint64(size)); n.status() != StatusFull {
		t.Errorf("a 145th program: %+v", n)
	}
	hd.ProgramID = 100
	var ids []int32
	for range firmware.NumProcesses - 1 {
		ids = append(ids, h.must("CREATE_PROCESS", hd).header.ProcessID)
	}
	if n := h.command("CREATE_PROCESS", hd); n.status() != StatusFull {
		t.Errorf("a 289th process: %+v", n)
	}
	if n := h.command("UNLOAD_AFPP", hd); n.status() != StatusBusy {
		t.Errorf("a program with processes: %+v", n)
	}
	for _, id := range ids {
		hd.ProcessID = id
		h.must("TERMINATE_PROCESS", hd)
	}
	if n := h.command("TERMINATE_PROCESS", hd); n.status() != StatusDropped {
		t.Errorf("terminated twice: %+v", n)
	}
	hd.ProgramID, hd.ProcessID = x.program, x.process
	h.must("TERMINATE_PROCESS", hd)
	hd.ProcessID = protocol.Unbound
	for i := range firmware.NumPrograms {
		hd.ProgramID = int32(i)
		h.must("UNLOAD_AFPP", hd)
	}
	if n := h.command("UNLOAD_AFPP", hd); n.status() != StatusDropped {
		t.Errorf("unloaded twice: %+v", n)
	}
	full(t, h.d)
}

func TestProgramIDsAreRequestedAndReturned(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, adder), 0)
	addr, size := x.l.AFPP()
	hd := none()
	hd.ProcedureID = h.user
	id := h.must("REQUEST_PROGRAM_ID", hd).header.ProgramID
	if r, ok := h.d.TakeReply(); !ok || r.Record.Values[0] != uint64(id) || id == x.program {
		t.Errorf("slot %d, reply %v", id, r)
	}
	hd.ProgramID = id
	if n := h.command("CREATE_PROCESS", hd); n.status() != StatusDropped {
		t.Errorf("a process of an empty slot: %+v", n)
	}
	h.must("RETURN_PROGRAM_ID", hd)
	if n := h.command("RETURN_PROGRAM_ID", hd); n.status() != StatusDropped {
		t.Errorf("returned twice: %+v", n)
	}
	if n := h.command("LOAD_AFPP", hd, addr, uint64(size)); n.status() != StatusBusy {
		t.Errorf("into a slot that was not requested: %+v", n)
	}
	hd.ProgramID = protocol.Unbound
	hd.ProgramID = h.must("REQUEST_PROGRAM_ID", hd).header.ProgramID
	if n := h.must("LOAD_AFPP", hd, addr, uint64(size)); n.header.ProgramID != hd.ProgramID {
		t.Errorf("%+v", n)
	}
	if n := h.command("RETURN_PROGRAM_ID", hd); n.status() != StatusDropped {
		t.Errorf("the slot of a program: %+v", n)
	}
	proc := h.must("REQUEST_PROCESS_ID", hd).header.ProcessID
	call := x.header()
	call.ProgramID, call.ProcessID = hd.ProgramID, proc
	h.loop(0x204, call, x.body())
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	if n := h.notes(); n[0].status() != StatusDropped {
		t.Errorf("an idle process: %+v", n)
	}
	hd.ProcessID = proc
	h.must("CREATE_PROCESS", hd)
	if n := h.command("CREATE_PROCESS", hd); n.status() != StatusBusy {
		t.Errorf("started twice: %+v", n)
	}
	if n := h.command("RETURN_PROCESS_ID", hd); n.status() != StatusBusy {
		t.Errorf("returned while it runs: %+v", n)
	}
	h.must("TERMINATE_PROCESS", hd)
	hd.ProcessID = protocol.Unbound
	hd.ProcessID = h.must("REQUEST_PROCESS_ID", hd).header.ProcessID
	// On the loop's channel RETURN_PROCESS_ID has the identifier 0x404.
	h.loop(0x404, protocol.Header{
		ProgramID: hd.ProgramID,
		ProcessID: hd.ProcessID,
	}, &protocol.Record{Layout: protocol.ByName("RETURN_PROCESS_ID").Request})
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	if n := h.notes(); n[0].status() != StatusOK {
		t.Errorf("%+v", n)
	}
}

func TestWrongContainersAreRefused(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, adder), 0)
	good := bytes.Clone(x.l.Firmware())
	load := func(b []byte) note {
		m, err := h.ctx.Map(b, translation.Text, "bad")
		if err != nil {
			t.Fatal(err)
		}
		hd := none()
		hd.ProcedureID = h.user
		return h.command("LOAD_AFPP", hd, m.Addr(), uint64(len(b)))
	}
	slots := h.d.boot.table.programs.Report()[0].Available
	for _, at := range []int{0, 6, 8, 12, 0x40, 0x60, 0x100, 0x140, len(good) / 2} {
		b := bytes.Clone(good)
		b[at] ^= 0xff
		if n := load(b); n.status() != StatusProgram {
			t.Errorf("byte %#x changed: %+v", at, n)
		}
	}
	if n := load(good[:len(good)-1]); n.status() != StatusProgram {
		t.Errorf("cut: %+v", n)
	}
	if got := h.d.boot.table.programs.Report()[0].Available; got != slots {
		t.Errorf("%d slots left of %d", got, slots)
	}
	hd := none()
	hd.ProcedureID = h.user
	addr, size := x.l.AFPP()
	if n := h.command("LOAD_AFPP", hd, addr, uint64(size)+translation.PageSize); n.status() != StatusTranslation {
		t.Errorf("past the mapping: %+v", n)
	}
	if n := h.command("LOAD_AFPP", hd, translation.PageSize*1000, 64); n.status() != StatusTranslation {
		t.Errorf("nothing mapped: %+v", n)
	}
	hd.ProcedureID = 99
	if n := h.command("LOAD_AFPP", hd, addr, uint64(size)); n.status() != StatusTranslation {
		t.Errorf("an unknown user: %+v", n)
	}
}

// TestOperationsOfTheOtherEngineAreRefused loads a container in which the micro-operation of each operation is one of
// the engine that its tasks are not of.
func TestOperationsOfTheOtherEngineAreRefused(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, adder), 0)
	pkg, err := afpp.Read(bytes.Clone(x.l.Firmware()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range pkg.Programs[0].Operations {
		o := &pkg.Programs[0].Operations[i]
		name := "NEFUSED_CONV"
		if !afpp.PlanarOperation(o.Micro) {
			name = "PEFUSED_POOL"
		}
		o.Micro = uint16(slices.Index(afpp.MicroOperations, name))
	}
	b, err := afpp.Encode(pkg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := prepare(b, 0, target.H13); err == nil || !strings.Contains(err.Error(), "is of the other engine") {
		t.Error(err)
	}
}

func TestDataFilesMustBeMapped(t *testing.T) {
	h := ready(t, nil)
	mem := make([]byte, 256)
	m, err := h.ctx.Map(mem, translation.Constants, "tunables")
	if err != nil {
		t.Fatal(err)
	}
	hd := none()
	hd.ProcedureID = h.user
	h.must("CH_DATA_FILE_LOAD2", hd, m.Addr(), 256)
	if n := h.command("CH_DATA_FILE_LOAD2", hd, m.Addr(), 257); n.status() != StatusTranslation {
		t.Errorf("%+v", n)
	}
	h.d.Unbind(h.user)
	if n := h.command("CH_DATA_FILE_LOAD2", hd, m.Addr(), 256); n.status() != StatusTranslation {
		t.Errorf("%+v", n)
	}
	h = newHost(t, nil)
	h.up()
	h.must("START", none())
	if n := h.command("CH_DATA_FILE_LOAD2", hd, 0x4000, 256); n.status() != StatusUnsupported {
		t.Errorf("%+v", n)
	}
}
