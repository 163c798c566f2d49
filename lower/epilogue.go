package lower

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
)

// epilogue is what a multiply task applies to its sums before it rounds: a factor, then a clamp or a table.
type epilogue struct {
	bias  float64 // added to every sum
	scale float64
	relu  bool
	table *weights.Activation
	out   *ir.Value // the value that the task writes
	terms int64     // of a convolution, that the model sums for an element
}

// CanFuse reports whether e can be carried out by the tasks of lead after the operations already fused: after a product
// at most one scalar factor, then at most one clamp or table, after repeated rows a relu, after the softmax of rows a
// power of two. A table needs coefficients of its own, so a product of two runtime operands cannot have one.
func CanFuse(lead *ir.Op, before []*ir.Op, e *ir.Op) bool {
	switch lead.Def.Operation {
	case ir.OpConv, ir.OpLinear, ir.OpMatMul:
	case ir.OpTile:
		return len(before) == 0 && e.Is(ir.OpRelu) && repeatsRows(lead)
	case ir.OpSoftmax:
		return len(before) == 0 && e.Is(ir.OpMul) && scalesRows(lead, e)
	default:
		return false
	}
	for _, p := range before {
		if !p.Is(ir.OpMul) {
			return false
		}
	}
	switch e.Def.Operation {
	case ir.OpMul:
		return len(before) == 0 && scalarConst(e) != nil
	case ir.OpRelu:
		return true
	}
	if isDynamicMatMul(lead) {
		return false
	}
	_, ok := tableFor(e)
	return ok
}

// scalesRows reports whether a product has the softmax of rows and a power of two from 1 on as operands, which the
// reciprocal of the sum can have as a factor without a rounding.
func scalesRows(softmax, product *ir.Op) bool {
	x := softmax.Arg(ir.ParamX).Type
	axis, err := ir.AxisAttr(softmax, ir.ParamAxis, x.Rank())
	c := scalarConst(product)
	if err != nil || axis != x.Rank()-1 || c == nil {
		return false
	}
	f, _ := math.Frexp(c.Float(0))
	return f == 0.5 && c.Float(0) >= 1
}

// Fusable returns the operations that CanFuse accepts for some of their arguments, in the order of the registry.
func Fusable() []*ir.Operation {
	var out []*ir.Operation
	for _, o := range ir.Operations {
		curves := append(slices.Collect(maps.Values(o.Modes)), o.Curve)
		switch {
		case o == ir.OpMul, o == ir.OpRelu, o == ir.OpClip, o == ir.OpRelu6, binaries[o].table != "",
			slices.ContainsFunc(curves, func(k *ir.Curve) bool { return k != nil && k.Table != "" }):
			out = append(out, o)
		}
	}
	return out
}

// scalarConst returns the one-element constant of a two-operand operation
// whose result has the shape of the other operand.
func scalarConst(op *ir.Op) *ir.Const {
	x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	for _, p := range [2][2]*ir.Value{{x, y}, {y, x}} {
		c, live := p[0], p[1]
		if c.IsConst() && !live.IsConst() && c.Type.Elems() == 1 && live.Type.Equal(op.Results[0].Type) {
			return c.Const
		}
	}
	return nil
}

// isDynamicMatMul reports whether the kernel of a product is known only at run time: its x, unless y is a matrix of
// constants. Several matrices of constants are images like an input's.
func isDynamicMatMul(op *ir.Op) bool {
	if !op.Is(ir.OpMatMul) || op.Arg(ir.ParamX).IsConst() {
		return false
	}
	y := op.Arg(ir.ParamY)
	return !y.IsConst() || !constMatrix(y)
}

// epilogueOf collects what is fused after op.
func (b *builder) epilogueOf(op *ir.Op) (epilogue, error) {
	e := epilogue{scale: 1, out: op.Results[0]}
	for _, f := range b.fused[op] {
		switch f.Def.Operation {
		case ir.OpMul:
			c := scalarConst(f)
			if c == nil {
				return e, fmt.Errorf("fused mul %q lacks a scalar constant", f.Name)
			}
			e.scale *= c.Float(0)
		case ir.OpRelu:
			e.relu = true
		default:
			a, ok := tableFor(f)
			if !ok {
				return e, fmt.Errorf("fused %s %q lacks a table", f.Def.Name, f.Name)
			}
			e.table = a
			b.useTable(f, a)
		}
		e.out = f.Results[0]
	}
	return e, nil
}

// multiply returns a draft that multiplies with a kernel and has the epilogue. The input factor of a table and the
// fused factor share the only factor of a task.
func (e *epilogue) multiply() *draft {
	d := neural(td.NEMultiply)
	d.ne.bias, d.ne.scale = e.bias, e.scale
	switch {
	case e.table != nil:
		d.ne.scale *= weights.FromFP16(e.table.Scale)
		d.ne.act = td.NonlinTable
	case e.relu:
		d.ne.act = td.NonlinReLU
	}
	return d
}

func (e *epilogue) lut() *weights.Table {
	if e.table == nil {
		return nil
	}
	return &e.table.Table
}
