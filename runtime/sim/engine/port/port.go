package port

import (
	"math"
	"slices"
)

// Read reads len(dst) packed numbers of fp16. A NaN is read as infinity. As operands of products, numbers below the
// least normal one are read as zero.
func Read(dst []float32, src []byte, products bool) {
	read(dst, src[:2*len(dst)], products)
}

// Write rounds numbers to fp16, to nearest, ties to even. What has no value is written as zero, and zero without its
// sign. dst is as long as src or longer.
func Write(dst []uint16, src []float32) {
	write(dst[:len(src)], src)
}

// Finish is what happens to an accumulator: two addends, a factor, then the limits. The result of each step that has no
// value is zero.
type Finish struct {
	Bias, Add, Scale float32
	Limit            float32 // the least magnitude that is read as infinity
	Floor            float32 // the least result: zero, or minus infinity for none
}

// NoFloor is the Floor that leaves every result.
var NoFloor = float32(math.Inf(-1))

// Row finishes accumulators. dst is as long as src or longer, and may be src.
func (f Finish) Row(dst, src []float32) {
	finish(dst[:len(src)], src, f)
}

// Store writes patterns of fp16 as bytes. dst has two bytes for each.
func Store(dst []byte, src []uint16) { store(dst[:2*len(src)], src) }

// ZeroNaN replaces every NaN by zero.
func ZeroNaN(v []float32) { zeroNaN(v) }

// Add adds sign times b, which has one number or as many as v; sign is 1 or -1. What has no value becomes zero.
func Add(v, b []float32, sign float32) { addRow(v, operand(v, b), sign) }

// Multiply multiplies by sign times b, like Add.
func Multiply(v, b []float32, sign float32) { multiplyRow(v, operand(v, b), sign) }

// Max returns the largest of v, which has a number and no NaN. The sign of zero is arbitrary.
func Max(v []float32) float32 { return maximum(v) }

// Min is Max for the smallest.
func Min(v []float32) float32 { return minimum(v) }

// operand returns the numbers of b that v meets.
func operand(v, b []float32) []float32 {
	if len(b) == 1 {
		return b
	}
	return b[:len(v)]
}

// The kernels in use: portable.go's, except where a platform has others.
var (
	read        = readPortable
	write       = writePortable
	finish      = finishPortable
	store       = storePortable
	zeroNaN     = zeroNaNPortable
	addRow      = addPortable
	multiplyRow = multiplyPortable
	maximum     = slices.Max[[]float32]
	minimum     = slices.Min[[]float32]
)
