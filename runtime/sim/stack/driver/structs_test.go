package driver

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
)

// Table 27.3.
func TestOpenHandshake(t *testing.T) {
	d := newDevice(t, Config{})
	le := binary.LittleEndian
	handshake := func(c UserClient, usage byte) ([]byte, Return) {
		in, out := make([]byte, 104), make([]byte, 104)
		in[0] = usage
		le.PutUint64(in[0x08:], 0x1111222233334444)
		le.PutUint64(in[0x10:], 0xabcdef)
		le.PutUint64(in[0x18:], 0x2710)
		return out, c.ExternalMethod(0, &IOExternalMethodArguments{StructureInput: in, StructureOutput: out})
	}
	for _, typ := range []uint32{ControlClient, DirectPathClient} {
		c, _ := d.NewUserClient(broker(1), typ)
		out, r := handshake(c, 1)
		if r != Success {
			t.Fatal(r)
		}
		for off, want := range map[int]uint64{0x08: 0x1111222233334444, 0x10: 0xabcdef, 0x18: 10000} {
			if got := le.Uint64(out[off:]); got != want {
				t.Errorf("+%#x = %#x, want %#x echoed", off, got, want)
			}
		}
		for off, want := range map[int]uint32{0x48: 32, 0x4c: 256, 0x50: 1, 0x60: 4} {
			if got := le.Uint32(out[off:]); got != want {
				t.Errorf("+%#x = %d, want %d", off, got, want)
			}
		}
		token := le.Uint64(out)
		if token == 0 {
			t.Error("no session token")
		}
		if _, r := handshake(c, 1); r != Busy {
			t.Errorf("second open: %v", r)
		}
		if r := c.ExternalMethod(1, &IOExternalMethodArguments{}); r != Success {
			t.Errorf("close: %v", r)
		}
		if r := c.ExternalMethod(1, &IOExternalMethodArguments{}); r != Closed {
			t.Errorf("second close: %v", r)
		}
		out, r = handshake(c, 1)
		if r != Success || le.Uint64(out) == token {
			t.Errorf("open again: %v, token %#x", r, le.Uint64(out))
		}
		c.Close()
	}
	c, _ := d.NewUserClient(broker(1), ControlClient)
	for usage, want := range map[byte]Return{2: Unsupported, 0: BadArgument, 3: BadArgument, 255: BadArgument} {
		if out, r := handshake(c, usage); r != want || le.Uint64(out) != 0 {
			t.Errorf("usage %d: %v", usage, r)
		}
	}
	// The framework's code for usage 2 is 24.
	_, err := d.OpenServicesUsage(broker(1), 2)
	e, ok := err.(*Error)
	if !ok || e.Return != 0xe00002c7 || e.Status != 24 {
		t.Errorf("usage 2: %v", err)
	}
}

