package verify

import (
	"bytes"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// picked is a result that contains positions along an axis of a tensor: indices of the largest elements or of an order.
// Of nearly equal elements either may come first, so the positions are compared by the elements at them.
type picked struct {
	of   string // the tensor
	axis int
}

// pickedPrefix marks the names of tensors whose positions results contain, among the names of results.
const pickedPrefix = "picked "

// pickedBy returns the results of a function that contain positions, by name.
func pickedBy(f *ir.Func) map[string]picked {
	out := map[string]picked{}
	for _, v := range f.Body.Outputs {
		if v.Type.Kind != ir.Tensor || v.Type.DType.IsFloat() {
			continue
		}
		at := v
		for at.Def != nil && at.Def.Is(ir.OpCast, ir.OpReshape, ir.OpExpandDims, ir.OpSqueeze, ir.OpIdentity) {
			at = at.Def.Arg(ir.ParamX)
		}
		op := at.Def
		if op == nil || at.Type.DType.IsFloat() ||
			!op.Is(ir.OpTopK, ir.OpArgsort, ir.OpReduceArgmax, ir.OpReduceArgmin) {
			continue
		}
		x := op.Arg(ir.ParamX)
		if x.IsConst() || !x.Type.DType.IsFloat() {
			continue
		}
		if axis, err := ir.AxisAttr(op, ir.ParamAxis, x.Type.Rank()); err == nil {
			out[v.Name] = picked{x.Name, axis}
		}
	}
	return out
}

// keep returns a trace that copies the tensors whose positions results contain to the results of a run.
func keep(ps map[string]picked, to map[string]interp.Tensor) func(op *ir.Op, results []interp.Tensor) {
	names := map[string]bool{}
	for _, p := range ps {
		names[p.of] = true
	}
	return func(op *ir.Op, results []interp.Tensor) {
		for i, v := range op.Results {
			if names[v.Name] {
				to[pickedPrefix+v.Name] = interp.Tensor{Type: results[i].Type, Data: bytes.Clone(results[i].Data)}
			}
		}
	}
}

// comparePicked compares positions along an axis of x, whose values the reference run found: the elements at both
// positions may differ by the error allowed for each of them, which is within.
func comparePicked(name string, got, want, x interp.Tensor, axis int, within *tolerance) (Output, bool) {
	shape := x.Type.Shape
	if axis >= len(shape) || !got.Type.Equal(want.Type) {
		return Output{}, false
	}
	n, inner, outer := shape[axis], int64(1), int64(1)
	for _, d := range shape[axis+1:] {
		inner *= d
	}
	for _, d := range shape[:axis] {
		outer *= d
	}
	g, w, xs := values(got), values(want), within.base
	if n*inner*outer == 0 || int64(len(w))%(inner*outer) != 0 {
		return Output{}, false
	}
	count := int64(len(w)) / (inner * outer) // positions of each line along the axis
	if count == 0 {
		return Output{}, false
	}
	limit := 2 * within.limits(x.Type.DType)(0)
	out := Output{
		Name: name, Type: want.Type.String(), Tolerance: Number(limit), Scale: Number(within.scale()),
		Picked: true, Pass: true,
	}
	repeats := repeated(g, count, inner)
	for e := range int64(len(w)) {
		at := func(place float64) float64 {
			if !(place >= 0 && place < float64(n)) {
				return math.NaN()
			}
			return xs[(e/(inner*count)*n+int64(place))*inner+e%inner]
		}
		d := distance(at(g[e]), at(w[e]))
		if g[e] != w[e] && repeats[e/(inner*count)*inner+e%inner] {
			d = math.Inf(1) // a repeated position is wrong, regardless of the element at it
		}
		past := !(d <= limit)
		if e == 0 || d > float64(out.MaxAbs) && (past || out.Pass) || past && out.Pass {
			out.Worst = Element{int(e), Number(g[e]), Number(w[e])}
		}
		out.MaxAbs = max(out.MaxAbs, Number(d))
		out.MaxULP = max(out.MaxULP, ulps(x.Type.DType, at(g[e]), at(w[e])))
		out.Pass = out.Pass && !past
	}
	return out, true
}

// repeated reports for each line of count positions, inner elements apart, whether a position occurs more than once.
func repeated(places []float64, count, inner int64) []bool {
	out := make([]bool, int64(len(places))/count)
	line := make([]float64, count)
	for i := range out {
		first := int64(i)/inner*inner*count + int64(i)%inner
		for k := range line {
			line[k] = places[first+int64(k)*inner]
		}
		slices.Sort(line)
		out[i] = len(slices.Compact(line)) < len(line)
	}
	return out
}
