package lint

import (
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/numerics"
)

func verifyNumber(x float64) verify.Number { return verify.Number(x) }

// epsilonOf returns the epsilon of an operation as written and in fp16.
func (s *site) epsilonOf() (e, half float64) {
	e = (&call{a: s.a, op: s.op}).number(ir.ParamEpsilon)
	return e, fp16(e)
}

func checkLogZero(s *site) *suspect {
	x := s.of(ir.ParamX)
	_, e := s.epsilonOf()
	if !s.engine || !(x.Lo+e <= 0 && x.Hi+e >= 0) {
		return nil
	}
	p := s.suspect(s.arg(ir.ParamX), x, interval.Number(0-e))
	p.Goals = []witness.Goal{witness.Near(s.arg(ir.ParamX), -e)}
	p.Gap = p.reaches(-e)
	p.ANE = true
	if s.op.Is(ir.OpLog) && ofSoftmax(s.arg(ir.ParamX)) {
		p.instead = logSoftmax
	}
	return p.anyOf(s.arg(ir.ParamX), func(v float64) bool { return v+e == 0 })
}

// logSoftmax is what to write for the logarithm of a softmax: an epsilon would replace the small probabilities.
const logSoftmax = "Write the logarithm of a softmax as one function: d = x - reduce_max(x), then " +
	"d - log(reduce_sum(exp(d))), over the softmax's axis. The sum is at least 1, so no epsilon is needed; one would " +
	"change every small probability."

// ofSoftmax reports whether a value has elements of a softmax, one operation or written out.
func ofSoftmax(v *ir.Value) bool {
	for range 16 {
		v = witness.Unreshaped(v)
		if v == nil || v.Def == nil {
			return false
		}
		op := v.Def
		switch {
		case op.Is(ir.OpSoftmax) || quotientOfSum(op) != nil:
			return true
		case op.Is(ir.OpCast) || op.Def.Picks != nil || op.Is(ir.OpSliceByIndex, ir.OpSliceBySize):
			v = op.Arg(ir.ParamX)
		case op.Is(ir.OpAdd, ir.OpMaximum, ir.OpClip): // an epsilon
			if y := op.Arg(ir.ParamY); y != nil && y.Const == nil {
				return false
			}
			v = op.Arg(ir.ParamX)
		default:
			return false
		}
	}
	return false
}

// reaches is the gap to a number that values reach or not, whatever their magnitude.
func (p *suspect) reaches(x float64) func(seen func(v *ir.Value) Interval) float64 {
	return func(seen func(v *ir.Value) Interval) float64 { return within1(seen(p.Value).Has(x)) }
}

func checkNegative(s *site) *suspect {
	x := s.of(ir.ParamX)
	e := 0.0
	if !s.op.Is(ir.OpSqrt) {
		_, e = s.epsilonOf()
	}
	if !s.engine || x.Lo+e >= 0 || behindVariance(s.arg(ir.ParamX)) {
		return nil
	}
	p := s.suspect(s.arg(ir.ParamX), x, interval.Number(0-e))
	p.Goals = []witness.Goal{witness.Least(s.arg(ir.ParamX), nil)}
	p.Gap = func(seen func(v *ir.Value) Interval) float64 { return within1(seen(p.Value).Lo+e < 0) }
	return p.anyOf(s.arg(ir.ParamX), func(v float64) bool { return v+e < 0 })
}

func checkConstant(s *site) *suspect {
	if !s.engine {
		return nil
	}
	product := s.op.Is(ir.OpMul) || s.op.Def.Class == ir.Product
	for _, n := range []ir.ParamName{ir.ParamX, ir.ParamY, ir.ParamWeight, ir.ParamBias} {
		v := s.arg(n)
		if v == nil {
			continue
		}
		k := s.a.Constant(v)
		if k == nil {
			continue
		}
		r := s.a.constOf(k)
		if !r.NaN && !(product && math.IsInf(r.Mag(), 0)) {
			continue
		}
		p := s.suspect(v, r, "finite")
		p.detail = fmt.Sprintf("%s contains a number that is not finite", n)
		if r.NaN {
			p.Gap = func(func(v *ir.Value) Interval) float64 { return 1 }
			p.Reached = func(witness.Trace) (float64, bool) { return math.NaN(), true }
			return p
		}
		other := s.arg(ir.ParamX)
		if other == v {
			other = s.arg(ir.ParamY)
		}
		if !s.a.Range(other).Has(0) {
			continue // infinity times a nonzero number is infinity
		}
		p.Goals = []witness.Goal{witness.Near(other, 0)}
		p.Gap = func(seen func(v *ir.Value) Interval) float64 { return within1(seen(other).Has(0)) }
		return p.anyOf(other, func(v float64) bool { return v == 0 })
	}
	return nil
}

