package sim_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/ir/irbuild"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/pair"
	"github.com/zinc-compiler/zinc/prove"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/verify"
)

// compiled is a program as the pair that was written, loaded from its bytes, together with the function that the
// interpreter runs.
type compiled struct {
	text    string // the program before compiling
	hwx, e5 []byte
	res     *compile.Result
	machine *sim.Machine
}

// compilePair compiles a program, writes the pair and loads the bytes.
func compilePair(p *ir.Program, o compile.Options) (*compiled, error) {
	c := &compiled{}
	var text bytes.Buffer
	if err := ir.Print(&text, p); err != nil {
		return nil, err
	}
	c.text = text.String()
	if err := ir.Verify(p); err != nil {
		return c, fmt.Errorf("the program is not sound: %w", err)
	}
	o.VerifyEach = true
	return c, c.compile(p, o)
}

// compile compiles a program, writes the pair, loads the bytes and proves them.
func (c *compiled) compile(p *ir.Program, o compile.Options) (err error) {
	if c.res, err = compile.Compile(context.Background(), p, o); err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	var hb bytes.Buffer
	if _, err := c.res.HWX.WriteTo(&hb); err != nil {
		return fmt.Errorf("write container: %w", err)
	}
	c.hwx = hb.Bytes()
	if c.e5, err = e5.Bytes(c.res.E5); err != nil {
		return fmt.Errorf("write descriptor: %w", err)
	}
	if c.machine, err = sim.Open(pair.Pair{Container: c.hwx, Descriptor: c.e5}); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	r, err := prove.Pair(context.Background(), c.machine, verify.Provable(c.res), prove.Options{Seed: 1})
	if err != nil {
		return fmt.Errorf("prove: %w", err)
	}
	return r.Err()
}

// brief is the program without the bytes of its constants.
func (c *compiled) brief() string {
	var b strings.Builder
	for _, l := range strings.Split(c.text, "\n") {
		if len(l) > 400 {
			l = l[:200] + " ... " + l[len(l)-40:]
		}
		b.WriteString(l + "\n")
	}
	return b.String()
}

// inputs returns seeded values for every parameter; if fill is not nil, its values are used instead of the normal
// distribution.
func (c *compiled) inputs(seed uint64, fill func(r *rand.Rand) float64) map[string]interp.Tensor {
	in := map[string]interp.Tensor{}
	for i, v := range c.res.Reference.Body.Params {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		vs := make([]float32, v.Type.Elems())
		for k := range vs {
			switch {
			case v.Type.DType == ir.Bool:
				vs[k] = float32(r.IntN(2))
			case !v.Type.DType.IsFloat():
				vs[k] = float32(r.IntN(4))
			case fill != nil:
				vs[k] = float32(fill(r))
			default:
				vs[k] = float32(r.NormFloat64())
			}
		}
		t, err := interp.FromFloats(v.Type.DType, vs, v.Type.Shape...)
		if err != nil {
			panic(err)
		}
		in[v.Name] = t
	}
	return in
}

// tableError returns the stated error of a lookup table in the report: that of the table made for the named result or,
// if there is none, the worst of that operation's tables.
func (c *compiled) tableError(op, result string) (abs, rel float64) {
	own := false
	for _, t := range c.res.Report.Tables {
		switch {
		case t.Name == result && t.Op == op:
			if !own {
				abs, rel, own = 0, 0, true
			}
			abs, rel = max(abs, t.Abs), max(rel, t.Rel)
		case t.Op == op && !own:
			abs, rel = max(abs, t.Abs), max(rel, t.Rel)
		}
	}
	return abs, rel
}

// bound returns how far an operation's result on the engine may differ from the interpreter's.
func (c *compiled) bound(op *ir.Op) numerics.Bound {
	abs, rel := c.tableError(op.Def.Name, op.Results[0].Name)
	// A table whose relative error is tiny (an exponential) states an absolute error that occurs only at the top of its
	// range.
	relative := rel > 0 && rel <= 1.0/64
	if relative {
		abs = 0
	}
	b := op.Def.Error.Bound(abs)
	if op.Def.Error == numerics.Elementwise {
		// An exact function elsewhere, a table here: roots, logarithms.
		b.Abs += abs
		if relative {
			b.Rel += rel
		}
	}
	if relative {
		switch op.Def.Error {
		case numerics.Table:
			b.Rel += rel
		case numerics.Composite: // the value's error and its sum's
			b.Rel += 2 * rel
		}
	}
	return b
}

