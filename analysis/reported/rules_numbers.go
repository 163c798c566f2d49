package reported

import (
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// Limits of the engine's arithmetic that reports measured.
const (
	softplusLimit = 10.4
	expLimit      = 11.09 // exp of more is infinite in fp16
	productLimit  = 32752
	sliceLimit    = 4094
	overFP16      = 65520 // rounds to infinity in fp16
	longRows      = 2048
)

// fp16 reports whether a value is of fp16 on the engine.
func (s *search) fp16(v *ir.Value) bool {
	return v.Type.DType == ir.FP16 || s.asFP16 && v.Type.DType == ir.FP32
}

// maskBelowFP16 looks at what is added to the scores of a softmax.
func maskBelowFP16(s *search, op *ir.Op) string {
	v := op.Arg(ir.ParamX)
	if op.Is(ir.OpScaledDotProductAttention) {
		v = op.Arg(ir.ParamAttnMask)
	}
	if v == nil || !s.fp16(v) || !s.beyondFP16(v) {
		return ""
	}
	return fmt.Sprintf("through %s", named(v))
}

// named returns a value's name, or the value of a constant that is written in place.
func named(v *ir.Value) string {
	if v.Name == "" && v.Const != nil {
		return "a constant"
	}
	return v.Name
}

// beyondFP16 reports whether a value has numbers below the least of fp16 from a constant, through operations that mask:
// sums, products with numbers, selections, and those that move or convert.
func (s *search) beyondFP16(v *ir.Value) bool {
	if r, ok := s.huge[v]; ok {
		return r
	}
	s.huge[v] = false // what is being asked for already
	r := s.beyond(v)
	s.huge[v] = r
	return r
}

func (s *search) beyond(v *ir.Value) bool {
	if v.Const != nil {
		return v.Type.DType.IsFloat() && v.Const.Assumed == nil && below(v.Const)
	}
	op := v.Def
	if op == nil {
		return false
	}
	switch {
	case op.Is(ir.OpMaximum, ir.OpMinimum, ir.OpClip, ir.OpRelu):
		return false // a bound
	case op.Is(ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpSelect, ir.OpFill, ir.OpFillLike, ir.OpRealDiv),
		passes(op), op.Def.Class == ir.Movement:
	default:
		return false
	}
	hit := false
	op.Operands(func(p *ir.Param, w *ir.Value) {
		if !hit && w.Type.DType.IsFloat() && p.Name != ir.ParamCond {
			hit = s.beyondFP16(w)
		}
	})
	return hit
}

// below reports whether a constant has a number, not NaN, at or below -65520.
func below(c *ir.Const) bool {
	for i := range c.Elems() {
		if c.Float(i) <= -overFP16 {
			return true
		}
	}
	return false
}

func logSoftmax(s *search, op *ir.Op) string {
	x := op.Arg(ir.ParamX)
	n := normalised(source(x))
	if e, ok := ir.ArgFloat(op, ir.ParamEpsilon); n < 2 || !s.fp16(op.Results[0]) || ok && e >= numerics.MinNormalFP16 {
		return ""
	}
	return fmt.Sprintf("rows of %d", n)
}

func softmaxLong(s *search, op *ir.Op) string {
	if !s.fp16(op.Results[0]) {
		return ""
	}
	if n := rowLength(op); n > longRows {
		return fmt.Sprintf("rows of %d", n)
	}
	return ""
}

// reaches returns the range of a value in words if it is known and its upper end is above a limit.
func (s *search) reaches(v *ir.Value, limit float64) string {
	if v == nil || v.Const != nil {
		return ""
	}
	r, known := s.bounds(v)
	if !known || r.Hi <= limit {
		return ""
	}
	return inWords(v, r)
}

// exceeds is like reaches for magnitudes.
func (s *search) exceeds(v *ir.Value, limit float64) string {
	if v == nil || v.Const != nil {
		return ""
	}
	r, known := s.bounds(v)
	if !known || r.Mag() <= limit {
		return ""
	}
	return inWords(v, r)
}

func inWords(v *ir.Value, r interval.Interval) string {
	return fmt.Sprintf("%s is from %s to %s", v.Name, interval.Number(r.Lo), interval.Number(r.Hi))
}

func softplusRange(s *search, op *ir.Op) string {
	if !s.fp16(op.Results[0]) {
		return ""
	}
	return s.reaches(op.Arg(ir.ParamX), softplusLimit)
}

func logSumExpRange(s *search, op *ir.Op) string {
	x := op.Arg(ir.ParamX)
	n, out := x.Type.Elems(), op.Results[0].Type.Elems()
	if !s.fp16(op.Results[0]) || n <= 0 || out <= 0 {
		return ""
	}
	return s.reaches(x, math.Log(overFP16*float64(out)/float64(n)))
}

// logOfExp follows the operand of a logarithm back through sums to an exponential.
func logOfExp(s *search, op *ir.Op) string {
	if !s.fp16(op.Results[0]) {
		return ""
	}
	v := op.Arg(ir.ParamX)
	for range fewSteps {
		v = source(v)
		switch d := v.Def; {
		case d == nil:
			return ""
		case d.Is(ir.OpExp):
			return s.reaches(d.Arg(ir.ParamX), expLimit)
		case d.Is(ir.OpCumsum, ir.OpReduceSum):
			v = d.Arg(ir.ParamX)
		case d.Is(ir.OpAdd) && d.Arg(ir.ParamX).Const != nil:
			v = d.Arg(ir.ParamY)
		case d.Is(ir.OpAdd) && d.Arg(ir.ParamY).Const != nil:
			v = d.Arg(ir.ParamX)
		default:
			return ""
		}
	}
	return ""
}

// productRange judges a product by its range. Rows that add up to 1 do not reach the sum of their bounds.
func productRange(s *search, op *ir.Op) string {
	y := op.Results[0]
	if !s.fp16(y) || op.Is(ir.OpMatMul) && probabilities(op) > 0 || !s.bounded(op) {
		return ""
	}
	r, ok := s.judged().Computed(y)
	if !ok || r.Mag() <= productLimit {
		return ""
	}
	return inWords(y, r)
}

// bounded reports whether the operands of a product that are computed have known ranges.
func (s *search) bounded(op *ir.Op) bool {
	all := true
	op.Operands(func(_ *ir.Param, v *ir.Value) { all = all && !s.open(v) })
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		if all && v.Const == nil && v.Type.DType.IsFloat() {
			_, all = s.bounds(v)
		}
	})
	return all
}

