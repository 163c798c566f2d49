package prove

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/zinc-compiler/zinc/compile/cost/opwork"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/runtime/sim/exact"
)

const (
	// indexedRuns is the number of runs with different integers that are valid in the source, leastIndexed how many are
	// required, and indexedTries how many integers are tried for them.
	indexedRuns  = 24
	leastIndexed = 8
	indexedTries = 192
	// Beyond enoughIndexed elements, products included, no more runs follow once leastIndexed were valid.
	enoughIndexed = 1 << 21
)

// indexed compares how both programs compute a value, over the field for several values of the integers that choose
// what moves: every other operand is a random element of the field. It reports false if there are no integers, if the
// values differ, or if too few of the integers are valid.
func (s *source) indexed(ctx context.Context, v, w *ir.Value) (string, bool) {
	// Integers are followed back to the parameters, since those that are computed from the same one depend on it.
	stop := func(name string) bool { return s.agrees(name) && !s.placed[name].Type.DType.IsInt() }
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
	tries := int(min(indexedTries, s.p.work()/max(elems, 1)))
	if len(ints) == 0 || tries < leastIndexed {
		return "", false
	}
	for _, x := range slices.Concat(a.in, b.in) {
		if _, ok := given[x.Name]; !ok {
			given[x.Name] = s.p.operand(x.Name, x.Type)
		}
	}
	enough := min(indexedRuns, max(leastIndexed, int(enoughIndexed/max(elems+work, 1))))
	apart := extents(theirs)
	e := *s.Evaluator
	e.See, e.Computed, e.Constants = nil, nil, map[*ir.Const]exact.Tensor{}
	valid := 0
	for k := 0; k < tries && valid < enough; k++ {
		r := rand.New(rand.NewPCG(s.p.o.Seed, uint64(k)))
		below := most
		if k%4 != 3 && k < 62 {
			below = min(int64(1)<<k, most)
		}
		base := r.Int64N(below)
		for i, x := range ints {
			t := exact.Tensor{Type: x.Type, Elems: make([]field.Elem, x.Type.Elems())}
			for j := range t.Elems {
				switch n := r.Int64N(below); {
				case k%2 == 0:
					t.Elems[j] = field.Int(n)
				case i == 0:
					t.Elems[j] = field.Int(base)
				default: // the begin and the end of a part are its extent apart
					t.Elems[j] = field.Int(max(base+apart[r.IntN(len(apart))], 0))
				}
			}
			given[x.Name] = t
		}
		want, known := a.overField(ctx, e, given)
		if !known {
			continue
		}
		if got, known := b.overField(ctx, e, given); !known || !slices.Equal(want.Elems, got.Elems) {
			return "", false
		}
		valid++
	}
	if valid < leastIndexed {
		return "", false
	}
	return fmt.Sprintf("equal over the field for %d values of its integers", valid), true
}

// extents returns 0 and the extents of parts that operations take or replace at computed positions, with either sign.
func extents(ops []*ir.Op) []int64 {
	list := []int64{0}
	for _, op := range ops {
		x, part := op.Arg(ir.ParamX), op.Arg(ir.ParamUpdate)
		if part == nil && len(op.Results) > 0 {
			part = op.Results[0]
		}
		if x == nil || part == nil || x.Type.Rank() != part.Type.Rank() {
			continue
		}
		for d, n := range part.Type.Shape {
			if n != x.Type.Shape[d] && !slices.Contains(list, n) {
				list = append(list, n, -n)
			}
		}
	}
	return list
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
func (f *fragment) overField(ctx context.Context, e exact.Evaluator,
	given map[string]exact.Tensor) (exact.Tensor, bool) {
	known := true
	e.Unknown = func(*ir.Op) bool {
		known = false
		return false
	}
	var in []exact.Tensor
	for _, v := range f.in {
		in = append(in, given[v.Name])
	}
	out, err := e.Func(ctx, f.fn, in)
	if err != nil {
		return exact.Tensor{}, false
	}
	return out[0], known
}
