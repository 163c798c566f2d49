package witness

import (
	"context"
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/passes"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// bench runs one function in the ways that are compared: in the interpreter as declared, with fp32 instead of fp16, and
// in mode ANE; and on the simulator from the bytes of a pair.
type bench struct {
	fn      *ir.Func
	prog    *interp.Program
	wide    *ir.Func                // fn in fp32
	wideOf  map[*ir.Value]*ir.Value // of fn, in wide
	precise *interp.Program
	machine *sim.Machine // nil if nothing is compiled
	name    string       // function of the pair
	workers int
	// repaired returns the range to which a watched run clips a value for its readers; nil for none. raw are the values
	// that it clipped in the last one, as computed.
	repaired func(v *ir.Value) (interval.Interval, bool)
	raw      Trace
}

// newBench prepares the function f; m runs its pair under the name.
func newBench(f *ir.Func, m *sim.Machine, name string, workers int) (*bench, error) {
	b := &bench{fn: f, machine: m, name: name, workers: workers}
	b.wide, b.wideOf = ir.Widen(f)
	ir.Walk(b.wide, func(op *ir.Op) { op.Place = ir.Place{Unit: ir.CPU} })
	var err error
	if b.prog, err = interp.Prepare(f); err != nil {
		return nil, err
	}
	if b.precise, err = interp.Prepare(b.wide); err != nil {
		return nil, err
	}
	return b, nil
}

type tensors = map[string]interp.Tensor

// Trace is the interpreter's results for some values in one run.
type Trace map[*ir.Value]interp.Tensor

// Floats returns the elements of a value or constant; nil if the run did not reach it.
func (t Trace) Floats(v *ir.Value) []float64 {
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

// keeper collects the values in keep, or all values if keep is nil.
func (t Trace) keeper(keep map[*ir.Value]bool) func(op *ir.Op, results []interp.Tensor) {
	return func(op *ir.Op, results []interp.Tensor) {
		for i, v := range op.Results {
			if keep == nil || keep[v] {
				t[v] = results[i]
			}
		}
	}
}

// watched runs the function as it is, but repaired, and keeps the values in keep. see, if not nil, is called with every
// value.
func (b *bench) watched(ctx context.Context, in tensors, keep map[*ir.Value]bool,
	see func(v *ir.Value, x interp.Tensor)) (tensors, Trace, error) {
	t := Trace{}
	for _, v := range b.fn.Body.Params {
		if x, ok := in[v.Name]; ok {
			t[v] = x
			if see != nil {
				see(v, x)
			}
		}
	}
	hold := t.keeper(keep)
	b.raw = Trace{}
	out, err := b.prog.Run(ctx, in, interp.Options{Workers: b.workers, States: tensors{},
		Trace: func(op *ir.Op, results []interp.Tensor) {
			b.repair(op, results)
			hold(op, results)
			if see != nil {
				for i, v := range op.Results {
					see(v, results[i])
				}
			}
		}})
	return out, t, err
}

// repair clips the results of an operation for its readers.
func (b *bench) repair(op *ir.Op, results []interp.Tensor) {
	if b.repaired == nil {
		return
	}
	for i, v := range op.Results {
		limit, ok := b.repaired(v)
		if r := RangeOf(results[i]); !ok || !r.NaN && r.Hull(limit) == limit {
			continue
		}
		vs := results[i].Floats32()
		clipped := make([]float32, len(vs))
		for j, y := range vs {
			if y == y { // NaN becomes 0
				clipped[j] = float32(interval.Clamp(float64(y), limit))
			}
		}
		if x, err := interp.FromFloats(v.Type.DType, clipped, results[i].Type.Shape...); err == nil {
			b.raw[v], results[i] = results[i], x
		}
	}
}

// upTo runs the function with fp32 instead of fp16 up to the value until (of the widened function), and keeps every
// value.
func (b *bench) upTo(ctx context.Context, in tensors, until *ir.Value) (Trace, error) {
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	_, t, err := b.precisely(stop, in, nil, func(op *ir.Op) {
		if op == until.Def {
			cancel()
		}
	})
	if _, ok := t[until]; ok && ctx.Err() == nil {
		err = nil
	}
	return t, err
}

// precisely runs the function with fp32 instead of fp16, and keeps the values in keep, or all values if keep is nil.
func (b *bench) precisely(ctx context.Context, in tensors, keep map[*ir.Value]bool, after func(op *ir.Op)) (tensors,
	Trace, error) {
	wide := tensors{}
	t := Trace{}
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
		t[b.wide.Body.Params[i]] = x
	}
	hold := t.keeper(keep)
	out, err := b.precise.Run(ctx, wide, interp.Options{Workers: b.workers, States: tensors{},
		Trace: func(op *ir.Op, results []interp.Tensor) {
			hold(op, results)
			after(op)
		}})
	return out, t, err
}

// engine runs the pair; ane runs the interpreter's own model of the engine.
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

// Evidence is one element of an output in which the engine's number is far from the exact one, for the same input.
type Evidence struct {
	By          string        `json:"by"`          // what ran: BySimulator or ByANE
	Output      string        `json:"output"`      // name of the output
	Index       int           `json:"index"`       // row major
	Engine      verify.Number `json:"engine"`      // element as the engine computes it
	Interpreter verify.Number `json:"interpreter"` // as declared, IEEE
	Exact       verify.Number `json:"exact"`       // IEEE with fp32 for fp16
}

// Names of what ran.
const (
	BySimulator = "simulator"
	ByANE       = "interpreter, numerics ane"
)

// An element deviates if it differs from the exact number by more than a sixteenth of that number (four bits are left),
// by more than a sixty-fourth of the largest number of its output, and by more than the rounding of the smallest fp16
// number; or if one of the two is not finite and they differ; or if it is 0 and the exact number is normal in fp16.
const (
	OwnShare   = 1.0 / 16
	scaleShare = 1.0 / 64
	LeastError = 1.0 / (1 << 25)
)

// deviates returns the difference of the engine's number g from the exact one w, as a share of what is allowed: more
// than 1 is a deviation.
func deviates(g, w, scale float64) float64 {
	if g == w || g != g && w != w {
		return 0
	}
	if d := math.Abs(g - w); d < inf {
		return d / max(math.Abs(w)*OwnShare, scale*scaleShare, LeastError)
	}
	return inf
}

// vanished is the result of deviates for a normal number that the engine turns into 0.
const vanished = 2

// compare returns the element that deviates most of the outputs that only allows; nil if none deviates or, with exactly
// set, if all are equal.
func compare(by string, exactly bool, only func(name string) bool, order []*ir.Value, got, declared,
	exact tensors) *Evidence {
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
			case gs[i] == 0 && math.Abs(ws[i]) >= numerics.MinNormalFP16:
				e = max(e, vanished)
			case exactly && e > 0:
				e++
			}
			if e > worst {
				worst = e
				best = &Evidence{
					By:          by,
					Output:      v.Name,
					Index:       i,
					Engine:      verify.Number(gs[i]),
					Interpreter: verify.Number(ds[i]),
					Exact:       verify.Number(ws[i]),
				}
			}
		}
	}
	return best
}

