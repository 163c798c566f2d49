package irgen

import "github.com/zinc-compiler/zinc/ir"

// ofStep is a row that writes a step of the engine's own programs, in the type of its operand.
func ofStep(least, most int, f func(m *maker, x *ir.Value) []*ir.Value) row {
	return func(m *maker, op *ir.Operation) []*ir.Value {
		x := m.operand(want{types: ir.DTypesOf(ir.FP16, ir.FP32) & m.types(op, m.def(op).Params[0].Name),
			least: least, most: most})
		m.float = x.Type.DType
		return f(m, x)
	}
}

func productRows() map[*ir.Operation]row {
	return join(
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.x(op, 1, 5)
			k, n := x.Type.Shape[x.Type.Rank()-1], m.dim()
			if !x.Type.DType.IsFloat() {
				args := []any{"x", x, "weight", m.constant(x.Type.DType, n, k)}
				return m.try(op.Name, m.maybe(args, "bias", m.constant(x.Type.DType, n))...)
			}
			m.float = x.Type.DType
			args := []any{"x", x, "weight", m.weightsOf(k, n, k)}
			return m.try(op.Name, m.maybe(args, "bias", m.weights(n))...)
		}, ir.OpLinear),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.x(op, 1, 5)
			if m.float = x.Type.DType; x.Type.Rank() == 1 {
				y := m.like(x, x.Type.Shape[0], 1+int64(m.n(7)))
				return m.try(op.Name, "x", x, "y", y)
			}
			fresh := func(shape ...int64) *ir.Value { return m.like(x, shape...) }
			if !x.Type.DType.IsFloat() {
				y := fresh(x.Type.Shape[x.Type.Rank()-1], 3)
				return m.try(op.Name, "x", x, "y", y)
			}
			return m.matmul(x, fresh)
		}, ir.OpMatMul),
		family(ofStep(3, 5, stepNamed("attention").f), ir.OpScaledDotProductAttention),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			if m.n(8) > 0 {
				return ofStep(3, 5, stepNamed("einsum").f)(m, op)
			}
			x := m.newOf(ir.DTypesOf(ir.Int32), 1, 2, 3, 4)
			y := m.newOf(ir.DTypesOf(ir.Int32), 1, 4, 3, 5)
			return m.try(op.Name, "values", []*ir.Value{x, y}, "equation", "nchw,nwhu->nchu")
		}, ir.OpEinsum),
		family(ofStep(3, 5, stepNamed("conv").f), ir.OpConv),
		family(ofStep(3, 5, func(m *maker, x *ir.Value) []*ir.Value {
			s := x.Type.Shape
			groups := int64(1)
			if m.yes() && s[1]%2 == 0 {
				groups = 2
			}
			k := int64(1 + m.n(3))
			w := []int64{s[1], 1 + int64(m.n(6))}
			var strides, dilations, pad, shape []int64
			for range len(s) - 2 {
				w, strides = append(w, k), append(strides, int64(1+m.n(3)))
				dilations = append(dilations, int64(1+m.n(2)))
				pad = append(pad, int64(m.n(int(k))), int64(m.n(int(k))))
			}
			kind := pick(m.choices, "valid", "same", "custom")
			args := []any{"x", x, "weight", m.weightsOf(s[1]*k, w...), "pad_type", kind, "groups", groups}
			args = m.maybe(args, "strides", strides, "dilations", dilations, "bias", m.weights(w[1]*groups))
			if kind == "custom" {
				args = append(args, "pad", pad)
			}
			vs := m.all("conv_transpose", args...)
			if m.n(3) > 0 {
				return vs
			}
			// The transposed convolution again, with a shape that may be one longer if the stride leaves it open.
			shape = append(shape, vs[0].Type.Shape...)
			shape[len(shape)-1] += int64(m.n(2))
			return m.try("conv_transpose", append(args, "output_shape", shape)...)
		}), ir.OpConvTranspose),
		family(ofStep(3, 4, func(m *maker, x *ir.Value) []*ir.Value {
			s := x.Type.Shape
			out := 1 + int64(m.n(5))
			groups := int64(1)
			if m.yes() && s[1]%2 == 0 {
				groups, out = 2, 2*out
			}
			w := []int64{out, s[1] / groups, 1 + int64(m.n(3)), 1 + int64(m.n(3))}[:len(s)]
			args := []any{"x", x, "weight", m.constant(ir.UInt8, w...), "groups", groups}
			var ones, pad []int64
			for range len(s) - 2 {
				ones, pad = append(ones, 1+int64(m.n(2))), append(pad, int64(m.n(2)), int64(m.n(2)))
			}
			kind := pick(m.choices, "valid", "same", "custom")
			if args = append(args, "pad_type", kind); kind == "custom" {
				args = append(args, "pad", pad)
			}
			args = m.maybe(args, "strides", ones, "dilations", ones, "bias", m.constant(ir.UInt8, out), "nbits", 8)
			scale := m.g.Filled(m.float, func(i int64) float64 { return float64(1+i%3) / 64 }, out)
			return m.try("conv_quantized", append(args, "quantization_type", "linear", "quant_scale", scale,
				"quant_bias", m.weights(out))...)
		}), ir.OpConvQuantized),
		family(ofStep(3, 5, stepNamed("max_pool").f), ir.OpMaxPool),
		family(ofStep(3, 5, stepNamed("avg_pool").f), ir.OpAvgPool),
		family(ofStep(3, 5, func(m *maker, x *ir.Value) []*ir.Value {
			return m.try("l2_pool", m.pool(x)...)
		}), ir.OpL2Pool),
		family(recurrentRow, ir.OpLSTM, ir.OpGRU, ir.OpRNN),
	)
}

