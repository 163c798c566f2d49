package driver

import (
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
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
