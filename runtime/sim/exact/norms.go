package exact

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/numerics/field"
)

func layerNorm(c *call) []Tensor {
	axes, err := ir.LayerNormAxes(c.op)
	if err != nil || !slices.IsSorted(axes) {
		return nil
	}
	return c.normalise(axes, func(_, i int) int { return i })
}

// instanceNorm is layer_norm over the spatial dimensions, with a factor and an addend for each channel.
func instanceNorm(c *call) []Tensor {
	shape := c.op.Arg(ir.ParamX).Type.Shape
	var axes []int
	for i := 2; i < len(shape); i++ {
		axes = append(axes, i)
	}
	if len(axes) == 0 {
		return nil
	}
	return c.normalise(axes, func(k, _ int) int { return k % int(shape[1]) })
}

// normalise divides the differences from the mean over axes by the root of the variance plus epsilon. of returns which
// factor and which addend element i of row k has.
func (c *call) normalise(axes []int, of func(k, i int) int) []Tensor {
	x := c.need(ir.ParamX)
	eps, ok := c.register(ir.ParamEpsilon)
	gamma, scaled := c.arg(ir.ParamGamma)
	beta, shifted := c.arg(ir.ParamBeta)
	if !ok {
		return nil
	}
	return []Tensor{c.out(0, c.along(x, axes, func(k int, row []field.Elem) {
		field.AddRow(row, []field.Elem{field.Neg(mean(c, row))})
		variance := field.Mul(sumOf(square)(c, row), field.Inv(field.Int(int64(len(row)))))
		field.MulRow(row, []field.Elem{c.Rsqrt(field.Add(variance, eps))})
		for i, x := range row {
			if scaled {
				x = field.Mul(x, gamma.Elems[of(k, i)])
			}
			if shifted {
				x = field.Add(x, beta.Elems[of(k, i)])
			}
			row[i] = x
		}
	}))}
}

// leastMagnitude is the smallest normal number of fp16.
const leastMagnitude = 0x1p-14

// maxUnits is how many squares of numbers up to 1 have a sum that fp16 represents.
const maxUnits = 1 << 15

// magnitude returns the largest magnitude of a row, or a number if that is larger, and the power of two that keeps the
// sum of squares of the row divided by it small.
func (c *call) magnitude(row []field.Elem, least float64) (most field.Elem, shift int) {
	size := make([]field.Elem, len(row))
	for i, x := range row {
		size[i] = c.Abs(x)
	}
	for n := len(row); n > maxUnits; n /= 4 {
		shift++
	}
	return c.Max(greatest(c, size), field.Number(numerics.FP16(least))), shift
}

// rootOfSquares is the root of the sum of squares: as it is, or of the elements divided by the largest magnitude, times
// that.
func rootOfSquares(c *call) []Tensor {
	return c.either(
		func() []Tensor {
			return reduce(func(c *call, row []field.Elem) field.Elem { return c.Sqrt(sumOf(square)(c, row)) })(c)
		},
		func() []Tensor {
			return reduce(func(c *call, row []field.Elem) field.Elem {
				most, shift := c.magnitude(row, leastMagnitude)
				unit := field.Mul(field.Inv(most), field.Number(math.Ldexp(1, -shift)))
				root := c.Sqrt(field.Mul(sumOf(square)(c, row), field.Mul(unit, unit)))
				return field.Mul(field.Mul(root, field.Number(math.Ldexp(1, shift))), most)
			})(c)
		})
}

