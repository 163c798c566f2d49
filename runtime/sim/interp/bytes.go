package interp

import "github.com/zinc-compiler/zinc/ir"

var _ = add(map[*ir.Operation]kernel{
	ir.OpToBytes:   toBytes,
	ir.OpFromBytes: fromBytes,
})

func toBytes(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	if c.err != nil {
		return nil
	}
	n := ir.Bytes(x.Type.DType)
	if n == 0 || n != len(c.op.Results) {
		return c.fail("argument x is %s, the program names %d results", x.Type, len(c.op.Results))
	}
	vs := c.integers(x)
	var out []Tensor
	for k := range n {
		part := c.buffer(len(vs))
		if c.err != nil {
			return nil
		}
		for i, v := range vs {
			part[i] = float32(uint8(v >> (8 * k)))
		}
		out = append(out, c.outFloats(k, x.Type.Shape, part))
	}
	return out
}

func fromBytes(c *call) []Tensor {
	parts := c.tuple(ir.ParamValues)
	d := c.dtype(0)
	if c.err != nil {
		return nil
	}
	if len(parts) == 0 || len(parts) != ir.Bytes(d) {
		return c.fail("argument values has %d tensors, %s has %d bytes", len(parts), d, ir.Bytes(d))
	}
	shape := parts[0].Type.Shape
	if !c.reserve(8 * int64(parts[0].Elems())) {
		return nil
	}
	vs := make([]int64, parts[0].Elems())
	for k, p := range parts {
		if p.Elems() != len(vs) {
			return c.fail("operand %d of values is %s, operand 0 is %s", k, p.Type, parts[0].Type)
		}
		for i, f := range c.floats(p) {
			if f != float32(uint8(f)) {
				return c.fail("operand %d of values has %v, which is not a byte", k, f)
			}
			vs[i] |= int64(uint8(f)) << (8 * k)
		}
	}
	if bits := d.Bits(); d.IsSigned() {
		for i, v := range vs {
			vs[i] = v << (64 - bits) >> (64 - bits)
		}
	}
	return results(c.outInts(0, shape, vs))
}
