package interp

// withoutKernel lists the rows of the op table that the interpreter refuses.
var withoutKernel = []string{
	"affine", "classify", "conv_quantized", "crop_resize", "einsum", "non_maximum_suppression", "random_bernoulli",
	"random_categorical", "random_normal", "random_uniform", "resample", "resize", "resize_bilinear",
	"resize_nearest_neighbor", "upsample_bilinear", "upsample_nearest_neighbor",
}
