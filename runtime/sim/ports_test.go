package sim

import (
	"testing"

	"github.com/zinc-compiler/zinc/ir"
)

// TestRangeOfShapes prints shapes that are a range with its start, stop and step.
func TestRangeOfShapes(t *testing.T) {
	for _, tt := range []struct {
		want   string
		shapes [][]int64
	}{
		{"tensor<fp16, [1, 8..24:8]>", [][]int64{{1, 8}, {1, 16}, {1, 24}}},
		{"tensor<fp16, [2..6:2, 8]>", [][]int64{{2, 8}, {4, 8}, {6, 8}}},
		{"", [][]int64{{1, 8}, {1, 16}, {1, 32}}},
		{"", [][]int64{{1, 8}, {2, 16}, {3, 24}}},
		{"", [][]int64{{1, 8}, {1, 8}, {1, 8}}},
		{"", [][]int64{{8}, {1, 8}, {16}}},
		{"", [][]int64{{1, 8}, {1, 16}}},
	} {
		var types []ir.Type
		for _, s := range tt.shapes {
			types = append(types, ir.Type{Kind: ir.Tensor, DType: ir.FP16, Shape: s})
		}
		if got := liveIn(types); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.shapes, got, tt.want)
		}
	}
}
