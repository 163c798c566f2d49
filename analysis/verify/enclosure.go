package verify

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// enclosure bounds a value: it contains what arithmetic that errs within its bounds may compute for it.
type enclosure struct {
	// t is the value without errors: exact, or computed in fp32 and then of element type fp32 if the program's is a
	// narrower float.
	t interp.Tensor
	// lo and hi are the least and the greatest value of each element; nil if t is exact. Booleans are 0 and 1.
	lo, hi []float32
	// unknown reports that no enclosure is known.
	unknown bool
	// mayNaN reports that the machine may have NaN where t has a number: a decomposition multiplies an infinity by 0
	// and adds the product, and the source's operation leaves the infinity out.
	mayNaN bool
	// top is the bits of a magnitude that no number of t, lo and hi exceeds; 0 if none is known.
	top uint32
	// late computes the value when now is called; nil once it is computed. Until then nothing is known of the value.
	late *late
}

// fuzz is the relative error of a number that was computed in fp32 with a few roundings.
const fuzz = 0x1p-21

// more is fuzz and the roundings of a sum in fp32.
const more = fuzz + fuzz/4

// exact reports whether the only possible value is t.
func (s *enclosure) exact() bool { return s.lo == nil && !s.unknown }

// numbers returns the elements of t in fp32, which must not be written.
func (s *enclosure) numbers() []float32 { return s.t.View32() }

// ends returns the least and the greatest value of each element.
func (s *enclosure) ends() (lo, hi []float32) {
	if s.lo == nil {
		v := s.numbers()
		return v, v
	}
	return s.lo, s.hi
}

// radius returns the larger of the distances of the ends from t, or nil for an exact value.
func (s *enclosure) radius() []float32 {
	if s.lo == nil {
		return nil
	}
	apart := func(a, b float32) float64 {
		if a == b { // also of infinities, as masks have them
			return 0
		}
		return float64(a) - float64(b)
	}
	r := make([]float32, len(s.lo))
	for i, x := range s.numbers() {
		r[i] = up(max(apart(s.hi[i], x), apart(x, s.lo[i])))
	}
	return r
}

// up and down round to fp32 away from the inside of an enclosure. Whether the nearest number is on the right side is a
// toss-up, so up adds to its bits instead of taking a branch.
func up(x float64) float32 {
	y, below := float32(x), int32(0)
	if float64(y) < x {
		below = 1
	}
	b := int32(math.Float32bits(y))
	return math.Float32frombits(uint32(b + below*(1|b>>31))) // bits of negative numbers go down towards 0
}

func down(x float64) float32 { return -up(-x) }

// undefined reports whether an element without errors is NaN, for which the engine has a number.
func (s *enclosure) undefined() bool {
	if s.t.Type.Kind != ir.Tensor || !s.t.Type.DType.IsFloat() {
		return false
	}
	if s.t.Type.DType == ir.FP16 {
		const infinite, magnitude = 0x7c00, 0x7fff
		for b := s.t.Data; len(b) >= 2; b = b[2:] {
			if binary.LittleEndian.Uint16(b)&magnitude > infinite {
				return true
			}
		}
		return false
	}
	return (s.top == 0 || s.top > infinite32) && largestBits(s.numbers()) > infinite32
}

// infinite32 is the bits of infinity.
const infinite32 = 0x7f800000

// largestBits returns the bits of the largest magnitude. The bits of larger magnitudes are larger; the bits of
// infinity are above all numbers, and the bits of NaN above infinity.
func largestBits(vs []float32) uint32 {
	const magnitude = 0x7fffffff
	var a, b, c, d uint32
	for ; len(vs) >= 4; vs = vs[4:] {
		a, b = max(a, math.Float32bits(vs[0])&magnitude), max(b, math.Float32bits(vs[1])&magnitude)
		c, d = max(c, math.Float32bits(vs[2])&magnitude), max(d, math.Float32bits(vs[3])&magnitude)
	}
	for _, v := range vs {
		a = max(a, math.Float32bits(v)&magnitude)
	}
	return max(a, b, c, d)
}

