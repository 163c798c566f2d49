package prove_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/target"
)

// proved compiles a program, changes the functions that its bytes must compute, and proves them.
func proved(t *testing.T, p *ir.Program, o prove.Options, change func(fs []prove.Function)) *prove.Result {
	t.Helper()
	r, err := compile.All(t.Context(), p, compile.Options{Target: target.H13, Place: passes.PlaceEngine})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := r.Pair()
	if err != nil {
		t.Fatal(err)
	}
	m, err := sim.Open(pair)
	if err != nil {
		t.Fatal(err)
	}
	fs := verify.Provable(r)
	if change != nil {
		change(fs)
	}
	res, err := prove.Pair(t.Context(), m, fs, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func program(outputs func(g *irbuild.Graph, x *ir.Value) *ir.Value) *ir.Program {
	g := irbuild.New(1)
	x := g.Input(1, 8, 4, 4)
	g.Output(outputs(g, x))
	return g.Program()
}

// other replaces the functions by functions of another program, as if the bytes had been compiled wrongly.
func other(t *testing.T, p *ir.Program) func(fs []prove.Function) {
	return func(fs []prove.Function) {
		r, err := compile.All(t.Context(), p, compile.Options{Target: target.H13, Place: passes.PlaceEngine})
		if err != nil {
			t.Fatal(err)
		}
		copy(fs, verify.Provable(r))
	}
}

// TestVerdicts has a small program for each verdict on the bytes and on the statements of the source.
func TestVerdicts(t *testing.T) {
	scaled := func(by float64) *ir.Program {
		return program(func(g *irbuild.Graph, x *ir.Value) *ir.Value {
			return g.Op("mul", "x", x, "y", g.Filled(ir.FP16, func(int64) float64 { return by }))
		})
	}
	floored := func() *ir.Program {
		return program(func(g *irbuild.Graph, x *ir.Value) *ir.Value { return g.Op("floor_div", "x", x, "y", 4.0) })
	}
	for _, c := range []struct {
		name       string
		program    *ir.Program
		options    prove.Options
		change     func(fs []prove.Function)
		bytes      prove.Verdict
		statements prove.Verdict
		conclusion error
		text       string
	}{
		{name: "a factor", program: scaled(3), bytes: prove.Proved, statements: prove.Proved, text: "proved"},
		{name: "another factor", program: scaled(3), change: other(t, scaled(5)), bytes: prove.Wrong,
			statements: prove.Proved, conclusion: prove.ErrWrong, text: "128 of 128"},
		{name: "a function that is not a polynomial", program: program(
			func(g *irbuild.Graph, x *ir.Value) *ir.Value { return g.Op("sigmoid", "x", x) }),
			bytes: prove.Proved, statements: prove.Proved},
		{name: "weights that are rounded", program: program(func(g *irbuild.Graph, x *ir.Value) *ir.Value {
			return g.Op("upsample_bilinear", "x", x, "scale_factor_height", 3, "scale_factor_width", 1)
		}), bytes: prove.Proved, statements: prove.Proved},
		{name: "a form that only samples compare", program: floored(), bytes: prove.Proved, statements: prove.Checked},
		{name: "samples beyond the work allowed", program: floored(), options: prove.Options{Work: 1},
			bytes: prove.Proved, statements: prove.Open, conclusion: prove.ErrNotConcluded, text: "the limit is 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := proved(t, c.program, c.options, c.change)
			f := r.Functions[0]
			if r.Verdict != c.bytes || f.Source == nil || f.Source.Verdict != c.statements {
				t.Errorf("bytes %s, source %+v, want %s and %s", r.Verdict, f.Source, c.bytes, c.statements)
			}
			if err := r.Conclusion(); !errors.Is(err, c.conclusion) || c.conclusion == nil && err != nil {
				t.Errorf("conclusion %v, want %v", err, c.conclusion)
			}
			var b bytes.Buffer
			r.Text(&b, prove.TextOptions{})
			if !strings.Contains(b.String(), c.text) {
				t.Errorf("the text does not say %q:\n%s", c.text, &b)
			}
		})
	}
}
