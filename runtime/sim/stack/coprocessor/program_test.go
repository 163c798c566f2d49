package coprocessor

import (
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/lower/td"
)

// TestAddressesOfBuffersComeFromRecords takes the address of a register from the records of its procedure's tasks, and
// refuses records that disagree.
func TestAddressesOfBuffersComeFromRecords(t *testing.T) {
	two := func() *program {
		p := &program{procs: make([]procedure, 2)}
		for i := range p.procs {
			p.procs[i].tasks = []td.Placed{{Off: 2 * i * td.ImageSize}, {Off: (2*i + 1) * td.ImageSize}}
		}
		return p
	}
	record := func(task, bar int, address uint64, offset uint32) td.Record {
		return td.Record{Task: task, Slot: td.SlotSource, Resolved: true, Bar: bar, Operand: address + uint64(offset),
			Offset: offset}
	}
	open := td.Record{Task: 0, Slot: td.SlotResult, Bar: 4}
	p := two()
	err := p.resolve([]td.Record{
		record(0, 3, 0x8000, 0x40), open, record(1, 3, 0x8000, 0x80), record(2, 3, 0xc000, 0),
	}, 4)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{0x8000, 0xc000} {
		if got := p.procs[i].bars[3].addr; got != want {
			t.Errorf("procedure %d: register 3 begins at %#x, want %#x", i, got, want)
		}
	}
	if got := p.procs[0].bars[4].addr; got != 0 {
		t.Errorf("a register that a call binds has address %#x", got)
	}
	err = two().resolve([]td.Record{record(0, 3, 0x8000, 0), record(1, 3, 0x8040, 0)}, 4)
	if err == nil || !strings.Contains(err.Error(), "register 3") {
		t.Errorf("records that disagree: %v", err)
	}
}
