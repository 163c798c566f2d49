package lint

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

func productRows() map[*ir.Operation]transfer {
	return map[*ir.Operation]transfer{
		ir.OpConv: convRange, ir.OpConvTranspose: convTransposeRange, ir.OpLinear: linearRange,
		ir.OpMatMul: matmulRange,
		ir.OpEinsum: einsumRange,
		ir.OpScaledDotProductAttention: func(c *call) []Interval {
			// A mean of rows of value; a fully masked row has none.
			v, scores := c.in(ir.ParamValue).With(0), c.sumOfProducts(c.in(ir.ParamQuery), c.in(ir.ParamKey), 65536,
				true)
			if c.has(ir.ParamAttnMask) {
				scores = interval.Add(scores, c.in(ir.ParamAttnMask))
			}
			v.NaN = !scores.Finite() || !v.Finite()
			return one(v.Slack(64, v.Mag()))
		},
	}
}

// affine is a sum for each row, of products of constants and numbers of one range.
type affine struct {
	c      *call
	x      Interval
	flush  bool    // subnormal factors count as zero or as themselves
	absent bool    // a term may be missing
	norm   float64 // bound of the root of the sum of a row's squares, 0 for none
	r      Interval
	hot    witness.Peaks
	rows   []Interval // by index
	hi, lo float64
}

func (c *call) newAffine(x Interval, axis int, absent bool) *affine {
	if c.engine && x.Mig() < numerics.MinNormalFP16 && !x.Empty() {
		x = x.With(0)
	}
	return &affine{
		c:      c,
		x:      x,
		flush:  c.engine,
		absent: absent,
		r:      interval.Nothing,
		hot:    witness.Peaks{Axis: axis},
		hi:     -inf,
		lo:     inf,
	}
}

// row adds the row of that index: n terms with the coefficients that at returns, and a bias.
func (f *affine) row(index, n int64, at func(i int64) float64, bias float64) {
	x := f.x
	var pos, neg, small, squares float64 // sums of the coefficients of either sign, of subnormal ones, and of squares
	odd := false
	for i := range n {
		w := at(i)
		squares += w * w
		if f.flush && math.Abs(w) < numerics.MinNormalFP16 {
			small += math.Abs(w)
		}
		switch {
		case w > 0:
			pos += w
		case w < 0:
			neg -= w
		case w != w:
			odd = true
		}
	}
	if odd || bias != bias || x.Empty() || !x.Finite() || math.IsInf(pos, 0) || math.IsInf(neg, 0) {
		f.r = interval.All
		return
	}
	l, h := x.Lo, x.Hi
	if f.absent {
		l, h = min(l, 0), max(h, 0)
	}
	total := (pos+neg)*x.Mag() + math.Abs(bias)
	v := interval.Span(pos*l-neg*h, pos*h-neg*l)
	above, below := max(h, 0), max(-l, 0)
	running := interval.Span(-pos*below-neg*above, pos*above+neg*below)
	if f.norm > 0 && !f.absent {
		// By the Cauchy-Schwarz inequality the sum is at most the row's norm times the operand's; so is the sum of any
		// part of the row.
		m := f.norm * math.Sqrt(squares)
		v.Lo, v.Hi = max(v.Lo, -m), min(v.Hi, m)
		running.Lo, running.Hi = max(running.Lo, -m), min(running.Hi, m)
	}
	f.c.reach(running, total)
	running = running.With(bias)
	// n roundings of the sum and of the products.
	v = f.c.staged(interval.Span(v.Lo+bias, v.Hi+bias).Slack(float64(n)+1, total), running, total)
	if e := small * x.Mag(); e > 0 {
		v.Lo, v.Hi = v.Lo-e, v.Hi+e
	}
	if f.absent {
		// The result is the bias where every term is missing.
		v = v.With(bias)
	}
	if v.Hi > f.hi {
		f.hi, f.hot.Hi = v.Hi, index
	}
	if v.Lo < f.lo {
		f.lo, f.hot.Lo = v.Lo, index
	}
	f.r = f.r.Hull(v)
	for int64(len(f.rows)) <= index {
		f.rows = append(f.rows, interval.Nothing)
	}
	f.rows[index] = f.rows[index].Hull(v)
}

