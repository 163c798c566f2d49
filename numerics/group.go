package numerics

import "math"

// GroupLanes is the number of lanes that the first stage of the accumulator
// reduces together.
const GroupLanes = 4

// groupBits is the significand, hidden bit included, that the first stage
// keeps: fp16's eleven and one guard bit.
const groupBits = 12

// Accumulator is the engine's multiply-accumulate for one output, modelled:
// products enter a first stage four at a time; the stage adds them one after
// the other, aligning the operand of smaller exponent to the larger one and
// rounding it (nearest, ties to even) to twelve significant bits of the larger;
// the partial of four enters a wide accumulator that is as exact as fp32. A running sum
// that has reached MACLimit when further products come is infinite from then on.
//
// The model gives the outcomes that were measured: of sixteen triples
// (B, -B, 1) all ones survive for B up to 4090 and exactly four from 4096 on;
// 4096 followed by 1024 ones gives 5116. Rounding the exact sum of four to fp16
// gives neither. See docs/numerics.md.
type Accumulator struct {
	wide float32
	part float32
	n    int
}

// Add takes the product of two operands as MACIn gives them.
func (c *Accumulator) Add(a, b float32) {
	p := groupRound(MACProduct(a, b))
	if c.n == 0 {
		c.part = p
	} else {
		c.part = groupAdd(c.part, p)
	}
	if c.n++; c.n == GroupLanes {
		c.close()
	}
}

// close takes the open group into the wide sum.
func (c *Accumulator) close() {
	switch {
	case c.wide >= MACLimit:
		c.wide = inf32
	case c.wide <= -MACLimit:
		c.wide = -inf32
	}
	if c.wide += c.part; c.wide != c.wide {
		c.wide = 0
	}
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

// groupRound rounds to groupBits significant bits.
func groupRound(x float32) float32 {
	if x == 0 || x-x != 0 {
		return x
	}
	_, e := math.Frexp(float64(x))
	return roundUnit(x, e-groupBits)
}

// groupAdd adds with the smaller operand aligned to the larger.
func groupAdd(a, b float32) float32 {
	if math.Abs(float64(b)) > math.Abs(float64(a)) {
		a, b = b, a
	}
	if b == 0 || a-a != 0 {
		if s := a + b; s == s {
			return s
		}
		return 0
	}
	_, e := math.Frexp(float64(a))
	return groupRound(a + roundUnit(b, e-groupBits))
}

// roundUnit rounds x to a multiple of 2^e, ties to even.
func roundUnit(x float32, e int) float32 {
	return float32(math.Ldexp(math.RoundToEven(math.Ldexp(float64(x), -e)), e))
}
