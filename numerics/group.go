package numerics

import "math"

// GroupLanes is the number of lanes that the first stage of the accumulator
// reduces together.
const GroupLanes = 4

// groupBits is the significand, hidden bit included, that the first stage
// keeps: fp16's eleven and one guard bit.
const groupBits = 12

// Accumulator is the engine's multiply-accumulate for one output, modelled: products enter a first stage four at a
// time. The stage adds them one after the other; each addition rounds both operands (to nearest, ties to even) to the
// last of twelve significant bits of the one with the larger exponent. The partial sum of four is rounded to twelve
// bits and enters a wide accumulator that is as exact as fp32. A sum that has reached MACLimit when more products
// arrive is infinite from then on.
//
// The model reproduces what was measured: of sixteen triples (B, -B, 1) all ones survive for B up to 4090 and exactly
// four from 4096 on; 4096 the sum of 4096 and 1024 ones is 5116. Rounding the exact sum of four to fp16 reproduces
// neither. See docs/numerics.md.
type Accumulator struct {
	wide float32
	part float32
	n    int
}

// Add adds the product of two operands that MACIn returned.
func (c *Accumulator) Add(a, b float32) {
	p := MACProduct(a, b)
	if c.n == 0 {
		c.part = p
	} else {
		c.part = groupAdd(c.part, p)
	}
	if c.n++; c.n == GroupLanes {
		c.close()
	}
}

// close rounds the open group and adds it to the wide sum.
func (c *Accumulator) close() {
	switch {
	case c.wide >= MACLimit:
		c.wide = inf32
	case c.wide <= -MACLimit:
		c.wide = -inf32
	}
	c.wide = MACSum(c.wide, groupAdd(c.part, 0))
	c.part, c.n = 0, 0
}

// Sum closes the open group and returns the wide sum, not yet rounded by an
// output port.
func (c *Accumulator) Sum() float32 {
	if c.n > 0 {
		c.close()
	}
	return c.wide
}

// groupAdd adds two operands after rounding both to the unit of the larger one.
func groupAdd(a, b float32) float32 {
	if a-a != 0 || b-b != 0 {
		return MACSum(a, b)
	}
	larger := math.Max(math.Abs(float64(a)), math.Abs(float64(b)))
	if larger == 0 {
		return 0
	}
	_, e := math.Frexp(larger)
	return roundUnit(a, e-groupBits) + roundUnit(b, e-groupBits)
}

// roundUnit rounds x to a multiple of 2^e, ties to even.
func roundUnit(x float32, e int) float32 {
	return float32(math.Ldexp(math.RoundToEven(math.Ldexp(float64(x), -e)), e))
}
