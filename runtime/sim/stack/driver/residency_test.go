package driver

import (
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// TestLeastRecentlyUsedProgramsAreUnloaded prepares more programs than the firmware has slots: the least recently used
// one is unloaded and is loaded again by its next request, except one that has opted out.
func TestLeastRecentlyUsedProgramsAreUnloaded(t *testing.T) {
	rec := &trace.Recording{MaxData: 16}
	d := newDevice(t, Config{Trace: rec.Tracer()})
	s := open(t, d, broker(1))
	kept := prepared(t, s, adder(t), PrepareOptions{KeepWired: true})
	var models []*model
	for range firmware.NumPrograms + 3 {
		models = append(models, prepared(t, s, adder(t), PrepareOptions{}))
	}
	poolsBusy(t, d, firmware.NumPrograms)
	for _, i := range []int{0, 1, len(models) - 1, 2, 0} {
		models[i].fill(uint64(i))
		models[i].check(t)
	}
	kept.check(t)
	unwired := 0
	for _, e := range rec.Events {
		if e.Name == "unwire" {
			unwired++
			if e.Args[0].Value == uint64(kept.info.ProgramID) {
				t.Error("the program that opted out was unwired")
			}
		}
	}
	// Four did not fit, and three of those that were unloaded were loaded again.
	if unwired != 7 {
		t.Errorf("%d programs were unwired, want 7", unwired)
	}
	closeAll(t, d, s)
}

// TestFullAddressSpacesUnloadPrograms does the same for a client's device addresses.
func TestFullAddressSpacesUnloadPrograms(t *testing.T) {
	unit, err := translation.NewUnit(translation.Config{Aperture: 40 * translation.PageSize})
	if err != nil {
		t.Fatal(err)
	}
	d := newDevice(t, Config{Unit: unit})
	s := open(t, d, broker(1))
	var models []*model
	for range 30 {
		models = append(models, prepared(t, s, adder(t), PrepareOptions{}))
	}
	for _, m := range models[:5] {
		m.check(t)
	}
	closeAll(t, d, s)
}

// TestResidentState binds one surface to output and input: the accumulator of
// chapter 2 returns 1, 2, 3, 4.
func TestResidentState(t *testing.T) {
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	m := prepared(t, s, adder(t), PrepareOptions{})
	r := m.req
	state := m.bufs[0]
	clear(state)
	id := s.task.CreateSurface(state)
	r.Inputs, r.Outputs = []uint32{id}, []uint32{id}
	for i := range 4 {
		if _, err := s.SendRequest(&r); err != nil {
			t.Fatal(err)
		}
		if got := first(state); got != i+1 {
			t.Errorf("step %d: %d", i, got)
		}
	}
}
