package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// MaxPercent is the largest bound, in per cent of a value's scale, with which a comparison says something.
const MaxPercent = 2

// unbounded is what a statement without a bound may change by when passes rewrite it, as a part of its scale. With the
// rounding to fp16 it is at most MaxPercent.
const unbounded = MaxPercent/100.0 - 2*halfUnit

// Statement is the comparison of one statement: its result with the interpreter's, from the operands that the machine
// stored.
type Statement struct {
	Name string `json:"name"` // of the result
	Op   string `json:"op"`
	Type string `json:"type"`
	// Step is "engine" for the bytes against the program that was lowered, and "passes" for the program that was
	// lowered against the source.
	Step         string `json:"step"`
	MaxAbs       Number `json:"max_abs"` // largest difference from the value without errors
	Bound        Number `json:"bound"`   // largest difference allowed to an element; infinite if unknown
	BoundPercent Number `json:"bound_percent"`
	Scale        Number `json:"scale"`
	Used         Number `json:"used"`   // largest difference of an element as a part of the difference allowed to it
	Beyond       int    `json:"beyond"` // elements that differ by more
	Pass         bool   `json:"pass"`

	number       int // in the order of the program
	fit          fit
	typ          ir.DType
	op           *ir.Op
	materialised *materialised // nil for a value that no task wrote
	term         string        // the largest part of a bound that shows nothing, "" if it is not known
}

// Values of Statement.Step.
const (
	stepEngine = "engine"
	stepPasses = "passes"
)

// tells reports whether the bound is small enough for a pass to mean something.
func (s *Statement) tells() bool { return tells(float64(s.Bound), float64(s.Scale)) }

// tells reports whether a bound is small enough at a scale for a pass to mean something: at most MaxPercent of it, or a
// few roundings of the smallest numbers.
func tells(bound, scale float64) bool {
	return percent(bound, scale) <= MaxPercent || bound <= 4*float64(numerics.ULP16(0))
}

func newStatement(step string, v *ir.Value, op *ir.Op, s *enclosure, got interp.Tensor) (*Statement, error) {
	f, unknown, err := s.against(got)
	if err != nil {
		return nil, err
	}
	st := &Statement{
		Name: v.Name, Type: v.Type.String(), Step: step, MaxAbs: Number(f.maxAbs),
		Bound: Number(f.bound), BoundPercent: Number(percent(f.bound, f.scale)), Scale: Number(f.scale),
		Used: Number(f.used), Beyond: f.beyond, Pass: f.pass, fit: f, typ: v.Type.DType, op: op,
	}
	if op != nil {
		st.Op = op.Def.Name
	}
	if unknown || f.nan > 0 || many(f.steps, f.elements) {
		st.Bound, st.BoundPercent = Number(math.Inf(1)), Number(math.Inf(1))
	}
	return st, nil
}

// percent returns a bound in per cent of a scale.
func percent(bound, scale float64) float64 {
	if bound == 0 {
		return 0
	}
	return 100 * bound / scale
}

// comparison compares the calls of one function.
type comparison struct {
	f       *compile.Function
	k       kernels
	mode    numerics.Mode
	placed  encloser              // of the bytes, from the program that was lowered
	source  encloser              // of the bytes, from the source
	passes  encloser              // of the program that was lowered, from the source
	sources map[string]*ir.Value  // values of the source by name
	lowered map[string]*ir.Value  // values of the program that was lowered by name
	reshape map[string]string     // reshapes that both programs name, by the name of the operand in the lowered one
	begun   map[string]bool       // names of values from which both programs are computed
	states  map[string]*enclosure // of the source's function after the calls so far
	// choices are results of the source's function in the last call that are chosen by numbers.
	choices      map[string]*chosen
	given        map[string]interp.Tensor // inputs of the last call
	earlier      map[string]*enclosure    // states before it
	materialised map[string]bool          // names of values that tasks store
	stored       map[string]int           // how often they store one in fp16, which is compared
	exact        bool                     // no correct run rounds anything
}

