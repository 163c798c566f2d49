package difftest

import (
	"hash/fnv"
	"math/rand/v2"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irgen"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// LimitsOf returns the limits of a target near which programs are generated.
func LimitsOf(t *target.Table) *irgen.Limits {
	return &irgen.Limits{
		Width: t.MaxWidth, Channels: t.MaxChannels, Rank: t.MaxRank,
		KernelW: t.MaxKernelW, KernelH: t.MaxKernelH, SmallKernelW: t.SmallKernelW, SmallKernelH: t.SmallKernelH,
		Pool: t.MaxPool, Stride: t.MaxStride, Pad: t.MaxPad, Groups: t.MaxGroups, Surfaces: t.MaxSurfaces,
		Cores: int(t.Cores), StreamPixels: t.StreamPixels, ReduceTranspose: t.ReduceTranspose,
		KernelElems: int(t.KernelBytes) / 2, L2Elems: int(t.L2Bytes) / 2, WorkUnit: int(t.WorkUnit),
	}
}

// Narrow is the default target with little L2 and low limits, so that small tensors are cut as large ones are. The
// simulated engine has the full limits and runs what is compiled for Narrow.
var Narrow = func() *target.Table {
	t := *target.Default
	t.L2Bytes, t.MaxHeight, t.MaxGroups, t.StreamPixels = 48<<10, 20, 5, 16
	return &t
}()

// Trial returns generated program number n for a target, and its settings.
func Trial(n uint64, t *target.Table) (*irgen.Program, Settings) {
	p := irgen.Random(n, LimitsOf(t))
	r := rand.New(rand.NewPCG(n, 0x7365747469))
	s := Settings{
		Seed:     n,
		Numerics: [...]numerics.Mode{numerics.ANE, numerics.ANE, numerics.ANEWide, numerics.IEEE}[r.IntN(4)],
		Exact:    p.Exact,
		Compile: compile.Options{
			Target:      t,
			SplitKernel: r.IntN(3) == 0,
			FullTD:      r.IntN(16) == 0 && t == target.Default, // whose descriptors have such a form
			VerifyEach:  r.IntN(16) == 0,
			Workers:     1,
		},
	}
	if s.Numerics == numerics.ANE && n%4 == 0 {
		s.Numerics = numerics.ANEFixed
	}
	if r.IntN(8) == 0 && t == target.Default {
		s.Compile.Target = Narrow
	}
	if r.IntN(3) == 0 {
		s.Compile.Precision = passes.PrecisionFP16
	}
	switch r.IntN(8) {
	case 0:
		s.Compile.Place = passes.PlaceEngine
	case 1:
		s.Compile.Place = passes.PlaceAuto
	}
	if s.Numerics.On(t.Arithmetic) == numerics.ANEFixed && p.Top == 0 {
		s.Exact = false // the numbers are rounded once, and halves go another way
	}
	if p.Exact && p.Top > 0 {
		s.Inputs = Integers(p.IR, n, p.Top)
	}
	return p, s
}

// Integers returns random integers of magnitude at most top for every static input of floating-point type.
func Integers(p *ir.Program, seed uint64, top float64) map[string]interp.Tensor {
	in := map[string]interp.Tensor{}
	for _, f := range p.Funcs {
		for _, v := range f.Body.Params {
			if v.Type.Kind != ir.Tensor || !v.Type.DType.IsFloat() || !v.Type.Static() {
				continue
			}
			h := fnv.New64a()
			h.Write([]byte(v.Name))
			r := rand.New(rand.NewPCG(seed, h.Sum64()))
			x := make([]float32, v.Type.Elems())
			for k := range x {
				x[k] = float32(r.IntN(2*int(top)+1)) - float32(top)
			}
			if t, err := interp.FromFloats(v.Type.DType, x, v.Type.Shape...); err == nil {
				in[v.Name] = t
			}
		}
	}
	return in
}
