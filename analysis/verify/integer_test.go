package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// anyInteger returns a tensor of all bit patterns, the ends of every type and small numbers.
func anyInteger(t *testing.T, r *rand.Rand, of ir.Type) interp.Tensor {
	t.Helper()
	edges := []int64{0, 1, -1, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, -32769, 65535, 65536, 1<<31 - 1,
		-1 << 31}
	vs := make([]int64, of.Elems())
	for i := range vs {
		v := edges[r.IntN(len(edges))]
		if r.IntN(2) == 0 {
			v = int64(r.Uint64())
		}
		bits := of.DType.Bits()
		if v = v << (64 - bits) >> (64 - bits); !of.DType.IsSigned() {
			v &= 1<<bits - 1
		}
		vs[i] = v
	}
	x, err := interp.FromInts(of.DType, vs, of.Shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestIntegersKeepEveryBit runs operations that move, compare, add and convert integers on the engine, with numbers
// that fp16 cannot represent.
func TestIntegersKeepEveryBit(t *testing.T) {
	types := []string{"int8", "uint8", "int16", "uint16", "int32"}
	var calls []string
	for _, d := range types {
		calls = append(calls,
			fmt.Sprintf("transpose(x = %s[3, 4, 9], perm = [2, 0, 1])", d),
			fmt.Sprintf("concat(values = (%s[3, 5], %s[3, 9]), axis = 1, interleave = false)", d, d),
			fmt.Sprintf("gather(x = %s[5, 7], indices = [3, 0, 3, 1], axis = 1)", d))
		for _, e := range types {
			if d != e {
				calls = append(calls, fmt.Sprintf("cast(x = %s[5, 40], dtype = \"%s\")", d, e))
			}
		}
	}
	for _, o := range []string{"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "maximum",
		"minimum", "add", "sub"} {
		calls = append(calls, o+"(x = int32[9, 33], y = int32[33])")
	}
	calls = append(calls, "cast(x = int32[5, 40], dtype = \"bool\")",
		"reshape(x = transpose(x = int32[6, 4], perm = [1, 0]), shape = [3, 8])")
	r := rand.New(rand.NewPCG(1, 1))
	for _, line := range calls {
		t.Run(line, func(t *testing.T) {
			g := irbuild.New(1)
			vs, err := g.Call(line)
			if err != nil {
				t.Fatal(err)
			}
			g.Output(vs...)
			exactOnTheEngine(t, g, func(v *ir.Value) interp.Tensor { return anyInteger(t, r, v.Type) })
		})
	}
}

// exactOnTheEngine runs a graph on inputs and wants all of it on the engine, without an error.
func exactOnTheEngine(t *testing.T, g *irbuild.Graph, in func(v *ir.Value) interp.Tensor) {
	t.Helper()
	p := g.Program()
	inputs := map[string]interp.Tensor{}
	for _, v := range p.Funcs[0].Body.Params {
		if v.Type.DType.IsInt() {
			inputs[v.Name] = in(v)
		}
	}
	res, err := Run(context.Background(), p, Options{
		Compile:  compile.Options{Target: target.H13, Place: passes.PlaceEngine},
		Numerics: numerics.ANE,
		Inputs:   inputs,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range res.Outputs {
		if !o.Pass || o.MaxAbs != 0 {
			t.Errorf("%+v", o)
		}
	}
	if res.Model.CPUOps != 0 || res.Model.Tasks == 0 {
		t.Errorf("%d operations on the CPU, %d tasks", res.Model.CPUOps, res.Model.Tasks)
	}
}

// TestPlacesFromTheEnd runs operations with computed positions, some of them counted from the end.
func TestPlacesFromTheEnd(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(g *irbuild.Graph, at *ir.Value) *ir.Value
		at    []int64
	}{
		{"gather", func(g *irbuild.Graph, at *ir.Value) *ir.Value {
			return g.Op("gather", "x", g.Input(3, 7, 5), "indices", at, "axis", 1, "batch_dims", 0)
		}, []int64{-7, 6, -1, 0}},
		{"gather of many", func(g *irbuild.Graph, at *ir.Value) *ir.Value {
			return g.Op("gather", "x", g.Input(2048, 40), "indices", at, "axis", 0, "batch_dims", 0)
		}, []int64{-2048, 2047, -1, 1023}},
		{"slice_by_size", func(g *irbuild.Graph, at *ir.Value) *ir.Value {
			return g.Op("slice_by_size", "x", g.Input(3, 7, 5), "begin", at, "size", []int64{1, 3, 4})
		}, []int64{2, 4, 1}},
		{"slice_update", func(g *irbuild.Graph, at *ir.Value) *ir.Value {
			end := g.Op("add", "x", at, "y", []int64{1, 3, 4})
			return g.Op("slice_update", "x", g.Input(3, 7, 5), "update", g.Input(1, 3, 4), "begin", at, "end", end)
		}, []int64{2, 4, 1}},
		{"slice_update of all of an axis", func(g *irbuild.Graph, at *ir.Value) *ir.Value {
			end := g.Op("add", "x", at, "y", []int64{3, 2, 5})
			return g.Op("slice_update", "x", g.Input(3, 7, 5), "update", g.Input(3, 2, 5), "begin", at, "end", end)
		}, []int64{0, 5, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irbuild.New(1)
			at := g.InputOf(ir.Int32, int64(len(c.at)))
			g.Output(c.build(g, at))
			exactOnTheEngine(t, g, func(*ir.Value) interp.Tensor {
				x, err := interp.FromInts(ir.Int32, c.at, int64(len(c.at)))
				if err != nil {
					t.Fatal(err)
				}
				return x
			})
		})
	}
}
