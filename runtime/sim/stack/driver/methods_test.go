package driver

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// Table 27.5.
func TestMethodsOfTheDirectPath(t *testing.T) {
	// The table's names, in its order.
	var names []string
	for _, line := range []string{
		"ANE_PowerOn / ANE_PowerOff / ANE_IsPowered", "ANE_LoadFirmware / ANE_ForgetFirmware", "ANE_SendCommand",
		"ANE_SetPowerManagement / ANE_SetDynamicPowerGating / ANE_SetPowerGatingHysteresisTime",
		"ANE_SetThrottlingPercentage",
		"ANE_SetDARTCacheTTL / ANE_FlushInactiveDARTMappings / ANE_UnmapDartBuffers",
		"ANE_ReadANERegister / ANE_WriteANERegister",
		"ANE_FWSharedEventDoorbellRing", "ANE_AddPersistentClient / ANE_RemovePersistentClient",
		"ANE_MPMMemoryMapRequest / ANE_MPMMemoryUnmapRequest",
		"ANE_ExclaveCycle / ANE_ExclaveLoad / ANE_ExclaveEvaluate / ANE_ExclaveUnload",
		"ANE_ExclaveReadPropertyValue / ANE_ExclaveWritePropertyValue",
		"ANE_GetClientsInfo / ANE_ShowSharedMemoryAllocations / ANE_ShowModelMemoryStatus"} {
		names = append(names, strings.Split(line, " / ")...)
	}
	if len(names) != len(Methods) {
		t.Fatalf("%d methods, the table names %d", len(Methods), len(names))
	}
	d := newDevice(t, Config{})
	s, err := d.OpenDirect(broker(1))
	if err != nil {
		t.Fatal(err)
	}
	poor, err := d.OpenDirect(&Task{PID: 2, Entitlements: allKeys()})
	if err != nil {
		t.Fatal(err)
	}
	control := open(t, d, broker(3))
	gated := []string{"ANE_ReadANERegister", "ANE_WriteANERegister", "ANE_SendCommand"}
	for i, m := range Methods {
		if m.Name != names[i] {
			t.Errorf("method %d is %s, want %s", i, m.Name, names[i])
		}
		args := &MethodArguments{In: make([]uint64, m.In), Out: make([]uint64, m.Out)}
		// The second access check gates registers, injection and exclave methods.
		second := slices.Contains(gated, m.Name) || strings.Contains(m.Name, "Exclave")
		if m.Privileged != second {
			t.Errorf("%s: privileged %t", m.Name, m.Privileged)
		}
		if r := poor.Client().Method(m.Name, args); second && r != NotPrivileged {
			t.Errorf("%s without the property: %v", m.Name, r)
		}
		if r := control.Client().Method(m.Name, args); r != Unsupported {
			t.Errorf("%s on the control client: %v", m.Name, r)
		}
		if r := s.Client().Method(m.Name, &MethodArguments{
			In:  make([]uint64, m.In+1),
			Out: args.Out,
		}); r != BadArgument {
			t.Errorf("%s with a scalar too many: %v", m.Name, r)
		}
		if m.Reason != "" {
			if r := s.Client().Method(m.Name, args); r != Unsupported {
				t.Errorf("%s: %v", m.Name, r)
			}
			if m.call != nil {
				t.Errorf("%s has both a reason and a function", m.Name)
			}
		}
	}
	if r := s.Client().Method("ANE_NoSuch", &MethodArguments{}); r != Unsupported {
		t.Errorf("unknown method: %v", r)
	}
}

