package explain

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/zinc-compiler/zinc/compile/cost/opwork"
	"github.com/zinc-compiler/zinc/ir"
)

// region is the part of a function that an edit changes, as two functions that compute the same results from the same
// values: what was there, and what is there now.
type region struct{ before, after *ir.Func }

// side is a function before or after edits, with what regions are found by.
type side struct {
	fn     *ir.Func
	values map[string]*ir.Value // parameters and results of the body, by name
	index  map[*ir.Op]int
}

func sideOf(f *ir.Func) *side {
	s := &side{f, map[string]*ir.Value{}, map[*ir.Op]int{}}
	for _, v := range f.Body.Params {
		s.values[v.Name] = v
	}
	for i, op := range f.Body.Ops {
		s.index[op] = i
		for _, v := range op.Results {
			s.values[v.Name] = v
		}
	}
	return s
}

// regionOf returns the region of the results with the given names, which was computes in one way and is in another.
// Every other name that both have means the same value.
func regionOf(was, is *side, names []string) (*region, error) {
	for _, n := range names {
		if was.values[n] == nil || is.values[n] == nil {
			return nil, fmt.Errorf("the function has no value %q before and after the change", n)
		}
	}
	inputs, changed := map[string]bool{}, map[string]bool{}
	for _, n := range names {
		changed[n] = true
	}
	after := is.slice(names, func(v *ir.Value) bool {
		stop := was.values[v.Name] != nil && !changed[v.Name]
		inputs[v.Name] = inputs[v.Name] || stop
		return stop
	})
	return &region{was.slice(names, func(v *ir.Value) bool { return inputs[v.Name] }), after}, nil
}

// slice returns a function of the operations that compute values, back to those at which stop reports true.
func (s *side) slice(names []string, stop func(v *ir.Value) bool) *ir.Func {
	inside := map[*ir.Op]bool{}
	var ops, todo []*ir.Op
	part := &ir.Func{Opset: s.fn.Opset, Pos: s.fn.Pos, Body: &ir.Block{}}
	for _, n := range names {
		part.Body.Outputs = append(part.Body.Outputs, s.values[n])
		todo = append(todo, s.values[n].Def)
	}
	for len(todo) > 0 {
		op := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if op == nil || inside[op] {
			continue
		}
		inside[op] = true
		ops = append(ops, op)
		op.Reads(func(v *ir.Value) {
			if v.Const == nil && (v.Def != nil && ir.IsConstexpr(v.Def) || !stop(v)) {
				todo = append(todo, v.Def)
			}
		})
	}
	slices.SortFunc(ops, func(a, b *ir.Op) int { return s.index[a] - s.index[b] })
	part.Body.Ops = ops
	out, _, _ := ir.Extract(part, s.fn.Name, ops)
	return out
}

// programs returns both sides of a region as programs of their own.
func (r *region) programs(p *ir.Program) [2]*ir.Program {
	own := func(f *ir.Func) *ir.Program {
		return &ir.Program{Version: p.Version, Files: p.Files, Funcs: []*ir.Func{f}}
	}
	return [2]*ir.Program{own(r.before), own(r.after)}
}

// ops is the number of operations of both sides.
func (r *region) ops() int { return len(r.before.Body.Ops) + len(r.after.Body.Ops) }

// signature identifies a region up to the values of large constants: layers that a model repeats have one signature.
func (r *region) signature() [2]uint64 { return [2]uint64{signature(r.before), signature(r.after)} }

// small is the number of bytes up to which a constant is part of a signature by its values.
const small = 64

// signature is that of a function.
func signature(f *ir.Func) uint64 {
	h := fnv.New64a()
	number := map[*ir.Value]int{}
	for _, op := range f.Body.Ops {
		fmt.Fprintf(h, "%s %d(", op.Def.Name, len(op.Blocks))
		op.Operands(func(p *ir.Param, v *ir.Value) {
			switch {
			case v.Const == nil:
				if _, ok := number[v]; !ok {
					number[v] = len(number)
				}
				fmt.Fprintf(h, "%s #%d %s,", p.Name, number[v], v.Type)
			case len(v.Const.Data) <= small:
				fmt.Fprintf(h, "%s %s %x %q,", p.Name, v.Type, v.Const.Data, v.Const.Strings)
			default:
				fmt.Fprintf(h, "%s %s,", p.Name, v.Type)
			}
		})
		for _, v := range op.Results {
			number[v] = len(number)
			fmt.Fprintf(h, ") %s\n", v.Type)
		}
	}
	return h.Sum64()
}

// assumed reports whether the values of a constant of a function are assumed: its numbers are then none of the model.
func assumed(f *ir.Func) bool {
	found := false
	ir.Walk(f, func(op *ir.Op) {
		op.Operands(func(_ *ir.Param, v *ir.Value) { found = found || v.Const != nil && v.Const.Assumed != nil })
	})
	return found
}

// runWork is the work of running both sides of a region, and of compiling them.
func (r *region) runWork() int64 {
	n := int64(0)
	count := func(op *ir.Op) {
		n += opwork.MACs(op)
		op.Operands(func(_ *ir.Param, v *ir.Value) { n += max(0, v.Type.Elems()) })
		for _, v := range op.Results {
			n += max(0, v.Type.Elems())
		}
	}
	ir.Walk(r.before, count)
	ir.Walk(r.after, count)
	return n*workPerRun + int64(r.ops())*workPerOp
}
