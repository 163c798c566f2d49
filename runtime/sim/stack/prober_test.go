package stack_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// command is a command for no program.
func command(name string, values ...uint64) stack.Command {
	return stack.Command{Name: name, Header: protocol.Header{ProgramID: -1, ProcessID: -1}, Values: values}
}

// prober returns a prober of a new machine with the tiny graph.
func prober(t *testing.T, o stack.Options) *stack.Prober {
	t.Helper()
	s, err := stack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.NewProber(compiled(t, "e5rt/testdata/tiny.mil").Container, "prober", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Close() // a selector may have closed it
		if err := s.Close(); err != nil && o.Inject == nil {
			t.Error(err)
		}
	})
	return p
}

// TestDriverServesTheCommandsThatTheFirmwareDoesNotHandle sends each of the configuration, power, trace and profile
// commands to a device of its own and checks what the answer must contain.
// Chapter 30, command set.
func TestDriverServesTheCommandsThatTheFirmwareDoesNotHandle(t *testing.T) {
	words := func(v ...uint64) []uint64 { return v }
	for _, c := range []struct {
		first, name string // first is sent before, "" for nothing
		before      []uint64
		values      []uint64
		want        string
	}{
		{name: "STOP", want: "powered: No"},
		{name: "RESET", want: "boots: 2"},
		{name: "CONFIG_GET", want: "cores: 16"},
		{name: "REG_FILE_LOAD", values: words(5, 7), want: "registers: 1"},
		{name: "BUILDINFO", want: "kext: 9.511.3"},
		{name: "TIMEPROFILE_START"},
		{first: "TIMEPROFILE_START", name: "TIMEPROFILE_STOP"},
		{first: "TIMEPROFILE_START", name: "TIMEPROFILE_SHOW"},
		{name: "FW_RUN_MODE", values: words(0), want: "mode: 0"},
		{name: "POWER_DOWN", want: "powered: No"},
		{name: "SET_SNE_RPC_CHECK_CMD", values: words(7), want: "acknowledged: Yes"},
		{first: "RPC_ENABLE", before: words(0), name: "SET_SNE_RPC_CHECK_CMD", values: words(7),
			want: "acknowledged: No"},
		{name: "RPC_ENABLE", values: words(1)},
		{name: "PLATFORM_INFO", want: "architecture: h13g"},
		{name: "BOOT", want: "boots: 1"},
		{name: "PING", want: "round trip: 2.500 us"},
		{name: "CONFIG_GET_EXT", want: "programs: 144"},
		{name: "POWER_DEVICE_OFF", values: words(1)},
		{first: "POWER_DEVICE_OFF", before: words(1), name: "MCACHE_SIZE_GET", want: "bytes: 0"},
		{name: "CH_INFO_GET", want: "DATA_CHAIN_H2T: index 7"},
		{name: "CH_BUFFER_RECYCLE_MODE_SET", values: words(1)},
		{first: "CH_BUFFER_RECYCLE_MODE_SET", before: words(1), name: "CH_BUFFER_RECYCLE_START"},
		{name: "CH_BUFFER_RECYCLE_STOP", want: "returned: 0"},
		{name: "CH_BUFFER_POOL_CONFIG_GET", want: "buffers: 64"},
		{first: "CH_BUFFER_POOL_CONFIG_SET", before: words(8, 64), name: "CH_BUFFER_POOL_CONFIG_GET",
			want: "buffers: 8\nbytes: 64"},
		{name: "TRACE_ENABLE", values: words(1), want: "PROGRAM_EVENT"},
		{name: "SUSPEND", want: "powered: No"},
		{name: "DSID_SET", values: words(5), want: "notification CSNE_CMD_PREFETCH_DSID_EVENT dsid=5 event=1"},
		{name: "MCACHE_SIZE_GET", want: "bytes: 4194304"},
		{name: "SECURE_MODE_START", want: "notification CSNE_CMD_SECURE_MODE_EVENT event=3 value=1"},
		{first: "SECURE_MODE_START", name: "SECURE_MODE_STOP", want: "notification CSNE_CMD_SECURE_MODE_EVENT event=1"},
		{name: "SET_SNE_PMU_BASE2", values: words(0x2_8e08_c000)},
		{name: "SET_DYNAMIC_POWERGATE", values: words(1)},
		{name: "EXCLAVE_MODE_START", want: "EXEC-SECURE"},
		{first: "EXCLAVE_MODE_START", name: "EXCLAVE_MODE_STOP", want: "state: RUN"},
		{name: "QUIESCE_STATE", want: "quiet: Yes"},
		{name: "CPU_LOAD_GET", want: "percent: 0"},
		{name: "CH_POWER_CONTROL", values: words(0), want: "powered: No"},
		{name: "DEBUG_COMMAND_DATA_CHECK", values: words(1, 2), want: "bytes: 8"},
	} {
		t.Run(strings.TrimPrefix(c.first+"-"+c.name, "-"), func(t *testing.T) {
			p := prober(t, stack.Options{})
			if c.first != "" {
				if _, err := p.Send(command(c.first, c.before...)); err != nil {
					t.Fatal(err)
				}
			}
			got, err := p.Send(command(c.name, c.values...))
			if err != nil || !strings.Contains(got, c.want) {
				t.Errorf("the answer is %q, %v; want %q in it", got, err, c.want)
			}
		})
	}
	served := 0
	for _, r := range protocol.Rows {
		if r.Disposition == protocol.HostServed {
			served++
		}
	}
	if served != 40 {
		t.Errorf("the driver serves %d commands, the table has 40 that the firmware does not handle", served)
	}
}

