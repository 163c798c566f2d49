package prove

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/zinc-compiler/zinc/compile/cost/opwork"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/runtime/sim/exact"
)

// SourceResult is the comparison of the source with the placed program, statement by statement.
type SourceResult struct {
	// Verdict is the worst of all statements: Proved, Checked or Open.
	Verdict Verdict `json:"verdict"`
	Proved  int     `json:"proved"`  // statements, including Rounded
	Rounded int     `json:"rounded"` // proved statements that hold up to the rounding of constants that passes computed
	Checked int     `json:"checked"` // statements that hold on samples
	Open    int     `json:"open"`    // statements without a conclusion
	// Statements are those that are not proved, and those with rounded constants, in source order.
	Statements []Statement `json:"statements,omitempty"`

	open map[*ir.Op]bool
}

// Statement is the verdict on a statement of the source, with the reason.
type Statement struct {
	Statement string  `json:"statement"`      // first result of the statement
	Line      int32   `json:"line,omitempty"` // line of the statement, from 1
	Verdict   Verdict `json:"verdict"`        // verdict on the statement
	Why       string  `json:"why"`            // reason of the verdict
	// Work is Options.Work with which the statement can be compared on samples, if it was too small.
	Work int64 `json:"work,omitempty"`
}

// verdict compares a value of the source with the placed program, the worst verdict last.
type verdict int

const (
	equal   verdict = iota
	rounded         // equal up to the rounding of constants that passes computed
	near            // nearly equal on samples
	differs
)

// A finding is a verdict with its reason.
type finding struct {
	verdict
	why  string
	work int64 // that a sample takes, if it is more than allowed
}

// source compares the source with the placed program. Values of the same name are assumed to be the same: the results
// of each statement are computed from the placed program's operands of the same names, and compared with its results.
type source struct {
	*exact.Evaluator
	p  *proof
	fn *ir.Func // the source, with its constant expressions computed and without states
	// after are the values of states after the call.
	after map[string]*ir.Value
	// written are the statements of states as the source has them.
	written map[*ir.Op]*ir.Op
	placed  map[string]*ir.Value
	// kept are values of the placed program. If some are missing, all are kept in another run.
	kept    map[string]exact.Tensor
	reads   map[string]bool // which ones
	all     bool
	missing bool
	inexact bool               // a conclusion needs exact sums of products
	found   map[string]finding // by name, for values that the placed program has too
	// assumed are values that differ without a conclusion. Their readers use the values of the placed program.
	assumed map[string]bool
}

// newSource prepares the comparison.
func newSource(p *proof) *source {
	s := &source{p: p, placed: map[string]*ir.Value{}, kept: map[string]exact.Tensor{}, reads: map[string]bool{},
		assumed: map[string]bool{}}
	for _, v := range p.f.Program.Body.Params {
		s.placed[v.Name] = v
	}
	for _, op := range p.f.Program.Body.Ops {
		for _, v := range op.Results {
			s.placed[v.Name] = v
		}
	}
	s.fn = folded(p.f.Source, s.placed)
	s.after, s.written = stateless(s.fn)
	for _, op := range s.fn.Body.Ops {
		if s.same(op) {
			continue
		}
		for _, v := range slices.Concat(operands(op), op.Results) {
			s.reads[v.Name] = true
		}
	}
	for _, v := range s.fn.Body.Outputs {
		s.reads[v.Name] = s.reads[v.Name] || s.placed[v.Name] == nil
	}
	for _, v := range s.after {
		s.reads[v.Name] = true
	}
	return s
}

// see keeps a value of the placed program if statements are compared with it.
func (s *source) see(v *ir.Value, t exact.Tensor) bool {
	keep := s.all || s.reads[v.Name]
	if keep {
		s.kept[v.Name] = t
	}
	return keep
}

// operands lists what an operation reads, in nested blocks too, except constants.
func operands(op *ir.Op) []*ir.Value {
	var out []*ir.Value
	op.Reads(func(v *ir.Value) {
		if v.Const == nil {
			out = append(out, v)
		}
	})
	return out
}

// folded returns a copy of a function. In the copy, the interpreter has computed every value that depends on constants
// alone, unless the placed program computes it too. Loops and conditions that constants decide are replaced by their
// bodies.
func folded(f *ir.Func, placed map[string]*ir.Value) *ir.Func {
	f = ir.CloneFunc(f, f.Name)
	x := &folder{c: &ir.Cloner{Values: map[*ir.Value]*ir.Value{}}, placed: placed}
	f.Body.Outputs = x.inline(f.Body, nil)
	f.Body.Ops = x.ops
	return f
}

