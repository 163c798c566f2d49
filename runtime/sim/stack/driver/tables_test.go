package driver

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// TestKernelExtensionsAppearInTheRegistry checks the extensions against the chapter, and that a device has the objects
// that two of them register: the interface driver, which attaches to its provider, vends the clients of all types and
// rings the firmware when one opens the device, and the load balancer. The third vends nothing.
// Table 27.1.
func TestKernelExtensionsAppearInTheRegistry(t *testing.T) {
	want := []struct{ bundle, class, registered, provider, role string }{
		{bundle: "AppleH11ANEInterface", class: "ANEHWDevice", registered: "H11ANEIn", provider: "RTBuddyService",
			role: "ANE"},
		{bundle: "AppleT8132ANEHAL", class: "AppleT8132ANEHAL", provider: "IOResources"},
		{bundle: "AppleANELoadBalancer", class: "ANEDriver", registered: "H1xANELoadBalancer", provider: "IOResources"},
	}
	if len(Kexts) != len(want) {
		t.Fatalf("%d kexts, want %d", len(Kexts), len(want))
	}
	for i, w := range want {
		k := Kexts[i]
		if k.Bundle != w.bundle || k.Class != w.class || k.RegisteredAs != w.registered ||
			k.Provider[0] != w.provider || k.ProviderRole != w.role {
			t.Errorf("kext %d: %+v, want %+v", i, k, w)
		}
	}
	if KextBuild != "9.511.3" || !slices.Equal(Kexts[2].Provider, []string{"IOResources", "IOKit"}) {
		t.Errorf("build %s, providers %v", KextBuild, Kexts[2].Provider)
	}
	rec := &trace.Recording{}
	d := newDevice(t, Config{Trace: rec.Tracer()})
	for _, i := range []int{0, 2} {
		if w := (RegistryEntry{want[i].class, want[i].registered}); !slices.Contains(d.Registry(), w) {
			t.Errorf("the registry has no %v: %v", w, d.Registry())
		}
	}
	attached := len(rec.Events)
	rest := len(d.Registry())
	for _, opens := range []func(*Task) (*Services, error){d.OpenServices, d.OpenDirect} {
		s, err := opens(broker(1))
		if err != nil {
			t.Fatal(err)
		}
		class := s.Client().Class()
		if r := d.Registry(); len(r) != rest+1 || r[rest].Class != class {
			t.Errorf("with an open %s the registry is %v", class, r)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if r := d.Registry(); len(r) != rest {
			t.Errorf("after its end the registry is %v", r)
		}
	}
	if !slices.ContainsFunc(rec.Events[attached:], func(e trace.Event) bool {
		return e.Name == "ANEHWDevice::doorBellRing"
	}) {
		t.Error("opening the device rings no doorbell of the firmware")
	}
	// The attach event names provider and role.
	e := rec.Events[0]
	if e.Name != "ANEHWDevice::start" || e.Args[0].Value != "RTBuddyService" || e.Args[1].Value != "ANE" {
		t.Errorf("first event %+v", e)
	}
	if n := attached; n != 1+coprocessor.NumBanks {
		t.Errorf("%d events at attach, want the start and seven apertures", n)
	}
}

// table272 and table274 are the chapter's tables, apart from the package's.
var table272 = []struct {
	handler     string
	a, b, c, dd uint32
}{
	{handler: "ANE_DeviceOpen", a: 0, b: 104, c: 0, dd: 104}, {handler: "ANE_DeviceClose", a: 0, b: 0, c: 0, dd: 0},
	{handler: "ANE_ProgramSendRequest", a: 1, b: 2376, c: 0, dd: 40},
	{handler: "ANE_ProgramCreate", a: 0, b: 32, c: 0, dd: 0}, {handler: "ANE_ProgramPrepare", a: 0, b: 56, c: 0,
		dd: 56}, {handler: "ANE_ProgramUnprepare", a: 0, b: 56, c: 0, dd: 0},
	{handler: "ANE_ProgramDestroy", a: 0, b: 16, c: 0, dd: 0}, {handler: "ANE_GetStatus", a: 0, b: 0, c: 0, dd: 32},
	{handler: "ANE_ProgramCreateInstance", a: 0, b: 32, c: 0, dd: 0},
	{handler: "ANE_ProgramChainingPrepare", a: 0, b: 16, c: 0, dd: 24}, {handler: "ANE_GetVersion", a: 0, b: 0, c: 1,
		dd: 0}, {handler: "ANE_RegisterDebugWorkProcessor", a: 0, b: 24, c: 0, dd: 0},
	{handler: "ANE_UnregisterDebugWorkProcessor", a: 0, b: 0, c: 0, dd: 0}, {handler: "ANE_GetDebugWorkProcessorItem",
		a: 2, b: 0, c: 0, dd: 0},
	{handler: "ANE_CompleteDebugWorkProcessorItem", a: 2, b: 0, c: 0, dd: 0},
	{handler: "ANE_ReleaseDebugWorkProcessorBuffers", a: 0, b: 0, c: 0, dd: 0}, {handler: "ANE_LoadFirmware", a: 3,
		b: 0, c: 0, dd: 0},
}

var table274 = []struct {
	handler     string
	a, b, c, dd uint32
}{
	{handler: "ANE_DeviceOpen", a: 0, b: 104, c: 0, dd: 104}, {handler: "ANE_DeviceClose", a: 0, b: 0, c: 0, dd: 0},
	{handler: "ANE_ProgramSendRequest", a: 1, b: 2376, c: 0, dd: 40},
	{handler: "ANE_ProgramOutputSetEnqueue", a: 0, b: 40, c: 0, dd: 0}, {handler: "ANE_ProgramInputsReady", a: 0,
		b: 3104, c: 0, dd: 0}, {handler: "ANE_MemoryMapRequest", a: 1, b: 2080, c: 1, dd: 0},
	{handler: "ANE_MemoryUnMapRequest", a: 0, b: 2080, c: 0, dd: 0}, {handler: "ANE_SessionHintRequest", a: 0, b: 16,
		c: 0, dd: 24}, {handler: "ANE_ProgramChainingSetActiveProcedure", a: 0, b: 32, c: 0, dd: 0},
}

// Table 27.2.
// Table 23.14.
func TestControlSelectorSizes(t *testing.T) {
	if len(table272) != 17 {
		t.Fatal("the chapter has 17 selectors")
	}
	for i, w := range table272 {
		r, err := DecodeDispatch(ClientTypes[0].Methods, uint32(i))
		if err != nil {
			t.Fatal(err)
		}
		if r.Handler < 0 || handlers[r.Handler].name != w.handler || r.Sizes != (Sizes{
			ScalarIn:  w.a,
			StructIn:  w.b,
			ScalarOut: w.c,
			StructOut: w.dd,
		}) {
			t.Errorf("selector %d: %+v, want %+v", i, r, w)
		}
		if r.Debug != (i >= 11 && i <= 15) {
			t.Errorf("selector %d: debug %t", i, r.Debug)
		}
	}
}

// TestUserSpaceSelectors checks the selector numbers of the front end on the M1.
func TestUserSpaceSelectors(t *testing.T) {
	for handler, sel := range map[string]uint32{"ANE_DeviceOpen": 0, "ANE_ProgramSendRequest": 2,
		"ANE_ProgramCreate": 3, "ANE_ProgramPrepare": 4,
		"ANE_ProgramDestroy": 6, "ANE_GetVersion": 10, "ANE_LoadFirmware": 16} {
		if got := ControlSelectors[sel].Handler; got != handler {
			t.Errorf("selector %d is %s, want %s", sel, got, handler)
		}
	}
	if SelDeviceOpen != 0 || SelSendRequest != 2 || SelProgramCreate != 3 || SelProgramPrepare != 4 ||
		SelProgramDestroy != 6 || SelGetVersion != 10 || SelLoadFirmware != 16 {
		t.Error("the constants differ")
	}
}

// Table 27.4.
func TestDirectPathSelectorSizes(t *testing.T) {
	if len(table274) != 9 {
		t.Fatal("the chapter has 9 selectors")
	}
	for i, w := range table274 {
		r, err := DecodeDispatch(ClientTypes[1].Methods, uint32(i))
		if err != nil {
			t.Fatal(err)
		}
		if r.Handler < 0 || handlers[r.Handler].name != w.handler || r.Sizes != (Sizes{
			ScalarIn:  w.a,
			StructIn:  w.b,
			ScalarOut: w.c,
			StructOut: w.dd,
		}) {
			t.Errorf("selector %d: %+v, want %+v", i, r, w)
		}
		if i > 2 {
			continue
		}
		// Selectors 0 to 2 point to the control client's functions.
		c, err := DecodeDispatch(ClientTypes[0].Methods, uint32(i))
		if err != nil || c.Function != r.Function {
			t.Errorf("selector %d: function %#x, the control client has %#x", i, r.Function, c.Function)
		}
	}
}

// Listing 27.1.
func TestUserClientTypes(t *testing.T) {
	d := newDevice(t, Config{})
	for _, w := range []struct {
		typ   uint32
		class string
	}{{ControlClient, "H11ANEInUserClient"}, {DirectPathClient, "H11ANEInDirectPathClient"},
		{HintsClient, "ANEClientHints"}} {
		c, r := d.NewUserClient(broker(1), w.typ)
		if r != Success || c.Class() != w.class {
			t.Fatalf("type %d: %v", w.typ, r)
		}
		if r := c.Close(); r != Success {
			t.Error(r)
		}
		// A closed client returns 0xe00002c5 for every selector.
		if r := c.ExternalMethod(1, &IOExternalMethodArguments{}); w.typ != HintsClient && r != 0xe00002c5 {
			t.Errorf("closed %s: %v", w.class, r)
		}
		if r := c.Close(); r != 0xe00002c5 {
			t.Errorf("second close: %v", r)
		}
	}
	for _, typ := range []uint32{0, 4, 0xffff_ffff} {
		if c, r := d.NewUserClient(broker(1), typ); r != Unsupported || c != nil {
			t.Errorf("type %d: %v", typ, r)
		}
	}
	if _, r := d.NewUserClient(nil, ControlClient); r != BadArgument {
		t.Errorf("no task: %v", r)
	}
	// The same number names different methods on the two clients.
	a, _ := DecodeDispatch(ClientTypes[0].Methods, 3)
	b, _ := DecodeDispatch(ClientTypes[1].Methods, 3)
	if a.Handler == b.Handler {
		t.Error("selector 3 names one method on both clients")
	}
}

// Listing 27.2.
func TestArgumentBlockLayout(t *testing.T) {
	want := map[string]int{"asyncWakePort": 0x08, "scalarInput": 0x10, "scalarInputCount": 0x20, "structureInput": 0x30,
		"structureInputSize": 0x38,
		"scalarOutput":       0x48, "scalarOutputCount": 0x50, "structureOutput": 0x58, "structureOutputSize": 0x60}
	if len(argumentLayout.Fields) != len(want) {
		t.Fatalf("%d fields, want %d", len(argumentLayout.Fields), len(want))
	}
	for _, f := range argumentLayout.Fields {
		if want[f.Name] != f.Offset {
			t.Errorf("%s at %#x, want %#x", f.Name, f.Offset, want[f.Name])
		}
	}
	task := broker(1)
	port, _ := newPort(1)
	in := IOExternalMethodArguments{
		AsyncWakePort:   port,
		ScalarInput:     []uint64{7, 8},
		StructureInput:  []byte("abc"),
		ScalarOutput:    make([]uint64, 2),
		StructureOutput: make([]byte, 5),
	}
	in.AsyncReference[31] = 9
	block, done := encodeArguments(task, &in)
	le := binary.LittleEndian
	for off, n := range map[int]uint32{0x20: 2, 0x38: 3, 0x50: 2, 0x60: 5} {
		if got := le.Uint32(block[off:]); got != n {
			t.Errorf("count at %#x is %d, want %d", off, got, n)
		}
	}
	// scalarInput holds the 0x20-byte reference before the scalars.
	ref, ok := task.memory(le.Uint64(block[0x10:]), 0x30)
	if !ok || ref[31] != 9 || le.Uint64(ref[0x20:]) != 7 || le.Uint64(ref[0x28:]) != 8 {
		t.Errorf("scalarInput holds %x", ref)
	}
	got, store, r := DecodeArguments(task, block)
	if r != Success || got.AsyncWakePort != port || got.AsyncReference != in.AsyncReference ||
		!slices.Equal(got.ScalarInput, in.ScalarInput) ||
		string(got.StructureInput) != "abc" || len(got.ScalarOutput) != 2 || len(got.StructureOutput) != 5 {
		t.Fatalf("%v: %+v", r, got)
	}
	got.ScalarOutput[1] = 77
	copy(got.StructureOutput, "hello")
	store()
	done()
	if in.ScalarOutput[1] != 77 || string(in.StructureOutput) != "hello" {
		t.Errorf("outputs %v %q", in.ScalarOutput, in.StructureOutput)
	}
	if _, _, r := DecodeArguments(task, block); r != BadArgument {
		t.Errorf("a block whose memory is gone: %v", r)
	}
	for _, off := range []int{0x20, 0x38, 0x50, 0x60} {
		b := slices.Clone(block)
		le.PutUint32(b[off:], 0xffff_ffff)
		if _, _, r := DecodeArguments(task, b); r != BadArgument {
			t.Errorf("count %#x of all ones: %v", off, r)
		}
	}
	if _, _, r := DecodeArguments(task, block[:ArgumentsSize-1]); r != BadArgument {
		t.Errorf("short block: %v", r)
	}

	// A selector called with the block does what the struct does.
	d := newDevice(t, Config{})
	s := open(t, d, task)
	a := IOExternalMethodArguments{ScalarOutput: make([]uint64, 1)}
	block, done = encodeArguments(task, &a)
	if r := s.Client().ExternalMethodBytes(SelGetVersion, block); r != Success {
		t.Fatal(r)
	}
	done()
	if a.ScalarOutput[0] != 96 {
		t.Errorf("version %d, want 96", a.ScalarOutput[0])
	}
}

// Listing 27.3.
func TestDispatchArrayLengths(t *testing.T) {
	for _, w := range []struct {
		i      int
		symbol string
		count  uint32
	}{{0, "_sANEDriverClientMethods", 0x11}, {1, "_sANEDriverDirectPathClientMethods", 0x9}} {
		c := ClientTypes[w.i]
		if c.Symbol != w.symbol || c.Count != w.count || len(c.Methods) != int(w.count)*40 {
			t.Errorf("%s: %s, %d records in %d bytes", c.Class, c.Symbol, c.Count, len(c.Methods))
		}
	}
	d := newDevice(t, Config{})
	for _, typ := range []uint32{ControlClient, DirectPathClient} {
		c, _ := d.NewUserClient(broker(1), typ)
		count := ClientTypes[typ-1].Count
		for _, sel := range []uint32{count, count + 1, 0x7fff_ffff, 0xffff_ffff} {
			if r := c.ExternalMethod(sel, &IOExternalMethodArguments{}); r != BadArgument {
				t.Errorf("%s selector %d: %v", c.Class(), sel, r)
			}
		}
	}
}

// Listing 27.4.
func TestDispatchRecordLayout(t *testing.T) {
	if DispatchStride != 40 {
		t.Fatal("the stride is 40 bytes")
	}
	want := map[string][2]int{
		"function":                 {0, 8},
		"checkScalarInputCount":    {8, 4},
		"checkStructureInputSize":  {0xc, 4},
		"checkScalarOutputCount":   {0x10, 4},
		"checkStructureOutputSize": {0x14, 4},
		"reserved":                 {0x18, 0x10},
	}
	for _, f := range dispatchLayout.Fields {
		if want[f.Name] != [2]int{f.Offset, f.Width} {
			t.Errorf("%s at %#x, %d bytes; want %v", f.Name, f.Offset, f.Width, want[f.Name])
		}
	}
	le := binary.LittleEndian
	for _, c := range ClientTypes[:2] {
		for i := range c.Count {
			b := c.Methods[40*i:]
			for _, off := range []int{0x8, 0xc, 0x10, 0x14} {
				if le.Uint32(b[off:]) == 0xffff_ffff {
					t.Errorf("%s selector %d: the size at %#x is the one that is not checked", c.Class, i, off)
				}
			}
		}
	}
	// The checks are read from the bytes: another record means another check.
	array := slices.Clone(sANEDriverClientMethods)
	le.PutUint32(array[10*40+0x10:], 2)
	types := ClientTypes[0]
	types.Methods = array
	d := newDevice(t, Config{})
	c := &client{d: d, row: &types, task: broker(1)}
	if r := c.ExternalMethod(SelGetVersion, &IOExternalMethodArguments{ScalarOutput: make([]uint64,
		1)}); r != BadArgument {
		t.Errorf("one output against a record that wants two: %v", r)
	}
	if r := c.ExternalMethod(SelGetVersion, &IOExternalMethodArguments{ScalarOutput: make([]uint64, 2)}); r != Success {
		t.Errorf("two outputs against a record that wants two: %v", r)
	}
	// A pointer with a wrong authentication code is invalid.
	array[10*40+7] ^= 0x40
	if r := c.ExternalMethod(SelGetVersion, &IOExternalMethodArguments{ScalarOutput: make([]uint64,
		2)}); r != BadArgument {
		t.Errorf("a forged pointer: %v", r)
	}
	if len(handlerNames) != len(handlers) {
		t.Fatalf("%d names, %d handlers", len(handlerNames), len(handlers))
	}
	for i := range handlers {
		if handlers[i].name != handlerNames[i] {
			t.Errorf("handler %d is %s, the arrays say %s", i, handlers[i].name, handlerNames[i])
		}
	}
}

// Listing 27.6.
func TestOpenReadsTheEntitlements(t *testing.T) {
	if Entitlements[0].Key != "com.apple.ane.iokit-user-access" ||
		Entitlements[1].Key != "com.apple.ane.allow-dataChaining-access" {
		t.Fatalf("open gates %q and %q", Entitlements[0].Key, Entitlements[1].Key)
	}
	if Entitlements[0].Field != "isPrivileged" || Entitlements[1].Field != "allowDataChaining" {
		t.Errorf("fields %q and %q", Entitlements[0].Field, Entitlements[1].Field)
	}
	d := newDevice(t, Config{})
	app := &Task{PID: 5, TeamID: "T"}
	for _, typ := range []uint32{ControlClient, DirectPathClient} {
		if _, r := d.NewUserClient(app, typ); r != NotPrivileged {
			t.Errorf("type %d without the entitlement: %v", typ, r)
		}
	}
	if _, err := d.OpenServices(app); err == nil {
		t.Error("an application opened the device")
	}
	app.Entitlements = []string{UserAccess}
	c, r := d.NewUserClient(app, ControlClient)
	if r != Success {
		t.Fatal(r)
	}
	if i := c.Info(); !i.IsPrivileged || i.AllowDataChaining {
		t.Errorf("stamped %+v", i)
	}
	// The entitlements are read once: later changes to the task do not matter.
	app.Entitlements = allKeys()
	if c.Info().AllowDataChaining {
		t.Error("the entitlement was read again")
	}
	app.Entitlements = nil
	s := open(t, d, broker(6))
	a := IOExternalMethodArguments{StructureInput: make([]byte, 104), StructureOutput: make([]byte, 104)}
	a.StructureInput[0] = UsageStandard
	if r := c.ExternalMethod(SelDeviceOpen, &a); r != Success {
		t.Errorf("the gate was checked again: %v", r)
	}
	_ = s
	// Without the second gate there is no data chaining.
	a = IOExternalMethodArguments{StructureInput: make([]byte, 16), StructureOutput: make([]byte, 24)}
	if r := c.ExternalMethod(SelChainingPrepare, &a); r != NotPrivileged {
		t.Errorf("chaining without the entitlement: %v", r)
	}
}

// Table 27.7.
func TestDriverEnforcesEntitlements(t *testing.T) {
	keys := []string{"com.apple.ane.realtime-priority-client", "com.apple.ane.allow-system-reserved-priorities",
		"com.apple.ane.memory",
		"com.apple.ane.allow-data", "com.apple.private.ane.allow-set-client-hints",
		"com.apple.private.ane.allow-share-coalition-hints"}
	if len(Entitlements) != 2+len(keys) {
		t.Fatalf("%d entitlements", len(Entitlements))
	}
	d := newDevice(t, Config{})
	for i, k := range keys {
		if Entitlements[2+i].Key != k {
			t.Errorf("entitlement %d is %s, want %s", 2+i, Entitlements[2+i].Key, k)
		}
		c, r := d.NewUserClient(&Task{PID: 1, Entitlements: []string{UserAccess, k}}, ControlClient)
		if r != Success {
			t.Fatal(r)
		}
		want := ANEClientInfo{PID: 1, IsPrivileged: true}
		*Entitlements[2+i].flag(&want) = true
		if got := c.Info(); got != want {
			t.Errorf("%s: stamped %+v, want %+v", k, got, want)
		}
	}
	// Priorities 0 and 1 require the grants.
	for _, w := range []struct {
		keys     []string
		priority uint32
		want     Return
	}{
		{nil, 2, Success}, {nil, 7, Success}, {nil, 1, NotPrivileged}, {nil, 0, NotPrivileged}, {nil, 8, BadArgument},
		{keys[:1], 1, Success}, {keys[:1], 0, NotPrivileged}, {keys[1:2], 0, Success}, {keys[1:2], 1, Success},
	} {
		c, _ := d.NewUserClient(&Task{PID: 1, Entitlements: append([]string{UserAccess}, w.keys...)}, ControlClient)
		if r, _ := c.(*client).admitPriority(w.priority); r != w.want {
			t.Errorf("priority %d with %v: %v, want %v", w.priority, w.keys, r, w.want)
		}
	}
}

// Table 27.8.
func TestDriverLeavesBrokerEntitlementsAlone(t *testing.T) {
	// The driver's part of the table: its first two keys are kernel-checked. The
	// broker's keys open nothing here.
	d := newDevice(t, Config{})
	for _, k := range []string{"com.apple.aned.private.allow", "com.apple.aned.private.ANEAccess.allow",
		"com.apple.aned.private.adapterWeight.allow",
		"com.apple.aned.private.processModelShare.allow",
		"com.apple.aned.private.secondaryANECompilerServiceAccess.allow",
		"com.apple.aned.private.aggressivePowerSaving",
		"com.apple.aned.private.modelPurgeInAllPartitions",
		"com.apple.security.temporary-exception.iokit-user-client-class", "com.apple.security.ts.ane-client"} {
		for _, typ := range []uint32{ControlClient, DirectPathClient} {
			if _, r := d.NewUserClient(&Task{PID: 1, Entitlements: []string{k}}, typ); r != NotPrivileged {
				t.Errorf("%s opened type %d: %v", k, typ, r)
			}
		}
	}
}

// Table 27.9.
func TestPublishedProperties(t *testing.T) {
	want := []string{"h13g", "96", "17", "96", "0", "16", "1", "4", "No"}
	d := newDevice(t, Config{})
	p := d.Properties()
	for i, row := range p.Published() {
		if row.Value != want[i] {
			t.Errorf("%s = %s, want %s", row.Name, row.Value, want[i])
		}
	}
	// At rest there are only the device, the load balancer and the standing hints client, and power is off.
	if r := d.Registry(); !slices.Equal(r, []RegistryEntry{{"ANEHWDevice", "H11ANEIn"},
		{"ANEDriver", "H1xANELoadBalancer"}, {"ANEClientHints", "standing"}}) {
		t.Errorf("registry at rest: %v", r)
	}
	if c, r := d.NewUserClient(&Task{PID: 1}, HintsClient); r != Success || c.Class() != "ANEClientHints" {
		t.Errorf("hints client: %v", r)
	}
	if s := d.Status(); s.Clients != 1 || s.Power != 0 || s.Boot != 0 {
		t.Errorf("at rest: %+v", s)
	}
	// Lazily opened, and torn down when idle.
	s := open(t, d, broker(2))
	if s := d.Status(); s.Power != 1 || s.Ready != 1 || s.Clients != 2 {
		t.Errorf("open: %+v", s)
	}
	if r := d.Registry(); len(r) != 5 || r[4] != (RegistryEntry{"H11ANEInUserClient", "client 2"}) {
		t.Errorf("registry: %v", r)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s := d.Status(); s.Power != 0 || s.Clients != 1 {
		t.Errorf("idle: %+v", s)
	}
}
