package irgen

import "github.com/zinc-compiler/zinc/ir"

// compressedRows use a compressed constant as the weight of a product, or as an operand.
func compressedRows() map[*ir.Operation]row {
	use := func(m *maker, op *ir.Operation) []*ir.Value {
		if op == ir.OpConstexprSparseToDense && m.n(8) == 0 { // integers, as an operand
			t, s := pick(m.choices, ir.Int8, ir.UInt8), m.shape()
			return m.try("cast", "x", m.compressed(op, t, s...), "dtype", "fp16")
		}
		x := m.operand(want{types: ir.DTypesOf(ir.FP16, ir.FP32), least: 1, most: 4})
		s := x.Type.Shape
		switch kind := m.n(3); {
		case kind == 0 && (len(s) == 3 || len(s) == 4):
			k := []int64{4 * int64(1+m.n(8)), s[1], 1 + int64(m.n(3)), 1 + int64(m.n(3))}[:len(s)]
			w := m.compressed(op, x.Type.DType, k...)
			return m.scaled(m.try("conv", "x", x, "weight", w, "pad_type", "same"), k[1])
		case kind == 1:
			w := m.compressed(op, x.Type.DType, s[m.n(len(s)):]...)
			return m.try(pick(m.choices, "add", "mul"), "x", x, "y", w)
		}
		k := s[len(s)-1]
		w := m.compressed(op, x.Type.DType, 4*int64(1+m.n(16)), k)
		return m.scaled(m.try("linear", "x", x, "weight", w), k)
	}
	return family(use, ir.OpConstexprAffineDequantize, ir.OpConstexprCast, ir.OpConstexprLUTToDense,
		ir.OpConstexprSparseToDense, ir.OpConstexprBlockwiseShiftScale, ir.OpConstexprLUTToSparse,
		ir.OpConstexprSparseBlockwiseShiftScale)
}

// bitsOf are the element types of indices, by the number of their bits.
var bitsOf = map[int]ir.DType{1: ir.UInt1, 2: ir.UInt2, 3: ir.UInt3, 4: ir.UInt4, 6: ir.UInt6, 8: ir.UInt8}

// compressed writes a constant of a shape with one of the operations that decompress.
func (m *maker) compressed(op *ir.Operation, float ir.DType, shape ...int64) *ir.Value {
	d := m.def(op)
	n := ir.TensorOf(float, shape...).Elems()
	if d == nil || n == 0 || n > MaxElems {
		giveUp()
	}
	k := int64(1 + 2*m.n(20))
	// packed are indices of a number of bits, low bits first, as bytes.
	packed := func(bits int, at func(i int64) int64) *ir.Value {
		out := make([]byte, (n*int64(bits)+7)/8)
		for i := range n {
			for b := range int64(bits) {
				if at(i)>>b&1 != 0 {
					j := i*int64(bits) + b
					out[j/8] |= 1 << (j % 8)
				}
			}
		}
		return m.g.Const(&ir.Const{Type: ir.TensorOf(ir.UInt8, int64(len(out))), Data: out})
	}
	set := func(i int64) int64 { return i * k / 3 & 1 }
	count := int64(0)
	for i := range n {
		count += set(i)
	}
	dims := m.g.Const(ir.ConstInts(ir.UInt32, shape...))
	mask := func() *ir.Value {
		return m.g.Filled(ir.UInt1, func(i int64) float64 { return float64(set(i)) }, shape...)
	}
	blocks := make([]int64, len(shape))
	for i, s := range shape {
		if blocks[i] = 1; m.yes() {
			blocks[i] = pick(m.choices, divisors(s)...)
		}
	}
	lut := func(entries int64) *ir.Value {
		return m.g.WeightsOf(float, append(append([]int64(nil), blocks...), entries, 1)...)
	}
	values := func(n ...int64) *ir.Value {
		t := pick(m.choices, ir.Int8, ir.UInt8, ir.Int4, ir.UInt4, float)
		if t == float {
			return m.weights(n...)
		}
		return m.g.Filled(t, func(i int64) float64 { return float64(i * k % 8) }, n...)
	}
	scale := func() *ir.Value {
		return m.g.Filled(float, func(i int64) float64 { return float64(1+i%3) / 8 }, blocks...)
	}
	if float.IsFloat() {
		m.float = float
	}
	switch {
	case op == ir.OpConstexprAffineDequantize:
		t := pick(m.choices, ir.Int8, ir.UInt8)
		axis := m.n(len(shape))
		var of []int64
		if m.yes() {
			of = []int64{shape[axis]}
		}
		q := m.g.Filled(t, func(i int64) float64 { return float64(i * k % 100) }, shape...)
		scale := m.g.Filled(float, func(i int64) float64 { return float64(1+i%5) / 64 }, of...)
		from := pick(m.choices, 0.0, 40) // without zero points they may stream
		zero := m.g.Filled(t, func(i int64) float64 { return from + from/40*float64(i%9) }, of...)
		return m.do(op.Name, "quantized_data", q, "zero_point", zero, "scale", scale, "axis", axis)
	case op == ir.OpConstexprCast:
		return m.do(op.Name, "source_val", m.g.Weights(shape...), "output_dtype", float.String())
	case op == ir.OpConstexprLUTToDense && d.Since == "ios16":
		bits := pick(m.choices, 1, 2, 4, 6, 8)
		return m.do(op.Name, "indices", packed(bits, func(i int64) int64 { return i * k % (1 << bits) }),
			"lut", m.weights(1<<bits), "shape", dims)
	case op == ir.OpConstexprSparseToDense && d.Since == "ios16":
		return m.do(op.Name, "nonzero_data", m.constant(float, count), "mask", packed(1, set), "shape", dims)
	case op == ir.OpConstexprLUTToDense:
		bits := pick(m.choices, 1, 2, 3, 4, 6, 8)
		idx := m.g.Filled(bitsOf[bits], func(i int64) float64 { return float64(i * k % (1 << bits)) }, shape...)
		return m.do(op.Name, m.maybe([]any{"indices", idx, "lut", lut(1 << bits)}, "vector_axis", 0)...)
	case op == ir.OpConstexprSparseToDense:
		return m.do(op.Name, "nonzero_data", m.constant(float, count), "mask", mask())
	case op == ir.OpConstexprBlockwiseShiftScale:
		data := values(shape...)
		args := []any{"data", data, "scale", scale()}
		if data.Type.DType != float {
			args = m.maybe(args, "offset", m.g.Filled(data.Type.DType, func(i int64) float64 { return float64(i % 4) },
				blocks...))
		}
		return m.do(op.Name, args...)
	case op == ir.OpConstexprLUTToSparse:
		bits := pick(m.choices, 1, 2, 4)
		idx := m.g.Filled(bitsOf[bits], func(i int64) float64 { return float64(i * k % (1 << bits)) }, count)
		vs := m.all(op.Name, m.maybe([]any{"indices_mask", mask(), "indices_nonzero_data", idx, "lut", lut(1 << bits)},
			"vector_axis", 0)...)
		return m.do("constexpr_sparse_to_dense", "nonzero_data", vs[1], "mask", vs[0])
	}
	data := values(count)
	args := []any{"data_mask", mask(), "nonzero_data", data, "scale", scale()}
	if data.Type.DType != float {
		args = m.maybe(args, "offset", m.g.Filled(data.Type.DType, func(i int64) float64 { return float64(i % 4) },
			blocks...))
	}
	vs := m.all(op.Name, args...)
	return m.do("constexpr_sparse_to_dense", "nonzero_data", vs[1], "mask", vs[0])
}
