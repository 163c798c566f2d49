package coprocessor

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// fuzzed is a device with a loaded program that bytes are thrown at.
func fuzzed(t testing.TB) (*host, *loaded) {
	h := ready(t, func(c *Config) { c.MaxWork = 1 << 20 })
	return h, h.load(containerOf(t, adder), 0)
}

// checkIdle checks that the device is as it was: nothing in flight, and the next
// call works.
func checkIdle(t *testing.T, h *host) {
	h.t = t
	b := h.d.boot
	if h.d.fault != nil {
		t.Fatalf("hostile bytes fault the firmware: %v", h.d.fault)
	}
	if n := len(b.jobs.parked); b.run.flight != n || b.run.waiting != 0 {
		t.Fatalf("%d calls in flight, %d of them wait for events, %d for the engine", b.run.flight, n, b.run.waiting)
	}
	r := b.jobs.pool.Report()
	if r.Total-r.Available != len(b.jobs.parked) {
		t.Fatalf("pool %+v with %d parked", r, len(b.jobs.parked))
	}
}

// FuzzMessages posts bytes on both rings of a device with a loaded program.
func FuzzMessages(f *testing.F) {
	h, x := fuzzed(f)
	hd := x.header()
	body := x.body()
	loop := func(wire uint16, b protocol.Body) []byte {
		return (&protocol.LoopMessage{
			Header: protocol.LoopHeader{Wire: wire, ProgramID: hd.ProgramID, ProcessID: hd.ProcessID, Priority: 4},
			Body:   b,
		}).Bytes()
	}
	f.Add(true, loop(0x204, body))
	f.Add(true, loop(0x209, &protocol.Trigger{Handler: 1<<32 | 1, Timestamp: 5, Inputs: body.Inputs}))
	f.Add(true, loop(0xff00, &protocol.BackChannel{Slot: 1, Payload: []byte{1}}))
	b := *body
	b.Signals = []protocol.Event{{ID: 1, Value: 2}}
	b.Waits = []protocol.Event{{ID: 4, Value: 2}}
	f.Add(true, loop(0x211, &b))
	b = *body
	b.Order = []uint32{0, 0}
	b.Bars = []protocol.CustomBar{{BarID: body.Inputs[0].BarID, Value: body.Inputs[0].Buffer, BufferSize: 128}}
	f.Add(true, loop(0x20c, &b))
	addr, size := x.l.AFPP()
	for _, c := range []struct {
		name   string
		values []uint64
	}{
		{"LOAD_AFPP", []uint64{addr, uint64(size)}}, {"CREATE_PROCESS", nil}, {"TERMINATE_PROCESS", nil},
		{"UNLOAD_AFPP", nil},
		{"REQUEST_PROGRAM_ID", nil}, {"RETURN_PROGRAM_ID", nil}, {"REQUEST_PROCESS_ID", nil},
		{"RETURN_PROCESS_ID", nil},
		{"PREMAP_BUFFER", []uint64{1, 1, x.addrs[0], 64}}, {"CH_PROPERTY_WRITE", []uint64{PropTunables, 1}},
		{"CH_PROPERTY_READ", []uint64{PropBase, 1}},
		{"CH_DATA_FILE_LOAD2", []uint64{addr, 64}}, {"FORCE_DISABLE_CACHE_REQUESTS", []uint64{1}}, {"START", nil},
		{"INIT_SHARED_EVENT_INFO", []uint64{0x1000, 1 << 20}}, {"POWER_DEVICE_ON", []uint64{3}},
		{"IPC_ENDPOINT_UNSET", []uint64{1}},
	} {
		row := protocol.ByName(c.name)
		hd := hd
		hd.ProcedureID = h.user
		m, err := protocol.New(Numbering, row, hd, &protocol.Record{Layout: row.Request, Values: c.values})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(false, m.Bytes())
	}
	m, err := protocol.New(Numbering, protocol.ByName("PROCEDURE_CALL_CACHE_REQUEST"), hd,
		&protocol.CacheCall{Call: *body})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(false, m.Bytes())
	f.Fuzz(func(t *testing.T, onLoop bool, msg []byte) {
		h.t = t
		ch, bell := protocol.Control, uint32(1<<BellControl)
		if onLoop {
			ch, bell = protocol.Loop, 1<<BellLoop
		}
		if !h.d.Rings().Endpoint(protocol.Loop).Bound() { // by an earlier input
			h.must("IPC_ENDPOINT_SET", none(), uint64(protocol.EndpointDataChaining), 64, 0x2_8000_0000, 5)
		}
		if h.d.Rings().Post(ch, msg) != nil {
			return // too long
		}
		parked := len(h.d.boot.jobs.parked)
		h.d.Write32(ANE, RegDoorbell, bell)
		if err := h.d.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(h.notes()) < 1 && len(h.d.boot.jobs.parked) == parked {
			t.Fatal("a message without an answer")
		}
		checkIdle(t, h)
	})
}

// FuzzContainer loads modified bytes of a real container, with valid checksums, and calls what was loaded.
func FuzzContainer(f *testing.F) {
	h, x := fuzzed(f)
	good := x.l.Firmware()
	mem := make([]byte, len(good))
	m, err := h.ctx.Map(mem, translation.Text, "fuzz")
	if err != nil {
		f.Fatal(err)
	}
	for i := 0; i < len(good); i += 37 {
		f.Add(uint32(i), uint32(1)<<(i%32))
	}
	f.Fuzz(func(t *testing.T, at, v uint32) {
		h.t = t
		copy(mem, good)
		at %= uint32(len(mem) - 3)
		binary.LittleEndian.PutUint32(mem[at:], binary.LittleEndian.Uint32(mem[at:])^v)
		resum(mem)
		hd := none()
		hd.ProcedureID = h.user
		n := h.command("LOAD_AFPP", hd, m.Addr(), uint64(len(mem)))
		if n.status() != StatusOK {
			return
		}
		hd.ProgramID = n.header.ProgramID
		hd.ProcessID = h.must("CREATE_PROCESS", hd).header.ProcessID
		call := hd
		call.ProcedureID = 0
		h.loop(0x204, call, x.body())
		if err := h.run(); err != nil {
			t.Fatal(err)
		}
		h.notes()
		h.must("TERMINATE_PROCESS", hd)
		hd.ProcessID = protocol.Unbound
		h.must("UNLOAD_AFPP", hd)
		checkIdle(t, h)
	})
}

// resum computes the checksums of the container's only program again: first the records', then the sections'.
func resum(b []byte) {
	le := binary.LittleEndian
	const program, sections, head = 0x40, 0x40 + 16, 40
	body := func(k int) []byte {
		h := b[sections+head*k:]
		off, n := le.Uint64(h[0x14:]), le.Uint64(h[0x1c:])
		if off > uint64(len(b)) || n > uint64(len(b))-off || off+program > uint64(len(b))-n {
			return nil
		}
		return b[program+off:][:n]
	}
	if text := body(2); len(text) > 8 {
		for at := 8; at+44 <= len(text) && at < 8+44*int(le.Uint32(b[sections+head*2+8:])); at += 44 {
			le.PutUint32(text[at+40:], crc32.ChecksumIEEE(text[at:at+40]))
		}
	}
	for k := range 5 {
		if p := body(k); p != nil {
			le.PutUint32(b[sections+head*k+0x24:], crc32.ChecksumIEEE(p))
		}
	}
}
