package coprocessor

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// raw posts bytes on a ring and returns what comes back.
func (h *host) raw(ch protocol.Channel, msg []byte) []note {
	h.t.Helper()
	if err := h.d.Rings().Post(ch, msg); err != nil {
		h.t.Fatal(err)
	}
	h.d.Write32(ANE, RegDoorbell, 1<<BellLoop|1<<BellControl)
	if err := h.run(); err != nil {
		h.t.Fatal(err)
	}
	return h.notes()
}

// The four classes that the loop accepts, as it logs them, and what it rejects.
// Listing 29.2.
func TestLoopLogsCallsByClass(t *testing.T) {
	var lines []string
	h := ready(t, func(c *Config) { c.Terminal = func(s string) { lines = append(lines, s) } })
	x := h.load(containerOf(t, adder), 0)
	x.fill(1)
	want := x.direct(0)
	hd := x.header()
	in := x.body().Inputs[0]
	event := protocol.Event{Type: EventShared, ID: 3, Value: 1}
	m := h.installed(x)
	for _, c := range []struct {
		class string
		wire  uint16
		body  protocol.Body
		line  string
	}{
		{class: "[PROC CALL]", wire: 0x204, body: x.body(), line: "[PROC CALL] ProgId=0 ProcId=0 Proc=0 Pri=4"},
		{class: "[PROC CALL WITH BARS]", wire: 0x20c, body: func() protocol.Body {
			b := x.body()
			b.Bars = []protocol.CustomBar{{BarID: in.BarID, Value: in.Buffer, BufferSize: in.Size}}
			return b
		}(), line: fmt.Sprintf("bar[0]: type=0 cfg=0 barId=%d value=%#x bufSize=%d", in.BarID, in.Buffer, in.Size)},
		{class: "[PROC CALL WITH EVENTS]", wire: 0x211, body: func() protocol.Body {
			b := x.body()
			b.Signals = []protocol.Event{event}
			return b
		}(), line: "signalEvent[0]: type=0 mask=0 id=3 value=1"},
		{class: "[CR TRIGGER]", wire: 0x209, body: &protocol.Trigger{Handler: m, Timestamp: 1},
			line: fmt.Sprintf("[CR TRIGGER] cacheHandler %#x", m)},
		{class: "[PROC CALL] variant", wire: 0x212, body: x.body(), line: "[PROC CALL] ProgId=0 ProcId=0 Proc=0 Pri=4"},
	} {
		lines = nil
		for i, q := range x.ports {
			if q.Output {
				clear(x.bufs[i])
			}
		}
		h.loop(c.wire, hd, c.body)
		if err := h.run(); err != nil {
			t.Fatal(err)
		}
		if n := h.notes(); len(n) != 1 || n[0].status() != StatusOK {
			t.Fatalf("%s: %+v: %v", c.class, n, h.d.LastError())
		}
		if !slices.Contains(lines, c.line) {
			t.Errorf("%s: no line %q in\n%s", c.class, c.line, strings.Join(lines, "\n"))
		}
		if !bytes.Equal(x.outputs()[0], want[0]) {
			t.Errorf("%s: the result differs", c.class)
		}
	}
	// Larger than the union of the commands, and an opcode that it does not have.
	body := x.body()
	msg := (&protocol.LoopMessage{Header: protocol.LoopHeader{Wire: 0x204, Priority: 4}, Body: body}).Bytes()
	if n := h.raw(protocol.Loop, append(msg, make([]byte, 8192)...)); n[0].status() != StatusMalformed {
		t.Errorf("%+v", n)
	}
	msg[4], msg[5] = 0x77, 0x07
	lines = nil
	if n := h.raw(protocol.Loop, msg); n[0].name != "CH_ERROR_NOTIFICATION" || n[0].status() != StatusUnsupported {
		t.Errorf("%+v", n)
	}
	if !strings.Contains(strings.Join(lines, "\n"), "Cmd 0x777 is not supported through ExeLoop cmd channel") {
		t.Errorf("%q", lines)
	}
}

