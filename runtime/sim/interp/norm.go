package interp

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpBatchNorm:         batchNorm,
	ir.OpInstanceNorm:      instanceNorm,
	ir.OpLayerNorm:         layerNorm,
	ir.OpL2Norm:            l2Norm,
	ir.OpLocalResponseNorm: localResponseNorm,
})

// vector returns an optional argument that must contain n numbers; def is the value of each if it is absent.
func (c *call) vector(name ir.ParamName, n int, def float32) []float32 {
	t, ok := c.opt(name)
	if !ok {
		vs := c.buffer(n)
		for i := range vs {
			vs[i] = def
		}
		return vs
	}
	if t.Elems() != n {
		c.fail("argument %s has %d elements, needs %d", name, t.Elems(), n)
		return nil
	}
	return c.floats(t)
}

// planes returns batch, channels and the elements of a plane of x [N, C, ...].
func planes(c *call, x Tensor, minRank int) (n, ch, inner int) {
	if c.err == nil && x.Type.Rank() < minRank {
		c.fail("x has shape %s, needs at least %d dimensions", ir.ShapeString(x.Type.Shape), minRank)
	}
	if c.err != nil {
		return 0, 0, 0
	}
	s := x.Type.Shape
	return int(s[0]), int(s[1]), prod(s[2:])
}

func batchNorm(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	n, ch, inner := planes(c, x, 2)
	mean, variance := c.vector(ir.ParamMean, ch, 0), c.vector(ir.ParamVariance, ch, 1)
	gamma, beta := c.vector(ir.ParamGamma, ch, 1), c.vector(ir.ParamBeta, ch, 0)
	eps := c.float(ir.ParamEpsilon, float64(float32(1e-5)))
	xs := c.floats(x)
	if c.err != nil {
		return nil
	}
	c.parallel(n*ch, 1+4096/max(1, inner), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			k := r % ch
			inv := 1 / math.Sqrt(float64(variance[k])+eps)
			for i, v := range xs[r*inner : (r+1)*inner] {
				xs[r*inner+i] = affine((float64(v)-float64(mean[k]))*inv, gamma[k], beta[k])
			}
		}
	})
	return results(c.outFloats(0, x.Type.Shape, xs))
}

func affine(v float64, gamma, beta float32) float32 {
	return float32(float64(v*float64(gamma)) + float64(beta))
}

// moments returns the mean and the population variance, accumulated in fp64 in
// two passes.
func moments(xs []float32) (mean, variance float64) {
	for _, v := range xs {
		mean += float64(v)
	}
	mean /= float64(len(xs))
	for _, v := range xs {
		d := float64(v) - mean
		variance += float64(d * d)
	}
	return mean, variance / float64(len(xs))
}

func instanceNorm(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	n, ch, inner := planes(c, x, 3)
	gamma, beta := c.vector(ir.ParamGamma, ch, 1), c.vector(ir.ParamBeta, ch, 0)
	eps := c.float(ir.ParamEpsilon, float64(float32(1e-5)))
	xs := c.floats(x)
	if c.err != nil {
		return nil
	}
	c.parallel(n*ch, 1+4096/max(1, inner), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row := xs[r*inner : (r+1)*inner]
			mean, variance := moments(row)
			inv := 1 / math.Sqrt(variance+eps)
			for i, v := range row {
				row[i] = affine((float64(v)-mean)*inv, gamma[r%ch], beta[r%ch])
			}
		}
	})
	return results(c.outFloats(0, x.Type.Shape, xs))
}

// layerNorm normalises over the axes; gamma and beta have the shape of those
// axes, in ascending order.
func layerNorm(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	on := c.axesArg(ir.ParamAxes, x.Type.Rank())
	eps := c.float(ir.ParamEpsilon, float64(float32(1e-5)))
	if c.err != nil {
		return nil
	}
	fd := c.foldOver(x.Type.Shape, on, true)
	gamma, beta := c.vector(ir.ParamGamma, len(fd.terms), 1), c.vector(ir.ParamBeta, len(fd.terms), 0)
	xs := c.floats(x)
	if c.err != nil {
		return nil
	}
	c.parallel(len(fd.outs), 1+4096/max(1, len(fd.terms)), func(lo, hi int) {
		row := make([]float32, len(fd.terms))
		for o := lo; o < hi; o++ {
			at := fd.outs[o]
			for i, t := range fd.terms {
				row[i] = xs[at+t]
			}
			mean, variance := moments(row)
			inv := 1 / math.Sqrt(variance+eps)
			for i, t := range fd.terms {
				xs[at+t] = affine((float64(row[i])-mean)*inv, gamma[i], beta[i])
			}
		}
	})
	return results(c.outFloats(0, x.Type.Shape, xs))
}

// l2Norm divides by the root of the sum of squares over the last three axes,
// epsilon under the root.
func l2Norm(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	eps := c.float(ir.ParamEpsilon, float64(float32(1e-6)))
	if c.err == nil && x.Type.Rank() < 3 {
		return c.fail("x has shape %s, needs at least 3 dimensions", ir.ShapeString(x.Type.Shape))
	}
	xs := c.floats(x)
	if c.err != nil || len(xs) == 0 {
		return results(c.outFloats(0, x.Type.Shape, xs))
	}
	inner := prod(x.Type.Shape[x.Type.Rank()-3:])
	c.parallel(len(xs)/inner, 1+4096/inner, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row := xs[r*inner : (r+1)*inner]
			s := eps
			for _, v := range row {
				s += float64(v) * float64(v)
			}
			inv := math.Sqrt(s)
			for i, v := range row {
				row[i] = float32(float64(v) / inv)
			}
		}
	})
	return results(c.outFloats(0, x.Type.Shape, xs))
}

// localResponseNorm divides each element by (k + alpha/size * sum of squares over size neighbouring channels)^beta. An
// even window has one more channel before the element than after it, as in coremltools' tests (docs/deviations.md).
func localResponseNorm(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	n, ch, inner := planes(c, x, 3)
	size := c.int(ir.ParamSize, 0)
	alpha, beta, k := c.float(ir.ParamAlpha, float64(float32(1e-4))), c.float(ir.ParamBeta, 0.75), c.float(ir.ParamK, 1)
	xs := c.floats(x)
	out := c.buffer(len(xs))
	if c.err == nil && (size < 1 || size > 1<<30) {
		return c.fail("argument size is %d, must be positive", size)
	}
	if c.err != nil {
		return nil
	}
	before, after := int(size)/2, (int(size)-1)/2
	c.parallel(n*ch, 1+4096/max(1, inner), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			b, m := r/ch, r%ch
			from, to := max(0, m-before), min(ch-1, m+after)
			for i := range inner {
				s := 0.0
				for q := from; q <= to; q++ {
					v := float64(xs[(b*ch+q)*inner+i])
					s += v * v
				}
				out[r*inner+i] = float32(float64(xs[r*inner+i]) / math.Pow(k+alpha/float64(size)*s, beta))
			}
		}
	})
	return results(c.outFloats(0, x.Type.Shape, out))
}
