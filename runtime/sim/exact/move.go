package exact

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// move computes an operation that moves elements: the interpreter moves their numbers, counted from 1; 0 means the
// element zero. Operands that say where to move are passed unchanged.
func (c *call) move() []Tensor {
	data := c.moved()
	if data == nil {
		return nil
	}
	op := *c.op
	op.Place = ir.Place{}
	op.Args = make([][]*ir.Value, len(c.op.Args))
	fn := &ir.Func{Name: "main", Opset: opset(&op), Body: &ir.Block{Ops: []*ir.Op{&op}}}
	inputs := map[string]interp.Tensor{}
	elems := []field.Elem{0}
	for i, args := range c.op.Args {
		for _, v := range args {
			t := c.Value(c.in, v)
			p := &ir.Value{Name: fmt.Sprint("a", len(inputs)), Pos: v.Pos}
			switch {
			case data[i]:
				p.Type = ir.TensorOf(ir.Int32, t.Type.Shape...)
				n := make([]int64, len(t.Elems))
				for k := range n {
					n[k] = int64(len(elems) + k)
				}
				elems = append(elems, t.Elems...)
				x, err := interp.FromInts(ir.Int32, n, t.Type.Shape...)
				if err != nil {
					return nil
				}
				inputs[p.Name] = x
				fn.Body.Params = append(fn.Body.Params, p)
			case v.Const != nil:
				p.Type, p.Const = v.Type, v.Const
			default:
				n, ok := small(t)
				if !ok || !t.Type.DType.IsInt() && t.Type.DType != ir.Bool {
					return nil
				}
				x, err := interp.FromInts(t.Type.DType, n, t.Type.Shape...)
				if err != nil {
					return nil
				}
				p.Type, p.Const = v.Type, x.Const()
			}
			op.Args[i] = append(op.Args[i], p)
		}
	}
	op.Results = make([]*ir.Value, len(c.op.Results))
	for i, v := range c.op.Results {
		op.Results[i] = &ir.Value{Name: fmt.Sprint("r", i), Def: &op, Type: ir.TensorOf(ir.Int32, v.Type.Shape...)}
	}
	fn.Body.Outputs = op.Results
	got, err := interp.Run(context.Background(), fn, inputs, interp.Options{})
	if err != nil {
		return nil
	}
	out := make([]Tensor, len(op.Results))
	for i, v := range op.Results {
		t := got[v.Name]
		y := make([]field.Elem, t.Elems())
		for k, n := range t.Ints() {
			y[k] = elems[n]
		}
		out[i] = c.out(i, y)
	}
	return out
}

// opset returns the opset whose rules apply to an operation: the latest for one that has only one form.
func opset(op *ir.Op) string {
	if op.Def.Since != "" {
		return op.Def.Since
	}
	return "ios18"
}

// moved reports, by parameter, whether the elements of an operand are moved: this holds for operands that share their
// type with the results. It returns nil if the operation has no such operand.
func (c *call) moved() []bool {
	out := make([]bool, len(c.op.Def.Params))
	letter := ""
	for i := range c.op.Def.Params {
		p := &c.op.Def.Params[i]
		if slices.Contains(c.op.Def.Picks, p.Name) {
			out[i], letter = true, p.Same
		}
	}
	if !slices.Contains(out, true) {
		return nil
	}
	for i := range c.op.Def.Params {
		p := &c.op.Def.Params[i]
		out[i] = out[i] || letter != "" && p.Same == letter
	}
	return out
}

// transpose is faster than move.
func transpose(c *call) []Tensor {
	perm, err := ir.Perm(c.op)
	x, shape := c.need(ir.ParamX), c.op.Results[0].Type.Shape
	if err != nil || len(shape) == 0 {
		return c.move()
	}
	from := broadcastStrides(x.Type.Shape, []Tensor{x})[0]
	out := c.memory.Take(len(x.Elems))
	var fill func(to, at, d int)
	fill = func(to, at, d int) {
		step, n := from[perm[d]], int(shape[d])
		if d < len(shape)-1 {
			inner := int(extent(shape[d+1:], nil))
			for i := range n {
				fill(to+i*inner, at+i*step, d+1)
			}
			return
		}
		for i := range out[to:][:n] {
			out[to+i] = x.Elems[at+i*step]
		}
	}
	fill(0, 0, 0)
	return []Tensor{c.out(0, out)}
}

// gathered takes slices along an axis. The interpreter would count every element of x, which may be a dictionary.
func gathered(c *call) []Tensor {
	a, err := ir.GatherAttrs(c.op)
	x := c.need(ir.ParamX)
	places, ok := small(c.need(ir.ParamIndices))
	if err != nil || a.BatchDims != 0 || !ok {
		return c.move()
	}
	n, inner := x.Type.Shape[a.Axis], extent(x.Type.Shape[a.Axis+1:], nil)
	var out []field.Elem
	for lead := range extent(x.Type.Shape[:a.Axis], nil) {
		for _, i := range places {
			if i < 0 {
				i += n
			}
			if i < 0 || i >= n {
				return nil
			}
			out = append(out, x.Elems[(lead*n+i)*inner:][:inner]...)
		}
	}
	return []Tensor{c.out(0, out)}
}

// maxFilled is the largest number of elements of a constant that Folded fills.
const maxFilled = 1 << 20

// Folded returns the results of an operation whose operands are constants, as the interpreter computes them, or that
// depends on a known shape alone; nil for others.
func Folded(op *ir.Op) []*ir.Const {
	switch {
	case op.Is(ir.OpShape):
		if x := op.Arg(ir.ParamX).Type; x.Kind == ir.Tensor && x.Static() {
			return []*ir.Const{ir.ConstInts(op.Results[0].Type.DType, x.Shape...)}
		}
	case op.Is(ir.OpFillLike):
		t := op.Results[0].Type
		if f, ok := ir.ArgFloat(op, ir.ParamValue); ok && t.Static() && t.Elems() <= maxFilled {
			data := ir.AppendElem(nil, t.DType, f)
			return []*ir.Const{{Type: t, Data: bytes.Repeat(data, int(t.Elems()))}}
		}
	}
	known := len(op.Blocks) == 0 && op.Def.Effect == ir.Pure && op.Def.Class != ir.Randomness
	op.Operands(func(_ *ir.Param, v *ir.Value) { known = known && v.IsConst() })
	if !known {
		return nil
	}
	fn := &ir.Func{Name: "main", Opset: opset(op), Body: &ir.Block{Ops: []*ir.Op{op}, Outputs: op.Results}}
	got, err := interp.Run(context.Background(), fn, nil, interp.Options{})
	if err != nil {
		return nil
	}
	out := make([]*ir.Const, len(op.Results))
	for i, v := range op.Results {
		t, ok := got[v.Name]
		if !ok || t.Type.Kind != ir.Tensor {
			return nil
		}
		out[i] = t.Const()
	}
	return out
}