func newComparison(ctx context.Context, f *compile.Function, o *Options) *comparison {
	c := &comparison{f: f, mode: o.Numerics, exact: o.Exact, states: map[string]*enclosure{},
		materialised: map[string]bool{},
		begun:        map[string]bool{}, stored: map[string]int{},
		k:       kernels{ctx: ctx, opset: f.Placed.Opset, workers: o.Workers},
		sources: named(f.Reference), lowered: named(f.Placed), reshape: map[string]string{}}
	for _, op := range f.Placed.Body.Ops {
		if y := op.Results[0]; op.Is(ir.OpReshape, ir.OpExpandDims, ir.OpSqueeze) && c.sources[y.Name] != nil {
			c.reshape[op.Arg(ir.ParamX).Name] = y.Name
		}
	}
	materialised, stored, byOp := c.materialised, c.stored, map[*ir.Op][]lower.TableUse{}
	byName, byKind := map[string][]lower.TableUse{}, map[string][]lower.TableUse{}
	for _, p := range f.Procedures {
		for i := range p.Materialised {
			v := p.Materialised[i].Value
			materialised[v.Name] = true
			if v.Type.DType == ir.FP16 {
				stored[v.Name]++
			}
		}
		for _, t := range p.Tables {
			byOp[t.Op] = append(byOp[t.Op], t)
			byName[t.Op.Results[0].Name] = append(byName[t.Op.Results[0].Name], t)
			byKind[t.Op.Def.Name] = worseOf(byKind[t.Op.Def.Name], t)
		}
	}
	stage := 0.0
	if o.Numerics == numerics.ANE {
		stage = numerics.GroupError
	}
	fixed := o.Numerics == numerics.ANEFixed
	flush := o.Numerics != numerics.IEEE && !fixed
	c.placed = encloser{c.k, arithmetic{
		sum: stage, flush: flush, fixed: fixed, unknown: -1, literal: true, engine: true,
		rounding: func(op *ir.Op) float64 {
			if op == nil || op.Place.Unit != ir.Engine || op.Def.Error == numerics.Movement {
				return 0
			}
			for _, v := range op.Results {
				if !materialised[v.Name] {
					return halfUnit
				}
			}
			return 0
		},
		tables: func(op *ir.Op) []lower.TableUse { return byOp[op] },
	}}
	c.source = encloser{c.k, arithmetic{
		sum: stage + halfUnit, constants: halfUnit, flush: flush, fixed: fixed, unknown: -1, decomposed: true,
		engine: true,
		rounding: func(op *ir.Op) float64 {
			if op == nil || op.Def.Error == numerics.Movement {
				return 0
			}
			return 2 * halfUnit
		},
		tables: func(op *ir.Op) []lower.TableUse {
			if op.Place.Unit != ir.Engine {
				return nil
			}
			if ts := byName[op.Results[0].Name]; ts != nil && ts[0].Name == op.Def.Name {
				return ts
			}
			return byKind[op.Def.Name]
		},
	}}
	c.passes = encloser{c.k, arithmetic{
		constants: halfUnit, unknown: 2 * halfUnit,
		rounding: func(*ir.Op) float64 { return halfUnit },
		tables:   func(*ir.Op) []lower.TableUse { return nil },
	}}
	return c
}

// worseOf keeps of each table of a kind of operation the one with the larger error.
func worseOf(ts []lower.TableUse, t lower.TableUse) []lower.TableUse {
	if len(ts) == 0 || t.Worst().Abs > ts[0].Worst().Abs {
		return []lower.TableUse{t}
	}
	return ts
}

// named returns the values of a function by name, without values of nested blocks.
func named(f *ir.Func) map[string]*ir.Value {
	m := map[string]*ir.Value{}
	for _, v := range f.Body.Params {
		m[v.Name] = v
	}
	for _, op := range f.Body.Ops {
		for _, v := range op.Results {
			m[v.Name] = v
		}
	}
	return m
}

