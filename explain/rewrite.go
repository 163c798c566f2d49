package explain

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/cost"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/provenance"
	"github.com/zinc-compiler/zinc/reduce"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/verify"
)

// Rewrite is a replacement of a statement that zinc compiled and ran.
type Rewrite struct {
	Name string `json:"name"`           // of the row of Recipes
	Doc  string `json:"doc"`            // what the replacement does
	Note string `json:"note,omitempty"` // condition under which it is valid
	// Diff is the change as MIL text: lines with "- " are removed, lines with "+ " are added.
	Diff []string `json:"diff"`
	// Engine and Host are the operations of the compiled replacement by where they run. Those in Host only move data,
	// or the recipe allows them there.
	Engine []string `json:"engine"`
	Host   []string `json:"host,omitempty"` // operations of the replacement on the CPU
	// Whole reports that the whole model was compiled and run; otherwise only the statement was,
	// because the model is large.
	Whole   bool       `json:"whole_model"`
	Seed    uint64     `json:"seed"`    // seed of the inputs of the run
	Outputs []Compared `json:"outputs"` // comparisons of the outputs
	// All of the whole model; for a target without estimates there are no times, and the counts are those of the
	// program that was placed.
	Before     cost.Time `json:"before_us,omitempty"` // estimated time of a call
	After      cost.Time `json:"after_us,omitempty"`  // estimated time of a call after the change
	Dispatches [2]int    `json:"dispatches"`          // before and after the change
	CPUOps     [2]int    `json:"cpu_ops"`             // operations on the CPU, before and after the change
	// Ran is the target for which it was compiled and run if zinc writes no programs for the target of the answer.
	// Engine, Host, CPUOps and Dispatches are then its placement for the target of the answer.
	Ran string `json:"ran_for,omitempty"`

	program *ir.Program
}

// Program is the changed program: the whole model, or only the statement if Whole is false.
func (r *Rewrite) Program() *ir.Program { return r.program }

// Compared is an output of the changed program as it ran.
type Compared struct {
	Name      string        `json:"name"`      // name of the output
	Type      string        `json:"type"`      // type of the output
	Tolerance verify.Number `json:"tolerance"` // of package verify
	Simulated verify.Number `json:"simulated"` // largest distance of simulator and interpreter
	// largest distance of the interpreter's results before and after the change
	Original verify.Number `json:"original"`
}

// Tried is a recipe that was tried, and why it failed.
type Tried struct {
	Name string `json:"name"` // row of Recipes
	Why  string `json:"why"`  // why it failed
}

// moves reports whether an operation only rearranges data. A replacement may leave it on the CPU, where it can give a
// tensor a shape that the engine accepts.
func moves(o *ir.Operation) bool { return o != nil && (o.Class == ir.Movement || o == ir.OpCast) }

// maxWhole is the number of operations up to which the whole model is compiled and
// run for each rewrite.
const maxWhole = 300

// alone returns a program of one function, reduced to one statement if the function is large, and the statement's index
// in it.
func alone(p *ir.Program, fn *ir.Func, index int) (*ir.Program, int, bool) {
	out := &ir.Program{Version: p.Version, Files: p.Files}
	if len(fn.Body.Ops) <= maxWhole {
		out.Funcs = []*ir.Func{ir.CloneFunc(fn, fn.Name)}
		return out, index, true
	}
	// Include the operations that unpack compressed constants, which would otherwise become inputs.
	var ops []*ir.Op
	fn.Body.Ops[index].Operands(func(_ *ir.Param, v *ir.Value) {
		if v.Def != nil && ir.IsConstexpr(v.Def) && !slices.Contains(ops, v.Def) {
			ops = append(ops, v.Def)
		}
	})
	// Include the accesses of states around it.
	op := fn.Body.Ops[index]
	var writes []*ir.Op
	for _, x := range fn.Body.Ops {
		if stateOf(x) == nil || x == op {
			continue
		}
		for _, v := range x.Results {
			if op.Takes(v) {
				ops = append(ops, x)
			}
		}
		for _, v := range op.Results {
			if x.Takes(v) {
				writes = append(writes, x)
			}
		}
	}
	at := len(ops)
	f, _, _ := ir.Extract(fn, fn.Name, append(append(ops, op), writes...))
	out.Funcs = []*ir.Func{f}
	return out, at, false
}

