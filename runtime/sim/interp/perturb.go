package interp

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// Perturb adds an error to the results of operations that are placed on the engine: each element y becomes y +
// u*bound(y), u uniform in [-1, 1), rounded to its type again. u depends only on the seed, the operation's index, the
// result and the element, so a run can be repeated. Several runs with different seeds show how far errors of the stated
// size spread to the outputs.
type Perturb struct {
	Seed  uint64
	Bound func(op *ir.Op) numerics.Bound // the zero Bound leaves an operation unchanged
}

// mix is the finaliser of splitmix64 (Steele, Lea, Flood 2014), a bijection of
// 64 bits whose output bits all depend on every input bit.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// units returns the u of each element of a result.
func (p *Perturb) units(op, result int) func(elem int) float64 {
	h := mix(p.Seed ^ mix(uint64(op)<<8|uint64(result)))
	return func(elem int) float64 { return float64(int64(mix(h^uint64(elem)))) / (1 << 63) }
}

// apply returns the perturbed result. Only finite elements of float results are changed; the scale of products is that
// of result 0.
func (p *Perturb) apply(c *call, op, result int, t Tensor) Tensor {
	if !t.Type.DType.IsFloat() {
		return t
	}
	vs := t.Floats32()
	unit := p.units(op, result)
	c.parallel(len(vs), 1<<14, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			y := vs[i]
			if y-y != 0 {
				continue
			}
			s := 0.0
			if result == 0 && i < len(c.acc) {
				s = float64(c.acc[i])
			}
			z := float64(y) + float64(unit(i)*c.bound.At(float64(y), s))
			if z-z == 0 && math.Abs(z) <= math.MaxFloat32 {
				vs[i] = float32(z)
			}
		}
	})
	out := Tensor{Type: t.Type, Data: make([]byte, len(t.Data))}
	packFloats(out.Data, t.Type.DType, vs)
	return out
}