// TestServedCommandsRefuseWhatIsOutOfOrder sends commands without what must come before them, and values out of range.
func TestServedCommandsRefuseWhatIsOutOfOrder(t *testing.T) {
	p := prober(t, stack.Options{})
	for name, values := range map[string][]uint64{
		"TIMEPROFILE_STOP": nil, "CH_BUFFER_RECYCLE_START": nil, "CH_BUFFER_RETURN": {1}, "SECURE_MODE_STOP": nil,
		"EXCLAVE_MODE_STOP": nil, "SECURE_MODE_RESUME_TRANSITION": nil, "POWER_DEVICE_OFF": {9},
		"FW_RUN_MODE": {2}, "DSID_SET": {0}, "REG_FILE_LOAD": {1}, "SET_SNE_PMU_BASE2": {1},
		"CH_DATA_FILE_LOAD": {1, 1}, "CH_POWER_CONTROL": nil, "PROGRAM_EVENT": {1, 2, 3}, "NO_SUCH": nil,
		"TRACE_ENABLE": {2},
	} {
		if text, err := p.Send(command(name, values...)); err == nil {
			t.Errorf("%s %v is accepted: %q", name, values, text)
		}
	}
}

// TestFirmwareEmitsEveryNotification looks for each notification of the command set in what the firmware sends.
// Table C.15's notifications, chapter 30.
func TestFirmwareEmitsEveryNotification(t *testing.T) {
	seen := map[string]bool{}
	watch := func(spec string, do func(p *stack.Prober)) {
		events := &trace.Recording{}
		o := stack.Options{Trace: events.Tracer()}
		if spec != "" {
			s, err := inject.Parse(spec)
			if err != nil {
				t.Fatal(err)
			}
			o.Inject = inject.New(s, 3)
		}
		do(prober(t, o))
		for _, e := range events.Events {
			if e.Layer == trace.Protocol {
				seen[e.Name] = true
			}
		}
	}
	watch("", func(p *stack.Prober) {
		_, err := p.Send(command("TRACE_ENABLE", 1))
		_, err2 := p.Send(command("DSID_SET", 3))
		err3 := p.Run()
		err4 := p.Selector("direct", driver.SelInputsReady)
		_, err5 := p.Send(command("SECURE_MODE_START"))
		if err := errors.Join(err, err2, err3, err4, err5); err != nil {
			t.Fatal(err)
		}
		_, _ = p.Method("ANE_SendCommand", []uint64{0}) // too short: an error of the driver
		if _, err := p.Send(command("LOAD_PROGRAM", 1, 1)); err == nil {
			t.Error("a program at an address without memory is loaded")
		}
	})
	for seed := range 4 {
		for _, spec := range []string{"stuck:count=1", "translation:count=1", "corrupt@post:count=2"} {
			_ = seed
			watch(spec, func(p *stack.Prober) { _ = p.Run() }) // it may fail: the fault is injected
		}
	}
	for i := range protocol.Rows {
		r := &protocol.Rows[i]
		if r.Disposition == protocol.Emitted && !seen["CSNE_CMD_"+r.Name] {
			t.Errorf("nothing emits %s", r.Name)
		}
	}
}

