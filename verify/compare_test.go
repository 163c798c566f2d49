package verify

import (
	"encoding/json"
	"math"
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

func TestCompare(t *testing.T) {
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
		{"equal", f16(1, 2), f16(1, 2), nil, 1. / 512, 0, 0, 0, true},
		{"one ulp of the scale", f16(1, 2), f16(1, 2+1./512), nil, 1. / 512, 1. / 512, 1, 1, true},
		{"two ulps", f16(1, 2), f16(1, 2+2./512), nil, 1. / 512, 2. / 512, 2, 1, false},
		{"one ulp of the scale at a small element", f16(1./64, 2), f16(1./64+1./512, 2), nil, 1. / 512, 1. / 512, 128, 0, true},
		{"spread", f16(1, 2), f16(1, 2.75), []interp.Tensor{f16(1, 2.25), f16(0.75, 2)}, 0.75 + 1./512, 0.75, 384, 1, true},
		{"past the spread", f16(1, 2), f16(1, 2.8), []interp.Tensor{f16(1, 2.25)}, 0.75 + 1./512, float64(f16(2.8).Floats32()[0]) - 2, 410, 1, false},
		{"a perturbed run that overflows says nothing", f16(1, 2), f16(1, 2), []interp.Tensor{f16(inf, 2.25)}, 0.75 + 1./512, 0, 0, 0, true},
		{"same infinity", f16(inf, 1), f16(inf, 1), nil, 1. / 1024, 0, 0, 0, true},
		{"infinity for a number", f16(1, 1), f16(1, inf), nil, 1. / 1024, math.Inf(1), 16384, 1, false},
		{"number for an infinity", f16(1, inf), f16(1, 60000), nil, 1. / 1024, math.Inf(1), 173, 1, false},
		{"other infinity", f16(inf), f16(-inf), nil, 1. / (1 << 24), math.Inf(1), 63488, 0, false},
		{"NaN for a number", f16(1), f16(nan), nil, 1. / 1024, math.Inf(1), 1 << 17, 0, false},
		{"both NaN", f16(nan), f16(nan), nil, 1. / (1 << 24), 0, 0, 0, true},
		{"integers equal", ints(t, 3, 4), ints(t, 3, 4), nil, 0, 0, 0, 0, true},
		{"integers differ", ints(t, 3, 4), ints(t, 3, 5), nil, 0, 1, 1, 1, false},
		{"an integer that moves", ints(t, 3, 4), ints(t, 3, 6), []interp.Tensor{ints(t, 3, 6)}, 2, 2, 2, 1, true},
		{"one moves, another differs", ints(t, 3, 4), ints(t, 4, 4), []interp.Tensor{ints(t, 3, 6)}, 2, 1, 1, 0, false},
	} {
		tol := newTolerance(c.base)
		for _, p := range c.perturbed {
			tol.add(p)
		}
		o, err := compare("y", c.got, c.base, tol)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if float64(o.Tolerance) != c.tol || float64(o.MaxAbs) != c.abs || o.MaxULP != c.ulp || o.Pass != c.pass || o.Worst.Index != c.worst {
			t.Errorf("%s: %+v, want tolerance %g, max abs %g, max ulp %d, worst %d, pass %v", c.name, o, c.tol, c.abs, c.ulp, c.worst, c.pass)
		}
		if _, err := json.Marshal(o); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := compare("y", ints(t, 1, 2), ints(t, 1), newTolerance(ints(t, 1))); err == nil {
		t.Error("other shape: no error")
	}
}

func TestLoose(t *testing.T) {
	base, moved := floats(t, ir.FP16, 1, 2), floats(t, ir.FP16, 1, 2.25)
	tol := newTolerance(base)
	tol.add(moved)
	o, err := compare("y", base, base, tol)
	if err != nil || !o.Loose {
		t.Errorf("tolerance %g at scale %g is not called loose (%v)", float64(o.Tolerance), float64(o.Scale), err)
	}
	if o, err := compare("y", base, base, newTolerance(base)); err != nil || o.Loose {
		t.Errorf("tolerance %g at scale %g is called loose (%v)", float64(o.Tolerance), float64(o.Scale), err)
	}
}

// TestBounds holds the choice between a table's two errors: an exponential's
// large absolute error must not enter the bound of a softmax.
func TestBounds(t *testing.T) {
	b := bounds(&compile.Report{Tables: []compile.TableInfo{
		{Op: "softmax", Name: "p", Abs: 26.5, Rel: 0.001},
		{Op: "exp", Name: "e", Abs: 26.5, Rel: 0.001},
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
		{"softmax", "p", 0, 4.0/2048 + 0.002},
		{"softmax", "other", 0, 4.0/2048 + 0.002},
		{"exp", "e", 0, 0.001},
		{"tanh", "a", 0.002, 0},
		{"tanh", "b", 0.004, 0},
		{"tanh", "other", 0.004, 0},
		{"sigmoid", "s", 0, 0},
		{"relu", "r", 0, 0},
	} {
		if got := b(op(c.kind, c.result)); got.Abs != c.abs || math.Abs(got.Rel-c.rel) > 1e-15 {
			t.Errorf("%s %s: %+v, want abs %g, rel %g", c.kind, c.result, got, c.abs, c.rel)
		}
	}
}