// rewrites tries the recipes for a refused operation of a function's body that has one result.
func rewrites(ctx context.Context, p *ir.Program, s *found, rule string, o Options) (out []*Rewrite, tried []Tried,
	err error) {
	for i := range Recipes {
		r := &Recipes[i]
		if !r.For(rule, s.op.Def.Operation) {
			continue
		}
		w, err := r.try(ctx, p, s, o)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		switch {
		case errors.Is(err, errNot):
		case err != nil:
			tried = append(tried, Tried{r.Name, err.Error()})
		default:
			out = append(out, w)
		}
	}
	return out, tried, nil
}

// price estimates the whole program with each rewrite of a statement. now is the report of the program as it is.
func price(ctx context.Context, list []*Rewrite, p *ir.Program, s *found, now *compile.Report,
	o compile.Options) error {
	o.Provenance = false
	for _, w := range list {
		after := ir.CloneProgram(p)
		i := slices.IndexFunc(after.Funcs, func(f *ir.Func) bool { return f.Name == s.fn.Name })
		e := newEdit(o.Target, after.Funcs[i], s.index)
		e.halves = o.Precision == passes.PrecisionFP16
		recipeNamed(w.Name).apply(e)
		if e.err != nil {
			return fmt.Errorf("rewrite %s: %w", w.Name, e.err)
		}
		r, err := compile.Price(ctx, after, o)
		if err != nil {
			return fmt.Errorf("rewrite %s: %w", w.Name, err)
		}
		w.Before, w.After = now.CallTime(), r.CallTime()
		w.Dispatches = [2]int{now.Dispatches, r.Dispatches}
		w.CPUOps = [2]int{now.CPUOps, r.CPUOps}
	}
	return nil
}

// try applies a recipe to a copy of the program and checks the result.
func (r *Recipe) try(ctx context.Context, p *ir.Program, s *found, o Options) (*Rewrite, error) {
	before, index, whole := alone(p, s.fn, s.index)
	after := ir.CloneProgram(before)
	asked, runs := o.Compile.Target, standIn(o.Compile.Target)
	e := newEdit(narrower(asked, runs), after.Funcs[0], index)
	e.halves = o.Compile.Precision == passes.PrecisionFP16
	old := after.Funcs[0].Body.Ops[index]
	r.apply(e)
	if e.err != nil {
		return nil, e.err
	}
	if err := ir.Verify(after); err != nil {
		return nil, fmt.Errorf("the changed program is not valid: %w", err)
	}
	w := &Rewrite{
		Name:    r.Name,
		Doc:     r.Writes(old.Def.Operation),
		Note:    e.note,
		Whole:   whole,
		Seed:    o.Seed,
		program: after,
	}
	inputsChanged := slices.Contains(e.ops, old)
	co := o.Compile
	co.Target = runs
	co.Func, co.Provenance = after.Funcs[0].Name, true
	co.Place = passes.PlaceEngine // the statement alone may not be worth a dispatch
	c, err := compile.Compile(ctx, ir.CloneProgram(after), co)
	if err != nil {
		return nil, fmt.Errorf("the changed program does not compile: %w", err)
	}
	if err := r.placed(w, c.Provenance, old.Def.Operation, e.ops); err != nil {
		return nil, err
	}
	co.Provenance = false
	if err := w.run(ctx, before, after, c.Functions, co, o); err != nil {
		return nil, err
	}
	if runs != asked {
		if err := r.placedFor(ctx, w, before, after, co, asked, old.Def.Operation, e.ops); err != nil {
			return nil, err
		}
	}
	w.Diff, err = difference(before, after, index, e.ops, inputsChanged)
	return w, err
}

