package reduce

import (
	"fmt"
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
)

// TestNeedGrowsWithTheValues weighs programs whose values grow up to more elements than an int64 counts.
func TestNeedGrowsWithTheValues(t *testing.T) {
	last := int64(0)
	for _, extent := range []int64{1, 1 << 10, 1 << 15, 1 << 20} {
		shape := ir.TensorOf(ir.FP16, extent, extent)
		x, y := &ir.Value{Name: "x", Type: shape}, &ir.Value{Name: "y", Type: shape}
		op := &ir.Op{Results: []*ir.Value{y}}
		y.Def = op
		f := &ir.Func{Name: "main", Body: &ir.Block{Params: []*ir.Value{x}, Ops: []*ir.Op{op}, Outputs: []*ir.Value{y}}}
		n := need(&ir.Program{Funcs: []*ir.Func{f}})
		if n < last || extent < 1<<20 && n < 2*8*extent*extent {
			t.Errorf("values of %s: %d bytes, %d for smaller ones", shape, n, last)
		}
		last = n
	}
}

// TestMemoryIsAFailureOfItsOwn keeps a reduction from taking what needs too much memory for another error.
func TestMemoryIsAFailureOfItsOwn(t *testing.T) {
	err := fmt.Errorf("y: %w", &memlimit.Error{Need: math.MaxInt64, Limit: 1})
	if got, other := failure(nil, err), failure(nil, fmt.Errorf("y: another")); got == other || got == "" {
		t.Errorf("%q and %q, want two failures", got, other)
	}
}
