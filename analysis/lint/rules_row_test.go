package lint

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// Statements of models about rows of N elements: p is normalised, r the operand of the product y.
const (
	rowHead = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 1, 1, N]> x, tensor<fp16, [1, 1, 1, N]> m, tensor<fp16, [1, 1, N, 8]> v) {
            int32 ax = const()[name = string("ax"), val = int32(3)];
            tensor<int32, [1]> axes = const()[name = string("axes"), val = tensor<int32, [1]>([3])];
            tensor<int32, [4]> swap = const()[name = string("swap"), val = tensor<int32, [4]>([0, 1, 3, 2])];
            bool kd = const()[name = string("kd"), val = bool(true)];
            bool f = const()[name = string("f"), val = bool(false)];
`
	rowSoftmax = `            tensor<fp16, [1, 1, 1, N]> p = softmax(axis = ax, x = x)[name = string("p")];
`
	rowWritten = `            tensor<fp16, [1, 1, 1, N]> e = exp(x = x)[name = string("e")];
            tensor<fp16, [1, 1, 1, 1]> s = reduce_sum(x = e, axes = axes, keep_dims = kd)[name = string("s")];
            tensor<fp16, [1, 1, 1, N]> p = real_div(x = e, y = s)[name = string("p")];
`
	rowMasked = `            tensor<fp16, [1, 1, 1, N]> r = mul(x = m, y = p)[name = string("r")];
`
	rowScaled = `            tensor<fp16, [1, 1, 1, N]> q = mul(x = p, y = fp16(128))[name = string("q")];
            tensor<fp16, [1, 1, 1, N]> r = mul(x = m, y = q)[name = string("r")];
`
	rowMoved = `            tensor<fp16, [1, 1, N, 1]> t = transpose(x = p, perm = swap)[name = string("t")];
            tensor<fp16, [1, 1, N, 1]> u = transpose(x = m, perm = swap)[name = string("u")];
            tensor<fp16, [1, 1, N, 1]> w = mul(x = t, y = u)[name = string("w")];
            tensor<fp16, [1, 1, 1, N]> r = transpose(x = w, perm = swap)[name = string("r")];
`
	rowAdded = `            tensor<fp16, [1, 1, 1, N]> r = add(x = p, y = m)[name = string("r")];
`
	rowSame = `            tensor<fp16, [1, 1, 1, N]> r = identity(x = p)[name = string("r")];
`
	rowProduct = `            tensor<fp16, [1, 1, 1, 8]> y = matmul(x = r, y = v, transpose_x = f, transpose_y = f)
                [name = string("y")];
        } -> (y);
}
`
)

// TestRowsThatProductsReadAsZeroAreFound checks which normalised rows are found, and that zinc's own scaling counts.
func TestRowsThatProductsReadAsZeroAreFound(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		body string
		most float64 // of m
		want string  // the state of the finding
	}{
		{"masked, 16384", 16384, rowSoftmax + rowMasked, 1, Shown},
		{"masked, 1025", 1025, rowSoftmax + rowMasked, 1, Possible},
		{"masked, 1024", 1024, rowSoftmax + rowMasked, 1, ""},
		{"masked, 64", 64, rowSoftmax + rowMasked, 1, ""},
		{"straight into the product", 16384, rowSoftmax + rowSame, 1, ""},
		{"written out and masked", 4096, rowWritten + rowMasked, 1, Shown},
		{"written out, straight into the product", 4096, rowWritten + rowSame, 1, ""},
		{"masked between transposes", 4096, rowSoftmax + rowMoved, 1, Shown},
		{"scaled by hand", 4096, rowSoftmax + rowScaled, 1, ""},
		{"multiplied by up to 8", 4096, rowSoftmax + rowMasked, 8, ""},
		{"no longer normalised", 4096, rowSoftmax + rowAdded, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.ReplaceAll(rowHead+c.body+rowProduct, "N", strconv.Itoa(c.n))
			r := lintText(t, []byte(text), map[string]Interval{"m": interval.Span(0, c.most)})
			state, at := "", ""
			for _, f := range r.Functions[0].Findings {
				t.Logf("%s %s %s; %s; %s", f.Rule, f.State, f.Statement, f.Detail, f.Note)
				if f.Rule == "normalised-row-flushed" {
					state, at = f.State, f.Statement
				}
			}
			if state != c.want || state != "" && at != "y" {
				t.Errorf("%q of %q, want %q", state, at, c.want)
			}
		})
	}
}

// TestRowsOfRealAttentionAreScaled checks a model whose attention has rows of 1500 elements, which zinc scales.
func TestRowsOfRealAttentionAreScaled(t *testing.T) {
	shared := shareddir.Find(t)
	path := shareddir.WithWeights(t, shared, filepath.Join(shared, "corpus", "whisper-tiny-encoder"))
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := Run(context.Background(), m.Program, Options{Compile: options, Work: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Functions[0].Findings {
		if f.Rule == "normalised-row-flushed" {
			t.Errorf("%s is found: %s", f.Statement, f.Detail)
		}
	}
}
