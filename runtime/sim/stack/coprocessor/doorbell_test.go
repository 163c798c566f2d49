package coprocessor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
)

// The guarded sequence, access by access.
// Listing 29.3.
func TestGuardedDoorbellSequence(t *testing.T) {
	const open, closed = 0x5, 0x80_0000_0005
	for _, c := range []struct {
		name              string
		reject, uncorrect bool
		rc                int
		fatal             bool
		ops               []string
	}{
		{name: "taken", reject: false, uncorrect: false, rc: 0, fatal: false, ops: []string{
			"DAIFSet #0x2 0x0", "mrs 0x8000000005", "msr 0x5", "str 0x20", "dsb sy ; isb 0x5", "mrs 0x5", "mrs 0x5",
			"msr 0x8000000005", "restore_irq 0x0"}},
		{name: "rejected", reject: true, uncorrect: false, rc: 1, fatal: false, ops: []string{
			"DAIFSet #0x2 0x0", "mrs 0x8000000005", "msr 0x5", "str 0x20", "dsb sy ; isb 0x85", "mrs 0x85", "msr 0x5",
			"mrs 0x5", "msr 0x8000000005", "restore_irq 0x0"}},
		{name: "uncorrectable", reject: false, uncorrect: true, rc: 0, fatal: true, ops: []string{
			"DAIFSet #0x2 0x0", "mrs 0x8000000005", "msr 0x5", "str 0x20", "dsb sy ; isb 0x7", "mrs 0x7"}},
		{name: "both", reject: true, uncorrect: true, rc: 0, fatal: true, ops: []string{
			"DAIFSet #0x2 0x0", "mrs 0x8000000005", "msr 0x5", "str 0x20", "dsb sy ; isb 0x87", "mrs 0x87"}},
	} {
		var f fabric
		f.up(linkUp)
		var ops []string
		f.see = func(op string, v uint64) { ops = append(ops, fmt.Sprintf("%s %#x", op, v)) }
		stores := 0
		rc, fatal := f.ringDoorbell(0x1000, 0x20, func(reg uint64, v uint32) (bool, bool) {
			stores++
			if reg != 0x1000 || v != 0x20 {
				t.Errorf("%s: stored %#x at %#x", c.name, v, reg)
			}
			if f.value != open || !f.masked {
				t.Errorf("%s: the store is made at %#x, masked %v", c.name, f.value, f.masked)
			}
			return c.reject, c.uncorrect
		})
		if rc != c.rc || fatal != c.fatal || stores != 1 || !slices.Equal(ops, c.ops) {
			t.Errorf("%s: rc %d, fatal %v, %d stores\n%s", c.name, rc, fatal, stores, strings.Join(ops, "\n"))
		}
		if !fatal && (f.value != closed || f.masked) {
			t.Errorf("%s: leaves %#x, masked %v", c.name, f.value, f.masked)
		}
	}
	// Interrupts that were masked before stay so.
	f := fabric{value: closed, masked: true}
	f.ringDoorbell(0, 1, func(uint64, uint32) (bool, bool) { return false, false })
	if !f.masked {
		t.Error("interrupts are on")
	}
}

// Table 29.5.
func TestFabricKeepsStickyBits(t *testing.T) {
	bits := []uint{}
	for _, b := range FabricBits {
		bits = append(bits, b.Bit)
	}
	if !slices.Equal(bits, []uint{0, 1, 2, 4, 7, 39}) {
		t.Errorf("bits %v", bits)
	}
	// Bit 1 is read-only and sticky: software neither sets it nor, but by writing
	// zero with the reject, loses it.
	var f fabric
	f.up(linkUp)
	f.msr(f.value | fabricL2C)
	if f.value&fabricL2C != 0 {
		t.Error("software sets bit 1")
	}
	// The power gate requires bit 2 set and bit 4 clear, then clears 0, 2 and 4.
	for _, c := range []struct {
		value, after uint64
		ok           bool
	}{
		{fabricEnable | fabricLink | fabricWindow, fabricWindow, true},
		{fabricEnable | fabricWindow, fabricEnable | fabricWindow, false},
		{fabricEnable | fabricLink | fabricSecondary, fabricEnable | fabricLink | fabricSecondary, false},
		{fabricSecondary, fabricSecondary, false},
	} {
		f := fabric{value: c.value}
		if ok := f.gate(); ok != c.ok || f.value != c.after {
			t.Errorf("%#x: gated %v, leaves %#x", c.value, ok, f.value)
		}
	}
}

