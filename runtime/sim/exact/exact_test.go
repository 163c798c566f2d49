package exact

import (
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irgen"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// polynomials are operations whose results are sums and products of operands, or their elements. Operations on integers
// return integers, which the interpreter computes too.
var polynomials = []*ir.Operation{
	ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpSquare, ir.OpIdentity, ir.OpConv, ir.OpConvTranspose, ir.OpLinear, ir.OpMatMul,
	ir.OpReduceSum, ir.OpReduceSumSquare, ir.OpCumsum, ir.OpFill, ir.OpFillLike, ir.OpTranspose, ir.OpReshape,
	ir.OpExpandDims, ir.OpSqueeze, ir.OpFlatten2D, ir.OpPad, ir.OpConcat, ir.OpSliceByIndex, ir.OpSliceBySize,
	ir.OpSplit, ir.OpStack, ir.OpTile, ir.OpReverse, ir.OpGather, ir.OpSpaceToDepth, ir.OpDepthToSpace,
	ir.OpPixelShuffle, ir.OpPixelUnshuffle, ir.OpSlidingWindows,
}

// TestPolynomialsAreThoseOfTheInterpreter runs generated programs of sums and products on integers.
func TestPolynomialsAreThoseOfTheInterpreter(t *testing.T) {
	programs, ops := 0, map[string]int{}
	for i := range 2000 {
		p := irgen.Chain(i)
		if i%2 == 0 {
			p = irgen.Products(i * 7919 % irgen.ProductPrograms())
		}
		f := p.IR.Funcs[0]
		if !p.Exact || !polynomial(f) {
			continue
		}
		r := rand.New(rand.NewPCG(1, uint64(i)))
		given, in := map[string]interp.Tensor{}, []Tensor{}
		for _, v := range f.Body.Params {
			x := integers(t, r, v.Type, p.Top)
			given[v.Name] = x
			in = append(in, elements(x))
		}
		want, err := interp.Run(t.Context(), f, given, interp.Options{})
		if err != nil {
			t.Fatalf("program %d: %v", i, err)
		}
		fs := field.New(uint64(i))
		got, err := NewEvaluator(fs, nil, NewValuation(fs, f)).Func(t.Context(), f, in)
		if err != nil {
			t.Fatalf("program %d: %v", i, err)
		}
		for k, v := range f.Body.Outputs {
			w := elements(want[v.Name])
			for j, x := range got[k].Elems {
				if x != w.Elems[j] {
					t.Fatalf("program %d: element %d of %s is %d, the interpreter has %d", i, j, v.Name, x, w.Elems[j])
				}
			}
		}
		programs++
		for _, op := range f.Body.Ops {
			ops[op.Def.Name]++
		}
	}
	t.Logf("%d programs: %v", programs, ops)
	if programs < 100 {
		t.Errorf("%d programs have sums and products alone, want at least 100", programs)
	}
}

func polynomial(f *ir.Func) bool {
	for _, op := range f.Body.Ops {
		if !op.Is(polynomials...) || !op.Results[0].Type.DType.IsFloat() {
			return false
		}
	}
	for _, v := range f.Body.Params {
		if v.Type.Kind != ir.Tensor || !v.Type.Static() {
			return false
		}
	}
	return true
}

// integers returns random integers of magnitude at most top, or 4 if it is 0.
func integers(t *testing.T, r *rand.Rand, typ ir.Type, top float64) interp.Tensor {
	t.Helper()
	n := int(top)
	if n == 0 {
		n = 4
	}
	v := make([]float32, typ.Elems())
	for i := range v {
		v[i] = float32(r.IntN(2*n+1) - n)
	}
	x, err := interp.FromFloats(typ.DType, v, typ.Shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func elements(x interp.Tensor) Tensor {
	out := Tensor{Type: x.Type}
	for _, f := range x.Floats32() {
		out.Elems = append(out.Elems, field.Number(float64(f)))
	}
	return out
}