func checkSubnormal(s *site) *suspect {
	if !s.engine {
		return nil
	}
	x := s.of(ir.ParamX)
	if x.Mag() > 0 && x.Mag() < numerics.MinNormalFP16 {
		p := s.suspect(s.arg(ir.ParamX), x, "6.10352e-05")
		p.instead = fmt.Sprintf("Multiply x by 2^%d before the product, and divide after the values are large enough.",
			powerOver(1/x.Mag(), 1))
		p.Goals = []witness.Goal{witness.Most(s.arg(ir.ParamX), nil)}
		p.Gap = func(seen func(v *ir.Value) Interval) float64 { return within1(seen(p.Value).Mag() > 0) }
		return p.anyOf(s.arg(ir.ParamX), func(v float64) bool { return v != 0 && math.Abs(v) < numerics.MinNormalFP16 })
	}
	name, w := "weight", s.arg(ir.ParamWeight)
	if w == nil {
		name, w = "y", s.arg(ir.ParamY)
	}
	if w == nil {
		return nil
	}
	k := s.a.Constant(w)
	if k == nil || k.Type.Rank() < 2 {
		return nil
	}
	row, share := flushedRow(k, s.op)
	if share <= witness.OwnShare {
		return nil
	}
	p := s.suspect(w, s.a.constOf(k), "6.10352e-05")
	p.detail = fmt.Sprintf("%.0f %% of row %d of %s is below the limit", 100*share, row, name)
	p.Gap = func(seen func(v *ir.Value) Interval) float64 {
		return within1(seen(s.arg(ir.ParamX)).Mag() >= numerics.MinNormalFP16)
	}
	p.Goals = []witness.Goal{witness.Most(s.result(), &witness.Peaks{
		Axis: axisOfRows(s.op),
		Hi:   row,
		Lo:   row,
	}), witness.Least(s.result(), &witness.Peaks{Axis: axisOfRows(s.op), Hi: row, Lo: row})}
	return p.anyOf(s.arg(ir.ParamX), func(v float64) bool { return math.Abs(v) >= numerics.MinNormalFP16 })
}

// axisOfRows is the axis of a product's result that counts the rows of its
// weight.
func axisOfRows(op *ir.Op) int {
	if op.Is(ir.OpConv) {
		return 1
	}
	return op.Results[0].Type.Rank() - 1
}

// flushedRow returns the row of a weight whose subnormal share, by magnitude, is the largest.
func flushedRow(k *ir.Const, op *ir.Op) (row int64, share float64) {
	shape := k.Type.Shape
	rows, n := shape[0], int64(1)
	for _, d := range shape[1:] {
		n *= d
	}
	at := func(o, i int64) float64 { return k.Float(o*n + i) }
	if op.Is(ir.OpMatMul) {
		if len(shape) != 2 {
			return 0, 0
		}
		if t, _ := ir.ArgBool(op, ir.ParamTransposeY); !t {
			cols := shape[1]
			rows, n = cols, shape[0]
			at = func(o, i int64) float64 { return k.Float(i*cols + o) }
		}
	}
	for o := range rows {
		var small, whole float64
		for i := range n {
			a := math.Abs(at(o, i))
			whole += a
			if a < numerics.MinNormalFP16 {
				small += a
			}
		}
		if whole > 0 && small/whole > share {
			row, share = o, small/whole
		}
	}
	return row, share
}