// infinite reports whether an element is, or may be, infinite.
func (s *enclosure) infinite() bool {
	if s.t.Type.Kind != ir.Tensor || !s.t.Type.DType.IsFloat() {
		return false
	}
	over := func(y float32) bool { return math.IsInf(float64(y), 0) }
	return slices.ContainsFunc([][]float32{s.numbers(), s.lo, s.hi}, func(vs []float32) bool {
		return largestBits(vs) >= infinite32 && slices.ContainsFunc(vs, over)
	})
}

// around returns the enclosure of t whose element i errs by at most radius(i, t[i]). Elements of t that are not finite
// are their own ends.
func around(t interp.Tensor, radius func(i int, y float64) float64) *enclosure {
	v := t.View32()
	s := &enclosure{t: t, lo: make([]float32, len(v)), hi: make([]float32, len(v))}
	for i, y := range v {
		s.lo[i], s.hi[i] = y, y
		if y-y == 0 {
			r := radius(i, float64(y))
			s.lo[i], s.hi[i] = down(float64(y)-r), up(float64(y)+r)
		}
	}
	return s
}

// widen adds radius(i, y) at both ends, where y is the largest finite magnitude in the enclosure, which may be exact:
// an error relative to a result is relative to the one that the machine has, not to the reference.
func (s *enclosure) widen(radius func(i int, y float64) float64) {
	if s.lo == nil {
		*s = *around(s.t, radius)
		return
	}
	for i, y := range s.numbers() {
		if y-y != 0 {
			continue
		}
		most := abs(y)
		for _, end := range [2]float32{s.lo[i], s.hi[i]} {
			if end-end == 0 {
				most = max(most, abs(end))
			}
		}
		r := radius(i, most)
		s.lo[i], s.hi[i] = down(float64(s.lo[i])-r), up(float64(s.hi[i])+r)
	}
}

// scale widens by part of the magnitude and by floor, as widen does, in fp32: the part includes what that rounds.
func (s *enclosure) scale(part, floor float64) {
	if s.lo == nil {
		s.lo, s.hi = slices.Clone(s.numbers()), slices.Clone(s.numbers())
	}
	p, f := more32(part), up(floor*(1+fuzz))
	radius := func(most uint32) float32 {
		r := float32(p*math.Float32frombits(most)) + f
		if most-1 < smallest32-1 {
			r += math.SmallestNonzeroFloat32
		}
		return r
	}
	const magnitude = 0x7fffffff
	top, ys := uint32(0), s.numbers()
	los, his := s.lo[:len(ys)], s.hi[:len(ys)]
	for i, y := range ys {
		lo, hi := los[i], his[i]
		number := math.Float32bits(y) & magnitude
		low, high := math.Float32bits(lo)&magnitude, math.Float32bits(hi)&magnitude
		most := max(number, low, high)
		top = max(top, most)
		if most >= infinite32 {
			if number >= infinite32 {
				continue
			}
			most = number
			if low < infinite32 {
				most = max(most, low)
			}
			if high < infinite32 {
				most = max(most, high)
			}
		}
		r := radius(most)
		los[i], his[i] = lo-r, hi+r
	}
	if s.top = top; top < infinite32 {
		s.top = math.Float32bits(math.Float32frombits(top) + (radius(top) + math.SmallestNonzeroFloat32))
	}
}

// smallest32 is the bits of a number from which on a few roundings to fp32 are errors relative to it.
const smallest32 = 0x0d800000

// more32 returns a part in fp32 with what a few roundings to fp32 take from its product and a sum with that.
func more32(part float64) float32 { return up(part*(1+fuzz) + fuzz/2) }

// errs returns the enclosure of t whose element i errs by at most r[i] and a few roundings. Elements of t that are not
// finite are their own ends. The lower ends take the memory of r.
func (m *memory) errs(t interp.Tensor, r []float32) *enclosure {
	v := t.View32()
	s := &enclosure{t: t, lo: r, hi: m.floats(len(v))}
	los, his := s.lo[:len(v)], s.hi[:len(v)]
	const magnitude = 0x7fffffff
	top := uint32(0)
	for i, y := range v {
		size := math.Float32bits(y) & magnitude
		if size >= infinite32 {
			top = max(top, size)
			los[i], his[i] = y, y
			continue
		}
		most := math.Float32frombits(size)
		e := float32(los[i]*(1+fuzz)) + float32(more*most)
		los[i], his[i] = y-e, y+e
		top = max(top, math.Float32bits(most+e)&magnitude)
	}
	s.top = top
	return s
}

