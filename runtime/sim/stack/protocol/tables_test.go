package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// wantError wants an *Error at a field, and its offset, value and limit in the
// text.
func wantError(t *testing.T, err error, off int, field string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Off != off || e.Field != field {
		t.Errorf("got %v, want an error at byte %#x, field %s", err, off, field)
		return
	}
	if !errors.Is(err, ErrMalformed) || !strings.Contains(e.Error(), fmt.Sprintf("byte %#x, %s = ", off, field)) ||
		e.Limit == "" {
		t.Errorf("error %q lacks offset, field or limit", e)
	}
}

// TestCommandHeaderLayout: the six fields of the command header.
// Table 30.1.
func TestCommandHeaderLayout(t *testing.T) {
	want := []struct {
		name  string
		off   int
		width int
	}{{"id", 0, 4}, {"size", 4, 4}, {"priority", 8, 4}, {"programId", 0xc, 4}, {"processId", 0x10, 4},
		{"procedureId", 0x14, 4}}
	if len(headerLayout.Fields) != len(want) {
		t.Fatalf("%d fields, want 6", len(headerLayout.Fields))
	}
	h := Header{ID: 0x41, Size: 0, Priority: 7, ProgramID: 143, ProcessID: 287, ProcedureID: 9}
	b := h.Append(nil)
	if len(b) != HeaderSize {
		t.Fatalf("%d bytes, want 24", len(b))
	}
	values := []uint32{0x41, 0, 7, 143, 287, 9}
	for i, w := range want {
		f := headerLayout.Fields[i]
		if f.Name != w.name || f.Offset != w.off || f.Width != w.width {
			t.Errorf("field %d is %s at %#x, want %s at %#x", i, f.Name, f.Offset, w.name, w.off)
		}
		if got := binary.LittleEndian.Uint32(b[w.off:]); got != values[i] {
			t.Errorf("%s encodes as %d, want %d", w.name, got, values[i])
		}
	}
	if got, err := DecodeHeader(b); err != nil || got != h {
		t.Errorf("%+v, %v", got, err)
	}
	// -1 is the unbound marker and reads as 0xFFFFFFFF.
	u := Header{ProgramID: Unbound, ProcessID: Unbound}
	if b := u.Append(nil); binary.LittleEndian.Uint64(b[0xc:]) != 1<<64-1 {
		t.Errorf("unbound slots encode as % x", b)
	}
	for _, bad := range []struct {
		set   func(*Header)
		off   int
		field string
	}{
		{func(h *Header) { h.Size = 1 }, 4, "size"},
		{func(h *Header) { h.Size = 1<<32 - 1 }, 4, "size"},
		{func(h *Header) { h.Priority = 8 }, 8, "priority"},
		{func(h *Header) { h.ProgramID = 144 }, 0xc, "programId"},
		{func(h *Header) { h.ProgramID = -2 }, 0xc, "programId"},
		{func(h *Header) { h.ProcessID = 288 }, 0x10, "processId"},
		{func(h *Header) { h.ProcessID = -2 }, 0x10, "processId"},
	} {
		g := h
		bad.set(&g)
		_, err := DecodeHeader(g.Append(nil))
		wantError(t, err, bad.off, bad.field)
	}
	for n := range HeaderSize {
		_, err := DecodeHeader(b[:n])
		wantError(t, err, 0, "header")
	}
}

// TestPriorityLevelsAndClasses: the eight priority levels and their two classes.
// Table 30.2.
func TestPriorityLevelsAndClasses(t *testing.T) {
	want := [10]Class{Realtime, Realtime, Normal, Normal, Normal, Normal, Normal, Normal, 0, 0}
	for p, c := range want {
		if got := ClassOf(uint32(p)); got != c {
			t.Errorf("level %d: %v, want %v", p, got, c)
		}
	}
	levels := uint32(0)
	for _, b := range PriorityBands {
		if b.First != levels {
			t.Errorf("a band begins at %d, want %d", b.First, levels)
		}
		levels = b.Last + 1
	}
	if levels != Priorities {
		t.Errorf("%d levels, want %d", levels, Priorities)
	}
}

