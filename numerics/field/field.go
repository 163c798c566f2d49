package field

import (
	"math"
	"math/bits"
	"sync"

	"github.com/x448/float16"
)

// P is the number of elements.
const P = 1<<61 - 1

// Elem is an element, below P.
type Elem uint64

// Add returns a + b.
func Add(a, b Elem) Elem { return small(uint64(a) + uint64(b)) }

// Sub returns a - b.
func Sub(a, b Elem) Elem { return small(uint64(a) + P - uint64(b)) }

// Neg returns -a.
func Neg(a Elem) Elem { return small(P - uint64(a)) }

// small reduces a number below 2 P.
func small(v uint64) Elem {
	if v >= P {
		v -= P
	}
	return Elem(v)
}

// Mul returns a * b.
func Mul(a, b Elem) Elem {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return fold(hi, lo)
}

// fold reduces a number of 125 bits: 2^61 is one.
func fold(hi, lo uint64) Elem {
	v := lo&P + (lo>>61 | hi<<3)
	return small(v&P + v>>61)
}

// Inv returns 1 / a, and 0 for 0.
func Inv(a Elem) Elem {
	// a^(P-2) = a^(2^61-3), by powers of 2^k - 1.
	ones := func(x Elem, k int) Elem { // (a^(2^k-1))^(2^k) * a^(2^k-1)
		y := x
		for range k {
			y = Mul(y, y)
		}
		return Mul(y, x)
	}
	x1 := a
	x2 := ones(x1, 1)
	x4 := ones(x2, 2)
	x8 := ones(x4, 4)
	x16 := ones(x8, 8)
	x32 := ones(x16, 16)
	y := x32 // 2^32-1; 59 ones need 16, 8, 2 and 1 more
	for _, s := range [...]struct {
		k int
		x Elem
	}{{16, x16}, {8, x8}, {2, x2}, {1, x1}} {
		for range s.k {
			y = Mul(y, y)
		}
		y = Mul(y, s.x)
	}
	// 2^61-3 is 59 ones, a zero and a one.
	y = Mul(y, y)
	return Mul(Mul(y, y), a)
}

// Int returns n.
func Int(n int64) Elem {
	if n < 0 {
		return Neg(Elem(uint64(-n) % P))
	}
	return Elem(uint64(n) % P)
}

// pow2 returns 2^e; the powers of two repeat after 61.
func pow2(e int) Elem { return shift(1, e) }

// shift returns m 2^e: since 2^61 is 1, it rotates 61 bits.
func shift(m uint64, e int) Elem {
	by := ((e % 61) + 61) % 61
	return Elem(m<<by&P | m>>(61-by))
}

// Number returns the element of a finite number, and the same element for every infinity of one sign; NaN counts as
// infinity.
func Number(f float64) Elem {
	b := math.Float64bits(f)
	m, e := b&(1<<52-1), int(b>>52&0x7ff)
	x := shift(m, -1074)
	switch {
	case e == 0x7ff && m != 0:
		return Infinity
	case e == 0x7ff:
		x = Infinity
	case e > 0:
		x = shift(m|1<<52, e-1075)
	}
	if f < 0 {
		return Neg(x)
	}
	return x
}

// Infinity represents positive infinity: an element that no program computes by chance.
const Infinity Elem = 0x0b5f1d2c93a7e461

// FP16Elements returns the elements of all patterns of fp16.
var FP16Elements = sync.OnceValue(func() *[65536]Elem {
	t := new([65536]Elem)
	for i := range t {
		t[i] = Number(float64(float16.Frombits(uint16(i)).Float32()))
	}
	return t
})

// dotTerms is how many products, of 122 bits each, are added in 128 bits before they are reduced; a reduced sum is less
// than one of them.
const dotTerms = 63

// Strips of b are copied, so that they stay in the first cache: of so many columns and terms.
const (
	stripColumns = 8
	stripTerms   = 8 * dotTerms
)

// AddMul adds products to m rows of n elements of c: to element j of row i the products of element l of row i of w and
// b[at[l]+j]. The rows of c and w begin every ldc and every ldw elements.
func AddMul(c []Elem, ldc int, w []Elem, ldw, m int, b []Elem, at []int, n int) {
	tiles := accelerated && m > 1 && n >= stripColumns/4
	if tiles && limbs {
		addTiles(c, ldc, w, ldw, m, b, at, n)
		return
	}
	var strip [stripTerms * stripColumns]Elem
	for first := 0; first < len(at); first += stripTerms {
		places := at[first:min(first+stripTerms, len(at))]
		for from := 0; from < n; from += stripColumns {
			cols := min(stripColumns, n-from)
			if tiles {
				for l, o := range places {
					copy(strip[l*stripColumns:][:cols], b[o+from:o+n])
				}
			}
			for i := range m {
				row, ws := c[i*ldc+from:][:cols], w[i*ldw+first:][:len(places)]
				if tiles {
					addStrip(row, ws, &strip)
					continue
				}
				for j := range row {
					row[j] = Add(row[j], sum(ws, b[from+j:], places))
				}
			}
		}
	}
}

// sum returns the sum of the products w[l] * b[at[l]].
func sum(w, b []Elem, at []int) Elem {
	var hi, lo uint64
	for from := 0; from < len(at); from += dotTerms {
		ws := w[from:min(from+dotTerms, len(at))]
		for l, o := range at[from:][:len(ws)] {
			h, p := bits.Mul64(uint64(ws[l]), uint64(b[o]))
			var carry uint64
			lo, carry = bits.Add64(lo, p, 0)
			hi, _ = bits.Add64(hi, h, carry)
		}
		hi, lo = 0, wide(hi, lo)
	}
	return reduced(lo)
}

// wide returns a number below 2^63 that is the same element as one of 128 bits: 2^64 is 8, and 2^122 is one.
func wide(hi, lo uint64) uint64 { return lo&P + lo>>61 + hi&(1<<58-1)<<3 + hi>>58 }

// reduced returns the element of a number below 2^63.
func reduced(v uint64) Elem { return small(v&P + v>>61) }
