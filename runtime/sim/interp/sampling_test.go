package interp

import (
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
)

// TestSamplesAtInfinityAndNaN samples at coordinates that are not finite: a sample at NaN is NaN, one at infinity is
// far outside.
func TestSamplesAtInfinityAndNaN(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	x := floats(t, ir.FP32, []int64{1, 1, 1, 2}, 3, 5)
	for _, tt := range []struct {
		padding string
		want    []float32
	}{
		{"constant", []float32{nan, 7, 7}},
		{"border", []float32{nan, 5, 3}},
		{"reflection", []float32{nan, 3, 3}},
		{"symmetric", []float32{nan, 3, 3}},
	} {
		b := newBld(t, "ios15")
		r := b.op("resample", args{"x": b.input("x", x), "coordinates": b.input("at",
			floats(t, ir.FP32, []int64{1, 1, 3, 2}, nan, 0, inf, 0, -inf, 0)),
			"sampling_mode": str("bilinear"), "padding_mode": str(tt.padding), "padding_value": scalar(ir.FP32, 7),
			"coordinates_mode": str("unnormalized"), "align_corners": truth(true)})
		wantFloats(t, b.run(Options{}, r)[0], 0, []int64{1, 1, 1, 3}, tt.want...)
	}
	b := newBld(t, "ios16")
	r := b.op("crop_resize", args{
		"x":   b.input("x", x),
		"roi": b.input("roi", floats(t, ir.FP32, []int64{2, 1, 4, 1, 1}, 0, nan, 0, 1, 0, inf, 0, inf)),
	})
	if got := b.run(Options{}, r)[0].Floats32(); got[0] == got[0] || got[1] == got[1] {
		t.Errorf("boxes that are no boxes give %v", got)
	}
}

// TestEmptyBoxes crops no boxes, and boxes of images without channels.
func TestEmptyBoxes(t *testing.T) {
	b := newBld(t, "ios17")
	x := b.input("x", floats(t, ir.FP32, []int64{1, 1, 2, 2}, 1, 2, 3, 4))
	none := b.op("crop_resize", args{
		"x":            x,
		"boxes":        b.input("none", floats(t, ir.FP32, []int64{0, 4})),
		"target_width": num(2),
	})
	flat := b.op("crop_resize", args{"x": b.input("flat", floats(t, ir.FP32, []int64{1, 0, 2, 2})),
		"boxes": b.input("boxes", floats(t, ir.FP32, []int64{1, 4}, 0, 0, 1, 1)), "target_width": num(2)})
	got := b.run(Options{}, none, flat)
	wantFloats(t, got[0], 0, []int64{0, 1, 1, 2})
	wantFloats(t, got[1], 0, []int64{1, 0, 1, 2})
}

// TestSuppressionKeepsOne checks that the best box stays although every score is below the threshold, and that NaN
// scores come last.
func TestSuppressionKeepsOne(t *testing.T) {
	b := newBld(t, "ios16")
	rs := b.opAs("non_maximum_suppression", args{
		"boxes":         b.input("boxes", floats(t, ir.FP32, []int64{1, 3, 4}, 0, 0, 1, 1, 5, 5, 1, 1, 9, 9, 1, 1)),
		"scores":        b.input("scores", floats(t, ir.FP32, []int64{1, 3, 1}, float32(math.NaN()), 0.25, 0.5)),
		"iou_threshold": scalar(ir.FP32, 0.5), "score_threshold": scalar(ir.FP32, 2), "max_boxes": num(2)})
	got := b.run(Options{}, rs...)
	wantTensor(t, 2, got[2], ints(t, ir.Int32, []int64{1, 2}, 2, -1))
	wantTensor(t, 3, got[3], ints(t, ir.Int32, []int64{1}, 1))
}
