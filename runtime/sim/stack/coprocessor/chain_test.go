package coprocessor

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// half patterns of small whole numbers.
var halves = [...]uint16{0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500}

func (h *host) trigger(m *protocol.Trigger) note {
	h.t.Helper()
	h.loop(0x209, protocol.Header{Priority: 4}, m)
	if err := h.run(); err != nil {
		h.t.Fatal(err)
	}
	n := h.notes()
	if len(n) != 1 {
		h.t.Fatalf("%+v", n)
	}
	return n[0]
}

// resident is an accumulator whose state stays on the device: two buffers that
// may be read and written, and a cache request over them.
type resident struct {
	x       *loaded
	bufs    [2][]byte
	addrs   [2]uint64
	handler uint64
	out     protocol.Buffer
}

func (h *host) resident() *resident {
	h.t.Helper()
	r := &resident{x: h.load(containerOf(h.t, adder), 0)}
	body := r.x.body()
	size := max(body.Inputs[0].Size, body.Outputs[0].Size)
	for i := range r.bufs {
		r.bufs[i] = make([]byte, size)
		m, err := h.ctx.Map(r.bufs[i], translation.Intermediate, "state")
		if err != nil {
			h.t.Fatal(err)
		}
		r.addrs[i] = m.Addr()
	}
	body.Inputs[0].Buffer, body.Outputs[0].Buffer = r.addrs[0], r.addrs[1]
	r.out = body.Outputs[0]
	h.postBody(protocol.ByName("PROCEDURE_CALL_CACHE_REQUEST"), r.x.header(), &protocol.CacheCall{Call: *body})
	if err := h.run(); err != nil {
		h.t.Fatal(err)
	}
	if n := h.notes(); n[0].status() != StatusOK {
		h.t.Fatalf("%+v", n)
	}
	reply, _ := h.d.TakeReply()
	r.handler = reply.Record.Values[0]
	return r
}

func (r *resident) recycle(h *host, buffer uint64) note {
	h.t.Helper()
	return h.command("PROCEDURE_CALL_RECYCLE_OUTPUT_BUFFER", r.x.header(), r.handler, 0, uint64(protocol.OutputBuffer),
		uint64(r.out.BarID), buffer, r.out.Size)
}

// An execution's output set is the next one's input set, without the host: the
// accumulator counts.
func TestChainsPassData(t *testing.T) {
	h := ready(t, nil)
	r := h.resident()
	for i := 1; i <= 4; i++ {
		n := h.trigger(&protocol.Trigger{Handler: r.handler, Timestamp: uint64(10 * i)})
		if n.name != "DATA_CHAINING_EVENT" || n.status() != StatusOK || n.values[0] != r.handler ||
			n.values[2] != uint64(10*i) {
			t.Fatalf("step %d: %+v: %v", i, n, h.d.LastError())
		}
		out := r.bufs[i%2]
		if got := binary.LittleEndian.Uint16(out); got != halves[i] {
			t.Errorf("step %d: %#x", i, got)
		}
		// The next output goes to the buffer that was read.
		if n := r.recycle(h, r.addrs[(i+1)%2]); n.status() != StatusOK {
			t.Fatalf("%+v: %v", n, h.d.LastError())
		}
	}
	// A trigger brings an input of its own.
	binary.LittleEndian.PutUint16(r.bufs[1], halves[1])
	in := r.x.body().Inputs[0]
	in.Buffer = r.addrs[1]
	if n := h.trigger(&protocol.Trigger{
		Handler:   r.handler,
		Timestamp: 50,
		Inputs:    []protocol.Buffer{in},
	}); n.status() != StatusOK {
		t.Fatalf("%+v: %v", n, h.d.LastError())
	}
	if got := binary.LittleEndian.Uint16(r.bufs[1]); got != halves[2] {
		t.Errorf("in place: %#x", got)
	}
	// Not recycled, not later, and after the end: dropped or rejected.
	if n := h.trigger(&protocol.Trigger{Handler: r.handler, Timestamp: 60}); n.status() != StatusDropped {
		t.Errorf("not recycled: %+v", n)
	}
	r.recycle(h, r.addrs[0])
	if n := h.trigger(&protocol.Trigger{Handler: r.handler, Timestamp: 50}); n.status() != StatusMalformed {
		t.Errorf("not later: %+v", n)
	}
	if n := h.command("PROCEDURE_CALL_INVALIDATE_CACHE_REQUEST", r.x.header(), r.handler); n.status() != StatusOK {
		t.Errorf("%+v", n)
	}
	if n := h.trigger(&protocol.Trigger{Handler: r.handler, Timestamp: 70}); n.status() != StatusDropped {
		t.Errorf("invalidated: %+v", n)
	}
	if len(h.d.boot.chains) != 0 {
		t.Error("the chain outlives its request")
	}
	full1(t, h.d, "cache request")
}

