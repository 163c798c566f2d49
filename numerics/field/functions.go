package field

import (
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
)

// Functions are the functions that are no polynomials, under one key. The zero value
// is not ready for use. They may be used by several goroutines at once.
type Functions struct {
	keys        [8]uint64
	low         Elem // order's image of minus infinity
	booleans    set  // elements that stand for 0 or 1
	filter      [filterBits / 32]atomic.Uint32
	differences sync.Map // signs of differences of booleans and from infinities, by the difference
	parts       sync.Map // bytes of integers that were joined from bytes of others, by joined
}

// filterBits is the number of bits of the filter of booleans: bit x modulo filterBits is set if x is one. Most elements
// are looked up nowhere else.
const filterBits = 1 << 16

// New returns the functions of a key.
func New(key uint64) *Functions {
	f := new(Functions)
	s := key
	for i := range f.keys {
		// The steps of splitmix64.
		s += 0x9e3779b97f4a7c15
		z := s
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		f.keys[i] = z ^ z>>31 | 1
	}
	f.low = f.scramble(Neg(Infinity))
	return f
}

// mix multiplies and folds the halves of the product together.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// stir is a step of a hash: k is odd.
func stir(h, k uint64) uint64 { return (h ^ h>>32) * k }

// Hash returns a random function of a name and an element.
func (f *Functions) Hash(name uint64, x Elem) Elem {
	h := uint64(x) + name*f.keys[0]
	h = stir(stir(stir(h, f.keys[1]), f.keys[2]), f.keys[3])
	h ^= h >> 32
	return small(h&P + h>>61)
}

// Name returns the number of a name, for Hash.
func (f *Functions) Name(s string) uint64 {
	h := f.keys[4]
	for i := range len(s) {
		h = mix(h^uint64(s[i]), f.keys[5]) + uint64(i)
	}
	return h
}

// Digest returns a random function of a name and a list of elements.
func (f *Functions) Digest(name uint64, v []Elem) Elem {
	h := name ^ uint64(len(v))
	for _, x := range v {
		h = mix(h^uint64(x), f.keys[6]) ^ mix(h+f.keys[7], uint64(x)^f.keys[2])
	}
	return f.Hash(h, Elem(h&(P>>1)))
}

// The two halves of an element, which scramble changes in turn.
const (
	lowBits  = 31
	highBits = 61 - lowBits
	lowMask  = 1<<lowBits - 1
)

// round returns a random function of one half for the other, of so many bits.
func (f *Functions) round(i int, half uint64, bits int) uint64 {
	return stir((half+f.keys[i])*f.keys[i+4], f.keys[i+4]) >> (64 - bits)
}

// scramble is a random permutation of the elements.
func (f *Functions) scramble(x Elem) Elem {
	for {
		lo, hi := uint64(x)&lowMask, uint64(x)>>lowBits
		hi ^= f.round(0, lo, highBits)
		lo ^= f.round(1, hi, lowBits)
		hi ^= f.round(2, lo, highBits)
		lo ^= f.round(3, hi, lowBits)
		if x = Elem(hi<<lowBits | lo); x != P {
			return x
		}
	}
}

// unscramble is the inverse of scramble.
func (f *Functions) unscramble(x Elem) Elem {
	for {
		lo, hi := uint64(x)&lowMask, uint64(x)>>lowBits
		lo ^= f.round(3, hi, lowBits)
		hi ^= f.round(2, lo, highBits)
		lo ^= f.round(1, hi, lowBits)
		hi ^= f.round(0, lo, highBits)
		if x = Elem(hi<<lowBits | lo); x != P {
			return x
		}
	}
}

// Order maps elements so that the sum of two images is the image of their maximum: a
// maximum of many is one sum, in any order and in parts. The image of minus infinity is 0.
func (f *Functions) Order(x Elem) Elem { return Sub(f.scramble(x), f.low) }

// Unorder is the inverse of Order.
func (f *Functions) Unorder(x Elem) Elem { return f.unscramble(Add(x, f.low)) }

// Max stands for the greater of two elements. Unlike for numbers, Max(x, x) is not x.
func (f *Functions) Max(a, b Elem) Elem {
	if a == Infinity || b == Infinity {
		return Infinity
	}
	y := f.Unorder(Add(f.Order(a), f.Order(b)))
	if f.IsBoolean(a) && f.IsBoolean(b) {
		f.MarkBoolean(y)
	}
	return y
}

// Mul returns a * b. The product of two booleans is marked as a boolean.
func (f *Functions) Mul(a, b Elem) Elem {
	y := Mul(a, b)
	if f.IsBoolean(a) && f.IsBoolean(b) {
		f.MarkBoolean(y)
	}
	return y
}

// Min stands for the lesser of two elements: -max(-a, -b).
func (f *Functions) Min(a, b Elem) Elem { return Neg(f.Max(Neg(a), Neg(b))) }

// Abs stands for the greater of x and -x.
func (f *Functions) Abs(x Elem) Elem { return f.Max(x, Neg(x)) }

