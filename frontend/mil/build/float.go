package build

import (
	"math"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// floatFormat is a binary floating-point format of at most 32 bits.
type floatFormat struct {
	mant  int    // bits of the mantissa without the hidden one
	bias  int    // of the exponent
	over  uint64 // code for numbers that are too large: infinity, or NaN in formats without it
	nan   uint64 // code of a NaN
	width int    // bits in all
}

// floatFormats has IEEE 754's binary16 and binary32, the upper half of binary32, and the two 8-bit formats of the OCP
// specification. E4M3 has no infinity: its largest code is its only NaN.
var floatFormats = map[ir.DType]floatFormat{
	ir.FP16:    {mant: 10, bias: 15, over: 0x7c00, nan: 0x7e00, width: 16},
	ir.BF16:    {mant: 7, bias: 127, over: 0x7f80, nan: 0x7fc0, width: 16},
	ir.FP32:    {mant: 23, bias: 127, over: 0x7f800000, nan: 0x7fc00000, width: 32},
	ir.FP8E4M3: {mant: 3, bias: 7, over: 0x7e, nan: 0x7f, width: 8},
	ir.FP8E5M2: {mant: 2, bias: 15, over: 0x7c, nan: 0x7e, width: 8},
}

// encode returns the code of the number nearest to v, which is the number x as written, rounded. If v is halfway
// between two numbers, tie is true, and beyond, the sign of |x| - |v|, decides; if beyond is 0, the result is the even
// code.
func (f *floatFormat) encode(v float64, beyond int) (code uint64, tie bool) {
	sign := uint64(0)
	if math.Signbit(v) {
		sign = 1 << (f.width - 1)
	}
	a := math.Abs(v)
	switch {
	case a != a:
		return sign | f.nan, false
	case math.IsInf(a, 0):
		return sign | f.over, false
	case a == 0:
		return sign, false
	}
	_, e := math.Frexp(a) // a is in [2^(e-1), 2^e)
	low := 1 - f.bias
	e = max(e-1, low)
	if e > f.bias+1 {
		return sign | f.over, false
	}
	// In units of the last place; at most mant+1 bits are before the point.
	s := math.Ldexp(a, f.mant-e)
	r := math.Floor(s)
	n := uint64(r)
	switch rest := s - r; {
	case rest > 0.5:
		n++
	case rest == 0.5:
		tie = true
		if beyond > 0 || beyond == 0 && n&1 == 1 {
			n++
		}
	}
	// A carry out of the mantissa correctly increments the exponent.
	code = uint64(e-low)<<f.mant + n
	return sign | min(code, f.over), tie
}

// beyond returns the sign of |x| - |v|, where tok is the text of x and v the
// float64 nearest to it, which has few enough bits to be halfway between two
// numbers of a shorter format.
func beyond(tok string, v float64) int {
	tok = strings.ToLower(strings.TrimLeft(tok, "+-"))
	if rest, ok := strings.CutPrefix(tok, "0x"); ok {
		return beyondHex(rest, math.Abs(v))
	}
	digits, exp := normal(tok, 'e', 1)
	// 800 digits hold every float64 exactly.
	want, wantExp := normal(strconv.FormatFloat(math.Abs(v), 'e', 800, 64), 'e', 1)
	if exp != wantExp {
		return sign(exp - wantExp)
	}
	return strings.Compare(digits, want)
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// normal splits a number into its digits, without leading and trailing zeros, and the exponent of a point before the
// first digit. step is the exponent of one digit.
func normal(tok string, mark byte, step int) (digits string, exp int) {
	body := tok
	if i := strings.IndexByte(tok, mark); i >= 0 {
		body = tok[:i]
		exp, _ = strconv.Atoi(tok[i+1:]) // out of range returns the nearest
		exp = min(max(exp, -1<<30), 1<<30)
	}
	whole, frac, _ := strings.Cut(body, ".")
	exp += step * len(whole)
	digits = whole + frac
	n := len(digits)
	digits = strings.TrimLeft(digits, "0")
	exp -= step * (n - len(digits))
	return strings.TrimRight(digits, "0"), exp
}

// beyondHex is beyond for the digits after 0x.
func beyondHex(tok string, v float64) int {
	digits, exp := normal(tok, 'p', 4)
	const keep = 15 // digits, at least 57 bits: more than float64 has, and they fit in a uint64
	rest := false
	if len(digits) > keep {
		digits, rest = digits[:keep], true // the last digit is not zero
	}
	digits += strings.Repeat("0", keep-len(digits))
	m, _ := strconv.ParseUint(digits, 16, 64)
	want := math.Ldexp(v, 4*keep-exp)
	if want < 0 || want >= 1<<62 {
		return 0
	}
	switch w := uint64(want); {
	case m > w:
		return 1
	case m < w:
		return -1
	case rest:
		return 1
	}
	return 0
}
