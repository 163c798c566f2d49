package sim_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// curve is the exact function of an operation on one operand.
type curve struct {
	op   string
	args []any
	f    func(x *big.Float) *big.Float // nil where it is not defined
}

// curves has every operation with a Curve in its row, with parameters that fp16 holds.
var curves = []curve{
	{"abs", nil, func(x *big.Float) *big.Float { return fresh().Abs(x) }},
	{"acos", nil, within(1, func(x *big.Float) *big.Float { return sub(quo(bigPi, bf(2)), arcsine(x)) })},
	{"asin", nil, within(1, arcsine)},
	{"atan", nil, bigAtan},
	{"atanh", nil, within(1, func(x *big.Float) *big.Float {
		if fresh().Abs(x).Cmp(bf(1)) == 0 {
			return nil
		}
		return quo(bigLog(quo(add(bf(1), x), sub(bf(1), x))), bf(2))
	})},
	{"ceil", nil, func(x *big.Float) *big.Float { return neg(bigFloor(neg(x))) }},
	{"clamped_relu", []any{"alpha", 0.25, "beta", 3.0}, func(x *big.Float) *big.Float {
		return bigMin(leak(x, 0.25), bf(3))
	}},
	{"clip", []any{"alpha", -2.0, "beta", 0.75}, func(x *big.Float) *big.Float {
		return bigMin(bigMax(x, bf(-2)), bf(0.75))
	}},
	{"cos", nil, bigCos},
	{"cosh", nil, bigCosh},
	{"elu", []any{"alpha", 0.25}, func(x *big.Float) *big.Float {
		if x.Sign() > 0 {
			return x
		}
		return mul(bf(0.25), sub(bigExp(x), bf(1)))
	}},
	{"erf", nil, bigErf},
	{"exp", nil, bigExp},
	{"exp2", nil, func(x *big.Float) *big.Float { return bigExp(mul(x, bigLn2)) }},
	{"floor", nil, bigFloor},
	{"gelu", []any{"mode", "EXACT"}, func(x *big.Float) *big.Float {
		return mul(quo(x, bf(2)), add(bf(1), bigErf(quo(x, root(bf(2))))))
	}},
	{"gelu", []any{"mode", "TANH_APPROXIMATION"}, func(x *big.Float) *big.Float {
		cubic := add(x, mul(quo(bf(44715), bf(1e6)), mul(x, mul(x, x))))
		// x (1 + tanh u) / 2 = x sigmoid(2u), without the cancellation of 1 + tanh.
		return mul(x, bigSigmoid(mul(bf(2), mul(root(quo(bf(2), bigPi)), cubic))))
	}},
	{"gelu", []any{"mode", "SIGMOID_APPROXIMATION"}, func(x *big.Float) *big.Float {
		return mul(x, bigSigmoid(mul(quo(bf(1702), bf(1000)), x)))
	}},
	{"inverse", []any{"epsilon", 0.0}, func(x *big.Float) *big.Float { return reciprocal(x) }},
	{"leaky_relu", []any{"alpha", 0.25}, func(x *big.Float) *big.Float { return leak(x, 0.25) }},
	{"linear_activation", []any{"alpha", 1.5, "beta", -0.25}, func(x *big.Float) *big.Float {
		return add(mul(bf(1.5), x), bf(-0.25))
	}},
	{"log", []any{"epsilon", 0.0}, positive0(bigLog)},
	{"log", []any{"epsilon", 0.25}, func(x *big.Float) *big.Float { return positive0(bigLog)(add(x, bf(0.25))) }},
	{"prelu", []any{"alpha", []float64{0.25}}, func(x *big.Float) *big.Float { return leak(x, 0.25) }},
	{"relu", nil, func(x *big.Float) *big.Float { return bigMax(x, bf(0)) }},
	{"relu6", nil, func(x *big.Float) *big.Float { return bigMin(bigMax(x, bf(0)), bf(6)) }},
	{"round", nil, func(x *big.Float) *big.Float {
		y := bigFloor(add(x, bf(0.5)))
		if n, _ := y.Int(nil); n.Bit(0) == 1 && sub(y, x).Cmp(bf(0.5)) == 0 {
			y.Sub(y, bf(1)) // ties to even
		}
		return y
	}},
	{"rsqrt", []any{"epsilon", 0.0}, positive0(func(x *big.Float) *big.Float { return reciprocal(root(x)) })},
	{"scaled_tanh", []any{"alpha", 1.5, "beta", 0.625}, func(x *big.Float) *big.Float {
		return mul(bf(1.5), bigTanh(mul(bf(0.625), x)))
	}},
	{"sigmoid", nil, bigSigmoid},
	{"sigmoid_hard", []any{"alpha", 0.25, "beta", 0.5}, func(x *big.Float) *big.Float {
		return bigMin(bigMax(add(mul(bf(0.25), x), bf(0.5)), bf(0)), bf(1))
	}},
	{"sign", nil, func(x *big.Float) *big.Float { return bf(float64(x.Sign())) }},
	{"silu", nil, func(x *big.Float) *big.Float { return mul(x, bigSigmoid(x)) }},
	{"sin", nil, bigSin},
	{"sinh", nil, bigSinh},
	{"softplus", nil, softplus},
	{"softplus_parametric", []any{"alpha", []float64{1.5}, "beta", []float64{0.5}}, func(x *big.Float) *big.Float {
		return mul(bf(1.5), softplus(mul(bf(0.5), x)))
	}},
	{"softsign", nil, func(x *big.Float) *big.Float { return quo(x, add(bf(1), fresh().Abs(x))) }},
	{"sqrt", nil, func(x *big.Float) *big.Float {
		if x.Sign() < 0 {
			return nil
		}
		return root(x)
	}},
	{"square", nil, func(x *big.Float) *big.Float { return mul(x, x) }},
	{"tan", nil, func(x *big.Float) *big.Float { return quo(bigSin(x), bigCos(x)) }},
	{"tanh", nil, bigTanh},
	{"threshold", []any{"alpha", 0.5}, func(x *big.Float) *big.Float { return bigMax(x, bf(0.5)) }},
	{"thresholded_relu", []any{"alpha", 0.5}, func(x *big.Float) *big.Float {
		if x.Cmp(bf(0.5)) < 0 {
			return bf(0)
		}
		return x
	}},
}