// maxFolded bounds the operations that loops become.
const maxFolded = 1 << 16

// folder copies the operations of a function.
type folder struct {
	c      *ir.Cloner
	placed map[string]*ir.Value
	ops    []*ir.Op
}

// inline adds the operations of a block and returns its outputs.
func (x *folder) inline(b *ir.Block, args []*ir.Value) []*ir.Value {
	for i, v := range args {
		x.c.Values[b.Params[i]] = v
	}
	for _, op := range b.Ops {
		x.add(op)
	}
	var out []*ir.Value
	for _, v := range b.Outputs {
		out = append(out, x.c.Value(v))
	}
	return out
}

func (x *folder) add(old *ir.Op) {
	op := x.c.Op(old)
	if ts, err := ir.InferOp(op); err == nil { // operands may be known that were not
		for i, v := range op.Results {
			if v.Type.Kind == ir.Tensor && !v.Type.Static() && ts[i].Static() {
				v.Type = ts[i]
			}
		}
	}
	if results := x.decided(op); results != nil {
		for i, v := range old.Results {
			x.c.Values[v] = results[i]
		}
		return
	}
	var results []*ir.Const
	if !x.retained(op) {
		results = exact.Folded(op)
	}
	for i, c := range results {
		v := op.Results[i]
		v.Const, v.Def, v.Type = c, nil, c.Type
	}
	if results == nil {
		x.ops = append(x.ops, op)
	}
}

// retained reports whether the placed program computes the result of an operation too.
func (x *folder) retained(op *ir.Op) bool {
	if len(op.Results) == 0 {
		return false
	}
	v := x.placed[op.Results[0].Name]
	return v != nil && v.Def != nil
}

// decided adds the bodies of a loop or a condition that constants decide, and returns its results; nil for others.
func (x *folder) decided(op *ir.Op) []*ir.Value {
	if pred := op.Arg(ir.ParamPred); op.Is(ir.OpCond) && pred.IsConst() {
		if pred.Const.Int(0) != 0 {
			return x.inline(op.Blocks[0], nil)
		}
		return x.inline(op.Blocks[1], nil)
	}
	if !op.Is(ir.OpWhileLoop) {
		return nil
	}
	vars, before, rename := op.ArgList(ir.ParamLoopVars), len(x.ops), x.c.Rename
	defer func() { x.c.Rename = rename }()
	for trip := 0; x.c.Ops < maxFolded; trip++ {
		x.c.Rename = func(old string) string { return fmt.Sprintf("%s, trip %d", old, trip) }
		test := x.inline(op.Blocks[0], vars)
		if !test[0].IsConst() {
			break
		}
		if test[0].Const.Int(0) == 0 {
			return vars
		}
		vars = x.inline(op.Blocks[1], vars)
	}
	x.ops = x.ops[:before]
	return nil
}

// same reports whether the placed program computes the results of a statement by the same operation, with the same
// constants, from values of the same names.
func (s *source) same(op *ir.Op) bool {
	if len(op.Results) == 0 || len(op.Blocks) > 0 || op.Def.Class == ir.StateAccess {
		return false
	}
	first := s.placed[op.Results[0].Name]
	if first == nil || first.Def == nil || first.Def.Def != op.Def || len(first.Def.Results) != len(op.Results) {
		return false
	}
	for i, v := range op.Results {
		if w := first.Def.Results[i]; w.Name != v.Name || !w.Type.Equal(v.Type) {
			return false
		}
	}
	for i, args := range op.Args {
		others := first.Def.Args[i]
		if len(args) != len(others) {
			return false
		}
		for k, v := range args {
			w := others[k]
			switch {
			case v.IsConst() && w.IsConst():
				if !sameConst(v.Const, w.Const) {
					return false
				}
			case v.IsConst() || w.IsConst() || v.Name != w.Name || s.found != nil && !s.agrees(v.Name):
				return false
			}
		}
	}
	return true
}

func sameConst(a, b *ir.Const) bool {
	return a == b || a.Type.Equal(b.Type) && bytes.Equal(a.Data, b.Data) && slices.Equal(a.Strings, b.Strings)
}

