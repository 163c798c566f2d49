package weights

import "math"

// smallest is the least fp16 number above 0.
const smallest = 0x1p-24

// outside returns the table without knots of a function that is below for inputs under low, above for inputs over high,
// and at between the two.
func outside(low, high, below, at, above float64) *Activation {
	a := &Activation{
		Scale: 0x3c00,
		After: 0x3c00,
		F: func(x float64) float64 {
			switch {
			case x < low:
				return below
			case x > high:
				return above
			}
			return at
		},
		Low:  -maxFP16,
		High: maxFP16,
	}
	t := &a.Table
	t[wordLow], t[wordBelow] = ToFP16(neighbour(low, -1)), ToFP16(below)
	t[wordHigh], t[wordAbove] = ToFP16(neighbour(high, 1)), ToFP16(above)
	t[wordStep], t[wordMode] = LinesOnly, uint16(ModePlain)
	return a
}

// flat sets all knots but the last to one value.
func flat(t *Table, value float64) {
	for i := range Knots - 1 {
		t[wordKnots+i] = ToFP16(value)
	}
}

// Steps returns the table of a function with three values: below for inputs under c, at for c itself and above for
// inputs over it. Around 0 it has the words of recorded programs (select, less and logical_not); around other numbers
// its bounds are the numbers next to c (composed). An infinite value for c itself has no table, since the engine
// interpolates between knots.
func Steps(c, below, at, above float64) *Activation {
	a := outside(c, c, below, at, above)
	t := &a.Table
	switch {
	case math.IsInf(c, 1):
		t[wordHigh], t[wordAbove] = ToFP16(c), ToFP16(at)
	case math.IsInf(c, -1):
		t[wordLow], t[wordBelow] = ToFP16(c), ToFP16(at)
	case c != 0:
		// No other number is between the bounds, and so far from zero only the lines remain of the knots.
		t[wordLowIntercept], t[wordHighIntercept] = ToFP16(at), ToFP16(at)
		return a
	}
	flat(t, at)
	t[wordLowIntercept], t[wordHighIntercept] = ToFP16(below), ToFP16(above)
	return a
}

// Around returns the table of a function that is below under low, above over high, and at between the two, including
// the bounds, which are on either side of zero (composed).
func Around(low, high, below, at, above float64) *Activation {
	a := outside(low, high, below, at, above)
	a.Table[wordLowIntercept], a.Table[wordHighIntercept] = ToFP16(at), ToFP16(at)
	flat(&a.Table, at)
	return a
}

// neighbour returns the fp16 number next to c on the side of a sign, or c itself at an infinity on that side.
func neighbour(c float64, sign int) float64 {
	h := ToFP16(c)
	switch size := h &^ 0x8000; {
	case size == 0:
		return float64(sign) * smallest
	case (h&0x8000 == 0) == (sign > 0):
		if size == 0x7c00 {
			return c
		}
		return FromFP16(h + 1)
	}
	return FromFP16(h - 1)
}

// Whole returns the table of the integer part of a number, and Fraction the table of its fractional part, both with the
// sign of the number; an infinity is whole (both recorded in floor).
func Whole() *Activation {
	a := &Activation{Scale: 0x3c00, After: 0x3c00, F: math.Trunc, Low: -maxFP16, High: maxFP16}
	a.Table[wordLow], a.Table[wordHigh] = ToFP16(math.Inf(-1)), ToFP16(math.Inf(1))
	a.Table[wordBelow], a.Table[wordAbove] = a.Table[wordLow], a.Table[wordHigh]
	a.Table[wordStep], a.Table[wordMode] = 5, uint16(ModeWhole)
	return a
}

// Fraction: see Whole.
func Fraction() *Activation {
	f := func(x float64) float64 { return x - math.Trunc(x) }
	a := &Activation{Scale: 0x3c00, After: 0x3c00, F: f, Low: -maxFP16, High: maxFP16}
	a.Table[wordLow], a.Table[wordHigh] = ToFP16(math.Inf(-1)), ToFP16(math.Inf(1))
	a.Table[wordMode] = uint16(ModeFraction)
	return a
}
