package coprocessor

import (
	"context"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
)

// BenchmarkDispatch measures one call of the tiny graph through rings, firmware and engine; BenchmarkEngine measures
// the engine's part of it.
func BenchmarkDispatch(b *testing.B) {
	h := ready(b, nil)
	x := h.load(containerOf(b, benchGraph), 0)
	x.fill(1)
	hd := x.header()
	m := protocol.LoopMessage{
		Header: protocol.LoopHeader{Wire: 0x204, ProgramID: hd.ProgramID, ProcessID: hd.ProcessID, Priority: 4},
		Body:   x.body(),
	}
	msg := m.Bytes()
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if err := h.d.Rings().Post(protocol.Loop, msg); err != nil {
			b.Fatal(err)
		}
		h.d.Write32(ANE, RegDoorbell, 1<<BellLoop)
		if err := h.d.Run(ctx); err != nil {
			b.Fatal(err)
		}
		if n, ok, _ := h.d.TakeNotification(); !ok || n.Body.(*protocol.Record).Values[1] != 0 {
			b.Fatal("no completion")
		}
		h.bells = h.bells[:0]
	}
}

func BenchmarkEngine(b *testing.B) {
	h := ready(b, nil)
	x := h.load(containerOf(b, benchGraph), 0)
	x.fill(1)
	x.call()
	p := h.d.boot.table.slots[x.program]
	c := &h.d.boot.table.processes[x.process].caches[0]
	b.ReportAllocs()
	for b.Loop() {
		c.b, c.next = h.d.boot, 0
		if err := h.d.engine.Run(context.Background(), p.procs[0].tasks, c); err != nil {
			b.Fatal(err)
		}
	}
}

// benchGraph is small, so that the benchmark measures the path to the engine.
func benchGraph(g *irbuild.Graph) { adder(g) }
