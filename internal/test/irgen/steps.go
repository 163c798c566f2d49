package irgen

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// role says where in a chain a step may be.
type role uint8

const (
	produces role = 1 << iota // computes a tensor on the engine, or lays one out
	moves                     // arranges a tensor in another way
	exact                     // can be part of an exact program
)

// step writes an operation, or a few that belong together, on an operand.
type step struct {
	name string
	role role
	// f returns the results, or nil if the operand does not suit.
	f func(m *maker, x *ir.Value) []*ir.Value
}

// write returns the results of the step on x, none if the operand does not suit.
func (s *step) write(m *maker, x *ir.Value) []*ir.Value {
	return attempt(func() []*ir.Value { return s.f(m, x) })
}

// with returns what writes an operation whose other arguments args returns.
func with(op string, args func(m *maker, x *ir.Value) []any) func(m *maker, x *ir.Value) []*ir.Value {
	return func(m *maker, x *ir.Value) []*ir.Value { return m.try(op, append([]any{"x", x}, args(m, x)...)...) }
}

// withConstant is an elementwise operation with a constant.
var withConstant = &step{"constant", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
	return m.binary(x, m.weights(m.broadcastTo(x)...))
}}

// steps are all steps. A random program may take any of them.
var steps = []step{
	{"scalar", produces | exact, func(m *maker, x *ir.Value) []*ir.Value { return m.binary(x, m.scalar()) }},
	*withConstant,
	{"binary", produces | exact, func(m *maker, x *ir.Value) []*ir.Value { return m.binary(x, m.partner(x)) }},
	{"halves", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		vs := m.all("split", "x", x, "axis", m.axis(x), "num_splits", 2)
		return m.binary(vs[0], vs[1])
	}},
	{"relu", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		return m.try(pick(m.choices, "relu", "abs", "relu6"), "x", x)
	}},
	{"clip", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		return m.try("clip", "x", x, "alpha", -float64(1+m.n(4))/4, "beta", float64(m.n(8))/4)
	}},
	{"table", produces, func(m *maker, x *ir.Value) []*ir.Value {
		switch m.n(6) {
		case 0:
			return m.try("gelu", "x", x, "mode", "EXACT")
		case 1:
			return m.try("leaky_relu", "x", x, "alpha", 0.125)
		}
		return m.try(pick(m.choices, "sigmoid", "tanh", "silu", "erf", "softsign"), "x", x)
	}},
	{"exponential", produces, func(m *maker, x *ir.Value) []*ir.Value {
		c := m.try("clip", "x", x, "alpha", -4.0, "beta", 2.0)
		return m.try(pick(m.choices, "exp", "exp2"), "x", c[0])
	}},
	{"root", produces, func(m *maker, x *ir.Value) []*ir.Value {
		return m.try(pick(m.choices, "sqrt", "rsqrt", "log"), "x", m.awayFromZero(x))
	}},
	{"real_div", produces, func(m *maker, x *ir.Value) []*ir.Value {
		switch m.n(3) {
		case 0:
			return m.try("real_div", "x", x, "y", float64(1+m.n(7))/2)
		case 1:
			return m.try("real_div", "x", x, "y", m.positive(x.Type.Shape[m.axis(x):]...))
		}
		return m.try("real_div", "x", m.partner(x), "y", m.awayFromZero(x))
	}},
	{"select", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		a, b := any(x), m.moderate(m.partner(x))
		if m.yes() {
			a, b = b, a
		}
		return m.try("select", "cond", m.condition(x), "a", a, "b", b)
	}},
	{"rounding", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		// The operand is an input, since rounding a value with an error may return another number.
		y := m.try(pick(m.choices, "floor", "ceil", "round", "sign"), "x", m.input(m.broadcastTo(x)...))
		return m.binary(x, y[0])
	}},
	{"conv", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		k := kernel{least: 1, most: 4, groups: 1, strides: 3, dilations: 2}
		s := x.Type.Shape
		if len(s) < 2 {
			return nil
		}
		switch m.n(4) {
		case 0:
			k.groups = s[1]
		case 1:
			for _, d := range []int64{2, 3, 5} {
				if s[1]%d == 0 {
					k.groups = d
				}
			}
		}
		return m.conv(x, k)
	}},
	{"conv 1x1", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		return m.conv(x, kernel{least: 1, most: 1, groups: 1})
	}},
	{"conv 3x3", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		return m.conv(x, kernel{least: 3, most: 3, groups: 1})
	}},
	{"conv strided", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		return m.conv(x, kernel{least: 1, most: 3, groups: 1, strides: 3})
	}},
	{"conv depthwise", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		if x.Type.Rank() < 3 {
			return nil
		}
		return m.conv(x, kernel{least: 1, most: 3, groups: x.Type.Shape[1], strides: 2})
	}},
	{"conv wide", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		if x.Type.Rank() < 3 {
			return nil
		}
		return m.conv(x, kernel{least: 1, most: 2, columns: 9, groups: pick(m.choices, 1, 1, x.Type.Shape[1])})
	}},
	{"linear", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		k, n := x.Type.Shape[x.Type.Rank()-1], m.dim()
		args := []any{"x", x, "weight", m.weightsOf(k, n, k)}
		if m.yes() {
			args = append(args, "bias", m.weights(n))
		}
		return m.try("linear", args...)
	}},
	{"matmul constant", produces | exact, func(m *maker, x *ir.Value) []*ir.Value { return m.matmul(x, m.weights) }},
	{"matmul", produces | exact, func(m *maker, x *ir.Value) []*ir.Value { return m.matmul(x, m.input) }},
	{"matmul of itself", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		r := x.Type.Rank()
		if r < 2 {
			return nil
		}
		if m.yes() {
			return m.scaled(m.try("matmul", "x", x, "y", x, "transpose_x", true), x.Type.Shape[r-2])
		}
		return m.scaled(m.try("matmul", "x", x, "y", x, "transpose_y", true), x.Type.Shape[r-1])
	}},
	{"reduce", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		var axes []int
		for i := range x.Type.Rank() {
			if m.yes() {
				axes = append(axes, i)
			}
		}
		if axes == nil {
			axes = []int{m.axis(x)}
		}
		op := pick(m.choices, "reduce_mean", "reduce_max", "reduce_sum")
		y := m.try(op, "x", x, "axes", axes, "keep_dims", m.yes())
		if op == "reduce_sum" && y != nil {
			return m.scaled(y, x.Type.Elems()/y[0].Type.Elems())
		}
		return y
	}},
	{"softmax", produces, func(m *maker, x *ir.Value) []*ir.Value {
		return m.try("softmax", "x", x, "axis", m.axis(x))
	}},
	{"layer_norm", produces, func(m *maker, x *ir.Value) []*ir.Value {
		r := x.Type.Rank()
		n := 1 + m.n(min(3, r))
		axes := make([]int, n)
		for i := range axes {
			axes[i] = r - n + i
		}
		args := []any{"x", x, "axes", axes, "epsilon", 0.1}
		if m.yes() {
			args = append(args, "gamma", m.weights(x.Type.Shape[r-n:]...))
		}
		if m.yes() {
			args = append(args, "beta", m.weights(x.Type.Shape[r-n:]...))
		}
		return m.try("layer_norm", args...)
	}},
	{"max_pool", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		return m.try("max_pool", m.pool(x)...)
	}},
	{"avg_pool", produces, func(m *maker, x *ir.Value) []*ir.Value {
		return m.try("avg_pool", append(m.pool(x), "exclude_padding_from_average", m.yes())...)
	}},
	{"transpose", produces | moves | exact, with("transpose", transposeArgs)},
	{"reshape", moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		return m.try("reshape", "x", x, "shape", m.recut(x))
	}},
	{"expand_dims", moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		return m.try("expand_dims", "x", x, "axes", []int{m.n(x.Type.Rank() + 1)})
	}},
	{"squeeze", moves | exact, func(m *maker, x *ir.Value) []*ir.Value { return m.try("squeeze", "x", x) }},
	{"slice", produces | moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		var begin, end, stride []int64
		var squeeze []bool
		for _, d := range x.Type.Shape {
			b := int64(m.n(int(d)))
			e := b + 1 + int64(m.n(int(d-b)))
			s := int64(1)
			if m.n(4) == 0 {
				s = 2
			}
			begin, end, stride = append(begin, b), append(end, e), append(stride, s)
			squeeze = append(squeeze, m.n(8) == 0)
		}
		squeeze[len(squeeze)-1] = squeeze[len(squeeze)-1] && m.n(4) == 0
		return m.try("slice_by_index", "x", x, "begin", begin, "end", end, "stride", stride, "squeeze_mask", squeeze)
	}},
	{"split", moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		a := m.axis(x)
		d := x.Type.Shape[a]
		if d < 2 {
			return nil
		}
		first := 1 + int64(m.n(int(d-1)))
		return m.try("split", "x", x, "axis", a, "split_sizes", []int64{first, d - first})
	}},
	{"concat", produces | moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		a := m.axis(x)
		vs := []*ir.Value{x}
		for range 1 + m.n(2) {
			s := append([]int64(nil), x.Type.Shape...)
			s[a] = m.dim()
			switch m.n(3) {
			case 0:
				vs = append(vs, x)
			case 1:
				vs = append(vs, m.fresh(s))
			default:
				vs = append([]*ir.Value{m.fresh(s)}, vs...)
			}
		}
		return m.try("concat", "values", vs, "axis", a, "interleave", false)
	}},
	{"stack", moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		return m.try("stack", "values", []*ir.Value{x, m.fresh(x.Type.Shape)}, "axis", m.n(x.Type.Rank()+1))
	}},
	{"pad", produces | moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		var pad []int
		for range 1 + m.n(x.Type.Rank()) {
			pad = append(pad, m.n(4), m.n(3))
		}
		return m.try("pad", "x", x, "pad", pad, "mode", "constant", "constant_val", float64(m.n(3)))
	}},
	{"decomposed reduction", produces, func(m *maker, x *ir.Value) []*ir.Value {
		switch m.n(5) {
		case 0:
			return m.try("reduce_log_sum", "x", m.awayFromZero(x), "axes", []int{m.axis(x)}, "keep_dims", m.yes())
		case 1:
			y := m.try("reduce_l1_norm", "x", x, "axes", []int{m.axis(x)}, "keep_dims", m.yes())
			return m.scaled(y, x.Type.Elems()/y[0].Type.Elems())
		}
		return m.try(pick(m.choices, "reduce_min", "reduce_l2_norm", "reduce_log_sum_exp"), "x", x, "axes",
			[]int{m.axis(x)}, "keep_dims", m.yes())
	}},
	{"decomposed activation", produces, func(m *maker, x *ir.Value) []*ir.Value {
		switch m.n(7) {
		case 0:
			return m.try("clamped_relu", "x", x, "alpha", 0.25, "beta", 1.5)
		case 1:
			return m.try("linear_activation", "x", x, "alpha", 0.75, "beta", -0.5)
		case 2:
			return m.try("threshold", "x", x, "alpha", -0.25)
		case 3:
			return m.try("inverse", "x", m.awayFromZero(x), "epsilon", 0.125)
		case 4:
			return m.try("pow", "x", m.awayFromZero(x), "y", pick(m.choices, 0.25, -1.0, 3.0, 1.5))
		}
		if x.Type.Rank() < 3 {
			return nil
		}
		if c := x.Type.Shape[1]; m.yes() {
			return m.try("prelu", "x", x, "alpha", m.weights(c))
		} else {
			return m.try("softplus_parametric", "x", x, "alpha", m.weights(c), "beta", m.weights(c))
		}
	}},
	{"decomposed norm", produces, func(m *maker, x *ir.Value) []*ir.Value {
		r := x.Type.Rank()
		switch kind := m.n(4); {
		case r < 3:
			return nil
		case kind == 0:
			return m.try("l2_norm", "x", x, "epsilon", 0.01)
		case kind == 1:
			return m.try("local_response_norm", "x", x, "size", 1+m.n(5), "alpha", 0.5, "beta",
				pick(m.choices, 0.5, 0.75,
					0.6), "k", 1.0)
		case kind == 2:
			return m.try("l2_pool", m.pool(x)...)
		}
		args := []any{"x", x, "epsilon", 0.1}
		if c := x.Type.Shape[1]; m.yes() {
			args = append(args, "gamma", m.weights(c), "beta", m.weights(c))
		}
		return m.try("instance_norm", args...)
	}},
	{"attention", produces, func(m *maker, x *ir.Value) []*ir.Value {
		r := x.Type.Rank()
		if r < 3 {
			return nil
		}
		lead, e := x.Type.Shape[:r-2], x.Type.Shape[r-1]
		keys := func(width int64) *ir.Value {
			return m.input(append(append([]int64(nil), lead...), 5, width)...)
		}
		args := []any{"query", x, "key", keys(e), "value", keys(m.dim())}
		if m.yes() {
			args = append(args, "attn_mask", m.weights(x.Type.Shape[r-2], 5))
		}
		return m.try("scaled_dot_product_attention", args...)
	}},
	{"einsum", produces, func(m *maker, x *ir.Value) []*ir.Value {
		s := x.Type.Shape
		if len(s) > 3 {
			n := len(s) - 2
			lead := int64(1)
			for _, d := range s[:n] {
				lead *= d
			}
			vs := m.try("reshape", "x", x, "shape", []int64{lead, s[n], s[n+1]})
			if vs == nil {
				return nil
			}
			x, s = vs[0], vs[0].Type.Shape
		}
		if len(s) != 3 {
			return nil
		}
		eq := pick(m.choices, "abc,adc->abd", "abc,cd->adb", "abc,acd->bad", "abc,abd->acd")
		k, y := s[2], []int64{s[0], 7, s[2]}
		switch eq[4:8] {
		case "cd->":
			y = []int64{s[2], 7}
		case "acd-":
			y = []int64{s[0], s[2], 7}
		case "abd-":
			k, y = s[1], []int64{s[0], s[1], 7}
		}
		return m.scaled(m.try("einsum", "values", []*ir.Value{x, m.input(y...)}, "equation", eq), k)
	}},
	{"running sum", produces, func(m *maker, x *ir.Value) []*ir.Value {
		a := m.axis(x)
		y := m.try("cumsum", "x", x, "axis", a, "exclusive", m.yes(), "reverse", m.yes())
		return m.scaled(y, x.Type.Shape[a])
	}},
	{"tile", moves | exact, with("tile", tileArgs)},
	{"reverse", moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		return m.try("reverse", "x", x, "axes", []int{m.axis(x)})
	}},
	{"crop", moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		r := x.Type.Rank()
		if r < 3 {
			return nil
		}
		cut := func(d int64) []int {
			a := m.n(int(d))
			return []int{a, m.n(int(d) - a)}
		}
		return m.try("crop", "x", x, "crop_height", cut(x.Type.Shape[r-2]), "crop_width", cut(x.Type.Shape[r-1]))
	}},
	{"reshape otherwise", moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		if m.yes() {
			return m.try("flatten2d", "x", x, "axis", m.n(x.Type.Rank()+1))
		}
		like := m.input(m.recut(x)...)
		return m.try("reshape_like", "x", x, "ref_tensors", []*ir.Value{like}, "begins", m.tuple(0),
			"ends", m.tuple(like.Type.Rank()), "end_masks", m.tuple(false))
	}},
	{"slice_update", moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		begin, end, stride, size := m.window(x)
		return m.try("slice_update", "x", x, "update", m.fresh(size), "begin", begin, "end", end, "stride", stride)
	}},
	{"slice strided", moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		begin, end, stride, _ := m.window(x)
		return m.try("slice_by_index", "x", x, "begin", begin, "end", end, "stride", stride)
	}},
	{"pad edges", moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		var pad []int
		mode := pick(m.choices, "reflect", "replicate", "symmetric")
		for _, d := range x.Type.Shape[x.Type.Rank()-1-m.n(x.Type.Rank()):] {
			most := min(int(d), 4)
			pad = append(pad, m.n(most), m.n(most))
		}
		return m.try("pad", "x", x, "pad", pad, "mode", mode, "constant_val", 0.0)
	}},
	{"interleave", moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		return m.try("concat", "values", []*ir.Value{x, m.fresh(x.Type.Shape)}, "axis", m.axis(x), "interleave", true)
	}},
	{"gather", moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		a := m.axis(x)
		index := func(d int64) int64 { return int64(m.n(int(d))) }
		switch m.n(3) {
		case 0:
			idx := make([]int64, 1+m.n(5))
			for i := range idx {
				idx[i] = index(x.Type.Shape[a])
			}
			return m.try("gather", "x", x, "indices", idx, "axis", a, "batch_dims", 0, "validate_indices", false)
		case 1:
			n := 1 + int64(m.n(3))
			shape := append([]int64(nil), x.Type.Shape...)
			shape[a] = n
			at := make([]int64, n)
			for i := range at {
				at[i] = index(x.Type.Shape[a])
			}
			tail := int64(1)
			for _, d := range shape[a+1:] {
				tail *= d
			}
			return m.try("gather_along_axis", "x", x, "axis", a, "validate_indices", false,
				"indices", m.integers(func(i int64) int64 { return at[i/tail%n] }, shape...))
		}
		k := 1 + int64(m.n(x.Type.Rank()))
		return m.try("gather_nd", "x", x, "batch_dims", 0, "validate_indices", false,
			"indices", m.integers(func(i int64) int64 { return index(x.Type.Shape[i%k]) }, 1+int64(m.n(4)), k))
	}},
	{"blocks", moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		s := x.Type.Shape
		switch len(s) {
		case 2, 3:
			s = append([]int64{1, 1}[len(s)-2:], s...)
		case 5:
			s = append([]int64{s[0] * s[1]}, s[2:]...)
		case 1:
			return nil
		}
		if vs := m.try("reshape", "x", x, "shape", s); vs != nil {
			x = vs[0]
		}
		b := int64(2 + m.n(2))
		switch m.n(6) {
		case 0:
			return m.try("depth_to_space", "x", x, "block_size", b)
		case 1:
			return m.try("pixel_shuffle", "x", x, "upscale_factor", b)
		case 2:
			return m.try("space_to_depth", "x", x, "block_size", b)
		case 3:
			return m.try("pixel_unshuffle", "x", x, "downscale_factor", m.g.Const(ir.ConstInt(ir.UInt32, b)))
		case 4:
			pads := []int64{0, (b - s[2]%b) % b, (2 - s[3]%2) % 2, 0}
			return m.try("space_to_batch", "x", x, "block_shape", []int64{b, 2},
				"paddings", m.integers(func(i int64) int64 { return pads[i] }, 2, 2))
		}
		return m.try("batch_to_space", "x", x, "block_shape", []int64{1, s[0]},
			"crops", m.integers(func(int64) int64 { return 0 }, 2, 2))
	}},
	{"windows", moves | exact, func(m *maker, x *ir.Value) []*ir.Value {
		a := m.axis(x)
		return m.try("sliding_windows", "x", x, "axis", a, "size", 1+m.n(int(x.Type.Shape[a])), "stride", 1+m.n(3))
	}},
	{"band", produces | exact, func(m *maker, x *ir.Value) []*ir.Value {
		return m.try("band_part", "x", x, "lower", m.n(4)-1, "upper", m.n(4)-1)
	}},
	{"cpu", 0, func(m *maker, x *ir.Value) []*ir.Value {
		return m.try(pick(m.choices, "sinh", "tan"), "x", m.try("mul", "x", x, "y", 0.0625)[0])
	}},
	{"wide", 0, func(m *maker, x *ir.Value) []*ir.Value { // through fp32
		w := m.try("cast", "x", x, "dtype", "fp32")
		if m.yes() {
			w = m.try("sin", "x", w[0])
		}
		return m.try("cast", "x", w[0], "dtype", "fp16")
	}},
}