// within returns f with the domain -limit to limit.
func within(limit float64, f func(x *big.Float) *big.Float) func(x *big.Float) *big.Float {
	return func(x *big.Float) *big.Float {
		if fresh().Abs(x).Cmp(bf(limit)) > 0 {
			return nil
		}
		return f(x)
	}
}

// positive0 returns f with the domain of positive numbers.
func positive0(f func(x *big.Float) *big.Float) func(x *big.Float) *big.Float {
	return func(x *big.Float) *big.Float {
		if x.Sign() <= 0 {
			return nil
		}
		return f(x)
	}
}

// reciprocal returns 1/x, nil for 0.
func reciprocal(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return nil
	}
	return quo(bf(1), x)
}

// arcsine returns arcsin x for x within 1.
func arcsine(x *big.Float) *big.Float {
	c := root(sub(bf(1), mul(x, x)))
	if c.Sign() == 0 {
		return mul(x, quo(bigPi, bf(2)))
	}
	return bigAtan(quo(x, c))
}

// leak returns x where it is not negative, else slope x.
func leak(x *big.Float, slope float64) *big.Float {
	if x.Sign() >= 0 {
		return x
	}
	return mul(bf(slope), x)
}

// softplus returns log(1 + exp x).
func softplus(x *big.Float) *big.Float {
	e := bigExp(x)
	if e.MantExp(nil) < -bigPrec/2 {
		return e // the next term of the series of log(1 + e) is e/2 of it
	}
	return bigLog(add(bf(1), e))
}