// installed installs a cache request of a program and returns its handler.
func (h *host) installed(x *loaded) uint64 {
	h.t.Helper()
	h.postBody(protocol.ByName("PROCEDURE_CALL_CACHE_REQUEST"), x.header(), &protocol.CacheCall{Call: *x.body()})
	if err := h.run(); err != nil {
		h.t.Fatal(err)
	}
	if n := h.notes(); len(n) != 1 || n[0].status() != StatusOK {
		h.t.Fatalf("%+v: %v", n, h.d.LastError())
	}
	r, ok := h.d.TakeReply()
	if !ok {
		h.t.Fatal("no handler")
	}
	return r.Record.Values[0]
}

// Each limit of a call, at it and past it. What the device does not take is
// answered and runs nothing.
// Table 29.4.
func TestCallLimitsAreEnforced(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, adder), 0)
	in := x.body().Inputs[0]
	event := func(n int) (es []protocol.Event) {
		for range n {
			es = append(es, protocol.Event{ID: 1})
		}
		return es
	}
	bars := func(n int) (bs []protocol.CustomBar) {
		for range n {
			bs = append(bs, protocol.CustomBar{BarID: in.BarID, Value: in.Buffer, BufferSize: in.Size})
		}
		return bs
	}
	le := func(p []byte, at int, v byte) { p[at] = v }
	const sets, partitions, masks = 24, 24 + 40, 24 + 60 // bytes of the counts in the message
	for _, c := range []struct {
		field string
		wire  uint16
		make  func(b *protocol.ProcedureCall)
		spoil func(p []byte)
		want  Status
	}{
		{field: "32 custom bars", wire: 0x20c, make: func(b *protocol.ProcedureCall) {
			b.Bars = bars(32)
		}, want: StatusOK},
		{field: "33 custom bars", wire: 0x20c, make: func(b *protocol.ProcedureCall) {
			b.Bars = bars(33)
		}, want: StatusMalformed},
		{field: "1 signal event", wire: 0x211, make: func(b *protocol.ProcedureCall) {
			b.Signals = event(1)
		}, want: StatusOK},
		{field: "16 signal events", wire: 0x211, make: func(b *protocol.ProcedureCall) {
			b.Signals = event(16)
		}, want: StatusOK},
		{field: "17 signal events", wire: 0x211, make: func(b *protocol.ProcedureCall) {
			b.Signals = event(17)
		}, want: StatusMalformed},
		{field: "no signal event", wire: 0x211, make: func(b *protocol.ProcedureCall) {
			b.Waits = event(1)
		}, want: StatusMalformed},
		{field: "no event at all", wire: 0x211, make: func(b *protocol.ProcedureCall) {}, want: StatusMalformed},
		{field: "no partition", wire: 0x204, spoil: func(p []byte) { le(p, partitions, 0) }, want: StatusMalformed},
		{field: "2 partitions", wire: 0x204, spoil: func(p []byte) { le(p, partitions, 2) }, want: StatusMalformed},
		{field: "128 execute-order entries", wire: 0x20c, make: func(b *protocol.ProcedureCall) {
			b.Order = make([]uint32, 128)
		}, want: StatusOK},
		{field: "129 execute-order entries", wire: 0x20c, make: func(b *protocol.ProcedureCall) {
			b.Order = make([]uint32, 129)
		}, want: StatusMalformed},
		{field: "no output buffer set", wire: 0x204, spoil: func(p []byte) { le(p, sets, 0) }, want: StatusMalformed},
		{field: "2 output buffer sets", wire: 0x204, spoil: func(p []byte) { le(p, sets, 2) }, want: StatusMalformed},
		{field: "no event mask", wire: 0x211, make: func(b *protocol.ProcedureCall) {
			b.Signals = event(1)
		}, spoil: func(p []byte) { le(p, masks, 0) }, want: StatusMalformed},
		{field: "2 event masks", wire: 0x211, make: func(b *protocol.ProcedureCall) {
			b.Signals = event(1)
		}, spoil: func(p []byte) { le(p, masks, 2) }, want: StatusMalformed},
	} {
		b := x.body()
		if c.make != nil {
			c.make(b)
		}
		hd := x.header()
		msg := (&protocol.LoopMessage{
			Header: protocol.LoopHeader{Wire: c.wire, ProgramID: hd.ProgramID, ProcessID: hd.ProcessID, Priority: 4},
			Body:   b,
		}).Bytes()
		if c.spoil != nil {
			c.spoil(msg)
		}
		tasks := h.d.Stats().Tasks
		n := h.raw(protocol.Loop, msg)
		if len(n) != 1 || n[0].status() != c.want {
			t.Errorf("%s: %+v: %v", c.field, n, h.d.LastError())
		}
		if ran := h.d.Stats().Tasks > tasks; ran != (c.want == StatusOK) {
			t.Errorf("%s: ran is %v", c.field, ran)
		}
	}
	// More than 16 input buffers a trigger.
	tr := &protocol.Trigger{Handler: h.installed(x), Timestamp: 1}
	for range 17 {
		tr.Inputs = append(tr.Inputs, in)
	}
	if n := h.raw(protocol.Loop, (&protocol.LoopMessage{
		Header: protocol.LoopHeader{Wire: 0x209, Priority: 4},
		Body:   tr,
	}).Bytes()); n[0].status() != StatusMalformed {
		t.Errorf("17 inputs: %+v", n)
	}
	tr.Inputs = tr.Inputs[:16]
	if n := h.raw(protocol.Loop, (&protocol.LoopMessage{
		Header: protocol.LoopHeader{Wire: 0x209, Priority: 4},
		Body:   tr,
	}).Bytes()); n[0].status() != StatusOK {
		t.Errorf("16 inputs: %+v: %v", n, h.d.LastError())
	}
}

