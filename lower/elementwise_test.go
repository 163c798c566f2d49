package lower

import (
	"errors"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// TestDivisorsNeedExactReciprocals checks that a division by a constant runs on the engine if fp16 represents the
// reciprocal to full precision, for scalars and tensors.
func TestDivisorsNeedExactReciprocals(t *testing.T) {
	for _, c := range []struct {
		y  float64
		ok bool
	}{
		{2, true}, {-3, true}, {0x1p-15, true}, {0x1p-16, false}, {0x1p-20, false}, {-0x1p-24, false}, {0, false},
		{1.53e-5, true}, {1.51e-5, false}, {16384, true}, {32768, true}, {60000, false}, {-50000, false}, {65504, true},
	} {
		for _, shape := range [][]int64{nil, {3, 1, 1}} {
			p := irbuild.New(1)
			var y any = c.y
			if shape != nil {
				y = p.Filled(ir.FP16, func(i int64) float64 { return []float64{1, c.y, 2}[i] }, shape...)
			}
			v := p.Op("real_div", "x", p.Input(1, 3, 2, 4), "y", y)
			_, err := accept(v.Def, target.H13, nil)
			var no *Refusal
			if errors.As(err, &no) && no.Rule != target.RuleReciprocal || (err == nil) != c.ok {
				t.Errorf("by %g of shape %v: %v", c.y, shape, err)
			}
		}
	}
}
