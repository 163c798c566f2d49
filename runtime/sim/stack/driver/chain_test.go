package driver

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

// chainOf is an accumulator on the direct path: its output set feeds its input.
func chainOf(t testing.TB, d *Device, task *Task) (control, direct *Services, m *model, c Chain) {
	t.Helper()
	control = open(t, d, task)
	m = prepared(t, control, adder(t), PrepareOptions{})
	c, err := control.ChainingPrepare(m.h, 0)
	if err != nil {
		t.Fatal(err)
	}
	if c.Inputs != 1 || c.Outputs != 1 {
		t.Fatalf("chain %+v", c)
	}
	if direct, err = d.OpenDirect(task); err != nil {
		t.Fatal(err)
	}
	return control, direct, m, c
}

// first is the first value of a buffer of fp16, for small whole numbers.
func first(b []byte) int {
	h := binary.LittleEndian.Uint16(b)
	if h == 0 {
		return 0
	}
	return int(math.Ldexp(1+float64(h&0x3ff)/1024, int(h>>10)-15))
}

// TestChainsKeepTheStateResident runs the accumulator of chapter 2 on the resident path: 1, 2, 3, 4, without another
// transfer of the state by the host.
func TestChainsKeepTheStateResident(t *testing.T) {
	d := newDevice(t, Config{})
	control, direct, m, c := chainOf(t, d, broker(1))
	clear(m.bufs[0])
	clear(m.bufs[1])
	in, out := m.req.Inputs[0], m.req.Outputs
	outBuf := m.bufs[slices.IndexFunc(m.ports, func(p loaderPort) bool { return p.Output })]
	size := m.ports[slices.IndexFunc(m.ports, func(p loaderPort) bool { return !p.Output })].Size

	want(t, direct.InputsReady(c, nil, 0), NotReady) // no output set
	for i := range 4 {
		if err := direct.OutputSetEnqueue(c, out); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			want(t, direct.OutputSetEnqueue(c, out), Busy)
			want(t, direct.InputsReady(c, nil, 0), BadArgument) // the first needs every input
		}
		var inputs []ReadyBuffer
		if i == 0 {
			inputs = []ReadyBuffer{{Port: 0, Surface: in, Size: size}}
		}
		if err := direct.InputsReady(c, inputs, uint64(10*(i+1))); err != nil {
			t.Fatal(err)
		}
		if got := first(outBuf); got != i+1 {
			t.Errorf("step %d: %d", i, got)
		}
	}
	// Timestamps rise strictly.
	if err := direct.OutputSetEnqueue(c, out); err != nil {
		t.Fatal(err)
	}
	want(t, direct.InputsReady(c, nil, 40), BadArgument)
	if err := direct.SetActiveProcedure(c, 3); err != nil {
		t.Fatal(err)
	}
	if err := direct.InputsReady(c, nil, 0); err != nil {
		t.Fatal(err)
	}
	if got := first(outBuf); got != 5 {
		t.Errorf("after the group: %d", got)
	}
	if err := direct.SetActiveProcedure(c, 0); err != nil {
		t.Fatal(err)
	}

	// A reset loses the resident request; the next trigger installs it again,
	// with the buffers that it has.
	if err := d.Sleep(); err != nil {
		t.Fatal(err)
	}
	if err := direct.OutputSetEnqueue(c, out); err != nil {
		t.Fatal(err)
	}
	if err := direct.InputsReady(c, []ReadyBuffer{{Port: 0, Surface: in, Size: size}}, 0); err != nil {
		t.Fatal(err)
	}
	if got := first(outBuf); got != 1 {
		t.Errorf("after the reset, from the start: %d", got)
	}

	// What a chain refuses.
	bad := c
	bad.Procedure = 1
	want(t, direct.OutputSetEnqueue(bad, out), BadArgument)
	bad = Chain{Handle: c.Handle + 1}
	want(t, direct.OutputSetEnqueue(bad, out), NotFound)
	want(t, direct.OutputSetEnqueue(c, []uint32{1, 2}), BadArgument)
	want(t, direct.OutputSetEnqueue(c, []uint32{0xdead}), NotFound)
	for _, b := range []ReadyBuffer{{Port: 1, Surface: in, Size: size}, {Surface: in, Size: size - 1},
		{Surface: in, Offset: 1, Size: size}, {Surface: in, Offset: math.MaxUint64, Size: size}} {
		want(t, direct.InputsReady(c, []ReadyBuffer{b}, 0), BadArgument)
	}
	want(t, direct.InputsReady(c, []ReadyBuffer{{Surface: in, Size: size}, {Surface: in, Size: size}}, 0), BadArgument)
	_, err := control.ChainingPrepare(m.h, 1)
	want(t, err, BadArgument)
	want(t, control.Unprepare(m.h), Busy) // it has a chain

	// Another identity does not reach the chain, and without the entitlement
	// nothing chains.
	other, err := d.OpenDirect(broker(2))
	if err != nil {
		t.Fatal(err)
	}
	want(t, other.OutputSetEnqueue(c, out), NotPrivileged)
	plain, err := d.OpenDirect(&Task{
		PID:               1,
		TeamID:            "TEAM1",
		CodeDirectoryHash: [20]byte{1, 0, 1},
		Entitlements:      []string{UserAccess},
	})
	if err != nil {
		t.Fatal(err)
	}
	want(t, plain.OutputSetEnqueue(c, out), NotPrivileged)
	want(t, plain.InputsReady(c, nil, 0), NotPrivileged)
	want(t, plain.SetActiveProcedure(c, 1), NotPrivileged)
	if err := control.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, direct.OutputSetEnqueue(c, out), NotFound)
	poolsFull(t, d)
}
