package numerics

// Bound is how far an engine's fp16 result y may stand from the interpreter's:
//
//	|d| <= ULP*ulp16(y) + Abs + Rel*|y| + Acc*S
//
// where S is the root of the sum of the squared products (a*b)^2 that make one
// output element (of the squared terms, in a sum). The zero Bound means equal
// bits.
type Bound struct {
	ULP float64 // units in the last place of fp16 at y
	Abs float64 // absolute
	Rel float64 // of |y|
	Acc float64 // of the root of the sum of squared products
}

// IsExact reports whether the bound demands equal bits.
func (b Bound) IsExact() bool { return b == Bound{} }

// At returns the bound as an absolute difference at the value y, for the
// accumulation scale s (0 where there is none).
func (b Bound) At(y, s float64) float64 {
	if y < 0 {
		y = -y
	}
	return b.ULP*float64(ULP16(float32(y))) + b.Abs + b.Rel*y + b.Acc*s
}

// AccFactor is the factor of S in the bound of products: see "Products" in
// docs/numerics.md for the derivation.
const AccFactor = 1.0 / 1024

// Why names the reason of a bound.
type Why uint8

// Reasons.
const (
	Movement    Why = iota // bits are copied or chosen: equal
	Elementwise            // one rounding of an exact function: 1 ulp
	Product                // sums of products through the first stage
	Table                  // a 33-knot table: the table's own worst error, which the caller knows
	Composite              // several roundings and a table: modelled
)

// String names the reason in reports.
func (w Why) String() string {
	return [...]string{"movement", "elementwise", "product", "table", "composite"}[w]
}

// BoundRow is one row of Bounds.
type BoundRow struct {
	Bound Bound
	Why   Why
}

var (
	rowMove = BoundRow{Bound{}, Movement}
	rowElem = BoundRow{Bound{ULP: 1}, Elementwise}
	rowProd = BoundRow{Bound{ULP: 1, Acc: AccFactor}, Product}
	rowTab  = BoundRow{Bound{ULP: 1}, Table}
	// rowComp: a mean, a difference, a product and a root, each rounded once:
	// four roundings of at most one last place of the result's scale. Modelled.
	rowComp = BoundRow{Bound{ULP: 4, Rel: 4.0 / 2048, Acc: AccFactor}, Composite}
)

// Bounds is the bound of every operation that the engine runs, by MIL name. A
// Table row does not hold the table's own error: BoundFor adds it.
var Bounds = func() map[string]BoundRow {
	m := map[string]BoundRow{}
	for row, names := range map[BoundRow][]string{
		rowMove: {"identity", "reshape", "transpose", "expand_dims", "squeeze", "flatten2d", "concat", "stack", "split",
			"slice_by_index", "slice_by_size", "slice_update", "pad", "tile", "gather", "gather_along_axis",
			"gather_nd",
			"depth_to_space", "space_to_depth", "pixel_shuffle", "pixel_unshuffle", "batch_to_space", "space_to_batch",
			"reverse", "reverse_sequence", "sliding_windows", "band_part", "crop", "upsample_nearest_neighbor",
			"resize_nearest_neighbor", "relu", "relu6", "clip", "clamped_relu", "threshold", "thresholded_relu",
			"maximum", "minimum", "abs", "sign", "ceil", "floor", "round", "select", "max_pool", "reduce_max",
			"reduce_min", "reduce_argmax", "reduce_argmin", "equal", "not_equal", "less", "less_equal", "greater",
			"greater_equal", "logical_and", "logical_or", "logical_xor", "logical_not", "read_state", "write_state",
			"coreml_update_state", "topk", "argsort", "fill", "fill_like", "shape"},
		rowElem: {"add", "sub", "mul", "real_div", "floor_div", "mod", "square", "sqrt", "rsqrt", "inverse", "log",
			"cast", "leaky_relu", "prelu", "linear_activation", "sigmoid_hard", "batch_norm", "quantize",
			"dequantize", "pow"},
		rowProd: {"conv", "conv_transpose", "matmul", "linear", "einsum", "avg_pool", "l2_pool", "reduce_sum",
			"reduce_mean", "reduce_sum_square", "reduce_l1_norm", "reduce_l2_norm", "cumsum", "upsample_bilinear",
			"resize_bilinear", "resize", "crop_resize"},
		rowTab: {"sigmoid", "tanh", "gelu", "silu", "exp", "exp2", "softplus", "softplus_parametric", "softsign", "elu",
			"erf", "scaled_tanh", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "atanh"},
		rowComp: {"softmax", "layer_norm", "instance_norm", "l2_norm", "local_response_norm", "reduce_log_sum",
			"reduce_log_sum_exp", "scaled_dot_product_attention", "lstm", "gru", "rnn", "reduce_prod"},
	} {
		for _, n := range names {
			m[n] = row
		}
	}
	return m
}()

// BoundFor returns the bound of an operation. tableAbs is the worst absolute
// error that the generator of the operation's lookup table states, 0 when the
// operation needs no table; it enters Table and Composite rows. An operation
// without a row gets the bound of composites, and ok is false.
func BoundFor(op string, tableAbs float64) (b Bound, ok bool) {
	row, ok := Bounds[op]
	if !ok {
		row = rowComp
	}
	if row.Why == Table || row.Why == Composite {
		row.Bound.Abs += tableAbs
	}
	return row.Bound, ok
}
