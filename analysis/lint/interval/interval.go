package interval

import (
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// Interval is a set of numbers: all from Lo to Hi, counting infinities as numbers, and NaN if NaN is set. If Lo is
// above Hi, there are no numbers.
type Interval struct {
	Lo, Hi float64
	NaN    bool
}

var inf = math.Inf(1)

// Span returns the numbers from lo to hi; a bound that is NaN does not limit them.
func Span(lo, hi float64) Interval {
	v := Interval{Lo: lo, Hi: hi}
	if lo != lo {
		v.Lo = -inf
	}
	if hi != hi {
		v.Hi = inf
	}
	return v
}

// The empty interval, and every number with NaN.
var (
	Nothing = Interval{Lo: inf, Hi: -inf}
	All     = Interval{Lo: -inf, Hi: inf, NaN: true}
)

// Empty reports whether the interval contains no number; it may contain NaN.
func (v Interval) Empty() bool { return v.Lo > v.Hi }

// Has reports whether x is in the interval.
func (v Interval) Has(x float64) bool {
	if x != x {
		return v.NaN
	}
	return v.Lo <= x && x <= v.Hi
}

// Finite reports whether every element is a number.
func (v Interval) Finite() bool {
	return !v.NaN && v.Lo > -inf && v.Hi < inf
}

// Mag returns the largest magnitude, 0 for an empty interval.
func (v Interval) Mag() float64 {
	if v.Empty() {
		return 0
	}
	return max(math.Abs(v.Lo), math.Abs(v.Hi))
}

// Mig returns the least magnitude.
func (v Interval) Mig() float64 {
	if v.Empty() || v.Has(0) {
		return 0
	}
	return min(math.Abs(v.Lo), math.Abs(v.Hi))
}

// Hull returns the smallest interval that contains both.
func (v Interval) Hull(w Interval) Interval {
	return Interval{Lo: min(v.Lo, w.Lo), Hi: max(v.Hi, w.Hi), NaN: v.NaN || w.NaN}
}

// With returns the hull of the interval and numbers.
func (v Interval) With(xs ...float64) Interval {
	for _, x := range xs {
		v.Lo, v.Hi = min(v.Lo, x), max(v.Hi, x)
	}
	return v
}

// Neg returns the interval of -x.
func (v Interval) Neg() Interval { return Interval{Lo: -v.Hi, Hi: -v.Lo, NaN: v.NaN} }

// Infinite reports which infinities the interval contains.
func (v Interval) Infinite() (neg, pos bool) {
	return v.Lo == -inf && !v.Empty(), v.Hi == inf && !v.Empty()
}

// Add is the sum.
func Add(v, w Interval) Interval {
	if v.Empty() || w.Empty() {
		return Interval{Lo: inf, Hi: -inf, NaN: v.NaN || w.NaN}
	}
	vn, vp := v.Infinite()
	wn, wp := w.Infinite()
	r := Span(v.Lo+w.Lo, v.Hi+w.Hi)
	r.NaN = v.NaN || w.NaN || vn && wp || vp && wn
	return r
}

// Sub is the difference.
func Sub(v, w Interval) Interval { return Add(v, w.Neg()) }

// Mul is the product; zero times infinity counts as NaN and, as a bound, as 0.
func Mul(v, w Interval) Interval {
	if v.Empty() || w.Empty() {
		return Interval{Lo: inf, Hi: -inf, NaN: v.NaN || w.NaN}
	}
	r := Nothing
	r.NaN = v.NaN || w.NaN || v.Has(0) && math.IsInf(w.Mag(), 0) || w.Has(0) && math.IsInf(v.Mag(), 0)
	for _, a := range [2]float64{v.Lo, v.Hi} {
		for _, b := range [2]float64{w.Lo, w.Hi} {
			p := a * b
			if p != p {
				p = 0
			}
			r = r.With(p)
		}
	}
	return r
}

// Div is the quotient. If the divisor contains zero the result is all numbers, since the sign of a zero is not
// followed.
func Div(v, w Interval) Interval {
	if v.Empty() || w.Empty() {
		return Interval{Lo: inf, Hi: -inf, NaN: v.NaN || w.NaN}
	}
	nan := v.NaN || w.NaN || v.Has(0) && w.Has(0) || math.IsInf(v.Mag(), 0) && math.IsInf(w.Mag(), 0)
	if w.Has(0) {
		return Interval{Lo: -inf, Hi: inf, NaN: nan}
	}
	r := Nothing
	r.NaN = nan
	for _, a := range [2]float64{v.Lo, v.Hi} {
		for _, b := range [2]float64{w.Lo, w.Hi} {
			q := a / b
			if q != q { // inf/inf: every quotient is a bound
				return Interval{Lo: -inf, Hi: inf, NaN: true}
			}
			r = r.With(q)
		}
	}
	return r
}

// Scale is the sum of n equal terms, n at least 0.
func (v Interval) Scale(n float64) Interval {
	if n == 0 || v.Empty() {
		return Interval{NaN: v.NaN}
	}
	r := Span(v.Lo*n, v.Hi*n)
	ng, ps := v.Infinite()
	r.NaN = v.NaN || ng && ps && n > 1
	return r
}

// Slack widens the bounds by the error of n roundings in fp32 of terms whose magnitudes add up to total. Rounding
// alone, without a sum, never takes a number past zero.
func (v Interval) Slack(n, total float64) Interval {
	if v.Empty() {
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

// largest is the finite range of each type.
var largest = map[ir.DType][2]float64{
	ir.FP16: {-65504, 65504}, ir.FP32: {-math.MaxFloat32, math.MaxFloat32}, ir.FP64: {-math.MaxFloat64,
		math.MaxFloat64},
	ir.BF16: {-3.3895313892515355e38, 3.3895313892515355e38}, ir.FP8E4M3: {-448, 448}, ir.FP8E5M2: {-57344, 57344},
	ir.Bool: {0, 1}, ir.UInt1: {0, 1}, ir.UInt2: {0, 3}, ir.UInt3: {0, 7}, ir.UInt4: {0, 15}, ir.UInt6: {0, 63},
	ir.UInt8: {0, 255}, ir.UInt16: {0, 65535}, ir.UInt32: {0, 1<<32 - 1}, ir.UInt64: {0, 1 << 64},
	ir.Int4: {-8, 7}, ir.Int8: {-128, 127}, ir.Int16: {-1 << 15, 1<<15 - 1}, ir.Int32: {-1 << 31, 1<<31 - 1},
	ir.Int64: {-1 << 63, 1 << 63},
}

// OfType is every value of a type; for floats, with infinities and NaN.
func OfType(d ir.DType) Interval {
	if d.IsFloat() {
		return All
	}
	if r, ok := largest[d]; ok {
		return Span(r[0], r[1])
	}
	return All
}

// Round returns the bounds as elements of a type. Rounding keeps order, so the rounded bounds hold the rounded numbers.
// Integers outside their type wrap, so the result is every value of the type.
func (v Interval) Round(d ir.DType) Interval {
	if v.Empty() {
		return v
	}
	switch {
	case d == ir.FP16:
		v.Lo, v.Hi = float64(numerics.Round16(narrow32(v.Lo))), float64(numerics.Round16(narrow32(v.Hi)))
	case d == ir.FP32:
		v.Lo, v.Hi = float64(narrow32(v.Lo)), float64(narrow32(v.Hi))
	case d.IsFloat():
		if r := largest[d]; v.Lo < r[0] || v.Hi > r[1] {
			return All
		}
		v = v.Slack(1<<19, v.Mag()) // types of few bits: an eighth of the magnitude, the lowest precision of fp8
	default:
		lo, hi := math.Floor(v.Lo), math.Ceil(v.Hi)
		if r := OfType(d); lo < r.Lo || hi > r.Hi || v.NaN {
			return r
		}
		v.Lo, v.Hi = lo, hi
	}
	return v
}

// narrow32 is a float32 conversion in which numbers beyond the range become
// infinite.
func narrow32(x float64) float32 { return float32(x) }

// OfConst returns the range of a constant's elements.
func OfConst(c *ir.Const) Interval {
	r := Nothing
	if c.Type.DType == ir.String {
		return All
	}
	n := c.Elems()
	for i := range n {
		x := c.Float(i)
		if x != x {
			r.NaN = true
			continue
		}
		r = r.With(x)
	}
	return r
}

// FiniteOf is every finite value of an element type.
func FiniteOf(d ir.DType) Interval {
	r := largest[d]
	return Span(r[0], r[1])
}

// Inner returns the range with its bounds moved inwards to finite elements of the type.
func Inner(r Interval, d ir.DType) (Interval, error) {
	out := r
	switch {
	case d == ir.FP16:
		out.Lo, out.Hi = step16(r.Lo, 1), step16(r.Hi, -1)
	case d == ir.FP32:
		out.Lo, out.Hi = float64(float32(r.Lo)), float64(float32(r.Hi))
		if out.Lo < r.Lo {
			out.Lo = float64(math.Nextafter32(float32(r.Lo), float32(inf)))
		}
		if out.Hi > r.Hi {
			out.Hi = float64(math.Nextafter32(float32(r.Hi), float32(-inf)))
		}
	case !d.IsFloat():
		out.Lo, out.Hi = math.Ceil(r.Lo), math.Floor(r.Hi)
	}
	t := OfType(d)
	if out.Lo > out.Hi || !(out.Lo >= t.Lo) || !(out.Hi <= t.Hi) || math.IsInf(out.Mag(), 0) {
		return out, fmt.Errorf("the range %s to %s contains no finite values of %s", Number(r.Lo), Number(r.Hi), d)
	}
	return out, nil
}

// step16 rounds to fp16, in the direction dir.
func step16(x, dir float64) float64 {
	y := float64(numerics.Round16(float32(x)))
	for range 2 {
		if dir > 0 && y >= x || dir < 0 && y <= x {
			break
		}
		y = next16(y, dir)
	}
	return y
}

// next16 is the neighbouring fp16 number.
func next16(x, dir float64) float64 {
	h := numerics.Narrow(float32(x))
	switch {
	case x == 0:
		return math.Copysign(1.0/(1<<24), dir)
	case (x > 0) == (dir > 0):
		h++
	default:
		h--
	}
	return float64(numerics.Widen(h))
}

// Number writes a bound with at most six digits.
func Number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.6g", x)
}

// Clamp returns the number of the interval that is nearest to x.
func Clamp(x float64, r Interval) float64 { return min(max(x, r.Lo), r.Hi) }