// A process that is torn down takes its resident requests with it; force-disable
// takes all.
func TestChainsEndWithTheirProgram(t *testing.T) {
	h := ready(t, nil)
	r := h.resident()
	hd := r.x.header()
	h.must("TERMINATE_PROCESS", hd)
	if n := h.trigger(&protocol.Trigger{Handler: r.handler, Timestamp: 1}); n.status() != StatusDropped {
		t.Errorf("%+v", n)
	}
	full1(t, h.d, "cache request")
	r = h.resident()
	s := h.resident()
	if n := h.command("SET_ACTIVE_CACHE_REQUEST_IN_GROUP", r.x.header(), r.handler, 3); n.status() != StatusOK {
		t.Errorf("%+v", n)
	}
	if n := h.command("SET_ACTIVE_CACHE_REQUEST_IN_GROUP", r.x.header(), s.handler, 3); n.status() != StatusOK {
		t.Errorf("%+v", n)
	}
	if n := h.trigger(&protocol.Trigger{Handler: r.handler, Timestamp: 1}); n.status() != StatusDropped {
		t.Errorf("not the active member: %+v", n)
	}
	if n := h.trigger(&protocol.Trigger{Handler: s.handler, Timestamp: 1}); n.status() != StatusOK {
		t.Errorf("the active member: %+v", n)
	}
	h.must("FORCE_DISABLE_CACHE_REQUESTS", none(), 1)
	if n := h.trigger(&protocol.Trigger{Handler: s.handler, Timestamp: 2}); n.status() != StatusDropped {
		t.Errorf("%+v", n)
	}
	full1(t, h.d, "cache request")
	if len(h.d.boot.chains) != 0 {
		t.Error("chains are left")
	}
	// A chain through an output's own mapping cannot be read.
	h2 := ready(t, nil)
	x := h2.load(containerOf(t, adder), 0)
	m := h2.installed(x)
	if n := h2.trigger(&protocol.Trigger{Handler: m, Timestamp: 1}); n.status() != StatusOK {
		t.Fatalf("%+v", n)
	}
	if n := h2.command("PROCEDURE_CALL_RECYCLE_OUTPUT_BUFFER", x.header(), m, 0, uint64(protocol.OutputBuffer),
		uint64(x.body().Outputs[0].BarID), x.body().Outputs[0].Buffer, x.body().
			Outputs[0].Size); n.status() != StatusOK {
		t.Fatalf("%+v", n)
	}
	if n := h2.trigger(&protocol.Trigger{Handler: m, Timestamp: 2}); n.status() != StatusTranslation {
		t.Errorf("read of an output: %+v", n)
	}
	// A trigger that failed leaves nothing to recycle and does not advance.
	in := x.body().Inputs[0]
	if n := h2.trigger(&protocol.Trigger{
		Handler:   m,
		Timestamp: 3,
		Inputs:    []protocol.Buffer{in},
	}); n.status() != StatusOK {
		t.Errorf("%+v: %v", n, h2.d.LastError())
	}
}