// call returns a call of a variant with every array within its limits.
func call(v *Variant) *ProcedureCall {
	c := &ProcedureCall{
		Stats:   Stats{0x4000, 0x100},
		Inputs:  []Buffer{{Type: InputBuffer, BarID: 0, Buffer: 0x8000, Size: 64}},
		Outputs: []Buffer{{Type: OutputBuffer, BarID: 1, Buffer: 0xc000, Size: 128}},
		UserID:  3, JobID: 4,
	}
	if v.Events {
		c.Waits = []Event{{Type: 1, TargetMask: 2, ID: 3, Value: 4}}
		c.Signals = []Event{{Type: 5, TargetMask: 6, ID: 7, Value: 8}}
	}
	if v.Bars {
		c.Bars = []CustomBar{{3, 0x1_0000, 256}}
		c.Order = []uint32{1, 0}
	}
	return c
}

func variant(t testing.TB, id ID) *Variant {
	v := VariantOf(id)
	if v == nil {
		t.Fatalf("%#x is no variant", uint32(id))
	}
	return v
}

func events(n int) []Event       { return make([]Event, n) }
func bars(n int) []CustomBar     { return make([]CustomBar, n) }
func inputs(n int) (bs []Buffer) { return repeat(n, Buffer{Type: InputBuffer}) }
func repeat(n int, b Buffer) (bs []Buffer) {
	for range n {
		bs = append(bs, b)
	}
	return bs
}

