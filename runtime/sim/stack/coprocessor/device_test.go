package coprocessor

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
)

// Every call's results equal the results of the engine alone, bit for bit.
func TestCallComputesWhatTheEngineDoes(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, tiny), 0)
	for i := range 3 {
		x.fill(uint64(i))
		want := x.direct(0)
		n := x.call()
		if n.name != "PROGRAM_EVENT" || n.status() != StatusOK || n.values[0] != 0x204 || n.values[2] != uint64(x.job) {
			t.Fatalf("%+v: %v", n, h.d.LastError())
		}
		for k, got := range x.outputs() {
			if !bytes.Equal(got, want[k]) {
				t.Errorf("call %d: output %d differs", i, k)
			}
		}
	}
	if s := h.d.boot.loop.State(); s != firmware.ExecRun {
		t.Errorf("the execution loop is in %s", s)
	}
	hd := x.header()
	hd.ProcedureID = h.user
	h.must("TERMINATE_PROCESS", hd)
	h.must("UNLOAD_AFPP", hd)
	full(t, h.d)
}

// The tasks are those that chapter 29 names, and they wait when there is no work.
func TestTasksWaitWithoutWork(t *testing.T) {
	h := newHost(t, nil)
	if h.d.Tasks() != nil {
		t.Error("tasks without a boot")
	}
	h.up()
	h.first()
	want := []string{"idle task", "task terminator", "execution-loop pump", "address-translation manager",
		"tunable-register loader",
		"load monitor", "interrupt manager", "call manager", "server", "host remote-procedure-call daemon"}
	got := h.d.Tasks()
	if len(got) != len(want) {
		t.Fatalf("%d tasks", len(got))
	}
	for i, r := range got {
		if r.Name != want[i] || r.State != firmware.Waiting || r.Input.Available != r.Input.Total ||
			r.Interrupt.Available != r.Interrupt.Total {
			t.Errorf("%+v", r)
		}
	}
	if s := h.d.boot.loop.State(); s != firmware.ExecRun {
		t.Errorf("the execution loop is in %s", s)
	}
}

// What New refuses, and a second caller of Run.
func TestMisuseIsAnError(t *testing.T) {
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "Config.Unit") {
		t.Errorf("%v", err)
	}
	h := newHost(t, nil)
	if _, err := New(Config{Unit: h.unit}); err == nil || !strings.Contains(err.Error(), "Config.Clock") {
		t.Errorf("%v", err)
	}
	if h.d.SignalEvent(1, 1) == nil || h.d.Events()[1] != 0 {
		t.Error("events without a boot")
	}
	if _, err := h.d.CallHost(nil); err == nil {
		t.Error("a back channel without a boot")
	}
	var inner error
	h = ready(t, nil)
	h.d.cfg.Doorbell = func(uint64, uint32) { inner = h.d.Run(context.Background()) }
	h.post("REQUEST_PROGRAM_ID", none())
	if err := h.run(); err != nil || inner == nil {
		t.Errorf("%v; inside: %v", err, inner)
	}
}

// TestCountersCountWhileTheyAreArmed: the host arms the performance counters, which a new arming clears.
func TestCountersCountWhileTheyAreArmed(t *testing.T) {
	h := ready(t, nil)
	count := func() (n [NumCounters]uint32) {
		h.d.countTask(5, cost.DMA)
		h.d.countTask(7, cost.Products)
		for i := range n {
			n[i] = h.d.Read32(ANEHAL1, RegCounters+4*uint32(i))
		}
		return n
	}
	none := [NumCounters]uint32{}
	if n := count(); n != none {
		t.Errorf("%v without arming", n)
	}
	for range 2 {
		h.d.Write32(ANEHAL1, RegArm, 1)
		if n := count(); n != [NumCounters]uint32{2, 12, 1} {
			t.Errorf("%v", n)
		}
	}
	h.d.Write32(ANEHAL1, RegArm, 0)
	if n := count(); n != [NumCounters]uint32{2, 12, 1} {
		t.Errorf("%v after the end", n)
	}
}

// TestRegistersCaptureErrorsAndSaveState: the state at a loss of power and the last fault survive it.
func TestRegistersCaptureErrorsAndSaveState(t *testing.T) {
	h := ready(t, nil)
	if a, b := h.d.Read32(ANEHAL2, RegSaved), h.d.Read32(ANEHAL2, RegCapture); a != 0 || b != 0 {
		t.Errorf("%#x and %#x before any loss of power or fault", a, b)
	}
	h.d.boot.at = server
	h.d.boot.fail(fastInterrupt, errNotUp)
	h.d.Write32(PS, RegPower, 0)
	h.d.Write32(PS, RegPower, 1)
	if a, b := h.d.Read32(ANEHAL2, RegSaved), h.d.Read32(ANEHAL2, RegCapture); a != RegisterValid|
		uint32(firmware.ExecRun) || b != RegisterValid|2<<8|uint32(server) {
		t.Errorf("saved %#x, captured %#x", a, b)
	}
}