// wide reports whether an enclosure is wider than the value is large, so that it says nothing.
func (s *enclosure) wide() bool {
	if s.lo == nil || !s.t.Type.DType.IsFloat() {
		return false
	}
	most, width := 0.0, 0.0
	for i, y := range s.numbers() {
		if y-y == 0 {
			most = max(most, math.Abs(float64(y)))
			width = max(width, float64(s.hi[i])-float64(s.lo[i]))
		}
	}
	return !(width <= 2*most)
}

// include sets the ends to others, extended to values.
func (s *enclosure) include(ends [2][]float32, vs []float32) {
	lo, hi, least, greatest := s.lo[:len(vs)], s.hi[:len(vs)], ends[0][:len(vs)], ends[1][:len(vs)]
	for i, v := range vs {
		lo[i], hi[i] = extended(least[i], greatest[i], v)
	}
}

// extended returns the ends a and b, extended to v; one that is NaN leaves no limit.
func extended(a, b, v float32) (lo, hi float32) {
	switch {
	case v >= a && v <= b:
		return a, b
	case v > b && a == a:
		return a, v
	case v < a && b == b:
		return v, b
	case v != v:
		return float32(math.Inf(-1)), float32(math.Inf(1))
	}
	return min(a, v), max(b, v) // an end is NaN
}

// between sets the ends to values, extended to two others each.
func (s *enclosure) between(vs, one, two []float32) {
	lo, hi, one, two := s.lo[:len(vs)], s.hi[:len(vs)], one[:len(vs)], two[:len(vs)]
	for i, v := range vs {
		switch a, b := one[i], two[i]; { // in most cases they are on both sides
		case a < v && v < b:
			lo[i], hi[i] = a, b
		case b < v && v < a:
			lo[i], hi[i] = b, a
		default:
			low, high := extended(v, v, a)
			lo[i], hi[i] = extended(low, high, b)
		}
	}
}

// overflow16 is the least number that is rounded to infinity in fp16.
const overflow16 = 65520

// limit makes numbers infinite that fp16 cannot represent.
func (s *enclosure) limit() {
	if s.top == 0 {
		s.top = max(largestBits(s.numbers()), largestBits(s.lo), largestBits(s.hi))
	}
	if s.top < math.Float32bits(overflow16) {
		return
	}
	s.top = 0
	over := func(y float32) bool { return y-y == 0 && (y >= overflow16 || y <= -overflow16) }
	if slices.ContainsFunc(s.numbers(), over) {
		if s.lo == nil && !s.unknown {
			s.lo, s.hi = s.t.Floats32(), s.t.Floats32()
		}
		s.t = heap.mapped(s.t, func(_ int, y float32) float32 {
			if over(y) {
				return float32(roundFP16(y))
			}
			return y
		})
	}
	for i, y := range s.hi {
		if y >= overflow16 {
			s.hi[i] = float32(math.Inf(1))
		}
	}
	for i, y := range s.lo {
		if y <= -overflow16 {
			s.lo[i] = float32(math.Inf(-1))
		}
	}
}

// flushed extends ends that are subnormal numbers of fp16 to 0, which products read them as.
func (s *enclosure) flushed() {
	if !s.t.Type.DType.IsFloat() {
		return
	}
	if s.lo == nil {
		s.lo, s.hi = s.t.Floats32(), s.t.Floats32()
	}
	for i := range s.lo {
		if s.lo[i] > 0 && s.lo[i] < numerics.MinNormalFP16 {
			s.lo[i] = 0
		}
		if s.hi[i] < 0 && s.hi[i] > -numerics.MinNormalFP16 {
			s.hi[i] = 0
		}
	}
}

// overflow extends ends from a limit on to infinity.
func (s *enclosure) overflow(limit float32) {
	near := 0.99 * limit // from which on a rounded number may reach it
	if s.top > 0 && s.top < math.Float32bits(near) {
		return
	}
	s.top = 0
	for i, y := range s.hi {
		if y >= near && roundFP16(y) >= float64(limit) {
			s.hi[i] = float32(math.Inf(1))
		}
	}
	for i, y := range s.lo {
		if y <= -near && roundFP16(y) <= -float64(limit) {
			s.lo[i] = float32(math.Inf(-1))
		}
	}
}

