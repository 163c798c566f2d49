package verify

import (
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// dead lists, for each statement of the program that was lowered, the names of values in call.env, call.ahead and
// call.behind that no later statement reads.
type dead struct{ env, ahead, behind [][]string }

// lifetimes finds the values that are dead after each statement. Values that are returned, or whose choices are
// compared with the reference's, live to the end.
func (x *call) lifetimes() *dead {
	ops := x.f.Placed.Body.Ops
	env, ahead, behind := map[string]int{}, map[string]int{}, map[string]int{}
	var measured func(op *ir.Op, i int)
	measured = func(op *ir.Op, i int) {
		for _, a := range free(op) {
			env[a.Name] = i
			if a.Def != nil && a.Def.Place.Unit == ir.Engine && !x.materialised[a.Name] {
				measured(a.Def, i)
			}
		}
	}
	for _, v := range x.f.Placed.Body.Params {
		x.env[v.Name] = &enclosure{}
	}
	for i, op := range ops {
		measured(op, i)
		for _, v := range op.Results {
			env[v.Name] = i
			x.env[v.Name] = &enclosure{}
		}
		for _, v := range op.Results {
			w := x.rewritten(v)
			if w == nil {
				continue
			}
			source, lowered := x.sides(w, v)
			x.reads(w, source, i, env, ahead, map[*ir.Value]bool{})
			x.reads(v, lowered, i, env, behind, map[*ir.Value]bool{})
		}
	}
	clear(x.env)
	for _, v := range x.f.Placed.Body.Outputs {
		delete(env, v.Name)
	}
	for _, op := range x.f.Reference.Body.Ops {
		for _, v := range op.Results {
			if chooses(op, v) {
				delete(env, v.Name)
			}
		}
	}
	after := func(last map[string]int) [][]string {
		out := make([][]string, len(ops))
		for name, i := range last {
			out[i] = append(out[i], name)
		}
		return out
	}
	return &dead{after(env), after(ahead), after(behind)}
}

// reads notes that statement i reads what a side computes v from, and values of the side before it.
func (x *call) reads(v *ir.Value, s *side, i int, env, own map[string]int, seen map[*ir.Value]bool) {
	if v.Def == nil || seen[v] {
		return
	}
	seen[v] = true
	for _, r := range v.Def.Results {
		own[r.Name] = i
	}
	for _, a := range free(v.Def) {
		if _, ok := x.begins(a, s); ok {
			env[a.Name], x.begun[a.Name] = i, true
		} else {
			x.reads(a, s, i, env, own, seen)
		}
	}
}

// forget drops the numbers of the values that are dead after a statement, but not their names.
func (x *call) forget(i int) {
	d := x.dead
	for _, name := range d.env[i] {
		if x.env[name] != nil {
			x.env[name] = &enclosure{}
		}
	}
	for _, name := range d.ahead[i] {
		delete(x.ahead, name)
	}
	for _, name := range d.behind[i] {
		delete(x.behind, name)
	}
	for _, v := range x.f.Placed.Body.Ops[i].Results {
		for _, h := range x.written[v.Name] {
			h.t = interp.Tensor{} // a statement keeps which task wrote what
		}
		delete(x.written, v.Name)
	}
}