// run compares all statements. outs are the outputs of the placed program. It returns nil if values are missing or
// inexact.
func (s *source) run(ctx context.Context, outs []exact.Tensor) (*SourceResult, error) {
	s.found, s.missing = map[string]finding{}, false
	in := exact.Scope{}
	given := s.p.inputs()
	for _, v := range s.fn.Body.Params {
		in[v] = given[v.Name]
	}
	s.p.progress.begin("proof: statements", len(s.fn.Body.Ops))
	for _, op := range s.fn.Body.Ops {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.p.progress.next()
		s.Computed = s.has(op)
		if s.same(op) {
			for _, v := range op.Results {
				s.found[v.Name] = finding{}
				if t, ok := s.kept[v.Name]; ok {
					in[v] = t
				}
			}
			continue
		}
		for _, v := range operands(op) {
			if _, ok := in[v]; !ok {
				s.missing = true
				return nil, nil
			}
		}
		for i, t := range s.Compute(op, in) {
			if t, ok := s.compare(ctx, op.Results[i], t); ok {
				in[op.Results[i]] = t
			}
		}
		if s.inexact {
			return nil, nil
		}
	}
	return s.report(s.outputs(in, outs)), ctx.Err()
}

// has returns whether the placed program has an element in the results of a statement.
func (s *source) has(op *ir.Op) func(x field.Elem) (computes, known bool) {
	elems := sync.OnceValue(func() map[field.Elem]bool {
		m := map[field.Elem]bool{}
		for _, v := range op.Results {
			for _, x := range s.kept[v.Name].Elems {
				m[x] = true
			}
		}
		return m
	})
	return func(x field.Elem) (bool, bool) { return elems()[x], true }
}

// compare returns the value that later statements read as a result: the placed program's, if it has the result too. It
// returns false if that value was not kept.
func (s *source) compare(ctx context.Context, v *ir.Value, t exact.Tensor) (exact.Tensor, bool) {
	w := s.placed[v.Name]
	if w == nil {
		return t, true
	}
	have, ok := s.kept[v.Name]
	f := finding{}
	if !ok || !slices.Equal(have.Elems, t.Elems) {
		if f = s.otherReason(ctx, v, w); f.verdict == differs && ok {
			f.why = differences(t, have) + "; " + f.why
		}
	}
	s.found[v.Name] = f
	if f.verdict == differs && !s.assumed[v.Name] {
		return t, true
	}
	return have, ok
}

// differences says how a value of the placed program differs from the source's.
func differences(want, have exact.Tensor) string {
	if len(want.Elems) != len(have.Elems) {
		return fmt.Sprintf("its shape is %s, in the placed program %s", ir.ShapeString(want.Type.Shape),
			ir.ShapeString(have.Type.Shape))
	}
	n, first := 0, 0
	for i, x := range want.Elems {
		if x != have.Elems[i] {
			if n++; n == 1 {
				first = i
			}
		}
	}
	return fmt.Sprintf("%d of %s differ over the field, the first at %s", n,
		diag.Count(len(want.Elems), "element", "elements"), index(first, want.Type.Shape))
}

// assume adds to assumed the first value that differs without a conclusion. It reports whether there was one.
func (s *source) assume(r *SourceResult) bool {
	for _, op := range s.fn.Body.Ops {
		for _, v := range op.Results {
			if f, ok := s.found[v.Name]; ok && f.verdict == differs && r.open[op] && !s.assumed[v.Name] {
				s.assumed[v.Name] = true
				return true
			}
		}
	}
	return false
}

// otherReason looks for another reason why a value of the source and one of the placed program are the same.
func (s *source) otherReason(ctx context.Context, v, w *ir.Value) finding {
	if why, ok := s.alike(v, w, 0); ok {
		return finding{verdict: rounded, why: why}
	}
	if s.Form.Used() && slices.ContainsFunc(slices.Concat(region(v, s.agrees), region(w, s.agrees)),
		func(op *ir.Op) bool { return opwork.MACs(op) > 0 }) {
		s.inexact = true
		return finding{}
	}
	return s.sample(ctx, v, w)
}

// agrees reports whether a value of the source is equal to the value of that name in the placed program, or assumed to
// be.
func (s *source) agrees(name string) bool {
	v := s.placed[name]
	if v == nil || v.Def == nil {
		return v != nil
	}
	f, ok := s.found[name]
	return ok && (f.verdict != differs || s.assumed[name])
}