func checkEpsilon(s *site) *suspect {
	e, half := s.epsilonOf()
	if !s.engine || !(e > 0) || math.Abs(half-e) <= e*witness.OwnShare {
		return nil
	}
	if v := s.arg(ir.ParamEpsilon); v == nil {
		return nil // a default that is none
	}
	x := s.of(ir.ParamX)
	p := s.suspect(s.arg(ir.ParamX), x, interval.Number(e))
	p.detail = fmt.Sprintf("epsilon %s is %s in fp16", interval.Number(e), interval.Number(half))
	if s.op.Is(ir.OpLayerNorm) {
		p.anyOf(s.arg(ir.ParamX), func(float64) bool { return true })
		xv := s.arg(ir.ParamX)
		p.Reached = func(t witness.Trace) (float64, bool) {
			r := interval.Nothing
			for _, v := range t.Floats(xv) {
				r = r.With(v)
			}
			return r.Hi - r.Lo, r.Hi > r.Lo && r.Hi-r.Lo < 16*math.Sqrt(e)+1e-6
		}
		return p
	}
	if !(x.Lo <= 0 && x.Hi >= 0) {
		return nil
	}
	if s.op.Is(ir.OpLog) && ofSoftmax(s.arg(ir.ParamX)) {
		p.instead = logSoftmax
	}
	p.Goals = []witness.Goal{witness.Near(s.arg(ir.ParamX), 0)}
	p.Gap = p.reaches(0)
	return p.anyOf(s.arg(ir.ParamX), func(v float64) bool { return v >= 0 && v < 4*e })
}

// leastReciprocal is the largest number whose reciprocal exceeds fp16.
const leastReciprocal = 1.0 / half16

func checkReciprocal(s *site) *suspect {
	y := s.of(ir.ParamY)
	if !s.isFP16() || s.arg(ir.ParamY).Const != nil || y.Mig() >= leastReciprocal {
		return nil
	}
	if quotientOfSum(s.op) != nil {
		return nil // softmax-without-max, or with it, where one term is 1
	}
	p := s.suspect(s.arg(ir.ParamY), y, "1.53e-05")
	p.Goals = []witness.Goal{witness.Near(s.arg(ir.ParamY), leastReciprocal/2), witness.Near(s.arg(ir.ParamY),
		-leastReciprocal/2)}
	p.Gap = func(seen func(v *ir.Value) Interval) float64 { return seen(p.Value).Mig() / leastReciprocal }
	return p.anyOf(s.arg(ir.ParamY), func(v float64) bool { return math.Abs(v) < leastReciprocal })
}

func checkSignedZero(s *site) *suspect {
	y := s.of(ir.ParamY)
	if !s.engine || s.arg(ir.ParamY).Const != nil || !(y.Lo < 0 && y.Hi == 0) {
		return nil
	}
	p := s.suspect(s.arg(ir.ParamY), y, "-0")
	p.Goals = []witness.Goal{witness.Most(s.arg(ir.ParamY), nil)}
	p.Gap = p.reaches(0)
	return p.anyPair(s.arg(ir.ParamX), s.arg(ir.ParamY), func(x, y float64) bool {
		return x != 0 && y == 0 && math.Signbit(y)
	})
}

// tabled returns the operations that read their results from a lookup table without parameters, for which keep holds.
func tabled(keep func(k *ir.Curve) bool) (os []*ir.Operation) {
	for _, o := range ir.Operations {
		k := o.Curve
		if o.Modes != nil {
			k = o.Modes["EXACT"]
		}
		if o.Error == numerics.Table && k != nil && k.Table != "" && len(k.Params) == 0 && keep(k) {
			os = append(os, o)
		}
	}
	return os
}

var (
	tableOps    = tabled(func(k *ir.Curve) bool { return !k.Relative })
	zeroTailOps = tabled(func(k *ir.Curve) bool { return k.ZeroTail })
)

// activationOf returns the table of an operation and its function.
func activationOf(op *ir.Op) *weights.Activation {
	k := ir.CurveOf(op)
	if k == nil {
		return nil
	}
	a, err := weights.Activate(k.Table)
	if err != nil {
		return nil
	}
	return a
}