// TestCurvesOnEveryFP16Number compares every operation that is a function of one number with its exact value, on finite
// fp16 numbers, all of them if -exhaustive is given: the interpreter, which must round a value that is within the error
// of fp32 arithmetic, and the engine, if the operation is placed there, within the stated error of its table.
func TestCurvesOnEveryFP16Number(t *testing.T) {
	covered := map[string]bool{"logical_not": true} // a function of two values, TestComparisonsAreExactAtTheEdges
	for _, c := range curves {
		covered[c.op] = true
	}
	for _, op := range ir.Operations {
		if (op.Curve != nil || op.Modes != nil) && !covered[op.Name] {
			t.Errorf("%s has no reference", op.Name)
		}
	}
	in := everyFP16(func(x float32) bool { return x-x != 0 })
	in.Type = ir.TensorOf(ir.FP16, 1, 1, 16, 4096) // of a rank that every operation takes
	xs := in.Floats32()
	stride := 5 // prime to the numbers of a binade
	switch {
	case *exhaustive:
		stride = 1
	case testing.Short():
		stride = 97
	}
	for _, c := range curves {
		t.Run(fmt.Sprint(c.op, c.args), func(t *testing.T) {
			t.Parallel()
			g := irbuild.New(1)
			v := g.Input(in.Type.Shape...)
			g.Output(g.Op(c.op, append([]any{"x", v}, c.args...)...))
			p, err := compilePair(g.Program(), compile.Options{Target: target.H13})
			if err != nil {
				t.Fatal(err)
			}
			inputs := map[string]interp.Tensor{v.Name: in}
			name := p.res.Reference.Body.Outputs[0].Name
			out, err := interp.Run(t.Context(), p.res.Reference, inputs, interp.Options{Numerics: numerics.IEEE})
			if err != nil {
				t.Fatal(err)
			}
			want := out[name].Floats32()
			run, err := p.machine.Run(t.Context(), inputs, sim.Options{Numerics: numerics.IEEE})
			if err != nil {
				t.Fatal(err)
			}
			got := run[name].Floats32()
			// What is composed of several operations rounds in each of them; the operations have rows of their own.
			onEngine := p.onEngine() == nil && p.decomposed() == 0
			limit := p.limit(p.res.Reference.Body.Ops[len(p.res.Reference.Body.Ops)-1])
			bad := 0
			for i := 0; i < len(xs); i += stride {
				exact := c.f(bf(float64(xs[i])))
				if exact == nil {
					continue
				}
				y := roundedFP16(exact)
				if want[i] != y && want[i] != roundedFP16(mul(exact, bf(1+fp32Error))) &&
					want[i] != roundedFP16(mul(exact, bf(1-fp32Error))) {
					if bad++; bad < 4 {
						t.Errorf("the interpreter's %s%v(%g) is %g, want %g", c.op, c.args, xs[i], want[i], y)
					}
				}
				if !onEngine || math.IsInf(float64(y), 0) {
					continue
				}
				e := math.Abs(float64(got[i]) - float64(y))
				if l := limit(y); !(e <= l) {
					if bad++; bad < 4 {
						t.Errorf("the engine's %s%v(%g) is %g, want %g within %.3g", c.op, c.args, xs[i], got[i], y, l)
					}
				}
			}
		})
	}
}

// limit returns how far the engine's result of an operation on single elements may be from the exact value y: nothing
// if elements are only chosen, otherwise the stated error of the operation's table and a rounding, or one for each
// operation that it is composed of.
func (c *compiled) limit(op *ir.Op) func(y float32) float64 {
	if op.Def.Error == numerics.Movement {
		return func(float32) float64 { return 0 }
	}
	roundings := 1.0
	if n := c.decomposed(); n > 0 {
		roundings = float64(n)
	}
	abs, rel := 0.0, 0.0
	for _, t := range c.res.Report.Tables {
		abs, rel = max(abs, t.Abs), max(rel, t.Rel)
	}
	// A table whose relative error is tiny, such as an exponential's, states an absolute error that occurs only at the
	// top of its range.
	if rel > 0 && rel <= 1.0/64 {
		abs = 0
	} else {
		rel = 0
	}
	return func(y float32) float64 {
		return roundings*float64(numerics.ULP16(y)) + abs + rel*math.Abs(float64(y))
	}
}

// decomposed returns the number of operations on the engine if a decomposition is among them, otherwise 0.
func (c *compiled) decomposed() (n int) {
	if !slices.ContainsFunc(c.res.Reference.Body.Ops, func(op *ir.Op) bool {
		return op.Place.Unit == ir.Engine && op.Place.Rule == passes.RuleDecomposed
	}) {
		return 0
	}
	for _, op := range c.res.Placed.Body.Ops {
		if op.Place.Unit == ir.Engine {
			n++
		}
	}
	return n
}

// fp32Error is the relative error of the few fp32 operations that a function consists of.
const fp32Error = 0x1p-21

var exhaustive = flag.Bool("exhaustive", false, "take all fp16 numbers and all pairs of them, which lasts hours")

// quotientULP is the bound of a quotient: the engine multiplies with the rounded reciprocal, up to one unit in the last
// place off, and rounds the product.
const quotientULP = 2

