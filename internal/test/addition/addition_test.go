package addition_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/hazard"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/test/addition"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
)

// TestContainersAdd checks that the containers load, have no hazard, and add with the arithmetic of their target: from
// h16 on 2048 + 1 is 2050, before it 2048.
func TestContainersAdd(t *testing.T) {
	var names []string
	for _, on := range addition.Targets {
		names = append(names, on.Name)
	}
	if want := []string{"h15", "h16", "h17", "h18", "h18g"}; !slices.Equal(names, want) {
		t.Errorf("targets %q, want %q", names, want)
	}
	for _, on := range addition.Targets {
		b, err := addition.Container(on)
		if err != nil {
			t.Fatalf("%s: %v", on.Name, err)
		}
		f, err := hwx.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if errs := hwx.Validate(f); len(errs) > 0 {
			t.Errorf("%s: %v", on.Name, errs)
		}
		if r, err := hazard.Check(f); err != nil || r.Tasks != 1 || len(r.Hazards) > 0 {
			t.Errorf("%s: hazards %v (%v)", on.Name, r, err)
		}
		if _, err := loader.Read(b); err != nil {
			t.Errorf("%s: %v", on.Name, err)
		}
		m, err := sim.Open(pair.Pair{Container: b})
		if err != nil {
			t.Fatalf("%s: %v", on.Name, err)
		}
		in := map[string]interp.Tensor{}
		for _, p := range m.Inputs() {
			var data []byte
			for range p.Type.Elems() {
				x := map[string]float32{addition.X: 2048, addition.Z: 1}[p.Name]
				data = binary.LittleEndian.AppendUint16(data, float16.Fromfloat32(x).Bits())
			}
			if in[p.Name], err = interp.NewTensor(p.Type, data); err != nil {
				t.Fatal(err)
			}
		}
		out, err := m.Run(t.Context(), in, sim.Options{Numerics: numerics.ANE})
		if err != nil {
			t.Fatalf("%s: %v", on.Name, err)
		}
		want := float32(2048)
		if on.Arithmetic == "ane-fixed" {
			want = 2050
		}
		for i := 0; i < len(out[addition.Y].Data); i += 2 {
			if got := float16.Frombits(binary.LittleEndian.Uint16(out[addition.Y].Data[i:])).Float32(); got != want {
				t.Fatalf("%s: element %d is %v, want %v", on.Name, i/2, got, want)
			}
		}
	}
}
