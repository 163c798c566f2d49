package dump

import (
	"bytes"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

func TestTensorSummarizesValues(t *testing.T) {
	var b bytes.Buffer
	x, err := interp.FromFloats(ir.FP32, []float32{1, -2, 4, 0, 0, 0, 0, 0, 5}, 9)
	if err != nil {
		t.Fatal(err)
	}
	if err := Tensor(&b, "y", x); err != nil {
		t.Fatal(err)
	}
	want := "y  tensor<fp32, [9]>  min -2 max 5 mean 0.888889  [1, -2, 4, 0, 0, 0, 0, 0, ...]\n"
	if b.String() != want {
		t.Errorf("%q, want %q", &b, want)
	}
}
