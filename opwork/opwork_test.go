package opwork

import (
	"testing"

	"github.com/zinc-compiler/zinc/ir/irbuild"
)

// TestMACs counts the products that operations sum, each by hand.
func TestMACs(t *testing.T) {
	for _, c := range []struct {
		call string
		want int64
	}{
		{`conv(x = fp16[1, 4, 9, 9], weight = weights[6, 2, 3, 3], groups = 2, pad_type = "valid")`, 6 * 7 * 7 * 2 * 9},
		{`conv_transpose(x = fp16[2, 4, 5, 6], weight = weights[4, 3, 2, 2], strides = [2, 2], groups = 2)`,
			2 * 4 * 5 * 6 * 3 * 4},
		{`matmul(x = fp16[3, 4, 5], y = fp16[5, 6])`, 3 * 4 * 5 * 6},
		{`einsum(values = (fp16[2, 3, 4, 5], fp16[2, 5, 4, 7]), equation = "bhwc,bcwd->bhwd")`, 2 * 3 * 4 * 5 * 7},
		{`einsum(values = (fp16[1, 3, 5], fp16[4, 7, 5]), equation = "bhc,bkc->bhk")`, 4 * 3 * 7 * 5},
		{`scaled_dot_product_attention(query = fp16[2, 8, 16], key = fp16[2, 9, 16], value = fp16[2, 9, 33])`,
			2 * 8 * 9 * (16 + 33)},
		{`relu(x = fp16[2, 8])`, 0},
	} {
		g := irbuild.New(1)
		vs, err := g.Call(c.call)
		if err != nil {
			t.Fatal(err)
		}
		if got := MACs(vs[0].Def); got != c.want {
			t.Errorf("%s: %d multiply-accumulates, want %d", c.call, got, c.want)
		}
	}
}
