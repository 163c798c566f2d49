package sim_test

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// factChannels are the input channels of the convolutions with which most facts were measured.
const factChannels = 64

// TestFactsOfLaterEngines holds engine and interpreter to what was measured of sums on the M4 and the M6.
func TestFactsOfLaterEngines(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(shareddir.Find(t), "spec", "m4-facts.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	facts := 0
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(f) != 5 {
			continue
		}
		facts++
		x, w, bias, want := hexes(t, f[1]), hexes(t, f[2]), hexes(t, f[3]), hexes(t, f[4])
		for _, on := range []*target.Table{target.H13, target.H16, target.H18, target.H18g} {
			for by, got := range fact(t, on, x, w, bias[0]) {
				if got != want[0] {
					t.Errorf("%s, %s of %s: %v (%x), want %v (%x)", f[0], by, on.Name, got, got, want[0], want[0])
				}
			}
		}
	}
	if facts < 180 {
		t.Errorf("%d facts", facts)
	}
}

// hexes reads numbers separated by commas.
func hexes(t *testing.T, text string) (vs []float64) {
	t.Helper()
	for s := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		vs = append(vs, v)
	}
	return vs
}

// fact returns the sum of products of inputs and weights, by engine and interpreter, in fixed point: of a convolution
// on h13, with their arithmetic, and of a product on the later engines, whose programs have no convolutions.
func fact(t *testing.T, on *target.Table, x, w []float64, bias float64) map[string]float64 {
	t.Helper()
	g := irbuild.New(1)
	n := int64(max(factChannels, len(x)))
	shape, outs, op, mode := []int64{1, n, 1, 1}, []int64{4, n, 1, 1}, "conv", numerics.ANEFixed
	if on != target.H13 {
		shape, outs, op, mode = []int64{1, n}, []int64{4, n}, "linear", numerics.ANE
	}
	in := g.Input(shape...)
	weight := g.Filled(ir.FP16, func(i int64) float64 {
		if i %= n; int(i) < len(w) {
			return w[i]
		}
		return 0
	}, outs...)
	args := []any{"x", in, "weight", weight}
	if bias != 0 {
		args = append(args, "bias", g.Filled(ir.FP16, func(int64) float64 { return bias }, 4))
	}
	y := g.Op(op, args...)
	g.Output(y)
	p, err := compilePair(g.Program(), compile.Options{Target: on})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.onEngine(); err != nil {
		t.Fatal(err)
	}
	numbers := make([]float32, n)
	for i, v := range x {
		numbers[i] = float32(v)
	}
	v, err := interp.FromFloats(ir.FP16, numbers, shape...)
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]interp.Tensor{in.Name: v}
	engine, err := p.machine.Run(t.Context(), inputs, sim.Options{Numerics: mode})
	if err != nil {
		t.Fatal(err)
	}
	reference, err := interp.Run(t.Context(), p.res.Reference, inputs, interp.Options{Numerics: mode.On(on.Arithmetic)})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]float64{
		"the engine":      float64(engine[y.Name].Floats32()[0]),
		"the interpreter": float64(reference[y.Name].Floats32()[0]),
	}
}

// TestElementwiseOfLaterEngines holds engine and interpreter to what was measured beside sums, and to what follows from
// the largest exponent being one as any other.
func TestElementwiseOfLaterEngines(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		op         string
		x, y, want float64
	}{
		{"add", 2048, 1, 2050},
		{"add", nan, 1, inf},
		{"add", 0x1p-24, 0x1p-24, 0x1p-23},
		{"mul", 60000, 1, 60000},
		// These follow and were not measured.
		{"add", inf, -inf, 0},
		{"mul", inf, 0, 0},
		{"mul", inf, 0x1p-4, 4096},
		{"sub", 65504, 1, 65504},
	} {
		g := irbuild.New(1)
		x, y := g.Input(1, 4, 8, 8), g.Input(1, 4, 8, 8)
		z := g.Op(c.op, "x", x, "y", y)
		g.Output(z)
		p, err := compilePair(g.Program(), compile.Options{Target: target.H13})
		if err != nil {
			t.Fatal(err)
		}
		in := map[string]interp.Tensor{x.Name: filled(t, c.x), y.Name: filled(t, c.y)}
		engine, err := p.machine.Run(t.Context(), in, sim.Options{Numerics: numerics.ANEFixed})
		if err != nil {
			t.Fatal(err)
		}
		reference, err := interp.Run(t.Context(), p.res.Reference, in, interp.Options{Numerics: numerics.ANEFixed})
		if err != nil {
			t.Fatal(err)
		}
		for by, out := range map[string]interp.Tensor{"engine": engine[z.Name], "interpreter": reference[z.Name]} {
			if got := float64(out.Floats32()[0]); got != c.want {
				t.Errorf("%s(%v, %v): the %s has %v, want %v", c.op, c.x, c.y, by, got, c.want)
			}
		}
	}
}

// filled returns a tensor of one number.
func filled(t *testing.T, v float64) interp.Tensor {
	t.Helper()
	numbers := make([]float32, 4*8*8)
	for i := range numbers {
		numbers[i] = float32(v)
	}
	x, err := interp.FromFloats(ir.FP16, numbers, 1, 4, 8, 8)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
