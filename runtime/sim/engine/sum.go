package engine

import (
	"math"

	"github.com/zinc-compiler/zinc/numerics/vector"
)

// stageLanes products enter the first stage of the accumulator together.
const stageLanes = 4

// portEnd is the least magnitude that the output port of products cannot represent.
const portEnd = 32768

// sum is the way package vector adds products in a mode.
func (n Numerics) sum() vector.Sum {
	if n == ANE {
		return vector.Staged
	}
	return vector.Exact
}

// begin fills the sums of a result channel with what they begin at, and returns the bias that is left to add to them:
// in fixed point the bias is the first term.
func (n Numerics) begin(c []float32, bias float32) float32 {
	if n != ANEFixed {
		clear(c)
		return bias
	}
	for i := range c {
		c[i] = bias
	}
	return 0
}

// add adds to what begin left as vector.Sum.Add does.
func (n Numerics) add(c []float32, ldc int, w []float32, ldw, m int, b []float32, at []int, cols int) {
	if n == ANEFixed {
		addFixed(c, ldc, w, ldw, 1, m, b, at, cols, 1)
		return
	}
	n.sum().Add(c, ldc, w, ldw, m, b, at, cols)
	if n == IEEE {
		return
	}
	var pairs [][2]float32
	for i := range m {
		for j, f := range c[i*ldc:][:cols] {
			if f == f {
				continue
			}
			pairs = pairs[:0]
			for l, o := range at {
				pairs = append(pairs, [2]float32{w[i*ldw+l], b[o+j]})
			}
			c[i*ldc+j] = n.special(pairs)
		}
	}
}

// multiply adds w*b to what begin left in c.
func (n Numerics) multiply(c []float32, w, b vector.Matrix) {
	if n == ANEFixed {
		at := make([]int, b.Rows)
		for l := range at {
			at[l] = l * b.RowStep
		}
		addFixed(c, b.Cols, w.Data, w.RowStep, w.ColStep, w.Rows, b.Data, at, b.Cols, b.ColStep)
		return
	}
	n.sum().Multiply(c, b.Cols, w, b)
	if n == IEEE {
		return
	}
	var pairs [][2]float32
	for i := range c {
		if c[i] == c[i] {
			continue
		}
		row, col := w.Data[i/b.Cols*w.RowStep:], b.Data[i%b.Cols*b.ColStep:]
		pairs = pairs[:0]
		for l := range w.Cols {
			pairs = append(pairs, [2]float32{row[l*w.ColStep], col[l*b.RowStep]})
		}
		c[i] = n.special(pairs)
	}
}

// special computes a sum of products in which infinities take part: a product or a sum without a value counts as 0.
func (n Numerics) special(pairs [][2]float32) float32 {
	sum := float32(0)
	if n != ANE {
		for _, p := range pairs {
			sum = n.fix(sum + n.fix(float32(p[0]*p[1])))
		}
		return sum
	}
	for len(pairs) > 0 {
		group := pairs[:min(stageLanes, len(pairs))]
		pairs = pairs[len(group):]
		part := n.fix(float32(group[0][0] * group[0][1]))
		for _, p := range group[1:] {
			part = n.align(part, n.fix(float32(p[0]*p[1])))
		}
		if sum >= portEnd {
			sum = float32(math.Inf(1))
		} else if sum <= -portEnd {
			sum = float32(math.Inf(-1))
		}
		sum = n.fix(sum + n.align(part, 0))
	}
	return sum
}

// align adds with both operands rounded to the unit of the larger one; sums with infinities are not aligned.
func (n Numerics) align(a, b float32) float32 {
	if !isNumber(a) || !isNumber(b) {
		return n.fix(a + b)
	}
	grid := stageGrid(max(math.Float32bits(a)&^signBit, math.Float32bits(b)&^signBit))
	return (float32(a+grid) - grid) + (float32(b+grid) - grid)
}

// stageBits is the number of bits of the larger operand's significand, including the hidden one, in a sum of the first
// stage.
const stageBits = 12

func isNumber(f float32) bool { return math.Float32bits(f)&0x7f800000 != 0x7f800000 }

const signBit = 1 << 31

// stageGrid returns a number such that fp32, next to it, represents exactly the multiples of the unit that the first
// stage keeps of a number with these bits: one and a half times the power of two whose last bit is that unit. With
// products of fp16 numbers it stays far from both ends of fp32's exponents.
func stageGrid(bits uint32) float32 {
	return math.Float32frombits(bits&0x7f800000 + (24-stageBits)<<23 | 1<<22)
}