// result sets the hot rows of the call and returns the range. If the operand is unbounded, so is the sum.
func (f *affine) result(c *call) []Interval {
	if f.r.Finite() {
		c.hot = &f.hot
		if s := c.op.Results[0].Type.Shape; f.hot.Axis >= 0 && f.hot.Axis < len(s) &&
			s[f.hot.Axis] == int64(len(f.rows)) {
			c.rows = &rows{f.hot.Axis, f.rows}
		}
	}
	return one(f.r)
}

// plus adds a range to every row.
func (f *affine) plus(r Interval) {
	f.r = interval.Add(f.r, r)
	for i, v := range f.rows {
		f.rows[i] = interval.Add(v, r)
	}
}

// biasOf returns the bias of each output channel if it is a constant, else nil and the range of the bias.
func biasOf(c *call) (at func(o int64) float64, rest Interval) {
	rest = Interval{}
	at = func(int64) float64 { return 0 }
	if !c.has(ir.ParamBias) {
		return at, rest
	}
	if k := c.constant(ir.ParamBias); k != nil {
		n := k.Elems()
		return func(o int64) float64 { return k.Float(min(o, n-1)) }, rest
	}
	return at, c.in(ir.ParamBias)
}

// sumOfProducts is the sum of n products of two ranges; any of them may be missing if absent is set.
func (c *call) sumOfProducts(x, y Interval, n float64, absent bool) Interval {
	if c.engine && min(x.Mig(), y.Mig()) < numerics.MinNormalFP16 {
		absent = true // subnormal operands count as zero
	}
	p := interval.Mul(x, y)
	if p.Empty() {
		return Interval{NaN: p.NaN}
	}
	if absent {
		p = p.With(0)
	}
	total := p.Mag() * n
	running := p.With(0).Scale(n)
	c.reach(running, total)
	return c.staged(p.Scale(n).Slack(n+1, total), running, total)
}

// stageLoss is the share of the magnitudes of products that the accumulator's first stage may lose: seven roundings to
// twelve bits ("Products" in docs/numerics.md), and a little for the roundings of sums.
const stageLoss = 7.1 / 4096

// staged widens the range of a sum on the engine by what the first stage may lose of products whose magnitudes add up
// to total. terms is the range of sums of some of them and zero: without terms of one sign, rounding produces no sum of
// that sign.
func (c *call) staged(v, terms Interval, total float64) Interval {
	e := total * stageLoss
	if !c.engine || !(e > 0) || v.Empty() {
		return v
	}
	if terms.Lo < 0 || v.Lo < 0 {
		v.Lo -= e
	} else {
		v.Lo = max(0, v.Lo-e)
	}
	if terms.Hi > 0 || v.Hi > 0 {
		v.Hi += e
	} else {
		v.Hi = min(0, v.Hi+e)
	}
	return v
}

// reach notes what a sum on the engine may reach before its last product.
func (c *call) reach(v Interval, total float64) {
	if c.engine {
		c.running = c.running.Hull(c.staged(v, v, total))
	}
}

func padded(a *ir.Conv) bool {
	for i := range a.PadBefore {
		if a.PadBefore[i] != 0 || a.PadAfter[i] != 0 {
			return true
		}
	}
	return false
}

func convRange(c *call) []Interval {
	a, err := ir.ConvAttrs(c.op)
	w := c.op.Arg(ir.ParamWeight)
	if err != nil || w == nil || !w.Type.Static() {
		return c.unknown()
	}
	shape := w.Type.Shape
	n := int64(1)
	for _, d := range shape[1:] {
		n *= d
	}
	x := c.in(ir.ParamX)
	bias, rest := biasOf(c)
	k := c.constant(ir.ParamWeight)
	if k == nil {
		r := c.sumOfProducts(x, c.in(ir.ParamWeight), float64(n), padded(&a))
		b := interval.Nothing
		for o := range shape[0] {
			b = b.With(bias(o))
		}
		return one(interval.Add(interval.Add(r, b), rest))
	}
	f := c.newAffine(x, 1, padded(&a))
	if m, axis := c.a.rowNorm(c.op.Arg(ir.ParamX)); axis == 1 && a.Groups == 1 && n == shape[1] {
		f.norm = m
	}
	for o := range rowsRead(k, shape[0]) {
		f.row(o, n, func(i int64) float64 { return k.Float(o*n + i) }, bias(o))
	}
	f.plus(rest)
	return f.result(c)
}