// standIn returns the target for which rewrites for t are compiled and run: t, or if zinc writes no programs for t, the
// first target for which it does.
func standIn(t *target.Table) *target.Table {
	if t.TD != 0 {
		return t
	}
	for _, s := range target.All {
		if s.TD != 0 {
			return s
		}
	}
	return t
}

// narrower returns the limits that a rewrite observes: those of the target for which it runs, with what only the other
// target requires.
func narrower(asked, runs *target.Table) *target.Table {
	t := *runs
	t.StateMultiple = asked.StateMultiple
	return &t
}

// placedFor checks that the replacement is placed on the engine of a target for which it was not run, and counts what
// is placed there.
func (r *Recipe) placedFor(ctx context.Context, w *Rewrite, before, after *ir.Program, co compile.Options,
	t *target.Table, replaced *ir.Operation, ops []*ir.Op) error {
	w.Ran, w.Engine, w.Host = co.Target.Name, nil, nil
	co.Target, co.Provenance = t, true
	n, err := compile.Place(ctx, ir.CloneProgram(after), co)
	if err != nil {
		return fmt.Errorf("the changed program cannot be placed for %s: %w", t.Name, err)
	}
	if err := r.placed(w, n.Provenance, replaced, ops); err != nil {
		return fmt.Errorf("for %s %w", t.Name, err)
	}
	co.Provenance = false
	o, err := compile.Plan(ctx, ir.CloneProgram(before), co)
	if err != nil {
		return fmt.Errorf("the original cannot be placed for %s: %w", t.Name, err)
	}
	w.CPUOps = [2]int{o.CPUOps, n.Report.CPUOps}
	w.Dispatches = [2]int{o.Dispatches, n.Report.Dispatches}
	return nil
}

// placed checks that the operations of a replacement that compute run on the engine. If the replaced operation itself
// moves data, the operations of the same name must run there.
func (r *Recipe) placed(w *Rewrite, db *provenance.DB, replaced *ir.Operation, ops []*ir.Op) error {
	free := func(o *ir.Operation) bool { return o != replaced && moves(o) }
	computes := 0
	for _, op := range ops {
		if len(op.Results) == 0 {
			continue // it writes a state
		}
		allowed := free(op.Def.Operation) || slices.Contains(r.Host, op.Def.Operation)
		for _, i := range db.From(db.Named(op.Results[0].Name)...).Operators {
			x := &db.Operators[i]
			line := fmt.Sprintf("%s %q", x.Op, x.Name)
			list := &w.Engine
			switch {
			case x.Unit == ir.CPU.String() && !allowed && !free(ir.Named(x.Op)):
				return fmt.Errorf("%s of the replacement runs on the CPU: %s", line, x.Reason)
			case x.Unit == ir.CPU.String():
				line += ": " + x.Reason
				list = &w.Host
			case x.Unit == ir.Transfer.String():
				continue
			default:
				if !free(ir.Named(x.Op)) {
					computes++
				}
				line += ", " + x.Rule
			}
			if !slices.Contains(*list, line) {
				*list = append(*list, line)
			}
		}
	}
	if computes == 0 {
		return errors.New("nothing of the replacement runs on the engine")
	}
	return nil
}

