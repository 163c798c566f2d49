package verify

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

func floats(t testing.TB, d ir.DType, vs ...float32) interp.Tensor {
	t.Helper()
	x, err := interp.FromFloats(d, vs, int64(len(vs)))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func ints(t testing.TB, vs ...int64) interp.Tensor {
	t.Helper()
	x, err := interp.FromInts(ir.Int32, vs, int64(len(vs)))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestCompareAppliesTolerances(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	f16 := func(vs ...float32) interp.Tensor { return floats(t, ir.FP16, vs...) }
	for _, c := range []struct {
		name      string
		base, got interp.Tensor
		perturbed []interp.Tensor
		tol, abs  float64
		ulp       int64
		worst     int
		pass      bool
	}{
		{name: "equal", base: f16(1, 2), got: f16(1, 2), tol: 1. / 512, abs: 0, ulp: 0, worst: 0, pass: true},
		{name: "one ulp of the scale", base: f16(1, 2), got: f16(1, 2+1./512), tol: 1. / 512, abs: 1. / 512, ulp: 1,
			worst: 1, pass: true},
		{name: "two ulps", base: f16(1, 2), got: f16(1, 2+2./512), tol: 1. / 512, abs: 2. / 512, ulp: 2, worst: 1,
			pass: false},
		{name: "one ulp of the scale at a small element", base: f16(1./64, 2), got: f16(1./64+1./512, 2), tol: 1. / 512,
			abs: 1. / 512, ulp: 128, worst: 0, pass: true},
		{name: "spread", base: f16(1, 2), got: f16(1, 2.75), perturbed: []interp.Tensor{f16(1, 2.25), f16(0.75, 2)},
			tol: 0.75 + 1./512, abs: 0.75, ulp: 384, worst: 1, pass: true},
		{name: "past the spread", base: f16(1, 2), got: f16(1, 2.8), perturbed: []interp.Tensor{f16(1, 2.25)},
			tol: 0.75 + 1./512, abs: float64(f16(2.8).Floats32()[0]) - 2, ulp: 410, worst: 1, pass: false},
		{name: "a perturbed run that overflows is ignored", base: f16(1, 2), got: f16(1, 2),
			perturbed: []interp.Tensor{f16(inf, 2.25)}, tol: 0.75 + 1./512, abs: 0, ulp: 0, worst: 0, pass: true},
		{name: "same infinity", base: f16(inf, 1), got: f16(inf, 1), tol: 1. / 1024, abs: 0, ulp: 0, worst: 0,
			pass: true},
		{name: "infinity for a number", base: f16(1, 1), got: f16(1, inf), tol: 1. / 1024, abs: math.Inf(1), ulp: 16384,
			worst: 1, pass: false},
		{name: "number for an infinity", base: f16(1, inf), got: f16(1, 60000), tol: 1. / 1024, abs: math.Inf(1),
			ulp: 173, worst: 1, pass: false},
		{name: "other infinity", base: f16(inf), got: f16(-inf), tol: 1. / (1 << 24), abs: math.Inf(1), ulp: 63488,
			worst: 0, pass: false},
		{name: "NaN for a number", base: f16(1), got: f16(nan), tol: 1. / 1024, abs: math.Inf(1), ulp: 1 << 17,
			worst: 0, pass: false},
		{name: "both NaN", base: f16(nan), got: f16(nan), tol: 1. / (1 << 24), abs: 0, ulp: 0, worst: 0, pass: true},
		{name: "integers equal", base: ints(t, 3, 4), got: ints(t, 3, 4), tol: 0, abs: 0, ulp: 0, worst: 0, pass: true},
		{name: "integers differ", base: ints(t, 3, 4), got: ints(t, 3, 5), tol: 0, abs: 1, ulp: 1, worst: 1,
			pass: false},
		{name: "an integer that moves", base: ints(t, 3, 4), got: ints(t, 3, 6),
			perturbed: []interp.Tensor{ints(t, 3, 6)}, tol: 2, abs: 2, ulp: 2, worst: 1, pass: true},
		{name: "one moves, another differs", base: ints(t, 3, 4), got: ints(t, 4, 4),
			perturbed: []interp.Tensor{ints(t, 3, 6)}, tol: 2, abs: 1, ulp: 1, worst: 0, pass: false},
	} {
		tol := newTolerance(c.base)
		for _, p := range c.perturbed {
			tol.add(c.base, p)
		}
		o, err := compare("y", c.got, c.base, tol)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if float64(o.Tolerance) != c.tol || float64(o.MaxAbs) != c.abs || o.MaxULP != c.ulp || o.Pass != c.pass ||
			o.Worst.Index != c.worst {
			t.Errorf("%s: %+v, want tolerance %g, max abs %g, max ulp %d, worst %d, pass %v", c.name, o, c.tol, c.abs,
				c.ulp, c.worst, c.pass)
		}
		if _, err := json.Marshal(o); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := compare("y", ints(t, 1, 2), ints(t, 1), newTolerance(ints(t, 1))); err == nil {
		t.Error("other shape: no error")
	}
}

func TestToleranceNearTheScaleIsLoose(t *testing.T) {
	base, moved := floats(t, ir.FP16, 1, 2), floats(t, ir.FP16, 1, 2.25)
	tol := newTolerance(base)
	tol.add(base, moved)
	o, err := compare("y", base, base, tol)
	if err != nil || !o.Loose {
		t.Errorf("tolerance %g at scale %g is not called loose (%v)", float64(o.Tolerance), float64(o.Scale), err)
	}
	if o, err := compare("y", base, base, newTolerance(base)); err != nil || o.Loose {
		t.Errorf("tolerance %g at scale %g is called loose (%v)", float64(o.Tolerance), float64(o.Scale), err)
	}
}

// TestBoundsUseRelativeTableErrors checks the choice between the two errors of a table:
// the large absolute error of exp must not enter the bound of softmax.
func TestBoundsUseRelativeTableErrors(t *testing.T) {
	b := bounds(&compile.Report{Tables: []compile.TableInfo{
		{Op: "softmax", Name: "p", Abs: 26.5, Rel: 0.001},
		{Op: "exp", Name: "e", Abs: 26.5, Rel: 0.001},
		{Op: "rsqrt", Name: "q", Abs: 3, Rel: 0.0005},
		{Op: "tanh", Name: "a", Abs: 0.002, Rel: 0.5},
		{Op: "tanh", Name: "b", Abs: 0.004, Rel: math.Inf(1)},
	}})
	op := func(kind, result string) *ir.Op {
		o := ir.NewOp(ir.Lookup(kind, ""))
		o.Results = []*ir.Value{{Name: result}}
		return o
	}
	for _, c := range []struct {
		kind, result string
		abs, rel     float64
	}{
		{kind: "softmax", result: "p", abs: 0, rel: 4.0/2048 + 0.002},
		{kind: "softmax", result: "other", abs: 0, rel: 4.0/2048 + 0.002},
		{kind: "exp", result: "e", abs: 0, rel: 0.001},
		{kind: "rsqrt", result: "q", abs: 0, rel: 0.0005},
		{kind: "sqrt", result: "q2", abs: 0, rel: 0},
		{kind: "tanh", result: "a", abs: 0.002, rel: 0},
		{kind: "tanh", result: "b", abs: 0.004, rel: 0},
		{kind: "tanh", result: "other", abs: 0.004, rel: 0},
		{kind: "sigmoid", result: "s", abs: 0, rel: 0},
		{kind: "relu", result: "r", abs: 0, rel: 0},
	} {
		if got := b(op(c.kind, c.result)); got.Abs != c.abs || math.Abs(got.Rel-c.rel) > 1e-15 {
			t.Errorf("%s %s: %+v, want abs %g, rel %g", c.kind, c.result, got, c.abs, c.rel)
		}
	}
}

// TestReferencesThatAreNotFiniteAreCounted: two NaN and equal infinities agree, but not in silence.
func TestReferencesThatAreNotFiniteAreCounted(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	want, err := interp.FromFloats(ir.FP16, []float32{1, nan, inf, -2, -inf}, 5)
	if err != nil {
		t.Fatal(err)
	}
	o, err := compare("y", want, want, newTolerance(want))
	if err != nil || !o.Pass || o.NotFinite != 3 {
		t.Errorf("%+v, %v; want a pass with 3 elements that are not finite", o, err)
	}
	// One unit in the last place at a scale of 2 is 2^-9.
	if o.ToleranceULP != 1 || o.TolerancePercent != 100.0/1024 {
		t.Errorf("the tolerance is %v ulp, %v %%", o.ToleranceULP, o.TolerancePercent)
	}
	var text strings.Builder
	r := &Result{Outputs: []Output{o}}
	if err := r.Text(&text); err != nil || !strings.Contains(text.String(), "not finite in the reference: 3 elements") {
		t.Errorf("%v: %s", err, &text)
	}
}
