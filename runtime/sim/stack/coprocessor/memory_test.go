package coprocessor

import (
	"bytes"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// The cached translations of a call are used only while the same bytes are at the addresses: another buffer at the same
// address, a removed buffer and a shorter one are all noticed.
func TestKeptTranslationsNoticeOtherBuffers(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, adder), 0)
	b := x.body()
	in, out := b.Inputs[0], b.Outputs[0]
	const at = 0x3000_0000
	mapAt := func(host []byte, usage translation.Usage) *translation.Mapping {
		t.Helper()
		m, err := h.ctx.MapAt(at, host, usage, "test")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	drop := func(m *translation.Mapping) {
		t.Helper()
		m.Release()
		if err := m.Unmap("test"); err != nil {
			t.Fatal(err)
		}
	}
	call := func() note {
		t.Helper()
		b := x.body()
		b.Inputs[0].Buffer = at
		h.loop(0x204, x.header(), b)
		if err := h.run(); err != nil {
			t.Fatal(err)
		}
		return h.notes()[0]
	}
	result := func() []byte { return x.outputs()[0] }
	host := func(pattern byte) []byte {
		p := make([]byte, in.Size)
		for i := 1; i < len(p); i += 2 {
			p[i] = pattern
		}
		return p
	}
	one, two := host(0x3c), host(0x40) // 1.0 and 2.0
	m := mapAt(one, translation.Input)
	for range 2 {
		if n := call(); n.status() != StatusOK || result()[1] != 0x40 {
			t.Fatalf("%+v, %x", n, result()[:2])
		}
	}
	drop(m)
	if n := call(); n.status() != StatusTranslation {
		t.Errorf("unmapped: %+v", n)
	}
	m = mapAt(two, translation.Input)
	if n := call(); n.status() != StatusOK || result()[1] != 0x42 {
		t.Errorf("another buffer: %+v, %x", n, result()[:2])
	}
	drop(m)
	m = mapAt(two[:64], translation.Input)
	if n := call(); n.status() != StatusTranslation {
		t.Errorf("shorter: %+v", n)
	}
	drop(m)
	m = mapAt(two, translation.Output)
	if n := call(); n.status() != StatusTranslation {
		t.Errorf("of another usage: %+v", n)
	}
	drop(m)
	mapAt(one, translation.Input)
	if n := call(); n.status() != StatusOK || result()[1] != 0x40 {
		t.Errorf("back: %+v, %x", n, result()[:2])
	}
	// The size of the register counts too.
	y := x.body()
	y.Inputs[0].Buffer, y.Inputs[0].Size = at, 64
	h.loop(0x204, x.header(), y)
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	if n := h.notes()[0]; n.status() != StatusEngine {
		t.Errorf("a smaller register: %+v", n)
	}
	h.ctx.Close()
	if n := call(); n.status() != StatusTranslation {
		t.Errorf("closed: %+v", n)
	}
	_ = out
}

// A second call translates nothing again, but checks each register once.
func TestSecondCallTranslatesNothing(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, twoOps), 0)
	x.fill(1)
	x.call()
	c := &h.d.boot.table.processes[x.process].caches[0]
	epochs := c.epochs()
	if len(c.seq) == 0 {
		t.Fatal("nothing is kept")
	}
	first := &c.seq[0].mem[0]
	x.fill(2)
	want := x.direct(0)[0]
	x.call()
	if c.epochs() != epochs || &c.seq[0].mem[0] != first || c.next != len(c.seq) {
		t.Error("the second call did not use what was kept")
	}
	if !bytes.Equal(x.outputs()[0], want) {
		t.Error("the result differs")
	}
}

func (m *callCache) epochs() (e [32]uint32) {
	for i := range m.bars {
		e[i] = m.bars[i].epoch
	}
	return e
}

// The process of one client cannot reach anything of another's, and a program that two clients share has its own
// buffers in the space of the client that loaded it.
func TestClientsReachOnlyTheirOwnMemory(t *testing.T) {
	h := ready(t, nil)
	container := containerOf(t, twoOps)
	x := h.load(container, 0)
	other := h.unit.Context(8)
	h.d.Bind(8, other)
	hd := none()
	hd.ProgramID, hd.ProcedureID = x.program, 8
	process := h.must("CREATE_PROCESS", hd).header.ProcessID
	// The first client's addresses mean nothing to the second.
	b := x.body()
	call := x.header()
	call.ProcessID = process
	h.loop(0x204, call, b)
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	if n := h.notes()[0]; n.status() != StatusTranslation {
		t.Errorf("%+v", n)
	}
	// With buffers of its own it runs.
	x.fill(9)
	want := x.direct(0)[0]
	var bufs [][]byte
	b = x.body()
	for i, q := range x.ports {
		mem := bytes.Clone(x.bufs[i])
		usage := translation.Input
		if q.Output {
			usage = translation.Output
		}
		m, err := other.Map(mem, usage, "port")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range [][]protocol.Buffer{b.Inputs, b.Outputs} {
			for k := range s {
				if s[k].BarID == q.Bar {
					s[k].Buffer = m.Addr()
				}
			}
		}
		bufs = append(bufs, mem)
	}
	for i := range h.d.engine.L2 {
		h.d.engine.L2[i] = 0xee // what the first client may have left
	}
	h.loop(0x204, call, b)
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	if n := h.notes()[0]; n.status() != StatusOK {
		t.Fatalf("%+v: %v", n, h.d.LastError())
	}
	for i, q := range x.ports {
		if q.Output && !bytes.Equal(bufs[i], want) {
			t.Error("the result differs")
		}
	}
}

// A buffer of many pages without its middle faults, and so does a removed one; another buffer in its place is read.
func TestHolesInLargeBuffersFault(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, func(g *irbuild.Graph) {
		g.Output(g.Op("add", "x", g.Input(1, 64, 32, 64), "y", 1.0))
	}), 0)
	in := x.body().Inputs[0]
	if in.Size <= 4*translation.PageSize {
		t.Fatalf("%d bytes", in.Size)
	}
	const at = 0x4000_0000
	call := func(want Status) {
		t.Helper()
		b := x.body()
		b.Inputs[0].Buffer = at
		h.loop(0x204, x.header(), b)
		if err := h.run(); err != nil {
			t.Fatal(err)
		}
		if n := h.notes(); n[0].status() != want {
			t.Errorf("%+v: %v", n, h.d.LastError())
		}
	}
	host := make([]byte, in.Size)
	var last *translation.Mapping
	put := func(b []byte) {
		t.Helper()
		if last != nil {
			last.Release()
			if err := last.Unmap("test"); err != nil {
				t.Fatal(err)
			}
			last = nil
		}
		if b != nil {
			m, err := h.ctx.MapAt(at, b, translation.Input, "test")
			if err != nil {
				t.Fatal(err)
			}
			last = m
		}
	}
	put(host)
	call(StatusOK)
	epochs := h.d.boot.table.processes[x.process].caches[0].epochs()
	call(StatusOK)
	if h.d.boot.table.processes[x.process].caches[0].epochs() != epochs {
		t.Error("the kept translations were not used")
	}
	put(host[:len(host)/2])
	call(StatusTranslation)
	put(host)
	call(StatusOK)
	put(nil)
	call(StatusTranslation)
	other := bytes.Repeat([]byte{0, 0x3c}, len(host)/2)
	put(other)
	call(StatusOK)
	if x.outputs()[0][1] != 0x40 {
		t.Error("the bytes of the buffer before")
	}
}
