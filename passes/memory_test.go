package passes

import (
	"bytes"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
)

// TestMemoryScalesAsWithout compares weights scaled with a memory, again and after other ones, with weights scaled
// without one.
func TestMemoryScalesAsWithout(t *testing.T) {
	halves := func(v ...float64) (b []byte) {
		for _, x := range v {
			b = ir.AppendElem(b, ir.FP16, x)
		}
		return b
	}
	stored := func(place string, v ...float64) *ir.Const {
		return &ir.Const{Type: ir.TensorOf(ir.FP16, 2, 2), Data: halves(v...), Blob: place, Stored: true}
	}
	m := NewMemory()
	weights := []*ir.Const{stored("w@64", 1, 2, 3, 4), stored("w@128", 5, 6, 7, 8), stored("w@192", 1, 1, 0x1p-13, 1)}
	weights[2].Stored = false // changed since it was read
	for round := range 3 {
		for _, w := range weights {
			for _, factors := range [][]float64{{0.5}, {2}, {0.5, 2}, {2, 0.5}, {0x1p-14, 1}} {
				f := &ir.Const{Type: ir.TensorOf(ir.FP16, int64(len(factors))), Data: halves(factors...)}
				each := func(row int64) float64 { return f.Float(min(row, f.Elems()-1)) }
				got, want := m.scale(w, f, each), scaled(w, each)
				if (got == nil) != (want == nil) || got != nil && !bytes.Equal(got.Data, want.Data) {
					t.Errorf("round %d: %s times %v is %v, want %v", round, w.Blob, factors, got, want)
				}
				if again := m.scale(w, f, each); w.Stored && again != got {
					t.Errorf("%s times %v is computed twice", w.Blob, factors)
				}
			}
		}
		m.Next()
	}
	m.Next()
	if len(m.scaled) != 0 {
		t.Errorf("%d weights are kept that the last compilation did not use", len(m.scaled))
	}
}
