package coprocessor

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// A dispatch in the trace: the chapters' names in order, with the bytes at each boundary.
func TestTracesNameEveryStep(t *testing.T) {
	rec := new(trace.Recording)
	h := ready(t, func(c *Config) { c.Trace = rec.Tracer() })
	for _, name := range []string{"scratch 7, first wake", "kernel heap", "channel-description table",
		"scratch 7, second wake", "channel ready", "scratch 3, plus a magic-number-1 check", "CSNE_CMD_PRINT_ENABLE",
		"CSNE_CMD_START", "CSNE_CMD_PROGRAM_EVENT", "ring_doorbell"} {
		if !slices.ContainsFunc(rec.Events, func(e trace.Event) bool { return e.Name == name }) {
			t.Errorf("no event %q", name)
		}
	}
	x := h.load(containerOf(t, adder), 0)
	rec.Events = nil
	hd := x.header()
	msg := (&protocol.LoopMessage{
		Header: protocol.LoopHeader{Wire: 0x204, ProgramID: hd.ProgramID, ProcessID: hd.ProcessID, Priority: 4},
		Body:   x.body(),
	}).Bytes()
	h.raw(protocol.Loop, msg)
	var names []string
	for _, e := range rec.Events {
		names = append(names, e.Name)
	}
	want := []string{"CSNE_CMD_PROCEDURE_CALL", "[PROC CALL]", "ring_doorbell", "EXEC", "submit doorbell",
		"task 0", "task 0", "EXEC", "CSNE_CMD_PROGRAM_EVENT", "ring_doorbell"}
	if len(names) != len(want) {
		t.Fatalf("%q", names)
	}
	for i := range want {
		if !strings.HasPrefix(names[i], want[i]) {
			t.Errorf("event %d is %q, want %q", i, names[i], want[i])
		}
	}
	if !bytes.Equal(rec.Events[0].Data, msg) || len(rec.Events[4].Data) != 4*firmware.BlockWords ||
		len(rec.Events[8].Data) != protocol.HeaderSize+12 {
		t.Error("the bytes at the boundaries")
	}
	if rec.Events[5].Layer != trace.Engine || rec.Events[0].Layer != trace.Protocol ||
		rec.Events[9].Layer != trace.Firmware {
		t.Error("layers")
	}
	for i, e := range rec.Events[:9] {
		if e.Name != "ring_doorbell" && (e.Client != uint64(h.user) || e.Request != uint64(x.job)) {
			t.Errorf("event %d, %s: client %d, request %d", i, e.Name, e.Client, e.Request)
		}
	}
	if rec.Events[3].Phase != trace.Begin || rec.Events[7].Phase != trace.End ||
		rec.Events[7].At-rec.Events[3].At != x.trip() {
		t.Error("the span of the execution")
	}
	if d := rec.Events[8].At - rec.Events[0].At; d != x.trip() {
		t.Errorf("the round trip takes %v", d)
	}
}
