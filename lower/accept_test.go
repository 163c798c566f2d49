package lower

import (
	"errors"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// TestAcceptorTellsOperationsApart checks that an Acceptor returns what accept returns, also for operations that differ
// in one operand from one that it has seen.
func TestAcceptorTellsOperationsApart(t *testing.T) {
	g := irbuild.New(1)
	x, wide := g.Input(1, 16, 4, 32), g.Input(1, 16, 4, 1<<14)
	two, none := g.Filled(ir.FP16, func(int64) float64 { return 2 }, 16, 1, 8), g.Filled(ir.FP16,
		func(int64) float64 { return 0 }, 16, 1, 8)
	y := g.Input(1, 16, 4, 8)
	ops := []*ir.Op{
		g.Op("real_div", "x", x, "y", 2.0).Def,
		g.Op("real_div", "x", x, "y", 0.0).Def, // has no reciprocal
		g.Op("real_div", "x", x, "y", 2.0).Def,
		g.Op("real_div", "x", y, "y", two).Def,
		g.Op("real_div", "x", y, "y", none).Def, // the same type, elsewhere
		g.Op("add", "x", x, "y", x).Def,
		g.Op("add", "x", wide, "y", wide).Def,
		g.Op("reduce_sum", "x", x, "axes", []int64{3}, "keep_dims", true).Def,
		g.Op("reduce_sum", "x", x, "axes", []int64{1}, "keep_dims", true).Def,
	}
	c := NewAcceptor(target.H13, nil)
	refused := 0
	for range 2 { // the second time from the cache
		for i, op := range ops {
			a, err := c.Accept(op)
			b, want := accept(op, target.H13, nil)
			var no, also *Refusal
			errors.As(err, &no)
			errors.As(want, &also)
			if a != b || (no == nil) != (also == nil) || no != nil && *no != *also {
				t.Errorf("operation %d, %s: %+v, %v, want %+v, %v", i, op.Def.Name, a, err, b, want)
			}
			if no != nil {
				refused++
			}
		}
	}
	if refused != 4 {
		t.Errorf("%d refusals, want 2 and again 2", refused)
	}
	if n := len(c.verdicts); n != len(ops)-1 {
		t.Errorf("%d verdicts for %d operations, two of which are alike", n, len(ops))
	}
}

// TestWeightsTakeTheirPackedBytes checks that weights count as packed, without padding of the rows that a tensor of
// their shape would have.
func TestWeightsTakeTheirPackedBytes(t *testing.T) {
	w := &ir.Const{Type: ir.TensorOf(ir.FP16, 55_000, 1024, 1, 1)}
	w.Data = make([]byte, w.Type.Bytes())
	g := irbuild.New(1)
	y := g.Op("conv", "x", g.Input(1, 1024, 1, 64), "weight", g.Const(w))
	if _, err := accept(y.Def, target.H13, nil); err != nil {
		t.Errorf("a convolution with 113 MB of weights: %v", err)
	}
}