func sliceRange(s *search, op *ir.Op) string {
	a, err := ir.SliceAttrs(op)
	if err != nil || len(a) == 0 || !s.fp16(op.Results[0]) {
		return ""
	}
	if last := a[len(a)-1]; last.Begin == 0 || last.Begin == ir.Unknown {
		return ""
	}
	return s.exceeds(op.Arg(ir.ParamX), sliceLimit)
}

// squareLimit is the largest number whose square fp16 holds.
const squareLimit = 255.9

// squareRange judges a square that a mean or a sum reads.
func squareRange(s *search, op *ir.Op) string {
	x := op.Arg(ir.ParamX)
	switch {
	case !s.fp16(op.Results[0]):
		return ""
	case op.Is(ir.OpMul) && op.Arg(ir.ParamY) != x:
		return ""
	case op.Is(ir.OpPow):
		if e, ok := ir.ArgFloat(op, ir.ParamY); !ok || e != 2 {
			return ""
		}
	}
	detail := s.exceeds(x, squareLimit)
	if detail == "" || !op.Is(ir.OpReduceSumSquare) && !s.reduced(op.Results[0]) {
		return ""
	}
	return detail
}

// reduced reports whether a mean or a sum of a value is taken.
func (s *search) reduced(v *ir.Value) bool {
	for _, r := range s.readers(v) {
		if r.Is(ir.OpReduceMean, ir.OpReduceSum) || r.Is(ir.OpCast) && s.reduced(r.Results[0]) {
			return true
		}
	}
	return false
}

func nanTest(s *search, op *ir.Op) string {
	x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	if x != y || x.Const != nil || !s.fp16(x) {
		return ""
	}
	return x.Name + " with itself"
}

func layerNormOneAffine(_ *search, op *ir.Op) string {
	n, gamma, beta, ok := affine(op)
	if !ok || gamma == beta {
		return ""
	}
	which := "gamma"
	if beta {
		which = "beta"
	}
	return fmt.Sprintf("over %d elements; only %s differs", n, which)
}

func layerNormValues(_ *search, op *ir.Op) string {
	n, gamma, beta, ok := affine(op)
	if !ok || !gamma || !beta {
		return ""
	}
	return fmt.Sprintf("over %d elements", n)
}

// leastAffine is the least number of elements of a layer_norm that reports are about.
const leastAffine = 1024

// affine returns over how many elements a layer_norm is, and whether its gamma and beta differ from element to element;
// ok is false if that is not known, or too few elements for a report.
func affine(op *ir.Op) (n int64, gamma, beta, ok bool) {
	n = 1
	x := op.Arg(ir.ParamX).Type
	axes, known := ir.ArgInts(op, ir.ParamAxes)
	if !known {
		return 0, false, false, false
	}
	for _, a := range axes {
		if a < 0 {
			a += int64(x.Rank())
		}
		if a < 0 || a >= int64(x.Rank()) || x.Shape[a] < 0 {
			return 0, false, false, false
		}
		n *= x.Shape[a]
	}
	if n < leastAffine {
		return n, false, false, false
	}
	g, ok1 := differs(op.Arg(ir.ParamGamma))
	b, ok2 := differs(op.Arg(ir.ParamBeta))
	return n, g, b, ok1 && ok2
}

// differs reports whether the elements of a constant differ, an absent one's do not; ok is false if its values are not
// known.
func differs(v *ir.Value) (yes, ok bool) {
	if v == nil {
		return false, true
	}
	c := v.Const
	if c == nil || c.Assumed != nil || c.Elems() < 1 {
		return false, false
	}
	first := c.Float(0)
	for i := range c.Elems() {
		if c.Float(i) != first {
			return true, true
		}
	}
	return false, true
}
