package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
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
	// Whole reports that the whole function was compiled and run, since its inputs or states change; otherwise only the
	// part that changes was.
	Whole   bool       `json:"whole_model"`
	Seed    uint64     `json:"seed"`    // seed of the inputs of the run
	Outputs []Compared `json:"outputs"` // comparisons of the outputs
	// All of the whole model; for a target without estimates there are no times, and the counts are of the program that
	// was placed.
	Before     cost.Time `json:"before_us,omitempty"` // estimated time of a call
	After      cost.Time `json:"after_us,omitempty"`  // estimated time of a call after the change
	Dispatches [2]int    `json:"dispatches"`          // before and after the change
	CPUOps     [2]int    `json:"cpu_ops"`             // operations on the CPU, before and after the change
	// Ran is the target for which it was compiled and run if zinc writes no programs for the target of the answer.
	// Engine, Host, CPUOps and Dispatches are then its placement for the target of the answer.
	Ran string `json:"ran_for,omitempty"`

	program *ir.Program
}

// Program is the changed program.
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

// changed applies a recipe to a statement of a copy of the program.
func (r *Recipe) changed(p *ir.Program, s *found, t *target.Table) (*ir.Program, *edit, error) {
	after := ir.CloneProgram(p)
	k := slices.IndexFunc(p.Funcs, func(f *ir.Func) bool { return f == s.fn })
	e := newEdit(t, after.Funcs[k], s.index)
	if err := e.apply(r); err != nil {
		return nil, nil, err
	}
	e.commit()
	return after, e, nil
}

