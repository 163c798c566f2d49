package lint

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// Interval is a set of numbers: all from Lo to Hi, infinities as numbers, and
// NaN where NaN is set. Lo above Hi represents no numbers.
type Interval struct {
	Lo, Hi float64
	NaN    bool
}

var inf = math.Inf(1)

// span returns the numbers from lo to hi; a bound that is NaN is none.
func span(lo, hi float64) Interval {
	v := Interval{Lo: lo, Hi: hi}
	if lo != lo {
		v.Lo = -inf
	}
	if hi != hi {
		v.Hi = inf
	}
	return v
}

var (
	nothing = Interval{Lo: inf, Hi: -inf}
	all     = Interval{Lo: -inf, Hi: inf, NaN: true}
)

func (v Interval) empty() bool { return v.Lo > v.Hi }

// Has reports whether x is in the interval.
func (v Interval) Has(x float64) bool {
	if x != x {
		return v.NaN
	}
	return v.Lo <= x && x <= v.Hi
}

// finite reports whether every element is a number.
func (v Interval) finite() bool {
	return !v.NaN && v.Lo > -inf && v.Hi < inf
}

// mag returns the largest magnitude, 0 of nothing.
func (v Interval) mag() float64 {
	if v.empty() {
		return 0
	}
	return max(math.Abs(v.Lo), math.Abs(v.Hi))
}

// mig returns the least magnitude.
func (v Interval) mig() float64 {
	if v.empty() || v.Has(0) {
		return 0
	}
	return min(math.Abs(v.Lo), math.Abs(v.Hi))
}

// hull returns the least interval that holds both.
func (v Interval) hull(w Interval) Interval {
	return Interval{Lo: min(v.Lo, w.Lo), Hi: max(v.Hi, w.Hi), NaN: v.NaN || w.NaN}
}

// with returns the hull of the interval and numbers.
func (v Interval) with(xs ...float64) Interval {
	for _, x := range xs {
		v.Lo, v.Hi = min(v.Lo, x), max(v.Hi, x)
	}
	return v
}

func (v Interval) neg() Interval { return Interval{Lo: -v.Hi, Hi: -v.Lo, NaN: v.NaN} }

// infinite reports which infinities the interval holds.
func (v Interval) infinite() (neg, pos bool) {
	return v.Lo == -inf && !v.empty(), v.Hi == inf && !v.empty()
}

func add(v, w Interval) Interval {
	if v.empty() || w.empty() {
		return Interval{Lo: inf, Hi: -inf, NaN: v.NaN || w.NaN}
	}
	vn, vp := v.infinite()
	wn, wp := w.infinite()
	r := span(v.Lo+w.Lo, v.Hi+w.Hi)
	r.NaN = v.NaN || w.NaN || vn && wp || vp && wn
	return r
}

func sub(v, w Interval) Interval { return add(v, w.neg()) }

// mul is the product; zero times infinity counts as NaN and, as a bound, as 0.
func mul(v, w Interval) Interval {
	if v.empty() || w.empty() {
		return Interval{Lo: inf, Hi: -inf, NaN: v.NaN || w.NaN}
	}
	r := nothing
	r.NaN = v.NaN || w.NaN || v.Has(0) && math.IsInf(w.mag(), 0) || w.Has(0) && math.IsInf(v.mag(), 0)
	for _, a := range [2]float64{v.Lo, v.Hi} {
		for _, b := range [2]float64{w.Lo, w.Hi} {
			p := a * b
			if p != p {
				p = 0
			}
			r = r.with(p)
		}
	}
	return r
}

// div is the quotient. A divisor that holds zero gives all numbers, since the
// sign of a zero is not followed.
func div(v, w Interval) Interval {
	if v.empty() || w.empty() {
		return Interval{Lo: inf, Hi: -inf, NaN: v.NaN || w.NaN}
	}
	nan := v.NaN || w.NaN || v.Has(0) && w.Has(0) || math.IsInf(v.mag(), 0) && math.IsInf(w.mag(), 0)
	if w.Has(0) {
		return Interval{Lo: -inf, Hi: inf, NaN: nan}
	}
	r := nothing
	r.NaN = nan
	for _, a := range [2]float64{v.Lo, v.Hi} {
		for _, b := range [2]float64{w.Lo, w.Hi} {
			q := a / b
			if q != q { // inf/inf, of which every quotient is a bound
				return Interval{Lo: -inf, Hi: inf, NaN: true}
			}
			r = r.with(q)
		}
	}
	return r
}

