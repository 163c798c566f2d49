package irgen

import "github.com/zinc-compiler/zinc/ir"

// around returns a number at a limit or next to it.
func (m *maker) around(limit int) int64 { return max(1, int64(limit)+int64(m.n(3))-1) }

// bounds write operations at one limit of the target. Results may be larger than in other programs.
var bounds = []block{
	{"width", func(m *maker) []*ir.Value {
		x := m.input(1, m.around(m.limits.Width))
		return []*ir.Value{m.apply(x, pick(m.choices, "relu", "sigmoid", "abs"))}
	}},
	{"rows in pieces, read again", func(m *maker) []*ir.Value {
		x := m.rowsInPieces()
		y := m.curve(x)
		if m.yes() {
			y = m.with("mul", y, m.weights(m.broadcastTo(x)...))
		}
		return []*ir.Value{y, m.with(pick(m.choices, "add", "sub", "mul", "maximum"), pick(m.choices, x, y), x)}
	}},
	{"rows in pieces, chosen", func(m *maker) []*ir.Value {
		x := m.rowsInPieces()
		if m.n(3) == 0 {
			return m.try("thresholded_relu", "x", x, "alpha", m.scalar())
		}
		cond := m.do(pick(m.choices, "greater", "equal", "less"), "x", x, "y", m.scalar())
		a, b := pick[any](m.choices, x, m.curve(x), m.scalar()), any(m.fresh(m.broadcastTo(x)))
		if m.yes() {
			a, b = b, a
		}
		return m.try("select", "cond", cond, "a", a, "b", b)
	}},
	{"rows in pieces, summed", func(m *maker) []*ir.Value {
		x := m.rowsInPieces()
		var y *ir.Value
		switch axis := pick(m.choices, -1, -1, -2); m.n(4) {
		case 0:
			y = m.do("softmax", "x", x, "axis", axis)
		case 1:
			y = m.do("reduce_mean", "x", x, "axes", []int{axis}, "keep_dims", true)
		default:
			y = m.do("layer_norm", "x", x, "axes", []int{axis}, "epsilon", 0.01)
		}
		return []*ir.Value{y, m.with(pick(m.choices, "add", "sub", "mul"), x, y)}
	}},
	{"rows in pieces, multiplied", func(m *maker) []*ir.Value {
		x := m.rowsInPieces()
		n := x.Type.Shape[x.Type.Rank()-1]
		if n > 8*int64(m.limits.WorkUnit) {
			giveUp() // the kernel would be larger than all else
		}
		y := x
		if m.yes() {
			y = m.normed(x)
		} else if m.yes() {
			y = m.curve(x)
		}
		y = m.dense(y, n)
		return []*ir.Value{y, m.with("add", y, x)}
	}},
	{"reduced width", func(m *maker) []*ir.Value {
		x := m.input(1, m.around(m.limits.Width))
		return m.try(pick(m.choices, "reduce_max", "reduce_mean"), "x", x, "axes", []int{-1}, "keep_dims", true)
	}},
	{"channels", func(m *maker) []*ir.Value {
		return []*ir.Value{m.apply(m.input(m.around(m.limits.Channels), 1), pick(m.choices, "relu", "tanh"))}
	}},
	{"rank", func(m *maker) []*ir.Value {
		s := make([]int64, m.around(m.limits.Rank))
		for i := range s {
			s[i] = 1 + int64(m.n(3))
		}
		x := m.input(s...)
		return []*ir.Value{m.with("mul", m.apply(x, pick(m.choices, "relu", "sigmoid")), x)}
	}},
	{"kernel", func(m *maker) []*ir.Value {
		kh, kw := m.around(pick(m.choices, m.limits.KernelH, m.limits.SmallKernelH, 1)),
			m.around(pick(m.choices, m.limits.KernelW, m.limits.SmallKernelW, 1))
		x := m.input(1, 2, kh+int64(m.n(4)), kw+int64(m.n(4)))
		return m.try("conv", "x", x, "weight", m.weightsOf(2*kh*kw, 3, 2, kh, kw), "pad_type",
			pick(m.choices, "valid", "same"))
	}},
	{"dilated kernel", func(m *maker) []*ir.Value {
		d := int64(1 + m.n(m.limits.KernelW))
		x := m.input(1, 2, 5, 3*d)
		return m.try("conv", "x", x, "weight", m.weightsOf(12, 3, 2, 2, 3), "dilations", []int64{1, d}, "pad_type",
			"same")
	}},
	{"stride", func(m *maker) []*ir.Value {
		sy, sx := m.around(m.limits.Stride), m.around(pick(m.choices, m.limits.Stride, 7, 8, 15, 31))
		x := m.input(1, 4, 2*sy+1, 2*sx+int64(m.n(3)))
		return m.try("conv", "x", x, "weight", m.weightsOf(16, 5, 4, 2, 2), "strides", []int64{sy, sx}, "pad_type",
			pick(m.choices, "valid", "same"))
	}},
	{"channels of a small image", func(m *maker) []*ir.Value {
		c, stride := m.around(1024), int64(1+m.n(2)) // beyond them the engine does not work on it as a whole
		x := m.input(1, c, stride*pick[int64](m.choices, 1, 2, 8), 2*stride)
		return m.try("conv", "x", x, "weight", m.weightsOf(4*c, 2, c, 2, 2), "strides", []int64{stride, stride},
			"pad_type", "custom", "pad", []int64{int64(m.n(2)), 1, 1, int64(m.n(2))})
	}},
	{"padding", func(m *maker) []*ir.Value {
		p, q := m.around(m.limits.Pad), m.around(m.limits.Pad)
		x := m.input(1, 2, 3, 4)
		return m.try("conv", "x", x, "weight", m.weightsOf(8, 3, 2, 2, 2), "pad", []int64{p, 1, q, 0}, "pad_type",
			"custom")
	}},
	{"groups", func(m *maker) []*ir.Value {
		g := m.around(pick(m.choices, m.limits.Groups, 5, 16, 64))
		x := m.input(1, g, 1, 2)
		return m.try("conv", "x", x, "weight", m.weightsOf(1, g, 1, 1, 1), "groups", g)
	}},
	{"pool", func(m *maker) []*ir.Value {
		k := m.around(m.limits.Pool)
		x := m.input(1, 2, k+int64(m.n(3)), 3)
		args := []any{"x", x, "kernel_sizes", []int64{k, 2}, "strides", []int64{m.around(m.limits.Stride), 1},
			"pad_type", pick(m.choices, "valid", "same"), "ceil_mode", m.yes()}
		if m.yes() {
			return m.try("max_pool", args...)
		}
		return m.try("avg_pool", append(args, "exclude_padding_from_average", m.yes())...)
	}},
	{"surfaces", func(m *maker) []*ir.Value {
		n := m.around(m.limits.Surfaces - 1)
		var vs []*ir.Value
		for range n {
			vs = append(vs, m.input(1, 3))
		}
		y := m.do("concat", "values", vs, "axis", 0, "interleave", false)
		return []*ir.Value{m.apply(y, "relu")}
	}},
	{"outputs of a core", func(m *maker) []*ir.Value {
		n := m.around(m.limits.Cores * (1 + m.n(4)))
		return []*ir.Value{m.dense(m.input(1+int64(m.n(4)), 1+int64(m.n(9))), n)}
	}},
	{"streamed pixels", func(m *maker) []*ir.Value {
		n := m.around(m.limits.StreamPixels)
		return []*ir.Value{m.filter(m.input(1, 4, 1, n), pick[int64](m.choices, 8, 16, 17), 1, 1, 1)}
	}},
	{"transposed reduction", func(m *maker) []*ir.Value {
		x := m.input(2, m.around(m.limits.ReduceTranspose), 3)
		return m.try(pick(m.choices, "reduce_sum", "reduce_mean", "reduce_max"), "x", x, "axes", []int{1 + m.n(2)},
			"keep_dims", m.yes())
	}},
	{"kernel memory", func(m *maker) []*ir.Value {
		return []*ir.Value{m.dense(m.input(1, m.around(m.limits.KernelElems)), 1)}
	}},
	{"kernel of one output", func(m *maker) []*ir.Value {
		c := m.around(m.limits.KernelElems)
		return m.try("conv", "x", m.input(1, c, 1, 1), "weight", m.weightsOf(c, 1, c, 1, 1))
	}},
	{"columns in pairs", func(m *maker) []*ir.Value {
		c, w, k := int64(1+m.n(20)), 254+int64(m.n(50)), int64(6+m.n(8))
		return m.try("conv", "x", m.input(1, c, 1, w), "weight", m.weightsOf(k, c, 1, 1, k), "groups", c, "pad_type",
			pick(m.choices, "same", "valid"))
	}},
	{"three spatial dimensions", func(m *maker) []*ir.Value {
		switch m.n(3) {
		case 0:
			return m.try("max_pool", "x", m.input(1, 2, 3, 4, 5), "kernel_sizes", []int{2, 2, 2}, "strides",
				[]int{1, 2, 1}, "pad_type", "valid")
		case 1: // windows that end beyond padding which the average counts
			return m.try("avg_pool", "x", m.input(1, 2, 4, 1, 8), "kernel_sizes", []int{2, 1, 3}, "strides",
				[]int{3, 2, 2}, "pad_type", "custom", "pad", []int{0, 0, 0, 0, 0, 2}, "ceil_mode", true,
				"exclude_padding_from_average", false)
		}
		x := m.input(1, 2, 3, 4, 5)
		return m.try("conv", "x", x, "weight", m.weightsOf(16, 3, 2, 2, 2, 2), "dilations", []int{1, 2, 1})
	}},
	{"parameters of activations", func(m *maker) []*ir.Value {
		x := m.apply(m.input(3, 8), "relu")
		a := pick(m.choices, -1.0, 0, 1, 6e4, 1e-7, 30)
		switch m.n(4) {
		case 0:
			return m.try("elu", "x", x, "alpha", a)
		case 1:
			return m.try("scaled_tanh", "x", x, "alpha", pick(m.choices, -1.0, 0, 2), "beta", a)
		case 2:
			return m.try("sigmoid_hard", "x", x, "alpha", a, "beta", 0.5)
		}
		return m.try("leaky_relu", "x", x, "alpha", a)
	}},
	{"working set", func(m *maker) []*ir.Value {
		// A normalisation needs its whole row in L2.
		n := m.around(m.limits.L2Elems/64) / 2
		return m.try("softmax", "x", m.input(1, 64, n), "axis", 1)
	}},
	{"compared columns", func(m *maker) []*ir.Value {
		c := m.around(pick(m.choices, 2, 32, 64))
		return m.try("less", "x", m.input(1, c, 1, 1), "y", m.input(1, c, 1, 1))
	}},
	{"windows written out", func(m *maker) []*ir.Value {
		size := m.around(128)
		return m.try("sliding_windows", "x", m.input(1, 2*size+int64(m.n(3)), 2), "axis", 1, "size", size)
	}},
	{"computed places", func(m *maker) []*ir.Value { // fp16 counts to 2048
		x := m.input(m.around(2048), 1)
		return m.try("gather", "x", x, "indices", m.g.InputOf(ir.Int32, 3), "axis", 0)
	}},
	{"computed weights", func(m *maker) []*ir.Value {
		return m.try("conv", "x", m.input(1, 4, 5, 6), "weight", m.input(3, 4, 1, 2), "pad_type", "same")
	}},
	{"chain of tasks", func(m *maker) []*ir.Value {
		x := m.input(1, 16)
		for range 20 + m.n(60) {
			x = m.apply(x, pick(m.choices, "relu", "tanh", "abs", "silu"))
		}
		return []*ir.Value{x}
	}},
	{"batched products", func(m *maker) []*ir.Value {
		n := m.around(pick(m.choices, 16, 32, 64))
		return []*ir.Value{m.with("matmul", m.input(n, 2, 3), m.input(n, 3, 2))}
	}},
	{"empty slice", func(m *maker) []*ir.Value { // tensors without elements are rejected
		x := m.input(2, 4)
		y := m.try("slice_by_index", "x", m.apply(x, "relu"), "begin", []int{0, 2}, "end", []int{2, 2})
		y = []*ir.Value{m.apply(y[0], "relu"), x}
		return m.try("concat", "values", y, "axis", 1, "interleave", false)
	}},
	{"no axes", func(m *maker) []*ir.Value { // what no reduction on the engine has
		return m.try(pick(m.choices, "reduce_sum", "reduce_max", "reduce_mean"), "x", m.apply(m.input(3, 4), "relu"),
			"axes", []int{})
	}},
	{"reciprocal", func(m *maker) []*ir.Value {
		y := pick(m.choices, 65504.0, 1e-7, 6e-5, 0.00001525, 4.0, 3.0)
		return m.try("real_div", "x", m.apply(m.input(3, 8), "relu"), "y", m.g.Filled(m.float,
			func(i int64) float64 { return y * float64(1+i%2) }, 8))
	}},
	{"products of many rows", func(m *maker) []*ir.Value {
		// More rows than the lanes of all cores take at a time, of values that tasks or the host write.
		m.most = mostInPieces
		rows, k, n := m.around(pick(m.choices, 128, 256, 264, 300, 384)), m.around(pick(m.choices, 16, 32, 64)),
			m.around(pick(m.choices, 8, 32, 64))
		x, y := []int64{rows, k}, []int64{k, n}
		if pairs := int64(m.n(4)); pairs > 1 && pairs*rows*max(k, n) <= mostInPieces {
			x, y = []int64{pairs, rows, k}, []int64{pairs, k, n}
		}
		a, b := m.input(x...), m.input(y...)
		if m.n(3) > 0 {
			a = m.curve(a)
		}
		if m.n(3) > 0 {
			b = m.curve(b)
		}
		return m.try("matmul", "x", a, "y", b, "transpose_x", false, "transpose_y", false)
	}},
	{"widths of rows", func(m *maker) []*ir.Value {
		w := m.around(pick(m.choices, 2, 16, 32, 64, 128, 256))
		x := m.input(1+int64(m.n(5)), 1+int64(m.n(3)), w)
		y := m.apply(x, pick(m.choices, "relu", "sigmoid"))
		r := m.recut(y)
		return []*ir.Value{m.with("mul", m.reshaped(y, r...), m.input(r...))}
	}},
}

