package target

import "slices"

// Family is a generation of the engine's hardware; a later one does what an
// earlier one does.
type Family int

// Families, with the numbers of the vendor's table.
const (
	A11Legacy Family = iota
	A12
	A13
	A14
	A15
	A16
	A17
)

var familyNames = []string{"A11Legacy", "A12", "A13", "A14", "A15", "A16", "A17"}

// String returns the family's name.
func (f Family) String() string { return familyNames[f] }

// Gate says from which family on the hardware runs some operations.
type Gate struct {
	From  Family
	Never bool // no family runs them
	Ops   []string
}

// Gates are the gates of the vendor's table, by MIL operation. An operation in
// none of them is not spoken of there: whether zinc lowers it decides.
var Gates = []Gate{
	{From: A11Legacy, Ops: []string{
		"conv", "conv_transpose", "matmul", "linear", "max_pool", "avg_pool",
		"add", "sub", "mul", "maximum", "minimum", "real_div",
		"reshape", "expand_dims", "squeeze", "transpose", "concat", "sigmoid", "tanh", "relu", "gelu", "silu",
	}},
	{From: A13, Ops: []string{
		"softmax", "layer_norm", "instance_norm", "batch_norm",
		"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_sum_square", "reduce_l1_norm",
		"reduce_l2_norm",
		"reduce_log_sum", "reduce_log_sum_exp",
		"scaled_dot_product_attention", "erf", "exp2", "rsqrt", "sqrt", "tile", "space_to_depth", "pixel_unshuffle",
	}},
	{From: A14, Ops: []string{"crop_resize", "resample"}},
	{From: A15, Ops: []string{"sin", "cos", "reduce_argmin", "reduce_argmax", "random_uniform"}},
	{Never: true, Ops: []string{
		"reduce_prod", "scatter", "scatter_along_axis", "scatter_nd", "mod", "one_hot", "non_zero", "band_part",
		"reverse_sequence", "shape", "sliding_windows", "logical_and", "logical_or", "logical_xor", "gru", "lstm",
		"rnn",
		"tan", "asin", "acos", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh",
		"random_bernoulli", "random_categorical", "random_normal",
	}},
}

// GateOf returns the gate of an operation, or false when none speaks of it.
func GateOf(op string) (Gate, bool) {
	for _, g := range Gates {
		if slices.Contains(g.Ops, op) {
			return g, true
		}
	}
	return Gate{}, false
}

// Admits reports whether the target's family passes the gate.
func (t *Table) Admits(g Gate) bool { return !g.Never && t.Family >= g.From }
