package interp

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpRandomBernoulli:   randomBernoulli,
	ir.OpRandomNormal:      randomNormal,
	ir.OpRandomUniform:     randomUniform,
	ir.OpRandomCategorical: randomCategorical,
})

// source is a stream of random numbers, one for every element of a result. It depends on the operation's seed (the
// run's if it is -1), the operation's position in the program and how many operations have run, so loops draw new
// numbers and two runs with one seed draw the same ones. No other implementation has the same numbers: MIL specifies
// only the distribution.
type source struct{ key uint64 }

func (c *call) source() source {
	seed := c.int(ir.ParamSeed, -1)
	k := uint64(seed)
	if seed == -1 {
		k = mix(c.r.opt.Seed)
	}
	return source{mix(k ^ mix(uint64(c.step.index)<<32|uint64(c.r.steps)&0xffffffff))}
}

// mix is the finaliser of splitmix64 (Steele, Lea, Flood 2014), a bijection of 64 bits whose output bits all depend on
// every input bit.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit returns number i of the stream, uniform in (0, 1).
func (s source) unit(i int) float64 {
	return (float64(mix(s.key^uint64(i))>>12) + 0.5) / (1 << 52)
}

// draw fills result 0 of the shape that the argument shape names.
func (c *call) draw(f func(s source, i int) float64) []Tensor {
	shape, ok := c.ints(ir.ParamShape)
	if !ok {
		return c.fail("argument shape is missing")
	}
	n := ir.TensorOf(ir.FP64, shape...).Elems()
	if n < 0 {
		return c.fail("argument shape is %v", shape)
	}
	s := c.source()
	out := c.buffer(int(n))
	for i := range out {
		out[i] = float32(f(s, i))
	}
	return results(c.outFloats(0, shape, out))
}

func randomBernoulli(c *call) []Tensor {
	p := c.float(ir.ParamProb, 0.5)
	return c.draw(func(s source, i int) float64 {
		if s.unit(i) < p {
			return 1
		}
		return 0
	})
}

func randomUniform(c *call) []Tensor {
	low, high := c.float(ir.ParamLow, 0), c.float(ir.ParamHigh, 1)
	return c.draw(func(s source, i int) float64 { return low + (high-low)*s.unit(i) })
}

// randomNormal is the transform of Box and Muller.
func randomNormal(c *call) []Tensor {
	mean, dev := c.float(ir.ParamMean, 0), c.float(ir.ParamStddev, 1)
	return c.draw(func(s source, i int) float64 {
		return mean + dev*math.Sqrt(-2*math.Log(s.unit(2*i)))*math.Cos(2*math.Pi*s.unit(2*i+1))
	})
}

// randomCategorical draws size categories for every row of x, whose elements
// are logits or probabilities of the last axis.
func randomCategorical(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	logits := c.choice(ir.ParamMode, "logits", "logits", "probs") == "logits"
	size := c.int(ir.ParamSize, 1)
	if c.err == nil && (x.Type.Rank() < 1 || x.Type.Shape[x.Type.Rank()-1] < 1 || size < 0 || size > maxDim) {
		return c.fail("cannot draw %d categories from x of shape %s", size, ir.ShapeString(x.Type.Shape))
	}
	xs := c.floats(x)
	if c.err != nil {
		return nil
	}
	last := x.Type.Rank() - 1
	n := int(x.Type.Shape[last])
	shape := append(append([]int64(nil), x.Type.Shape[:last]...), size)
	out := c.buffer(prod(shape))
	if c.err != nil {
		return nil
	}
	s := c.source()
	for r := range len(xs) / n {
		row := xs[r*n : (r+1)*n]
		if logits {
			softmaxLane(row, 0, 1, n, false)
		}
		total := 0.0
		for _, v := range row {
			total += float64(v)
		}
		for k := range int(size) {
			at := r*int(size) + k
			u, pick := s.unit(at)*total, n-1
			for j, v := range row {
				if u -= float64(v); u < 0 {
					pick = j
					break
				}
			}
			out[at] = float32(pick)
		}
	}
	return results(c.outFloats(0, shape, out))
}
