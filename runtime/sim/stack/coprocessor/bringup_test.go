package coprocessor

import (
	"strings"
	"testing"
)

// Table 29.2.
func TestAperturesNeedPower(t *testing.T) {
	want := []string{"ANE", "PS", "PWGATE", "PTD", "ANEHAL1", "ANEHAL2", "ANEHAL3"}
	if len(Banks) != len(want) {
		t.Fatalf("%d apertures", len(Banks))
	}
	for i, b := range Banks {
		if b.Name != want[i] || b.Order != i+1 || int(b.Bank) != i || b.Role == "" {
			t.Errorf("aperture %d: %+v", i+1, b)
		}
		// The first four have a contiguous base and three successive offsets.
		if i < 4 && b.Index != Banks[0].Index+i {
			t.Errorf("%s has index %d", b.Name, b.Index)
		}
	}
	h := newHost(t, nil)
	d := h.d
	// Without power no register keeps its value.
	for i := range Banks {
		d.Write32(Bank(i), 0x20, 5)
		if v := d.Read32(Bank(i), 0x20); v != 0 {
			t.Errorf("%s without power reads %#x", Bank(i), v)
		}
	}
	d.Write32(PS, RegPower, 1)
	d.Write32(PWGATE, RegGate, 1)
	for i := range Banks {
		d.Write32(Bank(i), 0x20, uint32(i)+1)
	}
	for i := range Banks {
		if v := d.Read32(Bank(i), 0x20); v != uint32(i)+1 {
			t.Errorf("%s reads %#x", Bank(i), v)
		}
	}
	// ANE has the scratch registers and the reset vector; nothing is outside.
	d.Write32(ANE, Scratch(7), 9)
	d.Write32(ANE, RegRVBAR, 0x1000)
	d.Write32(ANE, RegRVBAR+4, 2)
	if d.Read32(ANE, Scratch(7)) != 9 || d.Read32(ANE, RegRVBAR) != 0x1000 || d.Read32(ANE, RegRVBAR+4) != 2 {
		t.Error("scratch or reset vector lost")
	}
	for _, off := range []uint32{2, Banks[ANE].Size, 1 << 31} {
		d.Write32(ANE, off, 1)
		if d.Read32(ANE, off) != 0 {
			t.Errorf("offset %#x holds", off)
		}
	}
	d.Write32(Bank(7), 0, 1)
	if d.Read32(Bank(7), 0) != 0 || Bank(7).String() != "unknown bank" {
		t.Error("an eighth aperture")
	}
	d.Write32(PS, RegPower, 0)
	d.Write32(PS, RegPower, 1)
	if d.Read32(ANE, Scratch(7)) != 0 {
		t.Error("scratch survives the loss of power")
	}
}

