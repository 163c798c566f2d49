package exact

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/numerics/field"
)

// leastScore is the score of a masked element: the lowest number of fp16.
const leastScore = -65504

// attention scales the query by a number of fp16. A mask of booleans chooses between a score and the least one; it may
// also be added as numbers if it is constant.
func attention(c *call) []Tensor {
	mask, masked := c.arg(ir.ParamAttnMask)
	switch {
	case !c.op.Results[0].Type.DType.IsFloat():
		return nil
	case !masked:
		return c.attend(func(_ ir.Type, s []field.Elem) []field.Elem { return s })
	}
	over := func(f func(a []field.Elem) field.Elem, mask Tensor) func() []Tensor {
		return func() []Tensor {
			return c.attend(func(t ir.Type, s []field.Elem) []field.Elem {
				return c.over(t.Shape, f, Tensor{t, s}, mask)
			})
		}
	}
	add := func(a []field.Elem) field.Elem { return field.Add(a[0], a[1]) }
	if mask.Type.DType.IsFloat() {
		return over(add, mask)()
	}
	least := field.Number(leastScore)
	chosen := over(func(a []field.Elem) field.Elem {
		return field.Add(field.Mul(a[1], a[0]), field.Mul(field.Sub(1, a[1]), least))
	}, mask)
	if !c.op.Arg(ir.ParamAttnMask).IsConst() {
		return chosen()
	}
	numbers := Tensor{mask.Type, make([]field.Elem, len(mask.Elems))}
	for i, x := range mask.Elems {
		numbers.Elems[i] = field.Mul(field.Sub(1, x), least)
	}
	return c.either(chosen, over(add, numbers))
}

// attend computes attention with a function of the scores.
func (c *call) attend(masked func(t ir.Type, scores []field.Elem) []field.Elem) []Tensor {
	q, k, v := c.need(ir.ParamQuery), c.need(ir.ParamKey), c.need(ir.ParamValue)
	out, n := c.op.Results[0].Type, q.Type.Rank()
	rows, width, keys := q.Type.Shape[n-2], q.Type.Shape[n-1], k.Type.Shape[n-2]
	scale := c.valuation.Scalar(numerics.FP16(1 / math.Sqrt(float64(width))))
	q.Elems = slices.Clone(q.Elems)
	for i := range q.Elems {
		q.Elems[i] = field.Mul(q.Elems[i], scale)
	}
	lead := out.Shape[:n-2]
	scores := out.WithShape(append(slices.Clone(lead), rows, keys)...)
	s := masked(scores, c.matrices(q, k, ir.MatMul{TransposeY: true, Batch: lead, M: rows, K: width, N: keys}, false))
	s = c.shares(Tensor{scores, s}, n-1)
	return []Tensor{c.out(0, c.matrices(Tensor{scores, s}, v, ir.MatMul{
		Batch: lead, M: rows, K: keys, N: out.Shape[n-1]}, false))}
}
