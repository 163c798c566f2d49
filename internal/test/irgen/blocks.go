package irgen

import "github.com/zinc-compiler/zinc/ir"

// A block writes a piece of a real network on inputs of its own.
type block struct {
	name string
	f    func(m *maker) []*ir.Value
}

// write returns the results of the block, none if the choices do not suit.
func (b *block) write(m *maker) []*ir.Value { return attempt(func() []*ir.Value { return b.f(m) }) }

// apply applies operations of one operand one after the other.
func (m *maker) apply(x *ir.Value, ops ...string) *ir.Value {
	for _, op := range ops {
		x = m.do(op, "x", x)
	}
	return x
}

// with adds an operation with a second operand y.
func (m *maker) with(op string, x, y *ir.Value) *ir.Value {
	return m.do(op, "x", x, "y", y)
}

func (m *maker) reshaped(x *ir.Value, shape ...int64) *ir.Value {
	return m.do("reshape", "x", x, "shape", shape)
}

func (m *maker) transposed(x *ir.Value, perm ...int) *ir.Value {
	return m.do("transpose", "x", x, "perm", perm)
}

// dense adds a product with a constant, with or without a bias.
func (m *maker) dense(x *ir.Value, n int64) *ir.Value {
	k := x.Type.Shape[x.Type.Rank()-1]
	return m.do("linear", m.maybe([]any{"x", x, "weight", m.weightsOf(k, n, k)}, "bias", m.weights(n))...)
}

// filter adds a convolution of images that keeps their size if the stride is 1.
func (m *maker) filter(x *ir.Value, n, size, stride, groups int64) *ir.Value {
	c := x.Type.Shape[1] / groups
	args := []any{"x", x, "weight", m.weightsOf(c*size*size, n, c, size, size), "strides", []int64{stride, stride},
		"pad_type", "same", "groups", groups}
	return m.do("conv", m.maybe(args, "bias", m.weights(n))...)
}

func (m *maker) normed(x *ir.Value) *ir.Value {
	n := x.Type.Shape[x.Type.Rank()-1]
	return m.do("layer_norm", m.maybe([]any{"x", x, "axes", []int{-1}, "epsilon", 0.01},
		"gamma", m.weights(n), "beta", m.weights(n))...)
}

// batchNormed normalises channels with constants.
func (m *maker) batchNormed(x *ir.Value) *ir.Value {
	c := x.Type.Shape[1]
	return m.do("batch_norm", m.maybe([]any{"x", x, "mean", m.weights(c), "variance", m.positive(c),
		"epsilon", 0.01, "gamma", m.weights(c)}, "beta", m.weights(c))...)
}

var activations = []string{"relu", "silu", "sigmoid", "tanh", "gelu", "relu6", "softplus"}

func (m *maker) activation() string { return pick(m.choices, activations...) }

// image adds an input of few pixels.
func (m *maker) image() *ir.Value {
	c := pick[int64](m.choices, 1, 3, 4, 8, 15, 16, 17, 32)
	return m.input(1, c, 2*int64(1+m.n(5)), 2*int64(1+m.n(5)))
}

