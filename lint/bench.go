package lint

import (
	"context"
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/verify"
)

// bench runs one function in the ways that are compared: as declared in the
// interpreter, with all fp16 in fp32, in the interpreter's mode ANE, and on the
// simulator from the bytes of a pair.
type bench struct {
	fn      *ir.Func
	prog    *interp.Program
	wide    *widened
	precise *interp.Program
	machine *sim.Machine // nil where nothing is compiled
	name    string       // function of the pair
	workers int
}

// newBench prepares the function f; m runs its pair under the given name.
func newBench(f *ir.Func, m *sim.Machine, name string, workers int) (*bench, error) {
	b := &bench{fn: f, machine: m, name: name, workers: workers, wide: widen(f)}
	var err error
	if b.prog, err = interp.Prepare(f); err != nil {
		return nil, err
	}
	if b.precise, err = interp.Prepare(b.wide.fn); err != nil {
		return nil, err
	}
	return b, nil
}

type tensors = map[string]interp.Tensor

// trace is what the interpreter gave for some values in one run.
type trace map[*ir.Value]interp.Tensor

// floats returns the elements of a value, a constant's as well; nil where the
// run did not reach it.
func (t trace) floats(v *ir.Value) []float64 {
	if v == nil {
		return nil
	}
	if v.Const != nil {
		return v.Const.Floats()
	}
	x, ok := t[v]
	if !ok || x.Type.Kind != ir.Tensor || x.Type.DType == ir.String {
		return nil
	}
	return x.Const().Floats()
}

// keeper collects the values of keep, or all where keep is nil.
func (t trace) keeper(keep map[*ir.Value]bool) func(op *ir.Op, results []interp.Tensor) {
	return func(op *ir.Op, results []interp.Tensor) {
		for i, v := range op.Results {
			if keep == nil || keep[v] {
				t[v] = results[i]
			}
		}
	}
}

// declared runs the function as it is and keeps the values named.
func (b *bench) declared(ctx context.Context, in tensors, keep map[*ir.Value]bool) (tensors, trace, error) {
	t := trace{}
	for _, v := range b.fn.Body.Params {
		if x, ok := in[v.Name]; ok {
			t[v] = x
		}
	}
	out, err := b.prog.Run(ctx, in, interp.Options{Workers: b.workers, Trace: t.keeper(keep), States: tensors{}})
	return out, t, err
}

// exact runs the function with fp32 in the place of fp16 and keeps every value
// where asked.
func (b *bench) exact(ctx context.Context, in tensors, keepAll bool) (tensors, trace, error) {
	wide := tensors{}
	t := trace{}
	for i, v := range b.fn.Body.Params {
		x, ok := in[v.Name]
		if !ok {
			continue
		}
		if x.Type.DType == ir.FP16 {
			y, err := interp.FromFloats(ir.FP32, x.Floats32(), x.Type.Shape...)
			if err != nil {
				return nil, nil, err
			}
			x = y
		}
		wide[v.Name] = x
		t[b.wide.fn.Body.Params[i]] = x
	}
	keep := map[*ir.Value]bool{}
	if keepAll {
		keep = nil
	}
	out, err := b.precise.Run(ctx, wide, interp.Options{Workers: b.workers, Trace: t.keeper(keep), States: tensors{}})
	return out, t, err
}

// engine runs the pair; ane the interpreter's own model of the engine.
func (b *bench) engine(ctx context.Context, in tensors, ane bool) (tensors, error) {
	if ane || b.machine == nil {
		return b.prog.Run(ctx, in, interp.Options{Numerics: numerics.ANE, Workers: b.workers, States: tensors{}})
	}
	if err := b.machine.Select(b.name); err != nil {
		return nil, err
	}
	b.machine.Reset()
	return b.machine.Run(ctx, in, sim.Options{Numerics: numerics.ANE, Workers: b.workers})
}

// Evidence is one element of an output in which the engine's number stands far
// from the exact one, by the same input.
type Evidence struct {
	By          string        `json:"by"` // what ran: simulator, or the interpreter in the mode ane
	Output      string        `json:"output"`
	Index       int           `json:"index"` // row major
	Engine      verify.Number `json:"engine"`
	Interpreter verify.Number `json:"interpreter"` // as declared, IEEE
	Exact       verify.Number `json:"exact"`       // IEEE with fp32 for fp16
}

// Names of what ran.
const (
	BySimulator   = "simulator"
	ByANE         = "interpreter, numerics ane"
	ByInterpreter = "interpreter, numerics ieee"
)