// tableAt evaluates a table at an fp16 number.
func tableAt(a *weights.Activation, x uint16) float64 {
	v := numerics.Narrow(numerics.Widen(x) * numerics.Widen(a.Scale))
	return float64(numerics.Widen(a.Table.Eval(v)))
}

// eachFP16 calls f for every finite fp16 number of a range.
func eachFP16(r Interval, f func(h uint16, x float64)) {
	for i := range 1 << 16 {
		h := uint16(i)
		if x := float64(numerics.Widen(h)); x == x && !math.IsInf(x, 0) && r.Lo <= x && x <= r.Hi {
			f(h, x)
		}
	}
}

func checkTableError(s *site) *suspect {
	x := s.of(ir.ParamX)
	if !s.engine || !s.isFP16() || x.Empty() {
		return nil
	}
	// Where the function is at least a fourth, no table's error is a sixteenth of it.
	if y := s.a.Range(s.result()); y.Mag() >= 0.25 {
		return nil
	}
	a := activationOf(s.op)
	if a == nil {
		return nil
	}
	worst, at, top := 0.0, 0.0, 0.0
	eachFP16(x, func(h uint16, v float64) {
		want := a.F(v)
		top = max(top, math.Abs(want))
		if e := math.Abs(tableAt(a, h) - want); e > worst {
			worst, at = e, v
		}
	})
	if top < numerics.MinNormalFP16 || worst <= top*witness.OwnShare {
		return nil
	}
	p := s.suspect(s.arg(ir.ParamX), x, fmt.Sprintf("an error of %s", interval.Number(worst)))
	p.detail = fmt.Sprintf("results are at most %s, and the error of the table at %[3]s is %[2]s", interval.Number(top),
		interval.Number(worst),
		interval.Number(at))
	p.Goals = []witness.Goal{witness.Near(s.arg(ir.ParamX), at)}
	p.Gap = p.reaches(at)
	return p.anyOf(s.arg(ir.ParamX), func(v float64) bool {
		want := a.F(v)
		return math.Abs(tableAt(a, numerics.Narrow(float32(v)))-want) > math.Abs(want)*witness.OwnShare
	})
}

// zeroReader reports whether an operation has no finite result where v is 0.
func zeroReader(op *ir.Op, v *ir.Value) bool {
	switch op.Def.Operation {
	case ir.OpLog, ir.OpRsqrt, ir.OpInverse:
		return op.Arg(ir.ParamX) == v
	case ir.OpRealDiv:
		return op.Arg(ir.ParamY) == v
	}
	return false
}

func checkZeroTail(s *site) *suspect {
	x := s.of(ir.ParamX)
	if !s.engine || !s.isFP16() || x.Empty() {
		return nil
	}
	var reader *ir.Op
	for _, u := range s.a.uses.Get(s.result()) {
		if zeroReader(u, s.result()) {
			reader = u
		}
	}
	if reader == nil {
		return nil
	}
	a := activationOf(s.op)
	if a == nil {
		return nil
	}
	bound, found := -inf, false
	eachFP16(x, func(h uint16, v float64) {
		if a.F(v) > 0 && tableAt(a, h) == 0 && v > bound {
			bound, found = v, true
		}
	})
	if !found {
		return nil
	}
	p := s.suspect(s.arg(ir.ParamX), x, interval.Number(bound))
	p.detail = fmt.Sprintf("the result of the table is 0 from %s down, and %s reads it", interval.Number(bound),
		reader.Def.Name)
	p.Region = []*ir.Op{s.op, reader}
	p.Gap = func(seen func(v *ir.Value) Interval) float64 { return bound / min(seen(p.Value).Lo, 0) }
	p.Goals = []witness.Goal{witness.Near(s.arg(ir.ParamX), max(bound*1.1, x.Lo)), witness.Least(s.arg(ir.ParamX), nil)}
	return p.anyOf(s.arg(ir.ParamX), func(v float64) bool { return v <= bound })
}

// within1 returns 1 if the condition holds, else infinity.
func within1(holds bool) float64 {
	if holds {
		return 1
	}
	return math.Inf(1)
}
