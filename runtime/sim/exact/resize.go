package exact

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// resize interpolates along one axis after another, between the elements that the interpreter names. A weight is the
// number of fp16 that it rounds to.
func resize(c *call) []Tensor {
	axes, at := interp.Interpolation(c.op)
	x, shape := c.need(ir.ParamX), c.op.Results[0].Type.Shape
	if at == nil || axes > len(shape) || len(shape) != len(x.Type.Shape) || len(x.Elems) == 0 {
		return nil
	}
	elems, now := x.Elems, slices.Clone(x.Type.Shape)
	for d := len(shape) - axes; d < len(shape); d++ {
		in, out := now[d], shape[d]
		now[d] = out
		inner := ir.TensorOf(ir.FP16, now[d+1:]...).Elems()
		n := ir.TensorOf(ir.FP16, now...).Elems()
		if memlimit.Room(n*elemBytes) != nil {
			return nil
		}
		to := c.memory.Take(int(n))
		for row := range n / inner {
			p := at(row%out, in, out)
			low := math.Floor(p)
			a := elems[(row/out*in+int64(low))*inner:]
			y := to[row*inner:][:inner]
			if p == low {
				copy(y, a)
				continue
			}
			first, second := field.Number(numerics.FP16(1-(p-low))), field.Number(numerics.FP16(p-low))
			for i := range y {
				y[i] = field.Add(field.Mul(first, a[i]), field.Mul(second, a[inner+int64(i)]))
			}
		}
		if d > len(shape)-axes {
			c.memory.Give(elems)
		}
		elems = to
	}
	return []Tensor{c.out(0, elems)}
}