// convTransposeRange allows any number of the kernel's products in an output, or none.
func convTransposeRange(c *call) []Interval {
	a, err := ir.ConvAttrs(c.op)
	w := c.op.Arg(ir.ParamWeight)
	k := c.constant(ir.ParamWeight)
	if err != nil || w == nil || !w.Type.Static() || a.Groups < 1 {
		return c.unknown()
	}
	bias, rest := biasOf(c)
	cin, per := w.Type.Shape[0], w.Type.Shape[1] // input channels, outputs per group
	taps := int64(1)
	for _, d := range w.Type.Shape[2:] {
		taps *= d
	}
	group := cin / a.Groups
	if k == nil || group < 1 {
		r := c.sumOfProducts(c.in(ir.ParamX), c.in(ir.ParamWeight), float64(cin*taps), true)
		b := interval.Nothing
		for o := range per * a.Groups {
			b = b.With(bias(o))
		}
		return one(interval.Add(interval.Add(r, b), rest))
	}
	f := c.newAffine(c.in(ir.ParamX), 1, true)
	for o := range rowsRead(k, per*a.Groups) {
		g, within := o/per, o%per
		f.row(o, group*taps, func(i int64) float64 {
			return k.Float(((g*group+i/taps)*per+within)*taps + i%taps)
		}, bias(o))
	}
	f.plus(rest)
	return f.result(c)
}

// assumedRows is the number of rows of assumed values that are looked at, since such rows are alike.
const assumedRows = 16

// rowsRead returns how many of n rows of a constant are looked at.
func rowsRead(k *ir.Const, n int64) int64 {
	if k.Assumed != nil && k.Elems() > knownElems {
		return min(n, assumedRows)
	}
	return n
}

func linearRange(c *call) []Interval {
	w := c.op.Arg(ir.ParamWeight)
	if w == nil || !w.Type.Static() || w.Type.Rank() != 2 {
		return c.unknown()
	}
	outs, n := w.Type.Shape[0], w.Type.Shape[1]
	bias, rest := biasOf(c)
	k := c.constant(ir.ParamWeight)
	if k == nil {
		r := c.sumOfProducts(c.in(ir.ParamX), c.in(ir.ParamWeight), float64(n), false)
		b := interval.Nothing
		for o := range outs {
			b = b.With(bias(o))
		}
		return one(interval.Add(interval.Add(r, b), rest))
	}
	f := c.newAffine(c.in(ir.ParamX), c.op.Results[0].Type.Rank()-1, false)
	if m, axis := c.a.rowNorm(c.op.Arg(ir.ParamX)); axis == c.op.Arg(ir.ParamX).Type.Rank()-1 {
		f.norm = m
	}
	for o := range rowsRead(k, outs) {
		f.row(o, n, func(i int64) float64 { return k.Float(o*n + i) }, bias(o))
	}
	f.plus(rest)
	return f.result(c)
}

// matrices adds the rows of constant matrices, or their columns.
func (f *affine) matrices(k *ir.Const, byRows bool) {
	s := k.Type.Shape
	rows, cols := s[len(s)-2], s[len(s)-1]
	for b := range rowsRead(k, batches(s)) {
		at := b * rows * cols
		if byRows {
			for j := range rowsRead(k, rows) {
				f.row(j, cols, func(i int64) float64 { return k.Float(at + j*cols + i) }, 0)
			}
			continue
		}
		for j := range rowsRead(k, cols) {
			f.row(j, rows, func(i int64) float64 { return k.Float(at + i*cols + j) }, 0)
		}
	}
}

