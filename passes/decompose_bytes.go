package passes

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// bytesDecompositions are the decompositions of operations that move integers.
var bytesDecompositions = []Decomposition{
	{Name: "bytes", Ops: movers(), Doc: "the operation on each byte of the integers, between to_bytes and from_bytes",
		Covers: "integers of 8, 16 and 32 bits", Also: append(integers(), ir.Bool), live: true, apply: byBytes},
}

// integers returns the element types that are moved as bytes.
func integers() []ir.DType {
	return []ir.DType{ir.Int8, ir.UInt8, ir.Int16, ir.UInt16, ir.Int32, ir.UInt32}
}

// movers returns the operations whose results are elements of operands, whatever these are, and which the engine has
// for numbers.
func movers() (os ops) {
	none := []*ir.Operation{ir.OpToBytes, ir.OpFromBytes, ir.OpReverseSequence}
	for _, o := range ir.Operations {
		if (o.Class == ir.Movement || o == ir.OpSelect) && !slices.Contains(none, o) {
			os = append(os, o)
		}
	}
	return os
}

// byBytes moves each byte in the way the integers move.
func byBytes(c *decomposer) {
	d := c.op.Results[0].Type.DType
	n := ir.Bytes(d)
	picked := map[ir.ParamName]bool{}
	for _, p := range c.op.Def.Picks {
		picked[p] = true
	}
	c.op.Operands(func(p *ir.Param, v *ir.Value) {
		if picked[p.Name] && v.Type.DType != d {
			c.Fail("moves %s to %s", v.Type.DType, d)
		}
	})
	if n == 0 {
		c.Fail("moves %s, which is not an integer", d)
	}
	apart := map[*ir.Value][]*ir.Value{}
	parts := make([][]*ir.Value, len(c.op.Results)) // the bytes of each result
	for k := range n {
		args := make([][]*ir.Value, len(c.op.Args))
		for i, a := range c.op.Args {
			for _, v := range a {
				if picked[c.op.Def.Params[i].Name] {
					if apart[v] == nil {
						apart[v] = c.bytes(v)
					}
					v = apart[v][k]
				}
				args[i] = append(args[i], v)
			}
		}
		for i, v := range c.itself(args) {
			parts[i] = append(parts[i], v)
		}
	}
	var out []*ir.Value
	for _, vs := range parts {
		out = append(out, c.joinBytes(d, vs))
	}
	c.become(out...)
}

// itself writes the operation itself on other arguments.
func (c *decomposer) itself(args [][]*ir.Value) []*ir.Value {
	op := &ir.Op{
		Def:    c.op.Def,
		Name:   c.op.Name,
		Pos:    c.op.Pos,
		Args:   args,
		Origin: c.s.made(c.op.Origin),
	}
	types, err := ir.InferOp(op)
	if err != nil {
		c.Stop(fmt.Errorf("%s on bytes: %w", c.op.Def.Name, err))
	}
	for _, t := range types {
		op.Results = append(op.Results, &ir.Value{Name: c.s.name(op.Def.Name), Type: t, Def: op, Pos: op.Pos})
	}
	c.Ops = append(c.Ops, op)
	return op.Results
}

// bytes separates integers into their bytes.
func (c *decomposer) bytes(v *ir.Value) []*ir.Value {
	if !v.IsConst() {
		return c.All(ir.OpToBytes, arg(ir.ParamX, v))
	}
	var out []*ir.Value
	vs := v.Const.Ints()
	for k := range ir.Bytes(v.Type.DType) {
		at := func(i int64) float64 { return float64(uint8(vs[i] >> (8 * k))) }
		out = append(out, c.computed(at, v.Type.Shape, v))
	}
	return out
}

// joinBytes joins bytes to integers of type d.
func (c *decomposer) joinBytes(d ir.DType, vs []*ir.Value) *ir.Value {
	args := []ir.Arg{arg(ir.ParamDType, c.Str(d.String()))}
	for _, v := range vs {
		args = append(args, arg(ir.ParamValues, v))
	}
	return c.Do(ir.OpFromBytes, args...)
}
