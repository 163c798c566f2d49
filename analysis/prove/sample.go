package prove

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/zinc-compiler/zinc/compile/cost/opwork"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

const (
	// sampleRuns is the number of runs, with operands of different kinds. A large part, for which the work allows
	// fewer, has at least leastRuns.
	sampleRuns, leastRuns = 24, 8
	// macsPerElement is how many multiply-accumulates are as much work as one element of a value: about as many as run
	// in its time.
	macsPerElement = 8
)

// fragment is a part of a program that computes one value from operands.
type fragment struct {
	fn *ir.Func
	in []*ir.Value
	at string
	// programs are fn as the interpreter runs it, in fp16 and in fp32, once it has.
	programs [2]*interp.Program
}

func cut(f *ir.Func, v *ir.Value, stop func(name string) bool) (*fragment, []*ir.Op) {
	ops := region(v, stop)
	fn, in, _ := ir.Extract(f, "main", ops)
	for _, op := range fn.Body.Ops {
		for _, r := range op.Results {
			if r.Name == v.Name {
				fn.Body.Outputs = []*ir.Value{r}
			}
		}
	}
	return &fragment{fn: fn, in: in, at: v.Name}, ops
}

// run runs the part, in wide arithmetic with fp32 instead of fp16.
func (f *fragment) run(ctx context.Context, in map[string]interp.Tensor, wide bool) (interp.Tensor, error) {
	k, fn := 0, f.fn
	if wide {
		k = 1
	}
	if f.programs[k] == nil {
		if wide {
			fn, _ = ir.Widen(fn)
		}
		p, err := interp.Prepare(fn)
		if err != nil {
			return interp.Tensor{}, err
		}
		f.programs[k] = p
	}
	own := map[string]interp.Tensor{}
	for _, v := range f.in {
		t := in[v.Name]
		if wide && t.Type.DType == ir.FP16 {
			var err error
			if t, err = interp.FromFloats(ir.FP32, t.Floats32(), t.Type.Shape...); err != nil {
				return interp.Tensor{}, err
			}
		}
		own[v.Name] = t
	}
	out, err := f.programs[k].Run(ctx, own, interp.Options{Numerics: numerics.IEEE, WideSums: true})
	return out[f.at], err
}

// sample compares how both programs compute a value, by running both parts in the interpreter on sampled operands. It
// says how it was compared, or why not. If the parts differ on any numbers, they are compared once more on whole ones,
// where operands are known to be whole.
func (s *source) sample(ctx context.Context, v, w *ir.Value) finding {
	f := s.sampled(ctx, v, w, s.agrees)
	if f.verdict != differs || f.work > 0 {
		return f
	}
	fraction := func(name string) bool { return s.agrees(name) && !whole(s.placed[name], 0) }
	if g := s.sampled(ctx, v, w, fraction); g.verdict != differs {
		return g
	}
	return f
}

// maxWhole bounds how far whole looks back.
const maxWhole = 8

// whole reports whether the operations that compute a value show that it has no fraction.
func whole(v *ir.Value, depth int) bool {
	op := v.Def
	switch {
	case v.Const != nil || op == nil || depth == maxWhole:
		return false
	case v.Type.DType.IsInt() || op.Is(ir.OpFloor, ir.OpCeil, ir.OpRound):
		return true
	case op.Is(ir.OpRelu, ir.OpAbs, ir.OpSquare, ir.OpReshape, ir.OpTranspose, ir.OpCast, ir.OpSliceByIndex):
		return whole(op.Arg(ir.ParamX), depth+1)
	case op.Is(ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpMaximum, ir.OpMinimum):
		return whole(op.Arg(ir.ParamX), depth+1) && whole(op.Arg(ir.ParamY), depth+1)
	}
	return false
}

// sampled compares the parts that begin at values for which stop is true.
func (s *source) sampled(ctx context.Context, v, w *ir.Value, stop func(name string) bool) finding {
	a, theirs := cut(s.fn, v, stop)
	b, ours := cut(s.p.f.Program, w, stop)
	in, work := map[string]ir.Type{}, int64(0)
	for _, x := range slices.Concat(a.in, b.in) {
		if t, ok := in[x.Name]; ok && !t.Equal(x.Type) || x.Type.Kind != ir.Tensor || !x.Type.Static() {
			why := fmt.Sprintf("%s has different types in the two programs, or no known one", x.Name)
			return finding{verdict: differs, why: why}
		}
		in[x.Name] = x.Type
	}
	for _, op := range slices.Concat(theirs, ours) {
		work += opwork.MACs(op) / macsPerElement
		for _, r := range op.Results {
			work += max(r.Type.Elems(), 0)
		}
	}
	work = max(work, 1)
	if why, ok := s.indexed(ctx, v, w); ok {
		return finding{verdict: near, why: why}
	}
	impulses := int64(0)
	if ownConstants(theirs, ours) {
		for _, t := range in {
			impulses += t.Elems()
		}
	}
	runs, needs := min(sampleRuns, s.p.work()/work), max(leastRuns, impulses)*work
	if runs < leastRuns {
		why := fmt.Sprintf("it takes samples of %d elements, %d times; the limit is %d in all", work, leastRuns,
			s.p.work())
		return finding{verdict: differs, why: why, work: needs}
	}
	if impulses > s.p.work()/work {
		why := fmt.Sprintf("it takes samples of %d elements for each of its %d operands alone, since passes "+
			"computed constants for it; the limit is %d in all", work, impulses, s.p.work())
		return finding{verdict: differs, why: why, work: needs}
	}
	why := ""
	for _, wide := range []bool{true, false} { // rounding is in the second alone
		how := ""
		for k := int64(0); k < runs+impulses && how == ""; k++ {
			how = s.differ(ctx, a, b, int(k-runs), int(k), wide)
		}
		if why = how; why == "" {
			break
		}
	}
	if why != "" {
		return finding{verdict: differs, why: why}
	}
	how := fmt.Sprintf("%d samples of its operands", runs)
	if impulses > 0 {
		how += fmt.Sprintf(" and each of %d operands alone", impulses)
	}
	return finding{verdict: near, why: how}
}

