package coprocessor

import (
	"bytes"
	"testing"
)

// A call's results are those of the engine alone, bit for bit, at every call.
func TestCall(t *testing.T) {
	h := ready(t, nil)
	x := h.load(containerOf(t, tiny), 0)
	for i := range 3 {
		x.fill(uint64(i))
		want := x.direct(0)
		n := x.call()
		if n.name != "PROGRAM_EVENT" || n.status() != StatusOK || n.values[0] != 0x204 || n.values[2] != uint64(x.job) {
			t.Fatalf("%+v: %v", n, h.d.LastError())
		}
		for k, got := range x.outputs() {
			if !bytes.Equal(got, want[k]) {
				t.Errorf("call %d: output %d differs", i, k)
			}
		}
	}
	hd := x.header()
	hd.ProcedureID = h.user
	h.must("TERMINATE_PROCESS", hd)
	h.must("UNLOAD_AFPP", hd)
	full(t, h.d)
}
