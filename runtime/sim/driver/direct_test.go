package driver

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/runtime/sim/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/translation"
)

// chainOf is an accumulator on the direct path: its output set feeds its input.
func chainOf(t testing.TB, d *Device, task *Task) (control, direct *Services, m *model, c Chain) {
	t.Helper()
	control = open(t, d, task)
	m = prepared(t, control, adder(t), PrepareOptions{})
	c, err := control.ChainingPrepare(m.h, 0)
	if err != nil {
		t.Fatal(err)
	}
	if c.Inputs != 1 || c.Outputs != 1 {
		t.Fatalf("chain %+v", c)
	}
	if direct, err = d.OpenDirect(task); err != nil {
		t.Fatal(err)
	}
	return control, direct, m, c
}

// first is the first value of a buffer of fp16, for small whole numbers.
func first(b []byte) int {
	h := binary.LittleEndian.Uint16(b)
	if h == 0 {
		return 0
	}
	return int(math.Ldexp(1+float64(h&0x3ff)/1024, int(h>>10)-15))
}

// TestChaining runs the accumulator of chapter 2 over the resident path: 1, 2, 3,
// 4, without the host bringing the state again.
func TestChaining(t *testing.T) {
	d := newDevice(t, Config{})
	control, direct, m, c := chainOf(t, d, broker(1))
	clear(m.bufs[0])
	clear(m.bufs[1])
	in, out := m.req.Inputs[0], m.req.Outputs
	outBuf := m.bufs[slices.IndexFunc(m.ports, func(p loaderPort) bool { return p.Output })]
	size := m.ports[slices.IndexFunc(m.ports, func(p loaderPort) bool { return !p.Output })].Size

	want(t, direct.InputsReady(c, nil, 0), NotReady) // no output set
	for i := range 4 {
		if err := direct.OutputSetEnqueue(c, out); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			want(t, direct.OutputSetEnqueue(c, out), Busy)
			want(t, direct.InputsReady(c, nil, 0), BadArgument) // the first needs every input
		}
		var inputs []ReadyBuffer
		if i == 0 {
			inputs = []ReadyBuffer{{Port: 0, Surface: in, Size: size}}
		}
		if err := direct.InputsReady(c, inputs, uint64(10*(i+1))); err != nil {
			t.Fatal(err)
		}
		if got := first(outBuf); got != i+1 {
			t.Errorf("step %d: %d", i, got)
		}
	}
	// Timestamps rise strictly.
	if err := direct.OutputSetEnqueue(c, out); err != nil {
		t.Fatal(err)
	}
	want(t, direct.InputsReady(c, nil, 40), BadArgument)
	if err := direct.SetActiveProcedure(c, 3); err != nil {
		t.Fatal(err)
	}
	if err := direct.InputsReady(c, nil, 0); err != nil {
		t.Fatal(err)
	}
	if got := first(outBuf); got != 5 {
		t.Errorf("after the group: %d", got)
	}
	if err := direct.SetActiveProcedure(c, 0); err != nil {
		t.Fatal(err)
	}

	// A reset loses the resident request; the next trigger installs it again,
	// with the buffers that it has.
	if err := d.Sleep(); err != nil {
		t.Fatal(err)
	}
	if err := direct.OutputSetEnqueue(c, out); err != nil {
		t.Fatal(err)
	}
	if err := direct.InputsReady(c, []ReadyBuffer{{Port: 0, Surface: in, Size: size}}, 0); err != nil {
		t.Fatal(err)
	}
	if got := first(outBuf); got != 1 {
		t.Errorf("after the reset, from the start: %d", got)
	}

	// What a chain refuses.
	bad := c
	bad.Procedure = 1
	want(t, direct.OutputSetEnqueue(bad, out), BadArgument)
	bad = Chain{Handle: c.Handle + 1}
	want(t, direct.OutputSetEnqueue(bad, out), NotFound)
	want(t, direct.OutputSetEnqueue(c, []uint32{1, 2}), BadArgument)
	want(t, direct.OutputSetEnqueue(c, []uint32{0xdead}), NotFound)
	for _, b := range []ReadyBuffer{{Port: 1, Surface: in, Size: size}, {Surface: in, Size: size - 1}, {Surface: in, Offset: 1, Size: size}, {Surface: in, Offset: math.MaxUint64, Size: size}} {
		want(t, direct.InputsReady(c, []ReadyBuffer{b}, 0), BadArgument)
	}
	want(t, direct.InputsReady(c, []ReadyBuffer{{Surface: in, Size: size}, {Surface: in, Size: size}}, 0), BadArgument)
	_, err := control.ChainingPrepare(m.h, 1)
	want(t, err, BadArgument)
	want(t, control.Unprepare(m.h), Busy) // it has a chain

	// Another identity does not reach the chain, and without the entitlement
	// nothing chains.
	other, err := d.OpenDirect(broker(2))
	if err != nil {
		t.Fatal(err)
	}
	want(t, other.OutputSetEnqueue(c, out), NotPrivileged)
	plain, err := d.OpenDirect(&Task{PID: 1, TeamID: "TEAM1", CodeDirectoryHash: [20]byte{1, 0, 1}, Entitlements: []string{UserAccess}})
	if err != nil {
		t.Fatal(err)
	}
	want(t, plain.OutputSetEnqueue(c, out), NotPrivileged)
	want(t, plain.InputsReady(c, nil, 0), NotPrivileged)
	want(t, plain.SetActiveProcedure(c, 1), NotPrivileged)
	if err := control.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, direct.OutputSetEnqueue(c, out), NotFound)
	poolsFull(t, d)
}