// condition compares inputs, since a comparison of numbers with errors may have another result. Its shape broadcasts to
// the shape of x.
func (m *maker) condition(x *ir.Value) *ir.Value {
	op := pick(m.choices, "equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
	y := any(m.scalar())
	if m.yes() {
		y = m.input(m.broadcastTo(x)...)
	}
	c := m.try(op, "x", m.input(m.broadcastTo(x)...), "y", y)
	if c == nil {
		return nil
	}
	switch m.n(4) {
	case 0, 1:
		c = m.try("logical_not", "x", c[0])
	case 2:
		d := m.try("less", "x", m.input(m.broadcastTo(c[0])...), "y", m.scalar())
		c = m.try(pick(m.choices, "logical_and", "logical_or", "logical_xor"), "x", c[0], "y", d[0])
	}
	return c[0]
}

// tuple returns a constant scalar as the only element of a tuple.
func (m *maker) tuple(v any) []*ir.Value {
	switch v := v.(type) {
	case int:
		return []*ir.Value{m.g.Const(ir.ConstInt(ir.Int32, int64(v)))}
	case bool:
		return []*ir.Value{m.g.Const(ir.ConstBool(v))}
	}
	return nil
}

// integers returns a constant of integers.
func (m *maker) integers(at func(i int64) int64, shape ...int64) *ir.Value {
	return m.g.Filled(ir.Int32, func(i int64) float64 { return float64(at(i)) }, shape...)
}

// window returns the arguments of a slice that may go backwards in steps, and the shape of the part.
func (m *maker) window(x *ir.Value) (begin, end, stride, size []int64) {
	for _, d := range x.Type.Shape {
		b := int64(m.n(int(d)))
		e := b + 1 + int64(m.n(int(d-b)))
		s := int64(1 + m.n(3))
		n := (e - b + s - 1) / s
		if b > 0 && m.n(3) == 0 { // from the last to the one before the first
			b, e, s = b+(n-1)*s, b-1, -s
		}
		begin, end, stride, size = append(begin, b), append(end, e), append(stride, s), append(size, n)
	}
	return begin, end, stride, size
}

// binary adds an elementwise operation of two operands, in either order.
func (m *maker) binary(x *ir.Value, y any) []*ir.Value {
	op := pick(m.choices, "add", "sub", "mul", "maximum", "minimum")
	if op == "maximum" || op == "minimum" {
		y = m.moderate(y)
	}
	if m.yes() {
		return m.try(op, "x", y, "y", x)
	}
	return m.try(op, "x", x, "y", y)
}

// moderate returns a limit that some of the normal numbers exceed: a tensor that equals its limit nearly everywhere has
// a variance close to zero, and a normalisation would multiply the rounding error of its mean by a large factor.
func (m *maker) moderate(y any) any {
	switch y := y.(type) {
	case float64:
		return y / 2
	case *ir.Value:
		if y.Const != nil && !m.exact {
			at := func(i int64) float64 { return math.Mod(y.Const.Float(i), 1) }
			return m.g.Filled(m.float, at, y.Type.Shape...)
		}
	}
	return y
}

// awayFromZero returns |x| + 0.5.
func (m *maker) awayFromZero(x *ir.Value) *ir.Value {
	return m.try("add", "x", m.try("abs", "x", x)[0], "y", 0.5)[0]
}

// kernel is the form of a convolution: the bounds of its extents, and the largest
// stride and dilation.
type kernel struct {
	least, most        int
	strides, dilations int
	groups             int64
	columns            int // the least number of columns of a kernel wider than least and most allow, 0 for none
}

// spatial reports whether x is images. Only programs of the registry have a third axis.
func (m *maker) spatial(x *ir.Value) bool {
	r := x.Type.Rank()
	return r == 3 || r == 4 || r == 5 && m.registry
}

// conv adds a convolution of one or two spatial axes, or also of three in a program of the registry.
func (m *maker) conv(x *ir.Value, k kernel) []*ir.Value {
	s := x.Type.Shape
	if !m.spatial(x) {
		return nil
	}
	out := k.groups * int64(1+m.n(5))
	if k.groups == 1 {
		out = m.dim()
	}
	w := []int64{out, s[1] / k.groups}
	terms := s[1] / k.groups
	var strides, dilations, pad []int
	for i := range len(s) - 2 {
		size := int64(k.least + m.n(k.most-k.least+1))
		if k.columns > 0 && i == len(s)-3 {
			size = int64(k.columns + m.n(7))
		}
		w, terms = append(w, size), terms*size
		strides, dilations = append(strides, 1+m.n(k.strides)), append(dilations, 1+m.n(k.dilations))
		pad = append(pad, m.n(4), m.n(4))
	}
	args := []any{"x", x, "weight", m.weightsOf(terms, w...), "strides", strides, "dilations", dilations}
	args = append(args, "groups", k.groups)
	kind := pick(m.choices, "valid", "same", "custom", "same_lower")
	if kind == "custom" {
		args = append(args, "pad", pad)
	}
	args = append(args, "pad_type", kind)
	if m.yes() {
		args = append(args, "bias", m.weights(out))
	}
	return m.try("conv", args...)
}

// matmul adds a product with a new operand, on either side and in all four ways
// of transposing.
func (m *maker) matmul(x *ir.Value, fresh func(shape ...int64) *ir.Value) []*ir.Value {
	s := x.Type.Shape
	r := len(s)
	if r < 2 {
		return nil
	}
	tx, ty, left := m.yes(), m.yes(), m.yes()
	k := s[r-1] // the axis that the product sums over
	if left && tx || !left && !ty {
		k = s[r-2]
	}
	lead := append([]int64(nil), s[m.n(r-1):r-2]...)
	for i := range lead {
		if m.yes() {
			lead[i] = 1
		}
	}
	rows, cols := k, m.dim() // of the other operand
	if left && ty || !left && !tx {
		rows, cols = cols, rows
	}
	y := fresh(append(lead, rows, cols)...)
	a, b := x, y
	if !left {
		a, b = y, x
	}
	return m.scaled(m.try("matmul", "x", a, "y", b, "transpose_x", tx, "transpose_y", ty), k)
}

// pool returns the arguments of a pooling. It gives up for an operand that cannot be pooled.
func (m *maker) pool(x *ir.Value) []any {
	s := x.Type.Shape
	if !m.spatial(x) {
		giveUp()
	}
	var size, strides, pad []int
	for range len(s) - 2 {
		k := 1 + m.n(3)
		size, strides, pad = append(size, k), append(strides, 1+m.n(3)), append(pad, m.n(k), m.n(k))
	}
	args := []any{"x", x, "kernel_sizes", size, "strides", strides, "ceil_mode", m.yes()}
	kind := pick(m.choices, "valid", "same", "custom")
	if kind == "custom" {
		args = append(args, "pad", pad)
	}
	return append(args, "pad_type", kind)
}

// recut returns another shape for the elements of x: two neighbouring axes merged,
// one axis split, or any factors in any order.
func (m *maker) recut(x *ir.Value) []int64 {
	s := append([]int64(nil), x.Type.Shape...)
	at := m.n(len(s))
	switch kind := m.n(5); {
	case kind < 2 && len(s) > 1:
		if at = len(s) - 2; kind == 1 {
			at = m.n(len(s) - 1)
		}
		s[at] *= s[at+1]
		return append(s[:at+1], s[at+2:]...)
	case kind == 2 && len(s) < 5:
		f := pick(m.choices, divisors(s[at])...)
		s[at] /= f
		return append(s[:at], append([]int64{f}, s[at:]...)...)
	}
	out := make([]int64, 1+m.n(5))
	rest := x.Type.Elems()
	for i := range out[1:] {
		out[i] = pick(m.choices, divisors(rest)...)
		rest /= out[i]
	}
	out[len(out)-1] = rest
	at = m.n(len(out)) // otherwise the last axis is often 1
	out[at], out[len(out)-1] = out[len(out)-1], out[at]
	return out
}

// divisors returns the divisors of n in order.
func divisors(n int64) []int64 {
	var ds []int64
	for d := int64(1); d <= n; d++ {
		if n%d == 0 {
			ds = append(ds, d)
		}
	}
	return ds
}
