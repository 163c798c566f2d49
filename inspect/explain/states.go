package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// stateOf returns the state that an operation reads or writes, nil for others.
func stateOf(op *ir.Op) *ir.Value {
	if name, _ := op.Def.StateParams(); name != "" {
		return op.Arg(name)
	}
	return nil
}

// widen returns the smallest multiple of m that is at least the last dimension of a state, or 0 if the state need not
// change, and the dimension.
func widen(t ir.Type, m int) (wide, narrow int64) {
	if t.Kind != ir.State || m <= 0 || t.Rank() == 0 {
		return 0, 0
	}
	narrow = t.Shape[t.Rank()-1]
	if narrow <= 0 || narrow%int64(m) == 0 || narrow > maxInput {
		return 0, 0
	}
	return (narrow + int64(m) - 1) / int64(m) * int64(m), narrow
}

// state returns a copy of the state that the statement is, reads or writes: nil for other operations, and the value of
// other statements.
func (s *found) state() *ir.Value {
	v := s.value
	if s.op != nil {
		v = stateOf(s.op)
	}
	if v == nil {
		return nil
	}
	return &ir.Value{Name: v.Name, Type: v.Type}
}

// states adds a note for the state of a statement, if other targets would refuse it.
func (a *Answer) states(r *compile.Report, v *ir.Value) {
	t, err := target.Lookup(a.Target)
	if v == nil || err != nil {
		return
	}
	if t.StateMultiple > 0 {
		a.stateRefused(r, v)
		return
	}
	for _, later := range target.All {
		wide, narrow := widen(v.Type, later.StateMultiple)
		if wide == 0 {
			continue
		}
		used := v.Type.DType.Bytes(narrow)
		row := (used + t.SurfaceAlign - 1) / t.SurfaceAlign * t.SurfaceAlign
		a.Notes = append(a.Notes, fmt.Sprintf(
			"state %q is %d wide: on %s its rows take %d bytes, %d of them padding, and it need not change; %s and "+
				"later keep states whose last dimension is a multiple of %d (explain for target %s shows the refusal "+
				"and a rewrite)",
			v.Name, narrow, a.Target, row, row-used, later.Name, later.StateMultiple, later.Name))
		return
	}
}

// stateRefused explains, for an operation that reads or writes a state, why the operations that use the state are on
// the CPU, if the reason is the state's width.
func (a *Answer) stateRefused(r *compile.Report, v *ir.Value) {
	var users []string
	for _, f := range r.Each() {
		for i := range f.Ops {
			no := f.Ops[i].Refusal
			if f.Function != a.Function || no == nil || no.Rule != target.RuleState || no.State != v.Name {
				continue
			}
			users = append(users, fmt.Sprintf("%s %q", f.Ops[i].Op, f.Ops[i].Name))
			for k := range a.Gone {
				if g := &a.Gone[k]; g.Refusal == nil {
					g.Refusal = no
				}
			}
		}
	}
	if len(users) > 0 && a.Op == ir.StmtParam {
		a.Notes = append(a.Notes, fmt.Sprintf(
			"on the CPU because of the width of state %q: %s; explain one of them to see the rewrite", v.Name,
			strings.Join(users, ", ")))
	}
}

// padStates makes the last dimension of the function's states a multiple of the
// target's: written values are padded with zeros, and only a part of read values is used.
func padStates(e *edit) {
	wide := map[*ir.Value]int64{}
	for _, v := range e.fn.Body.Params {
		if w, _ := widen(v.Type, e.t.StateMultiple); w > 0 {
			wide[v] = w
		}
	}
	if len(wide) == 0 {
		e.not()
	}
	var swap ir.Rewriter
	var body []*ir.Op
	for _, op := range e.fn.Body.Ops {
		for _, b := range op.Blocks {
			ir.Walk(&ir.Func{Body: b}, func(inner *ir.Op) {
				if wide[stateOf(inner)] > 0 {
					e.Fail("state %q is read or written in a block of %s, which is not rewritten", stateOf(inner).Name,
						op.Def.Name)
				}
			})
		}
		st := stateOf(op)
		if wide[st] == 0 {
			body = append(body, op)
			continue
		}
		body = append(body, e.padAccess(op, st, wide[st], &swap)...)
	}
	for v, w := range wide {
		shape := slices.Clone(v.Type.Shape)
		shape[len(shape)-1] = w
		v.Type.Shape = shape
	}
	e.fn.Body.Ops = body
	swap.Apply(e.fn)
	// Operations that were on the CPU because of the states must now run on the engine.
	for _, op := range append([]*ir.Op{e.op}, beside(e.fn, wide)...) {
		if !slices.Contains(e.Ops, op) {
			e.Ops = append(e.Ops, op)
		}
	}
	e.note = "changes the shape of the state: values that the caller stores in it must be as wide"
}

// beside returns the operations that write states through a pad or read them through a slice.
func beside(fn *ir.Func, states map[*ir.Value]int64) []*ir.Op {
	var out []*ir.Op
	parts := map[*ir.Value]bool{}
	for _, op := range fn.Body.Ops {
		if _, p := op.Def.StateParams(); p != "" && states[stateOf(op)] > 0 {
			if pad := op.Arg(p).Def; pad != nil && pad.Arg(ir.ParamX).Def != nil {
				out = append(out, pad.Arg(ir.ParamX).Def)
			}
		}
		if x := op.Arg(ir.ParamX); op.Is(ir.OpSliceBySize) && x.Def != nil && states[stateOf(x.Def)] > 0 {
			parts[op.Results[0]] = true
		}
	}
	for _, op := range fn.Body.Ops {
		for v := range parts {
			if op.Takes(v) {
				out = append(out, op)
				break
			}
		}
	}
	return out
}

// padAccess rewrites an access of a state that becomes w wide, with a pad before a write, and after a read a slice of
// the original width.
func (e *edit) padAccess(op *ir.Op, st *ir.Value, w int64, swap *ir.Rewriter) []*ir.Op {
	from := len(e.Ops)
	last := st.Type.Rank() - 1
	n := st.Type.Shape[last]
	if _, p := op.Def.StateParams(); p != "" {
		v := op.Arg(p)
		pads := make([]int64, 2*(last+1))
		pads[2*last+1] = w - n
		op.SetArg(p, e.Do(ir.OpPad, arg(ir.ParamX, v), arg(ir.ParamPad, e.Ints(pads...)),
			arg(ir.ParamMode, e.Str("constant")),
			arg(ir.ParamConstantVal, e.Num(v.Type.DType, 0))))
	}
	e.Ops = append(e.Ops, op)
	for i, old := range op.Results {
		all := *old
		all.Name, all.Type.Shape = e.fresh("state"), slices.Clone(old.Type.Shape)
		all.Type.Shape[last] = w
		op.Results[i] = &all
		part := e.Slice(&all, last, 0, n)
		part.Name = old.Name
		swap.Replace(old, part)
	}
	return e.Ops[from:len(e.Ops):len(e.Ops)]
}
