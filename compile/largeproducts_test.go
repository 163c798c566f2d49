package compile

import (
	"context"
	"testing"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/compile/cost/opwork"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// TestLargeProductsGoToTheEngine checks that, as published, a square product of 384 runs on the CPU and one of 512 on
// the engine, with a constant or a runtime operand.
func TestLargeProductsGoToTheEngine(t *testing.T) {
	for _, n := range []int64{384, 512} {
		for _, constant := range []bool{true, false} {
			g := irbuild.New(1)
			x, y := g.Input(n, n), (*ir.Value)(nil)
			if constant {
				y = g.Weights(n, n)
			} else {
				y = g.Input(n, n)
			}
			g.Output(g.Op("matmul", "x", x, "y", y))
			r, err := All(context.Background(), g.Program(), Options{Target: target.H13})
			if err != nil {
				t.Fatal(err)
			}
			var cpu cost.Time
			for _, op := range r.Placed.Body.Ops {
				cpu += opwork.CPU(op)
			}
			if engine := r.Report.Estimate.Time; (engine < cpu) != (n == 512) {
				t.Errorf("product of %d, constant %t: %s us on the engine, %s us on the CPU", n, constant, engine, cpu)
			}
		}
	}
}

// TestPartOfAStepGoesToTheEngine compiles a step whose movement of single elements takes longer on the engine than the
// product that needs it takes on the CPU: the product is on the engine, the movement is not.
func TestPartOfAStepGoesToTheEngine(t *testing.T) {
	g := irbuild.New(1)
	x := g.Op("sin", "x", g.Input(1, 511, 1024, 2)) // on no M1's engine
	matrix := g.Op("reshape", "x", x, "shape", []int{511, 2048})
	product := g.Op("matmul", "x", matrix, "y", g.Weights(2048, 2048))
	g.Output(product)
	r, err := All(context.Background(), g.Program(), Options{Target: target.H13, Place: passes.PlaceAuto})
	if err != nil {
		t.Fatal(err)
	}
	if u := product.Def.Place.Unit; u != ir.Engine {
		t.Errorf("the product is on the %s: %s", u, product.Def.Place.Reason)
	}
	if u := matrix.Def.Place.Unit; u != ir.CPU {
		t.Errorf("the reshape is on the %s", u)
	}
	if n := r.Report.Dispatches; n != 1 {
		t.Errorf("%d dispatches, want 1", n)
	}
}
