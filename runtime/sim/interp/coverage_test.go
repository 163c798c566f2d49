package interp

// withoutKernel lists the rows of the op table that the interpreter refuses.
var withoutKernel = []string{"affine", "classify", "conv_quantized", "crop_resize", "non_maximum_suppression", "resample"}
