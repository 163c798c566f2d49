package reported

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
)

// depthOf returns over how many terms a linear or a matmul sums, 0 if that is not known.
func depthOf(op *ir.Op) int64 {
	if op.Is(ir.OpLinear) {
		w := op.Arg(ir.ParamWeight).Type
		return max(w.Shape[w.Rank()-1], 0)
	}
	m, err := ir.MatMulAttrs(op)
	if err != nil {
		return 0
	}
	return max(m.K, 0)
}

// outputsOf returns the outputs of a linear, or of a matmul with a constant; 0 for others.
func outputsOf(op *ir.Op) int64 {
	if op.Is(ir.OpLinear) {
		return op.Arg(ir.ParamWeight).Type.Shape[0]
	}
	y := op.Arg(ir.ParamY)
	m, err := ir.MatMulAttrs(op)
	if err != nil || y.Const == nil && (y.Def == nil || y.Def.Def.Class != ir.Compressed) {
		return 0
	}
	return max(m.N, 0)
}

func productDepth(_ *search, op *ir.Op) string {
	if n := depthOf(op); n > oldExtent {
		return fmt.Sprintf("a sum of %d products", n)
	}
	return ""
}

func outputs16384(_ *search, op *ir.Op) string {
	if n := outputsOf(op); n > oldExtent {
		return fmt.Sprintf("%d outputs", n)
	}
	return ""
}

func productTimeout(_ *search, op *ir.Op) string {
	n := op.Results[0].Type.Elems()
	if k := depthOf(op); n > 0 && k > 0 && float64(n)*float64(k) >= timeoutProducts {
		return fmt.Sprintf("%.3g multiply-accumulates", float64(n)*float64(k))
	}
	return ""
}

// Facts about the DMA of weights: each of the cores streams the weights of its outputs, and its prefetching stops near
// multiples of a MiB.
const (
	cores       = 16
	notchPeriod = 1 << 20
	notchReach  = 16 << 10
)

// weightOf returns the constant fp16 weight of a product, and its outputs; nil if it has none.
func (s *search) weightOf(op *ir.Op) (w *ir.Value, outputs int64) {
	w = op.Arg(ir.ParamWeight)
	if op.Is(ir.OpMatMul) {
		w = op.Arg(ir.ParamY)
	}
	if w == nil || w.Const == nil || !s.fp16(w) || w.Type.Elems() <= 0 {
		return nil, 0
	}
	outputs = w.Type.Shape[0]
	if op.Is(ir.OpMatMul) {
		if w.Type.Rank() != 2 {
			return nil, 0
		}
		outputs = outputsOf(op)
	}
	if g, ok := ir.ArgInt(op, ir.ParamGroups); op.Is(ir.OpConv) && (!ok || g != 1) {
		return nil, 0
	}
	return w, outputs
}

func dmaNotch(s *search, op *ir.Op) string {
	w, outputs := s.weightOf(op)
	if w == nil || outputs <= 0 {
		return ""
	}
	each := w.Type.Elems() / outputs * halfBytes
	n := (outputs + cores - 1) / cores * each
	times := (n + notchPeriod/2) / notchPeriod
	off := n - times*notchPeriod
	if times < 1 || off >= notchReach || off <= -notchReach {
		return ""
	}
	switch {
	case off == 0:
		return fmt.Sprintf("%d MiB for each core", times)
	case off > 0:
		return fmt.Sprintf("%d MiB and %d bytes for each core", times, off)
	}
	return fmt.Sprintf("%d MiB less %d bytes for each core", times, -off)
}

// linearHardswish finds x * relu6(x + 3) / 6 of a product of rank 2, in the order of operations that converters write.
func linearHardswish(s *search, op *ir.Op) string {
	y := op.Results[0]
	if !s.fp16(y) || y.Type.Rank() != 2 {
		return ""
	}
	for _, r := range s.readers(y) {
		switch {
		case r.Is(ir.OpSigmoidHard):
			if s.multiplied(r.Results[0], y, 1) {
				return "through " + r.Results[0].Name
			}
		case r.Is(ir.OpAdd):
			for _, c := range s.readers(r.Results[0]) {
				if c.Is(ir.OpClip, ir.OpRelu6) && s.multiplied(c.Results[0], y, 2) {
					return "through " + c.Results[0].Name
				}
			}
		}
	}
	return ""
}

// multiplied reports whether v, after at most that many products and quotients with constants, is multiplied by y.
func (s *search) multiplied(v, y *ir.Value, steps int) bool {
	for _, r := range s.readers(v) {
		if !r.Is(ir.OpMul, ir.OpRealDiv) {
			continue
		}
		a, b := r.Arg(ir.ParamX), r.Arg(ir.ParamY)
		if r.Is(ir.OpMul) && (a == v && s.same(b, y) || b == v && s.same(a, y)) {
			return true
		}
		if steps > 0 && (a.Const != nil || b.Const != nil) && s.multiplied(r.Results[0], y, steps-1) {
			return true
		}
	}
	return false
}

// same reports whether v is y, or y times a constant.
func (s *search) same(v, y *ir.Value) bool {
	if v == y {
		return true
	}
	return v.Def != nil && v.Def.Is(ir.OpMul, ir.OpRealDiv) && v.Def.Takes(y) &&
		(v.Def.Arg(ir.ParamX).Const != nil || v.Def.Arg(ir.ParamY).Const != nil)
}

func argmaxChannels(s *search, op *ir.Op) string {
	x := op.Arg(ir.ParamX).Type
	a, err := ir.AxisAttr(op, ir.ParamAxis, x.Rank())
	if err != nil || x.Rank() != 4 || !s.fp16(op.Arg(ir.ParamX)) || a != 1 || x.Shape[2] == 1 && x.Shape[3] == 1 {
		return ""
	}
	return fmt.Sprintf("x is %s, axis 1", x)
}

// longRow is the least length of the rows for which reports measure topk.
const longRow = 4096

func topkLong(_ *search, op *ir.Op) string {
	x := op.Arg(ir.ParamX).Type
	a, err := ir.AxisAttr(op, ir.ParamAxis, x.Rank())
	if err != nil || x.Shape[a] < longRow || !x.DType.IsFloat() {
		return ""
	}
	return fmt.Sprintf("rows of %d", x.Shape[a])
}
