package interval

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// edges are the numbers at which the arithmetic of intervals changes.
var edges = []float64{math.Inf(-1), -65504, -1, -0.5, 0, 0.5, 1, 3, 65504, math.Inf(1)}

// TestOperationsEncloseEveryResult computes each operation on all pairs of edges of all pairs of intervals between
// edges: the result's interval must have each of them, NaN included.
func TestOperationsEncloseEveryResult(t *testing.T) {
	ops := []struct {
		name  string
		on    func(v, w Interval) Interval
		exact func(x, y float64) float64
	}{
		{"Add", Add, func(x, y float64) float64 { return x + y }},
		{"Sub", Sub, func(x, y float64) float64 { return x - y }},
		{"Mul", Mul, func(x, y float64) float64 { return x * y }},
		{"Div", Div, func(x, y float64) float64 { return x / y }},
		{"Hull", Interval.Hull, func(x, _ float64) float64 { return x }},
	}
	var all []Interval
	for i, lo := range edges {
		for _, hi := range edges[i:] {
			all = append(all, Span(lo, hi))
		}
	}
	for _, op := range ops {
		for _, v := range all {
			for _, w := range all {
				r := op.on(v, w)
				for _, x := range edges {
					for _, y := range edges {
						if z := op.exact(x, y); v.Has(x) && w.Has(y) && !r.Has(z) {
							t.Fatalf("%s of %v and %v is %v, without %g from %g and %g", op.name, v, w, r, z, x, y)
						}
					}
				}
			}
		}
	}
}

// TestOperationsAreTight checks bounds that are reached, so that an interval that is always everything does not pass.
func TestOperationsAreTight(t *testing.T) {
	v, w := Span(-1, 2), Span(3, 4)
	for name, c := range map[string]struct{ got, want Interval }{
		"Add":         {Add(v, w), Span(2, 6)},
		"Sub":         {Sub(v, w), Span(-5, -1)},
		"Mul":         {Mul(v, w), Span(-4, 8)},
		"Div":         {Div(v, w), Span(-1.0/3, 2.0/3)},
		"Neg":         {v.Neg(), Span(-2, 1)},
		"Scale":       {v.Scale(3), Span(-3, 6)},
		"Hull":        {v.Hull(w), Span(-1, 4)},
		"With":        {v.With(7), Span(-1, 7)},
		"Mul nothing": {Mul(Nothing, w), Nothing},
		"zero of Mul": {Mul(Span(0, 0), Span(1, math.Inf(1))), Interval{NaN: true}},
		"NaN of Add":  {Add(Span(1, math.Inf(1)), Span(math.Inf(-1), 0)), All},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v, want %v", name, c.got, c.want)
		}
	}
	if v.Mag() != 2 || v.Mig() != 0 || w.Mig() != 3 || !w.Finite() || All.Finite() || !Nothing.Empty() {
		t.Errorf("magnitudes or emptiness of %v and %v", v, w)
	}
}

// TestRoundHasEveryRoundedNumber rounds numbers between the bounds to each type.
func TestRoundHasEveryRoundedNumber(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		lo, hi := rng.NormFloat64()*1e5, rng.NormFloat64()*1e5
		v := Span(min(lo, hi), max(lo, hi))
		x := v.Lo + rng.Float64()*(v.Hi-v.Lo)
		if r, y := v.Round(ir.FP16), float64(numerics.Round16(float32(x))); !r.Has(y) {
			t.Fatalf("%v in fp16 is %v, without %g", v, r, y)
		}
		if r, y := v.Round(ir.FP32), float64(float32(x)); !r.Has(y) {
			t.Fatalf("%v in fp32 is %v, without %g", v, r, y)
		}
		if r, y := v.Round(ir.Int8), float64(int8(int64(x))); !r.Has(y) {
			t.Fatalf("%v in int8 is %v, without %g", v, r, y)
		}
	}
}

// TestInnerIsInside checks that bounds move inwards to elements of the type, by less than two of its steps, and that a
// range without an element is refused.
func TestInnerIsInside(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		lo := rng.NormFloat64() * math.Exp(rng.Float64()*8)
		r := Span(lo, lo+math.Abs(lo)+1)
		in, err := Inner(r, ir.FP16)
		if err != nil {
			t.Fatal(err)
		}
		if in.Lo < r.Lo || in.Hi > r.Hi || float64(numerics.Round16(float32(in.Lo))) != in.Lo {
			t.Fatalf("inside of %v is %v", r, in)
		}
		if step := max(math.Abs(lo)/512, 1.0/(1<<23)); in.Lo > r.Lo+step {
			t.Fatalf("inside of %v begins at %g, more than %g above", r, in.Lo, step)
		}
	}
	if in, err := Inner(Span(1.0001, 1.0002), ir.FP16); err == nil {
		t.Errorf("fp16 has %v between 1.0001 and 1.0002", in)
	}
	if in, err := Inner(Span(0.5, 2.5), ir.Int8); err != nil || in != Span(1, 2) {
		t.Errorf("int8 between 0.5 and 2.5: %v, %v", in, err)
	}
}
