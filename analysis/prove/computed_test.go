package prove

import (
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/runtime/sim/exact"
)

// TestDeparturesAreFoundInAPartOfTheElements has tasks that compute all of a value, three quarters of another and
// nothing of a third, with room for all elements and with room for few.
func TestDeparturesAreFoundInAPartOfTheElements(t *testing.T) {
	const n = 1 << 16
	fs := field.New(1)
	value := func(name string) (*ir.Value, exact.Tensor) {
		v := &ir.Value{Name: name, Type: ir.TensorOf(ir.FP16, n)}
		v.Def = &ir.Op{Def: ir.Lookup("relu", "ios15"), Results: []*ir.Value{v}}
		x := exact.Tensor{Type: v.Type, Elems: make([]field.Elem, n)}
		for i := range x.Elems {
			x.Elems[i] = fs.Hash(fs.Name(name), field.Elem(i))
		}
		return v, x
	}
	whole, all := value("whole")
	part, most := value("part")
	none, missing := value("none")
	for _, c := range []struct{ room, least, greatest int }{ // elements of a value that are looked for
		{4 * n, n, n},
		{1 << 12, 1 << 9, 1 << 12}, // the room is between half full and full of two values
	} {
		got := newComputed(c.room)
		for i := range 64 {
			got.add("net", i, all.Elems[i*n/64:(i+1)*n/64])
		}
		got.add("net", 64, most.Elems[:3*n/4])
		if len(got.at) > c.room {
			t.Errorf("%d elements are kept in room for %d", len(got.at), c.room)
		}
		known := 0
		for i, x := range all.Elems {
			computes, knows := got.has(x)
			if computes != knows {
				t.Fatalf("element %d: computed %t, known %t", i, computes, knows)
			}
			if knows {
				known++
			}
		}
		if known < c.least || known > c.greatest {
			t.Errorf("room %d: %d elements are known, want %d to %d", c.room, known, c.least, c.greatest)
		}
		looked := func(d *Departure) int {
			if d.LookedFor == 0 {
				return d.Elements
			}
			return d.LookedFor
		}
		if d := got.departure(whole, all); d.Missing != 0 || looked(d) != known {
			t.Errorf("room %d: whole: %+v", c.room, d)
		}
		d := got.departure(part, most)
		if share := float64(d.Missing) / float64(looked(d)); share < 0.2 || share > 0.3 || d.Element < 3*n/4 ||
			d.Task != 64 || !d.inPart() {
			t.Errorf("room %d: three quarters: %+v", c.room, d)
		}
		if d := got.departure(none, missing); d.inPart() || d.Missing != looked(d) {
			t.Errorf("room %d: none: %+v", c.room, d)
		}
	}
}
