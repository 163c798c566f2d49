package opwork

import (
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
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

// TestCPUChargesWhatIsTouched checks operations that read a part of an operand, or nothing of it: the bytes that each
// one reads and writes, by hand.
func TestCPUChargesWhatIsTouched(t *testing.T) {
	const table = "fp16[32000, 256]"
	for _, c := range []struct {
		call  string
		bytes int64
	}{
		{`gather(x = ` + table + `, indices = int32[1, 1], axis = 0)`, 2*2*256 + 4},
		{`gather(x = fp16[4, 256], indices = int32[64], axis = 0)`, 2*4*256 + 2*64*256 + 4*64},
		{`gather_along_axis(x = ` + table + `, indices = int32[1, 256], axis = 0)`, 2*2*256 + 4*256},
		{`gather_nd(x = ` + table + `, indices = int32[3, 1])`, 2*2*3*256 + 4*3},
		{`slice_by_index(x = ` + table + `, begin = [5, 0], end = [6, 256])`, 2*2*256 + 2*2*4},
		{`slice_by_size(x = ` + table + `, begin = [5, 0], size = [1, 256])`, 2*2*256 + 2*2*4},
		{`tile(x = fp16[1, 256], reps = [100, 1])`, 2*256 + 2*100*256 + 2*4},
		{`transpose(x = fp16[320, 256], perm = [1, 0])`, 2*2*320*256 + 2*4},
		{`concat(values = (fp16[320, 256], fp16[1, 256]), axis = 0)`, 2*2*321*256 + 4},
		{`shape(x = ` + table + `)`, 2 * 4},
		{`reshape(x = ` + table + `, shape = [256, 32000])`, 0},
		{`flatten2d(x = fp16[400, 8, 16], axis = 1)`, 0},
		{`slice_update(x = ` + table + `, update = fp16[1, 256], begin = int32[2], end = int32[2])`,
			2*2*32000*256 + 2*256 + 2*4*2},
		{`in place: slice_update(x = ` + table + `, update = fp16[1, 256], begin = int32[2], end = int32[2])`,
			2*2*256 + 2*4*2},
		{`in place: scatter(data = ` + table + `, indices = int32[3], updates = fp16[3, 256])`, 2*2*3*256 + 4*3},
		{`in place: scatter_nd(data = ` + table + `, indices = int32[3, 2], updates = fp16[3])`, 2*2*3 + 4*3*2},
	} {
		g := irbuild.New(1)
		call, inPlace := strings.CutPrefix(c.call, "in place: ")
		vs, err := g.Call(call)
		if err != nil {
			t.Fatalf("%s: %v", c.call, err)
		}
		vs[0].Def.InPlace = inPlace
		got, want := CPU(vs[0].Def), cost.CPU(cost.Work{Bytes: c.bytes})
		if d := got - want; d < -3 || d > 3 { // scalar arguments
			t.Errorf("%s: %s us, want %s for %d bytes", c.call, got, want, c.bytes)
		}
	}
}