// TestSelectorsReachTheirHandlers calls every selector of the three clients on an internal build.
// Tables 27.2 and 27.4.
func TestSelectorsReachTheirHandlers(t *testing.T) {
	for client, count := range map[string]uint32{"control": 17, "direct": 9, "hints": 1} {
		for n := range count {
			p := prober(t, stack.Options{InternalBuild: true})
			err := p.Selector(client, n)
			if inactive := client == "control" && n == driver.SelLoadFirmware; (err != nil) != inactive {
				t.Errorf("%s client, selector %d: %v", client, n, err)
			}
		}
	}
}

// TestReleaseBuildsRefuseTheDebugSelectors checks the gate of the debug work processor.
func TestReleaseBuildsRefuseTheDebugSelectors(t *testing.T) {
	p := prober(t, stack.Options{})
	for n := uint32(driver.SelRegisterDebugWP); n <= driver.SelReleaseDebugWP; n++ {
		if err := p.Selector("control", n); err == nil {
			t.Errorf("selector %d works in a release build", n)
		}
	}
}

// TestSecureTenantOwnsTheEngine checks that other clients' calls are refused until the secure phase ends.
// Table 29.8.
func TestSecureTenantOwnsTheEngine(t *testing.T) {
	s, err := stack.New(stack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	container := compiled(t, "e5rt/testdata/tiny.mil").Container
	a, err := s.NewProber(container, "prober", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Send(command("SECURE_MODE_START")); err != nil {
		t.Fatal(err)
	}
	if !s.Device.Coprocessor().Secure() || s.Device.Coprocessor().LoopState() != firmware.ExecSecure {
		t.Errorf("the execution loop is in %s", s.Device.Coprocessor().LoopState())
	}
	// The request goes over the control client, which is not the tenant.
	if err := a.Run(); err == nil || !strings.Contains(err.Error(), "secure tenant") {
		t.Errorf("another client's call: %v", err)
	}
	if _, err := a.Send(command("SECURE_MODE_STOP")); err != nil {
		t.Fatal(err)
	}
	if err := a.Run(); err != nil {
		t.Errorf("after the secure phase: %v", err)
	}
}

// TestTasksOfTheDeviceChangeTheirStates lists the firmware's tasks as zinc device does: they wait at rest, the call
// manager is runnable while the engine computes a task of a call, and the load monitor is suspended in the secure
// phase. A wait for room in a queue and a blocked task occur only in the kernel's own tests: nothing fills a queue of
// the model, and nothing blocks a task.
// Table 29.1.
func TestTasksOfTheDeviceChangeTheirStates(t *testing.T) {
	var s *stack.Stack
	running := map[string]firmware.TaskState{}
	list := func() map[string]firmware.TaskState {
		out := map[string]firmware.TaskState{}
		for _, r := range s.Device.Coprocessor().Tasks() {
			out[r.Name] = r.State
		}
		return out
	}
	s, err := stack.New(stack.Options{Ran: func() { running = list() }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, err := s.NewProber(compiled(t, "e5rt/testdata/tiny.mil").Container, "prober", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	differ := func(when string, got map[string]firmware.TaskState, but string, state firmware.TaskState) {
		if len(got) != 10 {
			t.Errorf("%s: %d tasks, want ten", when, len(got))
		}
		for name, is := range got {
			want := firmware.Waiting
			if name == but {
				want = state
			}
			if is != want {
				t.Errorf("%s: %s is %s, want %s", when, name, is, want)
			}
		}
	}
	differ("at rest", list(), "", 0)
	differ("during a call", running, "call manager", firmware.Runnable)
	if _, err := p.Send(command("SECURE_MODE_START")); err != nil {
		t.Fatal(err)
	}
	differ("in the secure phase", list(), "load monitor", firmware.Suspended)
	if _, err := p.Send(command("SECURE_MODE_STOP")); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	differ("after the secure phase", list(), "", 0)
}

// TestStatisticsBufferHasTheCall reads the record that the firmware writes at the completion of a call.
// Listing 29.4, table 29.9.
func TestStatisticsBufferHasTheCall(t *testing.T) {
	p := prober(t, stack.Options{})
	for i := range uint64(2) {
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		h, engines, _, err := p.Stats()
		if err != nil || h == nil || h.Counter != i+1 || len(engines) != 1 || engines[0].Counters[1] != 2 ||
			h.Timing < 130_000 || h.Timing > 131_000 {
			t.Errorf("call %d: %+v, %+v, %v", i, h, engines, err)
		}
	}
}