// run runs the changed program on the simulator and the interpreter, and the original on the interpreter.
func (w *Rewrite) run(ctx context.Context, before, after *ir.Program, fs []*compile.Function, co compile.Options,
	o Options) error {
	v, err := verify.Run(ctx, ir.CloneProgram(after), verify.Options{
		Compile:  co,
		Seed:     o.Seed,
		Workers:  o.Workers,
		Progress: co.Progress,
	})
	if err != nil {
		return fmt.Errorf("the changed program does not run: %w", err)
	}
	if v.Verdict == verify.Fail {
		return fmt.Errorf("the simulator departs from the interpreter in %v", v.Failed())
	}
	orig, err := compile.Compile(ctx, ir.CloneProgram(before), co)
	if err != nil {
		return fmt.Errorf("the original does not compile: %w", err)
	}
	w.CPUOps = [2]int{orig.Report.CPUOps, v.Report.CPUOps}
	w.Dispatches = [2]int{orig.Report.Dispatches, v.Report.Dispatches}
	inputs := map[string]interp.Tensor{}
	for _, x := range fs[0].Reference.Body.Params {
		if x.Type.Kind == ir.State {
			continue
		}
		if inputs[x.Name], err = verify.Random(x.Type, x.Name, o.Seed); err != nil {
			return err
		}
	}
	run := func(stage string, f *compile.Function) (map[string]interp.Tensor, error) {
		io := interp.Options{Workers: o.Workers, States: map[string]interp.Tensor{}}
		if co.Progress != nil {
			io.Progress = func(done, total int) { co.Progress(stage, done, total) }
		}
		return interp.Run(ctx, f.Reference, inputs, io)
	}
	want, err := run("run of the original", orig.Functions[0])
	if err != nil {
		return fmt.Errorf("the original does not run: %w", err)
	}
	got, err := run("run of the rewrite", fs[0])
	if err != nil {
		return fmt.Errorf("the changed program does not run: %w", err)
	}
	for _, x := range fs[0].Reference.Body.Outputs {
		i := slices.IndexFunc(v.Outputs, func(y verify.Output) bool {
			return y.Name == x.Name || y.Name == x.Name+" (call 1)"
		})
		if i < 0 {
			return fmt.Errorf("the verification has no output %q", x.Name)
		}
		y := &v.Outputs[i]
		d, err := distance(want[x.Name], got[x.Name])
		if err != nil {
			return fmt.Errorf("output %q: %w", x.Name, err)
		}
		if !(d <= y.Allowed()) {
			return fmt.Errorf("output %q differs by %.3g from the original, the tolerance is %.3g", x.Name, d,
				y.Allowed())
		}
		w.Outputs = append(w.Outputs, Compared{
			Name:      x.Name,
			Type:      y.Type,
			Tolerance: verify.Number(y.Allowed()),
			Simulated: y.MaxAbs,
			Original:  verify.Number(d),
		})
	}
	return nil
}

// distance is the largest difference between two elements; it is 0 for equal infinities and for two NaNs.
func distance(a, b interp.Tensor) (float64, error) {
	if !a.Type.Equal(b.Type) {
		return 0, fmt.Errorf("was %s, is %s", a.Type, b.Type)
	}
	x, y := a.Const(), b.Const()
	most := 0.0
	for i := range x.Elems() {
		u, v := x.Float(i), y.Float(i)
		if u == v || math.IsNaN(u) && math.IsNaN(v) {
			continue
		}
		if d := math.Abs(u - v); !(d <= most) {
			most = d
		}
		if math.IsNaN(most) {
			return math.Inf(1), nil
		}
	}
	return most, nil
}

// excerptWeights is the weight file named by the constants of a diff.
const excerptWeights = "weights/weight.bin"

// difference returns the lines of MIL text that change. It compares the statement as a function of its own, whose
// inputs are what it reads, or the whole function if the function's inputs change.
func difference(before, after *ir.Program, index int, ops []*ir.Op, inputs bool) ([]string, error) {
	text := func(p *ir.Program, ops []*ir.Op) ([]string, error) {
		f := p.Funcs[0]
		if !inputs {
			f, _, _ = ir.Extract(f, f.Name, ops)
		}
		t, err := reduce.NewText(&ir.Program{Version: p.Version, Funcs: []*ir.Func{f}}, excerptWeights)
		if err != nil {
			return nil, err
		}
		return bodyLines(string(t.MIL), inputs), nil
	}
	a, err := text(before, before.Funcs[0].Body.Ops[index:index+1])
	if err != nil {
		return nil, err
	}
	b, err := text(after, ops)
	if err != nil {
		return nil, err
	}
	return diff(a, b), nil
}
