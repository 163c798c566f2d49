package engine

import "math"

// stageLanes products enter the first stage of the accumulator together.
const stageLanes = 4

// portEnd is the least magnitude that the output port of products does not hold.
const portEnd = 32768

// stageBits is how many bits of the larger operand's significand, the hidden one
// included, are in a sum of the first stage.
const stageBits = 12

// lanes computes c = w*b as the mode ANELanes sums: products four at a time, in order
// of the coefficients, through the narrow first stage; the partials into fp32. A
// running sum that is past the end of the output port when more comes stays infinite.
// special says that infinities take part.
func (x *exec) lanes(c, w, b []float32, m, n, red, ldb int, special bool) {
	num := x.opts.Numerics
	part := make([]float32, n)
	for i := range m {
		if x.ctx.Err() != nil {
			return
		}
		sum, w := c[i*n:][:n], w[i*red:][:red]
		clear(sum)
		for k := 0; k < red; k += stageLanes {
			clear(part)
			for l := k; l < min(red, k+stageLanes); l++ {
				f, col := w[l], b[l*ldb:][:n]
				if special {
					for j, g := range col {
						part[j] = num.carefulAdd(part[j], num.fix(float32(f*g)))
					}
					continue
				}
				for j, g := range col {
					part[j] = stageAdd(part[j], stageRound(float32(f*g)))
				}
			}
			for j, s := range sum {
				if s >= portEnd {
					s = float32(math.Inf(1))
				} else if s <= -portEnd {
					s = float32(math.Inf(-1))
				}
				sum[j] = num.fix(s + part[j])
			}
		}
	}
}

// carefulAdd adds a product to a partial where infinities take part: they meet no
// alignment.
func (n Numerics) carefulAdd(part, p float32) float32 {
	if !isNumber(part) || !isNumber(p) {
		return n.fix(part + p)
	}
	return stageAdd(part, stageRound(p))
}

func isNumber(f float32) bool { return math.Float32bits(f)&0x7f800000 != 0x7f800000 }

// stageAdd aligns the smaller operand to the larger, rounds it there, adds, and
// rounds the sum. Rounding both to the larger one's unit leaves the larger as it is.
func stageAdd(a, b float32) float32 {
	grid := stageGrid(max(math.Float32bits(a)&^signBit, math.Float32bits(b)&^signBit))
	return stageRound((float32(a+grid) - grid) + (float32(b+grid) - grid))
}

// stageRound rounds a number to stageBits significant bits, ties to even.
func stageRound(f float32) float32 {
	grid := stageGrid(math.Float32bits(f))
	return float32(f+grid) - grid
}

const signBit = 1 << 31

// stageGrid returns a number beside which fp32 holds exactly the multiples of the unit
// that the first stage keeps of a number with these bits: one and a half times the
// power of two whose last bit is that unit. Products of fp16 numbers keep it far from
// both ends of fp32's exponents.
func stageGrid(bits uint32) float32 {
	return math.Float32frombits(bits&0x7f800000 + (24-stageBits)<<23 | 1<<22)
}