// The validator's table: a byte a slot, 0x20 apart, and the bounds of the
// identifiers.
// Programs fill their 144 slots, processes their 288, and all come back.
// The identifier handshakes: a slot is requested, loaded into, or returned.
// A container that fails validation takes no slot.
// What a call may bind to which register.
func TestBindingsAreChecked(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, adder), 0)
	in, out := x.body().Inputs[0], x.body().Outputs[0]
	for _, c := range []struct {
		name string
		make func(b *protocol.ProcedureCall)
		want Status
		text string
	}{
		{name: "no input", make: func(b *protocol.ProcedureCall) {
			b.Inputs = nil
		}, want: StatusBuffer, text: "has no buffer; bind it in the call"},
		{name: "no output", make: func(b *protocol.ProcedureCall) {
			b.Outputs = nil
		}, want: StatusBuffer, text: "has no buffer; bind it in the call"},
		{name: "an output's register for an input", make: func(b *protocol.ProcedureCall) {
			b.Inputs[0].BarID = out.BarID
		}, want: StatusBuffer, text: "takes output, got input"},
		{name: "no such register", make: func(b *protocol.ProcedureCall) {
			b.Inputs[0].BarID = 31
		}, want: StatusBuffer, text: "has no buffer-access register 31"},
		{name: "unaligned", make: func(b *protocol.ProcedureCall) {
			b.Inputs[0].Buffer += 32
		}, want: StatusBuffer, text: "want a nonzero multiple of 64"},
		{name: "address 0", make: func(b *protocol.ProcedureCall) {
			b.Outputs[0].Buffer = 0
		}, want: StatusBuffer, text: "0x0, want a nonzero multiple"},
		{name: "no bytes", make: func(b *protocol.ProcedureCall) {
			b.Outputs[0].Size = 0
		}, want: StatusBuffer, text: "at least one byte"},
		{name: "past the aperture", make: func(b *protocol.ProcedureCall) {
			b.Inputs[0].Buffer = 0xf000_0000
		}, want: StatusTranslation, text: "0xf0000000"},
		{name: "not mapped", make: func(b *protocol.ProcedureCall) {
			b.Inputs[0].Buffer = 0x4000_0000
		}, want: StatusTranslation, text: "0x40000000"},
		{name: "the output's buffer as input", make: func(b *protocol.ProcedureCall) {
			b.Inputs[0].Buffer = out.Buffer
		}, want: StatusTranslation, text: "output"},
		{name: "the input's buffer as output", make: func(b *protocol.ProcedureCall) {
			b.Outputs[0].Buffer = in.Buffer
		}, want: StatusTranslation, text: "input"},
		{name: "too small", make: func(b *protocol.ProcedureCall) {
			b.Inputs[0].Size = 64
		}, want: StatusEngine, text: "outside its buffer of 0x40 bytes"},
		{name: "custom bar of a register that is not there", make: func(b *protocol.ProcedureCall) {
			b.Bars = []protocol.CustomBar{{BarID: 31, Value: in.Buffer, BufferSize: 64}}
		}, want: StatusBuffer, text: "bar[0]"},
		{name: "an operation that is not there", make: func(b *protocol.ProcedureCall) {
			b.Order = []uint32{0, 9}
		}, want: StatusMalformed, text: "customExecuteOrder[1] is 9"},
		{name: "right", make: func(b *protocol.ProcedureCall) {}, want: StatusOK},
	} {
		b := x.body()
		c.make(b)
		h.loop(0x20c, x.header(), b)
		if err := h.run(); err != nil {
			t.Fatal(err)
		}
		n := h.notes()
		if len(n) != 1 || n[0].status() != c.want {
			t.Errorf("%s: %+v: %v", c.name, n, h.d.LastError())
			continue
		}
		if c.want != StatusOK && !strings.Contains(h.d.LastError().Error(), c.text) {
			t.Errorf("%s: %v", c.name, h.d.LastError())
		}
		var f *translation.Fault
		if c.want == StatusTranslation && errors.As(h.d.LastError(), &f) && c.name == "not mapped" {
			if f.Client != uint64(h.user) || f.Stream < 0 || f.Task == "" || f.Addr != 0x4000_0000 {
				t.Errorf("%+v", f)
			}
		}
	}
	full1(t, h.d, "direct procedure-call event")
}