func TestMemoryMap(t *testing.T) {
	d := newDevice(t, Config{})
	task := broker(1)
	s, err := d.OpenDirect(task)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 40000)
	at := task.Map(b)
	addr, err := s.MemoryMap(0, []Range{{at, 30000}, {at + 30000, 10000}}, translation.Intermediate)
	if err != nil {
		t.Fatal(err)
	}
	// The address is the engine's: what it writes there is in the buffer.
	ctx := s.client.(*client).space.ctx
	if err := ctx.WriteAt([]byte{1, 2, 3}, addr+39997, "test"); err != nil || b[39999] != 3 {
		t.Errorf("%v, %d", err, b[39999])
	}
	if addr == 0 || addr%translation.PageSize != 0 || addr >= translation.ApertureSize {
		t.Errorf("device address %#x", addr)
	}
	if err := s.MemoryUnmap(0, addr); err != nil {
		t.Fatal(err)
	}
	want(t, s.MemoryUnmap(0, addr), NotFound)
	if _, err := ctx.Window(addr, 1, translation.Read, "test"); err == nil {
		t.Error("mapped after the unmap")
	}
	for name, w := range map[string]struct {
		ranges []Range
		usage  translation.Usage
		want   Return
	}{
		"no range":     {nil, translation.Input, BadArgument},
		"hole":         {[]Range{{at, 100}, {at + 101, 10}}, translation.Input, BadArgument},
		"past the end": {[]Range{{at, 40001}}, translation.Input, BadArgument},
		"unmapped":     {[]Range{{1, 10}}, translation.Input, BadArgument},
		"empty":        {[]Range{{at, 0}}, translation.Input, BadArgument},
		"wraps":        {[]Range{{at, 100}, {at + 100, math.MaxUint64}}, translation.Input, BadArgument},
		"usage":        {[]Range{{at, 10}}, 3, BadArgument},
		"many":         {make([]Range, 129), translation.Input, BadArgument},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.MemoryMap(0, w.ranges, w.usage)
			want(t, err, w.want)
		})
	}
	_, err = s.MemoryMap(77, []Range{{at, 10}}, translation.Input)
	want(t, err, NotFound)
	poor, err := d.OpenDirect(&Task{PID: 3, Entitlements: []string{UserAccess}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = poor.MemoryMap(0, []Range{{at, 10}}, translation.Input)
	want(t, err, NotPrivileged)

	// In a program's space the mapping outlives neither client nor program.
	control := open(t, d, task)
	m := prepared(t, control, adder(t), PrepareOptions{})
	if _, err := s.MemoryMap(m.h, []Range{{at, 100}}, translation.Input); err != nil {
		t.Fatal(err)
	}
	if err := control.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	poor.Close()
	if st := d.Unit().Stats(); st.ContextsOpen != 1 {
		t.Errorf("%d contexts are open", st.ContextsOpen)
	}
}

func TestHints(t *testing.T) {
	d := newDevice(t, Config{})
	s, err := d.OpenDirect(broker(1))
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(3) {
		before, err := s.SessionHint(HintLatency, i+1)
		if err != nil || before != i {
			t.Errorf("%d, %v", before, err)
		}
	}
	_, err = s.SessionHint(numHints, 1)
	want(t, err, BadArgument)
	a := arguments(Sizes{0, 16, 0, 24})
	if r := s.Client().ExternalMethod(SelSessionHint, a); r != BadArgument {
		t.Errorf("no session token: %v", r)
	}
	c, _ := d.NewUserClient(broker(1), HintsClient)
	a = arguments(Sizes{2, 0, 0, 0})
	a.ScalarInput[0], a.ScalarInput[1] = HintQueue, 5
	if r := c.ExternalMethod(0, a); r != Success {
		t.Errorf("setClientHint: %v", r)
	}
	a.ScalarInput[1] = 1 << 40
	if r := c.ExternalMethod(0, a); r != BadArgument {
		t.Errorf("a value of 41 bits: %v", r)
	}
	c, _ = d.NewUserClient(&Task{PID: 2}, HintsClient)
	if r := c.ExternalMethod(0, arguments(Sizes{2, 0, 0, 0})); r != NotPrivileged {
		t.Errorf("without the entitlement: %v", r)
	}
}

func TestTable27_5(t *testing.T) {
	// The table's names, in its order.
	var names []string
	for _, line := range []string{
		"ANE_PowerOn / ANE_PowerOff / ANE_IsPowered", "ANE_LoadFirmware / ANE_ForgetFirmware", "ANE_SendCommand",
		"ANE_SetPowerManagement / ANE_SetDynamicPowerGating / ANE_SetPowerGatingHysteresisTime", "ANE_SetThrottlingPercentage",
		"ANE_SetDARTCacheTTL / ANE_FlushInactiveDARTMappings / ANE_UnmapDartBuffers", "ANE_ReadANERegister / ANE_WriteANERegister",
		"ANE_FWSharedEventDoorbellRing", "ANE_AddPersistentClient / ANE_RemovePersistentClient", "ANE_MPMMemoryMapRequest / ANE_MPMMemoryUnmapRequest",
		"ANE_ExclaveCycle / ANE_ExclaveLoad / ANE_ExclaveEvaluate / ANE_ExclaveUnload", "ANE_ExclaveReadPropertyValue / ANE_ExclaveWritePropertyValue",
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
		if r := s.Client().Method(m.Name, &MethodArguments{In: make([]uint64, m.In+1), Out: args.Out}); r != BadArgument {
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
	m, err := protocol.New(coprocessor.Numbering, protocol.ByName("RESOURCE_INFO_GET"), unbound, &protocol.Record{Layout: protocol.ByName("RESOURCE_INFO_GET").Request})
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
		if r := c.Method("ANE_SendCommand", &MethodArguments{In: []uint64{0}, Data: make([]byte, n)}); r != BadArgument {
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
	task := s.Task()
	at := task.Map(make([]byte, 100))
	for range 3 {
		if _, err := s.MemoryMap(0, []Range{{at, 100}}, translation.Input); err != nil {
			t.Fatal(err)
		}
		at = task.Map(make([]byte, 100))
	}
	if out, text := call("ANE_ShowSharedMemoryAllocations", nil, 2, nil); out[1] != 3 || !strings.Contains(text, "input") {
		t.Errorf("%v %q", out, text)
	}
	if out, _ := call("ANE_FlushInactiveDARTMappings", nil, 1, nil); out[0] != 0 {
		t.Errorf("%d flushed that are in use", out[0])
	}
	if out, _ := call("ANE_UnmapDartBuffers", nil, 1, nil); out[0] != 3 {
		t.Errorf("%d unmapped", out[0])
	}
	// Diagnostics.
	if out, text := call("ANE_GetClientsInfo", nil, 2, nil); out[0] != 2 || out[1] != 1 || !strings.Contains(text, "H11ANEInUserClient") {
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

func TestDebugWorkProcessor(t *testing.T) {
	// The release build has no debug surfaces (table 27.9).
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	for _, sel := range []uint32{11, 12, 13, 14, 15} {
		if r := s.Client().ExternalMethod(sel, arguments(ControlSelectors[sel].Sizes)); r != Unsupported {
			t.Errorf("selector %d on a release build: %v", sel, r)
		}
	}
	p := M1
	p.InternalBuild = true
	d = newDevice(t, Config{Properties: &p})
	s = open(t, d, broker(1))
	c := s.Client()
	call := func(sel uint32, want Return, in ...uint64) {
		t.Helper()
		a := arguments(ControlSelectors[sel].Sizes)
		copy(a.ScalarInput, in)
		if r := c.ExternalMethod(sel, a); r != want {
			t.Errorf("selector %d %v: %v (%v), want %v", sel, in, r, a.Cause(), want)
		}
	}
	for _, sel := range []uint32{12, 13, 14, 15} {
		call(sel, NotFound)
	}
	buf := make([]byte, 4*debugItemSize)
	register := func(want Return, size uint64, depth uint32) {
		t.Helper()
		a := arguments(ControlSelectors[11].Sizes)
		debugIn.encode(a.StructureInput, &debugArgs{addr: s.task.Map(buf), size: size, depth: depth})
		if r := c.ExternalMethod(11, a); r != want {
			t.Errorf("register %d, %d: %v", size, depth, r)
		}
	}
	register(BadArgument, uint64(len(buf)), 5)
	register(BadArgument, uint64(len(buf))+1, 2)
	register(BadArgument, uint64(len(buf)), 0)
	register(Success, uint64(len(buf)), 2)
	register(Busy, uint64(len(buf)), 2)
	call(13, NotReady, 0)
	m := prepared(t, s, adder(t), PrepareOptions{})
	for range 3 {
		m.check(t)
	}
	call(13, BadArgument, 2)
	call(13, BadArgument, 0, 1)
	call(14, NotFound, 1)
	call(13, Success, 1)
	if le := binary.LittleEndian; le.Uint64(buf[debugItemSize:]) != 1 || le.Uint64(buf[debugItemSize+16:]) != uint64(m.h) {
		t.Errorf("item % x", buf[debugItemSize:2*debugItemSize])
	}
	call(14, Success, 1)
	call(14, NotFound, 1)
	call(13, Success, 0)
	call(13, NotReady, 0) // the third found two places taken
	call(15, Success)
	call(14, NotFound, 2)
	call(12, Success)
	m.check(t)
}

// TestContainerText checks that what the driver loads is a firmware container.
func TestContainerText(t *testing.T) {
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	m := prepared(t, s, tiny(t), PrepareOptions{})
	i := d.instance(m.h)
	if _, err := afpp.Read(i.p.loaded.Firmware()); err != nil {
		t.Fatal(err)
	}
	if m.info.Resident == 0 || m.info.Procedures != 1 || m.info.ProgramID != 0 {
		t.Errorf("%+v", m.info)
	}
}

// TestInjectedCommands takes the driver's state away behind its back: the request
// that finds out fails, and the next works.
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
			msg, err := protocol.New(coprocessor.Numbering, row, w.header, &protocol.Record{Layout: row.Request, Values: w.values})
			if err != nil {
				t.Fatal(err)
			}
			if r := direct.Client().Method("ANE_SendCommand", &MethodArguments{In: []uint64{0}, Data: msg.Bytes()}); r != Success {
				t.Fatal(r, direct.Client().LastError())
			}
			_, err = m.s.SendRequest(&m.req)
			want(t, err, Aborted)
			m.check(t)
			poolsBusy(t, d, 1)
		})
	}
}