// perturbations is the number of runs that find how far errors spread.
const perturbations = 8

// quotientULP is the bound of a quotient: the engine multiplies with the rounded
// reciprocal, up to one unit in the last place off, and rounds the product.
const quotientULP = 2

// tolerances returns the limit of every element of every output. With every operation exact it is 0; for a single
// operation whose bound follows from the result it is that bound. Otherwise it comes from runs of the interpreter in
// which every operation errs at random within its bound: for a single product, twice the largest deviation of that
// element; for several, whose errors may add up in other ways than the few runs show, three times the largest of the
// whole output; in both cases plus one unit in the last place.
func (c *compiled) tolerances(in map[string]interp.Tensor, mode numerics.Mode, base map[string]interp.Tensor) (
	map[string][]float64, error) {
	// A composition errs in each of its operations.
	ref, still := c.res.Reference, base
	if parts := c.res.Functions[0].Parts; parts != nil {
		var err error
		ref = parts
		if still, err = interp.Run(context.Background(), parts, in, interp.Options{Numerics: mode}); err != nil {
			return nil, err
		}
	}
	exact, ops := true, 0
	var single *ir.Op
	for _, op := range ref.Body.Ops {
		if op.Place.Unit != ir.Engine {
			continue
		}
		b := c.bound(op)
		exact = exact && b.IsExact()
		if !b.IsExact() {
			ops++
			single = op
		}
	}
	tol := map[string][]float64{}
	for n, t := range base {
		tol[n] = make([]float64, t.Elems())
	}
	if exact {
		return tol, nil
	}
	if ops == 1 && len(ref.Body.Ops) == 1 {
		b := c.bound(single)
		if single.Is(ir.OpRealDiv) {
			b.ULP = quotientULP
		}
		if why := single.Def.Error; why == numerics.Elementwise || why == numerics.Table {
			for n, l := range tol {
				for i, y := range base[n].Floats32() {
					if y-y == 0 { // an infinity is met or missed
						l[i] = b.At(float64(y), 0)
					}
				}
			}
			return tol, nil
		}
	}
	for k := range perturbations {
		out, err := interp.Run(context.Background(), ref, in, interp.Options{
			Numerics: mode, Perturb: &interp.Perturb{Seed: uint64(k), Bound: c.bound},
		})
		if err != nil {
			return nil, err
		}
		for n, t := range out {
			y, y0 := t.Floats32(), still[n].Floats32()
			for i := range y {
				d := math.Abs(float64(y[i]) - float64(y0[i]))
				if y[i] == y0[i] {
					d = 0 // equal infinities
				}
				// If an error turns an infinity into a number or the other way round, there is no limit to check.
				if d != d {
					d = math.Inf(1)
				}
				tol[n][i] = max(tol[n][i], d)
			}
		}
	}
	for n, l := range tol {
		y0 := base[n].Floats32()
		top, scale := 0.0, 0.0
		for i := range l {
			if l[i] <= math.MaxFloat32 {
				top = max(top, l[i])
			}
			if a := math.Abs(float64(y0[i])); a <= math.MaxFloat32 {
				scale = max(scale, a)
			}
		}
		for i := range l {
			// A product and the factor fused into it round once on the engine: what overflows between them in the
			// interpreter need not overflow there.
			if ops > 1 && math.IsInf(float64(y0[i]), 0) {
				l[i] = math.Inf(1)
			} else if ops == 1 && single.Def.Error == numerics.Product {
				l[i] = 2*l[i] + float64(numerics.ULP16(y0[i]))
			} else if base[n].Type.DType.IsFloat() && l[i] <= math.MaxFloat32 {
				l[i] = 3*top + float64(numerics.ULP16(float32(scale)))
			}
		}
	}
	return tol, nil
}