// observed are the outputs of a call and the states after it.
type observed struct {
	outputs map[string]interp.Tensor
	after   map[string]interp.Tensor // states after the call
}

// call is the comparison of one call.
type call struct {
	*comparison
	next       int                        // the first statement that is not compared yet
	written    map[string][]*materialised // what tasks wrote and is not compared yet, by the name of the value
	times      map[string]int             // how often tasks wrote a value
	dead       *dead
	env        map[string]*enclosure // values of the program that was lowered, as the machine stored them
	statements map[string][]*Statement
	order      []*Statement
	before     map[string]*summary // by the names of values of the program that was lowered
	// following are the outputs of follow, once hasFollowed.
	following   map[string]*enclosure
	hasFollowed bool
	// ahead and behind are values of the source and of the lowered program that the other does not name, computed from
	// values that both name.
	ahead, behind map[string]*enclosure
}

// begin begins the comparison of the statements of a call with these inputs, states among them.
func (c *comparison) begin(inputs map[string]interp.Tensor) *call {
	x := &call{comparison: c, env: map[string]*enclosure{}, statements: map[string][]*Statement{},
		written: map[string][]*materialised{}, times: map[string]int{}, ahead: map[string]*enclosure{},
		behind: map[string]*enclosure{}}
	x.dead = x.lifetimes()
	for _, v := range c.f.Placed.Body.Params {
		x.env[v.Name] = &enclosure{t: inputs[v.Name]}
	}
	return x
}

// receive records what tasks wrote for a value, and compares the statements whose results are now all written. Dead
// values are dropped, so that few are in memory at a time.
func (x *call) receive(v *ir.Value, h *materialised) error {
	if x.times[v.Name]++; x.times[v.Name] > x.stored[v.Name] {
		return fmt.Errorf("internal error: tasks wrote %s %d times, want %d", v.Name, x.times[v.Name], x.stored[v.Name])
	}
	x.written[v.Name] = append(x.written[v.Name], h)
	for x.next < len(x.f.Placed.Body.Ops) {
		for _, v := range x.f.Placed.Body.Ops[x.next].Results {
			if len(x.written[v.Name]) < x.stored[v.Name] {
				return nil
			}
		}
		if err := x.compareNext(); err != nil {
			return err
		}
	}
	return nil
}

// compareNext compares the next statement.
func (x *call) compareNext() error {
	if err := x.k.ctx.Err(); err != nil {
		return err
	}
	op := x.f.Placed.Body.Ops[x.next]
	if err := x.engine(op); err != nil {
		return err
	}
	for _, v := range op.Results {
		if err := x.rewriting(v); err != nil {
			return err
		}
	}
	x.forget(x.next)
	x.next++
	return nil
}

// finish compares what is left of a call after its run.
func (x *call) finish(seen *observed, progress func(done, total int)) error {
	total := len(x.f.Placed.Body.Ops)
	for x.next < total {
		if err := x.compareNext(); err != nil {
			return err
		}
		if progress != nil {
			progress(x.next, total)
		}
	}
	for _, v := range x.f.Placed.Body.Outputs {
		if got, ok := seen.outputs[v.Name]; ok {
			if err := x.result(v, got); err != nil {
				return err
			}
		}
	}
	for i, n := range x.f.States {
		if at := x.f.StateResults[i]; at >= 0 {
			if err := x.result(x.f.Placed.Body.Outputs[at], seen.after[n]); err != nil {
				return err
			}
		}
	}
	x.summarise()
	return nil
}

func (x *call) add(s *Statement) {
	s.number = len(x.order)
	x.statements[s.Name] = append(x.statements[s.Name], s)
	x.order = append(x.order, s)
}

