package reduce

import (
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
)

func TestNothingIsFilledPastSixtyThreeBits(t *testing.T) {
	for _, shape := range [][]int64{{2e9, 2e9, 2e9}, {math.MaxInt64}, {ir.Unknown}, {1 << 31, 1 << 31}} {
		if c := filled(ir.TensorOf(ir.FP16, shape...), 1); c != nil {
			t.Errorf("%v: a constant of %d bytes", shape, len(c.Data))
		}
	}
	if c := filled(ir.TensorOf(ir.FP16, 0, 1<<40), 1); c == nil || len(c.Data) != 0 {
		t.Errorf("a tensor without elements: %v", c)
	}
}