// TestPairsOfFP16Numbers compares arithmetic on two operands with the exact value, on each fp16 number paired with some
// others, or with all if -exhaustive is given, which takes a few minutes for each operation. A sum, a difference and a
// product of two fp16 numbers are exact in float64, and a quotient of float64 rounds to the same fp16 number as the
// exact one, since 53 bits are more than twice 11 and two more.
func TestPairsOfFP16Numbers(t *testing.T) {
	n, run := 16, 2 // pairings, and how many a run has
	switch {
	case *exhaustive:
		n, run = 1<<16, 8 // long enough for the start of a run not to count
	case testing.Short():
		n = 2
	}
	x := everyFP16(nil)
	x.Type, x.Data = ir.TensorOf(ir.FP16, int64(16*run), 4096), bytes.Repeat(x.Data, run)
	y := interp.Tensor{Type: x.Type, Data: make([]byte, len(x.Data))}
	a := x.Floats32()
	for _, o := range []struct {
		op string
		f  func(a, b float64) float64
	}{
		{"add", func(a, b float64) float64 { return a + b }},
		{"sub", func(a, b float64) float64 { return a - b }},
		{"mul", func(a, b float64) float64 { return a * b }},
		// math.Max of an infinity and NaN is the infinity.
		{"maximum", func(a, b float64) float64 { return max(a, b) }},
		{"minimum", func(a, b float64) float64 { return min(a, b) }},
		{"real_div", func(a, b float64) float64 { return a / b }},
	} {
		t.Run(o.op, func(t *testing.T) {
			g := irbuild.New(1)
			p, q := g.Input(x.Type.Shape...), g.Input(x.Type.Shape...)
			g.Output(g.Op(o.op, "x", p, "y", q))
			c, err := compilePair(g.Program(), compile.Options{Target: target.H13})
			if err != nil {
				t.Fatal(err)
			}
			in := map[string]interp.Tensor{p.Name: x, q.Name: y}
			for k := 0; k < n; k += run {
				// The factor is odd, so 65536 pairings make all pairs.
				const factor = 0x9e37
				for i := range a {
					binary.LittleEndian.PutUint16(y.Data[2*i:], uint16(i+(k+i>>16)*factor))
				}
				if err := checkPairs(t, c, in, a, y.Floats32(), o.op, o.f); err != nil {
					t.Fatalf("pairing %d or one after it: %v", k, err)
				}
			}
		})
	}
}

// checkPairs compares the interpreter, bit for bit, and the engine in the mode IEEE. The engine multiplies with the
// reciprocal of a divisor (docs/deviations.md), so divisors are compared whose reciprocal is a normal fp16 number.
func checkPairs(t *testing.T, c *compiled, in map[string]interp.Tensor, a, b []float32, op string,
	f func(a, b float64) float64) error {
	name := c.res.Reference.Body.Outputs[0].Name
	want, err := interp.Run(t.Context(), c.res.Reference, in, interp.Options{Numerics: numerics.IEEE})
	if err != nil {
		return err
	}
	got, err := c.machine.Run(t.Context(), in, sim.Options{Numerics: numerics.IEEE})
	if err != nil {
		return err
	}
	ulps := 0
	if op == "real_div" {
		ulps = quotientULP
	}
	w, e := want[name].Floats32(), got[name].Floats32()
	for i := range a {
		exact := f(float64(a[i]), float64(b[i]))
		y := float32(numerics.FP16(exact))
		if y != w[i] && (y == y || w[i] == w[i]) {
			return fmt.Errorf("the interpreter's %s(%g, %g) is %g, want %g", op, a[i], b[i], w[i], y)
		}
		if a[i]-a[i] != 0 || b[i]-b[i] != 0 || y-y != 0 {
			continue // TestEveryFP16PairAgrees compares these with the rules of each mode
		}
		if r := math.Abs(1 / float64(b[i])); op == "real_div" && (r > 65504 || r < numerics.MinNormalFP16) {
			continue
		}
		if e[i] == y {
			continue
		}
		if d := ulpsBetween(e[i], y); d > ulps {
			return fmt.Errorf("the engine's %s(%g, %g) is %g, want %g within %d ulp", op, a[i], b[i], e[i], y, ulps)
		}
	}
	return nil
}

// ulpsBetween returns how many fp16 numbers apart two numbers are, which fp16 represents. Both zeros are one number.
func ulpsBetween(a, b float32) int {
	place := func(x float32) int {
		h := int(numerics.Narrow(x))
		if h >= 1<<15 {
			return 1<<15 - h
		}
		return h
	}
	return max(place(a)-place(b), place(b)-place(a))
}
