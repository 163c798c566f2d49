package irmodels

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
)

// Dimensions of the detector. Its stages have half the channels of the smallest published YOLOv8, and the same heights
// and widths.
const (
	imageSide = 640
	stemWidth = 8  // channels of the first convolution
	bins      = 16 // of the distribution of each side of a box
	classes   = 80
)

// strides belong to the three scales on which the detector finds boxes, in pixels of the image.
var strides = []int64{8, 16, 32}

// detector writes a detector with the structure of YOLOv8: the backbone halves the image five times, the neck
// combines the last three scales upwards and downwards, and the head computes the sides of a box and the scores of the
// classes at each of 8,400 places. The end of the head is in fp32, as converters leave it on request, because numbers
// of fp16 from 512 on are half a pixel apart.
func detector(n *net) {
	x := n.op("mul", "scaled", "x", n.input("image", ir.FP16, 1, 3, imageSide, imageSide), "y", 1.0/255)
	x = n.convSilu("b0", x, stemWidth, 3, 2)
	x = n.convSilu("b1", x, 2*stemWidth, 3, 2)
	x = n.split("b2", x, 2*stemWidth, true)
	p3 := n.split("b4", n.convSilu("b3", x, 4*stemWidth, 3, 2), 4*stemWidth, true)
	p4 := n.split("b6", n.convSilu("b5", p3, 8*stemWidth, 3, 2), 8*stemWidth, true)
	p5 := n.split("b8", n.convSilu("b7", p4, 16*stemWidth, 3, 2), 16*stemWidth, true)
	p5 = n.pyramid("b9", p5)

	n4 := n.split("n12", n.concat("n11", 1, n.double("n10", p5), p4), 8*stemWidth, false)
	n3 := n.split("n15", n.concat("n14", 1, n.double("n13", n4), p3), 4*stemWidth, false)
	n4 = n.split("n18", n.concat("n17", 1, n.convSilu("n16", n3, 4*stemWidth, 3, 2), n4), 8*stemWidth, false)
	n5 := n.split("n21", n.concat("n20", 1, n.convSilu("n19", n4, 8*stemWidth, 3, 2), p5), 16*stemWidth, false)
	n.g.Output(n.head([]*ir.Value{n3, n4, n5}))
}

// convSilu adds a convolution followed by silu.
func (n *net) convSilu(name string, x *ir.Value, out, kernel, stride int64) *ir.Value {
	return n.op("silu", name+"_silu", "x", n.conv(name+"_conv", x, out, kernel, stride))
}

// split adds the block that YOLOv8 calls C2f: half of the channels pass two more convolutions, and all intermediate
// results are combined.
func (n *net) split(name string, x *ir.Value, out int64, skip bool) *ir.Value {
	x = n.convSilu(name+"_in", x, out, 1, 1)
	left := n.slice(name+"_left", x, 1, 0, out/2)
	right := n.slice(name+"_right", x, 1, out/2, out/2)
	y := n.convSilu(name+"_a", right, out/2, 3, 1)
	y = n.convSilu(name+"_b", y, out/2, 3, 1)
	if skip {
		y = n.op("add", name+"_add", "x", right, "y", y)
	}
	return n.convSilu(name+"_out", n.concat(name+"_cat", 1, left, right, y), out, 1, 1)
}

// pyramid adds the block that YOLOv8 calls SPPF: three poolings in a row, all results combined.
func (n *net) pyramid(name string, x *ir.Value) *ir.Value {
	out := channels(x)
	all := []*ir.Value{n.convSilu(name+"_in", x, out/2, 1, 1)}
	for i := range 3 {
		all = append(all, n.op("max_pool", fmt.Sprintf("%s_pool%d", name, i+1), "x", all[i],
			"kernel_sizes", []int64{5, 5}, "strides", []int64{1, 1}, "pad_type", "custom", "pad", []int64{2, 2, 2, 2},
			"ceil_mode", false))
	}
	return n.convSilu(name+"_out", n.concat(name+"_cat", 1, all...), out, 1, 1)
}

