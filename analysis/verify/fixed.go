package verify

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// The enclosures of engines that add in fixed point (numerics.ANEFixed).

// termUnits bounds the error of one product on its way to the sum: two of the accumulator's last places, where the
// exponents of its factors make it 0.
const termUnits = 2.0 / (1 << numerics.FixedBits)

// readInfinities returns operands as the engine reads them: an infinity is 65536.
func readInfinities(args map[*ir.Value]*enclosure) map[*ir.Value]*enclosure {
	out := make(map[*ir.Value]*enclosure, len(args))
	number := func(_ int, x float32) float32 { return max(-65536, min(65536, x)) }
	for v, a := range args {
		if out[v] = a; a.unknown || a.t.Type.Kind != ir.Tensor || !a.t.Type.DType.IsFloat() || !a.infinite() {
			continue
		}
		b := *a
		b.t, b.top = heap.mapped(a.t, number), 0
		if a.lo != nil {
			b.lo = heap.mapped(like(a.t, a.lo), number).Floats32()
			b.hi = heap.mapped(like(a.t, a.hi), number).Floats32()
		}
		out[v] = &b
	}
	return out
}

// fixedTerms widens a sum of n products of x and w by the errors of its terms and, where a partial sum may leave the
// range of the accumulator, to the infinity that it stays at.
func (s *statement) fixedTerms(out *enclosure, x, w *ir.Value, n int64) error {
	terms := float64(n+1) * termUnits
	out.widen(func(int, float64) float64 { return terms })
	if n <= 1 {
		return nil // without an accumulator
	}
	with := map[*ir.Value]interp.Tensor{x: s.of(x).magnitudes(), w: s.of(w).magnitudes()}
	if v := s.op.Arg(ir.ParamBias); v != nil {
		with[v] = s.of(v).magnitudes()
	}
	rs, err := s.wide(s.op, with)
	if err != nil {
		return err
	}
	y := out.numbers()
	for i, all := range rs[0].View32() {
		size := float64(all)*(1+float64(n)*0x1p-23) + terms
		if size < numerics.MACLimit {
			continue
		}
		// The terms of one sign add up to half of all, and half of what they differ by.
		if (size+max(float64(y[i]), float64(out.hi[i])))/2 >= numerics.MACLimit {
			out.hi[i] = float32(math.Inf(1))
		}
		if (size-min(float64(y[i]), float64(out.lo[i])))/2 >= numerics.MACLimit {
			out.lo[i] = float32(math.Inf(-1))
		}
	}
	return nil
}

// halvesAway extends ends that are in the middle of two numbers of fp16 to the one that is farther from zero, to which
// the engine rounds them.
func (s *enclosure) halvesAway() {
	if s.unknown {
		return
	}
	v := s.numbers()
	lo, hi := s.ends()
	var own bool
	for i := range v {
		least, most := numerics.FixedOut(lo[i]), numerics.FixedOut(hi[i])
		if least >= lo[i] && most <= hi[i] || !(least < numerics.Round16(lo[i]) || most > numerics.Round16(hi[i])) {
			continue
		}
		if s.lo == nil && !own {
			s.lo, s.hi, own = s.t.Floats32(), s.t.Floats32(), true
			lo, hi = s.lo, s.hi
		}
		s.lo[i], s.hi[i], s.top = min(s.lo[i], least), max(s.hi[i], most), 0
	}
}

// foldedTerms returns the terms of the product with weights whose result op multiplies by constants, 0 for none. Passes
// may multiply the weights instead, and the constants then do not shrink the errors that the terms have in fixed point.
func (e *encloser) foldedTerms(op *ir.Op) int64 {
	if !e.decomposed || !e.fixed || !op.Is(ir.OpMul, ir.OpRealDiv, ir.OpBatchNorm) {
		return 0
	}
	for _, p := range [...]ir.ParamName{ir.ParamX, ir.ParamY} {
		v := op.Arg(p)
		for v != nil && v.Def != nil && v.Def.Is(ir.OpMul, ir.OpRealDiv, ir.OpBatchNorm, ir.OpAdd, ir.OpSub) {
			x, y := v.Def.Arg(ir.ParamX), v.Def.Arg(ir.ParamY)
			if v = x; y != nil && (x.IsConst() || x.Def != nil && len(free(x.Def)) == 0) {
				v = y
			}
		}
		if v == nil || v.Def == nil {
			continue
		}
		switch product := v.Def; {
		case product.Is(ir.OpConv, ir.OpLinear):
			if w := product.Arg(ir.ParamWeight).Type; w.Rank() > 0 && w.Shape[0] > 0 {
				return w.Elems() / w.Shape[0]
			}
		case product.Is(ir.OpMatMul):
			if m, err := ir.MatMulAttrs(product); err == nil && m.K >= 0 {
				return m.K
			}
		}
	}
	return 0
}