// mostInPieces is the largest number of elements of a tensor of rowsInPieces: as many as fp16 numbers.
const mostInPieces = 1 << 16

// rowsInPieces adds an input of a few rows that are wider than what the engine has of a row in L2 at a time, so that
// tasks that read the same rows hold them in different ways. Few of them are large, since those are slow.
func (m *maker) rowsInPieces() *ir.Value {
	m.most = mostInPieces
	w := m.around(m.limits.WorkUnit * pick(m.choices, 1, 2, 3, 4, 4, 5, 6, 8, 32))
	rows := min(1+int64(m.n(16)), m.most/w)
	if m.n(4) > 0 {
		rows = min(rows, max(1, MaxElems/w))
	}
	switch m.n(4) {
	case 0:
		return m.input(1, pick[int64](m.choices, 1, 2, 3), rows, w)
	case 1:
		return m.input(1, rows, 1, w)
	case 2:
		return m.input(1, rows, w)
	}
	return m.input(rows, w)
}

// curve applies an activation.
func (m *maker) curve(x *ir.Value) *ir.Value {
	return m.apply(x, pick(m.choices, m.activation(), "abs", "sigmoid", "silu"))
}

// fromBounds writes operations at a limit.
func (m *maker) fromBounds() string {
	b := &bounds[m.n(len(bounds))]
	m.vals = append(m.vals, b.write(m)...)
	return "limit: " + b.name
}