func full1(t *testing.T, d *Device, name string) {
	t.Helper()
	for _, p := range d.Pools() {
		if p.Name == name && p.Available != p.Total {
			t.Errorf("pool %s: %d of %d available", p.Name, p.Available, p.Total)
		}
	}
}

// Calls run by priority, regardless of the order in which they were posted, and within a priority in that order. A
// call's register block is in its queue's file, at the addresses of the firmware's aperture.
// Table 29.7.
func TestCallFillsTheRegisterBlock(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, adder), 0)
	x.call()
	b := x.body()
	f := &h.d.boot.file
	q := func(off uint32) uint32 { return f.Read(firmware.QueueAddress(4, off)) }
	for _, y := range append(b.Inputs, b.Outputs...) {
		if got := q(firmware.RegBars + 4*y.BarID); uint64(got) != y.Buffer {
			t.Errorf("register %d is %#x, want %#x", y.BarID, got, y.Buffer)
		}
	}
	network := uint32(h.d.boot.table.slots[x.program].network)
	if q(firmware.RegPriority) != 4<<16|network || q(firmware.RegEnable) != 1 || q(firmware.RegStatus) != 1 ||
		q(firmware.RegDoorbell) != 1 {
		t.Error("the queue's registers")
	}
	if f.Read(0) != 0 || f.Read(fileEnd) != 0 {
		t.Error("registers outside the file")
	}
	f.Write(fileEnd+4, 3)
}

// A custom execute order runs the operations it names, in its order.
func TestCallsExecuteInOrder(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, tiny), 0)
	x.fill(3)
	want := x.direct(0)[0]
	ops := len(h.d.boot.table.slots[x.program].procs[0].ops)
	call := func(order ...uint32) []byte {
		b := x.body()
		b.Order = order
		for i, q := range x.ports {
			if q.Output {
				clear(x.bufs[i])
			}
		}
		h.loop(0x20c, x.header(), b)
		if err := h.run(); err != nil {
			t.Fatal(err)
		}
		if n := h.notes(); n[0].status() != StatusOK {
			t.Fatalf("%v: %+v: %v", order, n, h.d.LastError())
		}
		return x.outputs()[0]
	}
	var all []uint32
	for i := range ops {
		all = append(all, uint32(i))
	}
	if !bytes.Equal(call(all...), want) {
		t.Error("all in order differ")
	}
	if ops > 1 && bytes.Equal(call(0), want) {
		t.Error("the first operation alone gives the result")
	}
	if !bytes.Equal(call(append(all, all...)...), want) {
		t.Error("all twice differ")
	}
	if !bytes.Equal(call(), want) {
		t.Error("without an order")
	}
}

