package witness

import (
	"context"
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// searchOf returns a search over a graph whose inputs all have one range.
func searchOf(t *testing.T, g *irbuild.Graph, r interval.Interval) *search {
	t.Helper()
	f := g.Program().Funcs[0]
	b, err := newBench(f, nil, "main", 1)
	if err != nil {
		t.Fatal(err)
	}
	var ports []*Input
	for _, v := range f.Body.Params {
		ports = append(ports, NewInput(v, r))
	}
	return newSearch(context.Background(), &Options{Workers: 1}, byType{f}, b, ports, 1<<40)
}

// byType is an analysis that knows only the types of values.
type byType struct{ f *ir.Func }

func (a byType) Func() *ir.Func                                    { return a.f }
func (a byType) Operations() []*ir.Op                              { return a.f.Body.Ops }
func (a byType) Range(v *ir.Value) interval.Interval               { return interval.OfType(v.Type.DType) }
func (a byType) Constant(v *ir.Value) *ir.Const                    { return v.Const }
func (a byType) Repaired(*ir.Value) (r interval.Interval, ok bool) { return r, false }

// watching is a suspicion of v that no run shows; look is called with the values of every run.
func (s *search) watching(v *ir.Value, look func(t Trace)) *proof {
	p := newProof(&Suspicion{Op: v.Def, Value: v, Region: []*ir.Op{v.Def}, Need: []*ir.Value{v}})
	p.Reached = func(t Trace) (float64, bool) { look(t); return 0, false }
	s.open = []*proof{p}
	s.wanted()
	return p
}

// TestClimbReachesTheGreatestProduct climbs to the greatest product of two inputs. No corner found from the middle is
// the greatest, since the derivative is 0 there.
func TestClimbReachesTheGreatestProduct(t *testing.T) {
	g := irbuild.New(21)
	x, z := g.Input(1, 4, 8), g.Input(1, 8, 4)
	y := g.Op("matmul", "x", x, "y", z)
	g.Output(y)
	s := searchOf(t, g, interval.Span(-2, 2))
	p := s.watching(y, func(Trace) {})
	if err := s.record(); err != nil {
		t.Fatal(err)
	}
	recorded := p.far
	if err := s.climb(p, Most(y, nil)); err != nil {
		t.Fatal(err)
	}
	if p.far.Hi < 30 || recorded.Hi > 20 {
		t.Errorf("recorded runs reach %g, the climb %g of 32", recorded.Hi, p.far.Hi)
	}
	if err := s.climb(p, Least(y, nil)); err != nil {
		t.Fatal(err)
	}
	if p.far.Lo > -30 {
		t.Errorf("down to %g of -32", p.far.Lo)
	}
}

// TestSearchApproachesOperands finds an input with which a statement has operands like those of a cut.
func TestSearchApproachesOperands(t *testing.T) {
	g := irbuild.New(22)
	x := g.Input(1, 6, 2, 2)
	w := g.Filled(ir.FP16, func(i int64) float64 {
		if i/6 == i%6 {
			return 3
		}
		return float64(i*5%7-3) / 8
	}, 6, 6, 1, 1)
	a := g.Op("tanh", "x", g.Op("conv", "x", x, "weight", w))
	y := g.Op("square", "x", a)
	g.Output(y)
	s := searchOf(t, g, interval.Span(-1, 1))
	want := make([]float64, 24)
	distance := inf
	p := s.watching(y, func(tr Trace) {
		d := 0.0
		for i, v := range tr.Floats(a) {
			d += math.Abs(v - want[i])
		}
		distance = d
	})
	if err := s.record(); err != nil {
		t.Fatal(err)
	}
	// The operands of an input that the search does not know.
	vs := make([]float32, 24)
	for i := range vs {
		vs[i] = float32(i*7%11-5) / 6
	}
	in, err := interp.FromFloats(ir.FP16, vs, x.Type.Shape...)
	if err != nil {
		t.Fatal(err)
	}
	_, tr, err := s.b.declared(s.ctx, tensors{x.Name: in}, map[*ir.Value]bool{a: true})
	if err != nil {
		t.Fatal(err)
	}
	copy(want, tr.Floats(a))
	first := 0.0
	_, tr2, err := s.b.declared(s.ctx, s.samples[0].Values, map[*ir.Value]bool{a: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range tr2.Floats(a) {
		first += math.Abs(v - want[i])
	}
	p.Cut = &Cut{Factor: 2, Operands: []Operand{{Name: "a"}}, values: map[string]*ir.Value{"a": a}}
	p.Input = Candidate{tensors{"a": tr[a]}, ""}
	if err := s.toward(p); err != nil {
		t.Fatal(err)
	}
	if distance > first/3 {
		t.Errorf("from a distance of %g to %g", first, distance)
	}
}
