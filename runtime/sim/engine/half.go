package engine

import "math"

// Numerics selects the arithmetic.
type Numerics uint8

const (
	ANE     Numerics = iota // the measured behaviour of the engine
	IEEE                    // plain fp32 arithmetic, rounded once to fp16
	ANEWide                 // ANE, with sums of products in fp32
)

// wide contains the value of every fp16 pattern. wideANE reads NaN as +infinity; wideMAC also reads subnormal values as
// zero, as a multiply-accumulate does.
var wide, wideANE, wideMAC = func() (a, b, c *[65536]float32) {
	a, b, c = new([65536]float32), new([65536]float32), new([65536]float32)
	for i := range a {
		h := uint16(i)
		v := widen(h)
		a[i], b[i], c[i] = v, v, v
		switch {
		case v != v:
			b[i] = float32(math.Inf(1))
			c[i] = b[i]
		case h&0x7c00 == 0:
			c[i] = 0
		}
	}
	return
}()

// table returns the widening table of a numerics mode.
func (n Numerics) table(mac bool) *[65536]float32 {
	switch {
	case n == IEEE:
		return wide
	case mac:
		return wideMAC
	}
	return wideANE
}

// widen returns the value of one fp16 pattern.
func widen(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, man := uint32(h>>10&31), uint32(h&0x3ff)
	switch exp {
	case 0:
		// man * 2^-24 is exact.
		v := float32(man) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// narrow rounds to the nearest fp16, ties to even.
func narrow(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b >= pastNormal: // 65536 and more, infinity, NaN
		if b > 0x7f800000 {
			return sign | 0x7e00
		}
		return sign | 0x7c00
	case b < leastNormal: // below 2^-14: the fp16 spacing is 2^-24
		// Adding 0.5 puts the value in units of 2^-24 in the low bits, rounded to nearest even by the addition itself.
		v := math.Float32frombits(b) + 0.5
		return sign | uint16(math.Float32bits(v)-0x3f000000)
	}
	return sign | normal(b)
}

// Magnitudes, as bits of fp32, between which fp16 has its normal numbers: 2^-14, and 2^16, which is past the largest.
const (
	leastNormal = 0x38800000
	pastNormal  = 0x47800000
)

// normal is narrow for bits of a magnitude from leastNormal to before pastNormal. It is short, so that loops over rows
// contain it and call narrow for the other numbers only.
func normal(b uint32) uint16 {
	m := b & 0x7fffffff
	// Rounding may carry into the exponent, which is correct.
	return uint16(b>>16&0x8000) | uint16((m+0xfff+m>>13&1)>>13-112<<10)
}

// outAll is out for the numbers of a row.
func (n Numerics) outAll(out []uint16, v []float32) {
	out = out[:len(v)]
	for i, f := range v {
		if b := math.Float32bits(f); b&0x7fffffff-leastNormal < pastNormal-leastNormal {
			out[i] = normal(b)
		} else {
			out[i] = n.out(f)
		}
	}
}

// out rounds a result to fp16 as the mode writes it.
func (n Numerics) out(f float32) uint16 {
	if n == IEEE {
		return narrow(f)
	}
	if f != f {
		return 0
	}
	if h := narrow(f); h != 0x8000 {
		return h
	}
	return 0
}

// fix replaces a NaN that arithmetic has produced.
func (n Numerics) fix(f float32) float32 {
	if n != IEEE && f != f {
		return 0
	}
	return f
}

// fixAll replaces every NaN that arithmetic has produced.
func (n Numerics) fixAll(v []float32) {
	if n == IEEE {
		return
	}
	for i, f := range v {
		if f != f {
			v[i] = 0
		}
	}
}
