package verify

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// TestComparisonWithAnEnclosure compares fp16 numbers and integers with what they may be.
func TestComparisonWithAnEnclosure(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	type vs = []float32
	for _, c := range []struct {
		name             string
		d                ir.DType
		middle, lo, hi   vs
		got              vs
		pass             bool
		bound            float64
		notFinite, steps int
	}{
		{name: "equal", middle: vs{1, 2}, lo: vs{1, 2}, hi: vs{1, 2}, got: vs{1, 2}, pass: true},
		{name: "one ulp beyond an exact value", middle: vs{1}, lo: vs{1}, hi: vs{1}, got: vs{1 + 1./1024}},
		{name: "rounded within half an ulp", middle: vs{1 + 1./4096}, lo: vs{1 + 1./4096}, hi: vs{1 + 1./4096},
			got: vs{1}, pass: true},
		{name: "inside", middle: vs{1, 2}, lo: vs{0.5, 2}, hi: vs{1.25, 2}, got: vs{0.5, 2}, pass: true, bound: 0.5},
		{name: "outside on the narrow side", middle: vs{1, 2}, lo: vs{0.5, 2}, hi: vs{1.25, 2}, got: vs{1.5, 2},
			bound: 0.5},
		{name: "equal infinities", middle: vs{inf, 1}, lo: vs{inf, 1}, hi: vs{inf, 1}, got: vs{inf, 1}, pass: true,
			notFinite: 1},
		{name: "infinity for a number", middle: vs{1}, lo: vs{0}, hi: vs{2}, got: vs{inf}, bound: 1},
		{name: "a number for an infinity", middle: vs{inf}, lo: vs{inf}, hi: vs{inf}, got: vs{60000}, notFinite: 1},
		{name: "NaN for a number", middle: vs{1}, lo: vs{0}, hi: vs{2}, got: vs{nan}, bound: 1},
		{name: "both NaN", middle: vs{nan, 1}, lo: vs{nan, 1}, hi: vs{nan, 1}, got: vs{nan, 1}, pass: true,
			notFinite: 1},
		{name: "a number for NaN", middle: vs{nan, 1}, lo: vs{nan, 1}, hi: vs{nan, 1}, got: vs{0, 1}, pass: true,
			notFinite: 1},
		{name: "a wrong number beside NaN", middle: vs{nan, 1}, lo: vs{nan, 1}, hi: vs{nan, 1}, got: vs{0, 2},
			notFinite: 1},
		{name: "a step on either side", d: ir.Int32, middle: vs{3, 4}, lo: vs{2, 4}, hi: vs{3, 4}, got: vs{2, 4},
			pass: true, steps: 1},
		{name: "an integer off", d: ir.Int32, middle: vs{3, 4}, lo: vs{3, 4}, hi: vs{3, 4}, got: vs{3, 5}},
	} {
		if c.d == ir.Invalid {
			c.d = ir.FP16
		}
		n := int64(len(c.got))
		got, err := interp.FromFloats(c.d, c.got, n)
		if err != nil {
			t.Fatal(err)
		}
		middle, err := interp.FromFloats(ir.FP32, c.middle, n)
		if err != nil {
			t.Fatal(err)
		}
		f := (&enclosure{t: middle, lo: c.lo, hi: c.hi}).compare(got)
		if f.pass != c.pass || f.bound != c.bound || f.notFinite != c.notFinite || f.steps != c.steps {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// run verifies a program.
func run(t *testing.T, g *irbuild.Graph, seed uint64) *Result {
	t.Helper()
	r, err := Run(t.Context(), ir.CloneProgram(g.Program()), Options{Seed: seed, Numerics: numerics.ANE,
		Compile: compile.Options{Target: target.H13}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	return r
}

// TestIndicesAndStepsPass: orders, comparisons and thresholds after a product, whose rounding may move an element over
// a step, are right where they are right for what the engine stored.
func TestIndicesAndStepsPass(t *testing.T) {
	g := irbuild.New(1)
	y := g.Op("linear", "x", g.Input(8, 256), "weight", g.Weights(900, 256))
	vs, err := g.Try("topk", "x", y, "k", 200, "axis", 1, "ascending", false)
	if err != nil {
		t.Fatal(err)
	}
	r := g.Op("round", "x", y)
	g.Output(vs[1], g.Op("reduce_argmax", "x", y, "axis", 0, "keep_dims", false),
		g.Op("argsort", "x", y, "axis", 1, "ascending", true), g.Op("thresholded_relu", "x", y, "alpha", 0.5),
		g.Op("cast", "x", g.Op("equal", "x", r, "y", g.Op("floor", "x", y)), "dtype", "fp16"))
	moved := false
	for seed := range uint64(5) {
		for _, o := range run(t, g, seed).Outputs {
			if !o.Pass {
				t.Errorf("seed %d: %+v", seed, o)
			}
			moved = moved || strings.HasPrefix(o.Type, "tensor<int32") && o.MaxAbs > 0
		}
	}
	if !moved {
		t.Error("no place differs from the source's, so nothing is tested")
	}
}

// TestSameNaNOnTheCPUPasses: the arc cosine of numbers beyond 1 is NaN on the CPU and in the reference.
func TestSameNaNOnTheCPUPasses(t *testing.T) {
	g := irbuild.New(1)
	g.Output(g.Op("acos", "x", g.Input(1, 64)))
	r := run(t, g, 1)
	if o := r.Outputs[0]; r.Verdict != Pass || o.NotFinite == 0 {
		t.Errorf("%+v", o)
	}
	var text strings.Builder
	if err := r.Text(&text); err != nil || !strings.Contains(text.String(), "of the reference not finite") {
		t.Errorf("%v: %s", err, &text)
	}
}

// TestNoNaNOfTheEngineCannotBeVerified: the engine stores 0 for the difference of infinities, which is NaN in the
// reference, and compares that 0. Neither output can be verified, and no statement departs.
func TestNoNaNOfTheEngineCannotBeVerified(t *testing.T) {
	g := irbuild.New(1)
	far := g.Op("mul", "x", g.Input(1, 64), "y", 4096.0)
	square := g.Op("mul", "x", far, "y", far)
	w := g.Op("sub", "x", square, "y", g.Op("mul", "x", square, "y", 0.5))
	g.Output(w, g.Op("cast", "x", g.Op("greater", "x", w, "y", -1.0), "dtype", "fp16"))
	r := run(t, g, 1)
	for _, o := range r.Outputs {
		if o.Verdict != CannotTell || !strings.Contains(o.Why, "NaN in the reference") {
			t.Errorf("%+v", o)
		}
	}
	if r.First != nil {
		t.Errorf("%+v", r.First)
	}
}

// TestMaskedScoresAreBounded: a mask of infinities leaves weights of 0 and bounds for all others.
func TestMaskedScoresAreBounded(t *testing.T) {
	g := irbuild.New(1)
	mask := g.Filled(ir.FP16, func(i int64) float64 {
		if i%16 > i/16 {
			return math.Inf(-1)
		}
		return 0
	}, 16, 16)
	x := g.Input(16, 16)
	scores := g.Op("add", "x", g.Op("matmul", "x", x, "y", x, "transpose_y", true), "y", mask)
	g.Output(g.Op("matmul", "x", g.Op("softmax", "x", scores, "axis", -1), "y", x))
	if o := run(t, g, 1).Outputs[0]; o.Verdict != Pass {
		t.Errorf("%+v", o)
	}
}

// TestLogarithmOfZeroInsideAPower: the engine's logarithm of 0 is a number (numerics.LogOfZero). A power that is
// computed with it is right; the logarithm as an output is not what the source says.
func TestLogarithmOfZeroInsideAPower(t *testing.T) {
	g := irbuild.New(1)
	x := g.Op("relu", "x", g.Input(1, 64))
	g.Output(g.Op("pow", "x", x, "y", 0.59375), g.Op("log", "x", x, "epsilon", 0.0))
	r := run(t, g, 1)
	if o := r.Outputs[0]; o.Verdict != Pass {
		t.Errorf("power: %+v", o)
	}
	if o := r.Outputs[1]; o.Verdict != Fail || o.NotFinite == 0 {
		t.Errorf("logarithm: %+v", o)
	}
}

// TestSumsThatCancelCompareInOrder: the bound of a sum whose terms cancel is wider than its result, but the engine
// stores what its arithmetic gives in the order of the terms.
func TestSumsThatCancelCompareInOrder(t *testing.T) {
	g := irbuild.New(1)
	x := g.Input(1, 64)
	w := g.Filled(ir.FP16, func(i int64) float64 { return float64(1-2*(i%2)) * 8 }, 32, 128)
	g.Output(g.Op("linear", "x", g.Op("concat", "values", []*ir.Value{x, x}, "axis", 1, "interleave", true),
		"weight", w))
	if r := run(t, g, 1); r.Verdict != Pass {
		t.Errorf("%+v", r.Outputs)
	}
}

// TestNormOfLargeNumbersCannotBeVerified: rounding the mean to fp16 costs much of numbers that are 1000 from 0 and 1
// from each other.
func TestNormOfLargeNumbersCannotBeVerified(t *testing.T) {
	g := irbuild.New(1)
	x := g.Op("add", "x", g.Input(1, 8, 64), "y", 1000.0)
	g.Output(g.Op("layer_norm", "x", x, "axes", []int{2}, "epsilon", 0.001))
	if r := run(t, g, 1); r.Verdict != CannotTell || r.Outputs[0].Why == "" {
		t.Errorf("%+v", r.Outputs)
	}
}

// passesProved requires that the only output of a program passes by a proof, and that the text says how far it is off.
func passesProved(t *testing.T, r *Result) {
	t.Helper()
	o := r.Outputs[0]
	if r.Verdict != Pass || !o.Proved || o.By != Statements {
		t.Errorf("%+v", o)
	}
	want := fmt.Sprintf("pass (proved; difference %.2g %%, rounding may reach %.2g %%", float64(o.Percent),
		float64(o.BoundPercent))
	var text strings.Builder
	if err := r.Text(&text); err != nil || !strings.Contains(text.String(), want) {
		t.Errorf("%v: want %q:\n%s", err, want, &text)
	}
}

// TestTablesNearTheirExtremaPassByProof: the table of silu is a line from 0 to 1/2, which is off by a tenth of values
// before 1/8. The engine stores what the table gives, and the proof shows that it is the table of silu.
func TestTablesNearTheirExtremaPassByProof(t *testing.T) {
	g := irbuild.New(1)
	x := g.Op("mul", "x", g.Input(1, 64), "y", 1.0/32)
	g.Output(g.Op("silu", "x", x))
	r := run(t, g, 1)
	if o := r.Outputs[0]; o.Percent < MaxPercent || o.BoundPercent < o.Percent {
		t.Errorf("%+v", o)
	}
	passesProved(t, r)
}

// TestErrorsThatAddUpPassByProof: each sum of a long chain rounds within its bound, and the difference of two such
// chains is rounding alone.
func TestErrorsThatAddUpPassByProof(t *testing.T) {
	g := irbuild.New(1)
	x := g.Input(1, 64)
	y := g.Op("mul", "x", x, "y", 1.0/3)
	z := g.Op("mul", "x", g.Op("mul", "x", y, "y", 7.0), "y", 3.0/7)
	g.Output(g.Op("sub", "x", z, "y", x))
	r := run(t, g, 1)
	if o := r.Outputs[0]; o.Percent < MaxPercent {
		t.Errorf("%+v", o)
	}
	passesProved(t, r)
}

// TestLostOperandsAreNotRounding: a product reads subnormal operands as 0, for example the shares of a long softmax. A
// proof knows no subnormal numbers, so it does not excuse that, and the statement and the reason are named.
func TestLostOperandsAreNotRounding(t *testing.T) {
	g := irbuild.New(1)
	x, v := g.Input(1, 1024), g.Input(1024, 1)
	g.Output(g.Op("matmul", "x", x, "y", v))
	small, err := interp.FromFloats(ir.FP16, slices.Repeat([]float32{0x1p-16}, 1024), 1, 1024)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), g.Program(), Options{
		Compile: compile.Options{Target: target.H13},
		Seed:    1, Numerics: numerics.ANE, Inputs: map[string]interp.Tensor{x.Name: small},
	})
	if err != nil {
		t.Fatal(err)
	}
	if o := r.Outputs[0]; o.Verdict != CannotTell || !strings.Contains(o.Why, "most of it "+flushedOperands) {
		t.Errorf("%+v", o)
	}
}

// TestChoicesAreFollowed: rounding swaps two of the largest numbers, so other rows are gathered.
func TestChoicesAreFollowed(t *testing.T) {
	moved := 0
	for _, place := range []string{passes.PlaceEngine, passes.PlaceAuto} {
		for seed := range uint64(3) {
			g := irbuild.New(1)
			x := g.Input(1, 512, 32)
			c := g.Op("linear", "x", x, "weight", g.Weights(32, 32))
			most := g.Op("reduce_max", "x", c, "axes", []int{2}, "keep_dims", false)
			vs, err := g.Try("topk", "x", most, "k", 200, "axis", 1, "ascending", false)
			if err != nil {
				t.Fatal(err)
			}
			g.Output(g.Op("gather", "x", x, "indices", vs[1], "axis", 1, "batch_dims", 1))
			r, err := Run(t.Context(), g.Program(), Options{
				Seed: seed, Numerics: numerics.ANE, Compile: compile.Options{Target: target.H13, Place: place},
			})
			if err != nil {
				t.Fatal(err)
			}
			o := r.Outputs[0]
			if !o.Pass || (o.Percent > MaxPercent) != (o.Choice != nil) {
				t.Errorf("%s, seed %d: %+v", place, seed, o)
			}
			if o.Choice != nil {
				moved++
				var text strings.Builder
				if err := r.Text(&text); err != nil || !strings.Contains(text.String(), "chose otherwise: element") {
					t.Errorf("%v:\n%s", err, &text)
				}
			}
		}
	}
	if moved == 0 {
		t.Error("no index differs from the source's, so nothing is tested")
	}
}

// TestUpIsTheLeastNumberNotBelow compares with what package math says of the neighbours of numbers of every size.
func TestUpIsTheLeastNumberNotBelow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200000 {
		x := math.Float64frombits(r.Uint64())
		if i%2 == 0 { // beside a number of fp32
			x = float64(math.Float32frombits(r.Uint32())) * (1 + float64(r.IntN(3)-1)*0x1p-40)
		}
		want := float32(x)
		if float64(want) < x {
			want = math.Nextafter32(want, float32(math.Inf(1)))
		}
		if got := up(x); math.Float32bits(got) != math.Float32bits(want) && want == want {
			t.Fatalf("up(%g) = %g, want %g", x, got, want)
		}
		if got := down(x); !math.IsNaN(x) && (float64(got) > x || float64(up(x)) < x) {
			t.Fatalf("down(%g) = %g, up %g", x, got, up(x))
		}
	}
	for _, x := range []float64{0, math.Copysign(0, -1), 1e-300, -1e-300, 1e300, -1e300, math.Inf(1), math.Inf(-1)} {
		if !(float64(up(x)) >= x && float64(down(x)) <= x) {
			t.Errorf("%g is not between %g and %g", x, down(x), up(x))
		}
	}
}