// check runs an input in all ways and compares the outputs in only.
func (b *bench) check(ctx context.Context, in tensors, ane, exactly bool, only func(name string) bool) (*Evidence,
	error) {
	d, err := b.prog.Run(ctx, in, interp.Options{Workers: b.workers, States: tensors{}})
	if err != nil {
		return nil, err
	}
	w, _, err := b.precisely(ctx, in, map[*ir.Value]bool{}, func(*ir.Op) {})
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

// region is a bench of some operations of a function, whose inputs are the values that they read.
type region struct {
	*bench
	inputs []*ir.Value // of the function, in the order of the bench's inputs
}

// closed adds to operations of a function those that compute constants for them, in the function's order, so that
// constants stay constants in the cut.
func closed(a Analysis, ops []*ir.Op) []*ir.Op {
	in := map[*ir.Op]bool{}
	var add func(op *ir.Op)
	add = func(op *ir.Op) {
		if in[op] {
			return
		}
		in[op] = true
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if v.Const == nil && v.Def != nil && (ir.IsConstexpr(v.Def) || a.Constant(v) != nil) {
				add(v.Def)
			}
		})
	}
	for _, op := range ops {
		add(op)
	}
	var out []*ir.Op
	for _, op := range a.Operations() {
		if in[op] {
			out = append(out, op)
		}
	}
	return out
}

// cutFrom copies operations, with those that compute their constants, from a function. If none of their results is read
// elsewhere in its body, as of operations in blocks, the outputs are the results of the last one.
func cutFrom(a Analysis, ops []*ir.Op) (fn *ir.Func, inputs []*ir.Value, err error) {
	fn, inputs, outputs := ir.Extract(a.Func(), "main", closed(a, ops))
	if n := len(fn.Body.Ops); len(outputs) == 0 && n > 0 {
		fn.Body.Outputs = fn.Body.Ops[n-1].Results
	}
	if len(fn.Body.Outputs) == 0 || len(inputs) == 0 {
		return nil, nil, fmt.Errorf("the statement has no inputs or no outputs of its own")
	}
	return fn, inputs, nil
}

// newRegion compiles operations of a function's body by themselves, with those that compute their constants.
func newRegion(ctx context.Context, a Analysis, ops []*ir.Op, o compile.Options, ane bool, workers int) (*region,
	error) {
	sub, inputs, err := cutFrom(a, ops)
	if err != nil {
		return nil, err
	}
	if ane {
		b, err := newBench(sub, nil, "main", workers)
		return &region{b, inputs}, err
	}
	b, err := compiled(ctx, &ir.Program{Version: "1.3", Funcs: []*ir.Func{sub}}, o, workers)
	return &region{b, inputs}, err
}

// compiled compiles a program of one function and returns its bench; the program must not be used afterwards.
func compiled(ctx context.Context, p *ir.Program, o compile.Options, workers int) (*bench, error) {
	o.Func, o.Shapes, o.Precision = "", nil, passes.PrecisionDeclared
	o.Progress, o.PrintAfter, o.PrintChanged = nil, nil, false
	r, err := compile.All(ctx, p, o)
	if err != nil {
		return nil, err
	}
	m, err := verify.Open(r)
	if err != nil {
		return nil, err
	}
	return newBench(r.Reference, m, "main", workers)
}

// operands are the values of the region's inputs in a run of the whole function.
func (r *region) operands(t Trace) (tensors, error) {
	in := tensors{}
	for i, v := range r.inputs {
		x, ok := t[v]
		if !ok {
			return nil, fmt.Errorf("the run did not reach %s", v.Name)
		}
		in[r.fn.Body.Params[i].Name] = x
	}
	return in, nil
}

// run checks the region with the values of its inputs in a run of the whole function.
func (r *region) run(ctx context.Context, t Trace, ane, exactly bool) (*Evidence, error) {
	in, err := r.operands(t)
	if err != nil {
		return nil, err
	}
	return r.check(ctx, in, ane, exactly, func(string) bool { return true })
}