// blocks are all blocks.
var blocks = []block{
	{"attention", func(m *maker) []*ir.Value {
		heads, width := int64(1+m.n(4)), pick[int64](m.choices, 4, 8, 16, 32)
		rows := pick[int64](m.choices, 1, 3, 7, 16, 32)
		if m.n(8) == 0 { // more than a small L2 holds
			heads, width, rows = pick[int64](m.choices, 4, 8, 16), 4, pick[int64](m.choices, 64, 96, 128)
		}
		x := m.input(1, rows, heads*width)
		head := func(x *ir.Value, perm ...int) *ir.Value {
			return m.transposed(m.reshaped(m.dense(x, heads*width), 1, -1, heads, width), perm...)
		}
		from := x
		if m.n(3) == 0 {
			from = m.input(1, 5, heads*width)
		}
		q, k, v := head(x, 0, 2, 1, 3), head(from, 0, 2, 1, 3), head(from, 0, 2, 1, 3)
		var y *ir.Value
		if m.n(4) == 0 {
			y = m.do("scaled_dot_product_attention", "query", q, "key", k, "value", v)
		} else {
			scores := m.do("matmul", "x", q, "y", k, "transpose_y", true)
			scores = m.do("mul", "x", scores, "y", 0.25)
			if m.yes() {
				scores = m.with("add", scores, m.weights(scores.Type.Shape[2], scores.Type.Shape[3]))
			}
			y = m.with("matmul", m.do("softmax", "x", scores, "axis", -1), v)
		}
		y = m.dense(m.reshaped(m.transposed(y, 0, 2, 1, 3), 1, rows, heads*width), heads*width)
		if m.yes() {
			y = m.normed(m.with("add", x, y))
		}
		return []*ir.Value{y}
	}},
	{"conv-bn-act", func(m *maker) []*ir.Value {
		y := m.image()
		for range 1 + m.n(3) {
			n := pick[int64](m.choices, 1, 4, 15, 16, 17, 32)
			y = m.apply(m.batchNormed(m.filter(y, n, int64(1+2*m.n(2)), int64(1+m.n(2)), 1)), m.activation())
		}
		return []*ir.Value{y}
	}},
	{"product and curve", func(m *maker) []*ir.Value {
		y := m.dense(m.input(1+int64(m.n(4)), m.dim()), 1+int64(m.n(40)))
		if m.yes() {
			y = m.filter(m.image(), 1+int64(m.n(20)), 1, 1, 1)
		}
		switch op := pick(m.choices, "atan", "elu", "erf", "leaky_relu", "scaled_tanh", "sigmoid_hard"); op {
		case "elu", "leaky_relu":
			return m.try(op, "x", y, "alpha", 0.25)
		case "scaled_tanh", "sigmoid_hard":
			return m.try(op, "x", y, "alpha", 0.5, "beta", 0.75)
		default:
			return m.try(op, "x", y)
		}
	}},
	{"residual", func(m *maker) []*ir.Value {
		x := m.image()
		c := x.Type.Shape[1]
		y := m.apply(m.filter(x, c, 3, 1, 1), "relu")
		y = m.with("add", m.filter(y, c, 3, 1, 1), x)
		return []*ir.Value{m.apply(y, m.activation())}
	}},
	{"depthwise separable", func(m *maker) []*ir.Value {
		x := m.image()
		c := x.Type.Shape[1]
		y := m.apply(m.filter(x, 2*c, 1, 1, 1), "relu6")
		y = m.apply(m.filter(y, 2*c, 3, int64(1+m.n(2)), 2*c), "relu6")
		return []*ir.Value{m.filter(y, c, 1, 1, 1)}
	}},
	{"squeeze and excite", func(m *maker) []*ir.Value {
		x := m.image()
		c := x.Type.Shape[1]
		y := m.do("reduce_mean", "x", x, "axes", []int{2, 3}, "keep_dims", true)
		y = m.apply(m.filter(m.apply(m.filter(y, 4, 1, 1, 1), "relu"), c, 1, 1, 1), "sigmoid")
		return []*ir.Value{m.with("mul", x, y)}
	}},
	{"U-Net join", func(m *maker) []*ir.Value {
		x := m.image()
		c := x.Type.Shape[1]
		skip := m.apply(m.filter(x, c, 3, 1, 1), "relu")
		down := m.do("max_pool", "x", skip, "kernel_sizes", []int{2, 2}, "strides", []int{2, 2}, "pad_type",
			"valid")
		low := m.apply(m.filter(down, 2*c, 3, 1, 1), "relu")
		var up *ir.Value
		switch m.n(3) {
		case 0:
			up = m.do("upsample_nearest_neighbor", "x", low, "scale_factor_height", 2, "scale_factor_width", 2)
		case 1:
			up = m.do("upsample_bilinear", "x", low, "scale_factor_height", 2, "scale_factor_width", 2,
				"align_corners", false)
		default:
			up = m.do("conv_transpose", "x", low, "weight", m.weightsOf(8*c, 2*c, c, 2, 2), "strides",
				[]int{2, 2}, "pad_type", "valid")
		}
		both := m.do("concat", "values", []*ir.Value{skip, up}, "axis", 1, "interleave", false)
		return []*ir.Value{m.filter(both, c, 3, 1, 1), skip}
	}},
	{"recurrent unroll", func(m *maker) []*ir.Value {
		steps, width, hidden := int64(1+m.n(4)), int64(1+m.n(9)), pick[int64](m.choices, 3, 8, 16, 32)
		x, h := m.input(steps, 1, width), m.input(1, hidden)
		wx, wh := m.weightsOf(width, hidden, width), m.weightsOf(hidden, hidden, hidden)
		var all []*ir.Value
		for t := range steps {
			part := m.do("slice_by_index", "x", x, "begin", []int64{t, 0, 0}, "end", []int64{t + 1, 1, width},
				"squeeze_mask", []bool{true, false, false})
			h = m.with("add", m.do("linear", "x", part, "weight", wx),
				m.do("linear", "x", h, "weight", wh))
			h = m.apply(h, pick(m.choices, "tanh", "sigmoid", "relu"))
			all = append(all, h)
		}
		return []*ir.Value{m.do("stack", "values", all, "axis", 0), h}
	}},
	{"feed forward", func(m *maker) []*ir.Value {
		x := m.input(1, pick[int64](m.choices, 1, 2, 3, 16, 17), pick[int64](m.choices, 8, 31, 32, 64, 65))
		n := x.Type.Shape[2]
		y := m.normed(x)
		if m.yes() { // gated
			y = m.with("mul", m.apply(m.dense(y, 2*n), "silu"), m.dense(y, 2*n))
		} else {
			y = m.apply(m.dense(y, 2*n), m.activation())
		}
		return []*ir.Value{m.with("add", x, m.dense(y, n))}
	}},
	{"rotary embedding", func(m *maker) []*ir.Value {
		rows, half := int64(1+m.n(6)), pick[int64](m.choices, 2, 8, 16, 32)
		x := m.input(1, 2, rows, 2*half)
		vs := m.all("split", "x", x, "axis", 3, "num_splits", 2)
		swapped := m.do("concat", "values", []*ir.Value{m.do("mul", "x", vs[1], "y", -1.0), vs[0]},
			"axis", 3, "interleave", false)
		return []*ir.Value{m.with("add", m.with("mul", x, m.weights(rows, 2*half)),
			m.with("mul", swapped, m.weights(rows, 2*half)))}
	}},
	{"classifier head", func(m *maker) []*ir.Value {
		x := m.image()
		y := m.do("reduce_mean", "x", m.apply(x, "relu"), "axes", []int{2, 3}, "keep_dims", m.yes())
		y = m.dense(m.reshaped(y, 1, x.Type.Shape[1]), int64(2+m.n(40)))
		return m.try("softmax", "x", y, "axis", -1)
	}},
	{"cache", func(m *maker) []*ir.Value {
		rows, width := int64(2+m.n(6)), pick[int64](m.choices, 8, 32, 33)
		s := m.g.State(ir.FP16, 1, rows, width)
		if m.float != ir.FP16 {
			return nil
		}
		old := m.do("read_state", "input", s)
		next := m.dense(m.input(1, 1, width), width)
		at := int64(m.n(int(rows)))
		all := m.do("slice_update", "x", old, "update", next, "begin", []int64{0, at, 0},
			"end", []int64{1, at + 1, width})
		m.stored = append(m.stored, all)
		all = m.do("coreml_update_state", "state", s, "value", all)
		scores := m.do("matmul", "x", next, "y", all, "transpose_y", true)
		return []*ir.Value{m.with("matmul", m.do("softmax", "x", scores, "axis", -1), all)}
	}},
}

// fromBlock writes one block, followed by one or two steps.
func (m *maker) fromBlock() string {
	b := &blocks[m.n(len(blocks))]
	if m.float = pick(m.choices, ir.FP16, ir.FP16, ir.FP32); b.name == "cache" {
		m.float = ir.FP16
	}
	m.keep(m.usable(b.write(m)))
	name := b.name
	for range m.n(3) {
		if len(m.vals) == 0 {
			break
		}
		s := &steps[m.n(len(steps))]
		if vs := m.usable(s.write(m, m.value())); vs != nil {
			m.vals = append(m.vals, vs...)
			name += ", " + s.name
		}
	}
	return name
}
