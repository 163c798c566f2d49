package prove

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/opwork"
)

const (
	// indexedRuns is the number of runs with different integers, and leastIndexed how many of them must be valid in the
	// source.
	indexedRuns  = 24
	leastIndexed = 8
	// mostIndexed bounds the elements that all runs compute. Beyond enoughIndexed, products included, no more
	// runs follow once leastIndexed were valid.
	mostIndexed   = 1 << 24
	enoughIndexed = 1 << 21
)

// indexed compares how both programs compute a value, over the field for several values of the integers that choose
// what moves: every other operand is a random element of the field. It reports false if there are no integers, if the
// values differ, or if too few of the integers are valid.
func (s *source) indexed(ctx context.Context, v, w *ir.Value) (string, bool) {
	// Integers are followed back to the parameters, since those that are computed from the same one depend on it.
	stop := func(name string) bool { return s.known(name) && !s.placed[name].Type.DType.IsInt() }
	a, theirs := cut(s.fn, v, stop)
	b, ours := cut(s.p.f.Program, w, stop)
	elems, work := int64(0), int64(0)
	var ints []*ir.Value
	given := maps.Clone(s.p.inputs())
	for _, x := range slices.Concat(a.in, b.in) {
		if x.Type.Kind != ir.Tensor || !x.Type.Static() {
			return "", false
		}
		if x.Type.DType.IsInt() && !slices.ContainsFunc(ints, func(v *ir.Value) bool { return v.Name == x.Name }) {
			ints = append(ints, x)
		}
	}
	most := int64(math.MaxInt16)
	for _, op := range theirs {
		most = min(most, places(op))
	}
	for _, op := range slices.Concat(theirs, ours) {
		work += opwork.MACs(op) / macsPerElement
		for _, r := range op.Results {
			elems += max(r.Type.Elems(), 0)
		}
	}
	runs := int(min(indexedRuns, mostIndexed/max(elems, 1)))
	if len(ints) == 0 || runs < leastIndexed {
		return "", false
	}
	for _, x := range slices.Concat(a.in, b.in) {
		if _, ok := given[x.Name]; !ok {
			given[x.Name] = s.p.operand(x.Name, x.Type)
		}
	}
	enough := max(leastIndexed, int(enoughIndexed/max(elems+work, 1)))
	e := *s.evaluator
	e.see, e.computed, e.constants = nil, nil, map[*ir.Const]tensor{}
	valid := 0
	for k := 0; k < runs && valid < enough; k++ {
		r := rand.New(rand.NewPCG(s.p.o.Seed, uint64(k)))
		below := int64(1) << k
		if k%4 == 3 {
			below = most
		}
		for _, x := range ints {
			t := tensor{x.Type, make([]field.Elem, x.Type.Elems())}
			for i := range t.v {
				t.v[i] = field.Int(r.Int64N(min(below, most)))
			}
			given[x.Name] = t
		}
		want, known := a.overField(ctx, e, given)
		if !known {
			continue
		}
		if got, known := b.overField(ctx, e, given); !known || !slices.Equal(want.v, got.v) {
			return "", false
		}
		valid++
	}
	if valid < leastIndexed {
		return "", false
	}
	return fmt.Sprintf("equal over the field for %d values of its integers", valid), true
}

// places bounds the positions from which an operation takes elements by computed integers.
func places(op *ir.Op) int64 {
	if len(op.Def.Picks) == 0 || op.Arg(op.Def.Picks[0]) == nil {
		return math.MaxInt16
	}
	computed := false
	op.Operands(func(p *ir.Param, v *ir.Value) {
		computed = computed || v.Const == nil && v.Type.DType.IsInt() && !slices.Contains(op.Def.Picks, p.Name)
	})
	x := op.Arg(op.Def.Picks[0]).Type
	if !computed || x.Rank() == 0 {
		return math.MaxInt16
	}
	if axis, err := ir.AxisAttr(op, ir.ParamAxis, x.Rank()); err == nil {
		return x.Shape[axis]
	}
	return slices.Max(x.Shape)
}

// overField computes a part of a program. It reports false if that takes an operation whose result is not known, such
// as one whose integers are not valid.
func (f *fragment) overField(ctx context.Context, e evaluator, given map[string]tensor) (tensor, bool) {
	known := true
	e.unknowns = func(*ir.Op) bool {
		known = false
		return false
	}
	in := scope{}
	for i, v := range f.fn.Body.Params {
		in[v] = given[f.in[i].Name]
	}
	if e.run(ctx, f.fn.Body, in) != nil {
		return tensor{}, false
	}
	return e.value(in, f.fn.Body.Outputs[0]), known
}