// Procedures chained in the firmware: a waiting call runs when another one signals, without the host in between.
func TestSharedEventsStartWaitingCalls(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, adder), 0)
	event := func(id, v uint64) []protocol.Event { return []protocol.Event{{ID: id, Value: v}} }
	post := func(waits, signals []protocol.Event) uint32 {
		b := x.body()
		b.Waits, b.Signals = waits, signals
		h.loop(0x211, x.header(), b)
		return b.JobID
	}
	second := post(event(1, 5), event(2, 1))
	first := post(nil, event(1, 5))
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	var jobs []uint64
	for _, n := range h.notes() {
		if n.status() != StatusOK {
			t.Errorf("%+v: %v", n, h.d.LastError())
		}
		jobs = append(jobs, n.values[2])
	}
	if !slices.Equal(jobs, []uint64{uint64(first), uint64(second)}) || h.d.Events()[1] != 5 ||
		h.d.Events()[2] != 1 {
		t.Errorf("jobs %v", jobs)
	}
	// Until the host signals, the call waits, and only one call may wait.
	waiting := post(event(9, 1), event(3, 1))
	if err := h.run(); err != nil || len(h.notes()) != 0 {
		t.Fatalf("ran without its event: %v", err)
	}
	post(event(9, 1), event(3, 1))
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	if n := h.notes(); len(n) != 1 || n[0].status() != StatusFull {
		t.Errorf("a second waiting call: %+v", n)
	}
	if err := h.d.SignalEvent(9, 1); err != nil {
		t.Fatal(err)
	}
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	if n := h.notes(); len(n) != 1 || n[0].values[2] != uint64(waiting) || n[0].status() != StatusOK {
		t.Errorf("%+v", n)
	}
	// The table has as many events as fit in the space that INIT_SHARED_EVENT_INFO passed.
	h.must("INIT_SHARED_EVENT_INFO", none(), 0x10000, 6*eventBytes)
	for id := range uint64(6) {
		err := h.d.SignalEvent(100+id, 1)
		if full := err != nil; full != (id >= 2) { // 1, 2, 9 and 3 are there
			t.Errorf("event %d: %v", 100+id, err)
		}
	}
	// When a process ends, its waiting calls are dropped.
	post(event(1, 99), event(2, 9))
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	h.post("TERMINATE_PROCESS", x.header())
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	n := h.notes()
	if len(n) != 2 || n[0].status() != StatusDropped || n[1].status() != StatusOK {
		t.Errorf("%+v", n)
	}
	hd := x.header()
	hd.ProcessID = protocol.Unbound
	h.must("UNLOAD_AFPP", hd)
	full(t, h.d)
}

// The firmware calls the driver, which acknowledges the slot.
func TestFirmwareCallsTheHost(t *testing.T) {
	h := ready(t, nil)
	slot, err := h.d.CallHost([]byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	m, ok, err := h.d.TakeNotification()
	if !ok || err != nil || m.Row.Name != "BACK_CHANNEL_RPC" || string(m.Body.(*protocol.BackChannel).
		Payload) != "hello" {
		t.Fatalf("%+v, %v", m, err)
	}
	ack := func() note {
		h.loop(0xff00, protocol.Header{ProgramID: -1, ProcessID: -1}, &protocol.BackChannel{Slot: slot})
		if err := h.run(); err != nil {
			t.Fatal(err)
		}
		return h.notes()[0]
	}
	if n := ack(); n.status() != StatusOK {
		t.Errorf("%+v", n)
	}
	if n := ack(); n.status() != StatusDropped {
		t.Errorf("acknowledged twice: %+v", n)
	}
	for range protocol.BackChannelSlots {
		if _, err := h.d.CallHost(nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.d.CallHost(nil); err == nil {
		t.Error("a call without a slot")
	}
}

// A trigger that cannot be accepted is answered, and leaves the request as it was.
func TestRefusedTriggersLeaveTheRequest(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, adder), 0)
	body := x.body()
	in := body.Inputs[0]
	body.Inputs = nil
	h.postBody(protocol.ByName("PROCEDURE_CALL_CACHE_REQUEST"), x.header(), &protocol.CacheCall{Call: *body})
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	h.notes()
	r, _ := h.d.TakeReply()
	m := r.Record.Values[0]
	if n := h.trigger(&protocol.Trigger{Handler: m, Timestamp: 1}); n.name != "PROGRAM_EVENT" ||
		n.status() != StatusBuffer {
		t.Errorf("%+v", n)
	}
	if n := h.trigger(&protocol.Trigger{
		Handler:   m,
		Timestamp: 2,
		Inputs:    []protocol.Buffer{in},
	}); n.name != "DATA_CHAINING_EVENT" || n.status() != StatusOK {
		t.Errorf("%+v: %v", n, h.d.LastError())
	}
	full1(t, h.d, "direct procedure-call event")
}