// args returns the enclosures of an operation's operands.
func args(op *ir.Op, of func(v *ir.Value) (*enclosure, error)) (map[*ir.Value]*enclosure, error) {
	m := map[*ir.Value]*enclosure{}
	for _, v := range free(op) {
		s, err := of(v)
		if err != nil {
			return nil, err
		}
		m[v] = s
	}
	return m, nil
}

// engine encloses the results of a statement that was lowered and compares them with what tasks wrote, which later
// statements use.
func (x *call) engine(op *ir.Op) error {
	as, err := args(op, func(v *ir.Value) (*enclosure, error) {
		if s := x.env[v.Name]; s != nil {
			return s, nil
		}
		return nil, fmt.Errorf("value %q is not known", v.Name)
	})
	if err != nil {
		return err
	}
	out, err := x.placed.enclose(op, as)
	if err != nil {
		return err
	}
	for i, v := range op.Results {
		x.env[v.Name] = out[i]
		if l := out[i].late; l != nil {
			l.keep = x.begun[v.Name]
		}
		if op.Place.Unit != ir.Engine {
			if err := out[i].now(); err != nil {
				return err
			}
		}
		for k, h := range x.written[v.Name] {
			st, err := newStatement(stepEngine, v, op, out[i], h.t)
			if err != nil {
				return err
			}
			st.materialised = h
			if st.Pass && !st.tells() && st.fit.nan == 0 {
				if err := x.inOrder(st, v, h.t); err != nil {
					return err
				}
				if !st.tells() {
					if st.term, err = x.largestTerm(op, as, i, h.t, st.fit.bound); err != nil {
						return err
					}
				}
			}
			x.add(st)
			if k == 0 {
				x.env[v.Name] = &enclosure{t: h.t}
			}
		}
	}
	return nil
}

// inOrder narrows the bound of a statement of sums that cancel. If the engine stored what its measured arithmetic gives
// when the terms are added in the order of the coefficients, to OrderULP units in the last place of the scale, the
// bound is how far that arithmetic is from the value without errors, and these units.
func (x *call) inOrder(s *Statement, v *ir.Value, got interp.Tensor) error {
	want, ok, err := x.measured(v, map[string]interp.Tensor{})
	if err != nil || !ok || got.Elems() != want.Elems() {
		return err
	}
	limit, far := OrderULP*float64(numerics.ULP16(float32(s.Scale))), 0.0
	w := values(want)
	for i, y := range values(got) {
		far = max(far, distance(y, w[i]))
	}
	if far <= limit {
		bound := limit + s.fit.maxAbs
		s.Bound, s.BoundPercent, s.Used = Number(bound), Number(percent(bound, float64(s.Scale))), Number(far/limit)
	}
	return nil
}

// OrderULP is how far the result of a statement may be from the measured arithmetic, which adds in the order of the
// coefficients: one rounding for each operation that a task fuses.
const OrderULP = 2

// measured computes a value with the interpreter's model of the engine's arithmetic and the words of tables, from
// the nearest values that the machine stored. It reports false if it cannot.
func (x *call) measured(v *ir.Value, memo map[string]interp.Tensor) (interp.Tensor, bool, error) {
	if t, ok := memo[v.Name]; ok {
		return t, true, nil
	}
	if v.Def == nil || v.Def.Place.Unit != ir.Engine || plain(v.Def) {
		return interp.Tensor{}, false, nil
	}
	tables, k := x.placed.tables(v.Def), ir.CurveOf(v.Def)
	if len(tables) > 1 || len(tables) == 1 && (k == nil || k.Shift) {
		return interp.Tensor{}, false, nil
	}
	for _, a := range free(v.Def) {
		if s := x.env[a.Name]; s != nil && s.late == nil && s.exact() {
			memo[a.Name] = (&statement{args: map[*ir.Value]*enclosure{a: s}}).asDeclared(a)
			continue
		}
		if _, ok, err := x.measured(a, memo); err != nil || !ok {
			return interp.Tensor{}, false, err
		}
	}
	if len(tables) == 1 {
		of, ok := memo[v.Def.Arg(ir.ParamX).Name]
		if !ok { // a constant
			return interp.Tensor{}, false, nil
		}
		t, err := lookUp(tables[0].Table, of)
		memo[v.Name] = t
		return t, err == nil, err
	}
	ts, err := x.k.declared(v.Def, x.mode, func(a *ir.Value) interp.Tensor { return memo[a.Name] })
	if err != nil {
		return interp.Tensor{}, false, err
	}
	for i, r := range v.Def.Results {
		memo[r.Name] = ts[i]
	}
	return memo[v.Name], true, nil
}