// TestCountedFieldsAreBounded checks the counted fields of the procedure-call body, each at its bound and one past it,
// and the rules of the variants.
// Table 30.3.
func TestCountedFieldsAreBounded(t *testing.T) {
	patch := func(off int, v uint32) func([]byte) {
		return func(b []byte) { binary.LittleEndian.PutUint32(b[off:], v) }
	}
	const sets, waits, signals, nbars, stats, size, orderOff, order, sub, masks = 0x00, 0x04, 0x08, 0x0c, 0x10, 0x18,
		0x30, 0x34, 0x38, 0x3c
	for _, tc := range []struct {
		name  string
		id    ID
		set   func(*ProcedureCall)
		bytes func([]byte)
		off   int
		field string // "" for a call that is taken
	}{
		{name: "one output set", id: IDProcedureCall, off: 0},
		{name: "no output set", id: IDProcedureCall, bytes: patch(sets, 0), off: sets, field: "nbrOfOutputBufferSets"},
		{name: "two output sets", id: IDProcedureCall, bytes: patch(sets, 2), off: sets,
			field: "nbrOfOutputBufferSets"},
		{name: "32 bars", id: IDCallBars, set: func(c *ProcedureCall) { c.Bars = bars(32) }, off: 0},
		{name: "33 bars", id: IDCallBars, set: func(c *ProcedureCall) {
			c.Bars = bars(33)
		}, off: nbars, field: "nbrOfCustomBars"},
		{name: "no bars", id: IDCallBars, set: func(c *ProcedureCall) { c.Bars = nil }, off: 0},
		{name: "bars on a plain call", id: IDProcedureCall, set: func(c *ProcedureCall) {
			c.Bars = bars(1)
		}, off: nbars, field: "nbrOfCustomBars"},
		{name: "16 signals", id: IDCallEvents, set: func(c *ProcedureCall) { c.Signals = events(16) }, off: 0},
		{name: "17 signals", id: IDCallEvents, set: func(c *ProcedureCall) {
			c.Signals = events(17)
		}, off: signals, field: "nbrOfSignalEvents"},
		{name: "no signals", id: IDCallEvents, set: func(c *ProcedureCall) {
			c.Signals = nil
		}, off: signals, field: "nbrOfSignalEvents"},
		{name: "waits alone", id: IDCacheEvents, set: func(c *ProcedureCall) { c.Signals = nil }, off: 0},
		{name: "no events", id: IDCacheEvents, set: func(c *ProcedureCall) {
			c.Signals, c.Waits = nil, nil
		}, off: waits, field: "nbrOfWaitEvents"},
		{name: "events on a plain call", id: IDProcedureCall, set: func(c *ProcedureCall) {
			c.Signals = events(1)
		}, off: waits, field: "nbrOfWaitEvents"},
		{name: "sub-network order with events", id: IDCallEvents, set: func(c *ProcedureCall) {
			c.SubNetwork = true
		}, off: sub, field: "bSubNetworkCustomExecuteOrder"},
		{name: "sub-network order with bars", id: IDCallBars, set: func(c *ProcedureCall) {
			c.SubNetwork = true
		}, off: 0},
		{name: "no event mask", id: IDCallEvents, bytes: patch(masks, 0), off: masks, field: "nbrOfEventMasks"},
		{name: "two event masks", id: IDCallEvents, bytes: patch(masks, 2), off: masks, field: "nbrOfEventMasks"},
		{name: "128 orders", id: IDCallBars, set: func(c *ProcedureCall) { c.Order = make([]uint32, 128) }, off: 0},
		{name: "129 orders", id: IDCallBars, set: func(c *ProcedureCall) {
			c.Order = make([]uint32, 129)
		}, off: order, field: "nbrOfCustomExecuteOrder"},
		{name: "offset without order", id: IDCallBars, bytes: patch(order, 0), off: orderOff,
			field: "customExecuteOrderArrayOffset"},
		{name: "order inside the call", id: IDCallBars, bytes: patch(orderOff, 72), off: orderOff,
			field: "customExecuteOrderArrayOffset"},
		{name: "order behind a gap", id: IDCallBars, set: func(c *ProcedureCall) { c.OrderOffset = 1024 }, off: 0},
		{name: "order up to the container's end", id: IDCallBars, set: func(c *ProcedureCall) {
			c.OrderOffset = CopyContainerSize - 8
		}, off: 0},
		{name: "order past the container", id: IDCallBars, bytes: patch(orderOff, CopyContainerSize-7), off: orderOff,
			field: "customExecuteOrderArrayOffset"},
		{name: "order past everything", id: IDCallBars, bytes: patch(orderOff, 1<<32-1), off: orderOff,
			field: "customExecuteOrderArrayOffset"},
		{name: "order on a plain call", id: IDProcedureCall, set: func(c *ProcedureCall) {
			c.Order = []uint32{1}
		}, off: order, field: "nbrOfCustomExecuteOrder"},
		{name: "stats at the least", id: IDProcedureCall, set: func(c *ProcedureCall) { c.Stats.Size = 0x6c }, off: 0},
		{name: "stats too small", id: IDProcedureCall, set: func(c *ProcedureCall) {
			c.Stats.Size = 0x6b
		}, off: size, field: "stats.size"},
		{name: "stats without address", id: IDProcedureCall, set: func(c *ProcedureCall) {
			c.Stats = Stats{0, 1}
		}, off: 0},
		{name: "stats without size", id: IDProcedureCall, set: func(c *ProcedureCall) {
			c.Stats = Stats{1 << 40, 0}
		}, off: 0},
		{name: "stats in the high window", id: IDProcedureCall, set: func(c *ProcedureCall) {
			c.Stats.Buffer = 1 << 32
		}, off: stats, field: "stats.buffer"},
		{name: "count without bytes", id: IDProcedureCall, bytes: patch(0x20, 2), off: 0, field: "size"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := variant(t, tc.id)
			c := call(v)
			if tc.set != nil {
				tc.set(c)
			}
			b := c.Append(nil)
			if len(b) != c.Size() {
				t.Errorf("%d bytes, Size says %d", len(b), c.Size())
			}
			if tc.bytes != nil {
				tc.bytes(b)
			}
			got, err := decodeCall(v, b)
			if tc.field != "" {
				wantError(t, err, tc.off, tc.field)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if again := got.Append(nil); !bytes.Equal(again, b) {
				t.Errorf("decoded and encoded again:\n% x\n% x", b, again)
			}
		})
	}

	// stats.buffer against the process.
	p := programs{base: 0x5000}
	v, h := variant(t, IDProcedureCall), Header{ProgramID: 0, ProcessID: 0}
	c := call(v)
	wantError(t, CheckCall(p, h, v, c, nil), HeaderSize+0x10, "stats.buffer")
	wantError(t, CheckCall(p, h, variant(t, IDCacheInstall), c, nil), HeaderSize+8+0x10, "stats.buffer")
	c.Stats.Buffer = 0x5000
	if err := CheckCall(p, h, v, c, nil); err != nil {
		t.Error(err)
	}

	// The records of events and bars, and the log line.
	e := Event{Type: 1, TargetMask: 2, ID: 3, Value: 4}
	if b := appendRecords(nil, eventRecord, []Event{e}); len(b) != 24 || binary.LittleEndian.Uint64(b[16:]) != 4 {
		t.Errorf("event is % x", b)
	}
	if s := e.Log("waitEvent", 5); s != "waitEvent[5]: type=1 mask=2 id=3 value=4" {
		t.Error(s)
	}
	if s := (&CustomBar{3, 0x40, 7}).Log(1); s != "bar[1]: type=0 cfg=0 barId=3 value=0x40 bufSize=7" {
		t.Error(s)
	}
	ce := call(variant(t, IDCallEvents))
	if s := ce.Log(2); s != "Bufs = 2 Priority = 2 CustomBars = 1 WaitEvents = 1 SignalEvents = 1" {
		t.Error(s)
	}
	bar := func(off int, v uint32, field string) {
		c := &ProcedureCall{Bars: bars(2)}
		b := c.Append(nil)
		at := callLayout.Size + CustomBarSize + off
		binary.LittleEndian.PutUint32(b[at:], v)
		_, err := decodeCall(variant(t, IDCallBars), b)
		if off == 16 {
			at -= 4
		}
		wantError(t, err, at, field)
	}
	bar(0, 1, "bar[1].type")
	bar(4, 1, "bar[1].config")
	bar(8, 32, "bar[1].barId")
	bar(16, 1, "bar[1].value")
	if MaxProgramBars != 128 || MaxExecuteOrder != 128 {
		t.Error("a compiled program holds up to 128 bars and orders")
	}
}