// An element deviates when it stands from the exact number by more than a
// sixteenth of that number (four bits are left) and by more than a sixty-fourth
// of the largest number of its output, and by more than the rounding of the
// least fp16 number; or when one of the two is not finite and they differ; or when
// it is 0 and the exact number is one that fp16 holds as a normal number.
const (
	ownShare   = 1.0 / 16
	scaleShare = 1.0 / 64
	leastError = 1.0 / (1 << 25)
)

// deviates returns how far the engine's number g stands from the exact one w, as
// a share of what is allowed: more than 1 is a deviation.
func deviates(g, w, scale float64) float64 {
	if g == w || g != g && w != w {
		return 0
	}
	if d := math.Abs(g - w); d < inf {
		return d / max(math.Abs(w)*ownShare, scale*scaleShare, leastError)
	}
	return inf
}

// vanished is the excess that counts for a normal number of which the engine
// makes 0.
const vanished = 2

// compare looks for the element of the outputs that deviates most; nil when none
// does, or with exactly set when all are equal. The outputs are those that only
// allows.
func compare(by string, exactly bool, only func(name string) bool, order []*ir.Value, got, declared, exact tensors) *Evidence {
	var best *Evidence
	worst := 1.0
	for _, v := range order {
		if v.Type.Kind != ir.Tensor || v.Type.DType == ir.String || !only(v.Name) {
			continue
		}
		g, ok1 := got[v.Name]
		w, ok2 := exact[v.Name]
		d, ok3 := declared[v.Name]
		if !ok1 || !ok2 || !ok3 || g.Elems() != w.Elems() || d.Elems() != w.Elems() {
			continue
		}
		gs, ds, ws := g.Const().Floats(), d.Const().Floats(), w.Const().Floats()
		scale := 0.0
		for _, x := range ws {
			if a := math.Abs(x); a < inf {
				scale = max(scale, a)
			}
		}
		for i := range ws {
			e := deviates(gs[i], ws[i], scale)
			switch {
			case gs[i] == 0 && math.Abs(ws[i]) >= leastNormal:
				e = max(e, vanished)
			case exactly && e > 0:
				e++
			}
			if e > worst {
				worst = e
				best = &Evidence{by, v.Name, i, verify.Number(gs[i]), verify.Number(ds[i]), verify.Number(ws[i])}
			}
		}
	}
	return best
}

// check runs an input in all ways and compares the outputs named.
func (b *bench) check(ctx context.Context, in tensors, ane, exactly bool, only func(name string) bool) (*Evidence, error) {
	d, _, err := b.declared(ctx, in, map[*ir.Value]bool{})
	if err != nil {
		return nil, err
	}
	w, _, err := b.exact(ctx, in, false)
	if err != nil {
		return nil, err
	}
	g, err := b.engine(ctx, in, ane)
	if err != nil {
		return nil, err
	}
	by := BySimulator
	if ane {
		by = ByANE
	}
	return compare(by, exactly, only, b.fn.Body.Outputs, g, d, w), nil
}

// region is a bench of some operations of a function alone, whose inputs are the
// values that they read.
type region struct {
	*bench
	inputs []*ir.Value // of the function, in the order of the bench's
}

// newRegion compiles operations of a function's body by themselves.
func newRegion(ctx context.Context, f *ir.Func, ops []*ir.Op, o compile.Options, ane bool, workers int) (*region, error) {
	sub, inputs, outputs := ir.Extract(f, "main", ops)
	if len(outputs) == 0 || len(inputs) == 0 {
		return nil, fmt.Errorf("the statement has no inputs or no outputs of its own")
	}
	var m *sim.Machine
	if !ane {
		o.Func, o.Shapes, o.Precision, o.Progress, o.PrintAfter, o.PrintChanged = "", nil, "declared", nil, nil, false
		c, _, _ := ir.Extract(f, "main", ops) // the compiler rewrites what it is given
		r, err := compile.Compile(ctx, &ir.Program{Version: "1.3", Funcs: []*ir.Func{c}}, o)
		if err != nil {
			return nil, err
		}
		container, descriptor, err := verify.Pair(r)
		if err != nil {
			return nil, err
		}
		if m, err = sim.Load(container, descriptor); err != nil {
			return nil, err
		}
		sub = r.Reference
	}
	b, err := newBench(sub, m, "main", workers)
	if err != nil {
		return nil, err
	}
	return &region{b, inputs}, nil
}

// run checks the region on the values that a run of the whole gave its inputs.
func (r *region) run(ctx context.Context, t trace, ane, exactly bool) (*Evidence, error) {
	in := tensors{}
	for i, v := range r.inputs {
		x, ok := t[v]
		if !ok {
			return nil, fmt.Errorf("the run did not reach %s", v.Name)
		}
		in[r.fn.Body.Params[i].Name] = x
	}
	return r.check(ctx, in, ane, exactly, func(string) bool { return true })
}
