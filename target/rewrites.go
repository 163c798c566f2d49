package target

// Rewrites says, for operations that no engine or no lowering rule takes, which
// operations that are taken give the same values.
var Rewrites = map[string]string{
	"band_part":    "multiply with a constant mask of 0 and 1",
	"clamped_relu": "leaky_relu, then minimum",
	"conv_transpose": "a convolution to stride * stride times the channels, then reshape, transpose " +
		"and reshape them into place",
	"cos":            "a table of constants where the argument is a position, as in position embeddings",
	"cumsum":         "a matmul with a constant triangle of ones",
	"depth_to_space": "reshape, transpose, reshape; in two steps where rank 5 does not do",
	"einsum":         "transpose, reshape and matmul",
	"gather": "keep a lookup at the start of the model; one of few rows is a matmul with " +
		"their one-hot form",
	"gru": "a recurrent layer stays on the CPU; one step spelt out as linear, sigmoid, " +
		"tanh, mul and add runs on the engine",
	"instance_norm":     "reduce_mean, sub, square, reduce_mean, rsqrt, mul",
	"inverse":           "real_div of 1 by the operand",
	"l2_norm":           "reduce_sum_square, rsqrt, mul",
	"linear_activation": "mul and add",
	"logical_and":       "mul of masks of 0 and 1 in fp16",
	"logical_not":       "1 - x on a mask of 0 and 1 in fp16",
	"logical_or":        "maximum of masks of 0 and 1 in fp16",
	"logical_xor":       "abs of the difference of masks of 0 and 1 in fp16",
	"lstm": "a recurrent layer stays on the CPU; one step spelt out as linear, sigmoid, " +
		"tanh, mul and add runs on the engine",
	"pixel_shuffle":      "reshape, transpose, reshape; in two steps where rank 5 does not do",
	"pixel_unshuffle":    "reshape, transpose, reshape; in two steps where rank 5 does not do",
	"prelu":              "relu(x) - alpha * relu(-x)",
	"reduce_l1_norm":     "abs, reduce_sum",
	"reduce_l2_norm":     "reduce_sum_square, sqrt",
	"reduce_log_sum":     "reduce_sum, log",
	"reduce_log_sum_exp": "reduce_max, sub, exp, reduce_sum, log, add",
	"reduce_min":         "mul by -1, reduce_max, mul by -1",
	"reduce_prod":        "log, reduce_sum, exp where every element is positive",
	"reduce_argmax":      "put it at the end of the model, where it cuts nothing",
	"reduce_argmin":      "put it at the end of the model, where it cuts nothing",
	"reverse":            "reverse the weights that meet it, or a matmul with a constant permutation",
	"rnn": "a recurrent layer stays on the CPU; one step spelt out as linear, tanh and " +
		"add runs on the engine",
	"scaled_dot_product_attention": "matmul, mul by the scale, add the mask, softmax, matmul",
	"select": "a * mask + b * (1 - mask) with a mask of 0 and 1 in fp16, where both sides " +
		"are finite",
	"sin":             "a table of constants where the argument is a position, as in position embeddings",
	"sliding_windows": "slices and a stack",
	"space_to_depth":  "reshape, transpose, reshape; in two steps where rank 5 does not do",
	"topk":            "put it at the end of the model, where it cuts nothing",
	"tile":            "concat the copies; elementwise operations spread dimensions of 1 by themselves",
}
