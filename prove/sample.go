package prove

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/opwork"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

const (
	// sampleRuns is the number of runs with operands of different kinds.
	sampleRuns = 24
	// mostSampled bounds the work of a sample.
	mostSampled = 1 << 20
	// mostImpulses bounds the work if each operand is set alone, since the placed program has constants of its own.
	mostImpulses = 1 << 26
	// macsPerElement is how many multiply-accumulates are as much work as one element of a value: about as many as run
	// in its time.
	macsPerElement = 8
)

// fragment is a part of a program that computes one value from operands.
type fragment struct {
	fn *ir.Func
	in []*ir.Value
	at string
	// program is fn as the interpreter runs it, once it has.
	program *interp.Program
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

func (f *fragment) run(ctx context.Context, in map[string]interp.Tensor) (interp.Tensor, error) {
	if f.program == nil {
		p, err := interp.Prepare(f.fn)
		if err != nil {
			return interp.Tensor{}, err
		}
		f.program = p
	}
	own := map[string]interp.Tensor{}
	for _, v := range f.in {
		own[v.Name] = in[v.Name]
	}
	out, err := f.program.Run(ctx, own, interp.Options{Numerics: numerics.IEEE, WideSums: true})
	return out[f.at], err
}

// sample compares how both programs compute a value, by running both parts in the interpreter on sampled operands. It
// says how it was compared, or why not.
func (s *source) sample(ctx context.Context, v, w *ir.Value) (string, bool) {
	a, theirs := cut(s.fn, v, s.known)
	b, ours := cut(s.p.f.Program, w, s.known)
	in, work := map[string]ir.Type{}, int64(0)
	for _, x := range slices.Concat(a.in, b.in) {
		if t, ok := in[x.Name]; ok && !t.Equal(x.Type) || x.Type.Kind != ir.Tensor || !x.Type.Static() {
			return fmt.Sprintf("%s has different types in the two programs, or no known one", x.Name), false
		}
		in[x.Name] = x.Type
	}
	for _, op := range slices.Concat(theirs, ours) {
		work += opwork.MACs(op) / macsPerElement
		for _, r := range op.Results {
			work += max(r.Type.Elems(), 0)
		}
	}
	if why, ok := s.indexed(ctx, v, w); ok {
		return why, true
	}
	if work > mostSampled {
		return fmt.Sprintf("it differs over the field, and a sample takes the work of %d elements, more than %d", work,
			mostSampled), false
	}
	live := int64(0)
	for _, t := range in {
		live += t.Elems()
	}
	impulses := int64(0)
	if ownConstants(theirs, ours) {
		if impulses = live; impulses > mostImpulses/max(work, 1) {
			return fmt.Sprintf("it differs over the field; the placed program has constants of its own for it, and "+
				"setting each of %d operands alone takes the work of %d elements each time, more than %d in all", live,
				work, mostImpulses), false
		}
	}
	for k := range sampleRuns + impulses {
		if why := s.differ(ctx, a, b, int(k)-sampleRuns, int(k)); why != "" {
			return why, false
		}
	}
	how := fmt.Sprintf("%d samples of its operands", sampleRuns)
	if impulses > 0 {
		how += fmt.Sprintf(" and each of %d operands alone", impulses)
	}
	return how, true
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
func (s *source) differ(ctx context.Context, a, b *fragment, impulse, k int) string {
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
	want, err := a.run(ctx, given)
	if err != nil {
		return fmt.Sprintf("the source cannot be sampled: %v", err)
	}
	got, err := b.run(ctx, given)
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

// squareOverflows is where squares stop being numbers of fp16. Compositions may square an operand whose result is a
// number (docs/numerics.md); only samples with such an operand may therefore be infinite in the placed program alone.
const squareOverflows = 256

// apart returns how two results differ, or "".
func apart(want, got interp.Tensor, single, large bool) string {
	if !want.Type.DType.IsFloat() {
		if !want.Equal(got) {
			return "it differs on samples"
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
			return fmt.Sprintf("it differs over the field and on a sample: element %d is %g, the source says %g", i,
				w, u)
		}
	}
	return ""
}