// matmulRange follows the columns of a constant y, or the rows of a constant x.
func matmulRange(c *call) []Interval {
	m, err := ir.MatMulAttrs(c.op)
	if err != nil {
		return c.unknown()
	}
	x, y := c.in(ir.ParamX), c.in(ir.ParamY)
	kx, ky := c.constant(ir.ParamX), c.constant(ir.ParamY)
	rank := c.op.Results[0].Type.Rank()
	switch {
	case ky != nil && kx == nil && ky.Type.Rank() >= 2:
		f := c.newAffine(x, rank-1, false)
		if m2, axis := c.a.rowNorm(c.op.Arg(ir.ParamX)); !m.TransposeX && axis == c.op.Arg(ir.ParamX).Type.Rank()-1 {
			f.norm = m2
		}
		f.matrices(ky, m.TransposeY)
		return f.result(c)
	case kx != nil && ky == nil && kx.Type.Rank() >= 2:
		f := c.newAffine(y, rank-2, false)
		f.matrices(kx, !m.TransposeX)
		out := f.result(c)
		if m.VectorY {
			c.rows = nil // the rows' axis is the last
		}
		return out
	}
	if m.K < 0 {
		return c.unknown()
	}
	r := c.sumOfProducts(x, y, float64(m.K), false)
	if x.Finite() && weightsOf(c.op.Arg(ir.ParamX), &m) {
		c.running = Interval{}
		r = c.staged(within(r, c.sumOfProducts(interval.Span(0, 1), y, 1, true), float64(m.K)), y.With(0), y.Mag())
	}
	return one(r)
}

// weightsOf reports whether the rows of x are the results of a softmax, which are
// not negative and add up to one.
func weightsOf(x *ir.Value, m *ir.MatMul) bool {
	// Masked weights stay weights: what replaces them is 0.
	for range 4 {
		if x.Def == nil || !x.Def.Is(ir.OpSelect) {
			break
		}
		a, b := x.Def.Arg(ir.ParamA), x.Def.Arg(ir.ParamB)
		switch {
		case zeros(a) && slices.Equal(b.Type.Shape, x.Type.Shape):
			x = b
		case zeros(b) && slices.Equal(a.Type.Shape, x.Type.Shape):
			x = a
		default:
			return false
		}
	}
	if x.Def == nil || !x.Def.Is(ir.OpSoftmax) || m.TransposeX {
		return false
	}
	axis, err := ir.AxisAttr(x.Def, ir.ParamAxis, x.Type.Rank())
	return err == nil && axis == x.Type.Rank()-1
}

// zeros reports whether a value is a constant of zeros.
func zeros(v *ir.Value) bool {
	return v.Const != nil && v.Const.Type.DType != ir.String && interval.OfConst(v.Const) == Interval{}
}

// within limits the bounds of r to the bounds of v, widened by the rounding of n weights in fp16: a share of 2^-11 each
// and, for small ones, half of the smallest number.
func within(r, v Interval, n float64) Interval {
	v = v.Slack(1, v.Mag()*(4096+n/4))
	r.Lo, r.Hi = max(r.Lo, v.Lo), min(r.Hi, v.Hi)
	return r
}

func batches(s []int64) int64 {
	n := int64(1)
	for _, d := range s[:len(s)-2] {
		n *= d
	}
	return n
}

// einsumRange counts the terms of the labels missing from the result.
func einsumRange(c *call) []Interval {
	eq, ok := ir.ArgString(c.op, ir.ParamEquation)
	if !ok {
		return c.unknown()
	}
	operands, result, ok := ir.ParseEinsum(eq)
	vs := c.op.ArgList(ir.ParamValues)
	if !ok || len(operands) != 2 || len(vs) != 2 {
		return c.unknown()
	}
	kept := map[byte]bool{}
	for i := range len(result) {
		kept[result[i]] = true
	}
	n, seen := 1.0, map[byte]bool{}
	for i, o := range operands {
		s := vs[i].Type.Shape
		if len(s) != len(o) {
			return c.unknown()
		}
		for j := range len(o) {
			if kept[o[j]] || seen[o[j]] {
				continue
			}
			if s[j] < 0 {
				return c.unknown()
			}
			seen[o[j]] = true
			n *= float64(s[j])
		}
	}
	return one(c.sumOfProducts(c.read(vs[0]), c.read(vs[1]), n, false))
}
