package passes

import (
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// restoreSources restores the source's operations whose decompositions are on the CPU, where decompositions save
// nothing and round more often. It leaves alone a decomposition with a part on the engine, and one that later passes
// have changed, except where they merged its first parts with the last ones of its operand's.
func (s *State) restoreSources() error {
	if s.Reference == nil {
		return nil
	}
	r := &restoring{s: s, groups: map[string][]int{}, again: map[string]*ir.Value{}}
	var order []string // first results of the groups
	for i, op := range s.Func.Body.Ops {
		if of, ok := s.parts[op]; ok {
			if r.groups[of.Result] == nil {
				order = append(order, of.Result)
			}
			r.groups[of.Result] = append(r.groups[of.Result], i)
		}
	}
	order = slices.DeleteFunc(order, func(result string) bool { return !r.onCPU(r.groups[result]) })
	if len(order) == 0 {
		return nil
	}
	values, _ := named(s.Func)
	r.sources, r.states = map[string]*ir.Op{}, accessed(s.Reference.Body.Ops)
	for _, op := range s.Reference.Body.Ops {
		if len(op.Results) > 0 {
			r.sources[op.Results[0].Name] = op
		}
	}
	r.reads = map[*ir.Value]int{}
	at := map[*ir.Op]int{}
	for i, op := range s.Func.Body.Ops {
		at[op] = i
		op.Reads(func(v *ir.Value) { r.reads[v]++ })
	}
	for _, v := range s.Func.Body.Outputs {
		r.reads[v]++
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
	placed := map[string]int{} // where the values of r.again are from
	put := map[int][]*ir.Op{}
	drop := map[int]bool{}
	for _, result := range order {
		at := r.groups[result]
		end := at[len(at)-1]
		r.lookup = func(name string) (v *ir.Value, gone bool) {
			if again := r.again[name]; again != nil && placed[name] < end {
				return again, false
			}
			return value(name, end), values[name] == nil && r.again[name] == nil
		}
		ops := r.operation(r.sources[result], values, at)
		if len(ops) == 0 {
			continue
		}
		put[end] = ops
		for _, op := range ops[:len(ops)-1] {
			for _, v := range op.Results {
				r.again[v.Name], placed[v.Name] = v, end
			}
		}
		for _, i := range at {
			drop[i] = true
		}
	}
	if len(put) == 0 {
		return nil
	}
	var ops []*ir.Op
	for i, op := range s.Func.Body.Ops {
		ops = append(ops, put[i]...)
		if !drop[i] {
			ops = append(ops, op)
		}
	}
	s.Func.Body.Ops = ops
	return dropDeadCode(s) // parts that only what has been dropped read
}

// restoring is what restoreSources knows of a function while it restores an operation.
type restoring struct {
	s       *State
	sources map[string]*ir.Op    // of the reference, by first result
	groups  map[string][]int     // indexes of their parts, by first result
	states  map[string]string    // values that were read from states: what they are, by name
	again   map[string]*ir.Value // results of operations that were restored for others
	reads   map[*ir.Value]int    // of the function's values, by operations and as outputs
	// lookup returns the value with a name before the operation that is restored, and whether no value has the name.
	lookup func(name string) (v *ir.Value, gone bool)
}

// operation returns the operation of the reference on values of the function, to replace the decomposition at the given
// indexes of the body, or none if it cannot replace it. Before it are the source's operations that its operands need,
// since a pass has merged the last parts of their decompositions with the first of this one.
func (r *restoring) operation(ref *ir.Op, values map[string]*ir.Value, at []int) []*ir.Op {
	s := r.s
	last := s.Func.Body.Ops[at[len(at)-1]]
	if ref == nil || ref.Def.Name != s.parts[last].Operation {
		return nil
	}
	made := map[*ir.Value]bool{}
	for _, i := range at {
		for _, v := range s.Func.Body.Ops[i].Results {
			made[v] = true
		}
	}
	ops := r.on(ref, made, last, map[string]*ir.Value{})
	if len(ops) == 0 {
		return nil
	}
	op := ops[len(ops)-1]
	op.InPlace = s.parts[last].InPlace
	op.Results = nil // the function's
	for _, result := range ref.Results {
		v := values[result.Name]
		if v == nil || !made[v] || !v.Type.Equal(result.Type) {
			return nil
		}
		op.Results = append(op.Results, v)
		delete(made, v)
	}
	// Nothing else may read the values between.
	inside := map[*ir.Value]int{}
	for _, i := range at {
		s.Func.Body.Ops[i].Reads(func(v *ir.Value) { inside[v]++ })
	}
	for v := range made {
		if r.reads[v] > inside[v] {
			return nil
		}
	}
	for _, v := range op.Results {
		v.Def = op
	}
	return ops
}

// onCPU reports whether no operation at the given indexes is on the engine.
func (r *restoring) onCPU(at []int) bool {
	return !slices.ContainsFunc(at, func(i int) bool { return r.s.Func.Body.Ops[i].Place.Unit == ir.Engine })
}

// on returns a copy of an operation of the reference on values of the function that are not in made, placed as last is,
// after copies of those that its operands need: passes have merged them with others, or dropped them since no part of
// the decomposition reads them, as the end of a slice_update. fresh has the results of the copies, by name.
func (r *restoring) on(ref *ir.Op, made map[*ir.Value]bool, last *ir.Op, fresh map[string]*ir.Value) (ops []*ir.Op) {
	op := &ir.Op{
		Def:    ref.Def,
		Name:   ref.Name,
		Pos:    ref.Pos,
		Origin: last.Origin,
		Args:   make([][]*ir.Value, len(ref.Args)),
		Place:  ir.Place{Unit: last.Place.Unit},
	}
	for i, a := range ref.Args {
		for _, was := range a {
			v := was
			if !was.IsConst() {
				var gone bool
				name := was.Name
				if of := r.states[name]; of != "" {
					name = of
				}
				v, gone = r.lookup(name)
				if gone && fresh[name] == nil {
					before := r.sources[name]
					if before != nil && ir.IsConstexpr(before) { // folded, and read by nothing that was left
						cs, err := ir.FoldOp(before)
						if err != nil || len(cs) != 1 {
							return nil
						}
						fresh[name] = r.s.constant(cs[0], before.Pos)
						op.Args[i] = append(op.Args[i], fresh[name])
						continue
					}
					if before == nil || len(before.Blocks) > 0 || before.Def.Effect != ir.Pure ||
						!r.onCPU(r.groups[name]) {
						return nil
					}
					more := r.on(before, made, last, fresh)
					if len(more) == 0 {
						return nil
					}
					ops = append(ops, more...)
				}
				if gone {
					v = fresh[name]
				}
				if v == nil || made[v] || !v.Type.Equal(was.Type) {
					return nil
				}
			}
			op.Args[i] = append(op.Args[i], v)
		}
	}
	for _, result := range ref.Results {
		v := &ir.Value{Name: result.Name, Type: result.Type, Def: op, Origin: last.Origin}
		op.Results, fresh[v.Name] = append(op.Results, v), v
	}
	if no := r.s.Refusals[last]; no != nil {
		mine := *no
		mine.Reason = strings.ReplaceAll(no.Reason, last.Def.Name+" ", op.Def.Name+" ")
		op.Place.Reason = mine.Reason
		r.s.noteRefusal(op, &mine)
	} else {
		op.Place.Reason = last.Place.Reason
	}
	return append(ops, op)
}

// accessed returns the names of what is read from states, by the name of the result: the state, or the value that was
// written to it last.
func accessed(ops []*ir.Op) map[string]string {
	names, now := map[string]string{}, map[*ir.Value]string{}
	for _, op := range ops {
		state, value := op.Def.StateParams()
		if state == "" {
			continue
		}
		st := op.Arg(state)
		if now[st] == "" {
			now[st] = st.Name
		}
		if value != "" {
			now[st] = op.Arg(value).Name
			if of := names[now[st]]; of != "" {
				now[st] = of
			}
		}
		for _, v := range op.Results {
			names[v.Name] = now[st]
		}
	}
	return names
}
