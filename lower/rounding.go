package lower

import (
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
)

// rounding describes how to compute a whole number near x from the integral part of x.
type rounding struct {
	correction *weights.Activation // computed from the fractional part
	minus      bool                // the correction is subtracted, not added
}

// Floor is recorded (case floor_r_1x512x1x1), ceil is decomposed by its example.
var roundings = map[*ir.Operation]rounding{
	ir.OpFloor: {correction: weights.Steps(0, 1, 0, 0), minus: true},
	ir.OpCeil:  {correction: weights.Steps(0, 0, 0, 1)},
}

// lowerRounding computes floor(x) as the integral part, less one if the fractional part is negative, and ceil(x)
// likewise.
func lowerRounding(b *builder, op *ir.Op, x *view) error {
	r := roundings[op.Def.Operation]
	dst := b.resultOf(op.Results[0])
	fraction, correction, whole := b.between(x.dims), b.between(x.dims), b.between(x.dims)
	b.tableTask(weights.Fraction(), x, fraction)
	b.tableTask(r.correction, fraction, correction)
	b.tableTask(weights.Whole(), x, whole)
	b.sum(whole, correction, r.minus, dst)
	return nil
}

// sum emits x + y, or x - y.
func (b *builder) sum(x, y *view, minus bool, dst *view) {
	b.pointwise(func(int64) *draft {
		d := elementwise(td.PEAdd)
		d.pe.neg2 = minus
		return d
	}, []*view{x, y}, dst)
}

// nudge is how far a tie between two whole numbers is moved towards the even one. A fractional part that is not a tie
// stays on its side of 1/2: fp16 numbers of 1 and more are at least 2^-10 apart, and the move is half of that.
const nudge = 0x1p-10

// roundedFraction is the table of what the fractional part rounds to.
var roundedFraction = weights.Around(-0.5, 0.5, -1, 0, 1)

// lowerRound adds to the integral part of x what the fractional part rounds to, with ties to the even number
// (composed). A tie is moved away from zero if the integral part is odd, so that half of it has a fractional part of
// 1/2.
func lowerRound(b *builder, op *ir.Op, x *view) error {
	dst := b.resultOf(op.Results[0])
	temp := func() *view { return b.temp(x.dims) }
	whole, fraction, half, move, moved, carry := temp(), temp(), temp(), temp(), temp(), temp()
	b.tableTask(weights.Whole(), x, whole)
	b.tableTask(weights.Fraction(), x, fraction)
	halved := weights.Fraction()
	halved.Scale = weights.ToFP16(0.5)
	b.tableTask(halved, whole, half)
	b.scaleBias(half, move, nudge, 0)
	b.sum(fraction, move, false, moved)
	b.tableTask(roundedFraction, moved, carry)
	b.sum(whole, carry, false, dst)
	return nil
}
