package witness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/ir"
)

// TestLargeProductsAreReduced checks that the free extents of a large product are reduced and that the extent of its
// sums is not.
func TestLargeProductsAreReduced(t *testing.T) {
	const text = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 6, 512, 64]> x, tensor<fp16, [1, 6, 512, 64]> z) {
            tensor<fp16, [1, 6, 512, 512]> y = matmul(x = x, y = z, transpose_x = bool(false), transpose_y = ` +
		`bool(true))[name = string("y")];
        } -> (y);
}
`
	small := strings.NewReplacer("6, 512, 64", "1, 16, 1048576", "6, 512, 512", "1, 16, 16").Replace(text)
	fn, err := parsed(t, small).Entry("")
	if err != nil {
		t.Fatal(err)
	}
	if told := reduceProduct(fn); told != "" {
		t.Errorf("of a product with only long sums: %s", told)
	}
	if fn, err = parsed(t, text).Entry(""); err != nil {
		t.Fatal(err)
	}
	if told := reduceProduct(fn); told == "" {
		t.Error("nothing was reduced")
	}
	if got := fn.Body.Params[0].Type.String() + fn.Body.Params[1].Type.String() +
		fn.Body.Outputs[0].Type.String(); got != "tensor<fp16, [1, 1, 16, 64]>tensor<fp16, [1, 1, 16, "+
		"64]>tensor<fp16, [1, 1, 16, 16]>" {
		t.Error(got)
	}
}

// TestRecordedInputsFillTheRanges also checks that zinc verify draws the same ones if the ranges are the default ones.
func TestRecordedInputsFillTheRanges(t *testing.T) {
	v := &ir.Value{Name: "x", Type: ir.TensorOf(ir.FP32, 4096)}
	want, err := verify.Random(v.Type, "x", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []interval.Interval{DefaultRange(v.Type), interval.Span(0, 1), interval.Span(-1000, 3000)} {
		c, err := drawn([]*Input{NewInput(v, r)}, 1)
		if err != nil {
			t.Fatal(err)
		}
		got := RangeOf(c.Values["x"])
		if got.Lo < r.Lo || got.Hi > r.Hi || got.Hi-got.Lo < 0.9*(r.Hi-r.Lo) {
			t.Errorf("over %v: values in %v", r, got)
		}
		if vs, ws := c.Values["x"].Floats32(), want.Floats32(); r == DefaultRange(v.Type) && vs[7] != ws[7] {
			t.Errorf("element 7 is %g, zinc verify draws %g", vs[7], ws[7])
		}
	}
}

// parsed returns the program of a text.
func parsed(t *testing.T, text string) *ir.Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.mil")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m.Program
}
