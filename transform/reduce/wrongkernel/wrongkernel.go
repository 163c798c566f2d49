package wrongkernel

import (
	"context"
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Tolerance is the distance of two outputs, as a part of the largest magnitude,
// up to which they count as the same.
const Tolerance = 1.0 / 64

// broken reports whether the wrong kernel computes op.
func broken(op *ir.Op, result string) bool {
	if !op.Is(ir.OpMul) || op.Results[0].Name != result {
		return false
	}
	x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	return x.Def != nil && x.Def.Is(ir.OpSplit) && y.Def != nil && y.Def.Is(ir.OpSigmoid) && y.Def.Arg(ir.ParamX).
		Def == x.Def
}

// Differs runs the first function of p with the kernel right, and with it wrong
// for the operation that gives the value called result, and reports whether an
// output differs by more than Tolerance.
func Differs(ctx context.Context, p *ir.Program, result string) (bool, error) {
	f := p.Funcs[0]
	found := false
	for _, op := range f.Body.Ops {
		found = found || broken(op, result)
	}
	if !found {
		return false, nil // the runs would be the same
	}
	inputs := map[string]interp.Tensor{}
	for _, v := range f.Body.Params {
		x, err := verify.Random(v.Type, v.Name, 1)
		if err != nil {
			return false, err
		}
		inputs[v.Name] = x
	}
	right, err := interp.Run(ctx, f, inputs, interp.Options{})
	if err != nil {
		return false, err
	}
	wrong, err := interp.Run(ctx, f, inputs, interp.Options{Trace: func(op *ir.Op, results []interp.Tensor) {
		if broken(op, result) {
			// Nothing has read the result yet: the sign of every value is lost.
			t := results[0]
			for i := 1; i < len(t.Data); i += 2 {
				t.Data[i] &= 0x7f
			}
		}
	}})
	if err != nil {
		return false, err
	}
	for name, want := range right {
		got := wrong[name].Const().Floats()
		scale, far := 0.0, 0.0
		for i, w := range want.Const().Floats() {
			scale, far = max(scale, math.Abs(w)), max(far, math.Abs(got[i]-w))
		}
		if math.IsNaN(scale) || math.IsNaN(far) {
			return false, fmt.Errorf("output %s is not a number", name)
		}
		if far > scale*Tolerance {
			return true, nil
		}
	}
	return false, nil
}
