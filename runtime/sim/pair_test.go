package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// compiled is a program as the pair that was written, loaded from its bytes, together with the function that the
// interpreter runs.
type compiled struct {
	text    string // the program before compiling
	hwx, e5 []byte
	res     *compile.Result
	machine *sim.Machine
}

// compilePair compiles a program, writes the pair, loads the bytes and proves them.
func compilePair(p *ir.Program, o compile.Options) (*compiled, error) {
	c, err := loadPair(p, o)
	if err != nil {
		return c, err
	}
	return c, c.proved()
}

// loadPair is compilePair without the proof.
func loadPair(p *ir.Program, o compile.Options) (*compiled, error) {
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
	return c, c.load(p, o)
}

// load compiles a program, writes the pair and loads the bytes.
func (c *compiled) load(p *ir.Program, o compile.Options) (err error) {
	if c.res, err = compile.All(context.Background(), p, o); err != nil {
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
	return nil
}

// proved proves the pair.
func (c *compiled) proved() error {
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

// errUntold is wrapped by the errors of check for what is within bounds that are too wide to show anything.
var errUntold = errors.New("not verified")

// check runs the pair on the inputs in one mode and verifies every statement and output.
func (c *compiled) check(in map[string]interp.Tensor, mode numerics.Mode) error {
	r, err := verify.Check(context.Background(), c.res, c.machine, nil, verify.Options{Inputs: in, Numerics: mode})
	if err != nil {
		return fmt.Errorf("%v: %w", mode, err)
	}
	if r.Pass {
		return nil
	}
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		return err
	}
	if r.First != nil {
		fmt.Fprintf(&b, "%+v", *r.First)
	}
	if r.Verdict == verify.CannotTell {
		return fmt.Errorf("%v: %w: %s", mode, errUntold, b.String())
	}
	return fmt.Errorf("%v: %s", mode, b.String())
}

// checkElements runs the pair and the interpreter on the same inputs in the same arithmetic, for programs whose outputs
// are each computed by one operation on single elements, and compares every element, infinities and NaN too, which the
// arithmetic of the mode defines.
func (c *compiled) checkElements(in map[string]interp.Tensor, mode numerics.Mode) error {
	want, err := interp.Run(context.Background(), c.res.Reference, in, interp.Options{Numerics: mode})
	if err != nil {
		return fmt.Errorf("%v: interpreter: %w", mode, err)
	}
	got, err := c.machine.Run(context.Background(), in, sim.Options{Numerics: mode})
	if err != nil {
		return fmt.Errorf("%v: simulator: %w", mode, err)
	}
	for _, v := range c.res.Reference.Body.Outputs {
		g, ok := got[v.Name]
		if !ok || !g.Type.Equal(want[v.Name].Type) {
			return fmt.Errorf("%v: output %s is %s, want %s", mode, v.Name, g.Type, want[v.Name].Type)
		}
		limit := c.limit(v.Def)
		a, b := g.Floats32(), want[v.Name].Floats32()
		for i := range a {
			d := math.Abs(float64(a[i]) - float64(b[i]))
			same := a[i] == b[i] || a[i] != a[i] && b[i] != b[i]
			if !same && (b[i]-b[i] != 0 || !(d <= limit(b[i]))) {
				return fmt.Errorf("%v: output %s %s: element %d is %g, want %g within %.3g", mode, v.Name, g.Type, i,
					a[i], b[i], limit(b[i]))
			}
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
	// special samples have infinities or NaN and are compared by checkElements.
	special bool
	// measured samples are special, and compared only in the engine's own arithmetic: they have infinities, whose
	// difference and whose product with zero IEEE 754 does not define.
	measured bool
}

// runSamples compiles programs of a table and compares them in both modes: all in the long form of the tests, fewer and
// smaller ones in the others.
func runSamples(t *testing.T, table []sample) {
	t.Helper()
	seen := map[string]bool{}
	for _, s := range table {
		if seen[s.name] {
			t.Errorf("two samples are named %q", s.name)
		}
		seen[s.name] = true
	}
	largest := testform.Of[int64](1<<17, 1<<20, math.MaxInt64) // elements of the inputs
	twice := testform.Of[int64](1<<14, 1<<17, math.MaxInt64)   // elements up to which both modes run
	for i := range testform.Sample(len(table), 12, 60) {
		s := table[i]
		t.Run(s.name, func(t *testing.T) {
			g := irbuild.New(uint64(i))
			s.build(g)
			p := g.Program()
			size := int64(0)
			for _, v := range p.Funcs[0].Body.Params {
				size += v.Type.Elems()
			}
			if size > largest {
				t.Skip("large inputs take seconds: they belong to the long form")
			}
			c, err := compilePair(p, compile.Options{Target: target.H13, SplitKernel: i%3 == 0})
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
			if s.measured || size > twice {
				modes = modes[:1]
			}
			check := c.check
			if s.special || s.measured {
				check = c.checkElements
			}
			for _, mode := range modes {
				if err := check(in, mode); err != nil {
					t.Errorf("%v\n%s", err, c.brief())
				}
			}
		})
	}
}