// rewrites tries the recipes for a refused operation of a function's body that has one result.
func rewrites(ctx context.Context, p *ir.Program, s *found, rule string, o Options) (out []*Rewrite, tried []Tried,
	err error) {
	for i := range Recipes {
		r := &Recipes[i]
		if !r.For(rule, s.op.Def.Operation) || r.Retrain != "" {
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

// estimate estimates a program, or places it for a target without estimates.
func estimate(ctx context.Context, p *ir.Program, o compile.Options) (r *compile.Report, err error) {
	err = compile.Compile(ctx, p, o, compile.Sink{Estimate: compile.To(&r)})
	if r != nil && compile.Exceeds(err) {
		err = nil // the estimate is as good in several containers
	}
	return r, err
}

// sums are what rewrites are compared by.
type sums struct {
	call               cost.Time
	dispatches, cpuOps int
}

func sumsOf(r *compile.Report) sums { return sums{r.CallTime(), r.Dispatches, r.CPUOps} }

// estimateCost estimates the whole program with each rewrite. now is the time of the program as it is.
func estimateCost(ctx context.Context, list []*Rewrite, now sums, o compile.Options) error {
	o.Provenance = false
	for _, w := range list {
		r, err := estimate(ctx, ir.CloneProgram(w.program), o)
		if err != nil {
			return fmt.Errorf("rewrite %s: %w", w.Name, err)
		}
		with := sumsOf(r)
		if r.Estimate != nil {
			w.Before, w.After = now.call, with.call
		}
		w.Dispatches = [2]int{now.dispatches, with.dispatches}
		w.CPUOps = [2]int{now.cpuOps, with.cpuOps}
	}
	return nil
}

// try applies a recipe to a copy of the program and checks the part that changes: it compiles and runs that part alone,
// or the whole function if its inputs change.
func (r *Recipe) try(ctx context.Context, p *ir.Program, s *found, o Options) (*Rewrite, error) {
	asked, runs := o.Compile.Target, standIn(o.Compile.Target)
	whole, e, err := r.changed(p, s, narrower(asked, runs))
	if err != nil {
		return nil, err
	}
	part := &region{s.fn, whole.Func(s.fn.Name)}
	if !r.Interface {
		if part, err = regionOf(sideOf(s.fn), sideOf(part.after), e.names()); err != nil {
			return nil, err
		}
	}
	w := &Rewrite{
		Name:    r.Name,
		Doc:     r.Writes(s.op.Def.Operation),
		Note:    e.note,
		Whole:   r.Interface,
		Seed:    o.Seed,
		program: whole,
	}
	if work := part.runWork(); len(r.Rules) == 0 && work > cmp.Or(o.Work, DefaultWork) {
		return nil, fmt.Errorf("running it takes the work of %d, more than the limit of %d", work,
			cmp.Or(o.Work, DefaultWork))
	}
	if err := r.place(ctx, w, s.fn.Name, e.Ops, s.op.Def.Operation, o.Compile); err != nil {
		return nil, err
	}
	if err := w.run(ctx, r, part.programs(p), o); err != nil {
		return nil, err
	}
	w.Diff, err = difference(p.Version, part.before, part.after, r.Interface)
	return w, err
}

// place places the changed program, and checks where the new operations run, in the place of a replaced one.
func (r *Recipe) place(ctx context.Context, w *Rewrite, fn string, ops []*ir.Op, replaced *ir.Operation,
	co compile.Options) error {
	if err := ir.Verify(w.program); err != nil {
		return fmt.Errorf("the changed program is not valid: %w", err)
	}
	co.Func, co.Provenance, co.Place = fn, true, passes.PlaceEngine // the statement alone may not be worth a dispatch
	var err error
	look := func(db *provenance.DB, _ []byte) error {
		err = r.placed(w, db, replaced, ops)
		return nil
	}
	if err := compile.Compile(ctx, ir.CloneProgram(w.program), co, compile.Sink{Database: look}); err != nil {
		return fmt.Errorf("the changed program cannot be placed: %w", err)
	}
	if len(r.Rules) == 0 {
		return nil // the time decides
	}
	return err
}

// standIn returns the target for which rewrites for t are compiled and run: t, or if zinc does not write every program
// for t, the first target for which it does.
func standIn(t *target.Table) *target.Table {
	if t.Whole() {
		return t
	}
	for _, s := range target.All {
		if s.Whole() {
			return s
		}
	}
	return t
}

// narrower returns the limits that a rewrite observes: the findings of the target for which it runs, with what only the
// other target requires.
func narrower(asked, runs *target.Table) *target.Table {
	t := *runs
	t.StateMultiple = asked.StateMultiple
	return &t
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
func (w *Rewrite) run(ctx context.Context, r *Recipe, sides [2]*ir.Program, o Options) error {
	before, after, co := sides[0], sides[1], o.Compile
	co.Func, co.Place, co.Target = after.Funcs[0].Name, passes.PlaceEngine, standIn(co.Target)
	if co.Target != o.Compile.Target {
		w.Ran = co.Target.Name
	}
	c, err := compile.All(ctx, ir.CloneProgram(after), co)
	if err != nil {
		return fmt.Errorf("the changed program does not compile: %w", err)
	}
	m, err := verify.Open(c)
	if err != nil {
		return fmt.Errorf("the changed program does not run: %w", err)
	}
	v, err := verify.Check(ctx, c, m, after.Files, verify.Options{Seed: o.Seed, Workers: o.Workers,
		Progress: co.Progress})
	if err != nil {
		return fmt.Errorf("the changed program does not run: %w", err)
	}
	if v.Verdict == verify.Fail {
		return fmt.Errorf("the simulator departs from the interpreter in %v", v.Failed())
	}
	var orig []*compile.Function
	if err := compile.Compile(ctx, ir.CloneProgram(before), co, compile.Sink{Placed: compile.To(&orig)}); err != nil {
		return fmt.Errorf("the original does not compile: %w", err)
	}
	fs := c.Functions
	inputs := map[string]interp.Tensor{}
	for _, x := range fs[0].Reference.Body.Params {
		if x.Type.Kind == ir.State {
			continue
		}
		in, err := verify.Random(x.Type, x.Name, o.Seed)
		if err == nil && r.ToFP16 && x.Type.DType == ir.FP32 {
			in, err = inType(in, ir.FP16)
		}
		if err != nil {
			return err
		}
		inputs[x.Name] = in
	}
	run := func(stage string, f *compile.Function) (map[string]interp.Tensor, error) {
		io := interp.Options{Workers: o.Workers, States: map[string]interp.Tensor{}}
		if co.Progress != nil {
			io.Progress = func(done, total int) { co.Progress(stage, done, total) }
		}
		in := map[string]interp.Tensor{}
		for _, v := range f.Reference.Body.Params {
			if x, ok := inputs[v.Name]; ok {
				if in[v.Name], err = inType(x, v.Type.DType); err != nil {
					return nil, err
				}
			}
		}
		return interp.Run(ctx, f.Reference, in, io)
	}
	want, err := run("run of the original", orig[0])
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

// inType returns a tensor with its floats in another type: a rewrite may change the type of an input.
func inType(t interp.Tensor, d ir.DType) (interp.Tensor, error) {
	if t.Type.DType == d || !d.IsFloat() {
		return t, nil
	}
	c := t.Const()
	vs := make([]float32, c.Elems())
	for i := range vs {
		vs[i] = float32(c.Float(int64(i)))
	}
	return interp.FromFloats(d, vs, t.Type.Shape...)
}

// distance is the largest difference between two elements; it is 0 for equal infinities and for two NaNs.
func distance(a, b interp.Tensor) (float64, error) {
	if !a.Type.WithDType(b.Type.DType).Equal(b.Type) || a.Type.DType.IsFloat() != b.Type.DType.IsFloat() {
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

// difference returns the lines of MIL text that change from one function to another: of the bodies, or with frame also
// of what the functions take and return.
func difference(version string, before, after *ir.Func, frame bool) ([]string, error) {
	text := func(f *ir.Func) ([]string, error) {
		t, err := unbuild.Program(&ir.Program{Version: version, Funcs: []*ir.Func{f}}, excerptWeights)
		if err != nil {
			return nil, err
		}
		return bodyLines(string(t.MIL), frame), nil
	}
	a, err := text(before)
	if err != nil {
		return nil, err
	}
	b, err := text(after)
	if err != nil {
		return nil, err
	}
	return diff(a, b), nil
}