// A completion rings the client's doorbell, and those that its events name, at
// most three; a rejected store is tried again.
func TestCompletionsRingDoorbells(t *testing.T) {
	reject := 0
	h := ready(t, func(c *Config) {
		c.Fabric = func(reg uint64, v uint32) (bool, bool) {
			if reject > 0 {
				reject--
				return true, false
			}
			return false, false
		}
	})
	if err := h.d.SetTarget(TargetWaiter, 0x3000, 1); err != nil {
		t.Fatal(err)
	}
	if err := h.d.SetTarget(TargetTelemetry, 0x4000, 31); err != nil {
		t.Fatal(err)
	}
	for _, slot := range []int{-1, TargetClient, 3} {
		if h.d.SetTarget(slot, 1, 1) == nil {
			t.Errorf("slot %d is set", slot)
		}
	}
	if h.d.SetTarget(TargetWaiter, 1, 32) == nil {
		t.Error("index 32")
	}
	x := h.load(containerOf(t, adder), 0)
	client := bell{0x2_8000_0000, 1 << 5}
	for _, c := range []struct {
		mask  uint32
		typ   uint32
		bells []bell // after the one that says that the call was taken
	}{
		{0, EventShared, []bell{client}},
		{1, EventShared, []bell{client}},
		{2, EventShared, []bell{client, {0x3000, 2}}},
		{7, EventShared, []bell{client, {0x3000, 2}, {0x4000, 1 << 31}}},
		{0xff, EventShared, []bell{client, {0x3000, 2}, {0x4000, 1 << 31}}},
		{0, EventGPU, []bell{{GPUDoorbell, 1}, client}},
	} {
		h.bells = nil
		body := x.body()
		body.Signals = []protocol.Event{{Type: c.typ, TargetMask: c.mask, ID: 5, Value: uint64(c.mask)}}
		h.loop(0x211, x.header(), body)
		if err := h.run(); err != nil {
			t.Fatal(err)
		}
		if n := h.notes(); len(n) != 1 || n[0].status() != StatusOK {
			t.Fatalf("%+v: %v", n, h.d.LastError())
		}
		if len(h.bells) == 0 || h.bells[0] != client || !slices.Equal(h.bells[1:], c.bells) {
			t.Errorf("mask %#x: %+v", c.mask, h.bells)
		}
	}
	h.bells, reject = nil, 3
	if n := x.call(); n.status() != StatusOK || !slices.Equal(h.bells, []bell{client, client}) {
		t.Errorf("%+v, %+v", n, h.bells)
	}
	if s := h.d.Stats(); s.Retries != 3 {
		t.Errorf("%d retries", s.Retries)
	}
	// If the doorbell is rejected for good, the notification is in the ring, and the firmware continues.
	h.bells, reject = nil, 1000
	if n := x.call(); n.status() != StatusOK || len(h.bells) != 0 {
		t.Errorf("%+v, %+v", n, h.bells)
	}
	if s := h.d.Stats(); s.Retries != 3+2*maxRetries {
		t.Errorf("%d retries", s.Retries)
	}
}

func TestFatalDoorbellsFault(t *testing.T) {
	bad := false
	h := ready(t, func(c *Config) { c.Fabric = func(uint64, uint32) (bool, bool) { return false, bad } })
	x := h.load(containerOf(t, adder), 0)
	bad = true // from the doorbell that says that the call was taken
	h.loop(0x204, x.header(), x.body())
	err := h.run()
	var f *Fault
	if !errors.As(err, &f) || !errors.Is(err, errL2C) || f.Task != "execution-loop pump" {
		t.Fatalf("%v", err)
	}
	dump := h.d.Dump()
	if dump == nil || !strings.Contains(dump.Sections[1].Text, "FAR=0x0000000280000000") ||
		!strings.Contains(dump.Sections[3].Text, "S3_3_C15_C8_0=0x0000000000000007") {
		t.Errorf("the error register is not in the dump: %v", dump)
	}
}