// Table 27.6.
func TestRequestStructure(t *testing.T) {
	if RequestSize != 2376 || ReplySize != 40 {
		t.Fatalf("request %d, reply %d", RequestSize, ReplySize)
	}
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	m := prepared(t, s, adder(t), PrepareOptions{})
	in := make([]byte, RequestSize)
	r := m.req
	r.Priority, r.QoS = 5, 21
	le := binary.LittleEndian
	for seq := range uint32(2) { // 0, then 1 on the next submit
		if err := EncodeRequest(in, &r, seq); err != nil {
			t.Fatal(err)
		}
		if le.Uint64(in) != uint64(m.h) || le.Uint32(in[8:]) != seq || le.Uint32(in[0x10:]) != 5 ||
			le.Uint32(in[0x14:]) != 21 || le.Uint32(in[0x1c:]) != 2 ||
			le.Uint32(in[0x20:]) != m.req.Inputs[0] {
			t.Errorf("request % x", in[:0x24])
		}
		out := make([]byte, ReplySize)
		a := IOExternalMethodArguments{ScalarInput: []uint64{uint64(s.token)}, StructureInput: in, StructureOutput: out}
		if r := s.Client().ExternalMethod(2, &a); r != Success {
			t.Fatal(r, a.cause)
		}
		if le.Uint32(out) != seq || le.Uint32(out[4:]) != 0 || le.Uint64(out[8:]) != uint64(m.h) ||
			le.Uint32(out[0x20:]) != 1 {
			t.Errorf("reply % x", out)
		}
		got, err := decodeReply(out)
		if err != nil || got != (Reply{Sequence: seq, Result: Success, Handle: m.h, Status: 1}) {
			t.Errorf("reply %+v, %v", got, err)
		}
	}
	// Values that the request may not contain.
	for _, w := range []struct {
		name  string
		off   int
		value uint32
		want  Return
	}{
		{name: "token", off: 0x000, value: 1, want: NotFound}, {name: "procedure", off: reqProcedure, value: 1,
			want: BadArgument}, {name: "priority", off: 0x010, value: 8, want: BadArgument},
		{name: "io category", off: 0x01c, value: 3, want: BadArgument},
		{name: "surface", off: 0x020, value: 0xdead, want: NotFound}, {name: "surface count", off: reqCounts, value: 0,
			want: BadArgument}, {name: "surface count", off: reqCounts, value: 129, want: BadArgument},
		{name: "output count", off: reqCounts + 4, value: 0xffff_ffff, want: BadArgument},
		{name: "wait events", off: reqCounts + 12, value: 17, want: BadArgument},
		{name: "signal events", off: reqCounts + 16, value: 17, want: BadArgument}, {name: "doorbell index",
			off: reqDoorbell, value: 32, want: BadArgument},
		{name: "doorbell of no channel", off: reqDoorbell, value: 31, want: BadArgument}, {name: "statistics surface",
			off: 0x640, value: 0xdead, want: NotFound},
	} {
		b := slices.Clone(in)
		le.PutUint32(b[w.off:], w.value)
		a := IOExternalMethodArguments{
			ScalarInput:     []uint64{uint64(s.token)},
			StructureInput:  b,
			StructureOutput: make([]byte, ReplySize),
		}
		if r := s.Client().ExternalMethod(2, &a); r != w.want || a.cause == nil {
			t.Errorf("%s = %d: %v, %v", w.name, w.value, r, a.cause)
		}
	}
	a := IOExternalMethodArguments{
		ScalarInput:     []uint64{uint64(s.token) + 1},
		StructureInput:  in,
		StructureOutput: make([]byte, ReplySize),
	}
	if r := s.Client().ExternalMethod(2, &a); r != BadArgument {
		t.Errorf("another session's token: %v", r)
	}
	m.check(t)
}

// structs lists every struct of the two selector tables. The sizes are from tables 27.2 and 27.4; fields that the
// chapter does not state are marked as modelled.
var structs = []Struct{
	openIn.Struct, openOut.Struct, requestStruct.Struct, replyStruct.Struct, createIn.Struct,
	prepareStruct.Struct, destroyIn.Struct, statusOut.Struct, instanceIn.Struct, chainingIn.Struct, chainingOut.Struct,
	debugIn.Struct, outputSetIn.Struct, inputsReadyIn.Struct, memoryMapIn.Struct, sessionHintIn.Struct,
	sessionHintOut.Struct, activeIn.Struct,
}

// TestStructs checks that every struct has the size of its selector, that its fields are inside it and do not overlap,
// and that the request's table and its decoder agree.
func TestStructs(t *testing.T) {
	sizes := map[uint32]bool{}
	for _, table := range [][]Selector{ControlSelectors, DirectPathSelectors} {
		for _, s := range table {
			sizes[s.Sizes.StructIn], sizes[s.Sizes.StructOut] = true, true
		}
	}
	described := map[uint32]bool{0: true}
	for _, s := range structs {
		if !sizes[uint32(s.Size)] {
			t.Errorf("%s: no selector takes %d bytes", s.Name, s.Size)
		}
		described[uint32(s.Size)] = true
		end := 0
		for _, f := range s.Fields {
			if f.Offset < end || f.Offset+f.Width > s.Size || f.Source == "" || f.Name == "" {
				t.Errorf("%s: field %+v, the one before ends at %#x", s.Name, f, end)
			}
			end = f.Offset + f.Width
		}
	}
	for n := range sizes {
		if !described[n] {
			t.Errorf("no struct describes the %d bytes of a selector", n)
		}
	}
	var want programRequest
	b := make([]byte, RequestSize)
	for i := range b {
		b[i] = byte(i * 7)
	}
	le := binary.LittleEndian
	for i := range 5 {
		le.PutUint32(b[reqCounts+4*i:], 16)
	}
	le.PutUint32(b[reqCategory:], IOCategory)
	le.PutUint32(b[reqPriority:], 7)
	le.PutUint32(b[reqDoorbell:], 31)
	le.PutUint32(b[reqFurther:], protocol.MaxSubPackets-1)
	if err := requestStruct.decode(b, &want); err != nil {
		t.Fatal(err)
	}
	var got programRequest
	if err := got.decode(b); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("decoder and table differ:\n%+v\n%+v", got, want)
	}
	out := make([]byte, RequestSize)
	requestStruct.encode(out, &want)
	var again programRequest
	if err := again.decode(out); err != nil || again != got {
		t.Errorf("round trip: %v", err)
	}
}