// The three handshakes come in order, each after the previous one was seen.
// Table 29.3.
func TestHandshakesComeInOrder(t *testing.T) {
	h := newHost(t, nil)
	d := h.d
	if d.Rings() != nil || d.Channels() != nil {
		t.Fatal("rings without a boot")
	}
	h.release()
	if v := d.Read32(ANE, Scratch(7)); v != BootCold {
		t.Errorf("scratch 7 before the firmware has run: %#x", v)
	}
	run := func() {
		t.Helper()
		if err := h.run(); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(wake, ready uint32) {
		t.Helper()
		if w, r := d.Read32(ANE, Scratch(7)), d.Read32(ANE, Scratch(3)); w != wake || r != ready {
			t.Fatalf("scratch 7 %#x, scratch 3 %#x; want %#x, %#x", w, r, wake, ready)
		}
	}
	run()
	wants(WakeAlive, 0)
	run() // the host has not seen the first wake
	wants(WakeAlive, 0)
	d.Write32(ANE, Scratch(7), 0)
	run()
	wants(WakeChannels, 0)
	run()
	wants(WakeChannels, 0)
	// Between the second and the third the host walks the channel table.
	names := []string{"SHAREDMALLOC", "TERMINAL", "BUF_H2T", "BUF_T2H", "IO", "IO_T2H", "DEBUG", "DATA_CHAIN_H2T"}
	cs := d.Channels()
	if len(cs) != len(names) {
		t.Fatalf("%d channels", len(cs))
	}
	for i, c := range cs {
		if c.Name != names[i] || c.Version != RingVersion || c.Ready || c.Index != i ||
			c.ToHost != (strings.HasSuffix(c.Name, "T2H") || c.Name == "TERMINAL") {
			t.Errorf("%+v", c)
		}
	}
	// A command before its channel is ready is rejected.
	if n := h.command("PRINT_ENABLE", none(), 1); n.name != "CH_ERROR_NOTIFICATION" || n.status() != StatusNotReady {
		t.Errorf("%+v", n)
	}
	d.Write32(ANE, Scratch(7), 0)
	run()
	wants(0, MagicReady)
	for _, c := range d.Channels() {
		if !c.Ready {
			t.Errorf("%s is not ready", c.Name)
		}
	}
	// Only START arms the execution loop.
	h.must("PRINT_ENABLE", none(), 1)
	if n := h.command("REQUEST_PROGRAM_ID", none()); n.status() != StatusNotReady {
		t.Errorf("before START: %+v", n)
	}
	h.must("START", none())
	if n := h.command("START", none()); n.status() != StatusBusy {
		t.Errorf("START twice: %+v", n)
	}
	h.must("REQUEST_PROGRAM_ID", none())
	if d.Stats().Boots != 1 || d.RestartCount() != 0 {
		t.Errorf("%+v", d.Stats())
	}
}

// Attach, power-on and ANE_Init are apart: the last runs again at every wake.
// Listing 29.1.
func TestWakeRunsOnlyInit(t *testing.T) {
	h := newHost(t, nil)
	h.d.Write32(PS, RegPower, 1) // start: apertures, clocks, power
	h.d.Write32(PWGATE, RegGate, 1)
	if err := h.run(); err != nil || h.d.Stats().Boots != 0 {
		t.Fatalf("the firmware ran before ANE_Init: %v", err)
	}
	for n := range uint64(3) {
		h.up()
		if got := h.d.Stats().Boots; got != n+1 {
			t.Fatalf("%d boots", got)
		}
		h.first()
		h.must("REQUEST_PROGRAM_ID", none())
		h.d.Write32(PWGATE, RegGate, 0) // sleep
		if h.d.Rings() != nil || h.d.Pools() != nil {
			t.Error("the firmware outlives its power")
		}
		h.d.Write32(PWGATE, RegGate, 1)
	}
}

// A second wake that never comes is answered by power off and on, a bounded
// number of times.
func TestBringUpIsRetried(t *testing.T) {
	for _, c := range []struct{ missing, failures int }{{0, 0}, {2, 2}, {9, 4}} {
		h := newHost(t, func(c2 *Config) { c2.SecondWake = func(n int) bool { return n > c.missing } })
		failures := 0
		for ; failures < 4; failures++ {
			if h.boot() == nil {
				break
			}
			h.d.Write32(PS, RegPower, 0)
		}
		if failures != c.failures {
			t.Errorf("%d wakes missing: %d failures", c.missing, failures)
		}
		if up := h.d.Rings() != nil; up != (c.missing < 4) {
			t.Errorf("%d wakes missing: up is %v", c.missing, up)
		}
		if h.d.RestartCount() != 0 {
			t.Error("a retry counted as a restart after a fault")
		}
	}
}

// The firmware checks what the host passes before it publishes anything.
func TestBootArgumentsAreChecked(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(d *Device)
		wake  uint32 // that scratch 7 stays at
		want  string
	}{
		{name: "chip", spoil: func(d *Device) {
			d.Write32(ANE, Scratch(ScratchChip), 0x20)
		}, wake: 0, want: "chip revision 0x20"},
		{name: "protocol", spoil: func(d *Device) {
			d.Write32(ANE, Scratch(ScratchIPC), 2<<16)
		}, wake: 0, want: "protocol version 0x20000"},
		{name: "protocol minor", spoil: func(d *Device) {
			d.Write32(ANE, Scratch(ScratchIPC), IPCVersion|3)
		}, wake: WakeChannels},
		{name: "heap", spoil: func(d *Device) {
			d.Write32(ANE, Scratch(ScratchHeap), 2<<20)
		}, wake: 0, want: "the initial heap is 2097152 bytes, want more than twice the reservation"},
		{name: "heap that is enough", spoil: func(d *Device) {
			d.Write32(ANE, Scratch(ScratchHeap), 2<<20+2)
		}, wake: WakeChannels},
		{name: "vector", spoil: func(d *Device) {
			d.Write32(ANE, RegRVBAR, 4)
		}, wake: BootCold, want: "rANE_H11_CHINOOK_IO_RVBAR"},
		{name: "boot kind", spoil: func(d *Device) {
			d.Write32(ANE, Scratch(7), 2)
		}, wake: 0, want: "want 1 (warm boot) or 0 (cold boot)"},
		{name: "warm", spoil: func(d *Device) { d.Write32(ANE, Scratch(7), BootWarm) }, wake: WakeChannels},
	} {
		h := newHost(t, nil)
		h.release()
		c.spoil(h.d)
		for range 2 {
			if err := h.run(); err != nil {
				t.Fatal(err)
			}
			if h.d.Read32(ANE, Scratch(7)) != WakeChannels {
				if c.wake == WakeChannels || h.d.Read32(ANE, Scratch(7)) == WakeAlive {
					h.d.Write32(ANE, Scratch(7), 0)
				}
			}
		}
		err := ""
		if e := h.d.LastError(); e != nil {
			err = e.Error()
		}
		if up := h.d.Rings() != nil; up != (c.want == "") || !strings.Contains(err, c.want) {
			t.Errorf("%s: up is %v, %s", c.name, up, err)
		}
	}
}