// ownConstants reports whether the placed program has tensors of floats as constants that the source has not.
func ownConstants(theirs, ours []*ir.Op) bool {
	var given []*ir.Const
	for _, op := range theirs {
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if v.IsConst() {
				given = append(given, v.Const)
			}
		})
	}
	own := false
	for _, op := range ours {
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			own = own || v.IsConst() && v.Type.DType.IsFloat() && v.Type.Elems() > 1 &&
				!slices.ContainsFunc(given, func(c *ir.Const) bool { return sameConst(c, v.Const) })
		})
	}
	return own
}

// differ runs both parts once and returns how they differ, or "". From 0 on, impulse is the only element that is not 0.
func (s *source) differ(ctx context.Context, a, b *fragment, impulse, k int, wide bool) string {
	at, large := impulse, false
	r := rand.New(rand.NewPCG(s.p.o.Seed, uint64(k)))
	given := map[string]interp.Tensor{}
	for _, x := range slices.Concat(a.in, b.in) {
		if _, ok := given[x.Name]; ok {
			continue
		}
		vals := make([]float32, x.Type.Elems())
		if impulse < 0 {
			draw(vals, x.Type.DType, k, r)
		} else if at < len(vals) && at >= 0 {
			vals[at] = 1
		}
		large = large || slices.ContainsFunc(vals, func(v float32) bool { return v >= squareOverflows })
		at -= len(vals)
		t, err := interp.FromFloats(x.Type.DType, vals, x.Type.Shape...)
		if err != nil {
			return fmt.Sprintf("%s cannot be sampled: %v", x.Name, err)
		}
		given[x.Name] = t
	}
	want, err := a.run(ctx, given, wide)
	if err != nil {
		return fmt.Sprintf("the source cannot be sampled: %v", err)
	}
	got, err := b.run(ctx, given, wide)
	if err != nil {
		return fmt.Sprintf("the placed program cannot be sampled: %v", err)
	}
	return apart(want, got, impulse >= 0, large)
}

// draw sets operands of one of several kinds.
func draw(vals []float32, t ir.DType, k int, r *rand.Rand) {
	special := []float32{0, 1, -1, 0.5, -0.5, 2, -2, 3, 100, -100, 1000, 0x1p-14, -0x1p-14, 0x1p-24, 1.5, -1.5, 2.5}
	for i := range vals {
		switch {
		case t == ir.Bool:
			vals[i] = float32(r.IntN(2))
		case !t.IsFloat():
			vals[i] = float32(r.IntN(4))
		case k%4 == 0:
			vals[i] = special[r.IntN(len(special))]
		case k%4 == 1:
			vals[i] = float32(r.IntN(9) - 4)
		case k%4 == 2:
			vals[i] = float32(math.Abs(r.NormFloat64()))
		case k%8 == 7: // so small that an epsilon matters beside their squares
			vals[i] = float32(r.NormFloat64() / 64)
		default:
			vals[i] = float32(r.NormFloat64())
		}
	}
}

// Differences that samples allow: relative to the element, and to the largest of the tensor unless operands are set
// one at a time.
const (
	sampleNear  = 0x1p-7
	sampleScale = 0x1p-9
)

// squareOverflows is where squares stop being numbers of fp16. Decompositions may square an operand whose result is a
// number (docs/numerics.md); only samples with such an operand may therefore be infinite in the placed program alone.
const squareOverflows = 256

// apart returns how two results differ, or "".
func apart(want, got interp.Tensor, single, large bool) string {
	if !slices.Equal(want.Type.Shape, got.Type.Shape) {
		return fmt.Sprintf("on a sample its shape is %s, the source has %s", ir.ShapeString(got.Type.Shape),
			ir.ShapeString(want.Type.Shape))
	}
	if !want.Type.DType.IsFloat() {
		x, y := want.Ints(), got.Ints()
		for i := range x {
			if x[i] != y[i] {
				return fmt.Sprintf("on a sample element %s is %d, the source says %d", index(i, want.Type.Shape), y[i],
					x[i])
			}
		}
		return ""
	}
	x, y := want.Floats32(), got.Floats32()
	scale := 0.0
	for _, f := range x {
		if d := math.Abs(float64(f)); d <= math.MaxFloat32 {
			scale = max(scale, d)
		}
	}
	near, wide := sampleNear, scale*sampleScale
	if single {
		near, wide = 4*halfUnit, scale*halfUnit
	}
	for i, f := range x {
		u, w := float64(f), float64(y[i])
		if u == w || u != u || math.Abs(u) > 65504 {
			continue // what is not a number of fp16 in the source has no defined result
		}
		if large && math.IsInf(w, 0) {
			continue
		}
		if d := math.Abs(u - w); !(d <= near*math.Abs(u)+wide+halfLeast) {
			return fmt.Sprintf("on a sample element %s is %g, the source says %g", index(i, want.Type.Shape), w, u)
		}
	}
	return ""
}
