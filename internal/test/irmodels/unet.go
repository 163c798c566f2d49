package irmodels

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
)

// Dimensions of the segmenter.
const (
	sliceSide  = 256 // height and width of the image
	firstWidth = 8   // channels at full resolution; they double at each level
	levels     = 4
)

// segmenter writes a two-dimensional U-Net: convolutions and pooling down to a sixteenth of the image's side,
// transposed convolutions back up, each combined with the result of the same resolution on the way down. The mask is
// one row of pixels, which is wider than a tensor of the engine may be.
func segmenter(n *net) {
	x := n.input("image", ir.FP16, 1, 1, sliceSide, sliceSide)
	var skips []*ir.Value
	width := int64(firstWidth)
	for i := range levels {
		x = n.convTwice(fmt.Sprintf("down%d", i), x, width)
		skips = append(skips, x)
		x = n.op("max_pool", fmt.Sprintf("pool%d", i), "x", x, "kernel_sizes", []int64{2, 2}, "strides", []int64{2, 2},
			"pad_type", "valid", "pad", []int64{0, 0, 0, 0}, "ceil_mode", false)
		width *= 2
	}
	x = n.convTwice("bottom", x, width)
	for i := levels - 1; i >= 0; i-- {
		width /= 2
		x = n.concat(fmt.Sprintf("skip%d", i), 1, n.doubleLearned(fmt.Sprintf("up%d", i), x, width), skips[i])
		x = n.convTwice(fmt.Sprintf("merge%d", i), x, width)
	}
	x = n.conv("logits", x, 1, 1, 1)
	x = n.reshape("row", x, 1, 1, sliceSide*sliceSide)
	n.g.Output(n.op("sigmoid", "mask", "x", x))
}

// convTwice adds two convolutions, each followed by relu.
func (n *net) convTwice(name string, x *ir.Value, out int64) *ir.Value {
	for _, part := range []string{"a", "b"} {
		x = n.op("relu", name+part+"_relu", "x", n.conv(name+part, x, out, 3, 1))
	}
	return x
}

// doubleLearned adds a transposed convolution that doubles the height and width.
func (n *net) doubleLearned(name string, x *ir.Value, out int64) *ir.Value {
	in := channels(x)
	return n.op("conv_transpose", name, "x", x, "weight", n.weights(name+"_weight", in, in, out, 2, 2),
		"bias", n.weights(name+"_bias", 64, out), "strides", []int64{2, 2}, "pad_type", "valid",
		"pad", []int64{0, 0, 0, 0}, "dilations", []int64{1, 1}, "groups", 1)
}
