package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// programs is one program in slot 0 with two procedures, which process 0 runs; procedure 1 has the content type,
// procedure 0 has type 0.
type programs struct {
	base    uint64
	content ContentType
	io      uint32
}

func (p programs) Procedures(id int32) (uint32, bool) { return 2, id == 0 }
func (p programs) Running(id, process int32) bool     { return id == 0 && process == 0 }
func (p programs) Procedure(id int32, i uint32) Procedure {
	c := ContentType(0)
	if i == 1 {
		c = p.content
	}
	return Procedure{c, p.io, p.base}
}

func controller(t testing.TB, cfg Config) *Controller {
	t.Helper()
	if cfg.Programs == nil {
		cfg.Programs = programs{io: 2}
	}
	c, err := NewController(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func record(t testing.TB, l *Layout, values ...uint64) *Record {
	t.Helper()
	r, err := NewRecord(l, nil, values...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// send posts a message on the control channel and has the firmware take it.
func send(t testing.TB, c *Controller, id ID, h Header, body Body) *Delivery {
	t.Helper()
	m, err := New(c.cfg.Numbering, &Rows[id], h, body)
	if err != nil {
		t.Fatal(err)
	}
	return sendBytes(t, c, m.Bytes())
}

func sendBytes(t testing.TB, c *Controller, msg []byte) *Delivery {
	t.Helper()
	if err := c.Post(Control, msg); err != nil {
		t.Fatal(err)
	}
	d, ok := c.Next(Control)
	if !ok {
		t.Fatal("nothing arrives")
	}
	return d
}

func bindLoop(t testing.TB, c *Controller) {
	t.Helper()
	if d := send(t, c, IDEndpointSet, Header{}, record(t, endpointSet, 1, 8, 0x1000, 3)); d.Err != nil {
		t.Fatal(d.Err)
	}
}

func counted(c *Controller, name string, o Outcome) uint64 {
	for _, n := range c.Counts() {
		if n.Name == name && n.Outcome == o {
			return n.N
		}
	}
	return 0
}

func TestEndpointsAreSetBeforeUse(t *testing.T) {
	c := controller(t, Config{})
	if d := send(t, c, IDEndpointUnset, Header{}, record(t, endpointUnset, 1)); !errors.Is(d.Err, ErrUnbound) {
		t.Errorf("unset before set: %v", d.Err)
	}
	d := send(t, c, IDEndpointSet, Header{}, record(t, endpointSet, 0, 8, 0, 0))
	wantError(t, d.Err, HeaderSize, "endPointId")
	bindLoop(t, c)
	if reg, mask := c.Endpoint(Loop).DoorBell(); reg != 0x1000 || mask != 8 {
		t.Errorf("doorbell %#x, mask %#x", reg, mask)
	}
	if d := send(t, c, IDEndpointSet2, Header{}, record(t, endpointSet, 1, 8, 0, 0)); d.Outcome != Rejected {
		t.Errorf("bound twice: %v", d.Err)
	}
	// Ring order over the wrap, and the bound.
	e := c.Endpoint(Loop)
	msg := func(i int) []byte { return []byte(fmt.Sprintf("%024d", i)) }
	next := 0
	for i := range 100 {
		if err := e.Post(msg(i)); err != nil {
			t.Fatal(err)
		}
		if i >= 4 {
			b, ok := e.Take()
			if !ok || !bytes.Equal(b, msg(next)) {
				t.Fatalf("took %q, want message %d", b, next)
			}
			next++
		}
	}
	for i := range 4 {
		if err := e.Post(msg(100 + i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Post(msg(0)); !errors.Is(err, ErrFull) {
		t.Errorf("a full ring: %v", err)
	}
	for range 8 {
		if b, _ := e.Take(); !bytes.Equal(b, msg(next)) {
			t.Fatalf("took %q, want message %d", b, next)
		}
		next++
	}
	// A ring that grows while its oldest message is not in the first place.
	post, take := 0, 0
	for _, n := range []int{3, -2, 4, -1, 4, -8} {
		for ; n > 0; n-- {
			if err := e.Post(msg(post)); err != nil {
				t.Fatal(err)
			}
			post++
		}
		for ; n < 0; n++ {
			if b, _ := e.Take(); !bytes.Equal(b, msg(take)) {
				t.Fatalf("took %q, want message %d", b, take)
			}
			take++
		}
	}
	if d := send(t, c, IDEndpointUnset2, Header{}, record(t, endpointUnset, 1)); d.Err != nil || e.Bound() {
		t.Errorf("unset: %v", d.Err)
	}
	if _, err := NewRecord(endpointSet, nil, 1, MaxSlots+1, 0, 0); err == nil {
		t.Error("too many slots")
	}
	if _, err := NewRecord(endpointSet, nil, 1, 1, 0, 32); err == nil {
		t.Error("a doorbell index of 32")
	}
}

// TestEveryIdentifierIsHandledOrRefused posts each of the 93 and has it handled, or refused and
// counted, as its row says.
func TestEveryIdentifierIsHandledOrRefused(t *testing.T) {
	for _, n := range []Numbering{Logger, Wire} {
		for i := range Rows {
			r := &Rows[i]
			c := controller(t, Config{Numbering: n})
			if n == Wire && r.ID == 0x5c {
				continue // its wire number is 0, which is tested below
			}
			d := sendBytes(t, c, sample(t, n, r).Bytes())
			want := Refused
			switch {
			case r.Disposition == Handled && strings.HasPrefix(r.Name, "PROCEDURE_CALL_") && r.Request.Fields != nil &&
				VariantOf(r.ID) == nil,
				r.ID == IDSetActive, r.ID == IDBackChannel:
				want = Dropped // there is no such handle and no outstanding call
			case r.ID == IDEndpointUnset || r.ID == IDEndpointUnset2:
				want = Rejected
			case r.Disposition == Handled:
				want = Ran
			}
			if d.Outcome != want || d.Row != r || counted(c, r.Name, want) != 1 || len(c.Counts()) != 1 {
				t.Errorf("%v: %v, want %v: %v", r, d.Outcome, want, d.Err)
			}
		}
	}
	c := controller(t, Config{Numbering: Wire})
	m, err := New(Wire, &Start, Header{}, record(t, empty))
	if err != nil {
		t.Fatal(err)
	}
	if d := sendBytes(t, c, m.Bytes()); d.Outcome != Ran || d.Row != &Start {
		t.Errorf("START: %v", d.Err)
	}
	if d := sendBytes(t, c, make([]byte, 24)); d.Outcome != Refused || d.Row.Name != "DEBUG_COMMAND_DATA_CHECK" {
		t.Errorf("wire 0: %v", d.Err)
	}
	unknown := (&Header{ID: uint32(Invalid)}).Append(nil)
	if d := sendBytes(t, c, unknown); d.Outcome != Refused || counted(c, "unknown", Refused) != 1 {
		t.Errorf("the invalid marker: %v", d.Err)
	}
}

// sample makes a valid message of a row.
func sample(t testing.TB, n Numbering, r *Row) *Message {
	t.Helper()
	var body Body
	v := VariantOf(r.ID)
	switch {
	case r.ID == IDInferenceCall:
		body = &Inference{
			PropertyBuffer: 0x4000,
			Buffers: []Buffer{{Type: InputBuffer, BarID: 0, Buffer: 0x8000, Size: 64},
				{Type: OutputBuffer, BarID: 1, Buffer: 0xc000, Size: 64}},
			Packets: 1,
			Call:    *call(v),
		}
	case v != nil && v.Cache:
		body = &CacheCall{Call: *call(v)}
	case v != nil:
		body = call(v)
	case r.ID == IDCacheTrigger:
		body = &Trigger{1, 5, inputs(2)}
	case r.ID == IDBackChannel:
		body = &BackChannel{3, []byte("payload")}
	default:
		rec := &Record{Layout: r.Request}
		for i := range r.Request.Fields {
			rec.Values = append(rec.Values, max(r.Request.Fields[i].Min, min(1, r.Request.Fields[i].Max)))
		}
		switch {
		case groupStride[r.Request] > 0:
			rec.Tail = make([]byte, groupStride[r.Request])
		case r.Request.Tail > 0:
			rec.Tail = []byte("opaque")
		}
		body = rec
	}
	m, err := New(n, r, Header{ProgramID: 0, ProcessID: 0, Priority: 2}, body)
	if err != nil {
		t.Fatalf("%v: %v", r, err)
	}
	return m
}

func TestRecordsAreReadBack(t *testing.T) {
	for _, n := range []Numbering{Logger, Wire} {
		for i := range Rows {
			r := &Rows[i]
			b := sample(t, n, r).Bytes()
			m, used, err := Decode(n, append(bytes.Clone(b), 0xff, 0xff))
			if err != nil || used != len(b) || m.Row != r {
				t.Fatalf("%v: %d of %d bytes, %v", r, used, len(b), err)
			}
			if !bytes.Equal(m.Bytes(), b) {
				t.Errorf("%v: decodes and encodes to other bytes", r)
			}
			// Every shorter message is refused, and a size past the bounds too.
			for k := range b {
				if _, _, err := Decode(n, b[:k]); !errors.Is(err, ErrMalformed) {
					t.Errorf("%v: %d of %d bytes are taken: %v", r, k, len(b), err)
				}
			}
			_, most := r.Request.Bounds()
			if most < 1<<16 {
				long := append(bytes.Clone(b), make([]byte, most+1)...)
				binary.LittleEndian.PutUint32(long[4:], uint32(most+1))
				if _, _, err := Decode(n, long); !errors.Is(err, ErrMalformed) {
					t.Errorf("%v: %d bytes of body are taken", r, most+1)
				}
			}
		}
	}
}

// TestFieldsBeyondTheirBoundsAreRefused sets every bounded field of every record one past its limits.
func TestFieldsBeyondTheirBoundsAreRefused(t *testing.T) {
	for i := range Rows {
		r := &Rows[i]
		m := sample(t, Logger, r)
		for _, f := range r.Request.Fields {
			limit := uint64(1)<<(8*f.Width) - 1
			for _, v := range []uint64{f.Min - 1, f.Max + 1} {
				if v > limit || v >= f.Min && v <= f.Max {
					continue
				}
				b := m.Bytes()
				at := HeaderSize + f.Off
				if f.Width == 4 {
					binary.LittleEndian.PutUint32(b[at:], uint32(v))
				} else {
					binary.LittleEndian.PutUint64(b[at:], v)
				}
				_, _, err := Decode(Logger, b)
				wantError(t, err, at, f.Name)
				if err != nil && !strings.Contains(err.Error(), "CSNE_CMD_"+r.Name) {
					t.Errorf("%v does not name the command", err)
				}
			}
		}
	}
}

func TestProcedureCallsAreEncoded(t *testing.T) {
	h := Header{ProgramID: 0, ProcessID: 0, ProcedureID: 1}
	for content := ContentType(0); content < 6; content++ {
		c := controller(t, Config{Programs: programs{content: content, io: 2}})
		for _, id := range []ID{IDProcedureCall, IDCallBars, IDCallEvents, IDCacheInstall, IDCacheBars, IDCacheEvents} {
			v := variant(t, id)
			var body Body = call(v)
			plain := content == 0 || content == 3 || content == 4
			if v.Cache {
				body, plain = &CacheCall{Call: *call(v)}, content == 0 || content == 3
			}
			if d := send(t, c, id, h, body); (d.Err == nil) != plain {
				t.Errorf("content type %d, %v: %v", content, d.Row, d.Err)
			}
		}
	}
	c := controller(t, Config{})
	body := call(variant(t, IDProcedureCall))
	for _, tc := range []struct {
		h    Header
		want Outcome
		say  string
	}{
		{Header{ProcedureID: 2}, Rejected, "getProcedureCallType(): invalid procedureId=2, tot=2"},
		{Header{ProcessID: 1}, Dropped, "CSNE_CMD_PROCEDURE_CALL dropped. prog 0 process 1 not running"},
		{Header{ProgramID: 5}, Dropped, "prog 5 process 0 not running"},
		{Header{ProgramID: Unbound}, Rejected, "programId"},
	} {
		d := send(t, c, IDProcedureCall, tc.h, body)
		if d.Outcome != tc.want || !strings.Contains(d.Err.Error(), tc.say) {
			t.Errorf("%+v: %v, %v", tc.h, d.Outcome, d.Err)
		}
	}
	// An inference names one buffer more than the procedure has.
	for n, ok := range map[int]bool{1: false, 2: true, 3: false} {
		in := &Inference{PropertyBuffer: 0x4000, Buffers: inputs(n), Call: ProcedureCall{Bars: bars(1)}}
		in.Buffers[0].Type = OutputBuffer
		d := send(t, c, IDInferenceCall, Header{}, in)
		if !ok {
			wantError(t, d.Err, HeaderSize+8, "bufNbr")
			continue
		}
		if d.Err != nil || len(d.Calls) != 1 || len(d.Calls[0].Outputs) != 1 || len(d.Calls[0].Inputs) != 1 ||
			len(d.Calls[0].Bars) != 1 {
			t.Errorf("%v: %+v", d.Err, d.Calls)
		}
	}
	d := send(t, c, IDInferenceCall, Header{ProcessID: 7}, &Inference{PropertyBuffer: 0x4000, Buffers: inputs(2)})
	if d.Err == nil || !strings.Contains(d.Err.Error(),
		"CSNE_CMD_INFERENCE_CALL dropped. prog 0 process 7 not running") {
		t.Errorf("%v", d.Err)
	}
}

func TestCacheRequestsAreCounted(t *testing.T) {
	c := controller(t, Config{CacheRequests: 2})
	v := variant(t, IDCacheInstall)
	install := func() *Delivery { return send(t, c, IDCacheInstall, Header{Priority: 3}, &CacheCall{Call: *call(v)}) }
	first, second := install(), install()
	if first.Err != nil || second.Err != nil {
		t.Fatal(first.Err, second.Err)
	}
	if d := install(); !errors.Is(d.Err, ErrFull) {
		t.Errorf("a third of two requests: %v", d.Err)
	}
	handler := first.Request.Handler
	trigger := func(h, ts uint64) *Delivery {
		return send(t, c, IDCacheTrigger, Header{}, &Trigger{h, ts, inputs(1)})
	}
	finish := func() {
		t.Helper()
		if err := c.Cache().Complete(handler); err != nil {
			t.Fatal(err)
		}
		if d := send(t, c, IDCacheRecycle, Header{}, record(t, recycleLayout, handler, 0, 2, 1, 0x4000,
			64)); d.Err != nil {
			t.Fatal(d.Err)
		}
	}
	d := trigger(handler, 10)
	if d.Err != nil || d.Class != Normal || len(d.Calls) != 1 || d.Calls[0].Inputs[0].Buffer != 0 ||
		len(d.Calls[0].Outputs) != 1 {
		t.Fatalf("%+v", d)
	}
	if d := trigger(handler, 11); d.Outcome != Dropped {
		t.Errorf("triggered while it runs: %v", d.Err)
	}
	finish()
	for _, ts := range []uint64{9, 10} {
		wantError(t, trigger(handler, ts).Err, HeaderSize+8, "execTimestamp")
	}
	if d := trigger(handler, 11); d.Err != nil {
		t.Error(d.Err)
	}
	// Invalidated while it runs: the pool has it back at completion.
	if d := send(t, c, IDCacheInvalidate, Header{}, record(t, invalidateLayout, handler)); d.Err != nil || c.Cache().
		Free() != 0 {
		t.Errorf("%v, %d free", d.Err, c.Cache().Free())
	}
	want := fmt.Sprintf("cacheHandler (%#x) in wrong state (2) for trigger. trigger dropped", handler)
	if d := trigger(handler, 12); d.Outcome != Dropped || !strings.Contains(d.Err.Error(), want) {
		t.Errorf("%v, want %q", d.Err, want)
	}
	if err := c.Cache().Complete(handler); err != nil || c.Cache().Free() != 1 {
		t.Errorf("%v, %d free", err, c.Cache().Free())
	}
	// Its index now serves another request, and the old handle names none.
	third := install()
	if third.Err != nil || third.Request.Handler == handler {
		t.Errorf("%v", third.Err)
	}
	if d := trigger(handler, 13); d.Outcome != Dropped {
		t.Errorf("a stale handle: %v", d.Err)
	}
	// In a group, only the active member fires.
	a, b := second.Request.Handler, third.Request.Handler
	for _, h := range []uint64{a, b} {
		if d := send(t, c, IDSetActive, Header{}, record(t, setActiveLayout, h, 7)); d.Err != nil {
			t.Error(d.Err)
		}
	}
	if d := trigger(a, 1); d.Outcome != Dropped {
		t.Errorf("an inactive member: %v", d.Err)
	}
	if d := trigger(b, 1); d.Err != nil {
		t.Error(d.Err)
	}
	// After a permanent disable the running request ends, and nothing starts.
	if d := send(t, c, IDForceDisable, Header{}, record(t, forceDisableLayout, 1)); d.Err != nil {
		t.Error(d.Err)
	}
	if d := install(); d.Outcome != Dropped {
		t.Errorf("installed after the disable: %v", d.Err)
	}
	if err := c.Cache().Complete(b); err != nil || c.Cache().Free() != 2 {
		t.Errorf("%v, %d free of 2", err, c.Cache().Free())
	}
}

func TestBackChannelSlotsAreAcknowledged(t *testing.T) {
	left := 2
	c := controller(t, Config{RPCEvents: func() int { return left }})
	slot, err := c.CallHost([]byte("who"))
	if err != nil {
		t.Fatal(err)
	}
	m, ok := c.TakeNotification()
	if !ok || m.Row.ID != IDBackChannel || string(m.Body.(*BackChannel).Payload) != "who" {
		t.Fatalf("%+v", m)
	}
	b := m.Body.Append(nil)
	if binary.LittleEndian.Uint32(b) != 0x55aa55aa {
		t.Errorf("magic % x", b[:4])
	}
	if s := c.RPC().Dirty(); len(s) != 1 || s[0] != "RPCEventMap[0] is dirty. (No ack from driver)" {
		t.Errorf("%q", s)
	}
	if d := send(t, c, IDBackChannel, Header{}, &BackChannel{slot, nil}); d.Err != nil || len(c.RPC().Dirty()) != 0 {
		t.Errorf("%v", d.Err)
	}
	if d := send(t, c, IDBackChannel, Header{}, &BackChannel{slot, nil}); d.Outcome != Dropped {
		t.Errorf("acknowledged twice: %v", d.Err)
	}
	left = 1
	if _, err := c.CallHost(nil); !errors.Is(err, ErrFull) {
		t.Errorf("one event left: %v", err)
	}
	left = 2
	for range BackChannelSlots {
		if _, err := c.CallHost(nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.CallHost(nil); !errors.Is(err, ErrFull) {
		t.Errorf("all slots taken: %v", err)
	}
	// Magic and cap, at the limit and past it.
	full := &BackChannel{0, make([]byte, BackChannelCap)}
	if _, err := decodeBackChannel(full.Append(nil)); err != nil {
		t.Error(err)
	}
	if _, err := c.CallHost(make([]byte, BackChannelCap+1)); !errors.Is(err, ErrMalformed) {
		t.Errorf("past the cap: %v", err)
	}
	for _, bad := range []struct {
		off   int
		v     uint32
		field string
	}{{0, 0x55aa55ab, "magic"}, {4, BackChannelCap + 1, "length"}, {4, 4, "length"}, {8, BackChannelSlots, "slot"}} {
		b := (&BackChannel{0, []byte("abc")}).Append(nil)
		binary.LittleEndian.PutUint32(b[bad.off:], bad.v)
		_, err := decodeBackChannel(b)
		wantError(t, err, bad.off, bad.field)
	}
}

func TestPropertiesAreChecked(t *testing.T) {
	c := controller(t, Config{})
	w := record(t, propertyWrite, 0x2_8e08_c000, 1)
	if len(w.Append(nil)) != 12 {
		t.Errorf("a property body has %d bytes, want 12", len(w.Append(nil)))
	}
	if d := send(t, c, IDPropertyWrite, Header{}, w); d.Err != nil || d.Body.(*Record).
		Value("regAddr") != 0x2_8e08_c000 {
		t.Errorf("%v", d.Err)
	}
	if _, err := NewRecord(propertyWrite, nil, 0x10, 0); err == nil {
		t.Error("regValue 0 is written")
	}
	if d := send(t, c, IDPropertyRead, Header{}, record(t, propertyRead, 0x10, 0)); d.Err != nil {
		t.Error(d.Err)
	}
}

func TestNotificationsAreQueuedAndBounded(t *testing.T) {
	c := controller(t, Config{Notifications: 3})
	if err := c.Notify(&Rows[IDProcedureCall], Header{}, call(variant(t, IDProcedureCall))); !errors.Is(err,
		ErrMalformed) {
		t.Errorf("a request as notification: %v", err)
	}
	for i := range uint64(3) {
		if err := c.Notify(&Rows[IDPrefetchEvent], Header{}, record(t, prefetchEvent, i, 9)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Notify(&Rows[IDErrorNote], Header{}, record(t, errorNote, 1)); !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
	for i := range uint64(3) {
		m, ok := c.TakeNotification()
		if !ok || m.Body.(*Record).Value("dsid") != i {
			t.Errorf("notification %d is %+v", i, m)
		}
	}
	if _, ok := c.TakeNotification(); ok {
		t.Error("one too many")
	}
	if _, err := New(Logger, &Rows[IDResetNote], Header{}, &Record{
		Layout: resetNote,
		Values: []uint64{9, 3},
	}); err == nil {
		t.Error("a reset over queues 9 to 3")
	}
}

func TestWrongConfigurationsAreRefused(t *testing.T) {
	p := programs{}
	for _, cfg := range []Config{{}, {Programs: p, ControlSlots: -1}, {Programs: p, ControlSlots: MaxSlots + 1},
		{Programs: p, MaxCmdBufSize: 23},
		{Programs: p, MaxCmdBufSize: MaxMessage + 1}, {Programs: p, CacheRequests: -1},
		{Programs: p, Notifications: 1 << 20}} {
		if _, err := NewController(cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
	c := controller(t, Config{MaxCmdBufSize: 64})
	wantError(t, c.Post(Control, make([]byte, 65)), 0, "message")
	long := append((&Header{ID: 0x3e}).Append(nil), 0)
	wantError(t, sendBytes(t, c, long).Err, 4, "size")
}
