package passes

import (
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// restoreSources restores the source's operations whose compositions are on the CPU, where compositions save nothing
// and round more often. It leaves alone a composition with a part on the engine, and one that later passes have
// changed.
func (s *State) restoreSources() {
	groups := map[string][]int{} // by first result: indexes in the body
	var order []string
	for i, op := range s.Func.Body.Ops {
		if of, ok := s.parts[op]; ok {
			if groups[of.Result] == nil {
				order = append(order, of.Result)
			}
			groups[of.Result] = append(groups[of.Result], i)
		}
	}
	if len(order) == 0 || s.Reference == nil {
		return
	}
	values, _ := named(s.Func)
	sources := map[string]*ir.Op{}
	for _, op := range s.Reference.Body.Ops {
		if len(op.Results) > 0 {
			sources[op.Results[0].Name] = op
		}
	}
	at := map[*ir.Op]int{}
	for i, op := range s.Func.Body.Ops {
		at[op] = i
	}
	// value returns the value with a name before an index of the body. An output may be a copy at the end of the body,
	// since the name belongs to another value if the output is a parameter.
	value := func(name string, before int) *ir.Value {
		v := values[name]
		for v != nil && v.Def != nil && at[v.Def] >= before {
			if !v.Def.Is(ir.OpIdentity) {
				return nil
			}
			v = v.Def.Arg(ir.ParamX)
		}
		return v
	}
	put := map[int]*ir.Op{}
	drop := map[int]bool{}
	for _, result := range order {
		at := groups[result]
		end := at[len(at)-1]
		op := s.source(sources[result], values, func(name string) *ir.Value { return value(name, end) }, at)
		if op == nil {
			continue
		}
		last := at[len(at)-1]
		put[last] = op
		for _, i := range at {
			drop[i] = true
		}
	}
	if len(put) == 0 {
		return
	}
	var ops []*ir.Op
	for i, op := range s.Func.Body.Ops {
		if put[i] != nil {
			ops = append(ops, put[i])
		}
		if !drop[i] {
			ops = append(ops, op)
		}
	}
	s.Func.Body.Ops = ops
}

// source returns the operation of the reference on values of the function, to replace the composition at the given
// indexes of the body, or nil if it cannot replace it. operand returns the value with a name before that index.
func (s *State) source(ref *ir.Op, values map[string]*ir.Value, operand func(name string) *ir.Value,
	at []int,
) *ir.Op {
	last := s.Func.Body.Ops[at[len(at)-1]]
	if ref == nil || ref.Def.Name != s.parts[last].Operation {
		return nil
	}
	inside := map[*ir.Op]bool{}
	made := map[*ir.Value]bool{}
	for _, i := range at {
		op := s.Func.Body.Ops[i]
		if op.Place.Unit == ir.Engine {
			return nil
		}
		inside[op] = true
		for _, v := range op.Results {
			made[v] = true
		}
	}
	op := &ir.Op{
		Def:    ref.Def,
		Name:   ref.Name,
		Pos:    ref.Pos,
		Origin: last.Origin,
		Args:   make([][]*ir.Value, len(ref.Args)),
	}
	for i, a := range ref.Args {
		for _, v := range a {
			if !v.IsConst() {
				was := v.Type
				if v = operand(v.Name); v == nil || made[v] || !v.Type.Equal(was) {
					return nil
				}
			}
			op.Args[i] = append(op.Args[i], v)
		}
	}
	for _, r := range ref.Results {
		v := values[r.Name]
		if v == nil || !made[v] || !v.Type.Equal(r.Type) {
			return nil
		}
		op.Results = append(op.Results, v)
		delete(made, v)
	}
	// Nothing else may read the values between.
	outside := false
	for _, o := range s.Func.Body.Ops {
		if !inside[o] {
			o.Reads(func(v *ir.Value) { outside = outside || made[v] })
		}
	}
	for _, v := range s.Func.Body.Outputs {
		outside = outside || made[v]
	}
	if outside {
		return nil
	}
	for _, v := range op.Results {
		v.Def = op
	}
	op.Place = last.Place
	op.Place.Rule = ""
	if no := s.Refusals[last]; no != nil {
		mine := *no
		mine.Reason = strings.ReplaceAll(no.Reason, last.Def.Name+" ", op.Def.Name+" ")
		op.Place.Reason = mine.Reason
		s.noteRefusal(op, &mine)
	}
	return op
}