func TestMethods(t *testing.T) {
	d := newDevice(t, Config{})
	s, err := d.OpenDirect(broker(1))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Client()
	call := func(name string, in []uint64, outs int, data []byte) ([]uint64, string) {
		t.Helper()
		a := &MethodArguments{In: in, Out: make([]uint64, outs), Data: data}
		if r := c.Method(name, a); r != Success {
			t.Fatalf("%s: %v: %v", name, r, c.LastError())
		}
		return a.Out, a.Text
	}
	// Registers go to the coprocessor's apertures.
	call("ANE_WriteANERegister", []uint64{uint64(coprocessor.ANEHAL2), 0x40, 0xabc}, 0, nil)
	if got, _ := call("ANE_ReadANERegister", []uint64{uint64(coprocessor.ANEHAL2), 0x40}, 1, nil); got[0] != 0xabc {
		t.Errorf("register %#x", got[0])
	}
	for _, in := range [][]uint64{{7, 0}, {0, 2}, {0, 1 << 40}} {
		if r := c.Method("ANE_ReadANERegister", &MethodArguments{In: in, Out: make([]uint64, 1)}); r != BadArgument {
			t.Errorf("register %v: %v", in, r)
		}
	}
	// A raw command is answered by the firmware.
	m, err := protocol.New(coprocessor.Numbering, protocol.ByName("RESOURCE_INFO_GET"), unbound,
		&protocol.Record{Layout: protocol.ByName("RESOURCE_INFO_GET").Request})
	if err != nil {
		t.Fatal(err)
	}
	call("ANE_SendCommand", []uint64{0}, 0, m.Bytes())
	broken := m.Bytes()
	broken[4] = 1
	if r := c.Method("ANE_SendCommand", &MethodArguments{In: []uint64{0}, Data: broken}); r != BadArgument {
		t.Errorf("a command with a wrong size: %v", r)
	}
	for _, n := range []int{0, 23, maxCommand + 1} {
		if r := c.Method("ANE_SendCommand", &MethodArguments{In: []uint64{0},
			Data: make([]byte, n)}); r != BadArgument {
			t.Errorf("a command of %d bytes: %v", n, r)
		}
	}
	if r := c.Method("ANE_SendCommand", &MethodArguments{In: []uint64{2}, Data: m.Bytes()}); r != BadArgument {
		t.Errorf("a third channel: %v", r)
	}
	// A write that stops the firmware is found and recovered.
	call("ANE_WriteANERegister", []uint64{uint64(coprocessor.ANE), coprocessor.RegCPU, 0}, 0, nil)
	control := open(t, d, broker(1))
	mod, err := control.ProgramCreate(adder(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := control.Prepare(mod, PrepareOptions{}); err == nil {
		t.Error("the stopped firmware took a command")
	}
	info, err := control.Prepare(mod, PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bound(t, control, mod, info, adder(t)).check(t)

	// Address translation.
	task := s.task
	at := task.Map(make([]byte, 100))
	for range 3 {
		if _, err := s.MemoryMap(0, []Range{{at, 100}}, translation.Input); err != nil {
			t.Fatal(err)
		}
		at = task.Map(make([]byte, 100))
	}
	if out, text := call("ANE_ShowSharedMemoryAllocations", nil, 2, nil); out[1] != 3 ||
		!strings.Contains(text, "input") {
		t.Errorf("%v %q", out, text)
	}
	if out, _ := call("ANE_FlushInactiveDARTMappings", nil, 1, nil); out[0] != 0 {
		t.Errorf("%d flushed that are in use", out[0])
	}
	if out, _ := call("ANE_UnmapDartBuffers", nil, 1, nil); out[0] != 3 {
		t.Errorf("%d unmapped", out[0])
	}
	// Diagnostics.
	if out, text := call("ANE_GetClientsInfo", nil, 2, nil); out[0] != 2 || out[1] != 1 ||
		!strings.Contains(text, "H11ANEInUserClient") {
		t.Errorf("%v %q", out, text)
	}
	if out, _ := call("ANE_ShowModelMemoryStatus", nil, 1, nil); out[0] != 0 {
		t.Errorf("%d programs of the direct client", out[0])
	}
	call("ANE_FWSharedEventDoorbellRing", []uint64{3, 1}, 0, nil)

	// Power: programs keep it on, and so does a persistent client.
	if r := c.Method("ANE_PowerOff", &MethodArguments{}); r != Busy {
		t.Errorf("power off with a program: %v", r)
	}
	if err := control.Close(); err != nil {
		t.Fatal(err)
	}
	call("ANE_PowerOff", nil, 0, nil)
	if out, _ := call("ANE_IsPowered", nil, 1, nil); out[0] != 0 {
		t.Error("powered")
	}
	call("ANE_AddPersistentClient", nil, 0, nil)
	if out, _ := call("ANE_IsPowered", nil, 1, nil); out[0] != 1 {
		t.Error("not powered")
	}
	if r := c.Method("ANE_PowerOff", &MethodArguments{}); r != Busy {
		t.Errorf("power off with a persistent client: %v", r)
	}
	call("ANE_RemovePersistentClient", nil, 0, nil)
	if r := c.Method("ANE_RemovePersistentClient", &MethodArguments{}); r != NotFound {
		t.Errorf("removed twice: %v", r)
	}
	call("ANE_PowerOff", nil, 0, nil)
	call("ANE_PowerOn", nil, 0, nil)
}

// TestInjectedCommands changes the device's state without the driver: the request that notices fails, and the next
// works.
func TestInjectedCommands(t *testing.T) {
	for name, w := range map[string]struct {
		command string
		header  protocol.Header
		values  []uint64
	}{
		"endpoint unset":     {"IPC_ENDPOINT_UNSET", unbound, []uint64{uint64(protocol.EndpointDataChaining)}},
		"process terminated": {"TERMINATE_PROCESS", protocol.Header{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDevice(t, Config{})
			task := broker(1)
			m := prepared(t, open(t, d, task), adder(t), PrepareOptions{})
			direct, err := d.OpenDirect(task)
			if err != nil {
				t.Fatal(err)
			}
			row := protocol.ByName(w.command)
			msg, err := protocol.New(coprocessor.Numbering, row, w.header, &protocol.Record{Layout: row.Request,
				Values: w.values})
			if err != nil {
				t.Fatal(err)
			}
			if r := direct.Client().Method("ANE_SendCommand", &MethodArguments{In: []uint64{0},
				Data: msg.Bytes()}); r != Success {
				t.Fatal(r, direct.Client().LastError())
			}
			_, err = m.s.SendRequest(&m.req)
			want(t, err, Aborted)
			m.check(t)
			poolsBusy(t, d, 1)
		})
	}
}

// TestPoliciesOfPower sets the policies of table 27.5 and looks at the time, the power and the boots of calls.
func TestPoliciesOfPower(t *testing.T) {
	var events trace.Recording
	d := newDevice(t, Config{Trace: events.Tracer()})
	s, err := d.OpenHardware(broker(1))
	if err != nil {
		t.Fatal(err)
	}
	set := func(name string, v uint64) {
		t.Helper()
		if err := s.Method(name, &MethodArguments{In: []uint64{v}}); err != nil {
			t.Fatal(err)
		}
	}
	boots := func(warm bool) (n int) {
		for _, e := range events.Events {
			if e.Name == "ANEHWDevice::ANE_Init" && e.Phase == trace.Begin &&
				slices.ContainsFunc(e.Args, func(a trace.Arg) bool { return a.Value == warm }) {
				n++
			}
		}
		return n
	}
	if boots(false) != 1 || boots(true) != 0 {
		t.Fatalf("%d cold and %d warm boots after opening", boots(false), boots(true))
	}
	// The firmware's image goes with ANE_ForgetFirmware: the next boot is cold, the one after it warm.
	for i, name := range []string{"ANE_ForgetFirmware", "ANE_PowerOff"} {
		for _, name := range []string{name, "ANE_PowerOn"} {
			if err := s.Method(name, &MethodArguments{}); err != nil {
				t.Fatal(err)
			}
		}
		if boots(false) != 2 || boots(true) != i {
			t.Errorf("%s: %d cold and %d warm boots", name, boots(false), boots(true))
		}
	}
	c := open(t, d, broker(1))
	mod, err := c.ProgramCreate(adder(t))
	if err != nil {
		t.Fatal(err)
	}
	info, err := c.Prepare(mod, PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := bound(t, c, mod, info, adder(t))
	set("ANE_SetDynamicPowerGating", 1)
	set("ANE_SetPowerGatingHysteresisTime", 500)
	for _, idle := range []time.Duration{100, 600} {
		n := boots(true)
		b.check(t)
		if err := d.Elapse(cost.Waiting, idle*time.Microsecond); err != nil {
			t.Fatal(err)
		}
		b.check(t)
		if got := boots(true) - n; got == 1 != (idle == 600) {
			t.Errorf("%d boots with %v us without a request", got, int64(idle))
		}
	}
	// Power that is not managed stays, and stays away.
	set("ANE_SetPowerManagement", 0)
	n := boots(true)
	if err := d.Elapse(cost.Waiting, time.Second); err != nil {
		t.Fatal(err)
	}
	b.check(t)
	if got := boots(true) - n; got != 0 {
		t.Errorf("%d boots though the power is not managed", got)
	}
}

// TestClientsShareTheManagedRegion maps the region of table 27.5 into two clients, and finds in one what the engine
// writes in the other.
func TestClientsShareTheManagedRegion(t *testing.T) {
	d := newDevice(t, Config{})
	var at [2]uint64
	var cs [2]*translation.Context
	for i := range cs {
		s, err := d.OpenHardware(broker(i + 1))
		if err != nil {
			t.Fatal(err)
		}
		a := &MethodArguments{Out: make([]uint64, 1)}
		if err := s.Method("ANE_MPMMemoryMapRequest", a); err != nil {
			t.Fatal(err)
		}
		at[i], cs[i] = a.Out[0], s.client.(*client).space.ctx
	}
	if err := cs[0].WriteAt([]byte("shared"), at[0]+16, "test"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 6)
	if err := cs[1].ReadAt(got, at[1]+16, "test"); err != nil || string(got) != "shared" {
		t.Errorf("%q, %v", got, err)
	}
}