// A ring with another version prevents the second wake.
func TestRingVersionMustMatch(t *testing.T) {
	for _, name := range []string{"", "SHAREDMALLOC", "DATA_CHAIN_H2T"} {
		h := newHost(t, func(c *Config) {
			c.RingVersion = func(channel string) uint32 {
				if channel == name {
					return RingVersion + 1
				}
				return RingVersion
			}
		})
		err := h.boot()
		if (err == nil) != (name == "") || err != nil && !strings.Contains(err.Error(), "channel "+name+
			" has ring-buffer version") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The first commands, in their order, and the replies to queries.
func TestFirstCommandsAreInOrder(t *testing.T) {
	h := newHost(t, nil)
	h.up()
	h.first()
	for _, c := range []struct {
		name   string
		values []uint64
		reply  []uint64
	}{
		{"RESOURCE_INFO_GET", nil, []uint64{1, maxCacheRequests, maxProcedures}},
		{"STATS_BUFFER_SIZE_GET", nil, []uint64{0x28, 0x14, 0x10, 0x20}},
		{"CH_PROPERTY_READ", []uint64{PropHostTime, 0}, []uint64{PropHostTime, 1}},
	} {
		h.must(c.name, none(), c.values...)
		r, ok := h.d.TakeReply()
		if !ok || r.Row.Name != c.name {
			t.Fatalf("%s: no reply", c.name)
		}
		for i, v := range c.reply {
			if r.Record.Values[i] != v {
				t.Errorf("%s: %v", c.name, r.Record.Values)
			}
		}
		if err := r.Record.Layout.Check(r.Record.Append(nil)); err != nil {
			t.Error(err)
		}
	}
	if n := h.command("CH_PROPERTY_WRITE", none(), 0x1000, 4); n.status() != StatusMalformed {
		t.Errorf("a register outside the window: %+v", n)
	}
	if n := h.command("PROGRAM_INTERFACE_VERSION_CHECK", none(), 1, 7); n.status() != StatusOK {
		t.Errorf("another minor version warns and continues: %+v", n)
	}
	if n := h.command("PROGRAM_INTERFACE_VERSION_CHECK", none(), 2, 0); n.status() != StatusProgram {
		t.Errorf("another major version: %+v", n)
	}
	if n := h.command("INIT_SHARED_EVENT_INFO", none(), 0x1000, 8); n.status() != StatusMalformed {
		t.Errorf("room for no event: %+v", n)
	}
	if n := h.command("SET_SNE_PMU_BASE", none(), 0x1000); n.status() != StatusMalformed {
		t.Errorf("another PMU base: %+v", n)
	}
	if got := h.d.PMU(PMUBase); got != PowerSlow {
		t.Errorf("power state of a slow clock is %#x", got)
	}
	h.d.Write32(PS, RegClock, 1)
	for i, want := range []uint32{PowerOn, PowerOn, 0, 0, 0, 0} {
		if got := h.d.PMU(PMUBase + PMUStride*uint64(i)); got != want {
			t.Errorf("power state %d is %#x", i, got)
		}
	}
	if h.d.PMU(PMUBase-8) != 0 || h.d.PMU(PMUBase+4) != 0 {
		t.Error("registers outside the aperture")
	}
	// Commands that the driver serves itself are refused and counted.
	if n := h.command("PING", none()); n.name != "CH_ERROR_NOTIFICATION" || n.status() != StatusUnsupported {
		t.Errorf("%+v", n)
	}
	if s := h.d.Stats(); s.Refused != 1 {
		t.Errorf("%+v", s)
	}
}
