package witness

import (
	"context"
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
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

// watching is a suspicion of v that no run shows; its proof has the values that the search reaches.
func (s *search) watching(v *ir.Value) *proof {
	p := newProof(&Suspicion{Op: v.Def, Value: v, Region: []*ir.Op{v.Def}, Need: []*ir.Value{v}})
	p.Reached = func(Trace) (float64, bool) { return 0, false }
	s.open = []*proof{p}
	s.wanted()
	return p
}

// mixed is a convolution of x whose weights have both signs; most is the largest result for inputs up to 1.
func mixed(g *irbuild.Graph) (x, y *ir.Value, most float64) {
	at := func(i int64) float64 { return float64(i*5%7-3) / 8 }
	for i := range int64(6) {
		most += math.Abs(at(i))
	}
	x = g.Input(1, 6, 2, 2)
	y = g.Op("conv", "x", x, "weight", g.Filled(ir.FP16, at, 1, 6, 1, 1))
	g.Output(y)
	return x, y, most
}

// TestRecordedRunsAreNotExtreme records runs on drawn inputs: values in the ranges, and no corner of them.
func TestRecordedRunsAreNotExtreme(t *testing.T) {
	g := irbuild.New(21)
	_, y, most := mixed(g)
	s := searchOf(t, g, interval.Span(-1, 1))
	p := s.watching(y)
	if err := s.record(); err != nil {
		t.Fatal(err)
	}
	if s.recorded != drawnSamples || p.far.Empty() || p.far.Hi >= most || p.Seen != p.far {
		t.Errorf("%d runs reach %v (seen %v), the corner is %g", s.recorded, p.far, p.Seen, most)
	}
}

// TestCornersAreTheExtremesOfAffineFunctions tries the largest and the smallest result of weights of both signs,
// which inputs that are all at one bound do not give.
func TestCornersAreTheExtremesOfAffineFunctions(t *testing.T) {
	g := irbuild.New(21)
	_, y, most := mixed(g)
	s := searchOf(t, g, interval.Span(-1, 1))
	p := s.watching(y)
	for _, goal := range []Goal{Most(y, nil), Least(y, nil)} {
		if err := s.attempt(p, goal); err != nil {
			t.Fatal(err)
		}
	}
	if p.far.Hi != most || p.far.Lo != -most {
		t.Errorf("reaches %v, the corners are at %g", p.far, most)
	}
}

// TestBisectionMeetsANumber looks for an input with which a result is a number between its extremes.
func TestBisectionMeetsANumber(t *testing.T) {
	const want = 0.71
	g := irbuild.New(21)
	_, y, _ := mixed(g)
	s := searchOf(t, g, interval.Span(-1, 1))
	p := s.watching(y)
	nearest := math.Inf(1)
	p.Reached = func(tr Trace) (float64, bool) {
		for _, v := range tr.Floats(y) {
			nearest = min(nearest, math.Abs(v-want))
		}
		return 0, false
	}
	if err := s.attempt(p, Near(y, want)); err != nil {
		t.Fatal(err)
	}
	if nearest > 1.0/1024 {
		t.Errorf("the nearest result is %g from %g", nearest, want)
	}
}

// TestGoalsOnAnInputFillIt fills an input with the number that its goal names, through a reshape.
func TestGoalsOnAnInputFillIt(t *testing.T) {
	g := irbuild.New(21)
	x, z := g.Input(1, 6), g.Input(6)
	r := g.Op("reshape", "x", x, "shape", []int{6})
	y := g.Op("mul", "x", r, "y", z)
	g.Output(y)
	s := searchOf(t, g, interval.Span(-2, 2))
	p := s.watching(r)
	met := false
	p.Reached = func(tr Trace) (float64, bool) {
		r := RangeOf(tr[r])
		met = met || r.Lo == 0.125 && r.Hi == 0.125
		return 0, false
	}
	if err := s.attempt(p, Near(r, 0.125)); err != nil {
		t.Fatal(err)
	}
	if !met {
		t.Errorf("no run has x filled with 0.125; it reaches %v", p.far)
	}
}

// TestPatternsCoverBoundsAndZeros runs the fixed inputs: both bounds, and both zeros.
func TestPatternsCoverBoundsAndZeros(t *testing.T) {
	g := irbuild.New(21)
	y := g.Op("mul", "x", g.Input(1, 6), "y", 1.0)
	g.Output(y)
	s := searchOf(t, g, interval.Span(-3, 2))
	p := s.watching(y)
	zeros := [2]bool{}
	p.Reached = func(tr Trace) (float64, bool) {
		if r := RangeOf(tr[y]); r.Lo == 0 && r.Hi == 0 {
			k := 0
			if math.Signbit(tr.Floats(y)[0]) {
				k = 1
			}
			zeros[k] = true
		}
		return 0, false
	}
	if err := s.patterns(0, len(patterns)); err != nil {
		t.Fatal(err)
	}
	if p.far.Lo != -3 || p.far.Hi != 2 || zeros != [2]bool{true, true} {
		t.Errorf("reaches %v, zeros without and with a sign %v", p.far, zeros)
	}
}

// TestStatementsAreCutOut shows a square that no output of the model shows, with operands of the recorded runs, grown.
func TestStatementsAreCutOut(t *testing.T) {
	g := irbuild.New(21)
	a := g.Op("add", "x", g.Input(1, 8, 4, 4), "y", 1.0)
	q := g.Op("square", "x", a)
	g.Output(g.Op("minimum", "x", q, "y", 1.0))
	s := searchOf(t, g, interval.Span(-3, 3))
	s.o.Compile = compile.Options{Target: target.H13}
	suspicion := func(f *ir.Func, op *ir.Op) *Suspicion {
		y := op.Results[0]
		return &Suspicion{Kind: "square", Op: op, Value: y, Region: []*ir.Op{op}, Need: []*ir.Value{y}, Limit: 65520,
			Reached: func(tr Trace) (float64, bool) { m := RangeOf(tr[y]).Mag(); return m, m > 65504 }}
	}
	s.o.Judge = func(f *ir.Func, ranges map[string]interval.Interval) (Analysis, []*Suspicion) {
		for _, r := range ranges {
			if r.Mag() < 256 {
				return byType{f}, nil
			}
		}
		return byType{f}, []*Suspicion{suspicion(f, f.Body.Ops[0])}
	}
	p := newProof(suspicion(s.a.Func(), q.Def))
	s.open = []*proof{p}
	s.wanted()
	if err := s.record(); err != nil {
		t.Fatal(err)
	}
	if err := s.cutOut(p, 1<<40); err != nil {
		t.Fatal(err)
	}
	if p.Shown != nil || p.Cut == nil || p.Cut.Statements != 1 || p.Cut.Factor <= 32 || p.Cut.Factor > 256 {
		t.Fatalf("cut %+v, note %q", p.Cut, p.Note)
	}
	if o := p.Cut.Operands[0]; o.Safe == nil || o.Safe[1] > 256 || max(o.Used[1], -o.Used[0]) < 256 {
		t.Errorf("operand %+v, want one beyond 256 and a safe range within", o)
	}
}