// magnitudes returns the largest magnitude of each element.
func (s *enclosure) magnitudes() interp.Tensor {
	r := s.radius()
	return heap.mapped(s.t, func(i int, x float32) float32 {
		if r == nil {
			return float32(abs(x))
		}
		return float32(abs(x)) + r[i]
	})
}

// roundFP16 rounds to fp16, ties to even.
func roundFP16(x float32) float64 { return float64(numerics.Round16(x)) }

// fit is how a value agrees with its enclosure.
type fit struct {
	pass   bool
	maxAbs float64 // largest difference from the value without errors
	bound  float64 // largest error that the enclosure allows an element, after rounding to the element type
	scale  float64 // largest finite magnitude without errors
	used   float64 // largest difference of an element as a part of the difference allowed to it
	beyond int     // elements outside the enclosure
	worst  Element // the first element outside, or else the one with the largest difference
	limit  float64 // the difference allowed to worst
	// steps counts the elements whose operation jumps inside the enclosure, so that either side is right; they do not
	// count for bound and used.
	steps     int
	notFinite int // elements that are infinite or NaN without errors
	first     int // the first of them
	nan       int // elements that are NaN where the machine has a number; any number agrees
	firstNaN  int // the first of them
	elements  int
}

// compare compares a value with its enclosure. The type of got must be the type of the statement. Where the value
// without errors is NaN, any number agrees: the engine, which stores no NaN, stores 0 for it (numerics.Out), and
// computes other numbers from that 0. Such numbers are counted, so that nothing passes because of them; so is a NaN
// that mayNaN allows.
func (s *enclosure) compare(got interp.Tensor) fit {
	d := got.Type.DType
	if s.exact() && !s.mayNaN {
		return exactly(got, s.t)
	}
	// In fp32, like the ends. A large integer may be rounded.
	numbers := s.numbers()
	have, want, low, high := []float32(nil), numbers, s.lo, s.hi
	if d == ir.FP16 {
		h := fp16Pool.Get().(*fp16Memory)
		defer fp16Pool.Put(h)
		have, want, low, high = h.list(0, got.Data), h.rounded(1, want), h.rounded(2, low), h.rounded(3, high)
	} else {
		have = got.View32()
	}
	f := fit{pass: true, elements: len(have)}
	for i := 0; i < len(have); i++ {
		if d.IsFloat() && s.lo != nil {
			if i = f.within(i, have, want, low, high); i == len(have) {
				break
			}
		}
		g, w := float64(have[i]), float64(want[i])
		if s.mayNaN && g != g {
			w = g
		}
		if w-w != 0 {
			f.notFound(i, w, g == g || numbers[i] == numbers[i])
		}
		if w != w {
			f.note(i, 0, 0, false, g, w)
			continue
		}
		lo, hi := math.Inf(-1), math.Inf(1)
		switch {
		case s.exact():
			lo, hi = w, w
		case !s.unknown: // an end that is NaN, as a difference of infinities is, bounds nothing
			if x := float64(low[i]); x == x {
				lo = x
			}
			if x := float64(high[i]); x == x {
				hi = x
			}
		}
		e := distance(g, w)
		allowed := max(hi-w, w-lo)
		if w-w != 0 {
			allowed = 0
		} else {
			f.scale = max(f.scale, math.Abs(w))
		}
		past := !(g >= lo && g <= hi)
		f.note(i, e, allowed, past, g, w)
		if !d.IsFloat() && lo != hi {
			f.steps++
			continue
		}
		f.bound = max(f.bound, allowed)
		if e > 0 && allowed > 0 && allowed <= math.MaxFloat64 {
			f.used = max(f.used, e/allowed)
		}
	}
	return f
}