// TestCallAndRequestLimits: the per-call and per-request limits on the M1.
// Table 30.4.
func TestCallAndRequestLimits(t *testing.T) {
	for _, n := range []int{0, 16, 17} {
		tr := Trigger{Handler: 1, Timestamp: 1, Inputs: inputs(n)}
		_, err := decodeTrigger(tr.Append(nil))
		if n <= 16 {
			if err != nil {
				t.Errorf("trigger with %d input buffers: %v", n, err)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("trigger with %d input buffers: %v", n, err)
		}
		// The body is one buffer short, so that the count is what is refused.
		b := tr.Append(nil)
		_, err = decodeTrigger(b[:len(b)-BufferSize])
		wantError(t, err, 16, "nbrOfInputBuffers")
	}
	v := variant(t, IDProcedureCall)
	for _, f := range []struct {
		off  int
		name string
	}{{0x28, "nbrOfTdPartition"}, {0x2c, "nbrOfAneRequestInList"}} {
		for _, n := range []uint32{0, 1, 2} {
			b := call(v).Append(nil)
			binary.LittleEndian.PutUint32(b[f.off:], n)
			if _, err := decodeCall(v, b); n == 1 {
				if err != nil {
					t.Error(err)
				}
			} else {
				wantError(t, err, f.off, f.name)
			}
		}
	}
	// Fewer than two active shared events.
	pool, err := NewCacheRequests(4)
	if err != nil {
		t.Fatal(err)
	}
	first, err := pool.Install(Header{}, &ProcedureCall{}, true)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pool.Install(Header{}, &ProcedureCall{}, true)
	wantError(t, err, 0, "sharedEventsActiveNbr")
	if _, err := pool.Install(Header{}, &ProcedureCall{}, false); err != nil {
		t.Error(err)
	}
	if err := pool.Invalidate(first); err != nil {
		t.Error(err)
	}
	if _, err := pool.Install(Header{}, &ProcedureCall{}, true); err != nil {
		t.Error(err)
	}
}

// TestIdentifierFamilies: the six families of the wire enum and their counts.
// Table 30.5.
func TestIdentifierFamilies(t *testing.T) {
	total := 0
	for _, f := range families {
		n := 0
		for id := int(f.First); id <= int(f.Last); id++ {
			if Wire.Row(uint32(id)) == nil {
				t.Errorf("wire %#04x has no name", id)
			}
			n++
		}
		if n != f.Count {
			t.Errorf("family %#x-%#x has %d identifiers, want %d", f.First, f.Last, n, f.Count)
		}
		total += n
	}
	if total != 94 || len(byWire) != 94 {
		t.Errorf("%d identifiers in families, %d named, want 94", total, len(byWire))
	}
	// Members that the table names, by family.
	for first, names := range map[uint16]string{
		0x0001: "START STOP RESET CONFIG_GET CONFIG_GET_EXT PRINT_ENABLE BUILDINFO BOOT PING TIMEPROFILE_START " +
			"POWER_DOWN POWER_DEVICE_ON POWER_DEVICE_OFF SET_SNE_PMU_BASE SET_DYNAMIC_POWERGATE IPC_ENDPOINT_SET " +
			"CH_BUFFER_RETURN CH_PROPERTY_READ CH_PROPERTY_WRITE TRACE_ENABLE RESOURCE_INFO_GET " +
			"STATS_BUFFER_SIZE_GET SUSPEND DSID_SET MCACHE_SIZE_GET SECURE_MODE_START SECURE_MODE_STOP " +
			"EXCLAVE_MODE_START EXCLAVE_MODE_STOP QUIESCE_STATE CPU_LOAD_GET",
		0x0100: "CH_ERROR_NOTIFICATION CH_POWER_CONTROL CH_SIGNPOST_NOTIFICATION CH_SIGNPOST64_NOTIFICATION_GROUP " +
			"CH_RESET_NOTIFICATION CPU_LOAD_NOTIFICATION SECURE_MODE_RESUME_TRANSITION",
		0x0200: "LOAD_PROGRAM UNLOAD_PROGRAM CREATE_PROCESS TERMINATE_PROCESS PROCEDURE_CALL LOAD_AFPP UNLOAD_AFPP " +
			"PROGRAM_INTERFACE_VERSION_CHECK PROCEDURE_CALL_CACHE_REQUEST PROCEDURE_CALL_WITH_CUSTOM_BARS " +
			"PROCEDURE_CALL_WITH_SIGNAL_EVENTS PREMAP_BUFFER FORCE_DISABLE_CACHE_REQUESTS TM_SYNC_ERR_NOTIFICATION",
		0x0300: "SET_ACTIVE_CACHE_REQUEST_IN_GROUP PROGRAM_EVENT USER_EVENT DBG_EVENT DATA_CHAINING_EVENT " +
			"PREFETCH_DSID_EVENT",
		0x0400: "SECURE_MODE_EVENT REQUEST_PROGRAM_ID RETURN_PROGRAM_ID REQUEST_PROCESS_ID RETURN_PROCESS_ID",
		0x7000: "INFERENCE_CALL", 0xff00: "BACK_CHANNEL_RPC", 0x0000: "DEBUG_COMMAND_DATA_CHECK",
	} {
		for _, name := range strings.Fields(names) {
			r := ByName(name)
			if r == nil {
				t.Errorf("no row %s", name)
			} else if f := familyOf(r.Wire); f == nil || f.First != first {
				t.Errorf("%s is %#04x, outside the family from %#04x", name, r.Wire, first)
			}
		}
	}
	// Inside a family the two numberings run in step.
	last := map[uint16]*Row{}
	for i := range Rows {
		r := &Rows[i]
		if r.WireSource == WireLeft {
			continue
		}
		f := familyOf(r.Wire)
		if l := last[f.First]; l != nil && r.Wire-l.Wire != uint16(r.ID-l.ID) {
			t.Errorf("%s: wire %#04x after %#04x", r.Name, r.Wire, l.Wire)
		}
		last[f.First] = r
	}
	if familyOf(0x35) != nil || familyOf(0x213) != nil || Wire.Row(0x10001) != nil || Wire.Row(uint32(Invalid)) != nil {
		t.Error("identifiers outside the families have names")
	}
}

// TestExecLoopIdentifiers checks what the execution loop implements, and that everything else is refused, in plain and
// in strict mode.
// Table 30.6.
func TestExecLoopIdentifiers(t *testing.T) {
	names := map[uint16]string{
		0x002d: "CH_DATA_FILE_LOAD2", 0x0204: "PROCEDURE_CALL", 0x0209: "PROCEDURE_CALL_TRIGGER_CACHE_REQUEST",
		0x020a: "PROCEDURE_CALL_RECYCLE_OUTPUT_BUFFER", 0x020c: "PROCEDURE_CALL_WITH_CUSTOM_BARS",
		0x0211: "PROCEDURE_CALL_WITH_SIGNAL_EVENTS",
		0x0404: "RETURN_PROCESS_ID", 0xff00: "BACK_CHANNEL_RPC",
	}
	vtable := map[uint16]string{
		0x2d:   "+0x250",
		0x204:  "+0x200",
		0x209:  "+0x218",
		0x212:  "+0x210",
		0x404:  "+0x190",
		0xff00: "func 0x47818",
	}
	if len(ExeLoop) != 9 {
		t.Errorf("%d identifiers, want 9", len(ExeLoop))
	}
	for _, r := range ExeLoop {
		if n, ok := names[r.Wire]; ok && (Wire.Row(uint32(r.Wire)).Name != n || Rows[r.Body].Name != n) {
			t.Errorf("%#04x is %s with the body of %s, want %s", r.Wire, Wire.Row(uint32(r.Wire)).Name,
				Rows[r.Body].Name, n)
		}
		if v, ok := vtable[r.Wire]; ok && r.VTable != v {
			t.Errorf("%#04x: slot %s, want %s", r.Wire, r.VTable, v)
		}
	}
	m := &LoopMessage{
		Row:    LoopRowOf(0x204),
		Header: LoopHeader{Size: 0, Wire: 0x204, ProgramID: 1, ProcessID: 2, ProcedureID: 3, Priority: 4},
		Body:   call(variant(t, IDProcedureCall)),
	}
	b := m.Bytes()
	if binary.LittleEndian.Uint16(b[4:]) != 0x204 {
		t.Errorf("the id is not at 4: % x", b[:24])
	}
	for i, want := range []uint32{1, 2, 3, 4} {
		if got := binary.LittleEndian.Uint32(b[8+4*i:]); got != want {
			t.Errorf("at %#x: %d, want %d", 8+4*i, got, want)
		}
	}
	got, n, err := DecodeLoop(append(b, 1, 2, 3))
	if err != nil || n != len(b) || !bytes.Equal(got.Bytes(), b) {
		t.Errorf("%d of %d bytes, %v", n, len(b), err)
	}
	for _, bad := range []struct {
		off   int
		v     uint32
		field string
	}{{0x08, 144, "programId"}, {0x0c, 288, "processId"}, {0x14, 8, "priority"}, {0, 1 << 31, "size"}} {
		c := bytes.Clone(b)
		binary.LittleEndian.PutUint32(c[bad.off:], bad.v)
		_, _, err := DecodeLoop(c)
		wantError(t, err, bad.off, bad.field)
	}
	// Each of the 65536 wire identifiers is implemented or unsupported.
	for id := range 1 << 16 {
		c := bytes.Clone(b[:HeaderSize])
		binary.LittleEndian.PutUint32(c, 0)
		binary.LittleEndian.PutUint16(c[4:], uint16(id))
		_, _, err := DecodeLoop(c)
		if (LoopRowOf(uint16(id)) == nil) != errors.Is(err, ErrUnsupported) {
			t.Fatalf("%#04x: %v", id, err)
		}
	}
	for _, strict := range []bool{false, true} {
		c := controller(t, Config{Strict: strict})
		bindLoop(t, c)
		unsupported := bytes.Clone(b)
		binary.LittleEndian.PutUint16(unsupported[4:], 0x0201)
		if err := c.Post(Loop, unsupported); err != nil {
			t.Fatal(err)
		}
		d, _ := c.Next(Loop)
		if !strings.Contains(d.Err.Error(), "Cmd 0x201 is not supported through ExeLoop cmd channel") ||
			d.Outcome != Refused {
			t.Errorf("%v, %v", d.Err, d.Outcome)
		}
		late := bytes.Clone(b)
		binary.LittleEndian.PutUint32(late[0x08:], 0)
		if err := c.Post(Loop, late); errors.Is(err, ErrFault) != strict {
			t.Errorf("strict %v: %v", strict, err)
		}
		if n := counted(c, "UNLOAD_PROGRAM", Refused); n != 1 {
			t.Errorf("counted %d, want 1", n)
		}
		if strict {
			continue
		}
		// A call that decodes and fails later is placed in the loop's header.
		d, _ = c.Next(Loop)
		wantError(t, d.Err, 0x10, "procedureId")
	}
}

// TestSubmissionIsExecutedAndNotified: a submission is posted, picked up, executed and notified.
// Figure 30.1.
func TestSubmissionIsExecutedAndNotified(t *testing.T) {
	c := controller(t, Config{})
	m := &LoopMessage{
		Row:    LoopRowOf(0x204),
		Header: LoopHeader{Wire: 0x204, Priority: 1},
		Body:   call(variant(t, IDProcedureCall)),
	}
	if err := c.Post(Loop, m.Bytes()); !errors.Is(err, ErrUnbound) {
		t.Fatalf("an unbound endpoint takes a submission: %v", err)
	}
	bindLoop(t, c)
	if err := c.Post(Loop, m.Bytes()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Endpoint(Loop).Bell():
	default:
		t.Error("no bell rings")
	}
	d, ok := c.Next(Loop)
	if !ok || d.Err != nil || d.Class != Realtime || len(d.Calls) != 1 {
		t.Fatalf("%+v", d)
	}
	ev, err := NewRecord(programEvent, nil, 1, 0, uint64(d.Calls[0].JobID))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Notify(&Rows[IDProgramEvent], d.Header, ev); err != nil {
		t.Fatal(err)
	}
	n, ok := c.TakeNotification()
	if !ok || n.Row.Name != "PROGRAM_EVENT" || n.Body.(*Record).Value("jobId") != 4 {
		t.Errorf("%+v", n)
	}
}

// family is one line of families.
type family struct {
	First, Last uint16 // wire identifiers
	Count       int    // named identifiers; the table's one line of outliers is split in three
	Subsystem   string
}

// families partitions the wire identifiers by high byte (table 30.5).
var families = []family{
	{First: 0x0001, Last: 0x0034, Count: 52, Subsystem: "control, config, power, debug"},
	{First: 0x0100, Last: 0x0108, Count: 9, Subsystem: "channel notifications"},
	{First: 0x0200, Last: 0x0212, Count: 19, Subsystem: "program, process, procedure call"},
	{First: 0x0300, Last: 0x0305, Count: 6, Subsystem: "events"},
	{First: 0x0400, Last: 0x0404, Count: 5, Subsystem: "id handshakes"},
	{First: 0x7000, Last: 0x7000, Count: 1, Subsystem: "outliers"},
	{First: 0xff00, Last: 0xff00, Count: 1, Subsystem: "outliers"},
	{First: 0x0000, Last: 0x0000, Count: 1, Subsystem: "outliers"},
}

// familyOf returns the family of a wire identifier, or nil if it has none.
func familyOf(wire uint16) *family {
	for i := range families {
		if f := &families[i]; wire >= f.First && wire <= f.Last {
			return f
		}
	}
	return nil
}