// lookUp applies a lookup table to a tensor.
func lookUp(a *weights.Activation, t interp.Tensor) (interp.Tensor, error) {
	vs := t.Floats32()
	scale, after := weights.FromFP16(a.Scale), weights.FromFP16(a.After)
	known, results := make([]bool, 1<<16), make([]float32, 1<<16) // by pattern of the argument
	for i, v := range vs {
		x := weights.ToFP16(float64(v) * scale)
		if !known[x] {
			y := weights.FromFP16(a.Table.Eval(x))
			known[x], results[x] = true, float32(weights.FromFP16(weights.ToFP16(y*after)))
		}
		vs[i] = results[x]
	}
	return interp.FromFloats(t.Type.DType, vs, t.Type.Shape...)
}

// result compares an output, or a state after the call, with the value that the machine stored there.
func (x *call) result(v *ir.Value, got interp.Tensor) error {
	s := x.env[v.Name]
	if s == nil || got.Type.Kind != ir.Tensor || got.Type.DType == ir.String {
		return nil
	}
	if err := s.now(); err != nil || got.Elems() != s.t.Elems() {
		return err
	}
	st, err := newStatement(stepEngine, v, v.Def, s, got)
	if err == nil {
		x.add(st)
	}
	return err
}

// rewriting compares a value that source and lowered program both name, if passes changed its statement: both are
// computed from the nearest values before it that both name.
func (x *call) rewriting(v *ir.Value) error {
	w := x.rewritten(v)
	if w == nil {
		return nil
	}
	source, lowered := x.sides(w, v)
	from, err := x.across(w, source, &x.passes)
	if err != nil || from == nil {
		return err
	}
	to, err := x.across(v, lowered, nil)
	if err != nil || to == nil {
		return err
	}
	if err := errors.Join(from.now(), to.now()); err != nil {
		return err
	}
	if v.Type.DType == ir.FP16 && to.t.Type.DType == ir.FP32 {
		to = &enclosure{t: to.t} // apart from the one that later values are computed from
		to.limit()
	}
	if from.unknown && v.Type.DType.IsFloat() {
		from = modelled([]interp.Tensor{from.t}, unbounded)[0]
	}
	s, err := newStatement(stepPasses, v, w.Def, from, to.t)
	if err != nil {
		return err
	}
	if f := &s.fit; !s.Pass && !v.Type.DType.IsFloat() && f.maxAbs <= 1 && 100*f.beyond <= MaxPercent*f.elements {
		s.Pass, f.pass, f.steps = true, true, f.beyond // a rounding on a step
	}
	x.add(s)
	return nil
}

// rewritten returns the value of the source of the same name if passes changed its statement and it can be compared,
// otherwise nil.
func (x *call) rewritten(v *ir.Value) *ir.Value {
	w := x.sources[v.Name]
	if w == nil || w.Def == nil || v.Def == nil || !tensors(w.Def) || !tensors(v.Def) ||
		len(v.Def.Blocks)+len(w.Def.Blocks) > 0 || !v.Type.Equal(w.Type) || x.unchanged(w, v) {
		return nil
	}
	return w
}