// outputs returns the findings on the outputs of the source, and of its states after a call.
func (s *source) outputs(in exact.Scope, outs []exact.Tensor) map[*ir.Value]finding {
	out := map[*ir.Value]finding{}
	note := func(v *ir.Value, t, have exact.Tensor, name string) {
		f := finding{}
		if !slices.Equal(t.Elems, have.Elems) {
			s.inexact = s.inexact || s.Form.Used()
			f = finding{verdict: differs, why: "the placed program returns another value as " + name + ": " +
				differences(t, have)}
		}
		if g, ok := s.found[v.Name]; ok && f.verdict == differs && g.verdict != differs {
			f = g
		}
		if old, ok := out[v]; !ok || old.verdict < f.verdict {
			out[v] = f
		}
	}
	for i, v := range s.fn.Body.Outputs {
		w := s.p.f.Program.Body.Outputs[i]
		if v.Const == nil && w.Name == v.Name && s.agrees(v.Name) {
			out[v] = s.found[v.Name]
			continue
		}
		if _, ok := in[v]; !ok && v.Const == nil {
			s.missing = true
			return nil
		}
		note(v, s.Value(in, v), outs[i], w.Name)
	}
	for _, st := range s.p.f.States {
		v, have := s.after[st.Name], s.p.inputs()[st.Name]
		if st.Result >= 0 {
			have = outs[st.Result]
		}
		note(v, s.Value(in, v), have, "state "+st.Name)
	}
	return out
}

// report gives each statement the worst verdict on what depends on it, up to the first values that both programs have.
func (s *source) report(outs map[*ir.Value]finding) *SourceResult {
	if s.missing || s.inexact {
		return nil
	}
	r := &SourceResult{Verdict: Proved, open: map[*ir.Op]bool{}}
	below := map[*ir.Value]finding{} // of what reads a value
	worst := func(v *ir.Value, f finding) {
		if below[v].verdict < f.verdict {
			below[v] = f
		}
	}
	for v, f := range outs {
		worst(v, f)
	}
	var list []Statement
	for _, op := range slices.Backward(s.fn.Body.Ops) {
		f := finding{}
		merge := func(g finding) {
			if f.verdict < g.verdict {
				f = g
			}
		}
		for _, v := range op.Results {
			g, ok := s.found[v.Name]
			switch {
			case ok && (g.verdict != differs || s.assumed[v.Name]):
				merge(g)
			case ok && below[v].verdict == near:
				merge(g) // samples of a later value may hide the difference
			default:
				merge(below[v])
			}
			if g.verdict == differs && f.verdict == differs {
				f = g // the value itself has a reason
			}
		}
		for _, v := range operands(op) {
			worst(v, f)
		}
		verdict := Proved
		switch f.verdict {
		case rounded:
			r.Rounded++
			fallthrough
		case equal:
			r.Proved++
		case near:
			r.Checked++
			verdict = Checked
		case differs:
			r.Open++
			verdict, r.open[op] = Open, true
		}
		if f.verdict > equal {
			if was := s.written[op]; was != nil {
				op = was
			}
			list = append(list, Statement{Statement: describe(op), Line: op.Pos.Line, Verdict: verdict, Why: f.why,
				Work: f.work})
		}
		if verdict == Open || verdict == Checked && r.Verdict == Proved {
			r.Verdict = verdict
		}
	}
	for v, f := range outs { // an output that is a parameter or a constant
		if v.Def == nil && f.verdict == differs {
			r.Verdict = Open
			r.Open++
			kind := "output "
			if v.Type.Kind == ir.State {
				kind = "state "
			}
			s := Statement{Statement: kind + v.Name, Line: v.Pos.Line, Verdict: Open, Why: f.why}
			list = append(list, s)
		}
	}
	slices.Reverse(list)
	r.Statements = list
	return r
}

// region lists the operations from which a value is computed, back to values for which stop is true.
func region(v *ir.Value, stop func(name string) bool) []*ir.Op {
	seen := map[*ir.Op]bool{}
	var out []*ir.Op
	var walk func(v *ir.Value, first bool)
	walk = func(v *ir.Value, first bool) {
		op := v.Def
		if v.Const != nil || op == nil || seen[op] || !first && stop(v.Name) {
			return
		}
		seen[op] = true
		for _, x := range operands(op) {
			walk(x, false)
		}
		out = append(out, op)
	}
	walk(v, true)
	return out
}
