package weights

import "math"

// leastSquares returns the knots of the interpolation with the least sum of squared errors relative to f, over all
// normal fp16 numbers from the first knot, at start, to the last. Such numbers are denser the smaller they are, which
// keeps the interpolation close to f around zero.
//
// Each number affects the two knots around it, so the normal equations are tridiagonal and diagonally dominant, and
// need no pivoting.
func leastSquares(f func(float64) float64, start float64, step int) [Knots]float64 {
	var diag, next, right [Knots]float64
	add := func(x float64) {
		p := math.Ldexp(x-start, step)
		if !(p >= 0 && p <= Knots-1) {
			return
		}
		i := min(int(p), Knots-2)
		u := p - float64(i)
		v, y := 1-u, f(x)
		diag[i] += float64(v * v)
		diag[i+1] += float64(u * u)
		next[i] += float64(u * v)
		right[i] += float64(v * y)
		right[i+1] += float64(u * y)
	}
	const smallest, infinite = 0x0400, 0x7c00 // normal numbers
	for h := uint16(smallest); h < infinite; h++ {
		x := FromFP16(h)
		if x > math.Ldexp(Knots, -step) {
			break
		}
		add(x)
		add(-x)
	}
	for i := 1; i < Knots; i++ {
		m := next[i-1] / diag[i-1]
		diag[i] -= float64(m * next[i-1])
		right[i] -= float64(m * right[i-1])
	}
	var k [Knots]float64
	k[Knots-1] = right[Knots-1] / diag[Knots-1]
	for i := Knots - 2; i >= 0; i-- {
		k[i] = (right[i] - float64(next[i]*k[i+1])) / diag[i]
	}
	return k
}