// unchanged reports whether a statement of the source is also one of the lowered program.
func (x *call) unchanged(w, v *ir.Value) bool {
	return slices.Index(w.Def.Results, w) == slices.Index(v.Def.Results, v) && sameStatement(w.Def, v.Def)
}

// sameStatement reports whether two statements are the same operation of the same constants and of values of the same
// names, in their blocks too.
func sameStatement(p, q *ir.Op) bool {
	return p.Def == q.Def && slices.EqualFunc(p.Args, q.Args, sameOperands) &&
		slices.EqualFunc(p.Blocks, q.Blocks, sameBlock)
}

func sameBlock(a, b *ir.Block) bool {
	return slices.EqualFunc(a.Params, b.Params, sameName) && sameOperands(a.Outputs, b.Outputs) &&
		slices.EqualFunc(a.Ops, b.Ops, func(p, q *ir.Op) bool {
			return slices.EqualFunc(p.Results, q.Results, sameName) && sameStatement(p, q)
		})
}

func sameOperands(a, b []*ir.Value) bool { return slices.EqualFunc(a, b, sameOperand) }

func sameOperand(a, b *ir.Value) bool {
	if !a.IsConst() || !b.IsConst() {
		return a.IsConst() == b.IsConst() && a.Name == b.Name
	}
	return a.Const == b.Const || a.Type.Equal(b.Type) && bytes.Equal(a.Const.Data, b.Const.Data) &&
		slices.Equal(a.Const.Strings, b.Const.Strings)
}

func sameName(a, b *ir.Value) bool { return a.Name == b.Name && a.Type.Equal(b.Type) }

// side is one of two programs whose values are computed from values that both name.
type side struct {
	others map[string]*ir.Value  // values of the other program
	memo   map[string]*enclosure // values of the program itself
	from   map[string]bool       // names of the values that it is computed from; nil for all that both name
	shaped bool                  // also from a value whose reshape both name
}

// begins reports whether a side is computed from a value, and under which name: its own, or the name of its reshape,
// which has the same numbers. Every side is computed from parameters.
func (x *call) begins(v *ir.Value, s *side) (name string, ok bool) {
	name, o := v.Name, s.others[v.Name]
	same := o != nil && o.Type.Equal(v.Type)
	if r := x.reshape[name]; s.shaped && o == nil && r != "" && x.lowered[name] == v {
		name, o = r, x.sources[r]
		same = o.Type.DType == v.Type.DType && o.Type.Equal(x.lowered[r].Type)
	}
	return name, same && x.env[v.Name] != nil && (s.from == nil || s.from[name] || v.Def == nil || o.Def == nil)
}

// sides returns the two programs for computing a value that is w in the source and v in the one that was lowered. Both
// begin at the same values. If only one side read a value that the machine stored, or if one side computed that value
// again, the two would differ by the errors of the machine.
func (x *call) sides(w, v *ir.Value) (source, lowered *side) {
	equal := func() (a, b map[string]bool, ok bool) {
		a, b = map[string]bool{}, map[string]bool{}
		x.beginnings(w, source, a, map[*ir.Value]bool{})
		x.beginnings(v, lowered, b, map[*ir.Value]bool{})
		return a, b, maps.Equal(a, b)
	}
	source, lowered = &side{others: x.lowered, memo: x.ahead}, &side{others: x.sources, memo: x.behind}
	a, b, ok := equal()
	if ok {
		return source, lowered
	}
	lowered = &side{others: x.sources, memo: map[string]*enclosure{}, shaped: true}
	if _, _, ok := equal(); ok {
		return source, lowered
	}
	for from := map[string]bool(nil); !ok && (from == nil || len(from) > 0); a, b, ok = equal() {
		maps.DeleteFunc(a, func(name string, _ bool) bool { return !b[name] || x.sources[name].Def == nil })
		if maps.Equal(a, from) {
			clear(a)
		}
		from = a
		source = &side{others: x.lowered, memo: map[string]*enclosure{}, from: from}
		lowered = &side{others: x.sources, memo: map[string]*enclosure{}, from: from}
	}
	return source, lowered
}

