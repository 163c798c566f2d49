package sim_test

import (
	"math"
	"math/big"
)

// References with many more bits than any result has, from their series: they share nothing with the tables of the
// engine nor with the functions of package math that the interpreter uses.

// bigPrec is the precision of the references. The largest cancellation, in the series of erf at 8, loses 190 bits.
const bigPrec = 360

func bf(x float64) *big.Float { return new(big.Float).SetPrec(bigPrec).SetFloat64(x) }

func fresh() *big.Float { return new(big.Float).SetPrec(bigPrec) }

// add leaves out a term that is too small to matter: big.Float would shift it by the difference of the exponents, which
// is billions of bits for exponentials.
func add(a, b *big.Float) *big.Float {
	if a.Sign() != 0 && b.Sign() != 0 && !a.IsInf() && !b.IsInf() {
		d := a.MantExp(nil) - b.MantExp(nil)
		if d > bigPrec {
			return fresh().Set(a)
		}
		if d < -bigPrec {
			return fresh().Set(b)
		}
	}
	return fresh().Add(a, b)
}

func sub(a, b *big.Float) *big.Float { return add(a, neg(b)) }
func mul(a, b *big.Float) *big.Float { return fresh().Mul(a, b) }
func quo(a, b *big.Float) *big.Float { return fresh().Quo(a, b) }
func neg(a *big.Float) *big.Float    { return fresh().Neg(a) }
func root(a *big.Float) *big.Float   { return fresh().Sqrt(a) }

// series returns the sum of t and of weigh(t1, 1), weigh(t2, 2), ... with t1 = next(t, 1), t2 = next(t1, 2) and so on,
// until terms no longer change it.
func series(t *big.Float, next, weigh func(t *big.Float, n int) *big.Float) *big.Float {
	sum := fresh().Set(t)
	for n := 1; n < 4000 && t.Sign() != 0; n++ {
		t = next(t, n)
		w := weigh(t, n)
		if w.Sign() == 0 || sum.Sign() != 0 && w.MantExp(nil) < sum.MantExp(nil)-bigPrec {
			break
		}
		sum.Add(sum, w)
	}
	return sum
}

// odd weighs the terms of a series of odd powers that is integrated: the nth is divided by 2n+1.
func odd(t *big.Float, n int) *big.Float { return quo(t, bf(float64(2*n+1))) }

// plain leaves the terms of a series as they are.
func plain(t *big.Float, _ int) *big.Float { return t }

var bigLn2 = func() *big.Float { // 2 artanh(1/3)
	third := quo(bf(1), bf(3))
	ninth := mul(third, third)
	return mul(bf(2), series(third, func(t *big.Float, _ int) *big.Float { return mul(t, ninth) }, odd))
}()

var bigPi = func() *big.Float { // 16 arctan(1/5) - 4 arctan(1/239), Machin
	arctan := func(n float64) *big.Float {
		x := quo(bf(1), bf(n))
		return series(x, func(t *big.Float, _ int) *big.Float { return neg(mul(t, mul(x, x))) }, odd)
	}
	return sub(mul(bf(16), arctan(5)), mul(bf(4), arctan(239)))
}()

func bigExp(x *big.Float) *big.Float {
	q, _ := quo(x, bigLn2).Float64()
	k := math.Round(q)
	const halvings = 16
	r := sub(x, mul(bf(k), bigLn2))
	r.SetMantExp(r, -halvings)
	y := series(bf(1), func(t *big.Float, n int) *big.Float { return quo(mul(t, r), bf(float64(n))) }, plain)
	for range halvings {
		y.Mul(y, y)
	}
	return y.SetMantExp(y, int(k))
}

// bigLog is Halley's iteration, which triples the number of right bits.
func bigLog(x *big.Float) *big.Float {
	m := fresh()
	e := x.MantExp(m)
	f, _ := m.Float64()
	y := bf(math.Log(f))
	for range 2 {
		p := bigExp(y)
		y = add(y, mul(bf(2), quo(sub(m, p), add(m, p))))
	}
	return add(y, mul(bf(float64(e)), bigLn2))
}

func bigAtan(x *big.Float) *big.Float {
	const halvings = 8
	for range halvings {
		x = quo(x, add(bf(1), root(add(bf(1), mul(x, x)))))
	}
	square := mul(x, x)
	y := series(x, func(t *big.Float, _ int) *big.Float { return neg(mul(t, square)) }, odd)
	return y.SetMantExp(y, halvings)
}

func bigTanh(x *big.Float) *big.Float {
	if f, _ := x.Float64(); math.Abs(f) > 40 {
		return bf(math.Copysign(1, f)) // within 2^-110
	}
	e := bigExp(mul(bf(2), x))
	return quo(sub(e, bf(1)), add(e, bf(1)))
}

func bigSinh(x *big.Float) *big.Float {
	e := bigExp(x)
	return quo(sub(e, quo(bf(1), e)), bf(2))
}

func bigCosh(x *big.Float) *big.Float {
	e := bigExp(x)
	return quo(add(e, quo(bf(1), e)), bf(2))
}

func bigSin(x *big.Float) *big.Float {
	q, _ := quo(x, bigPi).Float64()
	k := math.Round(q)
	x = sub(x, mul(bf(k), bigPi))
	square := mul(x, x)
	y := series(x, func(t *big.Float, n int) *big.Float {
		return neg(quo(mul(t, square), bf(float64(2*n*(2*n+1)))))
	}, plain)
	if math.Mod(k, 2) != 0 {
		y.Neg(y)
	}
	return y
}

func bigCos(x *big.Float) *big.Float { return bigSin(add(x, quo(bigPi, bf(2)))) }

func bigErf(x *big.Float) *big.Float {
	if f, _ := x.Float64(); math.Abs(f) > 8 {
		return bf(math.Copysign(1, f)) // within 2^-96
	}
	square := mul(x, x)
	y := series(x, func(t *big.Float, n int) *big.Float {
		return neg(quo(mul(t, square), bf(float64(n))))
	}, odd)
	return mul(y, quo(bf(2), root(bigPi)))
}

func bigSigmoid(x *big.Float) *big.Float { return quo(bf(1), add(bf(1), bigExp(neg(x)))) }

func bigMax(a, b *big.Float) *big.Float {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

func bigMin(a, b *big.Float) *big.Float {
	if a.Cmp(b) > 0 {
		return b
	}
	return a
}

// bigFloor returns the largest integer that is at most x.
func bigFloor(x *big.Float) *big.Float {
	n, acc := x.Int(nil)
	y := fresh().SetInt(n)
	if x.Sign() < 0 && acc != big.Exact {
		y.Sub(y, bf(1))
	}
	return y
}

// roundedFP16 returns x rounded to fp16, ties to even; magnitudes from 65520 on are infinite.
func roundedFP16(x *big.Float) float32 {
	const digits, least = 11, -24
	if x.Sign() == 0 {
		return 0
	}
	unit := max(x.MantExp(nil)-digits, least)
	scaled := fresh().SetMantExp(x, -unit)
	whole := bigFloor(scaled)
	rest := sub(scaled, whole).Cmp(bf(0.5))
	n, _ := whole.Int(nil)
	if rest > 0 || rest == 0 && n.Bit(0) == 1 {
		whole.Add(whole, bf(1))
	}
	y, _ := whole.SetMantExp(whole, unit).Float64()
	if math.Abs(y) > 65504 {
		y = math.Inf(int(math.Copysign(1, y)))
	}
	return float32(y)
}