// check runs the pair and the interpreter on the same inputs in one mode and
// returns what differs by more than the tolerances.
func (c *compiled) check(in map[string]interp.Tensor, mode numerics.Mode) error {
	want, err := interp.Run(context.Background(), c.res.Reference, in, interp.Options{Numerics: mode})
	if err != nil {
		return fmt.Errorf("%v: interpreter: %w", mode, err)
	}
	got, err := c.machine.Run(context.Background(), in, sim.Options{Numerics: mode})
	if err != nil {
		return fmt.Errorf("%v: simulator: %w", mode, err)
	}
	tol, err := c.tolerances(in, mode, want)
	if err != nil {
		return fmt.Errorf("%v: perturbed interpreter: %w", mode, err)
	}
	for _, v := range c.res.Reference.Body.Outputs {
		g, ok := got[v.Name]
		if !ok {
			return fmt.Errorf("%v: the pair gives no output %q", mode, v.Name)
		}
		if !g.Type.Equal(want[v.Name].Type) {
			return fmt.Errorf("%v: output %s is %s, want %s", mode, v.Name, g.Type, want[v.Name].Type)
		}
		a, b := g.Floats32(), want[v.Name].Floats32()
		bad, first := 0, -1
		for i := range a {
			d := math.Abs(float64(a[i]) - float64(b[i]))
			same := a[i] == b[i] || a[i] != a[i] && b[i] != b[i]
			if !same && !(d <= tol[v.Name][i]) {
				if bad++; first < 0 {
					first = i
				}
			}
		}
		if bad > 0 {
			return fmt.Errorf("%v: output %s %s: %d of %d elements are off, first %d: %g, want %g within %.3g",
				mode, v.Name, g.Type, bad, len(a), first, a[first], b[first], tol[v.Name][first])
		}
	}
	return nil
}

// onEngine fails if an operation of the program ran anywhere else.
func (c *compiled) onEngine() error {
	for _, o := range c.res.Report.Ops {
		if o.Unit == ir.CPU.String() {
			return fmt.Errorf("%s %s is on the CPU: %s", o.Op, o.Name, o.Reason)
		}
	}
	if c.res.Report.EngineOps == 0 {
		return fmt.Errorf("nothing runs on the engine")
	}
	return nil
}

// sample is one program of a table.
type sample struct {
	name  string
	build func(g *irbuild.Graph)
	fill  func(r *rand.Rand) float64 // values of inputs; nil for normal ones
	cpu   bool                       // something of it is meant to run on the CPU
	tasks int                        // 0: any number
	// measured samples are compared only in the engine's own arithmetic: they have infinities, whose difference and
	// whose product with zero IEEE 754 does not define.
	measured bool
}

// runSamples compiles every program of a table and compares it in both modes. Short tests take every fourth program of
// a long table.
func runSamples(t *testing.T, table []sample) {
	t.Helper()
	seen := map[string]bool{}
	for i, s := range table {
		if seen[s.name] {
			t.Errorf("two samples are named %q", s.name)
		}
		seen[s.name] = true
		if testing.Short() && len(table) > 40 && i%4 != 0 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			g := irbuild.New(uint64(i))
			s.build(g)
			p := g.Program()
			size := int64(0)
			for _, v := range p.Funcs[0].Body.Params {
				size += v.Type.Elems()
			}
			if testing.Short() && size > 1<<20 {
				t.Skip("large inputs take seconds")
			}
			c, err := compilePair(p, compile.Options{SplitKernel: i%3 == 0})
			if err != nil {
				t.Fatalf("%v\n%s", err, c.brief())
			}
			if !s.cpu {
				if err := c.onEngine(); err != nil {
					t.Errorf("%v\n%s", err, c.brief())
				}
			}
			if s.tasks != 0 && c.res.Report.Tasks != s.tasks {
				t.Errorf("%d tasks, want %d", c.res.Report.Tasks, s.tasks)
			}
			in := c.inputs(uint64(i), s.fill)
			modes := []numerics.Mode{numerics.ANE, numerics.IEEE}
			if s.measured || testing.Short() && size > 1<<17 {
				modes = modes[:1]
			}
			for _, mode := range modes {
				if err := c.check(in, mode); err != nil {
					t.Errorf("%v\n%s", err, c.brief())
				}
			}
		})
	}
}
