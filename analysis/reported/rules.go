package reported

import "github.com/zinc-compiler/zinc/ir"

// Rules are the patterns, those that keep a program from the engine first. docs/reported.md is generated from them.
var Rules = []Rule{
	{
		Name: "state-width", Effect: Refused, value: stateWidth, Recipe: "pad-states",
		Doc:     "a state of rank 4, or of more than 128 elements, whose last dimension is not a multiple of 32",
		Instead: "widen the state to a multiple of 32: pad what is written, slice what is read",
	},
	{
		Name: "state-runtime-write", Effect: Refused, ops: ops{ir.OpSliceUpdate}, op: stateRuntimeWrite,
		Doc: "slice_update of a state, or of what was read from one, at an offset known at run time",
		Instead: "return the new rows as an output and let the caller write them, shift the state by one row, or add " +
			"the product with a one-hot column",
	},
	{
		Name: "scatter-rank-5", Effect: Refused, ops: scatters, op: scatterRank5,
		Doc:     "a scatter, or slice_update at an offset known at run time, into a tensor of rank 5",
		Instead: "one tensor of rank 4 for each layer, written by a one-hot product",
	},
	{
		Name: "attention-large-heads", Effect: Refused, fn: attentionLargeHeads,
		Doc:     "two or more scaled_dot_product_attention with heads of more than 256 elements in one function",
		Instead: "write all but one as matmul, softmax, matmul",
	},
	{
		Name: "attention-large-query", Effect: Wrong, ops: ops{ir.OpScaledDotProductAttention}, op: attentionLargeQuery,
		Doc: "scaled_dot_product_attention with heads of more than 256 elements and two or more computed queries: " +
			"the CPU's graph crashes",
		Instead: "write it as matmul, softmax, matmul",
	},
	{
		Name: "attention-keys", Effect: Refused, ops: ops{ir.OpScaledDotProductAttention, ir.OpMatMul},
		op:      attentionKeys,
		Doc:     "attention over more than 32768 keys",
		Instead: "attend to parts of the keys, and join the parts by their maxima and sums",
	},
	{
		Name: "layer-norm-enumerated", Effect: Off, ops: ops{ir.OpLayerNorm}, op: layerNormEnumerated,
		Doc:     "layer_norm of a flexible dimension in a function with enumerated shapes",
		Instead: "a function for each shape, or a range",
	},
	{
		Name: "layer-norm-one-affine", Effect: Refused, ops: ops{ir.OpLayerNorm}, op: layerNormOneAffine,
		Doc: "layer_norm over 1024 or more elements of whose gamma and beta exactly one differs from element to " +
			"element",
		Instead: "multiply by gamma and add beta after the layer_norm, in operations of their own",
	},
	{
		Name: "layer-norm-values", Effect: Refused, ops: ops{ir.OpLayerNorm}, op: layerNormValues,
		Doc: "layer_norm over 1024 or more elements whose gamma and beta both differ from element to element: it " +
			"compiles or not by their values alone",
		Instead: "multiply by gamma and add beta after the layer_norm, in operations of their own",
	},
	{
		Name: "ranges", Effect: Off, fn: rangedInput,
		Doc:     "an input with a range of shapes, and products in fp16: the engine has the default shape at most",
		Instead: "fixed or enumerated shapes; pad to the next one", Recipe: "fix-shape",
	},
	{
		Name: "mean-flexible", Effect: Refused, ops: ops{ir.OpReduceMean}, op: meanFlexible,
		Doc:     "reduce_mean in fp16 of a flexible dimension",
		Instead: "fixed shapes",
	},
	{
		Name: "rank-6", Effect: Refused, value: rank6,
		Doc:     "a tensor of rank 6 or more",
		Instead: "merge dimensions, or drop dimensions of 1", Recipe: "merge-dimensions",
	},
	{
		Name: "extent-65536", Effect: Off, value: extent65536,
		Doc:     "a tensor with a dimension over 65536, on any chip",
		Instead: "fold the dimension into two", Recipe: "fold-rows",
	},
	{
		Name: "extent-16384", Effect: Off, value: extent16384,
		Doc:     "a tensor whose last dimension, or the one before it, is over 16384, the limit before M4 and A18",
		Instead: "fold the dimension into two", Recipe: "fold-rows",
	},
	{
		Name: "tensor-1gb", Effect: Refused, value: tensor1GB,
		Doc:     "a tensor of more than 900 MB as fp16",
		Instead: "tiles of the image",
	},
	{
		Name: "constants-2gb", Effect: Refused, fn: constants2GB,
		Doc:     "constants of more than 1.8 GB in one function",
		Instead: "several programs: zinc split",
	},
	{
		Name: "blocks-int4", Effect: Off, ops: blockwiseOps, op: blocksInt4,
		Doc:     "int4 weights with a scale for each block of inputs",
		Instead: "a scale for each output channel, or palettes of 4 bits",
	},
	{
		Name: "blocks-int8", Effect: Wrong, ops: blockwiseOps, op: blocksInt8,
		Doc:     "int8 weights with a scale for each block of inputs",
		Instead: "a scale for each output channel, or palettes",
	},
	{
		Name: "scales-of-inputs", Effect: Off, ops: append(ops{ir.OpConstexprAffineDequantize}, blockwiseOps...),
		op:      scalesOfInputs,
		Doc:     "quantised weights whose scales are neither one for the tensor nor one for each output channel",
		Instead: "a scale for each output channel, or one for the tensor",
	},
	{
		Name: "palette-channel-scale", Effect: Refused, ops: blockwiseOps, op: paletteChannelScale,
		Doc:     "palettised weights with a scale for each channel",
		Instead: "multiply the entries of the tables by the scales: a table for each channel",
	},
	{
		Name: "palette-group-scale", Effect: Wrong, ops: blockwiseOps, op: paletteGroupScale,
		Doc:     "palettised weights with several scales for each output channel",
		Instead: "a convolution for each group of inputs, with a scale for each output, and their sum",
	},
	{
		Name: "kernel-width", Effect: Off, ops: ops{ir.OpConv}, op: kernelWidth,
		Doc: "a convolution of stride 1 whose kernel is wider than 16, higher than 31, or 1x16: the whole model is " +
			"on the CPU without a word",
		Instead: "a sum of convolutions with parts of the kernel", Recipe: "split-kernel",
	},
	{
		Name: "kernel-16x16", Effect: Slow, ops: ops{ir.OpConv}, op: kernel16,
		Doc:     "a convolution with a kernel of 16x16: minutes and gigabytes to compile",
		Instead: "two kernels whose sizes add up to one more", Recipe: "smaller-kernels",
	},
	{
		Name: "conv-stride", Effect: Slow, ops: ops{ir.OpConv}, op: convStride,
		Doc:     "a convolution of stride 5 or 7: the compiler does not end within minutes",
		Instead: "a stride of factors 2 and 3",
	},
	{
		Name: "transposed-stride", Effect: Refused, ops: ops{ir.OpConvTranspose}, op: transposedStride,
		Doc:     "a transposed convolution of stride 16 or more",
		Instead: "two, whose strides multiply to it",
	},
	{
		Name: "transposed-shape", Effect: Wrong, ops: ops{ir.OpConvTranspose}, op: transposedShape,
		Doc:     "a transposed convolution whose output_shape differs from what strides and padding give",
		Instead: "padding that gives the shape, or a slice of the result",
	},
	{
		Name: "transposed-padding", Effect: Wrong, ops: ops{ir.OpConvTranspose}, op: transposedPadding,
		Doc:     "a transposed convolution in fp16 with padding that differs at the two ends, and an output_shape",
		Instead: "no padding, and a slice of the result",
	},
	{
		Name: "max-pool-width", Effect: Off, ops: ops{ir.OpMaxPool}, op: maxPoolWidth,
		Doc:     "max pooling with a window wider than 8, other than 32",
		Instead: "two poolings whose widths add up to one more, or reduce_max of a whole row",
	},
	{
		Name: "average-pool-width", Effect: Off, ops: ops{ir.OpAvgPool}, op: averagePoolWidth,
		Doc:     "average pooling with a window wider than 13",
		Instead: "reduce_mean for a whole image, or two poolings",
	},
	{
		Name: "batch-norm-rank-5", Effect: Refused, ops: ops{ir.OpBatchNorm}, op: batchNormRank5,
		Doc:     "batch_norm in fp16 of a tensor of rank 5: the process ends",
		Instead: "merge two dimensions before it, or multiply and add",
	},
	{
		Name: "product-depth", Effect: Off, ops: ops{ir.OpLinear, ir.OpMatMul}, op: productDepth,
		Doc:     "a product that sums over more than 16384 terms",
		Instead: "products of parts of the sum, and their sum",
	},
	{
		Name: "outputs-16384", Effect: Off, ops: ops{ir.OpLinear, ir.OpMatMul}, op: outputs16384,
		Doc: "a product with a constant weight of more than 16384 outputs, as the head of a language model: over the " +
			"limit before M4 and A18",
		Instead: "parts of the outputs, joined by the caller", Recipe: "split-outputs",
	},
	{
		Name: "product-timeout", Effect: Wrong, ops: ops{ir.OpLinear, ir.OpMatMul}, op: productTimeout,
		Doc:     "one product of 2^42 or more multiply-accumulates: the engine times out, and the result is NaN",
		Instead: "products of parts",
	},
	{
		Name: "conv-chain", Effect: Refused, ops: ops{ir.OpConv}, op: convChain,
		Doc:     "more than 386 1x1 convolutions in a chain: the compiler overflows its stack, silently on the CPU",
		Instead: "several functions or programs",
	},
	{
		Name: "pointwise-chain", Effect: Slow, ops: pointwiseOps(), op: pointwiseChain,
		Doc:     "512 or more elementwise operations in a chain: minutes to compile",
		Instead: "several functions, or fewer operations",
	},
	{
		Name: "weight-dma-notch", Effect: Slow, ops: ops{ir.OpConv, ir.OpLinear, ir.OpMatMul}, op: dmaNotch,
		Doc: "fp16 weights whose share of each of 16 cores is a multiple of 1 MiB, to within 16 KiB: DMA at less " +
			"than half of its rate",
		Instead: "two products, each with half of the inputs, and their sum",
	},
	{
		Name: "mask-below-fp16", Effect: Wrong, ops: ops{ir.OpSoftmax, ir.OpScaledDotProductAttention},
		op: maskBelowFP16,
		Doc: "softmax in fp16 of scores with a mask of numbers beyond fp16, as -3.4e38 or -infinity: NaN in rows " +
			"that are masked whole",
		Instead: "a mask of -40000 or -10000",
	},
	{
		Name: "log-softmax", Effect: Wrong, ops: ops{ir.OpLog}, op: logSoftmax,
		Doc:     "a logarithm of a softmax in fp16: probabilities below 6e-5 are 0",
		Instead: "x - max(x) - log(sum(exp(x - max(x))))",
	},
	{
		Name: "softmax-long", Effect: Wrong, ops: ops{ir.OpMatMul, ir.OpScaledDotProductAttention}, op: softmaxLong,
		Doc:     "a product in fp16 with rows of more than 2048 probabilities: those below 6.1e-5 are lost",
		Instead: "multiply the exponentials, and divide the product by their sum", Recipe: "normalise-late",
	},
	{
		Name: "softplus-10.4", Effect: Wrong, ops: ops{ir.OpSoftplus, ir.OpSoftplusParametric}, op: softplusRange,
		Doc:     "softplus in fp16 of more than 10.4 drops to 0",
		Instead: "max(x, 0) + log(1 + exp(-|x|))",
	},
	{
		Name: "log-sum-exp", Effect: Wrong, ops: ops{ir.OpReduceLogSumExp}, op: logSumExpRange,
		Doc:     "reduce_log_sum_exp in fp16 of n numbers above log(65504/n) drops to 0",
		Instead: "max(x) + log(sum(exp(x - max(x))))",
	},
	{
		Name: "log-of-exp", Effect: Wrong, ops: ops{ir.OpLog}, op: logOfExp,
		Doc:     "a logarithm of sums of exponentials of more than 11.09 in fp16: infinity, then NaN or 0",
		Instead: "subtract the maximum before exp, and add it after log",
	},
	{
		Name: "product-32752", Effect: Wrong, ops: ops{ir.OpMatMul, ir.OpLinear, ir.OpConv}, op: productRange,
		Doc:     "a product on the engine past 32752 is infinite",
		Instead: "divide an operand by a power of two",
	},
	{
		Name: "slice-4094", Effect: Wrong, ops: ops{ir.OpSliceByIndex, ir.OpSliceBySize}, op: sliceRange,
		Doc:     "a slice of the last dimension that does not begin at 0, of values past 4094: infinite",
		Instead: "slice another dimension, or scale the values down before the slice",
	},
	{
		Name: "square-overflow", Effect: Wrong, ops: ops{ir.OpSquare, ir.OpMul, ir.OpPow, ir.OpReduceSumSquare},
		op:      squareRange,
		Doc:     "a mean or a sum of squares in fp16 of more than 255.9, as in an RMS norm: infinite",
		Instead: "divide by the largest magnitude first, or take reduce_l2_norm",
	},
	{
		Name: "nan-test", Effect: Wrong, ops: ops{ir.OpEqual, ir.OpNotEqual}, op: nanTest,
		Doc:     "a value compared with itself, to find NaN: the engine reads NaN as a number",
		Instead: "another input that says which values are valid",
	},
	{
		Name: "argmax-channels", Effect: Wrong, ops: ops{ir.OpReduceArgmax}, op: argmaxChannels,
		Doc:     "reduce_argmax over the channels of images in fp16",
		Instead: "topk with k = 1, or cast to fp32 before it",
	},
	{
		Name: "topk-long", Effect: Slow, ops: ops{ir.OpTopK}, op: topkLong,
		Doc:     "topk along 4096 or more elements: milliseconds on the engine, however small the rest is",
		Instead: "return the scores, and select on the CPU",
	},
	{
		Name: "linear-hardswish", Effect: Wrong, ops: ops{ir.OpLinear, ir.OpMatMul}, op: linearHardswish,
		Doc:     "a product of rank 2 in fp16 that goes straight into hardswish",
		Instead: "the same product of rank 4",
	},
	{
		Name: "record-log", Effect: Record, ops: ops{ir.OpLog}, op: anyLog,
		Doc: "log on h13",
	},
	{
		Name: "record-clip", Effect: Record, ops: ops{ir.OpClip}, op: anyClip,
		Doc:     "clip on h13",
		Instead: "minimum and maximum with numbers",
	},
	{
		Name: "record-layer-norm", Effect: Record, ops: ops{ir.OpLayerNorm}, op: affineLayerNorm,
		Doc:     "layer_norm with gamma or beta on h13",
		Instead: "layer_norm without them, then mul and add",
	},
	{
		Name: "record-bias-literal", Effect: Record, ops: ops{ir.OpLinear, ir.OpConv}, op: literalBias,
		Doc:     "linear or conv with a bias that is written in the text, on h13",
		Instead: "a bias in the weight file",
	},
	{
		Name: "record-tensor-literal", Effect: Record, ops: literalOps, op: literalOperand,
		Doc:     "an elementwise operation with a tensor that is written in the text, on h13",
		Instead: "a tensor in the weight file, or a number",
	},
	{
		Name: "record-division", Effect: Record, ops: ops{ir.OpRealDiv}, op: storedDivisor,
		Doc:     "real_div by a tensor of the weight file, on h13",
		Instead: "mul by the reciprocals",
	},
	{
		Name: "record-matmul-order", Effect: Record, ops: ops{ir.OpMatMul}, op: constantOrder,
		Doc:     "matmul with a constant y and transpose_y false, on h13",
		Instead: "linear, or the transposed constant with transpose_y true",
	},
}