// double doubles the height and width.
func (n *net) double(name string, x *ir.Value) *ir.Value {
	return n.op("upsample_nearest_neighbor", name+"_up", "x", x, "scale_factor_height", 2.0, "scale_factor_width", 2.0)
}

// head computes the boxes, [1, 4+classes, places]: centre, width and height in pixels, then the scores.
func (n *net) head(scales []*ir.Value) *ir.Value {
	var parts []*ir.Value
	for i, x := range scales {
		name := fmt.Sprintf("h%d", i)
		side := x.Type.Shape[2]
		box := n.convSilu(name+"_box_b", n.convSilu(name+"_box_a", x, 4*bins, 3, 1), 4*bins, 3, 1)
		box = n.conv(name+"_box", box, 4*bins, 1, 1)
		class := n.convSilu(name+"_class_b", n.convSilu(name+"_class_a", x, classes, 3, 1), classes, 3, 1)
		class = n.conv(name+"_class", class, classes, 1, 1)
		both := n.concat(name+"_cat", 1, box, class)
		parts = append(parts, n.reshape(name+"_flat", both, 1, 4*bins+classes, side*side))
	}
	all := n.concat("head", 2, parts...)
	sides := n.slice("sides", all, 1, 0, 4*bins)
	scores := n.cast("scores_fp32", n.slice("class_scores", all, 1, 4*bins, classes), ir.FP32)
	boxes := n.decode(n.expectation(sides))
	return n.concat("boxes", 1, boxes, n.op("sigmoid", "scores", "x", scores))
}

// expectation computes the expected distance of each side from the distribution over its bins.
func (n *net) expectation(x *ir.Value) *ir.Value {
	places := x.Type.Shape[2]
	x = n.reshape("sides_of_bins", x, 1, 4, bins, places)
	x = n.op("transpose", "bins_first", "x", x, "perm", []int64{0, 2, 1, 3})
	x = n.cast("bins_fp32", x, ir.FP32)
	x = n.op("softmax", "bin_shares", "x", x, "axis", 1)
	bin := n.g.Filled(ir.FP32, func(i int64) float64 { return float64(i) }, 1, bins, 1, 1)
	bin.Name = "bin"
	x = n.op("conv", "distances", "x", x, "weight", bin, "strides", []int64{1, 1}, "pad_type", "valid",
		"pad", []int64{0, 0, 0, 0}, "dilations", []int64{1, 1}, "groups", 1)
	return n.reshape("box_sides", x, 1, 4, places)
}

// decode turns the distances of the four sides from their place, in cells, into boxes in pixels.
func (n *net) decode(x *ir.Value) *ir.Value {
	var centres [2][]float64
	var pixels []float64
	for _, s := range strides {
		side := imageSide / s
		for i := range side * side {
			centres[0] = append(centres[0], float64(i%side)+0.5)
			centres[1] = append(centres[1], float64(i/side)+0.5)
			pixels = append(pixels, float64(s))
		}
	}
	places := int64(len(pixels))
	at := n.g.Filled(ir.FP32, func(i int64) float64 { return centres[i/places][i%places] }, 1, 2, places)
	stride := n.g.Filled(ir.FP32, func(i int64) float64 { return pixels[i] }, 1, 1, places)
	at.Name, stride.Name = "centres", "stride"

	low := n.op("sub", "low", "x", at, "y", n.slice("left_top", x, 1, 0, 2))
	high := n.op("add", "high", "x", at, "y", n.slice("right_bottom", x, 1, 2, 2))
	centre := n.op("mul", "centre", "x", n.op("add", "low_high", "x", low, "y", high), "y", 0.5)
	size := n.op("sub", "size", "x", high, "y", low)
	return n.op("mul", "box_pixels", "x", n.concat("cells", 1, centre, size), "y", stride)
}