// twoOps is a graph whose program has several tasks and scratch between them.
func twoOps(g *irbuild.Graph) {
	x := g.Input(1, 16, 8, 8)
	y := g.Op("matmul", "x", x, "y", g.Weights(1, 16, 8, 8), "transpose_x", false, "transpose_y", false)
	g.Output(g.Op("softmax", "x", y, "axis", -1))
}

// Inference calls: the property buffer is mapped ahead, buffers are counted.
func TestInferenceComputesTheOutput(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, twoOps), 0)
	x.fill(5)
	want := x.direct(0)[0]
	property := make([]byte, 64)
	m, err := h.ctx.Map(property, translation.Constants, "property")
	if err != nil {
		t.Fatal(err)
	}
	b := x.body()
	in := &protocol.Inference{
		PropertyBuffer: m.Addr(),
		Buffers:        append(b.Inputs, b.Outputs...),
		Call:           protocol.ProcedureCall{JobID: 77},
	}
	send := func() note {
		t.Helper()
		h.postBody(protocol.ByName("INFERENCE_CALL"), x.header(), in)
		if err := h.run(); err != nil {
			t.Fatal(err)
		}
		return h.notes()[0]
	}
	if n := send(); n.status() != StatusBuffer {
		t.Errorf("without PREMAP_BUFFER: %+v", n)
	}
	hd := none()
	hd.ProcedureID = h.user
	h.must("PREMAP_BUFFER", hd, 1, 1, m.Addr(), 64)
	h.must("PREMAP_BUFFER", hd, 1, 1, m.Addr(), 64)
	if n := send(); n.status() != StatusOK || n.values[2] != 77 || n.values[0] != 0x7000 {
		t.Errorf("%+v: %v", n, h.d.LastError())
	}
	if !bytes.Equal(x.outputs()[0], want) {
		t.Error("the result differs")
	}
	in.Buffers = in.Buffers[1:]
	if n := send(); n.status() != StatusMalformed {
		t.Errorf("a buffer too few: %+v", n)
	}
	if n := h.command("PREMAP_BUFFER", hd, 1, 1, 0x7000_0000, 64); n.status() != StatusTranslation {
		t.Errorf("nothing mapped: %+v", n)
	}
}

// The statistics buffer is written at completion if the host maps one, and otherwise not.
// Listing 29.4.
func TestStatisticsAreWrittenWhenMapped(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, adder), 0)
	mem := make([]byte, 0x100)
	m, err := h.ctx.Map(mem, translation.Output, "stats")
	if err != nil {
		t.Fatal(err)
	}
	call := func(buffer, size uint64) note {
		b := x.body()
		b.Stats = protocol.Stats{Buffer: buffer, Size: size}
		h.loop(0x204, x.header(), b)
		if err := h.run(); err != nil {
			t.Fatal(err)
		}
		return h.notes()[0]
	}
	for _, s := range [][2]uint64{{0, 0x100}, {m.Addr(), 0}} {
		if n := call(s[0], s[1]); n.status() != StatusOK || !bytes.Equal(mem, make([]byte, 0x100)) {
			t.Errorf("%x: %+v", s, n)
		}
	}
	for i := range uint64(2) {
		if n := call(m.Addr(), 0x100); n.status() != StatusOK {
			t.Fatalf("%+v: %v", n, h.d.LastError())
		}
		hdr, engines, err := firmware.ReadStats(mem)
		if err != nil || len(engines) != 1 {
			t.Fatalf("%v, %d engines", err, len(engines))
		}
		if hdr.Timing != uint64(x.trip()) || hdr.Word1 != x.job || hdr.Counter != i+1 || engines[0].Call != x.job ||
			engines[0].Counters[1] == 0 {
			t.Errorf("%+v %+v", hdr, engines)
		}
	}
	if n := call(0x7000_0000, 0x100); n.status() != StatusTranslation {
		t.Errorf("%+v", n)
	}
}

// If a host takes no notifications, those that do not fit are lost, and the firmware continues. A full ring throttles
// the host, and all calls are answered even if there are more than the event pool has entries. A file of tunables is
// accepted if the engine's flag is set.