// Clip stands for min(max(x, low), high). An infinite bound is no bound.
func (f *Functions) Clip(x, low, high Elem) Elem {
	if low == high {
		return low
	}
	if low != Neg(Infinity) {
		x = f.Max(x, low)
	}
	if high != Infinity {
		x = f.Min(x, high)
	}
	return x
}

// Boolean returns a random function of a name and an element, which is marked as a boolean.
func (f *Functions) Boolean(name uint64, x Elem) Elem {
	y := f.Hash(name, x)
	f.MarkBoolean(y)
	return y
}

// MarkBoolean makes x and 1 - x booleans for IsBoolean.
func (f *Functions) MarkBoolean(x Elem) {
	for _, x := range [...]Elem{x, Sub(1, x)} {
		if x <= 1 {
			continue
		}
		f.booleans.add(x)
		f.filter[x%filterBits/32].Or(1 << (x % 32))
	}
}

// filtered reports whether the filter has an element, as it has every boolean.
func (f *Functions) filtered(x Elem) bool { return f.filter[x%filterBits/32].Load()>>(x%32)&1 != 0 }

// IsBoolean reports whether an element is 0, 1 or marked.
func (f *Functions) IsBoolean(x Elem) bool {
	if x <= 1 {
		return true
	}
	return f.filtered(x) && f.booleans.has(x)
}

// Sub returns a - b. Of a difference of booleans the signs are products of them, and nothing is beyond an infinity.
func (f *Functions) Sub(a, b Elem) Elem {
	d := Sub(a, b)
	switch {
	case d == 0:
	case a == Infinity || b == Neg(Infinity):
		_, above := f.hashed(d)
		f.differences.Store(d, [2]Elem{0, above})
	case b == Infinity || a == Neg(Infinity):
		below, _ := f.hashed(d)
		f.differences.Store(d, [2]Elem{below, 0})
	case f.IsBoolean(a) && f.IsBoolean(b):
		below, above := Mul(Sub(1, a), b), Mul(a, Sub(1, b))
		f.MarkBoolean(below)
		f.MarkBoolean(above)
		f.differences.Store(d, [2]Elem{below, above})
	}
	return d
}

const negativeName = 0x6e656761

// maxInteger bounds the integers whose signs are known. It is so small that no random element is one of them.
const maxInteger = 1 << 15

// Signs stands for whether x is below 0 and whether it is above: 1 or 0 each.
func (f *Functions) Signs(x Elem) (below, above Elem) {
	switch {
	case x == 0:
		return 0, 0
	case f.IsBoolean(x):
		return 0, x
	case f.IsBoolean(Neg(x)):
		return Neg(x), 0
	case x <= maxInteger:
		return 0, 1
	case Neg(x) <= maxInteger:
		return 1, 0
	}
	if d, ok := f.differences.Load(x); ok {
		signs := d.([2]Elem)
		return signs[0], signs[1]
	}
	return f.hashed(x)
}

// hashed returns the signs of an element about which nothing is known.
func (f *Functions) hashed(x Elem) (below, above Elem) {
	if x > P/2 {
		above, below = f.hashed(Neg(x))
		return below, above
	}
	return f.Boolean(negativeName, x), f.Boolean(negativeName+1, x)
}

const rootName, truncName, byteName, formName = 0x726f6f74, 0x7472756e, 0x62797465, 0x70726f64

// Sqrt stands for the square root of x.
func (f *Functions) Sqrt(x Elem) Elem { return f.Hash(rootName, x) }

// Rsqrt stands for 1/Sqrt(x).
func (f *Functions) Rsqrt(x Elem) Elem { return Inv(f.Sqrt(x)) }

// Trunc stands for x without what is after the point.
func (f *Functions) Trunc(x Elem) Elem {
	switch {
	case x == 0:
		return 0
	case x > P/2:
		return Neg(f.Hash(truncName, Neg(x)))
	}
	return f.Hash(truncName, x)
}

// joined identifies an integer of n bytes.
type joined struct {
	x Elem
	n int
}

// Bytes returns n elements that represent the bytes of an integer, least significant first. Join returns the integer,
// and Bytes of it returns what was joined.
func (f *Functions) Bytes(x Elem, n int) []Elem {
	if b, ok := f.parts.Load(joined{x, n}); ok {
		return b.([]Elem)
	}
	out := make([]Elem, n)
	if x <= maxInteger && n > 1 { // no random element is so small
		out[0], out[1] = x&0xff, x>>8
		return out
	}
	for k := n - 1; k > 0; k-- {
		out[k] = f.Hash(byteName+uint64(k), x)
	}
	out[0] = Sub(x, weighted(out))
	return out
}

// Join adds bytes times their weights.
func (f *Functions) Join(bytes []Elem) Elem {
	x := weighted(bytes)
	if n := len(bytes); n > 1 && bytes[n-1] != f.Hash(byteName+uint64(n-1), x) {
		f.parts.Store(joined{x, n}, slices.Clone(bytes))
	}
	return x
}

func weighted(bytes []Elem) Elem {
	x := Elem(0)
	for k, b := range bytes {
		x = Add(x, Mul(b, pow2(8*k)))
	}
	return x
}
