package numerics

import "math"

// Exp64 is e to the power of x in fp64, within one unit in the last place. For |x| < 700 it returns the same bits on
// every platform; math.Exp, which is assembly on some, does not. It is also faster, and a softmax spends most of its
// time here.
func Exp64(x float64) float64 {
	if !(math.Abs(x) < 700) { // the result may be subnormal, infinite or NaN
		return math.Exp(x)
	}
	// x = k*ln(2)/32 + r, with r within half of a step. The integer k is in the low bits of shifted.
	const toInt = 0x1.8p52
	shifted := float64(x*(32/math.Ln2)) + toInt
	k := shifted - toInt
	r := x - float64(k*ln2Step) - float64(k*ln2Rest)
	r2 := r * r
	low := r + float64(r2*(0.5+float64(r*(1.0/6))))
	high := 1.0/24 + float64(r*(1.0/120)) + float64(r2*(1.0/720))
	p := low + float64(float64(r2*r2)*high)
	bits := math.Float64bits(shifted)
	scale := math.Float64frombits(math.Float64bits(roots[bits%32]) + bits>>5<<52)
	return scale + float64(scale*p)
}

// ln2Step and ln2Rest add up to ln(2)/32. The first has 22 low bits of 0, so that its multiples are exact.
const (
	ln2Step = 0x1.62e42fecp-6
	ln2Rest = 0x1.d1cf79abc9e3bp-37
)

// roots[i] is 2 to the power of i/32.
var roots = [32]float64{
	0x1.0000000000000p+0, 0x1.059b0d3158574p+0, 0x1.0b5586cf9890fp+0, 0x1.11301d0125b51p+0,
	0x1.172b83c7d517bp+0, 0x1.1d4873168b9aap+0, 0x1.2387a6e756238p+0, 0x1.29e9df51fdee1p+0,
	0x1.306fe0a31b715p+0, 0x1.371a7373aa9cbp+0, 0x1.3dea64c123422p+0, 0x1.44e086061892dp+0,
	0x1.4bfdad5362a27p+0, 0x1.5342b569d4f82p+0, 0x1.5ab07dd485429p+0, 0x1.6247eb03a5585p+0,
	0x1.6a09e667f3bcdp+0, 0x1.71f75e8ec5f74p+0, 0x1.7a11473eb0187p+0, 0x1.82589994cce13p+0,
	0x1.8ace5422aa0dbp+0, 0x1.93737b0cdc5e5p+0, 0x1.9c49182a3f090p+0, 0x1.a5503b23e255dp+0,
	0x1.ae89f995ad3adp+0, 0x1.b7f76f2fb5e47p+0, 0x1.c199bdd85529cp+0, 0x1.cb720dcef9069p+0,
	0x1.d5818dcfba487p+0, 0x1.dfc97337b9b5fp+0, 0x1.ea4afa2a490dap+0, 0x1.f50765b6e4540p+0,
}
