package irgen

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// printed returns the text of a program.
func printed(t *testing.T, p *Program) string {
	t.Helper()
	var b strings.Builder
	if err := ir.Print(&b, p.IR); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestProgramsAreSound(t *testing.T) {
	for i := range 500 {
		for _, p := range []*Program{Chain(i * 17), FromBytes(drawn(uint64(i), 5, 20+i%160).b)} {
			if err := ir.Verify(p.IR); err != nil {
				t.Fatalf("program %d, %s: %v\n%s", i, p.Steps, err, printed(t, p))
			}
			for _, op := range p.IR.Funcs[0].Body.Ops {
				for _, v := range op.Results {
					if n := v.Type.Elems(); p.Exact && n > MaxElems {
						t.Errorf("program %d, %s: %s has %d elements", i, p.Steps, v.Name, n)
					}
				}
			}
		}
	}
}

func TestSameNumberSameProgram(t *testing.T) {
	b := drawn(1, 5, 100).b
	if x, y := printed(t, FromBytes(b)), printed(t, FromBytes(b)); x != y {
		t.Errorf("the same bytes give\n%s\nand\n%s", x, y)
	}
	for i := range 100 {
		if x, y := printed(t, Chain(i)), printed(t, Chain(i)); x != y {
			t.Errorf("chain %d is\n%s\nand\n%s", i, x, y)
		}
		if printed(t, Chain(i)) == printed(t, Chain(i+Triples)) {
			t.Errorf("chains %d and %d are the same", i, i+Triples)
		}
	}
}

// TestExactProgramsRoundNowhere checks that every number that the interpreter computes is exact in fp16 and on the
// grid, and that sums are in range.
func TestExactProgramsRoundNowhere(t *testing.T) {
	exact := 0
	for i := range 1500 {
		i *= 5
		p, grids := chainAt(i)
		if !p.Exact {
			continue
		}
		exact++
		in := map[string]interp.Tensor{}
		r := rand.New(rand.NewPCG(uint64(i), 6))
		f := p.IR.Funcs[0]
		for _, v := range f.Body.Params {
			x := make([]float32, v.Type.Elems())
			for k := range x {
				x[k] = float32(r.IntN(2*int(p.Top)+1)) - float32(p.Top)
			}
			in[v.Name], _ = interp.FromFloats(ir.FP16, x, v.Type.Shape...)
		}
		check := func(op *ir.Op, results []interp.Tensor) {
			for k, res := range results {
				g, ok := grids[op.Results[k]]
				if !ok {
					t.Fatalf("chain %d, %s: nothing is known of %s", i, p.Steps, op.Results[k].Name)
				}
				for _, y := range res.Floats32() {
					v := float64(y)
					if math.IsInf(v, 0) && op.Is(ir.OpMaxPool) {
						continue // of a window in the padding
					}
					if math.Abs(v) > g.top || v != math.Trunc(v/g.step)*g.step {
						t.Fatalf("chain %d, %s: %s gives %v, no multiple of %v up to %v\n%s",
							i, p.Steps, op.Results[k].Name, v, g.step, g.top, printed(t, p))
					}
				}
			}
		}
		if _, err := interp.Run(context.Background(), f, in, interp.Options{Trace: check}); err != nil {
			t.Fatalf("chain %d, %s: %v\n%s", i, p.Steps, err, printed(t, p))
		}
	}
	if exact < 500 {
		t.Errorf("%d of 1500 chains are exact", exact)
	}
}

// TestStepsFollowEachOther checks that every mover leaves an operand that suits every follower. Each pair is tried
// after some producer.
func TestStepsFollowEachOther(t *testing.T) {
	pairs := len(movers) * len(followers)
	for k := range pairs {
		i := k*len(producers) + k%len(producers)
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Error(r)
				}
			}()
			Chain(i)
		}()
	}
}