// stepNamed returns the step of that name.
func stepNamed(name string) *step {
	for i := range steps {
		if steps[i].name == name {
			return &steps[i]
		}
	}
	panic("irgen: no step " + name)
}

// recurrentRow writes a layer over time.
func recurrentRow(m *maker, op *ir.Operation) []*ir.Value {
	x := m.find(want{types: m.types(op, ir.ParamX), least: 3, most: 3, fits: func(s []int64) bool {
		return s[0] <= 6 && s[1] <= 4 && s[2] <= 24
	}})
	if x == nil {
		x = m.g.InputOf(m.float, 1+int64(m.n(4)), 1+int64(m.n(3)), 1+int64(m.n(8)))
	}
	m.float = x.Type.DType
	gates := map[*ir.Operation]int64{ir.OpLSTM: 4, ir.OpGRU: 3, ir.OpRNN: 1}[op]
	s, hidden := x.Type.Shape, 1+int64(m.n(6))
	direction := pick(m.choices, "forward", "reverse", "forward", "bidirectional")
	both := direction == "bidirectional" && op == ir.OpLSTM
	if direction == "bidirectional" && !both {
		direction = "reverse"
	}
	width := hidden
	if both {
		width *= 2
	}
	args := []any{"x", x, "initial_h", m.like(x, s[1], width), "direction", direction,
		"weight_ih", m.weightsOf(s[2], gates*hidden, s[2]), "weight_hh", m.weightsOf(hidden, gates*hidden, hidden)}
	args = m.maybe(args, "bias", m.weights(gates*hidden), "output_sequence", m.yes(),
		"activation", pick(m.choices, "tanh", "sigmoid", "relu"))
	if op != ir.OpRNN {
		args = m.maybe(args, "recurrent_activation", pick(m.choices, "sigmoid", "tanh"))
	}
	if op == ir.OpGRU && m.has(op, ir.ParamResetAfter) && m.yes() {
		args = m.maybe(append(args, "reset_after", true), "input_bias", m.weights(gates*hidden))
	}
	if op == ir.OpLSTM {
		args = append(args, "initial_c", m.like(x, s[1], width))
		args = m.maybe(args, "peephole", m.weights(3*hidden), "clip", m.number(x, 2),
			"cell_activation", pick(m.choices, "tanh", "sigmoid"))
		if both {
			args = append(args, "weight_ih_back", m.weightsOf(s[2], gates*hidden, s[2]),
				"weight_hh_back", m.weightsOf(hidden, gates*hidden, hidden))
			args = m.maybe(args, "bias_back", m.weights(gates*hidden), "peephole_back", m.weights(3*hidden))
		}
	}
	return m.try(op.Name, args...)
}