// beginnings adds the names of the values from which a side computes v.
func (x *call) beginnings(v *ir.Value, s *side, names map[string]bool, seen map[*ir.Value]bool) {
	if v.Def == nil || seen[v] {
		return
	}
	seen[v] = true
	for _, a := range free(v.Def) {
		if name, ok := x.begins(a, s); ok {
			names[name] = true
		} else {
			x.beginnings(a, s, names, seen)
		}
	}
}

// across computes a value of one program. It encloses it with e or, without e, computes it without errors. It returns
// nil if an operation before the value is not one of tensors of numbers.
func (x *call) across(v *ir.Value, in *side, e *encloser) (*enclosure, error) {
	if v.Def == nil || !tensors(v.Def) || len(v.Def.Blocks) > 0 || v.Def.Def.Class == ir.StateAccess {
		return nil, nil
	}
	missing := false
	as, err := args(v.Def, func(a *ir.Value) (*enclosure, error) {
		if _, ok := x.begins(a, in); ok {
			return x.env[a.Name].middle()
		}
		s := in.memo[a.Name]
		if s == nil {
			var err error
			if s, err = x.across(a, in, e); err != nil {
				return nil, err
			}
		}
		if s == nil {
			missing = true
			return &enclosure{}, nil
		}
		return s, nil
	})
	if err != nil || missing {
		return nil, err
	}
	var out []*enclosure
	if e != nil {
		out, err = e.enclose(v.Def, as)
	} else {
		out, err = x.k.results(v.Def, as)
	}
	if err != nil {
		return nil, err
	}
	var own *enclosure
	for i, r := range v.Def.Results {
		if _, ok := x.begins(r, in); !ok {
			in.memo[r.Name] = out[i]
		}
		if r == v {
			own = out[i]
		}
	}
	return own, nil
}

// endToEnd encloses the values of the source's function without looking at the machine, and returns the enclosures of
// its outputs and states. Names of states begin with statePrefix.
func (c *comparison) endToEnd(in map[string]interp.Tensor,
	progress func(done, total int)) (map[string]*enclosure, error) {
	if c.exact {
		return c.asWritten(in, progress)
	}
	c.choices = map[string]*chosen{}
	c.given, c.earlier = in, maps.Clone(c.states)
	return c.enclosed(in, c.states, c.note, progress)
}