// unitNorm multiplies each part of three dimensions by the inverse of the root of its sum of squares and epsilon: of
// the elements as they are, or of those and the root of epsilon divided by the largest magnitude.
func unitNorm(c *call) []Tensor {
	x := c.need(ir.ParamX)
	eps, ok := ir.ArgFloat(c.op, ir.ParamEpsilon)
	r := x.Type.Rank()
	if !ok || !c.floats() || r < 3 || len(x.Elems) == 0 {
		return nil
	}
	each := func(f func(row []field.Elem) field.Elem) func() []Tensor {
		return func() []Tensor {
			return []Tensor{c.out(0, c.along(x, []int{r - 3, r - 2, r - 1}, func(_ int, row []field.Elem) {
				field.MulRow(row, []field.Elem{f(row)})
			}))}
		}
	}
	addend, _ := c.register(ir.ParamEpsilon)
	root := math.Sqrt(eps)
	return c.either(
		each(func(row []field.Elem) field.Elem { return c.Rsqrt(field.Add(sumOf(square)(c, row), addend)) }),
		each(func(row []field.Elem) field.Elem {
			most, shift := c.magnitude(row, max(leastMagnitude, root))
			inverse := field.Inv(most)
			unit := field.Mul(inverse, field.Number(math.Ldexp(1, -shift)))
			sum := field.Mul(sumOf(square)(c, row), field.Mul(unit, unit))
			if eps > 0 {
				e := field.Mul(c.valuation.Scalar(numerics.FP16(math.Ldexp(root, -shift))), inverse)
				sum = field.Add(sum, field.Mul(e, e))
			}
			return field.Mul(unit, c.Rsqrt(sum))
		}))
}

// rootPool is sqrt(sum(x^2)) over a window of n elements, or sqrt(mean(x^2)) sqrt(n).
func rootPool(c *call) []Tensor {
	a, err := ir.PoolAttrs(c.op)
	if err != nil {
		return nil
	}
	n := extent(a.Kernel, nil)
	root, squares := c.valuation.Scalar(numerics.FP16(math.Sqrt(float64(n)))), sumOf(square)
	return c.either(
		func() []Tensor {
			return c.pooled(a, true, func(c *call, row []field.Elem) field.Elem { return c.Sqrt(squares(c, row)) })
		},
		func() []Tensor {
			return c.pooled(a, true, func(c *call, row []field.Elem) field.Elem {
				return field.Mul(root, c.Sqrt(field.Mul(squares(c, row), field.Inv(field.Int(n)))))
			})
		})
}

// responseNorm divides by a power of k plus the sum of squares of the channels nearby times alpha/size. That factor may
// be the square of a number of fp16, times another one for what its rounding loses.
func responseNorm(c *call) []Tensor {
	x := c.need(ir.ParamX)
	size, ok := ir.ArgInt(c.op, ir.ParamSize)
	var numbers [3]float64
	for i, name := range []ir.ParamName{ir.ParamAlpha, ir.ParamBeta, ir.ParamK} {
		v, known := ir.ArgFloat(c.op, name)
		numbers[i], ok = v, ok && known
	}
	alpha, beta, k := numbers[0], numbers[1], field.Number(numerics.FP16(numbers[2]))
	if !ok || !c.floats() || size < 1 {
		return nil
	}
	factor := alpha / float64(size)
	near := func(factor field.Elem) func() []Tensor {
		return func() []Tensor {
			channels := int(x.Type.Shape[1])
			return []Tensor{c.out(0, c.along(x, []int{1}, func(_ int, row []field.Elem) {
				squares := make([]field.Elem, channels)
				for i, v := range row {
					squares[i] = field.Mul(v, v)
				}
				for i, v := range row {
					from, to := max(0, i-int(size)/2), min(channels, i+int(size-1)/2+1)
					sum := field.Add(k, field.Mul(factor, field.Sum(squares[from:to])))
					row[i] = field.Mul(v, c.inversePower(sum, beta))
				}
			}))}
		}
	}
	alternatives := []func() []Tensor{near(field.Mul(field.Number(alpha), field.Inv(field.Int(size))))}
	if root := numerics.FP16(math.Sqrt(factor)); root > 0 {
		square, rest := field.Number(root*root), field.Number(numerics.FP16(factor/(root*root)))
		alternatives = append(alternatives, near(field.Mul(square, rest)))
	}
	return c.either(alternatives...)
}

// inversePower is 1/x^n.
func (c *call) inversePower(x field.Elem, n float64) field.Elem {
	switch n {
	case 1:
		return field.Inv(x)
	case 0.5:
		return c.Rsqrt(x)
	case 0.75:
		r := c.Rsqrt(x)
		return field.Mul(r, c.Sqrt(r))
	}
	return c.exp(field.Mul(c.valuation.Scalar(numerics.FP16(-n)), c.log(x)))
}