// scale is n equal terms added: n at least 1, or 0 for none.
func (v Interval) scale(n float64) Interval {
	if n == 0 || v.empty() {
		return Interval{NaN: v.NaN}
	}
	r := span(v.Lo*n, v.Hi*n)
	ng, ps := v.infinite()
	r.NaN = v.NaN || ng && ps && n > 1
	return r
}

// slack widens the bounds by what arithmetic in fp32 may round, n roundings of
// terms whose magnitudes add up to total. Rounding alone, without a sum, never
// takes a number past zero.
func (v Interval) slack(n, total float64) Interval {
	if v.empty() {
		return v
	}
	const ulp, least = 1.0 / (1 << 22), 1e-44
	e := total * n * ulp
	if e != e {
		e = 0
	}
	switch {
	case v.Lo > 0 && v.Lo < inf:
		v.Lo = max(0, v.Lo-v.Lo*ulp-least)
	case v.Lo < 0 && v.Lo > -inf:
		v.Lo += v.Lo*ulp - least
	}
	switch {
	case v.Hi < 0 && v.Hi > -inf:
		v.Hi = min(0, v.Hi-v.Hi*ulp+least)
	case v.Hi > 0 && v.Hi < inf:
		v.Hi += v.Hi*ulp + least
	}
	if v.Lo > -inf && v.Lo < inf {
		v.Lo -= e
	}
	if v.Hi < inf && v.Hi > -inf {
		v.Hi += e
	}
	return v
}

// largest returns the finite range of each type.
var largest = map[ir.DType][2]float64{
	ir.FP16: {-65504, 65504}, ir.FP32: {-math.MaxFloat32, math.MaxFloat32}, ir.FP64: {-math.MaxFloat64,
		math.MaxFloat64},
	ir.BF16: {-3.3895313892515355e38, 3.3895313892515355e38}, ir.FP8E4M3: {-448, 448}, ir.FP8E5M2: {-57344, 57344},
	ir.Bool: {0, 1}, ir.UInt1: {0, 1}, ir.UInt2: {0, 3}, ir.UInt3: {0, 7}, ir.UInt4: {0, 15}, ir.UInt6: {0, 63},
	ir.UInt8: {0, 255}, ir.UInt16: {0, 65535}, ir.UInt32: {0, 1<<32 - 1}, ir.UInt64: {0, 1 << 64},
	ir.Int4: {-8, 7}, ir.Int8: {-128, 127}, ir.Int16: {-1 << 15, 1<<15 - 1}, ir.Int32: {-1 << 31, 1<<31 - 1},
	ir.Int64: {-1 << 63, 1 << 63},
}

// typeRange is every value that a type holds: of floats infinities and NaN too.
func typeRange(d ir.DType) Interval {
	if d.IsFloat() {
		return all
	}
	if r, ok := largest[d]; ok {
		return span(r[0], r[1])
	}
	return all
}

// round returns the bounds as elements of a type. Rounding keeps order, so the
// rounded bounds hold the rounded numbers. Integers that leave their type wrap,
// which gives any of them.
func (v Interval) round(d ir.DType) Interval {
	if v.empty() {
		return v
	}
	switch {
	case d == ir.FP16:
		v.Lo, v.Hi = float64(numerics.Round16(narrow32(v.Lo))), float64(numerics.Round16(narrow32(v.Hi)))
	case d == ir.FP32:
		v.Lo, v.Hi = float64(narrow32(v.Lo)), float64(narrow32(v.Hi))
	case d.IsFloat():
		if r := largest[d]; v.Lo < r[0] || v.Hi > r[1] {
			return all
		}
		v = v.slack(1<<19, v.mag()) // types of few bits: an eighth of the magnitude, the least of fp8
	default:
		lo, hi := math.Floor(v.Lo), math.Ceil(v.Hi)
		if r := typeRange(d); lo < r.Lo || hi > r.Hi || v.NaN {
			return r
		}
		v.Lo, v.Hi = lo, hi
	}
	return v
}

// narrow32 is a float32 conversion in which numbers beyond the range become
// infinite.
func narrow32(x float64) float32 { return float32(x) }

// constRange returns the range of a constant's elements.
func constRange(c *ir.Const) Interval {
	r := nothing
	if c.Type.DType == ir.String {
		return all
	}
	n := c.Elems()
	for i := range n {
		x := c.Float(i)
		if x != x {
			r.NaN = true
			continue
		}
		r = r.with(x)
	}
	return r
}