// within counts elements from first on while they are finite and inside their ends, and returns the next one.
func (f *fit) within(first int, have, wanted, low, high []float32) int {
	wanted, low, high = wanted[:len(have)], low[:len(have)], high[:len(have)]
	most, scale, bound, used := f.maxAbs, f.scale, f.bound, f.used
	i := first
	for ; i < len(have); i++ {
		got, want, lo, hi := float64(have[i]), float64(wanted[i]), float64(low[i]), float64(high[i])
		if !(got >= lo && got <= hi && want-want == 0) {
			break
		}
		e, allowed := math.Abs(got-want), max(hi-want, want-lo)
		if e > most || i == 0 {
			f.note(i, e, allowed, false, got, want)
			most = f.maxAbs
		}
		if size := math.Abs(want); size > scale {
			scale = size
		}
		if allowed > bound {
			bound = allowed
		}
		if e*(1+0x1p-50) > used*allowed && allowed <= math.MaxFloat64 {
			used = max(used, e/allowed)
		}
	}
	f.scale, f.bound, f.used = scale, bound, used
	return i
}

// fp16Memory is memory for the numbers of a comparison in fp16, which is used again by the next one.
type fp16Memory struct {
	packed []byte
	lists  [4][]float32
}

var fp16Pool = sync.Pool{New: func() any { return new(fp16Memory) }}

// rounded returns numbers rounded to fp16, nil for nil, in list i.
func (h *fp16Memory) rounded(i int, vs []float32) []float32 {
	if vs == nil {
		return nil
	}
	h.packed = slices.Grow(h.packed[:0], 2*len(vs))[:2*len(vs)]
	numerics.NarrowBytes(h.packed, vs)
	return h.list(i, h.packed)
}

func (h *fp16Memory) list(i int, b []byte) []float32 {
	h.lists[i] = slices.Grow(h.lists[i][:0], len(b)/2)[:len(b)/2]
	numerics.WidenBytes(h.lists[i], b)
	return h.lists[i]
}

// departs reports whether elements of a value differ from those without errors by more than MaxPercent of the scale.
// One of them may, and that part of all, where an error before them moved them over a step.
func (s *enclosure) departs(got interp.Tensor, scale float64) bool {
	want, g, n := s.numbers(), got.View32(), 0
	for i := range g {
		if !tells(distance(float64(g[i]), float64(want[i])), scale) {
			n++
		}
	}
	return many(n, len(g))
}

// many reports whether n of all elements are more than operations that jump explain.
func many(n, all int) bool { return n > 1 && 100*n > MaxPercent*all }

// notFound counts an element that is not finite; undefined says that nothing can be said of one that is NaN.
func (f *fit) notFound(i int, w float64, undefined bool) {
	if f.notFinite++; f.notFinite == 1 {
		f.first = i
	}
	if w != w && undefined {
		if f.nan++; f.nan == 1 {
			f.firstNaN = i
		}
	}
}

// equal reports whether a value is equal to the one without errors, NaN included.
func (f *fit) equal() bool { return f.pass && f.maxAbs == 0 && f.nan == 0 }

// undefined says which elements cannot be compared, if nan is not 0.
func (f *fit) undefined() string {
	return fmt.Sprintf("NaN in the reference: %s, the first is element %d",
		diag.Count(f.nan, "element", "elements"), f.firstNaN)
}

// note counts an element that differs by e.
func (f *fit) note(i int, e, allowed float64, past bool, got, want float64) {
	if i == 0 || past && f.pass || !past && f.pass && e > f.maxAbs {
		f.worst, f.limit = Element{i, Number(got), Number(want)}, allowed
	}
	f.maxAbs = max(f.maxAbs, e)
	if past {
		f.pass = false
		f.beyond++
	}
}

// exactly compares values that must be equal.
func exactly(a, b interp.Tensor) fit {
	if a.Type.DType.IsFloat() && a.Type.DType.Bits() <= 32 && b.Type.DType.IsFloat() && b.Type.DType.Bits() <= 32 {
		return equalNumbers(a.View32(), b.View32())
	}
	return equalNumbers(values(a), values(b))
}

// equalNumbers compares numbers that must be equal.
func equalNumbers[T float32 | float64](have, wanted []T) fit {
	f := fit{pass: true, elements: len(have)}
	for i := range wanted {
		got, w := float64(have[i]), float64(wanted[i])
		if w-w != 0 {
			f.notFound(i, w, got == got)
		} else {
			f.scale = max(f.scale, math.Abs(w))
		}
		e := 0.0
		if w == w {
			e = distance(got, w)
		}
		f.note(i, e, 0, e != 0, got, w)
	}
	return f
}