// enclosed encloses the outputs and states of the source's function, from these states before the call. look is called
// with the results of each statement, which it may replace.
func (c *comparison) enclosed(in map[string]interp.Tensor, states map[string]*enclosure,
	look func(op *ir.Op, env map[string]*enclosure, out []*enclosure),
	progress func(done, total int)) (map[string]*enclosure, error) {
	f, env := c.f.Reference, map[string]*enclosure{}
	last := map[string]int{}
	for i, op := range f.Body.Ops {
		for _, v := range free(op) {
			last[v.Name] = i
		}
	}
	for _, v := range f.Body.Outputs {
		last[v.Name] = len(f.Body.Ops)
	}
	for _, v := range f.Body.Params {
		env[v.Name] = &enclosure{t: in[v.Name]}
		if v.Type.Kind == ir.State && states[v.Name] == nil {
			t, err := interp.Zeros(ir.TensorOf(v.Type.DType, v.Type.Shape...))
			if err != nil {
				return nil, err
			}
			states[v.Name] = &enclosure{t: t}
		}
	}
	for i, op := range f.Body.Ops {
		if err := c.k.ctx.Err(); err != nil {
			return nil, err
		}
		out, err := c.step(op, env, states)
		if err != nil {
			return nil, err
		}
		for k, s := range out {
			if s.late != nil && s.late.unknown() && !chooses(op, op.Results[k]) {
				continue
			}
			if err := s.now(); err != nil {
				return nil, err
			}
		}
		look(op, env, out)
		for k, v := range op.Results {
			if k < len(out) {
				env[v.Name] = out[k]
				if out[k].late != nil {
					continue
				}
				if out[k].unknown || out[k].wide() {
					env[v.Name] = &enclosure{t: out[k].t, unknown: true, mayNaN: out[k].mayNaN}
				}
			}
		}
		for _, v := range free(op) {
			if last[v.Name] == i {
				delete(env, v.Name)
			}
		}
		if progress != nil {
			progress(i+1, len(f.Body.Ops))
		}
	}
	res := map[string]*enclosure{}
	for _, v := range f.Body.Outputs {
		res[v.Name] = env[v.Name]
		if v.IsConst() {
			res[v.Name] = &enclosure{t: interp.FromConst(v.Const)}
		}
	}
	for n, s := range states {
		res[statePrefix+n] = s
	}
	for _, s := range res {
		if err := s.now(); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// asWritten runs the source's function in the interpreter, which rounds as the program declares.
func (c *comparison) asWritten(in map[string]interp.Tensor,
	progress func(done, total int)) (map[string]*enclosure, error) {
	states := map[string]interp.Tensor{}
	for n, s := range c.states {
		states[n] = s.t
	}
	out, err := interp.Run(c.k.ctx, c.f.Reference, in, interp.Options{
		Numerics: numerics.IEEE,
		Workers:  c.k.workers,
		States:   states,
		Progress: progress,
	})
	if err != nil {
		return nil, err
	}
	res := map[string]*enclosure{}
	for n, t := range out {
		res[n] = &enclosure{t: t}
	}
	for n, t := range states {
		c.states[n] = &enclosure{t: t}
		res[statePrefix+n] = c.states[n]
	}
	return res, nil
}

// step encloses the results of one statement of the source. States change as statements read and write them.
func (c *comparison) step(op *ir.Op, env, states map[string]*enclosure) ([]*enclosure, error) {
	if op.Def.Class == ir.StateAccess {
		var state, value *ir.Value
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if v.Type.Kind == ir.State {
				state = v
			} else {
				value = v
			}
		})
		if state == nil {
			return nil, fmt.Errorf("%s has no state", op.Def.Name)
		}
		switch {
		case value == nil:
		case value.IsConst():
			states[state.Name] = &enclosure{t: interp.FromConst(value.Const)}
		default:
			states[state.Name] = env[value.Name]
		}
		return []*enclosure{states[state.Name]}, nil
	}
	accesses := false
	as, err := args(op, func(v *ir.Value) (*enclosure, error) {
		s := env[v.Name]
		if v.Type.Kind == ir.State {
			s, accesses = states[v.Name], true
		}
		if s == nil {
			return nil, fmt.Errorf("value %q is not known", v.Name)
		}
		return s, nil
	})
	if err != nil {
		return nil, err
	}
	if accesses {
		return c.changing(op, as, states)
	}
	return c.source.enclose(op, as)
}

// changing runs a statement of the source whose blocks access states. As for other statements with blocks, neither its
// results nor the states after it are enclosed.
func (c *comparison) changing(op *ir.Op, as map[*ir.Value]*enclosure,
	states map[string]*enclosure) ([]*enclosure, error) {
	after := map[string]interp.Tensor{}
	ts, err := c.k.withStates(op, numerics.IEEE, (&statement{encloser: &c.source, op: op, args: as}).asDeclared, after)
	mayNaN := false
	for _, s := range as {
		mayNaN = mayNaN || s.mayNaN
	}
	for n, t := range after {
		states[n] = &enclosure{t: t, unknown: true, mayNaN: mayNaN}
	}
	out := enclosuresOf(ts, true)
	for _, s := range out {
		s.mayNaN = mayNaN
	}
	return out, err
}
